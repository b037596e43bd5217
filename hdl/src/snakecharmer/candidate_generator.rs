//! `candidate_generator`: candidates of a trigger, one per cycle.

use super::context::{Built, Context, min, sign_extend};
use crate::rtl::{Expr, index_width};

pub(super) fn module(c: &Context) -> Built {
    let degree = c.config.sc_degree;
    let mut m = c.clocked(
        "candidate_generator",
        "Turns a load and its pattern into candidates: per kind a few distances around the best one; inter-PC distances are walked hop by hop.",
        "two cycles from an accepted trigger to its first candidate; a trigger takes a cycle for each kind that is trained and one more, besides those of its candidates",
    );
    m.note("DEGREE", degree);
    let trigger_valid = m.input("trigger_valid_i", 1, "a trigger");
    let trigger_warp = m.input("trigger_warp_i", c.w, "warp of the load");
    let trigger_pattern = m.input("trigger_pattern_i", c.p, "its pattern");
    let trigger_line = m.input("trigger_line_i", c.t, "its line");
    let trigger_mask = m.input("trigger_mask_i", c.s, "its sectors");
    let read_pc = m.input("read_pc_i", c.pc, "load PC of the entry read");
    let intra_stride = m.input("read_intra_stride_i", c.sb, "its intra-warp stride");
    let intra_confidence = m.input("read_intra_confidence_i", 2, "and confidence");
    let link_pattern = m.input("read_link_pattern_i", c.p, "the pattern that follows");
    let link_stride = m.input("read_link_stride_i", c.sb, "and the stride to it");
    let link_confidence = m.input("read_link_confidence_i", 2, "and confidence");
    let warp_stride = m.input("read_warp_stride_i", c.sb, "its inter-warp stride");
    let warp_confidence = m.input("read_warp_confidence_i", 2, "and confidence");
    let best_distance = m.input("best_distance_i", c.d, "best distance for what is asked");
    let candidate_ready = m.input("candidate_ready_i", 1, "the candidate is taken");
    let trigger_ready_o = m.output("trigger_ready_o", 1, "the trigger is taken");
    let read_pattern_o = m.output("read_pattern_o", c.p, "entry to read");
    let best_kind_o = m.output("best_kind_o", 2, "whose best distance is wanted: kind");
    let best_warp_o = m.output("best_warp_o", c.w, "warp");
    let best_pc_o = m.output("best_pc_o", c.pc, "load PC");
    let valid_o = m.output("candidate_valid_o", 1, "a candidate");
    let line_o = m.output("candidate_line_o", c.t, "its line");
    let mask_o = m.output("candidate_mask_o", c.s, "its sectors");
    let pattern_o = m.output("candidate_pattern_o", c.p, "its pattern");
    let kind_o = m.output("candidate_kind_o", 2, "0 intra-warp, 1 inter-PC, 2 inter-warp");
    let distance_o = m.output("candidate_distance_o", c.d, "its distance");
    let confidence_o = m.output("candidate_confidence_o", 2, "confidence of its stride");
    let warp_o = m.output("candidate_warp_o", c.w, "warp of the trigger");
    let pc_o = m.output("candidate_pc_o", c.pc, "load PC of the trigger");

    m.section("State");
    let walk = m.fsm("walk", &["PICK", "EMIT"]);
    let kind = m.reg("kind_q", 2).reset(3).doc("kind in turn; 3: none is left");
    let warp = m.reg("warp_q", c.w).doc("warp of the trigger");
    let pattern = m.reg("pattern_q", c.p).doc("its pattern");
    let line = m.reg("line_q", c.t).doc("its line");
    let mask = m.reg("mask_q", c.s).doc("its sectors");
    let pc = m.reg("pc_q", c.pc).doc("its load PC");
    let best = m.reg("best_q", c.d).doc("best distance of this kind");
    let current = m.reg("current_q", c.p).doc("inter-PC: pattern reached");
    let reached = m.reg("reached_q", c.t).doc("inter-PC: line reached");
    let hop = m.reg("hop_q", c.d).doc("inter-PC: hops to the next line");
    let least = m.reg("least_q", 2).doc("inter-PC: least confidence on the way");
    let j_reg = (degree > 1).then(|| m.reg("j_q", index_width(degree)).doc("how many distances were looked at"));
    let j = j_reg.as_ref().map_or_else(|| Expr::zeros(1), Expr::from);

    m.section("What is read");
    let (pick, emit) = (walk.is("PICK"), walk.is("EMIT"));
    let chain = m.wire("chain", kind.eq(1)).doc("inter-PC");
    m.assign(&read_pattern_o, (&emit & &chain).mux(&current, &pattern));
    let do_intra = kind.is_zero() & intra_confidence.ne(0) & intra_stride.ne(0);
    let do_intra = m.wire("do_intra", do_intra).doc("intra-warp is trained and still to be proposed");
    let do_chain = m.wire("do_chain", kind.le(1) & link_confidence.ne(0)).doc("so is inter-PC");
    let do_warp = kind.le(2) & warp_confidence.ne(0) & warp_stride.ne(0);
    let do_warp = m.wire("do_warp", do_warp).doc("so is inter-warp");
    let some = m.wire("some", &do_intra | &do_chain | &do_warp);
    let first = m.wire("first", do_intra.mux(0u32, do_chain.mux(1u32, Expr::lit(2, 2)))).doc("kind to propose next");
    m.assign(&best_kind_o, emit.mux(&kind, &first));
    m.assign(&best_warp_o, &warp);
    m.assign(&best_pc_o, &read_pc);
    let take = m.wire("take", &pick & !&some).doc("nothing is left to propose");
    m.assign(&trigger_ready_o, &take);
    let inter_warp = m.wire("inter_warp", kind.bit(1));
    let stride = m.wire("stride", chain.mux(&link_stride, inter_warp.mux(&warp_stride, &intra_stride)));
    let confidence = m.wire("confidence", chain.mux(&link_confidence, inter_warp.mux(&warp_confidence, &intra_confidence)));

    m.section("Distances: best, best + 1, best - 1, best + 2 ...");
    let wide = c.d + 5;
    let (below, above) = ((degree - 1) / 2, degree / 2);
    let offset = |j: u32| if j % 2 == 1 { i64::from(j.div_ceil(2)) } else { -i64::from(j / 2) };
    let offsets = (0..degree).map(|i| (u64::from(i), Expr::lit(wide, (offset(i) as u64) & ((1u64 << wide) - 1))));
    let around = m.wire("around", best.zext(wide) + j.select(offsets.collect::<Vec<_>>(), Expr::zeros(wide)));
    let most = m.wire("most", c.max_of(&kind, c.d));
    let inside = &around.ne(0) & !around.bit(wide - 1) & around.le(most.zext(wide));
    let top = m.wire("top", best.zext(wide) + Expr::lit(wide, above)).doc("largest distance wanted");
    let hops = m.wire("hops", hop.zext(wide));
    let in_band = (&hops + Expr::lit(wide, below)).ge(best.zext(wide)) & hops.le(&top);
    let legal = m.wire("legal", chain.mux(in_band, inside));
    let valid = m.wire("valid", &emit & &legal & !(&chain & confidence.is_zero()));
    let distance = m.wire("distance", chain.mux(&hop, around.trunc(c.d)));

    m.section("Candidate");
    let signed = m.wire("signed_stride", sign_extend(&stride, c.t));
    let products: Vec<Expr> =
        (0..c.d).map(|i| if i < c.t { distance.bit(i).replicate(c.t) & signed.shl_const(i) } else { Expr::zeros(c.t) }).collect();
    let product = m.wire("product", Expr::add_all(products)).doc("distance times stride");
    let hop_line = m.wire("hop_line", &reached + &signed);
    let weakest = m.wire("weakest", min(&least, &confidence));
    m.assign(&valid_o, &valid);
    m.assign(&line_o, chain.mux(&hop_line, &line + product));
    m.assign(&mask_o, &mask);
    m.assign(&pattern_o, &pattern);
    m.assign(&kind_o, &kind);
    m.assign(&distance_o, &distance);
    m.assign(&confidence_o, chain.mux(&weakest, &confidence));
    m.assign(&warp_o, &warp);
    m.assign(&pc_o, &pc);

    m.section("Next state");
    let broken = m.wire("broken", &chain & confidence.is_zero()).doc("the chain ends");
    let step = m.wire("step", &emit & (&broken | !&legal | &candidate_ready));
    let last_hop = hops.ge(&top) | hop.ge(c.config.sc_max_inter_pc);
    let last_j = if degree == 1 { Expr::ones(1) } else { j.eq(degree - 1) };
    let last = m.wire("last", chain.mux(&broken | last_hop, last_j));
    let ends = m.wire("ends", &step & &last);
    let start = m.wire("start", &pick & &some);
    let go_on = m.wire("go_on", &step & !&last);
    m.fsm_next(&walk, |t| {
        t.state("PICK", |s| {
            s.goto_when(&start, "EMIT");
        });
        t.state("EMIT", |s| {
            s.goto_when(&ends, "PICK");
        });
    });
    kind.next_when(&take, trigger_valid.mux(0u32, Expr::lit(2, 3)));
    kind.next_when(&start, &first);
    kind.next_when(&ends, &kind + 1u32);
    let take = m.wire("taken", &take & &trigger_valid);
    for (r, value) in [(&warp, &trigger_warp), (&pattern, &trigger_pattern), (&line, &trigger_line), (&mask, &trigger_mask)] {
        r.next_when(&take, value);
    }
    best.next_when(&start, &best_distance);
    pc.next_when(&start, &read_pc);
    if let Some(j) = &j_reg {
        j.next_when(&start, 0u32);
        j.next_when(&go_on & !&chain, j + 1u32);
    }
    let hops_on = m.wire("hops_on", &go_on & &chain);
    current.next_when(&start, &pattern);
    current.next_when(&hops_on, &link_pattern);
    reached.next_when(&start, &line);
    reached.next_when(&hops_on, &hop_line);
    hop.next_when(&start, 1u32);
    hop.next_when(&hops_on, &hop + 1u32);
    least.next_when(&start, 3u32);
    least.next_when(&hops_on, &weakest);

    m.assert("distance_A", !&valid | (distance.ne(0) & distance.le(&most)), "distances stay in 1 ..= maximum");
    m.finish()
}
