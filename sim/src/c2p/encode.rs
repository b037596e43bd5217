//! Positions of a tag, straight from the rule: slow, plain, and independent of the engine model.

use super::bf_engine::hash_data;
use l1forge_config::Config;
use serde::Serialize;

/// A position of the Snapshot Matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// `{bank, row}`, as wide as `Config::index_bits`.
    pub index: u64,
    /// Bank.
    pub bank: u64,
    /// Row in the bank: hash rows first, then tag-mask rows.
    pub row: u64,
}

/// The k positions of a tag: the tag mask first, if there is one, then the hashes in order.
///
/// ```
/// let config = l1forge_config::Settings::preset("paper").unwrap().resolve().unwrap();
/// let positions = l1forge_sim::c2p::encode(&config, 0x001);
/// assert_eq!(positions.len(), 4);
/// assert_eq!((positions[0].bank, positions[0].row), (0b100000, 64));
/// ```
pub fn encode(c: &Config, tag: u64) -> Vec<Position> {
    let (banks, hash_rows) = (u64::from(c.banks), u64::from(c.hash_rows()));
    let position = |bank: u64, row: u64| Position { index: (bank << c.row_bits()) + row, bank, row };
    let mut positions = Vec::new();
    if c.mask_bits > 0 {
        let mut reversed = 0;
        for bit in 0..10 {
            reversed = 2 * reversed + (tag >> bit) % 2;
        }
        let rows = 1024 / banks;
        positions.push(position(reversed / rows, hash_rows + reversed % rows));
    }
    if c.hashes > 0 {
        let data = hash_data(c);
        let bases: Vec<u64> = data
            .bases
            .iter()
            .map(|base| {
                let parity = |taps: u64| u64::from((tag & taps).count_ones() % 2);
                let bits: u64 = base.taps.iter().enumerate().map(|(b, taps)| parity(*taps) << b).sum();
                bits ^ u64::from(base.constant)
            })
            .collect();
        for factors in &data.coefficients {
            let sum: u64 = factors.iter().zip(&bases).map(|(f, h)| u64::from(*f) * h).sum();
            let g = sum % (1 << data.g_bits);
            let span = 1 << data.remaining_bits;
            positions.push(position(g / span, g % span * hash_rows / span));
        }
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::bf_engine::Encoder;
    use crate::c2p::tests::config;
    use proptest::prelude::*;

    const CONFIGS: &[&[&str]] = &[
        &[],
        &["mask_bits=0"],
        &["hashes=0"],
        &["hash=independent", "hashes=7"],
        &["hash=independent", "hashes=8", "mask_bits=0", "hash_bits=131072", "banks=1024"],
        &["banks=1", "hash_bits=1"],
        &["banks=1", "hash_bits=1", "mask_bits=0", "hashes=1"],
        &["hash_bits=1216"],
        &["hash_bits=20032", "banks=64"],
        &["banks=8", "hash_bits=24", "address_bits=16", "line_bytes=1024"],
        &["banks=1024", "hash_bits=3072", "address_bits=64", "line_bytes=32"],
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// The engine model, by table, and the rule, by arithmetic, agree.
        #[test]
        fn engine_and_rule_agree(which in 0..CONFIGS.len(), tags in prop::collection::vec(any::<u64>(), 1..64)) {
            let c = config(CONFIGS[which]);
            let encoder = Encoder::new(&c);
            for tag in tags {
                let tag = tag & (u64::MAX >> (64 - c.tag_bits()));
                let positions = encode(&c, tag);
                prop_assert_eq!(positions.len(), c.k() as usize);
                for (index, p) in encoder.encode(tag).into_iter().zip(&positions) {
                    prop_assert_eq!(u64::from(index), p.index);
                    prop_assert!(p.bank < u64::from(c.banks) && p.row < u64::from(c.rows()));
                    prop_assert_eq!(p.index, p.bank << c.row_bits() | p.row);
                }
            }
        }
    }

    #[test]
    fn hash_rows_come_first() {
        let c = config(&["hash_bits=640"]); // 10 hash rows, 16 mask rows
        for tag in 0..2000 {
            let positions = encode(&c, tag * 0x1_0001);
            assert!((10..26).contains(&positions[0].row));
            assert!(positions[1..].iter().all(|p| p.row < 10));
        }
    }
}
