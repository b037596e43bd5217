//! The oracle must reject every way of breaking a rule: good runs are recorded, corrupted, and judged again.

use super::*;
use crate::c2p::bench::Bench;
use crate::c2p::environment::{Profile, random};
use crate::c2p::tests::config;
use std::rc::Rc;

/// One recorded cycle; shared by all corrupted copies that do not change it.
#[derive(Clone)]
struct Cycle {
    inputs: Rc<Signals>,
    outputs: Rc<Signals>,
    notes: Rc<Vec<Note>>,
    tap: Rc<Tap>,
}

impl Cycle {
    fn inputs(&mut self) -> &mut Signals {
        Rc::make_mut(&mut self.inputs)
    }

    fn outputs(&mut self) -> &mut Signals {
        Rc::make_mut(&mut self.outputs)
    }

    fn tap(&mut self) -> &mut Tap {
        Rc::make_mut(&mut self.tap)
    }
}

const SETS: &[&str] =
    &["sms=4", "l1_bytes=2048", "l1_ways=2", "debug_port=true", "probe_timeout=12", "answer_timeout=14", "refresh_period=150"];

/// A run with everything in it, to its end.
fn record(profile: Profile, sets: &[&str]) -> (Config, Vec<Cycle>) {
    let c = config(&[SETS, sets].concat());
    let mut bench = Bench::new(&c, profile, Box::new(random((0..48).collect(), 0.002, 0.01, 5)), 7);
    let mut cycles = Vec::new();
    while !bench.environment.is_done() || cycles.len() < 4000 {
        if cycles.len() == 4000 {
            bench.environment.stop();
        }
        bench.step();
        let notes = Rc::new(bench.environment.notes().to_vec());
        let tap = Rc::new(bench.model.tap().unwrap().clone());
        cycles.push(Cycle { inputs: Rc::new(bench.inputs.clone()), outputs: Rc::new(bench.outputs.clone()), notes, tap });
        assert_eq!(bench.oracle.violations(), []);
    }
    (c, cycles)
}

fn profile() -> Profile {
    Profile { flush: 0.0, toggle_enable: 0.0, busy: 0.01, ..Profile::random() }
}

fn judge(c: &Config, cycles: &[Cycle], tapped: bool) -> Vec<Violation> {
    judge_until(c, cycles, tapped, None)
}

/// Stops at the first breach of `rule`.
fn judge_until(c: &Config, cycles: &[Cycle], tapped: bool, rule: Option<Rule>) -> Vec<Violation> {
    let mut oracle = Oracle::new(c);
    for cycle in &cycles[..cycles.len() - 1] {
        oracle.check(&cycle.inputs, &cycle.outputs, &cycle.notes, tapped.then_some(&cycle.tap));
        if oracle.violations.iter().any(|v| Some(v.rule) == rule) {
            return oracle.violations;
        }
    }
    // The last cycle stands for the time after the end.
    oracle.finish(&cycles.last().unwrap().outputs);
    oracle.violations
}

fn valid(cycle: &Cycle, port: usize, sm: usize) -> bool {
    cycle.outputs.get(port, sm) != 0
}

fn taken(cycle: &Cycle, valid_port: usize, ready_port: usize, sm: usize) -> bool {
    valid(cycle, valid_port, sm) && cycle.inputs.get(ready_port, sm) != 0
}

fn outcome(cycle: &Cycle, sm: usize) -> bool {
    taken(cycle, output::OUTCOME_VALID, input::OUTCOME_READY, sm)
}

const OUTCOME: [usize; 5] =
    [output::OUTCOME_VALID, output::OUTCOME_ID, output::OUTCOME_REMOTE, output::OUTCOME_SOURCE, output::OUTCOME_REASON];
const L2: [usize; 3] = [output::L2_VALID, output::L2_TAG, output::L2_ID];
const PROBE: [usize; 3] = [output::PROBE_VALID, output::PROBE_TAG, output::PROBE_REQUESTER];

fn remote(cycle: &Cycle, sm: usize) -> bool {
    outcome(cycle, sm) && valid(cycle, output::OUTCOME_REMOTE, sm)
}

fn reason(cycle: &Cycle, sm: usize, reason: Reason) -> bool {
    outcome(cycle, sm) && cycle.outputs.get(output::OUTCOME_REASON, sm) == reason as u64
}

/// A probe that was not shown in the cycle before.
fn new_probe(cycles: &[Cycle], t: usize, target: usize) -> bool {
    let shown_before = valid(&cycles[t - 1], output::PROBE_VALID, target);
    valid(&cycles[t], output::PROBE_VALID, target)
        && (!shown_before || taken(&cycles[t - 1], output::PROBE_VALID, input::PROBE_READY, target))
}

/// The recordings with which corruptions are tried.
fn recordings() -> Vec<(Config, Vec<Cycle>)> {
    vec![
        record(profile(), &[]),
        record(Profile::slow(), &["stream_timeout=2000"]),
        record(profile(), &["queries_per_sm=1", "probe_limit=1", "fill_drop=false"]),
    ]
}

/// Where a corruption can be made: the first places (cycle, SM) after a while for which `place` holds.
fn places(cycles: &[Cycle], place: impl Fn(&[Cycle], usize, usize) -> bool) -> Vec<(usize, usize)> {
    let all = (500..cycles.len() - 200).flat_map(|t| (0..4).map(move |sm| (t, sm)));
    all.filter(|(t, sm)| place(cycles, *t, *sm)).take(3).collect()
}

/// What a corruption does to the cycles, at cycle and SM.
type Corrupt = fn(&mut [Cycle], usize, usize);
/// Where a corruption can be made.
type Place = fn(&[Cycle], usize, usize) -> bool;

/// Every corruption: what it breaks, what it is, where it can be made, how.
const CORRUPTIONS: &[(Rule, &str, Place, Corrupt)] = &[
    (
        Rule::OneOutcome,
        "an outcome is lost",
        |c, t, sm| outcome(&c[t], sm),
        |c, t, sm| {
            OUTCOME.iter().for_each(|p| c[t].outputs().set(*p, sm, 0));
        },
    ),
    (
        Rule::OneOutcome,
        "an outcome comes twice",
        |c, t, sm| outcome(&c[t], sm) && !valid(&c[t + 1], output::OUTCOME_VALID, sm),
        |c, t, sm| {
            let values = OUTCOME.map(|p| c[t].outputs.get(p, sm));
            OUTCOME.iter().zip(values).for_each(|(p, value)| c[t + 1].outputs().set(*p, sm, value));
            c[t + 1].inputs().set(input::OUTCOME_READY, sm, 1);
        },
    ),
    (
        Rule::OneOutcome,
        "an outcome has the id of another miss",
        |c, t, sm| outcome(&c[t], sm),
        |c, t, sm| {
            let id = c[t].outputs.get(output::OUTCOME_ID, sm);
            c[t].outputs().set(output::OUTCOME_ID, sm, id ^ 1);
        },
    ),
    (
        Rule::OneOutcome,
        "an L2 request is lost",
        |c, t, sm| taken(&c[t], output::L2_VALID, input::L2_READY, sm),
        |c, t, sm| {
            L2.iter().for_each(|p| c[t].outputs().set(*p, sm, 0));
        },
    ),
    (
        Rule::OneOutcome,
        "an L2 request comes twice",
        |c, t, sm| {
            taken(&c[t], output::L2_VALID, input::L2_READY, sm) && !valid(&c[t + 1], output::L2_VALID, sm) && !outcome(&c[t + 1], sm)
        },
        |c, t, sm| {
            let values = L2.map(|p| c[t].outputs.get(p, sm));
            L2.iter().zip(values).for_each(|(p, value)| c[t + 1].outputs().set(*p, sm, value));
        },
    ),
    (
        Rule::OneOutcome,
        "an L2 request has another tag",
        |c, t, sm| taken(&c[t], output::L2_VALID, input::L2_READY, sm),
        |c, t, sm| {
            let tag = c[t].outputs.get(output::L2_TAG, sm);
            c[t].outputs().set(output::L2_TAG, sm, tag ^ 4);
        },
    ),
    (
        Rule::OneOutcome,
        "an L2 request of a remote miss",
        |c, t, sm| remote(&c[t], sm) && !valid(&c[t - 1], output::L2_VALID, sm),
        |c, t, sm| {
            let id = c[t].outputs.get(output::OUTCOME_ID, sm);
            let accepted = |c: &&mut Cycle| taken_miss(c, sm) && c.inputs.get(input::MISS_ID, sm) == id;
            let tag = c[..t].iter_mut().rev().find(accepted).unwrap().inputs.get(input::MISS_TAG, sm);
            L2.iter().zip([1, tag, id]).for_each(|(p, value)| c[t - 1].outputs().set(*p, sm, value));
            c[t - 1].inputs().set(input::L2_READY, sm, 1);
        },
    ),
    (
        Rule::ProbeOrder,
        "the requester is probed",
        |c, t, sm| new_probe(c, t, sm),
        |c, t, sm| {
            c[t].outputs().set(output::PROBE_REQUESTER, sm, sm as u64);
        },
    ),
    (
        Rule::ProbeOrder,
        "a probe for no miss",
        |c, t, sm| new_probe(c, t, sm),
        |c, t, sm| {
            c[t].outputs().set(output::PROBE_TAG, sm, 0x777);
        },
    ),
    (
        Rule::ProbeOrder,
        "a probe comes twice",
        |c, t, sm| {
            let asker = c[t].outputs.get(output::PROBE_REQUESTER, sm) as usize;
            taken(&c[t], output::PROBE_VALID, input::PROBE_READY, sm)
                && !valid(&c[t + 1], output::PROBE_VALID, sm)
                && !outcome(&c[t + 1], asker)
        },
        |c, t, sm| {
            let values = PROBE.map(|p| c[t].outputs.get(p, sm));
            PROBE.iter().zip(values).for_each(|(p, value)| c[t + 1].outputs().set(*p, sm, value));
        },
    ),
    (
        Rule::ProbeOrder,
        "a hit is ignored",
        |c, t, sm| remote(&c[t], sm),
        |c, t, sm| {
            [output::OUTCOME_REMOTE, output::OUTCOME_SOURCE].iter().for_each(|p| c[t].outputs().set(*p, sm, 0));
            c[t].outputs().set(output::OUTCOME_REASON, sm, Reason::AllMissed as u64);
        },
    ),
    (
        Rule::ProbeOrder,
        "all missed without a probe",
        |c, t, sm| reason(&c[t], sm, Reason::NoCandidate),
        |c, t, sm| {
            c[t].outputs().set(output::OUTCOME_REASON, sm, Reason::AllMissed as u64);
        },
    ),
    (
        Rule::ProbeOrder,
        "no candidate after a probe",
        |c, t, sm| reason(&c[t], sm, Reason::AllMissed),
        |c, t, sm| {
            c[t].outputs().set(output::OUTCOME_REASON, sm, Reason::NoCandidate as u64);
        },
    ),
    (
        Rule::ProbeOrder,
        "given up too early",
        |c, t, sm| reason(&c[t], sm, Reason::NoCandidate) && quick(c, t, sm, 10),
        |c, t, sm| {
            c[t].outputs().set(output::OUTCOME_REASON, sm, Reason::QueueFull as u64);
        },
    ),
    (
        Rule::ProbeOrder,
        "busy, but everybody answered",
        |c, t, sm| reason(&c[t], sm, Reason::AllMissed) && quick(c, t, sm, 20),
        |c, t, sm| {
            c[t].outputs().set(output::OUTCOME_REASON, sm, Reason::Busy as u64);
        },
    ),
    (
        Rule::RemoteAnswered,
        "another source",
        |c, t, sm| remote(&c[t], sm),
        |c, t, sm| {
            let source = c[t].outputs.get(output::OUTCOME_SOURCE, sm);
            c[t].outputs().set(output::OUTCOME_SOURCE, sm, (source + 1) % 4);
        },
    ),
    (
        Rule::RemoteAnswered,
        "remote without an answer",
        |c, t, sm| reason(&c[t], sm, Reason::NoCandidate),
        |c, t, sm| {
            let source = (sm as u64 + 1) % 4;
            [(output::OUTCOME_REMOTE, 1), (output::OUTCOME_SOURCE, source), (output::OUTCOME_REASON, 0)]
                .iter()
                .for_each(|(p, value)| c[t].outputs().set(*p, sm, *value));
        },
    ),
    (
        Rule::RemoteAnswered,
        "the answer was no hit",
        |c, t, sm| remote(&c[t], sm),
        |c, t, sm| {
            let source = c[t].outputs.get(output::OUTCOME_SOURCE, sm) as usize;
            for cycle in &mut c[t - 60..t] {
                cycle.inputs().set(input::ANSWER_HIT, source, 0);
            }
        },
    ),
    (
        Rule::Filter,
        "a candidate is left out",
        |c, t, sm| reason(&c[t], sm, Reason::NoCandidate),
        |c, _, _| {
            // The rows that were read had more bits than the design saw.
            c.iter_mut().flat_map(|c| &mut c.tap().writes).for_each(|write| write.value = true);
        },
    ),
    (
        Rule::Filter,
        "a probe of no candidate",
        |c, t, sm| new_probe(c, t, sm),
        |c, t, sm| {
            // The bits of the target never reached the rows.
            for cycle in &mut c[..t] {
                cycle.tap().writes.iter_mut().filter(|w| w.value).for_each(|w| w.mask.remove(sm));
            }
        },
    ),
    (Rule::Filter, "another row is read", |c, t, _| !c[t].tap.reads.is_empty(), |c, t, _| c[t].tap().reads[0].row ^= 1),
    (
        Rule::Filter,
        "a row is read twice",
        |c, t, _| c[t].tap.reads.len() == 4,
        |c, t, _| {
            let read = c[t].tap.reads[0];
            c[t].tap().reads.push(read);
        },
    ),
    (
        Rule::Filter,
        "a row is not read",
        |c, t, sm| new_probe(c, t, sm),
        |c, t, sm| {
            let asker = c[t].outputs.get(output::PROBE_REQUESTER, sm) as usize;
            c[..t].iter_mut().for_each(|cycle| cycle.tap().reads.retain(|r| r.sm != asker || r.position != 2));
        },
    ),
    (
        Rule::Filter,
        "the debug port shows another row",
        |c, t, sm| sm == 0 && valid(&c[t], output::DEBUG_VALID, 0),
        |c, t, _| {
            let row = c[t].outputs.get(output::DEBUG_ROW, 0);
            c[t].outputs().set(output::DEBUG_ROW, 0, row ^ 2);
        },
    ),
    (
        Rule::Rebuild,
        "a position of no line is set",
        |c, t, _| c[t].tap.writes.iter().any(|w| w.value),
        |c, t, _| {
            c[t].tap().writes.iter_mut().for_each(|w| w.row ^= 5);
        },
    ),
    (
        Rule::Rebuild,
        "a position is not set",
        |c, t, _| c[t].tap.writes.iter().any(|w| w.value),
        |c, t, _| {
            let column = c[t].tap.writes[0].mask;
            for cycle in &mut c[t..] {
                cycle.tap().writes.retain(|w| !w.value || w.mask != column || w.row % 2 == 0);
            }
        },
    ),
    (
        Rule::Rebuild,
        "a row is not cleared",
        |c, t, sm| c[t].tap.writes.iter().any(|w| !w.value && w.mask == SmSet::single(sm)),
        |c, _, _| {
            c.iter_mut().skip(200).for_each(|cycle| cycle.tap().writes.retain(|w| w.value || w.row == 0));
        },
    ),
    (
        Rule::Rebuild,
        "a beat is not loaded",
        |c, t, sm| beat(&c[t], sm) && c[t].tap.streaming == Some(sm),
        |c, t, _| {
            c[t].tap().streaming = None;
        },
    ),
    (
        Rule::Disabled,
        "a query although sharing is off",
        |c, t, sm| outcome(&c[t], sm) && !reason(&c[t], sm, Reason::Disabled),
        |c, t, sm| {
            let id = c[t].outputs.get(output::OUTCOME_ID, sm);
            let accepted = |c: &&mut Cycle| taken_miss(c, sm) && c.inputs.get(input::MISS_ID, sm) == id;
            c[..t].iter_mut().rev().find(accepted).unwrap().inputs().set(input::MISS_SHAREABLE, sm, 0);
        },
    ),
    (
        Rule::Disabled,
        "disabled although sharing is on",
        |c, t, sm| reason(&c[t], sm, Reason::NoCandidate),
        |c, t, sm| {
            c[t].outputs().set(output::OUTCOME_REASON, sm, Reason::Disabled as u64);
        },
    ),
    (
        Rule::Bound,
        "an outcome never comes",
        |c, t, sm| t < 2000 && valid(&c[t], output::OUTCOME_VALID, sm),
        |c, t, sm| {
            for cycle in &mut c[t..] {
                OUTCOME.iter().for_each(|p| cycle.outputs().set(*p, sm, 0));
                cycle.inputs().set(input::L2_READY, sm, 1);
            }
        },
    ),
    (
        Rule::Coherence,
        "older than the own store",
        |c, t, sm| remote(&c[t], sm),
        |c, t, sm| {
            let id = c[t].outputs.get(output::OUTCOME_ID, sm);
            let accepted = |c: &Cycle| taken_miss(c, sm) && c.inputs.get(input::MISS_ID, sm) == id;
            let at = c[..t].iter().rposition(accepted).unwrap();
            let tag = c[at].inputs.get(input::MISS_TAG, sm);
            Rc::make_mut(&mut c[at - 1].notes).insert(0, Note::Store { sm, tag });
        },
    ),
    (
        Rule::Coherence,
        "an answer for a line that is not there",
        |c, t, sm| c[t].inputs.get(input::ANSWER_VALID, sm) != 0 && c[t].inputs.get(input::ANSWER_HIT, sm) == 0,
        |c, t, sm| {
            c[t].inputs().set(input::ANSWER_HIT, sm, 1);
        },
    ),
    (
        Rule::Counters,
        "a counter is wrong",
        |_, _, sm| sm == 0,
        |c, t, _| {
            let count = c[t].outputs.get(output::COUNT_MISSES, 0);
            c[t].outputs().set(output::COUNT_MISSES, 0, count + 1);
        },
    ),
    (
        Rule::Counters,
        "answers are counted twice",
        |_, _, sm| sm == 0,
        |c, t, _| {
            let count = c[t].outputs.get(output::COUNT_DISCARDED_ANSWERS, 0);
            c[t].outputs().set(output::COUNT_DISCARDED_ANSWERS, 0, count + 1000);
        },
    ),
    (Rule::Counters, "a drop is not counted", |c, t, _| c[t].tap.dropped.is_empty(), |c, t, sm| c[t].tap().dropped.insert(sm)),
    (
        Rule::Counters,
        "the counters do not balance",
        |_, _, sm| sm == 0,
        |c, _, _| {
            let last = c.last_mut().unwrap();
            let count = last.outputs.get(output::COUNT_EXPIRED_PROBES, 0);
            last.outputs().set(output::COUNT_EXPIRED_PROBES, 0, count + 1);
        },
    ),
    (
        Rule::Protocol,
        "an outcome is withdrawn",
        |c, t, sm| valid(&c[t], output::OUTCOME_VALID, sm) && !outcome(&c[t], sm),
        |c, t, sm| {
            OUTCOME.iter().for_each(|p| c[t + 1].outputs().set(*p, sm, 0));
        },
    ),
    (
        Rule::Protocol,
        "an L2 request changes",
        |c, t, sm| valid(&c[t], output::L2_VALID, sm) && !taken(&c[t], output::L2_VALID, input::L2_READY, sm),
        |c, t, sm| {
            let tag = c[t].outputs.get(output::L2_TAG, sm);
            c[t].outputs().set(output::L2_TAG, sm, tag ^ 1);
        },
    ),
    (
        Rule::Protocol,
        "a probe is withdrawn",
        |c, t, sm| valid(&c[t], output::PROBE_VALID, sm) && !taken(&c[t], output::PROBE_VALID, input::PROBE_READY, sm),
        |c, t, sm| {
            PROBE.iter().for_each(|p| c[t + 1].outputs().set(*p, sm, 0));
        },
    ),
    (
        Rule::Protocol,
        "a refresh request is withdrawn",
        |c, t, sm| valid(&c[t], output::REFRESH_VALID, sm) && c[t].inputs.get(input::REFRESH_READY, sm) == 0,
        |c, t, sm| {
            c[t + 1].outputs().set(output::REFRESH_VALID, sm, 0);
        },
    ),
    (
        Rule::Protocol,
        "a payload without valid",
        |c, t, sm| !valid(&c[t], output::L2_VALID, sm),
        |c, t, sm| c[t].outputs().set(output::L2_ID, sm, 1),
    ),
    (Rule::Protocol, "answers are refused", |_, _, _| true, |c, t, sm| c[t].outputs().set(output::ANSWER_READY, sm, 0)),
    (
        Rule::Protocol,
        "a reason that does not exist",
        |c, t, sm| reason(&c[t], sm, Reason::NoCandidate),
        |c, t, sm| {
            c[t].outputs().set(output::OUTCOME_REASON, sm, 7);
        },
    ),
    (Rule::Protocol, "remote with a reason", |c, t, sm| remote(&c[t], sm), |c, t, sm| c[t].outputs().set(output::OUTCOME_REASON, sm, 1)),
    (
        Rule::Protocol,
        "L2 with a source",
        |c, t, sm| reason(&c[t], sm, Reason::AllMissed),
        |c, t, sm| c[t].outputs().set(output::OUTCOME_SOURCE, sm, 1),
    ),
];

fn taken_miss(cycle: &Cycle, sm: usize) -> bool {
    cycle.inputs.get(input::MISS_VALID, sm) != 0 && cycle.outputs.get(output::MISS_READY, sm) != 0
}

/// The miss of the outcome was accepted at most `cycles` ago.
fn quick(c: &[Cycle], t: usize, sm: usize, cycles: usize) -> bool {
    let id = c[t].outputs.get(output::OUTCOME_ID, sm);
    c[t - cycles..t].iter().any(|c| taken_miss(c, sm) && c.inputs.get(input::MISS_ID, sm) == id)
}

fn beat(cycle: &Cycle, sm: usize) -> bool {
    let taken = cycle.inputs.get(input::STREAM_VALID, 0) != 0 && valid(cycle, output::STREAM_READY, 0);
    taken && cycle.inputs.get(input::STREAM_SM, 0) == sm as u64
}

#[test]
fn every_corruption_is_found() {
    let recordings = recordings();
    for (c, cycles) in &recordings {
        assert_eq!(judge(c, cycles, true), []);
        assert_eq!(judge(c, cycles, false), []);
    }
    for (rule, name, place, corrupt) in CORRUPTIONS {
        let mut tried = 0;
        for (c, cycles) in &recordings {
            for (t, sm) in places(cycles, place) {
                let mut corrupted = cycles.clone();
                corrupt(&mut corrupted, t, sm);
                let found = judge_until(c, &corrupted, true, Some(*rule));
                let shown: Vec<_> = found.iter().take(5).map(ToString::to_string).collect();
                assert!(found.iter().any(|v| v.rule == *rule), "{name} at cycle {t}, SM {sm}: {shown:?}");
                tried += 1;
            }
        }
        assert!(tried > 0, "{name}: no place for it");
    }
}

#[test]
fn order_and_limit_of_probes() {
    // Only the order changes: the floorplan the oracle believes in is another one.
    let (c, cycles) = record(profile(), &["sms=4"]);
    let moved = config(&[SETS, &["floorplan=[[0,0],[9,9],[1,0],[0,1]]"]].concat());
    assert!(judge(&moved, &cycles, true).iter().any(|v| v.rule == Rule::ProbeOrder));
    assert!(judge(&moved, &cycles, false).iter().any(|v| v.rule == Rule::ProbeOrder && v.what.contains("farther")));
    let limited = config(&[SETS, &["probe_limit=1"]].concat());
    assert!(judge(&limited, &cycles, false).iter().any(|v| v.what.contains("limit")));
    // And the encoding.
    let other = config(&[SETS, &["hash=independent"]].concat());
    let rules: Vec<_> = judge(&other, &cycles, true).iter().map(|v| v.rule).collect();
    assert!(rules.contains(&Rule::Filter) && rules.contains(&Rule::Rebuild));
    drop(c);
}

#[test]
fn loads_of_own_stores_must_not_be_shared() {
    let c = config(&["sms=4", "l1_bytes=2048", "l1_ways=2"]);
    let run = |own_stores_bypass| {
        let profile = Profile { own_stores_bypass, ..Profile::ideal() };
        let mut bench = Bench::new(&c, profile, Box::new(random((0..24).collect(), 0.02, 0.0, 5)), 7);
        bench.run(20_000);
        bench.oracle.violations().to_vec()
    };
    assert_eq!(run(true), []);
    assert_eq!(run(false).first().map(|v| v.rule), Some(Rule::Coherence));
}

#[test]
fn violations_are_readable() {
    let violation =
        Violation { rule: Rule::Bound, cycle: 12, sm: Some(3), id: Some(5), tag: Some(0xab), what: "no outcome after 7 cycles".into() };
    assert_eq!(violation.to_string(), "cycle 12, SM 3, id 5, tag 0xab: Bound: no outcome after 7 cycles");
}
