//! Icarus Verilog as a second simulator: runs the cycles of a [`Recording`] and compares every output.
//!
//! Icarus knows undefined values, which Verilator does not: outputs are compared with `!==`, so that an `x` or `z` is a mismatch. The
//! inputs change with the falling clock and the outputs are sampled before the rising one, as in [`crate::dut`].

use std::fmt;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::build::{Design, write_sources};
use crate::cache::{At as _, IoError};
use crate::ports::Dir;
use crate::record::Recording;
use crate::tools::{MissingTool, Tool, Toolbox};

/// A wrong output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IcarusMismatch {
    /// Cycle of the recording, from 0, reset cycles included.
    pub cycle: u64,
    /// Port.
    pub port: String,
    /// The right value, in hexadecimal.
    pub expected: String,
    /// The value of the design, in hexadecimal, with `x` and `z` (`X` and `Z` where a part of a digit is undefined).
    pub got: String,
}

impl fmt::Display for IcarusMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycle {}: {} is {}, expected {}", self.cycle, self.port, self.got, self.expected)
    }
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IcarusReport {
    /// Cycles run, reset cycles included.
    pub cycles: u64,
    /// Wrong outputs, counted per port and cycle.
    pub mismatches: u64,
    /// The first of them.
    pub first: Vec<IcarusMismatch>,
    /// The version of Icarus Verilog.
    pub version: String,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IcarusError {
    /// Icarus Verilog is missing.
    #[error(transparent)]
    MissingTool(#[from] MissingTool),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The compiler refuses the sources.
    #[error("Icarus Verilog refuses `{top}`:\n{output}")]
    Compile {
        /// Top module.
        top: String,
        /// What it says.
        output: String,
    },
    /// The run did not come to its end, for example because the design calls `$finish`.
    #[error("Icarus Verilog ended `{top}` after {} of {expected} cycles:\n{output}", cycles.map_or_else(|| "an unknown number".into(), |n| n.to_string()))]
    Ended {
        /// Top module.
        top: String,
        /// Cycles run, if the bench could still tell.
        cycles: Option<u64>,
        /// Cycles of the recording.
        expected: u64,
        /// The end of its output.
        output: String,
    },
}

/// Runs recordings in Icarus Verilog.
#[derive(Debug, Clone)]
pub struct Icarus {
    tools: Toolbox,
    limit: u32,
    first: bool,
    keep: Option<PathBuf>,
}

impl Icarus {
    /// Uses the programs of a toolbox.
    pub fn new(tools: Toolbox) -> Self {
        Self { tools, limit: 10, first: false, keep: None }
    }

    /// Reports so many mismatches with their values; all are counted. The default is 10.
    #[must_use]
    pub fn report_limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }

    /// Ends a run with its first wrong cycle, when only whether there is one counts.
    #[must_use]
    pub fn stop_at_mismatch(mut self) -> Self {
        self.first = true;
        self
    }

    /// Leaves sources, bench and compiled design in `folder`, from where the run can be repeated by hand.
    #[must_use]
    pub fn keep(mut self, folder: impl Into<PathBuf>) -> Self {
        self.keep = Some(folder.into());
        self
    }

    /// Runs all cycles of a recording. Sources and macros are those of `design`, the ports those of the recording.
    ///
    /// The run streams the recording: it needs memory for one cycle.
    ///
    /// # Errors
    /// See [`IcarusError`]; mismatches are no error but part of the report.
    pub fn run(&self, design: &Design, recording: &Recording) -> Result<IcarusReport, IcarusError> {
        let version = self.tools.version(Tool::Iverilog)?;
        self.tools.find(Tool::Vvp)?;
        let temporary = tempfile::tempdir().at(std::env::temp_dir())?;
        let folder = match &self.keep {
            Some(folder) => {
                fs::create_dir_all(folder).at(folder)?;
                std::path::absolute(folder).at(folder)?
            }
            None => temporary.path().to_owned(),
        };
        let sources = folder.join("src");
        write_sources(design, &sources)?;
        let bench = folder.join("l1forge_bench.v");
        fs::write(&bench, self.bench(design, recording)?).at(&bench)?;

        let mut compiler = self.tools.command(Tool::Iverilog)?;
        let generation = if design.source_files().iter().any(|(name, _)| name.ends_with(".sv")) { "-g2012" } else { "-g2005" };
        compiler.args([generation, "-s", "l1forge_bench", "-o", "../l1forge_bench.vvp"]);
        compiler.args(design.define_list().iter().map(|(name, value)| format!("-D{name}={value}")));
        compiler.arg("../l1forge_bench.v").args(design.source_files().iter().map(|(name, _)| name)).current_dir(&sources);
        let output = compiler.output().at(Path::new("iverilog"))?;
        if !output.status.success() {
            let text = [output.stdout, output.stderr].concat();
            let output = String::from_utf8_lossy(&text).into_owned();
            return Err(IcarusError::Compile { top: design.top().to_owned(), output });
        }

        // -n: $stop ends the run, it would wait for input otherwise.
        let mut vvp = self.tools.command(Tool::Vvp)?;
        vvp.args(["-n", "l1forge_bench.vvp"]).current_dir(&folder);
        self.collect(vvp, design, recording, version)
    }

    /// Runs the compiled bench and reads what it reports.
    fn collect(&self, mut vvp: Command, design: &Design, recording: &Recording, version: String) -> Result<IcarusReport, IcarusError> {
        const TAIL: usize = 20;
        let errors = tempfile::tempfile().at(std::env::temp_dir())?;
        vvp.stdout(Stdio::piped()).stderr(errors.try_clone().at("vvp")?);
        let mut child = vvp.spawn().at("vvp")?;
        let mut report = IcarusReport { cycles: 0, mismatches: 0, first: Vec::new(), version };
        let mut done = None;
        let mut tail = std::collections::VecDeque::new();
        let stdout = child.stdout.take().expect("the output is piped");
        for line in BufReader::new(stdout).split(b'\n') {
            let line = String::from_utf8_lossy(&line.at("vvp")?).into_owned();
            let fields: Vec<&str> = line.split_whitespace().collect();
            match fields[..] {
                ["L1FORGE", "mismatch", cycle, port, expected, got] => report.first.push(IcarusMismatch {
                    cycle: cycle.parse().unwrap_or(0),
                    port: port.to_owned(),
                    expected: expected.to_owned(),
                    got: got.to_owned(),
                }),
                ["L1FORGE", "done", cycles, mismatches] => done = cycles.parse().ok().zip(mismatches.parse().ok()),
                _ => {
                    if tail.len() == TAIL {
                        tail.pop_front();
                    }
                    tail.push_back(line);
                }
            }
        }
        let status = child.wait().at("vvp")?;
        let ended = |cycles, mut errors: File| -> Result<IcarusReport, IcarusError> {
            let mut output: String = tail.iter().map(|line| format!("{line}\n")).collect();
            // The end of the output says why; what cannot be read is left out.
            if errors.rewind().is_ok() {
                let _ = errors.take(1 << 16).read_to_string(&mut output);
            }
            Err(IcarusError::Ended { top: design.top().to_owned(), cycles, expected: recording.frames(), output })
        };
        match done {
            Some((cycles, mismatches)) if status.success() && (cycles == recording.frames() || self.first && mismatches > 0) => {
                (report.cycles, report.mismatches) = (cycles, mismatches);
                Ok(report)
            }
            Some((cycles, _)) => ended(Some(cycles), errors),
            None => ended(None, errors),
        }
    }

    fn bench(&self, design: &Design, recording: &Recording) -> Result<String, IoError> {
        let interface = recording.interface();
        let path = std::path::absolute(recording.path()).at(recording.path())?;
        let bits = 8 * recording.frame_size();
        let name = |port| &interface.spec(port).name;
        // Names of the bench begin with l1f_ and an index: no port name can be in their way.
        let (mut declarations, mut connections, mut drives, mut compares) = (String::new(), String::new(), String::new(), String::new());
        if let Some(clock) = interface.clock() {
            let _ = writeln!(connections, "    .{}(l1f_clock)", escape(name(clock)));
        }
        for (index, (port, bit)) in recording.layout().into_iter().enumerate() {
            let width = port.width() as usize;
            let slice = format!("l1f_frame[{}:{bit}]", bit + width - 1);
            let kind = if port.dir() == Dir::Input { "reg " } else { "wire" };
            let _ = writeln!(declarations, "  {kind} [{}:0] l1f_{index};", width - 1);
            let separator = if connections.is_empty() { "" } else { "," };
            let _ = writeln!(connections, "    {separator}.{}(l1f_{index})", escape(name(port)));
            match port.dir() {
                Dir::Input => {
                    let _ = writeln!(drives, "      l1f_{index} = {slice};");
                }
                Dir::Output => {
                    let _ = write!(
                        compares,
                        "        if (l1f_{index} !== {slice}) begin\n          \
                         l1f_mismatches = l1f_mismatches + 1;\n          \
                         if (l1f_mismatches <= {}) $display(\"L1FORGE mismatch %0d {} %h %h\", l1f_cycle, {slice}, l1f_{index});\n        \
                         end\n",
                        self.limit,
                        name(port).replace('\\', "\\\\").replace('%', "%%"),
                    );
                }
            }
        }
        let top = escape(design.top());
        let (bytes, header) = (recording.frame_size(), recording.header());
        let file = path.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
        Ok(format!(
            "// Runs the cycles of a recording and compares every output.\n\
             `timescale 1ns / 1ps\n\
             module l1forge_bench;\n  \
               reg l1f_clock;\n  \
               reg [{frame_msb}:0] l1f_frame;\n  \
               integer l1f_file, l1f_read, l1f_cycle, l1f_mismatches;\n\
             {declarations}  \
               {top} l1f_dut (\n\
             {connections}  \
               );\n  \
               initial begin\n    \
                 l1f_clock = 0;\n    \
                 l1f_cycle = 0;\n    \
                 l1f_mismatches = 0;\n    \
                 l1f_file = $fopen(\"{file}\", \"rb\");\n    \
                 l1f_read = $fseek(l1f_file, {header}, 0);\n    \
                 l1f_read = $fread(l1f_frame, l1f_file);\n    \
                 while (l1f_read == {bytes}) begin\n      \
                   l1f_clock = 0;\n\
             {drives}      \
                   #1;\n      \
                   if (l1f_frame[{compare_bit}]) begin\n\
             {compares}      \
                   end\n      \
                   #1 l1f_clock = 1;\n      \
                   #1 l1f_cycle = l1f_cycle + 1;\n      \
                   l1f_read = {read};\n    \
                 end\n    \
                 $display(\"L1FORGE done %0d %0d\", l1f_cycle, l1f_mismatches);\n    \
                 $finish;\n  \
               end\n\
             endmodule\n",
            frame_msb = bits - 1,
            compare_bit = bits - 8,
            read = if self.first { "l1f_mismatches != 0 ? 0 : $fread(l1f_frame, l1f_file)" } else { "$fread(l1f_frame, l1f_file)" },
        ))
    }
}

/// A name as Verilog writes it: as it is, or escaped.
fn escape(name: &str) -> String {
    let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$')
        && !name.starts_with(|letter: char| letter.is_ascii_digit() || letter == '$');
    if plain { name.to_owned() } else { format!("\\{name} ") }
}
