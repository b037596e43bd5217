//! Brings the writes of all update lanes, and clears, to the banks.

use super::bank_arbiter::{BankArbiter, OnePick, Shape};
use super::signal::{self, ports};
use super::sizes::Sizes;
use super::sm_set::SmSet;
use super::snapshot_matrix::Write;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;

/// A write that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update {
    /// Write port, w·k + i.
    pub port: usize,
    /// Index `{bank, row}`.
    pub index: u32,
    /// Column.
    pub sm: usize,
}

/// A clear of one row of every bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clear {
    /// Row in every bank.
    pub row: u32,
    /// The column, or all columns.
    pub sm: Option<usize>,
}

/// What [`UpdateNetwork::arbitrate`] found.
#[derive(Debug, Clone, Default)]
pub struct Arbitration {
    /// For each update, whether it is granted.
    pub granted: Vec<bool>,
    /// The writes of updates, at most one per bank.
    pub writes: Vec<Write>,
    /// The clear, and its bits in a row.
    pub clear: Option<(Clear, SmSet)>,
    /// Per bank: 1 if the clear has it.
    pub cleared: Vec<u8>,
    /// A clear is finished in every bank with this cycle.
    pub clear_ready: bool,
    /// A clear needs a second cycle.
    waits: bool,
    last_picks: Vec<(usize, usize)>,
}

impl Arbitration {
    /// The writes of updates and of the clear, at most one per bank.
    pub fn all_writes(&self) -> impl Iterator<Item = Write> {
        let clears = self.clear.into_iter().flat_map(|(clear, mask)| {
            let banks = self.cleared.iter().enumerate().filter(|bank| *bank.1 == 1);
            banks.map(move |(bank, _)| Write { bank, row: clear.row, mask, value: false })
        });
        self.writes.iter().copied().chain(clears)
    }
}

/// The crossbar network.
#[derive(Debug, Clone)]
pub struct UpdateNetwork {
    sizes: Sizes,
    arbiters: Vec<BankArbiter>,
    /// Scratch: for each bank its pick so far, and the banks that have one.
    picks: Vec<Option<OnePick>>,
    touched: Vec<usize>,
    /// Second cycle of a row that is cleared.
    second: bool,
    /// Banks that served an update in the cycle before.
    served: Vec<bool>,
}

/// Sizes of the arbiter of one bank, see docs/blocks/ports.md.
pub fn arbiter_shape(c: &Config) -> Shape {
    let z = Sizes::new(c);
    Shape { name: "update_bank_arbiter", n: z.w * z.k, payload_bits: z.rw + z.s, picks: 1, merge: false }
}

impl UpdateNetwork {
    pub fn new(c: &Config) -> Self {
        let shape = arbiter_shape(c);
        let sizes = Sizes::new(c);
        Self {
            arbiters: vec![BankArbiter::new(shape.n, shape.picks, shape.merge); sizes.b],
            picks: vec![None; sizes.b],
            touched: Vec::new(),
            second: false,
            served: vec![false; sizes.b],
            sizes,
        }
    }

    /// Grants `updates`, which ascend by port. A clear of all columns leaves nothing to them; a clear of one column takes the banks without an update in
    /// the first cycle of its row, and the others in the second.
    pub fn arbitrate(&mut self, updates: &[Update], clear: Option<Clear>, out: &mut Arbitration) {
        let Self { sizes: z, arbiters, picks, touched, second, served } = self;
        out.granted.clear();
        out.granted.resize(updates.len(), false);
        out.writes.clear();
        out.last_picks.clear();
        out.clear = clear.map(|c| (c, c.sm.map_or(z.all_sms(), SmSet::single)));
        out.cleared.clear();
        if clear.is_some() {
            out.cleared.resize(z.b, 1);
        }
        let closed = |bank: usize| clear.is_some_and(|c| c.sm.is_none() || (*second && served[bank]));
        for (place, update) in updates.iter().enumerate() {
            let bank = z.bank(update.index);
            if closed(bank) {
                continue;
            }
            if picks[bank].is_none() {
                touched.push(bank);
            }
            arbiters[bank].consider(&mut picks[bank], update.port, place);
        }
        for bank in touched.drain(..) {
            let Some(OnePick { place, .. }) = picks[bank].take() else { continue };
            let Update { port, index, sm } = updates[place];
            out.granted[place] = true;
            out.writes.push(Write { bank, row: z.row(index), mask: SmSet::single(sm), value: true });
            out.last_picks.push((bank, port));
            if clear.is_some() {
                out.cleared[bank] = 0;
            }
        }
        out.clear_ready = *second || out.last_picks.is_empty();
        out.waits = clear.is_some() && !out.clear_ready;
    }

    /// End of the cycle of `out`.
    pub fn clock(&mut self, out: &Arbitration) {
        self.second = out.waits;
        self.served.fill(false);
        for &(bank, port) in &out.last_picks {
            self.arbiters[bank].clock(Some(port));
            self.served[bank] = true;
        }
    }
}

ports! { mod i(z: Sizes) {
    WRITE_VALID = "write_valid_i", z.w * z.k, 1;
    WRITE_INDEX = "write_index_i", z.w * z.k, z.x;
    WRITE_SM = "write_sm_i", z.w * z.k, z.s;
    CLEAR_VALID = "clear_valid_i", 1, 1;
    CLEAR_ALL = "clear_all_i", 1, 1;
    CLEAR_ROW = "clear_row_i", 1, z.rw;
    CLEAR_SM = "clear_sm_i", 1, z.s;
} }
ports! { mod o(z: Sizes) {
    WRITE_READY = "write_ready_o", z.w * z.k, 1;
    WRITE_VALID = "write_valid_o", z.b, 1;
    WRITE_ROW = "write_row_o", z.b, z.rw, when "write_valid_o";
    WRITE_MASK = "write_mask_o", z.b, z.n, when "write_valid_o";
    WRITE_VALUE = "write_value_o", z.b, 1, when "write_valid_o";
    CLEAR_READY = "clear_ready_o", 1, 1;
} }

/// [`UpdateNetwork`] as a block.
pub struct UpdateNetworkBlock {
    sizes: Sizes,
    network: UpdateNetwork,
    out: Arbitration,
}

impl UpdateNetworkBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), network: UpdateNetwork::new(c), out: Arbitration::default() }
    }

    fn arbitrate(&mut self, inputs: &Signals) -> Vec<Update> {
        let asking = (0..self.sizes.w * self.sizes.k).filter(|&p| signal::is(inputs, i::WRITE_VALID, p));
        let updates: Vec<_> = asking
            .map(|port| Update { port, index: inputs.get(i::WRITE_INDEX, port) as u32, sm: inputs.get(i::WRITE_SM, port) as usize })
            .collect();
        let sm = (!signal::is(inputs, i::CLEAR_ALL, 0)).then(|| inputs.get(i::CLEAR_SM, 0) as usize);
        let clear = signal::is(inputs, i::CLEAR_VALID, 0).then(|| Clear { row: inputs.get(i::CLEAR_ROW, 0) as u32, sm });
        self.network.arbitrate(&updates, clear, &mut self.out);
        updates
    }
}

impl Block for UpdateNetworkBlock {
    fn name(&self) -> &str {
        "update_network"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let updates = self.arbitrate(inputs);
        for port in [o::WRITE_READY, o::WRITE_VALID] {
            outputs.words_mut(port).fill(0);
        }
        for (update, granted) in updates.iter().zip(&self.out.granted) {
            outputs.set(o::WRITE_READY, update.port, u64::from(*granted));
        }
        for write in self.out.all_writes() {
            outputs.set(o::WRITE_VALID, write.bank, 1);
            outputs.set(o::WRITE_ROW, write.bank, write.row.into());
            signal::set_row(outputs, o::WRITE_MASK, write.bank, write.mask);
            outputs.set(o::WRITE_VALUE, write.bank, u64::from(write.value));
        }
        signal::set_bit(outputs, o::CLEAR_READY, self.out.clear_ready);
    }

    fn clock(&mut self, inputs: &Signals) {
        self.arbitrate(inputs);
        self.network.clock(&self.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    #[test]
    fn writes_wait_for_their_bank_and_for_clears() {
        // 2 lanes of k = 2 positions, 2 banks of 4 rows, 3 SMs.
        let c = config(&["sms=3", "mask_bits=0", "hashes=2", "banks=2", "hash_bits=8", "update_lanes=2"]);
        let mut block = UpdateNetworkBlock::new(&c);
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        // Ports 0, 2 and 3 want bank 1, port 1 bank 0. Index = bank << 2 | row.
        inputs.words_mut(i::WRITE_VALID).fill(1);
        inputs.words_mut(i::WRITE_INDEX).copy_from_slice(&[0b110, 0b001, 0b110, 0b111]);
        inputs.words_mut(i::WRITE_SM).copy_from_slice(&[2, 2, 1, 1]);
        let mut cycle = |clear: Option<(u64, u64, u64)>| {
            let (all, row, sm) = clear.unwrap_or_default();
            inputs.set(i::CLEAR_VALID, 0, u64::from(clear.is_some()));
            inputs.set(i::CLEAR_ALL, 0, all);
            inputs.set(i::CLEAR_ROW, 0, row);
            inputs.set(i::CLEAR_SM, 0, sm);
            block.eval(&inputs, &mut outputs);
            block.clock(&inputs);
            assert_eq!(outputs.words(o::WRITE_VALID), [1, 1]);
            let [ready, row, mask, value] =
                [o::WRITE_READY, o::WRITE_ROW, o::WRITE_MASK, o::WRITE_VALUE].map(|p| outputs.words(p).to_vec());
            (ready, row, mask, value, outputs.get(o::CLEAR_READY, 0))
        };
        assert_eq!(cycle(None), (vec![1, 1, 0, 0], vec![1, 2], vec![0b100, 0b100], vec![1, 1], 0));
        // A clear of everything leaves nothing to updates.
        assert_eq!(cycle(Some((1, 0, 1))), (vec![0; 4], vec![0, 0], vec![0b111, 0b111], vec![0, 0], 1));
        // A clear of SM 1's column waits for both banks in its first cycle and has both in the second.
        assert_eq!(cycle(Some((0, 3, 1))), (vec![0, 1, 1, 0], vec![1, 2], vec![0b100, 0b010], vec![1, 1], 0));
        assert_eq!(cycle(Some((0, 3, 1))), (vec![0; 4], vec![3, 3], vec![0b010, 0b010], vec![0, 0], 1));
        // The next row is a first cycle again.
        assert_eq!(cycle(Some((0, 2, 1))), (vec![0, 1, 0, 1], vec![1, 3], vec![0b100, 0b010], vec![1, 1], 0));
        // A clear that goes away in between leaves nothing behind.
        assert_eq!(cycle(None), (vec![1, 1, 0, 0], vec![1, 2], vec![0b100, 0b100], vec![1, 1], 1));
        assert_eq!(cycle(Some((0, 2, 1))), (vec![0, 1, 1, 0], vec![1, 2], vec![0b100, 0b010], vec![1, 1], 0));
    }

    #[test]
    fn a_bank_without_updates_is_cleared_at_once() {
        let c = config(&["sms=3", "mask_bits=0", "hashes=1", "banks=2", "hash_bits=8", "update_lanes=2"]);
        let mut network = UpdateNetwork::new(&c);
        let mut out = Arbitration::default();
        let clear = Some(Clear { row: 3, sm: Some(1) });
        // Both lanes want bank 0: bank 1 clears in the first cycle and is open in the second, bank 0 the other way round.
        let update = |port: usize, bank: u32| Update { port, index: bank << 2, sm: 0 };
        // Bank 1 was served before the clear: that does not close it.
        network.arbitrate(&[update(1, 1)], None, &mut out);
        network.clock(&out);
        network.arbitrate(&[update(0, 0), update(1, 0)], clear, &mut out);
        assert_eq!((&out.granted[..], out.clear_ready), (&[true, false][..], false));
        assert!(out.all_writes().any(|write| write == Write { bank: 1, row: 3, mask: SmSet::single(1), value: false }));
        network.clock(&out);
        network.arbitrate(&[update(0, 1), update(1, 0)], clear, &mut out);
        assert_eq!((&out.granted[..], out.clear_ready), (&[true, false][..], true));
        assert!(out.all_writes().any(|write| write == Write { bank: 0, row: 3, mask: SmSet::single(1), value: false }));
        network.clock(&out);
        network.arbitrate(&[], clear, &mut out);
        assert_eq!((out.all_writes().count(), out.clear_ready), (2, true)); // one cycle is enough
    }
}
