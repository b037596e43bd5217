//! Placement: a flat netlist with cell sizes, a placer, and a checker of its own.

pub mod check;
pub mod coloquinte;
pub mod floorplan;
pub mod netlist;
pub mod openroad;
pub mod picture;

pub use floorplan::floorplan;
use serde::Serialize;

/// The grid of the cells: everything is counted in sites; a row is a whole number of site widths high.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// Width of a site in um.
    pub site_um: f64,
    /// Height of a row in site widths.
    pub row: i64,
}

/// ASAP7, 7.5 tracks: sites of 0.054 um, rows of 0.270 um.
pub const ASAP7: Grid = Grid { site_um: 0.054, row: 5 };

impl Grid {
    /// Width in sites of a cell of that area.
    pub fn width(&self, area_um2: f64) -> i64 {
        let row_um = self.site_um * self.row as f64;
        ((area_um2 / row_um / self.site_um) - 1e-6).ceil().max(1.0) as i64
    }
}

/// Something with a place: a cell, a macro or a port. Lengths in sites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Width.
    pub w: i64,
    /// Height.
    pub h: i64,
    /// Left edge.
    pub x: i64,
    /// Lower edge.
    pub y: i64,
    /// Not moved by the placer.
    pub fixed: bool,
    /// A port of the design: a point at the edge.
    pub port: bool,
}

/// A placement problem, and after placement its solution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Width and height of the core.
    pub core: (i64, i64),
    /// Height of a row.
    pub row: i64,
    /// Cells, macros, ports.
    pub items: Vec<Item>,
    /// Nets: the items they join.
    pub nets: Vec<Vec<u32>>,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Placement {
    /// The placer.
    pub tool: String,
    /// Standard cells.
    pub cells: u64,
    /// Memory macros.
    pub macros: u64,
    /// Nets with two or more pins, the clock not counted.
    pub nets: u64,
    /// Area of the standard cells in um2 (the paper's detailed area).
    pub cells_um2: f64,
    /// Area of the macros in um2.
    pub macros_um2: f64,
    /// Area of the rows, that is of the core without macros, in um2 (the paper's global area).
    pub rows_um2: f64,
    /// Cells over rows.
    pub utilisation: f64,
    /// Most steps of global placement.
    pub steps: u32,
    /// Half-perimeter wire length in um, before and after detailed placement.
    pub wire_um: f64,
    /// The same after global placement.
    pub global_wire_um: f64,
    /// Overlaps, cells out of rows or core: what the checker found; must be empty.
    pub faults: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_of_asap7_cells_are_whole_sites() {
        assert_eq!((ASAP7.width(0.04374), ASAP7.width(0.05832), ASAP7.width(0.2916)), (3, 4, 20));
    }
}
