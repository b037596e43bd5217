//! `l2_awt`: best distances by load PC and kind.

use super::context::{Built, Context, ring, search, unique};
use super::window::{count_width, moved, window};
use crate::rtl::{Expr, value_width};

/// The step doubles at most this often.
const MAX_SHIFT: u32 = 4;

pub(super) fn module(c: &Context) -> Built {
    let n = c.config.sc_l2_awt_entries;
    let cw = count_width(c);
    let kinds = u32::from(c.config.sc_awt_per_kind) * 2;
    let tw = kinds + c.pc;
    let mut m = c.clocked(
        "l2_awt",
        "Adaptive window table by load PC and kind: the Global Best Distance, fully associative.",
        "reads are combinational; an event or a new entry shows in the next cycle",
    );
    m.note("ENTRIES", n).note("WINDOW", c.config.sc_awt_window).note("STEP", c.config.sc_awt_step);
    let best_kind = m.input("best_kind_i", 2, "read-back: kind");
    let best_pc = m.input("best_pc_i", c.pc, "read-back: load PC");
    let lookup_kind = m.input("lookup_kind_i", 2, "candidate: kind");
    let lookup_pc = m.input("lookup_pc_i", c.pc, "candidate: load PC");
    let allocate = m.input("lookup_allocate_i", 1, "the candidate is issued");
    let valid = m.input("feedback_valid_i", 1, "an event");
    let class = m.input("feedback_class_i", 2, "0 on time, 1 early, 2 late");
    let at = m.input("feedback_index_i", c.gi, "its entry");
    let generation = m.input("feedback_generation_i", c.g, "and generation");
    let best_distance_o = m.output("best_distance_o", c.d, "read-back: best distance");
    let distance_o = m.output("lookup_distance_o", c.d, "candidate: best distance");
    let index_o = m.output("lookup_index_o", c.gi, "candidate: its entry");
    let generation_o = m.output("lookup_generation_o", c.g, "candidate: and its generation");
    let live_o = m.output("feedback_live_o", 1, "the entry still belongs to the event");
    let then_o = m.output("feedback_distance_o", c.d, "its distance before the event");

    m.section("Entries");
    let used = m.reg("used_q", n).doc("the entry has an owner");
    let tags = m.reg("tags_q", n * tw).doc("its kind and load PC");
    let distances = m.reg("distances_q", n * c.d).doc("Global Best Distance");
    let counts = m.reg("counts_q", n * 3 * cw).doc("events of this window: on time, early, late");
    let generations = m.reg("generations_q", n * c.g).doc("tells owners apart");

    m.section("Reads");
    let tag = |kind: &Expr, pc: &Expr| if kinds > 0 { Expr::concat_lsb_first([kind, pc]) } else { pc.clone() };
    let mut read = |name: &str, kind: &Expr, pc: &Expr| {
        let key = m.wire(&format!("{name}_tag"), tag(kind, pc));
        let matches = search(&mut m, &format!("{name}_matches"), &used, &tags, &key);
        let found = m.wire(&format!("{name}_found"), matches.reduce_or());
        let distance = found.mux(matches.onehot_mux(&distances), c.config.sc_reset_distance);
        let distance = m.wire(&format!("{name}_distance"), distance);
        (key, matches, found, c.read_distance(distance, kind))
    };
    let (_, _, _, distance) = read("best", &best_kind, &best_pc);
    let (key, matches, found, lookup_distance) = read("lookup", &lookup_kind, &lookup_pc);
    m.assign(&best_distance_o, distance);
    m.assign(&distance_o, lookup_distance);
    let fresh = m.wire("fresh", &allocate & !&found);
    let next = ring(&mut m, "next_q", n, None, &fresh, "entry taken next");
    let place = m.wire("place", found.mux(matches.onehot_to_bin(), &next));
    let its_generation = m.case_mux("its_generation", &place, &generations, c.g);
    let new_generation = m.wire("new_generation", &its_generation + 1u32);
    m.assign(&index_o, &place);
    m.assign(&generation_o, found.mux(&its_generation, &new_generation));

    m.section("Event");
    let owned = m.case_mux("owned", &at, &used, 1);
    let owner = m.case_mux("owner", &at, &generations, c.g);
    let live = m.wire("live", &valid & owned & owner.eq(&generation));
    let taken = m.wire("taken", place.bin_to_onehot(n) & fresh.replicate(n));
    // A new entry takes the place of the event. With one entry only there is no index that would order the two.
    let kept = m.wire("event_kept", &live & !(&fresh & at.eq(&place)));
    let its = m.wire("its", at.bin_to_onehot(n) & kept.replicate(n)).doc("entry of the event");
    let here = m.case_mux("here", &at, &distances, c.d);
    m.assign(&live_o, &live);
    m.assign(&then_o, &here);
    let w = window(c, &mut m, &counts, &at, &class);
    let kind = if kinds > 0 {
        let tag_there = m.case_mux("tag_there", &at, &tags, tw);
        m.mark_unused(tag_there.bits(2, tw - 2));
        tag_there.trunc(2)
    } else {
        Expr::zeros(2)
    };
    let limit = m.wire("limit", c.limit(&kind, c.d));
    let (farther, nearer) = (w.farther, w.nearer);
    let step = value_width(u64::from(c.config.sc_awt_step));
    let step = Expr::lit(step, c.config.sc_awt_step);
    let distance = if kinds > 0 && c.config.sc_awt_doubling {
        // Inter-warp distances are long: they move in growing steps.
        let inter_warp = kind.eq(2);
        let last = m.reg("last_q", n * 2).doc("direction of the last window: 0 none, 1 farther, 2 nearer");
        let shifts = m.reg("shifts_q", n * 3).doc("how often the step has doubled");
        let direction = m.wire("direction", Expr::concat_lsb_first([&farther, &nearer]));
        let shift = m.case_mux("shift", &at, &shifts, 3);
        let before = m.case_mux("last_direction", &at, &last, 2);
        let again = m.wire("again", direction.ne(0) & before.eq(&direction));
        let more = shift.lt(MAX_SHIFT).mux(&shift + 1u32, &shift);
        let shift = m.wire("shift_d", (&again & &inter_warp).mux(more, 0u32));
        let ends = m.wire("ends", &its & w.full.replicate(n));
        let turn = m.wire("turn", inter_warp.replicate(2) & &direction);
        m.write_rows(&last, 2, [(&ends, &turn), (&taken, &Expr::zeros(2))]);
        m.write_rows(&shifts, 3, [(&ends, &shift), (&taken, &Expr::zeros(3))]);
        let by = m.wire("by", step.zext(step.width() + MAX_SHIFT).shl(&shift));
        moved(&here, &by, &limit, &farther, &nearer)
    } else {
        moved(&here, &step, &limit, &farther, &nearer)
    };
    let distance = m.wire("distance_d", distance);
    let counted = m.wire("counts_d", w.counts);

    m.section("Next state");
    used.next(&used | &taken);
    m.write_rows(&tags, tw, [(&taken, &key)]);
    m.write_rows(&generations, c.g, [(&taken, &new_generation)]);
    m.write_rows(&distances, c.d, [(&its, &distance), (&taken, &Expr::lit(c.d, c.config.sc_reset_distance))]);
    m.write_rows(&counts, 3 * cw, [(&its, &counted), (&taken, &Expr::zeros(3 * cw))]);
    unique(&mut m, "one_entry_A", &used, &tags, "a load PC and kind has one entry");
    let inside = (0..n.min(4)).map(|e| {
        let distance = distances.elem(e, c.d);
        let kind = if kinds > 0 { tags.elem(e, tw).trunc(2) } else { Expr::zeros(2) };
        !used.bit(e) | (distance.ne(0) & distance.le(c.limit(&kind, c.d))) | (kind.eq(3) & Expr::lit(1, kinds.min(1)))
    });
    m.assert("distance_A", Expr::and_all(inside.collect::<Vec<_>>()), "distances stay in 1 ..= maximum");
    m.assert("nearer_or_farther_A", !(&farther & &nearer), "a window has one direction");
    m.finish()
}
