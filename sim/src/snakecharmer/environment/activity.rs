//! What happened in a run.

/// What happened, in sectors where nothing else is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Activity {
    /// Loads.
    pub loads: u64,
    /// Sectors that loads asked for.
    pub demanded: u64,
    /// Of these, read from idle registers.
    pub register_hits: u64,
    /// Found in the L1.
    pub l1_hits: u64,
    /// Found on their way.
    pub merged: u64,
    /// Asked of the L2.
    pub missed: u64,
    /// Prefetched.
    pub prefetched: u64,
    /// Uses of prefetched sectors, on time, by kind of the prefetch.
    pub on_time: [u64; 3],
    /// Uses of prefetched sectors on their way, by kind.
    pub late: [u64; 3],
    /// Demands for prefetched sectors that had left again, by kind.
    pub early: [u64; 3],
    /// Prefetches, as opposed to sectors; of these, not into the table.
    pub prefetches: (u64, u64),
    /// Candidates whose sectors are not all zero, of these suppressed.
    pub useful: (u64, u64),
    /// Candidates whose sectors are all zero, of these passed on to the SGU.
    pub zero: (u64, u64),
    /// Cycle in which the last warp finished.
    pub finished_at: u64,
    /// Cycles that loads waited for data, in all.
    pub wait: u64,
}

impl Activity {
    /// Sectors that the L2 was asked for.
    pub fn l2_sectors(&self) -> u64 {
        self.missed + self.prefetched
    }
}
