//! Reuse distances when every worker advances at its own pace (PASCAL section 4.1; specification section 2, "variable progress").

use std::collections::HashMap;

use super::error::InputError;
use super::scan::Scan;

/// Follows an arbitrary interleaving of a scan and gives the exact reuse distance of every request.
///
/// The distance is the size of the union of the cyclic intervals that the workers requested in between; it needs the progress counters
/// at the previous request to the block, not the trace. Cost: O(M log M) per request, one counter per worker and block of memory.
///
/// ```
/// use l1forge_sim::pascal::{ProgressHistory, Scan};
/// let mut history = ProgressHistory::new(&Scan::new(4, vec![0, 0])?);
/// assert_eq!(history.request(0), (0, None));
/// assert_eq!(history.request(0), (1, None));
/// assert_eq!(history.request(1), (0, Some(1)));
/// # Ok::<(), l1forge_sim::pascal::InputError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ProgressHistory {
    blocks: u64,
    phases: Vec<u64>,
    progress: Vec<u64>,
    /// For each block that was requested: the counters just after its last request.
    last: HashMap<u64, Box<[u64]>>,
    intervals: Vec<(u64, u64)>,
}

impl ProgressHistory {
    /// Workers at their phases, none of which has requested anything.
    pub fn new(scan: &Scan) -> Self {
        Self {
            blocks: scan.blocks(),
            phases: scan.phases().to_vec(),
            progress: vec![0; scan.workers()],
            last: HashMap::new(),
            intervals: Vec::new(),
        }
    }

    /// Worker `worker` issues its next request; returns the block and its reuse distance, `None` on the first request to the block.
    ///
    /// # Panics
    /// If there is no such worker; see [`try_request`](Self::try_request) for input from outside.
    pub fn request(&mut self, worker: usize) -> (u64, Option<u64>) {
        let block = address(self.phases[worker], self.progress[worker], self.blocks);
        let distance = self.last.get(&block).map(|then| {
            self.intervals.clear();
            for ((&phase, &before), &now) in self.phases.iter().zip(then.iter()).zip(&self.progress) {
                if now > before {
                    // Measured from the own block, which nobody requested since, so no interval wraps.
                    let start = (address(phase, before, self.blocks) + self.blocks - block) % self.blocks;
                    self.intervals.push((start, start + (now - before)));
                }
            }
            union(&mut self.intervals)
        });
        self.progress[worker] += 1;
        match self.last.get_mut(&block) {
            Some(then) => then.copy_from_slice(&self.progress),
            None => {
                self.last.insert(block, self.progress.clone().into_boxed_slice());
            }
        }
        (block, distance)
    }

    /// [`request`](Self::request), with an error instead of a panic.
    ///
    /// # Errors
    /// There is no such worker.
    pub fn try_request(&mut self, worker: usize) -> Result<(u64, Option<u64>), InputError> {
        if worker >= self.phases.len() {
            let message = format!("{worker} is not a worker, legal values are 0 to {}", self.phases.len() - 1);
            return Err(InputError::new("worker", message));
        }
        Ok(self.request(worker))
    }

    /// The requests issued by each worker.
    pub fn progress(&self) -> &[u64] {
        &self.progress
    }
}

/// The block that a worker at `phase` requests after `requests` requests.
fn address(phase: u64, requests: u64, blocks: u64) -> u64 {
    ((u128::from(phase) + u128::from(requests)) % u128::from(blocks)) as u64
}

/// The size of the union of half-open intervals.
fn union(intervals: &mut [(u64, u64)]) -> u64 {
    intervals.sort_unstable();
    let (mut union, mut covered) = (0, 0);
    for &(start, stop) in intervals.iter() {
        union += stop.saturating_sub(start.max(covered));
        covered = covered.max(stop);
    }
    union
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_robin_equals_the_static_profile() {
        let scan = Scan::new(11, vec![3, 0, 3, 7]).unwrap();
        let profile = super::super::ReuseProfile::new(&scan);
        let mut history = ProgressHistory::new(&scan);
        for round in 0..40 {
            for worker in 0..4 {
                let (block, distance) = history.request(worker);
                assert_eq!(block, (scan.phases()[worker] + round) % 11);
                if round >= 11 {
                    assert_eq!(distance, Some(profile.distances()[worker]));
                }
            }
        }
    }

    #[test]
    fn an_unknown_worker_is_refused() {
        let mut history = ProgressHistory::new(&Scan::new(4, vec![0]).unwrap());
        assert_eq!(history.try_request(1).unwrap_err().field(), "worker");
        assert_eq!(history.try_request(0), Ok((0, None)));
    }
}
