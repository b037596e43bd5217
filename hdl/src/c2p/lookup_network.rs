//! `lookup_network`: lookups to banks and rows back.

use super::bank_arbiter::{self, Use};
use super::context::{Built, Context};
use crate::rtl::{Expr, ModuleBuilder, index_width};
use l1forge_config::CopyChoice;

/// Ports of copy `copy`, in ascending order; all ports with `copy_choice = "any"`.
fn ports(c: &Context, copy: u32) -> Vec<u32> {
    (0..c.n * c.k).filter(|p| c.config.copy_choice == CopyChoice::Any || c.copy_of(p / c.k, p % c.k) == copy).collect()
}

/// Most requesters of one bank arbiter.
pub(super) fn requesters(c: &Context) -> u32 {
    (0..c.c).map(|copy| ports(c, copy).len() as u32).max().unwrap_or(0)
}

/// The bank arbiter of one copy. Copies with as many requesters share one module.
pub(super) fn arbiter(c: &Context, copy: u32) -> Built {
    let n = ports(c, copy).len() as u32;
    let all_alike = (0..c.c).all(|other| ports(c, other).len() as u32 == n);
    let name = if all_alike { "bank_arbiter".to_string() } else { format!("bank_arbiter_{n}") };
    let picks = if c.config.copy_choice == CopyChoice::Any { c.c } else { 1 };
    bank_arbiter::module(c, &Use { name: &name, requesters: n, payload: c.rw, picks, merge: c.config.merge_rows })
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
        let name = |text: &str| if any || copies == 1 { text.to_string() } else { format!("{text}{group}") };
        let part = Group::build(c, &mut m, &name, &list, group, &valid, &index)?;
        let data = if any { read_data.clone() } else { read_data.bits(group * b * n, b * n) };
        let row = m.net(&name("rows"), list.len() as u32 * n).doc("row of each of these lookups");
        m.comb_for("p", list.len() as u32, |block, p| {
            let at = part.place.elem(p, part.place.width() / list.len() as u32);
            block.set(row.elem(p, n), data.elem(at.resize(index_width(data.width() / n)), n));
        });
        for (at, &p) in list.iter().enumerate() {
            granted[p as usize] = Some(part.taken.bit(at as u32));
            // One assignment each: simulators copy a wide concatenation once per item.
            m.assign(row_o.elem(p, n), row.elem(at as u32, n));
        }
        reads.push(part.read_valid);
        read_rows.push(part.read_row);
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

/// The lookups that compete for the same banks.
struct Group {
    /// Granted, by place in the group.
    taken: Expr,
    /// Where each lookup finds its row in the data of the next cycle.
    place: Expr,
    /// Reads, by copy and bank.
    read_valid: Expr,
    read_row: Expr,
}

impl Group {
    fn build(
        c: &Context,
        m: &mut ModuleBuilder,
        name: &dyn Fn(&str) -> String,
        list: &[u32],
        copy: u32,
        valid: &Expr,
        index: &Expr,
    ) -> Result<Self, crate::rtl::RtlError> {
        let (b, n) = (c.b, list.len() as u32);
        let gather = |f: &dyn Fn(u32) -> Expr| Expr::concat_lsb_first(list.iter().map(|&p| f(p)).collect::<Vec<_>>());
        let bank_width = c.bank_width();
        let wants = m.wire(&name("wants"), gather(&|p| valid.bit(p)));
        let row = m.wire(&name("row"), gather(&|p| c.row_of(&index.elem(p, c.x))));
        let bank = m.wire(&name("bank"), gather(&|p| c.bank_of(&index.elem(p, c.x))));
        let requests = m.net(&name("requests"), b * n).doc("for each bank, the lookups that ask for it");
        m.comb_for("p", n, |block, p| {
            // The test comes first so that simulators pass over idle lookups.
            block.if_(wants.bit(p), |block| {
                block.for_loop("j", b, |block, j| block.set(requests.bit(j * n + p), bank.elem(p, bank_width).eq(j.value(bank_width))));
            });
        });
        let arbiter = arbiter(c, copy)?;
        let arbiters = m.instance_array(&name("u_arbiter"), &arbiter, b, |i, g| {
            i.connect("req_i", requests.elem(g, n)).connect("payload_i", &row);
        });
        let grants = arbiters.get("grant_o");
        let taken = m.wire(&name("taken"), grants.or_elems(n));
        let (picks_valid, picks_row) = (arbiters.get("valid_o"), arbiters.get("payload_o"));
        let bank_q = m.reg(&format!("{}_q", name("bank")), n * bank_width).no_reset().doc("bank read in the cycle before");
        bank_q.next(&bank);
        let picks = if c.config.copy_choice == CopyChoice::Any { c.c } else { 1 };
        if picks == 1 {
            return Ok(Self { taken, place: bank_q.into(), read_valid: picks_valid, read_row: picks_row });
        }
        // Picks come by bank and copy; reads go by copy and bank. A lookup finds its row in the copy whose pick has its row.
        let by_copy = |bus: &Expr, width: u32| {
            Expr::concat_lsb_first((0..picks * b).map(|i| bus.elem((i % b) * picks + i / b, width)).collect::<Vec<_>>())
        };
        let read_valid = by_copy(&picks_valid, 1);
        let read_row = by_copy(&picks_row, c.rw);
        let copy_width = index_width(picks);
        let which = m.net(&name("copy"), n * copy_width).doc("copy that serves each lookup");
        m.comb_for("p", n, |block, p| {
            let at = bank.elem(p, bank_width);
            let (rows, valids) = (
                if b == 1 { picks_row.clone() } else { picks_row.elem(&at, picks * c.rw) },
                if b == 1 { picks_valid.clone() } else { picks_valid.elem(&at, picks) },
            );
            let mut value = Expr::zeros(copy_width);
            for j in (0..picks).rev() {
                let here = valids.bit(j) & rows.elem(j, c.rw).eq(row.elem(p, c.rw));
                value = here.mux(Expr::lit(copy_width, j), value);
            }
            block.set(which.elem(p, copy_width), value);
        });
        let copy_q = m.reg(&format!("{}_q", name("copy")), n * copy_width).no_reset().doc("copy read in the cycle before");
        copy_q.next(&which);
        let width = copy_width + if b == 1 { 0 } else { bank_width };
        let place = m.net(&name("place"), n * width).doc("copy*BANKS + bank of each row");
        m.comb_for("p", n, |block, p| {
            let copy = copy_q.elem(p, copy_width);
            let value = if b == 1 { copy } else { Expr::concat_lsb_first([bank_q.elem(p, bank_width), copy]) };
            block.set(place.elem(p, width), value);
        });
        Ok(Self { taken, place, read_valid, read_row })
    }
}
