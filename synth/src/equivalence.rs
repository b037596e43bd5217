//! Proofs that mapped units do what their RTL does, with Yosys.

use crate::flow::cache::key;
use crate::flow::unit::Unit;
use crate::flow::{Design, Flow, run};
use serde::Serialize;

/// The proof of one unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// Unit.
    pub name: String,
    /// Cells that were compared.
    pub cells: u64,
    /// It was proven equal; otherwise why not.
    pub proven: bool,
    /// Why it was not proven, empty when it was.
    pub reason: String,
}

/// Proves every unit of at most `largest` cells. Units below it are compared as black boxes, each being proven by itself.
///
/// # Errors
/// A folder cannot be written.
pub fn prove(flow: &Flow, design: &Design, largest: u64) -> anyhow::Result<Vec<Proof>> {
    let library = flow.library_file()?;
    let chosen: Vec<(&Unit, u64, std::path::PathBuf)> = design
        .units
        .iter()
        .zip(&design.mapped)
        .map(|(u, m)| {
            (u, m.cells.iter().filter(|(k, _)| flow.library.cells.contains_key(*k)).map(|(_, n)| n).sum::<u64>(), m.folder.clone())
        })
        .filter(|(_, n, _)| (1..=largest).contains(n))
        .collect();
    let mut proofs = Vec::new();
    for (done, (unit, cells, netlist)) in chosen.iter().enumerate() {
        let text = unit.with_stubs(&design.units);
        let script = script(unit, &library.display().to_string(), &netlist.join("netlist.v").display().to_string());
        let made = flow.cache.entry(&key(&["equiv 1", &design.tool, &script, &text]), &format!("equiv-{}", unit.name), |folder| {
            std::fs::write(folder.join("unit.il"), &text)?;
            run::yosys(&flow.yosys, folder, &script, &format!("equivalence of {}", unit.name))
        });
        (flow.progress)(done + 1, chosen.len(), &unit.name);
        let reason = made.err().map_or_else(String::new, |e| format!("{e:#}"));
        proofs.push(Proof { name: unit.name.clone(), cells: *cells, proven: reason.is_empty(), reason });
    }
    Ok(proofs)
}

/// RTL and netlist, flip-flops matched by the names of their nets, proven by induction.
fn script(unit: &Unit, library: &str, netlist: &str) -> String {
    let name = &unit.name;
    let macros: String = unit
        .macros
        .keys()
        .map(|m| {
            let pick: Vec<String> = m.parameters.iter().map(|(k, v)| format!(" r:{k}={v} %i")).collect();
            let unset: String = m.parameters.iter().map(|(k, _)| format!("setparam -unset {k} t:{}\n", m.cell())).collect();
            format!("chtype -set {} t:{}{}\n{unset}", m.cell(), m.name, pick.join(""))
        })
        .collect();
    format!(
        "read_rtlil unit.il
hierarchy -check -top {name}
proc
opt
{macros}memory_map
rename {name} gold
design -stash gold
read_liberty -ignore_miss_func \"{library}\"
read_verilog \"{netlist}\"
rename {name} gate
hierarchy -top gate
flatten gate
opt_clean
design -stash gate
design -copy-from gold -as gold gold
design -copy-from gate -as gate gate
async2sync
equiv_make gold gate equiv
hierarchy -top equiv
opt_clean -purge
equiv_simple
equiv_induct
equiv_status -assert
"
    )
}
