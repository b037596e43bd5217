//! Properties in yosys and an SMT solver.

use l1forge_hdl::rtl::{Design, Module};
use std::process::Command;
use std::rc::Rc;

/// Runs bounded model checking, or induction, over some steps: true if no property is violated.
pub fn holds(module: &Rc<Module>, steps: u32, induction: bool) -> bool {
    let design = Design::new(module.clone()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<String> = design.write_to(dir.path()).unwrap().iter().map(|p| p.display().to_string()).collect();
    let smt = dir.path().join("design.smt2");
    // Gates instead of words: z3 takes minutes for the shifts of an arbiter.
    let script = format!(
        "read_verilog -formal {}; prep -flatten -top {}; async2sync; techmap; opt -full; abc -g AND,OR,XOR,MUX; opt_clean; dffunmap; write_smt2 -wires {}",
        files.join(" "),
        design.top(),
        smt.display()
    );
    let out = Command::new("yosys").args(["-q", "-p", &script]).output().expect("apt-get install yosys");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr));
    let mut cmd = Command::new("yosys-smtbmc");
    cmd.args(["-s", "z3", "-t", &steps.to_string()]);
    if induction {
        cmd.arg("-i");
    }
    let out = cmd.arg(&smt).output().expect("apt-get install yosys z3");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("Status: PASSED") || text.contains("Status: FAILED"), "{text}{}", String::from_utf8_lossy(&out.stderr));
    text.contains("Status: PASSED")
}
