//! `lookup_copy`: the lookups that compete for the banks of one copy of the matrix (of all copies with `copy_choice = "any"`).

use super::context::{Built, Context};
use super::lookup_network::{arbiter, one_name, ports};
use crate::rtl::{Expr, ModuleBuilder, index_width};
use l1forge_config::CopyChoice;

/// The row of one lookup. A module of its own so that synthesis maps it once.
fn row_mux(c: &Context) -> Built {
    let rows = places(c);
    let purpose = format!("The row of one lookup: one of {rows} rows of {} bits, read in the cycle before.", c.n);
    let mut m = c.combinational("row_mux", &purpose, "combinational");
    m.note("ROWS", rows).note("SMS", c.n);
    let all = m.input("rows_i", rows * c.n, "the rows read");
    let select = m.input("select_i", index_width(rows), "the row wanted");
    let row_o = m.output("row_o", c.n, "that row");
    let row = m.case_mux("row", &select, &all, c.n);
    m.assign(&row_o, row);
    m.finish()
}

/// Banks that a lookup may read, in one copy or in all.
fn places(c: &Context) -> u32 {
    picks(c) * c.b
}

/// Rows read from one bank in a cycle.
fn picks(c: &Context) -> u32 {
    if c.config.copy_choice == CopyChoice::Any { c.c } else { 1 }
}

/// The module of copy `copy`. Copies with as many lookups share one.
pub(super) fn module(c: &Context, copy: u32) -> Built {
    let (n, b, sms) = (ports(c, copy).len() as u32, c.b, c.n);
    let (picks, places) = (picks(c), places(c));
    let which = if picks == 1 { "one copy".to_string() } else { format!("{picks} copies") };
    let purpose = format!("Crossbar between {n} lookups and the {b} banks of {which} of the Snapshot Matrix.");
    let mut m = c.clocked(&one_name(c, "lookup_copy", copy), &purpose, "grant and read in the same cycle, the row in the next");
    m.repeated();
    m.note("LOOKUPS", n).note("BANKS", b).note("COPIES", picks).note("SMS", sms);
    let valid = m.input("valid_i", n, "lookup p waits");
    let index = m.input("index_i", n * c.x, "its index {bank, row}");
    let rows = m.input("rows_i", places * sms, "rows read in the cycle before, by copy*BANKS + bank");
    let ready_o = m.output("ready_o", n, "lookup p is granted");
    let row_o = m.output("row_o", n * sms, "the row granted to p in the cycle before");
    let read_valid_o = m.output("read_valid_o", places, "a bank is read, by copy*BANKS + bank");
    let read_row_o = m.output("read_row_o", places * c.rw, "the row read");

    let gather = |f: &dyn Fn(u32) -> Expr| Expr::concat_lsb_first((0..n).map(f).collect::<Vec<_>>());
    let bank_width = c.bank_width();
    let row = m.wire("row", gather(&|p| c.row_of(&index.elem(p, c.x))));
    let bank = m.wire("bank", gather(&|p| c.bank_of(&index.elem(p, c.x))));
    let requests = m.net("requests", b * n).doc("for each bank, the lookups that ask for it");
    m.comb_for("p", n, |block, p| {
        block.for_loop("j", b, |block, j| {
            block.set(requests.bit(j * n + p), valid.bit(p) & bank.elem(p, bank_width).eq(j.value(bank_width)));
        });
    });
    let arbiters = m.instance_array("u_arbiter", &arbiter(c, copy)?, b, |i, g| {
        i.connect("req_i", requests.elem(g, n)).connect("payload_i", &row);
    });
    m.assign(&ready_o, arbiters.get("grant_o").or_elems(n));
    let picked = Picked { valid: arbiters.get("valid_o"), row: arbiters.get("payload_o"), count: picks };
    // Picks come by bank and copy, reads go by copy and bank.
    m.assign(&read_valid_o, picked.by_copy(&picked.valid, 1, b));
    m.assign(&read_row_o, picked.by_copy(&picked.row, c.rw, b));

    if places == 1 {
        m.assign(&row_o, rows.replicate(n));
        return m.finish();
    }
    let place = if picks == 1 { bank } else { picked.places(c, &mut m, n, &row, &bank) };
    let width = place.width() / n;
    let place_q = m.reg("place_q", n * width).no_reset().doc("bank each lookup asked for in the cycle before, by copy*BANKS + bank");
    place_q.next(&place);
    let muxes = row_mux(c)?;
    m.instance_array("u_row", &muxes, n, |i, g| {
        i.connect("rows_i", &rows).connect("select_i", place_q.elem(g, width)).connect("row_o", row_o.elem(g, sms));
    });
    m.finish()
}

/// What the arbiters of the banks picked.
struct Picked {
    /// By bank and pick.
    valid: Expr,
    /// The row of each.
    row: Expr,
    /// Picks of a bank.
    count: u32,
}

impl Picked {
    fn by_copy(&self, bus: &Expr, width: u32, banks: u32) -> Expr {
        if self.count == 1 {
            return bus.clone();
        }
        let at = |i: u32| bus.elem((i % banks) * self.count + i / banks, width);
        Expr::concat_lsb_first((0..self.count * banks).map(at).collect::<Vec<_>>())
    }

    /// Where each lookup finds its row: the copy whose pick has its row, and its bank.
    fn places(&self, c: &Context, m: &mut ModuleBuilder, n: u32, row: &Expr, bank: &Expr) -> Expr {
        let (copy_width, bank_width) = (index_width(self.count), c.bank_width());
        let which = m.net("copy", n * copy_width).doc("copy that serves each lookup");
        m.comb_for("p", n, |block, p| {
            let at = bank.elem(p, bank_width);
            let (rows, valids) = if c.b == 1 {
                (self.row.clone(), self.valid.clone())
            } else {
                (self.row.elem(&at, self.count * c.rw), self.valid.elem(&at, self.count))
            };
            let mut value = Expr::zeros(copy_width);
            for j in (0..self.count).rev() {
                let here = valids.bit(j) & rows.elem(j, c.rw).eq(row.elem(p, c.rw));
                value = here.mux(Expr::lit(copy_width, j), value);
            }
            block.set(which.elem(p, copy_width), value);
        });
        if c.b == 1 {
            return which;
        }
        let parts = (0..n).flat_map(|p| [bank.elem(p, bank_width), which.elem(p, copy_width)]);
        m.wire("place", Expr::concat_lsb_first(parts.collect::<Vec<_>>())).doc("copy*BANKS + bank of each lookup")
    }
}
