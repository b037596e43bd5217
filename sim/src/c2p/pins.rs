//! The ports of `c2p_cache`: as those of a block, and as sets of SMs for a program that drives it by itself.

use super::signal::{self, ports};
use super::sizes::Sizes;
use super::sm_set::SmSet;
use super::statistics::COUNTERS;
use super::stream_buffer::Beat;
use crate::block::Signals;
use l1forge_config::Config;

ports! {
/// Positions of the inputs of `c2p_cache`.
pub mod input(z: Sizes) {
    ENABLE = "enable_i", 1, 1;
    FLUSH = "flush_i", 1, 1;
    CLEAR_STATISTICS = "clear_statistics_i", 1, 1;
    MISS_VALID = "miss_valid_i", z.n, 1;
    MISS_TAG = "miss_tag_i", z.n, z.t;
    MISS_ID = "miss_id_i", z.n, z.i;
    MISS_SHAREABLE = "miss_shareable_i", z.n, 1;
    OUTCOME_READY = "outcome_ready_i", z.n, 1;
    PROBE_READY = "probe_ready_i", z.n, 1;
    ANSWER_VALID = "answer_valid_i", z.n, 1;
    ANSWER_HIT = "answer_hit_i", z.n, 1;
    L2_READY = "l2_ready_i", z.n, 1;
    REFRESH_READY = "refresh_ready_i", z.n, 1;
    STREAM_VALID = "stream_valid_i", 1, 1;
    STREAM_SM = "stream_sm_i", 1, z.s;
    STREAM_TAG = "stream_tag_i", z.st, z.t;
    STREAM_KEEP = "stream_keep_i", z.st, 1;
    STREAM_LAST = "stream_last_i", 1, 1;
    FILL_VALID = "fill_valid_i", z.n, 1;
    FILL_TAG = "fill_tag_i", z.n, z.t;
    DEBUG_VALID = "debug_valid_i", 1, 1;
    DEBUG_INDEX = "debug_index_i", 1, z.x;
} }

ports! {
/// Positions of the outputs of `c2p_cache`.
pub mod output(z: Sizes) {
    MATRIX_READY = "matrix_ready_o", 1, 1;
    MISS_READY = "miss_ready_o", z.n, 1;
    OUTCOME_VALID = "outcome_valid_o", z.n, 1;
    OUTCOME_ID = "outcome_id_o", z.n, z.i;
    OUTCOME_REMOTE = "outcome_remote_o", z.n, 1;
    OUTCOME_SOURCE = "outcome_source_o", z.n, z.s;
    OUTCOME_REASON = "outcome_reason_o", z.n, 3;
    PROBE_VALID = "probe_valid_o", z.n, 1;
    PROBE_TAG = "probe_tag_o", z.n, z.t;
    PROBE_REQUESTER = "probe_requester_o", z.n, z.s;
    ANSWER_READY = "answer_ready_o", z.n, 1;
    L2_VALID = "l2_valid_o", z.n, 1;
    L2_TAG = "l2_tag_o", z.n, z.t;
    L2_ID = "l2_id_o", z.n, z.i;
    REFRESH_VALID = "refresh_valid_o", z.n, 1;
    STREAM_READY = "stream_ready_o", 1, 1;
    FILL_READY = "fill_ready_o", z.n, 1;
    COUNT_MISSES = "count_misses_o", 1, z.cb;
    COUNT_QUERIES = "count_queries_o", 1, z.cb;
    COUNT_CONFLICTS = "count_conflicts_o", 1, z.cb;
    COUNT_PROBES = "count_probes_o", 1, z.cb;
    COUNT_REMOTE_HITS = "count_remote_hits_o", 1, z.cb;
    COUNT_FALSE_POSITIVE_PROBES = "count_false_positive_probes_o", 1, z.cb;
    COUNT_DISCARDED_ANSWERS = "count_discarded_answers_o", 1, z.cb;
    COUNT_EXPIRED_PROBES = "count_expired_probes_o", 1, z.cb;
    COUNT_NO_CANDIDATE = "count_no_candidate_o", 1, z.cb;
    COUNT_ALL_MISSED = "count_all_missed_o", 1, z.cb;
    COUNT_BUSY = "count_busy_o", 1, z.cb;
    COUNT_QUEUE_FULL = "count_queue_full_o", 1, z.cb;
    COUNT_DISABLED = "count_disabled_o", 1, z.cb;
    COUNT_DROPPED_FILLS = "count_dropped_fills_o", 1, z.cb;
    COUNT_REBUILDS = "count_rebuilds_o", 1, z.cb;
    DEBUG_READY = "debug_ready_o", 1, 1;
    DEBUG_VALID = "debug_valid_o", 1, 1;
    DEBUG_ROW = "debug_row_o", 1, z.n;
} }

/// The inputs of one cycle. A port of one bit per SM is a set; data, by SM, means something where its valid bit is 1.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)] // the ports of the same names, see docs/blocks/ports.md
pub struct Inputs {
    pub enable: bool,
    pub flush: bool,
    pub clear_statistics: bool,
    pub miss_valid: SmSet,
    pub miss_tag: Vec<u64>,
    pub miss_id: Vec<u64>,
    pub miss_shareable: SmSet,
    pub outcome_ready: SmSet,
    pub probe_ready: SmSet,
    pub answer_valid: SmSet,
    pub answer_hit: SmSet,
    pub l2_ready: SmSet,
    pub refresh_ready: SmSet,
    /// The beat of the rebuild stream, if it is valid.
    pub stream: Option<Beat>,
    /// The tags of the beat.
    pub stream_tag: Vec<u64>,
    pub fill_valid: SmSet,
    pub fill_tag: Vec<u64>,
    pub debug_valid: bool,
    pub debug_index: u32,
}

/// The outputs of one cycle. A port of one bit per SM is a set; data, by SM, means something where its valid bit is 1. Answers are always taken.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)] // the ports of the same names, see docs/blocks/ports.md
pub struct Outputs {
    pub matrix_ready: bool,
    pub miss_ready: SmSet,
    pub outcome_valid: SmSet,
    pub outcome: Vec<Outcome>,
    pub probe_valid: SmSet,
    pub probe: Vec<ProbeRequest>,
    pub l2_valid: SmSet,
    pub l2: Vec<L2Request>,
    pub refresh_valid: SmSet,
    pub stream_ready: bool,
    pub fill_ready: SmSet,
    /// In the order of [`COUNTERS`].
    pub counters: [u64; COUNTERS.len()],
    pub debug_ready: bool,
    /// The row of a debug read, if it is valid.
    pub debug_row: Option<SmSet>,
}

/// How a miss ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Id of the miss.
    pub id: u64,
    /// Another SM gives the line.
    pub remote: bool,
    /// That SM, else 0.
    pub source: u64,
    /// Number of the reason, see [`Reason`](super::Reason), 0 when remote.
    pub reason: u64,
}

/// A probe that asks an SM.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProbeRequest {
    /// Line address.
    pub tag: u64,
    /// SM whose miss it is.
    pub requester: usize,
}

/// A miss that goes to L2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct L2Request {
    /// Line address.
    pub tag: u64,
    /// Id of the miss.
    pub id: u64,
}

impl Inputs {
    /// All zero, for a configuration.
    pub fn new(c: &Config) -> Self {
        let z = Sizes::new(c);
        let [miss_tag, miss_id, fill_tag] = [(); 3].map(|()| vec![0; z.n]);
        Self { miss_tag, miss_id, fill_tag, stream_tag: vec![0; z.st], ..Self::default() }
    }

    /// Takes the values of the ports of a block.
    pub fn read(&mut self, signals: &Signals) {
        let bit = |port| signal::is(signals, port, 0);
        (self.enable, self.flush) = (bit(input::ENABLE), bit(input::FLUSH));
        self.clear_statistics = bit(input::CLEAR_STATISTICS);
        for (set, port) in self.sets_mut() {
            *set = signal::sms(signals, port);
        }
        for (words, port) in self.data_mut() {
            words.copy_from_slice(signals.words(port));
        }
        self.stream = bit(input::STREAM_VALID).then(|| Beat {
            sm: signals.get(input::STREAM_SM, 0) as usize,
            keep: signal::mask(signals, input::STREAM_KEEP),
            last: bit(input::STREAM_LAST),
        });
        if signals.ports().len() > input::DEBUG_VALID {
            self.debug_valid = bit(input::DEBUG_VALID);
            self.debug_index = signals.get(input::DEBUG_INDEX, 0) as u32;
        }
    }

    /// Drives the ports of a block.
    pub fn write(&mut self, signals: &mut Signals) {
        let bits = [(input::ENABLE, self.enable), (input::FLUSH, self.flush), (input::CLEAR_STATISTICS, self.clear_statistics)];
        bits.into_iter().for_each(|(port, bit)| signal::set_bit(signals, port, bit));
        for (set, port) in self.sets_mut() {
            signal::set_sms(signals, port, *set);
        }
        for (words, port) in self.data_mut() {
            signals.words_mut(port).copy_from_slice(words);
        }
        signal::set_bit(signals, input::STREAM_VALID, self.stream.is_some());
        if let Some(beat) = self.stream {
            signals.set(input::STREAM_SM, 0, beat.sm as u64);
            signal::set_mask(signals, input::STREAM_KEEP, beat.keep);
            signal::set_bit(signals, input::STREAM_LAST, beat.last);
        }
        if signals.ports().len() > input::DEBUG_VALID {
            signal::set_bit(signals, input::DEBUG_VALID, self.debug_valid);
            signals.set(input::DEBUG_INDEX, 0, self.debug_index.into());
        }
    }

    fn sets_mut(&mut self) -> [(&mut SmSet, usize); 9] {
        [
            (&mut self.miss_valid, input::MISS_VALID),
            (&mut self.miss_shareable, input::MISS_SHAREABLE),
            (&mut self.outcome_ready, input::OUTCOME_READY),
            (&mut self.probe_ready, input::PROBE_READY),
            (&mut self.answer_valid, input::ANSWER_VALID),
            (&mut self.answer_hit, input::ANSWER_HIT),
            (&mut self.l2_ready, input::L2_READY),
            (&mut self.refresh_ready, input::REFRESH_READY),
            (&mut self.fill_valid, input::FILL_VALID),
        ]
    }

    fn data_mut(&mut self) -> [(&mut [u64], usize); 4] {
        [
            (&mut self.miss_tag, input::MISS_TAG),
            (&mut self.miss_id, input::MISS_ID),
            (&mut self.stream_tag, input::STREAM_TAG),
            (&mut self.fill_tag, input::FILL_TAG),
        ]
    }
}

impl Outputs {
    /// All zero, for a configuration.
    pub fn new(c: &Config) -> Self {
        let n = c.sms as usize;
        let (outcome, probe, l2) = (vec![Outcome::default(); n], vec![ProbeRequest::default(); n], vec![L2Request::default(); n]);
        Self { outcome, probe, l2, ..Self::default() }
    }

    /// Takes the values of the ports of a block.
    pub fn read(&mut self, signals: &Signals) {
        let bit = |port| signal::is(signals, port, 0);
        (self.matrix_ready, self.stream_ready) = (bit(output::MATRIX_READY), bit(output::STREAM_READY));
        for (set, port) in self.sets_mut() {
            *set = signal::sms(signals, port);
        }
        for sm in self.outcome_valid.iter() {
            self.outcome[sm] = Outcome {
                id: signals.get(output::OUTCOME_ID, sm),
                remote: signal::is(signals, output::OUTCOME_REMOTE, sm),
                source: signals.get(output::OUTCOME_SOURCE, sm),
                reason: signals.get(output::OUTCOME_REASON, sm),
            };
        }
        for sm in self.probe_valid.iter() {
            let requester = signals.get(output::PROBE_REQUESTER, sm) as usize;
            self.probe[sm] = ProbeRequest { tag: signals.get(output::PROBE_TAG, sm), requester };
        }
        for sm in self.l2_valid.iter() {
            self.l2[sm] = L2Request { tag: signals.get(output::L2_TAG, sm), id: signals.get(output::L2_ID, sm) };
        }
        for (counter, value) in self.counters.iter_mut().enumerate() {
            *value = signals.get(output::COUNT_MISSES + counter, 0);
        }
        if signals.ports().len() > output::DEBUG_READY {
            self.debug_ready = bit(output::DEBUG_READY);
            self.debug_row = bit(output::DEBUG_VALID).then(|| signal::row(signals, output::DEBUG_ROW, 0));
        }
    }

    /// Drives the ports of a block; data without its valid bit is 0.
    pub fn write(&mut self, signals: &mut Signals) {
        signal::set_bit(signals, output::MATRIX_READY, self.matrix_ready);
        signal::set_bit(signals, output::STREAM_READY, self.stream_ready);
        signals.words_mut(output::ANSWER_READY).fill(1);
        for (set, port) in self.sets_mut() {
            signal::set_sms(signals, port, *set);
        }
        let outcomes = output::OUTCOME_ID..=output::OUTCOME_REASON;
        for port in outcomes.chain([output::PROBE_TAG, output::PROBE_REQUESTER, output::L2_TAG, output::L2_ID]) {
            signals.words_mut(port).fill(0);
        }
        for sm in self.outcome_valid.iter() {
            let Outcome { id, remote, source, reason } = self.outcome[sm];
            signals.set(output::OUTCOME_ID, sm, id);
            signals.set(output::OUTCOME_REMOTE, sm, remote.into());
            signals.set(output::OUTCOME_SOURCE, sm, source);
            signals.set(output::OUTCOME_REASON, sm, reason);
        }
        for sm in self.probe_valid.iter() {
            signals.set(output::PROBE_TAG, sm, self.probe[sm].tag);
            signals.set(output::PROBE_REQUESTER, sm, self.probe[sm].requester as u64);
        }
        for sm in self.l2_valid.iter() {
            signals.set(output::L2_TAG, sm, self.l2[sm].tag);
            signals.set(output::L2_ID, sm, self.l2[sm].id);
        }
        for (counter, &value) in self.counters.iter().enumerate() {
            signals.set(output::COUNT_MISSES + counter, 0, value);
        }
        if signals.ports().len() > output::DEBUG_READY {
            signal::set_bit(signals, output::DEBUG_READY, self.debug_ready);
            signal::set_bit(signals, output::DEBUG_VALID, self.debug_row.is_some());
            signal::set_row(signals, output::DEBUG_ROW, 0, self.debug_row.unwrap_or(SmSet::EMPTY));
        }
    }

    fn sets_mut(&mut self) -> [(&mut SmSet, usize); 6] {
        [
            (&mut self.miss_ready, output::MISS_READY),
            (&mut self.outcome_valid, output::OUTCOME_VALID),
            (&mut self.probe_valid, output::PROBE_VALID),
            (&mut self.l2_valid, output::L2_VALID),
            (&mut self.refresh_valid, output::REFRESH_VALID),
            (&mut self.fill_ready, output::FILL_READY),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Block, Port};
    use crate::c2p::C2pCache;
    use crate::c2p::tests::config;
    use rand::{RngCore, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Random values of all ports.
    fn random(ports: &[Port], rng: &mut ChaCha8Rng) -> Signals {
        let mut signals = Signals::new(ports);
        for (at, port) in ports.iter().enumerate() {
            for word in 0..signals.words(at).len() {
                let bits = (port.bits - word as u32 % port.words() as u32 * 64).min(64);
                signals.words_mut(at)[word] = rng.next_u64() >> (64 - bits);
            }
        }
        signals
    }

    /// Sixteen random cycles each with and without the debug port; rows of one and of two words.
    fn cycles(mut check: impl FnMut(&Config, &mut ChaCha8Rng)) {
        for sets in [&["sms=5", "debug_port=true"][..], &["sms=70", "debug_port=true"], &["sms=5"]] {
            check(&config(sets), &mut ChaCha8Rng::seed_from_u64(5));
        }
    }

    #[test]
    fn inputs_come_back() {
        cycles(|c, rng| {
            let ports = C2pCache::new(c).inputs();
            let (mut inputs, mut back) = (Inputs::new(c), Signals::new(&ports));
            for cycle in 0..16 {
                let signals = random(&ports, rng);
                inputs.read(&signals);
                inputs.write(&mut back);
                let beat = [input::STREAM_SM, input::STREAM_KEEP, input::STREAM_LAST];
                for (at, port) in ports.iter().enumerate() {
                    if inputs.stream.is_some() || !beat.contains(&at) {
                        assert_eq!(back.words(at), signals.words(at), "{} SMs, cycle {cycle}: {}", c.sms, port.name);
                    }
                }
            }
        });
    }

    #[test]
    fn outputs_come_back_where_they_are_valid() {
        cycles(|c, rng| {
            let ports = C2pCache::new(c).outputs();
            let (mut outputs, mut back) = (Outputs::new(c), Signals::new(&ports));
            for cycle in 0..16 {
                let mut signals = random(&ports, rng);
                outputs.read(&signals);
                outputs.write(&mut back);
                // Answers are always taken, and data without its valid bit is 0.
                signals.words_mut(output::ANSWER_READY).fill(1);
                for (at, port) in ports.iter().enumerate() {
                    let unit = port.name.split_once('_').map(|parts| format!("{}_valid_o", parts.0));
                    let valid = ports.iter().position(|p| Some(&p.name) == unit.as_ref() && !port.name.ends_with("ready_o"));
                    let valid = valid.map(|valid| signals.words(valid).to_vec());
                    let words = port.words();
                    for (element, data) in signals.words_mut(at).chunks_mut(words).enumerate() {
                        if valid.as_ref().is_some_and(|valid| valid[element] == 0) {
                            data.fill(0);
                        }
                    }
                    assert_eq!(back.words(at), signals.words(at), "{} SMs, cycle {cycle}: {}", c.sms, port.name);
                }
            }
        });
    }
}
