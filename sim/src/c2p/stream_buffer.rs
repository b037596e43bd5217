//! One beat of the rebuild stream.

use super::signal::{self, ports};
use super::sizes::Sizes;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;

/// A beat that is offered; its tags are handed over apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// SM whose tags they are.
    pub sm: usize,
    /// Tags that count, a mask.
    pub keep: u64,
    /// The last beat of the stream.
    pub last: bool,
}

/// The buffer.
#[derive(Debug, Clone)]
pub struct StreamBuffer {
    valid: u64,
    tags: Vec<u64>,
}

impl StreamBuffer {
    pub fn new(c: &Config) -> Self {
        Self { valid: 0, tags: vec![0; c.stream_tags() as usize] }
    }

    /// Tags that wait, a mask.
    pub fn valid(&self) -> u64 {
        self.valid
    }

    /// A tag.
    pub fn tag(&self, at: usize) -> u64 {
        self.tags[at]
    }

    /// A beat can be taken in a cycle in which the tags `taken` (a mask of valid ones) leave.
    pub fn ready(&self, taken: u64) -> bool {
        self.valid & !taken == 0
    }

    /// End of a cycle in which the tags `taken` leave, and `beat` (with `tags`) is taken; it counts when `load`.
    pub fn clock(&mut self, taken: u64, beat: Option<(Beat, &[u64])>, load: bool, flush: bool) {
        self.valid &= !taken;
        if let Some((beat, tags)) = beat
            && load
        {
            self.tags.copy_from_slice(tags);
            self.valid = beat.keep;
        }
        if flush {
            self.valid = 0;
        }
    }
}

ports! { mod i(z: Sizes) {
    STREAM_VALID = "stream_valid_i", 1, 1;
    STREAM_SM = "stream_sm_i", 1, z.s;
    STREAM_TAG = "stream_tag_i", z.st, z.t;
    STREAM_KEEP = "stream_keep_i", z.st, 1;
    STREAM_LAST = "stream_last_i", 1, 1;
    STREAMING = "streaming_i", 1, 1;
    SM = "sm_i", 1, z.s;
    TAG_READY = "tag_ready_i", z.st, 1;
    FLUSH = "flush_i", 1, 1;
} }
ports! { mod o(z: Sizes) {
    STREAM_READY = "stream_ready_o", 1, 1;
    TAG_VALID = "tag_valid_o", z.st, 1;
    TAG = "tag_o", z.st, z.t, when "tag_valid_o";
    EMPTY = "empty_o", 1, 1;
    BEAT = "beat_o", 1, 1;
    LAST = "last_o", 1, 1;
} }

/// [`StreamBuffer`] as a block.
pub struct StreamBufferBlock {
    sizes: Sizes,
    buffer: StreamBuffer,
}

impl StreamBufferBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), buffer: StreamBuffer::new(c) }
    }

    fn taken(&self, inputs: &Signals) -> u64 {
        self.buffer.valid() & signal::mask(inputs, i::TAG_READY)
    }

    /// The beat taken in this cycle, and whether it is one of the SM under rebuild.
    fn beat(&self, inputs: &Signals) -> Option<(Beat, bool)> {
        let taken = signal::is(inputs, i::STREAM_VALID, 0) && self.buffer.ready(self.taken(inputs));
        taken.then(|| {
            let sm = inputs.get(i::STREAM_SM, 0);
            let beat = Beat { sm: sm as usize, keep: signal::mask(inputs, i::STREAM_KEEP), last: signal::is(inputs, i::STREAM_LAST, 0) };
            (beat, sm == inputs.get(i::SM, 0))
        })
    }
}

impl Block for StreamBufferBlock {
    fn name(&self) -> &str {
        "stream_buffer"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let ours = self.beat(inputs).filter(|b| b.1);
        signal::set_bit(outputs, o::STREAM_READY, self.buffer.ready(self.taken(inputs)));
        signal::set_mask(outputs, o::TAG_VALID, self.buffer.valid());
        outputs.words_mut(o::TAG).copy_from_slice(&self.buffer.tags);
        signal::set_bit(outputs, o::EMPTY, self.buffer.valid() == 0);
        signal::set_bit(outputs, o::BEAT, ours.is_some());
        signal::set_bit(outputs, o::LAST, ours.is_some_and(|b| b.0.last));
    }

    fn clock(&mut self, inputs: &Signals) {
        let (beat, taken) = (self.beat(inputs), self.taken(inputs));
        let load = signal::is(inputs, i::STREAMING, 0) && beat.is_some_and(|b| b.1);
        let beat = beat.map(|b| (b.0, inputs.words(i::STREAM_TAG)));
        self.buffer.clock(taken, beat, load, signal::is(inputs, i::FLUSH, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    #[test]
    fn a_beat_waits_until_the_one_before_has_left() {
        let mut block = StreamBufferBlock::new(&config(&["sms=4", "update_bytes=32"])); // 4 tags
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        inputs.set(i::SM, 0, 2);
        let mut tag = 0;
        // (valid, sm, keep, last, streaming, ready, flush) to (ready, valid tags, empty, beat, last).
        let mut cycle = |valid: u64, sm: u64, keep: u64, last: u64, streaming: u64, ready: u64, flush: u64| {
            tag += 10;
            inputs.words_mut(i::STREAM_TAG).copy_from_slice(&[tag, tag + 1, tag + 2, tag + 3]);
            for (port, value) in [(i::STREAM_VALID, valid), (i::STREAM_SM, sm), (i::STREAM_LAST, last)] {
                inputs.set(port, 0, value);
            }
            signal::set_mask(&mut inputs, i::STREAM_KEEP, keep);
            signal::set_mask(&mut inputs, i::TAG_READY, ready);
            inputs.set(i::STREAMING, 0, streaming);
            inputs.set(i::FLUSH, 0, flush);
            block.eval(&inputs, &mut outputs);
            block.clock(&inputs);
            let [ready, empty, beat, last] = [o::STREAM_READY, o::EMPTY, o::BEAT, o::LAST].map(|p| outputs.get(p, 0));
            let mask = signal::mask(&outputs, o::TAG_VALID);
            let first = (mask != 0).then(|| outputs.get(o::TAG, mask.trailing_zeros() as usize));
            (ready, mask, empty, beat, last, first)
        };
        assert_eq!(cycle(1, 2, 0b1010, 0, 1, 0, 0), (1, 0, 1, 1, 0, None));
        assert_eq!(cycle(1, 2, 0b1111, 1, 1, 0b0111, 0), (0, 0b1010, 0, 0, 0, Some(11))); // tag 1 leaves, tag 3 is left
        assert_eq!(cycle(1, 2, 0b0001, 1, 1, 0b1000, 0), (1, 0b1000, 0, 1, 1, Some(13))); // the last one leaves
        assert_eq!(cycle(0, 2, 0b1111, 1, 1, 0b0001, 0), (1, 0b0001, 0, 0, 0, Some(30)));
        assert_eq!(cycle(1, 3, 0b1111, 1, 1, 0, 0), (1, 0, 1, 0, 0, None)); // another SM's
        assert_eq!(cycle(1, 2, 0b1111, 1, 0, 0, 0), (1, 0, 1, 1, 1, None)); // nobody streams: a beat, but loads none
        assert_eq!(cycle(1, 2, 0b1111, 0, 1, 0, 1), (1, 0, 1, 1, 0, None)); // flush
        assert_eq!(cycle(1, 2, 0b1100, 0, 1, 0, 0), (1, 0, 1, 1, 0, None));
        assert_eq!(cycle(1, 2, 0b1111, 0, 1, 0, 1), (0, 0b1100, 0, 0, 0, Some(82))); // flush with tags waiting
        assert_eq!(cycle(1, 2, 0, 1, 1, 0, 0), (1, 0, 1, 1, 1, None)); // a beat without tags
        assert_eq!(cycle(0, 0, 0, 0, 0, 0, 0), (1, 0, 1, 0, 0, None));
    }
}
