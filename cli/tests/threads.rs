//! Commands where no thread can be started: they do without.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

/// Runs a command whose threads want stacks larger than the address space.
fn alone(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_l1forge"));
    command.args(args).env("RUST_MIN_STACK", (1u64 << 60).to_string()).env("RUST_BACKTRACE", "0");
    command.output().expect("the binary runs")
}

/// It must do what it does with threads.
fn same(args: &[&str]) {
    let other = Command::new(env!("CARGO_BIN_EXE_l1forge")).args(args).output().expect("the binary runs");
    let output = alone(args);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), other.status.code(), "{args:?}: {message}");
    assert!(!message.contains("internal") && !message.contains("panicked"), "{args:?}: {message}");
    assert!(output.stdout == other.stdout, "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn studies() {
    same(&["study", "snakecharmer", "--loads", "100"]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let args = ["experiment", "schemes", "--sms", "8", "--scale", "0.01", "--workload", "gemm", "--threads", "16", "--out", out];
    let output = alone(&args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    same(&args);
}

// Where a tool is missing, both ways say so.
#[test]
fn tools() {
    same(&["lint", "--block", "bf_engine", "--sms", "8"]);
    let cache = tempfile::tempdir().unwrap();
    // Four units.
    let args = ["synth", "--block", "lookup_network", "--sms", "2", "--jobs", "4"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_l1forge"));
    command.args(args).env("L1FORGE_CACHE", cache.path()).env("RUST_MIN_STACK", (1u64 << 60).to_string());
    let output = command.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!message.contains("internal") && !message.contains("panicked"), "{message}");
    same(&args);
}
