//! What is counted in a run, and what must balance. Definitions: docs/guide/traffic.md.

use super::histogram::Histogram;

/// What a scheme decided before it asked an L1, against what perfect knowledge said when it took the miss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Asked, and some other L1 held the line.
    pub tp: u64,
    /// Asked, and no other L1 held the line.
    pub fp: u64,
    /// Not asked, although some other L1 held the line.
    pub fn_: u64,
    /// Not asked, and no other L1 held the line.
    pub tn: u64,
    /// Misses that other L1s must not serve; not among the four above.
    pub unshareable: u64,
}

/// What became of the lines that a prefetcher asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrefetchCounts {
    /// Lines fetched.
    pub issued: u64,
    /// In the L1 or a register when they were first loaded.
    pub on_time: u64,
    /// Left the L1 or their register before they were loaded, which the prefetcher noticed.
    pub early: u64,
    /// On their way when they were first loaded.
    pub late: u64,
    /// Left, and not loaded as far as the prefetcher can tell.
    pub unused: u64,
    /// Made void by a store or the end of the kernel before they were loaded.
    pub invalidated: u64,
    /// Of `early` and `unused`, those that left the L1.
    pub evicted: u64,
}

impl std::ops::AddAssign for PrefetchCounts {
    fn add_assign(&mut self, other: Self) {
        self.issued += other.issued;
        self.on_time += other.on_time;
        self.early += other.early;
        self.late += other.late;
        self.unused += other.unused;
        self.invalidated += other.invalidated;
        self.evicted += other.evicted;
    }
}

/// Counts of one run. All are of line accesses, after coalescing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measures {
    /// Lines that loads looked up: `l1_hits + l1_misses`.
    pub accesses: u64,
    /// Loads served by their own SM, `l1_merged` and `register_hits` among them.
    pub l1_hits: u64,
    /// Of the hits, those read from a register that held a prefetched line.
    pub register_hits: u64,
    /// Of the hits, those whose line was on its way to the SM already (hit on miss).
    pub l1_merged: u64,
    /// Loads that sent a request of their own: `remote_hits + l2_loads`.
    pub l1_misses: u64,
    /// Lines written.
    pub stores: u64,
    /// Lines changed by atomics at the L2.
    pub atomics: u64,
    /// Load misses served by another L1.
    pub remote_hits: u64,
    /// Load misses served by the L2.
    pub l2_loads: u64,
    /// Prefetches served by the L2.
    pub l2_prefetches: u64,
    /// Prefetches served by another L1.
    pub remote_prefetches: u64,
    /// Atomics at the L2.
    pub l2_atomics: u64,
    /// Stores that reached the L2.
    pub l2_stores: u64,
    /// L2 reads that hit.
    pub l2_hits: u64,
    /// L2 reads of a line that DRAM was bringing already.
    pub l2_merged: u64,
    /// Lines that DRAM brought into the L2.
    pub dram_fills: u64,
    /// Dirty lines written back to DRAM.
    pub write_backs: u64,
    /// Shareable misses whose line some other L1 held when the scheme took the miss: what perfect knowledge would find.
    pub perfect_hits: u64,
    /// Shareable misses whose line no other L1 held, but was on its way to one.
    pub in_flight_elsewhere: u64,
    /// Candidate generation.
    pub candidates: Candidates,
    /// L1s asked for a line of another SM.
    pub probes: u64,
    /// L1s asked per miss that asked any and was served by one.
    pub probes_hit: Histogram,
    /// L1s asked per miss that asked any and was not served by one.
    pub probes_miss: Histogram,
    /// L1s asked after the miss had ended (given up by timeout).
    pub probes_stray: u64,
    /// Prefetching.
    pub prefetch: PrefetchCounts,
    /// Cycles from miss to line, summed over `latencies` misses (loads and atomics).
    pub latency_sum: u64,
    /// Misses in `latency_sum`.
    pub latencies: u64,
    /// Cycles in which an SM could not look a line up: no MSHR, no room for a store, or the scheme held it up.
    pub stalls: u64,
}

/// Two sides of a balance that differ.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("broken balance: {name}: {left} on the left, {right} on the right")]
pub struct BrokenBalance {
    /// The balance.
    pub name: &'static str,
    /// Its left side.
    pub left: u64,
    /// Its right side.
    pub right: u64,
}

impl Measures {
    /// Reads at the L2: load misses, prefetches and atomics. Stores are counted apart.
    pub fn l2_accesses(&self) -> u64 {
        self.l2_loads + self.l2_prefetches + self.l2_atomics
    }

    /// The balances that must hold when nothing is in flight.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check(&self) -> Result<(), BrokenBalance> {
        let c = &self.candidates;
        let p = &self.prefetch;
        let requests = self.l1_misses + self.atomics + p.issued;
        let balances = [
            ("accesses = l1_hits + l1_misses", self.accesses, self.l1_hits + self.l1_misses),
            ("l1_misses = remote_hits + l2_loads", self.l1_misses, self.remote_hits + self.l2_loads),
            ("prefetches issued = remote_prefetches + l2_prefetches", p.issued, self.remote_prefetches + self.l2_prefetches),
            ("atomics = l2_atomics", self.atomics, self.l2_atomics),
            ("stores = l2_stores", self.stores, self.l2_stores),
            ("l2_accesses = l2_hits + l2_merged + dram_fills", self.l2_accesses(), self.l2_hits + self.l2_merged + self.dram_fills),
            ("misses = tp + fp + fn + tn + unshareable", requests, c.tp + c.fp + c.fn_ + c.tn + c.unshareable),
            ("perfect_hits = tp + fn", self.perfect_hits, c.tp + c.fn_),
            (
                "probes = probes of hits + of misses + stray",
                self.probes,
                self.probes_hit.sum() + self.probes_miss.sum() + self.probes_stray,
            ),
            (
                "prefetches issued = on_time + early + late + unused + invalidated",
                p.issued,
                p.on_time + p.early + p.late + p.unused + p.invalidated,
            ),
            ("misses = lines that came", self.l1_misses + self.atomics, self.latencies),
        ];
        for (name, left, right) in balances {
            if left != right {
                return Err(BrokenBalance { name, left, right });
            }
        }
        if self.remote_hits + self.remote_prefetches > c.tp + c.fp {
            let (left, right) = (self.remote_hits + self.remote_prefetches, c.tp + c.fp);
            return Err(BrokenBalance { name: "remote hits <= tp + fp", left, right });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_balance_names_itself_and_both_sides() {
        let m = Measures { accesses: 3, l1_hits: 1, l1_misses: 1, ..Measures::default() };
        let message = m.check().unwrap_err().to_string();
        assert_eq!(message, "broken balance: accesses = l1_hits + l1_misses: 3 on the left, 2 on the right");
        assert_eq!(Measures::default().check(), Ok(()));
        let m = Measures { accesses: 2, l1_misses: 2, l2_loads: 2, l2_hits: 1, dram_fills: 1, latencies: 2, ..Measures::default() };
        assert!(m.check().unwrap_err().to_string().contains("tp + fp + fn + tn"));
    }
}
