//! Prefetches that wait for the L1.

use super::sizes::Sizes;
use crate::block::{Block, Port, Signals};
use crate::c2p::signal::ports;
use l1forge_config::Config;

/// A prefetch that passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prefetch {
    /// Line.
    pub line: u64,
    /// Sectors.
    pub mask: u64,
    /// Pattern.
    pub pattern: u64,
    /// Handle.
    pub handle: u64,
}

/// The queue.
#[derive(Debug, Clone)]
pub struct PrefetchQueue {
    places: Vec<Option<Prefetch>>,
    write: usize,
    read: usize,
    count: usize,
}

impl PrefetchQueue {
    pub fn new(c: &Config) -> Self {
        Self { places: vec![None; c.sc_queue_depth as usize], write: 0, read: 0, count: 0 }
    }

    /// It takes one more.
    pub fn ready(&self) -> bool {
        self.count < self.places.len()
    }

    /// One of the last prefetches has this line and these sectors.
    pub fn known(&self, line: u64, mask: u64) -> bool {
        self.places.iter().flatten().any(|p| p.line == line && p.mask & mask == mask)
    }

    /// The oldest.
    pub fn oldest(&self) -> Option<Prefetch> {
        if self.count > 0 { self.places[self.read] } else { None }
    }

    /// End of the cycle.
    pub fn clock(&mut self, push: Option<Prefetch>, popped: bool, flush: bool) {
        let size = self.places.len();
        let push = push.filter(|p| self.ready() && !self.known(p.line, p.mask));
        let popped = popped && self.count > 0;
        if popped {
            self.read = (self.read + 1) % size;
        }
        if let Some(push) = push {
            self.places[self.write] = Some(push);
            self.write = (self.write + 1) % size;
        }
        self.count = self.count + usize::from(push.is_some()) - usize::from(popped);
        if flush {
            self.places.fill(None);
            (self.write, self.read, self.count) = (0, 0, 0);
        }
    }
}

ports! { mod i(z: Sizes) {
    FLUSH = "flush_i", 1, 1;
    PUSH_VALID = "push_valid_i", 1, 1;
    PUSH_LINE = "push_line_i", 1, z.t;
    PUSH_MASK = "push_mask_i", 1, z.s;
    PUSH_PATTERN = "push_pattern_i", 1, z.p;
    PUSH_HANDLE = "push_handle_i", 1, z.h;
    POP_READY = "pop_ready_i", 1, 1;
} }
ports! { mod o(z: Sizes) {
    PUSH_READY = "push_ready_o", 1, 1;
    DUPLICATE = "duplicate_o", 1, 1;
    POP_VALID = "pop_valid_o", 1, 1;
    POP_LINE = "pop_line_o", 1, z.t, when "pop_valid_o";
    POP_MASK = "pop_mask_o", 1, z.s, when "pop_valid_o";
    POP_PATTERN = "pop_pattern_o", 1, z.p, when "pop_valid_o";
    POP_HANDLE = "pop_handle_o", 1, z.h, when "pop_valid_o";
} }

/// [`PrefetchQueue`] as a block.
pub struct PrefetchQueueBlock {
    sizes: Sizes,
    queue: PrefetchQueue,
}

impl PrefetchQueueBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), queue: PrefetchQueue::new(c) }
    }

    fn push(inputs: &Signals) -> Option<Prefetch> {
        let get = |port| inputs.get(port, 0);
        (get(i::PUSH_VALID) != 0).then(|| Prefetch {
            line: get(i::PUSH_LINE),
            mask: get(i::PUSH_MASK),
            pattern: get(i::PUSH_PATTERN),
            handle: get(i::PUSH_HANDLE),
        })
    }
}

impl Block for PrefetchQueueBlock {
    fn name(&self) -> &str {
        "prefetch_queue"
    }
    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }
    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }
    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let duplicate = self.queue.ready() && Self::push(inputs).is_some_and(|p| self.queue.known(p.line, p.mask));
        let oldest = self.queue.oldest();
        let p = oldest.unwrap_or_default();
        let values = [
            (o::PUSH_READY, self.queue.ready().into()),
            (o::DUPLICATE, duplicate.into()),
            (o::POP_VALID, oldest.is_some().into()),
            (o::POP_LINE, p.line),
            (o::POP_MASK, p.mask),
            (o::POP_PATTERN, p.pattern),
            (o::POP_HANDLE, p.handle),
        ];
        values.into_iter().for_each(|(port, value)| outputs.set(port, 0, value));
    }
    fn clock(&mut self, inputs: &Signals) {
        self.queue.clock(Self::push(inputs), inputs.get(i::POP_READY, 0) != 0, inputs.get(i::FLUSH, 0) != 0);
    }
}
