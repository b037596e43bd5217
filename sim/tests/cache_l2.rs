//! The L2: order, latency, bandwidth, back-pressure.

use std::collections::BTreeMap;

use l1forge_sim::cache::{Fill, L2, L2Parameters, Request};
use proptest::prelude::*;

fn request(id: u64) -> Request {
    Request { sm: (id % 7) as u32, id, line: id * 3 }
}

fn l2(latency: u64, bandwidth: u32, queue: usize) -> L2 {
    L2::new(L2Parameters { latency, bandwidth, queue, jitter: 0, seed: 0 }).unwrap()
}

fn step(l2: &mut L2, now: u64) -> Vec<u64> {
    let mut fills = Vec::new();
    l2.step(now, &mut fills);
    assert!(fills.iter().all(|fill| fill.request == request(fill.request.id)));
    fills.iter().map(|fill| fill.request.id).collect()
}

#[test]
fn a_lone_request_takes_the_latency() {
    for latency in [0, 1, 5] {
        let mut l2 = l2(latency, 1, 4);
        step(&mut l2, 0);
        assert!(l2.push(request(1)));
        for now in 1..1 + latency {
            assert_eq!((step(&mut l2, now), l2.outstanding()), (vec![], 1));
        }
        assert_eq!((step(&mut l2, 1 + latency), l2.outstanding()), (vec![1], 0), "latency {latency}");
    }
}

#[test]
fn bandwidth_spreads_a_burst_over_cycles() {
    let mut l2 = l2(10, 2, 8);
    assert!((0..5).all(|id| l2.push(request(id))));
    let arrivals: Vec<_> = (0..14).map(|now| step(&mut l2, now)).filter(|fills| !fills.is_empty()).collect();
    assert_eq!(arrivals, [vec![0, 1], vec![2, 3], vec![4]]);
}

#[test]
fn a_full_queue_refuses_until_service_starts() {
    let mut l2 = l2(10, 1, 2);
    assert!(l2.push(request(0)) && l2.push(request(1)));
    assert!(!l2.ready() && !l2.push(request(2)));
    step(&mut l2, 0);
    assert!(l2.ready() && l2.push(request(2)));
    assert_eq!(l2.outstanding(), 3);
}

#[test]
#[should_panic(expected = "cycle 3 was stepped before")]
fn time_does_not_run_backwards() {
    let mut l2 = l2(1, 1, 1);
    step(&mut l2, 3);
    step(&mut l2, 3);
}

#[test]
fn illegal_parameters_name_the_key() {
    let parameters = L2Parameters { bandwidth: 0, ..L2Parameters::default() };
    assert_eq!(L2::new(parameters).unwrap_err().to_string(), "bandwidth = 0: legal is 1..=65536");
    let parameters = L2Parameters { queue: 0, ..L2Parameters::default() };
    assert_eq!(L2::new(parameters).unwrap_err().to_string(), "queue = 0: legal is 1..=1048576");
}

proptest! {
    /// Start of service computed by hand: request i starts in its push cycle or when the bandwidth of the cycles before
    /// is used up, whichever is later.
    #[test]
    fn arrival_cycles_are_those_of_a_pen_and_paper_queue(
        latency in 0u64..6,
        bandwidth in 1u32..4,
        pushes in prop::collection::vec(0usize..5, 1..30),
        steps_skipped in prop::collection::vec(any::<bool>(), 30),
    ) {
        let mut l2 = l2(latency, bandwidth, 1000);
        let mut used: BTreeMap<u64, u32> = BTreeMap::new();
        let (mut expected, mut got, mut first) = (Vec::new(), Vec::new(), 0u64);
        let mut id = 0;
        let horizon = pushes.len() as u64 + 200;
        for now in 0..horizon {
            let count = pushes.get(now as usize).copied().unwrap_or(0);
            for _ in 0..count {
                prop_assert!(l2.push(request(id)));
                first = first.max(now);
                while used.get(&first) == Some(&bandwidth) {
                    first += 1;
                }
                *used.entry(first).or_default() += 1;
                expected.push((first + latency, id));
                id += 1;
            }
            // A cycle without a push may be skipped when the next has none either; it is made up for later.
            let next_quiet = pushes.get(now as usize + 1).is_none_or(|&c| c == 0);
            if next_quiet && steps_skipped.get(now as usize % 30) == Some(&true) && now + 1 < horizon {
                continue;
            }
            let mut fills: Vec<Fill> = Vec::new();
            l2.step(now, &mut fills);
            got.extend(fills.iter().map(|fill| (fill.cycle, fill.request.id)));
        }
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn jitter_stays_within_bounds_and_repeats_with_the_seed(seed: u64, jitter in 1u64..50) {
        let run = |seed| {
            let parameters = L2Parameters { latency: 20, bandwidth: 4, queue: 256, jitter, seed };
            let mut l2 = L2::new(parameters).unwrap();
            assert!((0..256).all(|id| l2.push(request(id))));
            let mut fills = Vec::new();
            (0..200).for_each(|now| l2.step(now, &mut fills));
            fills
        };
        let fills = run(seed);
        prop_assert_eq!(fills.len(), 256);
        prop_assert!(fills.is_sorted_by_key(|fill| fill.cycle));
        let late: Vec<_> = fills.iter().map(|f| f.cycle - (20 + f.request.id / 4)).collect();
        prop_assert!(late.iter().all(|&late| late <= jitter));
        prop_assert!(late.contains(&0) || jitter > 8);
        prop_assert!(late.iter().any(|&late| late > jitter / 2));
        prop_assert_eq!(&run(seed), &fills);
        prop_assert_ne!(run(seed.wrapping_add(1)), fills);
    }
}
