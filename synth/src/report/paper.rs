//! The cost figures of the C2P-Cache paper (64 SMs), beside ours.

use serde::Serialize;

/// One line: a figure of the paper and ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// What.
    pub what: &'static str,
    /// The paper's figure.
    pub paper: f64,
    /// Ours, when it was measured.
    pub ours: Option<f64>,
    /// Unit.
    pub unit: &'static str,
    /// What to know about it.
    pub note: &'static str,
}

/// What was measured here.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ours {
    /// Cells of the whole.
    pub cells: u64,
    /// Flip-flops of the whole.
    pub flip_flops: u64,
    /// Inferred memories.
    pub memories: u64,
    /// Area of the logic in um2.
    pub area_um2: f64,
    /// Area of all memory macros at 32 nm in um2.
    pub memory_32nm_um2: Option<f64>,
    /// The same scaled to 7 nm.
    pub memory_7nm_um2: Option<f64>,
    /// LUTs of one BF engine.
    pub engine_luts: Option<u64>,
}

/// The table.
pub fn table(ours: &Ours) -> Vec<Line> {
    let line = |what, paper, ours, unit, note| Line { what, paper, ours, unit, note };
    vec![
        line("logic cells", 667_980.0, Some(ours.cells as f64), "", "Yosys, ASAP7, unbuffered"),
        line("flip-flops", 75_648.0, Some(ours.flip_flops as f64), "", ""),
        line("inferred memories", 0.0, Some(ours.memories as f64), "", ""),
        line("logic area", 0.06819, Some(ours.area_um2 / 1e6), "mm2", "cells only"),
        line(
            "snapshot memory, 32 nm",
            1.68,
            ours.memory_32nm_um2.map(|a| a / 1e6),
            "mm2",
            "the paper does not say which CACTI configuration gives its figure",
        ),
        line("snapshot memory, x (7/32)^2", 0.0804, ours.memory_7nm_um2.map(|a| a / 1e6), "mm2", ""),
        line("LUTs of one BF engine", 268.0, ours.engine_luts.map(|n| n as f64), "", "paper: VCU118; ours: Yosys, UltraScale+"),
    ]
}
