//! Simulators to check the closed forms against. They know the schedule and the policy, and none of the theorems.
//!
//! | simulator | policy | cost per access |
//! |---|---|---|
//! | [`SlottedTtl`] | remembers the last T complete rounds | O(1) |
//! | [`Lru`] | fully associative LRU | O(1) |
//! | [`SetAssociativeLru`] | LRU in sets of A ways | O(A) |
//! | [`Min`] | Belady's optimum, forced allocation or bypass | O(log C) |

mod lru;
mod min;
mod schedule;
mod set_associative;
mod ttl;

pub use lru::Lru;
pub use min::{Min, SteadyMin, min_cold, min_of_trace, min_steady};
pub use schedule::Schedule;
pub use set_associative::{Placement, SetAssociativeLru};
pub use ttl::{SlottedTtl, TtlRound};

use super::error::InputError;

/// The largest ring that is simulated, in blocks: every simulator keeps a few words per block.
pub const MAX_SIMULATED_BLOCKS: u64 = 1 << 28;

/// A ring size that fits the tables of a simulator.
fn simulated_blocks(blocks: u64) -> Result<u32, InputError> {
    if blocks == 0 || blocks > MAX_SIMULATED_BLOCKS {
        let message = format!("{blocks} blocks cannot be simulated, legal values are 1 to {MAX_SIMULATED_BLOCKS}");
        return Err(InputError::new("blocks", message));
    }
    Ok(blocks as u32)
}

/// A capacity in blocks, limited to the ring: more room than blocks changes nothing.
fn simulated_capacity(capacity: u64, blocks: u32) -> Result<u32, InputError> {
    super::scan::check_capacity(capacity)?;
    Ok(capacity.min(u64::from(blocks)) as u32)
}
