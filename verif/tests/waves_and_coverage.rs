//! Waves and code coverage of a running model.

mod common;

use std::fs;

use common::{design, shared_builder};
use l1forge_verif::build::{Design, Waves};
use l1forge_verif::code_coverage::{CodeCoverage, CodeCoverageError, PointKind, Ratio};
use l1forge_verif::dut::{Dut, Init, StopKind};

fn count(dut: &mut Dut, cycles: u64) {
    let (en, step) = (dut.input("en").unwrap(), dut.input("step").unwrap());
    dut.poke(en, 1);
    for cycle in 0..cycles {
        dut.poke(step, cycle % 2);
        dut.step().unwrap();
    }
}

/// The values of a variable of a VCD file, as (time, bits).
fn changes(vcd: &str, name: &str) -> Vec<(u64, String)> {
    let declaration = vcd
        .lines()
        .find(|line| line.contains("$var") && line.contains(&format!(" {name} ")))
        .unwrap_or_else(|| panic!("no {name} in {vcd}"));
    let code = declaration.split_whitespace().nth(3).unwrap();
    let mut time = 0;
    let mut changes = Vec::new();
    for line in vcd.lines() {
        if let Some(text) = line.strip_prefix('#') {
            time = text.parse().unwrap();
        } else if let Some(bits) = line.strip_suffix(code)
            && (bits == "0" || bits == "1" || bits.starts_with('b'))
        {
            changes.push((time, bits.trim_start_matches('b').trim().to_owned()));
        }
    }
    changes
}

#[test]
fn vcd_waves_show_every_half_cycle() {
    let folder = tempfile::tempdir().unwrap();
    let library = shared_builder().build(&design("counter.v").waves(Waves::Vcd)).unwrap();
    let mut dut = library.instantiate(Init::Zeros).unwrap();
    assert_eq!(dut.close_waves().unwrap(), None);
    let path = folder.path().join("a.vcd");
    dut.open_waves(&path).unwrap();
    count(&mut dut, 4);
    assert_eq!(dut.close_waves().unwrap(), Some(path.clone()));
    let vcd = fs::read_to_string(&path).unwrap();
    let list = |pairs: &[(u64, &str)]| pairs.iter().map(|&(time, bits)| (time, bits.to_owned())).collect::<Vec<_>>();
    assert_eq!(changes(&vcd, "clk"), list(&[(0, "0"), (1, "1"), (2, "0"), (3, "1"), (4, "0"), (5, "1"), (6, "0"), (7, "1")]));
    // Inputs change with the falling clock, registers with the rising one.
    assert_eq!(changes(&vcd, "step"), list(&[(0, "00000000"), (2, "00000001"), (4, "00000000"), (6, "00000001")]));
    assert_eq!(changes(&vcd, "q"), list(&[(0, "00000000"), (3, "00000001"), (7, "00000010")]));

    // A part of the run, in another file.
    count(&mut dut, 3);
    let path = folder.path().join("b.vcd");
    dut.open_waves(&path).unwrap();
    count(&mut dut, 2);
    drop(dut);
    let vcd = fs::read_to_string(&path).unwrap();
    assert_eq!(changes(&vcd, "clk"), list(&[(14, "0"), (15, "1"), (16, "0"), (17, "1")]));
    assert_eq!(changes(&vcd, "q"), list(&[(14, "00000011"), (17, "00000100")]));
}

#[test]
fn fst_waves_cover_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let library = shared_builder().build(&design("counter.v").waves(Waves::Fst)).unwrap();
    let mut dut = library.instantiate(Init::Zeros).unwrap();
    let path = folder.path().join("a.fst");
    dut.open_waves(&path).unwrap();
    count(&mut dut, 10);
    dut.close_waves().unwrap();
    // Header block: kind 0, length, first and last time, all big endian.
    let bytes = fs::read(&path).unwrap();
    let word = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!((bytes[0], word(1), word(9), word(17)), (0, 329, 0, 19));
}

#[test]
fn waves_that_cannot_be_written_are_an_error() {
    let with = shared_builder().build(&design("counter.v").waves(Waves::Fst)).unwrap();
    let mut dut = with.instantiate(Init::Zeros).unwrap();
    let error = dut.open_waves("/nonexistent/folder/a.fst").unwrap_err();
    assert_eq!((error.kind, error.file.as_str()), (StopKind::Unsupported, "/nonexistent/folder/a.fst"));
    dut.step().unwrap();
    let without = shared_builder().build(&design("counter.v")).unwrap();
    let mut dut = without.instantiate(Init::Zeros).unwrap();
    let error = dut.open_waves("a.fst").unwrap_err();
    assert_eq!(error.to_string(), "a.fst: cycle 0: Unsupported: the design was built without waves");
    assert!(dut.write_coverage("a.dat").is_err());
    dut.step().unwrap();
}

/// Two counters that count together in one report.
fn two_counters() -> Design {
    let top = "module pair (input wire clk, input wire rst, input wire [1:0] en, input wire [7:0] step, output wire [15:0] q);\n  \
               wire [17:0] next;\n  \
               counter low (.clk(clk), .rst(rst), .en(en[0]), .step(step), .q(q[7:0]), .next(next[8:0]));\n  \
               counter high (.clk(clk), .rst(rst), .en(en[1]), .step(step), .q(q[15:8]), .next(next[17:9]));\nendmodule\n";
    Design::new("pair").source("pair.v", top).source("counter.v", common::fixture("counter.v")).clock("clk").coverage(true)
}

#[test]
fn code_coverage_is_merged_over_instances_and_runs() {
    let library = shared_builder().build(&two_counters()).unwrap();
    let run = |en: u64, rst: u64| {
        let mut dut = library.instantiate(Init::Zeros).unwrap();
        let (rst_port, en_port) = (dut.input("rst").unwrap(), dut.input("en").unwrap());
        dut.poke(rst_port, rst);
        dut.poke(en_port, en);
        for _ in 0..3 {
            dut.step().unwrap();
        }
        dut.code_coverage().unwrap()
    };
    let branches = |coverage: &CodeCoverage| {
        let mut list: Vec<_> = coverage
            .points()
            .filter(|(point, _)| point.kind == PointKind::Branch)
            .map(|(point, count)| (point.module.clone(), point.line, point.name.clone(), count))
            .collect();
        list.sort();
        list
    };
    let point = |name: &str, count| (String::from("counter"), 13, name.to_owned(), count);
    // One counter enabled, the other not: both sides of the inner condition are covered.
    let mut coverage = run(1, 0);
    assert_eq!(branches(&coverage), [point("else", 3), point("if", 3)]);
    assert_eq!(coverage.ratio(PointKind::Branch), Ratio { hit: 2, total: 2 });
    // Line 12, the reset, only in the second run.
    let reset = |coverage: &CodeCoverage| coverage.missed().any(|point| point.kind == PointKind::Line && point.line == 12);
    assert!(reset(&coverage));
    let second = run(0, 1);
    assert_eq!(branches(&second), [point("else", 0), point("if", 0)]);
    assert!(!reset(&second));
    let before = coverage.ratio(PointKind::Line);
    coverage.merge(&second);
    assert!(!reset(&coverage));
    assert_eq!(coverage.ratio(PointKind::Line), Ratio { hit: before.hit + 1, total: before.total });
    assert_eq!(branches(&coverage), [point("else", 3), point("if", 3)]);
    // The bits of `rst` of pair and of counter have changed only in the second run, `step` never.
    let toggled = |name: &str| coverage.points().filter(|(point, _)| point.name == name).map(|(_, count)| count > 0).collect::<Vec<_>>();
    assert_eq!(toggled("rst"), [true, true]);
    assert_eq!(toggled("step[0]"), [false, false]);
    let report = coverage.to_string();
    assert!(report.contains("branch  100.0 % (2 of 2)"), "{report}");
}

#[test]
fn a_file_that_is_no_coverage_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "# SystemC::Coverage-3\nC 'nonsense' 1\n").unwrap();
    let error = CodeCoverage::read(file.path()).unwrap_err();
    assert!(matches!(error, CodeCoverageError::Format { line: 2, .. }), "{error}");
    assert!(CodeCoverage::read("/nonexistent").is_err());
}
