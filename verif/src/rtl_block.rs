//! The RTL as a [`Block`]: it takes the place of a golden model in a simulation written in Rust, with the model in lockstep beside it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use crate::block::{BlockModel, Wiring, reset_of};
use crate::dut::{Dut, DutError, Init, Library};
use crate::lockstep::{Model, describe};
use crate::ports::{PortError, Values};
use l1forge_config::Config;
use l1forge_sim::block::{Block, Port, Signals};

/// The first thing that went wrong; look at it when a run has ended.
pub type Verdict = Rc<RefCell<Option<String>>>;

/// Why the RTL cannot take its place.
#[derive(Debug, thiserror::Error)]
pub enum RtlBlockError {
    /// The design stopped itself.
    #[error(transparent)]
    Dut(#[from] DutError),
    /// The reset input is not there.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// An instance of a design and its golden model. Outputs are those of the RTL; every output is compared in every cycle.
///
/// It must be evaluated exactly once before every clock edge.
pub struct RtlBlock {
    dut: Dut,
    model: BlockModel,
    wiring: Wiring,
    name: String,
    ports: [Vec<Port>; 2],
    inputs: Values,
    outputs: Values,
    expected: Values,
    cycle: u64,
    verdict: Verdict,
}

impl RtlBlock {
    /// A design of [`design`](crate::block::design), after reset, with its model after reset.
    ///
    /// # Errors
    /// See [`RtlBlockError`].
    pub fn new(config: &Config, library: &Library, block: Box<dyn Block>, seed: u64) -> Result<Self, RtlBlockError> {
        let interface = Arc::clone(library.interface());
        let mut dut = library.instantiate(Init::Random(seed))?;
        let reset = reset_of(config);
        let mut inputs = Values::inputs(&interface);
        let port = interface.input(&reset.port)?;
        dut.reset(port, reset.active, reset.cycles)?;
        inputs.set(port, u64::from(!reset.active));
        Ok(Self {
            wiring: Wiring::new(config, &interface, &block),
            name: block.name().into(),
            ports: [block.inputs(), block.outputs()],
            outputs: Values::outputs(&interface),
            expected: Values::outputs(&interface),
            model: BlockModel::new(config, &interface, block),
            inputs,
            dut,
            cycle: 0,
            verdict: Verdict::default(),
        })
    }

    /// Where the first mismatch will be found.
    pub fn verdict(&self) -> Verdict {
        Rc::clone(&self.verdict)
    }

    fn note(&self, message: impl FnOnce() -> String) {
        self.verdict.borrow_mut().get_or_insert_with(message);
    }
}

impl Block for RtlBlock {
    fn name(&self) -> &str {
        &self.name
    }

    fn inputs(&self) -> Vec<Port> {
        self.ports[0].clone()
    }

    fn outputs(&self) -> Vec<Port> {
        self.ports[1].clone()
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        self.wiring.write_inputs(inputs, &mut self.inputs);
        self.dut.poke_all(&self.inputs);
        if let Err(error) = self.dut.settle() {
            self.note(|| error.to_string());
        }
        self.dut.peek_all(&mut self.outputs);
        self.model.comb(&self.inputs, &mut self.expected);
        self.model.forgive(&mut self.expected, &self.outputs);
        if self.outputs.raw() != self.expected.raw() {
            self.note(|| describe(self.cycle, &self.expected, &self.outputs, String::new()).to_string());
        }
        self.wiring.read_outputs(&self.outputs, outputs);
    }

    fn clock(&mut self, _: &Signals) {
        if let Err(error) = self.dut.tick() {
            self.note(|| error.to_string());
        }
        self.model.clock(&self.inputs);
        self.cycle += 1;
    }
}
