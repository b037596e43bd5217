//! The external tools: where they are, which version they have, and how to install them.
//!
//! A [`Toolbox`] finds tools by their override variable, then on the search path. Nothing else in this crate looks for a program, so
//! that a missing one is always reported as [`MissingTool`], with the package and the command that installs it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An external program that the project calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tool {
    /// Translates Verilog to C++.
    Verilator,
    /// C++ compiler.
    Cxx,
    /// Drives the compilation of the C++.
    Make,
    /// Compiler cache.
    Ccache,
    /// Icarus Verilog compiler.
    Iverilog,
    /// Icarus Verilog run time.
    Vvp,
    /// Synthesis.
    Yosys,
    /// Python with the `pyslang` package.
    Pyslang,
    /// Static timing analysis.
    OpenSta,
    /// Solver of the formal proofs.
    Z3,
    /// Model checking driver of Yosys.
    Smtbmc,
    /// Placement.
    OpenRoad,
    /// Python with the `coloquinte` package.
    Coloquinte,
    /// Tcl interpreter.
    Tclsh,
}

/// What is fixed about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolInfo {
    /// Name as people know it.
    pub name: &'static str,
    /// Program looked for on the search path.
    pub command: &'static str,
    /// Environment variable that names the program instead.
    pub variable: Option<&'static str>,
    /// Package that contains it.
    pub package: &'static str,
    /// Command that installs it.
    pub install: &'static str,
    /// Oldest version that is known to work, as `major.minor`; empty where any will do.
    pub minimum: &'static str,
    /// Whether co-simulation and lint need it.
    pub required: bool,
    /// What it is used for.
    pub purpose: &'static str,
}

impl Tool {
    /// All tools, in the order in which they are reported.
    pub const ALL: [Tool; 14] = [
        Tool::Verilator,
        Tool::Cxx,
        Tool::Make,
        Tool::Ccache,
        Tool::Iverilog,
        Tool::Vvp,
        Tool::Yosys,
        Tool::Pyslang,
        Tool::OpenSta,
        Tool::Smtbmc,
        Tool::Z3,
        Tool::OpenRoad,
        Tool::Coloquinte,
        Tool::Tclsh,
    ];

    /// Name, package, versions and purpose.
    pub fn info(self) -> ToolInfo {
        let apt = |name, command, variable, package, install, minimum, required, purpose| ToolInfo {
            name,
            command,
            variable,
            package,
            install,
            minimum,
            required,
            purpose,
        };
        match self {
            Tool::Verilator => apt(
                "Verilator",
                "verilator",
                Some("VERILATOR"),
                "verilator",
                "sudo apt-get install verilator",
                "5.006",
                true,
                "co-simulation and lint",
            ),
            Tool::Cxx => apt("C++ compiler", "g++", Some("CXX"), "g++", "sudo apt-get install g++", "10", true, "co-simulation"),
            Tool::Make => apt("GNU make", "make", None, "make", "sudo apt-get install make", "4.0", true, "co-simulation"),
            Tool::Ccache => apt(
                "ccache",
                "ccache",
                None,
                "ccache",
                "sudo apt-get install ccache",
                "4.0",
                false,
                "faster rebuilds of co-simulation models",
            ),
            Tool::Iverilog => apt(
                "Icarus Verilog",
                "iverilog",
                Some("IVERILOG"),
                "iverilog",
                "sudo apt-get install iverilog",
                "11.0",
                true,
                "second simulator and lint",
            ),
            Tool::Vvp => apt(
                "Icarus Verilog run time",
                "vvp",
                Some("VVP"),
                "iverilog",
                "sudo apt-get install iverilog",
                "11.0",
                true,
                "second simulator",
            ),
            Tool::Yosys => apt(
                "Yosys",
                "yosys",
                Some("YOSYS"),
                "yosys",
                "sudo apt-get install yosys",
                "0.23",
                true,
                "synthesis, lint and formal proofs",
            ),
            Tool::Pyslang => apt(
                "slang",
                "python3",
                Some("L1FORGE_PYTHON"),
                "pyslang",
                "python3 -m venv .venv && .venv/bin/pip install pyslang",
                "10.0",
                true,
                "lint",
            ),
            Tool::OpenSta => apt("OpenSTA", "sta", None, "opensta", "sudo apt-get install opensta", "2.0", false, "static timing analysis"),
            Tool::Smtbmc => apt("yosys-smtbmc", "yosys-smtbmc", None, "yosys", "sudo apt-get install yosys", "", false, "formal proofs"),
            Tool::Z3 => apt("Z3", "z3", None, "z3", "sudo apt-get install z3", "4.8", false, "formal proofs"),
            Tool::OpenRoad => apt(
                "OpenROAD",
                "openroad",
                None,
                "openroad",
                "see https://openroad.readthedocs.io for binaries of your system",
                "",
                false,
                "placement",
            ),
            Tool::Coloquinte => apt(
                "Coloquinte",
                "python3",
                Some("L1FORGE_PYTHON"),
                "coloquinte",
                "python3 -m venv .venv && .venv/bin/pip install coloquinte==0.4.1",
                "0.4",
                false,
                "placement",
            ),
            Tool::Tclsh => apt("Tcl", "tclsh", None, "tcl", "sudo apt-get install tcl", "8.6", false, "check of the scripts for OpenROAD"),
        }
    }
}

/// A tool that is needed and not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} not found ({looked}); it is in the package `{package}`, install it with: {install}")]
pub struct MissingTool {
    /// Which one.
    pub tool: Tool,
    /// Its name.
    pub name: &'static str,
    /// Package that contains it.
    pub package: &'static str,
    /// Command that installs it.
    pub install: &'static str,
    /// Where it was looked for.
    pub looked: String,
}

/// Finds external tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolbox {
    path: OsString,
    overrides: BTreeMap<Tool, PathBuf>,
}

impl Toolbox {
    /// The tools of the environment: the override variables (see [`ToolInfo::variable`]), then `PATH`.
    pub fn from_env() -> Self {
        let mut overrides = BTreeMap::new();
        for tool in Tool::ALL {
            let Some(variable) = tool.info().variable else {
                continue;
            };
            if let Some(value) = std::env::var_os(variable).filter(|value| !value.is_empty()) {
                // Tools are started in other folders, so a path from here must become a whole one.
                let program = PathBuf::from(value);
                let below = program.components().count() > 1 && program.is_relative();
                overrides.insert(tool, if below { std::path::absolute(&program).unwrap_or(program) } else { program });
            }
        }
        Self { path: std::env::var_os("PATH").unwrap_or_default(), overrides }
    }

    /// Uses `program` (a path, or a name on the search path) for `tool`.
    #[must_use]
    pub fn with(mut self, tool: Tool, program: impl Into<PathBuf>) -> Self {
        self.overrides.insert(tool, program.into());
        self
    }

    /// Looks for tools in the folders of `path` (colon separated) instead of `PATH`.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<OsString>) -> Self {
        self.path = path.into();
        self
    }

    /// The program of a tool.
    pub fn find(&self, tool: Tool) -> Result<PathBuf, MissingTool> {
        let info = tool.info();
        if let Some(program) = self.overrides.get(&tool) {
            return self.resolve(program).ok_or_else(|| {
                let origin = info.variable.map_or_else(String::new, |name| format!(" (set by {name})"));
                missing(tool, format!("no program `{}`{origin}", program.display()))
            });
        }
        if matches!(tool, Tool::Pyslang | Tool::Coloquinte) {
            return self.find_python(tool);
        }
        self.resolve(Path::new(info.command)).ok_or_else(|| missing(tool, format!("no `{}` on the search path", info.command)))
    }

    /// A command that runs a tool, with the search path of this toolbox and messages in English.
    pub fn command(&self, tool: Tool) -> Result<Command, MissingTool> {
        let mut command = Command::new(self.find(tool)?);
        command.env("PATH", &self.path).env("LC_ALL", "C").stdin(Stdio::null());
        Ok(command)
    }

    /// The version line that a tool prints.
    ///
    /// A program that cannot be run, or says nothing, counts as missing.
    pub fn version(&self, tool: Tool) -> Result<String, MissingTool> {
        let arguments: &[&str] = match tool {
            Tool::Iverilog | Tool::Vvp | Tool::Yosys => &["-V"],
            Tool::OpenSta | Tool::OpenRoad => &["-version"],
            Tool::Pyslang => &["-c", "import pyslang; print('pyslang', getattr(pyslang, '__version__', ''))"],
            Tool::Coloquinte => {
                &["-c", "import coloquinte; from importlib.metadata import version; print('coloquinte', version('coloquinte'))"]
            }
            Tool::Smtbmc => &["--help"],
            // It has no option for that, but reads commands.
            Tool::Tclsh => &[],
            _ => &["--version"],
        };
        let program = self.find(tool)?;
        let output = self.command(tool)?.args(arguments).stdin(Self::asked(tool)).output();
        let failed = |why: String| missing(tool, format!("`{} {}` {why}", program.display(), arguments.join(" ")));
        let output = output.map_err(|error| failed(format!("cannot be run: {error}")))?;
        if tool == Tool::Smtbmc {
            // It has no version of its own.
            return Ok(String::from("(version of Yosys)"));
        }
        // The run time of Icarus Verilog tells its version on standard error.
        let stdout = String::from_utf8_lossy(if tool == Tool::Vvp { &output.stderr } else { &output.stdout });
        match stdout.lines().map(str::trim).find(|line| !line.is_empty()) {
            Some(line) if output.status.success() || matches!(tool, Tool::Iverilog | Tool::Vvp) => Ok(line.to_owned()),
            _ => {
                let stderr = String::from_utf8_lossy(&output.stderr);
                Err(failed(format!("fails: {}", stderr.lines().last().unwrap_or("it prints nothing"))))
            }
        }
    }

    /// What a tool is to read when it is asked for its version.
    fn asked(tool: Tool) -> Stdio {
        if tool != Tool::Tclsh {
            return Stdio::null();
        }
        let Ok((reader, mut writer)) = std::io::pipe() else { return Stdio::null() };
        let _ = writer.write_all(b"puts \"Tcl [info patchlevel]\"\n");
        reader.into()
    }

    fn resolve(&self, program: &Path) -> Option<PathBuf> {
        if program.components().count() > 1 {
            return is_program(program).then(|| program.to_owned());
        }
        std::env::split_paths(&self.path).map(|folder| folder.join(program)).find(|path| is_program(path))
    }

    /// Python of the nearest `.venv` of the current folder and its parents, else the one on the search path.
    fn find_python(&self, tool: Tool) -> Result<PathBuf, MissingTool> {
        let current = std::env::current_dir().unwrap_or_default();
        let local = current.ancestors().map(|folder| folder.join(".venv/bin/python")).find(|path| is_program(path));
        local
            .or_else(|| self.resolve(Path::new("python3")))
            .ok_or_else(|| missing(tool, String::from("no .venv/bin/python here and no `python3` on the search path")))
    }
}

fn missing(tool: Tool, looked: String) -> MissingTool {
    let ToolInfo { name, package, install, .. } = tool.info();
    MissingTool { tool, name, package, install, looked }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_names_package_and_command() {
        let tools = Toolbox::from_env().with_path("/nonexistent");
        let error = Toolbox { overrides: BTreeMap::new(), ..tools }.find(Tool::Yosys).unwrap_err();
        assert_eq!(error.tool, Tool::Yosys);
        let text = error.to_string();
        assert!(text.contains("`yosys`") && text.contains("sudo apt-get install yosys"), "{text}");
    }

    #[test]
    fn an_override_that_is_no_program_is_reported() {
        let tools = Toolbox::from_env().with(Tool::Verilator, "/nonexistent/verilator");
        let error = tools.find(Tool::Verilator).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/verilator"), "{error}");
        assert!(error.to_string().contains("VERILATOR"), "{error}");
    }

    #[test]
    fn versions_are_read() {
        let tools = Toolbox::from_env();
        assert!(tools.version(Tool::Verilator).unwrap().starts_with("Verilator "));
        assert!(tools.version(Tool::Iverilog).unwrap().starts_with("Icarus Verilog version"));
        assert!(tools.version(Tool::Vvp).unwrap().starts_with("Icarus Verilog runtime version"));
        // Tcl is asked on its standard input.
        if tools.find(Tool::Tclsh).is_ok() {
            assert!(tools.version(Tool::Tclsh).unwrap().starts_with("Tcl 8"));
        }
        // A program that runs and fails is as bad as a missing one.
        assert!(tools.clone().with(Tool::Verilator, "/bin/false").version(Tool::Verilator).is_err());
    }
}
