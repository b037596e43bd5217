//! Everything of one SM: its slots, and the arbiters in front of the shared parts.

use super::and_reduction::Rows;
use super::probe_engine;
use super::probe_return::SlotEvent;
use super::query_slot::{self, Alloc, QuerySlot, State};
use super::rr_arbiter::{Kind, RrArbiter};
use super::signal::{self, ports};
use super::sizes::{Indices, MAX_K, Sizes};
use super::sm_set::{SmSet, bits};
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;

/// A slot that is picked, if one is.
pub type Pick = Option<u8>;

/// Slots picked in one cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Picks {
    /// Asks for an engine.
    pub encode: Pick,
    /// Asks at each lookup port.
    pub lookup: [Pick; MAX_K],
    /// Chooses its next candidate.
    pub select: Pick,
    /// Offers a probe.
    pub offer: Pick,
    /// Asks L2.
    pub l2: Pick,
    /// Shows its outcome.
    pub outcome: Pick,
}

/// What reaches a store in one cycle, beside rows and probe events.
#[derive(Debug, Clone, Copy, Default)]
pub struct In {
    /// Time.
    pub now: u32,
    /// A miss; taken when [`QueryStore::miss_ready`].
    pub miss: Option<Alloc>,
    /// The encode request is taken.
    pub encode_ready: bool,
    /// The result of an engine, for a slot.
    pub encoded: Option<(usize, Indices)>,
    /// Lookup ports that are granted, a mask.
    pub lookup_ready: u8,
    /// The nearest of the selected candidates.
    pub select_target: Option<usize>,
    /// The offer is taken.
    pub offer_ready: bool,
    /// The L2 request is taken.
    pub l2_ready: bool,
    /// The outcome is taken.
    pub outcome_ready: bool,
}

/// The store of one SM.
#[derive(Debug, Clone)]
pub struct QueryStore {
    k: usize,
    slots: Vec<QuerySlot>,
    /// Slots that are not free, a mask.
    busy: u64,
    /// Slots that do not rest, a mask: only these can be picked, or change without an input.
    awake: u64,
    encode: RrArbiter,
    lookup: Vec<RrArbiter>,
    select: RrArbiter,
    offer: RrArbiter,
    l2: RrArbiter,
    outcome: RrArbiter,
}

impl QueryStore {
    pub fn new(c: &Config) -> Self {
        let z = Sizes::new(c);
        let arbiter = |kind| RrArbiter::new(kind, z.q);
        Self {
            k: z.k,
            slots: vec![QuerySlot::new(c); z.q],
            busy: 0,
            awake: 0,
            encode: arbiter(Kind::Ready),
            lookup: vec![arbiter(Kind::Ready); z.k],
            select: arbiter(Kind::Free),
            offer: arbiter(Kind::Free),
            l2: arbiter(Kind::Lock),
            outcome: arbiter(Kind::Lock),
        }
    }

    /// A miss can be taken.
    pub fn miss_ready(&self) -> bool {
        (self.busy.count_ones() as usize) < self.slots.len()
    }

    /// A slot.
    pub fn slot(&self, slot: u8) -> &QuerySlot {
        &self.slots[usize::from(slot)]
    }

    /// No slot makes progress by itself: nothing is picked, and a cycle without an input changes nothing.
    pub fn rests(&self) -> bool {
        self.awake == 0
    }

    /// The picks of this cycle.
    pub fn picks(&self, now: u32) -> Picks {
        let mut picks = Picks::default();
        if self.awake == 0 {
            return picks;
        }
        let (mut encode, mut select, mut offer, mut l2, mut outcome) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
        let (mut lookup, mut looking) = ([0_u64; MAX_K], 0_u8);
        for q in bits(self.awake) {
            let (slot, bit) = (&self.slots[q], 1 << q);
            match slot.state() {
                State::Free | State::Encoding | State::Hold => {}
                State::Encode => encode |= bit,
                State::Lookup => {
                    looking |= slot.lookups();
                    bits(slot.lookups().into()).for_each(|i| lookup[i] |= bit);
                }
                State::Probe if slot.engine().selects() => select |= bit,
                State::Probe if slot.engine().offers(now) => offer |= bit,
                State::Probe => {}
                State::L2 => l2 |= bit,
                State::Outcome => outcome |= bit,
            }
        }
        let pick = |arbiter: &RrArbiter, slots| arbiter.pick_of(slots).map(|q| q as u8);
        picks.encode = pick(&self.encode, encode);
        for i in bits(looking.into()) {
            picks.lookup[i] = pick(&self.lookup[i], lookup[i]);
        }
        picks.select = pick(&self.select, select);
        picks.offer = pick(&self.offer, offer);
        picks.l2 = pick(&self.l2, l2);
        picks.outcome = pick(&self.outcome, outcome);
        picks
    }

    /// Candidates of the slot that selects.
    pub fn select_candidates(&self, picks: &Picks) -> SmSet {
        picks.select.map_or(SmSet::EMPTY, |q| self.slot(q).candidates())
    }

    /// End of a cycle with these picks; `rows` and `events` are those of each slot, `reached` the slots, a mask, that have some, or the result of
    /// an engine.
    pub fn clock(&mut self, picks: &Picks, i: &In, reached: u64, rows: &[Rows], events: &[SlotEvent]) {
        let alloc = i.miss.filter(|_| self.miss_ready()).map(|miss| (self.busy.trailing_ones() as usize, miss));
        let allocated = alloc.map_or(0, |(q, _)| 1 << q);
        for q in bits(self.awake | reached | allocated) {
            let (slot, bit) = (&mut self.slots[q], 1 << q);
            let picked = |pick: Pick| pick == Some(q as u8);
            let mut lookup_ready = 0;
            for port in bits(i.lookup_ready.into()) {
                lookup_ready |= u8::from(picked(picks.lookup[port])) << port;
            }
            slot.clock(&query_slot::In {
                alloc: alloc.filter(|alloc| alloc.0 == q).map(|alloc| alloc.1),
                encode_ready: i.encode_ready && picked(picks.encode),
                encoded: i.encoded.as_ref().filter(|e| e.0 == q).map(|e| &e.1),
                lookup_ready,
                rows: (rows[q].mask != 0).then_some(&rows[q]),
                probe: probe_engine::In {
                    now: i.now,
                    start: false,
                    select: picked(picks.select).then_some(i.select_target),
                    offer_ready: i.offer_ready && picked(picks.offer),
                    answer: events[q].answer,
                    expired: events[q].expired,
                },
                l2_ready: i.l2_ready && picked(picks.l2),
                outcome_ready: i.outcome_ready && picked(picks.outcome),
            });
            self.busy = if slot.state() == State::Free { self.busy & !bit } else { self.busy | bit };
            self.awake = if slot.rests() { self.awake & !bit } else { self.awake | bit };
        }
        let clock = |arbiter: &mut RrArbiter, pick: Pick, ready| arbiter.clock(pick.map(usize::from), ready);
        clock(&mut self.encode, picks.encode, i.encode_ready);
        // An arbiter of kind ready stays as it is when its pick is not taken.
        for port in bits(i.lookup_ready.into()) {
            clock(&mut self.lookup[port], picks.lookup[port], true);
        }
        clock(&mut self.select, picks.select, true);
        clock(&mut self.offer, picks.offer, i.offer_ready);
        clock(&mut self.l2, picks.l2, i.l2_ready);
        clock(&mut self.outcome, picks.outcome, i.outcome_ready);
    }
}

ports! { mod i(z: Sizes) {
    NOW = "now_i", 1, z.tw;
    MISS_VALID = "miss_valid_i", 1, 1;
    MISS_TAG = "miss_tag_i", 1, z.t;
    MISS_ID = "miss_id_i", 1, z.i;
    MISS_SHAREABLE = "miss_shareable_i", 1, 1;
    ENABLE = "enable_i", 1, 1;
    MATRIX_READY = "matrix_ready_i", 1, 1;
    ENCODE_READY = "encode_ready_i", 1, 1;
    ENCODED_VALID = "encoded_valid_i", 1, 1;
    ENCODED_SLOT = "encoded_slot_i", 1, z.l;
    ENCODED_INDEX = "encoded_index_i", 1, z.k * z.x;
    LOOKUP_READY = "lookup_ready_i", z.k, 1;
    ROW_VALID = "row_valid_i", z.k, 1;
    ROW_SLOT = "row_slot_i", z.k, z.l;
    ROW = "row_i", z.k, z.n;
    SELECT_FOUND = "select_found_i", 1, 1;
    SELECT_TARGET = "select_target_i", 1, z.s;
    OFFER_READY = "offer_ready_i", 1, 1;
    ANSWER_VALID = "answer_valid_i", z.q, 1;
    ANSWER_HIT = "answer_hit_i", z.q, 1;
    EXPIRED = "expired_i", z.q, 1;
    L2_READY = "l2_ready_i", 1, 1;
    OUTCOME_READY = "outcome_ready_i", 1, 1;
} }
ports! { mod o(z: Sizes) {
    MISS_READY = "miss_ready_o", 1, 1;
    QUERY = "query_o", 1, 1;
    ENCODE_VALID = "encode_valid_o", 1, 1;
    ENCODE_TAG = "encode_tag_o", 1, z.t, when "encode_valid_o";
    ENCODE_SLOT = "encode_slot_o", 1, z.l, when "encode_valid_o";
    LOOKUP_VALID = "lookup_valid_o", z.k, 1;
    LOOKUP_INDEX = "lookup_index_o", z.k, z.x, when "lookup_valid_o";
    LOOKUP_SLOT = "lookup_slot_o", z.k, z.l, when "lookup_valid_o";
    SELECT_CANDIDATES = "select_candidates_o", 1, z.n;
    OFFER_VALID = "offer_valid_o", 1, 1;
    OFFER_TARGET = "offer_target_o", 1, z.s, when "offer_valid_o";
    OFFER_TAG = "offer_tag_o", 1, z.t, when "offer_valid_o";
    OFFER_SLOT = "offer_slot_o", 1, z.l, when "offer_valid_o";
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

/// [`QueryStore`] as a block.
pub struct QueryStoreBlock {
    sizes: Sizes,
    store: QueryStore,
}

impl QueryStoreBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), store: QueryStore::new(c) }
    }

    fn query(inputs: &Signals) -> bool {
        [i::ENABLE, i::MATRIX_READY, i::MISS_SHAREABLE].into_iter().all(|port| signal::is(inputs, port, 0))
    }
}

impl Block for QueryStoreBlock {
    fn name(&self) -> &str {
        "query_store"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let store = &self.store;
        let picks = store.picks(inputs.get(i::NOW, 0) as u32);
        let taken = signal::is(inputs, i::MISS_VALID, 0) && store.miss_ready();
        signal::set_bit(outputs, o::MISS_READY, store.miss_ready());
        signal::set_bit(outputs, o::QUERY, taken && Self::query(inputs));
        signal::set_bit(outputs, o::ENCODE_VALID, picks.encode.is_some());
        if let Some(q) = picks.encode {
            outputs.set(o::ENCODE_TAG, 0, store.slot(q).tag());
            outputs.set(o::ENCODE_SLOT, 0, q.into());
        }
        for port in 0..self.sizes.k {
            outputs.set(o::LOOKUP_VALID, port, u64::from(picks.lookup[port].is_some()));
            if let Some(q) = picks.lookup[port] {
                outputs.set(o::LOOKUP_INDEX, port, store.slot(q).indices()[port].into());
                outputs.set(o::LOOKUP_SLOT, port, q.into());
            }
        }
        signal::set_row(outputs, o::SELECT_CANDIDATES, 0, store.select_candidates(&picks));
        signal::set_bit(outputs, o::OFFER_VALID, picks.offer.is_some());
        if let Some(q) = picks.offer {
            outputs.set(o::OFFER_TARGET, 0, store.slot(q).engine().target() as u64);
            outputs.set(o::OFFER_TAG, 0, store.slot(q).tag());
            outputs.set(o::OFFER_SLOT, 0, q.into());
            outputs.set(o::OFFER_DEADLINE, 0, store.slot(q).engine().deadline().into());
        }
        signal::set_bit(outputs, o::L2_VALID, picks.l2.is_some());
        if let Some(q) = picks.l2 {
            outputs.set(o::L2_TAG, 0, store.slot(q).tag());
            outputs.set(o::L2_ID, 0, store.slot(q).id());
        }
        signal::set_bit(outputs, o::OUTCOME_VALID, picks.outcome.is_some());
        if let Some(q) = picks.outcome {
            let (remote, source, reason) = query_slot::outcome(store.slot(q).end());
            outputs.set(o::OUTCOME_ID, 0, store.slot(q).id());
            signal::set_bit(outputs, o::OUTCOME_REMOTE, remote);
            outputs.set(o::OUTCOME_SOURCE, 0, source);
            outputs.set(o::OUTCOME_REASON, 0, reason);
        }
    }

    fn clock(&mut self, inputs: &Signals) {
        let Sizes { q, k, x, .. } = self.sizes;
        let is = |port| signal::is(inputs, port, 0);
        let mut rows = vec![Rows::default(); q];
        for port in (0..self.store.k).filter(|&p| signal::is(inputs, i::ROW_VALID, p)) {
            if let Some(rows) = rows.get_mut(inputs.get(i::ROW_SLOT, port) as usize) {
                rows.add(port, signal::row(inputs, i::ROW, port));
            }
        }
        let event = |q| SlotEvent {
            answer: signal::is(inputs, i::ANSWER_VALID, q).then(|| signal::is(inputs, i::ANSWER_HIT, q)),
            expired: signal::is(inputs, i::EXPIRED, q),
        };
        let events: Vec<_> = (0..q).map(event).collect();
        let now = inputs.get(i::NOW, 0) as u32;
        let input = In {
            now,
            miss: is(i::MISS_VALID).then(|| Alloc {
                query: Self::query(inputs),
                tag: inputs.get(i::MISS_TAG, 0),
                id: inputs.get(i::MISS_ID, 0),
            }),
            encode_ready: is(i::ENCODE_READY),
            encoded: is(i::ENCODED_VALID)
                .then(|| (inputs.get(i::ENCODED_SLOT, 0) as usize, signal::indices(inputs, i::ENCODED_INDEX, 0, k, x))),
            lookup_ready: signal::mask(inputs, i::LOOKUP_READY) as u8,
            select_target: is(i::SELECT_FOUND).then(|| inputs.get(i::SELECT_TARGET, 0) as usize),
            offer_ready: is(i::OFFER_READY),
            l2_ready: is(i::L2_READY),
            outcome_ready: is(i::OUTCOME_READY),
        };
        let picks = self.store.picks(now);
        let of_engine = |q| input.encoded.is_some_and(|e| e.0 == q);
        let has = |q: usize| rows[q].mask != 0 || events[q] != SlotEvent::default() || of_engine(q);
        let reached = (0..q).filter(|q| has(*q)).fold(0, |reached, q| reached | 1 << q);
        self.store.clock(&picks, &input, reached, &rows, &events);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    /// A store driven by port name, with ports that stay as they were set.
    struct Run {
        block: QueryStoreBlock,
        inputs: Signals,
        outputs: Signals,
    }

    impl Run {
        fn new(more: &[&str]) -> Self {
            // k = 2, 2 banks of 4 rows: indices of 3 bits.
            let base = &["sms=4", "mask_bits=0", "hashes=2", "banks=2", "hash_bits=8", "copies=1", "queries_per_sm=3"][..];
            let block = QueryStoreBlock::new(&config(&[base, more].concat()));
            let (mut inputs, outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
            for port in [i::ENABLE, i::MATRIX_READY, i::MISS_SHAREABLE] {
                inputs.set(port, 0, 1);
            }
            Self { block, inputs, outputs }
        }

        fn set(&mut self, port: usize, value: u64) -> &mut Self {
            self.inputs.set(port, 0, value);
            self
        }

        fn get(&self, port: usize) -> u64 {
            self.outputs.get(port, 0)
        }

        fn cycle(&mut self) -> &mut Self {
            self.block.eval(&self.inputs, &mut self.outputs);
            self.block.clock(&self.inputs);
            self
        }

        /// Gives misses with the tags and ids 1, 2, … to the store.
        fn misses(&mut self, n: u64) -> &mut Self {
            for id in 1..=n {
                self.set(i::MISS_VALID, 1).set(i::MISS_TAG, 100 + id).set(i::MISS_ID, id).cycle();
            }
            self.set(i::MISS_VALID, 0)
        }
    }

    #[test]
    fn misses_take_the_lowest_free_slot() {
        let mut run = Run::new(&[]);
        run.set(i::ENABLE, 0).misses(3);
        assert_eq!((run.get(o::MISS_READY), run.get(o::QUERY)), (1, 0));
        run.set(i::MISS_VALID, 1).set(i::MISS_ID, 9).set(i::ENABLE, 1).cycle();
        assert_eq!((run.get(o::MISS_READY), run.get(o::QUERY)), (0, 0));
        // L2 requests come in slot order, each shown until it is taken.
        run.set(i::MISS_VALID, 0).cycle();
        assert_eq!((run.get(o::L2_VALID), run.get(o::L2_TAG), run.get(o::L2_ID)), (1, 101, 1));
        for id in 1..=3 {
            run.set(i::L2_READY, 1).cycle();
            assert_eq!(run.get(o::L2_ID), id);
        }
        run.set(i::L2_READY, 0).set(i::OUTCOME_READY, 1).cycle();
        assert_eq!((run.get(o::L2_VALID), run.get(o::OUTCOME_ID), run.get(o::OUTCOME_REASON)), (0, 1, 5));
        run.set(i::OUTCOME_READY, 0).cycle();
        // Slot 0 is free again, and takes a query now.
        run.set(i::MISS_VALID, 1).set(i::MISS_ID, 9).cycle();
        assert_eq!((run.get(o::MISS_READY), run.get(o::QUERY)), (1, 1));
        run.set(i::MISS_VALID, 0).cycle();
        assert_eq!((run.get(o::ENCODE_VALID), run.get(o::ENCODE_SLOT)), (1, 0));
    }

    #[test]
    fn only_a_shareable_miss_with_everything_ready_is_a_query() {
        for port in [i::ENABLE, i::MATRIX_READY, i::MISS_SHAREABLE] {
            let mut run = Run::new(&[]);
            run.set(port, 0).misses(1).cycle();
            assert_eq!((run.get(o::ENCODE_VALID), run.get(o::L2_VALID)), (0, 1));
        }
        let mut run = Run::new(&[]);
        run.set(i::MISS_VALID, 1).cycle();
        assert_eq!(run.get(o::QUERY), 1);
    }

    #[test]
    fn a_waiting_l2_request_is_not_overtaken() {
        let mut run = Run::new(&[]);
        run.set(i::ENABLE, 0).set(i::L2_READY, 1).misses(2).cycle(); // both taken, last = 1
        run.set(i::OUTCOME_READY, 1).cycle();
        run.set(i::OUTCOME_READY, 0).set(i::L2_READY, 0).misses(1).cycle();
        assert_eq!((run.get(o::L2_VALID), run.get(o::L2_ID)), (1, 1)); // slot 0 waits
        run.misses(2); // slot 2 comes: it would be next after 1
        run.cycle();
        assert_eq!(run.get(o::L2_ID), 1);
    }

    #[test]
    fn a_query_from_miss_to_outcome() {
        let mut run = Run::new(&[]);
        run.misses(2).set(i::ENCODE_READY, 1).cycle();
        assert_eq!((run.get(o::ENCODE_SLOT), run.get(o::ENCODE_TAG)), (0, 101));
        run.set(i::ENCODED_VALID, 1).set(i::ENCODED_SLOT, 0).set(i::ENCODED_INDEX, 0b110_001).cycle();
        assert_eq!((run.get(o::ENCODE_SLOT), run.get(o::ENCODE_TAG)), (1, 102));
        run.set(i::ENCODED_SLOT, 1).set(i::ENCODED_INDEX, 0b111_010).cycle();
        assert_eq!(run.outputs.words(o::LOOKUP_VALID), [1, 1]);
        assert_eq!(run.outputs.words(o::LOOKUP_INDEX), [0b001, 0b110]);
        // Port 1 is granted, port 0 is not: next cycle port 1 serves slot 1.
        run.set(i::ENCODED_VALID, 0).inputs.set(i::LOOKUP_READY, 1, 1);
        run.cycle().cycle();
        assert_eq!((run.outputs.words(o::LOOKUP_SLOT), run.outputs.words(o::LOOKUP_INDEX)), (&[0, 1][..], &[0b001, 0b111][..]));
        run.set(i::LOOKUP_READY, 1).cycle();
        assert_eq!(run.outputs.words(o::LOOKUP_VALID), [1, 0]);
        // Rows of slot 0 in two cycles, those of slot 1 together.
        run.set(i::LOOKUP_READY, 1).set(i::ROW_VALID, 1).set(i::ROW_SLOT, 0).set(i::ROW, 0b0111).cycle();
        run.inputs.set(i::ROW_VALID, 1, 1);
        run.inputs.set(i::ROW, 1, 0b1110);
        run.set(i::ROW_VALID, 0).cycle();
        assert_eq!(run.get(o::SELECT_CANDIDATES), 0);
        run.set(i::ROW_VALID, 1).set(i::ROW_SLOT, 1).set(i::ROW, 0b1100);
        run.inputs.set(i::ROW_SLOT, 1, 1);
        run.inputs.set(i::ROW, 1, 0b1000);
        run.set(i::SELECT_FOUND, 1).set(i::SELECT_TARGET, 2).set(i::NOW, 10).cycle();
        assert_eq!(run.get(o::SELECT_CANDIDATES), 0b0110);
        for port in 0..2 {
            run.inputs.set(i::ROW_VALID, port, 0);
        }
        run.set(i::SELECT_TARGET, 3).set(i::NOW, 11).cycle();
        assert_eq!(run.get(o::SELECT_CANDIDATES), 0b1000);
        let offer = [o::OFFER_VALID, o::OFFER_TARGET, o::OFFER_TAG, o::OFFER_SLOT, o::OFFER_DEADLINE];
        assert_eq!(offer.map(|p| run.get(p)), [1, 2, 101, 0, 10 + 33]);
        // Not taken: the other slot offers in the next cycle.
        run.set(i::NOW, 12).set(i::OFFER_READY, 1).cycle();
        assert_eq!(offer.map(|p| run.get(p)), [1, 3, 102, 1, 11 + 33]);
        run.cycle();
        assert_eq!(offer.map(|p| run.get(p)), [1, 2, 101, 0, 10 + 33]);
        run.set(i::OFFER_READY, 0);
        run.inputs.set(i::ANSWER_VALID, 1, 1);
        run.inputs.set(i::ANSWER_HIT, 1, 1);
        run.inputs.set(i::EXPIRED, 0, 1);
        run.cycle();
        assert_eq!(run.get(o::OFFER_VALID), 0);
        run.inputs.set(i::ANSWER_VALID, 1, 0);
        run.set(i::EXPIRED, 0).cycle();
        let outcome = [o::OUTCOME_VALID, o::OUTCOME_ID, o::OUTCOME_REMOTE, o::OUTCOME_SOURCE, o::OUTCOME_REASON];
        assert_eq!(outcome.map(|p| run.get(p)), [1, 2, 1, 3, 0]);
        assert_eq!((run.get(o::L2_VALID), run.get(o::L2_ID)), (1, 1));
    }
}
