//! `fill_queue`: fill notices of one SM.

use super::context::{Built, Context};
use super::shift_queue::ShiftQueue;
use crate::rtl::Expr;

pub(super) fn module(c: &Context) -> Built {
    let depth = c.config.fill_queue_depth;
    let drop = c.config.fill_drop;
    let mut m = c.clocked(
        "fill_queue",
        &format!(
            "Fill notices of one SM that wait for an update lane, at most {depth}. A notice that finds the queue full {}.",
            if drop { "is dropped" } else { "waits" }
        ),
        "a notice is offered in the next cycle",
    );
    m.repeated();
    m.note("DEPTH", depth).note("TAG_BITS", c.t);
    let fill_valid = m.input("fill_valid_i", 1, "a line has been filled into this SM's L1");
    let fill_tag = m.input("fill_tag_i", c.t, "its tag");
    let hold = m.input("hold_i", 1, "the column of this SM is being cleared: offer nothing");
    let tag_ready = m.input("tag_ready_i", 1, "the oldest tag is taken");
    let flush = m.input("flush_i", 1, "empty the queue");
    let fill_ready_o = m.output("fill_ready_o", 1, "the notice is taken");
    let dropped_o = m.output("dropped_o", 1, "the notice is dropped");
    let tag_valid_o = m.output("tag_valid_o", 1, "the oldest tag is offered");
    let tag_o = m.output("tag_o", c.t, "that tag");

    let queue = ShiftQueue::new(&mut m, "tag", depth, c.t);
    let full = m.wire("full", !queue.space());
    let offer = m.wire("offer", queue.holds(0) & !&hold);
    let push = m.wire("push", &fill_valid & !&full);
    let pop = m.wire("pop", &offer & &tag_ready);
    queue.count.next_when(&flush, 0u32);
    let entries: Vec<Expr> = queue.entries.iter().map(Expr::from).collect();
    queue.advance(&mut m, "tag", &push, &fill_tag, &pop, &entries);
    m.assign(&fill_ready_o, if drop { Expr::ones(1) } else { !&full });
    m.assign(&dropped_o, if drop { &fill_valid & &full & !&flush } else { Expr::zeros(1) });
    m.assign(&tag_valid_o, &offer);
    m.assign(&tag_o, &entries[0]);
    m.finish()
}
