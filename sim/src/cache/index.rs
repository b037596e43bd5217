//! Which set a line goes to.

use serde::{Deserialize, Serialize};

/// How the set of a line is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexHash {
    /// Line address modulo the number of sets: strided accesses pile up in few sets.
    Modulo,
    /// All bits of the line address mixed, so that strides spread over the sets.
    #[default]
    Mixed,
}

impl IndexHash {
    /// Set of `line` among `sets` sets.
    pub fn set_of(self, line: u64, sets: usize) -> usize {
        match self {
            Self::Modulo => (line % sets as u64) as usize,
            // Multiply-high maps the mixed value evenly to any number of sets.
            Self::Mixed => ((u128::from(mix(line)) * sets as u128) >> 64) as usize,
        }
    }
}

/// A bijection of 64-bit numbers whose every output bit depends on every input bit (the finaliser of SplitMix64).
pub(crate) fn mix(mut x: u64) -> u64 {
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of the fullest set when `lines` lines with `stride` go to `sets` sets.
    fn fullest(hash: IndexHash, stride: u64, lines: u64, sets: usize) -> usize {
        let mut counts = vec![0; sets];
        for i in 0..lines {
            counts[hash.set_of(i * stride, sets)] += 1;
        }
        counts.into_iter().max().unwrap()
    }

    #[test]
    fn mixed_spreads_strides_that_modulo_piles_up() {
        for stride in [64, 128, 1024, 4096] {
            assert_eq!(fullest(IndexHash::Modulo, stride, 256, 64), 256);
            assert!(fullest(IndexHash::Mixed, stride, 256, 64) <= 16, "stride {stride}");
        }
        assert_eq!(fullest(IndexHash::Modulo, 1, 256, 64), 4);
    }

    #[test]
    fn mix_is_the_finaliser_of_splitmix64() {
        // First two outputs of SplitMix64 from seed 0, as its author published them.
        assert_eq!(mix(0x9e37_79b9_7f4a_7c15), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(0x3c6e_f372_fe94_f82a), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(mix(0), 0);
    }

    #[test]
    fn sets_need_not_be_a_power_of_two() {
        for hash in [IndexHash::Modulo, IndexHash::Mixed] {
            let mut used = [false; 7];
            (0..1000).for_each(|line| used[hash.set_of(line, 7)] = true);
            assert_eq!(used, [true; 7], "{hash:?}");
            assert_eq!(hash.set_of(u64::MAX, 1), 0);
        }
    }
}
