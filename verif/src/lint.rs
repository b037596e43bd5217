//! Four linters over one set of Verilog files: Verilator, Icarus Verilog, Yosys and slang.
//!
//! A tool is content when it exits well *and* says nothing: a warning is a failure, and so is a latch.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use crate::build::{Design, write_sources};
use crate::cache::{At as _, IoError};
use crate::tools::{MissingTool, Tool, Toolbox};

/// Reads its arguments as slang's command line does, the first one aside: that is the language version, taken where slang knows it
/// (from 10.0 on). Exits 0 when there is no diagnostic at all.
const SLANG_SCRIPT: &str = "\
import sys
import pyslang

driver = (getattr(pyslang, 'Driver', None) or pyslang.driver.Driver)()
driver.addStandardArgs()
quote = lambda text: '\"' + text.replace('\\\\', '\\\\\\\\').replace('\"', '\\\\\"') + '\"'
language, arguments = sys.argv[1], sys.argv[2:]
known = getattr(pyslang, 'LanguageVersion', None) or pyslang.syntax.LanguageVersion
if hasattr(known, 'v' + language.replace('-', '_')):
    arguments = ['--std', language] + arguments
line = ' '.join(quote(argument) for argument in ['slang'] + arguments)
ok = driver.parseCommandLine(line) and driver.processOptions() and driver.parseAllSources()
if ok:
    compilation = driver.createCompilation()
    driver.reportCompilation(compilation, True)
    if hasattr(driver, 'runAnalysis'):
        driver.runAnalysis(compilation)
    ok = driver.reportDiagnostics(True)
sys.exit(0 if ok else 1)
";

/// The linters, in the order of their reports.
pub const LINTERS: [Tool; 4] = [Tool::Verilator, Tool::Iverilog, Tool::Yosys, Tool::Pyslang];

/// What one linter says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintReport {
    /// The linter.
    pub tool: Tool,
    /// Its version.
    pub version: String,
    /// Whether it has nothing to say.
    pub ok: bool,
    /// What it says; for Yosys the warnings, errors and latches.
    pub output: String,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LintError {
    /// A linter is missing.
    #[error(transparent)]
    MissingTool(#[from] MissingTool),
    /// A file cannot be written.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// Runs all [`LINTERS`] on a design, two at a time. Sources, top module and macros are those of the design.
///
/// # Errors
/// When a linter is missing; warnings are no error but part of the reports.
pub fn lint(tools: &Toolbox, design: &Design) -> Result<Vec<LintReport>, LintError> {
    lint_with(tools, design, &LINTERS)
}

/// Runs some of the [`LINTERS`] on a design, see [`lint`].
///
/// # Errors
/// When a linter is missing.
///
/// # Panics
/// When a tool is no linter.
pub fn lint_with(tools: &Toolbox, design: &Design, linters: &[Tool]) -> Result<Vec<LintReport>, LintError> {
    let folder = tempfile::tempdir().at(std::env::temp_dir())?;
    write_sources(design, folder.path())?;
    let script = folder.path().join("l1forge_slang.py");
    fs::write(&script, SLANG_SCRIPT).at(&script)?;
    let next = Mutex::new(linters.iter().copied().enumerate());
    let work = || {
        let mut results: Vec<(usize, Result<LintReport, LintError>)> = Vec::new();
        loop {
            let item = next.lock().expect("no linter panics with the lock").next();
            let Some((place, tool)) = item else {
                return results;
            };
            results.push((place, run(tools, design, tool, folder.path())));
        }
    };
    let mut results = std::thread::scope(|scope| {
        // Two at a time; this thread works alone where there is no memory for another one.
        let other = std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let mut results = work();
        results.extend(other.into_iter().flat_map(|o| o.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))));
        results
    });
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

fn run(tools: &Toolbox, design: &Design, tool: Tool, folder: &Path) -> Result<LintReport, LintError> {
    let version = tools.version(tool)?;
    let mut command = tools.command(tool)?;
    command.current_dir(folder);
    arguments(&mut command, design, tool);
    let output = command.output().at(Path::new(command.get_program()))?;
    let text = [output.stdout, output.stderr].concat();
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if tool == Tool::Yosys {
        let said = |line: &&str| ["Warning", "ERROR", "Latch inferred"].iter().any(|word| line.contains(word));
        text = text.lines().filter(said).map(|line| format!("{line}\n")).collect();
    }
    let ok = output.status.success() && text.trim().is_empty();
    if !output.status.success() && text.trim().is_empty() {
        text = format!("{}\n", output.status);
    }
    Ok(LintReport { tool, version, ok, output: text })
}

fn arguments(command: &mut Command, design: &Design, tool: Tool) {
    let top = design.top();
    let files: Vec<&String> = design.source_files().iter().map(|(name, _)| name).collect();
    let system_verilog = files.iter().any(|name| name.ends_with(".sv"));
    let defines = design.define_list().iter();
    match tool {
        Tool::Verilator => {
            command.args(["--lint-only", "-Wall", "+1364-2005ext+v", "+1800-2017ext+sv", "--top-module", top]);
            command.args(defines.map(|(name, value)| format!("+define+{name}={value}"))).args(files);
        }
        Tool::Iverilog => {
            let generation = if system_verilog { "-g2012" } else { "-g2005" };
            command.args([generation, "-Wall", "-t", "null", "-s", top]);
            command.args(defines.map(|(name, value)| format!("-D{name}={value}"))).args(files);
        }
        Tool::Yosys => {
            let defines: String = defines.map(|(name, value)| format!(" -D {name}={value}")).collect();
            let read: String = files
                .iter()
                .map(|name| {
                    let option = if name.ends_with(".sv") { " -sv" } else { "" };
                    format!("read_verilog{option}{defines} \"{name}\"; ")
                })
                .collect();
            command.args(["-p", &format!("{read}hierarchy -check -top {top}; proc; check -assert")]);
        }
        Tool::Pyslang => {
            let language = if system_verilog { "1800-2017" } else { "1364-2005" };
            command.args(["l1forge_slang.py", language, "-Wextra", "--top", top]);
            command.args(defines.map(|(name, value)| format!("-D{name}={value}"))).args(files);
        }
        other => panic!("{} is no linter", other.info().name),
    }
}
