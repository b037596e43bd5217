//! SnakeCharmer: golden models, oracle, environment and study.
//!
//! Every block follows its page in `docs/blocks/snakecharmer`; [`block`] gives each as a [`Block`]. [`SnakeCharmer`] is the whole.

mod apogee;
pub mod bench;
mod candidate_generator;
pub mod environment;
mod feedback;
mod head_table;
pub mod l1;
mod l1_awt;
mod l2_awt;
pub mod ledger;
pub mod memory;
pub mod oracle;
mod peb;
mod prefetch_queue;
mod prefetch_statistics;
mod prt;
pub mod report;
pub mod rules;
mod sgu;
mod sizes;
pub mod streams;
pub mod study;
mod tail_table;
mod top;
mod zero_filter;

pub use candidate_generator::Candidate;
pub use l1_awt::Context;
pub use peb::Unread;
pub use prefetch_statistics::COUNTERS;
pub use prt::{Answer, Demand, Fill as PrtFill, Outputs as PrtOutputs, Prt};
pub use sizes::{Handle, Sizes};
pub use top::{Decision, Fill, Inputs, Offer, Outputs, SnakeCharmer, read_inputs, write_inputs};

use crate::block::Block;
use l1forge_config::Config;

/// Names of all blocks that [`block`] knows, smallest first.
pub const BLOCKS: &[&str] = &[
    "head_table",
    "tail_table",
    "apogee",
    "candidate_generator",
    "zero_filter",
    "l1_awt",
    "l2_awt",
    "sgu",
    "prefetch_queue",
    "prt",
    "peb",
    "feedback",
    "prefetch_statistics",
    "snakecharmer",
];

/// The model of a block, after reset; `None` when there is no such block.
///
/// ```
/// use l1forge_sim::block::{Block, Signals};
///
/// let config = l1forge_config::Settings::preset("paper").unwrap().resolve().unwrap();
/// let mut sgu = l1forge_sim::snakecharmer::block("sgu", &config).unwrap();
/// let (mut inputs, mut outputs) = (Signals::new(&sgu.inputs()), Signals::new(&sgu.outputs()));
/// for (port, value) in [("kind_i", 0), ("distance_i", 5), ("confidence_i", 3), ("best_i", 4)] {
///     inputs.set(inputs.index(port), 0, value);
/// }
/// sgu.eval(&inputs, &mut outputs);
/// assert_eq!(outputs.get(outputs.index("score_o"), 0), 5);
/// ```
pub fn block(name: &str, c: &Config) -> Option<Box<dyn Block>> {
    Some(match name {
        "head_table" => Box::new(head_table::HeadTableBlock::new(c)),
        "tail_table" => Box::new(tail_table::TailTableBlock::new(c)),
        "apogee" => Box::new(apogee::ApogeeBlock::new(c)),
        "candidate_generator" => Box::new(candidate_generator::CandidateGeneratorBlock::new(c)),
        "zero_filter" => Box::new(zero_filter::ZeroFilterBlock::new(c)),
        "l1_awt" => Box::new(l1_awt::L1AwtBlock::new(c)),
        "l2_awt" => Box::new(l2_awt::L2AwtBlock::new(c)),
        "sgu" => Box::new(sgu::SguBlock::new(c)),
        "prefetch_queue" => Box::new(prefetch_queue::PrefetchQueueBlock::new(c)),
        "prt" => Box::new(prt::PrtBlock::new(c)),
        "peb" => Box::new(peb::PebBlock::new(c)),
        "feedback" => Box::new(feedback::FeedbackBlock::new(c)),
        "prefetch_statistics" => Box::new(prefetch_statistics::PrefetchStatisticsBlock::new(c)),
        "snakecharmer" => Box::new(SnakeCharmer::new(c)),
        _ => return None,
    })
}
