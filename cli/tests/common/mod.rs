//! What tests of the command line share; each uses a part of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the command.
pub fn l1forge(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_l1forge")).args(args).output().expect("the binary runs")
}

/// Runs, expects success, and returns what is on stdout.
pub fn done(args: &[&str]) -> String {
    let output = l1forge(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// As [`done`]; what is on stdout is one JSON document.
pub fn json(args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&done(args)).unwrap()
}

/// Runs, expects exit code 2, nothing on stdout, and all words in the one message.
pub fn refused(args: &[&str], words: &[&str]) {
    let output = l1forge(args);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    assert!(output.stdout.is_empty(), "{args:?} printed {}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(message.matches("error: ").count(), 1, "{args:?}: {message}");
    assert!(!message.contains("panicked"), "{args:?}: {message}");
    for word in words {
        assert!(message.contains(word), "{args:?}: no {word:?} in {message}");
    }
}

/// A new empty folder.
pub fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("l1forge-test-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
