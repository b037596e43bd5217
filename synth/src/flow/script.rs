//! The Yosys scripts.

use super::Target;
use super::unit::Unit;
use crate::library::Library;
use std::fmt::Write as _;
use std::path::Path;

/// The script that maps a unit (its Verilog with black boxes in `unit.il`, or all in `unit.il`) and writes `netlist.v` and `netlist.json`.
pub fn map(unit: &Unit, target: &Target, library: &Library, file: &Path) -> String {
    let (name, lib) = (&unit.name, file.display());
    let flat = if unit.flat { " -flatten" } else { "" };
    let mut s = match &unit.verilog {
        Some((file, _)) => format!("read_verilog -DSYNTHESIS {file}\nread_rtlil unit.il\n"),
        None => "read_rtlil unit.il\n".to_string(),
    };
    let _ = writeln!(s, "hierarchy -check -top {name}");
    match target {
        Target::Fpga => {
            let _ = writeln!(s, "synth_xilinx -family xcup -top {name} -noiopad -noclkbuf{flat}");
        }
        Target::Area => {
            let _ = writeln!(s, "synth -top {name} -noabc{flat}\ncheck -assert");
            let _ = writeln!(s, "dfflibmap -liberty \"{lib}\"\nabc -liberty \"{lib}\"\nopt_clean");
        }
        Target::Timing(period) => {
            let _ = writeln!(s, "synth -top {name} -noabc{flat}\ncheck -assert");
            let _ = writeln!(s, "dfflibmap -liberty \"{lib}\"");
            let _ = writeln!(s, "abc -liberty \"{lib}\" -D {period} -constr abc.constr\nopt_clean");
            s = format!("write_file abc.constr <<END\nset_driving_cell {}\nset_load 2.0\nEND\n{s}", driver(library));
        }
    }
    for m in unit.macros.keys() {
        let pick: Vec<String> = m.parameters.iter().map(|(k, v)| format!(" r:{k}={v} %i")).collect();
        let _ = writeln!(s, "chtype -set {} t:{}{}", m.cell(), m.name, pick.join(""));
        for (k, _) in &m.parameters {
            let _ = writeln!(s, "setparam -unset {k} t:{}", m.cell());
        }
    }
    let _ = writeln!(s, "write_verilog -noattr -noexpr -nohex -simple-lhs netlist.v\nwrite_json netlist.json");
    s
}

/// The cell that is taken to drive the inputs of a unit.
fn driver(library: &Library) -> &str {
    let buffer = library.cells.keys().find(|n| n.starts_with("BUFx2"));
    buffer.map(String::as_str).or_else(|| Some(library.buffer().or_else(|| library.inverter())?.0)).unwrap_or_default()
}
