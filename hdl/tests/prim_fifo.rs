//! The queue against `VecDeque`.

mod common;

use common::sim::{Rand, Step, check};
use l1forge_hdl::prim::{Fifo, fifo};
use l1forge_hdl::rtl::{Bits, RtlOptions, value_width};
use std::collections::VecDeque;

fn bit(b: bool) -> Bits {
    Bits::from_u64(1, u64::from(b))
}

fn exercise(shape: Fifo, seed: u64) {
    let mut r = Rand(seed);
    let mut q: VecDeque<Bits> = VecDeque::new();
    let mut steps = Vec::new();
    for t in 0..600 {
        let (fill, drain) = [(90, 20), (20, 90), (100, 100), (50, 50)][t / 150];
        let (valid, ready, flush) = (r.chance(fill), r.chance(drain), shape.flush && r.chance(3));
        let data = r.bits(shape.width);
        let room = q.len() < shape.depth as usize;
        let mut s = Step::default()
            .set("valid_i", bit(valid))
            .set("data_i", data.clone())
            .set("ready_i", bit(ready))
            .expect("ready_o", bit(room))
            .expect("valid_o", bit(!q.is_empty()));
        if let Some(head) = q.front() {
            s = s.expect("data_o", head.clone());
        }
        if shape.flush {
            s = s.set("flush_i", bit(flush));
        }
        if shape.level {
            s = s.expect("level_o", Bits::from_u64(value_width(u64::from(shape.depth)), q.len() as u64));
        }
        steps.push(s);
        if ready {
            q.pop_front();
        }
        if valid && room {
            q.push_back(data);
        }
        if flush {
            q.clear();
        }
    }
    check(&fifo(RtlOptions::default(), shape).unwrap(), &steps);
}

#[test]
fn behaves_like_a_queue() {
    for depth in [1, 2, 3, 5, 8, 64, 100] {
        exercise(Fifo::new(7, depth), u64::from(depth));
        exercise(Fifo::new(7, depth).with_flush().with_level(), u64::from(depth));
    }
    for width in [1, 2, 3, 5, 8, 64, 100] {
        exercise(Fifo::new(width, 3).with_level(), u64::from(width));
    }
}

#[test]
fn ready_and_valid_come_from_registers() {
    for depth in [1, 2, 5] {
        let m = fifo(RtlOptions::default(), Fifo::new(4, depth).with_flush()).unwrap();
        for i in ["valid_i", "ready_i", "data_i", "flush_i"] {
            for o in ["valid_o", "ready_o", "data_o"] {
                assert!(!m.is_combinational_path(i, o), "{i} -> {o}");
            }
        }
    }
}

#[test]
fn linters_are_silent() {
    for depth in [1, 2, 3, 5, 8, 64, 100] {
        common::assert_silent(&fifo(RtlOptions::default(), Fifo::new(3, depth)).unwrap());
        common::assert_silent(&fifo(RtlOptions::default(), Fifo::new(3, depth).with_flush().with_level()).unwrap());
    }
    for width in [1, 64] {
        common::assert_silent(&fifo(RtlOptions::default(), Fifo::new(width, 3)).unwrap());
    }
}
