//! A flat netlist of a mapped design.

use crate::flow::Design;
use anyhow::Context as _;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

/// Cells, macros and ports joined by nets. Items are numbered cells first, then ports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Netlist {
    /// Type of every cell and macro.
    pub cells: Vec<String>,
    /// Name of every bit of a port.
    pub ports: Vec<String>,
    /// The items of every net with two or more, clock left out.
    pub nets: Vec<Vec<u32>>,
}

#[derive(Deserialize)]
struct File {
    modules: BTreeMap<String, Module>,
}

#[derive(Deserialize)]
struct Module {
    #[serde(default)]
    ports: BTreeMap<String, Port>,
    #[serde(default)]
    cells: BTreeMap<String, Cell>,
}

#[derive(Deserialize)]
struct Port {
    bits: Vec<Bit>,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(rename = "type")]
    kind: String,
    connections: BTreeMap<String, Vec<Bit>>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(untagged)]
enum Bit {
    Net(u32),
    Constant(serde::de::IgnoredAny),
}

/// Nets that turn out to be one.
#[derive(Default)]
struct Joined(Vec<u32>);

impl Joined {
    fn add(&mut self) -> u32 {
        let id = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0.push(id);
        id
    }

    fn find(&mut self, mut a: u32) -> u32 {
        while self.0[a as usize] != a {
            self.0[a as usize] = self.0[self.0[a as usize] as usize];
            a = self.0[a as usize];
        }
        a
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a as usize] = b;
    }
}

struct Flattener<'a> {
    modules: BTreeMap<&'a str, Module>,
    joined: Joined,
    pins: Vec<(u32, u32)>,
    netlist: Netlist,
}

/// Flattens a mapped design; nets of the port `clock` are left out.
///
/// # Errors
/// A netlist cannot be read.
pub fn flatten(design: &Design, clock: &str) -> anyhow::Result<Netlist> {
    let mut modules = BTreeMap::new();
    for (unit, mapped) in design.units.iter().zip(&design.mapped) {
        let path = mapped.folder.join("netlist.json");
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut file: File = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        let module = file.modules.remove(&unit.name).with_context(|| format!("{}: no module {}", path.display(), unit.name))?;
        modules.insert(unit.name.as_str(), module);
    }
    Ok(flatten_modules(modules, &design.top, clock))
}

fn flatten_modules(modules: BTreeMap<&str, Module>, top: &str, clock: &str) -> Netlist {
    let mut f = Flattener { modules, joined: Joined::default(), pins: Vec::new(), netlist: Netlist::default() };
    let nets = f.instance(top);
    let mut clocks = Vec::new();
    let mut ports = Vec::new();
    if let Some(module) = f.modules.get(top) {
        for (name, port) in &module.ports {
            for (i, bit) in port.bits.iter().enumerate() {
                let Bit::Net(n) = bit else { continue };
                if name == clock { clocks.push(nets[n]) } else { ports.push((format!("{name}[{i}]"), nets[n])) }
            }
        }
    }
    let cells = u32::try_from(f.netlist.cells.len()).unwrap_or(u32::MAX);
    for (i, (name, net)) in ports.into_iter().enumerate() {
        f.netlist.ports.push(name);
        f.pins.push((net, cells + u32::try_from(i).unwrap_or(0)));
    }
    let clocks: Vec<u32> = clocks.into_iter().map(|c| f.joined.find(c)).collect();
    let mut nets: HashMap<u32, Vec<u32>> = HashMap::new();
    for (net, item) in std::mem::take(&mut f.pins) {
        let net = f.joined.find(net);
        if !clocks.contains(&net) {
            nets.entry(net).or_default().push(item);
        }
    }
    let mut list: Vec<(u32, Vec<u32>)> = nets.into_iter().collect();
    list.sort_unstable();
    for (_, mut items) in list {
        items.sort_unstable();
        items.dedup();
        if items.len() > 1 {
            f.netlist.nets.push(items);
        }
    }
    f.netlist
}

impl<'a> Flattener<'a> {
    /// Adds an instance of a module; the global net of each of its own.
    fn instance(&mut self, name: &str) -> HashMap<u32, u32> {
        // The module is taken out while its parts are added; modules do not contain themselves.
        let Some((key, module)) = self.modules.remove_entry(name) else { return HashMap::new() };
        let mut nets: HashMap<u32, u32> = HashMap::new();
        for port in module.ports.values() {
            for bit in &port.bits {
                if let Bit::Net(n) = bit {
                    nets.entry(*n).or_insert_with(|| self.joined.add());
                }
            }
        }
        for cell in module.cells.values() {
            if self.modules.contains_key(cell.kind.as_str()) {
                let inner = self.instance(&cell.kind);
                for (port, bits) in &cell.connections {
                    let Some(inside) = self.modules.get(cell.kind.as_str()).and_then(|m| m.ports.get(port)) else { continue };
                    for (out, inn) in bits.iter().zip(&inside.bits) {
                        if let (Bit::Net(o), Bit::Net(i)) = (out, inn) {
                            let o = *nets.entry(*o).or_insert_with(|| self.joined.add());
                            self.joined.join(inner[i], o);
                        }
                    }
                }
                continue;
            }
            let item = u32::try_from(self.netlist.cells.len()).unwrap_or(u32::MAX);
            self.netlist.cells.push(cell.kind.clone());
            for bits in cell.connections.values() {
                for bit in bits {
                    if let Bit::Net(n) = bit {
                        let net = *nets.entry(*n).or_insert_with(|| self.joined.add());
                        self.pins.push((net, item));
                    }
                }
            }
        }
        self.modules.insert(key, module);
        nets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nets_go_through_the_hierarchy() {
        // The child passes `a` through to `y`, and holds one cell between `a` and `z`.
        let child = r#"{"modules": {"child": {"ports": {"a": {"bits": [2]}, "y": {"bits": [2]}, "z": {"bits": [3]}, "c": {"bits": [9]}},
            "cells": {"g": {"type": "INV", "connections": {"A": [2], "Y": [3], "CK": [9]}}}}}}"#;
        let top = r#"{"modules": {"top": {"ports": {"i": {"bits": [2]}, "o": {"bits": [5, "0"]}, "clk": {"bits": [7]}}, "cells": {
            "u": {"type": "child", "connections": {"a": [2], "y": [3], "z": [4], "c": [7]}},
            "v": {"type": "child", "connections": {"a": [3], "y": [6], "z": [5], "c": [7]}},
            "m": {"type": "ram", "connections": {"d": [6, 4, "1"]}}}}}}"#;
        let module = |text: &str, name: &str| serde_json::from_str::<File>(text).unwrap().modules.remove(name).unwrap();
        let modules = [("child", module(child, "child")), ("top", module(top, "top"))].into();
        let n = flatten_modules(modules, "top", "clk");
        // Cells in the order of their names: m, u.g, v.g; then the ports i and o[0].
        assert_eq!(n.cells, ["ram", "INV", "INV"]);
        assert_eq!(n.ports, ["i[0]", "o[0]"]);
        let mut nets = n.nets.clone();
        nets.sort();
        assert_eq!(nets, [vec![0, 1], vec![0, 1, 2, 3], vec![2, 4]]);
    }
}
