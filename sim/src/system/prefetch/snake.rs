//! SnakeCharmer, or one of its parts alone: the model of the top, driven through its channels.

use super::{Action, Fill, Observation, Prefetcher, Tag, View};
use crate::cache::mix;
use crate::snakecharmer::{self as sc, COUNTERS, Demand, Inputs, PrtFill, SnakeCharmer, Unread};
use crate::system::measures::PrefetchCounts;
use crate::system::parameters::SystemParameters;
use l1forge_config::Config;
use std::collections::VecDeque;

/// The design beside one L1.
///
/// The memory path moves whole lines, so every mask has all sectors of a line, and a count of the design is the number of lines times the
/// sectors of a line.
pub struct Snake {
    model: SnakeCharmer,
    /// Sectors of a line: their number, their mask.
    sectors: u64,
    mask: u64,
    idle: u64,
    warps: u64,
    pc_mask: u64,
    /// A stretch of so many lines is zero as a whole, of 100 stretches so many.
    zeros: (u64, u64),
    demand: Option<Demand>,
    origin: (u64, u64),
    fill: Option<Fill>,
    /// Reports that wait for their channel: late or void, line, handle.
    uses: VecDeque<(bool, u64, u64)>,
    losses: VecDeque<(bool, u64, u64)>,
    /// Whether the table was found to have the line of the load of this cycle, and of the one before.
    found: Option<bool>,
    expected: Option<bool>,
    /// First cycle not stepped.
    next: u64,
    /// The model was resting after its last cycle.
    quiet: bool,
    /// Candidates with data, of these suppressed; candidates all zero, of these passed on.
    filtered: [u64; 4],
    fault: Option<String>,
}

impl Snake {
    /// With the front end, filter and controller of the configuration; `registers`: registers are idle.
    pub fn new(c: &Config, p: &SystemParameters, registers: bool) -> Self {
        let sectors = u64::from(c.sc_sectors());
        let mut wide = c.clone();
        wide.counter_bits = 64; // those of a long run need not fit into those of the hardware
        Self {
            model: SnakeCharmer::new(&wide),
            sectors,
            mask: u64::MAX >> (64 - sectors),
            idle: if registers { p.idle_registers.min(c.sc_prt_entries).into() } else { 0 },
            warps: c.sc_warps.into(),
            pc_mask: u64::MAX >> (64 - c.sc_pc_bits),
            zeros: (p.zero_percent.into(), p.zero_lines.into()),
            demand: None,
            origin: (0, 0),
            fill: None,
            uses: VecDeque::new(),
            losses: VecDeque::new(),
            found: None,
            expected: None,
            next: 0,
            quiet: true,
            filtered: [0; 4],
            fault: None,
        }
    }

    fn is_zero(&self, line: u64) -> bool {
        let (percent, lines) = self.zeros;
        percent > 0 && mix((line / lines) ^ 0x2e05) % 100 < percent
    }

    fn counter(&self, name: &str) -> u64 {
        COUNTERS.iter().position(|n| *n == name).map_or(0, |n| self.model.counters()[n] / self.sectors)
    }

    /// What is on the channels in this cycle.
    fn inputs(&mut self) -> Inputs {
        let mut x = Inputs { enable: true, idle: self.idle, refill_ready: true, origin: self.origin, ..Inputs::default() };
        x.demand = self.demand.take();
        x.fill = self.fill.take().map(|f| sc::Fill {
            table: f.tag.entry.is_some(),
            to: PrtFill { entry: f.tag.entry.unwrap_or(0), line: f.line, mask: self.mask, bypass: if f.bypass { self.mask } else { 0 } },
            pattern: f.tag.pattern,
            zero: self.is_zero(f.line),
        });
        x.used = self.uses.pop_front().map(|(late, _, handle)| (late, self.mask, handle));
        if let Some((void, line, handle)) = self.losses.pop_front() {
            x.evict = Some(Unread { line, mask: self.mask, handle });
            x.evict_invalid = void;
        }
        x
    }

    /// What the table answers to the load of the cycle before is what was made of it then.
    fn compare(&mut self) {
        let Some(expected) = self.expected.take() else { return };
        let (hit, wanted) = (self.model.answer().hit, if expected { self.mask } else { 0 });
        if hit != wanted && self.fault.is_none() {
            self.fault = Some(format!("cycle {}: the register table answers {hit:#x}, expected was a hit: {expected}", self.next));
        }
    }

    fn note_decision(&mut self) {
        let Some(d) = self.model.decision() else { return };
        let zero = self.is_zero(d.candidate.line);
        self.filtered[2 * usize::from(zero)] += 1;
        self.filtered[2 * usize::from(zero) + 1] += u64::from(d.suppressed != zero);
    }
}

impl Prefetcher for Snake {
    fn holds(&self, line: u64) -> bool {
        self.idle > 0 && self.model.prt().readable(line) != 0
    }

    fn load(&mut self, load: &Observation) {
        self.found = Some(self.holds(load.line));
        self.demand = Some(Demand { store: false, line: load.line, mask: self.mask });
        let pc = load.pc >> 4;
        self.origin = (u64::from(load.warp) % self.warps, (pc ^ pc >> 16) & self.pc_mask);
    }

    fn store(&mut self, line: u64) {
        self.demand = Some(Demand { store: true, line, mask: self.mask });
    }

    fn used(&mut self, line: u64, handle: u64, late: bool) {
        self.uses.push_back((late, line, handle));
    }

    fn left(&mut self, line: u64, handle: u64, void: bool) {
        self.losses.push_back((void, line, handle));
    }

    fn fill(&mut self, fill: &Fill) {
        debug_assert!(self.fill.is_none(), "one fill a cycle");
        self.fill = Some(*fill);
    }

    fn step(&mut self, now: u64, view: &dyn View) -> Action {
        if self.is_resting() {
            return Action::default(); // made good when something happens
        }
        if now > self.next {
            self.model.rest(now - self.next);
        }
        self.next = now + 1;
        self.compare();
        self.expected = self.found.take();
        let mut x = self.inputs();
        let Self { model, uses, losses, mask, .. } = self;
        let mut issued = None;
        let out = model.exchange(&mut x, |out, x| {
            let Some(offer) = out.offer else { return };
            let reported = |list: &VecDeque<(bool, u64, u64)>| list.iter().any(|r| r.1 == offer.line);
            let has = view.has(offer.line) || reported(uses) || reported(losses);
            x.have = if has { *mask } else { 0 };
            x.prefetch_ready = has || view.room();
            issued = Some(offer).filter(|_| x.prefetch_ready && !has);
        });
        self.note_decision();
        self.quiet = self.model.is_resting();
        Action {
            registered: x.fill.is_some() && out.prt.fill_mask != 0,
            refill: out.prt.refill.map(|r| r.0),
            prefetch: issued.map(|o| (o.line, Tag { handle: o.handle, pattern: o.pattern, entry: o.entry })),
        }
    }

    fn is_resting(&self) -> bool {
        self.quiet && self.demand.is_none() && self.fill.is_none() && self.uses.is_empty() && self.losses.is_empty()
    }

    fn flush(&mut self) {
        // The time from one kernel to the next is enough for the reports that wait.
        self.compare();
        while !(self.uses.is_empty() && self.losses.is_empty()) {
            let x = Inputs { enable: false, ..self.inputs() };
            self.model.step(&x);
        }
        self.model.step(&Inputs { idle: self.idle, flush: true, ..Inputs::default() });
        self.quiet = self.model.is_resting();
    }

    fn counts(&self) -> PrefetchCounts {
        PrefetchCounts {
            on_time: self.counter("register_used"),
            invalidated: self.counter("register_invalidated"),
            early: self.counter("early"),
            unused: self.counter("unused") + self.model.peb_sectors() / self.sectors,
            ..PrefetchCounts::default()
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        // Those of the decisions count candidates, the others sectors.
        let lines = |name: &str, value: u64| if COUNTERS[..11].contains(&name) { value / self.sectors } else { value };
        let own = COUNTERS.iter().zip(self.model.counters()).map(|(name, value)| (*name, lines(name, *value)));
        let [useful, useful_suppressed, zero, zero_passed] = self.filtered;
        let filter = [("useful", useful), ("useful_suppressed", useful_suppressed), ("zero", zero), ("zero_passed", zero_passed)];
        own.chain(filter).collect()
    }

    fn check(&self, seen: &PrefetchCounts) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let c = |name: &str| COUNTERS.iter().position(|n| *n == name).map_or(0, |n| self.model.counters()[n]);
        let s = self.sectors;
        let ends = ["on_time", "early", "late", "unused", "invalidated"].iter().map(|n| c(n)).sum::<u64>();
        let in_registers = self.model.prt().ready_sectors();
        let pairs = [
            ("issued", c("issued"), s * seen.issued),
            ("late", c("late"), s * seen.late),
            ("on_time - register_used", c("on_time") - c("register_used"), s * seen.on_time),
            ("evicted", c("evicted"), s * seen.evicted),
            ("invalidated - register_invalidated", c("invalidated") - c("register_invalidated"), s * seen.invalidated),
            ("issued = on_time + early + late + unused + invalidated + PEB", c("issued"), ends + self.model.peb_sectors()),
            ("registers are empty", in_registers, 0),
        ];
        for (name, design, system) in pairs {
            if design != system {
                return Err(format!("broken balance of the prefetcher: {name}: {design} and {system} sectors"));
            }
        }
        Ok(())
    }
}
