//! `lookup_network`: lookups to banks and rows back.

use super::bank_arbiter::{self, Use};
use super::context::{Built, Context};
use super::lookup_copy;
use crate::rtl::Expr;
use l1forge_config::CopyChoice;

/// Ports of copy `copy`, in ascending order; all ports with `copy_choice = "any"`.
pub(super) fn ports(c: &Context, copy: u32) -> Vec<u32> {
    (0..c.n * c.k).filter(|p| c.config.copy_choice == CopyChoice::Any || c.copy_of(p / c.k, p % c.k) == copy).collect()
}

/// Most requesters of one bank arbiter.
pub(super) fn requesters(c: &Context) -> u32 {
    (0..c.c).map(|copy| ports(c, copy).len() as u32).max().unwrap_or(0)
}

/// Name of a module of copy `copy`: with its number of lookups where copies differ in it.
pub(super) fn one_name(c: &Context, name: &str, copy: u32) -> String {
    let n = ports(c, copy).len();
    let all_alike = (0..c.c).all(|other| ports(c, other).len() == n);
    if all_alike { name.to_string() } else { format!("{name}_{n}") }
}

/// The bank arbiter of one copy. Copies with as many requesters share one module.
pub(super) fn arbiter(c: &Context, copy: u32) -> Built {
    let n = ports(c, copy).len() as u32;
    let picks = if c.config.copy_choice == CopyChoice::Any { c.c } else { 1 };
    bank_arbiter::module(
        c,
        &Use { name: &one_name(c, "bank_arbiter", copy), requesters: n, payload: c.rw, picks, merge: c.config.merge_rows },
    )
}

pub(super) fn module(c: &Context) -> Built {
    let (n, k, b, copies) = (c.n, c.k, c.b, c.c);
    let all = n * k;
    let mut m = c.clocked(
        "lookup_network",
        &format!("Crossbar between {all} lookups ({k} of each of {n} SMs) and {b} banks of {copies} copies of the Snapshot Matrix."),
        "grant and read in the same cycle, the row in the next",
    );
    m.note("SMS", n).note("POSITIONS", k).note("BANKS", b).note("COPIES", copies);
    let valid = m.input("lookup_valid_i", all, "lookup of port p = SM*POSITIONS + position");
    let index = m.input("lookup_index_i", all * c.x, "its index {bank, row}");
    let slot = m.input("lookup_slot_i", all * c.l, "its query slot, returned with the row");
    let read_data = m.input("read_data_i", copies * b * n, "row read in the cycle before, by copy*BANKS + bank");
    let debug = c
        .config
        .debug_port
        .then(|| (m.input("debug_valid_i", 1, "debug read"), m.input("debug_index_i", c.x, "index {bank, row} to read")));
    let ready_o = m.output("lookup_ready_o", all, "the lookup is granted");
    let row_valid_o = m.output("row_valid_o", all, "the row of port p");
    let row_slot_o = m.output("row_slot_o", all * c.l, "its query slot");
    let row_o = m.output("row_o", all * n, "the row: one bit per SM");
    let read_valid_o = m.output("read_valid_o", copies * b, "a bank is read, by copy*BANKS + bank");
    let read_row_o = m.output("read_row_o", copies * b * c.rw, "the row read");
    let debug_o = debug.is_some().then(|| {
        (
            m.output("debug_ready_o", 1, "the bank is not read by a lookup"),
            m.output("debug_valid_o", 1, "the row of the debug read"),
            m.output("debug_row_o", n, "that row"),
        )
    });

    let flight_slot = m.reg("slot_q", all * c.l).no_reset().doc("query slot of the row that comes now");
    let flight_valid = m.reg("valid_q", all).doc("a row comes now");
    flight_slot.next(&slot);
    m.assign(&row_valid_o, &*flight_valid);
    m.assign(&row_slot_o, &*flight_slot);

    let any = c.config.copy_choice == CopyChoice::Any;
    let mut granted: Vec<Option<Expr>> = vec![None; all as usize];
    let (mut reads, mut read_rows) = (Vec::new(), Vec::new());
    for group in 0..if any { 1 } else { copies } {
        m.section(&if any { "Every lookup may read any copy".to_string() } else { format!("Lookups that read copy {group}") });
        let list = ports(c, group);
        let gather = |bus: &Expr, width: u32| Expr::concat_lsb_first(list.iter().map(|&p| bus.elem(p, width)).collect::<Vec<_>>());
        let name = if any || copies == 1 { "u_copy".to_string() } else { format!("u_copy{group}") };
        let part = m.instance(&name, &lookup_copy::module(c, group)?, |i| {
            i.connect("valid_i", gather(&valid, 1)).connect("index_i", gather(&index, c.x));
            i.connect("rows_i", if any { read_data.clone() } else { read_data.bits(group * b * n, b * n) });
        });
        let (taken, row) = (part.get("ready_o"), part.get("row_o"));
        for (at, &p) in list.iter().enumerate() {
            granted[p as usize] = Some(taken.bit(at as u32));
            // One assignment each: simulators copy a wide concatenation once per item.
            m.assign(row_o.elem(p, n), row.elem(at as u32, n));
        }
        reads.push(part.get("read_valid_o"));
        read_rows.push(part.get("read_row_o"));
    }
    let unwrap = |list: Vec<Option<Expr>>| {
        Expr::concat_lsb_first(list.into_iter().map(|e| e.unwrap_or_else(|| unreachable!("every port reads a copy"))).collect::<Vec<_>>())
    };
    m.section("Ports in their own order");
    let ready = m.wire("ready", unwrap(granted));
    m.assign(&ready_o, &ready);
    flight_valid.next(&ready);
    let read_valid = m.wire("read_valid", Expr::concat_lsb_first(reads));
    let read_row = m.wire("read_row", Expr::concat_lsb_first(read_rows));
    match (debug, debug_o) {
        (Some((debug_valid, debug_index)), Some((debug_ready_o, debug_valid_o, debug_row_o))) => {
            m.section("Debug reads of copy 0 take what lookups leave");
            let bank = m.wire("debug_bank", c.bank_of(&debug_index));
            let ready = m.wire("debug_ready", !read_valid.bits(0, b).elem(bank.trunc(bank.width()), 1));
            let take = m.wire("debug_take", &debug_valid & &ready);
            let at = m.reg("debug_bank_q", bank.width()).no_reset().doc("bank of the debug read");
            let live = m.reg("debug_valid_q", 1).doc("the debug read returns");
            at.next(&bank);
            live.next(&take);
            let extra = take.replicate(b) & bank.bin_to_onehot(b);
            let rest = (copies - 1) * b;
            m.assign(&read_valid_o, &read_valid | extra.resize(copies * b));
            let row = c.row_of(&debug_index);
            let with_debug = m.net("read_row_debug", b * c.rw);
            m.comb_for("j", b, |block, g| block.set(with_debug.elem(g, c.rw), read_valid.bit(g).mux(read_row.elem(g, c.rw), &row)));
            m.assign(
                &read_row_o,
                if rest == 0 { with_debug } else { Expr::concat_lsb_first([with_debug, read_row.bits(b * c.rw, rest * c.rw)]) },
            );
            m.assign(&debug_ready_o, &ready);
            m.assign(&debug_valid_o, &*live);
            m.assign(&debug_row_o, read_data.bits(0, b * n).elem(&*at, n));
        }
        _ => {
            m.assign(&read_valid_o, &read_valid);
            m.assign(&read_row_o, &read_row);
        }
    }
    m.finish()
}
