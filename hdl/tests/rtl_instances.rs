//! Instances and arrays of instances: genvars, elements, parameters and expressions of them, simulated.

mod common;

use common::sim::{Rand, Step, check};
use l1forge_hdl::rtl::{Bits, Module, ModuleBuilder, RtlOptions};
use std::rc::Rc;

/// `y = (a + ID) ^ KEY`, and its top bit.
fn cell() -> Rc<Module> {
    let mut m = RtlOptions::default().module("cell_unit");
    let key = m.param("KEY", Bits::from_u64(8, 0), "constant to mix in");
    let id = m.input("id_i", 5, "number of the cell");
    let a = m.input("a_i", 8, "value");
    let y = m.output("y_o", 8, "mixed value");
    let top = m.output("top_o", 1, "its top bit");
    let mixed = m.wire("mixed", (&a + id.zext(8)) ^ &key);
    m.assign(&y, &mixed);
    m.assign(&top, mixed.bit(7));
    m.finish().unwrap()
}

fn mixed(a: u64, id: u64, key: u64) -> u64 {
    ((a + id) & 255) ^ key
}

fn array(n: u32) -> Rc<Module> {
    let cell = cell();
    let mut m = ModuleBuilder::new(&format!("array_{n}"));
    m.purpose("An array of cells in every way to connect one.");
    let keys = m.param("KEYS", Bits::pack(8, (0..u64::from(n)).map(|i| i * 7 + 1)), "constant per cell");
    let a = m.input("a_i", n * 8, "a value per cell");
    let b = m.input("b_i", 8, "a value for all");
    let y = m.output("y_o", n * 8, "mixed values");
    let z = m.output("z_o", n * 8, "mixed values of sums");
    let w = m.output("w_o", n * 8, "mixed values of the broadcast");
    let top = m.output("top_o", n, "top bits");
    let half = m.output("half_o", n * 4, "upper halves of sums");
    let tops = m.instance_array("u_param", &cell, n, |i, g| {
        i.param("KEY", keys.elem(g, 8)).connect("id_i", g.value(5)).connect("a_i", a.elem(g, 8)).connect("y_o", y.elem(g, 8));
    });
    m.assign(&top, tops.get("top_o"));
    m.instance_array("u_sum", &cell, n, |i, g| {
        // Needs a wire inside of the loop.
        let sum = a.elem(g, 8).add_wide(&b).bits(1, 8);
        i.connect("id_i", g.value(5)).connect("a_i", sum).connect("y_o", z.elem(g, 8)).open("top_o");
    });
    let broadcast = m.instance_array("u_all", &cell, n, |i, g| {
        i.param("KEY", 170).connect("id_i", 3).connect("a_i", &b).connect("y_o", w.elem(g, 8)).open("top_o");
    });
    let _ = broadcast;
    m.comb_for("i", n, |p, i| p.set(half.elem(i, 4), (z.elem(i, 8) + &b).bits(4, 4)));
    m.finish().unwrap()
}

#[test]
fn arrays_connect_elements_parameters_and_genvars() {
    for n in [1, 2, 3, 8, 20] {
        let mut r = Rand(u64::from(n));
        let mut steps = Vec::new();
        for _ in 0..50 {
            let a: Vec<u64> = (0..n).map(|_| r.below(256)).collect();
            let b = r.below(256);
            let each = |f: &dyn Fn(usize) -> u64, w| Bits::pack(w, (0..n as usize).map(f));
            let y = |i: usize| mixed(a[i], i as u64, i as u64 * 7 + 1);
            let z = |i: usize| mixed((a[i] + b) >> 1, i as u64, 0);
            steps.push(
                Step::default()
                    .set("a_i", Bits::pack(8, a.iter().copied()))
                    .set("b_i", Bits::from_u64(8, b))
                    .expect("y_o", each(&y, 8))
                    .expect("top_o", each(&|i| y(i) >> 7, 1))
                    .expect("z_o", each(&z, 8))
                    .expect("w_o", each(&|_| mixed(b, 3, 170), 8))
                    .expect("half_o", each(&|i| (z(i) + b) >> 4 & 15, 4)),
            );
        }
        let m = array(n);
        check(&m, &steps);
        common::assert_silent(&m);
    }
}

/// A design whose array elements see different constants: the parameter is sliced again inside.
#[test]
fn parameters_reach_loops_of_the_instance() {
    let mut m = ModuleBuilder::new("probe_order");
    let order = m.param("ORDER", Bits::pack(3, [0, 1, 2, 3]), "which input to look at first");
    let req = m.input("req_i", 4, "requests");
    let sorted = m.output("sorted_o", 4, "requests in that order");
    m.comb_for("i", 4, |p, i| p.set(sorted.bit(i), req.bit(order.elem(i, 3).trunc(2))));
    let probe = m.finish().unwrap();

    let mut m = ModuleBuilder::new("probes");
    let req = m.input("req_i", 4, "requests");
    let out = m.output("out_o", 8, "both orders");
    let orders = [[3, 1, 0, 2], [1, 1, 2, 3]];
    let tables = m.localparam("TABLES", Bits::pack(3, orders.concat()));
    m.instance_array("u_probe", &probe, 2, |i, g| {
        i.param("ORDER", tables.elem(g, 12)).connect("req_i", &req).connect("sorted_o", out.elem(g, 4));
    });
    let m = m.finish().unwrap();
    let steps: Vec<Step> = (0..16)
        .map(|r| {
            let bits = orders.iter().flatten().map(|i| r >> i & 1);
            Step::default().set("req_i", Bits::from_u64(4, r)).expect("out_o", Bits::pack(1, bits))
        })
        .collect();
    check(&m, &steps);
    common::assert_silent(&m);
}
