//! Generators of the C2P-Cache, one file per block. Each follows its page in `docs/blocks/`.

mod and_reduction;
mod bank_arbiter;
mod bf_engine;
mod c2p_cache;
mod context;
mod engine_pool;
mod fill_queue;
mod lookup_copy;
mod lookup_network;
mod probe_engine;
mod probe_network;
mod probe_order;
mod probe_queue;
mod probe_return;
mod query_slot;
mod query_store;
mod refresh_controller;
mod round_robin;
mod shift_queue;
mod snapshot_matrix;
mod statistics;
mod stream_buffer;
mod update_lane;
mod update_network;

pub use context::{BLOCKS, block, miss_bound};
pub use statistics::COUNTERS;
