//! `synth` and `place` as outside tools use them, on one small block.

mod common;

use common::{json, l1forge};
use serde_json::Value;
use std::process::Command;

#[test]
fn bf_engine_area_timing_luts_and_proof() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_str().unwrap();
    let mut args = vec!["synth", "--block", "bf_engine", "--sms", "8", "--fpga", "--equivalence", "--out", folder, "--json"];
    let sta = Command::new("sta").arg("-version").output().is_ok();
    if sta {
        args.push("--timing");
    }
    let report = json(&args);
    let total = &report["total"];
    assert_eq!((total["inferred_memories"].as_u64(), total["latches"].as_u64()), (Some(0), Some(0)));
    assert!(total["flip_flops"].as_u64().unwrap() >= 30);
    // The area is the sum over the cells, flip-flops of 0.2916 um2 and gates of at least 0.04 um2.
    let (cells, ff) = (total["cells"].as_f64().unwrap(), total["flip_flops"].as_f64().unwrap());
    let area = total["area_um2"].as_f64().unwrap();
    assert!(area > ff * 0.2916 + (cells - ff) * 0.04 && area < ff * 0.31 + (cells - ff) * 0.15, "{area}");
    assert_eq!(report["blocks"][0]["name"], "bf_engine");
    assert_eq!(report["equivalence"][0]["proven"], true);
    let luts = report["fpga"]["luts"].as_u64().unwrap();
    assert!((40..=134).contains(&luts), "{luts} LUTs");
    if sta {
        let path = report["timing"]["critical_path_ps"].as_f64().unwrap();
        assert!((20.0..500.0).contains(&path), "{path} ps");
    }
    let written: Value = serde_json::from_str(&std::fs::read_to_string(out.path().join("synth.json")).unwrap()).unwrap();
    assert_eq!(written["total"], report["total"]);
    assert!(std::fs::read_to_string(out.path().join("area.svg")).unwrap().contains("bf_engine"));
}

/// The table beside the paper is complete without --fpga: the LUTs are those that --fpga counts for the engine, in JSON, text and the page.
#[test]
fn the_whole_cache_has_the_luts_of_its_bf_engine_by_default() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_str().unwrap();
    assert!(l1forge(&["gen", "--sms", "2", "--out", folder]).status.success());
    let report = json(&["synth", "--sms", "2", "--out", folder, "--json"]);
    let lines = report["paper"].as_array().unwrap();
    assert!(lines.iter().all(|l| l["ours"].is_number()), "{lines:?}");
    let ours = lines.iter().find(|l| l["what"] == "LUTs of one BF engine").unwrap()["ours"].as_f64().unwrap();
    let engine = json(&["synth", "--block", "bf_engine", "--sms", "2", "--fpga", "--json"]);
    assert_eq!(engine["fpga"]["blocks"][0]["luts_each"].as_f64(), Some(ours));
    // Counts of all modules are for those who ask.
    assert!(report.get("fpga").is_none());
    let row = format!("| LUTs of one BF engine | 268 | {ours} |");
    let text = std::fs::read_to_string(out.path().join("area.md")).unwrap();
    assert!(text.contains(&row) && !text.contains("not run"), "{text}");
    assert!(l1forge(&["report", folder]).status.success());
    let page = std::fs::read_to_string(out.path().join("report.html")).unwrap();
    assert!(page.contains(&format!("<td class=\"n\">268</td><td class=\"n\">{ours}</td>")) && !page.contains("not run"));
}

#[test]
fn scripts_for_openroad_are_written_and_pass_the_check() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_str().unwrap();
    let report = json(&["place", "--block", "bf_engine", "--sms", "8", "--scripts-only", "--out", folder, "--json"]);
    assert_eq!(report["openroad"]["faults"].as_array().unwrap().len(), 0);
    for file in ["place.tcl", "constraints.sdc", "library.lib", "netlist/bf_engine.v"] {
        assert!(out.path().join("openroad").join(file).exists(), "{file}");
    }
}

#[test]
fn bad_input_is_one_message_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.lib");
    std::fs::write(&empty, "").unwrap();
    let out = folder.path().join("out");
    let plain = folder.path().join("plain.lib.gz");
    std::fs::write(&plain, "no Liberty").unwrap();
    let (empty, plain, out) = (empty.to_str().unwrap(), plain.to_str().unwrap(), out.to_str().unwrap());
    for (args, what) in [
        (vec!["synth", "--library", empty], "the file is empty"),
        (vec!["synth", "--library", "/nonexistent.lib"], "/nonexistent.lib"),
        (vec!["synth", "--library", ""], "--library \"\": a name is empty; legal are asap7 "),
        (vec!["place", "--library", plain], "plain.lib.gz: it is not gzip"),
        (vec!["synth", "--library", "asap7,/nonexistent.lib"], "--library /nonexistent.lib: cannot read it"),
        (vec!["synth", "--block", "l3"], "unknown block"),
        (vec!["synth", "--jobs", "0"], "--jobs 0: legal are"),
        (vec!["synth", "--timing", "--clock", "0"], "--clock 0: legal are"),
        (vec!["place", "--utilization", "1.5"], "--utilization 1.5: legal are"),
        (vec!["place", "--effort", "0"], "--effort 0: legal are"),
    ] {
        let mut args = args;
        args.extend(["--out", out, "--sms", "8"]);
        let output = l1forge(&args);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
        assert!(message.contains(what) && message.lines().count() == 1, "{args:?}: {message}");
        assert!(!std::path::Path::new(out).exists(), "{args:?}");
    }
}

/// A missing tool, a killed one, one that runs out of memory: one message with the step and the log, and the next run goes on.
#[test]
fn failing_tools_are_one_message_and_the_next_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let run = |yosys: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_l1forge"));
        command.args(["synth", "--block", "bf_engine", "--sms", "8", "--json"]).env("L1FORGE_CACHE", path("cache")).env("YOSYS", yosys);
        command.output().unwrap()
    };
    let fails = |yosys: &str, what: &[&str]| {
        let output = run(yosys);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{message}");
        assert!(what.iter().all(|w| message.contains(w)) && message.lines().count() == 1, "{message}");
    };
    fails("/nonexistent/yosys", &["no program `/nonexistent/yosys` (set by YOSYS)", "apt-get install yosys"]);
    fails("/bin/false", &["/bin/false: it is no Yosys"]);
    fails("/bin/echo", &["/bin/echo: it is no Yosys", "-V"]);
    // One that is killed when it maps, and one that has too little memory for that.
    for (name, before, what) in [
        ("killed", "kill -9 $$", "mapping bf_engine: yosys was killed by signal 9"),
        ("starved", "ulimit -v 20000", "mapping bf_engine: yosys "),
    ] {
        let text = format!("#!/bin/sh\nif [ \"$1\" = -s ] && grep -q synth \"$2\"; then {before}; fi\nexec yosys \"$@\"\n");
        std::fs::write(path(name), text).unwrap();
        assert!(Command::new("chmod").args(["+x", &path(name)]).status().unwrap().success());
        fails(&path(name), &[what, "failed-bf_engine/log"]);
    }
    assert!(run("yosys").status.success());
    assert!(folder.path().join("cache/synth/failed-bf_engine/log").exists());
}

/// The mapped netlist of the BF engine in Icarus Verilog, with cell models made from the library, against the model behind `encode`.
#[test]
fn the_netlist_of_the_bf_engine_encodes_like_the_model() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_str().unwrap();
    json(&["place", "--block", "bf_engine", "--sms", "8", "--scripts-only", "--out", folder, "--json"]);
    let tags: Vec<u64> = (0..40u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 23).chain([0, 1, (1 << 41) - 1]).collect();
    let names: Vec<String> = tags.iter().map(|t| format!("{t:#x}")).collect();
    let mut args = vec!["encode", "--sms", "8", "--json"];
    args.extend(names.iter().map(String::as_str));
    let model = json(&args);
    let mut drive = String::new();
    for tag in &tags {
        drive += &format!(
            "tag_i = 41'h{tag:x}; valid_i = 1; @(posedge clk); #1; valid_i = 0; while (!valid_o) begin @(posedge clk); #1; end $display(\"%h\", index_o);\n"
        );
    }
    let bench = format!(
        "`timescale 1ns/1ps\nmodule bench; reg clk = 0; always #5 clk = ~clk; reg rst = 1; reg valid_i = 0; reg [40:0] tag_i = 0;
wire ready_o, valid_o; wire [51:0] index_o; wire [7:0] user_o;
bf_engine dut (.clk_i(clk), .rst_i(rst), .valid_i(valid_i), .ready_o(ready_o), .tag_i(tag_i), .user_i(8'd0), .valid_o(valid_o), .index_o(index_o), .user_o(user_o));
initial begin repeat (3) @(posedge clk); #1 rst = 0; @(posedge clk); #1;\n{drive}$finish; end endmodule\n"
    );
    std::fs::write(out.path().join("bench.v"), bench).unwrap();
    let tool = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(out.path()).output().expect(program);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{program}: {text}{}", String::from_utf8_lossy(&output.stderr));
        text
    };
    tool("yosys", &["-q", "-p", "read_liberty openroad/library.lib; write_verilog -noattr cells.v"]);
    tool("iverilog", &["-g2005", "-o", "sim", "bench.v", "cells.v", "openroad/netlist/bf_engine.v"]);
    let seen: Vec<u64> = tool("vvp", &["-n", "sim"]).lines().filter_map(|l| u64::from_str_radix(l.trim(), 16).ok()).collect();
    assert_eq!(seen.len(), tags.len());
    for (tag, (word, expected)) in tags.iter().zip(seen.iter().zip(model.as_array().unwrap())) {
        let positions = expected["positions"].as_array().unwrap();
        assert_eq!(positions.len(), 4);
        for (i, p) in positions.iter().enumerate() {
            assert_eq!(Some((word >> (13 * i)) & 0x1fff), p["index"].as_u64(), "tag {tag:#x}, position {i}");
        }
    }
}
