//! The commands as outside tools use them.

mod common;

use common::{done, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("l1forge-cmd-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(f) = folders.pop() {
        for entry in std::fs::read_dir(f).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.insert(path.strip_prefix(folder).unwrap().display().to_string(), std::fs::read(&path).unwrap());
            }
        }
    }
    all
}

#[test]
fn gen_writes_the_same_bytes_twice_and_only_them() {
    let (a, b) = (scratch("a"), scratch("b"));
    let manifest = json(&["gen", "--sms", "20", "--out", a.to_str().unwrap(), "--json"]);
    done(&["gen", "--sms", "20", "--out", b.to_str().unwrap()]);
    assert_eq!(files(&a), files(&b));
    assert_eq!(manifest["top"], "c2p_cache");
    let named: Vec<&str> = manifest["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
    let there: Vec<String> = files(&a).into_keys().filter(|f| f != "manifest.json").collect();
    let mut sorted = named.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, there);
    // A smaller design in the same folder leaves nothing of the larger one behind.
    done(&["gen", "--block", "bf_engine", "--out", a.to_str().unwrap()]);
    let left: Vec<String> = files(&a).into_keys().filter(|f| f.ends_with(".v")).collect();
    assert_eq!(left, ["rtl/bf_engine.v"]);
    // Files of others stay.
    std::fs::write(a.join("notes.txt"), "mine").unwrap();
    done(&["gen", "--block", "bf_engine", "--out", a.to_str().unwrap()]);
    assert!(a.join("notes.txt").exists());
}

#[test]
fn the_written_configuration_gives_the_same_design() {
    let (a, b) = (scratch("c"), scratch("d"));
    done(&[
        "gen",
        "--sms",
        "3",
        "--set",
        "mask_bits=0",
        "--set",
        "hashes=4",
        "--set",
        "reset_style=async_low",
        "--out",
        a.to_str().unwrap(),
    ]);
    done(&["gen", "--config", a.join("config.toml").to_str().unwrap(), "--out", b.to_str().unwrap()]);
    assert_eq!(files(&a), files(&b));
}

#[test]
fn encode_follows_the_general_rule() {
    let positions = json(&["encode", "0x001", "--json"]);
    assert_eq!(positions[0]["tag"], 1);
    assert_eq!(positions[0]["positions"][0], serde_json::json!({"index": 0b1_0000_0100_0000, "bank": 32, "row": 64}));
    for (sets, k, hash_rows) in [
        (&["--set", "hash_bits=256"][..], 4, 4),
        (&["--set", "hash_bits=1536"], 4, 24),
        (&["--set", "hash_bits=9216"], 4, 144),
        (&["--set", "hash_bits=19456", "--set", "hashes=7"], 8, 304),
        (&["--set", "hashes=0"], 1, 0),
        (&["--set", "mask_bits=0", "--set", "hashes=4"], 4, 64),
    ] {
        let mut args = vec!["encode", "--json"];
        args.extend(sets);
        args.extend(["0x155", "0x3ff", "77777777"]);
        for entry in json(&args).as_array().unwrap() {
            let positions = entry["positions"].as_array().unwrap();
            assert_eq!(positions.len(), k, "{sets:?}");
            let masked = usize::from(!sets.contains(&"mask_bits=0"));
            if masked == 1 {
                let tag = entry["tag"].as_u64().unwrap();
                let reversed = u64::from((tag as u16 & 1023).reverse_bits() >> 6);
                assert_eq!(positions[0]["bank"], reversed >> 4);
                assert_eq!(positions[0]["row"], hash_rows + (reversed & 15));
            }
            assert!(positions[masked..].iter().all(|p| p["row"].as_u64().unwrap() < hash_rows && p["bank"].as_u64().unwrap() < 64));
        }
    }
}

#[test]
fn config_prints_every_key_and_reads_it_back() {
    let keys = json(&["config", "--json"]);
    for key in ["sms", "copies", "refresh_period", "probe_timeout"] {
        let entry = keys.as_array().unwrap().iter().find(|k| k["key"] == key).unwrap();
        assert!(["unit", "legal", "source", "description", "default"].iter().all(|f| !entry[*f].as_str().unwrap().is_empty()), "{entry}");
    }
    let file = scratch("config.toml");
    std::fs::write(&file, done(&["config", "--sms", "108"])).unwrap();
    assert_eq!(done(&["config", "--config", file.to_str().unwrap()]), done(&["config", "--sms", "108"]));
}

#[test]
fn cosim_of_snakecharmer_reports_counters_and_balance() {
    let small = ["--set", "sc_prt_entries=8", "--set", "sc_patterns=8", "--set", "sc_warps=8", "--set", "sc_l1_awt_entries=8"];
    for source in
        [&["--workload", "intra", "--transactions", "500"][..], &["--workload", "stencil2d", "--sms", "4", "--transactions", "500"]]
    {
        let mut args = vec!["cosim", "--block", "snakecharmer", "--json"];
        args.extend(small.iter().chain(source));
        let run = json(&args);
        assert_eq!((&run["mismatches"], &run["balanced"]), (&serde_json::json!(0), &serde_json::json!(true)), "{run}");
        assert_eq!(run["counters"], run["rtl_counters"]);
        assert!(run["transactions"].as_u64().unwrap() >= 500, "{run}");
        let term = |name: &str| run["balance"][name].as_u64().unwrap();
        let ends = ["on_time", "early", "late", "unused", "invalidated", "outstanding", "in_registers", "in_l1", "in_peb"];
        assert_eq!(term("issued"), ends.iter().map(|name| term(name)).sum::<u64>());
        assert!(term("issued") > 0 && run["counters"]["issued"] == run["balance"]["issued"], "{run}");
    }
}

#[test]
fn cosim_of_a_block_by_name() {
    for (name, simulator) in [("sgu", "verilator"), ("prefetch_statistics", "verilator"), ("bf_engine", "icarus")] {
        let run = json(&["cosim", "--block", name, "--sms", "2", "--transactions", "400", "--simulator", simulator, "--json"]);
        assert_eq!((&run["mismatches"], &run["cycles"]), (&serde_json::json!(0), &serde_json::json!(400)), "{run}");
        assert_eq!(run["counters"].as_object().unwrap().is_empty(), name != "prefetch_statistics", "{run}");
    }
}

#[test]
fn workloads_are_written_as_traces_and_read_back() {
    let folder = scratch("trace");
    done(&["trace", "write", "--workload", "gemm", "--scale", "0.2", "--sms", "4", "--out", folder.to_str().unwrap()]);
    let info = json(&["trace", "info", folder.to_str().unwrap(), "--json"]);
    assert!(!info["kernels"].as_array().unwrap().is_empty());
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(done(&["completions", shell]).contains("cosim"));
    }
}
