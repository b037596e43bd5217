//! Fully associative LRU with O(1) per access.

use super::{simulated_blocks, simulated_capacity};
use crate::pascal::error::InputError;

/// A block that is not resident.
const ABSENT: u32 = u32::MAX;

/// A fully associative LRU cache over blocks `0..blocks`, as a doubly linked list threaded through one table.
///
/// ```
/// use l1forge_sim::pascal::simulate::Lru;
/// let mut cache = Lru::new(10, 2)?;
/// let hits: Vec<bool> = [1, 2, 1, 3, 2].into_iter().map(|block| cache.access(block)).collect();
/// assert_eq!(hits, [false, false, true, false, false]);
/// # Ok::<(), l1forge_sim::pascal::InputError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Lru {
    /// One link per block, and the sentinel last: its `next` is the most recent block, its `prev` the least recent.
    links: Vec<Link>,
    resident: u32,
    capacity: u32,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    prev: u32,
    next: u32,
}

impl Lru {
    /// An empty cache of `capacity` blocks over a ring of `blocks` blocks.
    ///
    /// # Errors
    /// The ring is too large to simulate, or the capacity is 0.
    pub fn new(blocks: u64, capacity: u64) -> Result<Self, InputError> {
        let blocks = simulated_blocks(blocks)?;
        let capacity = simulated_capacity(capacity, blocks)?;
        let mut links = vec![Link { prev: ABSENT, next: ABSENT }; blocks as usize];
        links.push(Link { prev: blocks, next: blocks });
        Ok(Self { links, resident: 0, capacity })
    }

    /// Requests `block`; true if it was resident. A missed block is installed, over the least recent one if the cache is full.
    ///
    /// # Panics
    /// If `block` is outside the ring.
    #[inline]
    pub fn access(&mut self, block: u32) -> bool {
        let sentinel = (self.links.len() - 1) as u32;
        assert!(block < sentinel, "block {block} is outside a ring of {sentinel}");
        let hit = self.links[block as usize].prev != ABSENT;
        if hit {
            self.unlink(block);
        } else if self.resident == self.capacity {
            let victim = self.links[sentinel as usize].prev;
            self.unlink(victim);
            self.links[victim as usize].prev = ABSENT;
        } else {
            self.resident += 1;
        }
        let newest = std::mem::replace(&mut self.links[sentinel as usize].next, block);
        self.links[block as usize] = Link { prev: sentinel, next: newest };
        self.links[newest as usize].prev = block;
        hit
    }

    /// The capacity in blocks, at most the ring size.
    pub fn capacity(&self) -> u64 {
        u64::from(self.capacity)
    }

    /// Whether `block` is resident, without touching its recency.
    pub fn contains(&self, block: u32) -> bool {
        (block as usize) < self.links.len() - 1 && self.links[block as usize].prev != ABSENT
    }

    /// The resident blocks, most recent first.
    pub fn by_recency(&self) -> impl Iterator<Item = u32> + '_ {
        let sentinel = (self.links.len() - 1) as u32;
        let next = move |block: u32| {
            let next = self.links[block as usize].next;
            (next != sentinel).then_some(next)
        };
        std::iter::successors(next(sentinel), move |&block| next(block))
    }

    #[inline]
    fn unlink(&mut self, block: u32) {
        let Link { prev, next } = self.links[block as usize];
        self.links[prev as usize].next = next;
        self.links[next as usize].prev = prev;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_a_list_that_is_searched() {
        let mut state = 3u64;
        for capacity in [1u64, 2, 5, 9, 20, 30] {
            let mut cache = Lru::new(20, capacity).unwrap();
            let mut list: Vec<u32> = Vec::new();
            for _ in 0..3000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let block = ((state >> 40) % 20) as u32;
                let found = list.iter().position(|&b| b == block);
                assert_eq!(cache.contains(block), found.is_some());
                assert_eq!(cache.access(block), found.is_some());
                if let Some(i) = found {
                    list.remove(i);
                }
                list.insert(0, block);
                list.truncate(capacity as usize);
                assert!(cache.by_recency().eq(list.iter().copied()));
            }
        }
    }

    #[test]
    fn bad_sizes_are_refused() {
        assert_eq!(Lru::new(0, 1).unwrap_err().field(), "blocks");
        assert_eq!(Lru::new(super::super::MAX_SIMULATED_BLOCKS + 1, 1).unwrap_err().field(), "blocks");
        assert_eq!(Lru::new(4, 0).unwrap_err().field(), "capacity");
        assert!(!Lru::new(4, 1).unwrap().contains(4));
    }
}
