//! `probe_queue`: probes at one target L1.

use super::context::{Built, Context};
use super::shift_queue::ShiftQueue;
use crate::rtl::{Expr, ModuleBuilder};

/// A queue of probes with their fate: each entry is `{payload, slot, requester, deadline, expired, dead}`, dead in bit 0.
struct Probes {
    queue: ShiftQueue,
    deadline: u32,
    requester: u32,
    slot: u32,
}

impl Probes {
    fn new(c: &Context, m: &mut ModuleBuilder, name: &str, depth: u32, payload: u32) -> Self {
        let width = 2 + c.tw + c.s + c.l + payload;
        Self { queue: ShiftQueue::new(m, name, depth, width), deadline: c.tw, requester: c.s, slot: c.l }
    }

    fn pack(dead: Expr, deadline: &Expr, requester: &Expr, slot: &Expr, payload: Option<&Expr>) -> Expr {
        let mut fields = vec![dead, Expr::zeros(1), deadline.clone(), requester.clone(), slot.clone()];
        fields.extend(payload.cloned());
        Expr::concat_lsb_first(fields)
    }

    fn entry(&self, e: u32) -> Expr {
        Expr::from(&self.queue.entries[e as usize])
    }

    fn depth(&self) -> u32 {
        self.queue.entries.len() as u32
    }

    fn dead(&self, e: u32) -> Expr {
        self.entry(e).bit(0)
    }

    fn requester(&self, e: u32) -> Expr {
        self.entry(e).bits(2 + self.deadline, self.requester)
    }

    fn slot(&self, e: u32) -> Expr {
        self.entry(e).bits(2 + self.deadline + self.requester, self.slot)
    }

    fn payload(&self, e: u32) -> Expr {
        let entry = self.entry(e);
        let low = 2 + self.deadline + self.requester + self.slot;
        entry.bits(low, entry.width() - low)
    }

    /// Entries whose patience is at an end: held, not dead, expired or at their deadline.
    fn late(&self, now: &Expr) -> Expr {
        let bits = (0..self.depth()).map(|e| {
            let entry = self.entry(e);
            self.queue.holds(e) & !self.dead(e) & (entry.bit(1) | entry.bits(2, self.deadline).eq(now))
        });
        Expr::concat_lsb_first(bits.collect::<Vec<_>>())
    }

    /// The entries with `killed` ones dead and the other `late` ones expired.
    fn updated(&self, late: &Expr, killed: &Expr) -> Vec<Expr> {
        (0..self.depth())
            .map(|e| {
                let entry = self.entry(e);
                let flags = Expr::concat_lsb_first([entry.bit(0) | killed.bit(e), entry.bit(1) | late.bit(e)]);
                Expr::concat_lsb_first([flags, entry.bits(2, entry.width() - 2)])
            })
            .collect()
    }
}

pub(super) fn module(c: &Context) -> Built {
    let (depth, outstanding) = (c.config.probe_queue_depth, c.config.answer_queue_depth);
    let mut m = c.clocked(
        "probe_queue",
        &format!("Probes for the L1 of one SM: at most {depth} wait, at most {outstanding} are unanswered. A probe not taken by its deadline, or not answered in time, is given up."),
        "a probe is offered to the L1 in the cycle after it comes; answers and expiries act in their own cycle",
    );
    m.repeated();
    m.note("PROBE_QUEUE_DEPTH", depth).note("ANSWER_QUEUE_DEPTH", outstanding).note("ANSWER_TIMEOUT", c.config.answer_timeout);
    let now = m.input("now_i", c.tw, "time base");
    let push_valid = m.input("push_valid_i", 1, "a probe for this L1");
    let push_tag = m.input("push_tag_i", c.t, "its tag");
    let push_requester = m.input("push_requester_i", c.s, "the SM that asks");
    let push_slot = m.input("push_slot_i", c.l, "its query slot");
    let push_deadline = m.input("push_deadline_i", c.tw, "time at which the query gives up");
    let answer_valid = m.input("answer_valid_i", 1, "the L1 answers its oldest probe");
    let answer_hit = m.input("answer_hit_i", 1, "with a hit");
    let probe_ready = m.input("probe_ready_i", 1, "the L1 takes the probe");
    let push_ready_o = m.output("push_ready_o", 1, "there is space");
    let answer_ready_o = m.output("answer_ready_o", 1, "answers are always taken: room was kept");
    let event_answer_o = m.output("event_answer_o", 1, "an answer for a query");
    let event_answer_requester_o = m.output("event_answer_requester_o", c.s, "of this SM");
    let event_answer_slot_o = m.output("event_answer_slot_o", c.l, "and slot");
    let event_answer_hit_o = m.output("event_answer_hit_o", 1, "it is a hit");
    let discarded_o = m.output("discarded_o", 1, "an answer to a probe given up");
    let probe_valid_o = m.output("probe_valid_o", 1, "a probe");
    let probe_tag_o = m.output("probe_tag_o", c.t, "its tag");
    let probe_requester_o = m.output("probe_requester_o", c.s, "the SM that asks");
    let event_expired_o = m.output("event_expired_o", 1, "a query must give up");
    let event_expired_requester_o = m.output("event_expired_requester_o", c.s, "of this SM");
    let event_expired_slot_o = m.output("event_expired_slot_o", c.l, "and slot");

    m.section("Entries");
    let waiting = Probes::new(c, &mut m, "waiting", depth, c.t);
    let unanswered = Probes::new(c, &mut m, "unanswered", outstanding, 0);
    let offered = m.reg("offered_q", 1).doc("the oldest probe was offered and not taken");

    m.section("Answer, probe, drop");
    let answered = m.wire("answered", &answer_valid & unanswered.queue.holds(0));
    let waiting_late = m.wire("waiting_late", waiting.late(&now));
    let unanswered_late = m.wire("unanswered_late", unanswered.late(&now));
    let fresh = !waiting.dead(0) & !waiting_late.bit(0);
    let probe = m.wire("probe", waiting.queue.holds(0) & unanswered.queue.space() & (&*offered | fresh));
    let taken = m.wire("taken", &probe & &probe_ready);
    let dropped = m.wire("dropped", waiting.queue.holds(0) & waiting.dead(0) & !&*offered).doc("given up before it was offered");
    offered.next(&probe & !&probe_ready);

    m.section("Expiry: one per cycle, unanswered probes first, oldest first");
    let first = |bus: &Expr, gone: &Expr| bus & !gone.resize(bus.width());
    let late_unanswered = m.wire("late_unanswered", first(&unanswered_late, &answered));
    let late_waiting = m.wire("late_waiting", first(&waiting_late, &taken));
    let none_unanswered = m.wire("none_unanswered", late_unanswered.is_zero());
    let kill_unanswered = m.wire("kill_unanswered", late_unanswered.lowest_one());
    let kill_waiting = m.wire("kill_waiting", late_waiting.lowest_one() & none_unanswered.replicate(depth));
    let expired = m.wire("expired", late_unanswered.reduce_or() | late_waiting.reduce_or());
    let field = |f: &dyn Fn(&Probes, u32) -> Expr, p: &Probes| Expr::concat_lsb_first((0..p.depth()).map(|e| f(p, e)).collect::<Vec<_>>());
    let mut chosen = |name: &str, f: &dyn Fn(&Probes, u32) -> Expr| {
        m.wire(name, kill_unanswered.onehot_mux(field(f, &unanswered)) | kill_waiting.onehot_mux(field(f, &waiting)))
    };
    let expired_requester = chosen("expired_requester", &Probes::requester);
    let expired_slot = chosen("expired_slot", &Probes::slot);

    m.section("Next state");
    let entry = m.wire("push_entry", Probes::pack(Expr::zeros(1), &push_deadline, &push_requester, &push_slot, Some(&push_tag)));
    let updated = waiting.updated(&waiting_late, &kill_waiting);
    let pop = m.wire("pop", &taken | &dropped);
    waiting.queue.advance(&mut m, "waiting", &push_valid, &entry, &pop, &updated);
    let deadline = m.wire("answer_deadline", &now + (c.config.answer_timeout + 1));
    let entry = m.wire("taken_entry", Probes::pack(waiting.dead(0), &deadline, &waiting.requester(0), &waiting.slot(0), None));
    let updated = unanswered.updated(&unanswered_late, &kill_unanswered);
    unanswered.queue.advance(&mut m, "unanswered", &taken, &entry, &answered, &updated);

    m.section("Outputs");
    m.assign(&push_ready_o, waiting.queue.space());
    m.assign(&answer_ready_o, 1u32);
    m.assign(&event_answer_o, &answered & !unanswered.dead(0));
    m.assign(&event_answer_requester_o, unanswered.requester(0));
    m.assign(&event_answer_slot_o, unanswered.slot(0));
    m.assign(&event_answer_hit_o, &answer_hit);
    m.assign(&discarded_o, &answered & unanswered.dead(0));
    m.assign(&probe_valid_o, &probe);
    m.assign(&probe_tag_o, waiting.payload(0));
    m.assign(&probe_requester_o, waiting.requester(0));
    m.assign(&event_expired_o, &expired);
    m.assign(&event_expired_requester_o, &expired_requester);
    m.assign(&event_expired_slot_o, &expired_slot);
    m.assume("push_ready_M", !&push_valid | waiting.queue.space(), "a probe comes only when there is space");
    m.assume("answer_expected_M", !&answer_valid | unanswered.queue.holds(0), "the L1 answers only what it was asked");
    m.finish()
}
