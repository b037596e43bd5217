//! A netlist of simple gates and flip-flops, as Yosys writes it in JSON.

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A bit of a signal: a net, or a constant `0`, `1`, `x`, `z`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Bit {
    /// Net.
    Net(u32),
    /// Constant.
    Constant(String),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct File {
    modules: BTreeMap<String, Module>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// A module.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Module {
    #[serde(default)]
    pub ports: BTreeMap<String, Port>,
    #[serde(default)]
    pub cells: BTreeMap<String, Cell>,
    #[serde(default)]
    pub netnames: BTreeMap<String, Name>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// A port.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Port {
    pub direction: String,
    pub bits: Vec<Bit>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// A cell, or an instance of a black box.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cell {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub port_directions: BTreeMap<String, String>,
    pub connections: BTreeMap<String, Vec<Bit>>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// A name of nets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Name {
    #[serde(default)]
    pub hide_name: u8,
    pub bits: Vec<Bit>,
    #[serde(default)]
    pub offset: i64,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

impl Cell {
    /// The net at a pin of one bit.
    pub fn pin(&self, pin: &str) -> anyhow::Result<&Bit> {
        self.connections.get(pin).and_then(|b| b.first()).with_context(|| format!("a cell {} without pin {pin}", self.kind))
    }
}

impl Module {
    /// Public names of the bits of wires, ports included: (name of the bit, bit).
    pub fn public(&self) -> impl Iterator<Item = (String, &Bit)> {
        self.netnames.iter().filter(|(_, n)| n.hide_name == 0).flat_map(|(name, n)| {
            n.bits.iter().enumerate().map(move |(i, bit)| {
                let bit_name = if n.bits.len() == 1 { name.clone() } else { format!("{name}[{}]", i as i64 + n.offset) };
                (bit_name, bit)
            })
        })
    }

    /// Forgets the names of all wires, and names one-bit nets instead.
    pub fn rename(&mut self, names: impl Iterator<Item = (String, Bit)>) {
        self.netnames.clear();
        for (name, bit) in names {
            self.netnames.insert(name, Name { hide_name: 0, bits: vec![bit], offset: 0, rest: attributes() });
        }
    }

    /// Nets that an inverter or buffer gives to another: net out of it, (net into it, inverted).
    pub fn inverters(&self) -> BTreeMap<&Bit, (&Bit, bool)> {
        let simple = self.cells.values().filter(|c| c.kind == "$_NOT_" || c.kind == "$_BUF_");
        simple.filter_map(|c| Some((c.pin("Y").ok()?, (c.pin("A").ok()?, c.kind == "$_NOT_")))).collect()
    }
}

fn attributes() -> BTreeMap<String, Value> {
    [("attributes".to_string(), Value::Object(serde_json::Map::new()))].into()
}

/// Reads one module of a JSON netlist.
///
/// # Errors
/// The file cannot be read, is no netlist, or has no such module.
pub fn read(path: &Path, module: &str) -> anyhow::Result<Module> {
    file(path)?.modules.remove(module).with_context(|| format!("{}: no module {module}", path.display()))
}

fn file(path: &Path) -> anyhow::Result<File> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}: not a netlist of Yosys", path.display()))
}

/// Changes one module of a JSON netlist and writes it to another file.
///
/// # Errors
/// See [`read`]; the file cannot be written.
pub fn change(from: &Path, to: &Path, module: &str, change: impl FnOnce(&mut Module) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut file = file(from)?;
    change(file.modules.get_mut(module).with_context(|| format!("{}: no module {module}", from.display()))?)?;
    std::fs::write(to, serde_json::to_string(&file)?).with_context(|| format!("cannot write {}", to.display()))
}

/// A circuit without state: what was a flip-flop or an instance is inputs and outputs. Written as BLIF.
#[derive(Debug, Default)]
pub struct Circuit {
    /// Input and the net that it drives.
    pub inputs: BTreeMap<String, Bit>,
    /// Output and the net that drives it.
    pub outputs: BTreeMap<String, Bit>,
    gates: BTreeMap<Bit, Gate>,
}

/// Inputs and, for each product of the sum, the letters `0`, `1`, `-` of BLIF.
#[derive(Debug)]
struct Gate {
    inputs: Vec<Bit>,
    cover: &'static str,
}

/// Pins in the order of the cover.
const GATES: [(&str, &[&str], &str); 12] = [
    ("$_BUF_", &["A"], "1 1\n"),
    ("$_NOT_", &["A"], "0 1\n"),
    ("$_AND_", &["A", "B"], "11 1\n"),
    ("$_NAND_", &["A", "B"], "0- 1\n-0 1\n"),
    ("$_OR_", &["A", "B"], "1- 1\n-1 1\n"),
    ("$_NOR_", &["A", "B"], "00 1\n"),
    ("$_XOR_", &["A", "B"], "10 1\n01 1\n"),
    ("$_XNOR_", &["A", "B"], "11 1\n00 1\n"),
    ("$_ANDNOT_", &["A", "B"], "10 1\n"),
    ("$_ORNOT_", &["A", "B"], "1- 1\n-0 1\n"),
    ("$_MUX_", &["S", "A", "B"], "01- 1\n1-1 1\n"),
    ("$_NMUX_", &["S", "A", "B"], "00- 1\n1-0 1\n"),
];

impl Circuit {
    /// Takes a cell as a gate; `false` when it is none.
    pub fn gate(&mut self, cell: &Cell) -> anyhow::Result<bool> {
        let Some((_, pins, cover)) = GATES.iter().find(|g| g.0 == cell.kind) else { return Ok(false) };
        let inputs = pins.iter().map(|p| cell.pin(p).cloned()).collect::<anyhow::Result<_>>()?;
        self.gates.insert(cell.pin("Y")?.clone(), Gate { inputs, cover });
        Ok(true)
    }

    /// A constant or copy of `bit` at `net`, inverted or not.
    pub fn derive(&mut self, net: Bit, bit: Bit, inverted: bool) {
        self.gates.insert(net, Gate { inputs: vec![bit], cover: if inverted { "0 1\n" } else { "1 1\n" } });
    }

    /// The nets that `roots` depend on.
    pub fn cone<'a>(&'a self, roots: impl Iterator<Item = &'a Bit>) -> BTreeSet<&'a Bit> {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&Bit> = roots.collect();
        while let Some(bit) = open.pop() {
            if seen.insert(bit)
                && let Some(gate) = self.gates.get(bit)
            {
                open.extend(&gate.inputs);
            }
        }
        seen
    }

    /// As BLIF; inputs and outputs are numbered in the order of their names.
    ///
    /// # Errors
    /// An input that an output depends on is driven by nothing.
    pub fn blif(&self) -> anyhow::Result<String> {
        use std::fmt::Write as _;
        let net = |bit: &Bit| match bit {
            Bit::Net(n) => format!("n{n}"),
            Bit::Constant(c) => if c == "1" { "one" } else { "zero" }.to_string(),
        };
        let mut out = String::from(".model circuit\n.inputs");
        let list = |out: &mut String, letter: char, n: usize| out.extend((0..n).map(|i| format!(" {letter}{i}")));
        list(&mut out, 'i', self.inputs.len());
        out.push_str("\n.outputs");
        list(&mut out, 'o', self.outputs.len());
        out.push_str("\n.names zero\n.names one\n1\n");
        let cone = self.cone(self.outputs.values());
        let mut driven: BTreeSet<&Bit> = BTreeSet::new();
        for (i, bit) in self.inputs.values().enumerate() {
            if driven.insert(bit) {
                let _ = write!(out, ".names i{i} {}\n1 1\n", net(bit));
            }
        }
        for (bit, gate) in self.gates.iter().filter(|(b, _)| cone.contains(b)) {
            if driven.insert(bit) {
                let inputs: Vec<String> = gate.inputs.iter().map(net).collect();
                let _ = write!(out, ".names {} {}\n{}", inputs.join(" "), net(bit), gate.cover);
            }
        }
        if let Some(bit) = cone.iter().find(|b| matches!(b, Bit::Net(_)) && !driven.contains(*b)) {
            bail!("net {} is driven by nothing", net(bit));
        }
        for (i, bit) in self.outputs.values().enumerate() {
            let _ = write!(out, ".names {} o{i}\n1 1\n", net(bit));
        }
        out.push_str(".end\n");
        Ok(out)
    }
}
