//! State machines: encoding, priorities, illegal states.

mod common;

use common::sim::{Rand, Step, check};
use l1forge_hdl::rtl::{Bits, Module, ModuleBuilder, ResetStyle, RtlOptions};
use std::rc::Rc;

fn machine(reset: ResetStyle) -> Rc<Module> {
    let mut m = RtlOptions { reset }.module("walker");
    m.clock_reset();
    let start = m.input("start_i", 1, "begin");
    let stop = m.input("stop_i", 1, "give up");
    let last = m.input("last_i", 1, "the last item");
    let state = m.output("state_o", 2, "where we are");
    let leaving = m.output("leaving_o", 1, "idle after this cycle");
    let f = m.fsm("walk", &["IDLE", "RUN", "DRAIN"]);
    m.fsm_next(&f, |t| {
        t.state("IDLE", |s| {
            s.goto_when(&start, "RUN");
        });
        t.state("RUN", |s| {
            s.goto_when(&stop, "IDLE").goto_when(&last, "DRAIN");
        });
        t.state("DRAIN", |s| {
            s.goto_when(&start & &stop, "RUN").goto("IDLE");
        });
    });
    m.assign(&state, f.state());
    m.assign(&leaving, f.next_is("IDLE") & !f.is("IDLE"));
    m.finish().unwrap()
}

#[test]
fn transitions_have_priorities() {
    let mut r = Rand(1);
    let mut s = 0;
    let mut steps = Vec::new();
    for _ in 0..300 {
        let (start, stop, last) = (r.below(2), r.below(2), r.below(2));
        let next = match s {
            0 => start,
            1 if stop == 1 => 0,
            1 if last == 1 => 2,
            1 => 1,
            _ => start & stop,
        };
        steps.push(
            Step::default()
                .set("start_i", Bits::from_u64(1, start))
                .set("stop_i", Bits::from_u64(1, stop))
                .set("last_i", Bits::from_u64(1, last))
                .expect("state_o", Bits::from_u64(2, s))
                .expect("leaving_o", Bits::from_u64(1, u64::from(next == 0 && s != 0))),
        );
        s = next;
    }
    for reset in [ResetStyle::AsyncLow, ResetStyle::AsyncHigh, ResetStyle::SyncLow, ResetStyle::SyncHigh] {
        check(&machine(reset), &steps);
        common::assert_silent(&machine(reset));
    }
}

#[test]
#[should_panic(expected = "state B of f has no transitions")]
fn every_state_needs_its_transitions() {
    let mut m = ModuleBuilder::new("m");
    let f = m.fsm("f", &["A", "B"]);
    m.fsm_next(&f, |t| {
        t.state("A", |_| {});
    });
}

#[test]
#[should_panic(expected = "f has no state C")]
fn unknown_state() {
    ModuleBuilder::new("m").fsm("f", &["A", "B"]).is("C");
}
