//! `update_network`: matrix write ports.

use super::bank_arbiter::{self, Use};
use super::context::{Built, Context};
use crate::rtl::Expr;

/// The arbiter of one bank: payload {SM, row}, the row in the low bits.
pub(super) fn arbiter(c: &Context) -> Built {
    bank_arbiter::module(c, &Use { name: "update_bank_arbiter", requesters: c.w * c.k, payload: c.rw + c.s, picks: 1, merge: false })
}

pub(super) fn module(c: &Context) -> Built {
    let (n, b, ports) = (c.n, c.b, c.w * c.k);
    let mut m = c.clocked(
        "update_network",
        &format!("Write ports of the Snapshot Matrix: {ports} positions of {} update lanes to {b} banks, one row per bank and cycle. Clearing a column yields to updates once per row.", c.w),
        "writes in the cycle of the grant",
    );
    m.note("LANES", c.w).note("POSITIONS", c.k).note("BANKS", b).note("SMS", n);
    let valid = m.input("write_valid_i", ports, "position p = lane*POSITIONS + position is to be written");
    let index = m.input("write_index_i", ports * c.x, "its index {bank, row}");
    let sm = m.input("write_sm_i", ports * c.s, "its column");
    let clear_valid = m.input("clear_valid_i", 1, "clear a row in every bank");
    let clear_all = m.input("clear_all_i", 1, "of all columns");
    let clear_row = m.input("clear_row_i", c.rw, "the row");
    let clear_sm = m.input("clear_sm_i", c.s, "the column, unless all");
    let clear_ready_o = m.output("clear_ready_o", 1, "after this cycle the row is cleared in every bank");
    let ready_o = m.output("write_ready_o", ports, "position p is written");
    let valid_o = m.output("write_valid_o", b, "bank b is written");
    let row_o = m.output("write_row_o", b * c.rw, "the row");
    let mask_o = m.output("write_mask_o", b * n, "the columns");
    let value_o = m.output("write_value_o", b, "the value of bank b");

    let payload_width = c.rw + c.s;
    let bank_width = c.bank_width();
    let bank = m.wire("bank", Expr::concat_lsb_first((0..ports).map(|p| c.bank_of(&index.elem(p, c.x))).collect::<Vec<_>>()));
    let fields = (0..ports).flat_map(|p| [c.row_of(&index.elem(p, c.x)), sm.elem(p, c.s)]);
    let payload = m.wire("payload", Expr::concat_lsb_first(fields.collect::<Vec<_>>())).doc("{SM, row} of each position");
    let second = m.reg("second_q", 1).doc("second cycle of a row that is cleared");
    let cleared = m.reg("cleared_q", b).no_reset().doc("banks that cleared the row in the first");
    let closing = clear_all.replicate(b) | (second.replicate(b) & !&*cleared);
    let closed = m.wire("closed", clear_valid.replicate(b) & closing).doc("banks that only clear");
    let requests = m.net("requests", b * ports).doc("for each bank that is open, the positions that ask for it");
    m.comb_for("p", ports, |block, p| {
        block.for_loop("j", b, |block, j| {
            let here = bank.elem(p, bank_width).eq(j.value(bank_width));
            block.set(requests.bit(j * ports + p), valid.bit(p) & !closed.bit(j) & here);
        });
    });
    let arbiter = arbiter(c)?;
    let arbiters = m.instance_array("u_arbiter", &arbiter, b, |i, g| {
        i.connect("req_i", requests.elem(g, ports)).connect("payload_i", &payload);
    });
    m.assign(&ready_o, arbiters.get("grant_o").or_elems(ports));
    let served = arbiters.get("valid_o");
    let done = m.wire("clear_done", &*second | !served.reduce_or()).doc("no bank is left to clear");
    second.next(&clear_valid & !&done);
    cleared.next(!&served);
    m.assign(&clear_ready_o, &done);
    m.assign(&valid_o, &served | clear_valid.replicate(b));
    m.assign(&value_o, &served);
    let picked = arbiters.get("payload_o");
    m.comb_for("j", b, |block, g| {
        let pick = picked.elem(g, payload_width);
        block.set(row_o.elem(g, c.rw), served.bit(g).mux(pick.bits(0, c.rw), &clear_row));
        let column = served.bit(g).mux(pick.bits(c.rw, c.s), &clear_sm);
        block.set(mask_o.elem(g, n), (&clear_valid & &clear_all).replicate(n) | column.bin_to_onehot(n));
    });
    m.finish()
}
