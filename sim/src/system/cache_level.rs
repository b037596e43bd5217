//! The shared L2: banks with queues, LRU, misses to one line merged, DRAM behind.

use super::dram::Dram;
use super::l1s::{Kind, LineMap, LineSet, Request};
use super::measures::Measures;
use super::parameters::SystemParameters;
use super::timeline::Timeline;
use crate::ParameterError;
use crate::cache::{IndexHash, L1, L1Parameters, Lookup, StorePolicy, mix};
use l1forge_config::Config;
use std::collections::VecDeque;

struct Bank {
    tags: L1,
    queue: VecDeque<Request>,
    free_at: u64,
}

/// The L2 and the DRAM behind it.
///
/// A store to an absent line takes a place without fetching the line (its bytes are kept by mask); a dirty line that leaves is written back.
pub struct CacheLevel {
    banks: Vec<Bank>,
    /// Banks with requests: bit `b % 64` of word `b / 64` is bank `b`.
    waiting: Vec<u64>,
    /// Requests that wait for a line from DRAM.
    pending: LineMap<Vec<Request>>,
    dirty: LineSet,
    dram: Dram,
    latency: u64,
    bank_cycles: u64,
    per_cycle: usize,
    queued: usize,
    first: usize,
    /// Data that is ready in a cycle.
    ready: Timeline<Request>,
    arrived: Vec<u64>,
}

impl CacheLevel {
    pub fn new(config: &Config, p: &SystemParameters) -> Result<Self, ParameterError> {
        let lines = p.l2_lines_per_bank(config) as usize;
        let ways = if p.l2_ways == 0 { lines } else { p.l2_ways as usize };
        let tags = L1::new(L1Parameters { lines, ways, sectors: 1, index: IndexHash::Mixed, store: StorePolicy::Update })?;
        Ok(Self {
            banks: (0..p.l2_banks).map(|_| Bank { tags: tags.clone(), queue: VecDeque::new(), free_at: 0 }).collect(),
            waiting: vec![0; (p.l2_banks as usize).div_ceil(64)],
            pending: LineMap::default(),
            dirty: LineSet::default(),
            dram: Dram::new(p.dram_latency, config.line_bytes, p.dram_bytes_per_cycle),
            latency: u64::from(config.l2_latency.saturating_sub(2 * p.network_latency)),
            bank_cycles: p.l2_bank_cycles.into(),
            per_cycle: config.l2_bandwidth as usize,
            queued: 0,
            first: 0,
            ready: Timeline::default(),
            arrived: Vec::new(),
        })
    }

    /// A request arrives.
    pub fn push(&mut self, request: Request) {
        // The low half of the mix: the set is taken from the high one.
        let bank = (mix(request.line) as u32 as usize) % self.banks.len();
        self.banks[bank].queue.push_back(request);
        self.waiting[bank / 64] |= 1 << (bank % 64);
        self.queued += 1;
    }

    /// One cycle; requests whose data is ready go to `answers`.
    pub fn step(&mut self, now: u64, measures: &mut Measures, answers: &mut Vec<Request>) {
        let count = self.banks.len();
        let mut room = self.per_cycle;
        if self.queued > 0 {
            for (mut from, to) in [(self.first, count), (0, self.first)] {
                while let Some(bank) = self.waiting_from(from).filter(|bank| *bank < to && room > 0) {
                    from = bank + 1;
                    if self.banks[bank].free_at <= now
                        && let Some(request) = self.banks[bank].queue.pop_front()
                    {
                        self.queued -= 1;
                        room -= 1;
                        self.banks[bank].free_at = now + self.bank_cycles;
                        if self.banks[bank].queue.is_empty() {
                            self.waiting[bank / 64] &= !(1 << (bank % 64));
                        }
                        self.serve(now, bank, request, measures);
                    }
                }
            }
            self.first = (self.first + 1) % count;
        }
        let mut arrived = std::mem::take(&mut self.arrived);
        self.dram.step(now, &mut arrived);
        for line in arrived.drain(..) {
            let bank = (mix(line) as u32 as usize) % count;
            self.install(bank, line, measures);
            for request in self.pending.remove(&line).unwrap_or_default() {
                if request.kind == Kind::Atomic {
                    self.dirty.insert(line);
                }
                self.ready.push(now + self.latency, request);
            }
        }
        self.arrived = arrived;
        measures.dram_fills = self.dram.fetched;
        self.ready.pop(now, answers);
    }

    /// The first bank with requests, from `bank` on.
    fn waiting_from(&self, bank: usize) -> Option<usize> {
        let mut word = bank / 64;
        let mut bits = *self.waiting.get(word)? & (u64::MAX << (bank % 64));
        while bits == 0 {
            word += 1;
            bits = *self.waiting.get(word)?;
        }
        Some(64 * word + bits.trailing_zeros() as usize)
    }

    fn serve(&mut self, now: u64, bank: usize, request: Request, measures: &mut Measures) {
        let line = request.line;
        if request.kind == Kind::Write {
            measures.l2_stores += 1;
            if self.banks[bank].tags.load(line, 1) == Lookup::Miss && !self.pending.contains_key(&line) {
                self.install(bank, line, measures);
            }
            if self.banks[bank].tags.contains(line) {
                self.dirty.insert(line);
            }
            return;
        }
        if let Some(waiting) = self.pending.get_mut(&line) {
            measures.l2_merged += 1;
            waiting.push(request);
        } else if self.banks[bank].tags.load(line, 1) == Lookup::Hit {
            measures.l2_hits += 1;
            if request.kind == Kind::Atomic {
                self.dirty.insert(line);
            }
            self.ready.push(now + self.latency, request);
        } else {
            self.pending.insert(line, vec![request]);
            self.dram.fetch(line);
        }
    }

    fn install(&mut self, bank: usize, line: u64, measures: &mut Measures) {
        if let Some(evicted) = self.banks[bank].tags.fill(line, 1)
            && self.dirty.remove(&evicted.line)
        {
            measures.write_backs += 1;
            self.dram.write_back();
        }
    }

    /// The next cycle in which something happens, if nothing is pushed.
    pub fn next(&self, now: u64) -> Option<u64> {
        let queue = (self.queued > 0).then_some(now + 1);
        [queue, self.dram.next(now), self.ready.next()].into_iter().flatten().min()
    }

    /// Nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.queued == 0 && self.pending.is_empty() && self.ready.is_empty()
    }
}
