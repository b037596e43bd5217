//! The whole of SnakeCharmer in its environment: lockstep in every cycle, the oracle beside.

#[path = "common/prefetch.rs"]
mod prefetch;

use l1forge_config::Config;
use l1forge_sim::snakecharmer::environment::Profile;
use l1forge_sim::snakecharmer::streams::{Shape, Stream};
use l1forge_sim::trace::{DealParameters, TraceOptions, TraceReader};
use l1forge_sim::workload::{Workload, WorkloadParameters};
use l1forge_verif::block;
use l1forge_verif::build::Builder;
use l1forge_verif::lockstep::{Session, seed_from_env};
use l1forge_verif::prefetch_top::{self, End};
use l1forge_verif::test_command;
use prefetch::{CONFIGS, config, full, named};
use std::collections::BTreeMap;
use std::path::Path;

type Counters = BTreeMap<&'static str, u64>;

/// One run with everything checked; after a failure the message has the seed, the command and the waves.
fn run(name: &str, c: &Config, seed: u64, cycles: u64, profile: &Profile, stream: impl Fn() -> Stream) -> (u64, Counters) {
    let design = block::design(c, "snakecharmer", 0).unwrap_or_else(|e| panic!("{name}: {e}"));
    let waves = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("snakecharmer-{name}-{seed}.fst"));
    let builder = Builder::from_env();
    let session = Session::new(&builder, &design, seed).reset(block::reset_of(c)).command(test_command!(seed)).failure_waves(waves, 300);
    let run = session.run(|interface, seed| prefetch_top::bench(c, interface, profile.clone(), stream(), seed, End::Cycles(cycles)), None);
    let outcome = run.unwrap_or_else(|e| panic!("configuration `{name}`: {e}"));
    assert!(outcome.bench.totals().balanced());
    assert_eq!(outcome.bench.rtl_counters(), outcome.bench.model_counters());
    (outcome.report.cycles, outcome.bench.rtl_counters().into_iter().collect())
}

/// Runs seeds until so many cycles are done.
fn seeds(name: &str) {
    let c = named(name);
    let goal = if full() { 150_000 } else { 30_000 };
    let (mut cycles, mut seed) = (0, seed_from_env(1));
    let mut sums = Counters::new();
    while cycles < goal {
        let shape = Shape::ALL[seed as usize % Shape::ALL.len()];
        let stream = || Stream::new(shape, 3 + (seed % 7) as usize, u64::MAX, seed).gap((seed % 5) as u32).zeros(60);
        let (done, counters) = run(name, &c, seed, 3_000, &Profile::random(&c, seed), stream);
        cycles += done;
        counters.into_iter().for_each(|(n, v)| *sums.entry(n).or_insert(0) += v);
        seed += 1;
    }
    println!("snakecharmer of `{name}`: {cycles} cycles in lockstep, {sums:?}");
    // The runs went where something happens.
    let all: &[&str] = &["issued", "unused", "registered", "evicted", "candidates", "on_time", "late", "early"];
    // With one warp and one pattern, or APOGEE on these streams, hardly a prefetch is ever asked for.
    let possible = if ["one", "apogee"].contains(&name) { 5 } else { all.len() };
    for counter in &all[..possible] {
        assert!(sums[counter] > 0, "{name}: no {counter}: {sums:?}");
    }
}

macro_rules! tops {
    ($($test:ident: $name:literal;)+) => {
        $(#[test]
        fn $test() {
            seeds($name);
        })+

        #[test]
        fn every_configuration_is_run() {
            let run = [$($name),+];
            assert!(CONFIGS.iter().all(|c| run.contains(&c.0)));
        }
    };
}

tops! {
    lockstep_default: "default";
    lockstep_odd: "odd";
    lockstep_one: "one";
    lockstep_single: "single";
    lockstep_two: "two";
    lockstep_apogee: "apogee";
    lockstep_plain: "plain";
}

#[test]
fn workloads_in_lockstep() {
    let c = config(&["sc_prt_entries=16", "sc_patterns=16"]);
    for workload in Workload::ALL {
        if !full() && !matches!(workload, Workload::Stencil2d | Workload::GraphWalk) {
            continue;
        }
        let stream = || {
            let events = workload.events(WorkloadParameters { sms: 4, ..Default::default() }).unwrap();
            Stream::traced(events, DealParameters { sms: 4, resident: 2, ..Default::default() }, 16, 4_000).unwrap()
        };
        let (cycles, counters) = run(workload.name(), &c, seed_from_env(1), 20_000, &Profile::ideal(&c), stream);
        println!("{}: {cycles} cycles, {counters:?}", workload.name());
    }
}

/// Real traces, where they are.
#[test]
fn real_traces_in_lockstep() {
    let Some(data) = std::env::var_os("L1FORGE_DATA") else {
        println!("not run: set L1FORGE_DATA to a folder with traces/vectoradd and traces/bfs");
        return;
    };
    let c = config(&["sc_prt_entries=16", "sc_patterns=16"]);
    for (trace, loads) in [("vectoradd", 700), ("bfs", 700)] {
        let path = Path::new(&data).join("traces").join(trace);
        let stream = || {
            let options = TraceOptions { address_bits: c.address_bits, ..TraceOptions::default() };
            let events = TraceReader::open(&path, options).unwrap_or_else(|e| panic!("{e}"));
            Stream::traced(events, DealParameters { sms: 4, ..Default::default() }, c.sc_warps as usize, usize::MAX).unwrap()
        };
        for (seed, profile) in [(1, Profile::ideal(&c)), (2, Profile::random(&c, 2))] {
            let (cycles, counters) = run(trace, &c, seed, u64::MAX, &profile, stream);
            println!("{trace}, seed {seed}: {cycles} cycles, {counters:?}");
            assert!(cycles > loads && counters["issued"] + counters["candidates"] > 0, "{trace}: {counters:?}");
        }
    }
}

#[test]
fn nothing_without_registers_or_enable() {
    let c = named("odd");
    let seed = seed_from_env(3);
    let stream = || Stream::new(Shape::Intra, 4, u64::MAX, seed).gap(2);
    let quiet = Profile { idle_change: 0.0, toggle: 0.0, clear_statistics: 0.0, idle: 0, ..Profile::random(&c, seed) };
    let (_, counters) = run("odd", &c, seed, 5_000, &quiet, stream);
    assert_eq!((counters["registered"], counters["register_used"], counters["dropped"]), (0, 0, 0), "{counters:?}");
    assert_eq!(counters["issued"] > 0, counters["bypassed"] > 0);
}

#[test]
fn generation_is_deterministic() {
    for (name, _) in CONFIGS {
        let c = named(name);
        let texts = || block::design(&c, "snakecharmer", 0).unwrap().source_files().to_vec();
        assert_eq!(texts(), texts(), "{name}");
    }
}
