//! How fast everything is.

use super::*;

/// How fast, slow or stuck the environment is. Probabilities are per cycle, 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// A new miss is shown.
    pub miss: f64,
    /// `outcome_ready_i`.
    pub outcome_ready: f64,
    /// `l2_ready_i`.
    pub l2_ready: f64,
    /// `probe_ready_i` outside busy phases.
    pub probe_ready: f64,
    /// An answer that is due is given, outside busy phases.
    pub answer: f64,
    /// A busy phase of an L1 begins, in which it neither takes nor answers probes.
    pub busy: f64,
    /// Longest busy phase, in cycles; lengths are random from 1.
    pub busy_cycles: u64,
    /// Random cycles added to each tag lookup, at most.
    pub answer_jitter: u64,
    /// `refresh_ready_i`.
    pub refresh_ready: f64,
    /// The next beat of the stream is shown.
    pub stream: f64,
    /// A place in a beat is left empty.
    pub hole: f64,
    /// A fill notice is shown.
    pub fill: f64,
    /// `enable_i` in the first cycle.
    pub enable: bool,
    /// `enable_i` changes.
    pub toggle_enable: f64,
    /// Everything is flushed in the middle of the work; lines in flight are then not installed.
    pub flush: f64,
    /// `clear_statistics_i`.
    pub clear_statistics: f64,
    /// A debug read of a random row begins (with `debug_port`).
    pub debug: f64,
    /// Misses in flight of one SM at most, up to 2^`id_bits`.
    pub mshrs: usize,
    /// Random cycles added to each L2 access, at most.
    pub l2_jitter: u64,
    /// A load of a line that its SM has stored to in this kernel is not shareable. Without it, such a load may get older
    /// data from another L1, which [`Oracle`](crate::c2p::oracle::Oracle) reports.
    pub own_stores_bypass: bool,
    /// SMs that never take a probe.
    pub deaf: SmSet,
    /// SMs that never answer a probe.
    pub mute: SmSet,
    /// SMs that never take a refresh request.
    pub unrefreshed: SmSet,
    /// SMs that take refresh requests and send nothing.
    pub silent: SmSet,
    /// SMs that never take an outcome.
    pub outcome_stuck: SmSet,
    /// SMs whose L2 requests are never taken.
    pub l2_stuck: SmSet,
}

impl Profile {
    /// Everything at once, no randomness.
    pub fn ideal() -> Self {
        Self {
            miss: 1.0,
            outcome_ready: 1.0,
            l2_ready: 1.0,
            probe_ready: 1.0,
            answer: 1.0,
            busy: 0.0,
            busy_cycles: 1,
            answer_jitter: 0,
            refresh_ready: 1.0,
            stream: 1.0,
            hole: 0.0,
            fill: 1.0,
            enable: true,
            toggle_enable: 0.0,
            flush: 0.0,
            clear_statistics: 0.0,
            debug: 0.0,
            mshrs: 16,
            l2_jitter: 0,
            own_stores_bypass: true,
            deaf: SmSet::EMPTY,
            mute: SmSet::EMPTY,
            unrefreshed: SmSet::EMPTY,
            silent: SmSet::EMPTY,
            outcome_stuck: SmSet::EMPTY,
            l2_stuck: SmSet::EMPTY,
        }
    }

    /// Random stalls on every channel, busy L1s, holes, debug reads.
    pub fn random() -> Self {
        Self {
            miss: 0.6,
            outcome_ready: 0.5,
            l2_ready: 0.5,
            probe_ready: 0.6,
            answer: 0.7,
            busy: 0.005,
            busy_cycles: 100,
            answer_jitter: 5,
            refresh_ready: 0.3,
            stream: 0.5,
            hole: 0.3,
            fill: 0.5,
            toggle_enable: 0.002,
            flush: 0.0005,
            debug: 0.2,
            l2_jitter: 20,
            ..Self::ideal()
        }
    }

    /// Hardly ever ready, and L1s that are busy most of the time.
    pub fn slow() -> Self {
        Self {
            outcome_ready: 0.1,
            l2_ready: 0.1,
            probe_ready: 0.1,
            answer: 0.2,
            busy: 0.02,
            busy_cycles: 200,
            answer_jitter: 30,
            refresh_ready: 0.1,
            stream: 0.1,
            hole: 0.6,
            fill: 0.1,
            l2_jitter: 100,
            ..Self::ideal()
        }
    }
}
