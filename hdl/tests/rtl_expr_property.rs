//! Random expressions mean the same in Rust (`Expr::eval`) and in the printed Verilog (Icarus), and no linter has anything to say about them.
//!
//! `PROPTEST_CASES=5000 cargo test ...` looks longer.

mod common;

use common::property::check;
use common::sim::{Rand, Step, simulate};
use l1forge_hdl::rtl::{Bits, Block, Env, Expr, LoopVar, Module, ModuleBuilder, index_width};
use proptest::prelude::*;
use std::rc::Rc;

/// Recipe of an expression; operands are resized as needed, so that every recipe is valid and can shrink.
#[derive(Clone, Debug)]
enum R {
    Input(u8),
    Lit(u32, u64, u64),
    Param,
    LoopValue(u8),
    /// Input, element width, loop variable, multiplier and offset of the index.
    LoopElem(u8, u32, u8, u32, u32),
    Not(Box<R>),
    Bin(u8, Box<R>, Box<R>),
    AddWide(Box<R>, Box<R>),
    Mul(Box<R>, u64),
    ShiftConst(bool, Box<R>, u32),
    Shift(bool, Box<R>, Box<R>),
    Cmp(u8, Box<R>, Box<R>),
    CmpConst(u8, Box<R>, u64),
    Reduce(u8, Box<R>),
    Mux(Box<R>, Box<R>, Box<R>),
    Concat(bool, Vec<R>),
    Repl(u32, Box<R>),
    Bits(Box<R>, u32, u32),
    Elem(Box<R>, u32, u32),
    ElemDyn(Box<R>, Box<R>, u32),
    ElemElem(Box<R>, Box<R>, Box<R>),
    Unary(u8, Box<R>),
    OneHotMux(Box<R>, Box<R>, u32),
    ReduceElems(u8, Box<R>, u32),
    Select(Box<R>, Vec<(u64, R)>, Box<R>),
    /// The same expression used twice.
    Twice(u8, Box<R>),
}

const INPUTS: [u32; 7] = [1, 2, 5, 8, 24, 64, 100];
const LOOPS: [u32; 2] = [3, 4];
const MAX: u32 = 160;

struct Ctx<'a> {
    inputs: &'a [Expr],
    param: &'a Expr,
    loops: &'a [LoopVar],
}

impl Ctx<'_> {
    fn cap(e: Expr) -> Expr {
        if e.width() > MAX { e.bits(e.width() - MAX, MAX) } else { e }
    }

    fn pair(&self, a: &R, b: &R) -> (Expr, Expr) {
        let (a, b) = (self.build(a), self.build(b));
        let w = a.width().max(b.width());
        (a.zext(w), b.zext(w))
    }

    fn bit(&self, r: &R) -> Expr {
        self.build(r).trunc(1)
    }

    fn build(&self, r: &R) -> Expr {
        Self::cap(self.raw(r))
    }

    fn raw(&self, r: &R) -> Expr {
        match r {
            R::Input(i) => self.inputs[*i as usize % self.inputs.len()].clone(),
            R::Lit(w, a, b) => Expr::from(Bits::from_words(*w, &[*a, *b])),
            // As generators use tables. Of a bare parameter a linter knows the value, and may call a comparison constant.
            R::Param => self.param.elem(&self.inputs[1], 12),
            R::LoopValue(v) => match self.loops.get(*v as usize % LOOPS.len()) {
                Some(v) => v.value(4),
                None => Expr::lit(4, *v & 15),
            },
            R::LoopElem(i, w, v, k, c) => {
                let base = &self.inputs[*i as usize % self.inputs.len()];
                let w = (1..=*w).rev().find(|w| base.width().is_multiple_of(*w)).unwrap_or(1);
                let count = base.width() / w;
                match self.loops.get(*v as usize % LOOPS.len()) {
                    Some(v) if k * (v.count() - 1) + c < count => base.elem(v * *k + *c, w),
                    Some(v) if v.count() <= count => base.elem(v, w),
                    _ => base.elem(c % count, w),
                }
            }
            R::Not(a) => !self.build(a),
            R::Bin(op, a, b) => {
                let (a, b) = self.pair(a, b);
                binary(*op, a, b)
            }
            R::AddWide(a, b) => {
                let (a, b) = self.pair(a, b);
                a.add_wide(b)
            }
            R::Mul(a, k) => {
                let a = self.build(a);
                let k = if a.width() >= 64 { *k } else { k & ((1 << a.width()) - 1) };
                a.mul_const(k)
            }
            R::ShiftConst(left, a, n) => {
                let a = self.build(a);
                if *left { a.shl_const(*n) } else { a.shr_const(*n) }
            }
            R::Shift(left, a, n) => {
                let (a, n) = (self.build(a), self.build(n));
                if *left { a.shl(n) } else { a.shr(n) }
            }
            R::Cmp(op, a, b) => {
                let (a, b) = self.pair(a, b);
                compare(*op, &a, &b)
            }
            R::CmpConst(op, a, k) => {
                let a = self.build(a);
                let b = Expr::from(Bits::from_words(a.width(), &[*k, *k]));
                compare(*op, &a, &b)
            }
            R::Reduce(op, a) => {
                let a = self.build(a);
                match op % 4 {
                    0 => a.reduce_and(),
                    1 => a.reduce_or(),
                    2 => a.reduce_xor(),
                    _ => a.is_zero(),
                }
            }
            R::Mux(c, a, b) => {
                let (a, b) = self.pair(a, b);
                self.bit(c).mux(a, b)
            }
            R::Concat(lsb, v) => {
                let v: Vec<Expr> = v.iter().map(|r| self.build(r)).collect();
                if *lsb { Expr::concat_lsb_first(v) } else { Expr::concat_msb_first(v) }
            }
            R::Repl(n, a) => self.build(a).replicate(*n),
            R::Bits(a, lo, w) => {
                let a = self.build(a);
                let lo = lo % a.width();
                a.bits(lo, 1 + w % (a.width() - lo))
            }
            R::Elem(a, i, w) => {
                let a = self.build(a);
                let w = w % a.width() + 1;
                let n = a.width() / w;
                a.trunc(n * w).elem(i % n, w)
            }
            R::ElemDyn(a, i, w) => {
                let a = self.build(a);
                let w = w % a.width() + 1;
                let n = a.width() / w;
                let i = self.build(i);
                let i = i.trunc(i.width().min(index_width(n)));
                a.trunc(n * w).elem(i, w)
            }
            R::ElemElem(a, i, j) => {
                let a = self.build(a).resize(48);
                let (i, j) = (self.build(i).resize(2), self.build(j).resize(2));
                a.elem(i, 12).elem(j, 3)
            }
            R::Unary(op, a) => {
                let a = self.build(a);
                match op % 6 {
                    0 => a.popcount(),
                    5 => a.highest_one(),
                    1 => a.lowest_one(),
                    2 => a.priority_encode(),
                    3 => a.onehot_to_bin(),
                    _ => a.trunc(a.width().min(6)).bin_to_onehot(1 + u32::from(*op)),
                }
            }
            R::OneHotMux(s, b, n) => {
                let n = n % 20 + 1;
                let b = self.build(b);
                let w = (b.width() / n).max(1);
                self.build(s).resize(n).onehot_mux(b.resize(n * w))
            }
            R::ReduceElems(op, a, n) => {
                let a = self.build(a);
                let n = n % a.width() + 1;
                let w = a.width() / n;
                let a = a.trunc(n * w);
                match op % 4 {
                    0 => a.or_elems(w),
                    1 => a.and_elems(w),
                    2 => a.xor_elems(w),
                    _ => a.add_elems(w),
                }
            }
            R::Select(s, arms, d) => {
                let (s, d) = (self.build(s), self.build(d));
                let mut seen = std::collections::BTreeSet::new();
                let arms: Vec<(u64, Expr)> = arms
                    .iter()
                    .map(|(k, r)| (k & ((1 << s.width().min(16)) - 1), self.build(r).resize(d.width())))
                    .filter(|a| seen.insert(a.0))
                    .collect();
                s.select(arms, d)
            }
            R::Twice(op, a) => {
                let a = self.build(a);
                let b = !a.shl_const(1);
                binary(*op, a, b)
            }
        }
    }
}

fn binary(op: u8, a: Expr, b: Expr) -> Expr {
    match op % 5 {
        0 => a & b,
        1 => a | b,
        2 => a ^ b,
        3 => a + b,
        _ => a - b,
    }
}

fn compare(op: u8, a: &Expr, b: &Expr) -> Expr {
    match op % 6 {
        0 => a.eq(b),
        1 => a.ne(b),
        2 => a.lt(b),
        3 => a.le(b),
        4 => a.gt(b),
        _ => a.ge(b),
    }
}

fn recipe() -> impl Strategy<Value = R> {
    let leaf = prop_oneof![
        6 => any::<u8>().prop_map(R::Input),
        2 => (1..=100u32, any::<u64>(), any::<u64>()).prop_map(|(w, a, b)| R::Lit(w, a, b)),
        1 => Just(R::Param),
        2 => any::<u8>().prop_map(R::LoopValue),
        3 => (any::<u8>(), 1..=8u32, any::<u8>(), 1..=3u32, 0..=3u32).prop_map(|(i, w, v, k, c)| R::LoopElem(i, w, v, k, c)),
    ];
    leaf.prop_recursive(6, 40, 4, |r| {
        let b = || r.clone().prop_map(Box::new);
        prop_oneof![
            1 => b().prop_map(R::Not),
            3 => (any::<u8>(), b(), b()).prop_map(|(o, x, y)| R::Bin(o, x, y)),
            1 => (b(), b()).prop_map(|(x, y)| R::AddWide(x, y)),
            1 => (b(), any::<u64>()).prop_map(|(x, k)| R::Mul(x, k)),
            1 => (any::<bool>(), b(), 0..=40u32).prop_map(|(l, x, n)| R::ShiftConst(l, x, n)),
            1 => (any::<bool>(), b(), b()).prop_map(|(l, x, n)| R::Shift(l, x, n)),
            2 => (any::<u8>(), b(), b()).prop_map(|(o, x, y)| R::Cmp(o, x, y)),
            1 => (any::<u8>(), b(), prop_oneof![Just(0u64), Just(u64::MAX), 0..8u64]).prop_map(|(o, x, k)| R::CmpConst(o, x, k)),
            1 => (any::<u8>(), b()).prop_map(|(o, x)| R::Reduce(o, x)),
            2 => (b(), b(), b()).prop_map(|(c, x, y)| R::Mux(c, x, y)),
            1 => (any::<bool>(), prop::collection::vec(r.clone(), 1..5)).prop_map(|(l, v)| R::Concat(l, v)),
            1 => (1..=5u32, b()).prop_map(|(n, x)| R::Repl(n, x)),
            3 => (b(), any::<u32>(), any::<u32>()).prop_map(|(x, l, w)| R::Bits(x, l, w)),
            1 => (b(), any::<u32>(), any::<u32>()).prop_map(|(x, i, w)| R::Elem(x, i, w)),
            3 => (b(), b(), 0..=12u32).prop_map(|(x, i, w)| R::ElemDyn(x, i, w)),
            1 => (b(), b(), b()).prop_map(|(x, i, j)| R::ElemElem(x, i, j)),
            2 => (any::<u8>(), b()).prop_map(|(o, x)| R::Unary(o, x)),
            1 => (b(), b(), any::<u32>()).prop_map(|(s, x, n)| R::OneHotMux(s, x, n)),
            1 => (any::<u8>(), b(), any::<u32>()).prop_map(|(o, x, n)| R::ReduceElems(o, x, n)),
            1 => (b(), prop::collection::vec((any::<u64>(), r.clone()), 0..4), b()).prop_map(|(s, a, d)| R::Select(s, a, d)),
            2 => (any::<u8>(), b()).prop_map(|(o, x)| R::Twice(o, x)),
        ]
    })
}

struct Case {
    module: Rc<Module>,
    steps: Vec<Step>,
}

fn names() -> Vec<&'static str> {
    vec!["a_i", "b_i", "c_i", "d_i", "e_i", "f_i", "g_i"]
}

const OUTS: [&str; 8] = ["s_o", "t_o", "u_o", "v_o", "w_o", "x_o", "y_o", "z_o"];

/// A module with one output per recipe, and the values its outputs must take.
fn build(plain: &[R], looped: &[R], seed: u64) -> Case {
    let mut m = ModuleBuilder::new("random");
    m.purpose("Random expressions.");
    let inputs: Vec<Expr> = names().iter().zip(INPUTS).map(|(n, w)| m.input(n, w, "value")).collect();
    let table = m.param("TABLE", Bits::pack(6, [3, 1, 0, 2, 60, 7, 33, 12]), "constants");
    for i in &inputs {
        m.mark_unused(i);
    }
    m.mark_unused(&table);
    let mut rand = Rand(seed);
    let envs: Vec<(Env, Step)> = (0..12)
        .map(|t| {
            let (mut env, mut step) = (Env::new(), Step::default());
            for (n, w) in names().into_iter().zip(INPUTS) {
                let v = match t {
                    0 => Bits::zero(w),
                    1 => Bits::ones(w),
                    // Small values reach more indices and shift amounts.
                    2..=4 => Bits::from_u64(w, rand.below(6)),
                    _ => rand.bits(w),
                };
                env = env.set(n, v.clone());
                step = step.set(n, v);
            }
            (env, step)
        })
        .collect();
    let mut steps: Vec<Step> = envs.iter().map(|e| e.1.clone()).collect();
    let mut outs = OUTS.into_iter();
    let ctx = Ctx { inputs: &inputs, param: &table, loops: &[] };
    for r in plain {
        let e = ctx.build(r);
        let name = outs.next().unwrap();
        let o = m.output(name, e.width(), "value of an expression");
        m.assign(&o, &e);
        for (step, (env, _)) in steps.iter_mut().zip(&envs) {
            step.outputs.insert(name, e.eval(env));
        }
    }
    for r in looped {
        let name = outs.next().unwrap();
        // The width is only known once the expression is built, inside the loops of a scratch module.
        let mut width = 0;
        let mut scratch = ModuleBuilder::new("scratch");
        nest(&mut scratch, |_, loops| {
            width = Ctx { inputs: &inputs, param: &table, loops }.build(r).width();
        });
        let o = m.output(name, width * LOOPS[0] * LOOPS[1], "values of an expression in a loop");
        let mut found = None;
        nest(&mut m, |p, loops| {
            let e = Ctx { inputs: &inputs, param: &table, loops }.build(r);
            p.set(o.elem(&loops[0] * LOOPS[1] + &loops[1], width), &e);
            found = Some((e, loops.to_vec()));
        });
        let (e, loops) = found.unwrap();
        for (step, (env, _)) in steps.iter_mut().zip(&envs) {
            let mut parts = Vec::new();
            for i in 0..LOOPS[0] {
                for j in 0..LOOPS[1] {
                    parts.push(e.eval(&env.clone().set_loop(&loops[0], i).set_loop(&loops[1], j)));
                }
            }
            step.outputs.insert(name, Bits::concat_lsb_first(&parts));
        }
    }
    Case { module: m.finish().unwrap_or_else(|e| panic!("{e}")), steps }
}

fn nest(m: &mut ModuleBuilder, f: impl FnOnce(&mut Block, &[LoopVar])) {
    m.comb_for("i", LOOPS[0], |p, i| {
        p.for_loop("j", LOOPS[1], |p, j| f(p, &[i.clone(), j.clone()]));
    });
}

fn holds(plain: &[R], looped: &[R], seed: u64) -> Result<(), TestCaseError> {
    let case = build(plain, looped, seed);
    if let Err(text) = simulate(&case.module, &case.steps) {
        return Err(TestCaseError::fail(text));
    }
    let files = vec![("random.v".to_owned(), case.module.verilog())];
    let said = common::lint::lint(&files, "random");
    prop_assert!(said.is_empty(), "{said}\n{}", files[0].1);
    Ok(())
}

#[test]
fn printed_text_means_the_same() {
    let cases = (prop::collection::vec(recipe(), 1..5), prop::collection::vec(recipe(), 0..3), any::<u64>());
    check(48, env!("CARGO_CRATE_NAME"), &cases, |(plain, looped, seed)| holds(&plain, &looped, seed));
}
