//! Training of strides, shared by the front ends.

use super::context::Context;
use crate::rtl::Expr;

/// A difference of lines as a signed stride.
pub(super) struct Sample {
    /// The stride, when it fits.
    pub stride: Expr,
    /// It fits.
    pub fits: Expr,
}

/// A sample from a difference of A bits.
pub(super) fn sample(c: &Context, difference: &Expr) -> Sample {
    let high = difference.bits(c.sb - 1, c.a - c.sb + 1);
    Sample { stride: difference.trunc(c.sb), fits: high.is_zero() | high.reduce_and() }
}

/// Stride and confidence after a sample.
pub(super) fn train(stride: &Expr, confidence: &Expr, s: &Sample) -> (Expr, Expr) {
    let same = &s.fits & s.stride.eq(stride);
    let weak = confidence.is_zero();
    let up = confidence.eq(3).mux(3u32, confidence + 1u32);
    let down = weak.mux(0u32, confidence - 1u32);
    ((weak & !&same & &s.fits).mux(&s.stride, stride), same.mux(up, down))
}

/// `0 - x`.
pub(super) fn negate(x: &Expr) -> Expr {
    Expr::zeros(x.width()) - x
}
