//! `prefetch_queue`: prefetches on their way to the L1.

use super::context::{Built, Context, ring};
use crate::rtl::{Expr, value_width};

pub(super) fn module(c: &Context) -> Built {
    let n = c.config.sc_queue_depth;
    let width = c.t + c.s + c.p + c.h;
    let mut m = c.clocked(
        "prefetch_queue",
        "First-in first-out queue of prefetches that also refuses what is still in one of its places, waiting or not.",
        "a prefetch can leave in the cycle after it came",
    );
    m.note("DEPTH", n);
    let flush = m.input("flush_i", 1, "forget everything");
    let push_valid = m.input("push_valid_i", 1, "a prefetch");
    let push_line = m.input("push_line_i", c.t, "its line");
    let push_mask = m.input("push_mask_i", c.s, "its sectors");
    let push_pattern = m.input("push_pattern_i", c.p, "its pattern");
    let push_handle = m.input("push_handle_i", c.h, "its handle");
    let pop_ready = m.input("pop_ready_i", 1, "the oldest leaves");
    let push_ready_o = m.output("push_ready_o", 1, "there is room");
    let duplicate_o = m.output("duplicate_o", 1, "the prefetch is known and thrown away");
    let pop_valid_o = m.output("pop_valid_o", 1, "there is one");
    let pop_line_o = m.output("pop_line_o", c.t, "line of the oldest");
    let pop_mask_o = m.output("pop_mask_o", c.s, "its sectors");
    let pop_pattern_o = m.output("pop_pattern_o", c.p, "its pattern");
    let pop_handle_o = m.output("pop_handle_o", c.h, "its handle");

    let places = m.reg("places_q", n * width).doc("line, sectors, pattern, handle");
    let known = m.reg("known_q", n).doc("the place was written");
    let count = m.reg("count_q", value_width(u64::from(n))).doc("prefetches that wait");
    let room = m.wire("room", count.ne(n));
    let waits = m.wire("waits", count.ne(0));
    let same = m.net("same", n).doc("places that hold these sectors");
    m.comb_for("e", n, |b, e| {
        let place = places.elem(e, width);
        b.set(same.bit(e), known.bit(e) & place.bits(0, c.t).eq(&push_line) & (&push_mask & !place.bits(c.t, c.s)).is_zero());
    });
    let duplicate = m.wire("duplicate", &push_valid & &room & same.reduce_or());
    let push = m.wire("push", &push_valid & &room & !&duplicate);
    let pop = m.wire("pop", &pop_ready & &waits);
    let write = ring(&mut m, "write_q", n, Some(&flush), &push, "place written next");
    let read = ring(&mut m, "read_q", n, Some(&flush), &pop, "place of the oldest");

    let here = m.wire("here", write.bin_to_onehot(n));
    known.next_when(&flush, 0u32);
    known.next_when(&push, &known | &here);
    count.next_when(&flush, 0u32);
    count.next_when(&push & !&pop, &count + 1u32);
    count.next_when(&pop & !&push, &count - 1u32);
    let entry = m.wire("entry", Expr::concat_lsb_first([&push_line, &push_mask, &push_pattern, &push_handle]));
    let written = m.wire("written", &here & (&push & !&flush).replicate(n));
    m.write_rows(&places, width, [(&written, &entry)]);
    let oldest = m.case_mux("oldest", &read, &places, width);
    m.assign(&push_ready_o, &room);
    m.assign(&duplicate_o, &duplicate);
    m.assign(&pop_valid_o, &waits);
    m.assign(&pop_line_o, oldest.bits(0, c.t));
    m.assign(&pop_mask_o, oldest.bits(c.t, c.s));
    m.assign(&pop_pattern_o, oldest.bits(c.t + c.s, c.p));
    m.assign(&pop_handle_o, oldest.bits(c.t + c.s + c.p, c.h));
    m.assert("no_overflow_A", count.le(n), "never more prefetches than places");
    m.finish()
}
