//! Every configuration key: type, default, unit, range and source, in one table.

use crate::hash::HashScheme;
use serde::Serialize;

/// What values a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// An integer in an inclusive range.
    Int {
        /// Least legal value.
        min: u32,
        /// Greatest legal value.
        max: u32,
    },
    /// An integer that is a power of two in an inclusive range.
    PowerOfTwo {
        /// Least legal value.
        min: u32,
        /// Greatest legal value.
        max: u32,
    },
    /// One of a list of integers.
    OneOf(&'static [u32]),
    /// `true` or `false`.
    Bool,
    /// One of a list of words.
    Choice(&'static [&'static str]),
    /// A list of `[x, y]` coordinates, one per SM; empty stands for the default grid.
    Floorplan,
}

impl KeyKind {
    /// The legal values, as shown to users.
    pub fn legal(&self) -> String {
        match self {
            Self::Int { min, max } => format!("{min}..={max}"),
            Self::PowerOfTwo { min, max } => format!("a power of two in {min}..={max}"),
            Self::OneOf(list) => list.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
            Self::Bool => "true, false".into(),
            Self::Choice(list) => list.join(", "),
            Self::Floorplan => "\"grid\", or a list of [x, y], one per SM".into(),
        }
    }
}

/// One documented configuration key.
#[derive(Debug, Clone, Copy)]
pub struct KeySpec {
    /// The key, as written in TOML and `--set`.
    pub name: &'static str,
    /// Type and range.
    pub kind: KeyKind,
    /// The default as TOML text, or `auto` when it depends on other keys.
    pub default: &'static str,
    /// How an `auto` default is found; empty otherwise.
    pub auto: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    /// Paper or specification section the default comes from.
    pub source: &'static str,
    /// What the key does.
    pub doc: &'static str,
}

macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
        pub enum $name { $($(#[$vmeta])* #[serde(rename = $word)] $variant),+ }
        impl $name {
            /// The legal words, in order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            /// The word used in configuration files.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
            fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

choice! {
    /// How a lookup chooses the physical copy of the Snapshot Matrix it reads.
    CopyChoice {
        /// Position `i` of SM `s` always reads copy `(i + s) mod copies`.
        Fixed = "fixed",
        /// Any copy whose bank is free.
        Any = "any",
    }
}
choice! {
    /// The network between lookups and banks.
    LookupNetwork {
        /// Every lookup reaches every bank in one cycle.
        Crossbar = "crossbar",
    }
}
choice! {
    /// The network between probe engines and target queues.
    ProbeNetwork {
        /// Every SM reaches every target in one cycle.
        Crossbar = "crossbar",
    }
}
choice! {
    /// How positions are laid out in the banks.
    MatrixLayout {
        /// All hashes share the hash rows of every bank, mask rows follow.
        Shared = "shared",
    }
}
choice! {
    /// Clocking and polarity of `rst_i`.
    ResetStyle {
        /// Synchronous, active high.
        SyncHigh = "sync_high",
        /// Synchronous, active low.
        SyncLow = "sync_low",
        /// Asynchronous, active high.
        AsyncHigh = "async_high",
        /// Asynchronous, active low.
        AsyncLow = "async_low",
    }
}
choice! {
    /// What drives the prefetch back end of SnakeCharmer.
    Frontend {
        /// Snake+: intra-warp, inter-PC and inter-warp strides.
        Snake = "snake",
        /// APOGEE: fixed-offset and thread-invariant accesses.
        Apogee = "apogee",
        /// A predictor outside, on the candidate port.
        External = "external",
    }
}

/// Converts a checked TOML value; the kinds of [`KEYS`] guarantee that it fits.
pub(crate) trait FromValue: Sized {
    fn from_value(value: &toml::Value) -> Self;
}
impl FromValue for u32 {
    fn from_value(value: &toml::Value) -> Self {
        value.as_integer().and_then(|v| u32::try_from(v).ok()).expect("checked by KeyKind")
    }
}
impl FromValue for bool {
    fn from_value(value: &toml::Value) -> Self {
        value.as_bool().expect("checked by KeyKind")
    }
}
impl FromValue for Vec<[i32; 2]> {
    fn from_value(value: &toml::Value) -> Self {
        let Some(list) = value.as_array() else {
            return Vec::new();
        };
        let number = |v: &toml::Value| v.as_integer().and_then(|v| i32::try_from(v).ok()).expect("checked by KeyKind");
        list.iter().map(|p| p.as_array().expect("checked by KeyKind")).map(|p| [number(&p[0]), number(&p[1])]).collect()
    }
}
impl FromValue for HashScheme {
    fn from_value(value: &toml::Value) -> Self {
        value.clone().try_into().expect("checked by KeyKind")
    }
}
macro_rules! from_word {
    ($($name:ident),+) => { $(impl FromValue for $name {
        fn from_value(value: &toml::Value) -> Self {
            value.as_str().and_then(Self::from_word).expect("checked by KeyKind")
        }
    })+ };
}
from_word!(CopyChoice, LookupNetwork, ProbeNetwork, MatrixLayout, ResetStyle, Frontend);

macro_rules! keys {
    ($($name:ident: $ty:ty = $kind:expr, $default:literal $(auto $auto:literal)?, $unit:literal, $source:literal, $doc:literal;)+) => {
        /// A complete, valid configuration. Built by [`crate::Settings::resolve`] only.
        ///
        /// Serialises to the flat TOML document that `l1forge gen` leaves as `config.toml`.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[non_exhaustive]
        pub struct Config {
            $(#[doc = $doc] #[doc = concat!("\n\nUnit: ", $unit, ". Source: ", $source, ".")] pub $name: $ty,)+
        }

        /// Every key, in the order in which they are printed.
        pub const KEYS: &[KeySpec] = &[$(KeySpec {
            name: stringify!($name),
            kind: $kind,
            default: $default,
            auto: concat!($($auto)?),
            unit: $unit,
            source: $source,
            doc: $doc,
        },)+];

        impl Config {
            /// Takes each value from `get`, which returns a value already checked against its kind.
            pub(crate) fn from_values(get: impl Fn(&str) -> toml::Value) -> Self {
                Self { $($name: <$ty as FromValue>::from_value(&get(stringify!($name))),)+ }
            }
        }
    };
}

use KeyKind::{Bool, Choice, Floorplan, Int, OneOf, PowerOfTwo};

keys! {
    sms: u32 = Int { min: 2, max: 256 }, "64", "SMs", "C2P paper, evaluation set-up; specification 1",
        "Number of SMs, each with a private L1.";
    address_bits: u32 = Int { min: 16, max: 64 }, "48", "bits", "specification 1 (open in the paper; real traces use 47)",
        "Width of a byte address.";
    line_bytes: u32 = PowerOfTwo { min: 32, max: 1024 }, "128", "bytes", "C2P paper, Table 1",
        "Size of a cache line; the tag is the byte address divided by it.";
    id_bits: u32 = Int { min: 1, max: 16 }, "6", "bits", "specification 6 (open in the paper)",
        "Width of the id that a miss carries and its outcome returns.";
    mask_bits: u32 = OneOf(&[0, 1024]), "1024", "positions", "C2P paper 4.2",
        "Positions of the tag mask; 0 leaves the tag mask out.";
    hash_bits: u32 = Int { min: 0, max: 131_072 }, "auto" auto "4096, or 0 when hashes = 0", "positions", "C2P paper 4.2",
        "Positions shared by the Bloom-filter hashes; a multiple of banks.";
    hashes: u32 = Int { min: 0, max: 8 }, "3", "hashes", "C2P paper 4.2",
        "Bloom-filter hashes per tag; with the tag mask, k = hashes + 1, at most 8.";
    hash: HashScheme = Choice(&["double", "independent"]), "\"double\"", "scheme", "C2P paper 4.3.1",
        "How the hash positions are computed.";
    banks: u32 = PowerOfTwo { min: 1, max: 1024 }, "64", "banks", "C2P paper 4.3.2",
        "Banks of the Snapshot Matrix; at most hash_bits, dividing hash_bits and mask_bits.";
    copies: u32 = Int { min: 1, max: 8 }, "auto" auto "min(4, k, sms + lookup_ports - 1)", "copies", "C2P paper 4.3.2",
        "Physical copies of the Snapshot Matrix; at most k.";
    lookup_ports: u32 = Int { min: 1, max: 8 }, "auto" auto "k", "rows per cycle", "ours; docs/decisions/lookup-ports.md",
        "Rows that one SM may read in a cycle; at most k. Fewer share the row multiplexers of the SM.";
    matrix_layout: MatrixLayout = Choice(MatrixLayout::WORDS), "\"shared\"", "layout", "specification 3",
        "How positions are laid out in the banks.";
    lookup_network: LookupNetwork = Choice(LookupNetwork::WORDS), "\"crossbar\"", "network", "specification 3",
        "The network between lookups and banks.";
    copy_choice: CopyChoice = Choice(CopyChoice::WORDS), "\"fixed\"", "rule", "specification 3, 9",
        "How a lookup chooses the copy it reads.";
    merge_rows: bool = Bool, "false", "switch", "specification 9",
        "One read answers every lookup that waits for the same row of the same bank copy.";
    lookup_latency: u32 = Int { min: 2, max: 64 }, "2", "cycles", "C2P paper 5.1",
        "Cycles from a granted lookup to its candidates, without conflicts; more than 2 adds waiting.";
    engines: u32 = Int { min: 2, max: 1024 }, "auto" auto "2 * sms (the paper's 128 at 64 SMs)", "engines", "C2P paper, Table 1",
        "BF engines in all, for misses and updates.";
    engine_latency: u32 = Int { min: 2, max: 8 }, "2", "cycles", "C2P paper 5.1",
        "Cycles from a tag to its positions.";
    engine_pipelined: bool = Bool, "true", "switch", "specification 2",
        "An engine takes a new tag every cycle; otherwise one every engine_latency cycles.";
    update_engines: u32 = Int { min: 1, max: 1023 }, "auto" auto "max(1, engines - sms)", "engines", "specification 6",
        "Engines kept for updates; the others serve misses first and updates when idle.";
    queries_per_sm: u32 = Int { min: 1, max: 16 }, "2", "queries", "specification 6",
        "Misses of one SM in flight inside the block.";
    update_bytes: u32 = OneOf(&[8, 16, 32, 64, 128]), "128", "bytes/cycle", "C2P paper, Figure 20",
        "Width of the transport that brings the tags of a rebuild; 8 bytes per tag.";
    update_lanes: u32 = Int { min: 1, max: 64 }, "auto" auto "max(update_bytes / 8, sms / 2), at most 64", "lanes", "ours; docs/blocks/update_path.md",
        "Encoded tags that can be written to the matrix side by side.";
    update_queue_depth: u32 = Int { min: 2, max: 16 }, "4", "entries", "ours; docs/blocks/update_path.md",
        "Encoded tags that wait in each update lane.";
    fill_queue_depth: u32 = Int { min: 1, max: 16 }, "3", "entries", "ours; docs/blocks/update_path.md",
        "Fill notices that wait for each SM.";
    fill_drop: bool = Bool, "true", "switch", "specification 6",
        "A fill notice that finds its queue full is dropped and counted; otherwise it waits.";
    refresh_period: u32 = Int { min: 1, max: 65_535 }, "auto" auto "max(192, 3 * sms)", "cycles", "specification 9; docs/decisions/update-path.md",
        "Cycles between the starts of the rebuilds of successive SMs.";
    stream_timeout: u32 = Int { min: 1, max: 65_535 }, "256", "cycles", "specification 6",
        "Cycles without a tag after which a rebuild is given up.";
    probe_network: ProbeNetwork = Choice(ProbeNetwork::WORDS), "\"crossbar\"", "network", "specification 5",
        "The network between probe engines and target queues.";
    probe_queue_depth: u32 = Int { min: 1, max: 64 }, "4", "entries", "specification 1",
        "Probes that wait at each target L1.";
    answer_queue_depth: u32 = Int { min: 1, max: 64 }, "8", "entries", "specification 6 (covers the tag lookup of 7 cycles)",
        "Probes that a target L1 has accepted and not yet answered.";
    probe_timeout: u32 = Int { min: 1, max: 4095 }, "32", "cycles", "specification 1",
        "Cycles without acceptance after which a query gives up probing.";
    answer_timeout: u32 = Int { min: 1, max: 4095 }, "64", "cycles", "specification 6",
        "Cycles without an answer, after acceptance, after which a query gives up probing.";
    probe_limit: u32 = Int { min: 0, max: 255 }, "0", "probes", "specification 9",
        "Most probes of one miss; 0 sets no limit.";
    floorplan: Vec<[i32; 2]> = Floorplan, "\"grid\"", "tiles", "specification 5",
        "Place of each SM; probes go to the nearest candidate first.";
    counter_bits: u32 = Int { min: 8, max: 64 }, "32", "bits", "specification 6",
        "Width of each event counter.";
    debug_port: bool = Bool, "false", "switch", "specification 6",
        "A read port of the matrix for tests.";
    reset_style: ResetStyle = Choice(ResetStyle::WORDS), "\"sync_high\"", "style", "specification 6",
        "Clocking and polarity of the reset.";
    l1_bytes: u32 = PowerOfTwo { min: 1024, max: 1_048_576 }, "65536", "bytes", "specification 1 (environment of the models)",
        "Size of each L1 in the models.";
    l1_ways: u32 = Int { min: 1, max: 1024 }, "4", "ways", "specification 9 (environment of the models)",
        "Associativity of each L1 in the models.";
    remote_tag_latency: u32 = Int { min: 1, max: 64 }, "7", "cycles", "C2P paper, Table 1 (environment of the models)",
        "Cycles from a probe accepted by an L1 to its answer.";
    return_latency: u32 = Int { min: 1, max: 64 }, "2", "cycles", "C2P paper, Table 1 (environment of the models)",
        "Cycles from a remote hit to the refill of the requester.";
    l2_latency: u32 = Int { min: 1, max: 4096 }, "200", "cycles", "environment of the models",
        "Cycles from an L2 request to its fill.";
    l2_bandwidth: u32 = Int { min: 1, max: 256 }, "32", "requests/cycle", "environment of the models",
        "L2 requests that start in one cycle.";
    frontend: Frontend = Choice(Frontend::WORDS), "\"snake\"", "front end", "SnakeCharmer paper",
        "What drives the prefetch back end.";
    sc_warps: u32 = Int { min: 1, max: 256 }, "64", "warps", "SnakeCharmer paper",
        "Warps per SM; entries of the Head Table.";
    sc_sector_bytes: u32 = PowerOfTwo { min: 32, max: 1024 }, "32", "bytes", "SnakeCharmer paper",
        "Size of a sector, the unit in which prefetched blocks are counted; at most line_bytes.";
    sc_patterns: u32 = Int { min: 1, max: 1024 }, "64", "patterns", "open in the paper; docs/blocks/snakecharmer/README.md",
        "Entries of the SC-Tail Table or of the APOGEE table, and of the zero filter.";
    sc_pc_bits: u32 = Int { min: 4, max: 64 }, "16", "bits", "open in the paper; docs/blocks/snakecharmer/README.md",
        "Width of a load PC, hashed by the SM.";
    sc_train_bits: u32 = Int { min: 2, max: 59 }, "auto" auto "min(20, bits of a line address)", "bits", "docs/blocks/snakecharmer/README.md",
        "Low bits of a line address that the front end remembers and compares; at most those of a line address.";
    sc_stride_bits: u32 = Int { min: 2, max: 59 }, "auto" auto "min(16, sc_train_bits)", "bits", "open in the paper; docs/blocks/snakecharmer/README.md",
        "Width of a signed stride in lines; at most sc_train_bits.";
    sc_anchor_period: u32 = Int { min: 16, max: 1_048_576 }, "4096", "cycles", "docs/blocks/snakecharmer/tail_table.md",
        "A pattern trains on another warp when its own did not load for this long.";
    sc_max_intra_warp: u32 = Int { min: 1, max: 255 }, "8", "strides", "SnakeCharmer paper",
        "Largest distance of intra-warp prefetches.";
    sc_max_inter_pc: u32 = Int { min: 1, max: 255 }, "10", "hops", "SnakeCharmer paper",
        "Largest distance of inter-PC prefetches.";
    sc_max_inter_warp: u32 = Int { min: 1, max: 255 }, "63", "warps", "SnakeCharmer paper",
        "Largest distance of inter-warp prefetches.";
    sc_reset_distance: u32 = Int { min: 1, max: 255 }, "1", "strides", "open in the paper; docs/blocks/snakecharmer/l2_awt.md",
        "Distance before any feedback; at most the three largest distances.";
    sc_degree: u32 = Int { min: 1, max: 11 }, "2", "candidates", "open in the paper; docs/blocks/snakecharmer/candidate_generator.md",
        "Distances proposed for each kind of a trigger.";
    sc_trigger_depth: u32 = Int { min: 1, max: 64 }, "3", "entries", "docs/blocks/snakecharmer/README.md",
        "Loads that wait for the candidate generator; more are dropped.";
    sc_queue_depth: u32 = Int { min: 1, max: 64 }, "8", "entries", "docs/blocks/snakecharmer/prefetch_queue.md",
        "Prefetches that wait for the L1; also the number of last ones that are not repeated.";
    sc_zero_filter: bool = Bool, "true", "switch", "SnakeCharmer paper",
        "Patterns that fetch zeros are suppressed.";
    sc_zero_timer: u32 = Int { min: 1, max: 65_535 }, "128", "cycles", "SnakeCharmer paper",
        "Longest suppression of a pattern.";
    sc_controller: bool = Bool, "true", "switch", "SnakeCharmer paper",
        "Distances adapt and candidates are scored; otherwise distance sc_reset_distance and every trained candidate.";
    sc_awt_window: u32 = Int { min: 1, max: 255 }, "15", "events", "SnakeCharmer paper",
        "Feedback events after which a distance is reconsidered.";
    sc_awt_samples: u32 = Int { min: 1, max: 255 }, "31", "events", "SnakeCharmer paper",
        "Feedback events after which the distance of a warp is used instead of that of its load PC.";
    sc_l1_awt_entries: u32 = Int { min: 1, max: 1024 }, "64", "entries", "open in the paper; docs/blocks/snakecharmer/l1_awt.md",
        "Entries of the L1-AWT, one per warp, load PC and kind.";
    sc_l2_awt_entries: u32 = Int { min: 1, max: 256 }, "16", "entries", "open in the paper; docs/blocks/snakecharmer/l2_awt.md",
        "Entries of the L2-AWT, one per load PC and kind.";
    sc_awt_step: u32 = Int { min: 1, max: 16 }, "1", "strides", "open in the paper; docs/blocks/snakecharmer/l2_awt.md",
        "Change of a distance at the end of a window.";
    sc_awt_inherit: bool = Bool, "true", "switch", "docs/blocks/snakecharmer/l1_awt.md",
        "The distance of a warp starts from that of its load PC, and again when it comes into use.";
    sc_awt_per_kind: bool = Bool, "true", "switch", "docs/blocks/snakecharmer/l2_awt.md",
        "Intra-warp, inter-PC and inter-warp prefetches have distances of their own.";
    sc_awt_inter_warp_local: bool = Bool, "false", "switch", "docs/blocks/snakecharmer/l1_awt.md",
        "Inter-warp prefetches use the L1-AWT too, not only the entry of their load PC.";
    sc_awt_doubling: bool = Bool, "true", "switch", "docs/blocks/snakecharmer/l2_awt.md",
        "The step of inter-warp distances of a load PC doubles while it goes on in one direction.";
    sc_awt_move_events: u32 = Int { min: 0, max: 255 }, "4", "events", "docs/blocks/snakecharmer/l2_awt.md",
        "Late (early) events of a window that are enough for a step farther (nearer); 0: they must be the most.";
    sc_generation_bits: u32 = Int { min: 1, max: 8 }, "2", "bits", "docs/blocks/snakecharmer/README.md",
        "Width of the number that tells the owners of an AWT entry apart.";
    sc_sgu_threshold: u32 = Int { min: 1, max: 6 }, "4", "points", "SnakeCharmer paper (A100: 4, V100: 5)",
        "Score from which a candidate is issued.";
    sc_peb_entries: u32 = Int { min: 1, max: 1024 }, "64", "entries", "SnakeCharmer paper",
        "Entries of the prefetch eviction buffer.";
    sc_prt_entries: u32 = Int { min: 1, max: 1024 }, "64", "entries", "SnakeCharmer paper",
        "Entries of the prefetch register table, one idle register each.";
    sc_prt_replace: bool = Bool, "true", "switch", "docs/blocks/snakecharmer/prt.md",
        "A prefetch that finds the table full takes the place of the oldest unread entry that is old; otherwise old ones leave by themselves.";
    sc_prt_age: u32 = Int { min: 0, max: 65_535 }, "1024", "cycles", "docs/blocks/snakecharmer/prt.md",
        "An unread entry is old after one to two times this, and only old ones leave; 0: all count as old.";
    sc_register_bits: u32 = Int { min: 1, max: 16 }, "11", "bits", "docs/blocks/snakecharmer/prt.md",
        "Width of the number of a physical register of one line.";
}
