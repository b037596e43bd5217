//! Bad input: one message that says what, where and what is legal; exit code 2; nothing written.

mod common;

use common::{l1forge, refused, scratch, text};
use std::process::Command;

#[test]
fn configuration() {
    let folder = scratch("config");
    let out = folder.join("out");
    let cases: &[(&[&str], &[&str])] = &[
        (&["--set", "sm=4"], &["sm", "unknown key", "sms"]),
        (&["--set", "sms"], &["sms", "key=value"]),
        (&["--sms", "1"], &["sms", "1", "2..=256"]),
        (&["--sms", "257"], &["sms", "257", "2..=256"]),
        (&["--set", "sms=banana"], &["sms", "banana", "2..=256"]),
        (&["--set", "copies=5"], &["copies", "5", "1..=4"]),
        (&["--set", "hashes=0", "--set", "copies=2"], &["copies", "2", "1..=1"]),
        (&["--sms", "2", "--set", "lookup_ports=1", "--set", "copies=3"], &["copies", "3", "1..=2"]),
        (&["--set", "banks=48"], &["banks", "48", "power of two"]),
        (&["--set", "hash_bits=100"], &["hash_bits", "100", "multiple of banks"]),
        (&["--set", "hashes=8"], &["hashes", "8", "0..=7"]),
        (&["--set", "mask_bits=0", "--set", "hashes=0"], &["hashes", "0", "1..=8"]),
        (&["--set", "mask_bits=512"], &["mask_bits", "512", "0, 1024"]),
        (&["--set", "hashes=0", "--set", "hash_bits=4096"], &["hash_bits", "4096", "0 when hashes = 0"]),
        (&["--set", "engines=1"], &["engines", "1", "2..=1024"]),
        (&["--set", "engines=8", "--set", "update_engines=8"], &["update_engines", "8", "1..=7"]),
        (&["--set", "update_engines=2"], &["update_engines", "2", "64..=127"]),
        (&["--set", "line_bytes=96"], &["line_bytes", "96", "power of two"]),
        (&["--set", "address_bits=65"], &["address_bits", "65", "16..=64"]),
        (&["--set", "floorplan=[[0, 0]]"], &["floorplan", "1", "64"]),
        (&["--set", "reset_style=none"], &["reset_style", "none", "sync_high"]),
        (&["--preset", "rich"], &["preset", "rich", "paper"]),
        (&["--block", "l3"], &["l3", "bf_engine"]),
    ];
    for (args, words) in cases {
        let mut all = vec!["gen", "--out", text(&out)];
        all.extend(*args);
        refused(&all, words);
        assert!(!out.exists(), "{args:?} wrote something");
    }
}

#[test]
fn configuration_file() {
    let folder = scratch("file");
    let file = folder.join("c.toml");
    for (content, words) in [
        ("sms = 8\nbanks = = 4\n", &["c.toml:2", "TOML"][..]),
        ("sms = 8\n\nbank = 4\n", &["c.toml:3", "bank", "unknown key", "banks"]),
        ("sms = 8\ncopies = 9\n", &["c.toml:2", "copies", "9", "1..=8"]),
        ("sms = \"many\"\n", &["c.toml:1", "sms", "many"]),
        ("sms = 8\n[system]\nmshr = 4\n", &["c.toml:3", "system.mshr = 4", "mshrs"]),
        ("sms = 8\n[system]\nmshrs = \"few\"\n", &["c.toml:3", "system.mshrs", "few", "whole number"]),
    ] {
        std::fs::write(&file, content).unwrap();
        refused(&["config", "--config", text(&file)], words);
    }
    refused(&["config", "--config", text(&folder.join("none.toml"))], &["none.toml"]);
}

#[test]
fn output_folder() {
    let folder = scratch("out");
    let file = folder.join("file");
    std::fs::write(&file, "mine").unwrap();
    refused(&["gen", "--sms", "2", "--out", text(&file)], &["--out", "file"]);
    refused(&["gen", "--sms", "2", "--out", text(&file.join("below"))], &["--out", "below"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn tags() {
    refused(&["encode", "0x20000000000"], &["0x20000000000", "0x1ffffffffff"]);
    refused(&["encode", "seven"], &["seven", "legal"]);
    refused(&["encode", "--json", "-1"], &["-1"]);
}

#[test]
fn traces() {
    let folder = scratch("trace");
    let trace = folder.join("k.traceg");
    refused(&["trace", "info", text(&trace)], &["k.traceg"]);
    refused(&["cosim", "--sms", "2", "--trace", text(&trace)], &["k.traceg"]);
    let head = "-kernel name = k\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n-nregs = 8\n-binary version = 80\n-cuda stream id = 0\n-shmem base_addr = 0x0\n-local mem base_addr = 0x0\n-nvbit version = 1.7\n-accelsim tracer version = 5\n-enable lineinfo = 0\n\n#traces format = x\n\n#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = 1\n";
    let whole = format!("{head}0000 00000001 1 R1 LDG.E 1 R2 4 0 0x7f0000000000 0\n\n#END_TB\n");
    std::fs::write(&trace, &whole).unwrap();
    let output = l1forge(&["trace", "info", text(&trace), "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::write(&trace, head).unwrap();
    refused(&["trace", "info", text(&trace)], &["k.traceg"]);
    std::fs::write(&trace, whole.replace("LDG.E 1 R2", "LDG.E one R2")).unwrap();
    refused(&["trace", "info", text(&trace)], &["k.traceg:23"]);
    std::fs::write(&trace, whole.replace("0x7f0000000000", "0x1000000000000")).unwrap();
    refused(&["trace", "info", text(&trace)], &["k.traceg:23", "0x1000000000000"]);
    std::fs::write(folder.join("kernelslist.g"), "missing.traceg\n").unwrap();
    refused(&["trace", "info", text(&folder)], &["missing.traceg"]);
}

#[test]
fn workloads_and_options() {
    refused(&["cosim", "--sms", "2", "--workload", "chess"], &["chess", "gemm"]);
    refused(&["cosim", "--sms", "2", "--transactions", "0"], &["transactions", "0"]);
    refused(&["cosim", "--sms", "2", "--block", "bank"], &["bank", "bank_arbiter", "c2p_cache", "l2_awt", "snakecharmer"]);
    refused(&["cosim", "--block", "prt", "--workload", "gemm"], &["prt", "--workload", "c2p_cache and snakecharmer"]);
    refused(&["cosim", "--block", "snakecharmer", "--workload", "chess"], &["chess", "gemm", "stencil2d", "pointer"]);
    refused(&["cosim", "--block", "snakecharmer", "--trace", "/nonexistent/k.traceg"], &["/nonexistent/k.traceg"]);
    refused(&["report", "/nonexistent/folder"], &["/nonexistent/folder", "gen"]);
}

#[test]
fn a_missing_tool_is_named_with_its_package() {
    let output = Command::new(env!("CARGO_BIN_EXE_l1forge"))
        .args(["lint", "--sms", "2"])
        .env("PATH", "/nonexistent")
        .env_remove("VERILATOR")
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("install"), "{message}");
}
