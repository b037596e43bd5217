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

    let to_slot = |m: &mut crate::rtl::ModuleBuilder, name: &str, (valid, requester, slot): &(Expr, Expr, Expr)| {
        let onehot = m.net(&format!("{name}_to"), n * n * q).doc("slot of each event, one-hot");
        m.comb(|b| {
            b.for_loop("j", n, |b, j| {
                b.for_loop("s", n, |b, s| {
                    let here = valid.bit(j) & requester.elem(j, c.s).eq(s.value(c.s));
                    b.set(onehot.elem(j * n + s, q), here.replicate(q) & slot.elem(j, c.l).bin_to_onehot(q));
                });
            });
        });
        onehot
    };
    let answers = to_slot(&mut m, "answer", &answer);
    let expiries = to_slot(&mut m, "expired", &expired);
    let hits = m.net("hit_to", n * n * q).doc("slot of each hit, one-hot");
    m.comb_for("j", n, |b, j| b.set(hits.elem(j, n * q), hit.bit(j).replicate(n * q) & answers.elem(j, n * q)));
    m.assign(&answer_valid_o, answers.or_elems(n * q));
    m.assign(&answer_hit_o, hits.or_elems(n * q));
    m.assign(&expired_o, expiries.or_elems(n * q));
    m.finish()
}
