//! Scripts for OpenROAD, and a check of them where OpenROAD is not there.

use crate::memory::Memory;
use anyhow::{Context as _, bail};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Commands of OpenROAD that scripts may use, with their positional arguments and flags; `openroad/README.md` says how to read it.
pub const COMMANDS: &str = include_str!("../../openroad/commands.json");

const CHECKER: &str = include_str!("../../openroad/check.tcl");

/// What a command takes.
#[derive(serde::Deserialize)]
struct Signature {
    /// Names of the positional arguments.
    arguments: Vec<String>,
    /// Whether each flag takes a value.
    flags: BTreeMap<String, bool>,
}

/// What the scripts are written for.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// Top module.
    pub top: &'a str,
    /// Files of the netlist, relative to the folder of the scripts.
    pub netlists: &'a [String],
    /// Memory macros.
    pub memories: &'a [Memory],
    /// Utilisation wanted, 0 to 1.
    pub utilisation: f64,
}

/// The script: floorplan, pins, macros, global and detailed placement, reports. Paths of the technology come from the environment.
pub fn script(job: &Job) -> String {
    let mut s = format!(
        "# Placement of {top} with OpenROAD for ASAP7. Set TECH_LEF and CELL_LEF to the LEF files of ASAP7 (RVT).\n",
        top = job.top
    );
    s += "read_lef $::env(TECH_LEF)\nread_lef $::env(CELL_LEF)\nread_liberty library.lib\n";
    if !job.memories.is_empty() {
        s += "read_lef macros.lef\nread_liberty macros.lib\n";
    }
    for n in job.netlists {
        let _ = writeln!(s, "read_verilog {n}");
    }
    let _ = writeln!(s, "link_design {}\nread_sdc constraints.sdc", job.top);
    let _ = writeln!(
        s,
        "\n# Floorplan\ninitialize_floorplan -utilization {:.0} -aspect_ratio 1.0 -core_space 1.08 -site asap7sc7p5t\nmake_tracks",
        job.utilisation * 100.0
    );
    s += "\n# Pins\nplace_pins -hor_layers M4 -ver_layers M5\n";
    if !job.memories.is_empty() {
        s += "\n# Macros\nrtl_macro_placer -halo_width 0.54 -halo_height 0.54 -report_directory macro_placement\n";
    }
    let _ = writeln!(
        s,
        "\n# Cells\nset_wire_rc -layer M3\nglobal_placement -density {:.2}\nestimate_parasitics -placement\nputs \"after global placement\"\nreport_design_area\ndetailed_placement\nimprove_placement\ncheck_placement -verbose",
        (job.utilisation + 0.05).min(1.0)
    );
    s += "\n# Reports\nestimate_parasitics -placement\nputs \"after detailed placement\"\nreport_design_area\nreport_cell_usage\nreport_checks -path_delay max -digits 3\nreport_worst_slack -max\nreport_tns\n";
    let _ = writeln!(s, "write_def {top}.def\nwrite_db {top}.odb\nwrite_verilog {top}_placed.v", top = job.top);
    s
}

/// LEF of the memory macros: outline of the area that CACTI gives, pins of M4 along the left edge.
pub fn macros(memories: &[Memory]) -> String {
    let mut s = String::from("VERSION 5.8 ;\nBUSBITCHARS \"[]\" ;\nDIVIDERCHAR \"/\" ;\n");
    for m in memories {
        let area = m.area_um2 / m.instances.max(1) as f64;
        let pins = pins(m);
        // At least a pitch of M4 for every pin.
        let height = ((area / 2.0).sqrt() / 0.27).ceil().max((pins.len() as f64 * 0.096 / 0.27).ceil() + 1.0) * 0.27;
        let width = ((area / height) / 0.054).ceil().max(10.0) * 0.054;
        let name = format!("{}_{}x{}", m.name, m.rows, m.bits);
        let _ = writeln!(s, "MACRO {name}\n  CLASS BLOCK ;\n  ORIGIN 0 0 ;\n  SIZE {width:.3} BY {height:.3} ;\n  SYMMETRY X Y ;");
        for (i, (pin, output)) in pins.iter().enumerate() {
            let y = 0.048 + 0.096 * i as f64;
            let direction = if *output { "OUTPUT" } else { "INPUT" };
            let _ = writeln!(
                s,
                "  PIN {pin}\n    DIRECTION {direction} ;\n    USE SIGNAL ;\n    PORT\n      LAYER M4 ;\n      RECT 0.000 {y:.3} 0.096 {:.3} ;\n    END\n  END {pin}",
                y + 0.024
            );
        }
        let _ = writeln!(s, "  OBS\n    LAYER M1 ;\n    RECT 0 0 {width:.3} {height:.3} ;\n  END\nEND {name}");
    }
    s + "END LIBRARY\n"
}

fn pins(m: &Memory) -> Vec<(String, bool)> {
    let address = u64::from(64 - m.rows.saturating_sub(1).leading_zeros()).max(1);
    let mut list: Vec<(String, bool)> = ["clk_i", "re_i", "we_i"].iter().map(|p| ((*p).to_string(), false)).collect();
    for (bus, width, output) in [
        ("raddr_i", address, false),
        ("waddr_i", address, false),
        ("wdata_i", m.bits, false),
        ("wmask_i", m.bits, false),
        ("rdata_o", m.bits, true),
    ] {
        list.extend((0..width).map(|i| (format!("{bus}[{i}]"), output)));
    }
    list
}

/// Checks a script in `folder` with a Tcl interpreter: commands, flags and their values, arguments, files that are read. The faults, one line
/// each; the files that `TECH_LEF` and `CELL_LEF` name are the user's and need not be there.
///
/// # Errors
/// There is no `tclsh`, or it cannot be run.
pub fn check(folder: &Path, script: &str) -> anyhow::Result<Vec<String>> {
    let commands: BTreeMap<String, Signature> = serde_json::from_str(COMMANDS).context("the table of OpenROAD's commands is at fault")?;
    let mut table = String::new();
    for (name, Signature { arguments, flags }) in &commands {
        let flags: Vec<String> = flags.iter().map(|(f, v)| format!("{f} {}", u8::from(*v))).collect();
        let _ = writeln!(table, "{name} {{arguments {{{}}} flags {{{}}}}}", arguments.join(" "), flags.join(" "));
    }
    let work = tempfile::tempdir()?;
    std::fs::write(work.path().join("table.tcl"), table)?;
    std::fs::write(work.path().join("check.tcl"), CHECKER)?;
    let mut command = Command::new("tclsh");
    command.arg(work.path().join("check.tcl")).arg(work.path().join("table.tcl")).arg(script);
    for name in ["TECH_LEF", "CELL_LEF"] {
        command.env(name, format!("environment:{name}"));
    }
    command.current_dir(folder).stdin(Stdio::null());
    let output = command.output().context("tclsh cannot be started; install it with: apt-get install tcl")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let faults: Vec<String> = text.lines().filter(|l| !l.starts_with("after ")).map(str::to_string).collect();
    if faults.is_empty() && !output.status.success() {
        bail!("tclsh: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The faults of a changed script whose files are all there but `missing`.
    fn faults_without(missing: &str, change: impl Fn(String) -> String) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let memory = crate::memory::report(None, "sram_1r1w", 80, 64, 4).unwrap();
        let job = Job { top: "t", netlists: &["a.v".into()], memories: &[memory], utilisation: 0.8 };
        let constraints = "set p 1\ncreate_clock -name clk -period $p [get_ports clk_i]\nset_input_delay -.5 -clock clk [all_inputs]\n";
        for (name, text) in [
            ("constraints.sdc", constraints),
            ("library.lib", ""),
            ("macros.lef", ""),
            ("macros.lib", ""),
            ("a.v", ""),
            ("place.tcl", &change(script(&job))),
        ] {
            if name != missing {
                std::fs::write(folder.path().join(name), text).unwrap();
            }
        }
        check(folder.path(), "place.tcl").unwrap()
    }

    fn faults(change: impl Fn(String) -> String) -> Vec<String> {
        faults_without("", change)
    }

    fn no_tclsh() -> bool {
        let missing = Command::new("tclsh").stdin(Stdio::null()).output().is_err();
        if missing {
            eprintln!("skipped: no tclsh here");
        }
        missing
    }

    /// The line of the unchanged script that starts with `text`.
    fn line(text: &str) -> usize {
        let memory = crate::memory::report(None, "sram_1r1w", 80, 64, 4).unwrap();
        let script = script(&Job { top: "t", netlists: &["a.v".into()], memories: &[memory], utilisation: 0.8 });
        script.lines().position(|l| l.starts_with(text)).unwrap() + 1
    }

    #[test]
    fn scripts_pass_and_wrong_ones_do_not() {
        if no_tclsh() {
            return;
        }
        assert_eq!(faults(|s| s), Vec::<String>::new());
        let wrong = faults(|s| s.replace("-density", "-densitty"));
        assert!(wrong.len() == 1 && wrong[0].contains("place.tcl:") && wrong[0].contains("no flag -densitty"), "{wrong:?}");
        let wrong = faults(|s| s.replace("detailed_placement\n", "detail_placement\n"));
        assert!(wrong.len() == 1 && wrong[0].contains("detail_placement: no such command"), "{wrong:?}");
        assert!(!faults(|s| s + "puts {").is_empty());
    }

    #[test]
    fn a_flag_has_its_value() {
        if no_tclsh() {
            return;
        }
        let at = line("report_checks");
        let wrong = faults(|s| s.replace("-path_delay max", "-path_delay"));
        assert_eq!(wrong, [format!("place.tcl:{at}: report_checks: -path_delay needs a value, but -digits follows")]);
        // The flag in place of the value is judged too.
        let wrong = faults(|s| s.replace("-path_delay max -digits 3", "-path_delay -digits"));
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[1].ends_with("report_checks: -digits needs a value, but nothing follows"), "{wrong:?}");
        for value in ["-1", "-0.5", "-.5", "-2e3"] {
            assert_eq!(faults(|s| s.replace("-path_delay max", &format!("-slack_max {value}"))), Vec::<String>::new(), "{value}");
        }
    }

    #[test]
    fn files_that_are_read_are_there() {
        if no_tclsh() {
            return;
        }
        for (file, command) in [
            ("library.lib", "read_liberty"),
            ("macros.lib", "read_liberty"),
            ("macros.lef", "read_lef"),
            ("a.v", "read_verilog"),
            ("constraints.sdc", "read_sdc"),
        ] {
            let at = line(&format!("{command} {file}"));
            assert_eq!(faults_without(file, |s| s), [format!("place.tcl:{at}: {command}: file {file}: no such file")]);
        }
        // What the user's own variables name may be elsewhere, but nothing else; a folder is no file; a sourced one is checked.
        let wrong = faults(|s| s + "read_lef [file dirname $::env(TECH_LEF)]\nsource more.tcl\n");
        assert!(
            wrong.len() == 2 && wrong[0].contains("read_lef: file .: no such") && wrong[1].contains("source: file more.tcl"),
            "{wrong:?}"
        );
        let wrong = faults(|s| s + "set f [open more.tcl w]\nputs $f {\nreport_tns -x}\nclose $f\nsource -echo more.tcl\n");
        assert!(wrong.len() == 1 && wrong[0].starts_with("more.tcl:2: report_tns: no flag -x"), "{wrong:?}");
        // What the script itself writes may be read again.
        assert_eq!(faults(|s| s + "read_verilog ./t_placed.v\n"), Vec::<String>::new());
    }

    #[test]
    fn arguments_are_neither_missing_nor_too_many() {
        if no_tclsh() {
            return;
        }
        for (command, right, wrong, fault) in [
            ("link_design", "link_design t\n", "link_design\n", "needs the argument design"),
            ("link_design", "link_design t\n", "link_design {}\n", "needs the argument design"),
            ("link_design", "link_design t\n", "link_design t u v\n", "too many arguments: u v; legal: 1"),
            ("read_liberty", "read_liberty library.lib\n", "read_liberty\n", "needs the argument file"),
            ("write_def", "write_def t.def\n", "write_def\n", "needs the argument file"),
            ("report_tns", "report_tns\n", "report_tns 3\n", "too many arguments: 3; legal: 0"),
        ] {
            let at = line(right.trim());
            assert_eq!(faults(|s| s.replace(right, wrong)), [format!("place.tcl:{at}: {command}: {fault}")]);
        }
        let wrong = faults(|s| s + "set_input_delay 1 -clock clk\n");
        assert!(wrong.len() == 1 && wrong[0].ends_with("set_input_delay: needs the argument ports"), "{wrong:?}");
        assert_eq!(faults(|s| s + "report_tns -digits 3 > tns.txt\nget_ports -of_objects n\n"), Vec::<String>::new());
    }

    #[test]
    fn every_pin_of_a_macro_has_its_own_place() {
        let memory = crate::memory::report(None, "sram_1r1w", 80, 64, 4).unwrap();
        let lef = macros(&[memory]);
        assert_eq!(lef.matches("  PIN ").count(), 3 + 2 * 7 + 3 * 64);
        let size: Vec<f64> = lef.split("SIZE ").nth(1).unwrap().split_whitespace().filter_map(|w| w.parse().ok()).take(2).collect();
        assert!(size[1] >= (3.0 + 14.0 + 192.0) * 0.096, "{size:?}");
    }
}
