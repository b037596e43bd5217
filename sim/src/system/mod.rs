//! The whole memory path: warps, L1s, a sharing scheme, interconnect, L2, DRAM.
//!
//! ```text
//!  warps ─► L1 + MSHRs ─► sharing scheme ─► interconnect ─► banked L2 ─► DRAM
//!               ▲                │ remote hit        ▲
//!               └────────────────┴───────────────────┘ lines
//! ```
//!
//! [`Memory`] is the path from the L1s down, stepped cycle by cycle. Two front ends drive it: [`run`] lets the warps of a trace or workload
//! issue with real timing; [`scan`] issues one access at a time in a given order, for the equalities of PASCAL. Sharing schemes implement
//! [`Sharing`]: [`scheme`] has them all. A prefetcher of an SM implements [`Prefetcher`].
//!
//! Everything is deterministic: the same events, configuration and parameters give the same counts. `docs/guide/traffic.md` defines every
//! measure; [`Measures::check`] checks that they balance, and [`run`] fails when they do not.

mod cache_level;
mod dram;
pub mod experiment;
mod histogram;
mod l1s;
mod measures;
mod memory;
mod parameters;
pub mod prefetch;
mod run;
pub mod scan;
pub mod scheme;
mod timeline;
mod wakes;
mod warps;

pub use histogram::Histogram;
pub use l1s::{L1s, Miss, Verdict};
pub use measures::{BrokenBalance, Candidates, Measures, PrefetchCounts};
pub use memory::{Load, Memory, Reply};
pub use parameters::SystemParameters;
pub use prefetch::{NextLine, NoPrefetch, Observation, Prefetcher, Snake};
pub use run::{Progress, SystemError, Traffic, run, run_with};
pub use scheme::{Scheme, Sharing};
