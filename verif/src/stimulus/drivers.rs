//! One driver per kind of block.

use super::{Driver, Io};
use l1forge_config::Config;
use l1forge_sim::c2p::environment::{Environment, Profile, random};
use rand::Rng;
use std::collections::VecDeque;

/// Cycles at the start of `and_reduction` without a start.
const BEFORE_START: u64 = 50;

/// The driver of a block.
pub(super) fn driver(name: &str, c: &Config, seed: u64) -> Box<dyn Driver> {
    let (sms, slots, rows) = (u64::from(c.sms), u64::from(c.queries_per_sm), u64::from(c.rows()));
    let free = |fills: &[(&'static str, Fill)]| -> Box<dyn Driver> { Box::new(Free(fills.to_vec())) };
    match name {
        "rr_arbiter_free" => free(&[("req_i", Fill::Bits(0))]),
        "rr_arbiter_ready" | "rr_arbiter_lock" => free(&[("req_i", Fill::Bits(0)), ("ready_i", Fill::Bits(1))]),
        "bf_engine" => free(&[("valid_i", Fill::Bits(0)), ("tag_i", Fill::Tag), ("user_i", Fill::Below(256))]),
        "engine_pool" => free(&[
            ("miss_valid_i", Fill::Bits(0)),
            ("miss_tag_i", Fill::Tag),
            ("miss_slot_i", Fill::Below(slots)),
            ("update_valid_i", Fill::Bits(1)),
            ("update_tag_i", Fill::Tag),
        ]),
        "and_reduction" => Box::new(AndReduction),
        "probe_engine" => Box::new(ProbeEngine { time: Time::new(c), sms, idle: true, waiting: false }),
        "query_slot" => Box::new(QuerySlot {
            time: Time::new(c),
            sms,
            latency: c.engine_latency,
            encoded_in: 0,
            granted: vec![false; c.k() as usize],
            waiting: false,
        }),
        "query_store" => Box::new(QueryStore {
            time: Time::new(c),
            sms,
            slots: c.queries_per_sm as usize,
            latency: c.engine_latency,
            miss: false,
            encoding: VecDeque::new(),
            granted: vec![None; c.k() as usize],
            waiting: vec![false; c.queries_per_sm as usize],
        }),
        "bank_arbiter" => free(&[("req_i", Fill::Bits(0)), ("payload_i", Fill::Below(rows))]),
        "update_bank_arbiter" => Box::new(UpdateBankArbiter { sms, row_bits: c.row_bits() }),
        "lookup_network" => Box::new(LookupNetwork {
            slots,
            debug: c.debug_port,
            banks: c.banks as usize,
            reads: vec![None; (c.copies * c.banks) as usize],
        }),
        "snapshot_matrix" => Box::new(SnapshotMatrix { rows }),
        "probe_order" => free(&[("candidates_i", Fill::Bits(0))]),
        "probe_network" => {
            let time = 1 << Time::new(c).bits;
            free(&[
                ("offer_valid_i", Fill::Bits(0)),
                ("offer_target_i", Fill::Below(sms)),
                ("offer_tag_i", Fill::Tag),
                ("offer_slot_i", Fill::Below(slots)),
                ("offer_deadline_i", Fill::Below(time)),
                ("push_ready_i", Fill::Bits(1)),
            ])
        }
        "probe_queue" => Box::new(ProbeQueue { time: Time::new(c), sms, slots, timeout: u64::from(c.probe_timeout) }),
        "probe_return" => Box::new(ProbeReturn { sms: c.sms as usize, slots: c.queries_per_sm as usize }),
        "fill_queue" => free(&[
            ("fill_valid_i", Fill::Bits(0)),
            ("fill_tag_i", Fill::Tag),
            ("hold_i", Fill::Seldom(1, 0.5)),
            ("tag_ready_i", Fill::Bits(2)),
            ("flush_i", Fill::Seldom(3, 0.1)),
        ]),
        "stream_buffer" => Box::new(StreamBuffer { sms, beat: false }),
        "update_lane" => Box::new(UpdateLane { sms, latency: c.engine_latency, encoding: VecDeque::new() }),
        "update_network" => free(&[
            ("write_valid_i", Fill::Bits(0)),
            ("write_index_i", Fill::Indices),
            ("write_sm_i", Fill::Below(sms)),
            ("clear_valid_i", Fill::Seldom(1, 0.5)),
            ("clear_all_i", Fill::Bits(2)),
            ("clear_row_i", Fill::Below(rows)),
            ("clear_sm_i", Fill::Below(sms)),
        ]),
        "refresh_controller" => Box::new(RefreshController {
            last_row: rows - 1,
            period: u64::from(c.refresh_period),
            elapsed: 0,
            timeout: u64::from(c.stream_timeout),
            since_hold: 0,
            before: (0, false, false),
        }),
        "statistics" => Box::new(Statistics { sms: c.sms as usize }),
        "c2p_cache" => {
            let profile = match seed % 4 {
                0 => Profile::slow(),
                1 => Profile { flush: 0.002, ..Profile::random() },
                2 => Profile { miss: 1.0, outcome_ready: 1.0, l2_ready: 1.0, ..Profile::random() },
                _ => Profile::random(),
            };
            let lines = c.l1_bytes / c.line_bytes;
            let pool = (0..u64::from(lines).min(400) + 40).map(|x| (x * 7919 % 100_003) & (u64::MAX >> (64 - c.tag_bits()))).collect();
            Box::new(Top(Environment::new(c, profile, Box::new(random(pool, 0.1, 0.02, seed)), seed)))
        }
        _ => unreachable!("a golden model of {name} exists, its stimulus does not"),
    }
}

/// Random values of one input.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fill {
    /// Every bit 1 with the probability of a knob.
    Bits(usize),
    /// Every bit 1 with the probability of a knob times a number.
    Seldom(usize, f64),
    /// Every element below a number.
    Below(u64),
    /// Every element a tag.
    Tag,
    /// Every element one or several indices in range.
    Indices,
}

impl Fill {
    pub(super) fn fill(self, port: &str, io: &mut Io) {
        for element in 0..io.count(port) {
            match self {
                Self::Bits(knob) => io.random_bits(port, element, knob),
                Self::Seldom(knob, p) => {
                    let value = io.rarely(p) && io.chance(knob);
                    io.flag(port, element, value);
                }
                Self::Below(limit) => {
                    let value = io.below(limit);
                    io.set(port, element, value);
                }
                Self::Tag => {
                    let tag = io.tag();
                    io.set(port, element, tag);
                }
                Self::Indices => io.random_indices(port, element),
            }
        }
    }
}

/// Every input random for itself.
pub(super) struct Free(pub(super) Vec<(&'static str, Fill)>);

impl Driver for Free {
    fn drive(&mut self, io: &mut Io) {
        for (port, fill) in &self.0 {
            fill.fill(port, io);
        }
    }
}

/// The time base.
struct Time {
    now: u64,
    bits: u32,
}

impl Time {
    fn new(c: &Config) -> Self {
        Self { now: 0, bits: u32::BITS - (c.probe_timeout.max(c.answer_timeout) + 1).leading_zeros() }
    }

    fn wrap(&self, time: u64) -> u64 {
        time & ((1 << self.bits) - 1)
    }

    fn drive(&mut self, io: &mut Io) {
        io.set("now_i", 0, self.now);
        self.now = self.wrap(self.now + 1);
    }
}

struct AndReduction;

impl Driver for AndReduction {
    fn drive(&mut self, io: &mut Io) {
        let start = match io.cycle {
            0..BEFORE_START => false,
            BEFORE_START => true,
            _ => io.chance(0) && io.rarely(0.5),
        };
        io.flag("start_i", 0, start);
        Fill::Bits(1).fill("row_valid_i", io);
        for row in 0..io.count("row_i") {
            // Rows with few zeros, so that something is left.
            let knob = 2 + row % 2;
            io.random_bits("row_i", row, knob);
        }
        Fill::Seldom(4, 0.2).fill_bits("clear_i", io);
    }
}

impl Fill {
    /// As [`fill`](Fill::fill), bit by bit for wide elements.
    fn fill_bits(self, port: &str, io: &mut Io) {
        let Self::Seldom(knob, p) = self else { return self.fill(port, io) };
        let bits = io.inputs.ports()[io.inputs.index(port)].bits;
        for bit in 0..bits {
            let value = io.rarely(p) && io.chance(knob);
            io.field(port, 0, bit, 1, u64::from(value));
        }
    }
}

/// Answers or expiry of a waiting probe: (answer, hit, expired).
fn answer(io: &mut Io, waiting: bool, knob: usize) -> (bool, bool, bool) {
    let hit = io.rarely(0.3);
    if waiting && io.chance(knob) {
        let expired = io.rarely(0.2);
        (!expired, hit, expired)
    } else {
        (false, hit, false)
    }
}

struct ProbeEngine {
    time: Time,
    sms: u64,
    idle: bool,
    waiting: bool,
}

impl Driver for ProbeEngine {
    fn drive(&mut self, io: &mut Io) {
        self.time.drive(io);
        // The state after reset shows before the first start.
        let early = io.cycle < 12;
        let start = self.idle && !early && io.chance(0);
        io.flag("start_i", 0, start);
        // In all states but WAIT both are without effect.
        let stray = io.rarely(if early { 0.7 } else { 0.1 });
        let (answered, hit, expired) = answer(io, self.waiting || stray, 1);
        io.flag("answer_valid_i", 0, answered);
        io.flag("answer_hit_i", 0, hit);
        io.flag("expired_i", 0, expired);
        io.flag("select_grant_i", 0, false);
        io.eval();
        let selecting = io.output("select_valid_o", 0) != 0;
        let grant = selecting && io.chance(2);
        io.flag("select_grant_i", 0, grant);
        let found = io.rarely(0.8);
        io.flag("select_found_i", 0, found);
        let target = io.below(self.sms);
        io.set("select_target_i", 0, target);
        let ready = io.chance(3) && io.rarely(0.5);
        io.flag("offer_ready_i", 0, ready);
    }

    fn observe(&mut self, io: &Io) {
        if io.input("start_i", 0) != 0 {
            self.idle = false;
        }
        if io.output("done_o", 0) != 0 {
            self.idle = true;
        }
        if io.input("answer_valid_i", 0) | io.input("expired_i", 0) != 0 {
            self.waiting = false;
        }
        if io.both("offer_valid_o", "offer_ready_i", 0) {
            self.waiting = true;
        }
    }
}

/// What `probe_order` would say to the candidates shown; without SM 0, which stands for the requester.
fn select(io: &Io, sms: u64) -> Vec<u64> {
    let port = io.outputs.index("select_candidates_o");
    let words = io.outputs.words(port);
    (1..sms).filter(|s| words[*s as usize / 64] >> (s % 64) & 1 != 0).collect()
}

fn drive_select(io: &mut Io, sms: u64) {
    let candidates = select(io, sms);
    io.flag("select_found_i", 0, !candidates.is_empty());
    let target = match candidates.len() {
        0 => io.below(sms),
        n => candidates[io.below(n as u64) as usize],
    };
    io.set("select_target_i", 0, target);
}

struct QuerySlot {
    time: Time,
    sms: u64,
    latency: u32,
    /// Cycles until the indices come; 0: none are on their way.
    encoded_in: u32,
    /// Lookups granted, rows not yet back.
    granted: Vec<bool>,
    waiting: bool,
}

impl Driver for QuerySlot {
    fn drive(&mut self, io: &mut Io) {
        self.time.drive(io);
        for port in ["alloc_i", "encoded_i", "answer_valid_i", "expired_i", "select_grant_i"] {
            io.flag(port, 0, false);
        }
        io.eval(); // these outputs depend on state and time only
        let alloc = io.output("free_o", 0) != 0 && io.chance(0);
        io.flag("alloc_i", 0, alloc);
        let query = io.rarely(0.85);
        io.flag("alloc_query_i", 0, query);
        Fill::Tag.fill("alloc_tag_i", io);
        Fill::Bits(11).fill("alloc_id_i", io);
        let ready = io.chance(1);
        io.flag("encode_ready_i", 0, ready);
        let encoded = self.encoded_in == 1;
        self.encoded_in = self.encoded_in.saturating_sub(1);
        io.flag("encoded_i", 0, encoded);
        io.random_indices("encoded_index_i", 0);
        Fill::Bits(2).fill("lookup_ready_i", io);
        for i in 0..self.granted.len() {
            let row = self.granted[i] && io.chance(3);
            self.granted[i] &= !row;
            io.flag("row_valid_i", i, row);
            io.random_bits("row_i", i, 4 + i % 2);
        }
        let grant = io.output("select_valid_o", 0) != 0 && io.chance(6);
        io.flag("select_grant_i", 0, grant);
        drive_select(io, self.sms);
        let ready = io.chance(7);
        io.flag("offer_ready_i", 0, ready);
        let (answered, hit, expired) = answer(io, self.waiting, 8);
        io.flag("answer_valid_i", 0, answered);
        io.flag("answer_hit_i", 0, hit);
        io.flag("expired_i", 0, expired);
        let ready = io.chance(9);
        io.flag("l2_ready_i", 0, ready);
        let ready = io.chance(10);
        io.flag("outcome_ready_i", 0, ready);
    }

    fn observe(&mut self, io: &Io) {
        if io.both("encode_valid_o", "encode_ready_i", 0) {
            self.encoded_in = self.latency - 1;
        }
        for (i, granted) in self.granted.iter_mut().enumerate() {
            *granted |= io.both("lookup_valid_o", "lookup_ready_i", i);
        }
        if io.input("answer_valid_i", 0) | io.input("expired_i", 0) != 0 {
            self.waiting = false;
        }
        self.waiting |= io.both("offer_valid_o", "offer_ready_i", 0);
    }
}

struct QueryStore {
    time: Time,
    sms: u64,
    slots: usize,
    latency: u32,
    /// A miss is shown and was not taken.
    miss: bool,
    /// Tags in the engine: cycle in which the result comes, slot.
    encoding: VecDeque<(u64, u64)>,
    /// Slots whose rows come in this cycle, per position.
    granted: Vec<Option<u64>>,
    waiting: Vec<bool>,
}

impl Driver for QueryStore {
    fn drive(&mut self, io: &mut Io) {
        self.time.drive(io);
        if !self.miss {
            self.miss = io.chance(0);
            Fill::Tag.fill("miss_tag_i", io);
            Fill::Bits(11).fill("miss_id_i", io);
            let shareable = io.rarely(0.9);
            io.flag("miss_shareable_i", 0, shareable);
        }
        io.flag("miss_valid_i", 0, self.miss);
        for port in ["enable_i", "matrix_ready_i"] {
            if io.rarely(0.02) {
                let value = io.rarely(0.8);
                io.flag(port, 0, value);
            }
        }
        let ready = io.chance(1);
        io.flag("encode_ready_i", 0, ready);
        let encoded = self.encoding.front().copied().filter(|e| e.0 == io.cycle);
        if encoded.is_some() {
            self.encoding.pop_front();
        }
        io.flag("encoded_valid_i", 0, encoded.is_some());
        let slot = encoded.map_or_else(|| io.below(self.slots as u64), |e| e.1);
        io.set("encoded_slot_i", 0, slot);
        io.random_indices("encoded_index_i", 0);
        Fill::Bits(2).fill("lookup_ready_i", io);
        for i in 0..self.granted.len() {
            let row = self.granted[i].take();
            io.flag("row_valid_i", i, row.is_some());
            let slot = row.unwrap_or_else(|| io.below(self.slots as u64));
            io.set("row_slot_i", i, slot);
            io.random_bits("row_i", i, 4 + i % 2);
        }
        for slot in 0..self.slots {
            let (answered, hit, expired) = answer(io, self.waiting[slot], 6);
            io.flag("answer_valid_i", slot, answered);
            io.flag("answer_hit_i", slot, hit);
            io.flag("expired_i", slot, expired);
            self.waiting[slot] &= !(answered || expired);
        }
        io.eval(); // for the candidates, which depend on the state only
        drive_select(io, self.sms);
        for (port, knob) in [("offer_ready_i", 7), ("l2_ready_i", 8), ("outcome_ready_i", 9)] {
            let ready = io.chance(knob);
            io.flag(port, 0, ready);
        }
    }

    fn observe(&mut self, io: &Io) {
        self.miss &= io.output("miss_ready_o", 0) == 0;
        if io.both("encode_valid_o", "encode_ready_i", 0) {
            self.encoding.push_back((io.cycle + u64::from(self.latency) - 1, io.output("encode_slot_o", 0)));
        }
        for (i, granted) in self.granted.iter_mut().enumerate() {
            *granted = io.both("lookup_valid_o", "lookup_ready_i", i).then(|| io.output("lookup_slot_o", i));
        }
        if io.both("offer_valid_o", "offer_ready_i", 0) {
            self.waiting[io.output("offer_slot_o", 0) as usize] = true;
        }
    }
}

struct UpdateBankArbiter {
    sms: u64,
    row_bits: u32,
}

impl Driver for UpdateBankArbiter {
    fn drive(&mut self, io: &mut Io) {
        Fill::Bits(0).fill("req_i", io);
        for port in 0..io.count("payload_i") {
            let (row, sm) = (io.below(io.rows), io.below(self.sms));
            io.set("payload_i", port, row | sm << self.row_bits);
        }
    }
}

/// Copies hold the same bits: those that read the same row return the same.
struct LookupNetwork {
    slots: u64,
    debug: bool,
    banks: usize,
    /// Rows read in the cycle before, by copy and bank.
    reads: Vec<Option<u64>>,
}

impl Driver for LookupNetwork {
    fn drive(&mut self, io: &mut Io) {
        Fill::Bits(0).fill("lookup_valid_i", io);
        Fill::Indices.fill("lookup_index_i", io);
        Fill::Below(self.slots).fill("lookup_slot_i", io);
        Fill::Bits(1).fill("read_data_i", io);
        let port = io.inputs.index("read_data_i");
        let words = io.inputs.ports()[port].words();
        for at in self.banks..self.reads.len() {
            let first = (at % self.banks..at).step_by(self.banks).find(|e| self.reads[at].is_some() && self.reads[*e] == self.reads[at]);
            if let Some(first) = first {
                io.inputs.words_mut(port).copy_within(first * words..(first + 1) * words, at * words);
            }
        }
        if self.debug {
            Fill::Bits(2).fill("debug_valid_i", io);
            Fill::Indices.fill("debug_index_i", io);
        }
    }

    fn observe(&mut self, io: &Io) {
        for (at, read) in self.reads.iter_mut().enumerate() {
            *read = (io.output("read_valid_o", at) != 0).then(|| io.output("read_row_o", at));
        }
    }
}

/// First every row is written as a whole, as the refresh controller does after reset.
struct SnapshotMatrix {
    rows: u64,
}

impl Driver for SnapshotMatrix {
    fn drive(&mut self, io: &mut Io) {
        let sweep = io.cycle < self.rows;
        Fill::Bits(0).fill("read_valid_i", io);
        Fill::Below(self.rows).fill("read_row_i", io);
        Fill::Bits(1).fill("write_valid_i", io);
        Fill::Below(self.rows).fill("write_row_i", io);
        Fill::Bits(2).fill("write_mask_i", io);
        Fill::Bits(3).fill("write_value_i", io);
        for bank in 0..io.count("write_valid_i") {
            let whole = sweep || io.rarely(0.05);
            if sweep {
                io.flag("write_valid_i", bank, true);
                io.set("write_row_i", bank, io.cycle);
            }
            if whole {
                let bits = io.inputs.ports()[io.inputs.index("write_mask_i")].bits;
                (0..bits).for_each(|bit| io.field("write_mask_i", bank, bit, 1, 1));
            }
        }
        // Reads of rows written in the same cycle.
        for read in 0..io.count("read_row_i") {
            if io.rarely(0.2) {
                let row = io.input("write_row_i", read % io.banks as usize);
                io.set("read_row_i", read, row);
            }
        }
    }
}

struct ProbeQueue {
    time: Time,
    sms: u64,
    slots: u64,
    timeout: u64,
}

impl Driver for ProbeQueue {
    fn drive(&mut self, io: &mut Io) {
        let now = self.time.now;
        self.time.drive(io);
        io.eval(); // push_ready_o depends on the state only
        let push = io.output("push_ready_o", 0) != 0 && io.chance(0);
        io.flag("push_valid_i", 0, push);
        Fill::Tag.fill("push_tag_i", io);
        Fill::Below(self.sms).fill("push_requester_i", io);
        Fill::Below(self.slots).fill("push_slot_i", io);
        // A probe shown at once has the whole time left, one that waited for its turn less.
        let left = if io.chance(1) { self.timeout } else { 1 + io.below(self.timeout) };
        io.set("push_deadline_i", 0, self.time.wrap(now + left));
        let answer = io.chance(2) && io.rarely(0.5);
        io.flag("answer_valid_i", 0, answer);
        Fill::Bits(3).fill("answer_hit_i", io);
        Fill::Bits(4).fill("probe_ready_i", io);
    }
}

/// At most one event for each slot.
struct ProbeReturn {
    sms: usize,
    slots: usize,
}

impl Driver for ProbeReturn {
    fn drive(&mut self, io: &mut Io) {
        let mut taken = vec![false; self.sms * self.slots];
        for (kind, knob) in [("answer", 0), ("expired", 1)] {
            for target in 0..self.sms {
                let (sm, slot) = (io.below(self.sms as u64), io.below(self.slots as u64));
                let event = io.chance(knob) && !std::mem::replace(&mut taken[sm as usize * self.slots + slot as usize], true);
                io.flag(&format!("{kind}_valid_i"), target, event);
                io.set(&format!("{kind}_requester_i"), target, sm);
                io.set(&format!("{kind}_slot_i"), target, slot);
            }
        }
        Fill::Bits(2).fill("answer_hit_i", io);
    }
}

struct StreamBuffer {
    sms: u64,
    beat: bool,
}

impl Driver for StreamBuffer {
    fn drive(&mut self, io: &mut Io) {
        if io.rarely(0.02) {
            let sm = io.rng.random_range(0..self.sms);
            io.set("sm_i", 0, sm);
        }
        if io.rarely(0.1) {
            let streaming = io.chance(0);
            io.flag("streaming_i", 0, streaming);
        }
        if !self.beat {
            self.beat = io.chance(1);
            let sm = if io.rarely(0.8) { io.input("sm_i", 0) } else { io.rng.random_range(0..self.sms) };
            io.set("stream_sm_i", 0, sm);
            Fill::Tag.fill("stream_tag_i", io);
            Fill::Bits(2).fill("stream_keep_i", io);
            let last = io.rarely(0.2);
            io.flag("stream_last_i", 0, last);
        }
        io.flag("stream_valid_i", 0, self.beat);
        Fill::Bits(3).fill("tag_ready_i", io);
        Fill::Seldom(4, 0.05).fill("flush_i", io);
    }

    fn observe(&mut self, io: &Io) {
        self.beat &= io.output("stream_ready_o", 0) == 0;
    }
}

struct UpdateLane {
    sms: u64,
    latency: u32,
    /// Cycles in which results come.
    encoding: VecDeque<u64>,
}

impl Driver for UpdateLane {
    fn drive(&mut self, io: &mut Io) {
        if io.rarely(0.05) {
            let sm = io.rng.random_range(0..self.sms);
            io.set("sm_i", 0, sm);
        }
        Fill::Bits(0).fill("source_valid_i", io);
        Fill::Tag.fill("source_tag_i", io);
        Fill::Seldom(1, 0.5).fill("block_i", io);
        Fill::Bits(2).fill("encode_ready_i", io);
        let encoded = self.encoding.front() == Some(&io.cycle);
        if encoded {
            self.encoding.pop_front();
        }
        io.flag("encoded_i", 0, encoded);
        io.random_indices("index_i", 0);
        io.eval(); // write_valid_o depends on the state only
        for i in 0..io.count("write_ready_i") {
            let ready = io.output("write_valid_o", i) != 0 && io.chance(3);
            io.flag("write_ready_i", i, ready);
        }
    }

    fn observe(&mut self, io: &Io) {
        if io.both("encode_valid_o", "encode_ready_i", 0) {
            self.encoding.push_back(io.cycle + u64::from(self.latency) - 1);
        }
    }
}

struct RefreshController {
    last_row: u64,
    period: u64,
    /// Cycles since a rebuild began or a dead SM was passed over.
    elapsed: u64,
    timeout: u64,
    since_hold: u64,
    /// `sm_o`, `hold_o` and `rebuilt_o` of the cycle before.
    before: (u64, bool, bool),
}

impl Driver for RefreshController {
    fn drive(&mut self, io: &mut Io) {
        Fill::Bits(0).fill("lanes_empty_i", io);
        let busy = io.chance(6) && io.rarely(0.3);
        io.flag("clear_ready_i", 0, !busy);
        Fill::Bits(1).fill("lanes_match_i", io);
        Fill::Seldom(2, 0.5).fill("refresh_ready_i", io);
        // Half of the time one SM is dead.
        let sms = io.count("refresh_ready_i") as u64;
        if io.cycle & 4096 != 0 {
            io.flag("refresh_ready_i", (io.cycle / 8192 % sms) as usize, false);
        }
        // In some phases no beat comes, so that streams run into their timeout.
        let silent = io.phase.knobs[7] < 0.4;
        let beat = !silent && io.chance(3) && io.rarely(0.5);
        io.flag("beat_i", 0, beat);
        let last = beat && io.chance(4) && io.rarely(0.3);
        io.flag("last_i", 0, last);
        Fill::Bits(5).fill("buffer_empty_i", io);
        io.flag("flush_i", 0, false);
        io.eval();
        // A flush when something else ends is more interesting.
        let cleared = io.output("clear_valid_o", 0) != 0 && io.output("clear_row_o", 0) == self.last_row;
        // The cycle in which a dead SM is passed over: its request is still there when a period is over.
        let (sm, hold, rebuilt) = (io.output("sm_o", 0), io.output("hold_o", 0) != 0, io.output("rebuilt_o", 0) != 0);
        let (last_sm, held, was_rebuilt) = self.before;
        let started = hold && !held || sm != last_sm && !was_rebuilt;
        self.elapsed = if started { 0 } else { self.elapsed + 1 };
        self.before = (sm, hold, rebuilt);
        self.since_hold = if hold { 0 } else { self.since_hold + 1 };
        let asking = self.since_hold <= self.timeout + 1; // REQUEST, which is no more interesting than other states
        let dead = !asking && self.elapsed + 2 >= self.period && io.output("refresh_valid_o", sm as usize) != 0;
        let flush = if dead { io.rarely(0.2) } else { io.rarely(if cleared || rebuilt { 0.2 } else { 0.01 }) && io.chance(6) };
        io.flag("flush_i", 0, flush);
    }
}

struct Statistics {
    sms: usize,
}

impl Driver for Statistics {
    fn drive(&mut self, io: &mut Io) {
        let events = [
            "miss_i",
            "query_i",
            "conflict_i",
            "probe_i",
            "outcome_i",
            "false_positive_i",
            "discarded_i",
            "expired_i",
            "dropped_i",
            "rebuilt_i",
        ];
        for (knob, port) in events.into_iter().enumerate() {
            Fill::Bits(knob).fill(port, io);
        }
        for sm in 0..self.sms {
            let remote = io.chance(10);
            io.flag("outcome_remote_i", sm, remote);
            let reason = if remote { 0 } else { io.rng.random_range(1..=5) };
            io.set("outcome_reason_i", sm, reason);
        }
        Fill::Seldom(11, 0.02).fill("clear_statistics_i", io);
    }
}

/// The top in its environment.
struct Top(Environment);

impl Driver for Top {
    fn drive(&mut self, io: &mut Io) {
        self.0.drive(&mut io.inputs);
    }

    fn observe(&mut self, io: &Io) {
        self.0.observe(&io.inputs, &io.outputs);
    }
}
