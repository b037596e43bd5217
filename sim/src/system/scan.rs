//! Lockstep issue: one access at a time through the whole memory path, in a given order. For the equalities of PASCAL.
//!
//! Real timing reorders accesses and MSHRs merge them, so the closed forms of PASCAL hold exactly only when an access is done before the
//! next one starts. Worker `w` is SM `w`; a block of the ring is a line.

use super::measures::Measures;
use super::memory::{Load, Memory, Reply};
use super::parameters::SystemParameters;
use super::prefetch::{NoPrefetch, Prefetcher};
use super::run::SystemError;
use super::scheme::Sharing;
use l1forge_config::Config;

/// Line address of block 0.
const BASE: u64 = 0x80;
/// Cycles an access may take.
const PATIENCE: u64 = 100_000;

/// The memory path with a fully associative L2 of `capacity` lines, used by one SM at a time.
pub struct Serial {
    memory: Memory,
    now: u64,
    done: Vec<(usize, u32)>,
}

impl Serial {
    /// An empty path. Banks, ways and size of the L2 in the parameters are replaced.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn new(config: &Config, p: &SystemParameters, capacity: u64, sharing: Box<dyn Sharing>) -> Result<Self, SystemError> {
        let l2_bytes = capacity * u64::from(config.line_bytes);
        let p = SystemParameters { l2_bytes, l2_ways: 0, l2_banks: 1, ..p.clone() };
        let prefetchers = (0..config.sms).map(|_| Box::new(NoPrefetch) as Box<dyn Prefetcher>).collect();
        Ok(Self { memory: Memory::new(config, &p, sharing, prefetchers)?, now: 0, done: Vec::new() })
    }

    /// SM `sm` loads block `block`; everything it causes is over when this returns. Gives the lines DRAM brought.
    ///
    /// # Errors
    /// The access does not end.
    pub fn load(&mut self, sm: usize, block: u64) -> Result<u64, SystemError> {
        let before = self.memory.measures().dram_fills;
        let start = self.now;
        let load = Load { warp: 0, pc: 0, line: BASE + block, shareable: true, token: 0 };
        while self.memory.load(self.now, sm, load) == Reply::Stall {
            self.step();
            if self.now > start + PATIENCE {
                return Err(SystemError::Stuck(self.now));
            }
        }
        self.step();
        while !self.memory.is_idle() {
            self.step();
            if self.now > start + PATIENCE {
                return Err(SystemError::Stuck(self.now));
            }
        }
        self.done.clear();
        Ok(self.memory.measures().dram_fills - before)
    }

    fn step(&mut self) {
        self.memory.step(self.now, &mut self.done);
        self.now = self.memory.next(self.now).unwrap_or(self.now + 1);
    }

    /// Checks all balances and gives the counts.
    ///
    /// # Errors
    /// A broken balance.
    pub fn finish(mut self) -> Result<(Measures, Vec<(&'static str, u64)>), SystemError> {
        self.step(); // the counters of the last cycle
        let (measures, _) = self.memory.finish()?;
        Ok((measures, self.memory.sharing().counters()))
    }
}

/// DRAM fills of each round of a scan with fixed phases: in round k, SM 0 to M - 1 load block `(phases[w] + k) mod blocks` in turn.
///
/// # Errors
/// See [`SystemError`].
pub fn rounds(serial: &mut Serial, blocks: u64, phases: &[u64], rounds: u64) -> Result<Vec<u64>, SystemError> {
    let round = |k: u64| phases.iter().enumerate().map(|(sm, phase)| serial.load(sm, (phase + k) % blocks)).sum();
    (0..rounds).map(round).collect()
}
