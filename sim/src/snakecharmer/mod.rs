//! SnakeCharmer: golden models, oracle, environment and study.

pub mod ledger;
pub mod memory;
pub mod rules;
pub mod streams;
