//! The gap law: exact traffic of a slotted TTL cache at fixed phases (PASCAL section 3.2, Lemma 1 and Theorem 2; specification section 1).

use super::fraction::{Fraction, fraction, whole};
use super::scan::Scan;

/// The gaps between consecutive distinct phases, and everything that follows from them alone.
///
/// ```
/// use l1forge_sim::pascal::{Gaps, Scan};
/// let gaps = Gaps::new(&Scan::new(12, vec![0, 3])?);
/// assert_eq!(gaps.in_ring_order(), [3, 9]);
/// let water = gaps.waterline(6);
/// assert_eq!((water.theta.to_string(), water.t_star, water.misses_per_round), ("3".to_string(), 3, 1));
/// # Ok::<(), l1forge_sim::pascal::InputError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gaps {
    blocks: u64,
    ring: Vec<u64>,
    sorted: Vec<u64>,
    /// `prefix[j]` is the sum of the `j` smallest gaps.
    prefix: Vec<u64>,
}

/// The waterline of a capacity: how long the cache remembers, and what that costs (Theorem 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waterline {
    /// The real window, in rounds, at which the footprint equals the capacity.
    pub theta: Fraction,
    /// The largest whole window that fits, `floor(theta)` rounds.
    pub t_star: u64,
    /// The fills per round in the steady state, K.
    pub misses_per_round: u64,
}

/// One step of a curve over capacity: from `capacity` on, up to the next step, `misses_per_round` holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The smallest capacity of the step, in blocks.
    pub capacity: u64,
    /// Misses per round there.
    pub misses_per_round: u64,
}

impl Gaps {
    /// The gaps of a scan. Cost: O(M), the scan is sorted already.
    pub fn new(scan: &Scan) -> Self {
        let ring: Vec<u64> = (0..scan.distinct()).map(|group| scan.gap(group)).collect();
        let mut sorted = ring.clone();
        sorted.sort_unstable();
        let mut prefix = Vec::with_capacity(sorted.len() + 1);
        prefix.push(0);
        for (j, gap) in sorted.iter().enumerate() {
            prefix.push(prefix[j] + gap);
        }
        Self { blocks: scan.blocks(), ring, sorted, prefix }
    }

    /// The gaps in ring order, starting from the lowest phase, in blocks. They sum to N.
    pub fn in_ring_order(&self) -> &[u64] {
        &self.ring
    }

    /// The gaps in ascending order, in blocks.
    pub fn ascending(&self) -> &[u64] {
        &self.sorted
    }

    /// The footprint U(t): distinct blocks requested in `rounds` consecutive complete rounds, whichever the first.
    pub fn footprint(&self, rounds: u64) -> u64 {
        let short = self.sorted.partition_point(|&gap| gap <= rounds);
        // Long gaps only: rounds < gap, so the product stays below N.
        self.prefix[short] + (self.sorted.len() - short) as u64 * rounds.min(self.blocks)
    }

    /// The footprint extended to a real number of rounds, as Theorem 2 uses it.
    pub fn footprint_at(&self, rounds: Fraction) -> Fraction {
        self.sorted.iter().map(|&gap| whole(gap).min(rounds)).sum()
    }

    /// How many gaps are larger than `rounds`: the growth of the footprint from `rounds` to `rounds + 1` (Lemma 1).
    pub fn longer_than(&self, rounds: u64) -> u64 {
        (self.sorted.len() - self.sorted.partition_point(|&gap| gap <= rounds)) as u64
    }

    /// The number of clusters when phases at most `merge` blocks apart are one: at least 1.
    pub fn clusters(&self, merge: u64) -> u64 {
        self.longer_than(merge).max(1)
    }

    /// The waterline of `capacity` blocks and the fills per round of the slotted TTL cache with window `t_star`.
    ///
    /// For `capacity >= N` nothing is ever forgotten: theta is the largest gap and K is 0. Cost: O(D).
    ///
    /// # Panics
    /// If `capacity` is 0; see [`check_capacity`](super::check_capacity).
    pub fn waterline(&self, capacity: u64) -> Waterline {
        assert!(capacity > 0, "capacity must be at least 1");
        let d = self.sorted.len();
        for (j, &gap) in self.sorted.iter().enumerate() {
            let left = (d - j) as u64;
            // The footprint at this gap, which is where the j-th smallest gap goes under water.
            let filled = u128::from(self.prefix[j]) + u128::from(left) * u128::from(gap);
            if filled > u128::from(capacity) {
                let theta = fraction(u128::from(capacity - self.prefix[j]), u128::from(left));
                return Waterline { theta, t_star: (capacity - self.prefix[j]) / left, misses_per_round: left };
            }
        }
        let largest = self.sorted[d - 1];
        Waterline { theta: whole(largest), t_star: largest, misses_per_round: 0 }
    }

    /// Fills of the slotted TTL cache in the first `rounds` rounds from an empty cache.
    ///
    /// # Panics
    /// If `capacity` is 0 or `rounds` is above [`MAX_ROUNDS`](super::MAX_ROUNDS).
    pub fn cold_fills(&self, capacity: u64, rounds: u64) -> u64 {
        assert!(rounds <= super::MAX_ROUNDS, "at most {} rounds", super::MAX_ROUNDS);
        let water = self.waterline(capacity);
        let hits_later = self.sorted.len() - water.misses_per_round as usize;
        let finite: u64 = self.sorted[..hits_later].iter().map(|&gap| gap.min(rounds)).sum();
        finite + water.misses_per_round * rounds
    }

    /// The miss-ratio curve over capacity, as steps: K falls past a gap exactly when the capacity reaches its footprint.
    ///
    /// The first step is at capacity 1, the last at N with 0 misses.
    pub fn capacity_steps(&self) -> Vec<Step> {
        let mut steps = vec![Step { capacity: 1, misses_per_round: self.waterline(1).misses_per_round }];
        for &gap in &self.sorted {
            let capacity = self.footprint(gap);
            let step = Step { capacity, misses_per_round: self.longer_than(gap) };
            let last = steps.last_mut().expect("the list starts with one step");
            if last.capacity == capacity {
                *last = step;
            } else if last.misses_per_round != step.misses_per_round {
                steps.push(step);
            }
        }
        steps
    }
}

/// The misses per round of a step curve at `capacity`.
///
/// # Panics
/// If the curve is empty or starts above `capacity`.
pub fn at_capacity(steps: &[Step], capacity: u64) -> u64 {
    let after = steps.partition_point(|step| step.capacity <= capacity);
    steps[after - 1].misses_per_round
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(blocks: u64, phases: &[u64]) -> Gaps {
        Gaps::new(&Scan::new(blocks, phases.to_vec()).unwrap())
    }

    #[test]
    fn footprint_is_the_sum_of_clipped_gaps() {
        let gaps = gaps(20, &[0, 3, 4, 11]);
        assert_eq!(gaps.in_ring_order(), [3, 1, 7, 9]);
        for t in 0..25 {
            assert_eq!(gaps.footprint(t), [3, 1, 7, 9].iter().map(|&g: &u64| g.min(t)).sum::<u64>());
            assert_eq!(gaps.footprint(t + 1) - gaps.footprint(t), gaps.longer_than(t));
        }
    }

    #[test]
    fn one_block_of_spacing_moves_k_from_one_to_48() {
        let spaced = |step: u64| gaps(4096, &(0..48).map(|w| w * step).collect::<Vec<_>>());
        let tight = spaced(26).waterline(1280);
        assert_eq!((tight.theta, tight.misses_per_round), (whole(58), 1));
        let loose = spaced(27).waterline(1280);
        assert_eq!((loose.theta, loose.misses_per_round), (Fraction::new(80, 3), 48));
    }

    #[test]
    fn equally_spaced_clusters_cost_one_fill_each() {
        // PASCAL section 5.2, first experiment: every divisor of 48 and the near-equal 32.
        for clusters in [1u64, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48] {
            let phases: Vec<u64> = (0..clusters).map(|c| c * 8192 / clusters).collect();
            for capacity in [1280, 2560, 5120] {
                assert_eq!(gaps(8192, &phases).waterline(capacity).misses_per_round, clusters);
            }
        }
    }

    #[test]
    fn a_capacity_of_the_ring_or_more_never_misses() {
        let gaps = gaps(6, &[0, 3]);
        for capacity in [6, 9, super::super::MAX_BLOCKS] {
            assert_eq!(gaps.waterline(capacity), Waterline { theta: whole(3), t_star: 3, misses_per_round: 0 });
            assert_eq!(gaps.cold_fills(capacity, 1000), 6);
        }
        assert_eq!(gaps.waterline(5).misses_per_round, 2);
    }

    #[test]
    fn steps_agree_with_the_waterline_at_every_capacity() {
        for phases in [vec![0], vec![0, 3, 4, 11], vec![0, 5, 10, 15], vec![0, 1, 2, 3]] {
            let gaps = gaps(20, &phases);
            let steps = gaps.capacity_steps();
            assert!(steps.windows(2).all(|s| s[0].capacity < s[1].capacity && s[0].misses_per_round > s[1].misses_per_round));
            for capacity in 1..25 {
                assert_eq!(at_capacity(&steps, capacity), gaps.waterline(capacity).misses_per_round, "C = {capacity}");
            }
        }
    }

    #[test]
    fn the_largest_legal_sizes_do_not_overflow() {
        let phases: Vec<u64> = (0..super::super::MAX_WORKERS as u64).map(|w| w << 20).collect();
        let gaps = gaps(super::super::MAX_BLOCKS, &phases);
        let water = gaps.waterline(super::super::MAX_BLOCKS - 1);
        assert_eq!(water.misses_per_round, super::super::MAX_WORKERS as u64);
        assert_eq!(gaps.footprint(u64::MAX), super::super::MAX_BLOCKS);
        gaps.cold_fills(1, super::super::MAX_ROUNDS);
    }
}
