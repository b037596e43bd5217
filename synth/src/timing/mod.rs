//! Timing of mapped units with OpenSTA and the constraints that come with the generated design.

mod macros;
mod output;

use crate::flow::unit::Unit;
use crate::flow::{Design, Flow, run};
use crate::memory::Memory;
use anyhow::{Context as _, bail};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

pub use macros::liberty as macro_library;
pub use output::Path as CriticalPath;

/// Timing of one unit with everything below it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnitTiming {
    /// Unit.
    pub name: String,
    /// Longest delay inside the unit in ps, budgets of the outside not counted; setup of a flip-flop included.
    pub critical_path_ps: f64,
    /// Slack against the clock with the budgets of the constraints.
    pub slack_ps: f64,
    /// Shortest clock period in ps at which the constraints hold, budgets scaled with it.
    pub achievable_clock_ps: f64,
    /// The worst path of each kind.
    pub paths: Vec<CriticalPath>,
}

/// Timing of a design.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timing {
    /// The timing analyser and its version.
    pub tool: String,
    /// Clock period asked for, in ps.
    pub clock_ps: f64,
    /// Longest delay of the whole design in ps.
    pub critical_path_ps: f64,
    /// Worst slack of the whole design in ps.
    pub slack_ps: f64,
    /// Shortest clock period of the whole design in ps.
    pub achievable_clock_ps: f64,
    /// Area of the cells after buffering and sizing, in um2.
    pub area_um2: f64,
    /// Every unit that has a path, slowest first.
    pub units: Vec<UnitTiming>,
}

/// Clock period in ps that constraints ask for: their line `set clock_period N`.
///
/// # Errors
/// The line is not there.
pub fn period(sdc: &str) -> anyhow::Result<f64> {
    let value = sdc.lines().find_map(|l| l.strip_prefix("set clock_period "));
    value.and_then(|v| v.trim().parse().ok()).context("constraints.sdc: no line `set clock_period N`")
}

/// The constraints with another clock period, for a unit that has only `ports`.
fn constraints(sdc: &str, clock: f64, ports: &BTreeSet<String>) -> String {
    let mut out = String::new();
    for line in sdc.lines() {
        if line.starts_with("set clock_period ") {
            let _ = writeln!(out, "set clock_period {clock}");
            continue;
        }
        let port = line.split("[get_ports ").nth(1).and_then(|rest| rest.split(']').next());
        match port {
            Some(p) if !ports.contains(p) => {
                if line.starts_with("create_clock") {
                    out += &line.replace(&format!(" [get_ports {p}]"), "");
                    out.push('\n');
                }
            }
            _ => {
                out += line;
                out.push('\n');
            }
        }
    }
    out
}

/// Ports of a unit.
fn ports(unit: &Unit) -> BTreeSet<String> {
    let port = |l: &&str| l.starts_with("  wire ") && [" input ", " output ", " inout "].iter().any(|d| l.contains(d));
    unit.text.lines().filter(port).filter_map(|l| Some(l.rsplit_once('\\')?.1.to_string())).collect()
}

/// The units below one, itself included.
fn below<'a>(design: &'a Design, name: &'a str, found: &mut BTreeSet<&'a str>) {
    if found.insert(name)
        && let Some((unit, _)) = design.unit(name)
    {
        for child in unit.children.keys() {
            below(design, child, found);
        }
    }
}

/// Analyses every unit of a design mapped for timing.
///
/// # Errors
/// OpenSTA is missing or fails; the message names its log.
pub fn analyse(flow: &Flow, sta: &Path, design: &Design, sdc: &str, clock: f64, memories: &[Memory]) -> anyhow::Result<Timing> {
    let output = Command::new(sta).arg("-version").output();
    let output = output.with_context(|| format!("{}: cannot be started; install it with: apt-get install opensta", sta.display()))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_string();
    let library = flow.library_file()?;
    let macros = macros::liberty(memories);
    let mut timing = Timing {
        tool: format!("OpenSTA {version}"),
        clock_ps: clock,
        critical_path_ps: 0.0,
        slack_ps: f64::INFINITY,
        achievable_clock_ps: 0.0,
        area_um2: crate::report::area(design, flow.library).total.area_um2,
        units: Vec::new(),
    };
    for (done, unit) in design.units.iter().enumerate() {
        let mut parts = BTreeSet::new();
        below(design, &unit.name, &mut parts);
        let netlists: Vec<String> =
            parts.iter().filter_map(|p| Some(design.unit(p)?.1.folder.join("netlist.v").display().to_string())).collect();
        let sdc = constraints(sdc, clock, &ports(unit));
        let script = script(&library, &netlists, &unit.name);
        // The netlists' folders are named by their content.
        let fields = ["sta 1", &version, &script, &sdc, &macros];
        let folder = flow.cache.entry(&crate::flow::cache::key(&fields), &format!("sta-{}", unit.name), |folder| {
            for (name, text) in [("constraints.sdc", &sdc), ("macros.lib", &macros), ("run.tcl", &script)] {
                std::fs::write(folder.join(name), text)?;
            }
            run::tool(Command::new(sta).args(["-no_splash", "-exit", "run.tcl"]), folder, &format!("timing of {}", unit.name), "sta")?;
            let log = std::fs::read_to_string(folder.join("log"))?;
            if let Some(line) = log.lines().find(|l| l.starts_with("Error")) {
                bail!("timing of {}: sta: {line}", unit.name);
            }
            if !log.contains("l1forge done") {
                bail!("timing of {}: sta did not finish: {}", unit.name, log.lines().last().unwrap_or("it says nothing"));
            }
            Ok(())
        })?;
        let log = std::fs::read_to_string(folder.join("log")).with_context(|| format!("cannot read {}", folder.join("log").display()))?;
        let paths = output::paths(&log, clock).with_context(|| folder.join("log").display().to_string())?;
        (flow.progress)(done + 1, design.units.len(), &unit.name);
        if paths.is_empty() {
            continue;
        }
        let most = |get: fn(&CriticalPath) -> f64| paths.iter().map(get).fold(0.0, f64::max);
        let result = UnitTiming {
            name: unit.name.clone(),
            critical_path_ps: most(|p| p.delay_ps),
            slack_ps: paths.iter().map(|p| p.slack_ps).fold(f64::INFINITY, f64::min),
            achievable_clock_ps: most(|p| p.achievable_clock_ps),
            paths,
        };
        if unit.name == design.top {
            (timing.critical_path_ps, timing.slack_ps, timing.achievable_clock_ps) =
                (result.critical_path_ps, result.slack_ps, result.achievable_clock_ps);
        }
        timing.units.push(result);
    }
    if timing.slack_ps.is_infinite() {
        timing.slack_ps = clock;
    }
    timing.units.sort_by(|a, b| b.critical_path_ps.total_cmp(&a.critical_path_ps).then_with(|| a.name.cmp(&b.name)));
    Ok(timing)
}

fn script(library: &Path, netlists: &[String], top: &str) -> String {
    let mut s = format!("read_liberty {}\nread_liberty macros.lib\n", library.display());
    for n in netlists {
        let _ = writeln!(s, "read_verilog {n}");
    }
    let _ = writeln!(s, "link_design {top}\nread_sdc constraints.sdc");
    let clocked = "[all_registers -clock_pins]";
    let data = "[all_registers -data_pins]";
    for (kind, from, to) in output::KINDS.map(|k| match k {
        "register to register" => (k, clocked, data),
        "input to register" => (k, "[all_inputs]", data),
        "register to output" => (k, clocked, "[all_outputs]"),
        _ => (k, "[all_inputs]", "[all_outputs]"),
    }) {
        let _ = writeln!(s, "puts \"l1forge paths {kind}\"");
        let _ = writeln!(
            s,
            "set from {from}\nset to {to}\nif {{[llength $from] > 0 && [llength $to] > 0}} {{ report_checks -path_delay max -from $from -to $to -digits 3 }}"
        );
    }
    s += "puts \"l1forge done\"\n";
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDC: &str = "# c\nset clock_period 1000\ncreate_clock -name clk -period $clock_period [get_ports clk_i]
set_input_delay 0 -clock clk [get_ports clk_i]\nset_output_delay 1 -clock clk [all_outputs]\nset_false_path -from [get_ports rst_ni]\n";

    #[test]
    fn constraints_fit_the_ports_and_the_clock() {
        assert!((period(SDC).unwrap() - 1000.0).abs() < 1e-9 && period("x").is_err());
        let clocked = constraints(SDC, 400.0, &["clk_i".to_string()].into());
        assert!(clocked.contains("set clock_period 400\n") && clocked.contains("[get_ports clk_i]") && !clocked.contains("rst_ni"));
        let combinational = constraints(SDC, 400.0, &BTreeSet::new());
        assert!(combinational.contains("create_clock -name clk -period $clock_period\n") && !combinational.contains("get_ports"));
    }
}
