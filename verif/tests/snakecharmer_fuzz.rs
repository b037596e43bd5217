//! Random legal configurations of SnakeCharmer, every key: four linters stay silent on the top, it runs in lockstep, and every block alone does what its golden model does.
//!
//! `L1FORGE_SEED` names the first configuration, `L1FORGE_FUZZ` how many there are (2, with `L1FORGE_FULL=1` 20).

#[path = "common/prefetch.rs"]
mod prefetch;

use l1forge_config::{Config, KEYS, KeyKind, Settings};
use l1forge_hdl::package::package;
use l1forge_hdl::snakecharmer::{counters, storage};
use l1forge_sim::snakecharmer::BLOCKS;
use l1forge_sim::snakecharmer::environment::Profile;
use l1forge_sim::snakecharmer::streams::{Shape, Stream};
use l1forge_verif::build::Builder;
use l1forge_verif::icarus::Icarus;
use l1forge_verif::lint::lint;
use l1forge_verif::lockstep::{Session, seed_from_env};
use l1forge_verif::prefetch_top::{self, End};
use l1forge_verif::tools::Toolbox;
use l1forge_verif::{block, stimulus, test_command};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet};

/// Tables cost time in every tool.
const LARGEST: &[(&str, u32)] = &[
    ("sc_warps", 70),
    ("sc_patterns", 40),
    ("sc_l1_awt_entries", 40),
    ("sc_l2_awt_entries", 20),
    ("sc_peb_entries", 40),
    ("sc_prt_entries", 40),
    ("sc_queue_depth", 12),
    ("sc_trigger_depth", 6),
];

/// A number of a range: an end, one of the first few, or any size equally often.
fn number(rng: &mut ChaCha8Rng, min: u32, max: u32) -> u32 {
    match rng.random_range(0..8) {
        0 => min,
        1 => max,
        2..5 => rng.random_range(min..=max.min(min + 6)),
        _ => {
            let bits = rng.random_range(0..=(max | 1).ilog2());
            rng.random_range(min..=max.min(min.saturating_add(1 << bits)))
        }
    }
}

/// All keys of SnakeCharmer and those it shares with the C2P-Cache, at random.
fn settings(seed: u64) -> BTreeMap<&'static str, String> {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let shared = ["frontend", "address_bits", "line_bytes", "counter_bits", "reset_style"];
    let mut values = BTreeMap::new();
    let mut numbers = BTreeMap::new();
    for key in KEYS.iter().filter(|k| k.name.starts_with("sc_") || shared.contains(&k.name)) {
        let most = LARGEST.iter().find(|l| l.0 == key.name).map_or(u32::MAX, |l| l.1);
        let number = match key.kind {
            KeyKind::Int { min, max } => number(rng, min, max.min(most)),
            KeyKind::PowerOfTwo { min, max } => 1 << rng.random_range(min.trailing_zeros()..=max.trailing_zeros()),
            KeyKind::OneOf(list) => list[rng.random_range(0..list.len())],
            KeyKind::Bool => {
                values.insert(key.name, rng.random_bool(0.6).to_string());
                continue;
            }
            KeyKind::Choice(words) => {
                values.insert(key.name, format!("\"{}\"", words[rng.random_range(0..words.len())]));
                continue;
            }
            KeyKind::Floorplan => continue,
        };
        numbers.insert(key.name, number);
    }
    // What must hold between them.
    let mut at_most = |key: &'static str, most: u32| {
        let value = numbers[key].min(most);
        numbers.insert(key, value);
        value
    };
    let line = at_most("line_bytes", 1024);
    at_most("sc_sector_bytes", line);
    let tag_bits = at_most("address_bits", 64) - line.trailing_zeros();
    let train = at_most("sc_train_bits", tag_bits);
    at_most("sc_stride_bits", train);
    let distances = ["sc_max_intra_warp", "sc_max_inter_pc", "sc_max_inter_warp"].map(|key| at_most(key, 255));
    at_most("sc_reset_distance", distances.into_iter().min().unwrap_or(1));
    let window = at_most("sc_awt_window", 255);
    at_most("sc_awt_move_events", window);
    let register = at_most("sc_register_bits", 16);
    at_most("sc_prt_entries", 1 << register);
    values.extend(numbers.into_iter().map(|(key, n)| (key, n.to_string())));
    values
}

fn config(seed: u64) -> (Config, String) {
    let text: Vec<String> = settings(seed).into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut s = Settings::default();
    text.iter().for_each(|set| s.set(set).unwrap_or_else(|e| panic!("seed {seed}: {e}")));
    (s.resolve().unwrap_or_else(|e| panic!("seed {seed}: {e}")), text.join(" "))
}

fn cases() -> std::ops::Range<u64> {
    let first = seed_from_env(1);
    let count =
        std::env::var("L1FORGE_FUZZ").ok().map_or(if prefetch::full() { 20 } else { 2 }, |n| n.parse().expect("L1FORGE_FUZZ is a number"));
    first..first + count
}

/// What `l1forge gen` writes, for many; the storage report counts every flip-flop of them.
#[test]
fn configurations_are_generated() {
    let mut all = BTreeSet::new();
    for seed in cases().start..cases().start + 150 {
        let (c, text) = config(seed);
        let package = package(&c, "snakecharmer").unwrap_or_else(|e| panic!("{e}: {text}"));
        let counters = u64::from(c.counter_bits) * counters(&c).len() as u64;
        let repeat = test_command!(seed);
        assert_eq!(storage(&c).bits(), package.design.flip_flop_bits() - counters, "{text}\nrepeat it with: {repeat}");
        all.insert(text);
    }
    assert_eq!(all.len(), 150, "they differ");
}

#[test]
fn top_is_silent_in_linters_and_agrees_in_lockstep() {
    let builder = Builder::from_env();
    for seed in cases() {
        let (c, text) = config(seed);
        let repeat = format!("{text}\nrepeat it with: L1FORGE_FUZZ=1 {}", test_command!(seed));
        let design = block::design(&c, "snakecharmer", 0).unwrap_or_else(|e| panic!("{e}\n{repeat}"));
        for report in lint(&Toolbox::from_env(), &design).unwrap_or_else(|e| panic!("{e}")) {
            assert!(report.ok, "{} says\n{}\n{repeat}", report.tool.info().name, report.output);
        }
        let shape = Shape::ALL[seed as usize % Shape::ALL.len()];
        let stream = || Stream::new(shape, 3 + (seed % 7) as usize, u64::MAX, seed).gap((seed % 5) as u32).zeros(60);
        let session = Session::new(&builder, &design, seed).reset(block::reset_of(&c)).command(&repeat);
        let run =
            session.run(|ports, seed| prefetch_top::bench(&c, ports, Profile::random(&c, seed), stream(), seed, End::Cycles(4_000)), None);
        let outcome = run.unwrap_or_else(|e| panic!("{e}"));
        println!("seed {seed}: {} cycles, {:?}", outcome.report.cycles, outcome.bench.totals());
    }
}

#[test]
fn blocks_agree_in_icarus() {
    for seed in cases() {
        let (c, text) = config(seed);
        for name in BLOCKS.iter().filter(|n| **n != "snakecharmer") {
            let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let replay =
                stimulus::record(name, &c, 0, seed, 1_500, &folder.path().join("run")).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
            let report =
                Icarus::new(Toolbox::from_env()).run(&replay.design, &replay.recording).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
            let first = &report.first;
            assert_eq!(report.mismatches, 0, "{name} of {text}: {first:#?}\nrepeat it with: L1FORGE_FUZZ=1 {}", test_command!(seed));
        }
    }
}
