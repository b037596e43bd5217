//! SnakeCharmer: golden models, oracle, environment and study.

pub mod l1;
pub mod ledger;
pub mod memory;
pub mod rules;
pub mod streams;
