//! Sets of SMs: a row of the Snapshot Matrix, the candidates of a query, one valid bit per SM.

use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

/// 64-bit words that hold one bit per SM, for the largest legal number of SMs.
const WORDS: usize = 4;

/// A set of SMs 0..256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SmSet([u64; WORDS]);

impl SmSet {
    /// No SM.
    pub const EMPTY: Self = Self([0; WORDS]);

    /// The SMs 0..`n`.
    pub fn first_n(n: usize) -> Self {
        let mut set = Self::EMPTY;
        for (i, word) in set.0.iter_mut().enumerate() {
            *word = match n.saturating_sub(64 * i) {
                0 => 0,
                bits @ 1..64 => (1 << bits) - 1,
                _ => u64::MAX,
            };
        }
        set
    }

    /// SM `sm` alone.
    pub fn single(sm: usize) -> Self {
        let mut set = Self::EMPTY;
        set.insert(sm);
        set
    }

    /// The set whose words, low word first, are `words`; missing words are 0.
    pub fn from_words(words: &[u64]) -> Self {
        let mut set = Self::EMPTY;
        set.0[..words.len()].copy_from_slice(words);
        set
    }

    /// Writes the set to `words`, low word first; what does not fit is left out.
    pub fn to_words(self, words: &mut [u64]) {
        let n = words.len();
        words.copy_from_slice(&self.0[..n]);
    }

    /// Adds an SM.
    pub fn insert(&mut self, sm: usize) {
        self.0[sm / 64] |= 1 << (sm % 64);
    }

    /// Takes an SM out.
    pub fn remove(&mut self, sm: usize) {
        self.0[sm / 64] &= !(1 << (sm % 64));
    }

    /// Adds an SM, or takes it out.
    pub fn set(&mut self, sm: usize, is_in: bool) {
        let word = &mut self.0[sm / 64];
        *word = *word & !(1 << (sm % 64)) | u64::from(is_in) << (sm % 64);
    }

    /// The SM is in the set.
    pub fn contains(&self, sm: usize) -> bool {
        self.0[sm / 64] >> (sm % 64) & 1 == 1
    }

    /// No SM is in the set.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Number of SMs.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }

    /// The SMs in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let (mut word, mut at) = (self.0[0], 0);
        std::iter::from_fn(move || {
            while word == 0 {
                at += 1;
                word = *self.0.get(at)?;
            }
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            Some(64 * at + bit)
        })
    }

    /// The SMs in ascending order from `first` on, then those before it.
    pub fn iter_from(self, first: usize) -> impl Iterator<Item = usize> {
        let before = Self::first_n(first);
        (self & !before).iter().chain((self & before).iter())
    }
}

impl FromIterator<usize> for SmSet {
    fn from_iter<I: IntoIterator<Item = usize>>(sms: I) -> Self {
        let mut set = Self::EMPTY;
        sms.into_iter().for_each(|sm| set.insert(sm));
        set
    }
}

impl BitAnd for SmSet {
    type Output = Self;
    fn bitand(mut self, other: Self) -> Self {
        self &= other;
        self
    }
}

impl BitAndAssign for SmSet {
    fn bitand_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a &= b);
    }
}

impl BitOr for SmSet {
    type Output = Self;
    fn bitor(mut self, other: Self) -> Self {
        self |= other;
        self
    }
}

impl BitOrAssign for SmSet {
    fn bitor_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
    }
}

impl Not for SmSet {
    type Output = Self;
    fn not(self) -> Self {
        Self(self.0.map(|w| !w))
    }
}

/// Positions of the 1 bits of `word`, ascending.
pub fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            bit
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_cross_words() {
        let set: SmSet = [3, 63, 64, 200, 255].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 63, 64, 200, 255]);
        assert_eq!(set.len(), 5);
        assert!(set.contains(200) && !set.contains(199));
        let mut other = set;
        other.set(64, false);
        other.set(200, true);
        other.set(1, false);
        assert_eq!((set & !other), SmSet::single(64));
        assert_eq!(other | SmSet::single(64), set);
        assert!((SmSet::single(1) & SmSet::single(65)).is_empty() && !set.is_empty());
        let mut words = [0; 2];
        set.to_words(&mut words);
        assert_eq!(words, [1 << 3 | 1 << 63, 1]);
        assert_eq!(SmSet::from_words(&words).iter().collect::<Vec<_>>(), [3, 63, 64]);
        assert_eq!(set.iter_from(64).collect::<Vec<_>>(), [64, 200, 255, 3, 63]);
    }

    #[test]
    fn first_n_holds_exactly_n() {
        for n in [0, 1, 63, 64, 65, 128, 255, 256] {
            assert_eq!(SmSet::first_n(n).iter().collect::<Vec<_>>(), (0..n).collect::<Vec<_>>());
        }
    }
}
