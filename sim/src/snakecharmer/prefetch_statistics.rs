//! Counters.

use super::sizes::{Sizes, bits_of, ones};
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;

/// Names of the counters, in the order of the ports.
pub const COUNTERS: [&str; 19] = [
    "issued",
    "on_time",
    "early",
    "late",
    "unused",
    "invalidated",
    "registered",
    "register_used",
    "register_invalidated",
    "dropped",
    "evicted",
    "candidates",
    "suppressed",
    "rejected",
    "duplicates",
    "redundant",
    "bypassed",
    "lost_triggers",
    "lost_events",
];

/// What each counter adds, or its value, in the order of [`COUNTERS`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "docs/blocks/snakecharmer/prefetch_statistics.md")]
pub struct Counts {
    pub issued: u64,
    pub on_time: u64,
    pub early: u64,
    pub late: u64,
    pub unused: u64,
    pub invalidated: u64,
    pub registered: u64,
    pub register_used: u64,
    pub register_invalidated: u64,
    pub dropped: u64,
    pub evicted: u64,
    pub candidates: u64,
    pub suppressed: u64,
    pub rejected: u64,
    pub duplicates: u64,
    pub redundant: u64,
    pub bypassed: u64,
    pub lost_triggers: u64,
    pub lost_events: u64,
}

impl Counts {
    /// In the order of [`COUNTERS`].
    pub fn list(&self) -> [u64; COUNTERS.len()] {
        [
            self.issued,
            self.on_time,
            self.early,
            self.late,
            self.unused,
            self.invalidated,
            self.registered,
            self.register_used,
            self.register_invalidated,
            self.dropped,
            self.evicted,
            self.candidates,
            self.suppressed,
            self.rejected,
            self.duplicates,
            self.redundant,
            self.bypassed,
            self.lost_triggers,
            self.lost_events,
        ]
    }
}

/// The counters.
#[derive(Debug, Clone)]
pub struct PrefetchStatistics {
    values: [u64; COUNTERS.len()],
    bits: u32,
}

impl PrefetchStatistics {
    pub fn new(c: &Config) -> Self {
        Self { values: [0; COUNTERS.len()], bits: c.counter_bits }
    }

    /// The values.
    pub fn values(&self) -> &[u64; COUNTERS.len()] {
        &self.values
    }

    /// End of the cycle.
    pub fn clock(&mut self, add: &[u64; COUNTERS.len()], clear: bool) {
        for (value, add) in self.values.iter_mut().zip(add) {
            *value = if clear { 0 } else { value.wrapping_add(*add) & ones(self.bits) };
        }
    }
}

/// Bits of the input of each counter.
fn widths(z: &Sizes) -> [u32; COUNTERS.len()] {
    let (s, r) = (u64::from(z.s), u64::from(z.r));
    let s1 = bits_of(s);
    let [twice, thrice, table, with] = [2 * s, 3 * s, r * s, r * s + s].map(bits_of);
    [s1, twice, s1, s1, thrice, with, s1, s1, table, s1, s1, 1, 1, 1, 1, 1, 1, 1, 2]
}

/// [`PrefetchStatistics`] as a block.
pub struct PrefetchStatisticsBlock {
    sizes: Sizes,
    statistics: PrefetchStatistics,
}

impl PrefetchStatisticsBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), statistics: PrefetchStatistics::new(c) }
    }
}

impl Block for PrefetchStatisticsBlock {
    fn name(&self) -> &str {
        "prefetch_statistics"
    }
    fn inputs(&self) -> Vec<Port> {
        let mut list = vec![Port::new("clear_i", 1, 1)];
        list.extend(COUNTERS.iter().zip(widths(&self.sizes)).map(|(name, bits)| Port::new(&format!("{name}_i"), bits, 1)));
        list
    }
    fn outputs(&self) -> Vec<Port> {
        COUNTERS.iter().map(|name| Port::new(&format!("count_{name}_o"), self.sizes.cb, 1)).collect()
    }
    fn eval(&mut self, _inputs: &Signals, outputs: &mut Signals) {
        self.statistics.values().iter().enumerate().for_each(|(port, value)| outputs.set(port, 0, *value));
    }
    fn clock(&mut self, inputs: &Signals) {
        let add = std::array::from_fn(|n| inputs.get(n + 1, 0));
        self.statistics.clock(&add, inputs.get(0, 0) != 0);
    }
}
