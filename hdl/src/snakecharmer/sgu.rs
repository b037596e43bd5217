//! `sgu`: score of a candidate.

use super::context::{Built, Context};
use crate::rtl::Expr;

pub(super) fn module(c: &Context) -> Built {
    let threshold = c.config.sc_sgu_threshold;
    let mut m = c.combinational(
        "sgu",
        "Score of a candidate: confidence of its stride and nearness of its distance to the best one; from a threshold on it may be issued.",
        "combinational",
    );
    m.note("THRESHOLD", threshold);
    let kind = m.input("kind_i", 2, "0 intra-warp, 1 inter-PC, 2 inter-warp");
    let distance = m.input("distance_i", c.d, "distance of the candidate");
    let confidence = m.input("confidence_i", 2, "confidence of its stride");
    let best = m.input("best_i", c.d, "best distance for it");
    let score_o = m.output("score_o", 3, "its score");
    let issue_o = m.output("issue_o", 1, "it may be issued");

    let w = c.d.max(3);
    let apart = m.wire("apart", distance.lt(&best).mux(&best - &distance, &distance - &best).zext(w));
    let near = Expr::lit(3, 3);
    let near = apart.is_zero().mux(near, apart.le(2).mux(2u32, apart.le(5).mux(1u32, Expr::zeros(3))));
    let score = m.wire("score", confidence.zext(3) + near);
    let legal = m.wire("legal", distance.ne(0) & distance.le(c.max_of(&kind, c.d))).doc("kind 3 has no legal distance");
    m.assign(&score_o, &score);
    let good = if c.config.sc_controller { score.ge(threshold) } else { confidence.ne(0) };
    m.assign(&issue_o, legal & good);
    m.finish()
}
