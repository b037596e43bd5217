//! The cost figures of the papers on C2P-Cache (64 SMs) and SnakeCharmer, beside ours.

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

/// The module whose LUTs the paper gives.
pub const BF_ENGINE: &str = "bf_engine";

/// The table.
pub fn table(ours: &Ours) -> Vec<Line> {
    let line = |what, paper, ours, unit, note| Line { what, paper, ours, unit, note };
    vec![
        line("logic cells", 667_980.0, Some(ours.cells as f64), "", "paper: 64 SMs; ours: Yosys, ASAP7, unbuffered"),
        line("flip-flops", 75_648.0, Some(ours.flip_flops as f64), "", "paper: 64 SMs"),
        line("inferred memories", 0.0, Some(ours.memories as f64), "", ""),
        line("logic area", 0.06819, Some(ours.area_um2 / 1e6), "mm2", "paper: 64 SMs; cells only"),
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

/// SMs of the chip for which the cost of SnakeCharmer is given, an A100.
pub const SNAKECHARMER_SMS: f64 = 108.0;

/// The table of SnakeCharmer, from one instance: flip-flops, bits of memory macros, area of cells and of macros (7 nm) in um2.
pub fn snakecharmer(flip_flops: u64, memory_bits: u64, cells_um2: f64, memories_um2: f64) -> Vec<Line> {
    let line = |what, paper, ours, unit, note| Line { what, paper, ours: Some(ours), unit, note };
    let kb = (flip_flops + memory_bits) as f64 / 8.0 / 1024.0;
    let mm2 = (cells_um2 + memories_um2) / 1e6;
    vec![
        line("storage per SM", 2.7, kb, "KB", "ours: every flip-flop and memory bit"),
        line("storage, 108 SMs", 2.7 * SNAKECHARMER_SMS, kb * SNAKECHARMER_SMS, "KB", ""),
        line("area per SM", 0.04, mm2, "mm2", "ours: cells, and memories scaled to 7 nm; the paper does not say of what its figure is"),
        line("area, 108 SMs", 0.04, mm2 * SNAKECHARMER_SMS, "mm2", "if the paper's figure is that of the chip"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snakecharmer_of_a_chip_is_that_of_its_sms() {
        let lines = snakecharmer(8192, 8192, 900.0, 100.0);
        let ours: Vec<f64> = lines.iter().filter_map(|l| l.ours).collect();
        assert_eq!(ours, [2.0, 216.0, 0.001, 0.108]);
    }
}
