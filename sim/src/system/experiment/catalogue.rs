//! The studies there are. Paper values: C2P paper, evaluation; IPC change on R1S1 in percent.

use super::{Claim, Class, Experiment, Measure, Point, Subject, prefetching};
use crate::ParameterError;
use crate::system::scheme::Scheme;
use l1forge_config::preset_values;

/// Names of all studies.
pub fn names() -> Vec<&'static str> {
    all().iter().map(|e| e.name).collect()
}

/// The study called `name`.
///
/// # Errors
/// When there is none; the message lists the names.
pub fn by_name(name: &str) -> Result<Experiment, ParameterError> {
    let names = names().join(", ");
    all().into_iter().find(|e| e.name == name).ok_or_else(|| ParameterError::new("experiment", name, format!("one of {names}")))
}

/// C2P with some settings.
fn c2p(label: impl Into<String>, x: f64, settings: &[&str], paper: Option<f64>) -> Point {
    let settings = settings.iter().map(|s| (*s).to_string()).collect();
    Point { label: label.into(), x, scheme: Scheme::C2p, prefetch: "none", settings, baseline: Vec::new(), paper }
}

/// The preset `lean` with some settings more.
fn lean(label: &str, x: f64, more: &[&str]) -> Point {
    let preset = preset_values("lean").into_iter().flatten().map(|(key, value)| format!("{key}={value}"));
    let settings = preset.chain(more.iter().map(|s| (*s).to_string())).collect();
    Point { settings, ..c2p(label, x, &[], None) }
}

/// One key swept.
fn sweep(key: &str, values: &[(u32, Option<f64>)]) -> Vec<Point> {
    values.iter().map(|(v, paper)| c2p(v.to_string(), f64::from(*v), &[&format!("{key}={v}")], *paper)).collect()
}

fn gain(text: &str, better: usize, worse: usize, paper: f64) -> Claim {
    Claim { text: text.into(), measure: Measure::Ipc, class: Some(Class::R1S1), better, worse: Some(worse), paper }
}

fn study(
    name: &'static str,
    title: &'static str,
    x_label: &'static str,
    log_x: bool,
    points: Vec<Point>,
    claims: Vec<Claim>,
) -> Experiment {
    Experiment { name, subject: Subject::Sharing, title, x_label, log_x, points, claims, note: "" }
}

fn all() -> Vec<Experiment> {
    sharing().into_iter().chain(prefetching::all()).collect()
}

fn sharing() -> Vec<Experiment> {
    vec![
        schemes(),
        study(
            "copies",
            "Copies of the Snapshot Matrix",
            "copies",
            false,
            sweep("copies", &[(4, Some(23.5)), (3, Some(21.2)), (2, Some(21.0)), (1, Some(18.3))]),
            vec![gain("four copies against one", 0, 3, 5.2), gain("four copies against three", 0, 1, 2.3)],
        ),
        Experiment {
            note: "Ours: fewer rows per cycle and fewer copies need much less logic and memory (docs/decisions/lookup-ports.md).",
            ..study(
                "lookup-ports",
                "Rows an SM reads in a cycle, and copies",
                "rows per cycle",
                false,
                [(4, 4), (2, 4), (2, 2), (1, 4), (1, 2), (1, 1)]
                    .map(|(ports, copies)| {
                        let settings = [format!("lookup_ports={ports}"), format!("copies={copies}")];
                        c2p(format!("{ports} rows, {copies} copies"), f64::from(ports), &settings.each_ref().map(String::as_str), None)
                    })
                    .to_vec(),
                vec![],
            )
        },
        Experiment {
            note: "Ours: settings that the paper leaves open or that cost little, together (docs/decisions/lookup-ports.md).",
            ..study(
                "tuned",
                "The paper's sizes and ours",
                "variant",
                false,
                vec![
                    c2p("default", 0.0, &[], None),
                    c2p("16 update lanes, period 128", 1.0, &["update_lanes=16", "fill_queue_depth=2", "refresh_period=128"], None),
                    c2p("default, 4 queries", 2.0, &["queries_per_sm=4"], None),
                    c2p("2 rows, 2 copies, 4 queries", 3.0, &["lookup_ports=2", "copies=2", "queries_per_sm=4"], None),
                    c2p("1 row, 1 copy, 4 queries", 4.0, &["lookup_ports=1", "copies=1", "queries_per_sm=4"], None),
                    lean("one hash, 1 row, 1 copy, 2 queries", 5.0, &["queries_per_sm=2"]),
                    lean("one hash, 1 row, 1 copy, 4 queries (preset lean)", 6.0, &[]),
                    lean("one hash, 1 row, 1 copy, 8 queries", 7.0, &["queries_per_sm=8"]),
                    c2p("default, 4 queries, 2 probes", 8.0, &["queries_per_sm=4", "probe_limit=2"], None),
                    lean("preset lean, 2 probes", 9.0, &["probe_limit=2"]),
                ],
                vec![],
            )
        },
        Experiment {
            note: "The paper does not say how many misses of one SM may be looked up at once. A miss without a slot waits.",
            ..study(
                "queries",
                "Queries of one SM in flight",
                "queries per SM",
                true,
                sweep("queries_per_sm", &[(1, None), (2, None), (4, None), (8, None), (16, None)]),
                vec![],
            )
        },
        study(
            "engines",
            "BF engines",
            "engines",
            true,
            sweep("engines", &[(32, Some(12.8)), (64, Some(18.8)), (96, Some(20.8)), (128, Some(23.5)), (160, Some(22.8))]),
            vec![gain("128 engines against 32", 3, 0, 10.7), gain("160 engines against 128: no difference", 4, 3, -0.7)],
        ),
        study(
            "engine-latency",
            "Latency of a BF engine",
            "cycles",
            true,
            sweep("engine_latency", &[(2, Some(23.5)), (4, None), (8, Some(23.4))]),
            vec![gain("2 cycles against 8: no difference", 0, 2, 0.1)],
        ),
        study(
            "lookup-latency",
            "Latency of a Snapshot Matrix lookup",
            "cycles",
            true,
            sweep("lookup_latency", &[(2, Some(23.5)), (8, None), (16, None), (64, Some(17.8))]),
            vec![
                gain("2 cycles against 64", 0, 3, 5.7),
                Claim { class: Some(Class::R0S1), ..gain("2 cycles against 64, on R0S1", 0, 3, 11.0) },
            ],
        ),
        study(
            "return-latency",
            "Latency of the return from another L1",
            "cycles",
            true,
            sweep("return_latency", &[(2, Some(23.5)), (8, None), (16, None), (32, Some(14.0))]),
            vec![
                gain("2 cycles against 32", 0, 3, 9.5),
                Claim { class: Some(Class::R1S0), ..gain("2 cycles against 32, on R1S0", 0, 3, 2.4) },
            ],
        ),
        study(
            "update-bandwidth",
            "Bandwidth of the update transport",
            "bytes per cycle",
            true,
            sweep("update_bytes", &[(128, Some(23.5)), (64, Some(20.0)), (32, Some(15.6)), (16, Some(13.4))]),
            vec![gain("128 bytes against 16", 0, 3, 10.1), gain("128 bytes against 64", 0, 1, 3.5)],
        ),
        study(
            "refresh-period",
            "Cycles between rebuilds of successive SMs",
            "cycles",
            true,
            sweep("refresh_period", &[(16, None), (128, None), (192, None), (256, None), (512, None), (1024, None), (4096, None)]),
            vec![],
        ),
        Experiment {
            note: "The clearing of a column takes up to 160 of every 192 cycles by default, and half of the write ports during that time. These are the changes that need no new RTL. More banks have fewer rows each, so that a clear is shorter.",
            ..study(
                "fills",
                "What dropped fill notices cost",
                "variant",
                false,
                vec![
                    c2p("default", 0.0, &[], None),
                    c2p("fill queues of 2", 1.0, &["fill_queue_depth=2"], None),
                    c2p("fill queues of 16", 2.0, &["fill_queue_depth=16"], None),
                    c2p("fills wait (no drop)", 3.0, &["fill_drop=false"], None),
                    c2p("refresh every 256", 4.0, &["refresh_period=256"], None),
                    c2p("refresh every 512", 5.0, &["refresh_period=512"], None),
                    c2p("128 banks (clear 40)", 6.0, &["banks=128"], None),
                    c2p("256 banks (clear 20)", 7.0, &["banks=256"], None),
                    c2p("256 every, queues of 16", 8.0, &["refresh_period=256", "fill_queue_depth=16"], None),
                    c2p("only L2 fills notified", 9.0, &["system.notify_remote_fills=false"], None),
                    c2p("8 queries per SM", 10.0, &["queries_per_sm=8"], None),
                    c2p("16 update lanes", 11.0, &["update_lanes=16"], None),
                    c2p("64 update lanes", 13.0, &["update_lanes=64"], None),
                ],
                vec![],
            )
        },
        Experiment {
            note: "Probes per miss over rebuild periods and limits. Paper: hits P90 2.01, P95 below 3.5, P99 below 5.8; misses 2.38, 5.0, 9.5. The columns are in the CSV file.",
            ..study(
                "probes",
                "Probes per miss",
                "rebuild period, cycles",
                true,
                vec![
                    c2p("16", 16.0, &["refresh_period=16"], None),
                    c2p("128", 128.0, &["refresh_period=128"], None),
                    c2p("1024", 1024.0, &["refresh_period=1024"], None),
                    c2p("192 (default)", 192.0, &[], None),
                    c2p("192, limit 1", 192.5, &["probe_limit=1"], None),
                    c2p("192, limit 2", 193.0, &["probe_limit=2"], None),
                    c2p("192, limit 4", 194.0, &["probe_limit=4"], None),
                    c2p("192, limit 8", 195.0, &["probe_limit=8"], None),
                ],
                vec![],
            )
        },
        study(
            "m",
            "Positions of the filter",
            "positions",
            true,
            vec![
                c2p("1280", 1280.0, &["hash_bits=256"], Some(12.0)),
                c2p("2560", 2560.0, &["hash_bits=1536"], None),
                c2p("5120", 5120.0, &[], Some(23.5)),
                c2p("10240", 10240.0, &["hash_bits=9216"], None),
                c2p("20480", 20480.0, &["hash_bits=19456"], None),
            ],
            vec![gain("5120 positions against 1280", 2, 0, 11.5), gain("20480 against 5120: no difference", 4, 2, 0.0)],
        ),
        study(
            "k",
            "Positions per tag",
            "k",
            false,
            vec![
                c2p("1 (mask only)", 1.0, &["hashes=0"], Some(13.1)),
                c2p("2", 2.0, &["hashes=1"], None),
                c2p("3", 3.0, &["hashes=2"], None),
                c2p("4", 4.0, &[], Some(23.5)),
                c2p("5", 5.0, &["hashes=4"], None),
                c2p("4 hashes, no mask", 6.0, &["mask_bits=0", "hashes=4"], Some(22.4)),
            ],
            vec![
                gain("k = 4 against the mask alone", 3, 0, 10.4),
                gain("k = 4 against k = 2: no difference", 3, 1, 0.0),
                gain("with the mask against four hashes", 3, 5, 1.1),
            ],
        ),
        Experiment {
            note: "The sharing scope of the C2P-Cache is the chip: only the clusters of ATA and CCD are swept.",
            ..study(
                "scope",
                "Sharing scope",
                "SMs of a cluster",
                true,
                scope(),
                vec![
                    Claim { worse: None, ..gain("CCD over all 64 SMs is below the baseline", 3, 0, -14.2) },
                    Claim { worse: None, ..gain("ATA over 32 SMs is above the baseline", 6, 0, 11.6) },
                    gain("C2P (3 copies) against ATA, both over 64 SMs", 8, 7, 10.4),
                ],
            )
        },
        Experiment { note: "Strong scaling: the work is that of 64 SMs.", ..study("sms", "Number of SMs", "SMs", true, scaling(), vec![]) },
    ]
}

fn schemes() -> Experiment {
    let point = |(i, (scheme, paper)): (usize, (Scheme, Option<f64>))| Point {
        label: scheme.name().into(),
        x: i as f64,
        scheme,
        prefetch: "none",
        settings: Vec::new(),
        baseline: Vec::new(),
        paper,
    };
    let list = [
        (Scheme::C2p, Some(23.5)),
        (Scheme::Oracle, None),
        (Scheme::Ata, Some(-33.9)),
        (Scheme::Ccd, Some(1.9)),
        (Scheme::Ring, Some(2.4)),
    ];
    let points: Vec<Point> = list.into_iter().enumerate().map(point).collect();
    let over = |text: &str, point, class, paper| Claim { class: Some(class), worse: None, ..gain(text, point, 0, paper) };
    let mut claims = vec![
        over("C2P raises the IPC of R1S1", 0, Class::R1S1, 23.5),
        over("C2P changes R0S0 little", 0, Class::R0S0, 1.4),
        over("C2P raises R1S0 a little", 0, Class::R1S0, 4.2),
        over("C2P costs R0S1 a little", 0, Class::R0S1, -2.0),
        over("ATA costs R0S1 much", 2, Class::R0S1, -31.7),
        over("RING costs R0S1 much", 4, Class::R0S1, -19.3),
        over("CCD changes R0S1 little", 3, Class::R0S1, 0.4),
        gain("C2P against ATA on R1S1", 0, 2, 57.4),
        gain("C2P against CCD on R1S1", 0, 3, 21.6),
        gain("C2P against RING on R1S1", 0, 4, 21.1),
    ];
    let l2 = |text: &str, class, paper| Claim { measure: Measure::L2Saved, ..over(text, 0, class, paper) };
    claims.push(l2("C2P saves L2 accesses on R1S0", Class::R1S0, 46.6));
    claims.push(l2("C2P saves L2 accesses on R1S1", Class::R1S1, 30.2));
    claims.push(Claim { measure: Measure::Pruning, ..gain("TP+TN of C2P against CCD on R1S1", 0, 3, 33.1) });
    Experiment {
        note: "Power is not modelled.",
        ..study("schemes", "Sharing schemes", "scheme, in the order of the table", false, points, claims)
    }
}

fn scope() -> Vec<Point> {
    let mut points = Vec::new();
    for (scheme, paper) in [(Scheme::Ccd, [None, None, None, Some(-14.2)]), (Scheme::Ata, [None, None, Some(11.6), Some(10.8)])] {
        for (size, paper) in [8_u32, 16, 32, 64].into_iter().zip(paper) {
            let settings = vec![format!("system.cluster={size}")];
            let label = format!("{scheme} {size}");
            points.push(Point { label, x: f64::from(size), scheme, prefetch: "none", settings, baseline: Vec::new(), paper });
        }
    }
    points.push(c2p("c2p 64, 3 copies", 64.0, &["copies=3"], Some(21.2)));
    points
}

fn scaling() -> Vec<Point> {
    let point = |(scheme, sms): (Scheme, u32)| {
        let settings = vec![format!("sms={sms}")];
        let label = format!("{scheme}, {sms} SMs");
        Point { label, x: f64::from(sms), scheme, prefetch: "none", settings: settings.clone(), baseline: settings, paper: None }
    };
    let all = [32, 64, 128].into_iter().flat_map(|sms| [Scheme::C2p, Scheme::Ata, Scheme::Ccd, Scheme::Ring].map(|s| (s, sms)));
    all.map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::experiment::{Record, Task, evaluate};
    use crate::workload::Workload;

    #[test]
    fn every_study_is_legal() {
        for e in all() {
            assert!(e.claims.iter().all(|c| c.better < e.points.len() && c.worse.is_none_or(|w| w < e.points.len())), "{}", e.name);
            for task in e.tasks(Workload::Gemm, 64, 1, 1.0) {
                task.resolve().unwrap_or_else(|error| panic!("{}: {error}", e.name));
            }
        }
        assert!(by_name("copy").unwrap_err().to_string().contains("copies"));
    }

    #[test]
    fn a_small_study_from_end_to_end() {
        let e = Experiment {
            points: sweep("copies", &[(2, Some(9.0)), (1, None)]),
            claims: vec![gain("two against one", 0, 1, 5.0)],
            ..by_name("copies").unwrap()
        };
        let tasks = e.tasks(Workload::CyclicScan, 4, 1, 0.1);
        let records: Vec<Record> = tasks.iter().map(|t: &Task| t.run().unwrap()).collect();
        assert_eq!(records.len(), 6);
        let outcome = evaluate(&e, &[(Workload::CyclicScan, records)]);
        assert_eq!(outcome.csv().lines().count(), 3);
        assert!(outcome.page(&e, "command").contains("two against one"));
        assert!(outcome.svg(&e).unwrap().starts_with("<svg"));
    }
}
