//! One miss in flight.

use super::and_reduction::{self, AndReduction, Rows};
use super::probe_engine::{self, End, ProbeEngine, Reason};
use super::signal::{self, ports};
use super::sizes::{Indices, MAX_K, Sizes};
use super::sm_set::SmSet;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;

/// A miss that enters a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alloc {
    /// It becomes a query; otherwise it goes to L2.
    pub query: bool,
    /// Line address.
    pub tag: u64,
    /// Id.
    pub id: u64,
}

/// What reaches a slot in one cycle. `probe.start` is found by the slot.
#[derive(Debug, Clone, Copy, Default)]
pub struct In<'a> {
    /// A miss.
    pub alloc: Option<Alloc>,
    /// The tag is taken by an engine.
    pub encode_ready: bool,
    /// The result of the engine.
    pub encoded: Option<&'a Indices>,
    /// Lookups that are granted, a mask.
    pub lookup_ready: u8,
    /// Rows that arrive, if any do.
    pub rows: Option<&'a Rows>,
    /// What reaches the probe engine.
    pub probe: probe_engine::In,
    /// The L2 request is taken.
    pub l2_ready: bool,
    /// The outcome is taken.
    pub outcome_ready: bool,
}

/// Where the miss is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No miss.
    Free,
    /// Asks for an engine.
    Encode,
    /// In the engine.
    Encoding,
    /// Asks for its rows.
    Lookup,
    /// Waits for `lookup_latency`.
    Hold,
    /// Probes its candidates.
    Probe,
    /// Asks L2.
    L2,
    /// Shows its outcome.
    Outcome,
}

/// A slot.
#[derive(Debug, Clone)]
pub struct QuerySlot {
    all_k: u8,
    all_sms: SmSet,
    /// Cycles in HOLD.
    hold_cycles: u32,
    state: State,
    tag: u64,
    id: u64,
    indices: Indices,
    pending: u8,
    hold: u32,
    end: End,
    reduction: AndReduction,
    engine: ProbeEngine,
}

impl QuerySlot {
    pub fn new(c: &Config) -> Self {
        let z = Sizes::new(c);
        Self {
            all_k: z.all_k(),
            all_sms: z.all_sms(),
            hold_cycles: c.lookup_latency - 2,
            state: State::Free,
            tag: 0,
            id: 0,
            indices: [0; MAX_K],
            pending: 0,
            hold: 0,
            end: End::L2(Reason::Disabled),
            reduction: AndReduction::default(),
            engine: ProbeEngine::new(c),
        }
    }

    /// Where the miss is.
    pub fn state(&self) -> State {
        self.state
    }

    /// It waits for something: without an input, a cycle changes nothing.
    pub fn rests(&self) -> bool {
        match self.state {
            State::Free | State::Encoding => true,
            State::Lookup => self.pending == 0,
            State::Probe => self.engine.waits(),
            State::Encode | State::Hold | State::L2 | State::Outcome => false,
        }
    }

    /// Its line address.
    pub fn tag(&self) -> u64 {
        self.tag
    }

    /// Its id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Its indices.
    pub fn indices(&self) -> &Indices {
        &self.indices
    }

    /// Lookups that ask, a mask.
    pub fn lookups(&self) -> u8 {
        if self.state == State::Lookup { self.pending } else { 0 }
    }

    /// The candidates that are left.
    pub fn candidates(&self) -> SmSet {
        self.reduction.candidates()
    }

    /// Its probe engine.
    pub fn engine(&self) -> &ProbeEngine {
        &self.engine
    }

    /// How its probing ended.
    pub fn end(&self) -> End {
        self.end
    }

    /// End of the cycle.
    pub fn clock(&mut self, i: &In) {
        let mut probe = i.probe;
        match self.state {
            State::Free => {
                if let Some(alloc) = i.alloc {
                    (self.tag, self.id) = (alloc.tag, alloc.id);
                    self.end = End::L2(Reason::Disabled);
                    self.state = if alloc.query { State::Encode } else { State::L2 };
                }
            }
            State::Encode if i.encode_ready => self.state = State::Encoding,
            State::Encode => {}
            State::Encoding => {
                if let Some(indices) = i.encoded {
                    (self.indices, self.pending) = (*indices, self.all_k);
                    self.reduction.start(self.all_k, self.all_sms);
                    self.state = State::Lookup;
                }
            }
            State::Lookup => {
                self.pending &= !i.lookup_ready;
                let rows = i.rows.copied().unwrap_or_default();
                let done = self.reduction.done(rows);
                self.reduction.rows(rows);
                if done {
                    self.hold = self.hold_cycles;
                    self.leave_lookup(&mut probe);
                }
            }
            State::Hold => {
                self.hold -= 1;
                self.leave_lookup(&mut probe);
            }
            State::Probe => {
                if let Some(target) = self.engine.chosen(&probe) {
                    self.reduction.clear(SmSet::single(target));
                }
                if let Some(end) = self.engine.done(&probe) {
                    self.end = end;
                    self.state = if matches!(end, End::Remote(_)) { State::Outcome } else { State::L2 };
                }
            }
            State::L2 if i.l2_ready => self.state = State::Outcome,
            State::Outcome if i.outcome_ready => self.state = State::Free,
            State::L2 | State::Outcome => {}
        }
        self.engine.clock(&probe);
    }

    /// To PROBE, or to HOLD for the cycles that are left.
    fn leave_lookup(&mut self, probe: &mut probe_engine::In) {
        probe.start = self.hold == 0;
        self.state = if probe.start { State::Probe } else { State::Hold };
    }
}

/// Remote flag, source and reason of an end, as on the outcome port.
pub fn outcome(end: End) -> (bool, u64, u64) {
    match end {
        End::Remote(source) => (true, source as u64, 0),
        End::L2(reason) => (false, 0, reason as u64),
    }
}

ports! { mod i(z: Sizes) {
    NOW = "now_i", 1, z.tw;
    ALLOC = "alloc_i", 1, 1;
    ALLOC_QUERY = "alloc_query_i", 1, 1;
    ALLOC_TAG = "alloc_tag_i", 1, z.t;
    ALLOC_ID = "alloc_id_i", 1, z.i;
    ENCODE_READY = "encode_ready_i", 1, 1;
    ENCODED = "encoded_i", 1, 1;
    ENCODED_INDEX = "encoded_index_i", 1, z.k * z.x;
    LOOKUP_READY = "lookup_ready_i", z.k, 1;
    ROW_VALID = "row_valid_i", z.k, 1;
    ROW = "row_i", z.k, z.n;
    SELECT_GRANT = "select_grant_i", 1, 1;
    SELECT_FOUND = "select_found_i", 1, 1;
    SELECT_TARGET = "select_target_i", 1, z.s;
    OFFER_READY = "offer_ready_i", 1, 1;
    ANSWER_VALID = "answer_valid_i", 1, 1;
    ANSWER_HIT = "answer_hit_i", 1, 1;
    EXPIRED = "expired_i", 1, 1;
    L2_READY = "l2_ready_i", 1, 1;
    OUTCOME_READY = "outcome_ready_i", 1, 1;
} }
ports! { mod o(z: Sizes) {
    FREE = "free_o", 1, 1;
    ENCODE_VALID = "encode_valid_o", 1, 1;
    ENCODE_TAG = "encode_tag_o", 1, z.t, when "encode_valid_o";
    LOOKUP_VALID = "lookup_valid_o", z.k, 1;
    LOOKUP_INDEX = "lookup_index_o", z.k, z.x, when "lookup_valid_o";
    SELECT_VALID = "select_valid_o", 1, 1;
    SELECT_CANDIDATES = "select_candidates_o", 1, z.n, when "select_valid_o";
    OFFER_VALID = "offer_valid_o", 1, 1;
    OFFER_TARGET = "offer_target_o", 1, z.s, when "offer_valid_o";
    OFFER_TAG = "offer_tag_o", 1, z.t, when "offer_valid_o";
    OFFER_DEADLINE = "offer_deadline_o", 1, z.tw, when "offer_valid_o";
    L2_VALID = "l2_valid_o", 1, 1;
    L2_TAG = "l2_tag_o", 1, z.t, when "l2_valid_o";
    L2_ID = "l2_id_o", 1, z.i, when "l2_valid_o";
    OUTCOME_VALID = "outcome_valid_o", 1, 1;
    OUTCOME_ID = "outcome_id_o", 1, z.i, when "outcome_valid_o";
    OUTCOME_REMOTE = "outcome_remote_o", 1, 1, when "outcome_valid_o";
    OUTCOME_SOURCE = "outcome_source_o", 1, z.s, when "outcome_valid_o";
    OUTCOME_REASON = "outcome_reason_o", 1, 3, when "outcome_valid_o";
} }

/// [`QuerySlot`] as a block.
pub struct QuerySlotBlock {
    sizes: Sizes,
    slot: QuerySlot,
}

impl QuerySlotBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), slot: QuerySlot::new(c) }
    }

    fn inputs_of<'a>(inputs: &Signals, indices: &'a Indices, rows: &'a Rows) -> In<'a> {
        let is = |port| signal::is(inputs, port, 0);
        let found = is(i::SELECT_FOUND).then(|| inputs.get(i::SELECT_TARGET, 0) as usize);
        In {
            alloc: is(i::ALLOC).then(|| Alloc {
                query: is(i::ALLOC_QUERY),
                tag: inputs.get(i::ALLOC_TAG, 0),
                id: inputs.get(i::ALLOC_ID, 0),
            }),
            encode_ready: is(i::ENCODE_READY),
            encoded: is(i::ENCODED).then_some(indices),
            lookup_ready: signal::mask(inputs, i::LOOKUP_READY) as u8,
            rows: Some(rows),
            probe: probe_engine::In {
                now: inputs.get(i::NOW, 0) as u32,
                start: false,
                select: is(i::SELECT_GRANT).then_some(found),
                offer_ready: is(i::OFFER_READY),
                answer: is(i::ANSWER_VALID).then_some(is(i::ANSWER_HIT)),
                expired: is(i::EXPIRED),
            },
            l2_ready: is(i::L2_READY),
            outcome_ready: is(i::OUTCOME_READY),
        }
    }
}

impl Block for QuerySlotBlock {
    fn name(&self) -> &str {
        "query_slot"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let slot = &self.slot;
        signal::set_bit(outputs, o::FREE, slot.state == State::Free);
        signal::set_bit(outputs, o::ENCODE_VALID, slot.state == State::Encode);
        signal::set_mask(outputs, o::LOOKUP_VALID, slot.lookups().into());
        for i in 0..self.sizes.k {
            outputs.set(o::LOOKUP_INDEX, i, slot.indices[i].into());
        }
        signal::set_bit(outputs, o::SELECT_VALID, slot.engine.selects());
        signal::set_row(outputs, o::SELECT_CANDIDATES, 0, slot.candidates());
        signal::set_bit(outputs, o::OFFER_VALID, slot.engine.offers(inputs.get(i::NOW, 0) as u32));
        outputs.set(o::OFFER_TARGET, 0, slot.engine.target() as u64);
        outputs.set(o::OFFER_DEADLINE, 0, slot.engine.deadline().into());
        signal::set_bit(outputs, o::L2_VALID, slot.state == State::L2);
        signal::set_bit(outputs, o::OUTCOME_VALID, slot.state == State::Outcome);
        for port in [o::ENCODE_TAG, o::OFFER_TAG, o::L2_TAG] {
            outputs.set(port, 0, slot.tag);
        }
        outputs.set(o::L2_ID, 0, slot.id);
        outputs.set(o::OUTCOME_ID, 0, slot.id);
        let (remote, source, reason) = outcome(slot.end);
        signal::set_bit(outputs, o::OUTCOME_REMOTE, remote);
        outputs.set(o::OUTCOME_SOURCE, 0, source);
        outputs.set(o::OUTCOME_REASON, 0, reason);
    }

    fn clock(&mut self, inputs: &Signals) {
        let Sizes { k, x, .. } = self.sizes;
        let indices = signal::indices(inputs, i::ENCODED_INDEX, 0, k, x);
        let rows = and_reduction::arriving(inputs, i::ROW_VALID, i::ROW);
        let input = Self::inputs_of(inputs, &indices, &rows);
        self.slot.clock(&input);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    const ALLOC: Alloc = Alloc { query: true, tag: 77, id: 5 };

    fn slot(more: &[&str]) -> QuerySlot {
        QuerySlot::new(&config(&[&["sms=4", "hashes=2"][..], more].concat())) // k = 3
    }

    /// Brings a slot into LOOKUP.
    fn looking(more: &[&str]) -> QuerySlot {
        let mut s = slot(more);
        s.clock(&In { alloc: Some(ALLOC), ..In::default() });
        assert_eq!(s.state, State::Encode);
        s.clock(&In::default());
        assert_eq!(s.state, State::Encode);
        s.clock(&In { encode_ready: true, ..In::default() });
        assert_eq!(s.state, State::Encoding);
        s.clock(&In::default());
        s.clock(&In { encoded: Some(&[1, 2, 3, 0, 0, 0, 0, 0]), ..In::default() });
        assert_eq!((s.state, s.lookups()), (State::Lookup, 0b111));
        s
    }

    /// Gives a slot in LOOKUP its rows: 0b0110 is left.
    fn probing(s: &mut QuerySlot) {
        s.clock(&In { lookup_ready: 0b101, ..In::default() });
        assert_eq!(s.lookups(), 0b010);
        let rows = |mask, words: u64| Rows { mask, and: SmSet::from_words(&[words]) };
        s.clock(&In { lookup_ready: 0b010, rows: Some(&rows(0b101, 0b1110)), ..In::default() });
        assert_eq!((s.lookups(), s.state), (0, State::Lookup));
        s.clock(&In { rows: Some(&rows(0b010, 0b0111)), ..In::default() });
    }

    fn select(target: Option<usize>) -> In<'static> {
        In { probe: probe_engine::In { select: Some(target), ..Default::default() }, ..In::default() }
    }

    #[test]
    fn a_query_that_hits() {
        let mut s = looking(&[]);
        probing(&mut s);
        assert_eq!((s.state, s.engine.selects(), s.candidates()), (State::Probe, true, SmSet::from_words(&[0b0110])));
        s.clock(&select(Some(2)));
        assert!(s.engine.offers(0) && s.candidates() == SmSet::single(1));
        s.clock(&In { probe: probe_engine::In { offer_ready: true, ..Default::default() }, ..In::default() });
        s.clock(&In { probe: probe_engine::In { answer: Some(true), ..Default::default() }, ..In::default() });
        assert_eq!((s.state, s.end), (State::Outcome, End::Remote(2)));
        s.clock(&In::default());
        assert_eq!((s.tag(), s.id(), s.state), (77, 5, State::Outcome));
        s.clock(&In { outcome_ready: true, ..In::default() });
        assert_eq!(s.state, State::Free);
    }

    #[test]
    fn a_query_without_candidates_goes_to_l2() {
        let mut s = looking(&[]);
        probing(&mut s);
        s.clock(&select(None));
        assert_eq!((s.state, s.end), (State::L2, End::L2(Reason::NoCandidate)));
        s.clock(&In { outcome_ready: true, ..In::default() });
        assert_eq!(s.state, State::L2);
        s.clock(&In { l2_ready: true, ..In::default() });
        assert_eq!((s.state, s.end), (State::Outcome, End::L2(Reason::NoCandidate)));
    }

    #[test]
    fn a_miss_that_is_no_query() {
        let mut s = slot(&[]);
        s.end = End::Remote(1);
        s.clock(&In { alloc: Some(Alloc { query: false, ..ALLOC }), ..In::default() });
        assert_eq!((s.state, s.end, s.lookups()), (State::L2, End::L2(Reason::Disabled), 0));
        // A second miss does not enter an occupied slot.
        s.clock(&In { alloc: Some(Alloc { tag: 1, ..ALLOC }), ..In::default() });
        assert_eq!(s.tag(), 77);
    }

    #[test]
    fn hold_lasts_lookup_latency_minus_two() {
        for (latency, cycles) in [("lookup_latency=2", 0), ("lookup_latency=3", 1), ("lookup_latency=7", 5)] {
            let mut s = looking(&[latency]);
            probing(&mut s);
            for _ in 0..cycles {
                assert_eq!((s.state, s.engine.selects()), (State::Hold, false));
                s.clock(&In::default());
            }
            assert_eq!((s.state, s.engine.selects()), (State::Probe, true));
        }
    }

    #[test]
    fn block_ports() {
        let mut block = QuerySlotBlock::new(&config(&["sms=4", "hashes=2", "banks=2", "hash_bits=8", "mask_bits=0", "copies=1"]));
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        let mut cycle = |set: &[(usize, usize, u64)]| {
            for port in 0..=i::OUTCOME_READY {
                inputs.words_mut(port).fill(0);
            }
            set.iter().for_each(|&(port, element, value)| inputs.set(port, element, value));
            block.eval(&inputs, &mut outputs);
            block.clock(&inputs);
            outputs.clone()
        };
        let out = cycle(&[(i::ALLOC, 0, 1), (i::ALLOC_QUERY, 0, 1), (i::ALLOC_TAG, 0, 9), (i::ALLOC_ID, 0, 3)]);
        assert_eq!(out.get(o::FREE, 0), 1);
        let out = cycle(&[(i::ENCODE_READY, 0, 1)]);
        assert_eq!((out.get(o::FREE, 0), out.get(o::ENCODE_VALID, 0), out.get(o::ENCODE_TAG, 0)), (0, 1, 9));
        assert_eq!(cycle(&[(i::ENCODED, 0, 1), (i::ENCODED_INDEX, 0, 0b101_011)]).get(o::LOOKUP_VALID, 0), 0);
        let out = cycle(&[(i::LOOKUP_READY, 0, 1), (i::LOOKUP_READY, 1, 1)]);
        assert_eq!((out.words(o::LOOKUP_VALID), out.words(o::LOOKUP_INDEX)), (&[1, 1][..], &[0b011, 0b101][..]));
        cycle(&[(i::ROW_VALID, 0, 1), (i::ROW, 0, 0b1011), (i::ROW_VALID, 1, 1), (i::ROW, 1, 0b1110)]);
        let out = cycle(&[(i::SELECT_GRANT, 0, 1), (i::SELECT_FOUND, 0, 1), (i::SELECT_TARGET, 0, 3), (i::NOW, 0, 2)]);
        assert_eq!((out.get(o::SELECT_VALID, 0), out.get(o::SELECT_CANDIDATES, 0)), (1, 0b1010));
        let out = cycle(&[(i::OFFER_READY, 0, 1)]);
        let offer = [o::OFFER_VALID, o::OFFER_TARGET, o::OFFER_TAG, o::OFFER_DEADLINE].map(|p| out.get(p, 0));
        assert_eq!(offer, [1, 3, 9, 2 + 1 + 32]);
        cycle(&[(i::EXPIRED, 0, 1)]);
        let out = cycle(&[(i::L2_READY, 0, 1)]);
        assert_eq!([o::L2_VALID, o::L2_TAG, o::L2_ID].map(|p| out.get(p, 0)), [1, 9, 3]);
        let out = cycle(&[(i::OUTCOME_READY, 0, 1)]);
        let outcome = [o::OUTCOME_VALID, o::OUTCOME_ID, o::OUTCOME_REMOTE, o::OUTCOME_SOURCE, o::OUTCOME_REASON];
        assert_eq!(outcome.map(|p| out.get(p, 0)), [1, 3, 0, 0, 3]);
        assert_eq!(cycle(&[]).get(o::FREE, 0), 1);
    }
}
