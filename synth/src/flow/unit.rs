//! The unique modules of a design, read off the intermediate language (RTLIL) that Yosys writes.

use anyhow::{Context as _, bail};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A memory macro with the parameters of its instances.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Macro {
    /// Module name.
    pub name: String,
    /// Parameters by name.
    pub parameters: Vec<(String, u64)>,
}

impl Macro {
    /// A parameter's value.
    pub fn get(&self, parameter: &str) -> u64 {
        self.parameters.iter().find(|p| p.0 == parameter).map_or(0, |p| p.1)
    }

    /// Name of the cell in a mapped netlist: name, rows and bits.
    pub fn cell(&self) -> String {
        format!("{}_{}x{}", self.name, self.get("ROWS"), self.get("BITS"))
    }
}

/// A unique module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Name, with the parameters of this variant.
    pub name: String,
    /// Name in the Verilog.
    pub module: String,
    /// RTLIL, without sources and with numbers of its own.
    pub text: String,
    /// Sub-modules and how many.
    pub children: BTreeMap<String, u64>,
    /// Memory macros and how many.
    pub macros: BTreeMap<Macro, u64>,
    /// Memories (register arrays) in it.
    pub memories: u64,
    /// Instances in the whole design.
    pub instances: u64,
    /// The text holds the whole design, to be flattened.
    pub flat: bool,
    /// Its Verilog (file name, text), where that is enough to read it: neither it nor its sub-modules have parameters.
    pub verilog: Option<(String, String)>,
    /// RTLIL of the black boxes that it instantiates.
    boxes: Vec<String>,
}

impl Unit {
    /// Its RTLIL with its sub-modules as black boxes.
    pub fn with_stubs(&self, units: &[Unit]) -> String {
        self.text.clone() + &self.stubs(units)
    }

    /// Its sub-modules as black boxes.
    pub fn stubs(&self, units: &[Unit]) -> String {
        let mut text = String::new();
        for child in units.iter().filter(|u| self.children.contains_key(&u.name)) {
            text += &stub(&child.text);
        }
        text + &self.boxes.concat()
    }
}

/// Ports of a module as a black box.
fn stub(text: &str) -> String {
    let mut out = String::from("attribute \\blackbox 1\n");
    for line in text.lines() {
        let port = line.starts_with("  wire ") && [" input ", " output ", " inout "].iter().any(|d| line.contains(d));
        if line.starts_with("module ") || line == "end" || port {
            out += line;
            out.push('\n');
        }
    }
    out
}

struct Raw<'a> {
    name: &'a str,
    blackbox: bool,
    lines: Vec<&'a str>,
}

/// Splits the RTLIL of an elaborated design into units, in the order of their names.
///
/// # Errors
/// The text is not what Yosys writes.
pub fn split(text: &str, top: &str) -> anyhow::Result<Vec<Unit>> {
    let mut raw: Vec<Raw> = Vec::new();
    let mut blackbox = false;
    let mut open = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("module ") {
            raw.push(Raw { name, blackbox, lines: vec![line] });
            open = true;
        } else if open {
            if !line.trim_start().starts_with("attribute \\src ") {
                raw.last_mut().context("RTLIL without a module")?.lines.push(line);
            }
            if line == "end" {
                (open, blackbox) = (false, false);
            }
        } else if line.starts_with("attribute \\blackbox") {
            blackbox = true;
        }
    }
    let names: BTreeMap<&str, String> = raw.iter().map(|r| (r.name, safe(r.name))).collect();
    let boxes: Vec<&Raw> = raw.iter().filter(|r| r.blackbox).collect();
    let mut units: Vec<Unit> = raw.iter().filter(|r| !r.blackbox).map(|r| unit(r, &names, &boxes)).collect::<anyhow::Result<_>>()?;
    units.sort_by(|a, b| a.name.cmp(&b.name));
    count(&mut units, top)?;
    units.retain(|u| u.instances > 0);
    Ok(units)
}

/// Gives units the Verilog of their module, where that is enough to read them.
pub fn attach(units: &mut [Unit], files: &[(String, String)]) {
    for unit in units {
        let plain = unit.name == unit.module && unit.children.keys().all(|c| !c.contains("__"));
        let wanted = format!("{}.v", unit.module);
        let file = files.iter().find(|f| f.0.rsplit('/').next() == Some(&wanted));
        unit.verilog = file.filter(|_| plain).map(|f| (wanted, f.1.clone()));
    }
}

/// One unit with everything below it, to be flattened.
///
/// # Errors
/// `top` is not among the units.
pub fn flat(units: &[Unit], top: &str) -> anyhow::Result<Unit> {
    let mut whole = units.iter().find(|u| u.name == top).with_context(|| format!("no module {top}"))?.clone();
    whole.text = units.iter().map(|u| u.text.as_str()).collect();
    whole.boxes = units.iter().flat_map(|u| u.boxes.clone()).collect();
    whole.boxes.sort_unstable();
    whole.boxes.dedup();
    (whole.flat, whole.verilog) = (true, None);
    for u in units {
        if u.name != top {
            whole.memories += u.instances * u.memories;
            for (m, n) in &u.macros {
                *whole.macros.entry(m.clone()).or_default() += u.instances * n;
            }
        }
    }
    whole.children.clear();
    Ok(whole)
}

/// A plain name: the module, and the parameters of the variant.
fn safe(name: &str) -> String {
    let Some(rest) = name.strip_prefix("$paramod") else { return name.trim_start_matches('\\').to_string() };
    let mut parts = rest.split('\\');
    let hash = parts.next().unwrap_or_default().trim_start_matches('$');
    let module = parts.next().unwrap_or_default();
    if !hash.is_empty() {
        return format!("{module}__{}", &hash[..hash.len().min(12)]);
    }
    let parameters: String = parts
        .map(|p| {
            let (key, value) = p.split_once('=').unwrap_or((p, ""));
            let bits = value.rsplit('\'').next().unwrap_or_default();
            let number =
                u64::from_str_radix(bits, 2).map_or_else(|_| bits.replace(|c: char| !c.is_ascii_alphanumeric(), "_"), |n| n.to_string());
            format!("__{key}_{number}")
        })
        .collect();
    format!("{module}{parameters}")
}

fn unit(raw: &Raw, names: &BTreeMap<&str, String>, boxes: &[&Raw]) -> anyhow::Result<Unit> {
    let name = names[raw.name].clone();
    let mut unit = Unit {
        module: name.split("__").next().unwrap_or_default().to_string(),
        name,
        text: String::new(),
        children: BTreeMap::new(),
        macros: BTreeMap::new(),
        memories: 0,
        instances: 0,
        flat: false,
        verilog: None,
        boxes: Vec::new(),
    };
    let mut numbers = Numbers::default();
    let mut used: Vec<&str> = Vec::new();
    let mut body = String::new();
    for (at, line) in raw.lines.iter().enumerate() {
        if line.starts_with("module ") {
            let _ = writeln!(body, "module \\{}", unit.name);
            continue;
        }
        if line.starts_with("  memory ") {
            unit.memories += 1;
        }
        if let Some((kind, instance)) = line.strip_prefix("  cell ").and_then(|l| l.split_once(' ')) {
            if let Some(b) = boxes.iter().find(|b| b.name == kind) {
                used.push(b.name);
                let parameters = raw.lines[at + 1..].iter().map_while(|l| l.strip_prefix("    parameter ")).map(parameter);
                let mut parameters = parameters.collect::<anyhow::Result<Vec<_>>>()?;
                parameters.sort();
                *unit.macros.entry(Macro { name: kind.trim_start_matches('\\').into(), parameters }).or_default() += 1;
            } else if let Some(child) = names.get(kind) {
                *unit.children.entry(child.clone()).or_default() += 1;
                let _ = write!(body, "  cell \\{child} ");
                numbers.rewrite(instance, &mut body);
                body.push('\n');
                continue;
            }
        }
        numbers.rewrite(line, &mut body);
        body.push('\n');
    }
    used.sort_unstable();
    used.dedup();
    for b in boxes.iter().filter(|b| used.contains(&b.name)) {
        unit.boxes.push(format!("attribute \\blackbox 1\n{}\n", b.lines.join("\n")));
    }
    unit.text = format!("autoidx {}\n{body}", numbers.map.len() + 1);
    Ok(unit)
}

/// Name and value of a parameter line: `signed \ROWS 80`, `\LANE 3'001`.
fn parameter(line: &str) -> anyhow::Result<(String, u64)> {
    let (name, value) = line.trim_start_matches("signed ").split_once(' ').with_context(|| format!("parameter `{line}`"))?;
    let number = match value.split_once('\'') {
        Some((_, bits)) => u64::from_str_radix(bits, 2).ok(),
        None => value.parse().ok(),
    };
    let Some(number) = number else { bail!("a black box has the parameter `{line}`, which is no number") };
    Ok((name.trim_start_matches('\\').to_string(), number))
}

/// Replaces the running numbers of Yosys (`$12`) by numbers that depend on the module alone.
#[derive(Default)]
struct Numbers<'a> {
    map: BTreeMap<&'a str, usize>,
}

impl<'a> Numbers<'a> {
    fn rewrite(&mut self, line: &'a str, out: &mut String) {
        let mut rest = line;
        while let Some(at) = rest.find('$') {
            let (before, after) = rest.split_at(at + 1);
            out.push_str(before);
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                let next = self.map.len() + 1;
                let _ = write!(out, "{}", self.map.entry(&after[..digits]).or_insert(next));
            }
            rest = &after[digits..];
        }
        out.push_str(rest);
    }
}

/// Instances of every unit, from the top down.
fn count(units: &mut [Unit], top: &str) -> anyhow::Result<()> {
    let index: BTreeMap<String, usize> = units.iter().enumerate().map(|(i, u)| (u.name.clone(), i)).collect();
    let start = *index.get(top).with_context(|| format!("no module {top}"))?;
    let mut order = vec![(start, 1u64)];
    while let Some((i, n)) = order.pop() {
        units[i].instances += n;
        order.extend(units[i].children.iter().filter_map(|(child, k)| Some((*index.get(child)?, n * k))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTLIL: &str = "# Generated by Yosys
autoidx 99
attribute \\src \"a.v:1\"
module $paramod\\leaf\\W=2'10
  parameter \\W 2'10
  wire width 2 input 1 \\a
  wire $and$a.v:3$17_Y
end
module \\top
  wire input 1 \\a
  memory width 8 size 4 \\m
  attribute \\src \"a.v:9\"
  cell $paramod\\leaf\\W=2'10 \\u1
    connect \\a \\a
  end
  cell $paramod\\leaf\\W=2'10 $x$21
  end
  cell \\sram \\s
    parameter signed \\ROWS 80
    parameter signed \\BITS 8
    connect \\a \\a
  end
end
attribute \\blackbox 1
module \\sram
  wire input 1 \\a
end
";

    #[test]
    fn units_children_macros_and_memories() {
        let units = split(RTLIL, "top").unwrap();
        let names: Vec<_> = units.iter().map(|u| (u.name.as_str(), u.module.as_str(), u.instances, u.memories)).collect();
        assert_eq!(names, [("leaf__W_2", "leaf", 2, 0), ("top", "top", 1, 1)]);
        let sram = units[1].macros.keys().next().unwrap();
        assert_eq!((sram.cell().as_str(), units[1].macros[sram]), ("sram_80x8", 1));
        let text = units[1].with_stubs(&units);
        assert!(text.contains("cell \\leaf__W_2 $x$1") && !text.contains("src"), "{text}");
        assert!(text.contains("attribute \\blackbox 1\nmodule \\leaf__W_2\n  wire width 2 input 1 \\a\nend"), "{text}");
        assert!(text.contains("module \\sram"), "{text}");
        let mut some = units.clone();
        attach(&mut some, &[("rtl/top.v".into(), "t".into()), ("rtl/leaf.v".into(), "l".into())]);
        assert!(some.iter().all(|u| u.verilog.is_none()), "leaf has a parameter");
        some[1].children.clear();
        attach(&mut some, &[("rtl/top.v".into(), "t".into())]);
        assert_eq!(some[1].verilog, Some(("top.v".into(), "t".into())));
        let whole = flat(&units, "top").unwrap();
        assert!(whole.text.contains("module \\leaf__W_2") && whole.children.is_empty());
        assert!(split(RTLIL, "nothing").is_err());
    }

    #[test]
    fn numbers_depend_on_the_module_alone() {
        let moved = RTLIL.replace("$17", "$7017").replace("$21", "$4");
        assert_eq!(split(RTLIL, "top").unwrap(), split(&moved, "top").unwrap());
    }
}
