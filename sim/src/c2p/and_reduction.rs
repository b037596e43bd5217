//! ANDs the k rows of one query, which come in any order.

use super::signal::{self, ports};
use super::sizes::Sizes;
use super::sm_set::{SmSet, bits};
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;

/// Rows of one query that arrive in one cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Which of the k, a mask.
    pub mask: u8,
    /// Their AND.
    pub and: SmSet,
}

impl Default for Rows {
    /// None.
    fn default() -> Self {
        Self { mask: 0, and: !SmSet::EMPTY }
    }
}

impl Rows {
    /// Adds row `i`.
    pub fn add(&mut self, i: usize, row: SmSet) {
        self.mask |= 1 << i;
        self.and &= row;
    }
}

/// The reduction of one query.
#[derive(Debug, Clone, Default)]
pub struct AndReduction {
    awaited: u8,
    candidates: SmSet,
}

impl AndReduction {
    /// The SMs left.
    pub fn candidates(&self) -> SmSet {
        self.candidates
    }

    /// The last awaited row is among those that arrive.
    pub fn done(&self, arriving: Rows) -> bool {
        self.awaited != 0 && self.awaited & !arriving.mask == 0
    }

    /// Awaits all rows of the mask `all_k`, among all SMs; wins over what arrives.
    pub fn start(&mut self, all_k: u8, all_sms: SmSet) {
        (self.awaited, self.candidates) = (all_k, all_sms);
    }

    /// Takes the rows that arrive.
    pub fn rows(&mut self, arriving: Rows) {
        self.awaited &= !arriving.mask;
        self.candidates &= arriving.and;
    }

    /// Removes SMs.
    pub fn clear(&mut self, sms: SmSet) {
        self.candidates &= !sms;
    }
}

ports! { mod i(z: Sizes) {
    START = "start_i", 1, 1;
    ROW_VALID = "row_valid_i", z.k, 1;
    ROW = "row_i", z.k, z.n;
    CLEAR = "clear_i", 1, z.n;
} }
ports! { mod o(z: Sizes) {
    CANDIDATES = "candidates_o", 1, z.n;
    DONE = "done_o", 1, 1;
} }

/// [`AndReduction`] as a block.
pub struct AndReductionBlock {
    sizes: Sizes,
    reduction: AndReduction,
}

impl AndReductionBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), reduction: AndReduction::default() }
    }
}

/// The rows of `row_port` that `valid_port` marks.
pub(super) fn arriving(inputs: &Signals, valid_port: usize, row_port: usize) -> Rows {
    let mut rows = Rows::default();
    bits(signal::mask(inputs, valid_port)).for_each(|i| rows.add(i, signal::row(inputs, row_port, i)));
    rows
}

impl Block for AndReductionBlock {
    fn name(&self) -> &str {
        "and_reduction"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        signal::set_row(outputs, o::CANDIDATES, 0, self.reduction.candidates());
        signal::set_bit(outputs, o::DONE, self.reduction.done(arriving(inputs, i::ROW_VALID, i::ROW)));
    }

    fn clock(&mut self, inputs: &Signals) {
        self.reduction.rows(arriving(inputs, i::ROW_VALID, i::ROW));
        self.reduction.clear(signal::row(inputs, i::CLEAR, 0));
        if signal::is(inputs, i::START, 0) {
            self.reduction.start(self.sizes.all_k(), self.sizes.all_sms());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    #[test]
    fn rows_in_any_order_and_together() {
        let mut block = AndReductionBlock::new(&config(&["sms=4", "hashes=2"])); // k = 3
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        // (start, valid of rows 0..3, clear, candidates shown, done shown); row 0 = 1011, row 1 = 1110, row 2 = 0111.
        let cycles = [
            (1, [1, 0, 0], 0, 0b0000, 0), // start wins over a row
            (0, [0, 0, 1], 0, 0b1111, 0),
            (0, [0, 0, 0], 0, 0b0111, 0),
            (0, [1, 1, 0], 0, 0b0111, 1),
            (0, [0, 0, 0], 0b1000, 0b0010, 0),
            (0, [0, 0, 0], 0b0010, 0b0010, 0),
            (1, [0, 0, 0], 0b1111, 0b0000, 0), // and over a clear
            (0, [1, 1, 1], 0, 0b1111, 1),
            (0, [0, 0, 0], 0, 0b0010, 0),
        ];
        inputs.words_mut(i::ROW).copy_from_slice(&[0b1011, 0b1110, 0b0111]);
        for (t, (start, valid, clear, candidates, done)) in cycles.into_iter().enumerate() {
            inputs.set(i::START, 0, start);
            inputs.words_mut(i::ROW_VALID).copy_from_slice(&valid);
            inputs.set(i::CLEAR, 0, clear);
            block.eval(&inputs, &mut outputs);
            assert_eq!((outputs.get(o::CANDIDATES, 0), outputs.get(o::DONE, 0)), (candidates, done), "cycle {t}");
            block.clock(&inputs);
        }
    }
}
