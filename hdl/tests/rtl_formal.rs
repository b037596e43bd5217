//! Printed properties run in yosys and an SMT solver: true ones are proven, false ones refuted, in every reset style.

mod common;

use common::formal::holds;
use l1forge_hdl::prim::{Fifo, Lock, fifo, rr_arbiter};
use l1forge_hdl::rtl::{Module, ModuleBuilder, ResetStyle, RtlOptions};
use std::rc::Rc;

const STYLES: [ResetStyle; 5] = [ResetStyle::AsyncLow, ResetStyle::AsyncHigh, ResetStyle::SyncLow, ResetStyle::SyncHigh, ResetStyle::None];

/// A counter that stays below a limit if the environment never asks for two steps at once.
fn counter(reset: ResetStyle, limit: u32, assume: bool) -> Rc<Module> {
    let mut m = RtlOptions { reset }.module("counter");
    m.clock_reset();
    let step = m.input("step_i", 2, "step");
    let count = m.output("count_o", 4, "count");
    let q = m.reg("count_q", 4).reset(1);
    q.next(q.ge(9).mux(1, &q + step.zext(4)));
    m.assign(&count, &q);
    if assume {
        m.assume("small_step_M", step.le(1), "one step at a time");
    }
    let below = m.wire("below", q.le(limit));
    m.assert("in_range_A", below, "the limit holds");
    m.finish().unwrap()
}

#[test]
fn true_properties_are_proven_and_false_ones_refuted() {
    for reset in STYLES {
        assert!(holds(&counter(reset, 9, true), 14, false), "{reset:?}");
        assert!(!holds(&counter(reset, 8, true), 14, false), "{reset:?}");
        assert!(!holds(&counter(reset, 9, false), 14, false), "{reset:?}");
    }
}

#[test]
fn primitives_keep_their_promises() {
    for n in [2, 3, 5] {
        for lock in [Lock::No, Lock::UntilReady] {
            let m = rr_arbiter(RtlOptions::default(), n, lock).unwrap();
            assert!(holds(&m, 6, false), "{n} {lock:?}");
        }
        assert!(holds(&rr_arbiter(RtlOptions::default(), n, Lock::No).unwrap(), 2, true), "{n}");
        let m = fifo(RtlOptions::default(), Fifo::new(2, n).with_flush()).unwrap();
        assert!(holds(&m, 10, false), "{n}");
        assert!(holds(&m, 3, true), "{n}");
    }
}

/// Without a clock properties are combinational.
#[test]
fn combinational_properties() {
    for (bound, truth) in [(8, true), (7, false)] {
        let mut m = ModuleBuilder::new("comb");
        let a = m.input("a_i", 8, "value");
        let n = m.output("n_o", 4, "set bits");
        let count = m.wire("count", a.popcount());
        m.assign(&n, &count);
        m.assert("bound_A", count.le(bound), "no more bits than there are");
        assert_eq!(holds(&m.finish().unwrap(), 1, false), truth);
    }
}
