//! The whole C2P-Cache in its environment: lockstep in every cycle, the oracle beside.

#[path = "common/configs.rs"]
mod configs;

use configs::{CONFIGS, config, full, named};
use l1forge_config::Config;
use l1forge_sim::c2p::SmSet;
use l1forge_sim::c2p::environment::{Profile, random, sweep};
use l1forge_verif::block::{self, BlockModel};
use l1forge_verif::build::Builder;
use l1forge_verif::icarus::Icarus;
use l1forge_verif::lockstep::{Outcome, Session, seed_from_env};
use l1forge_verif::record::Recorder;
use l1forge_verif::test_command;
use l1forge_verif::tools::Toolbox;
use l1forge_verif::top::{self, End, Shared, TopBench};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Cycles of all runs of this process.
static CYCLES: AtomicU64 = AtomicU64::new(0);

fn set(sms: impl IntoIterator<Item = usize>) -> SmSet {
    let mut set = SmSet::EMPTY;
    sms.into_iter().for_each(|sm| set.insert(sm));
    set
}

/// An environment drawn from a seed: fast, slow, with dead SMs, or with random speeds on every channel.
fn profile(c: &Config, seed: u64) -> Profile {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
    let n = c.sms as usize;
    let one = |rng: &mut ChaCha8Rng| set([rng.random_range(0..n)]);
    match seed % 6 {
        0 => Profile::random(),
        1 => Profile::slow(),
        2 => Profile { flush: 0.001, ..Profile::ideal() },
        3 => Profile { deaf: one(&mut rng), mute: one(&mut rng), unrefreshed: one(&mut rng), silent: one(&mut rng), ..Profile::random() },
        _ => {
            let mut speed = || [0.05, 0.2, 0.5, 0.9, 1.0][rng.random_range(0..5)];
            Profile {
                miss: speed(),
                outcome_ready: speed(),
                l2_ready: speed(),
                probe_ready: speed(),
                answer: speed(),
                refresh_ready: speed(),
                stream: speed(),
                fill: speed(),
                hole: 0.5 * speed(),
                flush: 0.002 * speed(),
                clear_statistics: 0.0,
                mshrs: if speed() < 0.4 { 2 } else { 16 },
                ..Profile::random()
            }
        }
    }
}

/// One run with everything checked; after a failure the message has the seed, the command and the waves.
fn run(
    name: &str,
    c: &Config,
    seed: u64,
    end: End,
    profile: &Profile,
    pool: u64,
    recorder: Option<&mut Recorder>,
) -> Outcome<BlockModel<Shared>, TopBench> {
    let design = block::design(c, "c2p_cache", 0).unwrap();
    let waves = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("c2p_cache-{name}-{seed}.fst"));
    let builder = Builder::from_env();
    let run = Session::new(&builder, &design, seed).reset(block::reset_of(c)).command(test_command!(seed)).failure_waves(waves, 500).run(
        |interface, seed| {
            let source: Box<dyn l1forge_sim::c2p::environment::Source> = if pool == 0 {
                // More lines than any L1 holds: every access misses.
                Box::new(sweep(2 * u64::from(c.l1_bytes / c.line_bytes) + 5, 3))
            } else {
                let last = u64::MAX >> (64 - c.tag_bits());
                let tags = (0..pool).map(|x| x.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 5 & last).collect();
                Box::new(random(tags, 0.1, 0.02, seed))
            };
            top::bench(c, interface, profile.clone(), source, seed, end)
        },
        recorder,
    );
    let outcome = run.unwrap_or_else(|e| panic!("configuration `{name}`: {e}"));
    assert!(outcome.bench.is_done(), "{name}: the run ended with something in flight");
    assert_eq!(outcome.bench.rtl_counters(), outcome.bench.model_counters(), "{name}");
    CYCLES.fetch_add(outcome.report.cycles, Ordering::Relaxed);
    outcome
}

/// Runs seeds until so many cycles are done.
fn seeds(name: &str) {
    let c = named(name);
    let goal = if full() { 250_000 } else { 60_000 };
    let (mut cycles, mut seed) = (0, seed_from_env(1));
    let mut sums = std::collections::BTreeMap::new();
    while cycles < goal {
        let pool = [20, 60, 300][seed as usize % 3];
        let outcome = run(name, &c, seed, End::Cycles(8_000), &profile(&c, seed), pool, None);
        cycles += outcome.report.cycles;
        for (counter, value) in outcome.bench.rtl_counters() {
            *sums.entry(counter).or_insert(0) += value;
        }
        seed += 1;
    }
    println!("c2p_cache of `{name}`: {cycles} cycles in lockstep, in this process {} so far", CYCLES.load(Ordering::Relaxed));
    // The runs went where something happens.
    for counter in ["misses", "queries", "probes", "remote_hits", "no_candidate", "rebuilds", "conflicts"] {
        // One shared engine sends one lookup at a time.
        let possible = counter != "conflicts" || c.shared_engines() > 1;
        assert!(!possible || sums[counter] > 0, "{name}: no {counter} in {cycles} cycles: {sums:?}");
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
    lockstep_odd: "odd";
    lockstep_any: "any";
    lockstep_wide: "wide";
    lockstep_tiny: "tiny";
    lockstep_merge: "merge";
    lockstep_four: "four";
}

/// Every SM misses all the time and everything around is as slow as it may be.
fn starvation(name: &str, c: &Config, cycles: u64) {
    let n = c.sms as usize;
    let slowest = Profile { outcome_ready: 0.05, l2_ready: 0.05, probe_ready: 0.03, answer: 0.03, busy: 0.0, ..Profile::slow() };
    // Nobody takes a probe, or nobody answers one: every probe runs into its timeout.
    let deaf = Profile { deaf: set(0..n), ..Profile::slow() };
    let mute = Profile { mute: set(0..n), ..Profile::slow() };
    for (kind, profile) in [("slowest", slowest), ("deaf", deaf), ("mute", mute)] {
        let outcome = run(name, c, seed_from_env(7), End::Cycles(cycles), &profile, 0, None);
        let counters: std::collections::BTreeMap<_, _> = outcome.bench.rtl_counters().into_iter().collect();
        let activity = outcome.bench.environment().activity();
        println!("starvation of `{name}`, {kind}: {} cycles, {counters:?}", outcome.report.cycles);
        assert_eq!(activity.finished, activity.misses, "{kind}: misses without an end");
        assert_eq!(counters["misses"], activity.misses);
        let ends: u64 = ["remote_hits", "no_candidate", "all_missed", "busy", "queue_full", "disabled"].iter().map(|c| counters[c]).sum();
        assert_eq!(ends, activity.misses, "{kind}: every miss is answered once");
        assert!(activity.misses > cycles / 200 * u64::from(c.sms) / 4, "{kind}: {} misses only", activity.misses);
        assert!(counters["rebuilds"] >= 10, "{kind}: {} rebuilds only", counters["rebuilds"]);
        if kind != "slowest" {
            assert_eq!(counters["remote_hits"], 0, "{kind}");
            assert!(counters["expired_probes"] > 0, "{kind}");
        }
    }
}

#[test]
fn starvation_of_4_sms() {
    starvation("paper at 4 SMs", &config(&["sms=4", "l1_bytes=2048"]), 10_000);
}

#[test]
#[ignore = "minutes: scripts/test.sh --full"]
fn full_starvation_of_64_sms() {
    starvation("paper", &config(&["l1_bytes=2048"]), 10_000);
}

#[test]
#[ignore = "minutes: scripts/test.sh --full"]
fn full_lockstep_of_64_sms() {
    let c = config(&["l1_bytes=2048"]);
    let outcome = run("paper", &c, seed_from_env(1), End::Cycles(20_000), &Profile::random(), 300, None);
    assert!(outcome.report.cycles >= 20_000);
}

#[test]
fn icarus_agrees() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let c = named("odd");
    let design = block::design(&c, "c2p_cache", 0).unwrap();
    let library = Builder::from_env().build(&design).unwrap();
    let mut recorder = Recorder::create(folder.path().join("run"), library.interface()).unwrap();
    let outcome = run("odd", &c, seed_from_env(4), End::Cycles(2_000), &Profile::random(), 60, Some(&mut recorder));
    let recording = recorder.finish().unwrap();
    let report = Icarus::new(Toolbox::from_env()).run(&design, &recording).unwrap();
    assert_eq!(report.mismatches, 0, "{:#?}", report.first);
    assert!(report.cycles > 2_000 && outcome.report.cycles <= report.cycles);
}

#[test]
fn generation_is_deterministic() {
    for (name, _) in CONFIGS {
        let c = named(name);
        let texts = || block::design(&c, "c2p_cache", 0).unwrap().source_files().to_vec();
        assert_eq!(texts(), texts(), "{name}");
    }
}

/// Generator and model have the formula of `docs/blocks/c2p_cache.md` each for itself.
#[test]
fn the_printed_bound_is_the_oracles() {
    for (name, sets) in CONFIGS.iter().chain(&[("paper", &[][..]), ("one port", &["lookup_ports=1"])]) {
        let c = config(sets);
        assert_eq!(l1forge_hdl::c2p::miss_bound(&c), l1forge_sim::c2p::miss_bound(&c), "{name}");
    }
}
