//! Every construct of the builder in one module: silent in all linters, and its text.

mod common;

use l1forge_hdl::prim::{Fifo, Lock, fifo, rr_arbiter};
use l1forge_hdl::rtl::{Bits, Expr, Module, ModuleBuilder, ResetStyle, RtlOptions};
use std::rc::Rc;

fn leaf(opts: RtlOptions) -> Rc<Module> {
    let mut m = opts.module("leaf");
    m.purpose("A leaf.");
    m.clock_reset();
    let id_p = m.param("ID", Bits::from_u64(6, 0), "number of the leaf");
    let id = m.input("id_i", 6, "number of the leaf");
    let d = m.input("d_i", 8, "data");
    let q = m.output("q_o", 8, "data, one cycle later");
    let v = m.output("v_o", 1, "parity");
    let x = m.reg("x_q", 8);
    x.next(&d ^ id.zext(8) ^ id_p.zext(8));
    m.assign(&q, &x);
    m.assign(&v, x.reduce_xor());
    m.finish().unwrap()
}

fn top(opts: RtlOptions) -> Rc<Module> {
    let leaf = leaf(opts);
    let mut m = opts.module("everything");
    m.purpose("One of each construct of the builder, to see that every linter accepts it without a word.")
        .latency("none worth a promise")
        .note("LEAVES", "4, instances of leaf");
    m.repeated().clock_reset();
    let order = m.param("ORDER", Bits::pack(6, [3, 1, 2, 0]), "order of the leaves");
    let d = m.input("d_i", 32, "four bytes");
    let sel = m.input("sel_i", 2, "a selection");
    let big = m.input("big_i", 64, "more bits");
    let n5 = m.input("n5_i", 3, "index of five");
    let y = m.output("y_o", 32, "bytes");
    let t = m.output("t_o", 16, "transposed");
    let s = m.output("s_o", 40, "this and that");

    let ids = m.localparam("IDS", Bits::pack(6, [0, 1, 2, 3]));
    let bytes = m.instance_array("u_leaf", &leaf, 4, |i, g| {
        i.param("ID", order.elem(g, 6)).connect("id_i", g.value(6)).connect("d_i", d.elem(g, 8)).open("v_o");
    });
    m.assign(&y, bytes.get("q_o"));
    let one = m.instance("u_one", &leaf, |i| {
        i.param("ID", 7).connect("id_i", ids.elem(&sel, 6)).connect("d_i", &d.bits(0, 8) + &d.bits(8, 8));
    });
    m.comment("Transposes a matrix of 4 x 4 bits.");
    m.comb_for("r", 4, |p, r| p.for_loop("c", 4, |p, c| p.set(t.bit(c * 4 + r), d.bit(r * 4 + c))));

    let hits = m.net("hits", 4);
    m.comb_for("i", 4, |p, i| p.set(hits.bit(i), order.elem(i, 6).trunc(2).eq(&sel)));
    m.section("Storage");
    let mem = m.reg("mem_q", 20).no_reset().doc("five nibbles");
    mem.at(&n5, 4).next_when(hits.bit(0), d.bits(4, 4));
    let ptr = m.reg("ptr_q", 3).reset(4);
    ptr.next_when(hits.reduce_or(), 0);
    ptr.next_when(sel.eq(2), &ptr + 1);
    let cnt = m.reg("cnt_q", 5);
    m.seq(|p| {
        p.if_(hits.bit(1), |p| {
            p.for_loop("k", 5, |p, k| p.set(cnt.bit(k), big.bit(k + 3)));
        })
        .elif(hits.bit(2), |p| p.set(&*cnt, 3))
        .otherwise(|p| {
            p.case(&sel, |c| {
                c.arm(1, |p| p.set(&*cnt, 1)).arm(2, |p| p.set(&*cnt, &cnt - 1));
            })
        });
    });
    let parts = [
        mem.elem(&n5, 4),
        big.elem(&sel, 16).elem(d.bits(30, 2), 4),
        d.add_wide(&y).bits(29, 4),
        big.popcount().trunc(4),
        hits.onehot_mux(&d).trunc(4),
        big.or_elems(4),
        sel.select([(0, Expr::lit(4, 3)), (2, d.bits(0, 4))], Expr::zeros(4)),
        big.shr(&n5).bits(0, 4),
        Expr::concat_msb_first([hits.priority_encode(), sel.bin_to_onehot(4).bits(0, 2)]),
        d.mul_const(77).bits(28, 4) ^ one.get("q_o").bits(0, 4) ^ hits.bit(3).mux(one.get("v_o").zext(4), 5),
    ];
    m.mark_unused(one.get("q_o").bits(4, 4));
    m.assign(&s, Expr::concat_lsb_first(parts));
    m.assert("ptr_range_A", ptr.le(4), "the pointer stays inside the storage");
    m.finish().unwrap()
}

#[test]
fn every_linter_is_silent() {
    for reset in [ResetStyle::AsyncLow, ResetStyle::AsyncHigh, ResetStyle::SyncLow, ResetStyle::SyncHigh, ResetStyle::None] {
        common::assert_silent(&top(RtlOptions { reset }));
    }
}

/// What RTL engineers get to read; a changed text is a changed product.
#[test]
fn printed_text() {
    insta::assert_snapshot!("everything", top(RtlOptions::default()).verilog());
    insta::assert_snapshot!("rr_arbiter", rr_arbiter(RtlOptions::default(), 5, Lock::UntilReady).unwrap().verilog());
    let shape = Fifo::new(8, 3).with_flush().with_level();
    insta::assert_snapshot!("fifo", fifo(RtlOptions { reset: ResetStyle::SyncHigh }, shape).unwrap().verilog());
}

/// The text that the tutorial shows is what its first example prints.
#[test]
fn tutorial_shows_what_is_printed() {
    let mut m = ModuleBuilder::new("event_counter");
    m.purpose("Counts events and stops at the largest value.");
    m.latency("count_o follows inc_i by one cycle");
    m.clock_reset();
    let inc = m.input("inc_i", 1, "count this cycle");
    let clear = m.input("clear_i", 1, "start again at zero");
    let count_o = m.output("count_o", 8, "events so far");
    let count = m.reg("count_q", 8).doc("events so far");
    let full = m.wire("full", count.reduce_and());
    count.next_when(&clear, 0);
    count.next_when(&inc & !&full, &count + 1);
    m.assign(&count_o, &count);
    let guide = include_str!("../../docs/guide/rtl-builder.md");
    let shown = guide.split("```verilog\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(m.finish().unwrap().verilog(), shown);
}
