//! `probe_order`: nearest candidate of one SM.

use super::context::{Built, Context};
use crate::rtl::Bits;
use std::ops::Range;

/// The other SMs, nearest first: by Manhattan distance, ties by lower number.
pub(super) fn order(c: &Context, sm: u32) -> Vec<u32> {
    let (x, y) = c.config.place(sm);
    let distance = |other: u32| {
        let (ox, oy) = c.config.place(other);
        ox.abs_diff(x) + oy.abs_diff(y)
    };
    let mut others: Vec<u32> = (0..c.n).filter(|o| *o != sm).collect();
    others.sort_by_key(|&o| (distance(o), o));
    others
}

/// The orders of some SMs one after the other, as a constant for an array of instances.
pub(super) fn orders(c: &Context, sms: Range<u32>) -> Bits {
    let width = sms.len() as u32 * (c.n - 1) * c.s;
    let mut bits = Bits::zero(width);
    let mut at = 0;
    for sm in sms {
        for other in order(c, sm) {
            (0..c.s).filter(|b| other >> b & 1 == 1).for_each(|b| bits.set(at + b, true));
            at += c.s;
        }
    }
    bits
}

/// The module; instances set its parameter `ORDER`.
pub(super) fn module(c: &Context) -> Built {
    alone(c, 0)
}

/// The module with the order of an SM built in.
pub(super) fn alone(c: &Context, sm: u32) -> Built {
    let n = c.n;
    let mut m = c.combinational(
        "probe_order",
        "Nearest candidate of one SM. The SM itself is not in ORDER, so it is never probed: requester pruning.",
        "combinational",
    );
    m.note("SMS", n);
    let order = m.param("ORDER", orders(c, sm..sm + 1), "the other SMs, nearest first, element 0 nearest");
    let candidates = m.input("candidates_i", n, "SMs that may hold the line");
    let found_o = m.output("found_o", 1, "there is a candidate");
    let target_o = m.output("target_o", c.s, "the nearest, 0 without one");

    let ranked = m.net("ranked", n - 1).doc("candidates in order of distance");
    m.comb_for("r", n - 1, |b, r| b.set(ranked.bit(r), candidates.elem(order.elem(r, c.s), 1)));
    let nearest = m.wire("nearest", ranked.lowest_one());
    m.assign(&found_o, ranked.reduce_or());
    m.assign(&target_o, nearest.onehot_mux(&order));
    m.finish()
}
