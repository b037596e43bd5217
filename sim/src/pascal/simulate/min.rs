//! Belady's MIN: evict the resident block whose next use is furthest away.

use std::collections::{BinaryHeap, HashMap};

use super::{Schedule, simulated_blocks, simulated_capacity};
use crate::pascal::error::InputError;
use crate::pascal::fraction::Fraction;
use crate::pascal::mix::mix;
use crate::pascal::policy_bound::Allocation;
use crate::pascal::scan::Scan;

/// The next use of a block that is not resident.
const ABSENT: u64 = 0;

/// A fully associative cache that knows the future, told by its caller. Cost: amortised O(log C) per access.
#[derive(Debug, Clone)]
pub struct Min {
    /// Per block, the time of its next use while it is resident.
    next_use: Vec<u64>,
    /// Residents by next use. An entry is stale once its block was requested again; it is then in the past, so the top is never stale.
    furthest: BinaryHeap<(u64, u32)>,
    resident: u32,
    capacity: u32,
    allocation: Allocation,
}

impl Min {
    /// An empty cache of `capacity` blocks over a ring of `blocks` blocks.
    ///
    /// # Errors
    /// The ring is too large to simulate, or the capacity is 0.
    pub fn new(blocks: u64, capacity: u64, allocation: Allocation) -> Result<Self, InputError> {
        let blocks = simulated_blocks(blocks)?;
        let capacity = simulated_capacity(capacity, blocks)?;
        Ok(Self { next_use: vec![ABSENT; blocks as usize], furthest: BinaryHeap::new(), resident: 0, capacity, allocation })
    }

    /// Requests `block`, whose next use after this one is at time `next`; true if it was resident.
    ///
    /// Times are any increasing positive numbers; `u64::MAX` means never again. With [`Allocation::Bypass`] a missed block is not
    /// installed in a full cache when its own next use is later than that of every resident.
    ///
    /// # Panics
    /// If `block` is outside the ring or `next` is 0.
    pub fn access(&mut self, block: u32, next: u64) -> bool {
        assert!(next != ABSENT, "times start at 1");
        let hit = self.next_use[block as usize] != ABSENT;
        if !hit {
            if self.resident < self.capacity {
                self.resident += 1;
            } else {
                let &(last, victim) = self.furthest.peek().expect("a full cache has residents");
                if self.allocation == Allocation::Bypass && next >= last {
                    return false;
                }
                self.furthest.pop();
                self.next_use[victim as usize] = ABSENT;
            }
        }
        self.next_use[block as usize] = next;
        self.furthest.push((next, block));
        if self.furthest.len() > 2 * self.capacity as usize + 64 {
            let next_use = &self.next_use;
            self.furthest.retain(|&(next, block)| next_use[block as usize] == next);
        }
        hit
    }

    /// The resident blocks, ascending.
    pub fn residents(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.next_use.len() as u32).filter(|&block| self.next_use[block as usize] != ABSENT)
    }
}

/// The misses of MIN on a finite trace that ends for good.
///
/// # Errors
/// A bad ring or capacity, or a block outside the ring.
pub fn min_of_trace(trace: &[u32], blocks: u64, capacity: u64, allocation: Allocation) -> Result<u64, InputError> {
    let mut cache = Min::new(blocks, capacity, allocation)?;
    let mut upcoming = vec![u64::MAX; blocks as usize];
    let mut next = vec![u64::MAX; trace.len()];
    for (i, &block) in trace.iter().enumerate().rev() {
        let Some(upcoming) = upcoming.get_mut(block as usize) else {
            let message = format!("{block} is outside the ring, legal values are 0 to {}", blocks - 1);
            return Err(InputError::new(format!("trace[{i}]"), message));
        };
        next[i] = std::mem::replace(upcoming, i as u64 + 1);
    }
    Ok(trace.iter().zip(next).map(|(&block, next)| u64::from(!cache.access(block, next))).sum())
}

/// MIN on the endless schedule of a scan: the misses of each of the first `rounds` rounds, from an empty cache.
///
/// # Errors
/// The ring is too large to simulate, or the capacity is 0.
pub fn min_cold(scan: &Scan, capacity: u64, allocation: Allocation, rounds: u64) -> Result<Vec<u64>, InputError> {
    let mut run = ScanRun::new(scan, capacity, allocation)?;
    Ok((0..rounds).map(|_| run.round()).collect())
}

/// The steady state of MIN on a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SteadyMin {
    /// Misses per round, exactly.
    pub misses_per_round: Fraction,
    /// Rounds before the state repeats for ever.
    pub transient_rounds: u64,
    /// Rounds after which the state, rotated along with the workers, is the same again.
    pub period_rounds: u64,
}

/// The steady state of MIN on a scan, if its state repeats within `limit` rounds.
///
/// Relative to the workers the schedule is the same in every round, so the resident set evolves by a fixed map and ends in a cycle. The
/// cycle is found by a 128-bit hash of the state and then proven by running it once more and comparing the states themselves.
///
/// # Errors
/// The ring is too large to simulate, or the capacity is 0.
pub fn min_steady(scan: &Scan, capacity: u64, allocation: Allocation, limit: u64) -> Result<Option<SteadyMin>, InputError> {
    let mut run = ScanRun::new(scan, capacity, allocation)?;
    let mut seen = HashMap::from([(hash(&run.state()), 0)]);
    for round in 1..=limit {
        run.round();
        let state = run.state();
        if let Some(first) = seen.insert(hash(&state), round) {
            let period = round - first;
            let misses: u64 = (0..period).map(|_| run.round()).sum();
            if run.state() != state {
                return Ok(None);
            }
            let misses_per_round = Fraction::new(i128::from(misses), i128::from(period));
            return Ok(Some(SteadyMin { misses_per_round, transient_rounds: first, period_rounds: period }));
        }
    }
    Ok(None)
}

/// MIN running along the schedule of a scan.
struct ScanRun {
    cache: Min,
    schedule: Schedule,
    /// For each worker, the request slots until its block is requested again, by anyone.
    delays: Vec<u64>,
    time: u64,
    rounds: u64,
}

impl ScanRun {
    fn new(scan: &Scan, capacity: u64, allocation: Allocation) -> Result<Self, InputError> {
        let cache = Min::new(scan.blocks(), capacity, allocation)?;
        let schedule = Schedule::new(scan)?;
        let delays = observed_delays(schedule.clone());
        Ok(Self { cache, schedule, delays, time: 1, rounds: 0 })
    }

    fn round(&mut self) -> u64 {
        let mut misses = 0;
        for (&block, delay) in self.schedule.round().iter().zip(&self.delays) {
            misses += u64::from(!self.cache.access(block, self.time + delay));
            self.time += 1;
        }
        self.schedule.advance();
        self.rounds += 1;
        misses
    }

    /// The resident blocks relative to the workers, ascending.
    fn state(&self) -> Vec<u32> {
        let blocks = self.schedule.blocks();
        let turn = (self.rounds % u64::from(blocks)) as u32;
        let mut state: Vec<u32> = self.cache.residents().map(|b| if b >= turn { b - turn } else { b + (blocks - turn) }).collect();
        state.sort_unstable();
        state
    }
}

/// For each worker, how many request slots pass until its block is requested again: watched on the schedule, not computed from phases.
fn observed_delays(mut schedule: Schedule) -> Vec<u64> {
    let workers = schedule.round().len();
    let mut delays = vec![0; workers];
    let mut missing = workers;
    let mut last: Vec<Option<(u64, usize)>> = vec![None; schedule.blocks() as usize];
    let mut time = 0;
    while missing > 0 {
        for (worker, &block) in schedule.round().iter().enumerate() {
            if let Some((then, requester)) = last[block as usize].replace((time, worker))
                && delays[requester] == 0
            {
                delays[requester] = time - then;
                missing -= 1;
            }
            time += 1;
        }
        schedule.advance();
    }
    delays
}

/// A hash of 128 bits: two chains that start apart.
fn hash(state: &[u32]) -> (u64, u64) {
    let chain = |seed: u64| state.iter().fold(seed, |hash, &block| mix(hash.rotate_left(5) ^ u64::from(block)));
    (chain(1), chain(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MIN by searching the rest of the trace for every resident at every miss.
    fn by_search(trace: &[u32], capacity: usize, allocation: Allocation) -> u64 {
        let mut cache: Vec<u32> = Vec::new();
        let mut misses = 0;
        for (i, &block) in trace.iter().enumerate() {
            if cache.contains(&block) {
                continue;
            }
            misses += 1;
            let next = |b: u32| trace[i + 1..].iter().position(|&other| other == b).unwrap_or(usize::MAX);
            if cache.len() < capacity {
                cache.push(block);
                continue;
            }
            let furthest = (0..cache.len()).max_by_key(|&j| next(cache[j])).unwrap();
            if allocation == Allocation::Forced || next(block) < next(cache[furthest]) {
                cache[furthest] = block;
            }
        }
        misses
    }

    #[test]
    fn equals_a_search_of_the_future() {
        let mut state = 5u64;
        for capacity in 1..8 {
            for allocation in [Allocation::Forced, Allocation::Bypass] {
                let trace: Vec<u32> = std::iter::repeat_with(|| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    ((state >> 40) % 9) as u32
                })
                .take(600)
                .collect();
                let found = min_of_trace(&trace, 9, capacity, allocation).unwrap();
                assert_eq!(found, by_search(&trace, capacity as usize, allocation), "C = {capacity}, {allocation:?}");
            }
        }
    }

    #[test]
    fn a_scan_equals_its_trace_with_a_ring_of_look_ahead() {
        let scan = Scan::new(12, vec![0, 5, 5, 3]).unwrap();
        for allocation in [Allocation::Forced, Allocation::Bypass] {
            for capacity in 1..14 {
                let cold: u64 = min_cold(&scan, capacity, allocation, 40).unwrap().iter().sum();
                let trace = Schedule::new(&scan).unwrap().trace(52);
                let mut cache = Min::new(12, capacity, allocation).unwrap();
                let next = |i: usize| trace[i + 1..].iter().position(|&b| b == trace[i]).map(|d| (i + d + 2) as u64);
                let misses = (0..160).filter(|&i| !cache.access(trace[i], next(i).unwrap())).count() as u64;
                assert_eq!(cold, misses, "C = {capacity}, {allocation:?}");
            }
        }
    }

    #[test]
    fn the_papers_example_in_the_steady_state() {
        let scan = Scan::new(8, vec![0, 4]).unwrap();
        let forced = min_steady(&scan, 2, Allocation::Forced, 100).unwrap().unwrap();
        assert_eq!((forced.misses_per_round, forced.transient_rounds, forced.period_rounds), (Fraction::new(5, 3), 2, 3));
        let bypass = min_steady(&scan, 2, Allocation::Bypass, 100).unwrap().unwrap();
        assert_eq!((bypass.misses_per_round, bypass.transient_rounds, bypass.period_rounds), (Fraction::new(3, 2), 1, 4));
        assert_eq!(min_steady(&scan, 2, Allocation::Forced, 1), Ok(None));
    }

    #[test]
    fn bad_input_is_refused() {
        assert_eq!(Min::new(0, 1, Allocation::Forced).unwrap_err().field(), "blocks");
        assert_eq!(Min::new(4, 0, Allocation::Forced).unwrap_err().field(), "capacity");
        assert_eq!(min_of_trace(&[0, 4], 4, 1, Allocation::Forced).unwrap_err().field(), "trace[1]");
    }
}
