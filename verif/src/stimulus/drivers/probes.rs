//! Drivers of the blocks that probe.

use super::*;

pub(super) struct ProbeEngine {
    pub(super) time: Time,
    pub(super) sms: u64,
    pub(super) idle: bool,
    pub(super) waiting: bool,
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

pub(super) struct ProbeQueue {
    pub(super) time: Time,
    pub(super) sms: u64,
    pub(super) slots: u64,
    pub(super) timeout: u64,
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
pub(super) struct ProbeReturn {
    pub(super) sms: usize,
    pub(super) slots: usize,
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
