//! PASCAL end to end: what the closed forms say, the memory path does, one access at a time.

use l1forge_config::{Config, Settings};
use l1forge_sim::pascal::{
    Allocation, Gaps, LeadTracker, LruBracket, PolicyBound, ReuseProfile, Scan, capacity_for_lead, sharpness_witness,
};
use l1forge_sim::system::scan::{Serial, rounds};
use l1forge_sim::system::{Scheme, SystemParameters};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// L1s of one line, so that no worker finds in its own L1 what it loads again N rounds later.
fn config(sms: usize) -> Config {
    let mut s = Settings::default();
    for a in [&format!("sms={sms}"), "l1_bytes=1024", "line_bytes=1024", "l1_ways=1", "l2_latency=2", "refresh_period=300"] {
        s.set(a).unwrap();
    }
    s.resolve().unwrap()
}

fn parameters() -> SystemParameters {
    SystemParameters { mshrs: 1, network_latency: 0, dram_latency: 1, dram_bytes_per_cycle: 1024, ..SystemParameters::default() }
}

fn random_scan(rng: &mut ChaCha8Rng, most: u64) -> (Scan, u64) {
    let (blocks, workers) = (rng.random_range(3..=most), rng.random_range(2..=8));
    let phases = (0..workers).map(|_| rng.random_range(0..blocks)).collect();
    let capacity = rng.random_range(1..blocks);
    (Scan::new(blocks, phases).unwrap(), capacity)
}

#[test]
fn fills_of_200_random_scans_are_the_exact_lru_count_and_in_the_bracket() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for case in 0..200 {
        let (scan, capacity) = random_scan(&mut rng, 40);
        let (n, c, p) = (scan.blocks(), config(scan.workers()), parameters());
        let mut serial = Serial::new(&c, &p, capacity, Scheme::None.build(&c, &p)).unwrap();
        let fills = rounds(&mut serial, n, scan.phases(), 3 * n).unwrap();
        let (measures, _) = serial.finish().unwrap();
        assert_eq!(measures.dram_fills, fills.iter().sum::<u64>());
        let profile = ReuseProfile::new(&scan);
        let exact = profile.misses_per_round(capacity);
        let what = format!("case {case}: N = {n}, C = {capacity}, phases {:?}", scan.phases());
        assert_eq!(fills[2 * n as usize..], vec![exact; n as usize], "{what}: fills per round, exact LRU count");
        assert_eq!(fills.iter().sum::<u64>(), profile.cold_misses(capacity, 3 * n), "{what}: cold start");
        if scan.distinct() as u64 <= capacity {
            let bracket = LruBracket::new(&scan, &Gaps::new(&scan), capacity);
            assert!((bracket.lo..=bracket.hi).contains(&exact), "{what}: {exact} fills, bracket {bracket:?}");
        }
        let bound = PolicyBound::new(&scan).misses_per_round(capacity, Allocation::Bypass);
        let total = fills.iter().sum::<u64>() as f64;
        assert!(total + 1e-6 >= 3.0 * n as f64 * l1forge_sim::pascal::to_f64(&bound), "{what}: {total} fills, bound {bound}");
    }
}

#[test]
fn with_c2p_fills_are_never_below_the_bound_of_all_caches_together() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut bounded = 0;
    for case in 0..200 {
        let (scan, capacity) = random_scan(&mut rng, 40);
        let (n, c, p) = (scan.blocks(), config(scan.workers()), parameters());
        let mut serial = Serial::new(&c, &p, capacity, Scheme::C2p.build(&c, &p)).unwrap();
        let fills: u64 = rounds(&mut serial, n, scan.phases(), n).unwrap().iter().sum();
        serial.finish().unwrap();
        // One line in each L1 and one in each MSHR; there are no PRTs without prefetching.
        let all = capacity + 2 * scan.workers() as u64;
        let bound = n as f64 * l1forge_sim::pascal::to_f64(&PolicyBound::new(&scan).misses_per_round(all, Allocation::Bypass));
        bounded += usize::from(bound > 0.0);
        assert!(
            fills as f64 + 1e-6 >= bound,
            "case {case}: N = {n}, C = {all} in all, phases {:?}: {fills} fills, bound {bound}",
            scan.phases()
        );
    }
    assert!(bounded > 50, "{bounded} cases with a bound above 0");
}

/// Fills of workers that start together and run in this order.
fn fills_of(order: &[usize], workers: usize, blocks: u64, capacity: u64) -> (u64, u64) {
    let (c, p) = (config(workers.max(2)), parameters());
    let mut serial = Serial::new(&c, &p, capacity, Scheme::None.build(&c, &p)).unwrap();
    let mut progress = vec![0; workers];
    for &worker in order {
        serial.load(worker, progress[worker] % blocks).unwrap();
        progress[worker] += 1;
    }
    let most = *progress.iter().max().unwrap();
    (serial.finish().unwrap().0.dram_fills, most)
}

#[test]
fn a_limited_lead_costs_no_fill_from_the_threshold_on() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for case in 0..100 {
        let (workers, limit) = (rng.random_range(2..=6), rng.random_range(1..=8));
        let mut tracker = LeadTracker::new(workers).unwrap();
        let mut order = Vec::new();
        while order.len() < 400 {
            let worker = rng.random_range(0..workers);
            let slowest = *tracker.progress().iter().min().unwrap();
            if tracker.progress()[worker] - slowest < limit {
                tracker.request(worker);
                order.push(worker);
            }
        }
        let capacity = capacity_for_lead(tracker.lead(), 0);
        let (fills, most) = fills_of(&order, workers, capacity + 1 + rng.random_range(0..20), capacity);
        assert_eq!(fills, most, "case {case}: lead {}, capacity {capacity}", tracker.lead());
    }
}

#[test]
fn one_line_below_the_threshold_sharing_is_lost() {
    for lead in 2..8 {
        let order = sharpness_witness(lead).unwrap();
        let capacity = capacity_for_lead(lead as u64, 0);
        let (at, most) = fills_of(&order, 2, 4 * capacity, capacity);
        let (below, _) = fills_of(&order, 2, 4 * capacity, capacity - 1);
        assert_eq!(at, most, "lead {lead}");
        assert_eq!(below, most + 1, "lead {lead}, capacity {}", capacity - 1);
    }
}
