//! `apogee`: the APOGEE front end.

use super::context::{Built, Context, ring, search, unique};
use super::training::{negate, restart_or_train, sample, train};

pub(super) fn module(c: &Context) -> Built {
    let n = c.config.sc_patterns;
    let mut m = c.clocked(
        "apogee",
        "APOGEE front end: per load PC, fixed offsets between neighbouring warps (FOA) and addresses that all warps share (TIA), with the stride at which those move.",
        "the pattern of a load is shown in its cycle, training shows in the next",
    );
    m.note("PATTERNS", n).note("STRIDE_BITS", c.sb).note("TRAIN_BITS", c.a);
    let valid = m.input("load_valid_i", 1, "a load");
    let warp = m.input("load_warp_i", c.w, "its warp");
    let pc = m.input("load_pc_i", c.pc, "its load PC");
    let line = m.input("load_line_i", c.a, "low bits of its line");
    let read = m.input("read_pattern_i", c.p, "entry to read");
    let pattern_o = m.output("load_pattern_o", c.p, "pattern of the load");
    let replaced_o = m.output("replaced_o", 1, "the load takes a new entry");
    let read_pc_o = m.output("read_pc_o", c.pc, "load PC of the entry read");
    let read_intra_stride_o = m.output("read_intra_stride_o", c.sb, "TIA: stride of the shared address");
    let read_intra_confidence_o = m.output("read_intra_confidence_o", 2, "and confidence");
    let read_warp_stride_o = m.output("read_warp_stride_o", c.sb, "FOA: offset between neighbouring warps");
    let read_warp_confidence_o = m.output("read_warp_confidence_o", 2, "and confidence");

    m.section("Entries");
    let used = m.reg("used_q", n).doc("the entry has an owner");
    let pcs = m.reg("pcs_q", n * c.pc).doc("load PC");
    let warps = m.reg("warps_q", n * c.w).doc("warp of the last load");
    let lines = m.reg("lines_q", n * c.a).doc("its line");
    let tia_stride = m.reg("tia_stride_q", n * c.sb).doc("stride of the shared address");
    let tia_confidence = m.reg("tia_confidence_q", n * 2).doc("confidence that it is shared");
    let foa_stride = m.reg("foa_stride_q", n * c.sb).doc("offset between neighbouring warps");
    let foa_confidence = m.reg("foa_confidence_q", n * 2).doc("and confidence");

    let matches = search(&mut m, "owners", &used, &pcs, &pc);
    let hit = m.wire("hit", matches.reduce_or());
    let miss = m.wire("miss", &valid & !&hit);
    let known = m.wire("known", &valid & &hit);
    let next = ring(&mut m, "next_q", n, None, &miss, "entry taken next");
    let p = m.wire("pattern", hit.mux(matches.onehot_to_bin(), &next));
    m.assign(&pattern_o, &p);
    m.assign(&replaced_o, &miss);
    for (port, entries, width) in [
        (&read_pc_o, &pcs, c.pc),
        (&read_intra_stride_o, &tia_stride, c.sb),
        (&read_intra_confidence_o, &tia_confidence, 2),
        (&read_warp_stride_o, &foa_stride, c.sb),
        (&read_warp_confidence_o, &foa_confidence, 2),
    ] {
        let name = format!("row_{}", entries.to_string().trim_end_matches("_q"));
        let row = m.case_mux(&name, &read, entries, width);
        m.assign(port, row);
    }

    m.section("Training");
    let before = m.case_mux("previous_warp", &p, &warps, c.w);
    let its_line = m.case_mux("its_line", &p, &lines, c.a);
    let moved = m.wire("moved", &line - its_line).doc("lines from the load before");
    let (this, that) = (warp.zext(c.w + 1), before.zext(c.w + 1));
    let up = m.wire("up", this.eq(&that + 1u32)).doc("the next warp");
    let down = m.wire("down", that.eq(&this + 1u32)).doc("the warp before");
    let s = sample(c, &m.wire("offset", up.mux(&moved, negate(&moved))));
    let stride = m.case_mux("foa_stride", &p, &foa_stride, c.sb);
    let confidence = m.case_mux("foa_confidence", &p, &foa_confidence, 2);
    let (stride, confidence) = train(&stride, &confidence, &s);
    let trains_foa = m.wire("trains_foa", &known & (up | down));
    let here = m.wire("here", p.bin_to_onehot(n));
    let missed = m.wire("missed", &here & miss.replicate(n)).doc("entry that the load takes");
    restart_or_train(&mut m, "foa", &here, (&miss, &trains_foa), [(&foa_stride, stride), (&foa_confidence, confidence)]);

    let shared = m.case_mux("shared", &p, &tia_confidence, 2);
    let still = m.wire("still", moved.is_zero());
    let s = sample(c, &moved);
    let moves = m.wire("moves", &known & !&still & shared.bit(1) & s.fits).doc("the shared address has moved");
    let more = shared.eq(3).mux(3u32, &shared + 1u32);
    let less = shared.is_zero().mux(0u32, &shared - 1u32);
    let trains_tia = m.wire("trains_tia", &known & before.ne(&warp));

    let rows = m.wire("tia_rows", &here & (&miss | &moves).replicate(n));
    let value = m.wire("tia_stride_d", moves.replicate(c.sb) & s.stride);
    m.write_rows(&tia_stride, c.sb, [(&rows, &value)]);
    let rows = m.wire("shared_rows", &here & (&miss | &trains_tia).replicate(n));
    let value = m.wire("tia_confidence_d", trains_tia.replicate(2) & still.mux(more, less));
    m.write_rows(&tia_confidence, 2, [(&rows, &value)]);
    used.next(&used | &missed);
    m.write_rows(&pcs, c.pc, [(&missed, &pc)]);
    let loads = m.wire("loads", here & valid.replicate(n));
    m.write_rows(&warps, c.w, [(&loads, &warp)]);
    m.write_rows(&lines, c.a, [(&loads, &line)]);

    unique(&mut m, "one_pattern_A", &used, &pcs, "a load PC has one pattern");
    m.finish()
}
