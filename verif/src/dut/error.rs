//! What instances start from and why they stop.

/// What registers and undefined values hold before anything sets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Init {
    /// Zeros.
    Zeros,
    /// Ones.
    Ones,
    /// Random bits from a seed; the same seed gives the same bits.
    Random(u64),
}

impl Init {
    pub(super) fn raw(self) -> (i32, i32) {
        match self {
            Init::Zeros => (0, 1),
            Init::Ones => (1, 1),
            Init::Random(seed) => {
                // SplitMix64, folded to a seed that is not zero: zero would mean "from the clock".
                let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
                mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                mixed ^= mixed >> 31;
                (2, ((mixed as u32) & 0x7fff_ffff).max(1) as i32)
            }
        }
    }
}

/// Why the design stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopKind {
    /// `$stop`.
    Stop,
    /// `$error`, `$fatal` or a failed assertion (Verilator makes no difference), or a memory file that is absent or too short.
    Error,
    /// `$finish`.
    Finish,
    /// The simulator gave up, for example because the logic does not settle. The instance is unusable.
    Simulator,
    /// A C++ exception. The instance is unusable.
    Exception,
    /// The design was not built for this.
    Unsupported,
}

impl StopKind {
    pub(super) fn from_raw(kind: u32) -> Self {
        match kind {
            1 => StopKind::Stop,
            2 => StopKind::Error,
            3 => StopKind::Finish,
            4 => StopKind::Simulator,
            6 => StopKind::Unsupported,
            _ => StopKind::Exception,
        }
    }
}

/// The design stopped itself, or cannot do what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}cycle {cycle}: {kind:?}: {message}", location(file, *line))]
pub struct DutError {
    /// What it did.
    pub kind: StopKind,
    /// Source file; empty when unknown.
    pub file: String,
    /// Line in the source file, from 1; 0 when unknown.
    pub line: u32,
    /// The text of the message.
    pub message: String,
    /// Number of complete cycles before it.
    pub cycle: u64,
}

fn location(file: &str, line: u32) -> String {
    match (file, line) {
        ("", _) => String::new(),
        (file, 0) => format!("{file}: "),
        (file, line) => format!("{file}:{line}: "),
    }
}
