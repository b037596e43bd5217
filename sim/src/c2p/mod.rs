//! Golden models of the C2P-Cache: one cycle-accurate model per block, the whole, an environment and an oracle.
//!
//! Every block follows its page in `docs/blocks`; [`block`] gives each as a [`Block`] with the ports of `docs/blocks/ports.md`.
//! [`C2pCache`] is the whole; [`Environment`](environment::Environment) stands for the L1s and the L2 around it;
//! [`Oracle`](oracle::Oracle) knows the specification only and judges what it sees on the ports.

pub mod accesses;
mod and_reduction;
mod bank_arbiter;
pub mod bench;
mod bf_engine;
mod bound;
mod c2p_cache;
mod encode;
mod engine_pool;
pub mod environment;
mod fill_queue;
mod lookup_network;
pub mod oracle;
mod pins;
mod probe_engine;
mod probe_network;
pub(crate) mod probe_order;
mod probe_queue;
mod probe_return;
mod query_slot;
mod query_store;
mod refresh_controller;
mod rr_arbiter;
pub(crate) mod signal;
mod sizes;
mod sm_set;
mod snapshot_matrix;
mod statistics;
mod stream_buffer;
mod update_lane;
mod update_network;

pub use bound::miss_bound;
pub use c2p_cache::{C2pCache, Tap, TapRead};
pub use encode::{Position, encode};
pub use pins::{Inputs, L2Request, Outcome, Outputs, ProbeRequest, input, output};
pub use probe_engine::Reason;
pub use sm_set::SmSet;
pub use snapshot_matrix::Write;
pub use statistics::COUNTERS;
pub use stream_buffer::Beat;

use crate::block::Block;
use l1forge_config::{Config, CopyChoice};
use rr_arbiter::{Kind, RrArbiterBlock};

/// Names of all blocks that [`block`] knows, smallest first.
pub const BLOCKS: &[&str] = &[
    "rr_arbiter_free",
    "rr_arbiter_ready",
    "rr_arbiter_lock",
    "bf_engine",
    "engine_pool",
    "and_reduction",
    "probe_engine",
    "query_slot",
    "query_store",
    "bank_arbiter",
    "update_bank_arbiter",
    "lookup_network",
    "snapshot_matrix",
    "probe_order",
    "probe_network",
    "probe_queue",
    "probe_return",
    "fill_queue",
    "stream_buffer",
    "update_lane",
    "update_network",
    "refresh_controller",
    "statistics",
    "c2p_cache",
];

/// A block that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// No block has that name.
    #[error("unknown block {0}; legal: {list}", list = BLOCKS.join(", "))]
    Name(String),
    /// The block is not built that often.
    #[error("instance {instance} of block {name}: legal: 0..={last}")]
    Instance {
        /// Name of the block.
        name: String,
        /// The instance asked for.
        instance: usize,
        /// The last one there is.
        last: usize,
    },
}

/// How many different instances of a block a configuration has, see docs/blocks/ports.md: SMs of `probe_order`, lanes of
/// `update_lane`, copies of `bank_arbiter`; 1 for all others.
pub fn instances(name: &str, c: &Config) -> usize {
    let count = match name {
        "probe_order" => c.sms,
        "update_lane" => c.update_lanes,
        "bank_arbiter" if c.copy_choice == CopyChoice::Fixed => c.copies,
        _ => 1,
    };
    count as usize
}

/// The model of a block, after reset. `instance` is 0 for a block that has no different instances, see [`instances`].
///
/// # Errors
/// An unknown name; an instance that the configuration does not have.
///
/// ```
/// use l1forge_sim::block::{Block, Signals};
///
/// let config = l1forge_config::Settings::preset("paper").unwrap().resolve().unwrap();
/// let mut block = l1forge_sim::c2p::block("probe_order", &config, 9)?;
/// let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
/// inputs.set(0, 0, 1 << 9 | 1 << 10 | 1 << 63);
/// block.eval(&inputs, &mut outputs);
/// assert_eq!(outputs.get(outputs.index("target_o"), 0), 10);
/// # Ok::<(), l1forge_sim::c2p::BlockError>(())
/// ```
pub fn block(name: &str, c: &Config, instance: usize) -> Result<Box<dyn Block>, BlockError> {
    let last = instances(name, c) - 1;
    if BLOCKS.contains(&name) && instance > last {
        return Err(BlockError::Instance { name: name.into(), instance, last });
    }
    Ok(match name {
        "rr_arbiter_free" => Box::new(RrArbiterBlock::new(Kind::Free, c.sms as usize)),
        "rr_arbiter_ready" => Box::new(RrArbiterBlock::new(Kind::Ready, c.sms as usize)),
        "rr_arbiter_lock" => Box::new(RrArbiterBlock::new(Kind::Lock, c.sms as usize)),
        "bf_engine" => Box::new(bf_engine::BfEngineBlock::new(c)),
        "engine_pool" => Box::new(engine_pool::EnginePoolBlock::new(c)),
        "and_reduction" => Box::new(and_reduction::AndReductionBlock::new(c)),
        "probe_engine" => Box::new(probe_engine::ProbeEngineBlock::new(c)),
        "query_slot" => Box::new(query_slot::QuerySlotBlock::new(c)),
        "query_store" => Box::new(query_store::QueryStoreBlock::new(c)),
        "bank_arbiter" => Box::new(bank_arbiter::BankArbiterBlock::new(lookup_network::arbiter_shape(c, instance))),
        "update_bank_arbiter" => Box::new(bank_arbiter::BankArbiterBlock::new(update_network::arbiter_shape(c))),
        "lookup_network" => Box::new(lookup_network::LookupNetworkBlock::new(c)),
        "snapshot_matrix" => Box::new(snapshot_matrix::SnapshotMatrixBlock::new(c)),
        "probe_order" => Box::new(probe_order::ProbeOrderBlock::new(c, instance)),
        "probe_network" => Box::new(probe_network::ProbeNetworkBlock::new(c)),
        "probe_queue" => Box::new(probe_queue::ProbeQueueBlock::new(c)),
        "probe_return" => Box::new(probe_return::ProbeReturnBlock::new(c)),
        "fill_queue" => Box::new(fill_queue::FillQueueBlock::new(c)),
        "stream_buffer" => Box::new(stream_buffer::StreamBufferBlock::new(c)),
        "update_lane" => Box::new(update_lane::UpdateLaneBlock::new(c, instance)),
        "update_network" => Box::new(update_network::UpdateNetworkBlock::new(c)),
        "refresh_controller" => Box::new(refresh_controller::RefreshControllerBlock::new(c)),
        "statistics" => Box::new(statistics::StatisticsBlock::new(c)),
        "c2p_cache" => Box::new(C2pCache::new(c)),
        _ => return Err(BlockError::Name(name.into())),
    })
}

#[cfg(test)]
mod tests;
