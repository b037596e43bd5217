//! Random, legal stimulus for every block of the C2P-Cache and of SnakeCharmer.
//!
//! [`for_block`] gives a test bench that drives the inputs of one block for ever; a run ends with `max_cycles`. The rules of what is
//! legal are those of `docs/blocks`: a query is only allocated in a free slot, rows come only after their lookup was granted, encoded
//! indices come exactly `engine_latency` − 1 cycles after the dispatch, answers only for what is outstanding, numbers are in range, the
//! time base counts, deadlines are those of a probe that can still be accepted. Everything else is random.
//!
//! A bench keeps a golden model of its own in the same state as the design, so that it knows the handshakes of the current cycle. The
//! lockstep compares the outputs of the design with another one in every cycle; once they differ the run is over.
//!
//! # Phases
//!
//! A run is a sequence of phases of 1 to some hundred cycles. Each phase draws a probability for every kind of event on its own, among
//! them never and always, so that idle, saturated and stalled channels meet in all combinations; every fourth phase is busy on all
//! channels. In some phases numbers and tags come from very few values, so that requests meet at the same place.
//!
//! [`record`] writes the stimulus and what the model says to a file, for a replay in Icarus Verilog without any Verilator build.

mod drivers;
mod prefetch;
mod replay;

pub use replay::{Replay, ReplayError, record};

use crate::block::{Wiring, golden_block};
use crate::lockstep::Testbench;
use crate::ports::{Interface, Values};
use l1forge_config::Config;
use l1forge_sim::block::{Block, Signals};
use l1forge_sim::snakecharmer;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;

/// Different probabilities of one phase.
const KNOBS: usize = 12;

/// What a phase of the run is like.
struct Phase {
    /// Cycles left.
    left: u32,
    /// Probabilities, for each driver to use as it likes.
    knobs: [f64; KNOBS],
    /// Numbers and tags are from very few values.
    few: bool,
    base: u64,
    tags: [u64; 4],
}

impl Phase {
    const LEVELS: [f64; 7] = [0.0, 0.04, 0.3, 0.5, 0.8, 1.0, 1.0];

    fn random(rng: &mut ChaCha8Rng) -> Self {
        let longest = [12, 100, 100, 400][rng.random_range(0..4)];
        let busy = rng.random_bool(0.25);
        let mut knobs = [0.0; KNOBS];
        for knob in &mut knobs {
            *knob = if busy { [0.5, 0.9, 1.0][rng.random_range(0..3)] } else { Self::LEVELS[rng.random_range(0..Self::LEVELS.len())] };
        }
        Self { left: rng.random_range(1..=longest), knobs, few: rng.random_bool(0.4), base: rng.random::<u64>() >> 2, tags: rng.random() }
    }
}

/// What a driver works with: the block's model, the values of the cycle, randomness.
struct Io {
    shadow: Box<dyn Block>,
    inputs: Signals,
    outputs: Signals,
    rng: ChaCha8Rng,
    phase: Phase,
    tag_bits: u32,
    banks: u64,
    rows: u64,
    row_bits: u32,
    index_bits: u32,
    cycle: u64,
}

impl Io {
    /// Lets the model say what the outputs are with the inputs set so far.
    fn eval(&mut self) {
        self.shadow.eval(&self.inputs, &mut self.outputs);
    }

    /// True with the probability of a knob.
    fn chance(&mut self, knob: usize) -> bool {
        self.rng.random_bool(self.phase.knobs[knob])
    }

    /// True with probability `p`.
    fn rarely(&mut self, p: f64) -> bool {
        self.rng.random_bool(p)
    }

    fn set(&mut self, port: &str, element: usize, value: u64) {
        let port = self.inputs.index(port);
        self.inputs.set(port, element, value);
    }

    fn flag(&mut self, port: &str, element: usize, value: bool) {
        self.set(port, element, u64::from(value));
    }

    fn input(&self, port: &str, element: usize) -> u64 {
        self.inputs.get(self.inputs.index(port), element)
    }

    fn output(&self, port: &str, element: usize) -> u64 {
        self.outputs.get(self.outputs.index(port), element)
    }

    /// Both sides of a handshake.
    fn both(&self, output: &str, input: &str, element: usize) -> bool {
        self.output(output, element) != 0 && self.input(input, element) != 0
    }

    /// A number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        if self.phase.few { (self.phase.base + self.rng.random_range(0..3)) % limit } else { self.rng.random_range(0..limit) }
    }

    /// A tag: random, one of few, or one with a simple pattern.
    fn tag(&mut self) -> u64 {
        let value: u64 = match self.rng.random_range(0..10) {
            _ if self.phase.few => self.phase.tags[self.rng.random_range(0..4)],
            0 => self.rng.random_range(0..1024),
            1 => 1 << self.rng.random_range(0..self.tag_bits),
            2 => u64::MAX,
            _ => self.rng.random(),
        };
        value & (u64::MAX >> (64 - self.tag_bits))
    }

    /// An index `{bank, row}`.
    fn index(&mut self) -> u64 {
        let (bank, row) = (self.below(self.banks), self.below(self.rows));
        bank << self.row_bits | row
    }

    /// Sets bits of a wide element.
    fn field(&mut self, port: &str, element: usize, low: u32, width: u32, value: u64) {
        let port = self.inputs.index(port);
        let words = self.inputs.ports()[port].words();
        let words = &mut self.inputs.words_mut(port)[element * words..(element + 1) * words];
        for bit in 0..width {
            let at = low + bit;
            let (word, mask) = (&mut words[at as usize / 64], 1 << (at % 64));
            if value >> bit & 1 != 0 { *word |= mask } else { *word &= !mask }
        }
    }

    /// Number of elements of an input.
    fn count(&self, port: &str) -> usize {
        self.inputs.ports()[self.inputs.index(port)].count as usize
    }

    /// Every bit of an element is 1 with the probability of a knob.
    fn random_bits(&mut self, port: &str, element: usize, knob: usize) {
        let bits = self.inputs.ports()[self.inputs.index(port)].bits;
        for bit in 0..bits {
            let value = u64::from(self.chance(knob));
            self.field(port, element, bit, 1, value);
        }
    }

    /// Every index field of an element gets an index in range.
    fn random_indices(&mut self, port: &str, element: usize) {
        let bits = self.inputs.ports()[self.inputs.index(port)].bits;
        for low in (0..bits).step_by(self.index_bits as usize) {
            let index = self.index();
            self.field(port, element, low, self.index_bits, index);
        }
    }
}

/// Drives the inputs of one kind of block.
trait Driver {
    /// Sets the inputs of a cycle. Those that are not set keep their value.
    fn drive(&mut self, io: &mut Io);

    /// Looks at the final inputs and outputs of the cycle.
    fn observe(&mut self, io: &Io) {
        let _ = io;
    }
}

/// The stimulus of one block, see [`for_block`].
pub struct BlockBench {
    wiring: Wiring,
    io: Io,
    driver: Box<dyn Driver>,
    /// Of the design.
    outputs: Signals,
}

impl BlockBench {
    /// Counters among the outputs (`count_NAME_o`), as the golden model and as the design had them in the last cycle: name, both values.
    pub fn counters(&self) -> Vec<(String, u64, u64)> {
        let ports = self.outputs.ports().iter().enumerate().filter(|(_, p)| p.count == 1 && p.bits <= 64);
        let named = ports.filter_map(|(port, p)| Some((port, p.name.strip_prefix("count_")?.strip_suffix("_o")?)));
        named.map(|(port, name)| (name.to_string(), self.io.outputs.get(port, 0), self.outputs.get(port, 0))).collect()
    }
}

impl Testbench for BlockBench {
    fn drive(&mut self, cycle: u64, _previous: &Values, inputs: &mut Values) -> ControlFlow<()> {
        let io = &mut self.io;
        io.cycle = cycle;
        if io.phase.left == 0 {
            io.phase = Phase::random(&mut io.rng);
        }
        io.phase.left -= 1;
        self.driver.drive(io);
        io.eval();
        self.driver.observe(io);
        io.shadow.clock(&io.inputs);
        self.wiring.write_inputs(&io.inputs, inputs);
        ControlFlow::Continue(())
    }

    fn observe(&mut self, _cycle: u64, _inputs: &Values, outputs: &Values) -> Result<(), String> {
        self.wiring.read_outputs(outputs, &mut self.outputs);
        Ok(())
    }
}

/// Random, legal stimulus for a block of [`l1forge_sim::c2p::BLOCKS`] or [`l1forge_sim::snakecharmer::BLOCKS`], without an end; the same seed gives the same run. `interface` is that
/// of the design, see [`crate::block::design`].
///
/// ```
/// use l1forge_verif::lockstep::Testbench;
/// use l1forge_verif::ports::{Interface, Values};
/// use l1forge_verif::{block, stimulus};
///
/// let config = l1forge_config::Settings::preset("paper").unwrap().resolve().unwrap();
/// let design = block::design(&config, "probe_order", 9).unwrap();
/// let interface = Interface::new(design.port_list().unwrap().to_vec(), None).unwrap();
/// let mut bench = stimulus::for_block("probe_order", &config, 9, &interface, 1);
/// let (outputs, mut inputs) = (Values::outputs(&interface), Values::inputs(&interface));
/// assert!(bench.drive(0, &outputs, &mut inputs).is_continue());
/// ```
///
/// # Panics
/// There is no such block or instance, or the interface is that of another block; `block::design` reports these.
pub fn for_block(name: &str, config: &Config, instance: usize, interface: &Interface, seed: u64) -> BlockBench {
    let shadow = golden_block(config, name, instance).unwrap_or_else(|e| panic!("{e}"));
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let phase = Phase::random(&mut rng);
    BlockBench {
        wiring: Wiring::new(config, interface, &*shadow),
        outputs: Signals::new(&shadow.outputs()),
        io: Io {
            inputs: Signals::new(&shadow.inputs()),
            outputs: Signals::new(&shadow.outputs()),
            shadow,
            rng,
            phase,
            tag_bits: config.tag_bits(),
            banks: config.banks.into(),
            rows: config.rows().into(),
            row_bits: config.row_bits(),
            index_bits: config.index_bits(),
            cycle: 0,
        },
        driver: if snakecharmer::BLOCKS.contains(&name) {
            prefetch::driver(name, config, seed)
        } else {
            drivers::driver(name, config, seed)
        },
    }
}
