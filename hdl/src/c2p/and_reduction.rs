//! `and_reduction`: ANDs the k rows of one query.

use super::context::{Built, Context};
use crate::rtl::Expr;

pub(super) fn module(c: &Context) -> Built {
    let mut m = c.clocked(
        "and_reduction",
        &format!("Candidates of one query: AND of its {} Snapshot Matrix rows, which come in any order.", c.k),
        "a row counts from the next cycle on",
    );
    m.note("SMS", c.n);
    let start = m.input("start_i", 1, "a new query: all SMs are candidates, all rows are awaited");
    let row_valid = m.input("row_valid_i", c.k, "row i of the query arrives");
    let row = m.input("row_i", c.k * c.n, "the rows");
    let clear = m.input("clear_i", c.n, "candidates that have been chosen for probing");
    let candidates_o = m.output("candidates_o", c.n, "SMs whose L1 may hold the line");
    let done_o = m.output("done_o", 1, "the last awaited row arrives");

    let candidates = m.reg("candidates_q", c.n).no_reset().doc("AND of the rows so far");
    let awaited = m.reg("awaited_q", c.k).doc("rows still to come");
    let left = m.wire("left", &*awaited & !&row_valid).doc("rows still to come after this cycle");
    let rows = (0..c.k).map(|i| row.elem(i, c.n) | !row_valid.bit(i).replicate(c.n));
    let kept = m.wire("kept", Expr::and_all(rows.collect::<Vec<_>>())).doc("SMs in every row of this cycle");
    candidates.next_when(&start, Expr::ones(c.n));
    candidates.next(&*candidates & &kept & !&clear);
    awaited.next_when(&start, Expr::ones(c.k));
    awaited.next(&left);
    m.assign(&candidates_o, &*candidates);
    m.assign(&done_o, awaited.reduce_or() & left.is_zero());
    m.finish()
}
