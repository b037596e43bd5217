//! The stand-in device: its event loop against a naive one, its behaviour against the paper's observations, and a small study.

mod pascal_support;

use l1forge_sim::pascal::device::{LoadPath, Model, RunSpec, StandIn, Study, contrasts};
use l1forge_sim::pascal::predict::{Anchor, EtaInterpolation, Options};
use l1forge_sim::pascal::{Pipeline, Scan, baselines::che, to_f64};
use proptest::prelude::*;

fn device() -> StandIn {
    StandIn::gb10_like().quarter().quarter()
}

fn spec(depth: u32, compute: u32, blocks: u64, scans: u64) -> RunSpec {
    let path = if depth == 0 { LoadPath::Sync } else { LoadPath::Tma };
    RunSpec { occupancy: 1, path, depth, compute, blocks, scans, checkpoint: None, seed: 11 }
}

/// The same device by the plainest means: look for the earliest event, search a list for the block. No jitter.
fn naive(device: &StandIn, spec: &RunSpec) -> (u64, u64) {
    let r = if spec.depth == 0 { 1 } else { spec.depth as usize - 1 };
    let workers = (device.multiprocessors * u64::from(spec.occupancy)) as usize;
    let total = (spec.blocks * spec.scans) as usize;
    let service: Vec<u64> = (0..workers)
        .map(|w| {
            let tail = device.tail[(spec.compute % 4).min(2) as usize];
            let skew = device.skew_of(w as u64 % device.multiprocessors);
            u64::from(spec.occupancy) * (device.service + u64::from(spec.compute) * device.compute + tail + skew)
        })
        .collect();
    let mut stack: Vec<u64> = Vec::new();
    let mut ready = std::collections::HashMap::new();
    let (mut fills, mut dram_free) = (0, 0);
    let mut fetch = |now: u64, position: usize| -> u64 {
        let block = position as u64 % spec.blocks;
        match stack.iter().position(|&b| b == block) {
            Some(i) => {
                stack.remove(i);
                stack.insert(0, block);
                (now + device.hit).max(ready[&block])
            }
            None => {
                stack.insert(0, block);
                stack.truncate(device.capacity_blocks as usize);
                fills += 1;
                let start = dram_free.max(now);
                dram_free = start + device.dram;
                ready.insert(block, start + device.miss);
                start + device.miss
            }
        }
    };
    let mut arrivals = vec![Vec::new(); workers];
    for position in 0..r.min(total) {
        for list in &mut arrivals {
            list.push(fetch(0, position));
        }
    }
    // For each worker the end of its present block, the blocks consumed, and whether it stands at a checkpoint.
    let mut ends: Vec<Option<u64>> = (0..workers).map(|w| Some(arrivals[w][0] + service[w])).collect();
    let mut consumed = vec![0; workers];
    let mut waiting = Vec::new();
    let mut now = 0;
    while let Some((end, w)) = ends.iter().enumerate().filter_map(|(w, end)| end.map(|end| (end, w))).min() {
        now = end;
        ends[w] = None;
        consumed[w] += 1;
        if consumed[w] - 1 + r < total {
            let copy = fetch(now, consumed[w] - 1 + r);
            arrivals[w].push(copy);
        }
        if consumed[w] == total {
            continue;
        }
        let go = if spec.checkpoint.is_some_and(|every| (consumed[w] as u64).is_multiple_of(every)) {
            waiting.push(w);
            if waiting.len() == workers { std::mem::take(&mut waiting) } else { Vec::new() }
        } else {
            vec![w]
        };
        for v in go {
            ends[v] = Some(arrivals[v][consumed[v]].max(now) + service[v]);
        }
    }
    (fills, now)
}

proptest! {
    #![proptest_config(pascal_support::proptest_config(150))]

    #[test]
    fn the_event_loop_equals_a_naive_one(
        multiprocessors in 1..7u64, occupancy in 1..3u32, depth in prop_oneof![Just(0u32), 2..6u32], compute in 0..6u32,
        blocks in 1..40u64, scans in 1..5u64, capacity in 1..30u64, checkpoint in prop::option::of(1..20u64),
        service in 1..60u64, hit in 0..100u64, extra in 0..200u64, dram in 0..50u64, skew in 0..30u64, groups in 1..5u64,
    ) {
        let device = StandIn {
            multiprocessors, capacity_blocks: capacity, service, compute: 7, tail: [0, 3, 5], hit, miss: hit + extra, dram, groups, skew,
            jitter: 0, ..device()
        };
        let path = if depth == 0 { LoadPath::Sync } else { LoadPath::Tma };
        let spec = RunSpec { occupancy, path, depth, compute, blocks, scans, checkpoint, seed: 1 };
        let found = device.run(&spec).unwrap();
        prop_assert_eq!((found.fills, found.time), naive(&device, &spec));
        prop_assert_eq!(found.requests, blocks * scans * multiprocessors * u64::from(occupancy));
        prop_assert!(found.fills >= blocks.min(found.requests) && found.fills <= found.requests);
        prop_assert!((found.k - found.fills as f64 / (blocks * scans) as f64).abs() < 1e-12);
        prop_assert!((found.traffic_bytes - found.fills as f64 * device.block_bytes as f64).abs() < 1e-9);
    }
}

#[test]
fn without_jitter_a_run_is_the_recurrence() {
    let device = StandIn { skew: 0, jitter: 0, ..device() };
    for depth in [0, 2, 3, 4, 7] {
        let found = device.run(&spec(depth, 1, 256, 3)).unwrap();
        // Aligned workers share every fill, which arrives as late for all of them.
        let r = if depth == 0 { 1 } else { depth as usize - 1 };
        let alpha = device.alpha(1, 1) as f64;
        let recurrence = Pipeline::new(r, vec![alpha; 768], vec![alpha + device.miss as f64; 768]).unwrap();
        // The first copies queue at the DRAM before any time has passed; those of the recurrence do not.
        let queued = device.dram * (r as u64 - 1);
        let last = *recurrence.finish_times().last().unwrap();
        let late = found.time as f64 - last;
        assert!((0.0..=queued as f64).contains(&late), "depth {depth}: {late} ps late");
        assert_eq!(found.fills, 768);
        assert_eq!(found.k, 1.0);
    }
}

#[test]
fn a_ring_that_fits_is_filled_once() {
    let found = device().run(&spec(4, 0, 80, 40)).unwrap();
    assert_eq!(found.fills, 80);
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let run = |seed| device().run(&RunSpec { seed, ..spec(4, 0, 256, 16) }).unwrap();
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).time, run(2).time);
}

#[test]
fn a_checkpoint_bounds_the_lead() {
    for every in [4, 16, 32] {
        let found = device().run(&RunSpec { checkpoint: Some(every), ..spec(4, 0, 256, 16) }).unwrap();
        assert!(found.lead <= every + 3, "checkpoint {every}: lead {}", found.lead);
        assert!(found.markers.iter().all(|marker| marker.lead <= found.lead + 1));
    }
}

#[test]
fn divergence_grows_with_depth_and_compute_or_a_checkpoint_takes_it_back() {
    // PASCAL section 3.6 on the stand-in, at a sixteenth of the size: seeds 1 to 3.
    for seed in 1..=3 {
        let rows = contrasts(&device(), seed).unwrap();
        let k: Vec<f64> = rows.iter().map(|row| row.result.k).collect();
        let [d2, d3, d4, compute, checkpoint] = k[..] else { panic!("five rows") };
        assert!(d2 < 1.02 && d3 < 1.02, "depth 2 and 3 stay aligned: {k:?}");
        assert!(d4 > 4.0, "depth 4 does not: {k:?}");
        assert!(compute < 1.1, "compute at depth 4 restores sharing: {k:?}");
        assert!(checkpoint < 1.02, "so does a checkpoint: {k:?}");
        assert!(rows.iter().all(|row| row.first.0 < 1.02), "the first wave is aligned everywhere");
        // The fourth buffer saves little time; divergence costs none to speak of.
        let time = |i: usize| rows[i].first.1;
        assert!(time(0) > 1.8 * time(1) && time(1) > time(2) && time(1) < 1.15 * time(2));
        let long = rows[2].result.time_per_round();
        assert!((long / time(2) - 1.0).abs() < 0.1, "{long} against {}", time(2));
        // The clusters tell the same story as the traffic.
        let clusters = |i: usize| rows[i].result.markers[6].clusters;
        assert!(clusters(1) <= 2 && clusters(2) >= 3, "{} and {}", clusters(1), clusters(2));
        assert!(rows[2].result.markers[6].snapshot_k >= 4 && rows[1].result.markers[6].snapshot_k == 1);
    }
}

#[test]
fn bad_runs_are_refused() {
    let field = |change: &dyn Fn(&mut RunSpec)| {
        let mut run = spec(4, 0, 256, 1);
        change(&mut run);
        device().run(&run).unwrap_err().field().to_string()
    };
    assert_eq!(field(&|s| s.depth = 1), "d");
    assert_eq!(field(&|s| s.depth = 65), "d");
    assert_eq!(field(&|s| s.path = LoadPath::Sync), "d");
    assert_eq!(field(&|s| s.occupancy = 0), "o");
    assert_eq!(field(&|s| s.occupancy = 65), "o");
    assert_eq!(field(&|s| s.compute = u32::MAX), "m");
    assert_eq!(field(&|s| s.blocks = 0), "blocks");
    assert_eq!(field(&|s| s.blocks = u64::MAX), "blocks");
    assert_eq!(field(&|s| s.scans = 0), "scans");
    assert_eq!(field(&|s| s.scans = u64::MAX), "scans");
    assert_eq!(field(&|s| s.checkpoint = Some(0)), "checkpoint");
    let no_room = StandIn { capacity_blocks: 0, ..device() };
    assert_eq!(no_room.run(&spec(4, 0, 256, 1)).unwrap_err().field(), "capacity_blocks");
}

/// A study small enough for every test run: two families, three held-out compute values, a sixteenth of the size.
fn small_study() -> Study {
    Study {
        families: vec![(1, LoadPath::Tma, 3), (1, LoadPath::Tma, 4)],
        held_out_compute: vec![3, 8, 9],
        repeats: 1,
        ..Study::of_the_paper(device(), 7)
    }
}

#[test]
fn a_small_study_holds_out_what_it_predicts() {
    let study = small_study();
    let report = study.run(&|_, _| {}).unwrap();
    let overall = report.overall();
    let (baseline, error) = overall.best_baseline();
    println!(
        "seed 7: PASCAL {:.2} %, best baseline {baseline:?} {error:.2} %, {} of {} runs diverge",
        overall.mape(Model::Pascal),
        overall.divergent,
        overall.models[0].runs()
    );
    assert_eq!(report.comparisons.len(), 2 * 3 * 5);
    assert!(overall.mape(Model::Pascal) <= 12.0);
    assert!(overall.mape(Model::Pascal) * 3.0 <= error);

    // The baselines are what they say: aligned profiles, whatever the run did.
    for row in &report.comparisons {
        let workers = 48 * row.family.0 as usize;
        let aligned = Scan::new(row.blocks, vec![0; workers]).unwrap();
        assert_eq!(row.predicted[1], 1.0);
        assert_eq!(row.predicted[4], 1.0);
        assert_eq!(row.predicted[5], to_f64(&che::misses_per_round(&aligned, 80)));
        assert!(row.predicted[2] <= 1.0 && row.predicted[3] <= 1.0);
        // The fit saw no held-out key.
        assert!(report.calibration.references().all(|(_, reference)| reference.m != row.compute));
    }
    // Cells add up to the whole.
    let by_family = report.cells(|c| format!("{:?}", c.family));
    assert_eq!(by_family.iter().map(|cell| cell.models[0].runs()).sum::<u64>(), overall.models[0].runs());
    assert_eq!(by_family.iter().map(|cell| cell.divergent).sum::<u64>(), overall.divergent);

    // Other choices move the result, the same choices do not.
    let same = report.with_options(&study, Options::default()).unwrap();
    assert_eq!(same.mape(), overall.models[0].mape());
    for options in [
        Options { anchor: Anchor::Aligned, ..Options::default() },
        Options { eta: EtaInterpolation::Decoded, ..Options::default() },
        Options { lambda: 0.0, ..Options::default() },
        Options { epsilon: 1.0, ..Options::default() },
    ] {
        assert_ne!(report.with_options(&study, options).unwrap().mape(), overall.models[0].mape(), "{options:?}");
    }
}

#[test]
fn a_study_that_leaks_is_refused() {
    let leaking = Study { held_out_compute: vec![8, 4], ..small_study() };
    assert_eq!(leaking.run(&|_, _| {}).unwrap_err().field(), "held_out_compute");
}
