//! Every block of SnakeCharmer in lockstep with its golden model, under random legal stimulus.

#[path = "common/prefetch.rs"]
mod prefetch;

use l1forge_sim::snakecharmer as golden;
use l1forge_verif::block::{self, BlockModel};
use l1forge_verif::build::Builder;
use l1forge_verif::icarus::Icarus;
use l1forge_verif::lockstep::{Session, seed_from_env};
use l1forge_verif::tools::Toolbox;
use l1forge_verif::{stimulus, test_command};
use prefetch::{CONFIGS, full, named};
use std::path::Path;

/// Runs a block.
fn lockstep(name: &str, configuration: &str) {
    // A block alone is built even where the top of this configuration has none.
    let c = named(configuration);
    let cycles = if full() { 40_000 } else { 15_000 };
    let seed = seed_from_env(1);
    let design = block::design(&c, name, 0).unwrap_or_else(|e| panic!("{configuration}: {e}"));
    let waves = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{configuration}-{seed}.fst"));
    let builder = Builder::from_env();
    let mut session = Session::new(&builder, &design, seed).max_cycles(cycles).command(test_command!(seed)).failure_waves(waves, 200);
    if design.clock_name().is_some() {
        session = session.reset(block::reset_of(&c));
    }
    let run = session.run(
        |interface, seed| {
            let model = block::golden_block(&c, name, 0).unwrap();
            (BlockModel::new(&c, interface, model), stimulus::for_block(name, &c, 0, interface, seed))
        },
        None,
    );
    match run {
        Ok(outcome) => assert_eq!(outcome.report.cycles, cycles, "{name} of {configuration}"),
        Err(error) => panic!("{name} of configuration `{configuration}`: {error}"),
    }
}

/// A block in some configurations; with L1FORGE_FULL in all.
fn run(name: &str, configurations: &[&str]) {
    let all: Vec<&str> = CONFIGS.iter().map(|c| c.0).collect();
    for configuration in if full() { &all } else { configurations } {
        lockstep(name, configuration);
    }
}

macro_rules! blocks {
    ($($name:ident: $($configuration:literal),+;)+) => {
        $(#[test]
        fn $name() {
            run(stringify!($name), &[$($configuration),+]);
        })+

        /// Names of the tests above.
        const TESTED: &[&str] = &[$(stringify!($name)),+];
    };
}

blocks! {
    head_table: "odd", "one", "single";
    tail_table: "odd", "one", "single", "default";
    apogee: "apogee", "odd", "one", "single";
    candidate_generator: "odd", "one", "single", "apogee", "default";
    zero_filter: "odd", "one", "single", "two";
    l1_awt: "odd", "one", "single", "two", "apogee", "default";
    l2_awt: "odd", "one", "single", "two", "apogee", "default";
    sgu: "odd", "one", "single", "two", "plain", "default";
    prefetch_queue: "odd", "one", "single", "two";
    prt: "odd", "one", "single", "two", "apogee", "default";
    peb: "odd", "one", "single", "two", "default";
    feedback: "odd", "one", "single";
    prefetch_statistics: "odd", "one", "single", "plain";
}

#[test]
fn every_block_is_tested() {
    let missing: Vec<_> = golden::BLOCKS.iter().filter(|b| !TESTED.contains(b)).collect();
    assert_eq!(missing, [&"snakecharmer"], "the top has tests of its own");
}

/// Replays the stimulus of every block in Icarus Verilog, where an undefined value is a mismatch.
#[test]
fn blocks_in_icarus() {
    let configurations: &[&str] = if full() { &["odd", "one", "single", "two", "apogee", "plain"] } else { &["odd"] };
    for configuration in configurations {
        let c = named(configuration);
        for name in golden::BLOCKS {
            let seed = seed_from_env(1);
            let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let replay = stimulus::record(name, &c, 0, seed, 1500, &folder.path().join("run")).unwrap();
            let report = Icarus::new(Toolbox::from_env()).run(&replay.design, &replay.recording).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(report.mismatches, 0, "{name} of {configuration}: {:#?}\nrepeat it with: {}", report.first, test_command!(seed));
        }
    }
}
