//! `feedback`: events for the AWTs.

use super::context::{Built, Context};
use crate::rtl::Expr;

pub(super) fn module(c: &Context) -> Built {
    let mut m = c.clocked(
        "feedback",
        "Collects what is learned of prefetched blocks: one event is kept per source and one goes to the AWTs per cycle, too early ones first.",
        "an event leaves in the cycle after it came, when no other goes first",
    );
    let early_valid = m.input("early_valid_i", 1, "a load of a block that has left");
    let early_handle = m.input("early_handle_i", c.h, "its handle");
    let use_valid = m.input("use_valid_i", 1, "a load of a block in the L1 or outstanding");
    let use_late = m.input("use_late_i", 1, "it is outstanding");
    let use_handle = m.input("use_handle_i", c.h, "its handle");
    let on_time_valid = m.input("on_time_valid_i", 1, "a load of a block in a register");
    let on_time_handle = m.input("on_time_handle_i", c.h, "its handle");
    let valid_o = m.output("event_valid_o", 1, "an event");
    let class_o = m.output("event_class_o", 2, "0 on time, 1 early, 2 late");
    let handle_o = m.output("event_handle_o", c.h, "handle of the block");
    let dropped_o = m.output("dropped_o", 2, "events lost in this cycle");

    let late = m.reg("late_q", 1).doc("class of the event of the L1");
    let mut busy = Expr::zeros(1);
    let (mut dropped, mut handles, mut lates) = (Vec::new(), Vec::new(), Vec::new());
    let sources = [("early", early_valid, early_handle), ("use", use_valid, use_handle), ("on_time", on_time_valid, on_time_handle)];
    let mut goes_early = Expr::zeros(1);
    for (name, valid, handle) in sources {
        let held = m.reg(&format!("{name}_held_q"), 1).doc("an event waits");
        let kept = m.reg(&format!("{name}_handle_q"), c.h).doc("its handle");
        let goes = m.wire(&format!("{name}_goes"), &held & !&busy).doc("it is handed over");
        let room = m.wire(&format!("{name}_room"), !&held | &goes);
        let takes = m.wire(&format!("{name}_takes"), &valid & &room);
        held.next((&held & !&goes) | &takes);
        kept.next_when(&takes, &handle);
        if name == "use" {
            late.next_when(&takes, &use_late);
            lates.push(&goes & &late);
        }
        if name == "early" {
            goes_early = goes.clone();
        }
        dropped.push((&valid & !&room).zext(2));
        handles.push(goes.replicate(c.h) & &kept);
        busy = m.wire(&format!("{name}_or_before"), busy | &held);
    }
    m.assign(&valid_o, &busy);
    m.assign(&class_o, Expr::concat_lsb_first([goes_early, lates.remove(0)]));
    m.assign(&handle_o, Expr::or_all(handles));
    m.assign(&dropped_o, Expr::add_all(dropped));
    m.finish()
}
