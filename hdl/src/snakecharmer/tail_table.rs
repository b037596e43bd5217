//! `tail_table`: patterns, one per load PC, and their training.

use super::context::{Built, Context, ring, search, sign_extend, unique};
use super::training::{negate, restart_or_train, sample, train};
use crate::rtl::{Expr, index_width};

pub(super) fn module(c: &Context) -> Built {
    let n = c.config.sc_patterns;
    let period = c.config.sc_anchor_period;
    let mut m = c.clocked(
        "tail_table",
        "SC-Tail Table: one entry per load PC with its intra-warp and inter-warp stride and the link to the load that follows in the same warp, each with a confidence.",
        "the pattern of a load is shown in its cycle, training shows in the next",
    );
    m.note("PATTERNS", n).note("STRIDE_BITS", c.sb).note("TRAIN_BITS", c.a).note("ANCHOR_PERIOD", period);
    let valid = m.input("load_valid_i", 1, "a load");
    let warp = m.input("load_warp_i", c.w, "its warp");
    let pc = m.input("load_pc_i", c.pc, "its load PC");
    let line = m.input("load_line_i", c.a, "low bits of its line");
    let previous_valid = m.input("previous_valid_i", 1, "the warp has loaded before");
    let previous_pattern = m.input("previous_pattern_i", c.p, "with this pattern");
    let previous_line = m.input("previous_line_i", c.a, "from this line");
    let read = m.input("read_pattern_i", c.p, "entry to read");
    let pattern_o = m.output("load_pattern_o", c.p, "pattern of the load");
    let replaced_o = m.output("replaced_o", 1, "the load takes a new entry");
    let read_pc_o = m.output("read_pc_o", c.pc, "load PC of the entry read");
    let read_intra_stride_o = m.output("read_intra_stride_o", c.sb, "its intra-warp stride");
    let read_intra_confidence_o = m.output("read_intra_confidence_o", 2, "and confidence");
    let read_link_pattern_o = m.output("read_link_pattern_o", c.p, "the pattern that follows");
    let read_link_stride_o = m.output("read_link_stride_o", c.sb, "and the stride to it");
    let read_link_confidence_o = m.output("read_link_confidence_o", 2, "and confidence");
    let read_warp_stride_o = m.output("read_warp_stride_o", c.sb, "its inter-warp stride");
    let read_warp_confidence_o = m.output("read_warp_confidence_o", 2, "and confidence");

    m.section("Entries");
    let used = m.reg("used_q", n).doc("the entry has an owner");
    let pcs = m.reg("pcs_q", n * c.pc).doc("load PC");
    let anchored = m.reg("anchored_q", n).doc("there is a warp to train on");
    let seen = m.reg("seen_q", n).doc("it loaded in this period");
    let anchor_warp = m.reg("anchor_warp_q", n * c.w).doc("that warp");
    let anchor_line = m.reg("anchor_line_q", n * c.a).doc("its last line");
    let intra_stride = m.reg("intra_stride_q", n * c.sb).doc("intra-warp stride");
    let intra_confidence = m.reg("intra_confidence_q", n * 2).doc("and confidence");
    let warp_stride = m.reg("warp_stride_q", n * c.sb).doc("inter-warp stride");
    let warp_confidence = m.reg("warp_confidence_q", n * 2).doc("and confidence");
    let link_pattern = m.reg("link_pattern_q", n * c.p).doc("pattern that follows in the same warp");
    let link_stride = m.reg("link_stride_q", n * c.sb).doc("stride to it");
    let link_confidence = m.reg("link_confidence_q", n * 2).doc("and confidence");

    m.section("Whose load is it");
    let matches = search(&mut m, "owners", &used, &pcs, &pc);
    let hit = m.wire("hit", matches.reduce_or());
    let miss = m.wire("miss", &valid & !&hit);
    let next = ring(&mut m, "next_q", n, None, &miss, "entry taken next");
    let p = m.wire("pattern", hit.mux(matches.onehot_to_bin(), &next));
    m.assign(&pattern_o, &p);
    m.assign(&replaced_o, &miss);
    for (port, entries, width) in [
        (&read_pc_o, &pcs, c.pc),
        (&read_intra_stride_o, &intra_stride, c.sb),
        (&read_intra_confidence_o, &intra_confidence, 2),
        (&read_link_pattern_o, &link_pattern, c.p),
        (&read_link_stride_o, &link_stride, c.sb),
        (&read_link_confidence_o, &link_confidence, 2),
        (&read_warp_stride_o, &warp_stride, c.sb),
        (&read_warp_confidence_o, &warp_confidence, 2),
    ] {
        let name = format!("row_{}", entries.to_string().trim_end_matches("_q"));
        let row = m.case_mux(&name, &read, entries, width);
        m.assign(port, row);
    }

    m.section("Anchor: the warp whose last line the entry remembers");
    let has_anchor = m.case_mux("has_anchor", &p, &anchored, 1);
    let its_warp = m.case_mux("its_warp", &p, &anchor_warp, c.w);
    let same_warp = m.wire("same_warp", its_warp.eq(&warp));
    let its_line = m.case_mux("its_line", &p, &anchor_line, c.a);
    let moved = m.wire("moved", &line - its_line).doc("lines from the anchor's last");
    let anchors = m.wire("anchors", &valid & (!&hit | !&has_anchor | &same_warp)).doc("the load becomes the anchor's last");

    m.section("Intra-warp");
    let here = m.wire("here", p.bin_to_onehot(n));
    let missed = m.wire("missed", &here & miss.replicate(n)).doc("entry that the load takes");
    let s = sample(c, &moved);
    let stride = m.case_mux("intra_stride", &p, &intra_stride, c.sb);
    let confidence = m.case_mux("intra_confidence", &p, &intra_confidence, 2);
    let (stride, confidence) = train(&stride, &confidence, &s);
    let trains_intra = m.wire("trains_intra", &valid & &hit & &has_anchor & &same_warp);
    restart_or_train(&mut m, "intra", &here, (&miss, &trains_intra), [(&intra_stride, stride), (&intra_confidence, confidence)]);

    m.section("Inter-warp: the load before, of another warp, at a distance of a power of two, so that a shift divides");
    let last_valid = m.reg("last_valid_q", 1).doc("there was a load before");
    let last_pattern = m.reg("last_pattern_q", c.p).doc("its pattern");
    let last_warp = m.reg("last_warp_q", c.w).doc("its warp");
    let last_line = m.reg("last_line_q", c.a).doc("its line");
    last_valid.next_when(&valid, 1u32);
    last_pattern.next_when(&valid, &p);
    last_warp.next_when(&valid, &warp);
    last_line.next_when(&valid, &line);
    let after = m.wire("after", last_warp.lt(&warp));
    let apart = m.wire("apart", after.mux(&warp - &last_warp, &last_warp - &warp));
    let moved = m.wire("moved_across", &line - &last_line).doc("lines from the load before");
    let power = if c.w == 1 { apart.clone() } else { (&apart & (&apart - 1u32)).is_zero() & apart.reduce_or() };
    let power = m.wire("power", power);
    let shifted: Vec<Expr> = (0..c.w).map(|k| sign_extend(&moved.bits(k.min(c.a - 1), c.a - k.min(c.a - 1)), c.a)).collect();
    let exact: Vec<Expr> = (0..c.w).map(|k| if k == 0 { Expr::ones(1) } else { moved.trunc(k.min(c.a)).is_zero() }).collect();
    let shifted = m.wire("shifted", apart.onehot_mux(Expr::concat_lsb_first(shifted)));
    let exact = m.wire("exact", (&apart & Expr::concat_lsb_first(exact)).reduce_or());
    let difference = m.wire("per_warp", after.mux(&shifted, negate(&shifted)));
    let mut s = sample(c, &difference);
    s.fits = s.fits & exact;
    let stride = m.case_mux("warp_stride", &p, &warp_stride, c.sb);
    let confidence = m.case_mux("warp_confidence", &p, &warp_confidence, 2);
    let (stride, confidence) = train(&stride, &confidence, &s);
    let trains_warp = m.wire("trains_warp", &valid & &hit & &last_valid & last_pattern.eq(&p) & power);
    restart_or_train(&mut m, "warp", &here, (&miss, &trains_warp), [(&warp_stride, stride), (&warp_confidence, confidence)]);

    m.section("Link: the load before, of the same warp");
    let q = &previous_pattern;
    let follower = m.case_mux("follower", q, &link_pattern, c.p);
    let linked = m.wire("linked", follower.eq(&p));
    let its_stride = m.case_mux("its_stride", q, &link_stride, c.sb);
    let its_confidence = m.case_mux("its_confidence", q, &link_confidence, 2);
    let s = sample(c, &m.wire("hop", &line - &previous_line));
    let (stride, confidence) = train(&its_stride, &its_confidence, &s);
    let weak = m.wire("no_confidence", its_confidence.is_zero());
    let trains_link = m.wire("trains_link", &valid & &hit & &previous_valid & q.ne(&p));
    let relink = m.wire("relink", &trains_link & !&linked & &weak).doc("another pattern follows now");
    let fresh = s.fits.replicate(c.sb) & &s.stride;
    let stride = m.wire("link_stride_d", linked.mux(stride, weak.mux(fresh, &its_stride)));
    let confidence = m.wire("link_confidence_d", linked.mux(confidence, weak.mux(0u32, &its_confidence - 1u32)));
    let previous = m.wire("previous", q.bin_to_onehot(n));
    let relinked = m.wire("relinked", &previous & relink.replicate(n));
    let trained = m.wire("trained", previous & trains_link.replicate(n));
    m.write_rows(&link_pattern, c.p, [(&missed, &Expr::zeros(c.p)), (&relinked, &p)]);
    m.write_rows(&link_stride, c.sb, [(&missed, &Expr::zeros(c.sb)), (&trained, &stride)]);
    let cut = m.net("cut", n).doc("links to the pattern whose entry gets a new owner");
    m.comb_for("e", n, |b, e| b.set(cut.bit(e), missed.bit(e) | (&miss & link_pattern.elem(e, c.p).eq(&p))));
    m.write_rows(&link_confidence, 2, [(&cut, &Expr::zeros(2)), (&trained, &confidence)]);

    m.section("Owner and anchor");
    let tick = m.reg("tick_q", index_width(period)).doc("cycles of this period");
    let last = m.wire("last", tick.eq(period - 1));
    tick.next(last.mux(0u32, &tick + 1u32));
    used.next(&used | &missed);
    m.write_rows(&pcs, c.pc, [(&missed, &pc)]);
    let set = m.wire("anchor_set", here & anchors.replicate(n));
    anchored.next((&anchored & (&seen | !last.replicate(n))) | &set);
    seen.next((&seen & !last.replicate(n)) | &set);
    m.write_rows(&anchor_warp, c.w, [(&set, &warp)]);
    m.write_rows(&anchor_line, c.a, [(&set, &line)]);

    unique(&mut m, "one_pattern_A", &used, &pcs, "a load PC has one pattern");
    m.finish()
}
