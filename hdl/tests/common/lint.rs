//! Runs Verilator, Icarus, Yosys and slang over Verilog files and returns everything they say.

use std::path::Path;
use std::process::Command;

/// Runs slang with its extra warnings through its Python binding.
const SLANG: &str = r#"
import sys
try:
    import pyslang
except ImportError:
    sys.exit("no pyslang")
driver = pyslang.driver.Driver() if hasattr(pyslang, "driver") else pyslang.Driver()
driver.addStandardArgs()
ok = driver.parseCommandLine("slang -Wextra --lint-only " + " ".join('"%s"' % a for a in sys.argv[1:]))
ok = ok and driver.processOptions() and driver.parseAllSources()
if ok:
    driver.reportCompilation(driver.createCompilation(), True)
else:
    print("slang: cannot read the files")
"#;

fn run(cmd: &mut Command, package: &str) -> String {
    let name = cmd.get_program().to_string_lossy().into_owned();
    let out = cmd.output().unwrap_or_else(|e| panic!("{name} does not run ({e}): install it with `{package}`"));
    let mut text = String::from_utf8_lossy(&out.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&out.stderr));
    if !out.status.success() && text.trim().is_empty() {
        text = format!("{name} failed with {}", out.status);
    }
    text
}

/// Python interpreter that has pyslang.
pub fn python() -> String {
    // scripts/setup.sh installs pyslang in .venv.
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/../.venv/bin/python");
    let found = if std::path::Path::new(here).exists() { here } else { "python3" };
    std::env::var("L1FORGE_PYTHON").unwrap_or_else(|_| found.to_owned())
}

/// Lints `(file name, text)` pairs whose top module is `top`. Empty if every tool is silent.
pub fn lint(files: &[(String, String)], top: &str) -> String {
    lint_with(files, top, &[])
}

/// [`lint`] with macros defined.
pub fn lint_with(files: &[(String, String)], top: &str, defines: &[&str]) -> String {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let names: Vec<&str> = files.iter().map(|f| f.0.as_str()).collect();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).expect("a writable temporary folder");
    }
    lint_in(dir.path(), &names, top, defines)
}

fn lint_in(dir: &Path, names: &[&str], top: &str, defines: &[&str]) -> String {
    let d: Vec<String> = defines.iter().map(|d| format!("-D{d}")).collect();
    let mut report = String::new();
    let mut say = |tool: &str, text: String| {
        if !text.trim().is_empty() {
            report.push_str(&format!("--- {tool}\n{text}\n"));
        }
    };
    say(
        "verilator",
        run(
            Command::new("verilator").current_dir(dir).args(["--lint-only", "-Wall", "--top-module", top]).args(&d).args(names),
            "apt-get install verilator",
        ),
    );
    say(
        "iverilog",
        run(
            Command::new("iverilog").current_dir(dir).args(["-g2005", "-Wall", "-t", "null", "-s", top]).args(&d).args(names),
            "apt-get install iverilog",
        ),
    );
    let script = format!("read_verilog {} {}; hierarchy -check -top {top}; proc; check -assert", d.join(" "), names.join(" "));
    say("yosys", run(Command::new("yosys").current_dir(dir).args(["-q", "-p", &script]), "apt-get install yosys"));
    let slang = run(Command::new(python()).current_dir(dir).args(["-c", SLANG]).args(&d).args(names), "apt-get install python3");
    assert!(
        !slang.contains("no pyslang"),
        "{} has no pyslang: install it with `pip install pyslang` and name the interpreter in L1FORGE_PYTHON",
        python()
    );
    say("slang", slang);
    report
}
