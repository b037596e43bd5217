//! `synth` and `place` as outside tools use them, on one small block.

use serde_json::Value;
use std::process::{Command, Output};

fn l1forge(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_l1forge")).args(args).output().expect("the binary runs")
}

fn json(args: &[&str]) -> Value {
    let output = l1forge(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

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
    let (empty, out) = (empty.to_str().unwrap(), out.to_str().unwrap());
    for (args, what) in [
        (vec!["synth", "--library", empty], "the file is empty"),
        (vec!["synth", "--library", "/nonexistent.lib"], "/nonexistent.lib"),
        (vec!["synth", "--block", "l3"], "unknown block"),
        (vec!["synth", "--jobs", "0"], "--jobs 0: legal are"),
        (vec!["synth", "--clock", "0"], "--clock 0: legal are"),
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
