//! Best distances by load PC.

use super::l1_awt::{Direction, Event, Rule, Window};
use super::sizes::{Limits, Sizes, ones};
use crate::block::{Block, Port, Signals};
use crate::c2p::signal::ports;
use l1forge_config::Config;

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    valid: bool,
    kind: u64,
    pc: u64,
    distance: u64,
    window: Window,
    generation: u64,
    last: Direction,
    shift: u32,
}

/// The table.
#[derive(Debug, Clone)]
pub struct L2Awt {
    entries: Vec<Entry>,
    next: usize,
    sizes: Sizes,
    limits: Limits,
    per_kind: bool,
    doubling: bool,
    reset: u64,
    step: u64,
    rule: Rule,
}

impl L2Awt {
    pub fn new(c: &Config) -> Self {
        Self {
            entries: vec![Entry::default(); c.sc_l2_awt_entries as usize],
            next: 0,
            sizes: Sizes::new(c),
            limits: Limits::new(c),
            per_kind: c.sc_awt_per_kind,
            doubling: c.sc_awt_doubling,
            reset: c.sc_reset_distance.into(),
            step: c.sc_awt_step.into(),
            rule: Rule::new(c),
        }
    }

    fn find(&self, kind: u64, pc: u64) -> Option<usize> {
        let kind = if self.per_kind { kind } else { 0 };
        self.entries.iter().position(|e| e.valid && e.kind == kind && e.pc == pc)
    }

    /// Distance of a load PC.
    pub fn distance(&self, kind: u64, pc: u64) -> u64 {
        let distance = self.find(kind, pc).map_or(self.reset, |i| self.entries[i].distance);
        if self.per_kind { distance } else { distance.min(self.limits.of(kind)) }
    }

    /// Index and generation of the entry that a load PC has or would get.
    pub fn place(&self, kind: u64, pc: u64) -> (u64, u64) {
        match self.find(kind, pc) {
            Some(i) => (i as u64, self.entries[i].generation),
            None => (self.next as u64, (self.entries[self.next].generation + 1) & ones(self.sizes.g)),
        }
    }

    /// Distance of the entry of an event, when it still belongs to it.
    pub fn live(&self, event: Event) -> Option<u64> {
        let e = &self.entries[event.index as usize];
        (e.valid && e.generation == event.generation).then_some(e.distance)
    }

    /// End of the cycle: kind and load PC that get an entry; an event.
    pub fn clock(&mut self, allocate: Option<(u64, u64)>, event: Option<Event>) {
        let live = event.filter(|e| self.live(*e).is_some());
        let mut taken = None;
        if let Some((kind, pc)) = allocate
            && self.find(kind, pc).is_none()
        {
            let generation = (self.entries[self.next].generation + 1) & ones(self.sizes.g);
            let kind = if self.per_kind { kind } else { 0 };
            self.entries[self.next] = Entry { valid: true, kind, pc, distance: self.reset, generation, ..Entry::default() };
            taken = Some(self.next);
            self.next = (self.next + 1) % self.entries.len();
        }
        if let Some(event) = live.filter(|e| taken != Some(e.index as usize)) {
            self.count(event);
        }
    }

    fn count(&mut self, event: Event) {
        let e = &mut self.entries[event.index as usize];
        let Some(direction) = e.window.count(event.class, self.rule) else { return };
        let mut step = self.step;
        if e.kind == 2 && self.per_kind && self.doubling {
            let again = direction != Direction::None && direction == e.last;
            e.shift = if again { (e.shift + 1).min(4) } else { 0 };
            e.last = direction;
            step <<= e.shift;
        }
        let limit = if self.per_kind { self.limits.of(e.kind) } else { self.limits.all() };
        e.distance = direction.moved(e.distance, step, limit);
    }
}

ports! { mod i(z: Sizes) {
    BEST_KIND = "best_kind_i", 1, 2;
    BEST_PC = "best_pc_i", 1, z.pc;
    LOOKUP_KIND = "lookup_kind_i", 1, 2;
    LOOKUP_PC = "lookup_pc_i", 1, z.pc;
    LOOKUP_ALLOCATE = "lookup_allocate_i", 1, 1;
    FEEDBACK_VALID = "feedback_valid_i", 1, 1;
    FEEDBACK_CLASS = "feedback_class_i", 1, 2;
    FEEDBACK_INDEX = "feedback_index_i", 1, z.gi;
    FEEDBACK_GENERATION = "feedback_generation_i", 1, z.g;
} }
ports! { mod o(z: Sizes) {
    BEST_DISTANCE = "best_distance_o", 1, z.d;
    LOOKUP_DISTANCE = "lookup_distance_o", 1, z.d;
    LOOKUP_INDEX = "lookup_index_o", 1, z.gi;
    LOOKUP_GENERATION = "lookup_generation_o", 1, z.g;
    FEEDBACK_LIVE = "feedback_live_o", 1, 1;
    FEEDBACK_DISTANCE = "feedback_distance_o", 1, z.d, when "feedback_live_o";
} }

/// [`L2Awt`] as a block.
pub struct L2AwtBlock {
    table: L2Awt,
}

impl L2AwtBlock {
    pub fn new(c: &Config) -> Self {
        Self { table: L2Awt::new(c) }
    }

    fn event(inputs: &Signals) -> Option<Event> {
        let get = |port| inputs.get(port, 0);
        (get(i::FEEDBACK_VALID) != 0).then(|| Event {
            class: get(i::FEEDBACK_CLASS),
            index: get(i::FEEDBACK_INDEX),
            generation: get(i::FEEDBACK_GENERATION),
        })
    }
}

impl Block for L2AwtBlock {
    fn name(&self) -> &str {
        "l2_awt"
    }
    fn inputs(&self) -> Vec<Port> {
        i::list(&self.table.sizes)
    }
    fn outputs(&self) -> Vec<Port> {
        o::list(&self.table.sizes)
    }
    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let get = |port| inputs.get(port, 0);
        let (kind, pc) = (get(i::LOOKUP_KIND), get(i::LOOKUP_PC));
        let (index, generation) = self.table.place(kind, pc);
        let live = Self::event(inputs).and_then(|e| self.table.live(e));
        let values = [
            (o::BEST_DISTANCE, self.table.distance(get(i::BEST_KIND), get(i::BEST_PC))),
            (o::LOOKUP_DISTANCE, self.table.distance(kind, pc)),
            (o::LOOKUP_INDEX, index),
            (o::LOOKUP_GENERATION, generation),
            (o::FEEDBACK_LIVE, live.is_some().into()),
            (o::FEEDBACK_DISTANCE, live.unwrap_or(0)),
        ];
        values.into_iter().for_each(|(port, value)| outputs.set(port, 0, value));
    }
    fn clock(&mut self, inputs: &Signals) {
        let get = |port| inputs.get(port, 0);
        let allocate = (get(i::LOOKUP_ALLOCATE) != 0).then(|| (get(i::LOOKUP_KIND), get(i::LOOKUP_PC)));
        self.table.clock(allocate, Self::event(inputs));
    }
}
