//! `lookup_network`: lookups to banks and rows back.

use super::bank_arbiter::{self, Use};
use super::context::{Built, Context};
use super::lookup_copy;
use crate::rtl::{Expr, ModuleBuilder};
use l1forge_config::CopyChoice;

/// Lookup ports (SM·V + j) of copy `copy`, in ascending order; all with `copy_choice = "any"`.
pub(super) fn ports(c: &Context, copy: u32) -> Vec<u32> {
    (0..c.n * c.v).filter(|p| c.config.copy_choice == CopyChoice::Any || c.copy_of(p / c.v, p % c.v) == copy).collect()
}

/// The lookups at the ports, one of those that share each.
struct AtPorts {
    /// A lookup is there.
    valid: Expr,
    /// Its index.
    index: Expr,
    /// By position: the lookup is the one at its port.
    chosen: Option<Expr>,
}

/// Position i of an SM uses port i mod V; of several the lowest is served.
fn share(c: &Context, m: &mut ModuleBuilder, valid: &Expr, index: &Expr) -> AtPorts {
    let (k, v, x) = (c.k, c.v, c.x);
    if v == k {
        return AtPorts { valid: valid.clone(), index: index.clone(), chosen: None };
    }
    m.section("Positions that share a port: the lowest that waits");
    let port_valid = m.net("port_valid", c.n * v).doc("a lookup is at port SM*PORTS + j");
    let port_index = m.net("port_index", c.n * v * x).doc("its index");
    let chosen = m.net("chosen", c.n * k).doc("lookup SM*POSITIONS + i is at its port");
    m.comb_for("s", c.n, |block, s| {
        for j in 0..v {
            let sharing: Vec<u32> = (j..k).step_by(v as usize).collect();
            let mut before = Expr::zeros(1);
            for &i in &sharing {
                let here = valid.bit(s * k + i);
                block.set(chosen.bit(s * k + i), &here & !&before);
                before = before | here;
            }
            block.set(port_valid.bit(s * v + j), before);
            let last = index.elem(s * k + sharing[sharing.len() - 1], x);
            let lowest = sharing.iter().rev().skip(1).fold(last, |rest, &i| valid.bit(s * k + i).mux(index.elem(s * k + i, x), rest));
            block.set(port_index.elem(s * v + j, x), lowest);
        }
    });
    AtPorts { valid: port_valid, index: port_index, chosen: Some(chosen) }
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
    let (n, k, v, b, copies) = (c.n, c.k, c.v, c.b, c.c);
    let all = n * k;
    let mut m = c.clocked(
        "lookup_network",
        &format!("Crossbar between {all} lookups ({k} of each of {n} SMs, {v} of them in a cycle) and {b} banks of {copies} copies of the Snapshot Matrix."),
        "grant and read in the same cycle, the row in the next",
    );
    m.note("SMS", n).note("POSITIONS", k).note("PORTS", v).note("BANKS", b).note("COPIES", copies);
    let valid = m.input("lookup_valid_i", all, "lookup p = SM*POSITIONS + position");
    let index = m.input("lookup_index_i", all * c.x, "its index {bank, row}");
    let slot = m.input("lookup_slot_i", all * c.l, "its query slot, returned with the row");
    let read_data = m.input("read_data_i", copies * b * n, "row read in the cycle before, by copy*BANKS + bank");
    let debug = c
        .config
        .debug_port
        .then(|| (m.input("debug_valid_i", 1, "debug read"), m.input("debug_index_i", c.x, "index {bank, row} to read")));
    let ready_o = m.output("lookup_ready_o", all, "the lookup is granted");
    let row_valid_o = m.output("row_valid_o", all, "the row of lookup p");
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

    let at = share(c, &mut m, &valid, &index);
    let any = c.config.copy_choice == CopyChoice::Any;
    let mut granted: Vec<Option<Expr>> = vec![None; (n * v) as usize];
    let (mut reads, mut read_rows) = (Vec::new(), Vec::new());
    for group in 0..if any { 1 } else { copies } {
        m.section(&if any { "Every lookup may read any copy".to_string() } else { format!("Lookups that read copy {group}") });
        let list = ports(c, group);
        let gather = |bus: &Expr, width: u32| Expr::concat_lsb_first(list.iter().map(|&p| bus.elem(p, width)).collect::<Vec<_>>());
        let name = if any || copies == 1 { "u_copy".to_string() } else { format!("u_copy{group}") };
        let part = m.instance(&name, &lookup_copy::module(c, group)?, |i| {
            i.connect("valid_i", gather(&at.valid, 1)).connect("index_i", gather(&at.index, c.x));
            i.connect("rows_i", if any { read_data.clone() } else { read_data.bits(group * b * n, b * n) });
        });
        let (taken, row) = (part.get("ready_o"), part.get("row_o"));
        for (place, &p) in list.iter().enumerate() {
            granted[p as usize] = Some(taken.bit(place as u32));
            for i in (p % v..k).step_by(v as usize) {
                // One assignment each: simulators copy a wide concatenation once per item.
                m.assign(row_o.elem(p / v * k + i, n), row.elem(place as u32, n));
            }
        }
        reads.push(part.get("read_valid_o"));
        read_rows.push(part.get("read_row_o"));
    }
    let unwrap = |list: Vec<Option<Expr>>| {
        Expr::concat_lsb_first(list.into_iter().map(|e| e.unwrap_or_else(|| unreachable!("every port reads a copy"))).collect::<Vec<_>>())
    };
    m.section("Ports in their own order");
    let ready = match &at.chosen {
        None => m.wire("ready", unwrap(granted)),
        Some(chosen) => {
            let port_ready = m.wire("port_ready", unwrap(granted)).doc("the lookup at port SM*PORTS + j is granted");
            let ready = m.net("ready", all);
            m.comb_for("s", n, |block, s| {
                for i in 0..k {
                    block.set(ready.bit(s * k + i), chosen.bit(s * k + i) & port_ready.bit(s * v + i % v));
                }
            });
            ready
        }
    };
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
