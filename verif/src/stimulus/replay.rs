//! The stimulus of a block with the outputs that the golden model says, for a replay in Icarus Verilog.

use super::for_block;
use crate::block::{BlockError, BlockModel, design, golden_block, reset_of};
use crate::build::Design;
use crate::lockstep::{Model, Testbench};
use crate::ports::{Interface, PortError, Values};
use crate::record::{Recorder, Recording};
use l1forge_config::Config;
use l1forge_sim::block::Port;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What [`record`] makes.
pub struct Replay {
    /// The block in a wrapper of the same ports, named `l1forge_masked`, in which a payload without its valid is 0: what means
    /// nothing cannot differ, whatever means something must be defined and right.
    pub design: Design,
    /// The run.
    pub recording: Recording,
}

/// Why there is no replay.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// No such block.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// The block has ports that a recording cannot have.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Its candidates are undefined before the first start.
const AND_REDUCTION: &str = "and_reduction";

/// Name of the wrapper.
const WRAPPER: &str = "l1forge_masked";

/// Runs the golden model of a block under [`for_block`] and writes `cycles` cycles, after a reset, to `path`.
///
/// # Errors
/// See [`ReplayError`].
pub fn record(name: &str, config: &Config, instance: usize, seed: u64, cycles: u64, path: &Path) -> Result<Replay, ReplayError> {
    let inner = design(config, name, instance)?;
    let ports = inner.port_list().expect("a design of a block has its ports").to_vec();
    let clocked = ports.iter().any(|p| p.name == "clk_i");
    let interface: Arc<Interface> = Interface::new(ports.clone(), clocked.then_some("clk_i"))?;
    let block = golden_block(config, name, instance)?;
    let outputs = block.outputs();
    let mut model = BlockModel::new(config, &interface, block);
    let mut bench = for_block(name, config, instance, &interface, seed);
    let mut recorder = Recorder::create(path, &interface)?;
    let (mut values, mut expected) = (Values::inputs(&interface), Values::outputs(&interface));
    let reset = reset_of(config);
    if let Ok(port) = interface.input(&reset.port) {
        values.set(port, u64::from(reset.active));
        for _ in 0..reset.cycles {
            recorder.write(&values, &expected, false)?;
        }
        values.set(port, u64::from(!reset.active));
    }
    let mut started = false;
    for cycle in 0..cycles {
        let previous = expected.clone();
        if bench.drive(cycle, &previous, &mut values).is_break() {
            break;
        }
        model.comb(&values, &mut expected);
        mask(&outputs, &interface, &values, &mut expected);
        if name == AND_REDUCTION {
            if !started {
                let port = interface.output("candidates_o")?;
                expected.set_words(port, &vec![0; port.words()]);
            }
            started |= values.get(interface.input("start_i")?) != 0;
        }
        recorder.write(&values, &expected, true)?;
        model.clock(&values);
    }
    let recording = recorder.finish()?;
    let wrapper = wrapper(&inner, &interface, &outputs);
    let mut design =
        Design::new(WRAPPER).sources(inner.source_files().iter().cloned()).source(format!("{WRAPPER}.v"), wrapper).ports(ports);
    if clocked {
        design = design.clock("clk_i");
    }
    Ok(Replay { design, recording })
}

/// Sets payloads without their valid to 0.
fn mask(outputs: &[Port], interface: &Interface, inputs: &Values, values: &mut Values) {
    for p in outputs {
        let (Some(valid), Ok(port)) = (&p.valid, interface.output(&p.name)) else { continue };
        let Ok(valid) = interface.output(valid) else {
            let off = interface.input(valid).is_ok_and(|valid| inputs.get(valid) == 0);
            (0..p.bits).filter(|_| off).for_each(|bit| values.set_bit(port, bit, false));
            continue;
        };
        let width = valid.width() / p.count;
        for element in (0..p.count).filter(|e| (0..width).all(|bit| !values.get_bit(valid, e * width + bit))).collect::<Vec<_>>() {
            (0..p.bits).for_each(|bit| values.set_bit(port, element * p.bits + bit, false));
        }
    }
}

/// Does the same in Verilog.
fn wrapper(design: &Design, interface: &Interface, outputs: &[Port]) -> String {
    let (mut ports, mut wires, mut connections, mut assigns) = (Vec::new(), String::new(), Vec::new(), String::new());
    for spec in interface.specs() {
        let (name, high) = (&spec.name, spec.width - 1);
        let Some(port) = outputs.iter().find(|p| p.name == *name) else {
            ports.push(format!("input wire [{high}:0] {name}"));
            connections.push(format!(".{name}({name})"));
            continue;
        };
        ports.push(format!("output wire [{high}:0] {name}"));
        let _ = writeln!(wires, "  wire [{high}:0] inner_{name};");
        connections.push(format!(".{name}(inner_{name})"));
        match &port.valid {
            None if design.top() == AND_REDUCTION && name == "candidates_o" => {
                let reset = interface.specs().iter().find(|s| s.name.starts_with("rst_")).map_or("", |s| &s.name);
                let active = if reset.ends_with("ni") { format!("~{reset}") } else { reset.to_string() };
                let _ = writeln!(wires, "  reg started;");
                let _ = writeln!(assigns, "  always @(posedge clk_i) started <= ~({active}) & (start_i | started);");
                let _ = writeln!(assigns, "  assign {name} = started ? inner_{name} : {}'b0;", port.bits);
            }
            None => {
                let _ = writeln!(assigns, "  assign {name} = inner_{name};");
            }
            Some(valid) => {
                let width = outputs.iter().find(|p| p.name == *valid).map_or(1, |p| p.bits);
                for e in 0..port.count {
                    let (low, at) = (e * port.bits, e * width);
                    let (bits, of) = (format!("[{}:{low}]", low + port.bits - 1), format!("[{}:{at}]", at + width - 1));
                    let _ = writeln!(assigns, "  assign {name}{bits} = (|{valid}{of}) ? inner_{name}{bits} : {}'b0;", port.bits);
                }
            }
        }
    }
    format!(
        "`timescale 1ns / 1ps\nmodule {WRAPPER} (\n  {}\n);\n{wires}  {} inner (\n    {}\n  );\n{assigns}endmodule\n",
        ports.join(",\n  "),
        design.top(),
        connections.join(",\n    ")
    )
}
