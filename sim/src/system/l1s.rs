//! The L1s of all SMs with their MSHRs, and what sharing schemes see of them.

use super::measures::{Measures, PrefetchCounts};
use super::parameters::SystemParameters;
use super::prefetch::Tag;
use crate::ParameterError;
use crate::c2p::SmSet;
use crate::c2p::probe_order::ProbeOrder;
use crate::cache::{IndexHash, L1, L1Parameters, LineHasher, StorePolicy};
use l1forge_config::Config;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasherDefault;

pub(super) type LineMap<T> = HashMap<u64, T, BuildHasherDefault<LineHasher>>;
pub(super) type LineSet = HashSet<u64, BuildHasherDefault<LineHasher>>;

/// A miss on its way to the sharing scheme, or in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Miss {
    /// SM that misses.
    pub sm: usize,
    /// Number of its MSHR: distinct among the misses in flight of the SM.
    pub id: u16,
    /// Line address.
    pub line: u64,
    /// Program counter of the access.
    pub pc: u64,
    /// Another L1 may serve it.
    pub shareable: bool,
}

/// What a scheme decided about the candidates of a miss before it asked any L1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Another L1 may hold the line: worth asking.
    Retained,
    /// No other L1 is asked.
    Pruned,
}

/// What the L2 is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    Atomic,
}

/// A request to the L2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub sm: usize,
    pub id: u16,
    pub line: u64,
    pub kind: Kind,
}

/// A line in flight to an SM.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    pub waiting: Vec<u32>,
    pub since: u64,
    /// The line enters the L1 when it comes.
    pub install: bool,
    /// The prefetcher asked for it first.
    pub prefetch: Option<Tag>,
    /// A load waits for what the prefetcher asked for.
    pub wanted: bool,
    pub atomic: bool,
    /// Some other L1 held the line when the scheme took the miss.
    reusable: bool,
    judged: bool,
    probes: usize,
    /// The scheme still uses the id.
    held: bool,
    filled: bool,
}

impl Entry {
    /// The line has come already; only the scheme still uses the id.
    pub fn filled(&self) -> bool {
        self.filled
    }
}

pub(super) struct SmCache {
    pub l1: L1,
    /// Line of each MSHR, when in use.
    lines: Vec<u64>,
    /// MSHR of each line in flight.
    ids: LineMap<u16>,
    pub entries: Vec<Entry>,
    free: Vec<u16>,
    misses: VecDeque<Miss>,
    requests: VecDeque<Request>,
    /// Lines stored to in this kernel.
    pub stored: LineSet,
    /// Prefetched lines in the L1 that were not used yet, with their handles.
    pub unread: LineMap<u64>,
    /// What the memory path sees of the prefetches.
    pub prefetch: PrefetchCounts,
}

#[derive(Debug, Clone, Copy, Default)]
struct Copies {
    holders: SmSet,
    in_flight: u32,
}

/// All L1s. A sharing scheme takes misses here, looks into the L1s as its hardware can, and says where each miss is served.
pub struct L1s {
    pub(super) sms: Vec<SmCache>,
    directory: LineMap<Copies>,
    orders: Vec<ProbeOrder>,
    pub(super) measures: Measures,
    /// Lines that come from other L1s: cycle, requester, id, source.
    pub(super) remote: Vec<(u64, usize, u16, usize)>,
    /// Lines that entered an L1 since the scheme looked last: SM, line, from another L1.
    installed: Vec<(usize, u64, bool)>,
    /// Prefetched lines that left an L1 unused, to be told to the prefetcher: SM, line, handle, made void.
    pub(super) left: Vec<(usize, u64, u64, bool)>,
    /// L1s that look something up in this cycle, for their own SM or another.
    ports: SmSet,
    /// SMs with requests to the L2.
    requesting: SmSet,
    /// SMs with misses that no scheme has taken.
    missing: SmSet,
    /// SMs without room for a request to the L2.
    blocked: SmSet,
    request_room: usize,
    waiting: usize,
}

impl L1s {
    pub(super) fn new(config: &Config, p: &SystemParameters) -> Result<Self, ParameterError> {
        let lines = (config.l1_bytes / config.line_bytes) as usize;
        let ways = (config.l1_ways as usize).min(lines);
        let l1 = L1::new(L1Parameters { lines, ways, sectors: 1, index: IndexHash::Mixed, store: StorePolicy::Invalidate })?;
        let cache = || SmCache {
            l1: l1.clone(),
            lines: vec![0; p.mshrs as usize],
            ids: LineMap::default(),
            entries: vec![Entry::default(); p.mshrs as usize],
            free: (0..p.mshrs as u16).rev().collect(),
            misses: VecDeque::new(),
            requests: VecDeque::new(),
            stored: LineSet::default(),
            unread: LineMap::default(),
            prefetch: PrefetchCounts::default(),
        };
        Ok(Self {
            sms: (0..config.sms).map(|_| cache()).collect(),
            directory: LineMap::default(),
            orders: (0..config.sms as usize).map(|sm| ProbeOrder::new(config, sm)).collect(),
            measures: Measures::default(),
            remote: Vec::new(),
            installed: Vec::new(),
            left: Vec::new(),
            ports: SmSet::EMPTY,
            requesting: SmSet::EMPTY,
            missing: SmSet::EMPTY,
            blocked: SmSet::EMPTY,
            request_room: p.request_queue as usize,
            waiting: 0,
        })
    }

    /// Number of SMs.
    pub fn count(&self) -> usize {
        self.sms.len()
    }

    /// Misses that no scheme has taken yet, of all SMs.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// SMs with misses that no scheme has taken yet.
    pub fn missing(&self) -> SmSet {
        self.missing
    }

    /// The oldest miss of an SM that waits for the scheme.
    pub fn peek_miss(&self, sm: usize) -> Option<Miss> {
        self.sms[sm].misses.front().copied()
    }

    /// Takes the oldest miss of an SM, and notes what perfect knowledge says about it now.
    pub fn take_miss(&mut self, sm: usize) -> Option<Miss> {
        let miss = self.sms[sm].misses.pop_front()?;
        self.waiting -= 1;
        if self.sms[sm].misses.is_empty() {
            self.missing.remove(sm);
        }
        let copies = self.directory.get(&miss.line).copied().unwrap_or_default();
        let entry = &mut self.sms[sm].entries[miss.id as usize];
        entry.reusable = !copies.holders.is_empty();
        if miss.shareable {
            self.measures.perfect_hits += u64::from(entry.reusable);
            self.measures.in_flight_elsewhere += u64::from(!entry.reusable && copies.in_flight > 1);
        }
        Some(miss)
    }

    /// The L1 of an SM holds the line.
    pub fn holds(&self, sm: usize, line: u64) -> bool {
        self.sms[sm].l1.contains(line)
    }

    /// All SMs whose L1 holds the line: perfect knowledge.
    pub fn holders(&self, line: u64) -> SmSet {
        self.directory.get(&line).map_or(SmSet::EMPTY, |c| c.holders)
    }

    /// The nearest of `candidates` to an SM, itself left out.
    pub fn nearest(&self, sm: usize, candidates: SmSet) -> Option<usize> {
        self.orders[sm].nearest(candidates)
    }

    /// The tags an L1 holds.
    pub fn valid_tags(&self, sm: usize) -> impl Iterator<Item = u64> + '_ {
        self.sms[sm].l1.valid_tags()
    }

    /// The L1 can look something up for another SM in this cycle.
    pub fn port_free(&self, sm: usize) -> bool {
        !self.ports.contains(sm)
    }

    /// The L1s that cannot.
    pub fn ports_used(&self) -> SmSet {
        self.ports
    }

    /// The L1 looks something up in this cycle.
    pub fn use_port(&mut self, sm: usize) {
        self.ports.insert(sm);
    }

    pub(super) fn free_ports(&mut self) {
        self.ports = SmSet::EMPTY;
    }

    /// The SM can send a request to the L2.
    pub fn l2_room(&self, sm: usize) -> bool {
        !self.blocked.contains(sm)
    }

    /// The SMs that cannot.
    pub fn blocked(&self) -> SmSet {
        self.blocked
    }

    /// Lines that entered an L1 since the last call: SM, line, whether from another L1.
    pub fn installed(&mut self) -> std::vec::Drain<'_, (usize, u64, bool)> {
        self.installed.drain(..)
    }

    /// `count` L1s are asked for the line that `requester` misses.
    pub fn count_probes(&mut self, requester: usize, line: u64, count: usize) {
        self.measures.probes += count as u64;
        // A probe that was given up may still reach its target, after the miss has ended.
        match self.in_flight(requester, line).filter(|id| !self.sms[requester].entries[*id as usize].filled) {
            Some(id) => self.sms[requester].entries[id as usize].probes += count,
            None => self.measures.probes_stray += count as u64,
        }
    }

    /// Keeps the id of a miss in use, even when its line has come, until [`L1s::release`].
    pub fn hold(&mut self, miss: &Miss) {
        self.sms[miss.sm].entries[miss.id as usize].held = true;
    }

    /// Lets the id of a held miss go.
    pub fn release(&mut self, sm: usize, id: u16) {
        self.sms[sm].entries[id as usize].held = false;
        if self.sms[sm].entries[id as usize].filled {
            self.retire(sm, id);
        }
    }

    /// Counts the candidates of a miss.
    pub fn judge(&mut self, miss: &Miss, verdict: Verdict) {
        let entry = &mut self.sms[miss.sm].entries[miss.id as usize];
        entry.judged = true;
        let counts = &mut self.measures.candidates;
        match (miss.shareable, verdict, entry.reusable) {
            (false, ..) => counts.unshareable += 1,
            (_, Verdict::Retained, true) => counts.tp += 1,
            (_, Verdict::Retained, false) => counts.fp += 1,
            (_, Verdict::Pruned, true) => counts.fn_ += 1,
            (_, Verdict::Pruned, false) => counts.tn += 1,
        }
    }

    /// The miss goes to the L2. There must be [room](L1s::l2_room).
    pub fn to_l2(&mut self, miss: &Miss) {
        let entry = &mut self.sms[miss.sm].entries[miss.id as usize];
        let (kind, prefetch) = (if entry.atomic { Kind::Atomic } else { Kind::Read }, entry.prefetch.is_some());
        self.measures.l2_loads += u64::from(kind == Kind::Read && !prefetch);
        self.measures.l2_prefetches += u64::from(prefetch);
        self.measures.l2_atomics += u64::from(kind == Kind::Atomic);
        let &Miss { sm, id, line, .. } = miss;
        self.request(Request { sm, id, line, kind });
    }

    pub(super) fn request(&mut self, request: Request) {
        self.sms[request.sm].requests.push_back(request);
        self.requesting.insert(request.sm);
        if self.sms[request.sm].requests.len() >= self.request_room {
            self.blocked.insert(request.sm);
        }
    }

    /// SMs with requests to the L2.
    pub(super) fn requesting(&self) -> SmSet {
        self.requesting
    }

    /// Takes the oldest request of an SM.
    pub(super) fn take_request(&mut self, sm: usize) -> Option<Request> {
        let request = self.sms[sm].requests.pop_front();
        if self.sms[sm].requests.is_empty() {
            self.requesting.remove(sm);
        }
        if self.sms[sm].requests.len() < self.request_room {
            self.blocked.remove(sm);
        }
        request
    }

    /// The L1 of `source` serves the miss; the line reaches the port of the requester in cycle `cycle`.
    pub fn from_l1(&mut self, miss: &Miss, source: usize, cycle: u64) {
        let prefetch = self.sms[miss.sm].entries[miss.id as usize].prefetch.is_some();
        self.measures.remote_hits += u64::from(!prefetch);
        self.measures.remote_prefetches += u64::from(prefetch);
        self.remote.push((cycle, miss.sm, miss.id, source));
    }

    /// The miss has ended one way or the other: its probes are counted.
    pub(super) fn ended(&mut self, sm: usize, id: u16, remote: bool) {
        let probes = self.sms[sm].entries[id as usize].probes;
        if probes > 0 {
            (if remote { &mut self.measures.probes_hit } else { &mut self.measures.probes_miss }).add(probes);
        }
    }

    /// MSHR of a line in flight.
    pub(super) fn in_flight(&self, sm: usize, line: u64) -> Option<u16> {
        self.sms[sm].ids.get(&line).copied()
    }

    /// Line of an MSHR in use.
    pub(super) fn line_of(&self, sm: usize, id: u16) -> u64 {
        self.sms[sm].lines[id as usize]
    }

    /// Lines an SM has in flight.
    pub(super) fn in_flight_count(&self, sm: usize) -> usize {
        self.sms[sm].lines.len() - self.sms[sm].free.len()
    }

    /// A free MSHR for a new miss, which goes to the scheme; `None` when there is none.
    pub(super) fn new_miss(&mut self, now: u64, sm: usize, line: u64, pc: u64, shareable: bool, install: bool) -> Option<&mut Entry> {
        let cache = &mut self.sms[sm];
        let id = cache.free.pop()?;
        cache.lines[id as usize] = line;
        cache.ids.insert(line, id);
        cache.misses.push_back(Miss { sm, id, line, pc, shareable });
        self.waiting += 1;
        self.missing.insert(sm);
        self.directory.entry(line).or_default().in_flight += 1;
        let entry = &mut cache.entries[id as usize];
        let waiting = std::mem::take(&mut entry.waiting);
        *entry = Entry { waiting, since: now, install, ..Entry::default() };
        Some(entry)
    }

    /// The line of an MSHR arrives, for the L1 or (`registered`) a register; those that wait for it are appended to `done`.
    pub(super) fn fill(&mut self, now: u64, sm: usize, id: u16, remote: bool, registered: bool, done: &mut Vec<(usize, u32)>) {
        let line = self.sms[sm].lines[id as usize];
        let entry = &mut self.sms[sm].entries[id as usize];
        done.extend(entry.waiting.drain(..).map(|token| (sm, token)));
        entry.filled = true;
        let (install, unread, held) = (entry.install, entry.prefetch.filter(|_| !entry.wanted && !registered), entry.held);
        if entry.prefetch.is_none() {
            self.measures.latency_sum += now - entry.since;
            self.measures.latencies += 1;
        }
        if install && !registered {
            self.install(sm, line, remote);
            if let Some(tag) = unread {
                self.sms[sm].unread.insert(line, tag.handle);
            }
        } else if let Some(tag) = unread {
            self.sms[sm].prefetch.invalidated += 1; // a store came in between
            self.left.push((sm, line, tag.handle, true));
        }
        if !held {
            self.retire(sm, id);
        }
    }

    /// A line enters an L1.
    pub(super) fn install(&mut self, sm: usize, line: u64, remote: bool) {
        if let Some(evicted) = self.sms[sm].l1.fill(line, 1) {
            self.dropped(sm, evicted.line, false);
        }
        self.directory.entry(line).or_default().holders.insert(sm);
        self.installed.push((sm, line, remote));
    }

    fn retire(&mut self, sm: usize, id: u16) {
        let cache = &mut self.sms[sm];
        let line = cache.lines[id as usize];
        cache.ids.remove(&line);
        debug_assert!(cache.entries[id as usize].judged, "an undecided miss ended");
        cache.free.push(id);
        if let Some(copies) = self.directory.get_mut(&line) {
            copies.in_flight -= 1;
            if copies.in_flight == 0 && copies.holders.is_empty() {
                self.directory.remove(&line);
            }
        }
    }

    /// A line is no longer in an L1; `void`: it is stale.
    fn dropped(&mut self, sm: usize, line: u64, void: bool) {
        if let Some(copies) = self.directory.get_mut(&line) {
            copies.holders.remove(sm);
            if copies.in_flight == 0 && copies.holders.is_empty() {
                self.directory.remove(&line);
            }
        }
        if let Some(handle) = self.sms[sm].unread.remove(&line) {
            let counts = &mut self.sms[sm].prefetch;
            *(if void { &mut counts.invalidated } else { &mut counts.evicted }) += 1;
            self.left.push((sm, line, handle, void));
        }
    }

    /// Drops a line from an L1, if it is there.
    pub(super) fn drop_line(&mut self, sm: usize, line: u64) {
        if self.sms[sm].l1.invalidate(line) {
            self.dropped(sm, line, true);
        }
    }

    /// A store drops the line from the L1 of its SM, now and when it is in flight.
    pub(super) fn store(&mut self, sm: usize, line: u64) {
        self.drop_line(sm, line);
        if let Some(id) = self.in_flight(sm, line) {
            self.sms[sm].entries[id as usize].install = false;
        }
        self.sms[sm].stored.insert(line);
    }

    /// A new kernel: all L1s are emptied. Nothing may be in flight.
    pub(super) fn flush(&mut self) {
        for (sm, cache) in self.sms.iter_mut().enumerate() {
            cache.l1.flush_all();
            cache.stored.clear();
            cache.prefetch.invalidated += cache.unread.len() as u64;
            self.left.extend(cache.unread.drain().map(|(line, handle)| (sm, line, handle, true)));
        }
        self.installed.clear();
        self.directory.clear();
    }

    /// No miss is in flight and nothing waits for the L2.
    pub(super) fn is_idle(&self) -> bool {
        self.requesting.is_empty() && self.sms.iter().all(|s| s.free.len() == s.lines.len())
    }
}
