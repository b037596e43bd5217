use super::*;
use crate::block::Block;
use crate::c2p::C2pCache;
use crate::c2p::tests::config;

const SETS: &[&str] = &["sms=4", "l1_bytes=2048", "l1_ways=2", "debug_port=true", "refresh_period=120"];

/// Runs the model in an environment; `watch` sees each cycle before its clock edge.
fn run(
    sets: &[&str],
    profile: Profile,
    source: Box<dyn Source>,
    cycles: u64,
    mut watch: impl FnMut(&Environment, &Signals, &Signals),
) -> Environment {
    let c = config(&[SETS, sets].concat());
    let mut model = C2pCache::new(&c);
    let mut environment = Environment::new(&c, profile, source, 3);
    let (mut inputs, mut outputs) = (Signals::new(&model.inputs()), Signals::new(&model.outputs()));
    for _ in 0..cycles {
        environment.drive(&mut inputs);
        model.eval(&inputs, &mut outputs);
        watch(&environment, &inputs, &outputs);
        environment.observe(&inputs, &outputs);
        model.clock(&inputs);
    }
    environment
}

fn loads(pool: u64) -> Box<dyn Source> {
    Box::new(random((0..pool).collect(), 0.0, 0.0, 11))
}

/// Both sides of a handshake.
fn taken(inputs: &Signals, outputs: &Signals, input: usize, output: usize, sm: usize) -> bool {
    inputs.get(input, sm) != 0 && outputs.get(output, sm) != 0
}

#[test]
fn a_valid_stays_until_it_is_taken() {
    const CHANNELS: [(usize, usize, &[usize]); 4] = [
        (input::MISS_VALID, output::MISS_READY, &[input::MISS_TAG, input::MISS_ID, input::MISS_SHAREABLE]),
        (input::FILL_VALID, output::FILL_READY, &[input::FILL_TAG]),
        (input::STREAM_VALID, output::STREAM_READY, &[input::STREAM_SM, input::STREAM_LAST, input::STREAM_TAG, input::STREAM_KEEP]),
        (input::DEBUG_VALID, output::DEBUG_READY, &[input::DEBUG_INDEX]),
    ];
    for (profile, sets) in
        [(Profile::random(), &["fill_drop=false"][..]), (Profile::slow(), &["engines=2", "queries_per_sm=1", "update_lanes=1"])]
    {
        let mut before: Option<Signals> = None;
        let mut waits = [0; 4];
        let mut waiting: Vec<(usize, usize)> = Vec::new();
        run(sets, Profile { debug: 0.5, hole: 0.1, ..profile }, loads(60), 5000, |_, inputs, outputs| {
            for (channel, sm) in waiting.drain(..) {
                let (valid, _, payload) = CHANNELS[channel];
                let before: &Signals = before.as_ref().unwrap();
                assert_ne!(inputs.get(valid, sm), 0);
                waits[channel] += 1;
                // One payload for all, or one element per SM.
                for port in payload {
                    let all = inputs.words(valid).len() == 1;
                    let same =
                        if all { inputs.words(*port) == before.words(*port) } else { inputs.get(*port, sm) == before.get(*port, sm) };
                    assert!(same, "{}", inputs.ports()[*port].name);
                }
            }
            for (channel, (valid, ready, _)) in CHANNELS.iter().enumerate() {
                let elements = inputs.words(*valid).len();
                let stalled = |sm: &usize| inputs.get(*valid, *sm) != 0 && outputs.get(*ready, *sm) == 0;
                waiting.extend((0..elements).filter(stalled).map(|sm| (channel, sm)));
            }
            before = Some(inputs.clone());
        });
        assert!(waits[0] > 0 && waits[2] > 0, "{waits:?}");
    }
}

#[test]
fn ids_in_flight_differ_and_are_few() {
    let mut in_flight = vec![BTreeSet::new(); 4];
    let mut most = 0;
    run(&["id_bits=3"], Profile { mshrs: 5, ..Profile::random() }, loads(60), 5000, |_, inputs, outputs| {
        for (sm, ids) in in_flight.iter_mut().enumerate() {
            if taken(inputs, outputs, input::OUTCOME_READY, output::OUTCOME_VALID, sm) {
                assert!(ids.remove(&outputs.get(output::OUTCOME_ID, sm)));
            }
            if taken(inputs, outputs, input::MISS_VALID, output::MISS_READY, sm) {
                assert!(ids.insert(inputs.get(input::MISS_ID, sm)));
                most = most.max(ids.len());
            }
        }
    });
    assert!((2..=5).contains(&most));
}

/// Probes that an L1 takes, and how long it needs to answer each.
fn answers(profile: Profile, sm: usize) -> (u64, Vec<u64>) {
    let mut taken_at = VecDeque::new();
    let (mut count, mut times) = (0, Vec::new());
    run(&[], profile, loads(40), 6000, |environment, inputs, outputs| {
        if inputs.get(input::ANSWER_VALID, sm) != 0 {
            let (cycle, tag) = taken_at.pop_front().unwrap();
            times.push(environment.cycle - cycle);
            assert_eq!(inputs.get(input::ANSWER_HIT, sm) != 0, environment.holds(sm, tag));
        }
        if taken(inputs, outputs, input::PROBE_READY, output::PROBE_VALID, sm) {
            count += 1;
            taken_at.push_back((environment.cycle, outputs.get(output::PROBE_TAG, sm)));
        }
    });
    (count, times)
}

#[test]
fn answers_come_after_the_tag_lookup() {
    let (count, times) = answers(Profile::ideal(), 2);
    assert!(count > 20 && times.iter().all(|t| *t == 7), "{times:?}");
    let (_, times) = answers(Profile { answer_jitter: 4, ..Profile::ideal() }, 2);
    assert!(times.iter().all(|t| *t >= 7) && times.iter().any(|t| *t > 8), "{times:?}");
    let (_, times) = answers(Profile { busy: 0.05, busy_cycles: 50, ..Profile::ideal() }, 2);
    assert!(times.iter().any(|t| *t > 20) && times.contains(&7), "{times:?}");
}

#[test]
fn dead_sms_do_not_what_they_should() {
    let one = SmSet::single(2);
    assert_eq!(answers(Profile { deaf: one, ..Profile::ideal() }, 2), (0, vec![]));
    let (count, times) = answers(Profile { mute: one, ..Profile::ideal() }, 2);
    assert!(count > 0 && times.is_empty());
    assert!(answers(Profile { mute: one, ..Profile::ideal() }, 1).1.len() > 10);

    // (port, SM) that must stay 0, and another SM whose port does not.
    type Dead = fn(&mut Profile, SmSet);
    let cases: [(usize, Dead); 3] = [
        (input::OUTCOME_READY, |p, sms| p.outcome_stuck = sms),
        (input::L2_READY, |p, sms| p.l2_stuck = sms),
        (input::REFRESH_READY, |p, sms| p.unrefreshed = sms),
    ];
    for (port, kill) in cases {
        let mut profile = Profile::ideal();
        kill(&mut profile, one);
        let mut alive = false;
        run(&[], profile, loads(40), 500, |_, inputs, _| {
            assert_eq!(inputs.get(port, 2), 0);
            alive |= inputs.get(port, 1) != 0;
        });
        assert!(alive);
    }
    let mut streams = BTreeSet::new();
    run(&[], Profile { silent: one, ..Profile::ideal() }, loads(40), 4000, |_, inputs, _| {
        if inputs.get(input::STREAM_VALID, 0) != 0 {
            streams.insert(inputs.get(input::STREAM_SM, 0));
        }
    });
    assert_eq!(streams.into_iter().collect::<Vec<_>>(), [0, 1, 3]);
}

#[test]
fn a_stream_brings_what_the_l1_held() {
    for hole in [0.0, 0.7] {
        let mut expected: VecDeque<(u64, BTreeSet<u64>)> = VecDeque::new();
        let mut streams = 0;
        run(&["update_bytes=32"], Profile { hole, stream: 0.8, ..Profile::ideal() }, loads(40), 6000, |environment, inputs, outputs| {
            for sm in 0..4 {
                if taken(inputs, outputs, input::REFRESH_READY, output::REFRESH_VALID, sm) {
                    expected.push_back((sm as u64, environment.sms[sm].l1.valid_tags().collect()));
                }
            }
            if taken(inputs, outputs, input::STREAM_VALID, output::STREAM_READY, 0) {
                let (sm, tags) = expected.front_mut().unwrap();
                assert_eq!(inputs.get(input::STREAM_SM, 0), *sm);
                let kept = (0..4).filter(|place| inputs.get(input::STREAM_KEEP, *place) != 0);
                kept.for_each(|place| assert!(tags.remove(&inputs.get(input::STREAM_TAG, place))));
                if inputs.get(input::STREAM_LAST, 0) != 0 {
                    assert!(tags.is_empty());
                    expected.pop_front();
                    streams += 1;
                }
            }
        });
        assert!(streams > 10, "{streams}");
    }
}

#[test]
fn a_slow_stream_is_given_up_in_time() {
    let timeout = 6;
    let (mut active, mut late, mut given_up, mut beats) = (0, false, 0, 0);
    let mut shown_before = false;
    run(
        &["update_bytes=8", "stream_timeout=6"],
        Profile { stream: 0.2, ..Profile::ideal() },
        loads(40),
        8000,
        |environment, inputs, outputs| {
            let cycle = environment.cycle;
            let shown = inputs.get(input::STREAM_VALID, 0) != 0;
            assert!(!(shown && !shown_before && cycle > active + timeout), "a beat after the end, cycle {cycle}");
            let taken_now = shown && outputs.get(output::STREAM_READY, 0) != 0;
            if taken_now {
                beats += 1;
                late = cycle > active + timeout;
                active = cycle;
            }
            shown_before = shown && !taken_now;
            for sm in 0..4 {
                if taken(inputs, outputs, input::REFRESH_READY, output::REFRESH_VALID, sm) {
                    given_up += u64::from(cycle > active + timeout);
                    (active, late) = (cycle, false);
                }
            }
            assert!(!late || !shown_before);
        },
    );
    assert!(beats > 50 && given_up > 5, "{beats} {given_up}");
}

#[test]
fn fills_come_from_l2_and_from_other_l1s() {
    let (mut l2, mut outcome, mut notice) = (None, None, None);
    let list = list(vec![vec![Access::Load(5)], vec![], vec![], vec![]]);
    let environment = run(&["l2_latency=50"], Profile::ideal(), Box::new(list), 200, |environment, inputs, outputs| {
        let cycle = environment.cycle;
        for (seen, valid) in [(&mut l2, output::L2_VALID), (&mut outcome, output::OUTCOME_VALID)] {
            if outputs.get(valid, 0) != 0 {
                seen.get_or_insert(cycle);
            }
        }
        if inputs.get(input::FILL_VALID, 0) != 0 {
            assert_eq!((inputs.get(input::FILL_TAG, 0), environment.holds(0, 5)), (5, true));
            notice.get_or_insert(cycle);
        }
    });
    assert_eq!(notice.unwrap(), l2.unwrap() + 50 + 1);
    assert_eq!((environment.activity().finished, environment.is_done(), environment.in_flight()), (1, true, 0));

    // SM 0 takes the line first, SM 1 gets it from there.
    let mut next = [0; 4];
    let source = move |sm: usize| {
        next[sm] += 1;
        match (sm, next[sm]) {
            (0, 1) | (1, 400) => Some(Access::Load(5)),
            (1, ..400) => Some(Access::Store(1000)),
            _ => None,
        }
    };
    let (mut remote, mut notice) = (None, None);
    let sets = ["l2_latency=50", "return_latency=9", "refresh_period=60000"];
    run(&sets, Profile::ideal(), Box::new(source), 500, |environment, inputs, outputs| {
        if outputs.get(output::OUTCOME_REMOTE, 1) != 0 {
            remote = Some(environment.cycle);
        }
        if inputs.get(input::FILL_VALID, 1) != 0 {
            notice.get_or_insert(environment.cycle);
        }
    });
    assert_eq!(notice.unwrap(), remote.unwrap() + 9 + 1);
}

#[test]
fn kernels_begin_with_empty_l1s() {
    let kernel =
        |sm: u64| vec![Access::Store(90 + sm), Access::Load(sm), Access::Load(7), Access::Barrier, Access::Load(sm), Access::Load(90 + sm)];
    let mut flushes = Vec::new();
    let mut bypassed = 0;
    let environment = run(&[], Profile::random(), Box::new(list((0..4).map(kernel).collect())), 4000, |environment, inputs, outputs| {
        if inputs.get(input::FLUSH, 0) != 0 {
            flushes.push(environment.in_flight());
        }
        for sm in 0..4 {
            let stored = inputs.get(input::MISS_TAG, sm) == 90 + sm as u64;
            if taken(inputs, outputs, input::MISS_VALID, output::MISS_READY, sm) && stored {
                // In the new kernel the own store is history.
                assert_eq!(inputs.get(input::MISS_SHAREABLE, sm), 1);
                bypassed += 1;
            }
        }
    });
    // Profile::random may flush at other times, too.
    assert!(flushes.contains(&0) && bypassed == 4, "{flushes:?} {bypassed}");
    assert_eq!(environment.activity().l1_hits, 0);
    assert!(environment.is_done() && environment.activity().accesses == 20);
}

#[test]
fn stores_and_atomics_bypass_sharing() {
    let accesses = vec![Access::Store(1), Access::Load(1), Access::Load(2), Access::Atomic(2), Access::Load(3)];
    let mut misses = Vec::new();
    let environment = run(&[], Profile::ideal(), Box::new(list(vec![accesses])), 3000, |_, inputs, outputs| {
        if taken(inputs, outputs, input::MISS_VALID, output::MISS_READY, 0) {
            misses.push((inputs.get(input::MISS_TAG, 0), inputs.get(input::MISS_SHAREABLE, 0)));
        }
    });
    assert_eq!(misses, [(1, 0), (2, 1), (2, 0), (3, 1)]);
    assert_eq!([1, 2, 3].map(|tag| environment.holds(0, tag)), [true, false, true]); // an atomic leaves nothing behind
    let activity = environment.activity();
    assert_eq!((activity.accesses, activity.misses, activity.finished), (5, 4, 4));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let record = || {
        let mut all = Vec::new();
        run(&[], Profile::random(), loads(40), 500, |_, inputs, _| all.push(inputs.clone()));
        all
    };
    assert_eq!(record(), record());
}

#[test]
fn sources() {
    let mut source = sweep(5, 2);
    let all: Vec<_> = [0, 0, 2, 1, 0, 0, 0, 0].map(|sm| source.next(sm).unwrap()).into();
    assert_eq!(all, [0, 1, 4, 2, 2, 3, 4, 0].map(Access::Load));
    let mut source = random(vec![3, 9], 0.3, 0.3, 1);
    let mut counts = [0; 3];
    for _ in 0..3000 {
        let (kind, tag) = match source.next(0).unwrap() {
            Access::Store(tag) => (0, tag),
            Access::Atomic(tag) => (1, tag),
            Access::Load(tag) => (2, tag),
            Access::Barrier => unreachable!(),
        };
        assert!([3, 9].contains(&tag));
        counts[kind] += 1;
    }
    assert!((800..1000).contains(&counts[0]) && (800..1000).contains(&counts[1]), "{counts:?}");
    let mut source = list(vec![vec![Access::Load(1)], vec![Access::Barrier]]);
    assert_eq!([0, 0, 1, 2].map(|sm| source.next(sm)), [Some(Access::Load(1)), None, Some(Access::Barrier), None]);
}
