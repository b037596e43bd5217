//! Fill notices of one SM that wait for an update lane.

use super::signal::{self, ports};
use super::sizes::Sizes;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;
use std::collections::VecDeque;

/// The queue of one SM.
#[derive(Debug, Clone)]
pub struct FillQueue {
    depth: usize,
    drop: bool,
    tags: VecDeque<u64>,
}

impl FillQueue {
    pub fn new(c: &Config) -> Self {
        let depth = c.fill_queue_depth as usize;
        Self { depth, drop: c.fill_drop, tags: VecDeque::with_capacity(depth) }
    }

    /// A notice is taken.
    pub fn ready(&self) -> bool {
        self.drop || self.tags.len() < self.depth
    }

    /// The oldest tag.
    pub fn head(&self) -> Option<u64> {
        self.tags.front().copied()
    }

    /// A notice in this cycle is dropped.
    pub fn dropped(&self, notice: bool, flush: bool) -> bool {
        notice && !flush && self.drop && self.tags.len() == self.depth
    }

    /// End of the cycle.
    pub fn clock(&mut self, notice: Option<u64>, head_taken: bool, flush: bool) {
        let full = self.tags.len() == self.depth;
        if head_taken {
            self.tags.pop_front();
        }
        if let Some(tag) = notice
            && !full
        {
            self.tags.push_back(tag);
        }
        if flush {
            self.tags.clear();
        }
    }
}

ports! { mod i(z: Sizes) {
    FILL_VALID = "fill_valid_i", 1, 1;
    FILL_TAG = "fill_tag_i", 1, z.t;
    HOLD = "hold_i", 1, 1;
    TAG_READY = "tag_ready_i", 1, 1;
    FLUSH = "flush_i", 1, 1;
} }
ports! { mod o(z: Sizes) {
    FILL_READY = "fill_ready_o", 1, 1;
    DROPPED = "dropped_o", 1, 1;
    TAG_VALID = "tag_valid_o", 1, 1;
    TAG = "tag_o", 1, z.t, when "tag_valid_o";
} }

/// [`FillQueue`] as a block.
pub struct FillQueueBlock {
    sizes: Sizes,
    queue: FillQueue,
}

impl FillQueueBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), queue: FillQueue::new(c) }
    }

    fn tag(&self, inputs: &Signals) -> Option<u64> {
        self.queue.head().filter(|_| !signal::is(inputs, i::HOLD, 0))
    }
}

impl Block for FillQueueBlock {
    fn name(&self) -> &str {
        "fill_queue"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let (notice, flush) = (signal::is(inputs, i::FILL_VALID, 0), signal::is(inputs, i::FLUSH, 0));
        signal::set_bit(outputs, o::FILL_READY, self.queue.ready());
        signal::set_bit(outputs, o::DROPPED, self.queue.dropped(notice, flush));
        signal::set_bit(outputs, o::TAG_VALID, self.tag(inputs).is_some());
        outputs.set(o::TAG, 0, self.tag(inputs).unwrap_or(0));
    }

    fn clock(&mut self, inputs: &Signals) {
        let is = |port| signal::is(inputs, port, 0);
        let taken = self.tag(inputs).is_some() && is(i::TAG_READY);
        self.queue.clock(is(i::FILL_VALID).then(|| inputs.get(i::FILL_TAG, 0)), taken, is(i::FLUSH));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    /// Inputs (notice, hold, ready, flush) of successive cycles to (fill_ready, dropped, head).
    fn run(more: &[&str], cycles: &[(Option<u64>, u64, u64, u64)]) -> Vec<(u64, u64, Option<u64>)> {
        let mut block = FillQueueBlock::new(&config(&[&["fill_queue_depth=2"][..], more].concat()));
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        cycles
            .iter()
            .map(|&(notice, hold, ready, flush)| {
                inputs.set(i::FILL_VALID, 0, u64::from(notice.is_some()));
                inputs.set(i::FILL_TAG, 0, notice.unwrap_or(0));
                inputs.set(i::HOLD, 0, hold);
                inputs.set(i::TAG_READY, 0, ready);
                inputs.set(i::FLUSH, 0, flush);
                block.eval(&inputs, &mut outputs);
                block.clock(&inputs);
                let tag = signal::is(&outputs, o::TAG_VALID, 0).then(|| outputs.get(o::TAG, 0));
                (outputs.get(o::FILL_READY, 0), outputs.get(o::DROPPED, 0), tag)
            })
            .collect()
    }

    #[test]
    fn full_drops_and_counts() {
        let shown = run(
            &[],
            &[
                (Some(1), 0, 1, 0),
                (Some(2), 0, 0, 0),
                (Some(3), 0, 1, 0), // full at the start of the cycle, although the head leaves
                (Some(4), 1, 1, 0), // held: the head stays
                (None, 0, 1, 0),
                (None, 0, 1, 0),
                (None, 0, 1, 0),
            ],
        );
        let expected = [(1, 0, None), (1, 0, Some(1)), (1, 1, Some(1)), (1, 0, None), (1, 0, Some(2)), (1, 0, Some(4)), (1, 0, None)];
        assert_eq!(shown, expected);
    }

    #[test]
    fn without_drop_a_notice_waits() {
        let shown = run(
            &["fill_drop=false"],
            &[
                (Some(1), 0, 0, 0),
                (Some(2), 0, 0, 0),
                (Some(3), 0, 1, 0),
                (Some(3), 0, 0, 0),
                (None, 0, 1, 0),
                (None, 0, 1, 0),
                (None, 0, 0, 0),
            ],
        );
        let expected = [(1, 0, None), (1, 0, Some(1)), (0, 0, Some(1)), (1, 0, Some(2)), (0, 0, Some(2)), (1, 0, Some(3)), (1, 0, None)];
        assert_eq!(shown, expected);
    }

    #[test]
    fn flush_empties_and_counts_nothing() {
        let shown = run(&[], &[(Some(1), 0, 0, 0), (Some(2), 0, 0, 0), (Some(3), 0, 0, 1), (Some(4), 0, 0, 1), (None, 0, 0, 0)]);
        assert_eq!(shown, [(1, 0, None), (1, 0, Some(1)), (1, 0, Some(1)), (1, 0, None), (1, 0, None)]);
    }
}
