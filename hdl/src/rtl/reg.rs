//! Registers and their updates.

use super::expr::Expr;
use super::operand::Operand;
use super::process::{guard_target, target_signal};
use super::signal::{Signal, Update};
use std::ops::Deref;
use std::panic::Location;

/// A register. Reads as an [`Expr`]; its next value is given by [`next`](Self::next) and [`next_when`](Self::next_when).
#[derive(Clone)]
pub struct Reg(pub(crate) Expr);

/// A part of a register, to be updated on its own: made by [`Reg::part`] and [`Reg::at`].
pub struct RegPart(Expr);

impl Deref for Reg {
    type Target = Expr;
    fn deref(&self) -> &Expr {
        &self.0
    }
}

impl From<Reg> for Expr {
    fn from(r: Reg) -> Expr {
        r.0
    }
}

impl From<&Reg> for Expr {
    fn from(r: &Reg) -> Expr {
        r.0.clone()
    }
}

impl Operand for &Reg {
    fn known_width(&self) -> Option<u32> {
        Some(self.0.width())
    }

    fn to_expr(self, _: u32) -> Expr {
        self.0.clone()
    }
}

impl Operand for Reg {
    fn known_width(&self) -> Option<u32> {
        Some(self.0.width())
    }

    fn to_expr(self, _: u32) -> Expr {
        self.0
    }
}

#[track_caller]
fn push_update(target: &Expr, cond: Option<Expr>, value: impl Operand) {
    let value = value.to_expr(target.width());
    assert!(value.width() == target.width(), "next value of {} bits ({value}) for {} bits ({target})", value.width(), target.width());
    if let Some(c) = &cond {
        assert!(c.width() == 1, "condition of {} bits ({c})", c.width());
    }
    let (target, guard) = guard_target(target);
    let cond = match (cond, guard) {
        (Some(c), Some(g)) => Some(c & g),
        (c, g) => c.or(g),
    };
    let sig = target_signal(&target).clone();
    sig.updates.borrow_mut().push(Update { cond, target, value, loc: Location::caller() });
}

impl Reg {
    fn signal(&self) -> &Signal {
        self.0.as_signal().unwrap_or_else(|| unreachable!("a register is a signal"))
    }

    /// Reset value (0 unless said otherwise).
    #[track_caller]
    pub fn reset(self, value: impl Operand) -> Self {
        let v = Expr::lit(self.width(), value);
        let Some(b) = v.as_lit() else { panic!("the reset value must be a constant") };
        *self.signal().value.borrow_mut() = Some(b.clone());
        self
    }

    /// Leaves the register out of reset: for payload that is guarded by a valid bit.
    pub fn no_reset(self) -> Self {
        *self.signal().value.borrow_mut() = None;
        self
    }

    /// Comment printed beside the declaration.
    #[track_caller]
    pub fn doc(self, text: &str) -> Self {
        Reg(self.0.doc(text))
    }

    /// Value after the next clock edge. After calls of [`next_when`](Self::next_when) it is the final `else`.
    #[track_caller]
    pub fn next(&self, value: impl Operand) {
        push_update(&self.0, None, value);
    }

    /// Value after the next clock edge if `cond`. Several calls form `if / else if`: the first one that applies wins; if none does the register keeps its value.
    #[track_caller]
    pub fn next_when(&self, cond: impl Into<Expr>, value: impl Operand) {
        push_update(&self.0, Some(cond.into()), value);
    }

    /// Bits `lo .. lo + width`, to be updated on their own. Updates of different parts are independent; where they overlap the later one wins.
    #[track_caller]
    pub fn part(&self, lo: u32, width: u32) -> RegPart {
        RegPart(self.bits(lo, width))
    }

    /// Element `idx` of a packed register, to be updated on its own: storage such as the memory of a FIFO. A dynamic index beyond the last element updates nothing.
    #[track_caller]
    pub fn at(&self, idx: impl Into<super::Index>, width: u32) -> RegPart {
        RegPart(self.elem(idx, width))
    }
}

impl RegPart {
    /// See [`Reg::next`].
    #[track_caller]
    pub fn next(&self, value: impl Operand) {
        push_update(&self.0, None, value);
    }

    /// See [`Reg::next_when`].
    #[track_caller]
    pub fn next_when(&self, cond: impl Into<Expr>, value: impl Operand) {
        push_update(&self.0, Some(cond.into()), value);
    }
}
