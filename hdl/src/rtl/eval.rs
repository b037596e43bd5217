//! Evaluates expressions in Rust: the meaning that the printed Verilog must have.

use super::bits::Bits;
use super::expr::{CmpOp, Expr, Kind, NaryOp, Node};
use super::index::LoopVar;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Values of signals and loop variables.
///
/// ```
/// use l1forge_hdl::rtl::{Bits, Env, ModuleBuilder};
/// let mut m = ModuleBuilder::new("example");
/// let a = m.input("a_i", 8, "value");
/// let env = Env::new().set("a_i", Bits::from_u64(8, 0b0010_1000));
/// assert_eq!(a.priority_encode().eval(&env), Bits::from_u64(3, 3));
/// assert_eq!(a.popcount().eval(&env), Bits::from_u64(4, 2));
/// ```
#[derive(Clone, Default)]
pub struct Env {
    signals: BTreeMap<String, Bits>,
    loops: Vec<(LoopVar, u32)>,
}

impl Env {
    /// No values.
    pub fn new() -> Self {
        Env::default()
    }

    /// Gives a signal its value.
    pub fn set(mut self, signal: &str, value: Bits) -> Self {
        self.signals.insert(signal.to_owned(), value);
        self
    }

    /// Gives a loop variable its value.
    pub fn set_loop(mut self, var: &LoopVar, value: u32) -> Self {
        self.loops.retain(|(v, _)| !v.same(var));
        self.loops.push((var.clone(), value));
        self
    }

    #[track_caller]
    fn loop_value(&self, var: &LoopVar) -> u32 {
        match self.loops.iter().find(|(v, _)| v.same(var)) {
            Some((_, n)) => *n,
            None => panic!("loop variable {} has no value", var.name()),
        }
    }
}

impl Expr {
    /// The value of the expression. Panics if a signal has no value or one of another width.
    ///
    /// Parameters and named constants have their default value unless the environment says otherwise.
    #[track_caller]
    pub fn eval(&self, env: &Env) -> Bits {
        eval(self, env, &mut HashMap::new())
    }
}

fn bit(b: bool) -> Bits {
    Bits::from_u64(1, u64::from(b))
}

/// Shift amounts beyond `u32` shift everything out.
fn amount(b: &Bits) -> u32 {
    b.to_u64().and_then(|v| u32::try_from(v).ok()).unwrap_or(u32::MAX)
}

fn combine(op: NaryOp, a: &Bits, b: &Bits) -> Bits {
    match op {
        NaryOp::And => a.and(b),
        NaryOp::Or => a.or(b),
        NaryOp::Xor => a.xor(b),
        NaryOp::Add => a.add(b),
    }
}

#[track_caller]
fn eval(e: &Expr, env: &Env, memo: &mut HashMap<*const Node, Bits>) -> Bits {
    if let Some(v) = memo.get(&Rc::as_ptr(&e.0)) {
        return v.clone();
    }
    let w = e.width();
    let mut ev = |x: &Expr| eval(x, env, memo);
    let v = match e.kind() {
        Kind::Lit(b) => b.clone(),
        Kind::Sig(s) => match env.signals.get(&s.name).or(s.value.borrow().as_ref()) {
            Some(b) if b.width() == w => b.clone(),
            Some(b) => panic!("signal {} has {w} bits, its value {}", s.name, b.width()),
            None => panic!("signal {} has no value", s.name),
        },
        Kind::LoopVal(v) => Bits::from_u64(w, u64::from(env.loop_value(v))),
        Kind::Not(x) => ev(x).not(),
        Kind::Nary(op, v) => {
            let v: Vec<Bits> = v.iter().map(ev).collect();
            v[1..].iter().fold(v[0].clone(), |a, b| combine(*op, &a, b))
        }
        Kind::Sub(a, b) => ev(a).sub(&ev(b)),
        Kind::Mul(a, b) => ev(a).mul(b),
        Kind::Cmp(op, a, b) => {
            let o = ev(a).compare(&ev(b));
            bit(match op {
                CmpOp::Eq => o == Ordering::Equal,
                CmpOp::Ne => o != Ordering::Equal,
                CmpOp::Lt => o == Ordering::Less,
                CmpOp::Le => o != Ordering::Greater,
                CmpOp::Gt => o == Ordering::Greater,
                CmpOp::Ge => o != Ordering::Less,
            })
        }
        Kind::Shl(a, b) => ev(a).shl(amount(&ev(b))),
        Kind::Shr(a, b) => ev(a).shr(amount(&ev(b))),
        Kind::Reduce(op, x) => {
            let x = ev(x);
            bit(match op {
                NaryOp::And => x.is_ones(),
                NaryOp::Or => !x.is_zero(),
                NaryOp::Xor | NaryOp::Add => x.count_ones() % 2 == 1,
            })
        }
        Kind::Mux(c, a, b) => {
            let taken = if ev(c).is_zero() { b } else { a };
            ev(taken)
        }
        Kind::Concat(v) => {
            let mut v: Vec<Bits> = v.iter().map(ev).collect();
            v.reverse();
            Bits::concat_lsb_first(&v)
        }
        Kind::Repl(n, x) => Bits::concat_lsb_first(&vec![ev(x); *n as usize]),
        Kind::Sel { base, dynamic, off } => {
            let mut at = off.c;
            for (v, k) in &off.terms {
                at += k * i64::from(env.loop_value(v));
            }
            let base = ev(base);
            for (i, stride) in dynamic {
                at += i64::from(amount(&ev(i))) * i64::from(*stride);
            }
            base.slice(u32::try_from(at).unwrap_or(u32::MAX), w)
        }
        Kind::Popcount(x) => Bits::from_u64(w, u64::from(ev(x).count_ones())),
        Kind::OneHotMux { sel, bus } => {
            let (sel, bus) = (ev(sel), ev(bus));
            (0..sel.width()).filter(|i| sel.bit(*i)).fold(Bits::zero(w), |a, i| a.or(&bus.slice(i * w, w)))
        }
        Kind::ReduceElems(op, bus) => {
            let bus = ev(bus);
            let parts: Vec<Bits> = (0..bus.width() / w).map(|i| bus.slice(i * w, w)).collect();
            parts[1..].iter().fold(parts[0].clone(), |a, b| combine(*op, &a, b))
        }
        Kind::Case { sel, arms, default } => {
            let s = ev(sel);
            match arms.iter().find(|a| a.0 == s) {
                Some((_, v)) => ev(v),
                None => ev(default),
            }
        }
    };
    debug_assert_eq!(v.width(), w);
    if Rc::strong_count(&e.0) > 1 {
        memo.insert(Rc::as_ptr(&e.0), v.clone());
    }
    v
}
