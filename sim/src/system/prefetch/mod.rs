//! The place of a prefetcher: one per SM, beside its L1.
//!
//! | scheme | is |
//! |---|---|
//! | `none` | no prefetching |
//! | `snake`, `apogee` | a front end alone: fixed distance, prefetches go to the L1 |
//! | `snakecharmer`, `apogee-sc` | the same with zero filter, controller and idle registers |
//! | `sk-zf`, `sk-scc`, `sk-prt`, `zf-scc`, `scc-prt`, `prt-zf` | Snake with some of the three |
//!
//! All but `none` are the cycle-accurate model that is in lockstep with the RTL ([`Snake`]); the settings of each are those of
//! [`study::schemes`](crate::snakecharmer::study::schemes).

mod next_line;
mod snake;

pub use next_line::NextLine;
pub use snake::Snake;

use super::measures::PrefetchCounts;
use super::parameters::SystemParameters;
use crate::ParameterError;
use crate::snakecharmer::study::{Scheme, schemes};
use l1forge_config::Config;

/// What a prefetcher sees of one line that a warp loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// Cycle.
    pub cycle: u64,
    /// Warp slot of the SM.
    pub warp: u32,
    /// Program counter of the load.
    pub pc: u64,
    /// Line address.
    pub line: u64,
    /// The L1 or a register holds the line.
    pub hit: bool,
}

/// What a prefetched line carries from its issue to its fill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tag {
    /// Kept until the first use, for feedback.
    pub handle: u64,
    /// Pattern that proposed it.
    pub pattern: u64,
    /// Entry of the register table it is meant for.
    pub entry: Option<u64>,
}

/// A prefetched line that comes from below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fill {
    /// Line address.
    pub line: u64,
    /// What it carries.
    pub tag: Tag,
    /// A load waits for it, or a store has made it stale: no register may take it.
    pub bypass: bool,
}

/// What the prefetcher may know of its SM's L1 in a cycle.
pub trait View {
    /// The line is in the L1 or on its way to it.
    fn has(&self, line: u64) -> bool;
    /// The L1 takes a prefetch.
    fn room(&self) -> bool;
}

/// What a prefetcher does in a cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Action {
    /// The fill of this cycle goes to a register instead of the L1.
    pub registered: bool,
    /// A line that goes from its register to the L1.
    pub refill: Option<u64>,
    /// A line to fetch; there must be room, and it must not be there.
    pub prefetch: Option<(u64, Tag)>,
}

/// A prefetcher of one SM.
///
/// In every cycle at most one load or store, at most one fill, any number of reports (`used`, `left`), then [`Prefetcher::step`]. While it is
/// [resting](Prefetcher::is_resting), cycles in which nothing happens are left out.
pub trait Prefetcher {
    /// A load could be answered from a register now.
    fn holds(&self, line: u64) -> bool {
        let _ = line;
        false
    }

    /// A load looks up a line.
    fn load(&mut self, load: &Observation);

    /// A store or an atomic changes a line.
    fn store(&mut self, line: u64) {
        let _ = line;
    }

    /// A load is the first to use a prefetched line, in the L1 or (`late`) on its way.
    fn used(&mut self, line: u64, handle: u64, late: bool) {
        let _ = (line, handle, late);
    }

    /// A prefetched line left the L1, or came stale (`void`), without having been used.
    fn left(&mut self, line: u64, handle: u64, void: bool) {
        let _ = (line, handle, void);
    }

    /// A prefetched line comes.
    fn fill(&mut self, fill: &Fill) {
        let _ = fill;
    }

    /// The end of a cycle.
    fn step(&mut self, now: u64, view: &dyn View) -> Action;

    /// Cycles without an input may be left out.
    fn is_resting(&self) -> bool;

    /// A kernel has ended: what was reported is taken note of, registers are emptied.
    fn flush(&mut self) {}

    /// What it alone knows of its prefetches, after a flush: `on_time` and `invalidated` of those in registers, `early` and `unused` of all.
    fn counts(&self) -> PrefetchCounts {
        PrefetchCounts::default()
    }

    /// All it counts itself.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Compares its counts with what the memory path saw of it, after a flush.
    ///
    /// # Errors
    /// What does not agree, with both numbers.
    fn check(&self, seen: &PrefetchCounts) -> Result<(), String> {
        let _ = seen;
        Ok(())
    }
}

/// No prefetching.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPrefetch;

impl Prefetcher for NoPrefetch {
    fn load(&mut self, _: &Observation) {}

    fn step(&mut self, _: u64, _: &dyn View) -> Action {
        Action::default()
    }

    fn is_resting(&self) -> bool {
        true
    }
}

/// Name of a scheme on the command line.
fn name(scheme: &Scheme) -> String {
    match scheme.name {
        "all" => "snakecharmer".into(),
        other => other.replace('+', "-"),
    }
}

/// Names of all prefetching schemes.
pub fn names() -> Vec<String> {
    schemes().iter().map(name).collect()
}

/// The scheme called `wanted`; its settings go over those of the run.
///
/// # Errors
/// When there is none; the message lists the names.
pub fn by_name(wanted: &str) -> Result<Scheme, ParameterError> {
    let found = schemes().into_iter().find(|s| name(s) == wanted);
    found.ok_or_else(|| ParameterError::new("prefetch", wanted, format!("one of {}", names().join(", "))))
}

/// One prefetcher per SM; `config` has the settings of the scheme.
pub fn build(scheme: &Scheme, config: &Config, p: &SystemParameters) -> Vec<Box<dyn Prefetcher>> {
    let one = |_| -> Box<dyn Prefetcher> {
        if scheme.prefetch { Box::new(Snake::new(config, p, scheme.registers)) } else { Box::new(NoPrefetch) }
    };
    (0..config.sms).map(one).collect()
}
