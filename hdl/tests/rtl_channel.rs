//! Channels: names of ports, joins, feeding instances, and what is refused.

mod common;

use common::sim::{Rand, Step, check};
use l1forge_hdl::prim::queue;
use l1forge_hdl::rtl::{Bits, Dir, Module, ModuleBuilder, Payload};
use std::collections::VecDeque;
use std::rc::Rc;

fn request() -> Payload {
    Payload::new().field("addr", 7).field("id", 2)
}

/// Two queues in a row, one of them in a module of its own.
fn chain() -> Rc<Module> {
    let mut m = ModuleBuilder::new("stage");
    m.clock_reset();
    let from = m.channel_in("req", &request(), "request");
    let to = m.channel_out("out", &request(), "request, later");
    let waiting = queue(&mut m, "u_queue", from, 2).unwrap();
    m.join(waiting, to);
    let stage = m.finish().unwrap();

    let mut m = ModuleBuilder::new("chain");
    m.clock_reset();
    let from = m.channel_in("req", &request(), "request");
    let to = m.channel_out("out", &request(), "request, later");
    let (middle_in, middle_out) = m.channel("middle", &request());
    m.instance("u_first", &stage, |i| {
        i.feed("req", from).drain("out", middle_in);
    });
    let waiting = queue(&mut m, "u_second", middle_out, 1).unwrap();
    m.join(waiting, to);
    m.finish().unwrap()
}

#[test]
fn ports_are_named_by_channel_field_and_direction() {
    let ports: Vec<(String, Dir, u32)> = chain().ports().iter().map(|p| (p.name.clone(), p.dir, p.width)).collect();
    let expected = [
        ("clk_i", Dir::Clock, 1),
        ("rst_ni", Dir::Reset, 1),
        ("req_valid_i", Dir::Input, 1),
        ("req_ready_o", Dir::Output, 1),
        ("req_addr_i", Dir::Input, 7),
        ("req_id_i", Dir::Input, 2),
        ("out_valid_o", Dir::Output, 1),
        ("out_ready_i", Dir::Input, 1),
        ("out_addr_o", Dir::Output, 7),
        ("out_id_o", Dir::Output, 2),
    ];
    assert_eq!(ports, expected.map(|(n, d, w)| (n.to_owned(), d, w)));
}

#[test]
fn data_passes_in_order() {
    let mut r = Rand(5);
    // Entries of the first queue, then of the second.
    let mut q: VecDeque<(u64, u64)> = VecDeque::new();
    let mut last: Option<(u64, u64)> = None;
    let bit = |b: bool| Bits::from_u64(1, u64::from(b));
    let mut steps = Vec::new();
    for _ in 0..300 {
        let (valid, ready) = (r.chance(60), r.chance(60));
        let (addr, id) = (r.below(128), r.below(4));
        let room = q.len() < 2;
        let mut s = Step::default()
            .set("req_valid_i", bit(valid))
            .set("req_addr_i", Bits::from_u64(7, addr))
            .set("req_id_i", Bits::from_u64(2, id))
            .set("out_ready_i", bit(ready))
            .expect("req_ready_o", bit(room))
            .expect("out_valid_o", bit(last.is_some()));
        if let Some((a, i)) = last {
            s = s.expect("out_addr_o", Bits::from_u64(7, a)).expect("out_id_o", Bits::from_u64(2, i));
        }
        steps.push(s);
        match last {
            None => last = q.pop_front(),
            Some(_) if ready => last = None,
            Some(_) => {}
        }
        if valid && room {
            q.push_back((addr, id));
        }
    }
    check(&chain(), &steps);
    common::assert_silent(&chain());
}

#[test]
#[should_panic(expected = "channel a carries [(\"addr\", 7), (\"id\", 2)], channel b [(\"addr\", 8), (\"id\", 2)]")]
fn payloads_must_agree() {
    let mut m = ModuleBuilder::new("m");
    let a = m.channel_in("a", &request(), "request");
    let b = m.channel_out("b", &Payload::new().field("addr", 8).field("id", 2), "request");
    m.join(a, b);
}

#[test]
#[should_panic(expected = "channel a has no field data")]
fn unknown_field() {
    let mut m = ModuleBuilder::new("m");
    m.channel_in("a", &request(), "request").field("data");
}

#[test]
fn channels_of_an_instance_are_checked_like_ports() {
    let mut m = ModuleBuilder::new("m");
    m.clock_reset();
    let from = m.channel_in("req", &request(), "request");
    let to = m.channel_out("out", &request(), "request");
    let stage = chain();
    m.instance("u_chain", &stage, |i| {
        i.feed("requests", from).drain("out", to);
    });
    let e = m.finish().err().unwrap().to_string();
    assert!(e.contains("chain has no port requests_valid_i") && e.contains("port req_valid_i of chain is not connected"), "{e}");
}
