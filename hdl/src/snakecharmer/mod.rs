//! Generators of SnakeCharmer, one file per block. Each follows its page in `docs/blocks/snakecharmer/`.

mod apogee;
mod candidate_generator;
mod context;
mod feedback;
mod head_table;
mod l1_awt;
mod l2_awt;
mod peb;
mod prefetch_queue;
mod prefetch_statistics;
mod prt;
mod sgu;
#[allow(clippy::module_inception)]
mod snakecharmer;
mod storage;
mod tail_table;
mod training;
mod window;
mod zero_filter;

pub use context::{BLOCKS, block};
pub use prefetch_statistics::counters;
pub use storage::{Storage, Structure, storage};
