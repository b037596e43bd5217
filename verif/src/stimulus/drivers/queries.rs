//! Drivers of the blocks that hold and look up queries.

use super::*;

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

pub(super) struct QuerySlot {
    pub(super) time: Time,
    pub(super) sms: u64,
    pub(super) latency: u32,
    /// Cycles until the indices come; 0: none are on their way.
    pub(super) encoded_in: u32,
    /// Lookups granted, rows not yet back.
    pub(super) granted: Vec<bool>,
    pub(super) waiting: bool,
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

pub(super) struct QueryStore {
    pub(super) time: Time,
    pub(super) sms: u64,
    pub(super) slots: usize,
    pub(super) latency: u32,
    /// A miss is shown and was not taken.
    pub(super) miss: bool,
    /// Tags in the engine: cycle in which the result comes, slot.
    pub(super) encoding: VecDeque<(u64, u64)>,
    /// Slots whose rows come in this cycle, per position.
    pub(super) granted: Vec<Option<u64>>,
    pub(super) waiting: Vec<bool>,
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

/// Copies hold the same bits: those that read the same row return the same.
pub(super) struct LookupNetwork {
    pub(super) slots: u64,
    pub(super) debug: bool,
    pub(super) banks: usize,
    /// Rows read in the cycle before, by copy and bank.
    pub(super) reads: Vec<Option<u64>>,
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
