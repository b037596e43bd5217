//! Memory macros: area, access time, energy and leakage by CACTI 7, or by an embedded table of its results.

pub mod cacti;

use anyhow::Context as _;
use serde::Serialize;
use std::path::Path;

/// Ports of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Ports {
    /// One port that reads or writes.
    #[serde(rename = "1RW")]
    OneRw,
    /// One read and one write port.
    #[serde(rename = "1R1W")]
    OneROneW,
}

/// A memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Shape {
    /// Words.
    pub rows: u64,
    /// Bits of a word.
    pub bits: u64,
    /// Ports.
    pub ports: Ports,
}

/// Figures of one memory at one node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Area in um2.
    pub area_um2: f64,
    /// Access time in ns.
    pub access_ns: f64,
    /// Energy of a read in pJ.
    pub read_pj: f64,
    /// Leakage in mW.
    pub leakage_mw: f64,
}

/// Where figures come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// CACTI was run.
    Cacti,
    /// The embedded table has this shape.
    Table,
    /// Between shapes of the embedded table.
    Interpolated,
}

/// The table of results, made by `cargo run -p l1forge-synth --example make_memory_table`.
pub const TABLE: &str = include_str!("../../lib/cacti.csv");

/// The factor by which the paper scales areas from 32 nm to 7 nm.
pub const SCALE_32_TO_7: f64 = (7.0 / 32.0) * (7.0 / 32.0);

/// Row counts and widths of the table, each in ascending order.
pub const ROWS: [u64; 7] = [16, 32, 64, 80, 128, 256, 512];
/// Widths of the table.
pub const BITS: [u64; 8] = [8, 16, 32, 64, 80, 128, 192, 256];

/// Figures of a memory at 32 or 22 nm.
///
/// # Errors
/// CACTI is given and fails.
pub fn figures(cacti: Option<&Path>, shape: Shape, node: u32) -> anyhow::Result<(Figures, Origin)> {
    match cacti {
        Some(program) => Ok((cacti::run(program, shape, node)?, Origin::Cacti)),
        None => interpolate(shape, node).context("the embedded table of memories is at fault"),
    }
}

fn lookup(shape: Shape, node: u32) -> Option<Figures> {
    let ports = if shape.ports == Ports::OneRw { "1RW" } else { "1R1W" };
    let start = format!("{},{},{ports},{node},", shape.rows, shape.bits);
    let line = TABLE.lines().find_map(|l| l.strip_prefix(&start))?;
    let v: Vec<f64> = line.split(',').filter_map(|n| n.parse().ok()).collect();
    let [area_um2, access_ns, read_pj, leakage_mw] = v.as_slice() else { return None };
    Some(Figures { area_um2: *area_um2, access_ns: *access_ns, read_pj: *read_pj, leakage_mw: *leakage_mw })
}

/// The two neighbours of a value in a list, and where it lies between them (beyond the ends: on the line through the last two).
fn between(list: &[u64], value: u64) -> (u64, u64, f64) {
    let at = list.iter().position(|v| *v >= value).unwrap_or(list.len() - 1).max(1);
    if list.contains(&value) {
        return (value, value, 0.0);
    }
    let (a, b) = (list[at - 1], list[at]);
    (a, b, (value as f64 - a as f64) / (b as f64 - a as f64))
}

fn interpolate(shape: Shape, node: u32) -> Option<(Figures, Origin)> {
    if let Some(found) = lookup(shape, node) {
        return Some((found, Origin::Table));
    }
    let (r0, r1, r) = between(&ROWS, shape.rows);
    let (b0, b1, b) = between(&BITS, shape.bits);
    let at = |rows, bits| lookup(Shape { rows, bits, ..shape }, node);
    let corners = [(at(r0, b0)?, (1.0 - r) * (1.0 - b)), (at(r1, b0)?, r * (1.0 - b)), (at(r0, b1)?, (1.0 - r) * b), (at(r1, b1)?, r * b)];
    let mix = |get: fn(&Figures) -> f64| corners.iter().map(|(f, w)| get(f) * w).sum::<f64>().max(0.0);
    let figures = Figures {
        area_um2: mix(|f| f.area_um2),
        access_ns: mix(|f| f.access_ns),
        read_pj: mix(|f| f.read_pj),
        leakage_mw: mix(|f| f.leakage_mw),
    };
    Some((figures, Origin::Interpolated))
}

/// One line of the memory report: all macros of one shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Memory {
    /// Macro.
    pub name: String,
    /// Words.
    pub rows: u64,
    /// Bits of a word.
    pub bits: u64,
    /// Instances.
    pub instances: u64,
    /// Area of all instances with the ports of the macro, scaled to 7 nm, in um2.
    pub area_um2: f64,
    /// Ports of the macro.
    pub ports: Ports,
    /// Where the figures come from.
    pub origin: Origin,
    /// Per instance, for each kind of ports and each node.
    pub estimates: Vec<Estimate>,
}

/// Figures of one instance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// Ports.
    pub ports: Ports,
    /// Node in nm.
    pub node_nm: u32,
    /// Figures of one instance.
    #[serde(flatten)]
    pub figures: Figures,
    /// Area of all instances in um2.
    pub all_um2: f64,
    /// Area of all instances scaled from 32 nm to 7 nm, at the 32 nm line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_7nm_um2: Option<f64>,
}

/// Reports the macros of one shape; the ports follow from the macro's name (`…1rw…`, else 1R1W).
///
/// # Errors
/// See [`figures`].
pub fn report(cacti: Option<&Path>, name: &str, rows: u64, bits: u64, instances: u64) -> anyhow::Result<Memory> {
    let ports = if name.contains("1rw") { Ports::OneRw } else { Ports::OneROneW };
    let mut memory =
        Memory { name: name.into(), rows, bits, instances, area_um2: 0.0, ports, origin: Origin::Table, estimates: Vec::new() };
    for kind in [Ports::OneRw, Ports::OneROneW] {
        for node in cacti::NODES {
            let (figures, origin) = figures(cacti, Shape { rows, bits, ports: kind }, node)?;
            let all_um2 = figures.area_um2 * instances as f64;
            let scaled = (node == 32).then_some(all_um2 * SCALE_32_TO_7);
            if kind == ports && node == 32 {
                (memory.area_um2, memory.origin) = (all_um2 * SCALE_32_TO_7, origin);
            }
            memory.estimates.push(Estimate { ports: kind, node_nm: node, figures, all_um2, all_7nm_um2: scaled });
        }
    }
    Ok(memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_snapshot_memory_of_the_paper() {
        let memory = report(None, "sram_1r1w", 80, 64, 256).unwrap();
        let of = |ports, node| memory.estimates.iter().find(|e| e.ports == ports && e.node_nm == node).unwrap();
        assert!((of(Ports::OneRw, 32).all_um2 / 1e6 - 0.324).abs() < 0.001);
        assert!((of(Ports::OneROneW, 32).all_um2 / 1e6 - 0.678).abs() < 0.001);
        assert_eq!((memory.ports, memory.origin), (Ports::OneROneW, Origin::Table));
        assert!((memory.area_um2 - of(Ports::OneROneW, 32).all_um2 * 49.0 / 1024.0).abs() < 1e-6);
    }

    #[test]
    fn every_shape_of_the_table_is_there_and_others_lie_between() {
        for rows in ROWS {
            for bits in BITS {
                for ports in [Ports::OneRw, Ports::OneROneW] {
                    for node in cacti::NODES {
                        assert!(lookup(Shape { rows, bits, ports }, node).is_some(), "{rows} {bits} {ports:?} {node}");
                    }
                }
            }
        }
        let area = |rows, bits| figures(None, Shape { rows, bits, ports: Ports::OneROneW }, 32).unwrap();
        let (between, origin) = area(80, 108);
        assert_eq!(origin, Origin::Interpolated);
        assert!(area(80, 80).0.area_um2 < between.area_um2 && between.area_um2 < area(80, 128).0.area_um2);
        assert!(area(80, 2).0.area_um2 >= 0.0 && area(1024, 300).0.area_um2 > area(512, 256).0.area_um2);
    }
}
