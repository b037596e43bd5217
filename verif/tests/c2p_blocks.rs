//! Every block of the C2P-Cache in lockstep with its golden model, under random legal stimulus.

#[path = "common/configs.rs"]
mod configs;

use configs::{CONFIGS, full, named};
use l1forge_sim::c2p as golden;
use l1forge_verif::block::{self, BlockModel};
use l1forge_verif::build::Builder;
use l1forge_verif::icarus::Icarus;
use l1forge_verif::lockstep::{Session, seed_from_env};
use l1forge_verif::tools::Toolbox;
use l1forge_verif::{stimulus, test_command};
use std::path::Path;

/// Cycles of every run.
const CYCLES: u64 = 20_000;

/// Runs the last instance of a block.
fn lockstep(name: &str, configuration: &str) {
    let c = named(configuration);
    let instance = golden::instances(name, &c) - 1;
    let seed = seed_from_env(1);
    let design = block::design(&c, name, instance).unwrap_or_else(|e| panic!("{configuration}: {e}"));
    let waves = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{configuration}-{seed}.fst"));
    let builder = Builder::from_env();
    let mut session = Session::new(&builder, &design, seed).max_cycles(CYCLES).command(test_command!(seed)).failure_waves(waves, 200);
    if design.clock_name().is_some() {
        session = session.reset(block::reset_of(&c));
    }
    let run = session.run(
        |interface, seed| {
            let model = golden::block(name, &c, instance).unwrap();
            (BlockModel::new(&c, interface, model), stimulus::for_block(name, &c, instance, interface, seed))
        },
        None,
    );
    match run {
        Ok(outcome) => assert_eq!(outcome.report.cycles, CYCLES, "{name} of {configuration}"),
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
    rr_arbiter_free: "odd", "wide";
    rr_arbiter_ready: "odd", "wide";
    rr_arbiter_lock: "odd", "wide";
    bf_engine: "odd", "any", "wide";
    engine_pool: "odd", "any", "merge";
    and_reduction: "odd", "merge";
    probe_engine: "odd", "tiny";
    query_slot: "odd", "any";
    query_store: "odd", "tiny", "merge";
    bank_arbiter: "odd", "any", "merge";
    update_bank_arbiter: "odd", "any";
    lookup_network: "odd", "any", "merge", "wide";
    snapshot_matrix: "odd", "any";
    probe_order: "any", "merge";
    probe_network: "odd", "wide";
    probe_queue: "odd", "tiny", "wide";
    probe_return: "odd", "tiny";
    fill_queue: "odd", "any";
    stream_buffer: "odd", "any";
    update_lane: "odd", "any";
    update_network: "odd", "any";
    refresh_controller: "odd", "tiny";
    statistics: "odd", "any";
}

#[test]
fn every_block_is_tested() {
    let missing: Vec<_> = golden::BLOCKS.iter().filter(|b| !TESTED.contains(b)).collect();
    assert_eq!(missing, [&"c2p_cache"], "the top has tests of its own");
}

/// Replays the stimulus of a block in Icarus Verilog, where an undefined value is a mismatch.
fn icarus(name: &str, configuration: &str, cycles: u64) {
    let c = named(configuration);
    let seed = seed_from_env(1);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let replay = stimulus::record(name, &c, 0, seed, cycles, &folder.path().join("run")).unwrap();
    let report = Icarus::new(Toolbox::from_env()).run(&replay.design, &replay.recording).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(report.mismatches, 0, "{name} of {configuration}: {:#?}\nrepeat it with: {}", report.first, test_command!(seed));
    assert!(report.cycles >= cycles);
}

#[test]
fn blocks_in_icarus() {
    // The data of a matrix are undefined until they are first read; the top has it inside.
    for name in golden::BLOCKS.iter().filter(|n| **n != "snapshot_matrix" && **n != "c2p_cache") {
        icarus(name, "odd", 2000);
        if full() {
            icarus(name, "any", 2000);
        }
    }
}

#[test]
fn a_wrong_operator_is_found() {
    let c = named("odd");
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut replay = stimulus::record("and_reduction", &c, 0, 1, 500, &folder.path().join("run")).unwrap();
    let design = replay.design.clone();
    let mut wrong = l1forge_verif::build::Design::new(design.top()).ports(design.port_list().unwrap().to_vec()).clock("clk_i");
    let mut changed = false;
    for (name, text) in design.source_files() {
        let broken = if name.starts_with("and_reduction") { text.replacen(" & ", " | ", 1) } else { text.clone() };
        changed |= broken != *text;
        wrong = wrong.source(name, broken);
    }
    assert!(changed);
    replay.design = wrong;
    let report = Icarus::new(Toolbox::from_env()).run(&replay.design, &replay.recording).unwrap();
    assert!(report.mismatches > 0);
}
