//! What surrounds the design: warps that load and store, the L1 with its MSHRs, the memory below, the idle registers.
//!
//! [`Environment::drive`] gives the inputs of a cycle; it may look at a model in the state of the design, because some inputs answer
//! outputs of the same cycle. [`Environment::observe`] then sees the outputs. Every datum that a demand reads from a register is compared
//! with the content of the memory.

use super::candidate_generator::Candidate;
use super::l1::{Meta, PrefetchL1, Tagged};
use super::memory::{Datum, Latency, Memory, Registers, Versions};
use super::peb::Unread;
use super::prt;
use super::sizes::{Limits, Sizes, ones};
use super::streams::{Kind, Step, Stream};
use super::top::{Fill, Inputs, Outputs, SnakeCharmer};
use crate::cache::L1Parameters;
use l1forge_config::{Config, Frontend};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::{HashMap, VecDeque};

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

/// A request on its way.
#[derive(Debug, Clone)]
struct Flight {
    line: u64,
    mask: u32,
    /// Pattern and PRT entry, for a prefetch.
    prefetch: Option<(u64, Option<u64>)>,
    /// Sectors that demands have asked for.
    late: u32,
    /// Sectors stored to since.
    stale: u32,
    /// Content when the request was made.
    versions: Versions,
    waiters: Vec<usize>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Warp {
    step: Option<Step>,
    /// Time at which the step may be made.
    ready: u64,
    /// Requests it waits for.
    waiting: usize,
    /// Steps made.
    made: u64,
    finished: bool,
}

/// What happened, in sectors where nothing else is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Activity {
    /// Loads.
    pub loads: u64,
    /// Sectors that loads asked for.
    pub demanded: u64,
    /// Of these, read from idle registers.
    pub register_hits: u64,
    /// Found in the L1.
    pub l1_hits: u64,
    /// Found on their way.
    pub merged: u64,
    /// Asked of the L2.
    pub missed: u64,
    /// Prefetched.
    pub prefetched: u64,
    /// Uses of prefetched sectors, on time, by kind of the prefetch.
    pub on_time: [u64; 3],
    /// Uses of prefetched sectors on their way, by kind.
    pub late: [u64; 3],
    /// Demands for prefetched sectors that had left again, by kind.
    pub early: [u64; 3],
    /// Prefetches, as opposed to sectors; of these, not into the table.
    pub prefetches: (u64, u64),
    /// Candidates whose sectors are not all zero, of these suppressed.
    pub useful: (u64, u64),
    /// Candidates whose sectors are all zero, of these passed on to the SGU.
    pub zero: (u64, u64),
    /// Cycle in which the last warp finished.
    pub finished_at: u64,
    /// Cycles that loads waited for data, in all.
    pub wait: u64,
}

impl Activity {
    /// Sectors that the L2 was asked for.
    pub fn l2_sectors(&self) -> u64 {
        self.missed + self.prefetched
    }
}

/// The surroundings of one instance.
pub struct Environment {
    profile: Profile,
    stream: Stream,
    warps: Vec<Warp>,
    turn: usize,
    l1: PrefetchL1,
    memory: Memory<Flight>,
    registers: Registers,
    now: u64,
    /// The demand of the cycle before: warp, step, content of the memory.
    asked: Option<(usize, Step, Versions)>,
    driven: Option<(usize, Step)>,
    uses: VecDeque<(bool, Tagged)>,
    evictions: VecDeque<(bool, Tagged)>,
    idle: u64,
    base: u64,
    enabled: bool,
    entries: u64,
    register_mask: u64,
    kinds: HashMap<u64, u64>,
    activity: Activity,
    faults: Vec<String>,
    rng: ChaCha8Rng,
    external: Option<(Sizes, Limits, Option<Candidate>)>,
    recent: VecDeque<u64>,
    stopped: bool,
    tag_mask: u64,
    pc_mask: u64,
    warp_limit: usize,
    sector_mask: u32,
    patterns: u64,
}

impl Environment {
    /// The surroundings before the first cycle.
    ///
    /// # Panics
    /// The L1 of the profile is impossible.
    pub fn new(c: &Config, profile: Profile, stream: Stream, seed: u64) -> Self {
        let z = Sizes::new(c);
        let (lines, ways) = profile.l1;
        let l1 = PrefetchL1::new(L1Parameters { lines, ways, sectors: z.s, ..L1Parameters::default() });
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0xe7f1);
        Self {
            warps: vec![Warp::default(); stream.warps()],
            turn: 0,
            l1: l1.unwrap_or_else(|e| panic!("{e}")),
            memory: Memory::new(profile.latency, seed),
            registers: Registers::default(),
            now: 0,
            asked: None,
            driven: None,
            uses: VecDeque::new(),
            evictions: VecDeque::new(),
            idle: profile.idle,
            base: rng.random::<u64>() & ones(z.rb),
            enabled: true,
            entries: c.sc_prt_entries.into(),
            register_mask: ones(z.rb),
            kinds: HashMap::new(),
            activity: Activity::default(),
            faults: Vec::new(),
            external: (c.frontend == Frontend::External).then(|| (z, Limits::new(c), None)),
            recent: VecDeque::new(),
            stopped: false,
            tag_mask: ones(z.t),
            pc_mask: ones(z.pc),
            warp_limit: c.sc_warps as usize,
            sector_mask: ones(z.s) as u32,
            patterns: c.sc_patterns.into(),
            rng,
            profile,
            stream,
        }
    }

    /// What happened so far.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Wrong data seen by demands, and other breaches.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Switches prefetching on or off.
    pub fn enable(&mut self, on: bool) {
        self.enabled = on;
    }

    /// Warps make no further step.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Every warp has finished, and nothing is on its way or to be reported.
    pub fn is_done(&self) -> bool {
        let idle = self.warps.iter().all(|w| w.waiting == 0 && (self.stopped || w.finished));
        idle && self.asked.is_none()
            && self.driven.is_none()
            && self.memory.flights().next().is_none()
            && self.uses.is_empty()
            && self.evictions.is_empty()
    }

    /// Every warp has made its last step and has its data.
    pub fn warps_finished(&self) -> bool {
        self.warps.iter().all(|w| w.finished && w.waiting == 0) && self.asked.is_none() && self.driven.is_none()
    }

    /// Prefetched sectors outstanding or unused in the L1, by what was reported so far.
    pub fn resident(&self) -> u64 {
        let reported = |list: &VecDeque<(bool, Tagged)>| list.iter().map(|e| u64::from(e.1.sectors.count_ones())).sum::<u64>();
        (self.l1.outstanding_prefetches() + self.l1.unread()) as u64 + reported(&self.uses) + reported(&self.evictions)
    }

    fn chance(&mut self, p: f64) -> bool {
        p >= 1.0 || p > 0.0 && self.rng.random_bool(p)
    }

    /// Inputs of a cycle.
    pub fn drive(&mut self, model: &SnakeCharmer) -> Inputs {
        self.answer(model.answer());
        if self.chance(self.profile.idle_change) {
            self.idle = match self.rng.random_range(0..4) {
                0 => 0,
                1 => self.entries,
                _ => self.rng.random_range(0..=self.entries),
            };
        }
        if self.chance(self.profile.toggle) {
            self.enabled = !self.enabled;
        }
        let mut x = Inputs {
            enable: self.enabled,
            flush: self.chance(self.profile.flush),
            clear_statistics: self.chance(self.profile.clear_statistics),
            idle: self.idle,
            base: self.base,
            refill_ready: self.chance(self.profile.refill_ready),
            ..Inputs::default()
        };
        self.demand(&mut x);
        x.fill = self.fill();
        if self.chance(self.profile.report)
            && let Some((late, t)) = self.uses.front()
        {
            x.used = Some((*late, t.sectors.into(), t.meta));
            x.used_line = Some(t.line);
        }
        if self.chance(self.profile.report)
            && let Some((invalid, t)) = self.evictions.front()
        {
            x.evict = Some(Unread { line: t.line, mask: t.sectors.into(), handle: t.meta });
            x.evict_invalid = *invalid;
        }
        if let Some(d) = x.demand {
            let kind = self.kinds.get(&d.line).copied().unwrap_or(0) as usize;
            self.activity.early[kind] += u64::from(model.early(x.demand).count_ones());
        }
        self.candidate(&mut x);
        let room = self.memory.flights().count() < self.profile.mshrs - self.profile.mshrs / 4;
        x.prefetch_ready = room && self.chance(self.profile.prefetch_ready);
        if let Some(offer) = model.outputs(&x).offer {
            x.have = self.have(offer.line).into();
        }
        x
    }

    /// Sectors of a line that need no prefetch.
    fn have(&self, line: u64) -> u32 {
        let (hit, waiting, _) = self.l1.peek(line, self.sector_mask);
        let demand = |d: Option<Step>| d.filter(|s| s.line == line && s.kind == Kind::Load).map_or(0, |s| s.sectors);
        let listed = self.uses.iter().chain(&self.evictions).filter(|e| e.1.line == line).fold(0, |m, e| m | e.1.sectors);
        let flights = self.memory.flights().filter(|f| f.line == line).fold(0, |m, f| m | f.mask);
        hit | waiting | listed | flights | demand(self.asked.map(|a| a.1)) | demand(self.driven.map(|d| d.1))
    }

    /// The answer to the demand of the cycle before; what it does not have goes to the L1.
    fn answer(&mut self, answer: prt::Answer) {
        let Some((warp, step, versions)) = self.asked.take() else { return };
        let hit = answer.hit as u32;
        if hit & !step.sectors != 0 {
            self.faults.push(format!("cycle {}: {:#x} answered with sectors {hit:#x}", self.now, step.line));
        }
        let expected = |s: u8| Datum { line: step.line, sector: s, version: versions[s as usize] };
        if let Err(wrong) = self.registers.read(answer.register, hit, expected) {
            self.faults.push(format!("cycle {}: {wrong}", self.now));
        }
        self.activity.loads += 1;
        self.activity.demanded += u64::from(step.sectors.count_ones());
        self.activity.register_hits += u64::from(hit.count_ones());
        let kind = self.kinds.get(&step.line).copied().unwrap_or(0) as usize;
        self.activity.on_time[kind] += u64::from(answer.on_time.count_ones());
        let rest = step.sectors & !hit;
        let found = self.l1.load(step.line, rest);
        self.activity.l1_hits += u64::from(found.hit.count_ones());
        self.activity.merged += u64::from(found.waiting.count_ones());
        self.activity.missed += u64::from(found.missing.count_ones());
        for t in found.on_time {
            self.activity.on_time[kind] += u64::from(t.sectors.count_ones());
            self.uses.push_back((false, t));
        }
        for t in found.late {
            self.activity.late[kind] += u64::from(t.sectors.count_ones());
            self.uses.push_back((true, t));
        }
        let mut waits = 0;
        for flight in self.memory.flights_mut().filter(|f| f.line == step.line && f.mask & found.waiting != 0) {
            flight.late |= flight.mask & found.waiting;
            flight.waiters.push(warp);
            waits += 1;
        }
        if found.missing != 0 {
            self.l1.ask(step.line, found.missing, None);
            let flight = Flight {
                line: step.line,
                mask: found.missing,
                prefetch: None,
                late: found.missing,
                stale: 0,
                versions: self.memory.versions(step.line),
                waiters: vec![warp],
            };
            self.memory.request(self.now, flight);
            waits += 1;
        }
        let w = &mut self.warps[warp];
        w.waiting = waits;
        w.ready = self.now + if rest == 0 { 1 } else { u64::from(self.profile.l1_latency) };
        self.next_step(warp);
    }

    fn next_step(&mut self, warp: usize) {
        let step = if self.stopped { None } else { self.stream.next(warp) };
        let mask = (self.tag_mask, self.pc_mask, self.sector_mask);
        let w = &mut self.warps[warp];
        w.finished = step.is_none();
        w.step = step.map(|s| Step {
            line: s.line & mask.0,
            pc: s.pc & mask.1,
            sectors: if s.sectors & mask.2 == 0 { 1 } else { s.sectors & mask.2 },
            ..s
        });
        w.ready += u64::from(step.map_or(0, |s| s.gap));
        if w.finished {
            self.activity.finished_at = self.activity.finished_at.max(w.ready);
        }
    }

    /// The next demand, from the warps in turn.
    fn demand(&mut self, x: &mut Inputs) {
        if self.now == 0 {
            (0..self.warps.len()).for_each(|w| self.next_step(w));
        }
        if !self.chance(self.profile.demand) || self.memory.flights().count() + 1 >= self.profile.mshrs {
            return;
        }
        let n = self.warps.len();
        // Steps that all warps have finished, for streams with barriers.
        let reached = |w: &Warp| if w.finished { u64::MAX } else { w.made - u64::from(w.waiting > 0 || w.step.is_none()) };
        let common = if self.stream.barrier() { self.warps.iter().map(reached).min().unwrap_or(0) } else { u64::MAX };
        for k in 0..n {
            let warp = (self.turn + k) % n;
            let w = &self.warps[warp];
            let free = w.waiting == 0 && w.ready <= self.now && w.made <= common && !self.stopped;
            let Some(step) = w.step.filter(|_| free) else { continue };
            // What was stored to while it was on its way must not serve a later load.
            if self.memory.flights().any(|f| f.line == step.line && f.stale & step.sectors != 0) {
                continue;
            }
            self.turn = warp + 1;
            x.demand = Some(prt::Demand { store: step.kind == Kind::Store, line: step.line, mask: step.sectors.into() });
            x.origin = ((warp % self.warp_limit) as u64, step.pc);
            self.driven = Some((warp, step));
            return;
        }
    }

    /// The next fill of a prefetch; fills of demands are made on the way.
    fn fill(&mut self) -> Option<Fill> {
        if let Some((_, step)) = self.driven.filter(|d| d.1.kind == Kind::Store) {
            self.spoil(step);
        }
        if !self.chance(self.profile.fill) {
            return None;
        }
        while self.memory.peek(self.now).is_some_and(|f| f.prefetch.is_none()) {
            let Some(flight) = self.memory.take(self.now) else { break };
            self.arrive(&flight, 0, 0);
        }
        let f = self.memory.peek(self.now)?;
        let (pattern, entry) = f.prefetch?;
        let zero = self.stream.zero_sectors(f.line) & f.mask == f.mask;
        let to = prt::Fill { entry: entry.unwrap_or(0), line: f.line, mask: f.mask.into(), bypass: (f.late | f.stale).into() };
        Some(Fill { table: entry.is_some(), to, pattern, zero })
    }

    /// Sectors of a flight come to a register or to the L1; those who wait go on.
    fn arrive(&mut self, flight: &Flight, to_register: u32, register: u64) {
        let line = flight.line;
        let tagged = self.l1.arrived(line, flight.mask);
        self.registers.write(register, to_register, |s| Datum { line, sector: s, version: flight.versions[s as usize] });
        let keep = flight.mask & !flight.stale & !to_register;
        let split = |part: u32| -> Vec<Tagged> {
            tagged.iter().map(|t| Tagged { sectors: t.sectors & part, ..*t }).filter(|t| t.sectors != 0).collect()
        };
        self.evictions.extend(split(flight.stale).into_iter().map(|t| (true, t)));
        if keep != 0 {
            let lost = self.l1.install(line, keep, &split(keep));
            self.evictions.extend(lost.into_iter().map(|t| (false, t)));
        }
        for &warp in &flight.waiters {
            let w = &mut self.warps[warp];
            w.waiting -= 1;
            let gap = u64::from(w.step.map_or(0, |s| s.gap));
            w.ready = w.ready.max(self.now + 1 + gap);
            if w.finished {
                self.activity.finished_at = self.activity.finished_at.max(self.now);
            }
        }
    }

    /// Candidates of a predictor outside: near lines that were loaded, with everything else at random.
    fn candidate(&mut self, x: &mut Inputs) {
        let Some((z, limits, waiting)) = &mut self.external else { return };
        if let Some(d) = x.demand.filter(|d| !d.store) {
            self.recent.push_back(d.line);
            if self.recent.len() > 16 {
                self.recent.pop_front();
            }
        }
        let rng = &mut self.rng;
        if waiting.is_none() && !self.stopped && !self.recent.is_empty() && rng.random_bool(0.6) {
            let line = self.recent[rng.random_range(0..self.recent.len())];
            let kind = rng.random_range(0..3);
            *waiting = Some(Candidate {
                line: line.wrapping_add(rng.random_range(0..20)) & self.tag_mask,
                mask: rng.random_range(1..=u64::from(self.sector_mask)),
                pattern: rng.random_range(0..self.patterns).min(1),
                kind,
                distance: if rng.random_bool(0.8) { rng.random_range(1..=limits.of(kind).min(6)) } else { rng.random::<u64>() & ones(z.d) },
                confidence: rng.random_range(0..4),
                warp: rng.random_range(0..self.warp_limit as u64).min(7),
                pc: rng.random_range(0..8) & self.pc_mask,
            });
        }
        x.candidate = *waiting;
        x.best = (rng.random_range(0..3), rng.random_range(0..self.warp_limit as u64), rng.random_range(0..8) & self.pc_mask);
    }

    /// Outputs of the cycle whose inputs were driven; `model` after them.
    pub fn observe(&mut self, x: &Inputs, o: &Outputs) {
        if x.used.is_some() {
            self.uses.pop_front();
        }
        if x.evict.is_some() {
            self.evictions.pop_front();
        }
        if let Some((_, _, waiting)) = &mut self.external
            && o.candidate_ready
        {
            *waiting = None;
        }
        if let Some((line, mask, register)) = o.prt.refill.filter(|_| x.refill_ready) {
            let memory = &self.memory;
            if let Err(wrong) = self.registers.read(register, mask as u32, |s| memory.read(line, s)) {
                self.faults.push(format!("cycle {}: refill: {wrong}", self.now));
            }
            let lost = self.l1.install(line, mask as u32, &[]);
            self.evictions.extend(lost.into_iter().map(|t| (false, t)));
        }
        if let Some(fill) = x.fill
            && let Some(flight) = self.memory.take(self.now)
        {
            let registered = if fill.table { o.prt.fill_mask as u32 } else { 0 };
            self.arrive(&flight, registered, o.prt.fill_register);
        }
        if let Some(offer) = o.offer.filter(|_| x.prefetch_ready) {
            self.issue(offer.line, (offer.mask & !x.have) as u32, offer.pattern, offer.entry, offer.handle);
        }
        if let Some((warp, step)) = self.driven.take() {
            self.warps[warp].made += 1;
            if step.kind == Kind::Load {
                self.asked = Some((warp, step, self.memory.versions(step.line)));
                self.warps[warp].step = None;
            } else {
                self.store(step);
                let w = &mut self.warps[warp];
                w.ready = self.now + 1;
                self.next_step(warp);
            }
        }
        if o.prt.drained {
            // The registers belong to somebody else.
            (x.idle..self.entries).for_each(|e| self.registers.reclaim(self.base.wrapping_add(e) & self.register_mask));
        }
        self.activity.wait += self.warps.iter().filter(|w| w.waiting > 0).count() as u64;
        self.now += 1;
    }

    /// The decision of the cycle that was clocked last.
    pub fn note(&mut self, model: &SnakeCharmer) {
        let Some(d) = model.decision() else { return };
        if d.pushed {
            self.kinds.insert(d.candidate.line, d.candidate.kind);
        }
        let mask = d.candidate.mask as u32;
        if self.stream.zero_sectors(d.candidate.line) & mask == mask {
            self.activity.zero.0 += 1;
            self.activity.zero.1 += u64::from(!d.suppressed);
        } else {
            self.activity.useful.0 += 1;
            self.activity.useful.1 += u64::from(d.suppressed);
        }
    }

    fn issue(&mut self, line: u64, mask: u32, pattern: u64, entry: Option<u64>, handle: Meta) {
        if mask == 0 {
            return;
        }
        self.activity.prefetched += u64::from(mask.count_ones());
        self.activity.prefetches.0 += 1;
        self.activity.prefetches.1 += u64::from(entry.is_none());
        self.l1.ask(line, mask, Some(handle));
        let versions = self.memory.versions(line);
        let flight = Flight { line, mask, prefetch: Some((pattern, entry)), late: 0, stale: 0, versions, waiters: Vec::new() };
        self.memory.request(self.now, flight);
    }

    fn store(&mut self, step: Step) {
        // The whole line leaves the L1, but only some sectors leave the PRT: the others stay what they are.
        self.memory.store(step.line, step.sectors);
        let lost = self.l1.store(step.line);
        self.evictions.extend(lost.into_iter().map(|t| (true, t)));
        self.spoil(step);
    }

    /// What is on its way is older than the store.
    fn spoil(&mut self, step: Step) {
        for flight in self.memory.flights_mut().filter(|f| f.line == step.line) {
            flight.stale |= flight.mask & step.sectors;
        }
    }
}
