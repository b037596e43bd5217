//! `l1_awt`: best distances by warp, load PC and kind.

use super::context::{Built, Context, min};
use super::window::{count_width, moved, window};
use crate::rtl::{Expr, ModuleBuilder, Reg, value_width};

/// The pc as the XOR of its pieces of LI bits.
fn fold(c: &Context, pc: &Expr) -> Expr {
    let pieces = (0..c.pc.div_ceil(c.li)).map(|i| {
        let low = i * c.li;
        pc.bits(low, c.li.min(c.pc - low)).resize(c.li)
    });
    Expr::xor_all(pieces.collect::<Vec<_>>())
}

/// The place of a context.
fn index(c: &Context, m: &mut ModuleBuilder, name: &str, kind: &Expr, warp: &Expr, pc: &Expr) -> Expr {
    let n = c.config.sc_l1_awt_entries;
    if n == 1 {
        return Expr::zeros(1);
    }
    let kind = if c.li >= 2 { kind.resize(c.li).shl_const(c.li - 2) } else { kind.resize(c.li) };
    let hash = warp.resize(c.li) ^ fold(c, pc) ^ kind;
    let hash = m.wire(&format!("{name}_hash"), hash);
    if n.is_power_of_two() { hash } else { m.wire(&format!("{name}_index"), hash.lt(n).mux(&hash, &hash - n)) }
}

/// Bits of the warp that the index does not imply.
pub(super) fn warp_tag_bits(c: &Context) -> u32 {
    let n = c.config.sc_l1_awt_entries;
    if n.is_power_of_two() && n > 1 { c.w.saturating_sub(c.li) } else { c.w }
}

pub(super) fn module(c: &Context) -> Built {
    let (n, samples_max) = (c.config.sc_l1_awt_entries, c.config.sc_awt_samples);
    let (cw, sw) = (count_width(c), value_width(u64::from(samples_max)));
    // Which warp an entry belongs to follows from its index as long as that has a bit for each bit of the warp.
    let wt = warp_tag_bits(c);
    let kinds = u32::from(c.config.sc_awt_per_kind) * 2;
    let tw = kinds + wt + c.pc;
    let mut m = c.clocked(
        "l1_awt",
        "Adaptive window table by warp, load PC and kind: the Local Best Distance, direct-mapped.",
        "reads are combinational; an event or a new entry shows in the next cycle",
    );
    m.note("ENTRIES", n).note("WINDOW", c.config.sc_awt_window).note("SAMPLES", samples_max).note("STEP", c.config.sc_awt_step);
    let best_kind = m.input("best_kind_i", 2, "read-back: kind");
    let best_warp = m.input("best_warp_i", c.w, "read-back: warp");
    let best_pc = m.input("best_pc_i", c.pc, "read-back: load PC");
    let lookup_kind = m.input("lookup_kind_i", 2, "candidate: kind");
    let lookup_warp = m.input("lookup_warp_i", c.w, "candidate: warp");
    let lookup_pc = m.input("lookup_pc_i", c.pc, "candidate: load PC");
    let allocate = m.input("lookup_allocate_i", 1, "the candidate is issued");
    let global = m.input("lookup_global_i", c.d, "Global Best Distance for the candidate");
    let valid = m.input("feedback_valid_i", 1, "an event");
    let class = m.input("feedback_class_i", 2, "0 on time, 1 early, 2 late");
    let at = m.input("feedback_index_i", c.li, "its entry");
    let generation = m.input("feedback_generation_i", c.g, "and generation");
    let global_valid = m.input("feedback_global_valid_i", 1, "its load PC has an entry");
    let global_then = m.input("feedback_global_i", c.d, "with this distance");
    let best_hit_o = m.output("best_hit_o", 1, "read-back: the entry is in use");
    let best_distance_o = m.output("best_distance_o", c.dl, "read-back: its distance");
    let hit_o = m.output("lookup_hit_o", 1, "candidate: the entry is in use");
    let distance_o = m.output("lookup_distance_o", c.dl, "candidate: its distance");
    let local_o = m.output("lookup_local_o", 1, "candidate: it has or would get an entry");
    let index_o = m.output("lookup_index_o", c.li, "candidate: that entry");
    let generation_o = m.output("lookup_generation_o", c.g, "candidate: and its generation");

    m.section("Entries");
    let used = m.reg("used_q", n).doc("the entry has an owner");
    let tags = m.reg("tags_q", n * tw).doc("its kind, warp (the bits that the index does not imply) and load PC");
    let distances = m.reg("distances_q", n * c.dl).doc("Local Best Distance");
    let counts = m.reg("counts_q", n * 3 * cw).doc("events of this window: on time, early, late");
    let samples = m.reg("samples_q", n * sw).doc("events so far");
    let generations = m.reg("generations_q", n * c.g).doc("tells owners apart");

    m.section("Reads");
    let tag = |kind: &Expr, warp: &Expr, pc: &Expr| {
        let mut parts = Vec::new();
        if kinds > 0 {
            parts.push(kind.clone());
        }
        if wt > 0 {
            parts.push(warp.bits(c.w - wt, wt));
        }
        parts.push(pc.clone());
        Expr::concat_lsb_first(parts)
    };
    let local = |kind: &Expr| if c.config.sc_awt_per_kind && !c.config.sc_awt_inter_warp_local { kind.ne(2) } else { Expr::ones(1) };
    let mut read = |name: &str, kind: &Expr, warp: &Expr, pc: &Expr| {
        let place = index(c, &mut m, name, &c.awt_kind(kind), warp, pc);
        let mut row = |what: &str, table: &Reg, width: u32| m.case_mux(&format!("{name}_{what}"), &place, table, width);
        let (in_use, there, seen) = (row("used", &used, 1), row("there", &tags, tw), row("samples", &samples, sw));
        let distance = row("distance", &distances, c.dl);
        let match_ = m.wire(&format!("{name}_match"), local(kind) & in_use & there.eq(tag(kind, warp, pc)));
        let in_use = &match_ & seen.eq(samples_max);
        (place, match_, in_use, c.read_distance(distance, kind))
    };
    let (_, _, hit, distance) = read("best", &best_kind, &best_warp, &best_pc);
    let (place, match_, lookup_hit, lookup_distance) = read("lookup", &lookup_kind, &lookup_warp, &lookup_pc);
    m.assign(&best_hit_o, hit);
    m.assign(&best_distance_o, distance);
    m.assign(&hit_o, lookup_hit);
    m.assign(&distance_o, lookup_distance);
    m.assign(&local_o, local(&lookup_kind));
    m.assign(&index_o, &place);
    let its_generation = m.case_mux("its_generation", &place, &generations, c.g);
    let new_generation = m.wire("new_generation", &its_generation + 1u32);
    m.assign(&generation_o, match_.mux(&its_generation, &new_generation));

    m.section("Event");
    let owned = m.case_mux("owned", &at, &used, 1);
    let owner = m.case_mux("owner", &at, &generations, c.g);
    let live = m.wire("live", &valid & owned & owner.eq(&generation));
    let w = window(c, &mut m, &counts, &at, &class);
    let seen = m.case_mux("seen", &at, &samples, sw);
    let ripe = m.wire("ripe", seen.eq(samples_max));
    let seen_next = m.wire("seen_next", ripe.mux(&seen, &seen + 1u32));
    let kind_there = if kinds > 0 {
        let tag_there = m.case_mux("tag_there", &at, &tags, tw);
        m.mark_unused(tag_there.bits(2, tw - 2));
        tag_there.trunc(2)
    } else {
        Expr::zeros(2)
    };
    let limit = m.wire("limit", c.limit(&kind_there, c.dl));
    let step = Expr::lit(value_width(u64::from(c.config.sc_awt_step)), c.config.sc_awt_step);
    let here = m.case_mux("here", &at, &distances, c.dl);
    let stepped = moved(&here, &step, &limit, &w.farther, &w.nearer);
    let capped = |distance: &Expr, limit: &Expr| min(distance, &limit.zext(c.d)).trunc(c.dl);
    let distance = if c.config.sc_awt_inherit {
        let inherits = m.wire("inherits", !&ripe & seen_next.eq(samples_max) & &global_valid).doc("from now on the entry is in use");
        inherits.mux(capped(&global_then, &limit), stepped)
    } else {
        m.mark_unused(&global_valid);
        m.mark_unused(&global_then);
        stepped
    };
    let distance = m.wire("distance_d", distance);
    let counted = m.wire("counts_d", w.counts);

    m.section("New entry");
    let fresh = m.wire("fresh", &allocate & local(&lookup_kind) & !&match_);
    let start = if c.config.sc_awt_inherit {
        capped(&global, &c.limit(&lookup_kind, c.dl))
    } else {
        m.mark_unused(&global);
        Expr::lit(c.dl, c.config.sc_reset_distance)
    };
    let start = m.wire("start", start);
    let lookup_tag = m.wire("lookup_tag", tag(&lookup_kind, &lookup_warp, &lookup_pc));
    let taken = m.wire("taken", place.bin_to_onehot(n) & fresh.replicate(n));
    used.next(&used | &taken);
    m.write_rows(&tags, tw, [(&taken, &lookup_tag)]);
    m.write_rows(&generations, c.g, [(&taken, &new_generation)]);
    // A new entry takes the place of the event. With one entry only there is no index that would order the two.
    let kept = m.wire("event_kept", &live & !(&fresh & at.eq(&place)));
    let moves = m.wire("moves", at.bin_to_onehot(n) & kept.replicate(n));
    for (entries, width, event, new) in
        [(&distances, c.dl, distance, start), (&counts, 3 * cw, counted, Expr::zeros(3 * cw)), (&samples, sw, seen_next, Expr::zeros(sw))]
    {
        m.write_rows(entries, width, [(&moves, &event), (&taken, &new)]);
    }
    m.finish()
}
