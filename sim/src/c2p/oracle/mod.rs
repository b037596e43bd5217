//! An untimed judge of the whole: what must always hold, checked on the ports of `c2p_cache`.
//!
//! Written from the specification alone, with sets and plain loops; it knows nothing of how the models work. It watches the
//! inputs and outputs of every cycle, what the environment says about lines ([`Note`]), and, when there is one, the [`Tap`]
//! of the model, from which it keeps the contents of the filter itself.

mod matrix;
mod outcomes;
mod probes;

use super::c2p_cache::Tap;
use super::encode::{Position, encode};
use super::environment::Note;
use super::pins::{input, output};
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
    outcomes: Vec<u64>,
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
            outcomes: vec![0; n],
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

    /// Outcomes that each SM took.
    pub fn outcomes(&self) -> &[u64] {
        &self.outcomes
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
