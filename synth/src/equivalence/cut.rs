//! Cuts RTL and netlist at their flip-flops and black boxes into circuits without state, with the same inputs and outputs.

use super::netlist::{Bit, Circuit, Module};
use crate::library::{Kind, Library};
use anyhow::{Context as _, bail};
use std::collections::BTreeMap;

/// An output pin of a flip-flop in the netlist: (instance, pin).
type FlipFlopPin<'a> = (&'a str, &'a str);

fn flip_flops<'a>(module: &'a Module, library: &'a Library) -> impl Iterator<Item = (FlipFlopPin<'a>, &'a Bit)> {
    let sequential = |kind: &str| library.cells.get(kind).filter(|c| c.kind == Kind::FlipFlop);
    module.cells.iter().filter_map(move |(name, cell)| Some((name, cell, sequential(&cell.kind)?))).flat_map(|(name, cell, kind)| {
        let outputs = kind.pins.iter().filter(|p| p.output);
        outputs.filter_map(move |p| Some(((name.as_str(), p.name.as_str()), cell.pin(&p.name).ok()?)))
    })
}

fn wire((instance, pin): FlipFlopPin) -> String {
    // A name of Yosys itself (`$…`) would stay hidden.
    format!("ff:{instance}:{pin}")
}

/// Names the outputs of the flip-flops for their instances and forgets all other names, so that they outlive flattening.
pub fn name_flip_flops(netlist: &mut Module, library: &Library) {
    let names: Vec<(String, Bit)> = flip_flops(netlist, library).map(|(pin, bit)| (wire(pin), bit.clone())).collect();
    netlist.rename(names.into_iter());
}

/// What became of a register bit.
#[derive(Debug, Clone, PartialEq)]
enum Fate {
    /// The output of a flip-flop, inverted or not, by the name that [`name_flip_flops`] gives it.
    FlipFlop(String, bool),
    /// A constant.
    Constant(Bit),
}

/// What became of each named bit, from the netlist before its gates are mapped, where flip-flops are cells of the library already.
fn fates(mapped: &Module, library: &Library) -> BTreeMap<String, Fate> {
    let outputs: BTreeMap<&Bit, FlipFlopPin> = flip_flops(mapped, library).map(|(pin, bit)| (bit, pin)).collect();
    let inverters = mapped.inverters();
    let fate = |bit: &Bit| match (bit, outputs.get(bit), inverters.get(bit)) {
        (Bit::Constant(_), ..) => Some(Fate::Constant(bit.clone())),
        (_, Some(pin), _) => Some(Fate::FlipFlop(wire(*pin), false)),
        (_, None, Some((from, inverted))) => Some(Fate::FlipFlop(wire(*outputs.get(from)?), *inverted)),
        _ => None,
    };
    mapped.public().filter_map(|(name, bit)| Some((name, fate(bit)?))).collect()
}

/// Gates, ports and black boxes of a module as a circuit, and its flip-flops: instance, D, Q and clock.
struct Cut<'a> {
    circuit: Circuit,
    registers: Vec<(&'a str, Bit, Bit, Bit)>,
    fresh: u32,
}

impl<'a> Cut<'a> {
    fn of(module: &'a Module) -> anyhow::Result<Self> {
        let mut cut = Self { circuit: Circuit::default(), registers: Vec::new(), fresh: 0 };
        let mut list = |name: String, bits: &[Bit], drives: bool| {
            for (i, bit) in bits.iter().enumerate() {
                let side = if drives { &mut cut.circuit.inputs } else { &mut cut.circuit.outputs };
                side.insert(format!("{name}[{i}]"), bit.clone());
            }
        };
        for (name, port) in &module.ports {
            list(name.clone(), &port.bits, port.direction == "input");
        }
        let mut boxes = Vec::new();
        for (name, cell) in &module.cells {
            if cell.kind == "$_DFF_P_" {
                cut.registers.push((name, cell.pin("D")?.clone(), cell.pin("Q")?.clone(), cell.pin("C")?.clone()));
            } else if !cut.circuit.gate(cell)? {
                if cell.kind.starts_with('$') {
                    bail!("cells {} are not compared", cell.kind);
                }
                boxes.push((name, cell));
            }
        }
        let mut list = |name: String, bits: &[Bit], drives: bool| {
            for (i, bit) in bits.iter().enumerate() {
                let side = if drives { &mut cut.circuit.inputs } else { &mut cut.circuit.outputs };
                side.insert(format!("{name}[{i}]"), bit.clone());
            }
        };
        for (name, cell) in boxes {
            for (port, bits) in &cell.connections {
                let direction = cell.port_directions.get(port).with_context(|| format!("{name}.{port}: no direction"))?;
                list(format!("{name} ({}).{port}", cell.kind), bits, direction == "output");
            }
        }
        let net = |b: &Bit| if let Bit::Net(n) = b { *n } else { 0 };
        let all = module.cells.values().flat_map(|c| c.connections.values().flatten());
        cut.fresh = all.chain(module.ports.values().flat_map(|p| &p.bits)).map(net).max().unwrap_or(0);
        Ok(cut)
    }

    fn fresh(&mut self) -> Bit {
        self.fresh += 1;
        Bit::Net(self.fresh)
    }
}

/// Cuts the RTL (`gold`) and the flattened netlist (`gate`, flip-flops named by [`name_flip_flops`]); `mapped` says which register bit
/// became which flip-flop. Both circuits have the same inputs and outputs.
///
/// # Errors
/// A flip-flop that matters has no counterpart, or the two differ in ports or black boxes.
pub fn cut(gold: &Module, mapped: &Module, gate: &Module, library: &Library) -> anyhow::Result<(Circuit, Circuit)> {
    let fates = fates(mapped, library);
    let mut b = Cut::of(gate)?;
    // The flip-flops of the netlist by the names of the outputs of their cells.
    let inverters = gate.inverters();
    let states: BTreeMap<&Bit, usize> = b.registers.iter().enumerate().map(|(i, r)| (&r.2, i)).collect();
    let mut named: BTreeMap<String, (usize, bool)> = BTreeMap::new();
    for (name, bit) in gate.public() {
        let (mut at, mut inverted) = (bit, false);
        while let (None, Some((from, invert))) = (states.get(at), inverters.get(at)) {
            (at, inverted) = (from, inverted ^ invert);
        }
        if let Some(i) = states.get(at) {
            named.insert(name, (*i, inverted));
        }
    }
    let registers = std::mem::take(&mut b.registers);
    let mut a = Cut::of(gold)?;
    let mut names: BTreeMap<&Bit, Vec<String>> = BTreeMap::new();
    for (name, bit) in gold.public() {
        names.entry(bit).or_default().push(name);
    }
    let mut inputs: BTreeMap<usize, Bit> = BTreeMap::new();
    let mut unmatched: BTreeMap<Bit, String> = BTreeMap::new();
    for (cell, d, q, clock) in std::mem::take(&mut a.registers) {
        let own = names.get(&q).cloned().unwrap_or_default();
        let name = own.first().cloned().unwrap_or_else(|| cell.to_string());
        match own.iter().find_map(|n| fates.get(n)) {
            Some(Fate::Constant(value)) if matches!(value, Bit::Constant(c) if c == "0" || c == "1") => {
                a.circuit.derive(q, value.clone(), false);
                a.circuit.outputs.insert(format!("next {name}"), d);
                b.circuit.outputs.insert(format!("next {name}"), value.clone());
            }
            Some(Fate::FlipFlop(wire, first)) if named.contains_key(wire) => {
                let (i, second) = named[wire];
                let inverted = first ^ second;
                let input = inputs.entry(i).or_insert_with(|| a.fresh()).clone();
                a.circuit.derive(q, input, inverted);
                let next = a.fresh();
                a.circuit.derive(next.clone(), d, inverted);
                a.circuit.outputs.insert(format!("next {name}"), next);
                a.circuit.outputs.insert(format!("clock {name}"), clock);
                b.circuit.outputs.insert(format!("next {name}"), registers[i].1.clone());
                b.circuit.outputs.insert(format!("clock {name}"), registers[i].3.clone());
            }
            _ => drop(unmatched.insert(q, name)),
        }
    }
    for (i, (_, _, q, _)) in registers.iter().enumerate() {
        if let Some(bit) = inputs.remove(&i) {
            a.circuit.inputs.insert(format!("state {i}"), bit);
            b.circuit.inputs.insert(format!("state {i}"), q.clone());
        }
    }
    // Registers without a counterpart may be there as long as nothing that is compared depends on them.
    let lost: Vec<&str> = a.circuit.cone(a.circuit.outputs.values()).iter().filter_map(|b| unmatched.get(*b).map(String::as_str)).collect();
    if let Some(first) = lost.first() {
        bail!("{} register bits have no counterpart in the netlist, as {first}", lost.len());
    }
    let known: Vec<&Bit> = b.circuit.inputs.values().collect();
    let cone = b.circuit.cone(b.circuit.outputs.values());
    if let Some(more) = registers.iter().find(|r| cone.contains(&r.2) && !known.contains(&&r.2)) {
        bail!("the flip-flop {} of the netlist has no counterpart in the RTL", more.0);
    }
    if let Some(odd) = a.circuit.outputs.keys().find(|k| !b.circuit.outputs.contains_key(*k)) {
        bail!("{odd} is in the RTL alone");
    }
    if let Some(odd) = b.circuit.outputs.keys().find(|k| !a.circuit.outputs.contains_key(*k)) {
        bail!("{odd} is in the netlist alone");
    }
    // An input that one side does not use is an input of both.
    let keys: Vec<String> = a.circuit.inputs.keys().chain(b.circuit.inputs.keys()).cloned().collect();
    for key in keys {
        for side in [&mut a, &mut b] {
            if !side.circuit.inputs.contains_key(&key) {
                let unused = side.fresh();
                side.circuit.inputs.insert(key.clone(), unused);
            }
        }
    }
    Ok((a.circuit, b.circuit))
}
