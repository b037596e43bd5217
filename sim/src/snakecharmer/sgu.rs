//! Score and decision for a candidate.

use super::sizes::{Limits, Sizes};
use crate::block::{Block, Port, Signals};
use crate::c2p::signal::ports;
use l1forge_config::Config;

/// The unit.
#[derive(Debug, Clone)]
pub struct Sgu {
    limits: Limits,
    threshold: u64,
    controller: bool,
}

impl Sgu {
    pub fn new(c: &Config) -> Self {
        Self { limits: Limits::new(c), threshold: c.sc_sgu_threshold.into(), controller: c.sc_controller }
    }

    /// Score of a distance and confidence when `best` is the best distance.
    pub fn score(distance: u64, confidence: u64, best: u64) -> u64 {
        let deviation = distance.abs_diff(best);
        let near = if deviation == 0 {
            3
        } else if deviation < 3 {
            2
        } else {
            u64::from(deviation < 6)
        };
        confidence + near
    }

    /// The candidate may be issued.
    pub fn issue(&self, kind: u64, distance: u64, confidence: u64, best: u64) -> bool {
        let legal = kind < 3 && distance > 0 && distance <= self.limits.of(kind);
        legal && if self.controller { Self::score(distance, confidence, best) >= self.threshold } else { confidence > 0 }
    }
}

ports! { mod i(z: Sizes) {
    KIND = "kind_i", 1, 2;
    DISTANCE = "distance_i", 1, z.d;
    CONFIDENCE = "confidence_i", 1, 2;
    BEST = "best_i", 1, z.d;
} }
ports! { mod o(_z: Sizes) {
    SCORE = "score_o", 1, 3;
    ISSUE = "issue_o", 1, 1;
} }

/// [`Sgu`] as a block.
pub struct SguBlock {
    sizes: Sizes,
    sgu: Sgu,
}

impl SguBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), sgu: Sgu::new(c) }
    }
}

impl Block for SguBlock {
    fn name(&self) -> &str {
        "sgu"
    }
    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }
    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }
    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let [kind, distance, confidence, best] = [i::KIND, i::DISTANCE, i::CONFIDENCE, i::BEST].map(|port| inputs.get(port, 0));
        outputs.set(o::SCORE, 0, Sgu::score(distance, confidence, best));
        outputs.set(o::ISSUE, 0, self.sgu.issue(kind, distance, confidence, best).into());
    }
    fn clock(&mut self, _inputs: &Signals) {}
}
