//! Primitives: round-robin arbiter, FIFO, memory macro.

mod fifo;
mod rr_arbiter;
mod sram_1r1w;

pub use fifo::{Fifo, fifo};
pub use rr_arbiter::{Lock, rr_arbiter};
pub use sram_1r1w::sram_1r1w;
