//! Set-associative LRU.

use super::{simulated_blocks, simulated_capacity};
use crate::pascal::error::InputError;
use crate::pascal::mix::mix;

/// How blocks are spread over the sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Block number modulo the number of sets.
    Modulo,
    /// A fixed mixing function of the block number and this seed, as caches with hashed indices do and as SDCM assumes.
    Hashed(u64),
}

/// LRU in sets of `ways` blocks.
#[derive(Debug, Clone)]
pub struct SetAssociativeLru {
    ways: usize,
    sets: u64,
    placement: Placement,
    blocks: u32,
    /// Per set, the blocks from most to least recent; `EMPTY` fills the end.
    lines: Vec<u32>,
}

const EMPTY: u32 = u32::MAX;

impl SetAssociativeLru {
    /// An empty cache of `capacity` blocks in sets of `ways`, over a ring of `blocks` blocks.
    ///
    /// # Errors
    /// The ring is too large to simulate, a value is 0, or `ways` does not divide the capacity.
    pub fn new(blocks: u64, capacity: u64, ways: u64, placement: Placement) -> Result<Self, InputError> {
        let blocks = simulated_blocks(blocks)?;
        simulated_capacity(capacity, blocks)?;
        if capacity > super::MAX_SIMULATED_BLOCKS {
            let message = format!("{capacity} blocks cannot be simulated, the limit is {}", super::MAX_SIMULATED_BLOCKS);
            return Err(InputError::new("capacity", message));
        }
        if ways == 0 || !capacity.is_multiple_of(ways) {
            return Err(InputError::new("ways", format!("{ways} does not divide the capacity of {capacity} blocks")));
        }
        Ok(Self { ways: ways as usize, sets: capacity / ways, placement, blocks, lines: vec![EMPTY; capacity as usize] })
    }

    /// Requests `block`; true if it was resident.
    ///
    /// # Panics
    /// If `block` is outside the ring.
    pub fn access(&mut self, block: u32) -> bool {
        assert!(block < self.blocks, "block {block} is outside a ring of {}", self.blocks);
        let index = match self.placement {
            Placement::Modulo => u64::from(block) % self.sets,
            Placement::Hashed(seed) => mix(u64::from(block) ^ mix(seed)) % self.sets,
        } as usize;
        let set = &mut self.lines[index * self.ways..(index + 1) * self.ways];
        let found = set.iter().position(|&line| line == block);
        // A miss takes the place of the last entry: empty or least recent.
        let place = found.unwrap_or(self.ways - 1);
        set[..=place].rotate_right(1);
        set[0] = block;
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Lru;
    use super::*;

    fn blocks(count: usize, limit: u32) -> impl Iterator<Item = u32> {
        let mut state = 11u64;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 40) % u64::from(limit)) as u32
        })
        .take(count)
    }

    #[test]
    fn one_set_is_fully_associative() {
        let mut full = Lru::new(30, 8).unwrap();
        for placement in [Placement::Modulo, Placement::Hashed(5)] {
            let mut one = SetAssociativeLru::new(30, 8, 8, placement).unwrap();
            let mut same = full.clone();
            assert!(blocks(4000, 30).all(|block| same.access(block) == one.access(block)));
        }
        assert!(!full.access(0));
    }

    #[test]
    fn sets_of_a_modulo_cache_are_separate_lru_caches() {
        let mut cache = SetAssociativeLru::new(30, 6, 2, Placement::Modulo).unwrap();
        let mut sets = vec![Lru::new(30, 2).unwrap(); 3];
        assert!(blocks(4000, 30).all(|block| cache.access(block) == sets[block as usize % 3].access(block)));
    }

    #[test]
    fn one_way_holds_the_last_block_of_each_set() {
        let mut cache = SetAssociativeLru::new(10, 5, 1, Placement::Modulo).unwrap();
        let hits: Vec<bool> = [0, 5, 0, 1, 0, 1].into_iter().map(|block| cache.access(block)).collect();
        assert_eq!(hits, [false, false, false, false, true, true]);
    }

    #[test]
    fn bad_shapes_are_refused() {
        let field =
            |blocks, capacity, ways| SetAssociativeLru::new(blocks, capacity, ways, Placement::Modulo).unwrap_err().field().to_string();
        assert_eq!(field(0, 4, 2), "blocks");
        assert_eq!(field(10, 0, 2), "capacity");
        assert_eq!(field(10, 1 << 40, 1), "capacity");
        assert_eq!(field(10, 4, 0), "ways");
        assert_eq!(field(10, 4, 3), "ways");
    }
}
