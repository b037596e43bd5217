//! The slotted TTL cache, literally: what was requested in the last T complete rounds is remembered.

use std::collections::VecDeque;

use super::simulated_blocks;
use crate::pascal::error::InputError;

/// A slotted TTL cache over a ring of blocks.
///
/// At the start of a round it remembers every block requested in the `window` rounds before. Duplicates inside a round share one lookup
/// and one fill.
#[derive(Debug, Clone)]
pub struct SlottedTtl {
    window: u64,
    /// In how many of the remembered rounds each block was requested.
    remembered: Vec<u32>,
    rounds: VecDeque<Vec<u32>>,
    occupancy: u64,
    requested_now: Vec<bool>,
}

/// What one round cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TtlRound {
    /// Blocks fetched from memory in the round.
    pub fills: u64,
    /// Blocks remembered after the round.
    pub occupancy: u64,
}

impl SlottedTtl {
    /// An empty cache over `blocks` blocks that remembers `window` complete rounds.
    ///
    /// # Errors
    /// The ring is too large to simulate.
    pub fn new(blocks: u64, window: u64) -> Result<Self, InputError> {
        let blocks = simulated_blocks(blocks)? as usize;
        Ok(Self { window, remembered: vec![0; blocks], rounds: VecDeque::new(), occupancy: 0, requested_now: vec![false; blocks] })
    }

    /// One round of requests.
    ///
    /// # Panics
    /// If a block is outside the ring.
    pub fn round(&mut self, requests: &[u32]) -> TtlRound {
        let mut distinct = Vec::with_capacity(requests.len());
        let mut fills = 0;
        for &block in requests {
            if !std::mem::replace(&mut self.requested_now[block as usize], true) {
                fills += u64::from(self.remembered[block as usize] == 0);
                distinct.push(block);
            }
        }
        for &block in &distinct {
            self.requested_now[block as usize] = false;
            self.occupancy += u64::from(self.remembered[block as usize] == 0);
            self.remembered[block as usize] += 1;
        }
        self.rounds.push_back(distinct);
        while self.rounds.len() as u64 > self.window {
            for block in self.rounds.pop_front().expect("the list is longer than the window") {
                self.remembered[block as usize] -= 1;
                self.occupancy -= u64::from(self.remembered[block as usize] == 0);
            }
        }
        TtlRound { fills, occupancy: self.occupancy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_two_rounds() {
        let mut cache = SlottedTtl::new(10, 2).unwrap();
        assert_eq!(cache.round(&[1, 1, 2]), TtlRound { fills: 2, occupancy: 2 });
        assert_eq!(cache.round(&[2, 3]), TtlRound { fills: 1, occupancy: 3 });
        assert_eq!(cache.round(&[1]), TtlRound { fills: 0, occupancy: 3 });
        assert_eq!(cache.round(&[2]), TtlRound { fills: 0, occupancy: 2 });
        assert_eq!(cache.round(&[3]), TtlRound { fills: 1, occupancy: 2 });
    }

    #[test]
    fn a_window_of_zero_forgets_at_once() {
        let mut cache = SlottedTtl::new(4, 0).unwrap();
        for _ in 0..3 {
            assert_eq!(cache.round(&[0, 0, 1]), TtlRound { fills: 2, occupancy: 0 });
        }
        assert_eq!(SlottedTtl::new(0, 1).unwrap_err().field(), "blocks");
    }
}
