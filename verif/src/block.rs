//! A generated block and its golden model, ready for lockstep.

use crate::build::Design;
use crate::lockstep::{Model, Reset};
use crate::ports::{Dir, Interface, Port, PortSpec, Values};
use l1forge_config::{Config, ResetStyle};
use l1forge_hdl::{c2p as rtl, snakecharmer as prefetch_rtl};
use l1forge_sim::block::{Block, Signals};
use l1forge_sim::{c2p as golden, snakecharmer as prefetch};
use std::collections::BTreeSet;

/// Why a block could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    /// No block has that name.
    #[error("unknown block {0}; legal: {list}", list = names().join(", "))]
    Name(String),
    /// No such instance of a block.
    #[error(transparent)]
    Unknown(golden::BlockError),
    /// The generator is at fault.
    #[error("generator: {0}")]
    Generator(#[from] l1forge_hdl::rtl::RtlError),
    /// Generator and model disagree about the ports.
    #[error("ports of {block}: the model has {model}, the module has {module}")]
    Ports {
        /// The block.
        block: String,
        /// Ports only the model has, or has with another width.
        model: String,
        /// Ports only the module has, or has with another width.
        module: String,
    },
}

impl From<golden::BlockError> for BlockError {
    fn from(error: golden::BlockError) -> Self {
        match error {
            golden::BlockError::Name(name) => Self::Name(name),
            other => Self::Unknown(other),
        }
    }
}

/// Names of all blocks of the C2P-Cache and of SnakeCharmer.
pub fn names() -> Vec<&'static str> {
    golden::BLOCKS.iter().chain(prefetch::BLOCKS).copied().collect()
}

/// The reset of a configuration: port name and its active level.
pub fn reset_of(config: &Config) -> Reset {
    match config.reset_style {
        ResetStyle::SyncHigh | ResetStyle::AsyncHigh => Reset::high("rst_i", 3),
        ResetStyle::SyncLow | ResetStyle::AsyncLow => Reset::low("rst_ni", 3),
    }
}

/// Inputs of repeated modules up to this width are kept apart in Verilator. Wider ones are buses for all instances, which would be copied for each.
const SEPARATE_WIDTH: u32 = 256;

/// The golden model of a block of the C2P-Cache or of SnakeCharmer, after reset.
///
/// # Errors
/// No block has that name; it is not built that often.
pub fn golden_block(config: &Config, name: &str, instance: usize) -> Result<Box<dyn Block>, BlockError> {
    match prefetch::block(name, config) {
        Some(_) if instance > 0 => Err(golden::BlockError::Instance { name: name.into(), instance, last: 0 }.into()),
        Some(block) => Ok(block),
        None => Ok(golden::block(name, config, instance)?),
    }
}

/// Generates a block for co-simulation.
///
/// # Errors
/// See [`BlockError`].
pub fn design(config: &Config, name: &str, instance: usize) -> Result<Design, BlockError> {
    let model = golden_block(config, name, instance)?;
    let number = u32::try_from(instance).unwrap_or(u32::MAX);
    let module =
        if prefetch::BLOCKS.contains(&name) { prefetch_rtl::block(config, name, number) } else { rtl::block(config, name, number) };
    let module = module.ok_or_else(|| BlockError::Name(name.into()))??;
    let all: Vec<_> = model.inputs().into_iter().chain(model.outputs()).collect();
    let ports: Vec<PortSpec> = module
        .ports()
        .iter()
        .map(|p| {
            let spec =
                if p.dir == l1forge_hdl::rtl::Dir::Output { PortSpec::output(&p.name, p.width) } else { PortSpec::input(&p.name, p.width) };
            match all.iter().find(|m| m.name == p.name) {
                Some(m) if m.bits * m.count == p.width && m.count > 1 => spec.elements(m.bits),
                _ => spec,
            }
        })
        .collect();
    // Both sides must know the same ports.
    let reset = reset_of(config).port;
    let theirs: BTreeSet<(String, u32)> = all.iter().map(|p| (p.name.clone(), p.bits * p.count)).collect();
    let ours: BTreeSet<(String, u32)> =
        module.ports().iter().filter(|p| p.name != "clk_i" && p.name != reset).map(|p| (p.name.clone(), p.width)).collect();
    if ours != theirs {
        let list = |a: &BTreeSet<(String, u32)>, b: &BTreeSet<(String, u32)>| {
            a.difference(b).map(|p| format!("{}[{}]", p.0, p.1)).collect::<Vec<_>>().join(", ")
        };
        return Err(BlockError::Ports { block: name.into(), model: list(&theirs, &ours), module: list(&ours, &theirs) });
    }
    let top = module.name().to_string();
    let generated = l1forge_hdl::rtl::Design::new(module)?;
    let inputs = |m: &l1forge_hdl::rtl::Module| {
        let narrow = |p: &&l1forge_hdl::rtl::Port| p.dir == l1forge_hdl::rtl::Dir::Input && p.width <= SEPARATE_WIDTH;
        m.ports().iter().filter(narrow).map(|p| (m.name().to_string(), p.name.clone())).collect::<Vec<_>>()
    };
    let separate = generated.modules().iter().filter(|m| m.is_repeated() && m.name() != top).flat_map(|m| inputs(m)).collect();
    let clocked = ports.iter().any(|p| p.name == "clk_i");
    let design = Design::new(top).sources(generated.files()).ports(ports).separate(separate);
    Ok(if clocked { design.clock("clk_i") } else { design })
}

/// Where one port of a model lies in the flat values of a run.
struct Place {
    port: Port,
    bits: u32,
    count: u32,
    words: usize,
    /// The port that says whether an element means something.
    valid: Option<Valid>,
}

/// Position of a port that says whether another means something.
#[derive(Clone, Copy)]
enum Valid {
    Output(usize),
    Input(usize),
}

/// Copies between the ports of a model and the flat values of a run.
pub struct Wiring {
    inputs: Vec<Place>,
    outputs: Vec<Place>,
    reset: Option<(Port, u64)>,
}

impl Wiring {
    /// Looks up the ports of a model.
    ///
    /// # Panics
    /// A port is missing; [`design`] has checked that none is.
    pub fn new(config: &Config, interface: &Interface, model: &dyn Block) -> Self {
        let (inputs, outputs) = (model.inputs(), model.outputs());
        let valid = |name: &String| {
            let at = |list: &[l1forge_sim::block::Port]| list.iter().position(|p| p.name == *name);
            at(&outputs).map(Valid::Output).or_else(|| at(&inputs).map(Valid::Input))
        };
        let place = |p: &l1forge_sim::block::Port, dir: Dir| {
            let port = if dir == Dir::Input { interface.input(&p.name) } else { interface.output(&p.name) };
            Place {
                port: port.unwrap_or_else(|e| panic!("{e}")),
                bits: p.bits,
                count: p.count,
                words: p.words(),
                valid: p.valid.as_ref().and_then(valid),
            }
        };
        let reset = reset_of(config);
        Self {
            inputs: inputs.iter().map(|p| place(p, Dir::Input)).collect(),
            outputs: outputs.iter().map(|p| place(p, Dir::Output)).collect(),
            reset: interface.input(&reset.port).ok().map(|p| (p, u64::from(reset.active))),
        }
    }

    fn load(places: &[Place], values: &Values, signals: &mut Signals) {
        for (i, p) in places.iter().enumerate() {
            let words = signals.words_mut(i);
            for element in 0..p.count {
                for word in 0..p.words {
                    let at = word as u32 * 64;
                    words[element as usize * p.words + word] = values.get_bits(p.port, element * p.bits + at, (p.bits - at).min(64));
                }
            }
        }
    }

    fn store(places: &[Place], signals: &Signals, values: &mut Values) {
        for (i, p) in places.iter().enumerate() {
            let words = signals.words(i);
            for element in 0..p.count {
                for word in 0..p.words {
                    let at = word as u32 * 64;
                    values.set_bits(p.port, element * p.bits + at, (p.bits - at).min(64), words[element as usize * p.words + word]);
                }
            }
        }
    }

    /// Reads the inputs of a run.
    pub fn read_inputs(&self, values: &Values, signals: &mut Signals) {
        Self::load(&self.inputs, values, signals);
    }

    /// Reads the outputs of a run.
    pub fn read_outputs(&self, values: &Values, signals: &mut Signals) {
        Self::load(&self.outputs, values, signals);
    }

    /// Writes inputs for a run.
    pub fn write_inputs(&self, signals: &Signals, values: &mut Values) {
        Self::store(&self.inputs, signals, values);
    }

    /// Reset is active.
    pub fn in_reset(&self, values: &Values) -> bool {
        self.reset.is_some_and(|(port, active)| values.get(port) == active)
    }
}

/// A golden model as a lockstep model.
pub struct BlockModel<B: Block = Box<dyn Block>> {
    block: B,
    wiring: Wiring,
    inputs: Signals,
    outputs: Signals,
    /// Outputs that hold unreset state without a valid: compared from the first time they mean something.
    late: Late,
}

/// See the introduction of docs/blocks/ports.md.
enum Late {
    None,
    /// `and_reduction`: candidates after the first start.
    Candidates(bool),
    /// `snapshot_matrix`: rows written so far (by bank and row), elements read since.
    Reads {
        written: BTreeSet<(usize, u64)>,
        known: Vec<bool>,
        banks: usize,
    },
}

impl<B: Block> BlockModel<B> {
    /// A model in its state after reset.
    pub fn new(config: &Config, interface: &Interface, block: B) -> Self {
        let late = match block.name() {
            "and_reduction" => Late::Candidates(false),
            "snapshot_matrix" => {
                let elements = (config.copies * config.banks) as usize;
                Late::Reads { written: BTreeSet::new(), known: vec![false; elements], banks: config.banks as usize }
            }
            _ => Late::None,
        };
        Self {
            wiring: Wiring::new(config, interface, &block),
            inputs: Signals::new(&block.inputs()),
            outputs: Signals::new(&block.outputs()),
            block,
            late,
        }
    }

    /// The golden model.
    pub fn block(&self) -> &B {
        &self.block
    }
}

impl<B: Block> Model for BlockModel<B> {
    fn comb(&mut self, inputs: &Values, outputs: &mut Values) {
        self.wiring.read_inputs(inputs, &mut self.inputs);
        self.block.eval(&self.inputs, &mut self.outputs);
        Wiring::store(&self.wiring.outputs, &self.outputs, outputs);
    }

    fn forgive(&mut self, expected: &mut Values, got: &Values) {
        for (i, p) in self.wiring.outputs.iter().enumerate() {
            let pardon: Box<dyn Fn(u32) -> bool> = match (&p.valid, &self.late) {
                (Some(v), _) => {
                    let (signals, v) = match *v {
                        Valid::Output(v) => (&self.outputs, v),
                        Valid::Input(v) => (&self.inputs, v),
                    };
                    let (words, valid) = (signals.ports()[v].words(), signals.words(v));
                    Box::new(move |e| valid[e as usize * words..(e as usize + 1) * words].iter().all(|w| *w == 0))
                }
                (None, Late::Candidates(started)) if i == 0 => {
                    let started = *started;
                    Box::new(move |_| !started)
                }
                (None, Late::Reads { known, .. }) => Box::new(move |e| !known[e as usize]),
                _ => continue,
            };
            for element in (0..p.count).filter(|e| pardon(*e)) {
                for word in 0..p.words {
                    let (at, width) = (element * p.bits + word as u32 * 64, (p.bits - word as u32 * 64).min(64));
                    expected.set_bits(p.port, at, width, got.get_bits(p.port, at, width));
                }
            }
        }
    }

    fn clock(&mut self, inputs: &Values) {
        if self.wiring.in_reset(inputs) {
            return; // the model is in its state after reset already
        }
        self.wiring.read_inputs(inputs, &mut self.inputs);
        let input = |name: &str| self.inputs.index(name);
        match &mut self.late {
            Late::None => {}
            Late::Candidates(started) => *started |= self.inputs.get(input("start_i"), 0) != 0,
            Late::Reads { written, known, banks } => {
                let (read, row) = (input("read_valid_i"), input("read_row_i"));
                for (e, known) in known.iter_mut().enumerate() {
                    if self.inputs.get(read, e) != 0 {
                        *known = written.contains(&(e % *banks, self.inputs.get(row, e)));
                    }
                }
                // Only a write of every bit defines a row.
                let (write, row, mask) = (input("write_valid_i"), input("write_row_i"), input("write_mask_i"));
                let words = self.inputs.ports()[mask].words();
                let bits = self.inputs.ports()[mask].bits;
                for b in 0..*banks {
                    let whole = self.inputs.words(mask)[b * words..(b + 1) * words].iter().map(|w| w.count_ones()).sum::<u32>() == bits;
                    if self.inputs.get(write, b) != 0 && whole {
                        written.insert((b, self.inputs.get(row, b)));
                    }
                }
            }
        }
        self.block.clock(&self.inputs);
    }
}
