//! Indices of packed buses: constants, loop variables, sums of both, and dynamic expressions.

use super::expr::{Expr, Kind};
use std::fmt;
use std::ops;
use std::rc::Rc;

pub(crate) struct LoopVarData {
    pub(crate) name: String,
    pub(crate) count: u32,
}

/// The variable of a `for` loop or the genvar of an instance array: runs over `0 .. count`.
#[derive(Clone)]
pub struct LoopVar(pub(crate) Rc<LoopVarData>);

impl LoopVar {
    pub(crate) fn new(name: &str, count: u32) -> Self {
        LoopVar(Rc::new(LoopVarData { name: name.to_owned(), count }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// Number of iterations.
    pub fn count(&self) -> u32 {
        self.0.count
    }

    pub(crate) fn same(&self, o: &LoopVar) -> bool {
        Rc::ptr_eq(&self.0, &o.0)
    }

    /// The value as data of `width` bits, which must hold `count - 1`.
    #[track_caller]
    pub fn value(&self, width: u32) -> Expr {
        let max = self.0.count - 1;
        assert!(
            width <= 32 && (width == 32 || max >> width == 0),
            "loop variable {} runs to {max}: it needs a width of {} ..= 32 bits, not {width}",
            self.name(),
            super::expr::value_width(u64::from(max))
        );
        Expr::new(width, Kind::LoopVal(self.clone()))
    }
}

/// Constant plus multiples of loop variables.
#[derive(Clone)]
pub(crate) struct Affine {
    pub(crate) terms: Vec<(LoopVar, i64)>,
    pub(crate) c: i64,
}

impl Affine {
    pub(crate) fn constant(c: i64) -> Self {
        Affine { terms: vec![], c }
    }

    pub(crate) fn is_const(&self) -> bool {
        self.terms.is_empty()
    }

    pub(crate) fn as_const(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.c)
    }

    pub(crate) fn plus(&self, c: i64) -> Self {
        Affine { terms: self.terms.clone(), c: self.c + c }
    }

    pub(crate) fn times(&self, k: i64) -> Self {
        Affine { terms: self.terms.iter().map(|(v, c)| (v.clone(), c * k)).filter(|t| t.1 != 0).collect(), c: self.c * k }
    }

    pub(crate) fn sum(&self, o: &Affine) -> Self {
        let mut r = self.clone();
        r.c += o.c;
        for (v, k) in &o.terms {
            match r.terms.iter_mut().find(|(w, _)| w.same(v)) {
                Some(t) => t.1 += k,
                None => r.terms.push((v.clone(), *k)),
            }
        }
        r.terms.retain(|t| t.1 != 0);
        r
    }

    /// The offset with one variable replaced by a number.
    pub(crate) fn fixed(&self, v: &LoopVar, n: u32) -> Self {
        let mut r = self.clone();
        r.terms.retain(|(w, k)| {
            if w.same(v) {
                r.c += k * i64::from(n);
            }
            !w.same(v)
        });
        r
    }

    /// Bits that `width` bits at this offset touch over all iterations, as sorted ranges of position and width.
    pub(crate) fn cover(&self, width: u32) -> Vec<(u32, u32)> {
        let mut terms = self.terms.clone();
        // Small strides first, so that neighbours melt together early.
        terms.sort_by_key(|t| t.1.abs());
        let mut ranges = vec![(self.c, i64::from(width))];
        for (v, k) in &terms {
            let mut all: Vec<(i64, i64)> = (0..i64::from(v.count())).flat_map(|n| ranges.iter().map(move |r| (r.0 + n * k, r.1))).collect();
            all.sort_unstable();
            ranges.clear();
            for (lo, w) in all {
                match ranges.last_mut() {
                    Some(r) if r.0 + r.1 >= lo => r.1 = r.1.max(lo + w - r.0),
                    _ => ranges.push((lo, w)),
                }
            }
        }
        ranges.into_iter().map(|(lo, w)| (lo.max(0) as u32, w as u32)).collect()
    }

    /// Smallest and largest value over all iterations.
    pub(crate) fn range(&self) -> (i64, i64) {
        let (mut lo, mut hi) = (self.c, self.c);
        for (v, k) in &self.terms {
            let far = k * i64::from(v.count() - 1);
            lo += far.min(0);
            hi += far.max(0);
        }
        (lo, hi)
    }
}

impl fmt::Display for Affine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        // Positive terms first, so that no index starts with a minus sign.
        for positive in [true, false] {
            for (v, k) in self.terms.iter().filter(|t| (t.1 > 0) == positive) {
                let sep = match (first, positive) {
                    (true, true) => "",
                    (false, true) => " + ",
                    (true, false) => "0 - ",
                    (false, false) => " - ",
                };
                f.write_str(sep)?;
                first = false;
                match k.abs() {
                    1 => write!(f, "{}", v.name())?,
                    n => write!(f, "{}*{n}", v.name())?,
                }
            }
            if positive && self.c > 0 || positive && first && self.c == 0 && self.terms.is_empty() {
                write!(f, "{}{}", if first { "" } else { " + " }, self.c)?;
                first = false;
            }
        }
        if self.c < 0 {
            write!(f, "{} - {}", if first { "0" } else { "" }, -self.c)?;
        }
        Ok(())
    }
}

/// Position in a packed bus: made from integers, loop variables, sums of them, or an expression.
///
/// ```
/// use l1forge_hdl::rtl::ModuleBuilder;
/// let mut m = ModuleBuilder::new("transpose");
/// let by_sm = m.input("by_sm_i", 12, "bit bank of element sm");
/// let by_bank = m.output("by_bank_o", 12, "bit sm of element bank");
/// m.comb_for("b", 4, |p, b| {
///     p.for_loop("s", 3, |p, s| p.set(by_bank.bit(b * 3 + s), by_sm.bit(s * 4 + b)));
/// });
/// let text = m.finish().unwrap().verilog();
/// assert!(text.contains("by_bank_o[b*3 + s] = by_sm_i[s*4 + b];"));
/// ```
#[derive(Clone)]
pub struct Index(pub(crate) IndexKind);

#[derive(Clone)]
pub(crate) enum IndexKind {
    Affine(Affine),
    Dynamic(Expr),
}

impl From<Affine> for Index {
    fn from(a: Affine) -> Self {
        Index(IndexKind::Affine(a))
    }
}

impl From<LoopVar> for Index {
    fn from(v: LoopVar) -> Self {
        Affine { terms: vec![(v, 1)], c: 0 }.into()
    }
}

impl From<&LoopVar> for Index {
    fn from(v: &LoopVar) -> Self {
        v.clone().into()
    }
}

impl From<&Index> for Index {
    fn from(i: &Index) -> Self {
        i.clone()
    }
}

impl From<Expr> for Index {
    fn from(e: Expr) -> Self {
        Index(IndexKind::Dynamic(e))
    }
}

impl From<&Expr> for Index {
    fn from(e: &Expr) -> Self {
        e.clone().into()
    }
}

impl From<&super::reg::Reg> for Index {
    fn from(r: &super::reg::Reg) -> Self {
        (**r).clone().into()
    }
}

macro_rules! int_index {
    ($($t:ty),*) => {$(
        impl From<$t> for Index {
            #[track_caller]
            #[allow(clippy::unnecessary_fallible_conversions)]
            fn from(i: $t) -> Self {
                let c = i64::try_from(i).unwrap_or_else(|_| panic!("index {i} out of range"));
                Affine::constant(c).into()
            }
        }
    )*};
}
int_index!(i32, u32, usize, i64);

impl Index {
    #[track_caller]
    fn affine(self) -> Affine {
        match self.0 {
            IndexKind::Affine(a) => a,
            IndexKind::Dynamic(e) => {
                panic!("index arithmetic is for constants and loop variables, not for {e}: compute it as an expression")
            }
        }
    }
}

macro_rules! index_ops {
    ($($t:ty),*) => {$(
        impl<R: Into<Index>> ops::Add<R> for $t {
            type Output = Index;
            #[track_caller]
            fn add(self, rhs: R) -> Index {
                Index::from(self).affine().sum(&rhs.into().affine()).into()
            }
        }
        impl<R: Into<Index>> ops::Sub<R> for $t {
            type Output = Index;
            #[track_caller]
            fn sub(self, rhs: R) -> Index {
                Index::from(self).affine().sum(&rhs.into().affine().times(-1)).into()
            }
        }
        impl ops::Mul<u32> for $t {
            type Output = Index;
            #[track_caller]
            fn mul(self, k: u32) -> Index {
                Index::from(self).affine().times(i64::from(k)).into()
            }
        }
    )*};
}
index_ops!(LoopVar, &LoopVar, Index, &Index);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cover_lists_what_all_iterations_touch() {
        let (b, s) = (LoopVar::new("b", 4), LoopVar::new("s", 3));
        let cover = |i: Index, w| i.affine().cover(w);
        assert_eq!(cover(&b * 3 + &s, 1), [(0, 12)]);
        assert_eq!(cover(&b * 4 + &s, 1), [(0, 3), (4, 3), (8, 3), (12, 3)]);
        assert_eq!(cover(&b * 8 + 2, 2), [(2, 2), (10, 2), (18, 2), (26, 2)]);
        assert_eq!(cover(Index::from(11) - &s * 4, 4), [(3, 12)]);
    }
}
