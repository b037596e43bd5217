//! The place of a prefetcher: one per SM, beside its L1.

/// What a prefetcher sees of one line that a warp loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// Cycle.
    pub cycle: u64,
    /// Warp slot of the SM.
    pub warp: u32,
    /// Program counter of the load.
    pub pc: u64,
    /// Line address.
    pub line: u64,
    /// The L1 holds the line.
    pub hit: bool,
    /// Lines the SM has in flight.
    pub in_flight: usize,
}

/// A prefetcher of one SM.
///
/// It is asked after every line that a load of its SM looks up, once per line. Lines it wants are fetched like misses, through the sharing
/// scheme, when an MSHR is free; otherwise the request is dropped. The memory path does all the counting.
pub trait Prefetcher {
    /// A load looked up a line; push line addresses to fetch to `wanted`.
    fn observe(&mut self, load: &Observation, wanted: &mut Vec<u64>);

    /// A line that was prefetched arrived in the L1.
    fn arrived(&mut self, line: u64) {
        let _ = line;
    }

    /// A prefetched line left the L1 without having been used.
    fn wasted(&mut self, line: u64) {
        let _ = line;
    }

    /// A new kernel starts.
    fn flush(&mut self) {}
}

/// No prefetching.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPrefetch;

impl Prefetcher for NoPrefetch {
    fn observe(&mut self, _: &Observation, _: &mut Vec<u64>) {}
}

/// Fetches the next line after every miss: the simplest prefetcher there is, to test the accounting with.
#[derive(Debug, Clone, Copy, Default)]
pub struct NextLine;

impl Prefetcher for NextLine {
    fn observe(&mut self, load: &Observation, wanted: &mut Vec<u64>) {
        if !load.hit {
            wanted.push(load.line + 1);
        }
    }
}
