//! PASCAL: the analytical model of shared-cache traffic.
//!
//! M workers scan the same ring of N blocks through a shared cache of C blocks. How many fills per round, K, that costs depends on how
//! far apart the workers stand. This module has the static model (exact, at fixed phases), the theory of divergence, simulators to check
//! both, the calibrated predictor for runs that diverge, the baselines, and a stand-in for the devices the paper measured.
//!
//! | result | here |
//! |---|---|
//! | Lemma 1, Theorem 2: gap law | [`Gaps`], [`Waterline`] |
//! | Theorem 3: LRU bracket | [`LruBracket`] |
//! | exact LRU without a trace | [`ReuseProfile`] |
//! | Theorem 4: bound for every policy | [`PolicyBound`] |
//! | phase clusters, snapshot gap law | [`phase_clusters`], [`snapshot`] |
//! | Theorem 5: tolerated lead | [`capacity_for_lead`], [`lead_for_capacity`], [`LeadTracker`] |
//! | reuse distance under variable progress | [`ProgressHistory`] |
//! | Theorem 6: pipeline recurrence | [`Pipeline`], [`SteadyPipeline`] |
//! | slotted TTL, LRU, set-associative LRU, Belady | [`simulate`] |
//! | equations (13) to (21): the dynamic predictor | [`predict`] |
//! | Che-IRM, SDCM | [`baselines`] |
//! | all static results of one scan | [`StaticModel`] |
//! | device stand-in, calibration study | [`device`] |
//! | charts | [`plot`] |
//!
//! Counts are exact integers, rates are exact [`Fraction`]s. Sections, theorems and equations are those of the paper "PASCAL: A Progress
//! Divergence-Aware Shared-Cache Model"; "specification section N" is the PASCAL specification this crate was built from, which restores
//! the formulas the paper's text extract lost.

pub mod baselines;
pub mod device;
pub mod plot;
pub mod predict;
pub mod simulate;

mod clusters;
mod error;
mod fraction;
mod gap_law;
mod lead;
mod lru_bracket;
mod lru_exact;
mod mix;
mod patterns;
mod pipeline;
mod policy_bound;
mod progress;
mod scan;
mod static_query;

pub use clusters::{CLUSTER_GAP, phase_clusters, snapshot, snapshot_waterline};
pub use error::InputError;
pub use fraction::{Fraction, to_f64};
pub use gap_law::{Gaps, Step, Waterline, at_capacity};
pub use lead::{LeadTracker, capacity_for_lead, lead_for_capacity, lead_of, sharpness_witness};
pub use lru_bracket::LruBracket;
pub use lru_exact::ReuseProfile;
pub use patterns::Pattern;
pub use pipeline::{Pipeline, SteadyPipeline, copies_in_flight};
pub use policy_bound::{Allocation, PolicyBound};
pub use progress::ProgressHistory;
pub use scan::{MAX_BLOCKS, MAX_ROUNDS, MAX_WORKERS, Previous, Scan, check_capacity, check_rounds};
pub use static_query::{Check, ColdTotals, StaticAnswer, StaticModel};
