//! The configuration of l1forge: keys, presets, validation and derived sizes.

pub mod hash;
