//! The exact misses of fully associative LRU, without a trace (PASCAL section 3.3; specification section 2).
//!
//! The reuse distance of a worker is the size of a union of cyclic address intervals, one per worker. The paper sorts and merges them
//! for every worker, O(M^2 log M) in total. Here the phases are sorted once: the intervals of one distinct phase merge into one, and the
//! merged intervals start in ring order, because a start differs from its phase by at most one block. That makes O(M D) in total.

use super::gap_law::Step;
use super::scan::{Previous, Scan};

/// The reuse distance of every worker in the steady state.
///
/// ```
/// use l1forge_sim::pascal::{ReuseProfile, Scan};
/// let profile = ReuseProfile::new(&Scan::new(64, vec![7, 0])?);
/// assert_eq!(profile.distances(), [63, 14]);
/// assert_eq!((profile.misses_per_round(14), profile.misses_per_round(15)), (2, 1));
/// # Ok::<(), l1forge_sim::pascal::InputError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReuseProfile {
    blocks: u64,
    distances: Vec<u64>,
    previous: Vec<Previous>,
}

impl ReuseProfile {
    /// The profile of a scan. Cost: O(M D) time, O(M) memory.
    pub fn new(scan: &Scan) -> Self {
        let previous = scan.previous_requests();
        let mut distances = vec![0; scan.workers()];
        let spans: Vec<Span> = (0..scan.distinct()).map(|group| Span::of(scan, group)).collect();
        for group in 0..scan.distinct() {
            let members = scan.group(group);
            let first = members[0] as usize;
            distances[first] = distance_from_ahead(&spans, group, first, previous[first], scan.blocks());
            for pair in members.windows(2) {
                distances[pair[1] as usize] = distance_within_round(scan, pair[0], pair[1]);
            }
        }
        Self { blocks: scan.blocks(), distances, previous }
    }

    /// For each worker, the distinct other blocks requested since the previous request to the same block.
    pub fn distances(&self) -> &[u64] {
        &self.distances
    }

    /// Misses per round of LRU with `capacity` blocks, in the steady state.
    pub fn misses_per_round(&self, capacity: u64) -> u64 {
        self.distances.iter().filter(|&&distance| distance >= capacity).count() as u64
    }

    /// Misses of LRU in the first `rounds` rounds from an empty cache.
    ///
    /// # Panics
    /// If `rounds` is above [`MAX_ROUNDS`](super::MAX_ROUNDS).
    pub fn cold_misses(&self, capacity: u64, rounds: u64) -> u64 {
        assert!(rounds <= super::MAX_ROUNDS, "at most {} rounds", super::MAX_ROUNDS);
        let of = |(distance, previous): (&u64, &Previous)| {
            if *distance >= capacity { rounds } else { rounds.min(previous.rounds) }
        };
        self.distances.iter().zip(&self.previous).map(of).sum()
    }

    /// The miss-ratio curve of LRU over capacity, as steps from capacity 1 to N.
    pub fn capacity_steps(&self) -> Vec<Step> {
        let mut sorted = self.distances.clone();
        sorted.sort_unstable();
        let mut steps = vec![Step { capacity: 1, misses_per_round: self.misses_per_round(1) }];
        for (j, &distance) in sorted.iter().enumerate() {
            // A capacity above the distance turns this request into a hit.
            let left = (sorted.len() - j - 1) as u64;
            let last = steps.last_mut().expect("the list starts with one step");
            if last.capacity == distance + 1 {
                last.misses_per_round = left;
            } else if distance > 0 {
                steps.push(Step { capacity: distance + 1, misses_per_round: left });
            }
        }
        steps
    }

    /// The ring size the profile belongs to, in blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }
}

/// One distinct phase with the first and the last worker that has it.
struct Span {
    phase: u64,
    first: usize,
    last: usize,
}

impl Span {
    fn of(scan: &Scan, group: usize) -> Self {
        let members = scan.group(group);
        Self { phase: scan.phase_of_group(group), first: members[0] as usize, last: members[members.len() - 1] as usize }
    }
}

/// Distinct blocks between the request of worker `w`, the first of its phase, and the one of `previous`, an earlier round's.
///
/// Count addresses forwards from the own block, `ahead` being the distance to another worker's phase, 1 to N (the own phase is N ahead).
/// With `q` rounds in between, worker `v` requested the addresses `ahead - q + [v <= w']` to `ahead - 1 + [v < w]`. Over the workers of one
/// phase these merge into one interval: it starts early if the last of them comes after `w'`, and ends late if the first of them comes
/// before `w`. In ring order both ends ascend, so one pass measures the union.
fn distance_from_ahead(spans: &[Span], own: usize, w: usize, previous: Previous, blocks: u64) -> u64 {
    let here = spans[own].phase;
    let (behind, beyond) = spans.split_at(own + 1);
    let measure = |(distance, covered): (u64, u64), span: &Span, ahead: u64| {
        let start = ahead - previous.rounds + u64::from(span.last <= previous.worker);
        let stop = ahead + u64::from(span.first < w);
        (distance + stop.saturating_sub(start.max(covered)), stop)
    };
    let unwrapped = beyond.iter().fold((0, 0), |sum, span| measure(sum, span, span.phase - here));
    let wrapped = behind.iter().fold(unwrapped, |sum, span| measure(sum, span, span.phase + blocks - here));
    wrapped.0
}

/// Distinct other blocks requested between two consecutive workers `before` and `after` of one phase in one round.
fn distance_within_round(scan: &Scan, before: u32, after: u32) -> u64 {
    let (before, after) = (before as usize, after as usize);
    let mut between: Vec<u64> = scan.phases()[before + 1..after].to_vec();
    between.sort_unstable();
    between.dedup();
    between.len() as u64
}

#[cfg(test)]
mod tests {
    use super::super::gap_law::at_capacity;
    use super::*;

    /// The union as the specification writes it: one interval per worker, sorted by start and merged.
    fn by_interval_merge(scan: &Scan) -> Vec<u64> {
        let (n, m) = (scan.blocks() as i128, scan.workers());
        let distance = |(w, previous): (usize, Previous)| {
            let (q, other) = (i128::from(previous.rounds), previous.worker);
            let mut intervals: Vec<(i128, i128)> = (0..m)
                .filter_map(|v| {
                    let count = q - 1 + i128::from(v > other) + i128::from(v < w);
                    let start = i128::from(scan.phases()[v]) - i128::from(scan.phases()[w]) - q + i128::from(v <= other);
                    let start = start.rem_euclid(n);
                    (count > 0).then_some((start, start + count))
                })
                .collect();
            intervals.sort_unstable();
            let (mut union, mut covered) = (0, 0);
            for (start, stop) in intervals {
                assert!(start > 0 && stop <= n, "an interval reached the own block");
                union += (stop - start.max(covered)).max(0);
                covered = covered.max(stop);
            }
            union as u64
        };
        scan.previous_requests().into_iter().enumerate().map(distance).collect()
    }

    #[test]
    fn merging_by_phase_equals_merging_by_worker() {
        // A fixed linear congruential sequence: every shape from all phases equal to all distinct.
        let mut state = 1u64;
        let mut next = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        for _ in 0..2000 {
            let blocks = 1 + next(40);
            let spread = 1 + next(blocks);
            let phases: Vec<u64> = (0..1 + next(12)).map(|_| next(spread)).collect();
            let scan = Scan::new(blocks, phases.clone()).unwrap();
            assert_eq!(ReuseProfile::new(&scan).distances(), by_interval_merge(&scan), "N = {blocks}, phases {phases:?}");
        }
    }

    #[test]
    fn aligned_workers_reuse_at_once_except_the_first() {
        let profile = ReuseProfile::new(&Scan::new(64, vec![5; 4]).unwrap());
        assert_eq!(profile.distances(), [63, 0, 0, 0]);
    }

    #[test]
    fn worker_order_decides_at_the_waterline() {
        let misses = |phases: Vec<u64>| ReuseProfile::new(&Scan::new(4096, phases).unwrap()).misses_per_round(1295);
        assert_eq!(misses((0..48).map(|w| 27 * w).collect()), 1);
        assert_eq!(misses((0..48).map(|w| 27 * (47 - w)).collect()), 48);
    }

    #[test]
    fn steps_agree_with_the_count_at_every_capacity() {
        for phases in [vec![0], vec![0, 1, 0], vec![0, 3, 4, 11], vec![7, 7, 2, 2, 19]] {
            let profile = ReuseProfile::new(&Scan::new(20, phases).unwrap());
            let steps = profile.capacity_steps();
            assert!(steps.windows(2).all(|s| s[0].capacity < s[1].capacity && s[0].misses_per_round > s[1].misses_per_round));
            for capacity in 1..25 {
                assert_eq!(at_capacity(&steps, capacity), profile.misses_per_round(capacity), "C = {capacity}");
            }
        }
    }
}
