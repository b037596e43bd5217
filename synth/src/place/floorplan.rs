//! Floorplans: the size of the core, the places of macros and ports.

use super::netlist::Netlist;
use super::{Grid, Item, Problem};
use crate::library::Library;
use anyhow::bail;
use std::collections::BTreeMap;

/// Macros in columns, alternately at the left and the right edge of a core.
struct Columns {
    /// Width of a column and height of a place in it: those of the largest macro.
    each: (i64, i64),
    /// Macros.
    number: i64,
}

impl Columns {
    /// Places in a column of a core of that height.
    fn per_column(&self, height: i64) -> i64 {
        if self.each.1 > 0 { (height / self.each.1).max(1) } else { 1 }
    }

    fn columns(&self, height: i64) -> i64 {
        let each = self.per_column(height);
        (self.number + each - 1) / each
    }

    /// Width of all columns together.
    fn width(&self, height: i64) -> i64 {
        self.columns(height) * self.each.0
    }

    /// Puts the macros at their places in a core.
    fn put(&self, macros: &mut [Item], core: (i64, i64)) {
        let each = self.per_column(core.1);
        let left = (self.columns(core.1) + 1) / 2;
        for (n, item) in (0..).zip(macros) {
            let (column, at) = (n / each, n % each);
            item.x = if column < left { column * self.each.0 } else { core.0 - (column - left + 1) * self.each.0 };
            item.y = at * self.each.1;
        }
    }
}

/// Whether cells of these widths (with their numbers) fit into the rows beside the macros: the widest first, each into the first gap that has
/// room. That they do not does not prove that no other order fits.
fn fit(core: (i64, i64), row: i64, widths: &BTreeMap<i64, u64>, macros: &[Item]) -> bool {
    let mut left: Vec<(i64, i64)> = widths.iter().rev().map(|(w, n)| (*w, i64::try_from(*n).unwrap_or(i64::MAX))).collect();
    for y in (0..core.1 / row).map(|r| r * row) {
        let mut taken: Vec<(i64, i64)> = macros.iter().filter(|m| m.y < y + row && y < m.y + m.h).map(|m| (m.x, m.x + m.w)).collect();
        taken.push((core.0, core.0));
        taken.sort_unstable();
        let mut from = 0;
        for (start, end) in taken {
            // Filling gap after gap gives the same packing as cell after cell.
            let mut room = start - from;
            for (w, n) in &mut left {
                let put = (room / *w).clamp(0, *n);
                *n -= put;
                room -= put * *w;
            }
            from = from.max(end);
        }
        left.retain(|(_, n)| *n > 0);
        if left.is_empty() {
            return true;
        }
    }
    left.is_empty()
}

/// A floorplan: an about square core that the cells fill to at least `utilisation` of its rows, macros in columns at the left and right edges,
/// ports around the edge.
///
/// # Errors
/// The cells do not fit into any such core; the message says up to which share they do.
pub fn floorplan(
    netlist: &Netlist,
    library: &Library,
    grid: Grid,
    utilisation: f64,
    macro_um2: &dyn Fn(&str) -> f64,
) -> anyhow::Result<Problem> {
    let row = grid.row;
    let mut items = Vec::with_capacity(netlist.cells.len() + netlist.ports.len());
    let (mut widths, mut macros) = (BTreeMap::new(), Vec::new());
    for (i, kind) in netlist.cells.iter().enumerate() {
        if let Some(cell) = library.cells.get(kind) {
            let w = grid.width(cell.area);
            *widths.entry(w).or_insert(0u64) += 1;
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
    let core = core(&mut items, &macros, &widths, row, utilisation)?;
    // Ports, evenly around the edge in their order.
    let (width, height) = core;
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
    Ok(Problem { core, row, items, nets: netlist.nets.clone() })
}

/// Width and height of the core; puts the macros among `items` at their places in it.
fn core(items: &mut [Item], macros: &[usize], widths: &BTreeMap<i64, u64>, row: i64, utilisation: f64) -> anyhow::Result<(i64, i64)> {
    let mut blocks: Vec<Item> = macros.iter().map(|i| items[*i].clone()).collect();
    let area = |list: &mut dyn Iterator<Item = &Item>| list.map(|i| i.w * i.h).sum::<i64>();
    let (cell_area, macro_area) = (area(&mut items.iter().filter(|i| !i.fixed)), area(&mut blocks.iter()));
    let largest = |size: fn(&Item) -> i64| blocks.iter().map(size).max().unwrap_or(0);
    let columns = Columns { each: (largest(|m| m.w), largest(|m| m.h)), number: macros.len() as i64 };
    let widest = widths.keys().max().copied().unwrap_or(1);
    let need = cell_area as f64 / utilisation;
    let lowest = (columns.each.1 / row).max(1);
    let square = (((need + macro_area as f64 * 1.05).sqrt() / row as f64).round() as i64).max(lowest);
    let mut fullest = 0.0f64;
    // The square first, then ever higher and flatter cores; the first that is full enough is taken.
    for rows in (0..=square / 7 + 4).flat_map(|off| [square + off, square - off]).filter(|rows| *rows >= lowest) {
        let height = rows * row;
        // Rounded down, so that the share is never less than asked for; a core with no more than the columns of macros has no choice.
        let width = ((need + macro_area as f64) / height as f64 + 1e-9).floor() as i64;
        let mut core = (width.max(columns.width(height) + widest), height);
        columns.put(&mut blocks, core);
        while !fit(core, row, widths, &blocks) {
            core.0 += 1;
            columns.put(&mut blocks, core);
        }
        let share = cell_area as f64 / (core.0 * core.1 - macro_area) as f64;
        if share >= utilisation || cell_area == 0 {
            for (i, block) in macros.iter().zip(blocks) {
                items[*i] = block;
            }
            return Ok(core);
        }
        fullest = fullest.max(share);
    }
    let cells: u64 = widths.values().sum();
    bail!(
        "--utilization {utilisation}: the {cells} cells and {} macros do not fit into rows that the cells fill so far; up to {:.3} they do",
        macros.len(),
        (fullest * 1000.0).floor() / 1000.0
    )
}

#[cfg(test)]
mod tests {
    use super::super::{ASAP7, check};
    use super::*;

    const INVERTER: &str = "INVx1_ASAP7_75t_R";
    const FLIP_FLOP: &str = "DFFHQNx1_ASAP7_75t_R";

    fn netlist(parts: &[(&str, usize)]) -> Netlist {
        let cells = parts.iter().flat_map(|(kind, n)| vec![(*kind).to_string(); *n]).collect();
        Netlist { cells, ports: (0..40).map(|i| format!("p{i}")).collect(), nets: vec![vec![0, 1]] }
    }

    /// The floorplan, and the share of its rows that the cells take.
    fn plan(netlist: &Netlist, utilisation: f64, macro_um2: f64) -> anyhow::Result<(Problem, f64)> {
        let problem = floorplan(netlist, &Library::embedded()?, ASAP7, utilisation, &|_| macro_um2)?;
        let cells: i64 = problem.items.iter().filter(|i| !i.fixed).map(|i| i.w * i.h).sum();
        let share = cells as f64 / check::row_area(&problem) as f64;
        Ok((problem, share))
    }

    /// Rounding never takes from the share: it is what was asked for or up to a site per row more.
    #[test]
    fn the_share_is_reached_at_every_size() {
        for n in [5, 23, 86, 408, 4000, 60_000] {
            for asked in [0.1, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98] {
                let netlist = netlist(&[(INVERTER, n), (FLIP_FLOP, n / 5), ("NAND2xp33_ASAP7_75t_R", n / 2)]);
                let (problem, share) = plan(&netlist, asked, 0.0).unwrap_or_else(|e| panic!("{n} {asked}: {e}"));
                let (width, height) = problem.core;
                assert!(share >= asked && share * (width as f64) < asked * (width + 1) as f64 + 1e-6, "{n} {asked}: {share}");
                let shape = width as f64 / height as f64;
                assert!(n < 400 || (0.7..1.45).contains(&shape), "{n} {asked}: {shape}");
            }
        }
    }

    #[test]
    fn floorplan_keeps_macros_apart_and_makes_room() {
        for asked in [0.6, 0.8, 0.85, 0.95] {
            for macros in [1, 7, 10] {
                let (problem, share) = plan(&netlist(&[(INVERTER, 4000), ("sram", macros)]), asked, 5.0).unwrap();
                let faults = check::faults(&problem, true);
                assert!(faults.is_empty(), "{faults:?}");
                assert!((asked..asked + 0.02).contains(&share), "{asked}: {share}");
            }
        }
    }

    /// Seven flip-flops fill no rows to 98 %; the message says how far they do, and that is then legal.
    #[test]
    fn cells_that_do_not_fit_are_one_message() {
        let seven = netlist(&[(FLIP_FLOP, 7), (INVERTER, 1), ("sram", 1)]);
        let error = plan(&seven, 0.98, 1.0).unwrap_err().to_string();
        let most =
            error.strip_prefix("--utilization 0.98: the 8 cells and 1 macros do not fit into rows that the cells fill so far; up to ");
        let most: f64 = most.and_then(|m| m.strip_suffix(" they do")).expect(&error).parse().unwrap();
        assert!((0.5..0.98).contains(&most), "{error}");
        assert!(plan(&seven, most, 1.0).unwrap().1 >= most);
    }

    #[test]
    fn cells_fit_or_not() {
        let tall = Item { w: 4, h: 10, x: 0, y: 0, fixed: true, port: false };
        let fits = |width, cells: &[(i64, u64)], macros: &[Item]| fit((width, 15), 5, &cells.iter().copied().collect(), macros);
        assert!(fits(7, &[(3, 6)], &[]) && !fits(7, &[(3, 7)], &[]));
        assert!(fits(7, &[(4, 3), (3, 3)], &[]) && !fits(7, &[(4, 4), (3, 1)], &[]));
        // Beside the macro 3 sites in two rows, above it 7 in one.
        let macros = std::slice::from_ref(&tall);
        assert!(fits(7, &[(3, 4)], macros) && !fits(7, &[(3, 5)], macros) && !fits(7, &[(4, 2)], macros));
        assert!(fits(1, &[], &[]));
    }
}
