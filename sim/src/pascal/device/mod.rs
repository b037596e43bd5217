//! A stand-in for the devices of the paper: a discrete-event simulator that produces the traffic of runs whose workers drift apart.
//!
//! The paper measures on two GPUs. This crate has none, so [`StandIn`] plays their part: M workers follow the pipeline recurrence of
//! Theorem 6 over one shared LRU cache and a DRAM of limited bandwidth, with a jitter that lets them drift. Its traffic calibrates and
//! judges the predictor ([`Study`]). The mechanisms are the ones the paper names; the constants are chosen, not measured, so nothing here
//! says anything about the accuracy of the predictor on real hardware.

mod run;
mod stand_in;
mod study;

pub use run::{Marker, RunResult, RunSpec};
pub use stand_in::{LoadPath, StandIn};
pub use study::{Cell, Comparison, Contrast, FamilyKey, Model, Study, StudyReport, contrasts};
