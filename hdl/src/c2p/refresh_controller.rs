//! `refresh_controller`: clears and rebuilds one column after the other.

use super::context::{Built, Context};
use crate::rtl::{Bits, Expr, value_width};

pub(super) fn module(c: &Context) -> Built {
    let (n, period, timeout) = (c.n, c.config.refresh_period, c.config.stream_timeout);
    let mut m = c.clocked(
        "refresh_controller",
        "Clears the Snapshot Matrix after reset and flush, and rebuilds one column after the other from the tags of its L1.",
        "a state lasts at least one cycle",
    );
    m.note("SMS", n).note("ROWS", c.r).note("REFRESH_PERIOD", period).note("STREAM_TIMEOUT", timeout);
    let lanes_empty = m.input("lanes_empty_i", 1, "no tag is in flight in any update lane");
    let lanes_match = m.input("lanes_match_i", 1, "a tag in flight belongs to SM sm_o");
    let refresh_ready = m.input("refresh_ready_i", n, "SM s takes the request");
    let last = m.input("last_i", 1, "last beat of SM sm_o");
    let beat = m.input("beat_i", 1, "a beat of SM sm_o is taken");
    let buffer_empty = m.input("buffer_empty_i", 1, "the stream buffer holds no tag");
    let flush = m.input("flush_i", 1, "clear everything");
    let clear_ready = m.input("clear_ready_i", 1, "the row is cleared after this cycle");
    let clear_valid_o = m.output("clear_valid_o", 1, "clear a row in every bank");
    let clear_all_o = m.output("clear_all_o", 1, "of all columns, not only of SM sm_o");
    let clear_row_o = m.output("clear_row_o", c.rw, "the row");
    let block_o = m.output("block_o", 1, "no tag may be sent to the engines");
    let hold_o = m.output("hold_o", 1, "fills of SM sm_o wait");
    let refresh_valid_o = m.output("refresh_valid_o", n, "SM s is asked for its tags");
    let streaming_o = m.output("streaming_o", 1, "tags of SM sm_o are taken");
    let rebuilt_o = m.output("rebuilt_o", 1, "a rebuild is finished");
    let sm_o = m.output("sm_o", c.s, "SM whose column is rebuilt, or is next");
    let matrix_ready_o = m.output("matrix_ready_o", 1, "the matrix may be read");

    m.section("State");
    let names = ["CLEAR_ALL", "FLUSH_DRAIN", "IDLE", "DRAIN", "CLEAR", "REQUEST", "STREAM", "FINISH"];
    let states: Vec<Expr> = names.iter().enumerate().map(|(i, name)| m.localparam(name, Bits::from_u64(3, i as u64))).collect();
    let state = m.reg("state_q", 3).doc("what is being done");
    let row = m.reg("row_q", c.rw).doc("row to clear");
    let sm = m.reg("sm_q", c.s).doc("SM whose turn it is");
    let elapsed = m.reg("period_q", value_width(u64::from(period - 1))).doc("cycles since the last start");
    let timer = m.reg("timer_q", value_width(u64::from(timeout - 1))).doc("cycles without a tag");
    let open = m.reg("open_q", 1).doc("a stream of this SM is not finished");
    let request = m.reg("request_q", n).doc("SMs asked and not yet answering");
    let mut at = |name: &str| {
        let i = names.iter().position(|s| *s == name).unwrap_or_else(|| unreachable!("no state {name}"));
        m.wire(&format!("in_{}", name.to_lowercase()), state.eq(&states[i]))
    };
    let (clear_all, drain_all, idle) = (at("CLEAR_ALL"), at("FLUSH_DRAIN"), at("IDLE"));
    let (drain, clear, asking) = (at("DRAIN"), at("CLEAR"), at("REQUEST"));
    let (streaming, finish) = (at("STREAM"), at("FINISH"));

    m.section("Events");
    let last_row = m.wire("last_row", &clear_ready & row.eq(c.r - 1)).doc("the last row is cleared");
    let due = m.wire("due", elapsed.eq(period - 1)).doc("a rebuild may start");
    let late = m.wire("late", timer.eq(timeout - 1)).doc("patience is at an end");
    let mine = if n == 1 { request.bit(0) } else { request.elem(&*sm, 1) };
    let asked = m.wire("asked", mine).doc("this SM has not taken its request");
    let taken = m.wire("taken", &asked & refresh_ready.elem(&*sm, 1)).doc("it takes it now");
    let turn = m.wire("turn", &idle & &due & !&*open);
    let skip = m.wire("skip", &turn & &asked).doc("a dead SM is passed over");
    let begin = m.wire("start", &turn & !&asked);
    let cleared = m.wire("cleared", &clear & &last_row);
    let ask = m.wire("ask", &cleared & !&flush);
    let rebuilt = m.wire("rebuilt", &finish & &buffer_empty & !&flush);

    m.section("Next state");
    let to = |name: &str| states[names.iter().position(|s| *s == name).unwrap_or_else(|| unreachable!("no state {name}"))].clone();
    state.next_when(&flush, to("FLUSH_DRAIN"));
    state.next_when(&clear_all & &last_row, to("IDLE"));
    state.next_when(&drain_all & &lanes_empty, to("CLEAR_ALL"));
    state.next_when(&begin, to("DRAIN"));
    state.next_when(&drain & !&lanes_match, to("CLEAR"));
    state.next_when(&cleared, to("REQUEST"));
    state.next_when(&asking & &taken, to("STREAM"));
    state.next_when(&asking & &late, to("FINISH"));
    state.next_when(&streaming & (&last | (!&beat & &late)), to("FINISH"));
    state.next_when(&finish & &buffer_empty, to("IDLE"));

    row.next_when((&drain_all & &lanes_empty) | (&drain & !&lanes_match) | ((&clear_all | &clear) & &last_row), 0u32);
    row.next_when((&clear_all | &clear) & &clear_ready & !&flush, &*row + 1u32);
    let after = if n.is_power_of_two() { &*sm + 1u32 } else { sm.eq(n - 1).mux(Expr::zeros(c.s), &*sm + 1u32) };
    sm.next_when((&skip & !&flush) | &rebuilt, after);
    elapsed.next_when(&turn & !&flush, 0u32);
    elapsed.next_when(!&due, &*elapsed + 1u32);

    let ends = m.wire("ends", &last | (!&beat & &late)).doc("the open stream ends");
    open.next_when(&taken, 1u32);
    open.next_when(&*open & &ends, 0u32);
    timer.next_when(&taken | &ask | (&*open & &beat), 0u32);
    timer.next_when((&asking | &*open) & !&late, &*timer + 1u32);
    let this = m.wire("this_sm", sm.bin_to_onehot(n));
    request.next((&*request & !&refresh_ready) | (ask.replicate(n) & &this));

    m.section("Outputs");
    m.assign(&clear_valid_o, &clear_all | &clear);
    m.assign(&clear_all_o, &clear_all);
    m.assign(&clear_row_o, &*row);
    m.assign(&block_o, &clear_all | &drain_all);
    m.assign(&hold_o, &drain | &clear);
    m.assign(&refresh_valid_o, &*request);
    m.assign(&streaming_o, &streaming);
    m.assign(&rebuilt_o, &rebuilt);
    m.assign(&sm_o, &*sm);
    m.assign(&matrix_ready_o, !(&clear_all | &drain_all));
    m.finish()
}
