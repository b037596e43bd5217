//! The request schedule of a scan, round by round.

use super::simulated_blocks;
use crate::pascal::error::InputError;
use crate::pascal::scan::Scan;

/// The blocks requested in the present round, worker by worker.
///
/// ```
/// use l1forge_sim::pascal::{Scan, simulate::Schedule};
/// let mut schedule = Schedule::new(&Scan::new(4, vec![3, 1])?)?;
/// assert_eq!(schedule.round(), [3, 1]);
/// schedule.advance();
/// assert_eq!(schedule.round(), [0, 2]);
/// # Ok::<(), l1forge_sim::pascal::InputError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Schedule {
    blocks: u32,
    round: Vec<u32>,
}

impl Schedule {
    /// The schedule of a scan, at round 0.
    ///
    /// # Errors
    /// The ring is too large to simulate.
    pub fn new(scan: &Scan) -> Result<Self, InputError> {
        let blocks = simulated_blocks(scan.blocks())?;
        Ok(Self { blocks, round: scan.phases().iter().map(|&phase| phase as u32).collect() })
    }

    /// The ring size in blocks.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The block each worker requests in this round, in the order of the requests.
    pub fn round(&self) -> &[u32] {
        &self.round
    }

    /// Goes to the next round.
    pub fn advance(&mut self) {
        for block in &mut self.round {
            *block += 1;
            if *block == self.blocks {
                *block = 0;
            }
        }
    }

    /// The requests of the first `rounds` rounds as one trace.
    pub fn trace(mut self, rounds: u64) -> Vec<u32> {
        let mut trace = Vec::with_capacity(rounds as usize * self.round.len());
        for _ in 0..rounds {
            trace.extend_from_slice(&self.round);
            self.advance();
        }
        trace
    }
}
