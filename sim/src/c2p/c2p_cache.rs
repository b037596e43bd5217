//! The top: all blocks together, cycle by cycle.

use super::and_reduction::Rows;
use super::bf_engine::Encoder;
use super::engine_pool::{self, EnginePool, Owner};
use super::fill_queue::FillQueue;
use super::lookup_network::{self, Lookup, LookupNetwork};
use super::probe_network::{self, Offer, ProbeNetwork};
use super::probe_order::ProbeOrder;
use super::probe_queue::{self, Probe, ProbeQueue};
use super::probe_return::{self, SlotEvent};
use super::query_slot::{self, Alloc};
use super::query_store::{self, Picks, QueryStore};
use super::refresh_controller::{self, RefreshController};
use super::signal::{self, ports};
use super::sizes::{Indices, Sizes};
use super::sm_set::{SmSet, bits};
use super::snapshot_matrix::{SnapshotMatrix, Write};
use super::statistics::{COUNTERS, Counts, Statistics};
use super::stream_buffer::{Beat, StreamBuffer};
use super::update_lane::{self, Origin, UpdateLane};
use super::update_network::{self, Update, UpdateNetwork};
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;
use std::sync::Arc;

ports! {
/// Positions of the inputs of `c2p_cache`.
pub mod input(z: Sizes) {
    ENABLE = "enable_i", 1, 1;
    FLUSH = "flush_i", 1, 1;
    CLEAR_STATISTICS = "clear_statistics_i", 1, 1;
    MISS_VALID = "miss_valid_i", z.n, 1;
    MISS_TAG = "miss_tag_i", z.n, z.t;
    MISS_ID = "miss_id_i", z.n, z.i;
    MISS_SHAREABLE = "miss_shareable_i", z.n, 1;
    OUTCOME_READY = "outcome_ready_i", z.n, 1;
    PROBE_READY = "probe_ready_i", z.n, 1;
    ANSWER_VALID = "answer_valid_i", z.n, 1;
    ANSWER_HIT = "answer_hit_i", z.n, 1;
    L2_READY = "l2_ready_i", z.n, 1;
    REFRESH_READY = "refresh_ready_i", z.n, 1;
    STREAM_VALID = "stream_valid_i", 1, 1;
    STREAM_SM = "stream_sm_i", 1, z.s;
    STREAM_TAG = "stream_tag_i", z.st, z.t;
    STREAM_KEEP = "stream_keep_i", z.st, 1;
    STREAM_LAST = "stream_last_i", 1, 1;
    FILL_VALID = "fill_valid_i", z.n, 1;
    FILL_TAG = "fill_tag_i", z.n, z.t;
    DEBUG_VALID = "debug_valid_i", 1, 1;
    DEBUG_INDEX = "debug_index_i", 1, z.x;
} }

ports! {
/// Positions of the outputs of `c2p_cache`.
pub mod output(z: Sizes) {
    MATRIX_READY = "matrix_ready_o", 1, 1;
    MISS_READY = "miss_ready_o", z.n, 1;
    OUTCOME_VALID = "outcome_valid_o", z.n, 1;
    OUTCOME_ID = "outcome_id_o", z.n, z.i;
    OUTCOME_REMOTE = "outcome_remote_o", z.n, 1;
    OUTCOME_SOURCE = "outcome_source_o", z.n, z.s;
    OUTCOME_REASON = "outcome_reason_o", z.n, 3;
    PROBE_VALID = "probe_valid_o", z.n, 1;
    PROBE_TAG = "probe_tag_o", z.n, z.t;
    PROBE_REQUESTER = "probe_requester_o", z.n, z.s;
    ANSWER_READY = "answer_ready_o", z.n, 1;
    L2_VALID = "l2_valid_o", z.n, 1;
    L2_TAG = "l2_tag_o", z.n, z.t;
    L2_ID = "l2_id_o", z.n, z.i;
    REFRESH_VALID = "refresh_valid_o", z.n, 1;
    STREAM_READY = "stream_ready_o", 1, 1;
    FILL_READY = "fill_ready_o", z.n, 1;
    COUNT_MISSES = "count_misses_o", 1, z.cb;
    COUNT_QUERIES = "count_queries_o", 1, z.cb;
    COUNT_CONFLICTS = "count_conflicts_o", 1, z.cb;
    COUNT_PROBES = "count_probes_o", 1, z.cb;
    COUNT_REMOTE_HITS = "count_remote_hits_o", 1, z.cb;
    COUNT_FALSE_POSITIVE_PROBES = "count_false_positive_probes_o", 1, z.cb;
    COUNT_DISCARDED_ANSWERS = "count_discarded_answers_o", 1, z.cb;
    COUNT_EXPIRED_PROBES = "count_expired_probes_o", 1, z.cb;
    COUNT_NO_CANDIDATE = "count_no_candidate_o", 1, z.cb;
    COUNT_ALL_MISSED = "count_all_missed_o", 1, z.cb;
    COUNT_BUSY = "count_busy_o", 1, z.cb;
    COUNT_QUEUE_FULL = "count_queue_full_o", 1, z.cb;
    COUNT_DISABLED = "count_disabled_o", 1, z.cb;
    COUNT_DROPPED_FILLS = "count_dropped_fills_o", 1, z.cb;
    COUNT_REBUILDS = "count_rebuilds_o", 1, z.cb;
    DEBUG_READY = "debug_ready_o", 1, 1;
    DEBUG_VALID = "debug_valid_o", 1, 1;
    DEBUG_ROW = "debug_row_o", 1, z.n;
} }

/// What happened inside the model in one cycle, for oracles and tests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tap {
    /// Lookups granted in this cycle: they read the rows as they are before the writes of the cycle.
    pub reads: Vec<TapRead>,
    /// Writes to the matrix.
    pub writes: Vec<Write>,
    /// The SM whose beats are loaded in this cycle, if any.
    pub streaming: Option<usize>,
    /// The SM whose rebuild ends in this cycle.
    pub rebuilt: Option<usize>,
    /// SMs whose fill notice is dropped in this cycle.
    pub dropped: SmSet,
}

/// A lookup that reads its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TapRead {
    /// SM that asks.
    pub sm: usize,
    /// Id of its miss.
    pub id: u64,
    /// Number of the position, 0..k.
    pub position: usize,
    /// Bank that is read.
    pub bank: usize,
    /// Row in the bank.
    pub row: u32,
}

/// The cycle-accurate model of the whole C2P-Cache.
///
/// It is used through [`Block`]; [`input`] and [`output`] are the positions of its ports.
pub struct C2pCache {
    sizes: Sizes,
    now: u32,
    stores: Vec<QueryStore>,
    orders: Vec<ProbeOrder>,
    pool: EnginePool,
    lookups: LookupNetwork,
    matrix: SnapshotMatrix,
    probes: ProbeNetwork,
    queues: Vec<ProbeQueue>,
    fills: Vec<FillQueue>,
    buffer: StreamBuffer,
    lanes: Vec<UpdateLane>,
    /// Per lane: the SMs and stream tags (a mask) that are its sources.
    sources: Vec<(SmSet, u64)>,
    updates: UpdateNetwork,
    refresh: RefreshController,
    statistics: Statistics,
    tap: Option<Tap>,
    scratch: Scratch,
    /// SMs with a query, those of them that take no other, those whose queries rest, SMs with probes to answer, with fill notices: a cycle
    /// looks only where something may happen.
    querying: SmSet,
    full: SmSet,
    resting: SmSet,
    probed: SmSet,
    filling: SmSet,
}

/// What is found in a cycle; kept to avoid allocation.
#[derive(Default)]
struct Scratch {
    /// The parts that depend on state alone are up to date.
    prepared: bool,
    picks: Vec<Picks>,
    /// SMs with picks.
    picked: SmSet,
    engines: engine_pool::Arbitration,
    lane_offers: Vec<Option<update_lane::Offer>>,
    /// Stream tags that leave.
    stream_taken: u64,
    lookups: Vec<Lookup>,
    lookup_grants: lookup_network::Arbitration,
    /// Per SM: lookup ports granted.
    lookup_ready: Vec<u8>,
    /// Per slot.
    rows: Vec<Rows>,
    /// Per slot.
    events: Vec<SlotEvent>,
    /// SMs with rows.
    reached: SmSet,
    /// SMs with the result of an engine, rows or probe events.
    called: SmSet,
    offers: Vec<Offer>,
    offer_grants: probe_network::Arbitration,
    /// Per target.
    pushes: Vec<Option<Probe>>,
    /// Per SM.
    encoded: Vec<Option<(usize, Indices)>>,
    /// Per lane.
    lane_encoded: Vec<Option<Indices>>,
    updates: Vec<Update>,
    update_grants: update_network::Arbitration,
    /// Per lane: positions written.
    written: Vec<u8>,
    /// Per SM: the head of its fill queue leaves.
    fill_taken: SmSet,
}

impl C2pCache {
    /// The model of a configuration, after reset.
    pub fn new(c: &Config) -> Self {
        let sizes = Sizes::new(c);
        let z = &sizes;
        let scratch = Scratch {
            picks: vec![Picks::default(); z.n],
            lane_offers: vec![None; z.w],
            lookup_ready: vec![0; z.n],
            rows: vec![Rows::default(); z.n * z.q],
            events: vec![SlotEvent::default(); z.n * z.q],
            pushes: vec![None; z.n],
            encoded: vec![None; z.n],
            lane_encoded: vec![None; z.w],
            written: vec![0; z.w],
            ..Scratch::default()
        };
        Self {
            now: 0,
            stores: vec![QueryStore::new(c); z.n],
            orders: (0..z.n).map(|sm| ProbeOrder::new(c, sm)).collect(),
            pool: EnginePool::new(c, Arc::new(Encoder::new(c))),
            lookups: LookupNetwork::new(c),
            matrix: SnapshotMatrix::new(z),
            probes: ProbeNetwork::new(z),
            queues: vec![ProbeQueue::new(c); z.n],
            fills: vec![FillQueue::new(c); z.n],
            buffer: StreamBuffer::new(c),
            lanes: (0..z.w).map(|lane| UpdateLane::new(c, lane)).collect(),
            sources: (0..z.w)
                .map(|lane| {
                    let tags = (lane..z.st).step_by(z.w).fold(0, |tags, tag| tags | 1 << tag);
                    ((lane..z.n).step_by(z.w).collect(), tags)
                })
                .collect(),
            updates: UpdateNetwork::new(c),
            refresh: RefreshController::new(c),
            statistics: Statistics::new(c),
            tap: None,
            scratch,
            querying: SmSet::EMPTY,
            full: SmSet::EMPTY,
            resting: SmSet::EMPTY,
            probed: SmSet::EMPTY,
            filling: SmSet::EMPTY,
            sizes,
        }
    }

    /// From now on, keeps what happens inside; see [`C2pCache::tap`].
    pub fn enable_tap(&mut self) {
        self.tap = Some(Tap::default());
    }

    /// What happened in the latest cycle, once [`C2pCache::enable_tap`] was called.
    pub fn tap(&self) -> Option<&Tap> {
        self.tap.as_ref()
    }

    /// The counters, in the order of [`COUNTERS`].
    pub fn counters(&self) -> &[u64; COUNTERS.len()] {
        self.statistics.counters()
    }

    /// The row of a bank as it is now.
    pub fn row(&self, bank: usize, row: u32) -> SmSet {
        self.matrix.row(bank, row)
    }

    /// Finds what depends on state alone.
    fn prepare(&mut self) {
        if self.scratch.prepared {
            return;
        }
        let Self { sizes: z, scratch: x, .. } = self;
        x.prepared = true;
        let mut encoding = SmSet::EMPTY;
        x.lookups.clear();
        let picked = self.querying & !self.resting;
        for sm in (x.picked & !picked).iter() {
            x.picks[sm] = Picks::default();
        }
        x.picked = picked;
        for sm in x.picked.iter() {
            let (store, picks) = (&self.stores[sm], &mut x.picks[sm]);
            *picks = store.picks(self.now);
            if picks.encode.is_some() {
                encoding.insert(sm);
            }
            for (i, slot) in picks.lookup[..z.k].iter().enumerate() {
                if let Some(slot) = *slot {
                    x.lookups.push(Lookup { sm, i, index: store.slot(slot).indices()[i], slot });
                }
            }
        }
        self.lookups.arbitrate(&x.lookups, &mut x.lookup_grants);

        let (mut fills, tags) = (self.filling, self.buffer.valid());
        if self.refresh.hold() {
            fills.remove(self.refresh.sm());
        }
        let valid = |origin| match origin {
            Origin::Fill(sm) => fills.contains(sm),
            Origin::Stream(tag) => tags >> tag & 1 == 1,
        };
        let mut updating = 0;
        for (lane, offer) in x.lane_offers.iter_mut().enumerate() {
            let (lane_sms, lane_tags) = self.sources[lane];
            let any = !(lane_sms & fills).is_empty() || lane_tags & tags != 0;
            *offer = if any { self.lanes[lane].offer(self.refresh.block(), valid) } else { None };
            updating |= u64::from(offer.is_some()) << lane;
        }
        self.pool.arbitrate(encoding, updating, &mut x.engines);
        x.stream_taken = 0;
        x.fill_taken = SmSet::EMPTY;
        for lane in bits(x.engines.update) {
            match x.lane_offers[lane].map(|o| o.origin) {
                Some(Origin::Stream(tag)) => x.stream_taken |= 1 << tag,
                Some(Origin::Fill(sm)) => x.fill_taken.insert(sm),
                None => {}
            }
        }
    }

    /// The debug read taken in this cycle.
    fn debug_read(&self, inputs: &Signals) -> Option<u32> {
        let valid = self.sizes.debug && signal::is(inputs, input::DEBUG_VALID, 0);
        valid.then(|| inputs.get(input::DEBUG_INDEX, 0) as u32).filter(|&index| self.debug_ready(index))
    }

    fn debug_ready(&self, index: u32) -> bool {
        self.refresh.matrix_ready() && self.lookups.debug_ready(index, &self.scratch.lookup_grants)
    }

    /// Queries: rows, probe events, engine results; then the stores.
    fn clock_queries(&mut self, inputs: &Signals, events: &mut Counts) {
        let Self { sizes: z, scratch: x, now, .. } = self;
        let now = *now;
        for returned in self.lookups.returned() {
            x.rows[returned.sm * z.q + usize::from(returned.slot)].add(returned.i, self.matrix.data(returned.position));
            x.reached.insert(returned.sm);
        }
        x.called |= x.reached;
        for (lookup, &granted) in x.lookups.iter().zip(&x.lookup_grants.granted) {
            x.lookup_ready[lookup.sm] |= u8::from(granted) << lookup.i;
            events.conflicts += u64::from(!granted);
        }

        x.offers.clear();
        for sm in x.picked.iter() {
            if let Some(slot) = x.picks[sm].offer {
                let query = self.stores[sm].slot(slot);
                let (target, deadline) = (query.engine().target(), query.engine().deadline());
                x.offers.push(Offer { target, probe: Probe { tag: query.tag(), requester: sm, slot: slot.into(), deadline } });
            }
        }
        self.probes.arbitrate(&x.offers, |target| self.queues[target].push_ready(), &mut x.offer_grants);
        self.probes.clock(&x.offer_grants);
        for &(target, place) in &x.offer_grants.pushes {
            x.pushes[target] = Some(x.offers[place].probe);
            self.probed.insert(target);
        }
        for target in self.probed.iter() {
            let (queue, push) = (&mut self.queues[target], x.pushes[target].take());
            let is = |port| signal::is(inputs, port, target);
            let answer = is(input::ANSWER_VALID).then(|| is(input::ANSWER_HIT));
            if push.is_none() && answer.is_none() && queue.rests(now) {
                continue;
            }
            let i = probe_queue::In { now, push, answer, probe_ready: is(input::PROBE_READY) };
            events.probes += u64::from(i.probe_ready && queue.probe(now).is_some());
            let happened = queue.step(&i);
            events.discarded_answers += u64::from(happened.discarded);
            events.false_positive_probes += u64::from(happened.answer.is_some_and(|event| event.answer == Some(false)));
            events.expired_probes += u64::from(happened.expired.is_some());
            for event in [happened.answer, happened.expired].into_iter().flatten() {
                probe_return::deliver(z, event, &mut x.events);
                x.called.insert(event.requester);
            }
            self.probed.set(target, !queue.is_idle());
        }

        let enabled = signal::is(inputs, input::ENABLE, 0) && self.refresh.matrix_ready();
        let missing = signal::sms(inputs, input::MISS_VALID) & !self.full;
        for sm in (x.picked | x.called | missing).iter() {
            let store = &mut self.stores[sm];
            let is = |port| signal::is(inputs, port, sm);
            let miss = missing.contains(sm).then(|| Alloc {
                query: enabled && is(input::MISS_SHAREABLE),
                tag: inputs.get(input::MISS_TAG, sm),
                id: inputs.get(input::MISS_ID, sm),
            });
            if let Some(miss) = miss {
                events.misses += 1;
                events.queries += u64::from(miss.query);
            }
            let picks = &x.picks[sm];
            let i = query_store::In {
                now,
                miss,
                encode_ready: x.engines.miss.contains(sm),
                encoded: x.encoded[sm].take(),
                lookup_ready: std::mem::take(&mut x.lookup_ready[sm]),
                select_target: if picks.select.is_some() { self.orders[sm].nearest(store.select_candidates(picks)) } else { None },
                offer_ready: x.offer_grants.ready.contains(sm),
                l2_ready: is(input::L2_READY),
                outcome_ready: is(input::OUTCOME_READY),
            };
            if let Some(q) = picks.outcome.filter(|_| i.outcome_ready) {
                let (remote, _, reason) = query_slot::outcome(store.slot(q).end());
                events.outcome(remote, reason);
            }
            let slots = sm * z.q..(sm + 1) * z.q;
            store.clock(picks, &i, &x.rows[slots.clone()], &x.events[slots.clone()]);
            self.querying.set(sm, !store.is_idle());
            self.full.set(sm, !store.miss_ready());
            self.resting.set(sm, store.rests());
            if x.reached.contains(sm) {
                x.rows[slots.clone()].fill(Rows::default());
            }
            x.events[slots].fill(SlotEvent::default());
        }
        (x.reached, x.called) = (SmSet::EMPTY, SmSet::EMPTY);
    }

    /// Engine results go to their owners, and new tags enter the engines.
    fn clock_engines(&mut self) {
        let Self { scratch: x, stores, fills, buffer, .. } = self;
        for (indices, owner) in self.pool.results() {
            match *owner {
                Owner::Miss { sm, slot } => {
                    x.encoded[sm] = Some((slot, *indices));
                    x.called.insert(sm);
                }
                Owner::Update { lane } => x.lane_encoded[lane] = Some(*indices),
            }
        }
        let miss = |sm: usize| {
            let slot = x.picks[sm].encode.expect("only a picked slot gets an engine");
            (stores[sm].slot(slot).tag(), slot.into())
        };
        let update = |lane: usize| match x.lane_offers[lane].expect("only a lane with an offer gets an engine").origin {
            Origin::Fill(sm) => fills[sm].head().expect("an offered fill queue has a head"),
            Origin::Stream(tag) => buffer.tag(tag),
        };
        self.pool.clock(&x.engines, miss, update);
    }

    /// The matrix, and the update path.
    fn clock_updates(&mut self, inputs: &Signals, events: &mut Counts) {
        let debug = self.debug_read(inputs);
        let Self { scratch: x, .. } = self;
        self.lookups.clock(&mut x.lookup_grants, debug);
        x.updates.clear();
        for (lane, model) in self.lanes.iter().enumerate() {
            model.writes(|i, index, sm| x.updates.push(Update { port: lane * self.sizes.k + i, index, sm }));
        }
        self.updates.arbitrate(&x.updates, self.refresh.clear(), &mut x.update_grants);
        self.updates.clock(&x.update_grants);
        let (k, mut lane) = (self.sizes.k, 0);
        for (update, &granted) in x.updates.iter().zip(&x.update_grants.granted) {
            while update.port >= (lane + 1) * k {
                lane += 1; // ports ascend
            }
            x.written[lane] |= u8::from(granted) << (update.port - lane * k);
        }
        x.lookup_grants.reads.iter().for_each(|read| self.matrix.read(*read));
        x.update_grants.writes.iter().for_each(|write| self.matrix.write(*write));

        let sm = self.refresh.sm();
        let refresh_in = self.refresh_inputs(inputs);
        let flush = refresh_in.flush;
        let Self { scratch: x, .. } = self;
        for (lane, model) in self.lanes.iter_mut().enumerate() {
            let taken = x.engines.update >> lane & 1 == 1;
            model.clock(x.lane_offers[lane], taken, sm, x.lane_encoded[lane].take(), std::mem::take(&mut x.written[lane]));
        }
        let mut dropped = SmSet::EMPTY;
        let noticed = signal::sms(inputs, input::FILL_VALID);
        let changing = if flush { self.sizes.all_sms() } else { noticed | x.fill_taken };
        for sm in changing.iter() {
            let queue = &mut self.fills[sm];
            let notice = noticed.contains(sm).then(|| inputs.get(input::FILL_TAG, sm));
            if queue.dropped(notice.is_some(), flush) {
                dropped.insert(sm);
            }
            queue.clock(notice, x.fill_taken.contains(sm), flush);
            self.filling.set(sm, queue.head().is_some());
        }
        let beat = signal::is(inputs, input::STREAM_VALID, 0) && self.buffer.ready(x.stream_taken);
        let beat = beat.then(|| {
            let keep = signal::mask(inputs, input::STREAM_KEEP);
            Beat { sm: inputs.get(input::STREAM_SM, 0) as usize, keep, last: signal::is(inputs, input::STREAM_LAST, 0) }
        });
        let load = self.refresh.streaming() && beat.is_some_and(|b| b.sm == sm);
        self.buffer.clock(x.stream_taken, beat.map(|b| (b, inputs.words(input::STREAM_TAG))), load, flush);
        let rebuilt = self.refresh.rebuilt(&refresh_in);
        events.rebuilds += u64::from(rebuilt);
        events.dropped_fills += u64::from(dropped.len());
        if let Some(tap) = &mut self.tap {
            tap.streaming = self.refresh.streaming().then_some(sm);
            tap.rebuilt = rebuilt.then_some(sm);
            tap.dropped = dropped;
        }
        self.refresh.clock(&refresh_in);
    }

    fn refresh_inputs(&self, inputs: &Signals) -> refresh_controller::In {
        let beat = signal::is(inputs, input::STREAM_VALID, 0)
            && self.buffer.ready(self.scratch.stream_taken)
            && inputs.get(input::STREAM_SM, 0) as usize == self.refresh.sm();
        refresh_controller::In {
            lanes_empty: self.lanes.iter().all(UpdateLane::is_empty),
            lanes_match: self.refresh.hold() && self.lanes.iter().any(|lane| lane.matches(self.refresh.sm())),
            refresh_ready: signal::sms(inputs, input::REFRESH_READY),
            last: beat && signal::is(inputs, input::STREAM_LAST, 0),
            beat,
            buffer_empty: self.buffer.valid() == 0,
            flush: signal::is(inputs, input::FLUSH, 0),
            clear_ready: self.scratch.update_grants.clear_ready,
        }
    }

    fn fill_tap(&mut self) {
        let Self { tap: Some(tap), sizes: z, scratch: x, stores, .. } = self else { return };
        tap.reads.clear();
        for (lookup, _) in x.lookups.iter().zip(&x.lookup_grants.granted).filter(|(_, granted)| **granted) {
            let Lookup { sm, i, index, slot } = *lookup;
            let id = stores[sm].slot(slot).id();
            tap.reads.push(TapRead { sm, id, position: i, bank: z.bank(index), row: z.row(index) });
        }
    }
}

impl Block for C2pCache {
    fn name(&self) -> &str {
        "c2p_cache"
    }

    fn inputs(&self) -> Vec<Port> {
        let mut ports = input::list(&self.sizes);
        ports.truncate(if self.sizes.debug { ports.len() } else { input::DEBUG_VALID });
        ports
    }

    fn outputs(&self) -> Vec<Port> {
        let mut ports = output::list(&self.sizes);
        ports.truncate(if self.sizes.debug { ports.len() } else { output::DEBUG_READY });
        ports
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        self.prepare();
        let Self { sizes: z, scratch: x, .. } = &*self;
        signal::set_bit(outputs, output::MATRIX_READY, self.refresh.matrix_ready());
        signal::set_bit(outputs, output::STREAM_READY, self.buffer.ready(x.stream_taken));
        signal::set_sms(outputs, output::REFRESH_VALID, self.refresh.requests());
        outputs.words_mut(output::ANSWER_READY).fill(1);
        outputs.words_mut(output::MISS_READY).fill(1);
        for sm in self.full.iter() {
            outputs.set(output::MISS_READY, sm, 0);
        }
        outputs.words_mut(output::FILL_READY).fill(1);
        for sm in self.filling.iter() {
            outputs.set(output::FILL_READY, sm, u64::from(self.fills[sm].ready()));
        }
        // From OUTCOME_VALID to L2_ID, all but ANSWER_READY, which lies between: most are 0 in most cycles.
        for port in (output::OUTCOME_VALID..output::ANSWER_READY).chain(output::L2_VALID..=output::L2_ID) {
            outputs.words_mut(port).fill(0);
        }
        for sm in x.picked.iter() {
            let (store, picks) = (&self.stores[sm], &x.picks[sm]);
            if let Some(slot) = picks.outcome.map(|q| store.slot(q)) {
                let (remote, source, reason) = query_slot::outcome(slot.end());
                outputs.set(output::OUTCOME_VALID, sm, 1);
                outputs.set(output::OUTCOME_ID, sm, slot.id());
                outputs.set(output::OUTCOME_REMOTE, sm, u64::from(remote));
                outputs.set(output::OUTCOME_SOURCE, sm, source);
                outputs.set(output::OUTCOME_REASON, sm, reason);
            }
            if let Some(slot) = picks.l2.map(|q| store.slot(q)) {
                outputs.set(output::L2_VALID, sm, 1);
                outputs.set(output::L2_TAG, sm, slot.tag());
                outputs.set(output::L2_ID, sm, slot.id());
            }
        }
        for sm in self.probed.iter() {
            if let Some(probe) = self.queues[sm].probe(self.now) {
                outputs.set(output::PROBE_VALID, sm, 1);
                outputs.set(output::PROBE_TAG, sm, probe.tag);
                outputs.set(output::PROBE_REQUESTER, sm, probe.requester as u64);
            }
        }
        for (counter, &value) in self.statistics.counters().iter().enumerate() {
            outputs.set(output::COUNT_MISSES + counter, 0, value);
        }
        if z.debug {
            let position = self.lookups.debug_returned();
            signal::set_bit(outputs, output::DEBUG_READY, self.debug_ready(inputs.get(input::DEBUG_INDEX, 0) as u32));
            signal::set_bit(outputs, output::DEBUG_VALID, position.is_some());
            signal::set_row(outputs, output::DEBUG_ROW, 0, position.map_or(SmSet::EMPTY, |p| self.matrix.data(p)));
        }
    }

    fn clock(&mut self, inputs: &Signals) {
        self.prepare();
        let mut events = Counts::default();
        self.fill_tap();
        self.clock_engines();
        self.clock_queries(inputs, &mut events);
        self.clock_updates(inputs, &mut events);
        if let Some(tap) = &mut self.tap {
            tap.writes.clone_from(&self.scratch.update_grants.writes);
        }
        self.statistics.clock(&events, signal::is(inputs, input::CLEAR_STATISTICS, 0));
        self.now = self.sizes.wrap(self.now + 1);
        self.scratch.prepared = false;
    }
}
