//! The Yosys scripts.

use super::Target;
use super::unit::Unit;
use crate::library::Library;
use std::fmt::Write as _;
use std::path::Path;

/// Writes what [`front`] reads: the Verilog of a unit and its black boxes in `unit.il`, or all in `unit.il`.
///
/// # Errors
/// A file cannot be written.
pub fn write_inputs(folder: &Path, unit: &Unit, units: &[Unit]) -> std::io::Result<()> {
    match &unit.verilog {
        Some((file, verilog)) => {
            std::fs::write(folder.join(file), verilog)?;
            std::fs::write(folder.join("unit.il"), unit.stubs(units))
        }
        None => std::fs::write(folder.join("unit.il"), unit.with_stubs(units)),
    }
}

fn read(unit: &Unit) -> String {
    let verilog = unit.verilog.as_ref().map_or_else(String::new, |(file, _)| format!("read_verilog -DSYNTHESIS {file}\n"));
    format!("{verilog}read_rtlil unit.il\nhierarchy -check -top {}\n", unit.name)
}

/// Reads a unit and makes gates of it. State machines keep the codes of their RTL: one-hot codes cost area here, and a proof would not find the registers.
pub fn front(unit: &Unit) -> String {
    let flat = if unit.flat { " -flatten" } else { "" };
    format!("{}synth -top {} -noabc -nofsm{flat}\ncheck -assert\n", read(unit), unit.name)
}

/// Maps the flip-flops.
pub fn flip_flops(library: &Path) -> String {
    format!("dfflibmap -liberty \"{}\"\n", library.display())
}

/// Gives memory macros the name of their shape in place of parameters.
pub fn macros(unit: &Unit) -> String {
    let mut s = String::new();
    for m in unit.macros.keys() {
        let pick: Vec<String> = m.parameters.iter().map(|(k, v)| format!(" r:{k}={v} %i")).collect();
        let _ = writeln!(s, "chtype -set {} t:{}{}", m.cell(), m.name, pick.join(""));
        for (k, _) in &m.parameters {
            let _ = writeln!(s, "setparam -unset {k} t:{}", m.cell());
        }
    }
    s
}

/// Scripts of ABC for area alone; none is the best for every unit, so each unit is mapped by all and the smallest netlist is kept.
pub const RECIPES: [&str; 3] = [
    // Structural choices and the mapper for area: logic with much sharing.
    "+strash;ifraig;scorr;dc2;dretime;strash;dch,-f;amap",
    // The mapper with area recovery over many rounds: arbiters.
    "+strash;ifraig;scorr;dc2;strash;&get,-n;&nf,-R,1000;&put",
    // The same on the logic as it was written: wide multiplexers.
    "+strash;&get,-n;&nf,-R,1000;&put",
];

/// The script that maps a unit and writes `netlist.v` and `netlist.json`; for the area `netlist_N.v` and `netlist_N.json` for each of the
/// [`RECIPES`].
pub fn map(unit: &Unit, target: &Target, library: &Library, file: &Path) -> String {
    let lib = file.display();
    let s = match target {
        Target::Fpga => {
            let flat = if unit.flat { " -flatten" } else { "" };
            format!("{}synth_xilinx -family xcup -top {} -noiopad -noclkbuf{flat}\n", read(unit), unit.name)
        }
        Target::Area => {
            let mut s = format!("{}{}design -save gates\n", front(unit), flip_flops(file));
            for (n, recipe) in RECIPES.iter().enumerate() {
                s += &format!(
                    "design -load gates\nabc -liberty \"{lib}\" -script {recipe}\nopt_clean\n{}{}",
                    macros(unit),
                    write(&format!("netlist_{n}"))
                );
            }
            return s;
        }
        Target::Timing(period) => format!(
            "write_file abc.constr <<END\nset_driving_cell {}\nset_load 2.0\nEND\n{}{}abc -liberty \"{lib}\" -D {period} -constr abc.constr\nopt_clean\n",
            driver(library),
            front(unit),
            flip_flops(file)
        ),
    };
    s + &macros(unit) + &write("netlist")
}

fn write(name: &str) -> String {
    format!("write_verilog -noattr -noexpr -nohex -simple-lhs {name}.v\nwrite_json {name}.json\n")
}

/// The cell that is taken to drive the inputs of a unit.
fn driver(library: &Library) -> &str {
    let buffer = library.cells.keys().find(|n| n.starts_with("BUFx2"));
    buffer.map(String::as_str).or_else(|| Some(library.buffer().or_else(|| library.inverter())?.0)).unwrap_or_default()
}
