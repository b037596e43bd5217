//! Tests of the whole, and what all tests share.

use super::*;
use l1forge_config::Settings;
use proptest::prelude::*;

/// The paper's configuration with these settings.
pub fn config(sets: &[&str]) -> Config {
    let mut settings = Settings::preset("paper").unwrap();
    for set in sets {
        settings.set(set).unwrap_or_else(|e| panic!("{e}"));
    }
    settings.resolve().unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn unknown_blocks_and_instances_are_refused() {
    let c = config(&["sms=4"]);
    assert!(BLOCKS.iter().all(|name| block(name, &c, 0).is_ok_and(|b| b.name() == *name)));
    let error = block("nothing", &c, 0).err().unwrap().to_string();
    assert!(error.contains("nothing") && error.contains("c2p_cache"));
    assert!(block("probe_order", &c, 3).is_ok());
    assert_eq!(block("probe_order", &c, 4).err().unwrap().to_string(), "instance 4 of block probe_order: legal: 0..=3");
    assert!(block("bank_arbiter", &c, 3).is_ok());
    assert!(block("bank_arbiter", &config(&["sms=4", "copy_choice=any"]), 1).is_err());
    assert!(block("update_lane", &c, 15).is_ok() && block("c2p_cache", &c, 1).is_err());
}

/// docs/blocks/ports.md: for each block its ports as (name, is input, elements, bits, when), the sizes still as letters.
fn documented() -> Vec<(String, Vec<[String; 5]>)> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/blocks/ports.md")).unwrap();
    let mut blocks = Vec::new();
    for section in text.split("\n## ").skip(1) {
        let rows: Vec<[String; 5]> = section
            .lines()
            .filter_map(|line| {
                let cells: Vec<_> = line.strip_prefix("| `")?.trim_end_matches('|').split('|').collect();
                let cells: [&str; 5] = cells.try_into().ok()?;
                ["in", "out"].contains(&cells[1].trim()).then(|| cells.map(|c| c.trim().trim_matches('`').to_string()))
            })
            .collect();
        for name in section.lines().next().unwrap().split(", ") {
            blocks.push((name.to_string(), rows.clone()));
        }
    }
    blocks
}

/// The value of `k·X`, `RW+S` and the like.
fn size(text: &str, letters: &[(&str, u32)]) -> u32 {
    let factor = |word: &str| word.parse().unwrap_or_else(|_| letters.iter().find(|l| l.0 == word).unwrap_or_else(|| panic!("{word}")).1);
    text.split('+').map(|term| term.split('·').map(factor).product::<u32>()).sum()
}

fn letters(c: &Config, name: &str, instance: usize) -> Vec<(&'static str, u32)> {
    let any = c.copy_choice == CopyChoice::Any;
    let v = c.lookup_ports;
    let per_copy = (0..c.sms * v).filter(|p| any || (p / v + p % v) % c.copies == instance as u32).count();
    let (n, p, j) = match name {
        "bank_arbiter" => (per_copy as u32, c.row_bits(), if any { c.copies } else { 1 }),
        "update_bank_arbiter" => (c.update_lanes * c.k(), c.row_bits() + c.sm_bits(), 1),
        _ => (c.sms, 0, 0),
    };
    let mut tw = 1;
    while c.probe_timeout.max(c.answer_timeout) + 1 >= 1 << tw {
        tw += 1;
    }
    let sources = |count: u32| (0..count).filter(|s| *s % c.update_lanes == instance as u32).count() as u32;
    vec![
        ("N", c.sms),
        ("Q", c.queries_per_sm),
        ("W", c.update_lanes),
        ("T", c.tag_bits()),
        ("I", c.id_bits),
        ("k", c.k()),
        ("B", c.banks),
        ("C", c.copies),
        ("X", c.index_bits()),
        ("RW", c.row_bits()),
        ("S", c.sm_bits()),
        ("L", c.slot_bits()),
        ("TW", tw),
        ("ST", c.update_bytes / 8),
        ("CB", c.counter_bits),
        ("UW", 8),
        ("n", n),
        ("P", p),
        ("J", j),
        ("Z", (sources(c.sms) + sources(c.update_bytes / 8)).max(1)),
    ]
}

#[test]
fn ports_are_those_of_the_documentation() {
    let documented = documented();
    let names: Vec<_> = documented.iter().map(|b| b.0.as_str()).collect();
    assert_eq!(BLOCKS.iter().filter(|b| !names.contains(b)).count(), 0, "{names:?}");
    for sets in [
        &[][..],
        &["sms=5", "debug_port=true", "queries_per_sm=3", "probe_timeout=63", "answer_timeout=2", "hashes=1", "counter_bits=64"],
        &["sms=130", "copy_choice=any", "update_lanes=64", "update_bytes=8", "answer_timeout=4095", "hash_bits=1216"],
        &["sms=2", "hashes=0", "banks=1", "queries_per_sm=1", "probe_timeout=1", "answer_timeout=1", "id_bits=16"],
    ] {
        let c = config(sets);
        for (name, ports) in &documented {
            for instance in 0..instances(name, &c) {
                let letters = letters(&c, name, instance);
                let model = block(name, &c, instance).unwrap();
                for (direction, list) in [("in", model.inputs()), ("out", model.outputs())] {
                    let expected: Vec<_> = ports
                        .iter()
                        .filter(|p| p[1] == direction && (c.debug_port || !p[0].starts_with("debug_")))
                        .filter(|p| name != "rr_arbiter_free" || p[0] != "ready_i")
                        .map(|[port, _, elements, bits, when]| {
                            let plain = crate::block::Port::new(port, size(bits, &letters), size(elements, &letters));
                            if when.ends_with("_o") { plain.when(when) } else { plain }
                        })
                        .collect();
                    assert_eq!(list, expected, "{name} {instance} {direction} {sets:?}");
                }
            }
        }
    }
}

#[test]
fn every_valid_has_as_many_elements() {
    let c = config(&["sms=5", "debug_port=true", "queries_per_sm=3"]);
    for name in BLOCKS {
        let outputs = block(name, &c, 0).unwrap().outputs();
        for port in &outputs {
            if let Some(valid) = &port.valid {
                let valid = outputs.iter().find(|p| p.name == *valid).unwrap();
                assert_eq!((valid.count, valid.bits), (port.count, 1), "{name} {}", port.name);
            }
        }
    }
}

/// Drives the top by hand, one quiet cycle at a time.
struct Top {
    model: C2pCache,
    inputs: crate::block::Signals,
    outputs: crate::block::Signals,
}

impl Top {
    fn new(sets: &[&str]) -> Self {
        let model = C2pCache::new(&config(sets));
        let (mut inputs, outputs) = (crate::block::Signals::new(&model.inputs()), crate::block::Signals::new(&model.outputs()));
        inputs.set(input::ENABLE, 0, 1);
        inputs.words_mut(input::MISS_SHAREABLE).fill(1);
        for port in [input::OUTCOME_READY, input::PROBE_READY, input::L2_READY] {
            inputs.words_mut(port).fill(1);
        }
        Self { model, inputs, outputs }
    }

    fn cycle(&mut self) {
        self.model.eval(&self.inputs, &mut self.outputs);
        self.model.clock(&self.inputs);
    }

    fn get(&self, port: usize, sm: usize) -> u64 {
        self.outputs.get(port, sm)
    }

    /// Cycles until the matrix is ready; then notices of a fill, and cycles until it is written.
    fn fill(&mut self, sm: usize, tag: u64) {
        while self.get(output::MATRIX_READY, 0) == 0 {
            self.cycle();
        }
        self.inputs.set(input::FILL_VALID, sm, 1);
        self.inputs.set(input::FILL_TAG, sm, tag);
        self.cycle();
        self.inputs.set(input::FILL_VALID, sm, 0);
        (0..5).for_each(|_| self.cycle());
    }

    /// The cycle in which a miss is accepted: cycle 0.
    fn miss(&mut self, sm: usize, tag: u64, id: u64) {
        self.inputs.set(input::MISS_VALID, sm, 1);
        self.inputs.set(input::MISS_TAG, sm, tag);
        self.inputs.set(input::MISS_ID, sm, id);
        self.cycle();
        assert_eq!(self.get(output::MISS_READY, sm), 1);
        self.inputs.set(input::MISS_VALID, sm, 0);
    }
}

/// The latency table of docs/blocks/README.md, cycle by cycle.
#[test]
fn latency_table() {
    let mut top = Top::new(&["sms=4", "refresh_period=60000"]);
    top.fill(3, 0x123);
    top.model.enable_tap();
    let a = 7;
    top.miss(0, 0x123, 5);
    for cycle in 1..=8 + a {
        if cycle == 7 + a {
            top.inputs.set(input::ANSWER_VALID, 3, 1);
            top.inputs.set(input::ANSWER_HIT, 3, 1);
        }
        top.cycle();
        let reads = if cycle == 3 { 4 } else { 0 };
        assert_eq!(top.model.tap().unwrap().reads.len(), reads, "cycle {cycle}");
        let probe = [output::PROBE_VALID, output::PROBE_TAG, output::PROBE_REQUESTER].map(|p| top.get(p, 3));
        assert_eq!(probe, if cycle == 7 { [1, 0x123, 0] } else { [0; 3] }, "cycle {cycle}");
        top.inputs.words_mut(input::ANSWER_VALID).fill(0);
        let outcome = [output::OUTCOME_VALID, output::OUTCOME_ID, output::OUTCOME_REMOTE, output::OUTCOME_SOURCE];
        let shown = outcome.map(|p| top.get(p, 0));
        assert_eq!(shown, if cycle == 8 + a { [1, 5, 1, 3] } else { [0; 4] }, "cycle {cycle}");
        assert_eq!(top.get(output::L2_VALID, 0), 0);
    }
}

/// Without a candidate the L2 request comes in cycle 6; after a miss the next candidate is probed.
#[test]
fn latency_without_candidate_and_with_two() {
    let mut top = Top::new(&["sms=4", "refresh_period=60000"]);
    top.fill(0, 0x99); // the requester's own bit is no candidate
    top.miss(0, 0x99, 1);
    for cycle in 1..=7 {
        top.cycle();
        assert_eq!(top.get(output::L2_VALID, 0), u64::from(cycle == 6));
        assert_eq!(top.get(output::OUTCOME_VALID, 0), u64::from(cycle == 7));
    }
    assert_eq!((top.get(output::OUTCOME_REASON, 0), top.get(output::OUTCOME_REMOTE, 0)), (Reason::NoCandidate as u64, 0));

    // SMs 1 and 3 hold it; for SM 0 of a 2 x 2 grid SM 1 is nearer than 3. Answers come a = 2 cycles after the probe.
    top.fill(1, 0x99);
    top.fill(3, 0x99);
    top.miss(0, 0x99, 2);
    let mut seen = Vec::new();
    for cycle in 1..=24 {
        for (port, sm, at) in [(input::ANSWER_VALID, 1, 9), (input::ANSWER_VALID, 3, 14)] {
            top.inputs.set(port, sm, u64::from(cycle == at));
        }
        top.cycle();
        for sm in 0..4 {
            if top.get(output::PROBE_VALID, sm) == 1 {
                seen.push((cycle, "probe", sm));
            }
        }
        for (port, what) in [(output::L2_VALID, "l2"), (output::OUTCOME_VALID, "outcome")] {
            if top.get(port, 0) == 1 {
                seen.push((cycle, what, top.get(output::OUTCOME_REASON, 0) as usize));
            }
        }
    }
    // Missed at SM 1 in cycle 9: selected again in 10, offered 11, at SM 3 in 12; missed in 14, selected 15, L2 in 16.
    assert_eq!(seen, [(7, "probe", 1), (12, "probe", 3), (16, "l2", 0), (17, "outcome", Reason::AllMissed as usize)]);
}

#[test]
fn longer_engines_and_lookups_add_their_cycles() {
    for (sets, l2) in [(&["engine_latency=5"][..], 9), (&["lookup_latency=6"], 10), (&["engine_latency=3", "engine_pipelined=false"], 7)] {
        let mut top = Top::new(&[&["sms=4", "refresh_period=60000"][..], sets].concat());
        (0..100).for_each(|_| top.cycle());
        top.miss(2, 7, 0);
        let cycle = (1..40).find(|_| {
            top.cycle();
            top.get(output::L2_VALID, 2) == 1
        });
        assert_eq!(cycle, Some(l2), "{sets:?}");
    }
}

/// A tag noticed in cycle 0: head of its queue in 1, in the engine 1 and 2, head of the lane and written in 3.
#[test]
fn latency_of_a_fill() {
    let mut top = Top::new(&["sms=4", "refresh_period=60000"]);
    (0..100).for_each(|_| top.cycle());
    top.model.enable_tap();
    top.inputs.set(input::FILL_VALID, 2, 1);
    top.inputs.set(input::FILL_TAG, 2, 0x77);
    for cycle in 0..6 {
        top.cycle();
        top.inputs.set(input::FILL_VALID, 2, 0);
        let mut writes: Vec<_> =
            top.model.tap().unwrap().writes.iter().map(|w| (w.bank as u64, u64::from(w.row), w.mask, w.value)).collect();
        writes.sort_by_key(|w| (w.0, w.1));
        let mut expected: Vec<_> = encode(&config(&["sms=4"]), 0x77).iter().map(|p| (p.bank, p.row, SmSet::single(2), true)).collect();
        expected.sort_by_key(|w| (w.0, w.1));
        assert_eq!(writes, if cycle == 3 { expected } else { vec![] }, "cycle {cycle}");
    }
}

/// A rebuild seen from outside, cycle by cycle, and its column afterwards.
#[test]
fn a_rebuild() {
    let sets = ["sms=4", "banks=16", "hash_bits=256", "mask_bits=0", "update_bytes=16", "refresh_period=40", "debug_port=true"];
    let (mut top, c) = (Top::new(&sets), config(&sets)); // 16 rows
    top.fill(0, 0x5a5a); // will be wiped
    let mut cycle = 23; // 17 until the matrix is seen ready, and fill()
    top.inputs.set(input::REFRESH_READY, 0, 1);
    // The period ends in cycle 39, DRAIN 40, CLEAR 41..=56, REQUEST 57.
    while top.get(output::REFRESH_VALID, 0) == 0 {
        top.cycle();
        cycle += 1;
    }
    assert_eq!(cycle, 57 + 1);
    let beats: [&[u64]; 3] = [&[1, 2], &[3], &[4, 5]];
    for (n, tags) in beats.into_iter().enumerate() {
        top.inputs.set(input::STREAM_VALID, 0, 1);
        for (at, keep) in [true, tags.len() > 1].into_iter().enumerate() {
            top.inputs.set(input::STREAM_KEEP, at, u64::from(keep));
            top.inputs.set(input::STREAM_TAG, at, if keep { tags[at] } else { 0 });
        }
        top.inputs.set(input::STREAM_LAST, 0, u64::from(n == 2));
        top.cycle();
        assert_eq!(top.get(output::STREAM_READY, 0), 1);
    }
    top.inputs.set(input::STREAM_VALID, 0, 0);
    (0..20).for_each(|_| top.cycle());
    assert_eq!(top.get(output::COUNT_REBUILDS, 0), 1);
    let expected: std::collections::BTreeSet<_> = (1..=5).flat_map(|tag| encode(&c, tag)).map(|p| (p.bank, p.row)).collect();
    for (bank, row) in (0..16).flat_map(|bank| (0..16).map(move |row| (bank, row))) {
        // Through the debug port, too.
        top.inputs.set(input::DEBUG_VALID, 0, 1);
        top.inputs.set(input::DEBUG_INDEX, 0, bank << c.row_bits() | row);
        top.cycle();
        assert_eq!(top.get(output::DEBUG_READY, 0), 1);
        top.inputs.set(input::DEBUG_VALID, 0, 0);
        top.cycle();
        assert_eq!((top.get(output::DEBUG_VALID, 0), top.get(output::DEBUG_ROW, 0) & 1), (1, u64::from(expected.contains(&(bank, row)))));
        assert_eq!(top.model.row(bank as usize, row as u32).contains(0), expected.contains(&(bank, row)));
    }
}

mod netlist;

use bench::Bench;
use environment::{Profile, random, sweep};

/// Runs a bench, drains it, and shows what was broken.
fn judge(bench: &mut Bench, cycles: u64, drain: u64) -> Result<(), String> {
    bench.run(cycles);
    let drained = bench.drain(drain);
    match bench.oracle.violations().first() {
        Some(violation) => Err(violation.to_string()),
        None if !drained => Err(format!("{} misses still in flight after {drain} cycles", bench.environment.in_flight())),
        None => Ok(()),
    }
}

/// A configuration, an environment and what the SMs do.
#[derive(Debug, Clone)]
struct Case {
    sets: Vec<String>,
    profile: Profile,
    pool: u64,
    stride: u64,
    stores: f64,
    seed: u64,
}

prop_compose! {
    /// Sizes of everything up to the matrix.
    fn query_sets()(
        sms in prop_oneof![2..=8_u32, Just(16)],
        (mask, hashes, independent) in (any::<bool>(), 0..=7_u32, any::<bool>()),
        (bank_bits, hash_rows, copies) in (0..=4_u32, 1..=20_u32, 1..=4_u32),
        (any_copy, merge) in any::<(bool, bool)>(),
        (engines, reserved) in (0..=20_u32, 0..=6_u32),
        (pipelined, engine_latency, lookup_latency) in (any::<bool>(), 2..=8_u32, 2..=5_u32),
        queries in 1..=4_u32,
    ) -> Vec<String> {
        let hashes = if mask { hashes } else { hashes.max(1) };
        let k = hashes + u32::from(mask);
        // With a clear of 1024 rows after the other nothing else would be written.
        let bank_bits = if mask { bank_bits.max(2) } else { bank_bits };
        // Shared engines at most one per SM.
        let reserved = 1 + reserved;
        let shared = (1 + engines).min(sms);
        vec![
            format!("sms={sms}"),
            format!("mask_bits={}", if mask { 1024 } else { 0 }),
            format!("hashes={hashes}"),
            format!("hash={}", if independent { "independent" } else { "double" }),
            format!("banks={}", 1 << bank_bits),
            format!("hash_bits={}", if hashes == 0 { 0 } else { hash_rows << bank_bits }),
            format!("copies={}", copies.min(k)),
            format!("copy_choice={}", if any_copy { "any" } else { "fixed" }),
            format!("merge_rows={merge}"),
            format!("engines={}", shared + reserved),
            format!("update_engines={reserved}"),
            format!("engine_pipelined={pipelined}"),
            format!("engine_latency={engine_latency}"),
            format!("lookup_latency={lookup_latency}"),
            format!("queries_per_sm={queries}"),
        ]
    }
}

prop_compose! {
    /// The update path, the probes, and the L1s.
    fn other_sets()(
        (bytes, lanes, update_depth) in (prop::sample::select(vec![8_u32, 16, 32, 128]), 1..=8_u32, 2..=4_u32),
        (fill_depth, drop) in (1..=3_u32, any::<bool>()),
        (period, stream_timeout) in (prop_oneof![Just(1_u32), 20..300_u32], prop_oneof![Just(1_u32), 5..400_u32]),
        (queue, answers) in (1..=4_u32, 1..=4_u32),
        (probe_timeout, answer_timeout) in (1..40_u32, 1..40_u32),
        limit in prop_oneof![Just(0_u32), 1..=3_u32],
        (counter_bits, debug) in (prop::sample::select(vec![8_u32, 32, 64]), any::<bool>()),
        (tag_latency, l2_latency) in (1..=12_u32, 1..100_u32),
    ) -> Vec<String> {
        [
            ("update_bytes", bytes),
            ("update_lanes", lanes),
            ("update_queue_depth", update_depth),
            ("fill_queue_depth", fill_depth),
            ("refresh_period", period),
            ("stream_timeout", stream_timeout),
            ("probe_queue_depth", queue),
            ("answer_queue_depth", answers),
            ("probe_timeout", probe_timeout),
            ("answer_timeout", answer_timeout),
            ("probe_limit", limit),
            ("counter_bits", counter_bits),
            ("remote_tag_latency", tag_latency),
            ("l2_latency", l2_latency),
            ("l1_bytes", 2048),
            ("l1_ways", 2),
        ]
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .chain([format!("fill_drop={drop}"), format!("debug_port={debug}")])
        .collect()
    }
}

/// Mostly 1, sometimes slow.
fn probability() -> impl Strategy<Value = f64> {
    prop_oneof![2 => Just(1.0), 2 => 0.3..1.0, 1 => 0.03..0.3]
}

/// Mostly none.
fn few_sms() -> impl Strategy<Value = SmSet> {
    prop_oneof![6 => Just(SmSet::EMPTY), 1 => (0..4_usize).prop_map(SmSet::single), 1 => (0..16_u64).prop_map(|bits| SmSet::from_words(&[bits]))]
}

prop_compose! {
    fn profiles()(
        (miss, outcome_ready, l2_ready, probe_ready, answer) in (probability(), probability(), probability(), probability(), probability()),
        (refresh_ready, stream, fill) in (probability(), probability(), probability()),
        (busy, busy_cycles, answer_jitter) in (prop_oneof![Just(0.0), 0.0..0.05], 1..120_u64, 0..8_u64),
        (hole, toggle_enable, flush) in (prop_oneof![Just(0.0), 0.0..0.8], prop_oneof![Just(0.0), 0.0..0.02], prop_oneof![Just(0.0), 0.0..0.005]),
        (clear_statistics, debug, mshrs) in (prop_oneof![4 => Just(0.0), 1 => Just(0.001)], 0.0..1.0, 1..12_usize),
        (deaf, mute, unrefreshed, silent) in (few_sms(), few_sms(), few_sms(), few_sms()),
        (outcome_stuck, l2_stuck) in (prop_oneof![9 => Just(SmSet::EMPTY), 1 => few_sms()], prop_oneof![9 => Just(SmSet::EMPTY), 1 => few_sms()]),
    ) -> Profile {
        Profile {
            miss, outcome_ready, l2_ready, probe_ready, answer, refresh_ready, stream, fill, busy, busy_cycles, answer_jitter, hole,
            toggle_enable, flush, clear_statistics, debug, mshrs, deaf, mute, unrefreshed, silent, outcome_stuck, l2_stuck,
            ..Profile::ideal()
        }
    }
}

prop_compose! {
    fn cases()(
        (query, other) in (query_sets(), other_sets()),
        profile in profiles(),
        (pool, stride, stores) in (4..80_u64, prop::sample::select(vec![1_u64, 16, 1024]), prop_oneof![Just(0.0), 0.0..0.02]),
        seed in any::<u64>(),
    ) -> Case {
        Case { sets: [query, other].concat(), profile, pool, stride, stores, seed }
    }
}

/// 48 cases, or `PROPTEST_CASES`.
fn proptest_config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { 48 };
    ProptestConfig { cases, max_shrink_iters: 200, failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(proptest_config())]
    /// The model in any configuration and environment breaks no rule, and everything ends.
    #[test]
    fn no_rule_is_broken(case in cases()) {
        let sets: Vec<&str> = case.sets.iter().map(String::as_str).collect();
        let c = config(&sets);
        let tags = (0..case.pool).map(|n| n * case.stride).collect();
        let source = Box::new(random(tags, case.stores, case.stores / 2.0, case.seed));
        let mut bench = Bench::new(&c, case.profile.clone(), source, case.seed);
        if let Err(what) = judge(&mut bench, 1500, 60_000) {
            return Err(TestCaseError::fail(format!("after {} cycles: {what}", bench.cycle())));
        }
    }
}

/// Processor time of this thread.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() * 1e-9
}

/// Cycles per second of processor time of the top at 64 SMs: `cargo test -p l1forge-sim --lib speed_at_64 -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn speed_at_64() {
    use crate::block::Signals;
    type MakeSource = fn() -> Box<dyn environment::Source>;
    let c = config(&[]);
    let shared: MakeSource = || Box::new(random((0..8192).collect(), 0.001, 0.0, 1));
    let missing: MakeSource = || Box::new(sweep(4096, 5));
    for (name, profile, source) in [
        ("ideal, shared pool", Profile::ideal(), shared),
        ("ideal, every access misses", Profile::ideal(), missing),
        ("random stalls", Profile::random(), shared),
    ] {
        let mut model = C2pCache::new(&c);
        let mut environment = environment::Environment::new(&c, profile, source(), 1);
        let (mut inputs, mut outputs) = (Signals::new(&model.inputs()), Signals::new(&model.outputs()));
        let start = cpu_seconds();
        let recorded: Vec<Signals> = (0..10_000)
            .map(|_| {
                environment.drive(&mut inputs);
                model.eval(&inputs, &mut outputs);
                environment.observe(&inputs, &outputs);
                model.clock(&inputs);
                inputs.clone()
            })
            .collect();
        let together = recorded.len() as f64 / (cpu_seconds() - start);
        let counters = *model.counters();
        let mut model = C2pCache::new(&c);
        let start = cpu_seconds();
        for inputs in &recorded {
            model.eval(inputs, &mut outputs);
            model.clock(inputs);
        }
        let alone = recorded.len() as f64 / (cpu_seconds() - start);
        assert_eq!(*model.counters(), counters);
        eprintln!("{name}: {alone:.0} cycles/s, with environment {together:.0}; misses {}, queries {}", counters[0], counters[1]);
    }
}

/// Every SM misses all the time, for 10,000 cycles; every miss is answered, every SM gets its share, and rebuilds go on.
fn saturate(sets: &[&str], profile: Profile, rebuilds: u64) {
    let c = config(&[&["l1_bytes=2048", "l1_ways=2", "l2_bandwidth=256"][..], sets].concat());
    let mut bench = Bench::new(&c, profile, Box::new(sweep(48, 3)), 1);
    judge(&mut bench, 10_000, 20_000).unwrap_or_else(|what| panic!("{sets:?}: {what}"));
    let activity = bench.environment.activity();
    assert_eq!(activity.misses, activity.finished);
    let (least, most) = (bench.oracle.outcomes().iter().min().unwrap(), bench.oracle.outcomes().iter().max().unwrap());
    assert!(*least > 0 && *most <= 4 * least, "{sets:?}: outcomes of one SM {least}..={most}");
    let count = bench.model.counters()[14];
    assert!(count >= rebuilds, "{sets:?}: {count} rebuilds");
}

#[test]
fn saturated_and_slow() {
    let scarce = &["engines=2", "update_engines=1", "update_lanes=1", "copies=1", "probe_queue_depth=1", "answer_queue_depth=1"];
    for (sets, rebuilds) in [(&["sms=4"][..], 10), (&["sms=4", "fill_drop=false"], 10), (&["sms=64"], 10)] {
        saturate(sets, Profile::slow(), rebuilds);
        saturate(&[sets, scarce].concat(), Profile::slow(), rebuilds);
    }
}

#[test]
fn saturated_and_fast() {
    for sms in ["sms=4", "sms=64"] {
        saturate(&[sms], Profile::ideal(), 10);
        let scarce = ["engine_pipelined=false", "engine_latency=8", "copies=1", "update_lanes=1", "fill_drop=false", "queries_per_sm=1"];
        let engines = if sms == "sms=4" { &["engines=3", "update_engines=2"] } else { &["engines=10", "update_engines=2"] };
        saturate(&[&[sms][..], engines, &scarce].concat(), Profile::ideal(), 10);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: proptest_config().cases / 2, ..proptest_config() })]
    /// Invariant 7: with outcome and L2 ports ready, the oracle holds every miss against the bound, however bad the L1s are.
    #[test]
    fn every_miss_is_answered_in_time(mut case in cases(), deaf in 0..8_u64, mute in 0..8_u64) {
        case.profile = Profile {
            outcome_ready: 1.0,
            l2_ready: 1.0,
            outcome_stuck: SmSet::EMPTY,
            l2_stuck: SmSet::EMPTY,
            deaf: SmSet::from_words(&[deaf]),
            mute: SmSet::from_words(&[mute]),
            ..case.profile
        };
        let sets: Vec<&str> = case.sets.iter().map(String::as_str).collect();
        let c = config(&sets);
        let source = Box::new(random((0..case.pool / 4 + 2).collect(), 0.0, 0.0, case.seed));
        let mut bench = Bench::new(&c, case.profile.clone(), source, case.seed);
        if let Err(what) = judge(&mut bench, 1500, 60_000) {
            return Err(TestCaseError::fail(format!("after {} cycles: {what}", bench.cycle())));
        }
    }
}

/// Invariant 6: switched off, or with nothing in the matrix, every miss goes to L2 and none is probed.
#[test]
fn nothing_is_probed_when_off_or_empty() {
    let c = config(&["sms=4", "l1_bytes=2048", "l1_ways=2", "id_bits=8"]);
    let run = |profile, off: bool| {
        let mut bench = Bench::new(&c, profile, Box::new(random((0..4000).collect(), 0.0, 0.0, 1)), 1);
        bench.run(3000);
        assert_eq!(bench.oracle.violations(), []);
        let [misses, queries, _, probes, remote, ..] = *bench.model.counters();
        let reasons = &bench.model.counters()[8..13];
        assert!(misses > 100 && probes == 0 && remote == 0);
        let others: u64 = if off { reasons[..4].iter().sum() } else { reasons[1..4].iter().sum() };
        assert_eq!((others, queries > 100), (0, !off));
    };
    // The first cycles are those of the first clear: queries begin after them.
    run(Profile { fill: 0.0, unrefreshed: SmSet::first_n(4), mshrs: 200, ..Profile::ideal() }, false);
    run(Profile { enable: false, ..Profile::ideal() }, true);
}
