//! Traffic that no replacement policy avoids (PASCAL section 3.4, Theorem 4; specification section 3).

use super::fraction::{Fraction, fraction, whole};
use super::scan::{Previous, Scan};

/// Which policies a bound or an optimum is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Allocation {
    /// Every missed block must be installed.
    Forced,
    /// A missed block may be used without installing it. Includes every forced policy.
    Bypass,
}

/// The intervals between consecutive requests to one block, and the traffic bound they imply.
///
/// ```
/// use l1forge_sim::pascal::{Allocation, PolicyBound, Scan};
/// let bound = PolicyBound::new(&Scan::new(8, vec![0, 4])?);
/// assert_eq!(bound.misses_per_round(2, Allocation::Bypass).to_string(), "10/7");
/// assert_eq!(bound.misses_per_round(2, Allocation::Forced).to_string(), "5/3");
/// # Ok::<(), l1forge_sim::pascal::InputError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyBound {
    /// The interval of each worker, in request slots: M slots are one round.
    slots: Vec<u64>,
    /// The same, ascending.
    sorted: Vec<u64>,
}

impl PolicyBound {
    /// The intervals of a scan. Cost: O(M log M).
    pub fn new(scan: &Scan) -> Self {
        let m = scan.workers() as u64;
        let of = |(w, previous): (usize, Previous)| previous.rounds * m + w as u64 - previous.worker as u64;
        let slots: Vec<u64> = scan.previous_requests().into_iter().enumerate().map(of).collect();
        let mut sorted = slots.clone();
        sorted.sort_unstable();
        Self { slots, sorted }
    }

    /// For each worker, the rounds since the previous request to its block. They sum to N.
    pub fn intervals(&self) -> Vec<Fraction> {
        self.slots.iter().map(|&slots| fraction(u128::from(slots), self.slots.len() as u128)).collect()
    }

    /// The least misses per round of any demand-paging policy with `capacity` blocks, on-line or off-line.
    ///
    /// In the first R rounds from an empty cache every such policy misses at least R times this value, for every R.
    ///
    /// # Panics
    /// If `capacity` is 0.
    pub fn misses_per_round(&self, capacity: u64, allocation: Allocation) -> Fraction {
        let knapsack = Knapsack::new(capacity, allocation, self.slots.len() as u64);
        let (kept, part) = knapsack.fill(self.sorted.iter().copied());
        whole(self.slots.len() as u64 - kept) - part.map_or(Fraction::ZERO, |(left, weight)| Fraction::new(left, weight))
    }

    /// For each worker, the share of its hits that the bound grants, 0 to 1: the shortest intervals whole, the next one in part.
    ///
    /// # Panics
    /// If `capacity` is 0.
    pub fn retained(&self, capacity: u64, allocation: Allocation) -> Vec<Fraction> {
        let mut order: Vec<usize> = (0..self.slots.len()).collect();
        order.sort_by_key(|&w| (self.slots[w], w));
        let knapsack = Knapsack::new(capacity, allocation, self.slots.len() as u64);
        let (kept, part) = knapsack.fill(order.iter().map(|&w| self.slots[w]));
        let mut shares = vec![Fraction::ZERO; order.len()];
        for &w in &order[..kept as usize] {
            shares[w] = Fraction::ONE;
        }
        if let Some((left, weight)) = part {
            shares[order[kept as usize]] = Fraction::new(left, weight);
        }
        shares
    }
}

/// The fractional knapsack of Theorem 4, in request slots.
struct Knapsack {
    budget: u64,
    /// What an interval does not have to pay: the slot of the miss itself, when that block must be resident anyway.
    free: u64,
}

impl Knapsack {
    /// Bypass: intervals cost their length, the budget is C. Forced: at the instant of a request its own block is resident whether it hit
    /// or missed, so an interval costs one slot less and the budget is C - 1.
    fn new(capacity: u64, allocation: Allocation, workers: u64) -> Self {
        assert!(capacity > 0, "capacity must be at least 1");
        let free = u64::from(allocation == Allocation::Forced);
        // A capacity above any ring would overflow and changes nothing.
        Self { budget: (capacity.min(super::MAX_BLOCKS) - free) * workers, free }
    }

    /// How many of the ascending intervals fit whole, and the part (left, weight) of the next one.
    fn fill(&self, ascending: impl Iterator<Item = u64>) -> (u64, Option<(i128, i128)>) {
        let mut left = self.budget;
        let mut kept = 0;
        for slots in ascending {
            let weight = slots - self.free;
            if weight > left {
                return (kept, Some((i128::from(left), i128::from(weight))));
            }
            left -= weight;
            kept += 1;
        }
        (kept, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(blocks: u64, phases: Vec<u64>) -> PolicyBound {
        PolicyBound::new(&Scan::new(blocks, phases).unwrap())
    }

    #[test]
    fn the_papers_example() {
        let bound = bound(8, vec![0, 4]);
        assert_eq!(bound.intervals(), [Fraction::new(7, 2), Fraction::new(9, 2)]);
        assert_eq!(bound.retained(2, Allocation::Bypass), [Fraction::new(4, 7), Fraction::ZERO]);
        assert_eq!(bound.misses_per_round(2, Allocation::Bypass), Fraction::new(10, 7));
        assert_eq!(bound.misses_per_round(2, Allocation::Forced), Fraction::new(5, 3));
    }

    #[test]
    fn aligned_workers() {
        assert_eq!(bound(9, vec![4, 4]).intervals(), [Fraction::new(17, 2), Fraction::new(1, 2)]);
        let aligned = bound(8192, vec![0; 48]).misses_per_round(1280, Allocation::Bypass);
        assert!((crate::pascal::to_f64(&aligned) - 0.843_851).abs() < 1e-6);
    }

    #[test]
    fn one_worker_is_exactly_min() {
        let alone = bound(10, vec![3]);
        for capacity in 1..10 {
            let (c, n) = (capacity as i128, 10);
            assert_eq!(alone.misses_per_round(capacity, Allocation::Bypass), Fraction::new(n - c, n));
            assert_eq!(alone.misses_per_round(capacity, Allocation::Forced), Fraction::new(n - c, n - 1));
        }
    }

    #[test]
    fn intervals_sum_to_the_ring_and_shares_to_the_hits() {
        let bound = bound(20, vec![0, 3, 3, 11, 3, 19]);
        assert_eq!(bound.intervals().iter().sum::<Fraction>(), whole(20));
        for allocation in [Allocation::Forced, Allocation::Bypass] {
            for capacity in 1..25 {
                let hits: Fraction = bound.retained(capacity, allocation).iter().sum();
                assert_eq!(bound.misses_per_round(capacity, allocation), whole(6) - hits);
            }
            assert_eq!(bound.misses_per_round(20, allocation), Fraction::ZERO);
            assert_eq!(bound.misses_per_round(u64::MAX, allocation), Fraction::ZERO);
        }
    }
}
