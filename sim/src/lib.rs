//! Golden models, oracles, traces and workloads. Knows nothing of the generators in `l1forge-hdl`.

pub mod block;
pub mod c2p;
pub mod cache;
pub mod pascal;
pub mod snakecharmer;
pub mod system;
pub mod trace;
pub mod workload;

mod parameter;
pub use parameter::ParameterError;
