//! Ports, cycles and instances of a running model.

mod common;

use common::{design, shared_builder};
use l1forge_verif::dut::Init;

#[test]
fn a_counter_counts() {
    let library = shared_builder().build(&design("counter.v")).unwrap();
    let mut dut = library.instantiate(Init::Random(7)).unwrap();
    let (rst, en, step) = (
        dut.input("rst").unwrap(),
        dut.input("en").unwrap(),
        dut.input("step").unwrap(),
    );
    let (q, next) = (dut.output("q").unwrap(), dut.output("next").unwrap());
    dut.reset(rst, true, 2).unwrap();
    dut.poke(en, 1);
    dut.poke(step, 100);
    let mut seen = Vec::new();
    for _ in 0..4 {
        dut.settle().unwrap();
        seen.push((dut.peek(q), dut.peek(next)));
        dut.tick().unwrap();
    }
    assert_eq!(seen, [(0, 100), (100, 200), (200, 300), (44, 144)]);
    assert_eq!(dut.cycles(), 6);
}
