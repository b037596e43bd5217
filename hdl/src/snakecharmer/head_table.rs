//! `head_table`: the last load of each warp.

use super::context::{Built, Context, search};

pub(super) fn module(c: &Context) -> Built {
    let n = c.config.sc_warps;
    let mut m = c.clocked(
        "head_table",
        "The last load of each warp: its pattern, which stands for the load PC, and its line.",
        "the load before is shown in the cycle of the load",
    );
    m.note("WARPS", n);
    let valid = m.input("load_valid_i", 1, "a load");
    let warp = m.input("load_warp_i", c.w, "its warp");
    let pattern = m.input("load_pattern_i", c.p, "its pattern");
    let line = m.input("load_line_i", c.a, "low bits of its line");
    let replaced = m.input("replaced_i", 1, "the load took a new pattern entry");
    let valid_o = m.output("previous_valid_o", 1, "the warp has loaded before");
    let pattern_o = m.output("previous_pattern_o", c.p, "with this pattern");
    let line_o = m.output("previous_line_o", c.a, "from this line");

    let known = m.reg("known_q", n).doc("the warp has loaded");
    let patterns = m.reg("patterns_q", n * c.p).doc("pattern of its last load");
    let lines = m.reg("lines_q", n * c.a).doc("line of its last load");
    let before = m.case_mux("loaded", &warp, &known, 1);
    m.assign(&valid_o, &before);
    let its_pattern = m.case_mux("its_pattern", &warp, &patterns, c.p);
    let its_line = m.case_mux("its_line", &warp, &lines, c.a);
    m.assign(&pattern_o, before.replicate(c.p) & its_pattern);
    m.assign(&line_o, before.replicate(c.a) & its_line);

    m.comment("The pattern has a new owner: no warp has loaded with it.");
    let stale = search(&mut m, "stale", &known, &patterns, &pattern);
    let kept = m.wire("kept", replaced.mux(&known & !stale, &known));
    let loads = m.wire("loads", warp.bin_to_onehot(n) & valid.replicate(n));
    known.next_when(&valid, kept | &loads);
    m.write_rows(&patterns, c.p, [(&loads, &pattern)]);
    m.write_rows(&lines, c.a, [(&loads, &line)]);
    m.finish()
}
