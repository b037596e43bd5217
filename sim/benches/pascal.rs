//! Speed of PASCAL: static queries, exact LRU, predictions, simulators. `cargo bench -p l1forge-sim --bench pascal`.
#![allow(missing_docs, reason = "criterion_group! makes an undocumented function")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group};
use l1forge_sim::pascal::device::{LoadPath, RunSpec, StandIn};
use l1forge_sim::pascal::predict::{
    Assumptions, GemmCalibration, GemmQuery, GemmShape, Options, Query, ScanCalibration, Table, fit_gemm, fit_scan,
};
use l1forge_sim::pascal::simulate::{Lru, Schedule, min_cold};
use l1forge_sim::pascal::{Allocation, Gaps, Pattern, PolicyBound, ReuseProfile, Scan, StaticModel};

const N: u64 = 8192;
const C: u64 = 1280;

fn phases(workers: usize) -> Vec<u64> {
    Pattern::Uniform.place(N, workers, 1).expect("a legal pattern").phases().to_vec()
}

fn static_queries(c: &mut Criterion) {
    let phases48 = phases(48);
    let build = |phases: &[u64]| Scan::new(N, phases.to_vec()).expect("legal phases");
    // From bare phases each time: sorting and checking included.
    c.bench_function("gap law, M 48", |b| {
        b.iter(|| Gaps::new(&build(black_box(&phases48))).waterline(black_box(C)));
    });
    c.bench_function("policy bound, M 48", |b| {
        b.iter(|| PolicyBound::new(&build(black_box(&phases48))).misses_per_round(black_box(C), Allocation::Bypass));
    });
    c.bench_function("whole static query with exact LRU, M 48", |b| {
        b.iter(|| StaticModel::new(build(black_box(&phases48))).query(black_box(C)));
    });
    let model = StaticModel::new(build(&phases48));
    c.bench_function("query at another capacity, M 48", |b| b.iter(|| model.query(black_box(C))));
    let phases256 = phases(256);
    c.bench_function("exact LRU, M 256", |b| {
        b.iter(|| ReuseProfile::new(&build(black_box(&phases256))).misses_per_round(black_box(C)));
    });
}

fn calibration() -> ScanCalibration {
    let mut csv = String::from(
        "# device = bench\n# workers_per_occupancy = 48\n# block_bytes = 16384\n# capacity_blocks = 1280\no,path,d,m,n,w,bytes\n",
    );
    // Six families of nine references at three sizes, as in the study.
    for (o, path, d) in [(1, "sync", 0), (2, "tma", 2), (1, "tma", 3), (2, "tma", 3), (1, "tma", 4), (1, "tma", 6)] {
        for m in [0, 1, 2, 4, 5, 6, 12, 13, 14] {
            for n in [2048, 4096, 8192] {
                for w in [1.0, 4.0, 16.0, 64.0f64] {
                    let k = 1.0 + w / (8.0 + f64::from(m));
                    csv += &format!("{o},{path},{d},{m},{n},{w},{}\n", k * 16384.0 * f64::from(n) * w);
                }
            }
        }
    }
    fit_scan(&Table::parse(&csv).expect("a table"), Options::default()).expect("a calibration")
}

fn gemm_calibration() -> GemmCalibration {
    let mut csv =
        String::from("# device = bench\n# workers_per_occupancy = 48\n# block_bytes = 16384\n# capacity_blocks = 1280\nmg,ng,kg,bytes\n");
    for m in [256, 512, 1024, 2048, 4096, 8192] {
        for n in [256, 512, 1024, 2048, 4096] {
            for k in [1024, 2048, 4096, 8192] {
                let shape = GemmShape::new(m, n, k).expect("a shape");
                csv += &format!("{m},{n},{k},{}\n", 1.3 * shape.reference_bytes() as f64);
            }
        }
    }
    fit_gemm(&Table::parse(&csv).expect("a table"), Options::default()).expect("a calibration")
}

fn predictions(c: &mut Criterion) {
    let calibration = calibration();
    let query = Query {
        device: Some("bench".to_string()),
        binary: None,
        o: 1,
        path: "tma".to_string(),
        d: 4,
        m: 7,
        blocks: 5120,
        scans: 48.0,
        assumptions: Assumptions::default(),
    };
    c.bench_function("dynamic prediction", |b| b.iter(|| calibration.predict(black_box(&query))));
    let gemm = gemm_calibration();
    let query = GemmQuery { device: None, binary: None, shape: GemmShape::new(2560, 1280, 5120).expect("a shape") };
    c.bench_function("GEMM prediction, 30 grids", |b| b.iter(|| gemm.predict(black_box(&query))));
}

fn simulators(c: &mut Criterion) {
    let scan = Scan::new(N, phases(48)).expect("legal phases");
    let mut group = c.benchmark_group("simulators");
    group.sample_size(10);
    // A million accesses of the static schedule.
    let trace: Vec<u32> = Schedule::new(&scan).expect("a small ring").trace(20_834);
    group.throughput(Throughput::Elements(trace.len() as u64));
    group.bench_function("LRU, accesses", |b| {
        b.iter(|| {
            let mut cache = Lru::new(N, C).expect("a small ring");
            trace.iter().filter(|&&block| !cache.access(block)).count()
        });
    });
    let rounds = 2 * N;
    group.throughput(Throughput::Elements(rounds * 48));
    group.bench_function("Belady, accesses", |b| {
        b.iter(|| min_cold(black_box(&scan), C, Allocation::Forced, rounds));
    });
    let device = StandIn::gb10_like().quarter();
    let run = RunSpec { occupancy: 1, path: LoadPath::Tma, depth: 4, compute: 0, blocks: 1024, scans: 16, checkpoint: None, seed: 1 };
    group.throughput(Throughput::Elements(48 * 1024 * 16));
    group.bench_function("stand-in device, requests", |b| b.iter(|| device.run(black_box(&run))));
    group.finish();
}

/// The best time per call over many short batches, in microseconds: what the code takes when nothing else runs.
fn best(batches: u32, calls: u32, mut call: impl FnMut()) -> f64 {
    let batch = |_| {
        let start = std::time::Instant::now();
        for _ in 0..calls {
            call();
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
    };
    (0..batches).map(batch).fold(f64::INFINITY, f64::min)
}

/// The speed this crate promises, each with its limit in microseconds; false if one is missed.
fn limits() -> bool {
    let (phases48, phases256) = (phases(48), phases(256));
    let build = |phases: &[u64]| Scan::new(N, phases.to_vec()).expect("legal phases");
    let calibration = calibration();
    let query = Query {
        device: None,
        binary: None,
        o: 1,
        path: "tma".to_string(),
        d: 4,
        m: 7,
        blocks: 5120,
        scans: 48.0,
        assumptions: Assumptions::default(),
    };
    let trace: Vec<u32> = Schedule::new(&build(&phases48)).expect("a small ring").trace(20_834);
    let million = trace.len() as f64 / 1e6;
    let rows = [
        (
            "gap law, M 48, N 8192, from bare phases",
            10.0,
            best(2000, 20, || {
                black_box(Gaps::new(&build(black_box(&phases48))).waterline(C));
            }),
        ),
        (
            "all static results with exact LRU, M 48, N 8192",
            10.0,
            best(2000, 20, || {
                black_box(StaticModel::new(build(black_box(&phases48))).query(C).expect("legal"));
            }),
        ),
        (
            "exact LRU, M 256",
            5000.0,
            best(200, 2, || {
                black_box(ReuseProfile::new(&build(black_box(&phases256))));
            }),
        ),
        (
            "dynamic prediction",
            50.0,
            best(2000, 20, || {
                black_box(calibration.predict(black_box(&query)).expect("calibrated"));
            }),
        ),
        (
            "LRU simulator, one million accesses",
            50_000.0,
            best(30, 1, || {
                let mut cache = Lru::new(N, C).expect("a small ring");
                black_box(trace.iter().filter(|&&block| !cache.access(block)).count());
            }) / million,
        ),
    ];
    println!("best of many batches, microseconds:");
    for (name, limit, time) in rows {
        let verdict = if time < limit { "ok" } else { "TOO SLOW" };
        println!("  {name:<50} {time:>10.2}  limit {limit:>8.0}  {verdict}");
    }
    rows.iter().all(|(_, limit, time)| time < limit)
}

criterion_group!(benches, static_queries, predictions, simulators);

fn main() {
    // Only when it runs as a benchmark, and not as a test of an unoptimised build.
    let held = !std::env::args().any(|arg| arg == "--bench") || limits();
    benches();
    Criterion::default().configure_from_args().final_summary();
    if !held {
        std::process::exit(1);
    }
}
