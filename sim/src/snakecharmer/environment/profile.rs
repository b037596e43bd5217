//! How fast the surroundings are.

use crate::snakecharmer::memory::Latency;
use l1forge_config::Config;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How fast everything is; probabilities are per cycle.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// A warp that could go on does.
    pub demand: f64,
    /// The L1 takes a prefetch.
    pub prefetch_ready: f64,
    /// The L1 takes a refill.
    pub refill_ready: f64,
    /// A report of the L1 (use, eviction) is made.
    pub report: f64,
    /// A fill that is due is made.
    pub fill: f64,
    /// The number of idle registers changes.
    pub idle_change: f64,
    /// Everything is flushed.
    pub flush: f64,
    /// Prefetching is switched off, or on again.
    pub toggle: f64,
    /// The counters are cleared.
    pub clear_statistics: f64,
    /// Time from a request to its fill.
    pub latency: Latency,
    /// Cycles of a hit in the L1.
    pub l1_latency: u32,
    /// MSHRs; a quarter is kept for demands.
    pub mshrs: usize,
    /// Lines and ways of the L1.
    pub l1: (usize, usize),
    /// Idle registers at the start.
    pub idle: u64,
}

impl Profile {
    /// A machine without stalls: what studies use.
    pub fn ideal(c: &Config) -> Self {
        Self {
            demand: 1.0,
            prefetch_ready: 1.0,
            refill_ready: 1.0,
            report: 1.0,
            fill: 1.0,
            idle_change: 0.0,
            flush: 0.0,
            toggle: 0.0,
            clear_statistics: 0.0,
            latency: Latency { least: 260, most: 300, reorder: true },
            l1_latency: 28,
            mshrs: 256,
            l1: ((c.l1_bytes / c.line_bytes) as usize, c.l1_ways as usize),
            idle: c.sc_prt_entries.into(),
        }
    }

    /// Everything at random, drawn from a seed: small caches, short latencies, changes all the time.
    pub fn random(c: &Config, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x9f0f);
        let mut speed = || [0.1f64, 0.5, 0.9, 1.0][rng.random_range(0..4)];
        let (demand, prefetch_ready, refill_ready, report, fill) = (speed(), speed(), speed(), speed().max(0.5), speed().max(0.5));
        let reorder = rng.random_bool(0.7);
        let least = rng.random_range(1..60);
        Self {
            demand,
            prefetch_ready,
            refill_ready,
            report,
            fill,
            idle_change: [0.0, 0.005, 0.05][rng.random_range(0..3)],
            flush: [0.0, 0.001, 0.01][rng.random_range(0..3)],
            toggle: [0.0, 0.002][rng.random_range(0..2)],
            clear_statistics: [0.0, 0.001][rng.random_range(0..2)],
            latency: Latency { least, most: least + rng.random_range(0..100), reorder },
            l1_latency: rng.random_range(1..30),
            mshrs: rng.random_range(4..64),
            l1: [(16, 4), (64, 4), (8, 8)][rng.random_range(0..3)],
            idle: rng.random_range(0..=u64::from(c.sc_prt_entries)),
        }
    }
}
