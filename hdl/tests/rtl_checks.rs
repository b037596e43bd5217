//! Every check of `finish()`: the fault is found, alone, and named with module, signal and source line.

use l1forge_hdl::rtl::{Bits, Design, Expr, Index, LoopVar, Module, ModuleBuilder, ResetStyle, RtlOptions};
use std::rc::Rc;

/// A sound module `m` with ports `a_i`, `y_o` (4 bits) to put faults into.
fn faults(put: impl FnOnce(&mut ModuleBuilder, &Expr)) -> Vec<String> {
    let mut m = ModuleBuilder::new("m");
    m.clock_reset();
    let a = m.input("a_i", 4, "value");
    let y = m.output("y_o", 4, "value");
    m.assign(&y, &a);
    put(&mut m, &a);
    match m.finish() {
        Ok(m) => panic!("no fault found in\n{}", m.verilog()),
        Err(e) => e.messages().to_vec(),
    }
}

/// The only message, which must name module and source file.
#[track_caller]
fn only(messages: Vec<String>, text: &str) {
    assert_eq!(messages.len(), 1, "{messages:#?}");
    assert!(messages[0].starts_with("module m: "), "{}", messages[0]);
    assert!(messages[0].contains(text), "expected `{text}` in: {}", messages[0]);
    assert!(messages[0].contains("rtl_checks.rs:"), "no source line in: {}", messages[0]);
}

fn buffer(opts: RtlOptions) -> Rc<Module> {
    let mut m = opts.module("buffer");
    m.clock_reset();
    let size = m.param("MASK", Bits::from_u64(4, 15), "bits to keep");
    let a = m.input("a_i", 4, "value");
    let y = m.output("y_o", 4, "value");
    let q = m.output("q_o", 4, "value, later");
    let q_q = m.reg("q_q", 4);
    q_q.next(&a);
    m.assign(&q, &q_q);
    m.assign(&y, &a & &size);
    m.finish().unwrap()
}

#[test]
fn message_names_the_line_of_the_declaration() {
    let mut line = 0;
    let messages = faults(|m, _| {
        line = line!() + 1;
        m.input("b_i", 1, "not used");
    });
    assert_eq!(
        messages,
        [format!("module m: input `b_i` is never used: remove it or call mark_unused (at hdl/tests/rtl_checks.rs:{line})")]
    );
}

// ---------------------------------------------------------------- drivers

#[test]
fn undriven() {
    only(
        faults(|m, _| {
            let w = m.net("w", 4);
            m.mark_unused(w);
        }),
        "`w` is not driven",
    );
    only(
        faults(|m, a| {
            let w = m.net("w", 8);
            m.assign(w.bits(4, 2), a.bits(0, 2));
            m.mark_unused(w);
        }),
        "bits 3:0, bits 7:6 of `w` is not driven",
    );
    only(
        faults(|m, _| {
            m.output("z_o", 1, "nothing");
        }),
        "`z_o` is not driven",
    );
}

#[test]
fn undriven_elements_of_an_instance_array() {
    let b = buffer(RtlOptions::default());
    only(
        faults(|m, a| {
            let w = m.net("w", 4 * 8);
            m.instance_array("u_b", &b, 4, |i, g| {
                i.connect("a_i", a).connect("y_o", w.elem(g * 2, 4)).open("q_o");
            });
            m.mark_unused(w);
        }),
        "bits 7:4, bits 15:12, bits 23:20, bits 31:28 of `w` is not driven",
    );
}

#[test]
fn driven_twice() {
    only(
        faults(|m, a| {
            let w = m.net("w", 8);
            m.assign(w.bits(0, 5), a.zext(5));
            m.assign(w.bits(4, 4), a);
            m.mark_unused(w);
        }),
        "bit 4 of `w` is driven twice",
    );
    only(
        faults(|m, a| {
            let w = m.net("w", 4);
            m.assign(&w, a);
            m.comb(|p| p.set(w.bit(0), 1));
            m.mark_unused(w);
        }),
        "`w` is driven twice",
    );
    let b = buffer(RtlOptions::default());
    only(
        faults(|m, a| {
            let w = m.net("w", 4);
            m.assign(&w, a);
            m.instance("u_b", &b, |i| {
                i.connect("a_i", a).connect("y_o", &w).open("q_o");
            });
            m.mark_unused(w);
        }),
        "`w` is driven twice",
    );
}

#[test]
fn wires_with_a_value_cannot_be_driven_again() {
    only(
        faults(|m, a| {
            let w = m.wire("w", a);
            m.assign(&w, 0);
            m.mark_unused(w);
        }),
        "`w` is driven twice",
    );
}

// ---------------------------------------------------------------- uses

#[test]
fn unused() {
    only(
        faults(|m, a| {
            m.wire("w", a);
        }),
        "`w` is never used",
    );
    only(
        faults(|m, a| {
            let w = m.wire("w", a.add_wide(1));
            m.mark_unused(w.bits(1, 2));
        }),
        "bit 0, bits 4:3 of `w` is never used",
    );
    only(
        faults(|m, a| {
            m.reg("r_q", 4).next(a);
        }),
        "register `r_q` is never used",
    );
    only(
        faults(|m, _| {
            m.param("SIZE", Bits::from_u64(4, 1), "nothing");
        }),
        "parameter `SIZE` is never used",
    );
}

#[test]
fn bits_that_a_loop_leaves_out_are_unused() {
    only(
        faults(|m, _| {
            let w = m.input("w_i", 16, "elements");
            let o = m.output("o_o", 4, "first bits of elements");
            m.comb_for("i", 4, |p, i| p.set(o.bit(i), w.bit(i * 4)));
        }),
        "bits 3:1, bits 7:5, bits 11:9, bits 15:13 of input `w_i` is never used",
    );
}

#[test]
fn input_used_by_properties_only() {
    only(
        faults(|m, _| {
            let b = m.input("b_i", 1, "checked");
            m.assert("b_A", b, "always");
        }),
        "input `b_i` is never used except by properties",
    );
}

#[test]
fn wires_of_properties_are_not_unused() {
    let mut m = ModuleBuilder::new("m");
    m.clock_reset();
    let a = m.input("a_i", 4, "value");
    let y = m.output("y_o", 4, "value");
    m.assign(&y, &a);
    let sum = m.wire("sum", &a + 1);
    let low = m.wire("low", sum.lt(9));
    m.assert("low_A", low, "in range");
    let text = m.finish().unwrap().verilog();
    assert!(text.find("wire [3:0] sum").unwrap() > text.find("`ifdef FORMAL").unwrap());
}

// ---------------------------------------------------------------- combinational loops

#[test]
fn loop_of_wires() {
    let messages = faults(|m, a| {
        let v = m.net("v", 4);
        let w = m.wire("w", &v & a);
        m.assign(&v, &w + 1);
    });
    only(messages.clone(), "combinational loop: ");
    assert!(messages[0].contains("`v`") && messages[0].contains("`w`"));
}

#[test]
fn loop_through_an_instance() {
    let b = buffer(RtlOptions::default());
    only(
        faults(|m, _| {
            let w = m.net("w", 4);
            m.instance("u_b", &b, |i| {
                i.connect("a_i", &w).connect("y_o", &w).open("q_o");
            });
        }),
        "combinational loop: `w`",
    );
}

#[test]
fn loop_between_blocks() {
    only(
        faults(|m, a| {
            let v = m.net("v", 4);
            let w = m.net("w", 4);
            m.comb(|p| {
                p.if_(a.bit(0), |p| p.set(&v, &w));
            });
            m.comb(|p| {
                p.if_(v.reduce_or(), |p| p.set(&w, 1));
            });
        }),
        "combinational loop: ",
    );
}

#[test]
fn registers_and_disjoint_bits_make_no_loop() {
    let b = buffer(RtlOptions::default());
    let mut m = ModuleBuilder::new("m");
    m.clock_reset();
    let a = m.input("a_i", 4, "value");
    let y = m.output("y_o", 4, "value");
    // A chain through the elements of one bus.
    let chain = m.net("chain", 5 * 4);
    m.assign(chain.elem(0, 4), &a);
    m.instance_array("u_b", &b, 4, |i, g| {
        i.connect("a_i", chain.elem(g, 4)).connect("y_o", chain.elem(g + 1, 4)).open("q_o");
    });
    // A loop with a register in it.
    let back = m.net("back", 4);
    m.instance("u_q", &b, |i| {
        i.connect("a_i", &back).connect("q_o", &y).open("y_o");
    });
    m.assign(&back, &y + chain.elem(4, 4));
    // An accumulator reads itself.
    let any = m.net("any", 1);
    m.comb_for("i", 4, |p, i| p.set(&any, &any | a.bit(i)));
    let z = m.output("z_o", 1, "something");
    m.assign(&z, any);
    let m = m.finish().unwrap();
    assert!(m.is_combinational_path("a_i", "z_o") && !m.is_combinational_path("a_i", "y_o"));
}

#[test]
fn dependencies_of_a_module_follow_conditions_and_indices() {
    let mut m = ModuleBuilder::new("m");
    let inputs: Vec<Expr> = ["a_i", "b_i", "c_i", "d_i", "e_i"].iter().map(|n| m.input(n, 2, "value")).collect();
    let (y, z) = (m.output("y_o", 4, "value"), m.output("z_o", 2, "value"));
    m.comb(|p| {
        p.if_(inputs[0].bit(0), |p| p.set(y.elem(&inputs[1], 1), inputs[2].bit(0)));
        p.case(&inputs[3], |c| {
            c.arm(1, |p| p.set(&z, &inputs[4]));
        });
    });
    m.mark_unused(inputs[0].bit(1));
    m.mark_unused(inputs[2].bit(1));
    let m = m.finish().unwrap();
    let of = |o: &str| -> String { "abcde".chars().filter(|c| m.is_combinational_path(&format!("{c}_i"), o)).collect() };
    assert_eq!(of("y_o"), "abc");
    assert_eq!(of("z_o"), "de");
}

// ---------------------------------------------------------------- names

#[test]
fn names() {
    let wire = |name: &'static str| {
        faults(move |m, a| {
            let w = m.wire(name, a);
            m.mark_unused(w);
        })
    };
    only(wire("casex"), "`casex` is a keyword");
    only(wire("logic"), "`logic` is a keyword");
    only(wire("2w"), "`2w` is not a Verilog identifier");
    only(wire("w x"), "`w x` is not a Verilog identifier");
    only(wire("a_i"), "the name `a_i` is already taken at hdl/tests/rtl_checks.rs:");
    only(wire("m"), "`m` has the name of its module");
    let b = buffer(RtlOptions::default());
    only(
        faults(|m, a| {
            m.instance("y_o", &b, |i| {
                i.connect("a_i", a).open("y_o").open("q_o");
            });
        }),
        "the name `y_o` is already taken",
    );
    let mut m = ModuleBuilder::new("module");
    let a = m.input("a_i", 1, "value");
    m.mark_unused(a);
    let e = m.finish().err().unwrap().to_string();
    assert!(e.contains("`module` is a keyword"), "{e}");
}

#[test]
fn suffixes_tell_the_role() {
    only(
        faults(|m, _| {
            let e = m.input("b", 1, "value");
            m.mark_unused(e);
        }),
        "the name of input `b` must end in _i",
    );
    only(
        faults(|m, a| {
            let y = m.output("z", 4, "value");
            m.assign(y, a);
        }),
        "the name of output `z` must end in _o",
    );
    only(
        faults(|m, a| {
            let r = m.reg("r", 4);
            r.next(a);
            m.mark_unused(&r);
        }),
        "the name of register `r` must end in _q",
    );
    only(
        faults(|m, _| {
            let p = m.param("size", Bits::from_u64(4, 1), "size");
            m.mark_unused(p);
        }),
        "the name of parameter `size` must be in capital letters",
    );
    only(faults(|m, a| m.assert("fine", a.eq(1), "why")), "the name of property `fine` must end in _A");
    only(faults(|m, a| m.assume("fine_A", a.eq(1), "why")), "the name of property `fine_A` must end in _M");
    let mut m = ModuleBuilder::new("m");
    m.clock("clock");
    let y = m.output("y_o", 1, "value");
    m.assign(y, 0);
    only(m.finish().err().unwrap().messages().to_vec(), "the name of clock `clock` must end in _i");
    let mut m = RtlOptions { reset: ResetStyle::AsyncLow }.module("m");
    m.clock("clk_i");
    m.reset("rst_i");
    let y = m.output("y_o", 1, "value");
    m.assign(y, 0);
    only(m.finish().err().unwrap().messages().to_vec(), "the name of active-low reset `rst_i` must end in _ni");
}

#[test]
fn ports() {
    only(
        faults(|m, _| {
            let e = m.input("b_i", 1, " ");
            m.mark_unused(e);
        }),
        "port `b_i` has no description",
    );
    only(ModuleBuilder::new("m").finish().err().unwrap().messages().to_vec(), "there are no ports");
}

// ---------------------------------------------------------------- scopes

#[test]
fn loop_variables() {
    only(
        faults(|m, a| {
            let o = m.output("o_o", 4, "bits");
            m.comb_for("a_i", 4, |p, i| p.set(o.bit(i), a.bit(i)));
        }),
        "loop variable `a_i` hides the signal",
    );
    only(
        faults(|m, a| {
            let o = m.output("o_o", 16, "bits");
            m.comb_for("i", 4, |p, i| p.for_loop("i", 4, |p, j| p.set(o.bit(i * 4 + j), a.bit(j))));
        }),
        "loop variable `i` is used by an outer loop",
    );
    only(
        faults(|m, a| {
            let mut inner = ModuleBuilder::new("inverter");
            let (x, y) = (inner.input("x_i", 1, "bit"), inner.output("y_o", 1, "its inverse"));
            inner.assign(&y, !&x);
            let (o, z) = (m.output("o_o", 4, "bits"), m.output("z_o", 4, "inverses"));
            m.instance_array("u_inv", &inner.finish().unwrap(), 4, |i, g| {
                i.connect("x_i", a.bit(g)).connect("y_o", z.bit(g));
            });
            m.comb_for("g", 4, |p, g| p.set(o.bit(g), a.bit(g)));
        }),
        "loop variable `g` has the name of the genvar of an instance array",
    );
    only(
        faults(|m, a| {
            let o = m.output("o_o", 4, "bits");
            let z = m.output("z_o", 1, "bit");
            let mut leaked: Option<LoopVar> = None;
            m.comb_for("i", 4, |p, i| {
                leaked = Some(i.clone());
                p.set(o.bit(i), a.bit(i));
            });
            m.assign(&z, a.bit(Index::from(leaked.unwrap())));
        }),
        "loop variable `i` is used outside its loop",
    );
    only(
        faults(|m, a| {
            let o = m.output("o_o", 4, "bits");
            m.comb_for("end", 4, |p, i| p.set(o.bit(i), a.bit(i)));
        }),
        "`end` is a keyword",
    );
}

#[test]
fn signals_of_other_modules() {
    let mut other = ModuleBuilder::new("other");
    let b = other.input("b_i", 4, "value");
    only(
        faults(|m, a| {
            let w = m.wire("w", a & &b);
            m.mark_unused(w);
        }),
        "signal `b_i` belongs to another module",
    );
    only(
        faults(|m, _| {
            let r = m.reg("r_q", 4);
            r.next_when(b.bit(0), &r + 1);
            m.mark_unused(&r);
        }),
        "signal `b_i` belongs to another module",
    );
}

// ---------------------------------------------------------------- registers

#[test]
fn registers() {
    only(
        faults(|m, _| {
            let r = m.reg("r_q", 4);
            m.mark_unused(&r);
        }),
        "register `r_q` is never updated",
    );
    only(
        faults(|m, a| {
            let r = m.reg("r_q", 4);
            m.seq(|p| p.set(&r, a));
            m.seq(|p| p.set(&r, 0));
            m.mark_unused(&r);
        }),
        "register `r_q` is already updated at",
    );
    only(
        faults(|m, a| {
            let r = m.reg("r_q", 4);
            r.next(a);
            m.seq(|p| p.set(&r, 0));
            m.mark_unused(&r);
        }),
        "register `r_q` is already updated at",
    );
    only(
        faults(|m, a| {
            let r = m.reg("r_q", 4);
            r.next(a);
            r.next_when(a.bit(0), 0);
            m.mark_unused(&r);
        }),
        "this update of `r_q` can never happen",
    );
    only(
        faults(|m, a| {
            let r = m.reg("r_q", 4);
            let s = m.reg("s_q", 4).no_reset();
            m.seq(|p| {
                p.set(&r, a);
                p.set(&s, a);
            });
            m.mark_unused(&r & &s);
        }),
        "cannot mix registers with and without reset",
    );
}

#[test]
fn registers_need_clock_and_reset() {
    let build = |clock: bool| {
        let mut m = ModuleBuilder::new("m");
        if clock {
            m.clock("clk_i");
        }
        let y = m.output("y_o", 1, "value");
        let r = m.reg("r_q", 1);
        r.next(!&r);
        m.assign(y, &r);
        m.finish().err().unwrap().messages().to_vec()
    };
    only(build(false), "register `r_q` needs a clock");
    only(build(true), "register `r_q` has a reset value but the module has no reset port");
}

// ---------------------------------------------------------------- instances

#[test]
fn connections() {
    let b = buffer(RtlOptions::default());
    let with = |f: &dyn Fn(&mut l1forge_hdl::rtl::Connect, &Expr)| {
        faults(|m, a| {
            m.instance("u_b", &b, |i| {
                i.open("y_o").open("q_o");
                f(i, a);
            });
        })
    };
    only(with(&|_, _| {}), "u_b: port a_i of buffer is not connected");
    only(
        with(&|i, a| {
            i.connect("a_i", a).connect("b_i", a);
        }),
        "u_b: buffer has no port b_i; it has clk_i, rst_ni, a_i, y_o, q_o",
    );
    only(
        with(&|i, a| {
            i.connect("a_i", a).connect("a_i", a);
        }),
        "u_b: port a_i connected twice",
    );
    only(
        with(&|i, a| {
            i.connect("a_i", a).open("z_o");
        }),
        "u_b: buffer has no output z_o",
    );
    only(
        with(&|i, a| {
            i.connect("a_i", a).connect("y_o", a);
        }),
        "u_b: output y_o cannot drive a_i: it is an input",
    );
    only(
        with(&|i, a| {
            i.connect("a_i", a).param("SIZE", 1);
        }),
        "u_b: buffer has no parameter SIZE",
    );
    only(
        with(&|i, a| {
            i.connect("a_i", a).param("MASK", Bits::zero(3));
        }),
        "u_b: parameter MASK has 4 bits, given 3 bits",
    );
    only(
        with(&|i, a| {
            i.connect("a_i", a).param("MASK", a);
        }),
        "u_b: parameter MASK is set to a_i, which is not a constant",
    );
    only(
        with(&|i, a| {
            i.connect("a_i", a).param("MASK", 1).param("MASK", 2);
        }),
        "u_b: parameter MASK set twice",
    );
    let wide = with(&|i, a| {
        i.connect("a_i", a.zext(5));
    });
    assert!(wide[0].contains("u_b: port a_i of buffer has 4 bits, connected to 5 bits"), "{wide:?}");
}

#[test]
fn reset_styles_must_agree() {
    let b = buffer(RtlOptions { reset: ResetStyle::SyncLow });
    only(
        faults(|m, a| {
            m.instance("u_b", &b, |i| {
                i.connect("a_i", a).open("y_o").open("q_o");
            });
        }),
        "instance `u_b` has reset style SyncLow, this module AsyncLow",
    );
}

// ---------------------------------------------------------------- designs

fn constant(name: &str, value: u32) -> Rc<Module> {
    let mut m = ModuleBuilder::new(name);
    let y = m.output("y_o", 4, "value");
    m.assign(y, value);
    m.finish().unwrap()
}

fn pair(a: &Rc<Module>, b: &Rc<Module>) -> Result<Design, l1forge_hdl::rtl::RtlError> {
    let mut m = ModuleBuilder::new("pair");
    let y = m.output("y_o", 4, "value");
    let (a, b) = (m.instance("u_a", a, |_| {}), m.instance("u_b", b, |_| {}));
    m.assign(y, a.get("y_o") ^ b.get("y_o"));
    Design::new(m.finish().unwrap())
}

#[test]
fn one_name_for_two_modules() {
    let e = pair(&constant("c", 1), &constant("c", 2)).err().unwrap();
    assert_eq!(e.to_string(), "two different modules are called c");
}

#[test]
fn equal_modules_are_shared() {
    for other in ["c", "d"] {
        let d = pair(&constant("c", 1), &constant(other, 1)).unwrap();
        let names: Vec<String> = d.files().into_iter().map(|f| f.0).collect();
        assert_eq!(names, ["c.v", "pair.v"]);
        assert_eq!(d.instance_counts()["c"], 2);
        assert!(d.files()[1].1.contains("c u_b ("));
    }
}

// ---------------------------------------------------------------- misuse stops at the line that made it

macro_rules! panics {
    ($($name:ident: $text:literal, |$m:ident, $a:ident| $body:expr;)*) => {$(
        #[test]
        #[should_panic(expected = $text)]
        fn $name() {
            let mut $m = ModuleBuilder::new("m");
            $m.clock_reset();
            let $a = $m.input("a_i", 4, "value");
            let _ = $body;
        }
    )*};
}

panics! {
    operands_of_other_widths: "&: operands of different widths, 4 bits (a_i) and 5 bits", |_m, a| &a & a.zext(5);
    sum_of_other_widths: "+: operands of different widths", |_m, a| a.bits(0, 3) + &a;
    comparison_of_other_widths: "comparison: operands of different widths", |_m, a| a.eq(a.zext(5));
    mux_of_other_widths: "mux: operands of different widths", |_m, a| a.bit(0).mux(&a, a.zext(5));
    condition_of_many_bits: "the condition of mux has 4 bits", |_m, a| a.mux(&a, &a);
    constant_too_large: "constant 16 does not fit 4 bits", |_m, a| &a + 16;
    negative_constant: "negative constant -1", |_m, a| &a + -1;
    slice_beyond_the_end: "bits 2 .. 5 of a value of 4 bits (a_i)", |_m, a| a.bits(2, 3);
    element_beyond_the_end: "index 2 covers 2 ..= 2, but the bus (a_i) has 2 elements of 2 bits", |_m, a| a.elem(2, 2);
    elements_that_do_not_fit: "a bus of 4 bits (a_i) is not made of elements of 3 bits", |_m, a| a.elem(0, 3);
    index_too_wide: "index of 3 bits for 4 elements", |_m, a| a.bit(a.bits(0, 3));
    zext_that_cuts: "zext of 4 bits to 3", |_m, a| a.zext(3);
    loop_beyond_the_end: "index i + 1 covers 1 ..= 4, but the bus (a_i) has 4 elements of 1 bits", |m, a| {
        let y = m.output("y_o", 4, "value");
        m.comb_for("i", 4, |p, i| p.set(y.bit(i), a.bit(i + 1)))
    };
    loop_value_too_narrow: "loop variable i runs to 4: it needs a width of 3 ..= 32 bits, not 2", |m, a| {
        let y = m.output("y_o", 1, "value");
        m.comb_for("i", 5, |p, i| p.set(&y, a.bits(0, 2).eq(i.value(2))))
    };
    assignment_of_other_width: "assignment of 4 bits (a_i) to 3 bits (y_o)", |m, a| {
        let y = m.output("y_o", 3, "value");
        m.assign(&y, &a)
    };
    assignment_to_input: "a_i cannot be assigned: it is an input", |m, a| m.assign(&a, 1);
    assignment_to_register: "r_q cannot be assigned: it is a register", |m, _a| {
        let r = m.reg("r_q", 1);
        m.assign(&r, 1)
    };
    assignment_to_expression: "cannot assign to an expression", |m, a| m.assign(!&a, 1);
    wire_in_clocked_block: "w cannot be assigned in a clocked block", |m, _a| {
        let w = m.net("w", 1);
        m.seq(|p| p.set(&w, 1))
    };
    next_of_other_width: "next value of 4 bits (a_i) for 3 bits (r_q)", |m, a| m.reg("r_q", 3).next(&a);
    case_label_twice: "case label 1 twice", |m, a| m.comb(|p| p.case(&a, |c| {
        c.arm(1, |_| {}).arm(1, |_| {});
    }));
    case_label_too_large: "case label 16 does not fit 4 bits", |m, a| m.comb(|p| p.case(&a, |c| {
        c.arm(16, |_| {});
    }));
    table_key_twice: "case key 2 twice", |_m, a| a.select([(2, &a), (2, &a)], &a);
    two_clocks: "second clock", |m, _a| m.clock("clk2_i");
}
