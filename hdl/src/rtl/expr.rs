//! Expressions: immutable trees of operators in which every node knows its width.

use super::bits::Bits;
use super::index::{Affine, Index, IndexKind, LoopVar};
use super::operand::Operand;
use super::signal::Signal;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;

/// Source position of a construct in the generator.
pub type Loc = &'static Location<'static>;

/// Expressions deeper than this are refused: they would overflow the stack of every later stage.
const MAX_DEPTH: u32 = 1000;

/// Associative bitwise and arithmetic operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) enum NaryOp {
    And,
    Or,
    Xor,
    Add,
}

/// Unsigned comparisons.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Operator of an expression.
pub(crate) enum Kind {
    Lit(Bits),
    Sig(Rc<Signal>),
    /// Value of a loop variable or genvar.
    LoopVal(LoopVar),
    Not(Expr),
    Nary(NaryOp, Vec<Expr>),
    Sub(Expr, Expr),
    Mul(Expr, Bits),
    Cmp(CmpOp, Expr, Expr),
    /// Value, amount.
    Shl(Expr, Expr),
    Shr(Expr, Expr),
    Reduce(NaryOp, Expr),
    Mux(Expr, Expr, Expr),
    /// Most significant part first, as printed.
    Concat(Vec<Expr>),
    Repl(u32, Expr),
    /// `width` bits of `base` starting at bit `off + sum(dyn * stride)`.
    Sel {
        base: Expr,
        dynamic: Vec<(Expr, u32)>,
        off: Affine,
    },
    Popcount(Expr),
    /// OR over i of `sel[i] ? bus[i] : 0`.
    OneHotMux {
        sel: Expr,
        bus: Expr,
    },
    /// Combines the elements of a packed bus.
    ReduceElems(NaryOp, Expr),
    Case {
        sel: Expr,
        arms: Vec<(Bits, Expr)>,
        default: Expr,
    },
}

pub(crate) struct Node {
    pub(crate) width: u32,
    pub(crate) kind: Kind,
    /// Depends on a loop variable or genvar: cannot be hoisted out of its loop.
    pub(crate) loopy: bool,
    pub(crate) depth: u32,
    /// Number of operators and leaves when printed as a tree (saturating).
    pub(crate) size: u32,
}

/// A hardware value of a known width. Cheap to clone.
///
/// Operators `& | ^ + -` take operands of equal widths (`+` and `-` wrap) or an integer constant that fits; `!` is the bitwise complement. Everything else is a method.
///
/// ```
/// use l1forge_hdl::rtl::ModuleBuilder;
/// let mut m = ModuleBuilder::new("example");
/// let a = m.input("a_i", 8, "left operand");
/// let b = m.input("b_i", 8, "right operand");
/// let both = (&a & &b).ne(0) | a.bit(7);
/// assert_eq!(both.width(), 1);
/// assert_eq!(a.add_wide(&b).width(), 9);
/// ```
///
/// A wrong width is a bug of the generator and panics at once, at the line that made it:
///
/// ```should_panic
/// # use l1forge_hdl::rtl::Expr;
/// let _ = Expr::lit(8, 1) & Expr::lit(4, 1);
/// ```
#[derive(Clone)]
pub struct Expr(pub(crate) Rc<Node>);

impl From<Bits> for Expr {
    fn from(b: Bits) -> Self {
        Expr::raw(b.width(), Kind::Lit(b))
    }
}

impl From<&Expr> for Expr {
    fn from(e: &Expr) -> Self {
        e.clone()
    }
}

/// Bits needed to number `n` things: the smallest `w >= 1` with `2^w >= n`.
///
/// ```
/// use l1forge_hdl::rtl::index_width;
/// assert_eq!((1..=5).map(index_width).collect::<Vec<_>>(), [1, 1, 2, 2, 3]);
/// ```
pub fn index_width(n: u32) -> u32 {
    n.max(2).next_power_of_two().trailing_zeros()
}

/// Bits needed to hold the value `max`.
///
/// ```
/// use l1forge_hdl::rtl::value_width;
/// assert_eq!([0, 1, 2, 3, 4, 64].map(value_width), [1, 1, 2, 2, 3, 7]);
/// ```
pub fn value_width(max: u64) -> u32 {
    (64 - max.leading_zeros()).max(1)
}

impl Expr {
    #[track_caller]
    pub(crate) fn new(width: u32, kind: Kind) -> Self {
        match super::fold::fold(width, kind) {
            Ok(e) => e,
            Err(kind) => Expr::raw(width, kind),
        }
    }

    /// [`new`](Self::new) without simplification.
    #[track_caller]
    pub(crate) fn raw(width: u32, kind: Kind) -> Self {
        let (mut loopy, mut depth, mut size) = (matches!(kind, Kind::LoopVal(_)), 0u32, 1u32);
        let mut see = |e: &Expr| {
            loopy |= e.0.loopy;
            depth = depth.max(e.0.depth + 1);
            size = size.saturating_add(e.0.size);
        };
        kind.for_each_child(&mut see);
        if let Kind::Sel { off, .. } = &kind {
            loopy |= !off.is_const();
        }
        assert!(depth <= MAX_DEPTH, "expression nested {depth} deep: use or_all/and_all/xor_all/add_all or name parts with `wire`");
        Expr(Rc::new(Node { width, kind, loopy, depth, size }))
    }

    /// Width in bits.
    pub fn width(&self) -> u32 {
        self.0.width
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// True if a walk should remember that it was here: expressions that are shared and not trivial.
    pub(crate) fn is_worth_noting(&self) -> bool {
        self.0.size > 6 && Rc::strong_count(&self.0) > 1
    }

    pub(crate) fn as_signal(&self) -> Option<&Rc<Signal>> {
        match self.kind() {
            Kind::Sig(s) => Some(s),
            _ => None,
        }
    }

    pub(crate) fn as_lit(&self) -> Option<&Bits> {
        match self.kind() {
            Kind::Lit(b) => Some(b),
            _ => None,
        }
    }

    /// A constant of `width` bits.
    #[track_caller]
    pub fn lit(width: u32, value: impl Operand) -> Expr {
        let e = value.to_expr(width);
        assert!(e.width() == width, "constant of {} bits where {width} are expected", e.width());
        e
    }

    /// `width` zeros.
    pub fn zeros(width: u32) -> Expr {
        Expr::from(Bits::zero(width))
    }

    /// `width` ones.
    pub fn ones(width: u32) -> Expr {
        Expr::from(Bits::ones(width))
    }

    /// Gives a port, wire or register the text of the comment printed beside its declaration.
    #[track_caller]
    pub fn doc(self, text: &str) -> Expr {
        let Some(s) = self.as_signal() else { panic!("doc() on an expression that is not a signal") };
        text.clone_into(&mut s.doc.borrow_mut());
        self
    }

    #[track_caller]
    pub(crate) fn same(&self, what: &str, other: impl Operand) -> Expr {
        let o = other.to_expr(self.width());
        assert!(
            o.width() == self.width(),
            "{what}: operands of different widths, {} bits ({self}) and {} bits ({o})",
            self.width(),
            o.width()
        );
        o
    }

    #[track_caller]
    pub(crate) fn nary(op: NaryOp, a: Expr, b: Expr) -> Expr {
        let width = a.width();
        // A chain built by `acc = acc & x` stays flat as long as nobody else holds the accumulator.
        let mut parts = match Rc::try_unwrap(a.0) {
            Ok(Node { kind: Kind::Nary(o, parts), .. }) if o == op => parts,
            Ok(n) => vec![Expr(Rc::new(n))],
            Err(rc) => vec![Expr(rc)],
        };
        match b.kind() {
            Kind::Nary(o, more) if *o == op && more.len() <= 8 => parts.extend(more.iter().cloned()),
            _ => parts.push(b),
        }
        // Children are only looked at, not counted again, so that long chains stay linear.
        Expr::nary_all(op, parts, width)
    }

    #[track_caller]
    pub(crate) fn nary_all(op: NaryOp, parts: Vec<Expr>, width: u32) -> Expr {
        if parts.len() == 1 {
            return parts.into_iter().next().unwrap_or_else(|| unreachable!());
        }
        Expr::new(width, Kind::Nary(op, parts))
    }

    #[track_caller]
    fn combine_all<T: Into<Expr>>(op: NaryOp, what: &str, items: impl IntoIterator<Item = T>) -> Expr {
        let parts: Vec<Expr> = items.into_iter().map(Into::into).collect();
        assert!(!parts.is_empty(), "{what} of nothing has no width");
        let width = parts[0].width();
        for p in &parts {
            assert!(p.width() == width, "{what}: operands of different widths, {width} bits and {} bits ({p})", p.width());
        }
        Self::nary_all(op, parts, width)
    }

    /// OR of at least one expression of equal widths.
    #[track_caller]
    pub fn or_all<T: Into<Expr>>(items: impl IntoIterator<Item = T>) -> Expr {
        Self::combine_all(NaryOp::Or, "or_all", items)
    }

    /// AND of at least one expression of equal widths.
    #[track_caller]
    pub fn and_all<T: Into<Expr>>(items: impl IntoIterator<Item = T>) -> Expr {
        Self::combine_all(NaryOp::And, "and_all", items)
    }

    /// XOR of at least one expression of equal widths.
    #[track_caller]
    pub fn xor_all<T: Into<Expr>>(items: impl IntoIterator<Item = T>) -> Expr {
        Self::combine_all(NaryOp::Xor, "xor_all", items)
    }

    /// Wrapping sum of at least one expression of equal widths.
    #[track_caller]
    pub fn add_all<T: Into<Expr>>(items: impl IntoIterator<Item = T>) -> Expr {
        Self::combine_all(NaryOp::Add, "add_all", items)
    }

    #[track_caller]
    fn compare(&self, op: CmpOp, other: impl Operand) -> Expr {
        let o = self.same("comparison", other);
        Expr::new(1, Kind::Cmp(op, self.clone(), o))
    }

    /// `self == other`.
    #[track_caller]
    #[allow(clippy::should_implement_trait)]
    pub fn eq(&self, other: impl Operand) -> Expr {
        self.compare(CmpOp::Eq, other)
    }

    /// `self != other`.
    #[track_caller]
    #[allow(clippy::should_implement_trait)]
    pub fn ne(&self, other: impl Operand) -> Expr {
        self.compare(CmpOp::Ne, other)
    }

    /// Unsigned `self < other`.
    #[track_caller]
    pub fn lt(&self, other: impl Operand) -> Expr {
        self.compare(CmpOp::Lt, other)
    }

    /// Unsigned `self <= other`.
    #[track_caller]
    pub fn le(&self, other: impl Operand) -> Expr {
        self.compare(CmpOp::Le, other)
    }

    /// Unsigned `self > other`.
    #[track_caller]
    pub fn gt(&self, other: impl Operand) -> Expr {
        self.compare(CmpOp::Gt, other)
    }

    /// Unsigned `self >= other`.
    #[track_caller]
    pub fn ge(&self, other: impl Operand) -> Expr {
        self.compare(CmpOp::Ge, other)
    }

    /// Sum with the carry as an extra top bit.
    #[track_caller]
    pub fn add_wide(&self, other: impl Operand) -> Expr {
        let o = self.same("add_wide", other);
        let w = self.width() + 1;
        Expr::nary(NaryOp::Add, self.zext(w), o.zext(w))
    }

    /// Product with a constant, modulo 2^width.
    #[track_caller]
    pub fn mul_const(&self, factor: u64) -> Expr {
        let w = self.width();
        assert!(w >= 64 || factor >> w == 0, "factor {factor} does not fit {w} bits: zext first");
        if factor.is_power_of_two() {
            return self.shl_const(factor.trailing_zeros());
        }
        Expr::new(w, Kind::Mul(self.clone(), Bits::from_u64(w, factor)))
    }

    /// Shift left by a constant: zeros in, width kept.
    #[track_caller]
    pub fn shl_const(&self, n: u32) -> Expr {
        let w = self.width();
        match n {
            0 => self.clone(),
            n if n >= w => Expr::zeros(w),
            n => Expr::new(w, Kind::Shl(self.clone(), Expr::lit(value_width(u64::from(n)), n))),
        }
    }

    /// Shift right by a constant: zeros in, width kept.
    #[track_caller]
    pub fn shr_const(&self, n: u32) -> Expr {
        let w = self.width();
        match n {
            0 => self.clone(),
            n if n >= w => Expr::zeros(w),
            n => Expr::new(w, Kind::Shr(self.clone(), Expr::lit(value_width(u64::from(n)), n))),
        }
    }

    /// Shift left by another value: zeros in, width kept.
    #[track_caller]
    pub fn shl(&self, amount: impl Into<Expr>) -> Expr {
        self.shift(amount.into(), Kind::Shl)
    }

    /// Shift right by another value: zeros in, width kept.
    #[track_caller]
    pub fn shr(&self, amount: impl Into<Expr>) -> Expr {
        self.shift(amount.into(), Kind::Shr)
    }

    /// Tools do not agree on amounts of more than 32 bits.
    #[track_caller]
    fn shift(&self, amount: Expr, kind: impl Fn(Expr, Expr) -> Kind) -> Expr {
        const MAX: u32 = 31;
        if amount.width() <= MAX {
            return Expr::new(self.width(), kind(self.clone(), amount));
        }
        let shifted = Expr::new(self.width(), kind(self.clone(), amount.trunc(MAX)));
        amount.bits(MAX, amount.width() - MAX).reduce_or().mux(Expr::zeros(self.width()), shifted)
    }

    /// Zero-extends to `width` bits.
    #[track_caller]
    pub fn zext(&self, width: u32) -> Expr {
        assert!(width >= self.width(), "zext of {} bits to {width}: use trunc to cut", self.width());
        if width == self.width() {
            return self.clone();
        }
        if let Some(b) = self.as_lit() {
            return Expr::from(b.resize(width));
        }
        Expr::new(width, Kind::Concat(vec![Expr::zeros(width - self.width()), self.clone()]))
    }

    /// The low `width` bits.
    #[track_caller]
    pub fn trunc(&self, width: u32) -> Expr {
        self.bits(0, width)
    }

    /// Zero-extends or cuts to `width` bits, whichever is needed.
    #[track_caller]
    pub fn resize(&self, width: u32) -> Expr {
        if width >= self.width() { self.zext(width) } else { self.trunc(width) }
    }

    /// Bits `lo .. lo + width`.
    #[track_caller]
    pub fn bits(&self, lo: u32, width: u32) -> Expr {
        let w = self.width();
        assert!(width >= 1, "a slice needs at least one bit");
        assert!(u64::from(lo) + u64::from(width) <= u64::from(w), "bits {lo} .. {} of a value of {w} bits ({self})", lo + width);
        if width == w {
            return self.clone();
        }
        match self.kind() {
            Kind::Lit(b) => Expr::from(b.slice(lo, width)),
            Kind::Sel { base, dynamic, off } => {
                Expr::new(width, Kind::Sel { base: base.clone(), dynamic: dynamic.clone(), off: off.plus(i64::from(lo)) })
            }
            Kind::Concat(parts) if parts.len() <= 16 => {
                let mut out = Vec::new();
                let (mut at, hi) = (0, lo + width);
                for p in parts.iter().rev() {
                    let (a, b) = (lo.max(at), hi.min(at + p.width()));
                    if a < b {
                        out.push(p.bits(a - at, b - a));
                    }
                    at += p.width();
                }
                Expr::concat_lsb_first(out)
            }
            Kind::Repl(_, e) if e.width() == 1 => e.replicate(width),
            Kind::LoopVal(v) if lo == 0 => Expr::new(width, Kind::LoopVal(v.clone())),
            // Inside loops a temporary wire is not possible, so slices move to the operands.
            Kind::Not(e) if self.0.loopy => !e.bits(lo, width),
            Kind::Nary(op @ (NaryOp::And | NaryOp::Or | NaryOp::Xor), parts) if self.0.loopy => {
                Expr::nary_all(*op, parts.iter().map(|p| p.bits(lo, width)).collect(), width)
            }
            Kind::Mux(c, a, b) if self.0.loopy => c.mux(a.bits(lo, width), b.bits(lo, width)),
            _ => Expr::new(width, Kind::Sel { base: self.clone(), dynamic: vec![], off: Affine::constant(i64::from(lo)) }),
        }
    }

    /// One bit at a constant, loop-variable or dynamic position.
    #[track_caller]
    pub fn bit(&self, i: impl Into<Index>) -> Expr {
        self.elem(i, 1)
    }

    /// Element `idx` of a packed bus of elements of `width` bits.
    ///
    /// The index is an integer, a loop variable (or sum such as `b * 4 + s`), or an expression. Integers and loop variables must stay inside
    /// the bus. An expression must have at most [`index_width`] bits; reading beyond the last element gives zero.
    #[track_caller]
    pub fn elem(&self, idx: impl Into<Index>, width: u32) -> Expr {
        let w = self.width();
        assert!(width >= 1 && w.is_multiple_of(width), "a bus of {w} bits ({self}) is not made of elements of {width} bits");
        let count = w / width;
        match idx.into().0 {
            IndexKind::Affine(a) => {
                let (lo, hi) = a.range();
                assert!(
                    lo >= 0 && hi < i64::from(count),
                    "index {a} covers {lo} ..= {hi}, but the bus ({self}) has {count} elements of {width} bits"
                );
                if let Some(c) = a.as_const() {
                    return self.bits(c as u32 * width, width);
                }
                if count == 1 {
                    return self.clone();
                }
                let off = a.times(i64::from(width));
                match self.kind() {
                    Kind::Sel { base, dynamic, off: o } => {
                        Expr::new(width, Kind::Sel { base: base.clone(), dynamic: dynamic.clone(), off: o.sum(&off) })
                    }
                    Kind::Repl(n, e) if e.width() == width && *n == count => e.clone(),
                    _ => Expr::new(width, Kind::Sel { base: self.clone(), dynamic: vec![], off }),
                }
            }
            IndexKind::Dynamic(i) => {
                if let Some(v) = i.as_lit().and_then(Bits::to_u64) {
                    return if v < u64::from(count) { self.bits(v as u32 * width, width) } else { Expr::zeros(width) };
                }
                let need = index_width(count);
                assert!(
                    i.width() <= need,
                    "index of {} bits for {count} elements, at most {need} bits are useful: cut it with trunc",
                    i.width()
                );
                let reach = 1u32 << i.width();
                if reach <= count
                    && let Kind::Sel { base, dynamic, off } = self.kind()
                {
                    let mut dynamic = dynamic.clone();
                    dynamic.push((i, width));
                    return Expr::new(width, Kind::Sel { base: base.clone(), dynamic, off: off.clone() });
                }
                let base = if reach > count { self.zext(reach * width) } else { self.clone() };
                Expr::new(width, Kind::Sel { base, dynamic: vec![(i, width)], off: Affine::constant(0) })
            }
        }
    }

    /// Concatenates, first item in the least significant bits.
    #[track_caller]
    pub fn concat_lsb_first<T: Into<Expr>>(items: impl IntoIterator<Item = T>) -> Expr {
        let mut parts: Vec<Expr> = items.into_iter().map(Into::into).collect();
        parts.reverse();
        Self::concat(parts)
    }

    /// Concatenates, first item in the most significant bits: the order of `{a, b, c}` in Verilog.
    #[track_caller]
    pub fn concat_msb_first<T: Into<Expr>>(items: impl IntoIterator<Item = T>) -> Expr {
        Self::concat(items.into_iter().map(Into::into).collect())
    }

    #[track_caller]
    fn concat(mut parts: Vec<Expr>) -> Expr {
        assert!(!parts.is_empty(), "concatenation of nothing");
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let total: u64 = parts.iter().map(|p| u64::from(p.width())).sum();
        let Ok(width) = u32::try_from(total) else { panic!("concatenation of {total} bits") };
        Expr::new(width, Kind::Concat(parts))
    }

    /// `n` copies side by side.
    #[track_caller]
    pub fn replicate(&self, n: u32) -> Expr {
        assert!(n >= 1, "replication of nothing");
        if n == 1 {
            return self.clone();
        }
        if let Some(b) = self.as_lit() {
            if b.is_zero() {
                return Expr::zeros(n * self.width());
            }
            if b.is_ones() {
                return Expr::ones(n * self.width());
            }
        }
        Expr::new(n * self.width(), Kind::Repl(n, self.clone()))
    }

    /// `self ? a : b`; `self` has one bit.
    #[track_caller]
    pub fn mux(&self, a: impl Operand, b: impl Operand) -> Expr {
        assert!(self.width() == 1, "the condition of mux has {} bits ({self})", self.width());
        // Whichever operand is an expression gives a constant its width.
        let Some(width) = a.known_width().or(b.known_width()) else { panic!("mux of two integer constants has no width: use Expr::lit") };
        let (a, b) = (a.to_expr(width), b.to_expr(width));
        let b = a.same("mux", b);
        Expr::new(width, Kind::Mux(self.clone(), a, b))
    }
}

impl Kind {
    pub(crate) fn for_each_child(&self, f: &mut dyn FnMut(&Expr)) {
        match self {
            Kind::Lit(_) | Kind::Sig(_) | Kind::LoopVal(_) => {}
            Kind::Not(e) | Kind::Mul(e, _) | Kind::Reduce(_, e) | Kind::Repl(_, e) | Kind::Popcount(e) | Kind::ReduceElems(_, e) => f(e),
            Kind::Nary(_, v) | Kind::Concat(v) => v.iter().for_each(f),
            Kind::Sub(a, b) | Kind::Cmp(_, a, b) | Kind::Shl(a, b) | Kind::Shr(a, b) | Kind::OneHotMux { sel: a, bus: b } => {
                f(a);
                f(b);
            }
            Kind::Mux(a, b, c) => {
                f(a);
                f(b);
                f(c);
            }
            Kind::Sel { base, dynamic, .. } => {
                f(base);
                dynamic.iter().for_each(|(e, _)| f(e));
            }
            Kind::Case { sel, arms, default } => {
                f(sel);
                arms.iter().for_each(|(_, e)| f(e));
                f(default);
            }
        }
    }
}

/// Short description for messages: the name of a signal, else the operator.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::Lit(b) => write!(f, "{b}"),
            Kind::Sig(s) => f.write_str(&s.name),
            Kind::LoopVal(v) => f.write_str(v.name()),
            Kind::Not(e) => write!(f, "~{e}"),
            Kind::Nary(op, v) => write!(f, "{op:?} of {} operands", v.len()),
            Kind::Sub(..) => f.write_str("difference"),
            Kind::Mul(..) => f.write_str("product"),
            Kind::Cmp(..) => f.write_str("comparison"),
            Kind::Shl(..) | Kind::Shr(..) => f.write_str("shift"),
            Kind::Reduce(..) => f.write_str("reduction"),
            Kind::Mux(..) => f.write_str("mux"),
            Kind::Concat(v) => write!(f, "concatenation of {} parts", v.len()),
            Kind::Repl(n, e) => write!(f, "{n} copies of {e}"),
            Kind::Sel { base, .. } => write!(f, "part of {base}"),
            Kind::Popcount(e) => write!(f, "popcount of {e}"),
            Kind::OneHotMux { bus, .. } => write!(f, "one-hot mux of {bus}"),
            Kind::ReduceElems(_, bus) => write!(f, "reduction of {bus}"),
            Kind::Case { sel, .. } => write!(f, "table over {sel}"),
        }
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({} bits)", self.width())
    }
}
