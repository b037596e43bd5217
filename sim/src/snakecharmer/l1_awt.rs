//! Best distances by warp and load PC.

use super::sizes::{Limits, Sizes, ones};
use crate::block::{Block, Port, Signals};
use crate::c2p::signal::ports;
use l1forge_config::Config;

/// Whose distance it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Context {
    /// Kind of prefetch.
    pub kind: u64,
    /// Warp.
    pub warp: u64,
    /// Load PC.
    pub pc: u64,
}

/// An event for an entry of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Event {
    /// 0 on time, 1 early, 2 late.
    pub class: u64,
    /// Entry.
    pub index: u64,
    /// Its generation when the block was prefetched.
    pub generation: u64,
}

/// Where the distance of an entry goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    /// Nowhere.
    #[default]
    None,
    /// Away.
    Farther,
    /// Back.
    Nearer,
}

impl Direction {
    /// A distance after a step this way, within 1..=`limit`.
    pub fn moved(self, distance: u64, step: u64, limit: u64) -> u64 {
        match self {
            Self::None => distance,
            Self::Farther => (distance + step).min(limit),
            Self::Nearer => distance.saturating_sub(step).max(1),
        }
    }
}

/// What ends a window and what moves a distance.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Events of a window.
    window: u64,
    /// Late or early ones that are enough; 0: they must be the most.
    enough: u64,
}

impl Rule {
    pub fn new(c: &Config) -> Self {
        Self { window: c.sc_awt_window.into(), enough: c.sc_awt_move_events.into() }
    }
}

/// Events of a window by class: on time, early, late.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window([u64; 3]);

impl Window {
    /// One more event. At the end of a window, where the distance goes, and the window starts again.
    pub fn count(&mut self, class: u64, rule: Rule) -> Option<Direction> {
        if let Some(n) = self.0.get_mut(class as usize) {
            *n += 1;
        }
        if self.0.iter().sum::<u64>() != rule.window {
            return None;
        }
        let [on_time, early, late] = std::mem::take(&mut self.0);
        let many = |events: u64| events > on_time || rule.enough > 0 && events >= rule.enough;
        Some(if late > early && many(late) {
            Direction::Farther
        } else if early > late && many(early) {
            Direction::Nearer
        } else {
            Direction::None
        })
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    valid: bool,
    context: Context,
    distance: u64,
    window: Window,
    samples: u64,
    generation: u64,
}

/// The table.
#[derive(Debug, Clone)]
pub struct L1Awt {
    entries: Vec<Entry>,
    sizes: Sizes,
    limits: Limits,
    per_kind: bool,
    warp_local: bool,
    inherit: bool,
    reset: u64,
    step: u64,
    rule: Rule,
    samples: u64,
}

impl L1Awt {
    pub fn new(c: &Config) -> Self {
        Self {
            entries: vec![Entry::default(); c.sc_l1_awt_entries as usize],
            sizes: Sizes::new(c),
            limits: Limits::new(c),
            per_kind: c.sc_awt_per_kind,
            warp_local: c.sc_awt_inter_warp_local,
            inherit: c.sc_awt_inherit,
            reset: c.sc_reset_distance.into(),
            step: c.sc_awt_step.into(),
            rule: Rule::new(c),
            samples: c.sc_awt_samples.into(),
        }
    }

    /// The context as it is kept; `None` when only its load PC counts.
    fn kept(&self, context: Context) -> Option<Context> {
        if !self.per_kind {
            return Some(Context { kind: 0, ..context });
        }
        (context.kind != 2 || self.warp_local).then_some(context)
    }

    fn index(&self, context: Context) -> usize {
        let bits = self.sizes.li;
        let mut h = context.warp;
        let mut rest = context.pc;
        while rest != 0 {
            h ^= rest & ones(bits);
            rest = rest.checked_shr(bits).unwrap_or(0);
        }
        h ^= if bits >= 2 { context.kind << (bits - 2) } else { context.kind };
        let h = (h & ones(bits)) as usize;
        if h >= self.entries.len() { h - self.entries.len() } else { h }
    }

    fn limit(&self, kind: u64) -> u64 {
        if self.per_kind { self.limits.of(kind) } else { self.limits.all() }
    }

    /// The entry of a context in use: its distance.
    pub fn distance(&self, context: Context) -> Option<u64> {
        let kept = self.kept(context)?;
        let e = &self.entries[self.index(kept)];
        (e.valid && e.context == kept && e.samples == self.samples)
            .then(|| if self.per_kind { e.distance } else { e.distance.min(self.limits.of(context.kind)) })
    }

    /// Index and generation of the entry that the context has or would get.
    pub fn place(&self, context: Context) -> Option<(u64, u64)> {
        let kept = self.kept(context)?;
        let index = self.index(kept);
        let e = &self.entries[index];
        let generation = if e.valid && e.context == kept { e.generation } else { (e.generation + 1) & ones(self.sizes.g) };
        Some((index as u64, generation))
    }

    /// End of the cycle: a context that gets an entry, with its Global Best Distance; an event, with the distance of its load PC.
    pub fn clock(&mut self, allocate: Option<(Context, u64)>, event: Option<Event>, global: Option<u64>) {
        let mut taken = None;
        if let Some((context, distance)) = allocate
            && let Some(kept) = self.kept(context)
        {
            let index = self.index(kept);
            if !self.entries[index].valid || self.entries[index].context != kept {
                let distance = if self.inherit { distance.min(self.limit(kept.kind)) } else { self.reset };
                let generation = (self.entries[index].generation + 1) & ones(self.sizes.g);
                self.entries[index] = Entry { valid: true, context: kept, distance, generation, ..Entry::default() };
                taken = Some(index);
            }
        }
        let Some(event) = event.filter(|e| taken != Some(e.index as usize)) else { return };
        let limit = self.limit(self.entries[event.index as usize].context.kind);
        let (rule, samples, step, inherit) = (self.rule, self.samples, self.step, self.inherit);
        let e = &mut self.entries[event.index as usize];
        if !e.valid || e.generation != event.generation {
            return;
        }
        let comes_into_use = e.samples + 1 == samples;
        e.samples = (e.samples + 1).min(samples);
        if let Some(direction) = e.window.count(event.class, rule) {
            e.distance = direction.moved(e.distance, step, limit);
        }
        if inherit
            && comes_into_use
            && let Some(global) = global
        {
            e.distance = global.min(limit);
        }
    }
}

ports! { mod i(z: Sizes) {
    BEST_KIND = "best_kind_i", 1, 2;
    BEST_WARP = "best_warp_i", 1, z.w;
    BEST_PC = "best_pc_i", 1, z.pc;
    LOOKUP_KIND = "lookup_kind_i", 1, 2;
    LOOKUP_WARP = "lookup_warp_i", 1, z.w;
    LOOKUP_PC = "lookup_pc_i", 1, z.pc;
    LOOKUP_ALLOCATE = "lookup_allocate_i", 1, 1;
    LOOKUP_GLOBAL = "lookup_global_i", 1, z.d;
    FEEDBACK_VALID = "feedback_valid_i", 1, 1;
    FEEDBACK_CLASS = "feedback_class_i", 1, 2;
    FEEDBACK_INDEX = "feedback_index_i", 1, z.li;
    FEEDBACK_GENERATION = "feedback_generation_i", 1, z.g;
    FEEDBACK_GLOBAL_VALID = "feedback_global_valid_i", 1, 1;
    FEEDBACK_GLOBAL = "feedback_global_i", 1, z.d;
} }
ports! { mod o(z: Sizes) {
    BEST_HIT = "best_hit_o", 1, 1;
    BEST_DISTANCE = "best_distance_o", 1, z.dl, when "best_hit_o";
    LOOKUP_HIT = "lookup_hit_o", 1, 1;
    LOOKUP_DISTANCE = "lookup_distance_o", 1, z.dl, when "lookup_hit_o";
    LOOKUP_LOCAL = "lookup_local_o", 1, 1;
    LOOKUP_INDEX = "lookup_index_o", 1, z.li, when "lookup_local_o";
    LOOKUP_GENERATION = "lookup_generation_o", 1, z.g, when "lookup_local_o";
} }

/// [`L1Awt`] as a block.
pub struct L1AwtBlock {
    table: L1Awt,
}

impl L1AwtBlock {
    pub fn new(c: &Config) -> Self {
        Self { table: L1Awt::new(c) }
    }
}

impl Block for L1AwtBlock {
    fn name(&self) -> &str {
        "l1_awt"
    }
    fn inputs(&self) -> Vec<Port> {
        i::list(&self.table.sizes)
    }
    fn outputs(&self) -> Vec<Port> {
        o::list(&self.table.sizes)
    }
    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let get = |port| inputs.get(port, 0);
        let best = self.table.distance(Context { kind: get(i::BEST_KIND), warp: get(i::BEST_WARP), pc: get(i::BEST_PC) });
        let context = Context { kind: get(i::LOOKUP_KIND), warp: get(i::LOOKUP_WARP), pc: get(i::LOOKUP_PC) };
        let (distance, place) = (self.table.distance(context), self.table.place(context));
        let (index, generation) = place.unwrap_or_default();
        let values = [
            (o::BEST_HIT, best.is_some().into()),
            (o::BEST_DISTANCE, best.unwrap_or(0)),
            (o::LOOKUP_HIT, distance.is_some().into()),
            (o::LOOKUP_DISTANCE, distance.unwrap_or(0)),
            (o::LOOKUP_LOCAL, place.is_some().into()),
            (o::LOOKUP_INDEX, index),
            (o::LOOKUP_GENERATION, generation),
        ];
        values.into_iter().for_each(|(port, value)| outputs.set(port, 0, value));
    }
    fn clock(&mut self, inputs: &Signals) {
        let get = |port| inputs.get(port, 0);
        let context = Context { kind: get(i::LOOKUP_KIND), warp: get(i::LOOKUP_WARP), pc: get(i::LOOKUP_PC) };
        let allocate = (get(i::LOOKUP_ALLOCATE) != 0).then(|| (context, get(i::LOOKUP_GLOBAL)));
        let event = Event { class: get(i::FEEDBACK_CLASS), index: get(i::FEEDBACK_INDEX), generation: get(i::FEEDBACK_GENERATION) };
        let global = (get(i::FEEDBACK_GLOBAL_VALID) != 0).then(|| get(i::FEEDBACK_GLOBAL));
        self.table.clock(allocate, (get(i::FEEDBACK_VALID) != 0).then_some(event), global);
    }
}
