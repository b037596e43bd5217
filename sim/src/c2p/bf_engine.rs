//! BF engine: encodes one tag into k indices, `engine_latency` cycles.

use super::signal::{self, ports};
use super::sizes::{Indices, MAX_K, Sizes};
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;
use l1forge_config::hash::HashMatrices;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Width of `user_i` of the block built alone, in bits.
const USER_BITS: usize = 8;

/// The base hashes of a configuration that has hash positions; searched for once per process and shape.
pub fn hash_data(c: &Config) -> Arc<HashMatrices> {
    static KNOWN: Mutex<BTreeMap<[u32; 5], Arc<HashMatrices>>> = Mutex::new(BTreeMap::new());
    let key = [c.hash as u32, c.tag_bits(), c.hash_bits, c.banks, c.hashes];
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    known.entry(key).or_insert_with(|| Arc::new(c.hash_matrices())).clone()
}

/// What all BF engines of a configuration compute, by table: one look-up per byte of the tag and base hash.
#[derive(Debug)]
pub struct Encoder {
    sizes: Sizes,
    mask: bool,
    hash_rows: u32,
    remaining_bits: u32,
    g_mask: u32,
    coefficients: Vec<Vec<u32>>,
    bases: Vec<Tables>,
}

/// One base hash: for each byte of the tag, what each of its values contributes.
#[derive(Debug)]
struct Tables {
    constant: u32,
    bytes: Vec<[u32; 256]>,
}

impl Encoder {
    /// The encoder of a configuration.
    pub fn new(c: &Config) -> Self {
        let sizes = Sizes::new(c);
        let bytes = sizes.t.div_ceil(8);
        let (mut coefficients, mut bases, mut remaining_bits, mut g_mask) = (Vec::new(), Vec::new(), 0, 0);
        if c.hashes > 0 {
            let data = hash_data(c);
            bases = data.bases.iter().map(|base| Tables::new(&base.taps, base.constant, bytes)).collect();
            coefficients.clone_from(&data.coefficients);
            remaining_bits = data.remaining_bits;
            g_mask = (1 << data.g_bits) - 1;
        }
        Self { mask: c.mask_bits > 0, hash_rows: c.hash_rows(), sizes, remaining_bits, g_mask, coefficients, bases }
    }

    /// The k indices of a tag.
    pub fn encode(&self, tag: u64) -> Indices {
        let mut indices = [0; MAX_K];
        let mut at = 0;
        if self.mask {
            let reversed = (tag as u32 & 0x3ff).reverse_bits() >> 22;
            let below = 10 - self.sizes.b.trailing_zeros();
            indices[0] = self.index(reversed >> below, self.hash_rows + (reversed & ((1 << below) - 1)));
            at = 1;
        }
        let mut base = [0; MAX_K];
        for (value, tables) in base.iter_mut().zip(&self.bases) {
            let bytes = tables.bytes.iter().zip(tag.to_le_bytes());
            *value = bytes.fold(tables.constant, |sum, (table, byte)| sum ^ table[usize::from(byte)]);
        }
        for factors in &self.coefficients {
            let g = factors.iter().zip(&base).fold(0_u32, |sum, (f, h)| sum.wrapping_add(f.wrapping_mul(*h))) & self.g_mask;
            let rest = u64::from(g & ((1 << self.remaining_bits) - 1));
            indices[at] = self.index(g >> self.remaining_bits, ((rest * u64::from(self.hash_rows)) >> self.remaining_bits) as u32);
            at += 1;
        }
        indices
    }

    fn index(&self, bank: u32, row: u32) -> u32 {
        bank << self.sizes.rw | row
    }
}

impl Tables {
    /// `taps[b]` are the tag bits whose parity is output bit b.
    fn new(taps: &[u64], constant: u32, bytes: usize) -> Self {
        let contribution = |byte: usize, value: usize| {
            let tag = (value as u64) << (8 * byte);
            taps.iter().enumerate().fold(0, |sum, (b, mask)| sum | ((tag & mask).count_ones() & 1) << b)
        };
        let bytes = (0..bytes).map(|byte| std::array::from_fn(|value| contribution(byte, value))).collect();
        Self { constant, bytes }
    }
}

/// One engine; `U` is the payload of the caller.
#[derive(Debug, Clone)]
pub struct BfEngine<U> {
    pipelined: bool,
    latency: usize,
    /// Newest first. Not pipelined: one stage.
    stages: Vec<Option<(Indices, U)>>,
    /// Not pipelined: cycles until the next tag can be taken.
    busy: usize,
    /// Pipelined: tags in the stages.
    held: usize,
}

impl<U: Copy> BfEngine<U> {
    /// An idle engine.
    pub fn new(pipelined: bool, latency: usize) -> Self {
        Self { pipelined, latency, stages: vec![None; if pipelined { latency - 1 } else { 1 }], busy: 0, held: 0 }
    }

    /// A tag can be taken in this cycle.
    pub fn ready(&self) -> bool {
        self.busy == 0
    }

    /// It holds a tag: without one, a cycle changes nothing.
    pub fn working(&self) -> bool {
        self.held > 0 || self.busy > 0
    }

    /// The result shown in this cycle.
    pub fn result(&self) -> Option<&(Indices, U)> {
        if self.held > 0 || self.busy == 1 { self.stages[self.stages.len() - 1].as_ref() } else { None }
    }

    /// End of a cycle in which `taken` was taken; the indices are those of the tag.
    pub fn clock(&mut self, taken: Option<(Indices, U)>) {
        if self.pipelined {
            if taken.is_none() && self.held == 0 {
                return;
            }
            self.stages.rotate_right(1);
            self.held = self.held + usize::from(taken.is_some()) - usize::from(self.stages[0].is_some());
            self.stages[0] = taken;
        } else if taken.is_some() {
            self.stages[0] = taken;
            self.busy = self.latency - 1;
        } else {
            self.busy = self.busy.saturating_sub(1);
        }
    }
}

ports! { mod i(z: Sizes) {
    VALID = "valid_i", 1, 1;
    TAG = "tag_i", 1, z.t;
    USER = "user_i", 1, USER_BITS;
} }
ports! { mod o(z: Sizes) {
    READY = "ready_o", 1, 1;
    VALID = "valid_o", 1, 1;
    INDEX = "index_o", 1, z.k * z.x, when "valid_o";
    USER = "user_o", 1, USER_BITS, when "valid_o";
} }

/// [`BfEngine`] as a block.
pub struct BfEngineBlock {
    sizes: Sizes,
    encoder: Arc<Encoder>,
    engine: BfEngine<u64>,
}

impl BfEngineBlock {
    pub fn new(c: &Config) -> Self {
        let engine = BfEngine::new(c.engine_pipelined, c.engine_latency as usize);
        Self { sizes: Sizes::new(c), encoder: Arc::new(Encoder::new(c)), engine }
    }
}

impl Block for BfEngineBlock {
    fn name(&self) -> &str {
        "bf_engine"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, _: &Signals, outputs: &mut Signals) {
        let result = self.engine.result();
        signal::set_bit(outputs, o::READY, self.engine.ready());
        signal::set_bit(outputs, o::VALID, result.is_some());
        if let Some((indices, user)) = result {
            signal::set_indices(outputs, o::INDEX, 0, self.sizes.k, self.sizes.x, indices);
            outputs.set(o::USER, 0, *user);
        }
    }

    fn clock(&mut self, inputs: &Signals) {
        let take = signal::is(inputs, i::VALID, 0) && self.engine.ready();
        self.engine.clock(take.then(|| (self.encoder.encode(inputs.get(i::TAG, 0)), inputs.get(i::USER, 0))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    #[test]
    fn tag_mask_of_the_paper() {
        let encoder = Encoder::new(&config(&[]));
        // Tag 1: reversed 10_0000_0000, bank 100000, row 64 + 0.
        assert_eq!(encoder.encode(1)[0], 0b1_0000_0100_0000);
        // Tag 0x2a5 = 10_1010_0101 reversed is 10_1001_0101: bank 101001, row 64 + 0101.
        assert_eq!(encoder.encode(0x2a5)[0], 0b1_0100_1100_0101);
        assert_eq!(encoder.encode(0x2a5 + 1024)[0], encoder.encode(0x2a5)[0]);
    }

    #[test]
    fn mask_rows_follow_the_hash_rows_in_any_number_of_banks() {
        let encoder = Encoder::new(&config(&["banks=1", "hash_bits=100"]));
        assert_eq!(encoder.encode(1)[0], 100 + 512);
        let encoder = Encoder::new(&config(&["banks=1024"]));
        assert_eq!(encoder.encode(1)[0], 512 << encoder.sizes.rw | 4);
        let encoder = Encoder::new(&config(&["hashes=0"]));
        assert_eq!((encoder.encode(3)[0], encoder.sizes.k), (0b11_0000_0000, 1));
    }

    /// (ready, result) of each cycle, when `offers` are the cycles with a valid tag; the payload is the cycle.
    fn timeline(pipelined: bool, latency: usize, offers: &[usize], cycles: usize) -> Vec<(bool, Option<usize>)> {
        let mut engine = BfEngine::new(pipelined, latency);
        (0..cycles)
            .map(|t| {
                let shown = (engine.ready(), engine.result().map(|r| r.1));
                engine.clock((offers.contains(&t) && engine.ready()).then_some(([0; MAX_K], t)));
                shown
            })
            .collect()
    }

    #[test]
    fn pipelined_takes_a_tag_every_cycle() {
        let y = |r| (true, r);
        assert_eq!(timeline(true, 2, &[0, 1, 3], 5), [y(None), y(Some(0)), y(Some(1)), y(None), y(Some(3))]);
        assert_eq!(timeline(true, 4, &[0, 1], 6), [y(None), y(None), y(None), y(Some(0)), y(Some(1)), y(None)]);
    }

    #[test]
    fn not_pipelined_takes_one_tag_per_latency() {
        let (y, n) = (|r| (true, r), |r| (false, r));
        assert_eq!(timeline(false, 2, &[0, 1, 2], 5), [y(None), n(Some(0)), y(None), n(Some(2)), y(None)]);
        assert_eq!(
            timeline(false, 4, &[0, 2, 4], 9),
            [y(None), n(None), n(None), n(Some(0)), y(None), n(None), n(None), n(Some(4)), y(None)]
        );
    }

    #[test]
    fn block_carries_the_payload() {
        let c = config(&["sms=4", "engine_latency=3"]);
        let mut block = BfEngineBlock::new(&c);
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        let tag = 0x1ff_1234_5678;
        for (t, valid) in [1, 0, 0, 0].into_iter().enumerate() {
            inputs.set(i::VALID, 0, valid);
            inputs.set(i::TAG, 0, tag * valid);
            inputs.set(i::USER, 0, 0x5a * valid);
            block.eval(&inputs, &mut outputs);
            assert_eq!(signal::is(&outputs, o::VALID, 0), t == 2);
            if t == 2 {
                let shown = signal::indices(&outputs, o::INDEX, 0, 4, 13);
                assert_eq!((shown, outputs.get(o::USER, 0)), (block.encoder.encode(tag), 0x5a));
            }
            block.clock(&inputs);
        }
    }
}
