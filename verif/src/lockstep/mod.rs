//! Runs a design and its golden model in lockstep: the same inputs, every output compared in every cycle.
//!
//! A [`Model`] says what the outputs must be, a [`Testbench`] drives the inputs and looks at the outputs (scoreboards, coverage). A
//! [`Lockstep`] runs them against one [`Dut`]; a [`Session`] does the whole: build, run, and after a failure run again with waves.
//!
//! # One cycle
//!
//! 1. [`Testbench::drive`] sets the inputs; it has seen the outputs of the cycle before.
//! 2. The design settles, [`Model::comb`] computes the outputs from its registers and the same inputs.
//! 3. All outputs are compared.
//! 4. [`Testbench::observe`] sees inputs and outputs of this cycle.
//! 5. Clock edge: [`Dut::tick`] and [`Model::clock`].

mod session;

pub use session::{Failure, Outcome, Session, SessionError, seed_from_env, test_command};

use std::collections::VecDeque;
use std::fmt;
use std::fmt::Write as _;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::build::{BuildError, Builder, Design, Waves};
use crate::code_coverage::CodeCoverage;
use crate::dut::{Dut, DutError, Init};
use crate::ports::{Interface, Port, PortError, Values, hex_of};
use crate::record::Recorder;

/// A cycle-accurate golden model.
pub trait Model {
    /// Sets *all* outputs of this cycle from the registers and the inputs. Called once per cycle.
    fn comb(&mut self, inputs: &Values, outputs: &mut Values);

    /// Takes over into `expected` what the design may choose freely in this cycle, from its outputs `got`: a payload without its
    /// valid, state that is not reset. Called after [`comb`](Model::comb), before the comparison.
    fn forgive(&mut self, expected: &mut Values, got: &Values) {
        let _ = (expected, got);
    }

    /// The clock edge: registers take their new values. `inputs` are those of the preceding [`comb`](Model::comb).
    fn clock(&mut self, inputs: &Values);
}

/// Drives the inputs of a run and looks at its outputs.
///
/// A closure `FnMut(cycle, previous, inputs) -> ControlFlow<()>` is a test bench that only drives.
pub trait Testbench {
    /// Sets the inputs of a cycle; those that are not set keep their value. `cycle` counts from 0, without the reset cycles;
    /// `previous` holds the outputs of the cycle before. `Break` ends the run before this cycle.
    fn drive(&mut self, cycle: u64, previous: &Values, inputs: &mut Values) -> ControlFlow<()>;

    /// Looks at a cycle in which all outputs were right.
    ///
    /// # Errors
    /// When something else is wrong, for example a scoreboard does not match; the run fails.
    fn observe(&mut self, cycle: u64, inputs: &Values, outputs: &Values) -> Result<(), String> {
        let _ = (cycle, inputs, outputs);
        Ok(())
    }

    /// Called once after the last cycle.
    ///
    /// # Errors
    /// When something is wrong, for example requests are outstanding; the run fails.
    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

impl<F: FnMut(u64, &Values, &mut Values) -> ControlFlow<()>> Testbench for F {
    fn drive(&mut self, cycle: u64, previous: &Values, inputs: &mut Values) -> ControlFlow<()> {
        self(cycle, previous, inputs)
    }
}

/// The reset of a run: cycles before the first one, in which nothing is compared, because registers are not yet defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reset {
    /// Name of the one-bit reset input.
    pub port: String,
    /// Level that resets.
    pub active: bool,
    /// Number of cycles.
    pub cycles: u32,
}

impl Reset {
    /// A reset that is active at 1.
    pub fn high(port: impl Into<String>, cycles: u32) -> Self {
        Self { port: port.into(), active: true, cycles }
    }

    /// A reset that is active at 0.
    pub fn low(port: impl Into<String>, cycles: u32) -> Self {
        Self { port: port.into(), active: false, cycles }
    }
}

/// A run that ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Cycles compared, without the reset cycles.
    pub cycles: u64,
}

/// An output that is not what the model says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Cycle, from 0 after reset.
    pub cycle: u64,
    /// Port.
    pub port: String,
    /// First element of a packed bus that differs.
    pub element: Option<u32>,
    /// What the model says, in hexadecimal: the element, or the port if it has no elements.
    pub expected: String,
    /// What the design says.
    pub got: String,
    /// Names of all ports that differ in this cycle.
    pub ports: Vec<String>,
    /// The last cycles, one paragraph each.
    pub history: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycle {}: {}", self.cycle, self.port)?;
        if let Some(element) = self.element {
            write!(f, "[{element}]")?;
        }
        writeln!(f, " is {}, the model says {}", self.got, self.expected)?;
        if self.ports.len() > 1 {
            writeln!(f, "ports that differ: {}", self.ports.join(", "))?;
        }
        write!(f, "{}", self.history)
    }
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockstepError {
    /// An output differs from the model.
    #[error("{0}")]
    Mismatch(Box<Mismatch>),
    /// The design stopped itself.
    #[error(transparent)]
    Dut(#[from] DutError),
    /// The test bench is not content.
    #[error("cycle {cycle}: {message}\n{history}")]
    Testbench {
        /// Cycle, from 0 after reset.
        cycle: u64,
        /// What it says.
        message: String,
        /// The last cycles, one paragraph each.
        history: String,
    },
    /// The reset input is not there.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The recording cannot be written.
    #[error("recording: {0}")]
    Recording(#[from] io::Error),
}

impl LockstepError {
    /// The cycle of the failure, from 0 after reset.
    pub fn cycle(&self) -> Option<u64> {
        match self {
            LockstepError::Mismatch(mismatch) => Some(mismatch.cycle),
            LockstepError::Testbench { cycle, .. } => Some(*cycle),
            LockstepError::Dut(_) | LockstepError::Port(_) | LockstepError::Recording(_) => None,
        }
    }
}

/// Cycles that are kept for the report of a failure.
const HISTORY: usize = 6;

/// One run of a design against its model.
pub struct Lockstep<'a> {
    dut: &'a mut Dut,
    reset: Option<Reset>,
    recorder: Option<&'a mut Recorder>,
    max_cycles: u64,
    waves: Option<(u64, PathBuf)>,
}

impl<'a> Lockstep<'a> {
    /// A run of `dut`, which should be fresh, like the model.
    pub fn new(dut: &'a mut Dut) -> Self {
        Self { dut, reset: None, recorder: None, max_cycles: u64::MAX, waves: None }
    }

    /// Starts with a reset.
    #[must_use]
    pub fn reset(mut self, reset: Reset) -> Self {
        self.reset = Some(reset);
        self
    }

    /// Writes all inputs and outputs down.
    #[must_use]
    pub fn record(mut self, recorder: &'a mut Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Ends after so many cycles if the test bench does not end earlier.
    #[must_use]
    pub fn max_cycles(mut self, cycles: u64) -> Self {
        self.max_cycles = cycles;
        self
    }

    /// Writes waves from cycle `from` on (0 includes the reset). The design must have been built with waves.
    #[must_use]
    pub fn waves(mut self, from: u64, path: impl Into<PathBuf>) -> Self {
        self.waves = Some((from, path.into()));
        self
    }

    /// Runs until the test bench ends it, the cycles are over, or something is wrong.
    ///
    /// # Errors
    /// See [`LockstepError`].
    pub fn run(mut self, model: &mut dyn Model, bench: &mut dyn Testbench) -> Result<Report, LockstepError> {
        let result = self.run_cycles(model, bench);
        if let Some(recorder) = &mut self.recorder {
            recorder.flush()?;
        }
        if self.waves.is_some() {
            self.dut.close_waves()?;
        }
        result
    }

    fn run_cycles(&mut self, model: &mut dyn Model, bench: &mut dyn Testbench) -> Result<Report, LockstepError> {
        let interface = Arc::clone(self.dut.interface());
        let mut inputs = Values::inputs(&interface);
        let mut expected = Values::outputs(&interface);
        let mut outputs = Values::outputs(&interface);
        let mut history = History::new(&interface);
        if let Some((0, path)) = &self.waves {
            self.dut.open_waves(path)?;
        }
        if let Some(reset) = self.reset.take() {
            let port = interface.input(&reset.port)?;
            inputs.set(port, u64::from(reset.active));
            for _ in 0..reset.cycles {
                self.dut.poke_all(&inputs);
                self.dut.settle()?;
                model.comb(&inputs, &mut expected);
                if let Some(recorder) = &mut self.recorder {
                    recorder.write(&inputs, &expected, false)?;
                }
                self.dut.tick()?;
                model.clock(&inputs);
            }
            inputs.set(port, u64::from(!reset.active));
        }
        let mut cycle = 0;
        while cycle < self.max_cycles {
            if let Some((from, path)) = &self.waves
                && *from == cycle
                && cycle > 0
            {
                self.dut.open_waves(path)?;
            }
            if bench.drive(cycle, &outputs, &mut inputs).is_break() {
                break;
            }
            self.dut.poke_all(&inputs);
            self.dut.settle()?;
            self.dut.peek_all(&mut outputs);
            model.comb(&inputs, &mut expected);
            model.forgive(&mut expected, &outputs);
            history.push(cycle, &inputs, &outputs);
            if outputs.raw() != expected.raw() {
                let mismatch = describe(cycle, &expected, &outputs, history.text());
                // For the waves: the edge after the failure.
                let _ = self.dut.tick();
                return Err(LockstepError::Mismatch(Box::new(mismatch)));
            }
            if let Some(recorder) = &mut self.recorder {
                recorder.write(&inputs, &expected, true)?;
            }
            if let Err(message) = bench.observe(cycle, &inputs, &outputs) {
                return Err(LockstepError::Testbench { cycle, message, history: history.text() });
            }
            self.dut.tick()?;
            model.clock(&inputs);
            cycle += 1;
        }
        bench.finish().map_err(|message| LockstepError::Testbench { cycle, message, history: history.text() })?;
        Ok(Report { cycles: cycle })
    }
}

/// Finds the first difference.
pub(crate) fn describe(cycle: u64, expected: &Values, outputs: &Values, history: String) -> Mismatch {
    let interface = outputs.interface();
    let differing: Vec<Port> = outputs.differences(expected).collect();
    let port = differing[0];
    let spec = interface.spec(port);
    let ports = differing.iter().map(|&port| interface.spec(port).name.clone()).collect();
    let mut mismatch =
        Mismatch { cycle, port: spec.name.clone(), element: None, expected: expected.hex(port), got: outputs.hex(port), ports, history };
    if spec.elem < spec.width {
        let element = |values: &Values, index| element_words(values, port, index, spec.elem);
        let index = (0..spec.width / spec.elem)
            .find(|&index| element(expected, index) != element(outputs, index))
            .expect("the port differs, so one of its elements does");
        mismatch.element = Some(index);
        mismatch.expected = hex_of(&element(expected, index), spec.elem);
        mismatch.got = hex_of(&element(outputs, index), spec.elem);
    }
    mismatch
}

/// An element of any width as 64-bit words.
fn element_words(values: &Values, port: Port, index: u32, width: u32) -> Vec<u64> {
    let low = index * width;
    (0..width).step_by(64).map(|bit| values.get_bits(port, low + bit, (width - bit).min(64))).collect()
}

/// The last cycles of a run.
struct History {
    cycles: VecDeque<(u64, Values, Values)>,
    interface: Arc<Interface>,
}

impl History {
    fn new(interface: &Arc<Interface>) -> Self {
        Self { cycles: VecDeque::with_capacity(HISTORY), interface: Arc::clone(interface) }
    }

    fn push(&mut self, cycle: u64, inputs: &Values, outputs: &Values) {
        if self.cycles.len() < HISTORY {
            self.cycles.push_back((cycle, inputs.clone(), outputs.clone()));
        } else if let Some(mut oldest) = self.cycles.pop_front() {
            oldest.0 = cycle;
            oldest.1.copy_from(inputs);
            oldest.2.copy_from(outputs);
            self.cycles.push_back(oldest);
        }
    }

    fn text(&self) -> String {
        let mut text = String::from("the last cycles of the design:");
        for (cycle, inputs, outputs) in &self.cycles {
            let (inputs, outputs) = (self.line(inputs), self.line(outputs));
            let _ = write!(text, "\n  cycle {cycle}\n    in  {inputs}\n    out {outputs}");
        }
        text
    }

    /// All ports on one line; of packed buses and wide ports only what is not zero, and not too much of it.
    fn line(&self, values: &Values) -> String {
        const ELEMENTS: usize = 8;
        const DIGITS: usize = 32;
        let mut line = String::new();
        for port in values.ports() {
            let spec = self.interface.spec(port);
            let separator = if line.is_empty() { "" } else { " " };
            let _ = write!(line, "{separator}{}=", spec.name);
            if spec.elem < spec.width && spec.width > 1 {
                let nonzero: Vec<_> = (0..spec.width / spec.elem)
                    .map(|index| (index, element_words(values, port, index, spec.elem)))
                    .filter(|(_, words)| words.iter().any(|&word| word != 0))
                    .collect();
                line.push('{');
                for (place, (index, words)) in nonzero.iter().take(ELEMENTS).enumerate() {
                    let separator = if place == 0 { "" } else { " " };
                    let _ = write!(line, "{separator}{index}:{}", shorten(&hex_of(words, spec.elem), DIGITS));
                }
                if nonzero.len() > ELEMENTS {
                    let _ = write!(line, " and {} more", nonzero.len() - ELEMENTS);
                }
                line.push('}');
            } else {
                line.push_str(&shorten(&values.hex(port), DIGITS));
            }
        }
        line
    }
}

/// Hexadecimal digits without the middle of a long row.
fn shorten(digits: &str, limit: usize) -> String {
    let trimmed = digits.trim_start_matches('0');
    let digits = if digits.len() > limit { if trimmed.is_empty() { "0" } else { trimmed } } else { digits };
    if digits.len() <= limit {
        return digits.to_owned();
    }
    format!("{}..{}", &digits[..limit / 2], &digits[digits.len() - limit / 2..])
}
