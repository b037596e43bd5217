//! Random statements mean the same in Rust and in the printed always blocks: `if`, `case`, `for`, partial targets, accumulation.

mod common;

use common::property::check;
use common::sim::{Rand, Step, simulate};
use l1forge_hdl::rtl::{Bits, Block, Env, Expr, LoopVar, ModuleBuilder};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Value recipe; every value has 8 bits.
#[derive(Clone, Debug)]
enum V {
    Input(u8),
    Target(u8),
    Loop,
    LoopBits(u8),
    Lit(u8),
    Bin(u8, Box<V>, Box<V>),
    /// Bits of a sum: needs a temporary.
    High(Box<V>, Box<V>),
    Popcount(Box<V>),
    Element(u8, Box<V>),
    OneHotMux(Box<V>, Box<V>),
    Mux(Box<V>, Box<V>, Box<V>),
    /// The same expression twice.
    Twice(Box<V>),
}

#[derive(Clone, Debug)]
enum Part {
    Whole,
    Const(u8),
    Loop,
    Dynamic(V),
}

#[derive(Clone, Debug)]
enum S {
    Set(u8, Part, V),
    If(V, Vec<S>, Option<(V, Vec<S>)>, Vec<S>),
    For(Vec<S>),
    Case(V, Vec<S>, Vec<S>, Vec<S>),
}

/// Width and element width of the targets; the last has a number of elements that is no power of two.
const TARGETS: [(u32, u32); 3] = [(8, 2), (8, 4), (12, 4)];
const COUNT: u32 = 2;

/// The statements as the interpreter runs them.
enum I {
    Set(usize, Option<(u32, Where)>, Expr),
    If(Vec<(Expr, Vec<I>)>, Vec<I>),
    For(LoopVar, Vec<I>),
    Case(Expr, [Vec<I>; 3]),
}

enum Where {
    Const(u32),
    /// Of the innermost loop.
    Loop,
    Dynamic(Expr),
}

struct Ctx {
    inputs: Vec<Expr>,
    targets: Vec<Expr>,
}

impl Ctx {
    fn value(&self, v: &V, loops: &[LoopVar]) -> Expr {
        let go = |v: &V| self.value(v, loops);
        match v {
            V::Input(i) => self.inputs[*i as usize % self.inputs.len()].clone(),
            V::Target(i) => self.targets[*i as usize % TARGETS.len()].resize(8),
            V::Loop => loops.last().map_or_else(|| Expr::lit(8, 1), |l| l.value(8)),
            V::LoopBits(i) => {
                let x = &self.inputs[*i as usize % self.inputs.len()];
                loops.last().map_or_else(|| x.clone(), |l| x.elem(l * 2 + 1, 2).zext(8))
            }
            V::Lit(k) => Expr::lit(8, *k),
            V::Bin(op, a, b) => {
                let (a, b) = (go(a), go(b));
                match op % 6 {
                    0 => a & b,
                    1 => a | b,
                    2 => a ^ b,
                    3 => a + b,
                    4 => a - b,
                    _ => a.shl(b.trunc(3)),
                }
            }
            V::High(a, b) => go(a).add_wide(go(b)).bits(3, 6).zext(8),
            V::Popcount(a) => go(a).popcount().zext(8),
            V::Element(i, a) => {
                let (w, e) = TARGETS[*i as usize % TARGETS.len()];
                let t = &self.targets[*i as usize % TARGETS.len()];
                t.elem(go(a).trunc(l1forge_hdl::rtl::index_width(w / e)), e).zext(8)
            }
            V::OneHotMux(s, b) => go(s).trunc(4).onehot_mux(go(b)).zext(8),
            V::Mux(c, a, b) => go(c).reduce_xor().mux(go(a), go(b)),
            V::Twice(a) => {
                let a = go(a);
                (&a & &a.shl_const(1)) + !a
            }
        }
    }

    fn stmts(&self, s: &[S], p: &mut Block, loops: &[LoopVar]) -> Vec<I> {
        s.iter().map(|s| self.stmt(s, p, loops)).collect()
    }

    fn stmt(&self, s: &S, p: &mut Block, loops: &[LoopVar]) -> I {
        match s {
            S::Set(t, part, v) => {
                let i = *t as usize % TARGETS.len();
                let (w, e) = TARGETS[i];
                let target = &self.targets[i];
                let v = self.value(v, loops);
                let (target, at) = match (part, loops.last()) {
                    (Part::Whole, _) | (Part::Loop, None) => (target.clone(), None),
                    (Part::Const(k), _) => {
                        let k = u32::from(*k) % (w / e);
                        (target.elem(k, e), Some((e, Where::Const(k))))
                    }
                    (Part::Loop, Some(l)) => (target.elem(l, e), Some((e, Where::Loop))),
                    (Part::Dynamic(x), _) => {
                        // Never constant: a constant index must exist.
                        let x = (self.value(x, loops) + &self.inputs[0]).trunc(l1forge_hdl::rtl::index_width(w / e));
                        (target.elem(&x, e), Some((e, Where::Dynamic(x))))
                    }
                };
                let v = v.resize(target.width());
                p.set(&target, &v);
                I::Set(i, at, v)
            }
            S::If(c, a, elif, b) => {
                let c = self.value(c, loops).reduce_or();
                let (mut x, mut y) = (vec![], vec![]);
                let mut arms = Vec::new();
                let chain = p.if_(&c, |p| x = self.stmts(a, p, loops));
                arms.push((c, x));
                let chain = match elif {
                    Some((d, s)) => {
                        let d = self.value(d, loops).bit(0);
                        let mut z = vec![];
                        let chain = chain.elif(&d, |p| z = self.stmts(s, p, loops));
                        arms.push((d, z));
                        chain
                    }
                    None => chain,
                };
                chain.otherwise(|p| y = self.stmts(b, p, loops));
                I::If(arms, y)
            }
            S::For(body) => {
                let mut out = None;
                p.for_loop(["i", "j", "k", "l", "m", "n"][loops.len()], COUNT, |p, l| {
                    let mut inner = loops.to_vec();
                    inner.push(l.clone());
                    out = Some(I::For(l.clone(), self.stmts(body, p, &inner)));
                });
                out.unwrap()
            }
            S::Case(sel, a, b, d) => {
                let sel = self.value(sel, loops).trunc(2);
                let mut parts = [vec![], vec![], vec![]];
                p.case(&sel, |c| {
                    c.arm(0, |p| parts[0] = self.stmts(a, p, loops));
                    c.arm(2, |p| parts[1] = self.stmts(b, p, loops));
                    c.otherwise(|p| parts[2] = self.stmts(d, p, loops));
                });
                I::Case(sel, parts)
            }
        }
    }
}

/// Runs statements: `old` is what expressions read, `new` what assignments change (the same thing in combinational blocks).
struct Machine {
    inputs: Env,
    clocked: bool,
    old: Vec<Bits>,
    new: Vec<Bits>,
    loops: Vec<(LoopVar, u32)>,
    names: [&'static str; 3],
}

impl Machine {
    fn eval(&self, e: &Expr) -> Bits {
        let mut env = self.inputs.clone();
        let read = if self.clocked { &self.old } else { &self.new };
        for (n, v) in self.names.iter().zip(read) {
            env = env.set(n, v.clone());
        }
        for (l, n) in &self.loops {
            env = env.set_loop(l, *n);
        }
        e.eval(&env)
    }

    fn run(&mut self, stmts: &[I]) {
        for s in stmts {
            match s {
                I::Set(t, at, v) => {
                    let v = self.eval(v);
                    match at {
                        None => self.new[*t] = v,
                        Some((e, at)) => {
                            let k = match at {
                                Where::Const(k) => *k,
                                Where::Loop => self.loops.last().unwrap().1,
                                Where::Dynamic(x) => self.eval(x).to_u64().unwrap() as u32,
                            };
                            if (k + 1) * e <= self.new[*t].width() {
                                for b in 0..*e {
                                    self.new[*t].set(k * e + b, v.bit(b));
                                }
                            }
                        }
                    }
                }
                I::If(arms, otherwise) => {
                    let taken = arms.iter().find(|a| self.eval(&a.0).bit(0)).map_or(otherwise, |a| &a.1);
                    self.run(taken);
                }
                I::For(l, body) => {
                    for n in 0..COUNT {
                        self.loops.push((l.clone(), n));
                        self.run(body);
                        self.loops.pop();
                    }
                }
                I::Case(sel, [a, b, d]) => {
                    let s = self.eval(sel).to_u64();
                    self.run(match s {
                        Some(0) => a,
                        Some(2) => b,
                        _ => d,
                    });
                }
            }
        }
    }
}

fn value() -> impl Strategy<Value = V> {
    let leaf = prop_oneof![
        3 => any::<u8>().prop_map(V::Input),
        3 => any::<u8>().prop_map(V::Target),
        1 => Just(V::Loop),
        2 => any::<u8>().prop_map(V::LoopBits),
        1 => any::<u8>().prop_map(V::Lit),
    ];
    leaf.prop_recursive(3, 8, 3, |v| {
        let b = || v.clone().prop_map(Box::new);
        prop_oneof![
            3 => (any::<u8>(), b(), b()).prop_map(|(o, x, y)| V::Bin(o, x, y)),
            1 => (b(), b()).prop_map(|(x, y)| V::High(x, y)),
            1 => b().prop_map(V::Popcount),
            1 => (any::<u8>(), b()).prop_map(|(i, x)| V::Element(i, x)),
            1 => (b(), b()).prop_map(|(x, y)| V::OneHotMux(x, y)),
            1 => (b(), b(), b()).prop_map(|(c, x, y)| V::Mux(c, x, y)),
            1 => b().prop_map(V::Twice),
        ]
    })
}

fn statements() -> impl Strategy<Value = Vec<S>> {
    let part = prop_oneof![
        2 => Just(Part::Whole),
        2 => any::<u8>().prop_map(Part::Const),
        2 => Just(Part::Loop),
        1 => value().prop_map(Part::Dynamic),
    ];
    let set = (any::<u8>(), part, value()).prop_map(|(t, p, v)| S::Set(t, p, v));
    let s = set.prop_recursive(3, 12, 3, |s| {
        let list = || prop::collection::vec(s.clone(), 0..3);
        prop_oneof![
            2 => (value(), list(), prop::option::of((value(), list())), list()).prop_map(|(c, a, e, b)| S::If(c, a, e, b)),
            2 => list().prop_map(S::For),
            1 => (value(), list(), list(), list()).prop_map(|(c, a, b, d)| S::Case(c, a, b, d)),
        ]
    });
    prop::collection::vec(s, 1..5)
}

fn holds(stmts: &[S], clocked: bool, seed: u64) -> Result<(), TestCaseError> {
    let mut m = ModuleBuilder::new("random");
    m.clock_reset();
    let names = if clocked { ["t_q", "u_q", "v_q"] } else { ["t", "u", "v"] };
    let inputs: Vec<Expr> = ["a_i", "b_i"].iter().map(|n| m.input(n, 8, "value")).collect();
    for i in &inputs {
        m.mark_unused(i);
    }
    let targets: Vec<Expr> = names.iter().zip(TARGETS).map(|(n, (w, _))| if clocked { m.reg(n, w).into() } else { m.net(n, w) }).collect();
    let ctx = Ctx { inputs, targets: targets.clone() };
    let mut program = Vec::new();
    // Every target is assigned somewhere.
    let touch = |p: &mut Block| {
        let mut first = Vec::new();
        for (i, t) in targets.iter().enumerate() {
            let v = if clocked { t.clone() } else { Expr::zeros(t.width()) };
            p.set(t, &v);
            first.push(I::Set(i, None, v));
        }
        first.extend(ctx.stmts(stmts, p, &[]));
        program = first;
    };
    if clocked {
        m.seq(touch)
    } else {
        m.comb(touch)
    }
    let outs = ["t_o", "u_o", "v_o"];
    for (n, t) in outs.iter().zip(&targets) {
        let o = m.output(n, t.width(), "value");
        m.assign(&o, t);
    }
    let module = m.finish().map_err(|e| TestCaseError::fail(e.to_string()))?;

    let mut rand = Rand(seed);
    let mut state: Vec<Bits> = TARGETS.iter().map(|t| Bits::zero(t.0)).collect();
    let mut steps = Vec::new();
    for _ in 0..16 {
        let (a, b) = (rand.bits(8), Bits::from_u64(8, rand.below(12)));
        let mut machine = Machine {
            inputs: Env::new().set("a_i", a.clone()).set("b_i", b.clone()),
            clocked,
            old: state.clone(),
            new: if clocked { state.clone() } else { TARGETS.iter().map(|t| Bits::zero(t.0)).collect() },
            loops: vec![],
            names,
        };
        machine.run(&program);
        let shown = if clocked { state.clone() } else { machine.new.clone() };
        let mut outputs = BTreeMap::new();
        for (n, v) in outs.into_iter().zip(shown) {
            outputs.insert(n, v);
        }
        steps.push(Step { inputs: BTreeMap::from([("a_i", a), ("b_i", b)]), outputs });
        state = machine.new;
    }
    if let Err(text) = simulate(&module, &steps) {
        return Err(TestCaseError::fail(text));
    }
    let files = vec![("random.v".to_owned(), module.verilog())];
    let said = common::lint::lint(&files, "random");
    // Verilator 5.006 fails on some assignments that it finds to be redundant.
    prop_assume!(!said.contains("Internal Error: random.v"));
    // Yosys leaves its temporaries (`$3\t`) of a branch that it finds to be dead (`t = 0; if (t[0])`) without a driver, and complains about the
    // dead cells that read them. Signals of ours have no such names; without a driver they would be `x` in the simulation above.
    prop_assume!(!said.contains("Warning: Wire random.$"));
    prop_assert!(said.is_empty(), "{said}\n{}", files[0].1);
    Ok(())
}

#[test]
fn blocks_mean_the_same() {
    let cases = (statements(), any::<bool>(), any::<u64>());
    check(48, env!("CARGO_CRATE_NAME"), &cases, |(stmts, clocked, seed)| holds(&stmts, clocked, seed));
}
