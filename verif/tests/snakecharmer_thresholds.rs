//! Each threshold is hit exactly, in the design and in the model alike: one event fewer does nothing yet.

#[path = "common/prefetch.rs"]
mod prefetch;

#[path = "common/script.rs"]
mod script;

use l1forge_sim::snakecharmer::rules;
use script::{Step, run};

#[test]
fn sgu_issues_from_4() {
    // Every candidate, against the rules of the specification.
    let mut steps = Vec::new();
    let mut expected = Vec::new();
    for confidence in 0..4 {
        for best in 1..=8 {
            for distance in 1..=8 {
                steps.push(vec![("kind_i", 0), ("distance_i", distance), ("confidence_i", confidence), ("best_i", best)]);
                expected.push((confidence as u32, distance as u32, best as u32));
            }
        }
    }
    for (threshold, sets) in [(4, "sc_sgu_threshold=4"), (5, "sc_sgu_threshold=5")] {
        let issued = run("sgu", &[sets], steps.clone(), "issue_o");
        let score = run("sgu", &[sets], steps.clone(), "score_o");
        for ((&(confidence, distance, best), issue), score) in expected.iter().zip(&issued).zip(&score) {
            assert_eq!(*issue == 1, rules::issues(confidence, distance, best, threshold), "{confidence} {distance} {best}");
            assert_eq!(*issue == 1, *score >= u64::from(threshold));
        }
        let at = |s: u64| score.iter().zip(&issued).filter(|p| *p.0 == s).map(|p| *p.1).collect::<Vec<_>>();
        assert!(at(u64::from(threshold) - 1).iter().all(|i| *i == 0) && at(u64::from(threshold)).iter().all(|i| *i == 1));
        assert!(!at(3).is_empty() && !at(4).is_empty());
    }
}

fn zero_fill(zero: u64) -> Step {
    vec![("fill_valid_i", 1), ("fill_pattern_i", 2), ("fill_zero_i", zero), ("query_pattern_i", 2)]
}

fn query() -> Step {
    vec![("query_pattern_i", 2)]
}

#[test]
fn zero_counter_stops_at_3_not_at_2() {
    let two = [zero_fill(1), zero_fill(1), query(), query()];
    assert_eq!(run("zero_filter", &[], two.to_vec(), "suppressed_o"), [0, 0, 0, 0]);
    let three = [zero_fill(1), zero_fill(1), zero_fill(1), query(), zero_fill(0), query()];
    assert_eq!(run("zero_filter", &[], three.to_vec(), "suppressed_o"), [0, 0, 0, 1, 1, 0]);
}

#[test]
fn the_timer_ends_after_128_cycles() {
    let mut steps = vec![zero_fill(1), zero_fill(1), zero_fill(1)];
    // Zero fills meanwhile do not prolong it.
    steps.extend((0..140).map(|n| if n % 3 == 0 { zero_fill(1) } else { query() }).take(126));
    steps.extend((0..6).map(|_| query()));
    let seen = run("zero_filter", &[], steps, "suppressed_o");
    let stopped: Vec<usize> = (0..seen.len()).filter(|&n| seen[n] == 1).collect();
    assert_eq!(stopped, (3..131).collect::<Vec<_>>(), "cycles 1 to 128 after the counter is 3: not in the 129th");
}

/// Allocation of a context, then events of a class.
fn events(class: u64, count: usize) -> Vec<Step> {
    let look = [("lookup_kind_i", 0), ("lookup_warp_i", 0), ("lookup_pc_i", 0), ("best_kind_i", 0), ("best_warp_i", 0), ("best_pc_i", 0)];
    let mut steps = vec![[&look[..], &[("lookup_allocate_i", 1), ("lookup_global_i", 3)]].concat()];
    let event = [("feedback_valid_i", 1), ("feedback_class_i", class), ("feedback_index_i", 0), ("feedback_generation_i", 1)];
    steps.extend((0..count).map(|_| [&look[..], &event].concat()));
    steps.push(look.to_vec());
    steps
}

#[test]
fn awt_moves_at_the_15th_event() {
    let strip = |steps: Vec<Step>| -> Vec<Step> {
        let of_l1 = ["lookup_warp_i", "best_warp_i", "lookup_global_i"];
        steps.into_iter().map(|s| s.into_iter().filter(|p| !of_l1.contains(&p.0)).collect()).collect()
    };
    for (class, before, after) in [(2, 1, 2), (1, 1, 1), (0, 1, 1)] {
        let distances = run("l2_awt", &["sc_reset_distance=1"], strip(events(class, 16)), "best_distance_o");
        // Cycle 0 allocates; the event of cycle n shows in cycle n + 1.
        assert_eq!((distances[15], distances[16], distances[17]), (before, after, after), "class {class}");
    }
    for (class, distance) in [(2, 4), (1, 2), (0, 3)] {
        let distances = run("l2_awt", &["sc_reset_distance=3"], strip(events(class, 15)), "best_distance_o");
        assert_eq!((distances[15], distances[16]), (3, distance), "class {class}");
    }
}

#[test]
fn awt_moves_with_4_events_of_a_window() {
    // So many events of a class, then on-time ones up to the end of the window: with 4 the distance moves, in both tables.
    for (setting, class, count, distance) in [
        ("sc_awt_move_events=4", 2, 3, 3),
        ("sc_awt_move_events=4", 2, 4, 4),
        ("sc_awt_move_events=4", 1, 3, 3),
        ("sc_awt_move_events=4", 1, 4, 2),
        ("sc_awt_move_events=0", 2, 7, 3),
        ("sc_awt_move_events=0", 2, 8, 4),
    ] {
        let mut steps = events(class, 15);
        for step in &mut steps[1 + count..16] {
            step.iter_mut().filter(|p| p.0 == "feedback_class_i").for_each(|p| p.1 = 0);
        }
        let of_l1 = ["lookup_warp_i", "best_warp_i", "lookup_global_i"];
        let of_l2 = steps.iter().map(|s| s.iter().copied().filter(|p| !of_l1.contains(&p.0)).collect()).collect();
        let l2 = run("l2_awt", &[setting, "sc_reset_distance=3"], of_l2, "best_distance_o");
        let l1 = run("l1_awt", &[setting, "sc_awt_inherit=false", "sc_reset_distance=3", "sc_awt_samples=1"], steps, "best_distance_o");
        assert_eq!((l2[16], l1[16]), (distance, distance), "{setting}: {count} events of class {class}");
    }
}

#[test]
fn awt_comes_into_use_at_the_31st_sample() {
    let hits = run("l1_awt", &[], events(0, 31), "best_hit_o");
    assert_eq!((hits[30], hits[31], hits[32]), (0, 0, 1), "30 samples: not yet; 31: in use");
    // 30 late events are two windows: the distance has moved by two, as the rules say.
    let distances = run("l1_awt", &["sc_awt_inherit=false", "sc_reset_distance=3"], events(2, 31), "best_distance_o");
    let mut tracker = rules::Tracker::new(3, 8, 15, 1, 4, false);
    (0..31).for_each(|_| {
        tracker.event(rules::Class::Late);
    });
    assert_eq!((distances[32], u64::from(tracker.value)), (5, 5));
}

#[test]
fn peb_overwrites_at_the_65th() {
    let push = |n: u64| vec![("evict_valid_i", 1), ("evict_line_i", 100 + n), ("evict_mask_i", 1), ("evict_handle_i", n)];
    let demand = vec![("demand_valid_i", 1), ("demand_line_i", 100), ("demand_mask_i", 15)];
    for (pushes, found, lost) in [(64, 1, 0), (65, 0, 1)] {
        let mut steps: Vec<Step> = (0..pushes).map(push).collect();
        steps.push(demand.clone());
        assert_eq!(run("peb", &[], steps.clone(), "early_o").last(), Some(&found), "{pushes} pushes");
        assert_eq!(run("peb", &[], steps, "unused_o").iter().sum::<u64>(), lost);
    }
}

#[test]
fn prt_uses_exactly_the_idle_registers() {
    for registers in [0, 1, 63, 64] {
        // One prefetch after the other, until the table is full and beyond.
        let step = |n: u64| {
            vec![
                ("idle_registers_i", registers),
                ("register_base_i", 7),
                ("prefetch_valid_i", 1),
                ("prefetch_line_i", 1000 + n),
                ("prefetch_mask_i", 15),
                ("prefetch_take_i", 1),
            ]
        };
        let steps: Vec<Step> = (0..70).map(step).collect();
        let table = run("prt", &[], steps.clone(), "prefetch_table_o");
        assert_eq!(table, (0..70).map(|n| u64::from(n < registers)).collect::<Vec<_>>(), "{registers} registers");
        let entries = run("prt", &[], steps, "prefetch_entry_o");
        assert!(entries.iter().zip(&table).all(|(e, t)| *t == 0 || *e < registers));
    }
}

#[test]
fn prt_drains_when_registers_are_taken_back() {
    let idle = |n| ("idle_registers_i", n);
    let prefetch = |line| [("prefetch_valid_i", 1), ("prefetch_line_i", line), ("prefetch_mask_i", 15), ("prefetch_take_i", 1)];
    let fill = |entry, line| [("fill_valid_i", 1), ("fill_entry_i", entry), ("fill_line_i", line), ("fill_mask_i", 15)];
    let steps: Vec<Step> = vec![
        [&[idle(64)][..], &prefetch(10)].concat(),
        [&[idle(64)][..], &prefetch(11)].concat(),
        [&[idle(64)][..], &fill(0, 10)].concat(),
        vec![idle(0), ("drop_ready_i", 0)],
        vec![idle(0), ("drop_ready_i", 1)],      // entry 0 is READY: dropped
        [&[idle(0)][..], &fill(1, 11)].concat(), // entry 1 is WAITING: its fill goes to the L1
        vec![idle(0)],
    ];
    assert_eq!(run("prt", &[], steps.clone(), "drop_valid_o"), [0, 0, 0, 1, 1, 0, 0]);
    assert_eq!(run("prt", &[], steps.clone(), "fill_register_mask_o"), [0, 0, 15, 0, 0, 0, 0]);
    assert_eq!(run("prt", &[], steps, "drained_o"), [1, 1, 1, 0, 0, 0, 1]);
}

#[test]
fn prt_answers_in_the_cycle_after_the_request() {
    let idle = ("idle_registers_i", 64);
    let demand = [("demand_valid_i", 1), ("demand_line_i", 10), ("demand_mask_i", 3)];
    let steps: Vec<Step> = vec![
        vec![idle, ("prefetch_valid_i", 1), ("prefetch_line_i", 10), ("prefetch_mask_i", 15), ("prefetch_take_i", 1)],
        [&[idle][..], &demand].concat(), // WAITING
        [&[idle][..], &demand, &[("fill_valid_i", 1), ("fill_line_i", 10), ("fill_mask_i", 15)]].concat(), // filled in this very cycle
        [&[idle][..], &demand].concat(),
        vec![idle],
    ];
    assert_eq!(run("prt", &[], steps.clone(), "answer_waiting_o"), [0, 0, 3, 0, 0]);
    assert_eq!(run("prt", &[], steps.clone(), "answer_hit_o"), [0, 0, 0, 3, 3]);
    assert_eq!(run("prt", &[], steps, "on_time_o"), [0, 0, 0, 3, 0], "used once");
}
