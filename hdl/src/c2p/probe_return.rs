//! `probe_return`: answers and expiries to slots.

use super::context::{Built, Context};
use crate::rtl::Expr;

pub(super) fn module(c: &Context) -> Built {
    let (n, q) = (c.n, c.q);
    let mut m = c.combinational(
        "probe_return",
        &format!("Brings the events of {n} targets to the {q} query slots of each SM. A slot has one probe under way at most, so the events are ORed."),
        "combinational",
    );
    m.note("SMS", n).note("QUERIES_PER_SM", q);
    let mut event = |name: &str, text: &str| {
        (
            m.input(&format!("{name}_valid_i"), n, &format!("target j has {text}")),
            m.input(&format!("{name}_requester_i"), n * c.s, "for the probe of this SM"),
            m.input(&format!("{name}_slot_i"), n * c.l, "and query slot"),
        )
    };
    let answer = event("answer", "an answer");
    let answer_slot = answer.2.clone();
    let hit = m.input("answer_hit_i", n, "the answer is a hit");
    let mut event = |name: &str, text: &str| {
        (
            m.input(&format!("{name}_valid_i"), n, &format!("target j has {text}")),
            m.input(&format!("{name}_requester_i"), n * c.s, "for the probe of this SM"),
            m.input(&format!("{name}_slot_i"), n * c.l, "and query slot"),
        )
    };
    let expired = event("expired", "a probe that was not taken or answered in time");
    let answer_valid_o = m.output("answer_valid_o", n * q, "answer for slot SM*QUERIES_PER_SM + slot");
    let answer_hit_o = m.output("answer_hit_o", n * q, "it is a hit");
    let expired_o = m.output("expired_o", n * q, "expiry for this slot");

    // For each slot number the SMs with an event, then put in order SM*Q + slot.
    let mut route = |port: &Expr, name: &str, (valid, requester, slot): &(Expr, Expr, Expr)| {
        let by_slot: Vec<Expr> = (0..q)
            .map(|place| {
                let name = if q == 1 { format!("{name}_sms") } else { format!("{name}_sms{place}") };
                let sms = m.net(&name, n).doc("SMs with an event for this slot");
                m.comb_for("j", n, |b, j| {
                    let here = valid.bit(j) & if q == 1 { Expr::ones(1) } else { slot.elem(j, c.l).eq(place) };
                    // A requester that means nothing may be unknown, and a shift by it would be too.
                    let known = valid.bit(j).replicate(c.s) & requester.elem(j, c.s);
                    b.set(&sms, &sms | here.zext(n).shl(known));
                });
                sms
            })
            .collect();
        if q == 1 {
            m.assign(port, &by_slot[0]);
        } else {
            m.comb_for("s", n, |b, s| (0..q).for_each(|place| b.set(port.bit(s * q + place), by_slot[place as usize].bit(s))));
        }
    };
    route(&answer_valid_o, "answer", &answer);
    let (valid, requester, slot) = answer;
    route(&answer_hit_o, "hit", &(valid & hit, requester, slot));
    route(&expired_o, "expired", &expired);
    if q == 1 {
        m.mark_unused(answer_slot);
        m.mark_unused(&expired.2);
    }
    m.finish()
}
