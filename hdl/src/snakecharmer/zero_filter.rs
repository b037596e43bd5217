//! `zero_filter`: suppresses patterns whose prefetches bring zeros.

use super::context::{Built, Context};
use crate::rtl::{Expr, index_width};

pub(super) fn module(c: &Context) -> Built {
    let (n, cycles) = (c.config.sc_patterns, c.config.sc_zero_timer);
    let tw = index_width(cycles);
    let mut m = c.clocked(
        "zero_filter",
        "Counts fills that bring only zeros, per pattern; at 3 the pattern is suppressed until its timer runs out or other data come.",
        "a fill shows in the next cycle",
    );
    m.note("PATTERNS", n).note("ZERO_TIMER", cycles);
    let fill_valid = m.input("fill_valid_i", 1, "a prefetch is filled");
    let fill_pattern = m.input("fill_pattern_i", c.p, "its pattern");
    let fill_zero = m.input("fill_zero_i", 1, "all its data are zero");
    let clear_valid = m.input("clear_valid_i", 1, "a pattern has a new owner");
    let clear_pattern = m.input("clear_pattern_i", c.p, "that pattern");
    let query = m.input("query_pattern_i", c.p, "a pattern");
    let suppressed_o = m.output("suppressed_o", 1, "it is suppressed now");

    let counter = m.reg("counter_q", n * 2).doc("zero confidence of each pattern");
    let timer = m.reg("timer_q", n * tw).doc("cycles since it became 3");
    m.assign(&suppressed_o, counter.elem(&query, 2).eq(3));

    let fills = m.wire("fills", fill_valid.replicate(n) & fill_pattern.bin_to_onehot(n));
    let clears = m.wire("clears", clear_valid.replicate(n) & clear_pattern.bin_to_onehot(n));
    let full = m.net("full", n).doc("the pattern is suppressed");
    m.comb_for("e", n, |b, e| b.set(full.bit(e), counter.elem(e, 2).eq(3)));
    let expired = m.net("expired", n).doc("and its time is over");
    m.comb_for("e", n, |b, e| b.set(expired.bit(e), full.bit(e) & timer.elem(e, tw).eq(cycles - 1)));
    m.seq(|b| {
        b.for_loop("e", n, |b, e| {
            let (count, time) = (counter.elem(e, 2), timer.elem(e, tw));
            b.if_(clears.bit(e) | expired.bit(e), |b| {
                b.set(&count, 0u32);
                b.set(&time, 0u32);
            })
            .otherwise(|b| {
                b.if_(fills.bit(e) & &fill_zero & !full.bit(e), |b| b.set(&count, &count + 1u32))
                    .elif(fills.bit(e) & !&fill_zero & count.ne(0), |b| b.set(&count, &count - 1u32));
                b.if_(full.bit(e) & !(fills.bit(e) & !&fill_zero), |b| b.set(&time, &time + 1u32)).otherwise(|b| b.set(&time, 0u32));
            });
        });
    });
    let timed = (0..n.min(4)).map(|e| {
        let time = timer.elem(e, tw);
        time.le(cycles - 1) & (full.bit(e) | time.is_zero())
    });
    m.assert(
        "timed_A",
        Expr::and_all(timed.collect::<Vec<_>>()),
        "the timer runs only while the pattern is suppressed, and not beyond its end",
    );
    m.finish()
}
