//! The whole: front end, decisions, queue, register table, feedback.

mod ports;

pub use ports::{read_inputs, write_inputs};

use crate::cache::mix;
use crate::snakecharmer::apogee::Apogee;
use crate::snakecharmer::candidate_generator::{Candidate, CandidateGenerator, Trigger};
use crate::snakecharmer::feedback::{Feedback, Learned};
use crate::snakecharmer::head_table::{HeadTable, Previous};
use crate::snakecharmer::l1_awt::{Context, Event, L1Awt};
use crate::snakecharmer::l2_awt::L2Awt;
use crate::snakecharmer::peb::{Peb, Unread};
use crate::snakecharmer::prefetch_queue::{Prefetch, PrefetchQueue};
use crate::snakecharmer::prefetch_statistics::{COUNTERS, Counts, PrefetchStatistics};
use crate::snakecharmer::prt::{self, Prt};
use crate::snakecharmer::sgu::Sgu;
use crate::snakecharmer::sizes::{Handle, Sizes, ones};
use crate::snakecharmer::tail_table::{Load, Read, TailTable};
use crate::snakecharmer::zero_filter::ZeroFilter;
use l1forge_config::{Config, Frontend};
use std::collections::VecDeque;

/// Inputs of a cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Inputs {
    /// New prefetches are made and issued.
    pub enable: bool,
    /// PRT and prefetch queue are emptied.
    pub flush: bool,
    /// Counters start again.
    pub clear_statistics: bool,
    /// Registers that the table may use.
    pub idle: u64,
    /// The first of them.
    pub base: u64,
    /// A demand: load or store, line, sectors.
    pub demand: Option<prt::Demand>,
    /// Its warp and PC.
    pub origin: (u64, u64),
    /// The L1 takes the prefetch offered.
    pub prefetch_ready: bool,
    /// Without these sectors.
    pub have: u64,
    /// A fill.
    pub fill: Option<Fill>,
    /// The L1 takes the refill offered.
    pub refill_ready: bool,
    /// First use of prefetched sectors: late, sectors, handle.
    pub used: Option<(bool, u64, u64)>,
    /// Line of that use; not a port.
    pub used_line: Option<u64>,
    /// Unused sectors leave the L1.
    pub evict: Option<Unread>,
    /// They are void.
    pub evict_invalid: bool,
    /// A candidate of a predictor outside.
    pub candidate: Option<Candidate>,
    /// Whose best distance that predictor wants: kind, warp, PC.
    pub best: (u64, u64, u64),
}

/// A fill of a prefetch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fill {
    /// It was issued into the table.
    pub table: bool,
    /// What the table needs.
    pub to: prt::Fill,
    /// Pattern of the prefetch.
    pub pattern: u64,
    /// All zero.
    pub zero: bool,
}

/// A prefetch that is offered to the L1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offer {
    /// Line.
    pub line: u64,
    /// Sectors.
    pub mask: u64,
    /// Entry of the table, if it goes there.
    pub entry: Option<u64>,
    /// Pattern.
    pub pattern: u64,
    /// Handle.
    pub handle: u64,
}

/// A candidate and what was decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decision {
    /// The candidate.
    pub candidate: Candidate,
    /// Best distance at that time.
    pub best: u64,
    /// The zero filter stops its pattern.
    pub suppressed: bool,
    /// The SGU lets it pass.
    pub issue: bool,
    /// Pushed into the queue.
    pub pushed: bool,
}

/// Outputs of a cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outputs {
    /// The PRT's.
    pub prt: prt::Outputs,
    /// Prefetch offered.
    pub offer: Option<Offer>,
    /// The candidate of a predictor outside is taken.
    pub candidate_ready: bool,
    /// Best distance it asked for.
    pub best: u64,
}

/// Everything that is known in a cycle.
struct Cycle {
    offered: Option<Candidate>,
    read: Read,
    best: u64,
    decision: Option<(Decision, Prefetch)>,
    taken: bool,
    prt_inputs: prt::Inputs,
    popped: bool,
    issued: u64,
    early: Option<(u64, u64)>,
    push_peb: Option<Unread>,
    /// There is a prefetch in the queue.
    oldest: bool,
    out: Outputs,
}

impl Cycle {
    /// What becomes of the prefetch offered: the only thing that depends on what the L1 says to it.
    fn take(&mut self, x: &Inputs) {
        let table = &self.out.prt;
        self.prt_inputs.have = x.have;
        self.prt_inputs.take = self.out.offer.is_some() && x.prefetch_ready;
        self.popped = self.oldest && !table.wait && (table.prefetch_mask == 0 || x.prefetch_ready);
        self.issued = if self.prt_inputs.take { table.prefetch_mask & !x.have } else { 0 };
    }
}

enum Tables {
    Snake(HeadTable, TailTable),
    Apogee(Apogee),
    External,
}

/// The golden model of the top.
pub struct SnakeCharmer {
    sizes: Sizes,
    tables: Tables,
    generator: CandidateGenerator,
    triggers: VecDeque<Trigger>,
    trigger_depth: usize,
    /// The load of the cycle before: warp, PC, line, mask.
    load: Option<(u64, u64, u64, u64)>,
    zero_filter: Option<ZeroFilter>,
    awts: Option<(L1Awt, L2Awt)>,
    reset_distance: u64,
    sgu: Sgu,
    queue: PrefetchQueue,
    prt: Prt,
    peb: Peb,
    feedback: Feedback,
    statistics: PrefetchStatistics,
    last: Option<Decision>,
    /// Lines of 1000 whose prefetches go astray, see [`SnakeCharmer::disturbed`].
    astray: u64,
}

impl SnakeCharmer {
    /// The model in its state after reset.
    pub fn new(c: &Config) -> Self {
        Self {
            sizes: Sizes::new(c),
            tables: match c.frontend {
                Frontend::Snake => Tables::Snake(HeadTable::new(c), TailTable::new(c)),
                Frontend::Apogee => Tables::Apogee(Apogee::new(c)),
                Frontend::External => Tables::External,
            },
            generator: CandidateGenerator::new(c),
            triggers: VecDeque::new(),
            trigger_depth: c.sc_trigger_depth as usize,
            load: None,
            zero_filter: c.sc_zero_filter.then(|| ZeroFilter::new(c)),
            awts: c.sc_controller.then(|| (L1Awt::new(c), L2Awt::new(c))),
            reset_distance: c.sc_reset_distance.into(),
            sgu: Sgu::new(c),
            queue: PrefetchQueue::new(c),
            prt: Prt::new(c),
            peb: Peb::new(c),
            feedback: Feedback::default(),
            statistics: PrefetchStatistics::new(c),
            last: None,
            astray: 0,
        }
    }

    /// The same model, but the prefetches of so many lines of 1000 go to another line that nobody asks for. For studies of what wrong
    /// prefetches do; the design cannot do this.
    #[must_use]
    pub fn disturbed(mut self, lines: u64) -> Self {
        self.astray = lines;
        self
    }

    /// Sectors that a demand finds in the PEB.
    pub fn early(&self, demand: Option<prt::Demand>) -> u64 {
        demand.filter(|d| !d.store).and_then(|d| self.peb.early(d.line, d.mask)).map_or(0, |e| e.0)
    }

    /// The candidate taken in the cycle that was clocked last.
    pub fn decision(&self) -> Option<&Decision> {
        self.last.as_ref()
    }

    /// Values of the counters, in the order of [`COUNTERS`].
    pub fn counters(&self) -> &[u64; COUNTERS.len()] {
        self.statistics.values()
    }

    /// The register table.
    pub fn prt(&self) -> &Prt {
        &self.prt
    }

    /// The answer to the load of the cycle before.
    pub fn answer(&self) -> prt::Answer {
        self.prt.answer()
    }

    /// Sectors in the PEB.
    pub fn peb_sectors(&self) -> u64 {
        self.peb.held()
    }

    /// Best distance of a context.
    pub fn best_distance(&self, context: Context) -> u64 {
        match &self.awts {
            Some((local, global)) => local.distance(context).unwrap_or_else(|| global.distance(context.kind, context.pc)),
            None => self.reset_distance,
        }
    }

    /// Nothing is on its way inside: without an input only timers go on, as [`SnakeCharmer::rest`] makes them.
    pub fn is_resting(&self) -> bool {
        let quiet = self.load.is_none() && self.triggers.is_empty() && self.generator.idle() && self.queue.oldest().is_none();
        quiet && self.feedback.event().is_none() && self.prt.is_resting()
    }

    /// So many cycles at once in which every input is 0 but `enable_i` and the number of idle registers, which stay as they were, while
    /// [resting](SnakeCharmer::is_resting).
    pub fn rest(&mut self, cycles: u64) {
        match &mut self.tables {
            Tables::Snake(_, tail) => tail.rest(cycles),
            Tables::Apogee(_) | Tables::External => {}
        }
        if let Some(z) = &mut self.zero_filter {
            z.rest(cycles);
        }
        self.prt.rest(cycles);
        self.last = None;
    }

    fn read(&self, pattern: u64) -> Read {
        match &self.tables {
            Tables::Snake(_, tail) => tail.read(pattern),
            Tables::Apogee(apogee) => apogee.read(pattern),
            Tables::External => Read::default(),
        }
    }

    fn handle(&self, c: &Candidate) -> u64 {
        let Some((local, global)) = &self.awts else { return 0 };
        let (l2_index, l2_generation) = global.place(c.kind, c.pc);
        let place = local.place(Context { kind: c.kind, warp: c.warp, pc: c.pc });
        let (l1_index, l1_generation) = place.unwrap_or_default();
        Handle { l2_index, l2_generation, l1_index, l1_generation, local: place.is_some() }.pack(&self.sizes)
    }

    fn cycle(&self, x: &Inputs) -> Cycle {
        let external = matches!(self.tables, Tables::External);
        let read = self.read(self.generator.read_pattern());
        let mut offered = if external { x.candidate } else { self.generator.candidate(&read) };
        if let Some(c) = &mut offered
            && self.astray > 0
            && mix(c.line) % 1000 < self.astray
        {
            c.line ^= 1 << (self.sizes.t - 1);
        }
        let best_of = if external {
            Context { kind: x.best.0, warp: x.best.1, pc: x.best.2 }
        } else {
            let (kind, warp) = self.generator.best_of(&read);
            Context { kind, warp, pc: read.pc }
        };
        let best = self.best_distance(best_of);

        let mut taken = true;
        let decision = offered.map(|c| {
            let best = self.best_distance(Context { kind: c.kind, warp: c.warp, pc: c.pc });
            let suppressed = self.zero_filter.as_ref().is_some_and(|z| z.suppressed(c.pattern));
            let issue = self.sgu.issue(c.kind, c.distance, c.confidence, best);
            let pushed = issue && !suppressed && x.enable;
            taken = !pushed || self.queue.ready();
            let prefetch = Prefetch { line: c.line, mask: c.mask, pattern: c.pattern, handle: self.handle(&c) };
            (Decision { candidate: c, best, suppressed, issue, pushed }, prefetch)
        });

        let oldest = self.queue.oldest().filter(|_| x.enable);
        let prt_inputs = prt::Inputs {
            idle: x.idle.min(self.sizes.r.into()),
            base: x.base,
            flush: x.flush,
            demand: x.demand,
            prefetch: oldest.map(|p| Unread { line: p.line, mask: p.mask, handle: p.handle }),
            take: false,
            have: x.have,
            fill: x.fill.filter(|f| f.table).map(|f| f.to),
            refill_ready: x.refill_ready,
            drop_ready: x.evict.is_none() || x.evict_invalid,
        };
        let table = self.prt.outputs(&prt_inputs);
        let offer = oldest.filter(|_| !table.wait && table.prefetch_mask != 0).map(|p| Offer {
            line: p.line,
            mask: table.prefetch_mask,
            entry: table.place,
            pattern: p.pattern,
            handle: p.handle,
        });
        let evict = x.evict.filter(|_| !x.evict_invalid);
        let load = x.demand.filter(|d| !d.store);
        let mut cycle = Cycle {
            offered,
            read,
            best,
            decision,
            taken: offered.is_some() && taken,
            early: load.and_then(|d| self.peb.early(d.line, d.mask)),
            push_peb: evict.or(table.drop),
            oldest: oldest.is_some(),
            popped: false,
            issued: 0,
            prt_inputs,
            out: Outputs { prt: table, offer, candidate_ready: taken, best },
        };
        cycle.take(x);
        cycle
    }

    /// Outputs of a cycle.
    pub fn outputs(&self, x: &Inputs) -> Outputs {
        self.cycle(x).out
    }

    /// End of the cycle.
    pub fn step(&mut self, x: &Inputs) {
        let cycle = self.cycle(x);
        self.end(x, cycle);
    }

    /// Outputs and end of a cycle at once: `answer` sets `prefetch_ready` and `have` when it sees the outputs.
    pub fn exchange(&mut self, x: &mut Inputs, answer: impl FnOnce(&Outputs, &mut Inputs)) -> Outputs {
        let mut cycle = self.cycle(x);
        answer(&cycle.out, x);
        cycle.take(x);
        let out = cycle.out;
        self.end(x, cycle);
        out
    }

    fn end(&mut self, x: &Inputs, c: Cycle) {
        let mut counts = self.count(x, &c);
        self.last = c.decision.filter(|_| c.taken).map(|d| d.0);

        // Decision.
        let push = c.decision.filter(|d| d.0.pushed).map(|d| d.1);
        let entered = push.filter(|p| self.queue.ready() && !self.queue.known(p.line, p.mask));
        let allocate = entered.and(c.offered);

        // Feedback.
        let event = self.feedback.event();
        if let Some((local, global)) = &mut self.awts {
            let parts = event.map(|(class, handle)| (class, Handle::unpack(handle, &self.sizes)));
            let wide = parts.map(|(class, h)| Event { class, index: h.l2_index, generation: h.l2_generation });
            let narrow = parts.filter(|p| p.1.local).map(|(class, h)| Event { class, index: h.l1_index, generation: h.l1_generation });
            let live = wide.and_then(|e| global.live(e));
            let lookup = allocate.map(|a| (Context { kind: a.kind, warp: a.warp, pc: a.pc }, global.distance(a.kind, a.pc)));
            local.clock(lookup, narrow, live);
            global.clock(allocate.map(|a| (a.kind, a.pc)), wide);
            let answer = c.out.prt.answer;
            let arriving: [Option<Learned>; 3] =
                [c.early.map(|e| (1, e.1)), x.used.map(|u| (2 * u64::from(u.0), u.2)), (answer.on_time != 0).then_some((0, answer.handle))];
            counts.lost_events = self.feedback.dropped(arriving);
            self.feedback.clock(arriving);
        }

        counts.lost_triggers = self.train(x, &c);
        self.queue.clock(push, c.popped, x.flush);
        self.prt.clock_with(&c.prt_inputs, &c.out.prt);
        counts.unused = self.peb.step(x.demand.filter(|d| !d.store).map(|d| (d.line, d.mask)), c.push_peb);
        self.statistics.clock(&counts.list(), x.clear_statistics);
        self.load = x.demand.filter(|d| !d.store).map(|d| (x.origin.0, x.origin.1, d.line, d.mask));
    }

    /// Front end. Returns whether a trigger was lost.
    fn train(&mut self, x: &Inputs, c: &Cycle) -> u64 {
        let (a, load) = (ones(self.sizes.a), self.load);
        let mut found = None;
        let training = load.map(|(warp, pc, line, _)| Load { warp, pc, line: line & a });
        match &mut self.tables {
            Tables::Snake(head, tail) => {
                let previous = training.and_then(|l| head.previous(l.warp));
                found = training.map(|l| tail.pattern(l.pc));
                tail.clock(training, previous);
                if let (Some(l), Some((pattern, new))) = (training, found) {
                    head.clock(l.warp, Previous { pattern, line: l.line }, new);
                }
            }
            Tables::Apogee(apogee) => {
                if let Some(l) = training {
                    found = Some(apogee.pattern(l.pc));
                    apogee.clock(l);
                }
            }
            Tables::External => {}
        }
        if let Some(z) = &mut self.zero_filter {
            let cleared = found.filter(|f| f.1).map(|f| f.0);
            z.clock(x.fill.map(|f| (f.pattern, f.zero)), cleared);
        }
        let room = self.triggers.len() < self.trigger_depth;
        let trigger = self.triggers.front().copied();
        let ready = self.generator.ready(&c.read);
        self.generator.clock(trigger, &c.read, c.best, c.taken);
        if ready && trigger.is_some() {
            self.triggers.pop_front();
        }
        match (load, found) {
            (Some((warp, _, line, mask)), Some((pattern, _))) if room => {
                self.triggers.push_back(Trigger { warp, pattern, line, mask });
                0
            }
            (Some(_), Some(_)) => 1,
            _ => 0,
        }
    }

    /// What the counters add, but for `unused` and what is lost.
    fn count(&self, x: &Inputs, c: &Cycle) -> Counts {
        let n = |mask: u64| u64::from(mask.count_ones());
        let r = &c.out.prt;
        let in_registers = n(r.answer.on_time);
        let used = |late: bool| x.used.filter(|u| u.0 == late).map_or(0, |u| n(u.1));
        let left = |invalid: bool| x.evict.filter(|_| x.evict_invalid == invalid).map_or(0, |e| n(e.mask));
        let taken = |so: fn(&Decision) -> bool| u64::from(c.taken && c.decision.is_some_and(|d| so(&d.0)));
        let ready = self.queue.ready();
        let duplicate = c.decision.is_some_and(|(d, p)| d.pushed && ready && self.queue.known(p.line, p.mask));
        Counts {
            issued: n(c.issued),
            on_time: in_registers + used(false),
            early: c.early.map_or(0, |e| n(e.0)),
            late: used(true),
            unused: 0,
            invalidated: r.invalidated + left(true),
            registered: n(r.fill_mask),
            register_used: in_registers,
            register_invalidated: r.invalidated,
            dropped: r.drop.filter(|_| c.prt_inputs.drop_ready).map_or(0, |d| n(d.mask)),
            evicted: left(false),
            candidates: taken(|_| true),
            suppressed: taken(|d| d.suppressed),
            rejected: taken(|d| !d.suppressed && !d.issue),
            duplicates: duplicate.into(),
            redundant: u64::from(c.popped && c.issued == 0),
            bypassed: u64::from(c.issued != 0 && r.place.is_none()),
            lost_triggers: 0,
            lost_events: 0,
        }
    }
}
