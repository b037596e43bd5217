//! Placement: a flat netlist with cell sizes, a placer, and a checker of its own.

pub mod check;
pub mod coloquinte;
pub mod netlist;
pub mod openroad;
pub mod picture;

use crate::library::Library;
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

/// A floorplan: core size for a utilisation, macros in columns at the left and right edges, ports around the edge.
pub fn floorplan(netlist: &netlist::Netlist, library: &Library, grid: Grid, utilisation: f64, macro_um2: &dyn Fn(&str) -> f64) -> Problem {
    let row = grid.row;
    let mut items = Vec::with_capacity(netlist.cells.len() + netlist.ports.len());
    let (mut cell_area, mut macros) = (0i64, Vec::new());
    for (i, kind) in netlist.cells.iter().enumerate() {
        if let Some(cell) = library.cells.get(kind) {
            let w = grid.width(cell.area);
            cell_area += w * row;
            items.push(Item { w, h: row, x: 0, y: 0, fixed: false, port: false });
        } else {
            // A macro of about 1:2, whole rows high.
            let sites = macro_um2(kind) / (grid.site_um * grid.site_um);
            let h = (((sites / 2.0).sqrt() / row as f64).ceil() as i64).max(1) * row;
            let w = ((sites / h as f64).ceil() as i64).max(1);
            macros.push(i);
            items.push(Item { w, h, x: 0, y: 0, fixed: true, port: false });
        }
    }
    let macro_width = macros.iter().map(|i| items[*i].w).max().unwrap_or(0);
    let macro_area: i64 = macros.iter().map(|i| items[*i].w * items[*i].h).sum();
    let need = cell_area as f64 / utilisation;
    let mut height = (((need + macro_area as f64 * 1.05).sqrt() / row as f64).round() as i64).max(1) * row;
    let highest = macros.iter().map(|i| items[*i].h).max().unwrap_or(0);
    height = height.max(highest);
    // Columns of macros, alternately at the left and the right edge.
    let per_column = if highest > 0 { (height / highest).max(1) } else { 1 };
    let columns = (macros.len() as i64 + per_column - 1) / per_column;
    let left = (columns + 1) / 2;
    let rows = height / row;
    let middle = ((need / (rows * row) as f64).ceil() as i64).max(items.iter().filter(|i| !i.fixed).map(|i| i.w).max().unwrap_or(1));
    let width = middle + columns * macro_width;
    for (n, i) in macros.iter().enumerate() {
        let (column, at) = (n as i64 / per_column, n as i64 % per_column);
        items[*i].x = if column < left { column * macro_width } else { width - (column - left + 1) * macro_width };
        items[*i].y = at * highest;
    }
    // Ports, evenly around the edge in their order.
    let around = 2 * (width + height);
    for p in 0..netlist.ports.len() as i64 {
        let at = p * around / (netlist.ports.len() as i64).max(1);
        let (x, y) = match at {
            a if a < width => (a, -1),
            a if a < width + height => (width, a - width),
            a if a < 2 * width + height => (2 * width + height - a - 1, height),
            a => (-1, around - a - 1),
        };
        items.push(Item { w: 1, h: 1, x, y, fixed: true, port: true });
    }
    Problem { core: (width, height), row, items, nets: netlist.nets.clone() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn widths_of_asap7_cells_are_whole_sites() {
        assert_eq!((ASAP7.width(0.04374), ASAP7.width(0.05832), ASAP7.width(0.2916)), (3, 4, 20));
    }

    #[test]
    fn floorplan_keeps_macros_apart_and_makes_room() {
        let library = Library::embedded().unwrap();
        let mut cells = vec!["INVx1_ASAP7_75t_R".to_string(); 4000];
        cells.extend(vec!["sram".to_string(); 10]);
        let netlist = netlist::Netlist { cells, ports: (0..40).map(|i| format!("p{i}")).collect(), nets: vec![vec![0, 1]] };
        let problem = floorplan(&netlist, &library, ASAP7, 0.85, &|_| 5.0);
        let faults = check::faults(&problem, true);
        assert!(faults.is_empty(), "{faults:?}");
        let rows = check::row_area(&problem);
        let used = 4000 * 3 * 5;
        let utilisation = f64::from(used) / rows as f64;
        assert!((0.80..=0.86).contains(&utilisation), "{utilisation}");
    }
}
