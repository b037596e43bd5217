//! An untimed judge of the whole: what must always hold, checked on the ports of `c2p_cache`.
//!
//! Written from the specification alone, with sets and plain loops; it knows nothing of how the models work. It watches the
//! inputs and outputs of every cycle, what the environment says about lines ([`Note`]), and, when there is one, the [`Tap`]
//! of the model, from which it keeps the contents of the filter itself.

use super::c2p_cache::{Tap, input, output};
use super::encode::{Position, encode};
use super::environment::Note;
use super::probe_engine::Reason;
use super::sm_set::SmSet;
use super::{COUNTERS, miss_bound};
use crate::block::Signals;
use l1forge_config::Config;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

/// What must always hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// Every accepted miss gets exactly one outcome; nothing is lost, duplicated or mixed up. One that goes to L2 is asked of L2
    /// exactly once, before its outcome; one that is remote never.
    OneOutcome,
    /// The requester is never probed, each candidate at most once, one at a time, the nearest first; probing stops at the
    /// first hit, and not before the end without one.
    ProbeOrder,
    /// `remote(j)` only after SM j answered hit for that very tag.
    RemoteAnswered,
    /// Candidates are exactly the SMs whose k bits are all set when they are read.
    Filter,
    /// After a rebuild a column holds the encodings of its tags, and nothing else but later fills.
    Rebuild,
    /// What is not to be shared goes to L2 without a probe, with reason `disabled`; everything else has another reason.
    Disabled,
    /// With outcome and L2 ports ready every miss is answered within [`miss_bound`].
    Bound,
    /// No remote hit on data older than the requester's own store.
    Coherence,
    /// Counters count, and balance.
    Counters,
    /// A valid stays, with its payload, until it is taken; payloads are 0 without it; numbers are in range.
    Protocol,
}

/// A rule that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// Cycle in which it was noticed.
    pub cycle: u64,
    /// SM concerned.
    pub sm: Option<usize>,
    /// Id of the miss concerned.
    pub id: Option<u64>,
    /// Tag concerned.
    pub tag: Option<u64>,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycle {}", self.cycle)?;
        if let Some(sm) = self.sm {
            write!(f, ", SM {sm}")?;
        }
        if let Some(id) = self.id {
            write!(f, ", id {id}")?;
        }
        if let Some(tag) = self.tag {
            write!(f, ", tag {tag:#x}")?;
        }
        write!(f, ": {:?}: {}", self.rule, self.what)
    }
}

/// A probe that the design made for a miss.
#[derive(Debug, Clone)]
struct MadeProbe {
    target: usize,
    taken: Option<u64>,
    /// Cycle of the answer, whether it is a hit, and the age of the data.
    answer: Option<(u64, bool, u64)>,
}

/// A miss between acceptance and outcome.
#[derive(Debug, Clone)]
struct Miss {
    /// Tells misses apart that have the same id one after the other.
    serial: u64,
    tag: u64,
    accepted: u64,
    query: bool,
    probes: Vec<MadeProbe>,
    l2_taken: Option<u64>,
    /// Stalls of the SM's outcome and L2 ports when the miss was accepted.
    stalls: u64,
    /// Data age of the requester's latest own store to the line.
    own_store: u64,
    positions: Vec<Position>,
    /// For each position, the row that was read.
    rows: Vec<Option<SmSet>>,
    bound_reported: bool,
}

/// A probe shown to, or taken by, an L1.
#[derive(Debug, Clone, Copy)]
struct ShownProbe {
    requester: usize,
    serial: u64,
    tag: u64,
}

/// What may and must be in a column.
#[derive(Debug, Clone, Default)]
struct Column {
    /// Positions of tags streamed or filled since the column was cleared.
    allowed: BTreeSet<(u64, u64)>,
    streamed: Vec<u64>,
    /// Fill notices since the column was cleared, and those before that may have waited.
    fills: Vec<u64>,
    /// Latest notices, at most as many as the queue holds.
    latest: VecDeque<u64>,
}

/// A stream as seen from outside.
#[derive(Debug, Clone, Copy)]
struct OpenStream {
    active: u64,
    regular: bool,
}

/// The judge.
pub struct Oracle {
    config: Config,
    bound: u64,
    cycle: u64,
    serial: u64,
    misses: Vec<BTreeMap<u64, Miss>>,
    /// Probe shown to each L1.
    shown: Vec<Option<ShownProbe>>,
    outstanding: Vec<VecDeque<ShownProbe>>,
    /// Channels that wait: what they showed in the cycle before.
    waiting: BTreeMap<(&'static str, usize), Vec<u64>>,
    stalls: Vec<u64>,
    columns: Vec<Column>,
    /// The filter: row of bank b at b · rows + row.
    matrix: Vec<SmSet>,
    debug_row: Option<SmSet>,
    /// Refresh requests: first cycle shown, and whether a flush has broken off the rebuild since.
    requested: Vec<Option<(u64, bool)>>,
    streams: Vec<Option<OpenStream>>,
    /// Stores made so far, and the latest of each line.
    stores: u64,
    memory: BTreeMap<u64, u64>,
    own_stores: BTreeMap<(usize, u64), u64>,
    copies: BTreeMap<(usize, u64), u64>,
    /// Age of the data on the way to an SM.
    arriving: BTreeMap<(usize, u64), u64>,
    counts: BTreeMap<&'static str, u64>,
    /// Counters reported to be wrong, each once.
    wrong_counters: BTreeSet<&'static str>,
    answers: u64,
    /// Answers with hit, and those of them that became an outcome.
    hits: u64,
    live_hits: u64,
    cleared: bool,
    tapped: bool,
    violations: Vec<Violation>,
}

impl Oracle {
    /// Violations of one rule kept; later ones are not recorded.
    const MOST: usize = 20;

    /// A judge before the first cycle.
    pub fn new(c: &Config) -> Self {
        let n = c.sms as usize;
        Self {
            config: c.clone(),
            bound: miss_bound(c),
            cycle: 0,
            serial: 0,
            misses: vec![BTreeMap::new(); n],
            shown: vec![None; n],
            outstanding: vec![VecDeque::new(); n],
            waiting: BTreeMap::new(),
            stalls: vec![0; n],
            columns: vec![Column::default(); n],
            matrix: vec![SmSet::EMPTY; (c.banks * c.rows()) as usize],
            debug_row: None,
            requested: vec![None; n],
            streams: vec![None; n],
            stores: 0,
            memory: BTreeMap::new(),
            own_stores: BTreeMap::new(),
            copies: BTreeMap::new(),
            arriving: BTreeMap::new(),
            counts: BTreeMap::new(),
            wrong_counters: BTreeSet::new(),
            answers: 0,
            hits: 0,
            live_hits: 0,
            cleared: false,
            tapped: false,
            violations: Vec::new(),
        }
    }

    /// How rules were broken so far, at most twenty times each.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Misses accepted and without outcome.
    pub fn in_flight(&self) -> usize {
        self.misses.iter().map(BTreeMap::len).sum()
    }

    fn report(&mut self, rule: Rule, sm: usize, id: Option<u64>, tag: Option<u64>, what: impl Into<String>) {
        if self.violations.iter().filter(|v| v.rule == rule).count() < Self::MOST {
            self.violations.push(Violation { rule, cycle: self.cycle, sm: Some(sm), id, tag, what: what.into() });
        }
    }

    fn count(&mut self, counter: &'static str, events: u64) {
        *self.counts.entry(counter).or_default() += events;
    }

    /// Judges one cycle. `tap` is that of the same cycle, read after the model's clock edge; it must be there in every cycle
    /// or in none.
    pub fn check(&mut self, inputs: &Signals, outputs: &Signals, notes: &[Note], tap: Option<&Tap>) {
        self.tapped |= tap.is_some();
        self.check_counters(outputs);
        self.check_protocol(inputs, outputs);
        for sm in 0..self.misses.len() {
            self.check_answer(sm, inputs);
        }
        for sm in 0..self.misses.len() {
            self.check_l2(sm, inputs, outputs);
            self.check_outcome(sm, inputs, outputs);
            self.check_probe(sm, inputs, outputs);
        }
        self.check_debug(inputs, outputs);
        if let Some(tap) = tap {
            self.check_reads(tap);
        }
        for sm in 0..self.misses.len() {
            self.check_miss(sm, inputs, outputs);
        }
        self.check_refresh(inputs, outputs, tap);
        if let Some(tap) = tap {
            self.check_writes(tap);
        }
        self.check_bounds();
        notes.iter().for_each(|note| self.note(*note));
        if inputs.get(input::CLEAR_STATISTICS, 0) != 0 {
            self.counts.clear();
            self.cleared = true;
        }
        self.cycle += 1;
    }

    /// Judges the end of a run in which everything came to an end: nothing may be missing, and the counters balance. `outputs` are
    /// those after the clock edge of the last cycle judged.
    pub fn finish(&mut self, outputs: &Signals) {
        self.check_counters(outputs);
        for sm in 0..self.misses.len() {
            let left: Vec<_> = self.misses[sm].iter().map(|(id, miss)| (*id, miss.tag)).collect();
            for (id, tag) in left {
                self.report(Rule::OneOutcome, sm, Some(id), Some(tag), "the miss has no outcome");
            }
        }
        let counter = |name: &str| counter(outputs, name);
        if self.cleared {
            return;
        }
        let counter_bits = self.config.counter_bits;
        let wrap = |sum: u64| sum & (u64::MAX >> (64 - counter_bits));
        let outcomes = ["remote_hits", "no_candidate", "all_missed", "busy", "queue_full", "disabled"].map(counter);
        let (misses, outcomes) = (counter("misses"), outcomes.iter().fold(0, |sum: u64, n| sum.wrapping_add(*n)));
        if misses != wrap(outcomes) {
            self.report(Rule::Counters, 0, None, None, format!("misses = {misses}, outcomes = {outcomes}"));
        }
        if counter("expired_probes") != counter("busy") {
            let what = format!("expired_probes = {}, busy = {}", counter("expired_probes"), counter("busy"));
            self.report(Rule::Counters, 0, None, None, what);
        }
        if self.outstanding.iter().all(VecDeque::is_empty) {
            let parts = ["remote_hits", "false_positive_probes", "discarded_answers"].map(counter);
            let sum = parts.iter().fold(0, |sum: u64, n| sum.wrapping_add(*n));
            if counter("probes") != wrap(sum) {
                self.report(Rule::Counters, 0, None, None, format!("probes = {}, answers = {sum}", counter("probes")));
            }
        }
    }

    /// Counters show the events up to the cycle before.
    fn check_counters(&mut self, outputs: &Signals) {
        let counter_bits = self.config.counter_bits;
        let wrap = |sum: u64| sum & (u64::MAX >> (64 - counter_bits));
        let mut wrong = Vec::new();
        let shown = |name: &str| counter(outputs, name);
        let mut counted =
            vec!["misses", "queries", "probes", "remote_hits", "no_candidate", "all_missed", "busy", "queue_full", "disabled"];
        if self.tapped {
            counted.extend(["rebuilds", "dropped_fills"]);
        }
        for name in counted {
            let expected = wrap(self.counts.get(name).copied().unwrap_or(0));
            if shown(name) != expected && self.wrong_counters.insert(name) {
                wrong.push(format!("{name} = {}, counted {expected}", shown(name)));
            }
        }
        // Of each answer it is not seen outside whether its probe was still alive; their sum is.
        if !self.cleared {
            let sum = shown("false_positive_probes").wrapping_add(shown("discarded_answers"));
            let (least, most) = (self.answers - self.hits, self.answers - self.live_hits);
            if counter_bits >= 32 && !(least..=most).contains(&sum) && self.wrong_counters.insert("discarded_answers") {
                wrong.push(format!("false_positive_probes + discarded_answers = {sum}, answers without remote hit: {least}..={most}"));
            }
        }
        for what in wrong {
            self.report(Rule::Counters, 0, None, None, what);
        }
    }

    fn check_protocol(&mut self, inputs: &Signals, outputs: &Signals) {
        const CHANNELS: [(&str, usize, usize, &[usize]); 4] = [
            (
                "outcome",
                output::OUTCOME_VALID,
                input::OUTCOME_READY,
                &[output::OUTCOME_ID, output::OUTCOME_REMOTE, output::OUTCOME_SOURCE, output::OUTCOME_REASON],
            ),
            ("probe", output::PROBE_VALID, input::PROBE_READY, &[output::PROBE_TAG, output::PROBE_REQUESTER]),
            ("L2 request", output::L2_VALID, input::L2_READY, &[output::L2_TAG, output::L2_ID]),
            ("refresh request", output::REFRESH_VALID, input::REFRESH_READY, &[]),
        ];
        for (name, valid, ready, payload) in CHANNELS {
            for sm in 0..self.misses.len() {
                let shown = || payload.iter().map(|port| outputs.get(*port, sm));
                let is_valid = outputs.get(valid, sm) != 0;
                if !is_valid && shown().any(|word| word != 0) {
                    self.report(Rule::Protocol, sm, None, None, format!("{name}: payload without valid"));
                }
                if let Some(before) = self.waiting.remove(&(name, sm))
                    && (!is_valid || !shown().eq(before))
                {
                    self.report(Rule::Protocol, sm, None, None, format!("{name}: changed before it was taken"));
                }
                if is_valid && inputs.get(ready, sm) == 0 {
                    self.waiting.insert((name, sm), shown().collect());
                }
            }
        }
        for sm in 0..self.misses.len() {
            if outputs.get(output::ANSWER_READY, sm) == 0 {
                self.report(Rule::Protocol, sm, None, None, "answers are not taken");
            }
            let stalled = |valid: usize, ready: usize| outputs.get(valid, sm) != 0 && inputs.get(ready, sm) == 0;
            let stalls = [(output::OUTCOME_VALID, input::OUTCOME_READY), (output::L2_VALID, input::L2_READY)];
            self.stalls[sm] += u64::from(stalls.into_iter().any(|(valid, ready)| stalled(valid, ready)));
        }
    }

    /// An answer of SM `sm`'s L1 belongs to the oldest probe it took.
    fn check_answer(&mut self, sm: usize, inputs: &Signals) {
        if inputs.get(input::ANSWER_VALID, sm) == 0 {
            return;
        }
        let Some(probe) = self.outstanding[sm].pop_front() else { return };
        self.answers += 1;
        let hit = inputs.get(input::ANSWER_HIT, sm) != 0;
        self.hits += u64::from(hit);
        let age = self.copies.get(&(sm, probe.tag)).copied();
        if hit && age.is_none() {
            self.report(Rule::Coherence, sm, None, Some(probe.tag), "the L1 answers hit for a line it does not hold");
        }
        let cycle = self.cycle;
        let made = self.misses[probe.requester].values_mut().find(|miss| miss.serial == probe.serial);
        if let Some(made) = made.and_then(|miss| miss.probes.iter_mut().find(|p| p.target == sm)) {
            made.answer = Some((cycle, hit, age.unwrap_or(0)));
        }
    }

    fn check_l2(&mut self, sm: usize, inputs: &Signals, outputs: &Signals) {
        if outputs.get(output::L2_VALID, sm) == 0 {
            return;
        }
        let (id, tag) = (outputs.get(output::L2_ID, sm), outputs.get(output::L2_TAG, sm));
        let problem = match self.misses[sm].get(&id) {
            None => Some("an L2 request without a miss"),
            Some(miss) if miss.tag != tag => Some("the L2 request has another tag than its miss"),
            Some(miss) if miss.l2_taken.is_some() => Some("a second L2 request"),
            Some(_) => None,
        };
        if let Some(what) = problem {
            self.report(Rule::OneOutcome, sm, Some(id), Some(tag), what);
        }
        if inputs.get(input::L2_READY, sm) != 0 {
            if let Some(miss) = self.misses[sm].get_mut(&id) {
                miss.l2_taken = Some(self.cycle);
            }
            let age = self.memory.get(&tag).copied().unwrap_or(0);
            self.arriving.insert((sm, tag), age);
        }
    }

    fn check_outcome(&mut self, sm: usize, inputs: &Signals, outputs: &Signals) {
        if outputs.get(output::OUTCOME_VALID, sm) == 0 || inputs.get(input::OUTCOME_READY, sm) == 0 {
            return;
        }
        let [id, remote, source, reason] =
            [output::OUTCOME_ID, output::OUTCOME_REMOTE, output::OUTCOME_SOURCE, output::OUTCOME_REASON].map(|p| outputs.get(p, sm));
        let Some(miss) = self.misses[sm].remove(&id) else {
            return self.report(Rule::OneOutcome, sm, Some(id), None, "an outcome without a miss");
        };
        let tag = Some(miss.tag);
        if remote != 0 {
            if reason != 0 || source as usize >= self.misses.len() {
                self.report(Rule::Protocol, sm, Some(id), tag, format!("remote({source}) with reason {reason}"));
            }
            self.count("remote_hits", 1);
            self.live_hits += 1;
            self.check_remote(sm, id, source as usize, &miss);
        } else {
            if source != 0 {
                self.report(Rule::Protocol, sm, Some(id), tag, "an L2 outcome with a source");
            }
            match Reason::from_number(reason) {
                None => self.report(Rule::Protocol, sm, Some(id), tag, format!("reason {reason}")),
                Some(reason) => self.check_l2_outcome(sm, id, reason, &miss),
            }
        }
    }

    fn check_remote(&mut self, sm: usize, id: u64, source: usize, miss: &Miss) {
        let tag = Some(miss.tag);
        if miss.l2_taken.is_some() {
            self.report(Rule::OneOutcome, sm, Some(id), tag, "a remote outcome after an L2 request");
        }
        if !miss.query {
            self.report(Rule::Disabled, sm, Some(id), tag, "a remote outcome of a miss that is not to be shared");
        }
        let answer = miss.probes.iter().find(|p| p.target == source).and_then(|p| p.answer);
        match answer {
            Some((cycle, true, age)) if cycle < self.cycle => {
                if age < miss.own_store {
                    self.report(Rule::Coherence, sm, Some(id), tag, format!("data of SM {source} is older than the SM's own store"));
                }
                self.arriving.insert((sm, miss.tag), age);
            }
            _ => self.report(Rule::RemoteAnswered, sm, Some(id), tag, format!("remote({source}), which did not answer hit")),
        }
    }

    fn check_l2_outcome(&mut self, sm: usize, id: u64, reason: Reason, miss: &Miss) {
        let tag = Some(miss.tag);
        self.count(COUNTERS[7 + reason as usize], 1);
        if miss.l2_taken.is_none_or(|cycle| cycle >= self.cycle) {
            self.report(Rule::OneOutcome, sm, Some(id), tag, "an L2 outcome before its L2 request was taken");
        }
        if (reason == Reason::Disabled) == miss.query {
            self.report(Rule::Disabled, sm, Some(id), tag, format!("{reason:?}, but query = {}", miss.query));
        }
        // The attempt that was given up began after all earlier probes were answered. The last probe seen may be it (its own
        // answer then came too late), or may precede one that was never shown.
        let answered = |probes: &[MadeProbe]| probes.iter().filter_map(|p| p.answer).map(|a| a.0).max().unwrap_or(miss.accepted);
        let before_last = answered(&miss.probes[..miss.probes.len().saturating_sub(1)]);
        let waited = self.cycle - if reason == Reason::Busy { before_last } else { answered(&miss.probes) };
        let (probe_timeout, answer_timeout) = (u64::from(self.config.probe_timeout), u64::from(self.config.answer_timeout));
        // The last answer, when it cannot have come too late.
        let in_time = miss.probes.last().and_then(|last| {
            let ((answer, hit, _), taken) = (last.answer?, last.taken?);
            (answer <= taken + 1 + answer_timeout && taken <= before_last + 1 + probe_timeout).then_some(hit)
        });
        let missed = miss.probes.iter().all(|p| p.answer.is_some_and(|a| !a.1));
        let left = self.candidates(sm, miss).map(|all| all.len() - miss.probes.len().min(all.len()));
        let at_limit = self.config.probe_limit > 0 && miss.probes.len() as u64 >= u64::from(self.config.probe_limit);
        let problem = match reason {
            Reason::NoCandidate if !miss.probes.is_empty() => Some((Rule::ProbeOrder, "no candidate after a probe")),
            Reason::NoCandidate if left.is_some_and(|left| left > 0) => Some((Rule::Filter, "no candidate, but there is one")),
            Reason::AllMissed if miss.probes.is_empty() => Some((Rule::ProbeOrder, "all missed without a probe")),
            Reason::AllMissed if !missed => Some((Rule::ProbeOrder, "all missed without an answer, or with a hit")),
            Reason::AllMissed if left.is_some_and(|left| left > 0) && !at_limit => {
                Some((Rule::ProbeOrder, "all missed, but candidates are left"))
            }
            Reason::Busy | Reason::QueueFull if waited <= probe_timeout.min(answer_timeout) => {
                Some((Rule::ProbeOrder, "given up before the timeout"))
            }
            Reason::QueueFull if !missed => Some((Rule::ProbeOrder, "queue full, but the last probe was shown to its L1")),
            Reason::Busy if in_time == Some(true) => Some((Rule::ProbeOrder, "busy, but the L1 answered hit in time")),
            Reason::Busy | Reason::QueueFull if left == Some(0) && miss.probes.is_empty() => {
                Some((Rule::Filter, "given up, but there is no candidate"))
            }
            Reason::QueueFull if left == Some(0) || at_limit => Some((Rule::ProbeOrder, "queue full, but no candidate is left")),
            Reason::Busy if in_time == Some(false) && (left == Some(0) || at_limit) => {
                Some((Rule::ProbeOrder, "busy, but every candidate answered in time"))
            }
            _ => None,
        };
        if let Some((rule, what)) = problem {
            self.report(rule, sm, Some(id), tag, what);
        }
    }

    /// A probe shown to SM `target`'s L1.
    fn check_probe(&mut self, target: usize, inputs: &Signals, outputs: &Signals) {
        if outputs.get(output::PROBE_VALID, target) == 0 {
            self.shown[target] = None;
            return;
        }
        let (requester, tag) = (outputs.get(output::PROBE_REQUESTER, target) as usize, outputs.get(output::PROBE_TAG, target));
        if self.shown[target].is_none() {
            self.new_probe(target, requester, tag);
        }
        if inputs.get(input::PROBE_READY, target) != 0 {
            self.count("probes", 1);
            if let Some(probe) = self.shown[target].take() {
                self.outstanding[target].push_back(probe);
                let cycle = self.cycle;
                let miss = self.misses[probe.requester].values_mut().find(|miss| miss.serial == probe.serial);
                if let Some(made) = miss.and_then(|miss| miss.probes.iter_mut().find(|p| p.target == target)) {
                    made.taken = Some(cycle);
                }
            }
        }
    }

    /// A probe is shown for the first time: it belongs to a miss that waits for it.
    fn new_probe(&mut self, target: usize, requester: usize, tag: u64) {
        self.shown[target] = Some(ShownProbe { requester: requester.min(self.misses.len() - 1), serial: u64::MAX, tag });
        if requester >= self.misses.len() {
            return self.report(Rule::Protocol, target, None, Some(tag), format!("a probe of SM {requester}"));
        }
        if requester == target {
            self.report(Rule::ProbeOrder, requester, None, Some(tag), "the requester is probed");
        }
        // Several misses of one SM may want the same line: it is the first one that could make this probe.
        let wanting: Vec<_> = self.misses[requester].iter().filter(|(_, miss)| miss.tag == tag).map(|(id, _)| *id).collect();
        if wanting.is_empty() {
            return self.report(Rule::ProbeOrder, requester, None, Some(tag), format!("SM {target} is probed for no miss"));
        }
        let problems: Vec<_> = wanting.iter().map(|id| (*id, self.probe_problem(requester, *id, target))).collect();
        if let Some((id, _)) = problems.iter().find(|(_, problem)| problem.is_none()) {
            let miss = self.misses[requester].get_mut(id).expect("it was found");
            miss.probes.push(MadeProbe { target, taken: None, answer: None });
            self.shown[target] = Some(ShownProbe { requester, serial: miss.serial, tag });
            return;
        }
        for (id, problem) in problems {
            if let Some((rule, what)) = problem {
                self.report(rule, requester, Some(id), Some(tag), format!("SM {target} is probed {what}"));
            }
        }
    }

    /// Why the miss cannot make this probe now.
    fn probe_problem(&self, requester: usize, id: u64, target: usize) -> Option<(Rule, String)> {
        let miss = &self.misses[requester][&id];
        let order = |what: &str| Some((Rule::ProbeOrder, what.to_string()));
        if !miss.query {
            return Some((Rule::Disabled, "for a miss that is not to be shared".into()));
        }
        if miss.l2_taken.is_some() {
            return order("after the L2 request");
        }
        if miss.probes.iter().any(|p| p.target == target) {
            return order("a second time");
        }
        if let Some(last) = miss.probes.last() {
            match last.answer {
                None => return order("while another probe is not answered"),
                Some((_, true, _)) => return order("after a hit"),
                Some(_) => {}
            }
            if self.distance(requester, target) < self.distance(requester, last.target) {
                return order("after one that is farther away");
            }
        }
        if self.config.probe_limit > 0 && miss.probes.len() as u64 >= u64::from(self.config.probe_limit) {
            return order("beyond the limit");
        }
        if !self.tapped {
            return None;
        }
        let Some(candidates) = self.candidates(requester, miss) else {
            return Some((Rule::Filter, "before all rows were read".into()));
        };
        if !candidates.contains(&target) {
            return Some((Rule::Filter, "and is no candidate".into()));
        }
        if candidates.get(miss.probes.len()) != Some(&target) {
            return order("and is not the nearest candidate left");
        }
        None
    }

    fn distance(&self, a: usize, b: usize) -> u32 {
        let ((ax, ay), (bx, by)) = (self.config.place(a as u32), self.config.place(b as u32));
        ax.abs_diff(bx) + ay.abs_diff(by)
    }

    /// The candidates in the order in which they are to be probed, once all rows were read.
    fn candidates(&self, requester: usize, miss: &Miss) -> Option<Vec<usize>> {
        if !self.tapped {
            return None;
        }
        let rows: Option<Vec<SmSet>> = miss.rows.iter().copied().collect();
        let rows = rows?;
        let is_candidate = |sm: &usize| *sm != requester && rows.iter().all(|row| row.contains(*sm));
        let mut candidates: Vec<usize> = (0..self.misses.len()).filter(is_candidate).collect();
        candidates.sort_by_key(|sm| (self.distance(requester, *sm), *sm));
        Some(candidates)
    }

    fn check_miss(&mut self, sm: usize, inputs: &Signals, outputs: &Signals) {
        if inputs.get(input::MISS_VALID, sm) == 0 || outputs.get(output::MISS_READY, sm) == 0 {
            return;
        }
        let (id, tag) = (inputs.get(input::MISS_ID, sm), inputs.get(input::MISS_TAG, sm));
        let query =
            inputs.get(input::ENABLE, 0) != 0 && outputs.get(output::MATRIX_READY, 0) != 0 && inputs.get(input::MISS_SHAREABLE, sm) != 0;
        self.serial += 1;
        self.count("misses", 1);
        self.count("queries", u64::from(query));
        let miss = Miss {
            serial: self.serial,
            tag,
            accepted: self.cycle,
            query,
            probes: Vec::new(),
            l2_taken: None,
            stalls: self.stalls[sm],
            own_store: self.own_stores.get(&(sm, tag)).copied().unwrap_or(0),
            positions: encode(&self.config, tag),
            rows: vec![None; self.config.k() as usize],
            bound_reported: false,
        };
        if self.misses[sm].insert(id, miss).is_some() {
            self.report(Rule::OneOutcome, sm, Some(id), Some(tag), "two misses in flight with the same id");
        }
    }

    /// Rows are read as they are before the writes of the cycle.
    fn check_reads(&mut self, tap: &Tap) {
        for read in &tap.reads {
            let row = self.row((read.bank as u64, read.row.into()));
            let Some(miss) = self.misses[read.sm].get_mut(&read.id) else {
                self.report(Rule::Filter, read.sm, Some(read.id), None, "a row is read for no miss");
                continue;
            };
            let (tag, expected) = (miss.tag, miss.positions[read.position]);
            if miss.rows[read.position].replace(row).is_some() {
                self.report(Rule::Filter, read.sm, Some(read.id), Some(tag), format!("position {} is read twice", read.position));
            }
            if (expected.bank, expected.row) != (read.bank as u64, u64::from(read.row)) {
                let what = format!("position {} reads bank {} row {} instead of {expected:?}", read.position, read.bank, read.row);
                self.report(Rule::Filter, read.sm, Some(read.id), Some(tag), what);
            }
        }
    }

    fn row(&self, (bank, row): (u64, u64)) -> SmSet {
        self.matrix[(bank * u64::from(self.config.rows()) + row) as usize]
    }

    fn check_debug(&mut self, inputs: &Signals, outputs: &Signals) {
        if !self.config.debug_port || !self.tapped {
            return;
        }
        let valid = outputs.get(output::DEBUG_VALID, 0) != 0;
        let words = outputs.words(output::DEBUG_ROW).to_vec();
        let shown = SmSet::from_words(&words);
        if valid != self.debug_row.is_some() || shown != self.debug_row.unwrap_or(SmSet::EMPTY) {
            self.report(Rule::Filter, 0, None, None, format!("the debug port shows {shown:?} instead of {:?}", self.debug_row));
        }
        let taken = inputs.get(input::DEBUG_VALID, 0) != 0 && outputs.get(output::DEBUG_READY, 0) != 0;
        let index = inputs.get(input::DEBUG_INDEX, 0);
        let rows = 1 << self.config.row_bits();
        self.debug_row = taken.then(|| self.row((index / rows, index % rows)));
    }

    /// Fill notices, refresh requests and the stream.
    fn check_refresh(&mut self, inputs: &Signals, outputs: &Signals, tap: Option<&Tap>) {
        let flush = inputs.get(input::FLUSH, 0) != 0;
        for sm in 0..self.misses.len() {
            if outputs.get(output::REFRESH_VALID, sm) != 0 {
                let (since, broken) = *self.requested[sm].get_or_insert((self.cycle, false));
                if inputs.get(input::REFRESH_READY, sm) != 0 {
                    let regular = !broken && self.cycle < since + u64::from(self.config.stream_timeout);
                    self.streams[sm] = Some(OpenStream { active: self.cycle, regular });
                    self.requested[sm] = None;
                }
            }
            if flush {
                self.requested[sm] = self.requested[sm].map(|(since, _)| (since, true));
            }
            let noticed = inputs.get(input::FILL_VALID, sm) != 0 && outputs.get(output::FILL_READY, sm) != 0;
            let dropped = tap.is_some_and(|tap| tap.dropped.contains(sm));
            self.count("dropped_fills", u64::from(dropped));
            if dropped && !(noticed && self.config.fill_drop) {
                self.report(Rule::Rebuild, sm, None, None, "a notice is dropped that must not be");
            }
            if noticed && !dropped && !flush {
                let tag = inputs.get(input::FILL_TAG, sm);
                let positions = encode(&self.config, tag);
                let column = &mut self.columns[sm];
                column.allowed.extend(positions.iter().map(|p| (p.bank, p.row)));
                column.fills.push(tag);
                column.latest.push_back(tag);
                if column.latest.len() > self.config.fill_queue_depth as usize {
                    column.latest.pop_front();
                }
            }
        }
        if inputs.get(input::STREAM_VALID, 0) != 0 && outputs.get(output::STREAM_READY, 0) != 0 {
            self.check_beat(inputs, flush, tap);
        }
        if flush {
            self.streams.iter_mut().flatten().for_each(|s| s.regular = false);
        }
    }

    fn check_beat(&mut self, inputs: &Signals, flush: bool, tap: Option<&Tap>) {
        let sm = inputs.get(input::STREAM_SM, 0) as usize;
        let last = inputs.get(input::STREAM_LAST, 0) != 0;
        let loaded = tap.is_some_and(|tap| tap.streaming == Some(sm));
        if let Some(mut stream) = self.streams[sm] {
            let in_time = self.cycle <= stream.active + u64::from(self.config.stream_timeout);
            if tap.is_some() && stream.regular && in_time && !loaded {
                self.report(Rule::Rebuild, sm, None, None, "a beat of a rebuild is not loaded");
            }
            stream.active = self.cycle;
            stream.regular &= in_time;
            self.streams[sm] = (!last).then_some(stream);
        }
        if !loaded || flush {
            return;
        }
        for place in 0..self.config.stream_tags() as usize {
            if inputs.get(input::STREAM_KEEP, place) != 0 {
                let tag = inputs.get(input::STREAM_TAG, place);
                let positions = encode(&self.config, tag);
                self.columns[sm].streamed.push(tag);
                self.columns[sm].allowed.extend(positions.iter().map(|p| (p.bank, p.row)));
            }
        }
    }

    fn check_writes(&mut self, tap: &Tap) {
        let first_row = tap.writes.iter().find(|w| !w.value && w.row == 0);
        if let Some(clear) = first_row {
            let all = clear.mask.len() > 1;
            clear.mask.iter().for_each(|sm| self.clear_column(sm, all));
        }
        for write in &tap.writes {
            for sm in write.mask.iter() {
                let position = (write.bank as u64, u64::from(write.row));
                let row = &mut self.matrix[write.bank * self.config.rows() as usize + write.row as usize];
                if !write.value {
                    row.remove(sm);
                    continue;
                }
                row.insert(sm);
                if !self.columns[sm].allowed.contains(&position) {
                    self.report(Rule::Rebuild, sm, None, None, format!("bank {} row {} is set for no line", write.bank, write.row));
                }
            }
        }
        if let Some(sm) = tap.rebuilt {
            self.count("rebuilds", 1);
            let rows = u64::from(self.config.rows());
            let mut all = (0..u64::from(self.config.banks)).flat_map(|bank| (0..rows).map(move |row| (bank, row)));
            let allowed = &self.columns[sm].allowed;
            if let Some((bank, row)) = all.find(|p| self.row(*p).contains(sm) && !allowed.contains(p)) {
                let what = format!("after a rebuild, bank {bank} row {row} is set for no line");
                self.report(Rule::Rebuild, sm, None, None, what);
            }
        }
    }

    /// A column begins to be cleared. By now every older tag of it is written, but for notices that wait.
    fn clear_column(&mut self, sm: usize, all: bool) {
        let waiting = self.config.fill_queue_depth as usize;
        let column = &self.columns[sm];
        let mut required = Vec::new();
        if !all {
            required.extend(&column.streamed);
            required.extend(&column.fills[..column.fills.len().saturating_sub(waiting)]);
        }
        let unset = |tag: &&u64| encode(&self.config, **tag).iter().any(|p| !self.row((p.bank, p.row)).contains(sm));
        if let Some(&tag) = required.iter().find(unset) {
            self.report(Rule::Rebuild, sm, None, Some(tag), "the line is not in its column");
        }
        let latest: Vec<u64> = self.columns[sm].latest.iter().copied().collect();
        let positions = latest.iter().flat_map(|tag| encode(&self.config, *tag)).map(|p| (p.bank, p.row)).collect();
        let column = &mut self.columns[sm];
        (column.allowed, column.fills) = (positions, Vec::new());
        column.streamed.clear();
    }

    fn check_bounds(&mut self) {
        let mut late = Vec::new();
        for (sm, misses) in self.misses.iter_mut().enumerate() {
            for (id, miss) in misses {
                let overdue = self.cycle > miss.accepted + self.bound && self.stalls[sm] == miss.stalls;
                if overdue && !std::mem::replace(&mut miss.bound_reported, true) {
                    late.push((sm, *id, miss.tag));
                }
            }
        }
        for (sm, id, tag) in late {
            self.report(Rule::Bound, sm, Some(id), Some(tag), format!("no outcome after {} cycles", self.bound));
        }
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Store { sm, tag } => {
                self.stores += 1;
                self.memory.insert(tag, self.stores);
                self.own_stores.insert((sm, tag), self.stores);
                self.copies.remove(&(sm, tag));
            }
            Note::Install { sm, tag, from } => match self.arriving.remove(&(sm, tag)) {
                Some(age) => {
                    self.copies.insert((sm, tag), age);
                }
                None => self.report(Rule::OneOutcome, sm, None, Some(tag), format!("a line arrives from {from:?} unasked")),
            },
            Note::Drop { sm, tag } => {
                self.copies.remove(&(sm, tag));
            }
            Note::Flush => self.copies.clear(),
        }
    }
}

/// A counter by name.
fn counter(outputs: &Signals, name: &str) -> u64 {
    let at = COUNTERS.iter().position(|c| *c == name).expect("a counter");
    outputs.get(output::COUNT_MISSES + at, 0)
}

#[cfg(test)]
mod tests;
