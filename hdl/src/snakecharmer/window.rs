//! The window of feedback events, shared by both AWTs.

use super::context::Context;
use crate::rtl::{Expr, ModuleBuilder, Reg, value_width};

/// Counts of an entry after an event, and what they say.
pub(super) struct Window {
    /// Counts on time, early, late, packed.
    pub counts: Expr,
    /// The window ends here, with enough late events.
    pub farther: Expr,
    /// The window ends here, with enough early events.
    pub nearer: Expr,
    /// The window ends here.
    pub full: Expr,
}

/// Bits of one count.
pub(super) fn count_width(c: &Context) -> u32 {
    value_width(u64::from(c.config.sc_awt_window) - 1)
}

/// The window of entry `index` after an event of `class`.
#[track_caller]
pub(super) fn window(c: &Context, m: &mut ModuleBuilder, counts: &Reg, index: &Expr, class: &Expr) -> Window {
    let cw = count_width(c);
    let wide = value_width(u64::from(c.config.sc_awt_window));
    let before = m.case_mux("counts", index, counts, 3 * cw).doc("on time, early, late");
    let mut after = |i: u32, name: &str| {
        let one = class.eq(i).zext(wide);
        m.wire(name, before.bits(i * cw, cw).zext(wide) + one)
    };
    let (on_time, early, late) = (after(0, "on_time"), after(1, "early"), after(2, "late"));
    let full = m.wire("full", (&on_time + &early + &late).eq(c.config.sc_awt_window)).doc("the window ends");
    let kept = Expr::concat_lsb_first([on_time.trunc(cw), early.trunc(cw), late.trunc(cw)]);
    let enough = c.config.sc_awt_move_events;
    let many = |events: &Expr| if enough > 0 { events.gt(&on_time) | events.ge(enough) } else { events.gt(&on_time) };
    let farther = m.wire("farther", &full & late.gt(&early) & many(&late)).doc("a step away");
    let nearer = m.wire("nearer", &full & early.gt(&late) & many(&early)).doc("a step back");
    Window { counts: full.mux(0u32, kept), farther, nearer, full }
}

/// A distance after a step farther (at most `limit`) or nearer (at least 1). `step` is not 0.
#[track_caller]
pub(super) fn moved(distance: &Expr, step: &Expr, limit: &Expr, farther: &Expr, nearer: &Expr) -> Expr {
    let w = distance.width();
    let wide = w.max(step.width()) + 1;
    let (here, by) = (distance.zext(wide), step.zext(wide));
    let up = &here + &by;
    let up = up.lt(limit.zext(wide)).mux(up.trunc(w), limit);
    let down = here.gt(&by).mux((&here - &by).trunc(w), 1u32);
    farther.mux(up, nearer.mux(down, distance))
}
