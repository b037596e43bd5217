//! Counts and areas of a mapped design, per module and in hierarchy.

pub mod curve;
pub mod paper;
pub mod picture;
pub mod text;

use crate::flow::Design;
use crate::flow::unit::{Macro, Unit};
use crate::library::{Kind, Library};
use serde::Serialize;
use std::collections::BTreeMap;

/// One module: its own cells, without sub-modules and macros, of all instances together.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Block {
    /// Module name; variants of a parameterised module are counted together.
    pub name: String,
    /// Instances in the whole design.
    pub instances: u64,
    /// Cells.
    pub cells: u64,
    /// Flip-flops among them.
    pub flip_flops: u64,
    /// Area in um2.
    pub area_um2: f64,
    /// Area in thousands of gate equivalents.
    pub kge: f64,
    /// Share of the area of the whole, 0 to 1.
    pub share: f64,
}

/// One line of the hierarchy: a module below its parent, with everything below it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Node {
    /// Module name.
    pub name: String,
    /// 0 for the top.
    pub depth: usize,
    /// Instances below this parent, in the whole design.
    pub instances: u64,
    /// Cells.
    pub cells: u64,
    /// Flip-flops among them.
    pub flip_flops: u64,
    /// Area in um2, memory macros not included.
    pub area_um2: f64,
    /// Memory macros.
    pub macros: u64,
    /// Share of the area of the whole, 0 to 1.
    pub share: f64,
}

/// Sums over a design.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Total {
    /// Cells.
    pub cells: u64,
    /// Flip-flops among them.
    pub flip_flops: u64,
    /// Area in um2, memory macros not included.
    pub area_um2: f64,
    /// Area in thousands of gate equivalents.
    pub kge: f64,
    /// Memories that the synthesiser inferred; must be 0.
    pub inferred_memories: u64,
    /// Latches; must be 0.
    pub latches: u64,
}

/// Area of a design.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Area {
    /// The synthesiser and its version.
    pub tool: String,
    /// The cell library.
    pub library: String,
    /// Area of one gate equivalent in um2.
    pub gate_um2: f64,
    /// Every module, largest first.
    pub blocks: Vec<Block>,
    /// The hierarchy, parents before their children.
    pub hierarchy: Vec<Node>,
    /// All of it.
    pub total: Total,
}

/// Own figures of one unit: cells, flip-flops, area.
fn own(cells: &BTreeMap<String, u64>, library: &Library) -> (u64, u64, f64) {
    let (mut n, mut ff, mut area) = (0, 0, 0.0);
    for (kind, count) in cells {
        if let Some(cell) = library.cells.get(kind) {
            n += count;
            area += *count as f64 * cell.area;
            if cell.kind == Kind::FlipFlop {
                ff += count;
            }
        }
    }
    (n, ff, area)
}

/// Counts a design that was mapped to `library`.
pub fn area(design: &Design, library: &Library) -> Area {
    let gate = library.gate_equivalent();
    let mut blocks: BTreeMap<&str, Block> = BTreeMap::new();
    let mut total = Total::default();
    for (unit, mapped) in design.units.iter().zip(&design.mapped) {
        let (cells, ff, area) = own(&mapped.cells, library);
        let n = unit.instances;
        let block = blocks.entry(&unit.module).or_insert_with(|| Block { name: unit.module.clone(), ..Block::default() });
        block.instances += n;
        block.cells += n * cells;
        block.flip_flops += n * ff;
        block.area_um2 += n as f64 * area;
    }
    for b in blocks.values_mut() {
        total.cells += b.cells;
        total.flip_flops += b.flip_flops;
        total.area_um2 += b.area_um2;
        b.kge = b.area_um2 / gate / 1000.0;
    }
    total.kge = total.area_um2 / gate / 1000.0;
    let mut blocks: Vec<Block> = blocks.into_values().collect();
    for b in &mut blocks {
        b.share = if total.area_um2 > 0.0 { b.area_um2 / total.area_um2 } else { 0.0 };
    }
    blocks.sort_by(|a, b| b.area_um2.total_cmp(&a.area_um2).then_with(|| a.name.cmp(&b.name)));
    let hierarchy = Tree { design, library, sums: BTreeMap::new() }.list(total.area_um2);
    Area { tool: design.tool.clone(), library: library.name.clone(), gate_um2: gate, blocks, hierarchy, total }
}

/// Memory macros of a design and their instances.
pub fn macros(units: &[Unit]) -> BTreeMap<Macro, u64> {
    let mut all = BTreeMap::new();
    for unit in units {
        for (m, n) in &unit.macros {
            *all.entry(m.clone()).or_default() += unit.instances * n;
        }
    }
    all
}

#[derive(Clone, Copy, Default)]
struct Sum {
    cells: u64,
    flip_flops: u64,
    area: f64,
    macros: u64,
}

struct Tree<'a> {
    design: &'a Design,
    library: &'a Library,
    sums: BTreeMap<&'a str, Sum>,
}

impl<'a> Tree<'a> {
    /// One instance of a unit with everything below it.
    fn sum(&mut self, name: &'a str) -> Sum {
        if let Some(sum) = self.sums.get(name) {
            return *sum;
        }
        let mut sum = Sum::default();
        if let Some((unit, mapped)) = self.design.unit(name) {
            let (cells, flip_flops, area) = own(&mapped.cells, self.library);
            sum = Sum { cells, flip_flops, area, macros: unit.macros.values().sum() };
            for (child, n) in &unit.children {
                let part = self.sum(child);
                sum.cells += n * part.cells;
                sum.flip_flops += n * part.flip_flops;
                sum.area += *n as f64 * part.area;
                sum.macros += n * part.macros;
            }
        }
        self.sums.insert(name, sum);
        sum
    }

    fn list(mut self, whole: f64) -> Vec<Node> {
        let mut nodes = Vec::new();
        let design = self.design;
        self.node(&[(design.top.as_str(), 1)], 0, whole, &mut nodes);
        nodes
    }

    /// Variants of one module below one parent become one line; their children are merged alike.
    fn node(&mut self, variants: &[(&'a str, u64)], depth: usize, whole: f64, nodes: &mut Vec<Node>) {
        let mut node = Node { depth, ..Node::default() };
        let mut children: BTreeMap<&'a str, Vec<(&'a str, u64)>> = BTreeMap::new();
        for (name, n) in variants {
            let sum = self.sum(name);
            node.instances += n;
            node.cells += n * sum.cells;
            node.flip_flops += n * sum.flip_flops;
            node.area_um2 += *n as f64 * sum.area;
            node.macros += n * sum.macros;
            let Some((unit, _)) = self.design.unit(name) else { continue };
            node.name.clone_from(&unit.module);
            for (child, k) in &unit.children {
                let Some((u, _)) = self.design.unit(child) else { continue };
                let list = children.entry(&u.module).or_default();
                match list.iter_mut().find(|e| e.0 == u.name) {
                    Some(entry) => entry.1 += n * k,
                    None => list.push((&u.name, n * k)),
                }
            }
        }
        node.share = if whole > 0.0 { node.area_um2 / whole } else { 0.0 };
        nodes.push(node);
        let mut children: Vec<_> = children.into_values().collect();
        let mut weight = |list: &Vec<(&'a str, u64)>| list.iter().map(|(c, n)| *n as f64 * self.sum(c).area).sum::<f64>();
        let mut keyed: Vec<(f64, Vec<(&'a str, u64)>)> = children.drain(..).map(|c| (weight(&c), c)).collect();
        keyed.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, list) in keyed {
            self.node(&list, depth + 1, whole, nodes);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::flow::Mapped;
    use crate::flow::unit::split;

    pub(crate) fn design() -> (Design, Library) {
        let rtlil = "module \\leaf\nend\nmodule $paramod\\leaf\\W=2'10\nend\nmodule \\mid\n  cell \\leaf \\a\n  end\n  cell \\leaf \\b\n  end\nend
module \\top\n  cell \\mid \\m1\n  end\n  cell \\mid \\m2\n  end\n  cell $paramod\\leaf\\W=2'10 \\l\n  end\n  cell \\sram \\s\n    parameter \\ROWS 80\n    parameter \\BITS 8\n  end\nend
attribute \\blackbox 1\nmodule \\sram\nend\n";
        let units = split(rtlil, "top").unwrap();
        let cells = |list: &[(&str, u64)]| list.iter().map(|(k, n)| ((*k).to_string(), *n)).collect();
        let (inv, ff) = ("INVx1_ASAP7_75t_R", "DFFHQNx1_ASAP7_75t_R");
        let mapped = units.iter().map(|u| Mapped {
            cells: match u.name.as_str() {
                "leaf" => cells(&[(inv, 3)]),
                "leaf__W_2" => cells(&[(ff, 1)]),
                "mid" => cells(&[("leaf", 2), (ff, 1)]),
                _ => cells(&[("mid", 2), ("leaf__W_2", 1), ("sram_80x8", 1)]),
            },
            folder: std::path::PathBuf::new(),
        });
        let mapped = mapped.collect();
        (Design { top: "top".into(), units, mapped, tool: "Yosys".into() }, Library::embedded().unwrap())
    }

    #[test]
    fn sums_by_module_and_hierarchy() {
        let (design, library) = design();
        let report = area(&design, &library);
        let leaf = report.blocks.iter().find(|b| b.name == "leaf").unwrap();
        assert_eq!((leaf.instances, leaf.cells, leaf.flip_flops), (5, 13, 1));
        assert_eq!((report.total.cells, report.total.flip_flops), (15, 3));
        let expected = 12.0 * 0.04374 + 3.0 * 0.2916;
        assert!((report.total.area_um2 - expected).abs() < 1e-9);
        let lines: Vec<_> = report.hierarchy.iter().map(|n| (n.depth, n.name.as_str(), n.instances, n.cells, n.macros)).collect();
        assert_eq!(lines, [(0, "top", 1, 15, 1), (1, "mid", 2, 14, 0), (2, "leaf", 4, 12, 0), (1, "leaf", 1, 1, 0)]);
        assert!(design.faults(&library, &["sram".into()]).message().is_none());
        let message = design.faults(&library, &[]).message().unwrap();
        assert!(message.contains("unknown macros: sram in top"), "{message}");
    }

    #[test]
    fn faults_are_named() {
        let (mut design, library) = design();
        let i = design.units.iter().position(|u| u.name == "mid").unwrap();
        for kind in ["$_DLATCH_P_", "$lut", "MYSTERY", "$mem_v2"] {
            design.mapped[i].cells.insert(kind.into(), 1);
        }
        let faults = design.faults(&library, &["sram".into()]);
        assert_eq!((faults.memories, faults.latches), (2, 2));
        assert_eq!(faults.unmapped, ["$lut in mid"]);
        assert_eq!(faults.unknown_macros, ["MYSTERY in mid"]);
    }
}
