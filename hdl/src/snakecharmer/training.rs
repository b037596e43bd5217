//! Training of strides, shared by the front ends.

use super::context::Context;
use crate::rtl::{Expr, ModuleBuilder, Reg};

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

/// Stride and confidence of the entry of a load (`here`, one-hot): 0 for a new owner, or what training says; never both.
#[track_caller]
pub(super) fn restart_or_train(
    m: &mut ModuleBuilder,
    name: &str,
    here: &Expr,
    (restarts, trains): (&Expr, &Expr),
    tables: [(&Reg, Expr); 2],
) {
    let rows = m.wire(&format!("{name}_rows"), here & (restarts | trains).replicate(here.width()));
    for ((table, trained), what) in tables.into_iter().zip(["stride", "confidence"]) {
        let value = m.wire(&format!("{name}_{what}_d"), trains.replicate(trained.width()) & &trained);
        m.write_rows(table, trained.width(), [(&rows, &value)]);
    }
}

/// `0 - x`.
pub(super) fn negate(x: &Expr) -> Expr {
    Expr::zeros(x.width()) - x
}
