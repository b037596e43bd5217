//! Drivers of the blocks that write the Snapshot Matrix, and of the matrix.

use super::*;

pub(super) struct UpdateBankArbiter {
    pub(super) sms: u64,
    pub(super) row_bits: u32,
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

/// First every row is written as a whole, as the refresh controller does after reset.
pub(super) struct SnapshotMatrix {
    pub(super) rows: u64,
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

pub(super) struct StreamBuffer {
    pub(super) sms: u64,
    pub(super) beat: bool,
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

pub(super) struct UpdateLane {
    pub(super) sms: u64,
    pub(super) latency: u32,
    /// Cycles in which results come.
    pub(super) encoding: VecDeque<u64>,
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

pub(super) struct RefreshController {
    pub(super) last_row: u64,
    pub(super) period: u64,
    /// Cycles since a rebuild began or a dead SM was passed over.
    pub(super) elapsed: u64,
    pub(super) timeout: u64,
    pub(super) since_hold: u64,
    /// `sm_o`, `hold_o` and `rebuilt_o` of the cycle before.
    pub(super) before: (u64, bool, bool),
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
