//! The whole: front end, decisions, queue, register table, feedback.

use super::apogee::Apogee;
use super::candidate_generator::{Candidate, CandidateGenerator, Trigger};
use super::feedback::{Feedback, Learned};
use super::head_table::{HeadTable, Previous};
use super::l1_awt::{Context, Event, L1Awt};
use super::l2_awt::L2Awt;
use super::peb::{Peb, Unread};
use super::prefetch_queue::{Prefetch, PrefetchQueue};
use super::prefetch_statistics::{COUNTERS, Counts, PrefetchStatistics};
use super::prt::{self, Prt};
use super::sgu::Sgu;
use super::sizes::{Handle, Sizes, ones};
use super::tail_table::{Load, Read, TailTable};
use super::zero_filter::ZeroFilter;
use crate::block::{Block, Port, Signals};
use crate::cache::mix;
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
            let (kind, warp) = self.generator.best_of();
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
        let idle = self.generator.idle();
        self.generator.clock(trigger, &c.read, c.best, c.taken);
        if idle && trigger.is_some() {
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

/// Ports of the top, by the names of the contract.
struct Wires<'a>(&'a Signals);

impl Wires<'_> {
    fn get(&self, name: &str) -> u64 {
        self.0.ports().iter().position(|p| p.name == name).map_or(0, |port| self.0.get(port, 0))
    }
    fn is(&self, name: &str) -> bool {
        self.get(name) != 0
    }
}

/// Reads the inputs of a cycle from the ports.
pub fn read_inputs(signals: &Signals) -> Inputs {
    let w = Wires(signals);
    Inputs {
        enable: w.is("enable_i"),
        flush: w.is("flush_i"),
        clear_statistics: w.is("clear_statistics_i"),
        idle: w.get("idle_registers_i"),
        base: w.get("register_base_i"),
        demand: w.is("demand_valid_i").then(|| prt::Demand {
            store: w.is("demand_store_i"),
            line: w.get("demand_line_i"),
            mask: w.get("demand_mask_i"),
        }),
        origin: (w.get("demand_warp_i"), w.get("demand_pc_i")),
        prefetch_ready: w.is("prefetch_ready_i"),
        have: w.get("prefetch_have_i"),
        fill: w.is("fill_valid_i").then(|| Fill {
            table: w.is("fill_table_i"),
            to: prt::Fill {
                entry: w.get("fill_entry_i"),
                line: w.get("fill_line_i"),
                mask: w.get("fill_mask_i"),
                bypass: w.get("fill_bypass_i"),
            },
            pattern: w.get("fill_pattern_i"),
            zero: w.is("fill_zero_i"),
        }),
        refill_ready: w.is("refill_ready_i"),
        used: w.is("use_valid_i").then(|| (w.is("use_late_i"), w.get("use_mask_i"), w.get("use_handle_i"))),
        used_line: None,
        evict: w.is("evict_valid_i").then(|| Unread {
            line: w.get("evict_line_i"),
            mask: w.get("evict_mask_i"),
            handle: w.get("evict_handle_i"),
        }),
        evict_invalid: w.is("evict_invalid_i"),
        candidate: w.is("candidate_valid_i").then(|| Candidate {
            line: w.get("candidate_line_i"),
            mask: w.get("candidate_mask_i"),
            pattern: w.get("candidate_pattern_i"),
            kind: w.get("candidate_kind_i"),
            distance: w.get("candidate_distance_i"),
            confidence: w.get("candidate_confidence_i"),
            warp: w.get("candidate_warp_i"),
            pc: w.get("candidate_pc_i"),
        }),
        best: (w.get("best_kind_i"), w.get("best_warp_i"), w.get("best_pc_i")),
    }
}

/// Drives the ports from the inputs of a cycle; what has no valid keeps its value.
pub fn write_inputs(x: &Inputs, signals: &mut Signals) {
    let mut set = |name: &str, value: u64| {
        if let Some(port) = signals.ports().iter().position(|p| p.name == name) {
            signals.set(port, 0, value);
        }
    };
    set("enable_i", x.enable.into());
    set("flush_i", x.flush.into());
    set("clear_statistics_i", x.clear_statistics.into());
    set("idle_registers_i", x.idle);
    set("register_base_i", x.base);
    set("demand_valid_i", x.demand.is_some().into());
    if let Some(d) = x.demand {
        set("demand_store_i", d.store.into());
        set("demand_warp_i", x.origin.0);
        set("demand_pc_i", x.origin.1);
        set("demand_line_i", d.line);
        set("demand_mask_i", d.mask);
    }
    set("prefetch_ready_i", x.prefetch_ready.into());
    set("prefetch_have_i", x.have);
    set("fill_valid_i", x.fill.is_some().into());
    if let Some(f) = x.fill {
        set("fill_table_i", f.table.into());
        set("fill_entry_i", f.to.entry);
        set("fill_line_i", f.to.line);
        set("fill_mask_i", f.to.mask);
        set("fill_bypass_i", f.to.bypass);
        set("fill_pattern_i", f.pattern);
        set("fill_zero_i", f.zero.into());
    }
    set("refill_ready_i", x.refill_ready.into());
    set("use_valid_i", x.used.is_some().into());
    if let Some((late, mask, handle)) = x.used {
        set("use_late_i", late.into());
        set("use_mask_i", mask);
        set("use_handle_i", handle);
    }
    set("evict_valid_i", x.evict.is_some().into());
    set("evict_invalid_i", x.evict_invalid.into());
    if let Some(e) = x.evict {
        set("evict_line_i", e.line);
        set("evict_mask_i", e.mask);
        set("evict_handle_i", e.handle);
    }
    set("candidate_valid_i", x.candidate.is_some().into());
    if let Some(c) = x.candidate {
        set("candidate_line_i", c.line);
        set("candidate_mask_i", c.mask);
        set("candidate_pattern_i", c.pattern);
        set("candidate_kind_i", c.kind);
        set("candidate_distance_i", c.distance);
        set("candidate_confidence_i", c.confidence);
        set("candidate_warp_i", c.warp);
        set("candidate_pc_i", c.pc);
    }
    set("best_kind_i", x.best.0);
    set("best_warp_i", x.best.1);
    set("best_pc_i", x.best.2);
}

impl Block for SnakeCharmer {
    fn name(&self) -> &str {
        "snakecharmer"
    }

    fn inputs(&self) -> Vec<Port> {
        let z = &self.sizes;
        let external = matches!(self.tables, Tables::External);
        let mut list = vec![
            ("enable_i", 1),
            ("flush_i", 1),
            ("clear_statistics_i", 1),
            ("idle_registers_i", z.ec),
            ("register_base_i", z.rb),
            ("demand_valid_i", 1),
            ("demand_store_i", 1),
        ];
        if !external {
            list.extend([("demand_warp_i", z.w), ("demand_pc_i", z.pc)]);
        }
        list.extend([
            ("demand_line_i", z.t),
            ("demand_mask_i", z.s),
            ("prefetch_ready_i", 1),
            ("prefetch_have_i", z.s),
            ("fill_valid_i", 1),
            ("fill_table_i", 1),
            ("fill_entry_i", z.e),
            ("fill_line_i", z.t),
            ("fill_mask_i", z.s),
            ("fill_bypass_i", z.s),
            ("fill_pattern_i", z.p),
            ("fill_zero_i", 1),
            ("refill_ready_i", 1),
            ("use_valid_i", 1),
            ("use_late_i", 1),
            ("use_mask_i", z.s),
            ("use_handle_i", z.h),
            ("evict_valid_i", 1),
            ("evict_invalid_i", 1),
            ("evict_line_i", z.t),
            ("evict_mask_i", z.s),
            ("evict_handle_i", z.h),
        ]);
        if external {
            list.extend([
                ("candidate_valid_i", 1),
                ("candidate_line_i", z.t),
                ("candidate_mask_i", z.s),
                ("candidate_pattern_i", z.p),
                ("candidate_kind_i", 2),
                ("candidate_distance_i", z.d),
                ("candidate_confidence_i", 2),
                ("candidate_warp_i", z.w),
                ("candidate_pc_i", z.pc),
                ("best_kind_i", 2),
                ("best_warp_i", z.w),
                ("best_pc_i", z.pc),
            ]);
        }
        list.into_iter().map(|(name, bits)| Port::new(name, bits, 1)).collect()
    }

    fn outputs(&self) -> Vec<Port> {
        let z = &self.sizes;
        let port = |name, bits| Port::new(name, bits, 1);
        let mut list = vec![
            port("registers_drained_o", 1),
            port("answer_valid_o", 1),
            port("answer_hit_o", z.s),
            port("answer_waiting_o", z.s),
            port("answer_register_o", z.rb),
            port("prefetch_valid_o", 1),
            port("prefetch_line_o", z.t),
            port("prefetch_mask_o", z.s),
            port("prefetch_table_o", 1),
            port("prefetch_entry_o", z.e).when("prefetch_table_o"),
            port("prefetch_pattern_o", z.p),
            port("prefetch_handle_o", z.h),
            port("fill_register_mask_o", z.s),
            port("fill_register_o", z.rb).when("fill_register_mask_o"),
            port("refill_valid_o", 1),
            port("refill_line_o", z.t),
            port("refill_mask_o", z.s),
            port("refill_register_o", z.rb),
        ];
        if matches!(self.tables, Tables::External) {
            list.extend([port("candidate_ready_o", 1).when("candidate_valid_i"), port("best_distance_o", z.d)]);
        }
        list.extend(COUNTERS.iter().map(|name| Port::new(&format!("count_{name}_o"), z.cb, 1)));
        list
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let r = SnakeCharmer::outputs(self, &read_inputs(inputs));
        let offer = r.offer.unwrap_or_default();
        let refill = r.prt.refill.unwrap_or_default();
        let answer = r.prt.answer;
        let mut values = vec![
            u64::from(r.prt.drained),
            answer.valid.into(),
            answer.hit,
            answer.waiting,
            answer.register,
            r.offer.is_some().into(),
            offer.line,
            offer.mask,
            offer.entry.is_some().into(),
            offer.entry.unwrap_or(0),
            offer.pattern,
            offer.handle,
            r.prt.fill_mask,
            r.prt.fill_register,
            r.prt.refill.is_some().into(),
            refill.0,
            refill.1,
            refill.2,
        ];
        if matches!(self.tables, Tables::External) {
            values.extend([u64::from(r.candidate_ready), r.best]);
        }
        values.extend(self.counters());
        values.into_iter().enumerate().for_each(|(port, value)| outputs.set(port, 0, value));
    }

    fn clock(&mut self, inputs: &Signals) {
        self.step(&read_inputs(inputs));
    }
}
