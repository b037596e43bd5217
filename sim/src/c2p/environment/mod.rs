//! What surrounds `c2p_cache`: the L1s of all SMs, the L2, and the misses.
//!
//! An [`Environment`] drives the inputs of the top and takes its outputs, always within the protocol: a valid stays with its
//! payload until it is taken, ids in flight are distinct, answers come in order, streams keep the obligations of
//! `docs/blocks/refresh_controller.md`. How slow, stuck or random it is says a [`Profile`]; what the SMs access says a [`Source`].
//!
//! One cycle of a simulation is: [`Environment::drive`], `eval` of the design, [`Environment::observe`], `clock` of the design.

mod access;
mod profile;

pub use access::{Access, Source, list, random, sweep};
pub use profile::Profile;

use super::pins::{input, output};
use super::sizes::Sizes;
use super::sm_set::SmSet;
use crate::block::Signals;
use crate::cache::{Fill, IndexHash, L1, L1Parameters, L2, L2Parameters, Lookup, Request, StorePolicy};
use l1forge_config::Config;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeSet, VecDeque};

/// What happened in the environment and is not seen on the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// An SM stores to a line; its own L1 no longer holds it.
    Store {
        /// The SM.
        sm: usize,
        /// The line.
        tag: u64,
    },
    /// A line enters an L1.
    Install {
        /// The SM.
        sm: usize,
        /// The line.
        tag: u64,
        /// The SM it was copied from; `None`: from L2.
        from: Option<usize>,
    },
    /// A line leaves an L1.
    Drop {
        /// The SM.
        sm: usize,
        /// The line.
        tag: u64,
    },
    /// All L1s are emptied.
    Flush,
}

/// A miss of one SM, from the L1's point of view.
#[derive(Debug, Clone, Copy)]
struct Mshr {
    id: u64,
    tag: u64,
    outcome: bool,
    filled: bool,
    /// The line enters the L1 when it comes.
    install: bool,
    remote: Option<usize>,
}

struct Sm {
    l1: L1,
    /// An access that has to wait.
    next: Option<Access>,
    finished: bool,
    at_barrier: bool,
    mshrs: Vec<Mshr>,
    /// The miss on its way, and whether it is shareable.
    miss: Option<(u64, u64, bool)>,
    miss_shown: bool,
    /// Lines stored to in this kernel.
    stored: BTreeSet<u64>,
    notices: VecDeque<u64>,
    notice_shown: bool,
    /// Lines on their way from another L1: cycle, id.
    returns: VecDeque<(u64, u64)>,
    /// Probes taken: first cycle in which they can be answered, tag.
    probes: VecDeque<(u64, u64)>,
    busy_until: u64,
    /// A stream of this SM is not finished.
    streaming: bool,
}

struct Stream {
    sm: usize,
    tags: VecDeque<u64>,
    /// Cycle in which the request, or the latest beat, was taken.
    active: u64,
    beat: Option<Beat>,
}

struct Beat {
    tags: Vec<Option<u64>>,
    last: bool,
}

/// Counts of what the SMs did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Activity {
    /// Loads, stores and atomics.
    pub accesses: u64,
    /// Loads that hit their own L1.
    pub l1_hits: u64,
    /// Loads of a line that was already on its way to the SM.
    pub merged: u64,
    /// Misses accepted by the design.
    pub misses: u64,
    /// Misses that have their line and their outcome.
    pub finished: u64,
}

/// L1s, L2, miss sources and stream source around `c2p_cache`.
pub struct Environment {
    sizes: Sizes,
    profile: Profile,
    rng: ChaCha8Rng,
    source: Box<dyn Source>,
    cycle: u64,
    sms: Vec<Sm>,
    l2: L2,
    fills: Vec<Fill>,
    streams: VecDeque<Stream>,
    stopped: bool,
    enabled: bool,
    flush: bool,
    debug: Option<u64>,
    notes: Vec<Note>,
    activity: Activity,
    tag_latency: u64,
    return_latency: u64,
    stream_timeout: u64,
    rows: u64,
}

impl Environment {
    /// An environment before the first cycle; the same seed gives the same run.
    ///
    /// # Panics
    /// Never for a valid configuration.
    pub fn new(c: &Config, profile: Profile, source: Box<dyn Source>, seed: u64) -> Self {
        let lines = (c.l1_bytes / c.line_bytes) as usize;
        let l1 = L1Parameters { lines, ways: c.l1_ways as usize, sectors: 1, index: IndexHash::Mixed, store: StorePolicy::Invalidate };
        let l2 = L2Parameters {
            latency: c.l2_latency.into(),
            bandwidth: c.l2_bandwidth,
            queue: 1 << 20,
            jitter: profile.l2_jitter,
            seed: seed ^ 0x4c32,
        };
        let sm = || Sm {
            l1: L1::new(l1.clone()).expect("the configuration is valid"),
            next: None,
            finished: false,
            at_barrier: false,
            mshrs: Vec::new(),
            miss: None,
            miss_shown: false,
            stored: BTreeSet::new(),
            notices: VecDeque::new(),
            notice_shown: false,
            returns: VecDeque::new(),
            probes: VecDeque::new(),
            busy_until: 0,
            streaming: false,
        };
        let mut environment = Self {
            sizes: Sizes::new(c),
            rng: ChaCha8Rng::seed_from_u64(seed),
            source,
            cycle: 0,
            sms: (0..c.sms).map(|_| sm()).collect(),
            l2: L2::new(l2).expect("the configuration is valid"),
            fills: Vec::new(),
            streams: VecDeque::new(),
            stopped: false,
            enabled: profile.enable,
            flush: false,
            debug: None,
            notes: Vec::new(),
            activity: Activity::default(),
            tag_latency: c.remote_tag_latency.into(),
            return_latency: c.return_latency.into(),
            stream_timeout: c.stream_timeout.into(),
            rows: c.rows().into(),
            profile: Profile { mshrs: profile.mshrs.clamp(1, 1 << c.id_bits.min(16)), ..profile },
        };
        (0..environment.sms.len()).for_each(|sm| environment.fetch(sm));
        environment
    }

    /// No SM accesses anything from now on; what is in flight goes on.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// SMs whose misses never end.
    pub fn stuck(&self) -> SmSet {
        self.profile.outcome_stuck | self.profile.l2_stuck
    }

    /// Every SM that is not [stuck](Environment::stuck) has finished its accesses and has all its lines.
    pub fn is_done(&self) -> bool {
        let done = |sm: &Sm| (sm.finished || self.stopped) && sm.mshrs.is_empty() && sm.notices.is_empty();
        self.sms.iter().enumerate().all(|(n, sm)| done(sm) || self.stuck().contains(n))
    }

    /// Misses that the design has accepted or will be shown, and that have not ended.
    pub fn in_flight(&self) -> usize {
        self.sms.iter().map(|sm| sm.mshrs.len()).sum()
    }

    /// What happened in the latest cycle and is not seen on the ports.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// What the SMs did so far.
    pub fn activity(&self) -> Activity {
        self.activity
    }

    /// The L1 of an SM holds the line.
    pub fn holds(&self, sm: usize, tag: u64) -> bool {
        self.sms[sm].l1.contains(tag)
    }

    /// True with probability `p`.
    fn chance(&mut self, p: f64) -> bool {
        p >= 1.0 || (p > 0.0 && self.rng.random_bool(p))
    }

    /// Drives all inputs of the next cycle.
    pub fn drive(&mut self, inputs: &mut Signals) {
        if self.cycle > 0 {
            self.notes.clear(); // stores before the first cycle count as of that cycle
        }
        if self.chance(self.profile.toggle_enable) {
            self.enabled = !self.enabled;
        }
        self.flush = self.flush || self.chance(self.profile.flush) || self.all_at_barrier();
        let clear = self.chance(self.profile.clear_statistics);
        for (port, value) in [(input::ENABLE, self.enabled), (input::FLUSH, self.flush), (input::CLEAR_STATISTICS, clear)] {
            inputs.set(port, 0, u64::from(value));
        }
        for sm in 0..self.sms.len() {
            self.drive_sm(sm, inputs);
        }
        self.drive_stream(inputs);
        if self.sizes.debug {
            if self.debug.is_none() && self.chance(self.profile.debug) {
                let (bank, row) = (self.rng.random_range(0..self.sizes.b as u64), self.rng.random_range(0..self.rows));
                self.debug = Some(bank << self.sizes.rw | row);
            }
            inputs.set(input::DEBUG_VALID, 0, u64::from(self.debug.is_some()));
            inputs.set(input::DEBUG_INDEX, 0, self.debug.unwrap_or(0));
        }
    }

    fn drive_sm(&mut self, sm: usize, inputs: &mut Signals) {
        let p = &self.profile;
        let outcome = if p.outcome_stuck.contains(sm) { 0.0 } else { p.outcome_ready };
        let l2 = if p.l2_stuck.contains(sm) { 0.0 } else { p.l2_ready };
        let probe = if p.deaf.contains(sm) { 0.0 } else { p.probe_ready };
        let answer = if p.mute.contains(sm) { 0.0 } else { p.answer };
        let refresh = if p.unrefreshed.contains(sm) || self.sms[sm].streaming { 0.0 } else { p.refresh_ready };
        let (miss, fill, busy, busy_cycles) = (p.miss, p.fill, p.busy, p.busy_cycles.max(1));

        if self.cycle >= self.sms[sm].busy_until && self.chance(busy) {
            self.sms[sm].busy_until = self.cycle + self.rng.random_range(1..=busy_cycles);
        }
        let awake = self.cycle >= self.sms[sm].busy_until;
        let ready = [
            (input::OUTCOME_READY, self.chance(outcome)),
            (input::L2_READY, self.chance(l2)),
            (input::PROBE_READY, awake && self.chance(probe)),
            (input::REFRESH_READY, self.chance(refresh)),
        ];
        for (port, value) in ready {
            inputs.set(port, sm, u64::from(value));
        }

        let due = self.sms[sm].probes.front().copied().filter(|p| awake && p.0 <= self.cycle);
        let tag = due.filter(|_| self.chance(answer)).map(|p| p.1);
        inputs.set(input::ANSWER_VALID, sm, u64::from(tag.is_some()));
        inputs.set(input::ANSWER_HIT, sm, u64::from(tag.is_some_and(|tag| self.sms[sm].l1.contains(tag))));

        let shown = self.sms[sm].miss_shown || (self.sms[sm].miss.is_some() && self.chance(miss));
        self.sms[sm].miss_shown = shown;
        let (tag, id, shareable) = self.sms[sm].miss.filter(|_| shown).unwrap_or_default();
        inputs.set(input::MISS_VALID, sm, u64::from(shown));
        inputs.set(input::MISS_TAG, sm, tag);
        inputs.set(input::MISS_ID, sm, id);
        inputs.set(input::MISS_SHAREABLE, sm, u64::from(shareable));

        let shown = self.sms[sm].notice_shown || (!self.sms[sm].notices.is_empty() && self.chance(fill));
        self.sms[sm].notice_shown = shown;
        inputs.set(input::FILL_VALID, sm, u64::from(shown));
        inputs.set(input::FILL_TAG, sm, self.sms[sm].notices.front().copied().filter(|_| shown).unwrap_or(0));
    }

    /// Shows the beat that waits, or begins one. A stream whose time is over is given up, except for a beat already shown.
    fn drive_stream(&mut self, inputs: &mut Signals) {
        while let Some(stream) = self.streams.front()
            && stream.beat.is_none()
            && self.cycle > stream.active + self.stream_timeout
        {
            self.end_stream();
        }
        let silent = self.streams.front().is_none_or(|s| self.profile.silent.contains(s.sm));
        if !silent && self.streams[0].beat.is_none() && self.chance(self.profile.stream) {
            let beat = self.new_beat();
            self.streams[0].beat = Some(beat);
        }
        let shown = self.streams.front().and_then(|s| Some((s.sm, s.beat.as_ref()?)));
        inputs.set(input::STREAM_VALID, 0, u64::from(shown.is_some()));
        inputs.set(input::STREAM_SM, 0, shown.map_or(0, |s| s.0 as u64));
        inputs.set(input::STREAM_LAST, 0, u64::from(shown.is_some_and(|s| s.1.last)));
        for place in 0..self.sizes.st {
            let tag = shown.and_then(|s| s.1.tags[place]);
            inputs.set(input::STREAM_TAG, place, tag.unwrap_or(0));
            inputs.set(input::STREAM_KEEP, place, u64::from(tag.is_some()));
        }
    }

    fn new_beat(&mut self) -> Beat {
        let hole = self.profile.hole;
        let mut tags = vec![None; self.sizes.st];
        for tag in &mut tags {
            if !self.chance(hole) {
                *tag = self.streams[0].tags.pop_front();
            }
        }
        // Sometimes the end comes as a beat of its own.
        let last = self.streams[0].tags.is_empty() && !self.chance(hole / 4.0);
        Beat { tags, last }
    }

    fn end_stream(&mut self) {
        if let Some(stream) = self.streams.pop_front() {
            self.sms[stream.sm].streaming = false;
        }
    }

    /// Takes what the design shows in this cycle, and ends the cycle.
    pub fn observe(&mut self, inputs: &Signals, outputs: &Signals) {
        let both = |i: usize, o: usize, sm: usize| inputs.get(i, sm) != 0 && outputs.get(o, sm) != 0;
        if self.flush {
            self.flush_l1s();
        }
        for sm in 0..self.sms.len() {
            if inputs.get(input::ANSWER_VALID, sm) != 0 {
                self.sms[sm].probes.pop_front();
            }
            if both(input::PROBE_READY, output::PROBE_VALID, sm) {
                let jitter = if self.profile.answer_jitter == 0 { 0 } else { self.rng.random_range(0..=self.profile.answer_jitter) };
                self.sms[sm].probes.push_back((self.cycle + self.tag_latency + jitter, outputs.get(output::PROBE_TAG, sm)));
            }
            if both(input::MISS_VALID, output::MISS_READY, sm) {
                self.sms[sm].miss = None;
                self.sms[sm].miss_shown = false;
                self.activity.misses += 1;
            }
            if both(input::L2_READY, output::L2_VALID, sm) {
                let (id, line) = (outputs.get(output::L2_ID, sm), outputs.get(output::L2_TAG, sm));
                let taken = self.l2.push(Request { sm: sm as u32, id, line });
                debug_assert!(taken, "the L2 queue holds every miss");
            }
            if both(input::OUTCOME_READY, output::OUTCOME_VALID, sm) {
                self.take_outcome(sm, outputs);
            }
            if both(input::REFRESH_READY, output::REFRESH_VALID, sm) {
                let tags = self.sms[sm].l1.valid_tags().collect();
                self.sms[sm].streaming = true;
                self.streams.push_back(Stream { sm, tags, active: self.cycle, beat: None });
            }
            if both(input::FILL_VALID, output::FILL_READY, sm) {
                self.sms[sm].notices.pop_front();
                self.sms[sm].notice_shown = false;
            }
        }
        self.observe_stream(inputs, outputs);
        if self.sizes.debug && both(input::DEBUG_VALID, output::DEBUG_READY, 0) {
            self.debug = None;
        }
        self.arrivals();
        self.cycle += 1;
        (0..self.sms.len()).for_each(|sm| self.fetch(sm));
    }

    fn observe_stream(&mut self, inputs: &Signals, outputs: &Signals) {
        if inputs.get(input::STREAM_VALID, 0) == 0 || outputs.get(output::STREAM_READY, 0) == 0 {
            return;
        }
        let (cycle, timeout) = (self.cycle, self.stream_timeout);
        let Some(stream) = self.streams.front_mut() else { return };
        let last = stream.beat.take().is_some_and(|beat| beat.last);
        let late = cycle > stream.active + timeout;
        stream.active = cycle;
        if last || late {
            self.end_stream();
        }
    }

    fn take_outcome(&mut self, sm: usize, outputs: &Signals) {
        let id = outputs.get(output::OUTCOME_ID, sm);
        let remote = outputs.get(output::OUTCOME_REMOTE, sm) != 0;
        let Some(at) = self.sms[sm].mshrs.iter().position(|m| m.id == id) else { return };
        let mshr = &mut self.sms[sm].mshrs[at];
        mshr.outcome = true;
        if remote {
            mshr.remote = Some(outputs.get(output::OUTCOME_SOURCE, sm) as usize);
            self.sms[sm].returns.push_back((self.cycle + self.return_latency, id));
        } else if mshr.filled {
            self.release(sm, at);
        }
    }

    /// Lines that come from L2 and from other L1s.
    fn arrivals(&mut self) {
        let mut fills = std::mem::take(&mut self.fills);
        self.l2.step(self.cycle, &mut fills);
        for fill in fills.drain(..) {
            self.arrive(fill.request.sm as usize, fill.request.id);
        }
        self.fills = fills;
        for sm in 0..self.sms.len() {
            while let Some(&(cycle, id)) = self.sms[sm].returns.front()
                && cycle <= self.cycle
            {
                self.sms[sm].returns.pop_front();
                self.arrive(sm, id);
            }
        }
    }

    fn arrive(&mut self, sm: usize, id: u64) {
        let Some(at) = self.sms[sm].mshrs.iter().position(|m| m.id == id && !m.filled) else { return };
        let Mshr { tag, install, remote, .. } = self.sms[sm].mshrs[at];
        if install {
            if let Some(evicted) = self.sms[sm].l1.fill(tag, 1) {
                self.notes.push(Note::Drop { sm, tag: evicted.line });
            }
            self.notes.push(Note::Install { sm, tag, from: remote });
            self.sms[sm].notices.push_back(tag);
        }
        self.sms[sm].mshrs[at].filled = true;
        if self.sms[sm].mshrs[at].outcome {
            self.release(sm, at);
        }
    }

    fn release(&mut self, sm: usize, at: usize) {
        self.sms[sm].mshrs.swap_remove(at);
        self.activity.finished += 1;
    }

    /// A new kernel: nothing old stays in any L1, nor enters it later.
    fn flush_l1s(&mut self) {
        self.flush = false;
        self.notes.push(Note::Flush);
        for sm in &mut self.sms {
            sm.l1.flush_all();
            sm.stored.clear();
            sm.at_barrier = false;
            sm.mshrs.iter_mut().for_each(|m| m.install = false);
        }
    }

    fn all_at_barrier(&self) -> bool {
        let waiting = |sm: &Sm| (sm.at_barrier || sm.finished) && sm.mshrs.is_empty() && sm.notices.is_empty();
        self.sms.iter().any(|sm| sm.at_barrier) && self.sms.iter().all(waiting)
    }

    /// Lets an SM access lines until it has a miss to send or has to wait.
    fn fetch(&mut self, sm: usize) {
        for _ in 0..4 {
            if self.sms[sm].miss.is_some() || self.sms[sm].at_barrier || self.sms[sm].finished || self.stopped {
                return;
            }
            let Some(access) = self.sms[sm].next.take().or_else(|| self.source.next(sm)) else {
                self.sms[sm].finished = true;
                return;
            };
            let state = &mut self.sms[sm];
            let in_flight = |tag| state.mshrs.iter().any(|m| m.tag == tag);
            let room = state.mshrs.len() < self.profile.mshrs && state.notices.len() < 8;
            match access {
                Access::Barrier => {
                    state.at_barrier = true;
                    return;
                }
                Access::Load(tag) if in_flight(tag) => self.activity.merged += 1,
                Access::Load(tag) if state.l1.load(tag, 1) == Lookup::Hit => self.activity.l1_hits += 1,
                Access::Load(_) if !room => return state.next = Some(access),
                Access::Load(tag) => {
                    let shareable = !(self.profile.own_stores_bypass && state.stored.contains(&tag));
                    self.new_miss(sm, tag, shareable, true);
                }
                // A store waits for its line in flight, so that the line is never older than the store.
                Access::Store(tag) if in_flight(tag) => return state.next = Some(access),
                Access::Store(tag) => self.store(sm, tag),
                Access::Atomic(tag) if in_flight(tag) || !room => return state.next = Some(access),
                Access::Atomic(tag) => {
                    self.store(sm, tag);
                    self.new_miss(sm, tag, false, false);
                }
            }
            self.activity.accesses += 1;
        }
    }

    fn store(&mut self, sm: usize, tag: u64) {
        self.sms[sm].l1.store(tag);
        self.sms[sm].stored.insert(tag);
        self.notes.push(Note::Store { sm, tag });
    }

    fn new_miss(&mut self, sm: usize, tag: u64, shareable: bool, install: bool) {
        let ids = 1_u64 << self.sizes.i;
        let mut id = self.rng.random_range(0..ids);
        while self.sms[sm].mshrs.iter().any(|m| m.id == id) {
            id = (id + 1) % ids;
        }
        self.sms[sm].mshrs.push(Mshr { id, tag, outcome: false, filled: false, install, remote: None });
        self.sms[sm].miss = Some((tag, id, shareable));
    }
}

#[cfg(test)]
mod tests;
