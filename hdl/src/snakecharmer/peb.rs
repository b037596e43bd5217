//! `peb`: prefetch eviction buffer.

use super::context::{Built, Context, ring, search, some, unique};
use crate::rtl::value_width;

pub(super) fn module(c: &Context) -> Built {
    let n = c.config.sc_peb_entries;
    let cw = value_width(u64::from(3 * c.s));
    let mut m = c.clocked(
        "peb",
        "Prefetch eviction buffer: the last prefetched lines that left L1 or PRT unused. A load of one of them means that it was prefetched too early.",
        "loads are answered in their cycle; what is pushed shows in the next",
    );
    m.note("ENTRIES", n);
    let demand_valid = m.input("demand_valid_i", 1, "a load");
    let demand_line = m.input("demand_line_i", c.t, "its line");
    let demand_mask = m.input("demand_mask_i", c.s, "its sectors");
    let evict_valid = m.input("evict_valid_i", 1, "unused sectors leave the L1");
    let evict_line = m.input("evict_line_i", c.t, "their line");
    let evict_mask = m.input("evict_mask_i", c.s, "those sectors");
    let evict_handle = m.input("evict_handle_i", c.h, "their handle");
    let drop_valid = m.input("drop_valid_i", 1, "unread sectors leave the PRT");
    let drop_line = m.input("drop_line_i", c.t, "their line");
    let drop_mask = m.input("drop_mask_i", c.s, "those sectors");
    let drop_handle = m.input("drop_handle_i", c.h, "their handle");
    let early_o = m.output("early_o", c.s, "sectors of the load that were prefetched too early");
    let early_handle_o = m.output("early_handle_o", c.h, "their handle");
    let drop_ready_o = m.output("drop_ready_o", 1, "the sectors of the PRT are taken");
    let unused_o = m.output("unused_o", cw, "sectors that were never used, in this cycle");

    let masks = m.reg("masks_q", n * c.s).doc("sectors; none: the place is free");
    let lines = m.reg("lines_q", n * c.t).doc("line");
    let handles = m.reg("handles_q", n * c.h).doc("handle");
    let held = some(&mut m, "held", &masks, c.s);

    m.section("A load");
    let found = search(&mut m, "found", &held, &lines, &demand_line);
    let its_mask = m.wire("its_mask", found.onehot_mux(&masks));
    let early = m.wire("early", demand_valid.replicate(c.s) & &its_mask & &demand_mask);
    let hit = m.wire("hit", early.reduce_or());
    m.assign(&early_o, &early);
    m.assign(&early_handle_o, found.onehot_mux(&handles));
    let freed = m.wire("freed", found & hit.replicate(n)).doc("place that the load frees");
    let other = m.wire("other", hit.replicate(c.s) & &its_mask & !&early).doc("its sectors that were not asked for");

    m.section("A line comes: the L1 goes first");
    m.assign(&drop_ready_o, !&evict_valid);
    let push = m.wire("push", &evict_valid | &drop_valid);
    let line = m.wire("line", evict_valid.mux(&evict_line, &drop_line));
    let mask = m.wire("mask", evict_valid.mux(&evict_mask, &drop_mask));
    let handle = m.wire("handle", evict_valid.mux(&evict_handle, &drop_handle));
    let next = ring(&mut m, "next_q", n, None, &push, "place written next");
    let same = search(&mut m, "same", &held, &lines, &line);
    let here = m.wire("here", next.bin_to_onehot(n));
    let older = m.wire("older", push.replicate(n) & same & !&freed).doc("place of the same line");
    let lost = m.wire("lost", push.replicate(n) & &here & !&freed & !&older).doc("place overwritten");
    let older_mask = m.wire("older_mask", older.onehot_mux(&masks));
    let lost_mask = m.wire("lost_mask", lost.onehot_mux(&masks));
    m.assign(&unused_o, other.popcount().zext(cw) + older_mask.popcount().zext(cw) + lost_mask.popcount().zext(cw));

    let gone = m.wire("gone", freed | &older);
    let taken = m.wire("taken", &here & push.replicate(n));
    m.seq(|b| {
        b.for_loop("e", n, |b, e| {
            b.if_(taken.bit(e), |b| b.set(masks.elem(e, c.s), &mask)).elif(gone.bit(e), |b| b.set(masks.elem(e, c.s), 0u32));
        });
    });
    m.write_rows(&lines, c.t, [(&taken, &line)]);
    m.write_rows(&handles, c.h, [(&taken, &handle)]);
    m.assume("mask_M", !&push | mask.reduce_or(), "what comes has sectors");
    unique(&mut m, "one_place_A", &held, &lines, "a line is never in it twice");
    m.finish()
}
