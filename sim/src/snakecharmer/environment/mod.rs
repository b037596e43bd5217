//! What surrounds the design: warps that load and store, the L1 with its MSHRs, the memory below, the idle registers.
//!
//! [`Environment::drive`] gives the inputs of a cycle; it may look at a model in the state of the design, because some inputs answer
//! outputs of the same cycle. [`Environment::observe`] then sees the outputs. Every datum that a demand reads from a register is compared
//! with the content of the memory.

mod activity;
mod fills;
mod profile;
mod warps;

pub use activity::Activity;
pub use profile::Profile;

use crate::cache::L1Parameters;
use crate::snakecharmer::candidate_generator::Candidate;
use crate::snakecharmer::l1::{Meta, PrefetchL1, Tagged};
use crate::snakecharmer::memory::{Datum, Memory, Registers, Versions};
use crate::snakecharmer::peb::Unread;
use crate::snakecharmer::prt;
use crate::snakecharmer::sizes::{Limits, Sizes, ones};
use crate::snakecharmer::streams::{Kind, Step, Stream};
use crate::snakecharmer::top::{Fill, Inputs, Outputs, SnakeCharmer};
use l1forge_config::{Config, Frontend};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::{HashMap, VecDeque};

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
}
