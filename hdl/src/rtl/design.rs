//! Finished modules and their assembly into files.

use super::bits::Bits;
use super::error::RtlError;
use super::options::ResetStyle;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Direction and role of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dir {
    /// Clock input.
    Clock,
    /// Reset input.
    Reset,
    /// Input.
    Input,
    /// Output.
    Output,
}

/// A port of a finished module.
#[derive(Clone, Debug)]
pub struct Port {
    /// Name in the Verilog text.
    pub name: String,
    /// Direction and role.
    pub dir: Dir,
    /// Width in bits.
    pub width: u32,
    /// What it is for.
    pub doc: String,
}

/// A Verilog parameter of a finished module.
#[derive(Clone, Debug)]
pub struct Param {
    /// Name in the Verilog text.
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// Default value.
    pub default: Bits,
    /// What it is for.
    pub doc: String,
}

/// Size of a memory macro.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Memory {
    /// Words.
    pub rows: u32,
    /// Bits of a word.
    pub bits: u32,
}

/// A finished module: checked, printed and ready to be instantiated. Made by [`ModuleBuilder::finish`](super::ModuleBuilder::finish) or [`External::finish`](super::External::finish).
pub struct Module {
    pub(crate) name: String,
    pub(crate) ports: Vec<Port>,
    pub(crate) params: Vec<Param>,
    /// Verilog text in which names of modules stand as `\x01self\x02` and `\x01<index into subs>\x02`.
    pub(crate) template: String,
    pub(crate) subs: Vec<Rc<Module>>,
    /// How many instances of `subs[i]` this module holds.
    pub(crate) sub_counts: Vec<u64>,
    /// For every output (in port order) the inputs it depends on without a register between.
    pub(crate) comb_deps: Vec<Vec<bool>>,
    pub(crate) flip_flop_bits: u64,
    pub(crate) reset_style: Option<ResetStyle>,
    pub(crate) memory: Option<Memory>,
    pub(crate) repeated: bool,
    /// Parameters that every instance sets, as printed.
    pub(crate) fixed_params: Vec<(String, String)>,
}

/// Marker of a module name inside a template.
pub(crate) fn name_marker(what: &str) -> String {
    format!("\u{1}{what}\u{2}")
}

fn fill(template: &str, own: &str, subs: &[String]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(i) = rest.find('\u{1}') {
        out.push_str(&rest[..i]);
        let end = i + rest[i..].find('\u{2}').unwrap_or_else(|| unreachable!("marker without end"));
        let key = &rest[i + 1..end];
        out.push_str(if key == "self" { own } else { &subs[key.parse::<usize>().unwrap_or_else(|_| unreachable!("marker {key}"))] });
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    out
}

impl Module {
    /// Marked with [`ModuleBuilder::repeated`](super::ModuleBuilder::repeated).
    pub fn is_repeated(&self) -> bool {
        self.repeated
    }

    /// Name of the module and, with `.v`, of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Ports in printed order.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The port of that name.
    pub fn port(&self, name: &str) -> Option<&Port> {
        self.ports.iter().find(|p| p.name == name)
    }

    /// Verilog parameters.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Register bits of the module itself, without its instances.
    pub fn flip_flop_bits(&self) -> u64 {
        self.flip_flop_bits
    }

    /// Instantiated modules with the number of their instances.
    pub fn instances(&self) -> impl Iterator<Item = (&Rc<Module>, u64)> {
        self.subs.iter().zip(self.sub_counts.iter().copied())
    }

    /// Size of the memory, if the module is a memory macro.
    pub fn memory(&self) -> Option<Memory> {
        self.memory
    }

    /// True if the output depends on the input without a register between.
    pub fn is_combinational_path(&self, input: &str, output: &str) -> bool {
        let o = self.ports.iter().filter(|p| p.dir == Dir::Output).position(|p| p.name == output);
        let i = self.ports.iter().position(|p| p.name == input);
        matches!((o, i), (Some(o), Some(i)) if self.comb_deps[o][i])
    }

    /// The Verilog text of this module alone.
    pub fn verilog(&self) -> String {
        let subs: Vec<String> = self.subs.iter().map(|s| s.name.clone()).collect();
        fill(&self.template, &self.name, &subs)
    }
}

/// A top module with everything below it: each module once, modules of equal text shared.
///
/// ```
/// use l1forge_hdl::rtl::{Design, ModuleBuilder};
/// let mut m = ModuleBuilder::new("inverter");
/// let a = m.input("a_i", 1, "value");
/// let y = m.output("y_o", 1, "its complement");
/// m.assign(&y, !&a);
/// let inverter = m.finish().unwrap();
///
/// let mut m = ModuleBuilder::new("buffer");
/// let a = m.input("a_i", 1, "value");
/// let y = m.output("y_o", 1, "the same value");
/// let first = m.instance("u_first", &inverter, |i| {
///     i.connect("a_i", &a);
/// });
/// m.instance("u_second", &inverter, |i| {
///     i.connect("a_i", first.get("y_o")).connect("y_o", &y);
/// });
/// let design = Design::new(m.finish().unwrap()).unwrap();
/// let names: Vec<_> = design.files().into_iter().map(|f| f.0).collect();
/// assert_eq!(names, ["inverter.v", "buffer.v"]);
/// assert_eq!(design.instance_counts()["inverter"], 2);
/// ```
pub struct Design {
    top: String,
    files: Vec<(String, String)>,
    instances: BTreeMap<String, u64>,
    flip_flop_bits: u64,
    modules: Vec<Rc<Module>>,
    memories: BTreeMap<(String, Memory), u64>,
}

impl Design {
    /// Collects the modules below `top`.
    ///
    /// # Errors
    /// Two different modules of one name.
    pub fn new(top: Rc<Module>) -> Result<Design, RtlError> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        collect(&top, &mut seen, &mut order);

        let mut canonical: BTreeMap<*const Module, String> = BTreeMap::new();
        let mut by_body: BTreeMap<String, String> = BTreeMap::new();
        let mut by_name: BTreeMap<String, String> = BTreeMap::new();
        let (mut files, mut modules, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for m in &order {
            let subs: Vec<String> = m.subs.iter().map(|s| canonical[&Rc::as_ptr(s)].clone()).collect();
            let body = fill(&m.template, "\u{1}", &subs);
            if let Some(name) = by_body.get(&body) {
                canonical.insert(Rc::as_ptr(m), name.clone());
                continue;
            }
            if by_name.contains_key(&m.name) {
                errors.push(format!("two different modules are called {}", m.name));
                canonical.insert(Rc::as_ptr(m), m.name.clone());
                continue;
            }
            canonical.insert(Rc::as_ptr(m), m.name.clone());
            by_name.insert(m.name.clone(), body.clone());
            by_body.insert(body, m.name.clone());
            files.push((format!("{}.v", m.name), fill(&m.template, &m.name, &subs)));
            modules.push(m.clone());
        }
        if !errors.is_empty() {
            return Err(RtlError::new(errors));
        }

        // Users come after what they use, so a walk from the end sees every module with its final count.
        let mut per_module: BTreeMap<*const Module, u64> = BTreeMap::from([(Rc::as_ptr(&top), 1)]);
        let mut instances: BTreeMap<String, u64> = BTreeMap::new();
        let mut memories: BTreeMap<(String, Memory), u64> = BTreeMap::new();
        let mut flip_flop_bits = 0;
        for m in order.iter().rev() {
            let n = per_module[&Rc::as_ptr(m)];
            *instances.entry(canonical[&Rc::as_ptr(m)].clone()).or_default() += n;
            flip_flop_bits += n * m.flip_flop_bits;
            if let Some(size) = m.memory {
                *memories.entry((canonical[&Rc::as_ptr(m)].clone(), size)).or_default() += n;
            }
            for (s, k) in m.instances() {
                *per_module.entry(Rc::as_ptr(s)).or_default() += n * k;
            }
        }
        Ok(Design { top: top.name.clone(), files, instances, flip_flop_bits, modules, memories })
    }

    /// Name of the top module.
    pub fn top(&self) -> &str {
        &self.top
    }

    /// File names and texts, used modules before their users.
    pub fn files(&self) -> Vec<(String, String)> {
        self.files.clone()
    }

    /// The modules, in the order of the files.
    pub fn modules(&self) -> &[Rc<Module>] {
        &self.modules
    }

    /// Instances of every module in the whole hierarchy (the top module counts 1).
    pub fn instance_counts(&self) -> &BTreeMap<String, u64> {
        &self.instances
    }

    /// Register bits of the whole hierarchy.
    pub fn flip_flop_bits(&self) -> u64 {
        self.flip_flop_bits
    }

    /// Memory macros of the whole hierarchy: module name and size, with the number of instances.
    pub fn memories(&self) -> &BTreeMap<(String, Memory), u64> {
        &self.memories
    }

    /// Writes the files into a folder, which must exist.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write_to(&self, dir: &std::path::Path) -> std::io::Result<Vec<std::path::PathBuf>> {
        self.files
            .iter()
            .map(|(name, text)| {
                let path = dir.join(name);
                std::fs::write(&path, text)?;
                Ok(path)
            })
            .collect()
    }
}

fn collect(m: &Rc<Module>, seen: &mut BTreeSet<*const Module>, order: &mut Vec<Rc<Module>>) {
    if !seen.insert(Rc::as_ptr(m)) {
        return;
    }
    for s in &m.subs {
        collect(s, seen, order);
    }
    order.push(m.clone());
}
