//! `traffic` and `experiment`: bad input, results that are gone on from, the same bytes on any number of threads.

mod common;

use common::{l1forge, refused, scratch, text};
use std::path::{Path, PathBuf};
use std::process::Output;

#[test]
fn bad_input_of_traffic() {
    let folder = scratch("bad");
    let broken = folder.join("kernel.traceg");
    std::fs::write(&broken, "-kernel name = k\n#BEGIN_TB\nthread block = banana\n").unwrap();
    let file = folder.join("system.toml");
    std::fs::write(&file, "sms = 8\n[system]\nmshrs = 0\n").unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["--trace", "--workload"]),
        (&["--workload", "gem"], &["gem", "gemm", "vector_add"]),
        (&["--workload", "gemm", "--scheme", "c3p"], &["c3p", "c2p", "ring"]),
        (&["--workload", "gemm", "--prefetch", "snek"], &["snek", "snakecharmer", "apogee-sc"]),
        (&["--workload", "gemm", "--scheme", "ring", "--rtl"], &["--rtl", "c2p"]),
        (&["--workload", "gemm", "--scale", "0"], &["scale", "0"]),
        (&["--workload", "gemm", "--scale", "nan"], &["scale"]),
        (&["--workload", "gemm", "--scale=-1"], &["scale", "-1"]),
        (&["--workload", "gemm", "--seed", "x"], &["seed", "x"]),
        (&["--workload", "gemm", "--set", "system.l2_byte=4"], &["system.l2_byte", "l2_bytes"]),
        (&["--workload", "gemm", "--set", "system.mshrs=0"], &["system.mshrs", "0"]),
        (&["--workload", "gemm", "--config", text(&file)], &["system.toml:3", "system.mshrs = 0", "1..="]),
        (&["--workload", "gemm", "--config", text(&file), "--set", "system.mshrs=999"], &["error: system.mshrs = 999", "1..="]),
        (&["--workload", "gemm", "--set", "system.l2_banks=x"], &["system.l2_banks", "x"]),
        (&["--workload", "gemm", "--set", "copies=7"], &["copies", "7", "1..=4"]),
        (&["--workload", "gemm", "--sms", "1"], &["sms", "1", "2..=256"]),
        (&["--workload", "gemm", "--trace", "x"], &["--workload", "--trace"]),
        (&["--trace", "/nowhere/kernel.traceg"], &["/nowhere/kernel.traceg"]),
        (&["--trace", text(&broken)], &["kernel.traceg:2"]),
    ];
    for (args, words) in cases {
        refused(&[&["traffic"], *args].concat(), words);
    }
}

#[test]
fn bad_input_of_experiment() {
    let folder = scratch("experiment-bad");
    let out = folder.join("out");
    let file = folder.join("file");
    std::fs::write(&file, "").unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["copy"], &["copy", "copies", "schemes"]),
        (&["copies", "--workload", "gem"], &["gem", "gemm"]),
        (&["copies", "--sms", "1"], &["sms", "1", "2..=256"]),
        (&["copies", "--scale", "0"], &["scale", "0"]),
        (&["copies", "--threads", "257"], &["--threads 257", "256"]),
        (&["copies", "--preset", "rich"], &["rich", "lean"]),
        (&["copies", "--set", "bank=4"], &["bank", "banks"]),
        (&["copies", "--set", "sms=8"], &["sms=8", "--sms"]),
        (&["copies", "--set", "system.mshrs=0"], &["system.mshrs", "0"]),
    ];
    for (args, words) in cases {
        refused(&[&["experiment", "--out", text(&out)], *args].concat(), words);
        assert!(!out.join("copies.csv").exists(), "{args:?} wrote a result");
    }
    refused(&["experiment", "copies", "--out", text(&file.join("x"))], &["--out", "file"]);
}

/// A study of two workloads on 4 SMs.
fn study(out: &Path, threads: &str) -> Vec<u8> {
    let args = ["experiment", "copies", "--sms", "4", "--scale", "0.02", "--workload", "gemm", "--workload", "bfs", "--threads", threads];
    let output = l1forge(&[&args[..], &["--out", text(out), "--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn studies_are_the_same_on_any_number_of_threads_and_go_on_from_what_is_there() {
    let folder = scratch("study");
    let (one, five) = (folder.join("one"), folder.join("five"));
    let first = study(&one, "1");
    assert_eq!(first, study(&five, "5"));
    for name in ["copies.csv", "copies.json", "copies.svg"] {
        assert_eq!(std::fs::read(one.join(name)).unwrap(), std::fs::read(five.join(name)).unwrap(), "{name}");
    }
    // A setting of all runs changes them.
    let set = l1forge(&["experiment", "queries", "--sms", "4", "--scale", "0.02", "--workload", "bfs", "--out", text(&folder.join("set"))]);
    let lean = l1forge(&[
        "experiment",
        "queries",
        "--sms",
        "4",
        "--scale",
        "0.02",
        "--workload",
        "bfs",
        "--preset",
        "lean",
        "--out",
        text(&folder.join("set")),
    ]);
    let table = |o: &Output| String::from_utf8_lossy(&o.stdout).lines().filter(|l| l.starts_with("| 1 |")).collect::<String>();
    assert!(set.status.success() && lean.status.success() && table(&set).len() > 20);
    assert_ne!(table(&set), table(&lean), "the preset has no effect");
    // One result is lost, one is cut off, one is another's: it must not be found under its own name only.
    let mut runs: Vec<PathBuf> = std::fs::read_dir(one.join("runs")).unwrap().map(|e| e.unwrap().path()).collect();
    runs.sort();
    assert!(runs.len() > 4);
    let kept = std::fs::metadata(&runs[2]).unwrap().modified().unwrap();
    std::fs::remove_file(&runs[0]).unwrap();
    std::fs::write(&runs[1], "{\"cycles\": 12").unwrap();
    assert_eq!(first, study(&one, "2"));
    assert!(runs[0].exists());
    assert_eq!(std::fs::metadata(&runs[2]).unwrap().modified().unwrap(), kept, "a result that was there was made again");
}
