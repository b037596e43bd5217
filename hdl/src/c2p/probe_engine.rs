//! `probe_engine`: probes the candidates of one query, nearest first.

use super::context::{Built, Context};
use crate::rtl::{Expr, value_width};

/// Reasons of an outcome, as in `docs/blocks/query_slot.md`.
pub(super) mod reason {
    pub const NO_CANDIDATE: u32 = 1;
    pub const ALL_MISSED: u32 = 2;
    pub const BUSY: u32 = 3;
    pub const QUEUE_FULL: u32 = 4;
    pub const DISABLED: u32 = 5;
    /// Width of a reason.
    pub const BITS: u32 = 3;
}

pub(super) fn module(c: &Context) -> Built {
    let mut m = c.clocked(
        "probe_engine",
        "Probes the candidates of one query one at a time, nearest first, until one hits, none is left, or a target does not answer in time.",
        "one cycle each to select and to offer; an answer acts in its own cycle",
    );
    m.note("PROBE_TIMEOUT", c.config.probe_timeout).note("PROBE_LIMIT", c.config.probe_limit);
    let now = m.input("now_i", c.tw, "time base");
    let start = m.input("start_i", 1, "the candidates are known in the next cycle");
    let select_grant = m.input("select_grant_i", 1, "this query's candidates are at the probe order");
    let select_found = m.input("select_found_i", 1, "there is a candidate");
    let select_target = m.input("select_target_i", c.s, "the nearest candidate");
    let offer_ready = m.input("offer_ready_i", 1, "the target queue takes the probe");
    let answer_valid = m.input("answer_valid_i", 1, "the target answers");
    let answer_hit = m.input("answer_hit_i", 1, "the answer is a hit");
    let expired = m.input("expired_i", 1, "the target did not take or answer the probe in time");
    let select_valid_o = m.output("select_valid_o", 1, "asks for the nearest candidate");
    let chosen_o = m.output("chosen_o", 1, "the nearest candidate is chosen");
    let offer_valid_o = m.output("offer_valid_o", 1, "a probe is offered");
    let offer_target_o = m.output("offer_target_o", c.s, "its target");
    let offer_deadline_o = m.output("offer_deadline_o", c.tw, "time at which the query gives up unless the L1 has taken the probe");
    let done_o = m.output("done_o", 1, "probing ends");
    let done_remote_o = m.output("done_remote_o", 1, "with a hit");
    let done_source_o = m.output("done_source_o", c.s, "of this SM");
    let done_reason_o = m.output("done_reason_o", reason::BITS, "without a hit: the reason");

    m.section("State");
    let selecting = m.reg("selecting_q", 1).doc("state SELECT");
    let offering = m.reg("offering_q", 1).doc("state OFFER");
    let waiting = m.reg("waiting_q", 1).doc("state WAIT");
    let target = m.reg("target_q", c.s).no_reset().doc("SM being probed");
    let deadline = m.reg("deadline_q", c.tw).no_reset().doc("end of patience");
    let probed = m.reg("probed_q", 1).doc("some candidate has been probed");

    let granted = m.wire("granted", &*selecting & &select_grant);
    let mut go_on = select_found;
    if c.config.probe_limit > 0 {
        let count = m.reg("count_q", value_width(u64::from(c.config.probe_limit))).doc("probes of this query");
        go_on = go_on & count.ne(c.config.probe_limit);
        count.next_when(&start, 0u32);
        count.next_when(&granted & &go_on, &*count + 1u32);
    }
    let chosen = m.wire("chosen", &granted & &go_on);
    let exhausted = m.wire("exhausted", &granted & !go_on);
    let late = m.wire("late", &*offering & now.eq(&*deadline)).doc("the target queue never took the probe");
    let taken = m.wire("taken", &*offering & !&late & &offer_ready);
    let answered = m.wire("answered", &*waiting & &answer_valid);
    let missed = m.wire("missed", &answered & !&answer_hit);
    let hit = m.wire("hit", &answered & &answer_hit);
    let gave_up = m.wire("gave_up", &*waiting & &expired);

    selecting.next(&start | &missed | (&*selecting & !&granted));
    offering.next(&chosen | (&*offering & !&late & !&taken));
    waiting.next(&taken | (&*waiting & !&answered & !&gave_up));
    target.next_when(&chosen, &select_target);
    deadline.next_when(&chosen, &now + (c.config.probe_timeout + 1));
    probed.next_when(&start, 0u32);
    probed.next_when(&chosen, 1u32);

    m.section("Outputs");
    m.assign(&select_valid_o, &*selecting);
    m.assign(&chosen_o, &chosen);
    m.assign(&offer_valid_o, &*offering & !&late);
    m.assign(&offer_target_o, &*target);
    m.assign(&offer_deadline_o, &*deadline);
    m.assign(&done_o, &exhausted | &late | &hit | &gave_up);
    m.assign(&done_remote_o, &hit);
    m.assign(&done_source_o, &*target);
    let when = |condition: &Expr, value: u32| condition.replicate(reason::BITS) & Expr::lit(reason::BITS, value);
    m.assign(
        &done_reason_o,
        Expr::or_all([
            when(&(&exhausted & !&*probed), reason::NO_CANDIDATE),
            when(&(&exhausted & &*probed), reason::ALL_MISSED),
            when(&gave_up, reason::BUSY),
            when(&late, reason::QUEUE_FULL),
        ]),
    );
    m.assert(
        "one_state_A",
        !((&*selecting & &*offering) | (&*selecting & &*waiting) | (&*offering & &*waiting)),
        "the query selects, offers or waits, never two of them",
    );
    m.assume("one_event_M", !(&answer_valid & &expired), "an answer and an expiry never come together");
    m.finish()
}
