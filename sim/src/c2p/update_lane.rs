//! Encodes fills and rebuild tags one after the other, and writes their positions.

use super::rr_arbiter::{Kind, RrArbiter};
use super::signal::{self, ports};
use super::sizes::{Indices, MAX_K, Sizes};
use super::sm_set::bits;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;
use std::collections::VecDeque;

/// What a lane offers to the engine pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Number of the source in the lane.
    pub source: usize,
    /// Where the tag comes from.
    pub origin: Origin,
}

/// A source of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The fill queue of an SM.
    Fill(usize),
    /// A tag of the stream buffer.
    Stream(usize),
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    sm: usize,
    indices: Indices,
}

/// A lane.
#[derive(Debug, Clone)]
pub struct UpdateLane {
    lane: usize,
    lanes: usize,
    /// Sources that are fill queues; the others are stream tags.
    fill_sources: usize,
    sources: usize,
    depth: usize,
    k: usize,
    arbiter: RrArbiter,
    used: usize,
    /// SMs of the tags in the engines, newest first.
    encoding: VecDeque<Option<usize>>,
    queue: VecDeque<Entry>,
    /// By position: how many entries at the head of the queue are written there.
    written: [u8; MAX_K],
}

impl UpdateLane {
    pub fn new(c: &Config, lane: usize) -> Self {
        let z = Sizes::new(c);
        let sources = z.lane_sms(lane) + z.lane_stream_tags(lane);
        let depth = c.update_queue_depth as usize;
        Self {
            lane,
            lanes: z.w,
            fill_sources: z.lane_sms(lane),
            sources,
            depth,
            k: z.k,
            arbiter: RrArbiter::new(Kind::Ready, sources.max(1)),
            used: 0,
            encoding: vec![None; c.engine_latency as usize - 1].into(),
            queue: VecDeque::with_capacity(depth),
            written: [0; MAX_K],
        }
    }

    /// Nothing is dispatched and not completed.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The tag offered to the engine pool; `valid` tells whether a source has one.
    pub fn offer(&self, block: bool, valid: impl Fn(Origin) -> bool) -> Option<Offer> {
        if block || self.used == self.depth {
            return None;
        }
        let source = self.arbiter.pick((0..self.sources).filter(|&source| valid(self.origin(source))))?;
        Some(Offer { source, origin: self.origin(source) })
    }

    fn origin(&self, source: usize) -> Origin {
        match source.checked_sub(self.fill_sources) {
            None => Origin::Fill(self.lane + source * self.lanes),
            Some(tag) => Origin::Stream(self.lane + tag * self.lanes),
        }
    }

    /// Tells `write` of every position that asks to be written, ascending: the position, the index and the SM of the oldest entry whose position is not written.
    pub fn writes(&self, mut write: impl FnMut(usize, u32, usize)) {
        for (at, written) in self.written.iter().take(self.k).enumerate() {
            if let Some(entry) = self.queue.get(usize::from(*written)) {
                write(at, entry.indices[at], entry.sm);
            }
        }
    }

    /// A tag of this SM is dispatched and not completed.
    pub fn matches(&self, sm: usize) -> bool {
        self.used > 0 && (self.encoding.contains(&Some(sm)) || self.queue.iter().any(|e| e.sm == sm))
    }

    /// End of the cycle. `offer`: what was offered; `taken`: it was; `sm`: the SM under rebuild; `encoded`: the result
    /// of the engines; `written`: positions that asked and were written, a mask.
    pub fn clock(&mut self, offer: Option<Offer>, taken: bool, sm: usize, encoded: Option<Indices>, written: u8) {
        if offer.is_none() && self.used == 0 {
            return;
        }
        self.arbiter.clock(offer.map(|o| o.source), taken);
        for at in bits(written.into()) {
            self.written[at] += u8::from(usize::from(self.written[at]) < self.queue.len());
        }
        // A position has one write per cycle: no more than one entry is complete.
        if self.written[..self.k].iter().all(|written| *written > 0) {
            self.written.iter_mut().take(self.k).for_each(|written| *written -= 1);
            self.queue.pop_front();
            self.used -= 1;
        }
        let dispatched = offer.filter(|_| taken).map(|o| match o.origin {
            Origin::Fill(sm) => sm,
            Origin::Stream(_) => sm,
        });
        let finished = self.encoding.pop_back().flatten();
        self.encoding.push_front(dispatched);
        self.used += usize::from(dispatched.is_some());
        debug_assert_eq!(finished.is_some(), encoded.is_some(), "a result comes engine_latency - 1 cycles after its dispatch");
        if let (Some(sm), Some(indices)) = (finished, encoded) {
            self.queue.push_back(Entry { sm, indices });
        }
    }
}

/// Sizes of a lane built alone.
pub struct Shape {
    sizes: Sizes,
    /// Sources, at least 1.
    sources: usize,
}

ports! { mod i(z: Shape) {
    SOURCE_VALID = "source_valid_i", z.sources, 1;
    SOURCE_TAG = "source_tag_i", z.sources, z.sizes.t;
    SM = "sm_i", 1, z.sizes.s;
    BLOCK = "block_i", 1, 1;
    ENCODE_READY = "encode_ready_i", 1, 1;
    ENCODED = "encoded_i", 1, 1;
    INDEX = "index_i", 1, z.sizes.k * z.sizes.x;
    WRITE_READY = "write_ready_i", z.sizes.k, 1;
} }
ports! { mod o(z: Shape) {
    SOURCE_READY = "source_ready_o", z.sources, 1;
    ENCODE_VALID = "encode_valid_o", 1, 1;
    ENCODE_TAG = "encode_tag_o", 1, z.sizes.t, when "encode_valid_o";
    WRITE_VALID = "write_valid_o", z.sizes.k, 1;
    WRITE_INDEX = "write_index_o", z.sizes.k, z.sizes.x, when "write_valid_o";
    WRITE_SM = "write_sm_o", z.sizes.k, z.sizes.s, when "write_valid_o";
    MATCH = "match_o", 1, 1;
    EMPTY = "empty_o", 1, 1;
} }

/// [`UpdateLane`] as a block.
pub struct UpdateLaneBlock {
    shape: Shape,
    lane: UpdateLane,
}

impl UpdateLaneBlock {
    pub fn new(c: &Config, lane: usize) -> Self {
        let lane = UpdateLane::new(c, lane);
        Self { shape: Shape { sizes: Sizes::new(c), sources: lane.sources.max(1) }, lane }
    }

    fn offer(&self, inputs: &Signals) -> Option<Offer> {
        let lane = &self.lane;
        lane.offer(signal::is(inputs, i::BLOCK, 0), |origin| {
            let source = match origin {
                Origin::Fill(sm) => (sm - lane.lane) / lane.lanes,
                Origin::Stream(tag) => lane.fill_sources + (tag - lane.lane) / lane.lanes,
            };
            signal::is(inputs, i::SOURCE_VALID, source)
        })
    }
}

impl Block for UpdateLaneBlock {
    fn name(&self) -> &str {
        "update_lane"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.shape)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.shape)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let offer = self.offer(inputs);
        let ready = signal::is(inputs, i::ENCODE_READY, 0);
        for source in 0..self.shape.sources {
            outputs.set(o::SOURCE_READY, source, u64::from(ready && offer.is_some_and(|o| o.source == source)));
        }
        signal::set_bit(outputs, o::ENCODE_VALID, offer.is_some());
        if let Some(offer) = offer {
            outputs.set(o::ENCODE_TAG, 0, inputs.get(i::SOURCE_TAG, offer.source));
        }
        signal::set_mask(outputs, o::WRITE_VALID, 0);
        self.lane.writes(|at, index, sm| {
            outputs.set(o::WRITE_VALID, at, 1);
            outputs.set(o::WRITE_INDEX, at, index.into());
            outputs.set(o::WRITE_SM, at, sm as u64);
        });
        signal::set_bit(outputs, o::MATCH, self.lane.matches(inputs.get(i::SM, 0) as usize));
        signal::set_bit(outputs, o::EMPTY, self.lane.is_empty());
    }

    fn clock(&mut self, inputs: &Signals) {
        let Sizes { k, x, .. } = self.shape.sizes;
        let offer = self.offer(inputs);
        let encoded = signal::is(inputs, i::ENCODED, 0).then(|| signal::indices(inputs, i::INDEX, 0, k, x));
        let (taken, sm) = (signal::is(inputs, i::ENCODE_READY, 0), inputs.get(i::SM, 0) as usize);
        let written = signal::mask(inputs, i::WRITE_READY) as u8;
        self.lane.clock(offer, taken, sm, encoded, written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    /// Encode tag, writes (position, index, SM), match, empty.
    type Shown = (Option<u64>, Vec<(usize, u64, u64)>, u64, u64);

    struct Run {
        block: UpdateLaneBlock,
        inputs: Signals,
        outputs: Signals,
    }

    impl Run {
        /// Lane 1 of 2, 5 SMs, 4 stream tags, k = 2, indices of 3 bits: sources are SMs 1, 3 and stream tags 1, 3.
        fn new(more: &[&str]) -> Self {
            let base = &[
                "sms=5",
                "update_lanes=2",
                "update_bytes=32",
                "mask_bits=0",
                "hashes=2",
                "banks=2",
                "hash_bits=8",
                "update_queue_depth=2",
            ];
            let block = UpdateLaneBlock::new(&config(&[&base[..], more].concat()), 1);
            let (mut inputs, outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
            inputs.words_mut(i::SOURCE_TAG).copy_from_slice(&[11, 13, 21, 23]);
            inputs.set(i::SM, 0, 4);
            inputs.set(i::ENCODE_READY, 0, 1);
            Self { block, inputs, outputs }
        }

        fn cycle(&mut self, sources: [u64; 4], encoded: Option<u64>, written: [u64; 2]) -> Shown {
            self.inputs.words_mut(i::SOURCE_VALID).copy_from_slice(&sources);
            self.inputs.set(i::ENCODED, 0, u64::from(encoded.is_some()));
            self.inputs.set(i::INDEX, 0, encoded.unwrap_or(0));
            self.inputs.words_mut(i::WRITE_READY).copy_from_slice(&written);
            self.block.eval(&self.inputs, &mut self.outputs);
            self.block.clock(&self.inputs);
            let out = &self.outputs;
            let tag = signal::is(out, o::ENCODE_VALID, 0).then(|| out.get(o::ENCODE_TAG, 0));
            let writes = (0..2).filter(|&p| signal::is(out, o::WRITE_VALID, p));
            let writes = writes.map(|p| (p, out.get(o::WRITE_INDEX, p), out.get(o::WRITE_SM, p))).collect();
            (tag, writes, out.get(o::MATCH, 0), out.get(o::EMPTY, 0))
        }
    }

    const NONE: [u64; 4] = [0; 4];

    #[test]
    fn a_tag_from_source_to_matrix() {
        let mut run = Run::new(&[]);
        assert_eq!(run.cycle([0, 1, 0, 0], None, [0, 0]), (Some(13), vec![], 0, 1));
        assert_eq!(run.outputs.words(o::SOURCE_READY), [0, 1, 0, 0]);
        run.inputs.set(i::SM, 0, 3);
        assert_eq!(run.cycle(NONE, Some(0b101_010), [1, 1]), (None, vec![], 1, 0)); // in the engine; nothing to write yet
        assert_eq!(run.cycle(NONE, None, [0, 1]), (None, vec![(0, 0b010, 3), (1, 0b101, 3)], 1, 0));
        assert_eq!(run.cycle(NONE, None, [0, 1]), (None, vec![(0, 0b010, 3)], 1, 0));
        run.inputs.set(i::SM, 0, 4);
        assert_eq!(run.cycle(NONE, None, [1, 0]), (None, vec![(0, 0b010, 3)], 0, 0));
        assert_eq!(run.cycle(NONE, None, [0, 0]), (None, vec![], 0, 1));
    }

    #[test]
    fn sources_take_turns_while_there_is_room() {
        let mut run = Run::new(&[]);
        run.inputs.set(i::ENCODE_READY, 0, 0);
        assert_eq!(run.cycle([1, 1, 1, 1], None, [0, 0]).0, Some(11));
        assert_eq!(run.outputs.words(o::SOURCE_READY), NONE);
        run.inputs.set(i::ENCODE_READY, 0, 1);
        assert_eq!(run.cycle([1, 1, 1, 1], None, [0, 0]).0, Some(11)); // was not taken
        assert_eq!(run.cycle([1, 0, 1, 1], Some(0), [0, 0]).0, Some(21));
        assert_eq!(run.cycle([1, 1, 1, 1], Some(0b111_111), [1, 1]).0, None); // two used; the head leaves in this cycle
        // The stream tag carries the SM under rebuild at its dispatch.
        run.inputs.set(i::SM, 0, 0);
        run.inputs.set(i::BLOCK, 0, 1);
        assert_eq!(run.cycle([1, 1, 1, 1], None, [0, 0]), (None, vec![(0, 7, 4), (1, 7, 4)], 0, 0)); // room, but blocked
        run.inputs.set(i::BLOCK, 0, 0);
        assert_eq!(run.cycle([1, 1, 1, 1], None, [0, 0]).0, Some(23));
    }

    #[test]
    fn the_sm_waits_for_the_engine() {
        let mut run = Run::new(&["engine_latency=4", "update_queue_depth=4"]);
        run.cycle([1, 0, 0, 0], None, [0, 0]);
        run.cycle([0, 1, 0, 0], None, [0, 0]);
        run.inputs.set(i::SM, 0, 3);
        assert_eq!(run.cycle(NONE, None, [0, 0]).2, 1);
        run.cycle(NONE, Some(0b000_001), [0, 0]);
        assert_eq!(run.cycle(NONE, Some(0b000_010), [1, 1]).1, [(0, 1, 1), (1, 0, 1)]);
        assert_eq!(run.cycle(NONE, None, [1, 1]), (None, vec![(0, 2, 3), (1, 0, 3)], 1, 0));
        assert_eq!(run.cycle(NONE, None, [0, 0]).3, 1);
    }

    #[test]
    fn a_position_that_waits_does_not_hold_up_the_others() {
        let mut run = Run::new(&[]);
        run.inputs.set(i::SM, 0, 1);
        run.cycle([1, 1, 0, 0], None, [0, 0]);
        run.cycle([1, 1, 0, 0], Some(0b001_000), [0, 0]); // SM 1
        assert_eq!(run.cycle([1, 1, 0, 0], Some(0b011_010), [1, 0]), (None, vec![(0, 0, 1), (1, 1, 1)], 1, 0)); // SM 3; both places are taken
        assert_eq!(run.cycle([1, 1, 0, 0], None, [1, 0]), (None, vec![(0, 2, 3), (1, 1, 1)], 1, 0));
        assert_eq!(run.cycle([1, 1, 0, 0], None, [1, 0]), (None, vec![(1, 1, 1)], 1, 0)); // nothing of SM 1 is complete yet
        assert_eq!(run.cycle([1, 1, 0, 0], None, [0, 1]), (None, vec![(1, 1, 1)], 1, 0));
        assert_eq!(run.cycle([1, 0, 0, 0], None, [0, 1]), (Some(11), vec![(1, 3, 3)], 0, 0)); // a place is free again
        assert_eq!(run.cycle(NONE, Some(0), [0, 0]).3, 0);
    }

    #[test]
    fn a_lane_may_have_no_source() {
        let mut block = UpdateLaneBlock::new(&config(&["sms=2", "update_lanes=4", "update_bytes=8"]), 3);
        let (inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        assert_eq!(inputs.words(i::SOURCE_VALID).len(), 1);
        block.eval(&inputs, &mut outputs);
        block.clock(&inputs);
        assert_eq!((outputs.get(o::ENCODE_VALID, 0), outputs.get(o::EMPTY, 0)), (0, 1));
    }
}
