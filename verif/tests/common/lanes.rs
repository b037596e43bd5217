//! Golden model and test bench of `lanes.v`.

use std::ops::ControlFlow;
use std::sync::Arc;

use l1forge_verif::build::Design;
use l1forge_verif::lockstep::{Model, Testbench};
use l1forge_verif::ports::{Interface, Port, PortSpec, Values};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

pub fn ports() -> Vec<PortSpec> {
    vec![
        PortSpec::input("clk", 1),
        PortSpec::input("rst", 1),
        PortSpec::input("valid", 5).elements(1),
        PortSpec::input("add", 105).elements(21),
        PortSpec::output("sum", 105).elements(21),
        PortSpec::output("wrapped", 5).elements(1),
        PortSpec::output("any", 1),
        PortSpec::output("check", 200),
    ]
}

pub fn design(fault: &str) -> Design {
    let design = Design::new("lanes").source("lanes.v", super::fixture("lanes.v")).clock("clk").ports(ports());
    if fault.is_empty() { design } else { design.define(fault, "") }
}

struct Handles {
    rst: Port,
    valid: Port,
    add: Port,
    sum: Port,
    wrapped: Port,
    any: Port,
    check: Port,
}

impl Handles {
    fn of(interface: &Interface) -> Self {
        Self {
            rst: interface.input("rst").unwrap(),
            valid: interface.input("valid").unwrap(),
            add: interface.input("add").unwrap(),
            sum: interface.output("sum").unwrap(),
            wrapped: interface.output("wrapped").unwrap(),
            any: interface.output("any").unwrap(),
            check: interface.output("check").unwrap(),
        }
    }
}

/// Plain description: five numbers, five flags, two hundred bits.
pub struct Lanes {
    ports: Handles,
    acc: [u64; 5],
    wrapped: [bool; 5],
    check: Vec<bool>,
}

impl Lanes {
    pub fn new(interface: &Arc<Interface>) -> Self {
        Self { ports: Handles::of(interface), acc: [0; 5], wrapped: [false; 5], check: vec![false; 200] }
    }

    pub fn total(&self) -> u64 {
        self.acc.iter().sum()
    }
}

impl Model for Lanes {
    fn comb(&mut self, inputs: &Values, outputs: &mut Values) {
        for lane in 0..5 {
            outputs.set_elem(self.ports.sum, lane, 21, self.acc[lane as usize]);
            outputs.set_bit(self.ports.wrapped, lane, self.wrapped[lane as usize]);
        }
        outputs.set(self.ports.any, u64::from(inputs.get(self.ports.valid) != 0));
        for (bit, &value) in self.check.iter().enumerate() {
            outputs.set_bit(self.ports.check, bit as u32, value);
        }
    }

    fn clock(&mut self, inputs: &Values) {
        if inputs.get_bit(self.ports.rst, 0) {
            (self.acc, self.wrapped) = ([0; 5], [false; 5]);
            self.check.fill(false);
            return;
        }
        self.check.rotate_right(1);
        for (bit, value) in self.check.iter_mut().enumerate().take(105) {
            *value ^= (self.acc[bit / 21] >> (bit % 21)) & 1 == 1;
        }
        for lane in 0..5 {
            let valid = inputs.get_bit(self.ports.valid, lane as u32);
            let next = self.acc[lane] + inputs.get_elem(self.ports.add, lane as u32, 21);
            self.wrapped[lane] = valid && next >= 1 << 21;
            if valid {
                self.acc[lane] = next % (1 << 21);
            }
        }
    }
}

/// Random inputs for a number of cycles.
pub struct Random {
    ports: Handles,
    rng: ChaCha8Rng,
    pub cycles: u64,
    pub observed: u64,
    pub finished: bool,
}

impl Random {
    pub fn new(interface: &Arc<Interface>, seed: u64, cycles: u64) -> Self {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Self { ports: Handles::of(interface), rng, cycles, observed: 0, finished: false }
    }
}

impl Testbench for Random {
    fn drive(&mut self, cycle: u64, _previous: &Values, inputs: &mut Values) -> ControlFlow<()> {
        if cycle == self.cycles {
            return ControlFlow::Break(());
        }
        inputs.set(self.ports.valid, u64::from(self.rng.random_range(0..32u32)));
        for lane in 0..5 {
            inputs.set_elem(self.ports.add, lane, 21, u64::from(self.rng.random_range(0..1u32 << 21)));
        }
        ControlFlow::Continue(())
    }

    fn observe(&mut self, cycle: u64, _inputs: &Values, _outputs: &Values) -> Result<(), String> {
        assert_eq!(cycle, self.observed);
        self.observed += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        self.finished = true;
        Ok(())
    }
}
