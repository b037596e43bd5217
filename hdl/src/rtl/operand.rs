//! What may stand for an expression, and the overloaded operators.

use super::bits::Bits;
use super::expr::{Expr, Kind, NaryOp};
use super::reg::Reg;
use std::ops;

/// Anything that can stand for an [`Expr`] once the width is known: expressions, registers and integer constants.
pub trait Operand {
    /// The expression of width `width`; an expression of another width is returned unchanged, a constant that does not fit panics.
    fn to_expr(self, width: u32) -> Expr;

    /// The width, unless this is an integer that takes the width of its partner.
    fn known_width(&self) -> Option<u32> {
        None
    }
}

impl Operand for Expr {
    fn known_width(&self) -> Option<u32> {
        Some(self.width())
    }

    fn to_expr(self, _: u32) -> Expr {
        self
    }
}

impl Operand for &Expr {
    fn known_width(&self) -> Option<u32> {
        Some(self.width())
    }

    fn to_expr(self, _: u32) -> Expr {
        self.clone()
    }
}

impl Operand for &&Expr {
    fn known_width(&self) -> Option<u32> {
        Some(self.width())
    }

    fn to_expr(self, _: u32) -> Expr {
        (*self).clone()
    }
}

impl Operand for Bits {
    fn known_width(&self) -> Option<u32> {
        Some(self.width())
    }

    fn to_expr(self, _: u32) -> Expr {
        Expr::from(self)
    }
}

impl Operand for &Bits {
    fn known_width(&self) -> Option<u32> {
        Some(self.width())
    }

    fn to_expr(self, _: u32) -> Expr {
        Expr::from(self.clone())
    }
}

macro_rules! int_operand {
    ($($t:ty),*) => {$(
        impl Operand for $t {
            #[track_caller]
            #[allow(clippy::unnecessary_fallible_conversions)]
            fn to_expr(self, width: u32) -> Expr {
                let v = u128::try_from(self).unwrap_or_else(|_| panic!("negative constant {self}: hardware values are unsigned"));
                assert!(width >= 128 || v >> width == 0, "constant {self} does not fit {width} bits");
                Expr::from(Bits::from_u128(width, v))
            }
        }
    )*};
}
int_operand!(i32, u8, u16, u32, u64, u128, usize, i64);

impl Operand for bool {
    fn to_expr(self, width: u32) -> Expr {
        Expr::from(Bits::from_u64(width, u64::from(self)))
    }
}

macro_rules! binary {
    ($tr:ident, $f:ident, $what:literal, |$a:ident, $b:ident| $make:expr) => {
        impl<R: Operand> ops::$tr<R> for Expr {
            type Output = Expr;
            #[track_caller]
            fn $f(self, rhs: R) -> Expr {
                let $b = self.same($what, rhs);
                let $a = self;
                $make
            }
        }
        impl<R: Operand> ops::$tr<R> for &Expr {
            type Output = Expr;
            #[track_caller]
            fn $f(self, rhs: R) -> Expr {
                let $b = self.same($what, rhs);
                let $a = self.clone();
                $make
            }
        }
        impl<R: Operand> ops::$tr<R> for Reg {
            type Output = Expr;
            #[track_caller]
            fn $f(self, rhs: R) -> Expr {
                let $b = self.same($what, rhs);
                let $a: Expr = (*self).clone();
                $make
            }
        }
        impl<R: Operand> ops::$tr<R> for &Reg {
            type Output = Expr;
            #[track_caller]
            fn $f(self, rhs: R) -> Expr {
                let $b = self.same($what, rhs);
                let $a: Expr = (**self).clone();
                $make
            }
        }
    };
}
binary!(BitAnd, bitand, "&", |a, b| Expr::nary(NaryOp::And, a, b));
binary!(BitOr, bitor, "|", |a, b| Expr::nary(NaryOp::Or, a, b));
binary!(BitXor, bitxor, "^", |a, b| Expr::nary(NaryOp::Xor, a, b));
binary!(Add, add, "+", |a, b| Expr::nary(NaryOp::Add, a, b));
binary!(Sub, sub, "-", |a, b| Expr::new(a.width(), Kind::Sub(a, b)));

impl ops::Not for Expr {
    type Output = Expr;
    fn not(self) -> Expr {
        match self.kind() {
            Kind::Not(e) => e.clone(),
            Kind::Lit(b) => Expr::from(b.not()),
            _ => Expr::new(self.width(), Kind::Not(self)),
        }
    }
}

impl ops::Not for &Expr {
    type Output = Expr;
    fn not(self) -> Expr {
        !self.clone()
    }
}

impl ops::Not for &Reg {
    type Output = Expr;
    fn not(self) -> Expr {
        !(**self).clone()
    }
}
