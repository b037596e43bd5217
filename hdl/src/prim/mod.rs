//! Primitives: round-robin arbiter, FIFO, memory macro.

mod fifo;
mod rr_arbiter;
mod sram_1r1w;

pub use fifo::{Fifo, fifo, queue};
pub use rr_arbiter::{Lock, round_robin, rr_arbiter};
pub use sram_1r1w::sram_1r1w;
