//! `l1forge pascal` as a user meets it: documents, exit codes, messages, and nothing written on bad input.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_l1forge")).arg("pascal").args(args).output().expect("the command starts")
}

/// The document of a command that succeeds with `--json`.
fn document(args: &[&str]) -> Value {
    let output = run(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON document")
}

fn text(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The message of a command that must refuse its input.
fn refusal(args: &[&str]) -> String {
    for json in [&[][..], &["--json"]] {
        let output = run(&[args, json].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?} wrote to standard output");
        let message = String::from_utf8(output.stderr).expect("text");
        assert!(message.starts_with("error: ") && !message.contains("panicked"), "{message}");
        if !json.is_empty() {
            return message;
        }
    }
    unreachable!("both forms were tried")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn write(folder: &tempfile::TempDir, name: &str, content: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("the folder is writable");
    path
}

fn arg(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

const PAPER: [&str; 8] = ["--workers", "2", "--blocks", "8", "--capacity", "2", "--phases", "0,4"];

#[test]
fn static_prints_the_papers_example() {
    assert!(text(&[&["static"], &PAPER[..]].concat()).contains("10/7"));
    let found = document(&[&["static"], &PAPER[..], &["--rounds", "16"]].concat());
    assert_eq!(found["theta"], "1");
    assert_eq!(found["theta_float"], 1.0);
    assert_eq!((&found["t_star"], &found["k_ttl"]), (&Value::from(1), &Value::from(2)));
    assert_eq!(found["lru"]["rd"], serde_json::json!([6, 7]));
    assert_eq!([&found["lru"]["lo"], &found["lru"]["hi"], &found["lru"]["exact"]], [2, 2, 2].map(Value::from).each_ref());
    assert_eq!(found["policy"]["bypass"], "10/7");
    assert_eq!(found["policy"]["forced"], "5/3");
    assert!((found["policy"]["bypass_float"].as_f64().unwrap() - 10.0 / 7.0).abs() < 1e-15);
    assert_eq!((&found["che"], &found["che_exact"]), (&Value::from(1.5), &Value::from("3/2")));
    assert_eq!((&found["sdcm_fa"], &found["cold_ttl_fills"]), (&Value::from(2), &Value::from(32)));
}

#[test]
fn phases_come_from_a_list_a_file_or_a_pattern() {
    let folder = folder();
    let lines = write(&folder, "phases.txt", "# two workers\n0\n4 # the second\n");
    let list = write(&folder, "phases.json", "[0, 4]");
    let by_list = document(&[&["static"], &PAPER[..]].concat());
    for file in [&lines, &list] {
        let by_file = document(&["static", "--blocks", "8", "--capacity", "2", "--phases-file", arg(file)]);
        assert_eq!(by_file, by_list);
    }
    let pattern = ["static", "--blocks", "8", "--capacity", "2", "--workers", "2", "--pattern", "clusters:2"];
    assert_eq!(document(&pattern), by_list);
    let seeded = |seed: &'static str| {
        document(&["static", "--blocks", "999", "--capacity", "9", "--workers", "9", "--pattern", "uniform", "--seed", seed])
    };
    assert_eq!(seeded("5"), seeded("5"));
    assert_ne!(seeded("5"), seeded("6"));
}

#[test]
fn capacity_of_the_ring_is_legal_and_never_misses() {
    for capacity in ["8", "9", "1000000"] {
        let found = document(&["static", "--blocks", "8", "--capacity", capacity, "--phases", "0,4"]);
        assert_eq!((&found["k_ttl"], &found["lru"]["exact"]), (&Value::from(0), &Value::from(0)));
        assert_eq!((&found["policy"]["bypass"], &found["che"]), (&Value::from("0"), &Value::from(0.0)));
    }
}

#[test]
fn bad_static_input_names_its_field() {
    let with = |args: &[&str]| refusal(&[&["static"], args].concat());
    assert!(with(&["--blocks", "8", "--capacity", "0", "--phases", "0"]).contains("capacity"));
    assert!(with(&["--blocks", "0", "--capacity", "2", "--phases", "0"]).contains("blocks"));
    assert!(with(&["--blocks", "8", "--capacity", "2", "--phases", "0", "--workers", "0"]).contains("workers"));
    assert!(with(&["--blocks", "8", "--capacity", "2", "--phases", "0", "--workers", "3"]).contains("workers"));
    assert!(with(&["--blocks", "8", "--capacity", "2", "--phases", "0,8"]).contains("phases[1]"));
    assert!(with(&["--blocks", "8", "--capacity", "2", "--phases", "0,-1"]).contains("phases[1]"));
    assert!(with(&["--blocks", "8", "--capacity", "2", "--phases", "0,1.5"]).contains("phases[1]"));
    assert!(with(&["--blocks", "8", "--capacity", "2", "--phases", ""]).contains("phases"));
    assert!(with(&["--blocks", "8", "--capacity", "2"]).contains("phases"));
    assert!(with(&["--blocks", "8", "--capacity", "-2", "--phases", "0"]).contains("capacity"));
    assert!(with(&["--blocks", "eight", "--capacity", "2", "--phases", "0"]).contains("blocks"));
    assert!(with(&["--blocks", "8", "--capacity", "NaN", "--phases", "0"]).contains("capacity"));
    assert!(with(&["--blocks", "8", "--capacity", "2", "--pattern", "clusters:2"]).contains("workers"));
    assert!(with(&["--blocks", "8", "--capacity", "2", "--workers", "2", "--pattern", "ring"]).contains("pattern"));
    assert!(with(&["--blocks", "8", "--capacity", "2", "--phases", "0", "--ways", "0"]).contains("ways"));
    let rounds = ["--blocks", "8", "--capacity", "2", "--phases", "0", "--verify", "--rounds", "99999999999"];
    assert!(with(&rounds).contains("rounds"));

    let folder = folder();
    let file = write(&folder, "phases.txt", "0\n# fine\n4 9\n");
    let message = with(&["--blocks", "8", "--capacity", "2", "--phases-file", arg(&file)]);
    assert!(message.contains("phases.txt") && message.contains("row 3") && message.contains("phases[2]"), "{message}");
    let missing = folder.path().join("none.txt");
    assert!(with(&["--blocks", "8", "--capacity", "2", "--phases-file", arg(&missing)]).contains("none.txt"));
}

#[test]
fn verification_passes_on_the_paper_sizes() {
    let args = ["--workers", "48", "--blocks", "512", "--capacity", "80", "--pattern", "gauss:30", "--verify"];
    let found = document(&[&["static"], &args[..]].concat());
    let checks = found["checks"].as_array().unwrap();
    assert!(checks.len() == 4 && checks.iter().all(|check| check["holds"] == true));
    let args = ["--blocks", "8", "--capacity", "2", "--phases", "0,4", "--min"];
    let found = document(&[&["bound"], &args[..]].concat());
    assert_eq!((&found["min"]["bypass"], &found["min"]["forced"]), (&Value::from("3/2"), &Value::from("5/3")));
    assert_eq!(found["intervals"], serde_json::json!(["7/2", "9/2"]));
    assert_eq!(found["retained"], serde_json::json!(["4/7", "0"]));
}

#[test]
fn curves_and_spacings() {
    let folder = folder();
    let svg = folder.path().join("plots/curve.svg");
    let scan = ["--workers", "48", "--blocks", "4096", "--pattern", "spaced:27"];
    let found = document(&[&["curve"], &scan[..], &["--from", "1280", "--to", "1300", "--step", "5", "--svg", arg(&svg)]].concat());
    let capacities: Vec<u64> = found["points"].as_array().unwrap().iter().map(|p| p["capacity"].as_u64().unwrap()).collect();
    assert_eq!(capacities, [1280, 1285, 1290, 1295, 1300]);
    // U(27) = 48 x 27 = 1296: the gap law falls there, from 48 to 1.
    assert_eq!(found["ttl_steps"][1], serde_json::json!({"capacity": 1296, "k": 1}));
    assert!(std::fs::read_to_string(&svg).unwrap().starts_with("<svg"));

    let found = document(&["spacing", "--workers", "48", "--blocks", "4096", "--capacity", "1280", "--from", "26", "--to", "27"]);
    assert_eq!((&found["points"][0]["k_ttl"], &found["points"][1]["k_ttl"]), (&Value::from(1), &Value::from(48)));

    assert!(refusal(&[&["curve"], &scan[..], &["--from", "10", "--to", "5"]].concat()).contains("to"));
    assert!(refusal(&[&["curve"], &scan[..], &["--step", "0"]].concat()).contains("step"));
    assert!(refusal(&["spacing", "--workers", "0", "--blocks", "8", "--capacity", "1"]).contains("workers"));
    assert!(refusal(&["spacing", "--workers", "2", "--blocks", "0", "--capacity", "1"]).contains("blocks"));
}

#[test]
fn leads() {
    let found = document(&["lead", "--capacity", "1280", "--lead", "512"]);
    assert_eq!((&found["tolerated_lead"], &found["needed_capacity"]), (&Value::from(640), &Value::from(1023)));
    let found = document(&["lead", "--lead", "7", "--witness"]);
    assert_eq!(found["witness"]["hits_below_threshold"], false);
    assert_eq!(found["witness"]["hits_at_threshold"], true);

    let folder = folder();
    // A lead of two, then the follower catches up.
    let order = write(&folder, "order.txt", "0 0\n1 1 # caught up\n0 1\n");
    let found = document(&["lead", "--order", arg(&order), "--blocks", "64", "--capacity", "3"]);
    assert_eq!((&found["order"]["lead"], &found["order"]["needed_capacity"]), (&Value::from(2), &Value::from(3)));
    assert_eq!((&found["order"]["fills"], &found["order"]["positions"]), (&Value::from(3), &Value::from(3)));
    assert_eq!(found["order"]["farthest_follower_reuse"], 1);

    assert!(refusal(&["lead"]).contains("capacity"));
    assert!(refusal(&["lead", "--lead", "1", "--witness"]).contains("lead"));
    let bad = write(&folder, "bad.txt", "0\n1 x\n");
    let message = refusal(&["lead", "--order", arg(&bad), "--blocks", "64"]);
    assert!(message.contains("bad.txt") && message.contains("row 2") && message.contains("order"), "{message}");
    let empty = write(&folder, "empty.txt", "# nothing\n");
    assert!(refusal(&["lead", "--order", arg(&empty), "--blocks", "64"]).contains("no requests"));
    assert!(refusal(&["lead", "--order", arg(&order), "--blocks", "64", "--workers", "1"]).contains("row 2"));
}

#[test]
fn pipelines() {
    let found = document(&["pipeline", "-d", "3", "--alpha", "424", "--beta-hit", "674", "--beta-miss", "924"]);
    assert_eq!((&found["theta"], &found["recovery_per_block"]), (&Value::from(848.0), &Value::from(38.0)));
    assert_eq!(found["hidden"], false);
    assert!(refusal(&["pipeline", "-d", "1", "--alpha", "1", "--beta-hit", "1", "--beta-miss", "1"]).contains('d'));
    assert!(refusal(&["pipeline", "-d", "2", "--alpha", "NaN", "--beta-hit", "1", "--beta-miss", "1"]).contains("alpha"));
    assert!(refusal(&["pipeline", "-d", "2", "--alpha", "1", "--beta-hit", "2", "--beta-miss", "1"]).contains("beta_hit"));
}

const DEVICE: &str = "# device = bench\n# workers_per_occupancy = 48\n# block_bytes = 16384\n# capacity_blocks = 1280\n";

fn measurements(change: impl Fn(u32, u64, u32) -> Option<f64>) -> String {
    let mut csv = format!("{DEVICE}o,path,d,m,n,w,bytes\n");
    for m in [0, 1, 4, 8] {
        for n in [2048, 4096] {
            for w in [1, 4, 16, 64] {
                if let Some(k) = change(m, n, w) {
                    csv += &format!("1,tma,4,{m},{n},{w},{}\n", k * 16384.0 * n as f64 * f64::from(w));
                }
            }
        }
    }
    csv
}

/// K grows with the horizon and shrinks with compute.
fn response(m: u32, n: u64, w: u32) -> Option<f64> {
    Some(1.0 + f64::from(w) / 16.0 / (1.0 + f64::from(m)) * n as f64 / 4096.0)
}

fn frozen(folder: &tempfile::TempDir) -> PathBuf {
    let csv = write(folder, "runs.csv", &measurements(response));
    let out = folder.path().join("frozen.json");
    let found = document(&["fit", arg(&csv), "--out", arg(&out)]);
    assert_eq!((&found["kind"], &found["references"]), (&Value::from("scan"), &Value::from(8)));
    assert_eq!(found["families"][0]["empty_classes"], serde_json::json!([2]));
    assert_eq!(found["leave_one_out"]["predictions"], 8);
    out
}

#[test]
fn fit_then_predict() {
    let folder = folder();
    let out = frozen(&folder);
    let before = std::fs::read(&out).unwrap();
    let target = |m: &'static str| ["--o", "1", "--path", "tma", "--d", "4", "--m", m, "--blocks", "4096", "--scans", "64"];
    let at = |m: &'static str| document(&[&["predict", arg(&out)], &target(m)[..]].concat());
    // A reference predicts itself: K = 1 + 64 / 16 / 5.
    let found = at("4");
    assert!((found["k"].as_f64().unwrap() - 1.8).abs() < 1e-9);
    assert!((found["rho"].as_f64().unwrap() - 1.8 / 48.0).abs() < 1e-12);
    assert_eq!((&found["class"], &found["clamped"]["compute"]), (&Value::from(0), &Value::from(false)));
    assert!(text(&[&["predict", arg(&out)], &target("4")[..]].concat()).contains("1.800000 fills per round"));
    let held = at("12");
    assert_eq!(held["clamped"]["compute"], true);
    assert!(held["certificate"].is_null());

    // Many at once.
    let targets = write(&folder, "targets.csv", "o,path,d,m,n,w\n1,tma,4,4,4096,64\n1,tma,4,12,4096,64\n");
    let many = document(&["predict", arg(&out), "--targets", arg(&targets)]);
    assert_eq!(many, serde_json::json!([found, held]));

    // Refusals.
    let refuse = |args: &[&str]| refusal(&[&["predict", arg(&out)], args].concat());
    let message = refuse(&target("6"));
    assert!(message.contains("m: ") && message.contains("execution class 2"), "{message}");
    let family = ["--o", "2", "--path", "tma", "--d", "4", "--m", "4", "--blocks", "4096", "--scans", "64"];
    assert!(refuse(&family).contains("family"));
    assert!(refuse(&[&target("4")[..], &["--device", "other"]].concat()).contains("device"));
    assert!(refuse(&[&target("4")[..], &["--binary", "other"]].concat()).contains("binary"));
    assert!(refuse(&["--o", "1", "--path", "tma", "--d", "4", "--m", "4", "--blocks", "4096"]).contains("scans"));
    let nan = ["--o", "1", "--path", "tma", "--d", "4", "--m", "4", "--blocks", "4096", "--scans", "NaN"];
    assert!(refuse(&nan).contains("scans"));
    assert!(refuse(&["--gemm", "128x128x64"]).contains("gemm"));
    let bad = write(&folder, "bad.csv", "o,path,d,m,n,w\n1,tma,4,4,4096,64\n1,tma,4,6,4096,64\n");
    let message = refuse(&["--targets", arg(&bad)]);
    assert!(message.contains("bad.csv") && message.contains("row 3"), "{message}");
    assert!(refusal(&["predict", arg(&targets), "--o", "1"]).contains("calibration"));
    assert_eq!(std::fs::read(&out).unwrap(), before);
}

#[test]
fn bad_measurements_write_nothing() {
    let folder = folder();
    let out = folder.path().join("frozen.json");
    let refuse = |csv: &str| {
        let path = write(&folder, "runs.csv", csv);
        let message = refusal(&["fit", arg(&path), "--out", arg(&out)]);
        assert!(!out.exists(), "{message}");
        assert!(message.contains("runs.csv"), "{message}");
        message
    };
    let good = measurements(response);
    let lacking = measurements(|m, n, w| response(m, n, w).filter(|_| (m, n, w) != (4, 4096, 16)));
    let message = refuse(&lacking);
    assert!(message.contains("w: ") && message.contains("horizon 16") && message.contains("row 26"), "{message}");
    for bad in ["-1", "0", "nan", "inf", "lots", ""] {
        let line = good.lines().nth(5).unwrap();
        let cells: Vec<&str> = line.split(',').collect();
        let message = refuse(&good.replacen(line, &format!("{},{bad}", cells[..6].join(",")), 1));
        assert!(message.contains("row 6") && message.contains("bytes"), "{bad}: {message}");
    }
    assert!(refuse("").contains("header"));
    assert!(refuse("o,path\n").contains("rows"));
    assert!(refuse(&good.replace("# device = bench\n", "")).contains("device"));
    assert!(refuse("{}").contains("rows"));
    let csv = write(&folder, "runs.csv", &good);
    for (flag, value) in [("--epsilon", "0"), ("--epsilon", "nan"), ("--lambda", "-1"), ("--anchor", "x"), ("--eta", "x")] {
        let message = refusal(&["fit", arg(&csv), "--out", arg(&out), flag, value]);
        assert!(message.contains(&flag[2..]) && !out.exists(), "{message}");
    }
    // A place that cannot be written is bad input as well.
    let under_a_file = csv.join("frozen.json");
    assert!(refusal(&["fit", arg(&csv), "--out", arg(&under_a_file)]).contains("out"));
}

#[test]
fn fit_then_predict_a_matrix_product() {
    let folder = folder();
    let mut csv = format!("{DEVICE}mg,ng,kg,bytes\n");
    for m in [256u64, 1024] {
        for n in [256u64, 1024] {
            for k in [1024u64, 4096] {
                let bytes = 16384 * (m / 128 + n / 128) * (k / 64);
                csv += &format!("{m},{n},{k},{}\n", 1.5 * bytes as f64);
            }
        }
    }
    let csv = write(&folder, "gemm.csv", &csv);
    let out = folder.path().join("gemm.json");
    assert_eq!(document(&["fit", arg(&csv), "--out", arg(&out)])["kind"], "gemm");
    let found = document(&["predict", arg(&out), "--gemm", "1024x1024x2048"]);
    assert!((found["kappa"].as_f64().unwrap() - 1.5).abs() < 1e-9);
    assert_eq!(found["tiles"], serde_json::json!({"rows": 8, "columns": 8, "steps": 32}));
    for bad in ["1024x1024", "1000x1024x2048", "axbxc", "0x128x64"] {
        assert!(!refusal(&["predict", arg(&out), "--gemm", bad]).is_empty());
    }
    assert!(refusal(&["predict", arg(&out), "--o", "1"]).contains("gemm"));
}

#[test]
fn simulate_writes_what_fit_reads() {
    let folder = folder();
    let csv = folder.path().join("runs.csv");
    let small = ["--constant", "capacity_blocks=20", "--constant", "multiprocessors=6", "--constant", "jitter_blocks=4"];
    let lists = ["--d", "3,4", "--m", "0,4,8", "--n", "64,128", "--w", "1,4", "--repeats", "2", "--seed", "9"];
    let found = document(&[&["simulate"], &small[..], &lists[..], &["--out", arg(&csv)]].concat());
    let runs = found["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2 * 3 * 2 * 2 * 2);
    assert!(runs.iter().all(|run| run["k"].as_f64().unwrap() >= 1.0 && run["workers"] == 6));
    assert_eq!(found["device"], "gb10-quarter+capacity_blocks=20+multiprocessors=6+jitter_blocks=4");
    let out = folder.path().join("frozen.json");
    assert_eq!(document(&["fit", arg(&csv), "--out", arg(&out)])["references"], 12);
    let target = ["--o", "1", "--path", "tma", "--d", "4", "--m", "4", "--n", "64", "--w", "4"];
    assert!(document(&[&["predict", arg(&out)], &target[..]].concat())["k"].as_f64().unwrap() >= 1.0);

    let refuse = |args: &[&str]| refusal(&[&["simulate"], &small[..], args].concat());
    assert!(refuse(&["--device", "x"]).contains("device"));
    assert!(refuse(&["--constant", "x=1"]).contains("constant"));
    assert!(refuse(&["--constant", "hit"]).contains("constant"));
    assert!(refuse(&["--constant", "miss=0"]).contains("miss"));
    assert!(refuse(&["--d", "1"]).contains("d: "));
    assert!(refuse(&["--d", "x"]).contains("depth"));
    assert!(refuse(&["--n", "0"]).contains("blocks"));
    assert!(refuse(&["--w", "0"]).contains("scans"));
    assert!(refuse(&["--checkpoint", "0"]).contains("checkpoint"));
    assert!(refuse(&["--repeats", "0"]).contains("repeats"));
    assert!(refuse(&["--path", "dma"]).contains("path"));
}

#[test]
fn study_options_are_checked_before_anything_runs() {
    assert!(refusal(&["study", "--device", "x"]).contains("device"));
    assert!(refusal(&["study", "--repeats", "0"]).contains("repeats"));
    assert!(refusal(&["study", "--max-mape", "nan"]).contains("max_mape"));
    assert!(refusal(&["study", "--epsilon", "2"]).contains("epsilon"));
    assert!(refusal(&["study", "--constant", "skew=x"]).contains("constant"));
    assert!(refusal(&["study", "--references", "0,x"]).contains("references"));
    // A held-out key that is a reference would be no test.
    assert!(refusal(&["study", "--held-out", "3,4"]).contains("held_out"));
}
