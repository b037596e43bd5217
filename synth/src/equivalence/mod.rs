//! Proofs that mapped units do what their RTL does.
//!
//! RTL and netlist are cut at flip-flops and black boxes; what is left has no state, and ABC proves all outputs, all next states, all clocks and all
//! inputs of black boxes equal. So from equal states the two stay equal for ever. Which register bit became which flip-flop is read off the netlist
//! that Yosys had before it mapped the gates; a wrong guess there makes a proof fail, never succeed.

mod cut;
mod netlist;

use crate::flow::cache::key;
use crate::flow::unit::Unit;
use crate::flow::{Design, Flow, run, script};
use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The proof of one unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Proof {
    /// Unit.
    pub name: String,
    /// Cells that were compared.
    pub cells: u64,
    /// It was proven equal; otherwise why not.
    pub proven: bool,
    /// Outputs, next states and inputs of black boxes that were proven equal.
    pub outputs: u64,
    /// Seconds that the proof took when it was made.
    pub seconds: f64,
    /// Why it was not proven, empty when it was.
    pub reason: String,
}

/// What a successful proof leaves in its folder.
#[derive(Serialize, Deserialize)]
struct Made {
    outputs: u64,
    seconds: f64,
}

/// Proves every unit of at most `largest` cells. Units below it are black boxes on both sides, each being proven by itself.
///
/// # Errors
/// The library cannot be written.
pub fn prove(flow: &Flow, design: &Design, largest: u64) -> anyhow::Result<Vec<Proof>> {
    let library = flow.library_file()?;
    let chosen: Vec<(&Unit, u64, PathBuf)> = design
        .units
        .iter()
        .zip(&design.mapped)
        .map(|(u, m)| {
            (u, m.cells.iter().filter(|(k, _)| flow.library.cells.contains_key(*k)).map(|(_, n)| n).sum::<u64>(), m.folder.clone())
        })
        .filter(|(_, n, _)| (1..=largest).contains(n))
        .collect();
    let mut proofs = Vec::new();
    for (done, (unit, cells, mapped)) in chosen.iter().enumerate() {
        let task = Task { flow, unit, units: &design.units, library: &library, netlist: &mapped.join("netlist.json") };
        let fields =
            ["equiv 2".to_string(), design.tool.clone(), mapped.display().to_string(), task.front(), unit.with_stubs(&design.units)];
        let made = flow.cache.entry(&key(&fields), &format!("equiv-{}", unit.name), |folder| {
            let started = std::time::Instant::now();
            let outputs = task.run(folder)?;
            let made = Made { outputs, seconds: started.elapsed().as_secs_f64() };
            Ok(std::fs::write(folder.join("proof.json"), serde_json::to_string(&made)?)?)
        });
        (flow.progress)(done + 1, chosen.len(), &unit.name);
        let read = made.and_then(|folder| {
            let path = folder.join("proof.json");
            let text = std::fs::read_to_string(&path).map_err(anyhow::Error::from);
            text.and_then(|t| Ok(serde_json::from_str::<Made>(&t)?)).with_context(|| format!("{}: remove its folder", path.display()))
        });
        let (made, reason) = match read {
            Ok(made) => (made, String::new()),
            Err(error) => (Made { outputs: 0, seconds: 0.0 }, format!("{error:#}")),
        };
        let (name, proven) = (unit.name.clone(), reason.is_empty());
        proofs.push(Proof { name, cells: *cells, proven, outputs: made.outputs, seconds: made.seconds, reason });
    }
    Ok(proofs)
}

/// A unit and its netlist.
struct Task<'a> {
    flow: &'a Flow<'a>,
    unit: &'a Unit,
    units: &'a [Unit],
    library: &'a Path,
    netlist: &'a Path,
}

impl Task<'_> {
    /// Yosys: the unit as it was mapped up to its flip-flops, and its RTL as gates without any optimisation of logic.
    fn front(&self) -> String {
        let (unit, name) = (self.unit, &self.unit.name);
        format!(
            "{}{}write_json mapped.json
design -reset
read_rtlil gold.il
hierarchy -check -top {name}
proc
memory_map
{}techmap
dfflegalize -cell $_DFF_P_ x
opt_clean
write_json gold.json
",
            script::front(unit),
            script::flip_flops(self.library),
            script::macros(unit)
        )
    }

    /// Proves the netlist equal; how many outputs were compared.
    fn run(&self, folder: &Path) -> anyhow::Result<u64> {
        let (unit, name) = (self.unit, &self.unit.name);
        let step = format!("equivalence of {name}");
        script::write_inputs(folder, unit, self.units)?;
        std::fs::write(folder.join("gold.il"), unit.with_stubs(self.units))?;
        run::yosys(&self.flow.yosys, folder, &self.front(), &step)?;
        netlist::change(self.netlist, &folder.join("named.json"), name, |m| {
            cut::name_flip_flops(m, self.flow.library);
            Ok(())
        })?;
        let flatten = format!(
            "read_liberty -ignore_miss_func \"{}\"\nread_json named.json\nhierarchy -top {name}\nflatten\nopt_clean\nwrite_json gate.json\n",
            self.library.display()
        );
        run::yosys(&self.flow.yosys, folder, &flatten, &step)?;
        let read = |file: &str| netlist::read(&folder.join(file), name);
        let (gold, gate) = cut::cut(&read("gold.json")?, &read("mapped.json")?, &read("gate.json")?, self.flow.library)?;
        std::fs::write(folder.join("gold.blif"), gold.blif().context("RTL")?)?;
        std::fs::write(folder.join("gate.blif"), gate.blif().context("netlist")?)?;
        let log = abc(&self.flow.yosys, folder, &step, "cec -T 120 -C 1000000 gold.blif gate.blif")?;
        let proven = log.contains("Networks are equivalent") || log.contains("UNDECIDED") && self.same_diagrams(folder, &step);
        if !proven {
            bail!("{step}: {}", verdict(&log, &gold.outputs.keys().collect::<Vec<_>>()));
        }
        for file in ["mapped.json", "gold.json", "named.json", "gate.json"] {
            std::fs::remove_file(folder.join(file))?;
        }
        Ok(gold.outputs.len() as u64)
    }

    /// Whether binary decision diagrams say that `gold.blif` and `gate.blif` are the same. Sums of many bits have small ones, where a SAT solver finds
    /// no points in common between two trees of adders. False also when the diagrams become too large.
    fn same_diagrams(&self, folder: &Path, step: &str) -> bool {
        // Collapsed, a miter of equal circuits is the constant 0.
        let said = abc(&self.flow.yosys, folder, step, "miter gold.blif gate.blif; collapse -B 1000000; strash; sat -C 1000");
        said.is_ok_and(|log| log.contains("UNSATISFIABLE") && !log.contains("Collapsing has failed"))
    }
}

/// Runs ABC as it comes with Yosys, beside it; returns what it says.
fn abc(yosys: &Path, folder: &Path, step: &str, commands: &str) -> anyhow::Result<String> {
    let mut name = yosys.file_name().unwrap_or_default().to_os_string();
    name.push("-abc");
    let beside = yosys.with_file_name(name);
    let mut command = Command::new(if beside.exists() { beside } else { PathBuf::from("yosys-abc") });
    command.args(["-c", commands]);
    run::tool(&mut command, folder, step, "ABC")?;
    Ok(std::fs::read_to_string(folder.join("log"))?)
}

/// What ABC said, with the names of outputs that differ.
fn verdict(log: &str, outputs: &[&String]) -> String {
    let line = log.lines().find(|l| l.contains("NOT EQUIVALENT") || l.contains("UNDECIDED") || l.contains("rror"));
    let numbers = log.lines().filter(|l| l.contains("output")).flat_map(|l| l.split_whitespace());
    let differ: Vec<&str> = numbers
        .filter_map(|w| w.trim_matches(|c: char| !c.is_ascii_alphanumeric()).strip_prefix('o')?.parse::<usize>().ok())
        .filter_map(|i| outputs.get(i).map(|s| s.as_str()))
        .take(3)
        .collect();
    let said = line.or_else(|| log.lines().last()).unwrap_or("ABC says nothing").trim();
    if differ.is_empty() { said.to_string() } else { format!("{said} ({})", differ.join(", ")) }
}

#[cfg(test)]
mod tests;
