//! The shared cyclic scan: a ring of blocks and the phases of the workers on it (PASCAL specification section 0).

use super::error::InputError;

/// The largest ring, in blocks: a round of every block by every worker still fits 64 bits.
pub const MAX_BLOCKS: u64 = 1 << 40;
/// The largest number of workers.
pub const MAX_WORKERS: usize = 1 << 20;
/// The largest number of rounds a total may be asked for.
pub const MAX_ROUNDS: u64 = 1 << 40;

/// M workers that scan one ring of N blocks at the same pace, worker `w` requesting block `(phases[w] + k) mod N` in round `k`.
///
/// Inside a round the workers request in the order 0 to M - 1. Several workers may share a phase.
///
/// ```
/// use l1forge_sim::pascal::Scan;
/// let scan = Scan::new(8, vec![4, 0, 4])?;
/// assert_eq!((scan.blocks(), scan.workers(), scan.distinct()), (8, 3, 2));
/// assert_eq!(scan.distinct_phases().collect::<Vec<_>>(), [0, 4]);
/// # Ok::<(), l1forge_sim::pascal::InputError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    blocks: u64,
    phases: Vec<u64>,
    /// Workers sorted by phase, then by index.
    by_phase: Vec<u32>,
    /// Start of each distinct phase in `by_phase`, and one end marker.
    starts: Vec<u32>,
}

/// Where the block that a worker requests was requested last (PASCAL specification section 2, step 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Previous {
    /// The worker that requested the block last.
    pub worker: usize,
    /// How many rounds earlier, 0 to N.
    pub rounds: u64,
}

impl Scan {
    /// Checks a ring of `blocks` blocks and one phase per worker.
    ///
    /// # Errors
    /// `blocks` is 0 or above [`MAX_BLOCKS`], there are no phases or more than [`MAX_WORKERS`], or a phase is not below `blocks`.
    pub fn new(blocks: u64, phases: Vec<u64>) -> Result<Self, InputError> {
        check_blocks(blocks)?;
        if phases.is_empty() {
            return Err(InputError::new("phases", "no phases, at least one worker is needed"));
        }
        if phases.len() > MAX_WORKERS {
            return Err(InputError::new("phases", format!("{} workers, the limit is {MAX_WORKERS}", phases.len())));
        }
        if let Some((w, phase)) = phases.iter().enumerate().find(|(_, phase)| **phase >= blocks) {
            let message = format!("{phase} is outside the ring, legal values are 0 to {}", blocks - 1);
            return Err(InputError::new(format!("phases[{w}]"), message));
        }
        let mut by_phase: Vec<u32> = (0..phases.len() as u32).collect();
        by_phase.sort_unstable_by_key(|&w| (phases[w as usize], w));
        let mut starts = Vec::with_capacity(phases.len() + 1);
        for (i, &w) in by_phase.iter().enumerate() {
            if i == 0 || phases[by_phase[i - 1] as usize] != phases[w as usize] {
                starts.push(i as u32);
            }
        }
        starts.push(by_phase.len() as u32);
        Ok(Self { blocks, phases, by_phase, starts })
    }

    /// The blocks N of the ring.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The workers M.
    pub fn workers(&self) -> usize {
        self.phases.len()
    }

    /// The number D of distinct phases.
    pub fn distinct(&self) -> usize {
        self.starts.len() - 1
    }

    /// The phase of each worker, in blocks.
    pub fn phases(&self) -> &[u64] {
        &self.phases
    }

    /// The distinct phases, ascending.
    pub fn distinct_phases(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        (0..self.distinct()).map(|i| self.phase_of_group(i))
    }

    pub(crate) fn phase_of_group(&self, group: usize) -> u64 {
        self.phases[self.by_phase[self.starts[group] as usize] as usize]
    }

    /// The workers that share the `group`-th distinct phase, ascending.
    pub(crate) fn group(&self, group: usize) -> &[u32] {
        &self.by_phase[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    /// The gap from the `group`-th distinct phase to the next one ahead; N when there is one phase.
    pub(crate) fn gap(&self, group: usize) -> u64 {
        let next = self.phase_of_group((group + 1) % self.distinct());
        let here = self.phase_of_group(group);
        if next > here { next - here } else { next + self.blocks - here }
    }

    /// For each worker, who requested its block last and how many rounds ago.
    ///
    /// It is the preceding worker of the same phase, else the last worker of the next phase ahead, `gap` rounds ago. Cost: O(M).
    pub fn previous_requests(&self) -> Vec<Previous> {
        let mut previous = vec![Previous { worker: 0, rounds: 0 }; self.workers()];
        for group in 0..self.distinct() {
            let members = self.group(group);
            let ahead = self.group((group + 1) % self.distinct());
            let last_ahead = ahead[ahead.len() - 1] as usize;
            previous[members[0] as usize] = Previous { worker: last_ahead, rounds: self.gap(group) };
            for pair in members.windows(2) {
                previous[pair[1] as usize] = Previous { worker: pair[0] as usize, rounds: 0 };
            }
        }
        previous
    }
}

/// A ring size must be 1 to [`MAX_BLOCKS`].
pub(crate) fn check_blocks(blocks: u64) -> Result<(), InputError> {
    if blocks == 0 || blocks > MAX_BLOCKS {
        return Err(InputError::new("blocks", format!("{blocks} is not a ring size, legal values are 1 to {MAX_BLOCKS}")));
    }
    Ok(())
}

/// A capacity in blocks must be 1 to [`MAX_BLOCKS`]; values of N and more are legal.
///
/// # Errors
/// The value is outside that range.
pub fn check_capacity(capacity: u64) -> Result<u64, InputError> {
    if capacity == 0 || capacity > MAX_BLOCKS {
        let message = format!("{capacity} is not a capacity in blocks, legal values are 1 to {MAX_BLOCKS}");
        return Err(InputError::new("capacity", message));
    }
    Ok(capacity)
}

/// A number of rounds must be at most [`MAX_ROUNDS`].
///
/// # Errors
/// The value is larger.
pub fn check_rounds(rounds: u64) -> Result<u64, InputError> {
    if rounds > MAX_ROUNDS {
        return Err(InputError::new("rounds", format!("{rounds} is too large, the limit is {MAX_ROUNDS}")));
    }
    Ok(rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn previous_request_by_definition() {
        // Minimum elapsed time over all workers, a zero lag counting as N when the other worker is not earlier in the round.
        let scan = Scan::new(9, vec![4, 0, 4, 7, 0, 4]).unwrap();
        let m = scan.workers() as u64;
        for (w, found) in scan.previous_requests().into_iter().enumerate() {
            let elapsed = |v: usize| {
                let lag = (scan.phases()[v] + 9 - scan.phases()[w]) % 9;
                let lag = if lag == 0 && v >= w { 9 } else { lag };
                (lag * m + w as u64 - v as u64, v, lag)
            };
            let (_, worker, rounds) = (0..scan.workers()).map(elapsed).min().unwrap();
            assert_eq!(found, Previous { worker, rounds }, "worker {w}");
        }
    }

    #[test]
    fn a_lone_worker_follows_itself_one_ring_later() {
        let scan = Scan::new(5, vec![3]).unwrap();
        assert_eq!(scan.previous_requests(), [Previous { worker: 0, rounds: 5 }]);
        assert_eq!(scan.gap(0), 5);
    }

    #[test]
    fn bad_rings_are_refused() {
        assert_eq!(Scan::new(0, vec![0]).unwrap_err().field(), "blocks");
        assert_eq!(Scan::new(MAX_BLOCKS + 1, vec![0]).unwrap_err().field(), "blocks");
        assert_eq!(Scan::new(4, vec![]).unwrap_err().field(), "phases");
        assert_eq!(Scan::new(4, vec![0, 3, 4]).unwrap_err().field(), "phases[2]");
        assert_eq!(Scan::new(MAX_BLOCKS, vec![0; MAX_WORKERS + 1]).unwrap_err().field(), "phases");
        assert!(check_capacity(0).is_err() && check_capacity(MAX_BLOCKS + 1).is_err() && check_capacity(1).is_ok());
        assert!(check_rounds(MAX_ROUNDS + 1).is_err() && check_rounds(0).is_ok());
    }
}
