//! Constant folding when expressions are made.
//!
//! Generators write general code whose parameters make parts of it constant; linters complain about what is left of that (`x >= 0`).

use super::bits::Bits;
use super::expr::{CmpOp, Expr, Kind, NaryOp};
use std::rc::Rc;

/// A simpler expression of the same value, or the operator unchanged.
pub(crate) fn fold(width: u32, kind: Kind) -> Result<Expr, Kind> {
    if all_constant(&kind) {
        let e = Expr::raw(width, kind);
        return Ok(Expr::from(e.eval(&super::Env::new())));
    }
    match kind {
        Kind::Not(e) => match e.kind() {
            Kind::Not(inner) => Ok(inner.clone()),
            _ => Err(Kind::Not(e)),
        },
        Kind::Nary(op, parts) => nary(width, op, parts),
        Kind::Sub(a, b) if is_zero(&b) => Ok(a),
        Kind::Sub(a, b) if same(&a, &b) => Ok(Expr::zeros(width)),
        Kind::Mul(a, b) => match b.to_u64() {
            Some(0) => Ok(Expr::zeros(width)),
            Some(1) => Ok(a),
            _ => Err(Kind::Mul(a, b)),
        },
        Kind::Cmp(op, a, b) => match compare(op, &a, &b) {
            Some(v) => Ok(Expr::from(Bits::from_u64(1, u64::from(v)))),
            None => Err(Kind::Cmp(op, a, b)),
        },
        Kind::Shl(a, _) | Kind::Shr(a, _) if is_zero(&a) => Ok(a),
        Kind::Shl(a, n) => match shift(&a, &n) {
            Some(e) => Ok(e),
            None => Err(Kind::Shl(a, n)),
        },
        Kind::Shr(a, n) => match shift(&a, &n) {
            Some(e) => Ok(e),
            None => Err(Kind::Shr(a, n)),
        },
        Kind::Mux(c, a, b) => match c.as_lit() {
            Some(c) if c.is_zero() => Ok(b),
            Some(_) => Ok(a),
            None if same(&a, &b) => Ok(a),
            None => Err(Kind::Mux(c, a, b)),
        },
        Kind::Concat(parts) => concat(parts),
        Kind::Sel { ref base, .. } if is_zero(base) => Ok(Expr::zeros(width)),
        Kind::OneHotMux { ref sel, ref bus } if is_zero(sel) || is_zero(bus) => Ok(Expr::zeros(width)),
        Kind::Case { sel, arms, default } => match sel.as_lit() {
            Some(s) => Ok(arms.into_iter().find(|a| a.0 == *s).map_or(default, |a| a.1)),
            None if arms.iter().all(|(_, arm)| same(arm, &default)) => Ok(default),
            None => Err(Kind::Case { sel, arms, default }),
        },
        other => Err(other),
    }
}

fn is_zero(e: &Expr) -> bool {
    e.as_lit().is_some_and(Bits::is_zero)
}

fn all_constant(kind: &Kind) -> bool {
    match kind {
        Kind::Lit(_) | Kind::Sig(_) | Kind::LoopVal(_) => return false,
        Kind::Sel { off, .. } if !off.is_const() => return false,
        _ => {}
    }
    let mut all = true;
    kind.for_each_child(&mut |e| all = all && e.as_lit().is_some());
    all
}

fn nary(width: u32, op: NaryOp, parts: Vec<Expr>) -> Result<Expr, Kind> {
    if let [a, b] = &parts[..] {
        match op {
            NaryOp::And | NaryOp::Or if same(a, b) => return Ok(a.clone()),
            NaryOp::Xor if same(a, b) => return Ok(Expr::zeros(width)),
            NaryOp::And if opposite(a, b) => return Ok(Expr::zeros(width)),
            NaryOp::Or | NaryOp::Xor if opposite(a, b) => return Ok(Expr::from(Bits::ones(width))),
            _ => {}
        }
    }
    if parts.iter().all(|p| p.as_lit().is_none()) {
        return Err(Kind::Nary(op, parts));
    }
    let identity = if op == NaryOp::And { Bits::ones(width) } else { Bits::zero(width) };
    let mut constant = identity.clone();
    let mut rest = Vec::with_capacity(parts.len());
    for p in parts {
        match p.as_lit() {
            Some(b) => {
                constant = match op {
                    NaryOp::And => constant.and(b),
                    NaryOp::Or => constant.or(b),
                    NaryOp::Xor => constant.xor(b),
                    NaryOp::Add => constant.add(b),
                }
            }
            None => rest.push(p),
        }
    }
    let absorbs = match op {
        NaryOp::And => constant.is_zero(),
        NaryOp::Or => constant.is_ones(),
        NaryOp::Xor | NaryOp::Add => false,
    };
    if absorbs {
        return Ok(Expr::from(constant));
    }
    if constant != identity {
        rest.push(Expr::from(constant));
    }
    if rest.len() == 1 {
        return rest.pop().ok_or(Kind::Nary(op, vec![]));
    }
    Err(Kind::Nary(op, rest))
}

/// Whether two expressions are the same tree: shared, or of the same few operators over the same leaves. Linters see that too.
fn same(a: &Expr, b: &Expr) -> bool {
    /// Larger trees are compared by identity alone, so that folding stays linear.
    const MAX_SIZE: u32 = 64;
    if Rc::ptr_eq(&a.0, &b.0) {
        return true;
    }
    if a.width() != b.width() || a.0.size != b.0.size || a.0.size > MAX_SIZE {
        return false;
    }
    let all = |a: &[Expr], b: &[Expr]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b));
    match (a.kind(), b.kind()) {
        (Kind::Lit(a), Kind::Lit(b)) => a == b,
        (Kind::Sig(a), Kind::Sig(b)) => Rc::ptr_eq(a, b),
        (Kind::Not(a), Kind::Not(b)) | (Kind::Popcount(a), Kind::Popcount(b)) => same(a, b),
        (Kind::Reduce(o, a), Kind::Reduce(p, b)) | (Kind::ReduceElems(o, a), Kind::ReduceElems(p, b)) => o == p && same(a, b),
        (Kind::Nary(o, a), Kind::Nary(p, b)) => o == p && all(a, b),
        (Kind::Cmp(o, a, x), Kind::Cmp(p, b, y)) => o == p && same(a, b) && same(x, y),
        (Kind::Mul(a, k), Kind::Mul(b, l)) => k == l && same(a, b),
        (Kind::Sub(a, x), Kind::Sub(b, y)) | (Kind::Shl(a, x), Kind::Shl(b, y)) | (Kind::Shr(a, x), Kind::Shr(b, y)) => {
            same(a, b) && same(x, y)
        }
        (Kind::Mux(c, a, x), Kind::Mux(d, b, y)) => same(c, d) && same(a, b) && same(x, y),
        (Kind::Concat(a), Kind::Concat(b)) => all(a, b),
        (Kind::Repl(n, a), Kind::Repl(m, b)) => n == m && same(a, b),
        (Kind::LoopVal(a), Kind::LoopVal(b)) => a.same(b),
        (Kind::Sel { base: a, dynamic: i, off: x }, Kind::Sel { base: b, dynamic: j, off: y }) => {
            let terms = x.terms.len() == y.terms.len() && x.terms.iter().zip(&y.terms).all(|(a, b)| a.0.same(&b.0) && a.1 == b.1);
            let indices = i.len() == j.len() && i.iter().zip(j).all(|(a, b)| a.1 == b.1 && same(&a.0, &b.0));
            terms && x.c == y.c && indices && same(a, b)
        }
        _ => false,
    }
}

/// Whether one is the complement of the other.
fn opposite(a: &Expr, b: &Expr) -> bool {
    let complements = |a: &Expr, b: &Expr| matches!(a.kind(), Kind::Not(inner) if same(inner, b));
    complements(a, b) || complements(b, a)
}

/// The result of a comparison that the operands cannot change.
fn compare(op: CmpOp, a: &Expr, b: &Expr) -> Option<bool> {
    if same(a, b) {
        return Some(matches!(op, CmpOp::Eq | CmpOp::Le | CmpOp::Ge));
    }
    let (lo_a, hi_a) = bounds(a);
    let (lo_b, hi_b) = bounds(b);
    let never_less = lo_a.compare(&hi_b).is_ge();
    let always_less = hi_a.compare(&lo_b).is_lt();
    let never_greater = hi_a.compare(&lo_b).is_le();
    let always_greater = lo_a.compare(&hi_b).is_gt();
    match op {
        CmpOp::Eq => (always_less || always_greater).then_some(false),
        CmpOp::Ne => (always_less || always_greater).then_some(true),
        CmpOp::Lt => always_less.then_some(true).or(never_less.then_some(false)),
        CmpOp::Ge => never_less.then_some(true).or(always_less.then_some(false)),
        CmpOp::Gt => always_greater.then_some(true).or(never_greater.then_some(false)),
        CmpOp::Le => never_greater.then_some(true).or(always_greater.then_some(false)),
    }
}

/// Smallest and largest value, from constant top bits.
fn bounds(e: &Expr) -> (Bits, Bits) {
    let w = e.width();
    match e.kind() {
        Kind::Lit(b) => (b.clone(), b.clone()),
        Kind::Concat(parts) => match parts[0].as_lit() {
            Some(top) => {
                let low = w - top.width();
                let at = |fill: Bits| Bits::concat_lsb_first(&[fill, top.clone()]);
                (at(Bits::zero(low)), at(Bits::ones(low)))
            }
            None => (Bits::zero(w), Bits::ones(w)),
        },
        _ => (Bits::zero(w), Bits::ones(w)),
    }
}

fn shift(a: &Expr, n: &Expr) -> Option<Expr> {
    let n = n.as_lit()?;
    match n.to_u64() {
        Some(0) => Some(a.clone()),
        Some(n) if n < u64::from(a.width()) => None,
        _ => Some(Expr::zeros(a.width())),
    }
}

/// Joins neighbouring constants, also those of padded parts.
fn concat(parts: Vec<Expr>) -> Result<Expr, Kind> {
    let constant = |e: &Expr| e.as_lit().is_some();
    let nested = |e: &Expr| matches!(e.kind(), Kind::Concat(v) if v.len() <= 4 && v.iter().any(constant));
    if !parts.windows(2).any(|w| constant(&w[0]) && constant(&w[1])) && !parts.iter().any(nested) {
        return Err(Kind::Concat(parts));
    }
    let parts = parts.into_iter().flat_map(|p| match p.kind() {
        Kind::Concat(v) if nested(&p) => v.clone(),
        _ => vec![p],
    });
    let mut out: Vec<Expr> = Vec::new();
    let mut run: Vec<Bits> = Vec::new();
    let flush = |run: &mut Vec<Bits>, out: &mut Vec<Expr>| {
        if !run.is_empty() {
            run.reverse();
            out.push(Expr::from(Bits::concat_lsb_first(run)));
            run.clear();
        }
    };
    for p in parts {
        match p.as_lit() {
            Some(b) => run.push(b.clone()),
            None => {
                flush(&mut run, &mut out);
                out.push(p);
            }
        }
    }
    flush(&mut run, &mut out);
    Err(Kind::Concat(out))
}

#[cfg(test)]
mod tests {
    use super::super::ModuleBuilder;
    use super::super::index::LoopVar;
    use super::*;

    #[test]
    #[allow(clippy::erasing_op)]
    fn constants_disappear() {
        let mut m = ModuleBuilder::new("m");
        let x = m.input("x_i", 4, "value");
        let c = m.input("c_i", 1, "condition");
        let lit = |e: &Expr| e.as_lit().and_then(Bits::to_u64);
        assert_eq!(lit(&x.ge(0)), Some(1));
        assert_eq!(lit(&x.lt(0)), Some(0));
        assert_eq!(lit(&x.le(15)), Some(1));
        assert_eq!(lit(&x.gt(15)), Some(0));
        assert_eq!(lit(&(&x & 0)), Some(0));
        assert_eq!(lit(&(&x | 15)), Some(15));
        assert_eq!(lit(&(Expr::lit(4, 9) + 9)), Some(2));
        assert_eq!(lit(&x.mul_const(0)), Some(0));
        assert_eq!((&x | 0).to_string(), "x_i");
        assert_eq!((&x & 15).to_string(), "x_i");
        assert_eq!((&x + 0).to_string(), "x_i");
        assert_eq!(Expr::lit(1, 1).mux(&x, 3).to_string(), "x_i");
        assert_eq!((!!&x).to_string(), "x_i");
        assert_eq!(lit(&Expr::lit(2, 1).select([(1, Expr::lit(4, 7))], &x)), Some(7));
        assert!(lit(&c.mux(&x, 3)).is_none());
        assert_eq!(lit(&x.zext(6).lt(16)), Some(1));
        assert_eq!(lit(&x.zext(6).eq(16)), Some(0));
        assert!(lit(&x.zext(6).lt(15)).is_none());
        assert_eq!(lit(&(&x - &x)), Some(0));
        assert_eq!(lit(&(&x - &x).zext(6).ge(0)), Some(1));
        assert_eq!(lit(&(!&x & &x)), Some(0));
        assert_eq!(lit(&(&x | !&x)), Some(15));
        assert_eq!(lit(&(&x ^ !&x)), Some(15));
        assert_eq!(lit(&(&x ^ &x)), Some(0));
        assert_eq!((&x & &x).to_string(), "x_i");
        assert_eq!(c.mux(&x, &x).to_string(), "x_i");
        // Equal trees made twice.
        assert_eq!(lit(&(x.bits(1, 2) - x.bits(1, 2))), Some(0));
        assert_eq!(lit(&(x.elem(&c, 2) - x.elem(&c, 2))), Some(0));
        assert!(lit(&(x.bits(1, 2) - x.bits(2, 2))).is_none() && lit(&(x.elem(&c, 2) - x.elem(!&c, 2))).is_none());
        assert_eq!(lit(&(&x + 1).le(&x + 1)), Some(1));
        assert_eq!(lit(&(&x + 1).lt(&x + 1)), Some(0));
        assert!(lit(&(&x + 1).le(&x + 2)).is_none() && lit(&(&x + 1).le(&x ^ 1)).is_none());
        assert!(lit(&x.eq(15)).is_none() && lit(&x.le(14)).is_none() && lit(&x.ge(1)).is_none());
    }

    /// For every operator, trees that differ in one place only: each is the same as itself made again, and as no other.
    #[test]
    fn trees_are_the_same_in_every_place_or_not_at_all() {
        let mut m = ModuleBuilder::new("m");
        let [x, y, z] = ["x_i", "y_i", "z_i"].map(|name| m.input(name, 4, "value"));
        let [c, d] = ["c_i", "d_i"].map(|name| m.input(name, 1, "condition"));
        let [i, j] = ["i", "j"].map(|name| LoopVar::new(name, 4));
        let (x, y, z): (&Expr, &Expr, &Expr) = (&x, &y, &z);
        let families: [&dyn Fn() -> Vec<Expr>; 14] = [
            &|| vec![x.clone(), y.clone(), i.value(4), j.value(4)],
            &|| vec![!x, !y],
            &|| vec![x.popcount(), y.popcount()],
            &|| vec![x.reduce_and(), x.reduce_or(), y.reduce_or(), x.bits(0, 2).reduce_or(), x.bits(0, 3).reduce_or()],
            &|| vec![x.or_elems(2), x.and_elems(2), y.and_elems(2)],
            &|| vec![x & y, x | y, x ^ y, x + y, x & (y + 1), x & (y + 2), Expr::and_all([x, y, &(x + 1)])],
            &|| vec![x.lt(y), x.le(y), y.le(x), x.le(z), x.le(&!y), x.le(&(y + 1))],
            &|| vec![x.mul_const(3), x.mul_const(5), y.mul_const(5)],
            &|| vec![x - y, y - x, x - &!x],
            &|| vec![x.shl(c.clone()), x.shl(d.clone()), y.shl(d.clone()), x.shr(c.clone()), x.shr(d.clone()), y.shr(d.clone())],
            &|| vec![c.mux(x, y), d.mux(x, y), d.mux(x, z), d.mux(y, x), d.mux(x, &!x), d.mux(y, &!x)],
            &|| vec![Expr::concat_msb_first([x, y]), Expr::concat_msb_first([y, x]), Expr::concat_msb_first([x, x])],
            &|| vec![c.replicate(4), d.replicate(4), x.bits(0, 2).replicate(2), y.bits(0, 2).replicate(2)],
            &|| {
                vec![
                    x.bit(0),
                    x.bit(1),
                    y.bit(1),
                    x.bit(&c),
                    x.bit(&d),
                    y.bit(&d),
                    x.elem(&c, 2).bits(0, 1),
                    x.bit(&i),
                    x.bit(&j),
                    y.bit(&j),
                ]
            },
        ];
        for family in families {
            for (p, a) in family().iter().enumerate() {
                for (q, b) in family().iter().enumerate() {
                    assert_eq!(same(a, b), p == q, "{a} and {b}");
                }
                let not = !a;
                assert!(opposite(a, &not) && opposite(&not, a) && !opposite(a, a), "{a}");
            }
        }
    }

    #[test]
    fn a_comparison_with_itself_is_known() {
        let mut m = ModuleBuilder::new("m");
        let x = m.input("x_i", 4, "value");
        let results = [x.eq(&x), x.le(&x), x.ge(&x), x.ne(&x), x.lt(&x), x.gt(&x)];
        assert_eq!(results.map(|e| e.as_lit().and_then(Bits::to_u64)), [1, 1, 1, 0, 0, 0].map(Some));
    }

    #[test]
    fn a_selection_among_equals_is_none() {
        let mut m = ModuleBuilder::new("m");
        let [x, s] = ["x_i", "s_i"].map(|name| m.input(name, 2, "value"));
        assert_eq!(s.select([(1, &x + 1), (2, &x + 1)], &x + 1).to_string(), (&x + 1).to_string());
        assert_ne!(s.select([(1, &x + 1), (2, &x + 2)], &x + 1).to_string(), (&x + 1).to_string());
    }
}
