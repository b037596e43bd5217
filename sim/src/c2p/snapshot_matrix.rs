//! The filter: B banks of R rows of one bit per SM, in C copies that always hold the same.

use super::signal::{self, ports};
use super::sizes::Sizes;
use super::sm_set::SmSet;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;

/// A read of one bank copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// Copy and bank, c·B + b.
    pub position: usize,
    /// Row in the bank.
    pub row: u32,
}

/// What is written to the matrix in one cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// Bank.
    pub bank: usize,
    /// Row in the bank.
    pub row: u32,
    /// Bits that are written.
    pub mask: SmSet,
    /// What they become.
    pub value: bool,
}

/// The contents (stored once: writes reach every copy in the same cycle) and the read registers.
#[derive(Debug, Clone)]
pub struct SnapshotMatrix {
    banks: usize,
    rows: usize,
    /// Words per row.
    words: usize,
    /// By row, bank, word.
    content: Vec<u64>,
    /// By copy, bank.
    data: Vec<SmSet>,
}

impl SnapshotMatrix {
    pub fn new(z: &Sizes) -> Self {
        let words = z.n.div_ceil(64);
        Self { banks: z.b, rows: z.r, words, content: vec![0; z.b * z.r * words], data: vec![SmSet::EMPTY; z.b * z.c] }
    }

    /// What the latest read of a position, made in an earlier cycle, returned.
    pub fn data(&self, position: usize) -> SmSet {
        self.data[position]
    }

    /// The row as it is now.
    pub fn row(&self, bank: usize, row: u32) -> SmSet {
        let at = self.at(bank, row);
        SmSet::from_words(&self.content[at..at + self.words])
    }

    /// End of the cycle, reads before writes.
    pub fn read(&mut self, read: Read) {
        self.data[read.position] = self.row(read.position % self.banks, read.row);
    }

    /// End of the cycle, after all reads.
    pub fn write(&mut self, write: Write) {
        let at = self.at(write.bank, write.row);
        let mut mask = [0; 4];
        write.mask.to_words(&mut mask);
        for (word, mask) in self.content[at..at + self.words].iter_mut().zip(mask) {
            *word = if write.value { *word | mask } else { *word & !mask };
        }
    }

    /// End of the cycle, after all reads: clears the bits of `mask` in one row of every bank that `banks` has as 1.
    pub fn clear(&mut self, row: u32, mask: SmSet, banks: &[u8]) {
        let mut words = [0; 4];
        mask.to_words(&mut words);
        let at = self.at(0, row);
        let rows = &mut self.content[at..at + self.banks * self.words];
        if self.words == 1 {
            rows.iter_mut().zip(banks).for_each(|(word, &bank)| *word &= !(words[0] & u64::from(bank).wrapping_neg()));
            return;
        }
        for (row, _) in rows.chunks_exact_mut(self.words).zip(banks).filter(|row| *row.1 == 1) {
            row.iter_mut().zip(words).for_each(|(word, mask)| *word &= !mask);
        }
    }

    fn at(&self, bank: usize, row: u32) -> usize {
        debug_assert!((row as usize) < self.rows, "row {row}");
        (row as usize * self.banks + bank) * self.words
    }
}

ports! { mod i(z: Sizes) {
    READ_VALID = "read_valid_i", z.c * z.b, 1;
    READ_ROW = "read_row_i", z.c * z.b, z.rw;
    WRITE_VALID = "write_valid_i", z.b, 1;
    WRITE_ROW = "write_row_i", z.b, z.rw;
    WRITE_MASK = "write_mask_i", z.b, z.n;
    WRITE_VALUE = "write_value_i", z.b, 1;
} }
ports! { mod o(z: Sizes) {
    READ_DATA = "read_data_o", z.c * z.b, z.n;
} }

/// [`SnapshotMatrix`] as a block.
pub struct SnapshotMatrixBlock {
    sizes: Sizes,
    matrix: SnapshotMatrix,
}

impl SnapshotMatrixBlock {
    pub fn new(c: &Config) -> Self {
        let sizes = Sizes::new(c);
        Self { matrix: SnapshotMatrix::new(&sizes), sizes }
    }
}

impl Block for SnapshotMatrixBlock {
    fn name(&self) -> &str {
        "snapshot_matrix"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, _: &Signals, outputs: &mut Signals) {
        for position in 0..self.sizes.b * self.sizes.c {
            signal::set_row(outputs, o::READ_DATA, position, self.matrix.data(position));
        }
    }

    fn clock(&mut self, inputs: &Signals) {
        for position in (0..self.sizes.b * self.sizes.c).filter(|&p| signal::is(inputs, i::READ_VALID, p)) {
            self.matrix.read(Read { position, row: inputs.get(i::READ_ROW, position) as u32 });
        }
        for bank in (0..self.sizes.b).filter(|&b| signal::is(inputs, i::WRITE_VALID, b)) {
            let mask = signal::row(inputs, i::WRITE_MASK, bank);
            let value = signal::is(inputs, i::WRITE_VALUE, bank);
            self.matrix.write(Write { bank, row: inputs.get(i::WRITE_ROW, bank) as u32, mask, value });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    #[test]
    fn masked_writes_and_reads_of_old_bits() {
        // 2 banks, 2 copies, 70 SMs: rows of two words.
        let c = config(&["sms=70", "banks=2", "hash_bits=8", "mask_bits=0", "hashes=2", "copies=2"]);
        let mut block = SnapshotMatrixBlock::new(&c);
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        let mut cycle = |write: Option<(usize, u64, [u64; 2], u64)>, reads: &[(usize, u64)]| {
            for port in [i::READ_VALID, i::WRITE_VALID] {
                inputs.words_mut(port).fill(0);
            }
            if let Some((bank, row, mask, value)) = write {
                inputs.set(i::WRITE_VALID, bank, 1);
                inputs.set(i::WRITE_ROW, bank, row);
                inputs.words_mut(i::WRITE_MASK)[2 * bank..][..2].copy_from_slice(&mask);
                inputs.set(i::WRITE_VALUE, bank, value);
            }
            for &(position, row) in reads {
                inputs.set(i::READ_VALID, position, 1);
                inputs.set(i::READ_ROW, position, row);
            }
            block.clock(&inputs);
            block.eval(&inputs, &mut outputs);
            outputs.words(o::READ_DATA).to_vec()
        };
        cycle(Some((1, 3, [0b1011, 0x21], 1)), &[]);
        // Bank 1 is positions 1 (copy 0) and 3 (copy 1). The read beside the write returns the old bits, and is kept.
        assert_eq!(cycle(Some((1, 3, [0b0110, 0x01], 0)), &[(1, 3)]), [0, 0, 0b1011, 0x21, 0, 0, 0, 0]);
        assert_eq!(cycle(None, &[(3, 3)]), [0, 0, 0b1011, 0x21, 0, 0, 0b1001, 0x20]);
        assert_eq!(cycle(Some((1, 3, [0b0100, 0], 1)), &[(1, 2), (0, 3)]), [0, 0, 0, 0, 0, 0, 0b1001, 0x20]);
        assert_eq!(cycle(None, &[(1, 3)]), [0, 0, 0b1101, 0x20, 0, 0, 0b1001, 0x20]);
    }

    #[test]
    fn a_clear_takes_its_bits_from_one_row_of_its_banks() {
        // Rows of one, two and four words.
        for sms in [5, 70, 200] {
            let z = Sizes::new(&config(&[&format!("sms={sms}"), "banks=4", "hash_bits=16", "mask_bits=0", "hashes=4"]));
            let mut matrix = SnapshotMatrix::new(&z);
            let places = || (0..z.b).flat_map(|bank| (0..z.r as u32).map(move |row| (bank, row)));
            places().for_each(|(bank, row)| matrix.write(Write { bank, row, mask: z.all_sms(), value: true }));
            let mask: SmSet = (0..z.n).filter(|sm| sm % 3 == 1).collect();
            matrix.clear(1, mask, &[0, 1, 1, 0]);
            for (bank, row) in places() {
                let cleared = row == 1 && [1, 2].contains(&bank);
                let left = if cleared { z.all_sms() & !mask } else { z.all_sms() };
                assert_eq!(matrix.row(bank, row), left, "{sms} SMs, bank {bank}, row {row}");
            }
        }
    }
}
