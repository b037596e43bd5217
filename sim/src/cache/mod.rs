//! Cache models: L1 and L2.

mod index;
mod l1;
mod l2;

pub use index::IndexHash;
pub(crate) use index::mix;
pub(crate) use l1::LineHasher;
pub use l1::{Evicted, L1, L1Parameters, Lookup, StorePolicy};
pub use l2::{Fill, L2, L2Parameters, Request};
