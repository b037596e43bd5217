//! The studies of the SnakeCharmer paper. Means are over all workloads; two thread blocks an SM, so that there are 8 to 16 warps: more hide
//! all latency by themselves.

use super::{Claim, Experiment, Measure, Point, Subject};
use crate::system::scheme::Scheme;

/// Occupancy of all runs.
const BLOCKS: &str = "system.resident_blocks=2";
/// Of a hundred stretches of memory that many are zero: the paper's applications differ, its mean is not given.
const ZEROS: &str = "system.zero_percent=25";

fn point(label: impl Into<String>, x: f64, prefetch: &'static str, settings: &[&str], paper: Option<f64>) -> Point {
    let settings = settings.iter().chain(&[BLOCKS, ZEROS]).map(|s| (*s).to_string()).collect();
    Point { label: label.into(), x, scheme: Scheme::None, prefetch, settings, baseline: vec![BLOCKS.into()], paper }
}

fn claim(text: &str, measure: Measure, better: usize, worse: usize, paper: f64) -> Claim {
    Claim { text: text.into(), measure, class: None, better, worse: Some(worse), paper }
}

fn study(name: &'static str, title: &'static str, x_label: &'static str, points: Vec<Point>, claims: Vec<Claim>) -> Experiment {
    let note = "Two thread blocks an SM, sharing off; a quarter of the memory is zero. The baseline has no prefetcher.";
    Experiment { name, subject: Subject::Prefetching, title, x_label, log_x: false, points, claims, note }
}

/// One key swept, with the whole of SnakeCharmer, and Snake beside it.
fn sweep(key: &str, values: &[u32]) -> Vec<Point> {
    let of = |v: &u32| point(v.to_string(), f64::from(*v), "snakecharmer", &[&format!("{key}={v}")], None);
    values.iter().map(of).collect()
}

pub(super) fn all() -> Vec<Experiment> {
    let ipc = |text: &str, better, worse, paper| claim(text, Measure::Ipc, better, worse, paper);
    vec![
        prefetchers(),
        study(
            "prt-entries",
            "Entries of the PRT",
            "entries",
            sweep("sc_prt_entries", &[8, 16, 32, 64, 128]),
            vec![ipc("64 entries against 8 (figure lost: a gain)", 3, 0, 2.0), ipc("128 against 64: little", 4, 3, 0.0)],
        ),
        study(
            "idle-registers",
            "Idle registers",
            "registers",
            sweep("system.idle_registers", &[0, 16, 32, 64]),
            vec![ipc("64 idle registers against none (figure lost: a gain)", 3, 0, 2.0)],
        ),
        study(
            "peb-entries",
            "Entries of the PEB",
            "entries",
            sweep("sc_peb_entries", &[16, 32, 64, 128]),
            vec![ipc("128 entries against 64: little", 3, 2, 0.5)],
        ),
        study(
            "awt-window",
            "Window of the AWT",
            "events",
            sweep("sc_awt_window", &[7, 11, 15, 31]),
            vec![ipc("15 events against 11: below 1 %", 2, 1, 0.0)],
        ),
        study(
            "sgu-threshold",
            "Threshold of the SGU",
            "points",
            sweep("sc_sgu_threshold", &[2, 3, 4, 5, 6]),
            vec![ipc("threshold 4 against 6 (figure lost: a gain)", 2, 4, 2.0)],
        ),
    ]
}

fn prefetchers() -> Experiment {
    let list = [
        ("snake", None),
        ("sk-zf", Some(20.6)),
        ("sk-scc", Some(19.9)),
        ("sk-prt", Some(16.9)),
        ("zf-scc", Some(27.9)),
        ("scc-prt", Some(27.1)),
        ("prt-zf", Some(26.4)),
        ("snakecharmer", None),
        ("apogee", Some(4.7)),
        ("apogee-sc", Some(7.0)),
    ];
    let points = list.into_iter().enumerate().map(|(i, (name, paper))| point(name, i as f64, name, &[], paper)).collect();
    use Measure::{Accuracy, Coverage, DramSaved, Ipc, L2Saved, OnTime};
    let claims = vec![
        claim("coverage: ZF+SCC against SK+ZF", Coverage, 4, 1, 7.3),
        claim("coverage: SCC+PRT against SK+SCC", Coverage, 5, 2, 7.2),
        claim("coverage: PRT+ZF against SK+PRT", Coverage, 6, 3, 9.5),
        claim("coverage: APOGEE+SC against APOGEE", Coverage, 9, 8, 2.3),
        claim("coverage: SK+ZF against APOGEE", Coverage, 1, 8, 15.9),
        claim("accuracy: ZF+SCC against SK+ZF", Accuracy, 4, 1, 11.8),
        claim("accuracy: SCC+PRT against SK+SCC", Accuracy, 5, 2, 4.1),
        claim("accuracy: PRT+ZF against SK+PRT", Accuracy, 6, 3, 10.0),
        claim("accuracy: APOGEE+SC against APOGEE", Accuracy, 9, 8, 12.8),
        claim("on time: SnakeCharmer against Snake", OnTime, 7, 0, 40.0),
        claim("L2 accesses saved: SnakeCharmer against Snake", L2Saved, 7, 0, 23.6),
        claim("DRAM lines saved: SnakeCharmer against Snake", DramSaved, 7, 0, 15.1),
        claim("IPC: SnakeCharmer against Snake", Ipc, 7, 0, 12.8),
        claim("IPC: APOGEE+SC against APOGEE", Ipc, 9, 8, 1.7),
    ];
    study("prefetchers", "Prefetchers", "scheme, in the order of the table", points, claims)
}
