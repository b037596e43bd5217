//! The event counters.

use super::probe_engine::Reason;
use super::signal::{self, ports};
use super::sizes::Sizes;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;

/// Names of the counters, in the order of their ports.
pub const COUNTERS: [&str; 15] = [
    "misses",
    "queries",
    "conflicts",
    "probes",
    "remote_hits",
    "false_positive_probes",
    "discarded_answers",
    "expired_probes",
    "no_candidate",
    "all_missed",
    "busy",
    "queue_full",
    "disabled",
    "dropped_fills",
    "rebuilds",
];

/// One value per counter: the events of a cycle, or the counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Misses accepted.
    pub misses: u64,
    /// Of these, those that became a query.
    pub queries: u64,
    /// Lookups that ask and are not granted, per port and cycle.
    pub conflicts: u64,
    /// Probes taken by an L1.
    pub probes: u64,
    /// Remote outcomes taken.
    pub remote_hits: u64,
    /// Live answers without hit.
    pub false_positive_probes: u64,
    /// Answers to dead probes.
    pub discarded_answers: u64,
    /// Probes given up.
    pub expired_probes: u64,
    /// L2 outcomes taken, by reason, in the order of [`Reason::ALL`].
    pub l2: [u64; 5],
    /// Fill notices dropped.
    pub dropped_fills: u64,
    /// Rebuilds finished.
    pub rebuilds: u64,
}

impl Counts {
    /// Counts an outcome that is taken.
    pub fn outcome(&mut self, remote: bool, reason: u64) {
        if remote {
            self.remote_hits += 1;
        } else if let Some(reason) = Reason::from_number(reason) {
            self.l2[reason as usize - 1] += 1;
        }
    }

    /// The values in the order of [`COUNTERS`].
    pub fn values(&self) -> [u64; 15] {
        let [no_candidate, all_missed, busy, queue_full, disabled] = self.l2;
        [
            self.misses,
            self.queries,
            self.conflicts,
            self.probes,
            self.remote_hits,
            self.false_positive_probes,
            self.discarded_answers,
            self.expired_probes,
            no_candidate,
            all_missed,
            busy,
            queue_full,
            disabled,
            self.dropped_fills,
            self.rebuilds,
        ]
    }
}

/// The counters.
#[derive(Debug, Clone)]
pub struct Statistics {
    mask: u64,
    counters: [u64; 15],
}

impl Statistics {
    pub fn new(c: &Config) -> Self {
        Self { mask: u64::MAX >> (64 - c.counter_bits), counters: [0; 15] }
    }

    /// The counters, in the order of [`COUNTERS`].
    pub fn counters(&self) -> &[u64; 15] {
        &self.counters
    }

    /// End of a cycle with these events; `clear` wins.
    pub fn clock(&mut self, events: &Counts, clear: bool) {
        for (counter, events) in self.counters.iter_mut().zip(events.values()) {
            *counter = if clear { 0 } else { counter.wrapping_add(events) & self.mask };
        }
    }
}

ports! { mod i(z: Sizes) {
    CLEAR = "clear_statistics_i", 1, 1;
    MISS = "miss_i", z.n, 1;
    QUERY = "query_i", z.n, 1;
    CONFLICT = "conflict_i", z.n * z.k, 1;
    PROBE = "probe_i", z.n, 1;
    OUTCOME = "outcome_i", z.n, 1;
    OUTCOME_REMOTE = "outcome_remote_i", z.n, 1;
    OUTCOME_REASON = "outcome_reason_i", z.n, 3;
    FALSE_POSITIVE = "false_positive_i", z.n, 1;
    DISCARDED = "discarded_i", z.n, 1;
    EXPIRED = "expired_i", z.n, 1;
    DROPPED = "dropped_i", z.n, 1;
    REBUILT = "rebuilt_i", 1, 1;
} }

/// The counter ports, as the block and the top show them.
pub fn count_ports(z: &Sizes) -> impl Iterator<Item = Port> {
    COUNTERS.iter().map(|name| Port::new(&format!("count_{name}_o"), z.cb as u32, 1))
}

/// [`Statistics`] as a block.
pub struct StatisticsBlock {
    sizes: Sizes,
    statistics: Statistics,
}

impl StatisticsBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), statistics: Statistics::new(c) }
    }
}

impl Block for StatisticsBlock {
    fn name(&self) -> &str {
        "statistics"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        count_ports(&self.sizes).collect()
    }

    fn eval(&mut self, _: &Signals, outputs: &mut Signals) {
        for (port, &value) in self.statistics.counters().iter().enumerate() {
            outputs.set(port, 0, value);
        }
    }

    fn clock(&mut self, inputs: &Signals) {
        let ones = |port: usize| inputs.words(port).iter().sum();
        let mut events = Counts {
            misses: ones(i::MISS),
            queries: ones(i::QUERY),
            conflicts: ones(i::CONFLICT),
            probes: ones(i::PROBE),
            false_positive_probes: ones(i::FALSE_POSITIVE),
            discarded_answers: ones(i::DISCARDED),
            expired_probes: ones(i::EXPIRED),
            dropped_fills: ones(i::DROPPED),
            rebuilds: ones(i::REBUILT),
            ..Counts::default()
        };
        for sm in (0..self.sizes.n).filter(|&sm| signal::is(inputs, i::OUTCOME, sm)) {
            events.outcome(signal::is(inputs, i::OUTCOME_REMOTE, sm), inputs.get(i::OUTCOME_REASON, sm));
        }
        self.statistics.clock(&events, signal::is(inputs, i::CLEAR, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    #[test]
    fn every_counter_adds_its_own_events() {
        let mut block = StatisticsBlock::new(&config(&["sms=5", "hashes=2", "counter_bits=8"]));
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        // A different number of events on every port.
        let events = [
            (i::MISS, 5),
            (i::QUERY, 4),
            (i::CONFLICT, 11),
            (i::PROBE, 3),
            (i::OUTCOME, 4),
            (i::OUTCOME_REMOTE, 1),
            (i::FALSE_POSITIVE, 2),
            (i::DISCARDED, 1),
            (i::EXPIRED, 5),
            (i::DROPPED, 4),
            (i::REBUILT, 1),
        ];
        for (port, count) in events {
            inputs.words_mut(port)[..count].fill(1);
        }
        // SM 0 remote; SMs 1, 2, 3 reasons 2, 4, 2; SM 4 has a reason but no outcome.
        inputs.words_mut(i::OUTCOME_REASON).copy_from_slice(&[0, 2, 4, 2, 5]);
        for _ in 0..3 {
            block.clock(&inputs);
        }
        block.eval(&inputs, &mut outputs);
        let shown: Vec<_> = (0..COUNTERS.len()).map(|port| outputs.get(port, 0)).collect();
        assert_eq!(shown, [5, 4, 11, 3, 1, 2, 1, 5, 0, 2, 0, 1, 0, 4, 1].map(|n| 3 * n));
        for _ in 0..21 {
            block.clock(&inputs);
        }
        block.eval(&inputs, &mut outputs);
        assert_eq!(outputs.get(2, 0), 24 * 11 % 256);
        inputs.set(i::CLEAR, 0, 1);
        block.clock(&inputs);
        block.eval(&inputs, &mut outputs);
        assert!((0..COUNTERS.len()).all(|port| outputs.get(port, 0) == 0));
    }

    #[test]
    fn reasons_by_number() {
        for (number, name) in [(1, "no_candidate"), (2, "all_missed"), (3, "busy"), (4, "queue_full"), (5, "disabled")] {
            let mut counts = Counts::default();
            counts.outcome(false, number);
            let at = COUNTERS.iter().position(|c| *c == name).unwrap();
            assert_eq!((counts.values()[at], counts.values().iter().sum::<u64>()), (1, 1));
        }
        assert_eq!((Reason::from_number(0), Reason::from_number(6)), (None, None));
        assert_eq!(outcome_widths(&config(&["counter_bits=64"])), u64::MAX);
    }

    fn outcome_widths(c: &Config) -> u64 {
        Statistics::new(c).mask
    }
}
