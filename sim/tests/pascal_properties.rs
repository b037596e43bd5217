//! Laws of the static model as properties over random scans, and the documented ones that do not hold.
//!
//! Failing cases print their seed and shrink.

mod pascal_support;

use l1forge_sim::pascal::baselines::{che, sdcm};
use l1forge_sim::pascal::simulate::{Lru, Placement, Schedule, SetAssociativeLru};
use l1forge_sim::pascal::{Allocation, Fraction, Gaps, LruBracket, PolicyBound, ReuseProfile, Scan, at_capacity, to_f64};
use proptest::prelude::*;

/// A ring, phases on it, and a capacity below the ring size.
fn scans() -> impl Strategy<Value = (Scan, u64)> {
    (2..200u64).prop_flat_map(|blocks| {
        let phases = prop::collection::vec(0..blocks, 1..24);
        (phases, 1..blocks).prop_map(move |(phases, capacity)| (Scan::new(blocks, phases).expect("legal phases"), capacity))
    })
}

fn ttl(scan: &Scan, capacity: u64) -> u64 {
    Gaps::new(scan).waterline(capacity).misses_per_round
}

fn lru(scan: &Scan, capacity: u64) -> u64 {
    ReuseProfile::new(scan).misses_per_round(capacity)
}

fn bound(scan: &Scan, capacity: u64, allocation: Allocation) -> Fraction {
    PolicyBound::new(scan).misses_per_round(capacity, allocation)
}

fn rotated(scan: &Scan, by: u64) -> Scan {
    let phases = scan.phases().iter().map(|s| (s + by) % scan.blocks()).collect();
    Scan::new(scan.blocks(), phases).expect("rotation keeps phases legal")
}

proptest! {
    #![proptest_config(pascal_support::proptest_config(400))]

    #[test]
    fn more_capacity_never_misses_more((scan, capacity) in scans()) {
        let (here, more) = (capacity, capacity + 1);
        prop_assert!(ttl(&scan, more) <= ttl(&scan, here));
        prop_assert!(lru(&scan, more) <= lru(&scan, here));
        for allocation in [Allocation::Forced, Allocation::Bypass] {
            prop_assert!(bound(&scan, more, allocation) < bound(&scan, here, allocation));
        }
        prop_assert!(che::misses_per_round(&scan, more) < che::misses_per_round(&scan, here));
        let (low, high) = (Gaps::new(&scan).waterline(here), Gaps::new(&scan).waterline(more));
        prop_assert!(low.theta < high.theta || more == scan.blocks());
        // Far above the ring nothing changes any more.
        prop_assert_eq!(ttl(&scan, scan.blocks()), 0);
        prop_assert_eq!(lru(&scan, scan.blocks()), 0);
        prop_assert_eq!(bound(&scan, scan.blocks(), Allocation::Bypass), Fraction::ZERO);
    }

    #[test]
    fn the_gap_law_is_between_one_and_d((scan, capacity) in scans()) {
        let k = ttl(&scan, capacity);
        prop_assert!(k >= 1 && k <= scan.distinct() as u64);
        prop_assert!(lru(&scan, capacity) >= 1 && lru(&scan, capacity) <= scan.workers() as u64);
    }

    #[test]
    fn rotating_the_ring_changes_nothing((scan, capacity) in scans(), by in 0..1000u64) {
        let turned = rotated(&scan, by);
        prop_assert_eq!(Gaps::new(&turned).ascending().to_vec(), Gaps::new(&scan).ascending().to_vec());
        prop_assert_eq!(Gaps::new(&turned).waterline(capacity), Gaps::new(&scan).waterline(capacity));
        prop_assert!(ReuseProfile::new(&turned).distances() == ReuseProfile::new(&scan).distances());
        prop_assert_eq!(PolicyBound::new(&turned), PolicyBound::new(&scan));
    }

    #[test]
    fn the_gap_law_and_its_bracket_do_not_see_worker_order((scan, capacity) in scans(), seed in any::<u64>()) {
        let mut phases = scan.phases().to_vec();
        let mut state = seed;
        for i in (1..phases.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            phases.swap(i, (state >> 33) as usize % (i + 1));
        }
        let shuffled = Scan::new(scan.blocks(), phases).expect("same phases");
        let (a, b) = (Gaps::new(&scan), Gaps::new(&shuffled));
        prop_assert_eq!(&a, &b);
        prop_assert_eq!(LruBracket::new(&scan, &a, capacity), LruBracket::new(&shuffled, &b, capacity));
        prop_assert_eq!(che::misses_per_round(&scan, capacity), che::misses_per_round(&shuffled, capacity));
        // LRU does see it, yet never by more than the bracket allows.
        let bracket = LruBracket::new(&scan, &a, capacity);
        if bracket.applies {
            prop_assert!(lru(&scan, capacity).abs_diff(lru(&shuffled, capacity)) <= bracket.hi - bracket.lo);
        }
    }

    #[test]
    fn turning_the_worker_order_leaves_lru_alone((scan, capacity) in scans(), by in 0..1000usize) {
        // Which worker is called 0 only moves the start of a round: worker order matters up to a turn, where each worker that moves to the
        // end of the round issues its next request one round earlier.
        let by = by % scan.workers();
        let mut phases: Vec<u64> = scan.phases()[by..].to_vec();
        phases.extend(scan.phases()[..by].iter().map(|s| (s + 1) % scan.blocks()));
        let turned = Scan::new(scan.blocks(), phases).expect("legal phases");
        prop_assert_eq!(lru(&turned, capacity), lru(&scan, capacity));
        let mut intervals = PolicyBound::new(&turned).intervals();
        intervals.rotate_right(by);
        prop_assert_eq!(intervals, PolicyBound::new(&scan).intervals());
    }

    #[test]
    fn footprint_is_concave_and_ends_at_the_ring((scan, _) in scans()) {
        let gaps = Gaps::new(&scan);
        let at: Vec<u64> = (0..=scan.blocks() + 2).map(|t| gaps.footprint(t)).collect();
        prop_assert_eq!(at[0], 0);
        prop_assert!(at.windows(3).all(|u| u[1] - u[0] >= u[2] - u[1]));
        prop_assert_eq!(at[scan.blocks() as usize], scan.blocks());
        prop_assert_eq!(gaps.in_ring_order().iter().sum::<u64>(), scan.blocks());
    }

    #[test]
    fn the_bound_is_between_nothing_and_every_policy((scan, capacity) in scans()) {
        let weak = bound(&scan, capacity, Allocation::Bypass);
        let strong = bound(&scan, capacity, Allocation::Forced);
        let exact = Fraction::from_integer(i128::from(lru(&scan, capacity)));
        prop_assert!(Fraction::ZERO < weak && weak <= strong && strong <= exact);
        let workers = Fraction::from_integer(scan.workers() as i128);
        for allocation in [Allocation::Forced, Allocation::Bypass] {
            let shares = PolicyBound::new(&scan).retained(capacity, allocation);
            prop_assert!(shares.iter().all(|x| (Fraction::ZERO..=Fraction::ONE).contains(x)));
            prop_assert_eq!(workers - shares.iter().sum::<Fraction>(), bound(&scan, capacity, allocation));
        }
    }

    #[test]
    fn step_curves_equal_the_count_at_every_capacity((scan, _) in scans()) {
        let gaps = Gaps::new(&scan);
        let profile = ReuseProfile::new(&scan);
        let (by_gaps, by_distance) = (gaps.capacity_steps(), profile.capacity_steps());
        for capacity in 1..=scan.blocks() + 1 {
            prop_assert_eq!(at_capacity(&by_gaps, capacity), gaps.waterline(capacity).misses_per_round);
            prop_assert_eq!(at_capacity(&by_distance, capacity), profile.misses_per_round(capacity));
        }
    }

    #[test]
    fn cold_totals_grow_by_k_once_warm((scan, capacity) in scans()) {
        let gaps = Gaps::new(&scan);
        let profile = ReuseProfile::new(&scan);
        let n = scan.blocks();
        for rounds in [n, 3 * n + 1, 1 << 30] {
            let more = gaps.cold_fills(capacity, rounds + 1) - gaps.cold_fills(capacity, rounds);
            prop_assert_eq!(more, gaps.waterline(capacity).misses_per_round);
            let more = profile.cold_misses(capacity, rounds + 1) - profile.cold_misses(capacity, rounds);
            prop_assert_eq!(more, profile.misses_per_round(capacity));
        }
        prop_assert_eq!(gaps.cold_fills(capacity, 0), 0);
        prop_assert_eq!(gaps.cold_fills(capacity, 1), scan.distinct() as u64);
    }

    #[test]
    fn sdcm_stays_between_none_and_all((scan, capacity) in scans(), ways in 1..16u64) {
        let profile = ReuseProfile::new(&scan);
        let cache = sdcm::Sdcm::with_at_most(ways, capacity, 1).expect("a legal cache");
        for arithmetic in [sdcm::Arithmetic::Exact, sdcm::Arithmetic::Normal] {
            let misses = cache.misses_per_round(&profile, arithmetic);
            prop_assert!((0.0..=scan.workers() as f64 + 1e-9).contains(&misses));
            let mut last = 1.0;
            for distance in 0..scan.blocks() {
                let hit = cache.hit_probability(distance, sdcm::Arithmetic::Exact);
                prop_assert!(hit <= last + 1e-12);
                last = hit;
            }
        }
    }
}

#[test]
fn worker_order_matters_to_lru() {
    // Documented: the same phases in another order cost 1 or 48 fills per round.
    let ascending = Scan::new(4096, (0..48).map(|w| 27 * w).collect()).unwrap();
    let descending = Scan::new(4096, (0..48).map(|w| 27 * (47 - w)).collect()).unwrap();
    assert_eq!((lru(&ascending, 1295), lru(&descending, 1295)), (1, 48));
    assert_eq!((ttl(&ascending, 1295), ttl(&descending, 1295)), (48, 48));
}

#[test]
fn lru_can_exceed_the_number_of_distinct_phases() {
    // Documented: with D > C and duplicates, an identical request in the same round can miss again.
    let scan = Scan::new(4, vec![0, 1, 0]).unwrap();
    assert_eq!((scan.distinct(), lru(&scan, 1), ttl(&scan, 1)), (2, 3, 2));
}

#[test]
fn the_gap_law_can_be_below_the_bound_only_when_d_exceeds_c() {
    // Documented: the slotted cache shares fills inside a round without paying for the room.
    let scan = Scan::new(8, vec![0, 1, 2, 0, 1, 2]).unwrap();
    assert_eq!(ttl(&scan, 1), 3);
    assert_eq!(bound(&scan, 1, Allocation::Bypass), Fraction::new(10, 3));
}

#[test]
fn sdcm_predicts_a_hashed_set_associative_cache() {
    // Not a theorem: the model assumes random placement, and a hash of the address is close to that. Averaged over 40 placements.
    let scan = Scan::new(256, vec![0, 20, 40, 60, 100, 180]).unwrap();
    let profile = ReuseProfile::new(&scan);
    for (ways, capacity) in [(2, 64), (4, 128), (8, 128)] {
        let model = sdcm::Sdcm::new(ways, capacity, 1).unwrap();
        let predicted = model.misses_per_round(&profile, sdcm::Arithmetic::Exact);
        let mut misses = 0;
        for seed in 0..40 {
            let mut cache = SetAssociativeLru::new(256, capacity, ways, Placement::Hashed(seed)).unwrap();
            let mut schedule = Schedule::new(&scan).unwrap();
            for round in 0..512 {
                for &block in schedule.round() {
                    let hit = cache.access(block);
                    misses += u64::from(!hit && round >= 256);
                }
                schedule.advance();
            }
        }
        let measured = misses as f64 / (40.0 * 256.0);
        assert!((measured - predicted).abs() < 0.05 * predicted, "A = {ways}: {measured} against {predicted}");
    }
}

#[test]
fn a_million_rounds_of_lru_match_the_closed_form() {
    let scan = Scan::new(1000, (0..8).map(|w| w * w * 13 % 1000).collect()).unwrap();
    let mut cache = Lru::new(1000, 300).unwrap();
    let mut schedule = Schedule::new(&scan).unwrap();
    let mut misses = 0;
    for _ in 0..200_000 {
        misses += schedule.round().iter().filter(|&&block| !cache.access(block)).count() as u64;
        schedule.advance();
    }
    assert_eq!(misses, ReuseProfile::new(&scan).cold_misses(300, 200_000));
    assert!(to_f64(&bound(&scan, 300, Allocation::Forced)) * 200_000.0 <= misses as f64);
}
