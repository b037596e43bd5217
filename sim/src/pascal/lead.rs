//! How far a leader may run ahead before sharing is lost (PASCAL section 3.5, Theorem 5; specification section 4).

use std::collections::VecDeque;

use super::error::InputError;

/// The blocks of LRU capacity that keep all sharing while no worker leads another by more than `lead` requests: `2 lead - 1`, plus the
/// distinct blocks of other traffic in every reuse interval. At least 1.
///
/// It holds for every interleaving of workers that start together, as long as the capacity stays below the ring size.
///
/// ```
/// use l1forge_sim::pascal::{capacity_for_lead, lead_for_capacity};
/// assert_eq!(capacity_for_lead(512, 0), 1023);
/// assert_eq!(lead_for_capacity(1280, 0), 640);
/// ```
pub fn capacity_for_lead(lead: u64, other_blocks: u64) -> u64 {
    let own = u128::from(lead) * 2;
    let needed = own.saturating_sub(1).max(1) + u128::from(other_blocks);
    u64::try_from(needed).unwrap_or(u64::MAX)
}

/// The largest lead whose sharing a capacity certainly keeps, in requests. 0 means that not even aligned workers are certain to share.
pub fn lead_for_capacity(capacity: u64, other_blocks: u64) -> u64 {
    let left = capacity.saturating_sub(other_blocks);
    left / 2 + left % 2
}

/// Follows an interleaving and knows its lead at every instant. Cost: amortised O(1) per request.
#[derive(Debug, Clone)]
pub struct LeadTracker {
    progress: Vec<u64>,
    /// How many workers stand at `slowest`, `slowest + 1`, ... requests.
    at: VecDeque<usize>,
    slowest: u64,
    lead: u64,
}

impl LeadTracker {
    /// `workers` workers at the same position, none of which has requested anything.
    ///
    /// # Errors
    /// `workers` is 0.
    pub fn new(workers: usize) -> Result<Self, InputError> {
        if workers == 0 {
            return Err(InputError::new("workers", "0 workers, at least one is needed"));
        }
        Ok(Self { progress: vec![0; workers], at: VecDeque::from([workers]), slowest: 0, lead: 0 })
    }

    /// Worker `worker` issues its next request; returns the stream position it requests, counted from 0.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn request(&mut self, worker: usize) -> u64 {
        let position = self.progress[worker];
        self.progress[worker] += 1;
        let offset = (position - self.slowest) as usize;
        self.at[offset] -= 1;
        if offset + 1 == self.at.len() {
            self.at.push_back(0);
        }
        self.at[offset + 1] += 1;
        while self.at[0] == 0 {
            self.at.pop_front();
            self.slowest += 1;
        }
        self.lead = self.lead.max(self.at.len() as u64 - 1);
        position
    }

    /// The largest difference in requests between two workers at any instant so far.
    pub fn lead(&self) -> u64 {
        self.lead
    }

    /// The difference between the fastest and the slowest worker now.
    pub fn spread(&self) -> u64 {
        self.at.len() as u64 - 1
    }

    /// The requests issued by each worker, not reduced modulo the ring.
    pub fn progress(&self) -> &[u64] {
        &self.progress
    }
}

/// The lead of a whole interleaving, given as one worker index per request.
///
/// # Errors
/// No workers, or an index that is not below `workers`.
pub fn lead_of(workers: usize, order: &[usize]) -> Result<u64, InputError> {
    let mut tracker = LeadTracker::new(workers)?;
    for (i, &worker) in order.iter().enumerate() {
        if worker >= workers {
            let message = format!("{worker} is not a worker, legal values are 0 to {}", workers - 1);
            return Err(InputError::new(format!("order[{i}]"), message));
        }
        tracker.request(worker);
    }
    Ok(tracker.lead())
}

/// A two-worker interleaving with this lead whose last request misses at capacity `2 lead - 2`: the threshold is sharp.
///
/// Both workers walk together to the same position, then the leader runs `lead` ahead, the follower all but catches up, the leader runs
/// to `lead` ahead again, and the follower requests a block that `2 lead - 2` others have been requested after.
///
/// # Errors
/// `lead` is below 2: at lead 1 the capacity would be 0.
pub fn sharpness_witness(lead: usize) -> Result<Vec<usize>, InputError> {
    if lead < 2 {
        return Err(InputError::new("lead", format!("{lead} has no witness, legal values are 2 and more")));
    }
    let mut order = vec![0; lead];
    order.extend(std::iter::repeat_n(1, lead - 1));
    order.extend(std::iter::repeat_n(0, lead - 1));
    order.push(1);
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_and_lead_are_inverse() {
        for lead in 1..2000 {
            assert_eq!(lead_for_capacity(capacity_for_lead(lead, 0), 0), lead);
            assert_eq!(lead_for_capacity(capacity_for_lead(lead, 0) - 1, 0), lead - 1);
            assert_eq!(lead_for_capacity(capacity_for_lead(lead, 9), 9), lead);
        }
        assert_eq!((capacity_for_lead(0, 0), capacity_for_lead(1, 0), capacity_for_lead(640, 0)), (1, 1, 1279));
        assert_eq!(lead_for_capacity(5, 9), 0);
        assert_eq!(capacity_for_lead(u64::MAX, 3), u64::MAX);
        assert_eq!(lead_for_capacity(u64::MAX, 0), 1 << 63);
    }

    #[test]
    fn the_tracker_equals_the_definition() {
        let mut state = 9u64;
        let mut order = Vec::new();
        for _ in 0..5000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            order.push(((state >> 40) % 4) as usize);
        }
        let mut tracker = LeadTracker::new(4).unwrap();
        let (mut counts, mut lead) = ([0u64; 4], 0);
        for &worker in &order {
            assert_eq!(tracker.request(worker), counts[worker]);
            counts[worker] += 1;
            let spread = counts.iter().max().unwrap() - counts.iter().min().unwrap();
            lead = lead.max(spread);
            assert_eq!((tracker.spread(), tracker.lead()), (spread, lead));
        }
        assert_eq!(tracker.progress(), counts);
        assert_eq!(lead_of(4, &order), Ok(lead));
    }

    #[test]
    fn the_witness_has_the_lead_it_claims() {
        for lead in 2..30 {
            assert_eq!(lead_of(2, &sharpness_witness(lead).unwrap()), Ok(lead as u64));
        }
        assert!(sharpness_witness(1).is_err());
    }

    #[test]
    fn bad_orders_are_refused() {
        assert_eq!(lead_of(0, &[]).unwrap_err().field(), "workers");
        assert_eq!(lead_of(2, &[0, 1, 2]).unwrap_err().field(), "order[2]");
        assert_eq!(lead_of(3, &[]), Ok(0));
    }
}
