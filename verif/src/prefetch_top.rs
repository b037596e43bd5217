//! `snakecharmer` in its environment: warps, L1, MSHRs and memory around the design, the model in lockstep, the oracle beside.

use crate::block::{BlockModel, Wiring};
use crate::lockstep::Testbench;
use crate::ports::{Interface, Values};
use l1forge_config::Config;
use l1forge_sim::block::{Block, Signals};
use l1forge_sim::snakecharmer::environment::{Environment, Profile};
use l1forge_sim::snakecharmer::ledger::Totals;
use l1forge_sim::snakecharmer::oracle::Oracle;
use l1forge_sim::snakecharmer::streams::Stream;
use l1forge_sim::snakecharmer::{COUNTERS, Inputs, Outputs, SnakeCharmer, write_inputs};
use std::ops::ControlFlow;
use std::sync::Arc;

/// When a run ends: then the warps stop, and what is on its way ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// When every warp has made all its demands.
    Finished,
    /// After so many cycles.
    Cycles(u64),
    /// After so many loads.
    Loads(u64),
}

/// Cycles after the last demand in which everything must have ended.
const PATIENCE: u64 = 100_000;

/// Cycles without a load after which a run is given up.
const STUCK: u64 = 2_000_000;

/// Cycles in which nothing may be on its way before a run is over: the counters show the last event.
const QUIET: u64 = 3;

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
    end: End,
    stopped_at: Option<u64>,
    /// Loads so far, and the cycle of the last.
    last_load: (u64, u64),
    quiet: u64,
    first_counter: usize,
    model_counts: [u64; COUNTERS.len()],
    progress: Box<dyn FnMut(u64, u64)>,
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

    /// The counters of the model in the same cycle.
    pub fn model_counters(&self) -> Vec<(&'static str, u64)> {
        COUNTERS.iter().copied().zip(self.model_counts).collect()
    }

    /// Calls `f(cycles, loads)` now and then.
    #[must_use]
    pub fn on_progress(mut self, f: impl FnMut(u64, u64) + 'static) -> Self {
        self.progress = Box::new(f);
        self
    }

    /// What became of every prefetched sector, counted beside the design.
    pub fn totals(&self) -> Totals {
        self.oracle.ledger().totals()
    }
}

impl Testbench for PrefetchBench {
    fn drive(&mut self, cycle: u64, _previous: &Values, inputs: &mut Values) -> ControlFlow<()> {
        let loads = self.environment.activity().loads;
        if loads > self.last_load.0 {
            self.last_load = (loads, cycle);
        }
        if cycle.is_multiple_of(1024) {
            (self.progress)(cycle, loads);
        }
        let ends = match self.end {
            End::Finished => false,
            End::Cycles(n) => cycle >= n,
            End::Loads(n) => loads >= n,
        };
        if (ends || self.environment.warps_finished()) && self.stopped_at.is_none() {
            self.environment.stop();
            self.stopped_at = Some(cycle);
        }
        self.quiet = if self.stopped_at.is_some() && self.environment.is_done() { self.quiet + 1 } else { 0 };
        let stuck = cycle > self.stopped_at.map_or(self.last_load.1 + STUCK, |at| at + PATIENCE);
        if self.quiet > QUIET || stuck {
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
        self.model_counts = *self.model.counters();
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
        if self.quiet > QUIET {
            return Ok(());
        }
        Err("the run did not come to an end".into())
    }
}

/// Model and test bench of one run.
pub fn bench(
    config: &Config,
    interface: &Arc<Interface>,
    profile: Profile,
    stream: Stream,
    seed: u64,
    end: End,
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
        end,
        stopped_at: None,
        last_load: (0, 0),
        quiet: 0,
        model_counts: [0; COUNTERS.len()],
        progress: Box::new(|_, _| {}),
    };
    (BlockModel::new(config, interface, model), bench)
}
