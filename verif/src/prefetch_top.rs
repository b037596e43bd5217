//! `snakecharmer` in its environment: warps, L1, MSHRs and memory around the design, the model in lockstep, the oracle beside.

use crate::block::{BlockModel, Wiring};
use crate::lockstep::Testbench;
use crate::ports::{Interface, Values};
use l1forge_config::Config;
use l1forge_sim::block::{Block, Signals};
use l1forge_sim::snakecharmer::environment::{Environment, Profile};
use l1forge_sim::snakecharmer::oracle::Oracle;
use l1forge_sim::snakecharmer::streams::Stream;
use l1forge_sim::snakecharmer::{COUNTERS, Inputs, Outputs, SnakeCharmer, write_inputs};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Cycles after the last demand in which everything must have ended.
const PATIENCE: u64 = 100_000;

/// Environment and oracle as a test bench.
pub struct PrefetchBench {
    wiring: Wiring,
    inputs: Signals,
    outputs: Signals,
    environment: Environment,
    oracle: Oracle,
    /// In the state of the design: some inputs answer outputs of the same cycle.
    model: SnakeCharmer,
    now: Option<(Inputs, Outputs)>,
    cycles: u64,
    stopped_at: Option<u64>,
    first_counter: usize,
}

impl PrefetchBench {
    /// The environment.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The counters of the design, as last seen.
    pub fn rtl_counters(&self) -> Vec<(&'static str, u64)> {
        COUNTERS.iter().enumerate().map(|(n, name)| (*name, self.outputs.get(self.first_counter + n, 0))).collect()
    }

    /// The sums of the ledger balance.
    pub fn balanced(&self) -> bool {
        self.oracle.ledger().totals().balanced()
    }
}

impl Testbench for PrefetchBench {
    fn drive(&mut self, cycle: u64, _previous: &Values, inputs: &mut Values) -> ControlFlow<()> {
        if (cycle >= self.cycles || self.environment.warps_finished()) && self.stopped_at.is_none() {
            self.environment.stop();
            self.stopped_at = Some(cycle);
        }
        if let Some(at) = self.stopped_at
            && (cycle > at + PATIENCE || cycle > at + 2 && self.environment.is_done())
        {
            return ControlFlow::Break(());
        }
        let x = self.environment.drive(&self.model);
        self.now = Some((x, self.model.outputs(&x)));
        write_inputs(&x, &mut self.inputs);
        self.wiring.write_inputs(&self.inputs, inputs);
        ControlFlow::Continue(())
    }

    fn observe(&mut self, _cycle: u64, _inputs: &Values, outputs: &Values) -> Result<(), String> {
        let Some((x, o)) = self.now.take() else { return Ok(()) };
        self.wiring.read_outputs(outputs, &mut self.outputs);
        let counters = std::array::from_fn(|n| self.outputs.get(self.first_counter + n, 0));
        self.oracle.check(&x, &o, &counters, Some(self.environment.resident()));
        self.environment.observe(&x, &o);
        self.model.step(&x);
        self.environment.note(&self.model);
        if let Some(decision) = self.model.decision() {
            self.oracle.decide(decision, x.enable);
        }
        match self.environment.faults().first().or(self.oracle.violations().first()) {
            Some(fault) => Err(fault.clone()),
            None => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.stopped_at.is_some() && !self.environment.is_done() {
            return Err("the run did not come to an end".into());
        }
        Ok(())
    }
}

/// Model and test bench of one run: so many cycles with demands, and those in which what is on its way ends.
pub fn bench(
    config: &Config,
    interface: &Arc<Interface>,
    profile: Profile,
    stream: Stream,
    seed: u64,
    cycles: u64,
) -> (BlockModel<SnakeCharmer>, PrefetchBench) {
    let model = SnakeCharmer::new(config);
    let outputs = Signals::new(&Block::outputs(&model));
    let bench = PrefetchBench {
        wiring: Wiring::new(config, interface, &model),
        inputs: Signals::new(&Block::inputs(&model)),
        first_counter: outputs.index(&format!("count_{}_o", COUNTERS[0])),
        outputs,
        environment: Environment::new(config, profile, stream, seed),
        oracle: Oracle::new(config),
        model: SnakeCharmer::new(config),
        now: None,
        cycles,
        stopped_at: None,
    };
    (BlockModel::new(config, interface, model), bench)
}
