//! Which idle register holds which prefetched sectors.

use super::peb::Unread;
use super::sizes::{Sizes, bits_of, ones};
use crate::block::{Block, Port, Signals};
use crate::c2p::signal::ports;
use l1forge_config::Config;

/// One entry: sectors on their way, read by nobody yet, read by a demand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Entry {
    line: u64,
    handle: u64,
    waiting: u64,
    ready: u64,
    consumed: u64,
    age: u64,
}

impl Entry {
    fn slots(&self) -> u64 {
        self.waiting | self.ready | self.consumed
    }

    fn held(&self) -> bool {
        self.slots() != 0
    }

    fn unread(&self) -> bool {
        self.ready != 0 && self.waiting | self.consumed == 0
    }

    fn clear(&mut self, mask: u64) {
        self.waiting &= !mask;
        self.ready &= !mask;
        self.consumed &= !mask;
    }
}

/// A load or store as the table sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Demand {
    /// It makes prefetched data stale.
    pub store: bool,
    /// Line.
    pub line: u64,
    /// Sectors.
    pub mask: u64,
}

/// Sectors of a prefetch that arrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fill {
    /// Entry they were meant for.
    pub entry: u64,
    /// Line.
    pub line: u64,
    /// Sectors.
    pub mask: u64,
    /// Sectors that go to the L1 instead.
    pub bypass: u64,
}

/// Inputs of a cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Entries below this number are enabled.
    pub idle: u64,
    /// Register of entry 0.
    pub base: u64,
    /// The table is emptied.
    pub flush: bool,
    /// A demand.
    pub demand: Option<Demand>,
    /// A prefetch that wants to be issued.
    pub prefetch: Option<Unread>,
    /// It is issued now.
    pub take: bool,
    /// Without these sectors.
    pub have: u64,
    /// A fill.
    pub fill: Option<Fill>,
    /// The refill is taken.
    pub refill_ready: bool,
    /// The drop is taken.
    pub drop_ready: bool,
}

/// The answer to a load, one cycle later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answer {
    /// There was a load.
    pub valid: bool,
    /// Sectors to read from the register.
    pub hit: u64,
    /// Sectors on their way.
    pub waiting: u64,
    /// The register.
    pub register: u64,
    /// Sectors used for the first time.
    pub on_time: u64,
    /// Handle of the entry.
    pub handle: u64,
}

/// Outputs of a cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outputs {
    /// No entry that is not enabled holds anything.
    pub drained: bool,
    /// Answer to the load before.
    pub answer: Answer,
    /// A place is being made for the prefetch.
    pub wait: bool,
    /// Sectors of the prefetch that are not here.
    pub prefetch_mask: u64,
    /// Entry it comes to.
    pub place: Option<u64>,
    /// Sectors of the fill that go to a register.
    pub fill_mask: u64,
    /// That register.
    pub fill_register: u64,
    /// Line, sectors and register of a refill.
    pub refill: Option<(u64, u64, u64)>,
    /// Sectors that leave.
    pub drop: Option<Unread>,
    /// READY sectors lost.
    pub invalidated: u64,
}

/// The table.
#[derive(Debug, Clone)]
pub struct Prt {
    entries: Vec<Entry>,
    last: usize,
    busy: bool,
    refill_entry: usize,
    refill_mask: u64,
    answer: Answer,
    tick: u64,
    replace: bool,
    age: u64,
    rb: u32,
}

impl Prt {
    /// The table in its state after reset.
    pub fn new(c: &Config) -> Self {
        Self {
            entries: vec![Entry::default(); c.sc_prt_entries as usize],
            last: c.sc_prt_entries as usize - 1,
            busy: false,
            refill_entry: 0,
            refill_mask: 0,
            answer: Answer::default(),
            tick: 0,
            replace: c.sc_prt_replace,
            age: c.sc_prt_age.into(),
            rb: c.sc_register_bits,
        }
    }

    fn find(&self, line: u64) -> Option<usize> {
        self.entries.iter().position(|e| e.line == line && e.held())
    }

    /// The first entry strictly after `from`, cyclically, that is so.
    fn after(&self, from: usize, so: impl Fn(usize, &Entry) -> bool) -> Option<usize> {
        let mut order = (from + 1..self.entries.len()).chain(0..=from);
        order.find(|&e| so(e, &self.entries[e]))
    }

    fn register(&self, base: u64, entry: usize) -> u64 {
        base.wrapping_add(entry as u64) & ones(self.rb)
    }

    /// The answer to the load of the cycle before.
    pub fn answer(&self) -> Answer {
        self.answer
    }

    /// Sectors of a line that a load in this cycle reads from a register, if no fill brings more in the same cycle.
    pub fn readable(&self, line: u64) -> u64 {
        self.find(line).map_or(0, |e| self.entries[e].ready | self.entries[e].consumed)
    }

    /// Without an input nothing but the age of entries changes.
    pub fn is_resting(&self) -> bool {
        let leave = self.age > 0 && !self.replace;
        !self.busy && !self.answer.valid && !self.entries.iter().any(|e| e.consumed != 0 || leave && e.unread())
    }

    /// So many cycles without an input, while [resting](Prt::is_resting).
    pub fn rest(&mut self, cycles: u64) {
        let Some(steps) = (self.tick + cycles).checked_div(self.age) else { return };
        self.tick = (self.tick + cycles) % self.age;
        for e in self.entries.iter_mut().filter(|_| steps > 0) {
            e.age = if e.unread() { (e.age + steps).min(2) } else { 0 };
        }
    }

    /// READY sectors held.
    pub fn ready_sectors(&self) -> u64 {
        self.entries.iter().map(|e| u64::from(e.ready.count_ones())).sum()
    }

    /// Entries held, of these unread.
    pub fn occupancy(&self) -> (usize, usize) {
        (self.entries.iter().filter(|e| e.held()).count(), self.entries.iter().filter(|e| e.unread()).count())
    }

    /// Outputs that do not depend on what is taken in the cycle.
    pub fn outputs(&self, x: &Inputs) -> Outputs {
        let enabled = |e: usize| (e as u64) < x.idle;
        let mut o = Outputs {
            drained: self.entries.iter().skip(x.idle as usize).all(|entry| !entry.held()),
            answer: self.answer,
            ..Outputs::default()
        };
        let mut need = false;
        if let Some(p) = x.prefetch {
            o.prefetch_mask = p.mask;
            if let Some(e) = self.find(p.line) {
                o.prefetch_mask &= !self.entries[e].slots();
                o.place = enabled(e).then_some(e as u64);
            } else {
                let free = self.after(self.last, |e, entry| enabled(e) && !entry.held());
                o.place = free.map(|e| e as u64);
                need = free.is_none() && self.replace;
            }
        }
        let old = |e: usize, entry: &Entry| enabled(e) && entry.unread() && (self.age == 0 || entry.age == 2);
        o.wait = need && self.entries.iter().enumerate().any(|(e, entry)| old(e, entry));
        let victim = (x.idle as usize..self.entries.len())
            .find(|&e| self.entries[e].ready != 0)
            .or_else(|| if need { self.after(self.last, old) } else { None })
            .or_else(|| if self.age > 0 && !self.replace { (0..self.entries.len()).find(|&e| old(e, &self.entries[e])) } else { None });
        if let Some(e) = victim {
            let entry = &self.entries[e];
            let asked = x.demand.is_some_and(|d| d.line == entry.line);
            if !asked && !x.flush {
                o.drop = Some(Unread { line: entry.line, mask: entry.ready, handle: entry.handle });
            }
        }
        if self.busy {
            let entry = &self.entries[self.refill_entry];
            let mask = self.refill_mask & entry.consumed;
            if mask != 0 {
                o.refill = Some((entry.line, mask, self.register(x.base, self.refill_entry)));
            }
        }
        if let Some(f) = x.fill {
            o.fill_register = self.register(x.base, f.entry as usize);
        }
        o.fill_mask = self.registered(x);
        o.invalidated = self.lost(x, o.fill_mask);
        o
    }

    /// Sectors of the fill that go to a register.
    fn registered(&self, x: &Inputs) -> u64 {
        let Some(f) = x.fill.filter(|f| f.entry < x.idle) else { return 0 };
        let e = &self.entries[f.entry as usize];
        if e.line == f.line { f.mask & e.waiting & !f.bypass } else { 0 }
    }

    /// READY sectors lost to a store or a flush.
    fn lost(&self, x: &Inputs, registered: u64) -> u64 {
        let filled = x.fill.map(|f| f.entry as usize);
        let ready = |e: usize| self.entries[e].ready | if filled == Some(e) { registered } else { 0 };
        let asked = x.demand.and_then(|d| self.find(d.line).map(|e| (ready(e) & d.mask).count_ones()));
        let stored = asked.filter(|_| x.demand.is_some_and(|d| d.store)).unwrap_or(0);
        let flushed = if x.flush { (0..self.entries.len()).map(|e| ready(e).count_ones()).sum::<u32>() - asked.unwrap_or(0) } else { 0 };
        (stored + flushed).into()
    }

    /// Steps 1 to 3: fill, demand, flush.
    fn demand_path(&mut self, x: &Inputs) {
        let asked = x.demand.and_then(|d| self.find(d.line));
        if let Some(f) = x.fill
            && let e = f.entry as usize
            && self.entries[e].held()
            && self.entries[e].line == f.line
        {
            let arrived = f.mask & self.entries[e].waiting;
            let registered = if f.entry < x.idle { arrived & !f.bypass } else { 0 };
            self.entries[e].waiting &= !arrived;
            self.entries[e].ready |= registered;
        }
        self.answer = Answer { valid: x.demand.is_some_and(|d| !d.store), ..Answer::default() };
        if let (Some(d), Some(e)) = (x.demand, asked) {
            let register = self.register(x.base, e);
            let entry = &mut self.entries[e];
            if d.store {
                entry.clear(d.mask);
            } else {
                let on_time = entry.ready & d.mask;
                let hit = on_time | entry.consumed & d.mask;
                let waiting = entry.waiting & d.mask;
                entry.ready &= !on_time;
                entry.consumed |= on_time;
                let register = if hit != 0 { register } else { 0 };
                self.answer = Answer { valid: true, hit, waiting, register, on_time, handle: entry.handle };
            }
        }
        if x.flush {
            self.entries.iter_mut().for_each(|e| e.clear(u64::MAX));
        }
    }

    /// End of the cycle.
    pub fn clock(&mut self, x: &Inputs) {
        self.clock_with(x, &self.outputs(x));
    }

    /// End of a cycle with these outputs.
    pub fn clock_with(&mut self, x: &Inputs, o: &Outputs) {
        // What looks at the state at the start of the cycle.
        let match_of = x.prefetch.and_then(|p| self.find(p.line));
        let victim = o.drop.and_then(|d| self.find(d.line));
        let aged: Option<Vec<u64>> = (self.age > 0 && self.tick == self.age - 1)
            .then(|| self.entries.iter().map(|e| if e.unread() { (e.age + 1).min(2) } else { 0 }).collect());
        let refill_next = if self.busy { None } else { self.after(self.refill_entry, |_, e| e.consumed != 0) };
        let refill_next = refill_next.map(|e| (e, self.entries[e].consumed));

        self.demand_path(x);
        if self.busy {
            let taken = o.refill.filter(|_| x.refill_ready);
            if let Some((_, mask, _)) = taken {
                self.entries[self.refill_entry].clear(mask);
            }
            self.busy = o.refill.is_some() && taken.is_none();
        } else if let Some((entry, mask)) = refill_next {
            (self.busy, self.refill_entry, self.refill_mask) = (true, entry, mask);
        }
        if let (Some(e), Some(drop), true) = (victim, o.drop, x.drop_ready) {
            self.entries[e].clear(drop.mask);
        }
        if let Some(aged) = aged {
            self.entries.iter_mut().zip(aged).for_each(|(e, age)| e.age = age);
        }
        if self.age > 0 {
            self.tick = (self.tick + 1) % self.age;
        }
        if let (Some(p), Some(place), true) = (x.prefetch, o.place, x.take) {
            let wanted = o.prefetch_mask & !x.have;
            if wanted != 0 {
                let e = place as usize;
                if match_of.is_none() {
                    self.entries[e] = Entry { line: p.line, handle: p.handle, ..Entry::default() };
                    self.last = e;
                }
                self.entries[e].clear(wanted);
                self.entries[e].waiting |= wanted;
            }
        }
    }
}

ports! { pub(super) mod i(z: Sizes) {
    IDLE_REGISTERS = "idle_registers_i", 1, z.ec;
    REGISTER_BASE = "register_base_i", 1, z.rb;
    FLUSH = "flush_i", 1, 1;
    DEMAND_VALID = "demand_valid_i", 1, 1;
    DEMAND_STORE = "demand_store_i", 1, 1;
    DEMAND_LINE = "demand_line_i", 1, z.t;
    DEMAND_MASK = "demand_mask_i", 1, z.s;
    PREFETCH_VALID = "prefetch_valid_i", 1, 1;
    PREFETCH_LINE = "prefetch_line_i", 1, z.t;
    PREFETCH_MASK = "prefetch_mask_i", 1, z.s;
    PREFETCH_HANDLE = "prefetch_handle_i", 1, z.h;
    PREFETCH_TAKE = "prefetch_take_i", 1, 1;
    PREFETCH_HAVE = "prefetch_have_i", 1, z.s;
    FILL_VALID = "fill_valid_i", 1, 1;
    FILL_ENTRY = "fill_entry_i", 1, z.e;
    FILL_LINE = "fill_line_i", 1, z.t;
    FILL_MASK = "fill_mask_i", 1, z.s;
    FILL_BYPASS = "fill_bypass_i", 1, z.s;
    REFILL_READY = "refill_ready_i", 1, 1;
    DROP_READY = "drop_ready_i", 1, 1;
} }
ports! { mod o(z: Sizes) {
    DRAINED = "drained_o", 1, 1;
    ANSWER_VALID = "answer_valid_o", 1, 1;
    ANSWER_HIT = "answer_hit_o", 1, z.s;
    ANSWER_WAITING = "answer_waiting_o", 1, z.s;
    ANSWER_REGISTER = "answer_register_o", 1, z.rb;
    ON_TIME = "on_time_o", 1, z.s;
    ON_TIME_HANDLE = "on_time_handle_o", 1, z.h, when "on_time_o";
    PREFETCH_WAIT = "prefetch_wait_o", 1, 1;
    PREFETCH_MASK = "prefetch_mask_o", 1, z.s, when "prefetch_valid_i";
    PREFETCH_TABLE = "prefetch_table_o", 1, 1, when "prefetch_valid_i";
    PREFETCH_ENTRY = "prefetch_entry_o", 1, z.e, when "prefetch_table_o";
    FILL_REGISTER_MASK = "fill_register_mask_o", 1, z.s;
    FILL_REGISTER = "fill_register_o", 1, z.rb, when "fill_valid_i";
    REFILL_VALID = "refill_valid_o", 1, 1;
    REFILL_LINE = "refill_line_o", 1, z.t, when "refill_valid_o";
    REFILL_MASK = "refill_mask_o", 1, z.s, when "refill_valid_o";
    REFILL_REGISTER = "refill_register_o", 1, z.rb, when "refill_valid_o";
    DROP_VALID = "drop_valid_o", 1, 1;
    DROP_LINE = "drop_line_o", 1, z.t, when "drop_valid_o";
    DROP_MASK = "drop_mask_o", 1, z.s, when "drop_valid_o";
    DROP_HANDLE = "drop_handle_o", 1, z.h, when "drop_valid_o";
    INVALIDATED = "invalidated_o", 1, bits_of(u64::from(z.r) * u64::from(z.s));
} }

/// [`Prt`] as a block.
pub struct PrtBlock {
    sizes: Sizes,
    prt: Prt,
}

impl PrtBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), prt: Prt::new(c) }
    }

    fn read(inputs: &Signals) -> Inputs {
        let get = |port| inputs.get(port, 0);
        let is = |port| inputs.get(port, 0) != 0;
        Inputs {
            idle: get(i::IDLE_REGISTERS),
            base: get(i::REGISTER_BASE),
            flush: is(i::FLUSH),
            demand: is(i::DEMAND_VALID).then(|| Demand {
                store: is(i::DEMAND_STORE),
                line: get(i::DEMAND_LINE),
                mask: get(i::DEMAND_MASK),
            }),
            prefetch: is(i::PREFETCH_VALID).then(|| Unread {
                line: get(i::PREFETCH_LINE),
                mask: get(i::PREFETCH_MASK),
                handle: get(i::PREFETCH_HANDLE),
            }),
            take: is(i::PREFETCH_TAKE),
            have: get(i::PREFETCH_HAVE),
            fill: is(i::FILL_VALID).then(|| Fill {
                entry: get(i::FILL_ENTRY),
                line: get(i::FILL_LINE),
                mask: get(i::FILL_MASK),
                bypass: get(i::FILL_BYPASS),
            }),
            refill_ready: is(i::REFILL_READY),
            drop_ready: is(i::DROP_READY),
        }
    }
}

impl Block for PrtBlock {
    fn name(&self) -> &str {
        "prt"
    }
    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }
    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }
    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let x = Self::read(inputs);
        let r = self.prt.outputs(&x);
        let (refill, drop) = (r.refill.unwrap_or_default(), r.drop.unwrap_or_default());
        let values = [
            (o::DRAINED, r.drained.into()),
            (o::ANSWER_VALID, r.answer.valid.into()),
            (o::ANSWER_HIT, r.answer.hit),
            (o::ANSWER_WAITING, r.answer.waiting),
            (o::ANSWER_REGISTER, r.answer.register),
            (o::ON_TIME, r.answer.on_time),
            (o::ON_TIME_HANDLE, r.answer.handle),
            (o::PREFETCH_WAIT, r.wait.into()),
            (o::PREFETCH_MASK, r.prefetch_mask),
            (o::PREFETCH_TABLE, r.place.is_some().into()),
            (o::PREFETCH_ENTRY, r.place.unwrap_or(0)),
            (o::FILL_REGISTER_MASK, r.fill_mask),
            (o::FILL_REGISTER, r.fill_register),
            (o::REFILL_VALID, r.refill.is_some().into()),
            (o::REFILL_LINE, refill.0),
            (o::REFILL_MASK, refill.1),
            (o::REFILL_REGISTER, refill.2),
            (o::DROP_VALID, r.drop.is_some().into()),
            (o::DROP_LINE, drop.line),
            (o::DROP_MASK, drop.mask),
            (o::DROP_HANDLE, drop.handle),
            (o::INVALIDATED, r.invalidated),
        ];
        values.into_iter().for_each(|(port, value)| outputs.set(port, 0, value));
    }
    fn clock(&mut self, inputs: &Signals) {
        self.prt.clock(&Self::read(inputs));
    }
}
