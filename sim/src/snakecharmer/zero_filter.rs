//! Suppresses patterns whose prefetches bring zeros.

use super::sizes::Sizes;
use crate::block::{Block, Port, Signals};
use crate::c2p::signal::ports;
use l1forge_config::Config;

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    counter: u64,
    timer: u64,
}

/// The filter.
#[derive(Debug, Clone)]
pub struct ZeroFilter {
    entries: Vec<Entry>,
    last: u64,
    /// Patterns that are suppressed: only their timers run, those of the others stay 0.
    full: usize,
}

impl ZeroFilter {
    pub fn new(c: &Config) -> Self {
        Self { entries: vec![Entry::default(); c.sc_patterns as usize], last: u64::from(c.sc_zero_timer) - 1, full: 0 }
    }

    /// The pattern is suppressed.
    pub fn suppressed(&self, pattern: u64) -> bool {
        self.entries[pattern as usize].counter == 3
    }

    /// So many cycles without fill and clear.
    pub fn rest(&mut self, cycles: u64) {
        if self.full == 0 {
            return;
        }
        for e in &mut self.entries {
            let left = self.last.saturating_sub(e.timer) + 1;
            match e.counter {
                3 if cycles >= left => *e = Entry::default(),
                3 => e.timer += cycles,
                _ => e.timer = 0,
            }
        }
        self.full = self.entries.iter().filter(|e| e.counter == 3).count();
    }

    /// End of the cycle: pattern of a fill and whether it is all zero, pattern that is cleared.
    pub fn clock(&mut self, fill: Option<(u64, bool)>, clear: Option<u64>) {
        if self.full > 0 {
            (0..self.entries.len() as u64).for_each(|pattern| self.clock_entry(pattern, fill, clear));
            return;
        }
        let filled = fill.map(|f| f.0);
        for pattern in filled.into_iter().chain(clear.filter(|_| clear != filled)) {
            self.clock_entry(pattern, fill, clear);
        }
    }

    fn clock_entry(&mut self, pattern: u64, fill: Option<(u64, bool)>, clear: Option<u64>) {
        let e = &mut self.entries[pattern as usize];
        let full = e.counter == 3;
        if clear == Some(pattern) || full && e.timer == self.last {
            *e = Entry::default();
        } else {
            if let Some((_, zero)) = fill.filter(|f| f.0 == pattern) {
                e.counter = if zero { (e.counter + 1).min(3) } else { e.counter.saturating_sub(1) };
            }
            e.timer = if full && e.counter == 3 { e.timer + 1 } else { 0 };
        }
        self.full = self.full + usize::from(e.counter == 3) - usize::from(full);
    }
}

ports! { mod i(z: Sizes) {
    FILL_VALID = "fill_valid_i", 1, 1;
    FILL_PATTERN = "fill_pattern_i", 1, z.p;
    FILL_ZERO = "fill_zero_i", 1, 1;
    CLEAR_VALID = "clear_valid_i", 1, 1;
    CLEAR_PATTERN = "clear_pattern_i", 1, z.p;
    QUERY_PATTERN = "query_pattern_i", 1, z.p;
} }
ports! { mod o(_z: Sizes) {
    SUPPRESSED = "suppressed_o", 1, 1;
} }

/// [`ZeroFilter`] as a block.
pub struct ZeroFilterBlock {
    sizes: Sizes,
    filter: ZeroFilter,
}

impl ZeroFilterBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), filter: ZeroFilter::new(c) }
    }
}

impl Block for ZeroFilterBlock {
    fn name(&self) -> &str {
        "zero_filter"
    }
    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }
    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }
    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        outputs.set(o::SUPPRESSED, 0, self.filter.suppressed(inputs.get(i::QUERY_PATTERN, 0)).into());
    }
    fn clock(&mut self, inputs: &Signals) {
        let get = |port| inputs.get(port, 0);
        let fill = (get(i::FILL_VALID) != 0).then(|| (get(i::FILL_PATTERN), get(i::FILL_ZERO) != 0));
        self.filter.clock(fill, (get(i::CLEAR_VALID) != 0).then(|| get(i::CLEAR_PATTERN)));
    }
}
