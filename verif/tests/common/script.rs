//! Scripts of inputs for a block, in lockstep with its model.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use crate::prefetch::config;
use l1forge_sim::block::{Block, Signals};
use l1forge_verif::block::{self, BlockModel};
use l1forge_verif::build::Builder;
use l1forge_verif::lockstep::{Session, Testbench};
use l1forge_verif::ports::{Interface, Values};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// Values of inputs in one cycle; the others are 0.
pub type Step = Vec<(&'static str, u64)>;

struct Script {
    wiring: block::Wiring,
    inputs: Signals,
    outputs: Signals,
    steps: Vec<Step>,
    seen: Arc<Mutex<Vec<Signals>>>,
}

impl Testbench for Script {
    fn drive(&mut self, cycle: u64, _previous: &Values, inputs: &mut Values) -> ControlFlow<()> {
        let Some(step) = self.steps.get(cycle as usize) else { return ControlFlow::Break(()) };
        for port in 0..self.inputs.ports().len() {
            self.inputs.set(port, 0, 0);
        }
        for (name, value) in step {
            let port = self.inputs.index(name);
            self.inputs.set(port, 0, *value);
        }
        self.wiring.write_inputs(&self.inputs, inputs);
        ControlFlow::Continue(())
    }

    fn observe(&mut self, _cycle: u64, _inputs: &Values, outputs: &Values) -> Result<(), String> {
        self.wiring.read_outputs(outputs, &mut self.outputs);
        self.seen.lock().unwrap().push(self.outputs.clone());
        Ok(())
    }
}

/// Runs steps on a block, in lockstep with its model. Returns one output in every cycle.
pub fn run(name: &str, sets: &[&str], steps: Vec<Step>, output: &str) -> Vec<u64> {
    run_all(name, sets, steps).iter().map(|signals| signals.get(signals.index(output), 0)).collect()
}

/// The same with all outputs.
pub fn run_all(name: &str, sets: &[&str], steps: Vec<Step>) -> Vec<Signals> {
    let c = config(sets);
    let design = block::design(&c, name, 0).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let builder = Builder::from_env();
    let mut session = Session::new(&builder, &design, 1);
    if design.clock_name().is_some() {
        session = session.reset(block::reset_of(&c));
    }
    let count = steps.len();
    session
        .run(
            |interface: &Arc<Interface>, _| {
                let model = block::golden_block(&c, name, 0).unwrap();
                let script = Script {
                    wiring: block::Wiring::new(&c, interface, &*model),
                    inputs: Signals::new(&model.inputs()),
                    outputs: Signals::new(&model.outputs()),
                    steps: steps.clone(),
                    seen: Arc::clone(&seen),
                };
                (BlockModel::new(&c, interface, model), script)
            },
            None,
        )
        .unwrap_or_else(|e| panic!("{e}"));
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), count);
    seen.clone()
}
