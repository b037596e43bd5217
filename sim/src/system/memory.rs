//! The path from the L1s down, stepped cycle by cycle.

use super::cache_level::CacheLevel;
use super::l1s::{Kind, L1s, Request};
use super::measures::Measures;
use super::parameters::SystemParameters;
use super::prefetch::{Fill, Observation, Prefetcher, View};
use super::run::SystemError;
use super::scheme::Sharing;
use super::timeline::Timeline;
use crate::ParameterError;
use crate::c2p::SmSet;
use crate::cache::Lookup;
use l1forge_config::Config;

/// What becomes of one line of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// In the L1.
    Hit,
    /// In a register.
    Register,
    /// On its way: the token comes back from [`Memory::step`].
    Wait,
    /// Not possible in this cycle: try again in the next.
    Stall,
}

/// One line of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Warp slot of the SM.
    pub warp: u32,
    /// Program counter.
    pub pc: u64,
    /// Line address.
    pub line: u64,
    /// False for volatile loads, which go past the L1.
    pub shareable: bool,
    /// Comes back from [`Memory::step`] when the line has come, if the reply is [`Reply::Wait`].
    pub token: u32,
}

/// L1s, sharing scheme, interconnect, L2 and DRAM.
///
/// In every cycle, first the accesses ([`Memory::load`] and the others), then [`Memory::step`] once.
pub struct Memory {
    l1s: L1s,
    sharing: Box<dyn Sharing>,
    prefetchers: Vec<Box<dyn Prefetcher>>,
    l2: CacheLevel,
    network_latency: u64,
    line_cycles: u64,
    far_line_cycles: u64,
    /// On the way to the L2.
    requests: Timeline<Request>,
    /// Lines on the way to an SM: SM, id, from another L1.
    arrivals: Timeline<(usize, u16, bool)>,
    /// First cycle in which the port of an SM is free: to the L2, from the L2, from other L1s.
    port_out: Vec<u64>,
    port_in: Vec<u64>,
    port_far: Vec<u64>,
    /// Per SM: the prefetched line that comes in this cycle, by id, from another L1.
    fills: Vec<Option<(u16, bool)>>,
    /// SMs whose prefetcher must be stepped.
    prefetching: SmSet,
    prefetch_shared: bool,
    prefetch_mshrs: usize,
    due: Vec<(usize, u16, bool)>,
    answers: Vec<Request>,
    sent: Vec<Request>,
}

/// What a prefetcher sees of its L1.
struct SmView<'a> {
    l1s: &'a L1s,
    sm: usize,
    /// Lines that may be in flight when a prefetch is issued.
    most: usize,
}

impl View for SmView<'_> {
    fn has(&self, line: u64) -> bool {
        self.l1s.holds(self.sm, line) || self.l1s.in_flight(self.sm, line).is_some()
    }

    fn room(&self) -> bool {
        self.l1s.in_flight_count(self.sm) < self.most
    }
}

impl Memory {
    /// An empty path with a sharing scheme and one prefetcher per SM.
    ///
    /// # Errors
    /// A parameter outside its range.
    ///
    /// # Panics
    /// The number of prefetchers is not the number of SMs.
    pub fn new(
        config: &Config,
        p: &SystemParameters,
        sharing: Box<dyn Sharing>,
        prefetchers: Vec<Box<dyn Prefetcher>>,
    ) -> Result<Self, ParameterError> {
        p.check(config)?;
        let n = config.sms as usize;
        assert_eq!(prefetchers.len(), n, "one prefetcher per SM");
        Ok(Self {
            l1s: L1s::new(config, p)?,
            sharing,
            prefetchers,
            l2: CacheLevel::new(config, p)?,
            network_latency: p.network_latency.into(),
            line_cycles: p.line_cycles.into(),
            far_line_cycles: p.far_line_cycles.into(),
            requests: Timeline::default(),
            arrivals: Timeline::default(),
            port_out: vec![0; n],
            port_in: vec![0; n],
            port_far: vec![0; n],
            fills: vec![None; n],
            prefetching: SmSet::first_n(n),
            prefetch_shared: p.prefetch_shared,
            // A quarter of the MSHRs is kept for loads.
            prefetch_mshrs: (p.mshrs - p.mshrs / 4) as usize,
            due: Vec::new(),
            answers: Vec::new(),
            sent: Vec::new(),
        })
    }

    /// A load of a line.
    pub fn load(&mut self, now: u64, sm: usize, load: Load) -> Reply {
        let Load { pc, line, shareable, token, .. } = load;
        if !self.sharing.admit(sm) {
            self.l1s.measures.stalls += 1;
            return Reply::Stall;
        }
        self.l1s.use_port(sm);
        if shareable && self.prefetchers[sm].holds(line) {
            self.l1s.measures.accesses += 1;
            self.l1s.measures.l1_hits += 1;
            self.l1s.measures.register_hits += 1;
            self.observe(now, sm, &load, true);
            return Reply::Register;
        }
        if let Some(id) = self.l1s.in_flight(sm, line) {
            let entry = &mut self.l1s.sms[sm].entries[id as usize];
            if !shareable || !entry.install || entry.filled() {
                self.l1s.measures.stalls += 1; // must not take what may be older than a store of its own
                return Reply::Stall;
            }
            entry.waiting.push(token);
            if let Some(tag) = entry.prefetch.filter(|_| !entry.wanted) {
                entry.wanted = true;
                self.l1s.sms[sm].prefetch.late += 1;
                self.prefetchers[sm].used(line, tag.handle, true);
            }
            self.l1s.measures.accesses += 1;
            self.l1s.measures.l1_hits += 1;
            self.l1s.measures.l1_merged += 1;
            self.observe(now, sm, &load, false);
            return Reply::Wait;
        }
        if shareable && self.l1s.sms[sm].l1.load(line, 1) == Lookup::Hit {
            self.l1s.measures.accesses += 1;
            self.l1s.measures.l1_hits += 1;
            if let Some(handle) = self.l1s.sms[sm].unread.remove(&line) {
                self.l1s.sms[sm].prefetch.on_time += 1;
                self.prefetchers[sm].used(line, handle, false);
            }
            self.observe(now, sm, &load, true);
            return Reply::Hit;
        }
        // The SM's own store must be seen: other L1s may hold the line as it was before.
        let shared = shareable && !self.l1s.sms[sm].stored.contains(&line);
        let Some(entry) = self.l1s.new_miss(now, sm, line, pc, shared, shareable) else {
            self.l1s.measures.stalls += 1;
            return Reply::Stall;
        };
        entry.waiting.push(token);
        self.l1s.measures.accesses += 1;
        self.l1s.measures.l1_misses += 1;
        self.observe(now, sm, &load, false);
        Reply::Wait
    }

    /// A store to a line: written through, dropped from the L1 of the SM. False: not possible in this cycle.
    pub fn store(&mut self, sm: usize, line: u64) -> bool {
        if !self.l1s.l2_room(sm) || !self.sharing.admit(sm) {
            self.l1s.measures.stalls += 1;
            return false;
        }
        self.l1s.use_port(sm);
        self.l1s.store(sm, line);
        self.l1s.measures.stores += 1;
        self.l1s.request(Request { sm, id: 0, line, kind: Kind::Write });
        self.prefetchers[sm].store(line);
        self.wake_prefetcher(sm);
        true
    }

    /// An atomic: done at the L2. `token` comes back when it is.
    pub fn atomic(&mut self, now: u64, sm: usize, pc: u64, line: u64, token: u32) -> Reply {
        if self.l1s.in_flight(sm, line).is_some() || !self.sharing.admit(sm) {
            self.l1s.measures.stalls += 1;
            return Reply::Stall;
        }
        let Some(entry) = self.l1s.new_miss(now, sm, line, pc, false, false) else {
            self.l1s.measures.stalls += 1;
            return Reply::Stall;
        };
        entry.waiting.push(token);
        entry.atomic = true;
        self.l1s.use_port(sm);
        self.l1s.measures.atomics += 1;
        let cache = &mut self.l1s.sms[sm];
        cache.stored.insert(line);
        self.l1s.drop_line(sm, line);
        self.prefetchers[sm].store(line);
        self.wake_prefetcher(sm);
        Reply::Wait
    }

    /// Shows a load to the prefetcher.
    fn observe(&mut self, cycle: u64, sm: usize, load: &Load, hit: bool) {
        self.prefetchers[sm].load(&Observation { cycle, warp: load.warp, pc: load.pc, line: load.line, hit });
        self.wake_prefetcher(sm);
    }

    /// The prefetcher of an SM was told something.
    fn wake_prefetcher(&mut self, sm: usize) {
        if !self.prefetchers[sm].is_resting() {
            self.prefetching.insert(sm);
        }
    }

    /// One cycle of the prefetchers that do not rest: where the fills of the cycle go, lines from registers, new prefetches.
    fn prefetch(&mut self, now: u64, done: &mut Vec<(usize, u32)>) {
        for sm in self.prefetching.iter() {
            let prefetcher = &mut self.prefetchers[sm];
            let action = prefetcher.step(now, &SmView { l1s: &self.l1s, sm, most: self.prefetch_mshrs });
            if let Some((id, remote)) = self.fills[sm].take() {
                self.l1s.ended(sm, id, remote);
                self.l1s.fill(now, sm, id, remote, action.registered, done);
            }
            if let Some(line) = action.refill {
                self.l1s.install(sm, line, false);
            }
            if let Some((line, tag)) = action.prefetch {
                let shareable = self.prefetch_shared && !self.l1s.sms[sm].stored.contains(&line);
                if let Some(entry) = self.l1s.new_miss(now, sm, line, 0, shareable, true) {
                    entry.prefetch = Some(tag);
                    self.l1s.sms[sm].prefetch.issued += 1;
                }
            }
            if prefetcher.is_resting() {
                self.prefetching.remove(sm);
            }
        }
    }

    /// The end of a cycle; SM and token of every load and atomic that is done are appended to `done`.
    pub fn step(&mut self, now: u64, done: &mut Vec<(usize, u32)>) {
        let mut due = std::mem::take(&mut self.due);
        self.arrivals.pop(now, &mut due);
        for (sm, id, remote) in due.drain(..) {
            let entry = &self.l1s.sms[sm].entries[id as usize];
            let Some(tag) = entry.prefetch else {
                self.l1s.ended(sm, id, remote);
                self.l1s.fill(now, sm, id, remote, false, done);
                continue;
            };
            if self.fills[sm].is_some() {
                self.arrivals.push(now + 1, (sm, id, remote)); // one prefetch a cycle
                continue;
            }
            let bypass = entry.wanted || !entry.install;
            self.prefetchers[sm].fill(&Fill { line: self.l1s.line_of(sm, id), tag, bypass });
            self.fills[sm] = Some((id, remote));
            self.prefetching.insert(sm);
        }
        self.due = due;
        self.prefetch(now, done);
        for (sm, line, handle, void) in self.l1s.left.drain(..) {
            self.prefetchers[sm].left(line, handle, void);
            self.prefetching.insert(sm);
        }

        self.sharing.step(now, &mut self.l1s);
        for (cycle, sm, id, _source) in self.l1s.remote.drain(..) {
            let start = cycle.max(self.port_far[sm]).max(now + 1);
            self.port_far[sm] = start + self.far_line_cycles;
            self.arrivals.push(start, (sm, id, true));
        }

        for sm in self.l1s.requesting().iter() {
            if self.port_out[sm] <= now
                && let Some(request) = self.l1s.take_request(sm)
            {
                let cycles = if request.kind == Kind::Write { self.line_cycles } else { 1 };
                self.port_out[sm] = now + cycles;
                self.requests.push(now + self.network_latency, request);
            }
        }
        self.requests.pop(now, &mut self.sent);
        self.sent.drain(..).for_each(|request| self.l2.push(request));
        self.l2.step(now, &mut self.l1s.measures, &mut self.answers);
        for Request { sm, id, .. } in self.answers.drain(..) {
            let start = now.max(self.port_in[sm]);
            self.port_in[sm] = start + self.line_cycles;
            self.arrivals.push((start + self.network_latency).max(now + 1), (sm, id, false));
        }
        self.l1s.free_ports();
    }

    /// The next cycle in which something happens, if no SM accesses anything.
    pub fn next(&self, now: u64) -> Option<u64> {
        let requests = (!self.prefetching.is_empty() || !self.l1s.requesting().is_empty()).then_some(now + 1);
        let misses = (self.l1s.waiting() > 0).then_some(now + 1);
        let next = [requests, misses, self.sharing.next(now), self.requests.next(), self.arrivals.next(), self.l2.next(now)];
        next.into_iter().flatten().min().map(|cycle| cycle.max(now + 1))
    }

    /// Nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.l1s.is_idle() && self.requests.is_empty() && self.arrivals.is_empty() && self.l2.is_idle()
    }

    /// A new kernel starts: L1s are emptied, the L2 stays. Nothing may be on its way.
    pub fn flush(&mut self) {
        self.l1s.flush();
        self.sharing.flush();
        for (sm, line, handle, void) in self.l1s.left.drain(..) {
            self.prefetchers[sm].left(line, handle, void);
        }
        self.prefetchers.iter_mut().for_each(|p| p.flush());
        self.prefetching = SmSet::first_n(self.prefetchers.len());
    }

    /// What was counted so far; of the prefetches, see [`Memory::finish`].
    pub fn measures(&self) -> &Measures {
        &self.l1s.measures
    }

    /// All counts, when nothing is on its way, and those of all prefetchers themselves.
    ///
    /// # Errors
    /// A balance does not hold.
    pub fn finish(&self) -> Result<(Measures, Vec<(&'static str, u64)>), SystemError> {
        let mut measures = self.l1s.measures.clone();
        let mut counters: Vec<(&'static str, u64)> = Vec::new();
        for (cache, prefetcher) in self.l1s.sms.iter().zip(&self.prefetchers) {
            prefetcher.check(&cache.prefetch).map_err(SystemError::Scheme)?;
            measures.prefetch += cache.prefetch;
            measures.prefetch += prefetcher.counts();
            for (i, (name, value)) in prefetcher.counters().into_iter().enumerate() {
                match counters.get_mut(i) {
                    Some(sum) => sum.1 += value,
                    None => counters.push((name, value)),
                }
            }
        }
        measures.check()?;
        self.sharing.check(&measures).map_err(SystemError::Scheme)?;
        Ok((measures, counters))
    }

    /// The sharing scheme.
    pub fn sharing(&self) -> &dyn Sharing {
        &*self.sharing
    }
}
