//! Four linters: silent on good files, and each finds what it is there for.

mod common;

use l1forge_verif::build::Design;
use l1forge_verif::lint::{LINTERS, LintError, LintReport, lint, lint_with};
use l1forge_verif::tools::Tool::{self, Iverilog, Pyslang, Verilator, Yosys};
use l1forge_verif::tools::Toolbox;

fn reports(design: &Design) -> Vec<LintReport> {
    lint(&Toolbox::from_env(), design).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn good_files_pass_silently() {
    let pair = Design::new("pair")
        .source(
            "rtl/pair.v",
            "module pair (input wire clk, input wire rst, input wire [7:0] step, output wire [8:0] next);\n  \
             wire [7:0] unused_q;\n  \
             counter one (.clk(clk), .rst(rst), .en(1'b1), .step(step), .q(unused_q), .next(next));\nendmodule\n",
        )
        .source("rtl/counter.v", common::fixture("counter.v"));
    for design in [common::design("counter.v"), common::lanes::design(""), pair] {
        let reports = reports(&design);
        assert_eq!(reports.iter().map(|report| report.tool).collect::<Vec<_>>(), LINTERS);
        for report in reports {
            assert!(report.ok && report.output.trim().is_empty(), "{}: {:?}: {}", design.top(), report.tool, report.output);
            assert!(report.version.contains(|letter: char| letter.is_ascii_digit()), "{}", report.version);
        }
    }
}

/// Which linters object to a module `t`, and the text that one of them must say.
#[test]
fn each_linter_finds_what_it_is_there_for() {
    let cases: [(&str, &[Tool], &str); 8] = [
        (
            "module t (input wire clk, input wire [7:0] a, output reg [3:0] q);\n  always @(posedge clk) q <= a;\nendmodule\n",
            &[Verilator, Pyslang],
            "truncates from 8 to 4 bits",
        ),
        (
            "module t (input wire e, input wire a, output reg q);\n  always @* if (e) q = a;\nendmodule\n",
            &[Verilator, Yosys],
            "Latch inferred for signal `\\t.\\q'",
        ),
        (
            "module t (input wire e, output wire q);\n  wire r;\n  assign r = q ^ e;\n  assign q = r;\nendmodule\n",
            &[Verilator, Yosys],
            "found logic loop",
        ),
        (
            "module t (input wire a, input wire b, output wire q);\n  assign q = a & b;\n  assign q = a | b;\nendmodule\n",
            &[Yosys],
            "multiple conflicting drivers",
        ),
        (
            "module t (input wire [3:0] e, output wire q);\n  assign q = e[4];\nendmodule\n",
            &[Verilator, Iverilog, Yosys, Pyslang],
            "Constant bit select [4] is after vector e[3:0].",
        ),
        (
            "module t (input wire e, output wire q);\n  nowhere u (.a(e), .q(q));\nendmodule\n",
            &[Verilator, Iverilog, Yosys, Pyslang],
            "unknown module 'nowhere'",
        ),
        (
            "module t (input wire [3:0] e, output wire q);\n  assign q = e[3]\nendmodule\n",
            &[Verilator, Iverilog, Yosys, Pyslang],
            "%Error: rtl/t.v:3:1: syntax error",
        ),
        // SystemVerilog in a Verilog file.
        (
            "module t (input wire e, output wire q);\n  logic r;\n  assign r = e;\n  assign q = r;\nendmodule\n",
            &[Verilator, Iverilog, Yosys, Pyslang],
            "rtl/t.v:2",
        ),
    ];
    for (text, expected, says) in cases {
        let reports = reports(&Design::new("t").source("rtl/t.v", text));
        let object: Vec<Tool> = reports.iter().filter(|report| !report.ok).map(|report| report.tool).collect();
        assert_eq!(object, expected, "{text}\n{reports:#?}");
        assert!(reports.iter().any(|report| report.output.contains(says)), "{says}\n{reports:#?}");
        for report in &reports {
            assert_eq!(report.ok, report.output.trim().is_empty(), "{report:?}");
        }
    }
}

#[test]
fn macros_reach_every_linter() {
    let text = "module t (input wire e, output wire q);\n`ifdef GOOD\n  assign q = e ^ `GOOD;\n`else\n  bad bad\n`endif\nendmodule\n";
    let design = Design::new("t").source("t.v", text);
    assert!(reports(&design).iter().all(|report| !report.ok));
    let reports = reports(&design.define("GOOD", "1'b1"));
    assert!(reports.iter().all(|report| report.ok), "{reports:#?}");
}

#[test]
fn system_verilog_is_read_as_such() {
    let text = "module t (input logic e, output logic q);\n  always_comb q = e;\nendmodule\n";
    let reports = reports(&Design::new("t").source("rtl/t.sv", text));
    assert!(reports.iter().all(|report| report.ok), "{reports:#?}");
}

#[test]
fn a_missing_linter_is_an_error() {
    for tool in LINTERS {
        // A program that is not there; and a Python without pyslang.
        let program = if tool == Pyslang { "/bin/false" } else { "/nonexistent/tool" };
        let tools = Toolbox::from_env().with(tool, program);
        let error = lint(&tools, &common::design("counter.v")).unwrap_err();
        let LintError::MissingTool(missing) = error else { panic!("{error}") };
        assert_eq!(missing.tool, tool);
        assert!(missing.to_string().contains("install it with: "), "{missing}");
    }
    // Only those that are asked for.
    let tools = Toolbox::from_env().with(Yosys, "/nonexistent/tool");
    let reports = lint_with(&tools, &common::design("counter.v"), &[Iverilog, Verilator]).unwrap();
    assert_eq!(reports.iter().map(|report| report.tool).collect::<Vec<_>>(), [Iverilog, Verilator]);
}
