//! How far fully associative LRU can be from the gap law (PASCAL section 3.3, Theorem 3; specification section 2).

use super::gap_law::Gaps;
use super::scan::Scan;

/// The bracket of Theorem 3 around the misses per round of fully associative LRU.
///
/// Only gaps less than one round away from the waterline, or equal to it, are undecided.
///
/// ```
/// use l1forge_sim::pascal::{Gaps, LruBracket, Scan};
/// let scan = Scan::new(64, vec![7, 0])?;
/// let bracket = LruBracket::new(&scan, &Gaps::new(&scan), 14);
/// assert_eq!((bracket.lo, bracket.hi, bracket.applies), (1, 2, true));
/// # Ok::<(), l1forge_sim::pascal::InputError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LruBracket {
    /// Gaps of at least theta + 1. Holds for every capacity.
    pub lo: u64,
    /// Gaps above theta - 1. Holds when [`applies`](Self::applies).
    pub hi: u64,
    /// `hi + M - D`, the upper end that holds for every capacity.
    pub hi_any: u64,
    /// Whether the conditions of the theorem hold: D <= C, or all phases distinct.
    pub applies: bool,
    /// Whether the steady state misses at all (C < N), so that one miss per round is certain.
    pub misses: bool,
}

impl LruBracket {
    /// The bracket of a scan at `capacity` blocks.
    ///
    /// # Panics
    /// If `capacity` is 0.
    pub fn new(scan: &Scan, gaps: &Gaps, capacity: u64) -> Self {
        let (d, m) = (scan.distinct() as u64, scan.workers() as u64);
        if capacity >= scan.blocks() {
            return Self { lo: 0, hi: 0, hi_any: 0, applies: true, misses: false };
        }
        let theta = gaps.waterline(capacity).theta;
        // theta = numer / denom, so a gap is compared as gap * denom with numer plus or minus denom.
        let (numer, denom) = (*theta.numer(), *theta.denom());
        let below = |limit: i128, strict: bool| {
            let sunk = |gap: &u64| {
                let scaled = i128::from(*gap) * denom;
                if strict { scaled < limit } else { scaled <= limit }
            };
            gaps.ascending().partition_point(sunk) as u64
        };
        let lo = d - below(numer + denom, true);
        let hi = d - below(numer - denom, false);
        Self { lo, hi, hi_any: hi + (m - d), applies: d <= capacity || d == m, misses: true }
    }

    /// The lower end with the certainty that some request misses when C < N.
    pub fn lo_at_least_one(&self) -> u64 {
        self.lo.max(u64::from(self.misses))
    }

    /// The exact LRU count, when the bracket has collapsed to one value.
    pub fn collapsed(&self) -> Option<u64> {
        (self.applies && self.lo_at_least_one() == self.hi).then_some(self.hi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bracket(blocks: u64, phases: Vec<u64>, capacity: u64) -> LruBracket {
        let scan = Scan::new(blocks, phases).unwrap();
        LruBracket::new(&scan, &Gaps::new(&scan), capacity)
    }

    #[test]
    fn ends_by_footprint_equal_ends_by_waterline() {
        // The other form of the theorem: U(g - 1) >= C below, U(g + 1) > C above.
        for phases in [vec![0, 3, 4, 11], vec![0, 5, 10, 15], vec![0, 1, 2, 3, 9]] {
            let scan = Scan::new(20, phases).unwrap();
            let gaps = Gaps::new(&scan);
            for capacity in 1..20 {
                let found = LruBracket::new(&scan, &gaps, capacity);
                let count = |test: &dyn Fn(u64) -> bool| gaps.in_ring_order().iter().filter(|&&g| test(g)).count() as u64;
                assert_eq!(found.lo, count(&|g| gaps.footprint(g - 1) >= capacity), "C = {capacity}");
                assert_eq!(found.hi, count(&|g| gaps.footprint(g + 1) > capacity), "C = {capacity}");
            }
        }
    }

    #[test]
    fn the_waterline_can_leave_every_worker_undecided() {
        let bracket = bracket(4096, (0..48).map(|w| 27 * w).collect(), 1295);
        assert_eq!((bracket.lo, bracket.hi, bracket.collapsed()), (1, 48, None));
    }

    #[test]
    fn duplicates_beyond_the_capacity_are_outside_the_theorem() {
        let bracket = bracket(4, vec![0, 1, 0], 1);
        assert!(!bracket.applies);
        assert_eq!((bracket.hi, bracket.hi_any), (2, 3));
    }

    #[test]
    fn the_lower_end_may_be_zero_but_lru_never_is() {
        let low = bracket(6, vec![3, 0, 1, 1, 5], 5);
        assert_eq!((low.lo, low.lo_at_least_one(), low.hi), (0, 1, 4));
        let all = bracket(6, vec![3, 0, 1, 1, 5], 6);
        assert_eq!((all.lo_at_least_one(), all.hi, all.collapsed()), (0, 0, Some(0)));
    }
}
