//! The top: all blocks together, cycle by cycle.

use super::and_reduction::Rows;
use super::bf_engine::Encoder;
use super::engine_pool::{self, EnginePool, Owner};
use super::fill_queue::FillQueue;
use super::lookup_network::{self, Lookup, LookupNetwork};
use super::pins::{Inputs, L2Request, Outcome, Outputs, ProbeRequest, input, output};
use super::probe_network::{self, Offer, ProbeNetwork};
use super::probe_order::ProbeOrder;
use super::probe_queue::{self, Probe, ProbeQueue};
use super::probe_return::{self, SlotEvent};
use super::query_slot::{self, Alloc};
use super::query_store::{self, Picks, QueryStore};
use super::refresh_controller::{self, RefreshController};
use super::sizes::{Indices, Sizes};
use super::sm_set::{SmSet, bits};
use super::snapshot_matrix::{SnapshotMatrix, Write};
use super::statistics::{COUNTERS, Counts, Statistics};
use super::stream_buffer::StreamBuffer;
use super::update_lane::{self, Origin, UpdateLane};
use super::update_network::{self, Update, UpdateNetwork};
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;
use std::sync::Arc;

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
/// It is used through [`Block`]; [`input`] and [`output`] are the positions of its ports. A program that drives it by itself is faster through
/// [`C2pCache::show`] and [`C2pCache::step`].
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
    /// Per SM or stream tag: the lane whose source it is.
    lane_of: Vec<u8>,
    updates: UpdateNetwork,
    refresh: RefreshController,
    statistics: Statistics,
    tap: Option<Tap>,
    scratch: Scratch,
    /// What the ports of the block are translated to.
    pins: (Inputs, Outputs),
    /// SMs with a query that does not rest, SMs that take no other query, SMs with probes to answer, with fill notices: a cycle looks only where
    /// something may happen.
    awake: SmSet,
    full: SmSet,
    probed: SmSet,
    filling: SmSet,
    /// Lanes with tags.
    busy_lanes: u64,
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
    /// Lanes, a mask, with a source that has a tag.
    offering: u64,
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
    /// Per SM: the slots, a mask, with the result of an engine, rows or probe events.
    reached: Vec<u64>,
    /// SMs with such slots.
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
            reached: vec![0; z.n],
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
            lane_of: (0..z.n.max(z.st)).map(|source| (source % z.w) as u8).collect(),
            updates: UpdateNetwork::new(c),
            refresh: RefreshController::new(c),
            statistics: Statistics::new(c),
            tap: None,
            scratch,
            pins: (Inputs::new(c), Outputs::new(c)),
            awake: SmSet::EMPTY,
            full: SmSet::EMPTY,
            probed: SmSet::EMPTY,
            filling: SmSet::EMPTY,
            busy_lanes: 0,
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

    /// [`Block::eval`], of which only the debug port looks at inputs.
    pub fn show(&mut self, inputs: &Inputs, o: &mut Outputs) {
        self.prepare();
        let Self { sizes: z, scratch: x, .. } = &*self;
        o.matrix_ready = self.refresh.matrix_ready();
        o.stream_ready = self.buffer.ready(x.stream_taken);
        o.refresh_valid = self.refresh.requests();
        o.miss_ready = z.all_sms() & !self.full;
        o.fill_ready = z.all_sms() & !self.filling;
        for sm in self.filling.iter() {
            o.fill_ready.set(sm, self.fills[sm].ready());
        }
        (o.outcome_valid, o.l2_valid, o.probe_valid) = Default::default();
        for sm in x.picked.iter() {
            let (store, picks) = (&self.stores[sm], &x.picks[sm]);
            if let Some(slot) = picks.outcome.map(|q| store.slot(q)) {
                let (remote, source, reason) = query_slot::outcome(slot.end());
                o.outcome_valid.insert(sm);
                o.outcome[sm] = Outcome { id: slot.id(), remote, source, reason };
            }
            if let Some(slot) = picks.l2.map(|q| store.slot(q)) {
                o.l2_valid.insert(sm);
                o.l2[sm] = L2Request { tag: slot.tag(), id: slot.id() };
            }
        }
        for sm in self.probed.iter() {
            if let Some(probe) = self.queues[sm].probe(self.now) {
                o.probe_valid.insert(sm);
                o.probe[sm] = ProbeRequest { tag: probe.tag, requester: probe.requester };
            }
        }
        o.counters = *self.statistics.counters();
        if z.debug {
            o.debug_ready = self.debug_ready(inputs.debug_index);
            o.debug_row = self.lookups.debug_returned().map(|position| self.matrix.data(position));
        }
    }

    /// [`Block::clock`].
    pub fn step(&mut self, inputs: &Inputs) {
        self.prepare();
        let mut events = Counts::default();
        self.fill_tap();
        self.clock_engines();
        self.clock_queries(inputs, &mut events);
        self.clock_updates(inputs, &mut events);
        if let Some(tap) = &mut self.tap {
            tap.writes.clear();
            tap.writes.extend(self.scratch.update_grants.all_writes());
        }
        self.statistics.clock(&events, inputs.clear_statistics);
        self.now = self.sizes.wrap(self.now + 1);
        self.scratch.prepared = false;
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
        for sm in (x.picked & !self.awake).iter() {
            x.picks[sm] = Picks::default();
        }
        x.picked = self.awake;
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
        let offering = fills.iter().chain(bits(tags)).fold(0_u64, |lanes, source| lanes | 1 << self.lane_of[source]);
        for lane in bits(x.offering & !offering) {
            x.lane_offers[lane] = None;
        }
        x.offering = offering;
        for lane in bits(offering) {
            let offer = self.lanes[lane].offer(self.refresh.block(), valid);
            updating |= u64::from(offer.is_some()) << lane;
            x.lane_offers[lane] = offer;
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
    fn debug_read(&self, inputs: &Inputs) -> Option<u32> {
        inputs.debug_valid.then_some(inputs.debug_index).filter(|&index| self.debug_ready(index))
    }

    fn debug_ready(&self, index: u32) -> bool {
        self.refresh.matrix_ready() && self.lookups.debug_ready(index, &self.scratch.lookup_grants)
    }

    /// Queries: rows, probe events, engine results; then the stores.
    fn clock_queries(&mut self, inputs: &Inputs, events: &mut Counts) {
        let Self { sizes: z, scratch: x, now, .. } = self;
        let now = *now;
        for returned in self.lookups.returned() {
            x.rows[returned.sm * z.q + usize::from(returned.slot)].add(returned.i, self.matrix.data(returned.position));
            x.reached[returned.sm] |= 1 << returned.slot;
            x.called.insert(returned.sm);
        }
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
            let answer = inputs.answer_valid.contains(target).then(|| inputs.answer_hit.contains(target));
            if push.is_none() && answer.is_none() && queue.rests(now) {
                continue;
            }
            let i = probe_queue::In { now, push, answer, probe_ready: inputs.probe_ready.contains(target) };
            events.probes += u64::from(i.probe_ready && queue.probe(now).is_some());
            let happened = queue.step(&i);
            events.discarded_answers += u64::from(happened.discarded);
            events.false_positive_probes += u64::from(happened.answer.is_some_and(|event| event.answer == Some(false)));
            events.expired_probes += u64::from(happened.expired.is_some());
            for event in [happened.answer, happened.expired].into_iter().flatten() {
                probe_return::deliver(z, event, &mut x.events);
                x.reached[event.requester] |= 1 << event.slot;
                x.called.insert(event.requester);
            }
            self.probed.set(target, !queue.is_idle());
        }

        let enabled = inputs.enable && self.refresh.matrix_ready();
        let missing = inputs.miss_valid & !self.full;
        for sm in (x.picked | x.called | missing).iter() {
            let store = &mut self.stores[sm];
            let miss = missing.contains(sm).then(|| Alloc {
                query: enabled && inputs.miss_shareable.contains(sm),
                tag: inputs.miss_tag[sm],
                id: inputs.miss_id[sm],
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
                l2_ready: inputs.l2_ready.contains(sm),
                outcome_ready: inputs.outcome_ready.contains(sm),
            };
            if let Some(q) = picks.outcome.filter(|_| i.outcome_ready) {
                let (remote, _, reason) = query_slot::outcome(store.slot(q).end());
                events.outcome(remote, reason);
            }
            let slots = sm * z.q..(sm + 1) * z.q;
            let reached = std::mem::take(&mut x.reached[sm]);
            store.clock(picks, &i, reached, &x.rows[slots.clone()], &x.events[slots.clone()]);
            self.full.set(sm, !store.miss_ready());
            self.awake.set(sm, !store.rests());
            for slot in bits(reached) {
                x.rows[slots.start + slot] = Rows::default();
                x.events[slots.start + slot] = SlotEvent::default();
            }
        }
        x.called = SmSet::EMPTY;
    }

    /// Engine results go to their owners, and new tags enter the engines.
    fn clock_engines(&mut self) {
        let Self { scratch: x, stores, fills, buffer, .. } = self;
        for (indices, owner) in self.pool.results() {
            match *owner {
                Owner::Miss { sm, slot } => {
                    x.encoded[sm] = Some((slot, *indices));
                    x.reached[sm] |= 1 << slot;
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
    fn clock_updates(&mut self, inputs: &Inputs, events: &mut Counts) {
        let debug = self.debug_read(inputs);
        let Self { scratch: x, .. } = self;
        self.lookups.clock(&mut x.lookup_grants, debug);
        x.updates.clear();
        for lane in bits(self.busy_lanes) {
            self.lanes[lane].writes(|i, index, sm| x.updates.push(Update { port: lane * self.sizes.k + i, index, sm }));
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
        if let Some((clear, mask)) = x.update_grants.clear {
            self.matrix.clear(clear.row, mask, &x.update_grants.cleared);
        }

        let sm = self.refresh.sm();
        let refresh_in = self.refresh_inputs(inputs);
        let flush = refresh_in.flush;
        let Self { scratch: x, .. } = self;
        // Lanes without tags that take none stay as they are.
        for lane in bits(self.busy_lanes | x.engines.update) {
            let (taken, model) = (x.engines.update >> lane & 1 == 1, &mut self.lanes[lane]);
            model.clock(x.lane_offers[lane], taken, sm, x.lane_encoded[lane].take(), std::mem::take(&mut x.written[lane]));
            self.busy_lanes = self.busy_lanes & !(1 << lane) | u64::from(!model.is_empty()) << lane;
        }
        let mut dropped = SmSet::EMPTY;
        let noticed = inputs.fill_valid;
        let changing = if flush { self.sizes.all_sms() } else { noticed | x.fill_taken };
        for sm in changing.iter() {
            let queue = &mut self.fills[sm];
            let notice = noticed.contains(sm).then(|| inputs.fill_tag[sm]);
            if queue.dropped(notice.is_some(), flush) {
                dropped.insert(sm);
            }
            queue.clock(notice, x.fill_taken.contains(sm), flush);
            self.filling.set(sm, queue.head().is_some());
        }
        let beat = inputs.stream.filter(|_| self.buffer.ready(x.stream_taken));
        let load = self.refresh.streaming() && beat.is_some_and(|b| b.sm == sm);
        self.buffer.clock(x.stream_taken, beat.map(|b| (b, &inputs.stream_tag[..])), load, flush);
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

    fn refresh_inputs(&self, inputs: &Inputs) -> refresh_controller::In {
        let beat = inputs.stream.filter(|beat| self.buffer.ready(self.scratch.stream_taken) && beat.sm == self.refresh.sm());
        refresh_controller::In {
            lanes_empty: self.busy_lanes == 0,
            lanes_match: self.refresh.hold() && bits(self.busy_lanes).any(|lane| self.lanes[lane].matches(self.refresh.sm())),
            refresh_ready: inputs.refresh_ready,
            last: beat.is_some_and(|beat| beat.last),
            beat: beat.is_some(),
            buffer_empty: self.buffer.valid() == 0,
            flush: inputs.flush,
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
        let (mut i, mut o) = std::mem::take(&mut self.pins);
        if self.sizes.debug {
            i.read(inputs); // no other output looks at them
        }
        self.show(&i, &mut o);
        o.write(outputs);
        self.pins = (i, o);
    }

    fn clock(&mut self, inputs: &Signals) {
        let (mut i, o) = std::mem::take(&mut self.pins);
        i.read(inputs);
        self.step(&i);
        self.pins = (i, o);
    }
}
