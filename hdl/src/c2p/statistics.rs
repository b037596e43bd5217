//! `statistics`: event counters.

use super::context::{Built, Context};
use super::probe_engine::reason;
use crate::rtl::Expr;

/// The counters, in port order, with what they count.
pub const COUNTERS: &[(&str, &str)] = &[
    ("misses", "misses accepted"),
    ("queries", "misses looked up"),
    ("conflicts", "lookups that wait, per cycle"),
    ("probes", "probes taken by an L1"),
    ("remote_hits", "outcomes: remote"),
    ("false_positive_probes", "live answers without hit"),
    ("discarded_answers", "answers to probes given up"),
    ("expired_probes", "probes not taken or answered in time"),
    ("no_candidate", "outcomes: L2, no candidate"),
    ("all_missed", "outcomes: L2, every candidate missed"),
    ("busy", "outcomes: L2, target busy"),
    ("queue_full", "outcomes: L2, target queue full"),
    ("disabled", "outcomes: L2, not looked up"),
    ("dropped_fills", "fill notices dropped"),
    ("rebuilds", "columns rebuilt"),
];

pub(super) fn module(c: &Context) -> Built {
    let n = c.n;
    let width = c.config.counter_bits;
    let mut m = c.clocked("statistics", "Event counters; each adds the events of a cycle and wraps.", "an event shows in the next cycle");
    m.note("COUNTER_BITS", width).note("SMS", n);
    let clear = m.input("clear_statistics_i", 1, "set every counter to 0");
    let miss = m.input("miss_i", n, "a miss is accepted");
    let query = m.input("query_i", n, "and looked up");
    let conflict = m.input("conflict_i", n * c.k, "a lookup waits");
    let probe = m.input("probe_i", n, "an L1 takes a probe");
    let outcome = m.input("outcome_i", n, "an outcome is taken");
    let remote = m.input("outcome_remote_i", n, "it is remote");
    let why = m.input("outcome_reason_i", n * reason::BITS, "its reason otherwise");
    let false_positive = m.input("false_positive_i", n, "a live answer without hit");
    let discarded = m.input("discarded_i", n, "an answer to a probe given up");
    let expired = m.input("expired_i", n, "a probe was not taken or answered in time");
    let dropped = m.input("dropped_i", n, "a fill notice is dropped");
    let rebuilt = m.input("rebuilt_i", 1, "a rebuild is finished");

    let with_reason = |m: &mut crate::rtl::ModuleBuilder, name: &str, value: u32| {
        let events = m.net(&format!("{name}_events"), n);
        m.comb_for("s", n, |b, s| b.set(events.bit(s), outcome.bit(s) & why.elem(s, reason::BITS).eq(value)));
        events
    };
    let events = [
        miss,
        query,
        conflict,
        probe,
        &outcome & &remote,
        false_positive,
        discarded,
        expired,
        with_reason(&mut m, "no_candidate", reason::NO_CANDIDATE),
        with_reason(&mut m, "all_missed", reason::ALL_MISSED),
        with_reason(&mut m, "busy", reason::BUSY),
        with_reason(&mut m, "queue_full", reason::QUEUE_FULL),
        with_reason(&mut m, "disabled", reason::DISABLED),
        dropped,
        rebuilt,
    ];
    for ((name, text), events) in COUNTERS.iter().zip(events) {
        let count = m.reg(&format!("{name}_q"), width).doc(text);
        let sum = m.wire(&format!("{name}_now"), events.popcount()).doc("in this cycle");
        if sum.width() > width {
            // More events at once than the counter tells apart: it counts modulo 2^width.
            m.mark_unused(sum.bits(width, sum.width() - width));
        }
        let sum: Expr = sum.resize(width.max(sum.width())).trunc(width);
        count.next_when(&clear, 0u32);
        count.next(&*count + sum);
        let port = m.output(&format!("count_{name}_o"), width, text);
        m.assign(&port, &*count);
    }
    m.finish()
}
