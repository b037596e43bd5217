//! Theorem 5, variable-progress reuse distances and Theorem 6 against simulators and exhaustive search.

mod pascal_support;

use std::collections::HashSet;

use l1forge_sim::pascal::simulate::Lru;
use l1forge_sim::pascal::{LeadTracker, Pipeline, ProgressHistory, ReuseProfile, Scan, capacity_for_lead, lead_of, sharpness_witness};
use pascal_support::{Tally, mattson};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SEED: u64 = 53;

/// What is left to know about an interleaving: progress and LRU stack, both relative to the slowest worker.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    ahead: Vec<u64>,
    stack: Vec<u64>,
}

/// Walks every interleaving of lead at most `lead`, of any length; returns whether some follower request can miss.
fn some_follower_can_miss(workers: usize, lead: u64, blocks: u64, capacity: u64) -> bool {
    let start = State { ahead: vec![0; workers], stack: Vec::new() };
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        let furthest = *state.ahead.iter().max().unwrap();
        for worker in 0..workers {
            let position = state.ahead[worker];
            let mut next = state.clone();
            next.ahead[worker] += 1;
            let slowest = *next.ahead.iter().min().unwrap();
            if next.ahead.iter().max().unwrap() - slowest > lead {
                continue;
            }
            let block = position % blocks;
            let found = next.stack.iter().position(|&b| b == block);
            match found {
                Some(i) => drop(next.stack.remove(i)),
                None if position < furthest => return true,
                None => {}
            }
            next.stack.insert(0, block);
            next.stack.truncate(capacity as usize);
            for ahead in &mut next.ahead {
                *ahead -= slowest;
            }
            for b in &mut next.stack {
                *b = (*b + blocks - slowest % blocks) % blocks;
            }
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    false
}

#[test]
fn theorem_5_over_every_interleaving() {
    let mut tally = Tally::default();
    for (workers, most) in [(2, 5), (3, 4), (4, 3)] {
        for lead in 1..=most {
            for blocks in 2..=2 * lead + 5 {
                for capacity in 1..=(blocks - 1).min(2 * lead + 1) {
                    let misses = some_follower_can_miss(workers, lead, blocks, capacity);
                    let context = || format!("M {workers}, lead {lead}, N {blocks}, C {capacity}");
                    tally.count("configurations walked");
                    if capacity >= capacity_for_lead(lead, 0) {
                        tally.check("C >= 2 lead - 1: no follower ever misses", !misses, context);
                    } else if capacity + 2 == 2 * lead {
                        tally.check("sharp: C = 2 lead - 2 can miss", misses, context);
                    }
                }
            }
        }
    }
    assert_eq!(tally.counted("configurations walked"), 525);
    tally.finish("Theorem 5, exhaustive");
}

/// Fills of an LRU cache under an interleaving of workers that start at block 0, and whether the last request missed.
fn fills(workers: usize, order: &[usize], blocks: u64, capacity: u64) -> (u64, bool) {
    let mut cache = Lru::new(blocks, capacity).unwrap();
    let mut tracker = LeadTracker::new(workers).unwrap();
    let mut last = false;
    let misses = order.iter().filter(|&&worker| {
        last = !cache.access((tracker.request(worker) % blocks) as u32);
        last
    });
    (misses.count() as u64, last)
}

#[test]
fn the_witness_loses_sharing_one_block_below_the_threshold() {
    for lead in 2..=40u64 {
        let order = sharpness_witness(lead as usize).unwrap();
        let blocks = 2 * lead + 3;
        assert!(fills(2, &order, blocks, 2 * lead - 2).1, "lead {lead}: the last request must miss");
        assert!(!fills(2, &order, blocks, 2 * lead - 1).1, "lead {lead}: the last request must hit");
        // The ring may be as small as 2 lead - 1.
        assert!(fills(2, &order, 2 * lead - 1, 2 * lead - 2).1);
    }
}

#[test]
fn a_static_lead_keeps_losing_one_block_below_the_threshold() {
    for lead in 2..20u64 {
        let scan = Scan::new(64, vec![lead - 1, 0]).unwrap();
        let profile = ReuseProfile::new(&scan);
        assert_eq!(profile.distances()[1], 2 * (lead - 1));
        assert_eq!(profile.misses_per_round(2 * lead - 2), 2);
        assert_eq!(profile.misses_per_round(2 * lead - 1), 1);
    }
}

#[test]
fn random_runs_fill_every_position_once() {
    println!("seed {SEED}");
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    for _ in 0..300 {
        let workers = random.random_range(2..=8usize);
        let lead = random.random_range(1..=12u64);
        let mut tracker = LeadTracker::new(workers).unwrap();
        let mut order = Vec::new();
        let mut counts = vec![0u64; workers];
        while order.len() < 4000 {
            let worker = random.random_range(0..workers);
            if counts[worker] < counts.iter().min().unwrap() + lead {
                counts[worker] += 1;
                tracker.request(worker);
                order.push(worker);
            }
        }
        assert!(tracker.lead() <= lead);
        assert_eq!(lead_of(workers, &order), Ok(tracker.lead()));
        let capacity = capacity_for_lead(tracker.lead(), 0);
        let blocks = capacity + random.random_range(1..=10);
        let (filled, _) = fills(workers, &order, blocks, capacity);
        assert_eq!(filled, *counts.iter().max().unwrap(), "M {workers}, lead {lead}");
    }
}

#[test]
fn variable_progress_distances_equal_the_mattson_stack() {
    println!("seed {SEED}");
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut accesses = 0;
    for _ in 0..300 {
        let blocks = random.random_range(1..=40u64);
        let workers = random.random_range(1..=7usize);
        let phases: Vec<u64> = (0..workers).map(|_| random.random_range(0..blocks)).collect();
        let mut history = ProgressHistory::new(&Scan::new(blocks, phases).unwrap());
        // Workers of very different speed, so that intervals of all lengths appear.
        let speed: Vec<u32> = (0..workers).map(|_| random.random_range(1..=20)).collect();
        let total: u32 = speed.iter().sum();
        let mut trace = Vec::new();
        let mut found = Vec::new();
        for _ in 0..400 {
            let mut draw = random.random_range(0..total);
            let worker = speed
                .iter()
                .position(|&s| {
                    let chosen = draw < s;
                    draw = draw.saturating_sub(s);
                    chosen
                })
                .unwrap();
            let (block, distance) = history.request(worker);
            trace.push(block);
            found.push(distance);
        }
        assert_eq!(found, mattson(&trace), "N {blocks}, M {workers}");
        accesses += trace.len();
    }
    println!("{accesses} accesses");
}

/// One pipeline of `warps` warps behind one barrier, event by event: copies arrive, every warp consumes, the barrier opens when all have.
fn multi_warp(service: &[Vec<f64>], latency: &[f64], r: usize) -> Vec<f64> {
    let blocks = latency.len();
    let warps = service[0].len();
    // The issuing warp is the slowest one: the barrier of block k opens when the data are there and all warps have arrived.
    let mut arrived = vec![0.0; blocks];
    arrived[..r.min(blocks)].copy_from_slice(&latency[..r.min(blocks)]);
    let mut clock = vec![0.0; warps];
    let mut finished = Vec::new();
    for k in 0..blocks {
        let open = clock.iter().copied().fold(arrived[k], f64::max);
        for (warp, time) in clock.iter_mut().enumerate() {
            *time = open + service[k][warp];
        }
        let all = clock.iter().copied().fold(0.0, f64::max);
        if k + r < blocks {
            arrived[k + r] = all + latency[k + r];
        }
        finished.push(all);
    }
    finished
}

#[test]
fn theorem_6_on_random_runs() {
    let mut tally = Tally::default();
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    for run in 0..4000 {
        let n = random.random_range(1..=40usize);
        let r = random.random_range(1..=5usize);
        // Whole numbers: every sum is exact.
        let mut times = |limit: u32| -> Vec<f64> { (0..n).map(|_| f64::from(random.random_range(0..=limit))).collect() };
        let alpha = times(20);
        let slow: Vec<f64> = times(90).iter().zip(&alpha).map(|(latency, alpha)| latency + alpha).collect();
        let cut = times(90);
        let fast: Vec<f64> = slow.iter().zip(&alpha).zip(&cut).map(|((s, a), c)| (s - c).max(*a)).collect();
        let x = Pipeline::new(r, alpha.clone(), slow.clone()).unwrap();
        let y = Pipeline::new(r, alpha.clone(), fast.clone()).unwrap();
        let (tx, ty) = (x.finish_times(), y.finish_times());
        let context = || format!("run {run}: r {r}, alpha {alpha:?}, slow {slow:?}, fast {fast:?}");
        for k in 0..n {
            let prefix = Pipeline::new(r, alpha[..=k].to_vec(), slow[..=k].to_vec()).unwrap();
            let bound = prefix.recovery_bound(&fast[..=k]).unwrap();
            let gained = tx[k] - ty[k];
            tally.check("(b) 0 <= time gained", gained >= 0.0, context);
            tally.check("(b) time gained <= bound, every prefix", gained <= bound, context);
            // The definition of Theta.
            let from = (k + 1).saturating_sub(r);
            let cover: f64 = alpha[from..=k].iter().sum();
            tally.check("Theta = service of the last r blocks", x.cover()[k] == cover, context);
        }
        for (k, cover) in x.cover().into_iter().enumerate().filter(|(k, cover)| slow[*k] <= *cover) {
            let step = |times: &[f64]| times[k] - k.checked_sub(1).map_or(0.0, |before| times[before]);
            let exact = step(&tx) == alpha[k] && step(&ty) == alpha[k];
            tally.check("(a) beta <= Theta: the block takes alpha whatever hits", exact, context);
            assert!(cover >= alpha[k]);
        }
        // A longer latency than the service before it, once exposed, shows.
        if let Some(first) = x.first_exposed() {
            let service: f64 = alpha[..first].iter().sum();
            tally.check("the first exposed block is late", tx[first - 1] > service, context);
        }
    }
    tally.finish(format!("Theorem 6, seed {SEED}"));
}

#[test]
fn theorem_6_describes_a_multi_warp_barrier_kernel() {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    for _ in 0..1000 {
        let n = random.random_range(1..=40usize);
        let r = random.random_range(1..=5usize);
        let warps = random.random_range(1..=6usize);
        let service: Vec<Vec<f64>> = (0..n).map(|_| (0..warps).map(|_| f64::from(random.random_range(0..=20u32))).collect()).collect();
        let latency: Vec<f64> = (0..n).map(|_| f64::from(random.random_range(0..=90u32))).collect();
        let alpha: Vec<f64> = service.iter().map(|warps| warps.iter().copied().fold(0.0, f64::max)).collect();
        let beta: Vec<f64> = latency.iter().zip(&alpha).map(|(l, a)| l + a).collect();
        let recurrence = Pipeline::new(r, alpha, beta).unwrap().finish_times();
        assert_eq!(recurrence, multi_warp(&service, &latency, r));
    }
}
