//! The model, its environment and the oracle, together.

use super::c2p_cache::C2pCache;
use super::environment::{Environment, Profile, Source};
use super::oracle::Oracle;
use crate::block::{Block, Signals};
use l1forge_config::Config;

/// A simulation of the model alone.
pub struct Bench {
    /// The model.
    pub model: C2pCache,
    /// What surrounds it.
    pub environment: Environment,
    /// What judges it.
    pub oracle: Oracle,
    /// Inputs of the latest cycle.
    pub inputs: Signals,
    /// Outputs of the latest cycle.
    pub outputs: Signals,
    cycle: u64,
}

impl Bench {
    /// A simulation before the first cycle, with the model tapped.
    pub fn new(c: &Config, profile: Profile, source: Box<dyn Source>, seed: u64) -> Self {
        let mut model = C2pCache::new(c);
        model.enable_tap();
        Self {
            inputs: Signals::new(&model.inputs()),
            outputs: Signals::new(&model.outputs()),
            model,
            environment: Environment::new(c, profile, source, seed),
            oracle: Oracle::new(c),
            cycle: 0,
        }
    }

    /// Cycles simulated.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// One cycle.
    pub fn step(&mut self) {
        self.environment.drive(&mut self.inputs);
        self.model.eval(&self.inputs, &mut self.outputs);
        self.environment.observe(&self.inputs, &self.outputs);
        self.model.clock(&self.inputs);
        self.oracle.check(&self.inputs, &self.outputs, self.environment.notes(), self.model.tap());
        self.cycle += 1;
    }

    /// Some cycles; stops at the first violation.
    pub fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
            if !self.oracle.violations().is_empty() {
                return;
            }
        }
    }

    /// Stops the SMs, waits until everything has ended, at most `limit` cycles, and judges the end (but for stuck SMs). Returns
    /// whether it ended.
    pub fn drain(&mut self, limit: u64) -> bool {
        self.environment.stop();
        let mut left = limit;
        while !self.environment.is_done() && left > 0 && self.oracle.violations().is_empty() {
            self.step();
            left -= 1;
        }
        let done = self.environment.is_done();
        if done && self.environment.stuck().is_empty() {
            self.model.eval(&self.inputs, &mut self.outputs); // the counters with the events of the last cycle
            self.oracle.finish(&self.outputs);
        }
        done
    }
}
