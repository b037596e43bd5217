//! Tables in packed registers: rows written by enables and read through a case, against an array.

mod common;

use common::sim::{Rand, Step, check};
use l1forge_hdl::rtl::{Bits, Expr, RtlOptions, index_width};

const WIDTH: u32 = 3;

/// Two writers, of which the second wins, and a reader.
fn exercise(rows: u32, seed: u64) {
    let mut m = RtlOptions::default().module("rows");
    m.clock_reset();
    let first = m.input("first_i", rows, "rows that the first writes");
    let second = m.input("second_i", rows, "rows that the second writes");
    let (a, b) = (m.input("a_i", WIDTH, "value of the first"), m.input("b_i", WIDTH, "value of the second"));
    let index = m.input("index_i", index_width(rows), "row to read");
    let row_o = m.output("row_o", WIDTH, "that row");
    let table = m.reg("rows_q", rows * WIDTH);
    m.write_rows(&table, WIDTH, [(&first, &a), (&second, &b)]);
    let row: Expr = m.case_mux("row", &index, &table, WIDTH);
    m.assign(&row_o, row);
    let module = m.finish().unwrap();

    let mut r = Rand(seed);
    let mut model = vec![Bits::zero(WIDTH); rows as usize];
    let steps = (0..200u64).map(|t| {
        let (first, second, a, b) = (r.bits(rows), r.bits(rows), r.bits(WIDTH), r.bits(WIDTH));
        let index = (t * 7 + seed) % u64::from(rows);
        let step = Step::default()
            .set("first_i", first.clone())
            .set("second_i", second.clone())
            .set("a_i", a.clone())
            .set("b_i", b.clone())
            .set("index_i", Bits::from_u64(index_width(rows), index))
            .expect("row_o", model[index as usize].clone());
        for e in 0..rows {
            if second.bit(e) {
                model[e as usize] = b.clone();
            } else if first.bit(e) {
                model[e as usize] = a.clone();
            }
        }
        step
    });
    check(&module, &steps.collect::<Vec<_>>());
}

#[test]
fn rows_are_written_by_enables_and_the_last_writer_wins() {
    for rows in [1, 2, 5, 8, 13] {
        exercise(rows, u64::from(rows));
    }
}

#[test]
#[should_panic(expected = "4 enables for a table of 5 rows")]
fn enables_must_fit_the_table() {
    let mut m = RtlOptions::default().module("rows2");
    m.clock_reset();
    let (rows, value) = (m.input("rows_i", 4, "rows"), m.input("value_i", WIDTH, "value"));
    let table = m.reg("rows_q", 5 * WIDTH);
    m.write_rows(&table, WIDTH, [(&rows, &value)]);
}
