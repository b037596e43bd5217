//! Placement with Coloquinte, a placer on PyPI.

use super::{Placement, Problem, check};
use crate::flow::run;
use anyhow::{Context as _, bail};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = include_str!("../../place/coloquinte_place.py");

/// A Python that has Coloquinte: `L1FORGE_PYTHON`, or that of the nearest `.venv`.
///
/// # Errors
/// There is none.
pub fn python() -> anyhow::Result<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    let named = std::env::var_os("L1FORGE_PYTHON").filter(|v| !v.is_empty()).map(PathBuf::from);
    let local = || here.ancestors().map(|f| f.join(".venv/bin/python")).find(|p| p.exists());
    let install = "python3 -m venv .venv && .venv/bin/pip install coloquinte==0.4.1";
    let python = named.or_else(local).with_context(|| format!("no .venv/bin/python here; Coloquinte is installed with: {install}"))?;
    let found = Command::new(&python).args(["-c", "import coloquinte"]).output();
    if !found.is_ok_and(|o| o.status.success()) {
        bail!("{}: it has no package coloquinte; install it with: {install}", python.display());
    }
    Ok(python)
}

fn text(problem: &Problem, work: Work) -> String {
    let mut s = format!(
        "core {} {} {}\neffort {} {}\nitems {}\n",
        problem.core.0,
        problem.core.1,
        problem.row,
        work.effort,
        work.steps,
        problem.items.len()
    );
    for i in &problem.items {
        let _ = writeln!(s, "{} {} {} {} {} {}", i.w, i.h, i.x, i.y, u8::from(i.fixed), u8::from(i.port));
    }
    let _ = writeln!(s, "nets {}", problem.nets.len());
    for net in &problem.nets {
        let items: Vec<String> = net.iter().map(ToString::to_string).collect();
        let _ = writeln!(s, "{}", items.join(" "));
    }
    s
}

/// How much work Coloquinte puts into a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Effort, 1 to 9.
    pub effort: u32,
    /// Most steps of global placement.
    pub steps: u32,
}

impl Work {
    /// Most steps that Coloquinte takes.
    pub const MOST_STEPS: u32 = 400;

    /// Steps for a design when none are asked for: all for a small one; of a large one so many that its placement takes minutes, at the cost of wire length.
    pub fn steps_of(cells: usize) -> u32 {
        /// A step of this many cells takes about a minute.
        const CELLS: usize = 4_000_000;
        (CELLS / cells.max(1)).clamp(8, Self::MOST_STEPS as usize) as u32
    }
}

/// Says what to do when Coloquinte finds no room for a cell, which happens in a core that is almost full.
fn explained(error: anyhow::Error, problem: &Placement) -> anyhow::Error {
    if !format!("{error:#}").contains("Not all cells have been placed") {
        return error;
    }
    let (cells, share) = (problem.cells, problem.utilisation * 100.0);
    error.context(format!(
        "no legal placement found for {cells} cells that fill {share:.1} % of their rows; a smaller --utilization gives room"
    ))
}

/// Moves the items to their places; returns what came out, with the faults that the checker finds. Works in `folder`; `progress` gets what
/// Coloquinte says last.
///
/// # Errors
/// Coloquinte fails, or its answer cannot be read.
pub fn place(
    python: &Path,
    folder: &Path,
    problem: &mut Problem,
    site_um: f64,
    work: Work,
    progress: &dyn Fn(&str),
) -> anyhow::Result<Placement> {
    std::fs::write(folder.join("problem.txt"), text(problem, work))?;
    std::fs::write(folder.join("place.py"), PROGRAM)?;
    let (macros, cells): (Vec<_>, Vec<_>) = problem.items.iter().filter(|i| !i.port).partition(|i| i.fixed);
    let square = site_um * site_um;
    let area = |list: &[&super::Item]| list.iter().map(|i| i.w * i.h).sum::<i64>() as f64 * square;
    let rows_um2 = check::row_area(problem) as f64 * square;
    let mut placement = Placement {
        tool: "Coloquinte".into(),
        cells: cells.len() as u64,
        macros: macros.len() as u64,
        nets: problem.nets.len() as u64,
        cells_um2: area(&cells),
        macros_um2: area(&macros),
        rows_um2,
        utilisation: area(&cells) / rows_um2,
        steps: work.steps,
        wire_um: 0.0,
        global_wire_um: 0.0,
        faults: Vec::new(),
    };
    run::watched(Command::new(python).arg("place.py"), folder, "placement", "coloquinte", progress)
        .with_context(|| format!("log: {}", folder.join("log").display()))
        .map_err(|error| explained(error, &placement))?;
    let path = folder.join("solution.txt");
    let solution = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let places: Option<Vec<(i64, i64)>> =
        solution.lines().map(|l| l.split_once(' ').and_then(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?)))).collect();
    let places = places.filter(|p| p.len() == 2 * problem.items.len()).with_context(|| format!("{}: not a solution", path.display()))?;
    for (stage, list) in places.chunks(problem.items.len().max(1)).enumerate() {
        for (n, (item, (x, y))) in problem.items.iter_mut().zip(list).enumerate() {
            if item.fixed && (item.x, item.y) != (*x, *y) {
                placement.faults.push(format!("item {n} is fixed and was moved"));
            }
            (item.x, item.y) = (*x, *y);
        }
        *(if stage == 0 { &mut placement.global_wire_um } else { &mut placement.wire_um }) = check::wire(problem) * site_um;
    }
    placement.faults.extend(check::faults(problem, false));
    Ok(placement)
}

#[cfg(test)]
mod tests {
    use super::super::{ASAP7, floorplan, netlist::Netlist};
    use super::*;
    use crate::library::Library;

    #[test]
    fn large_designs_take_fewer_steps() {
        assert_eq!([0, 408, 10_000, 50_000, 281_794, 5_000_000].map(Work::steps_of), [400, 400, 400, 80, 14, 8]);
    }

    /// Three cells of three sites and two rows of four: the reason is said before the log and the words of Coloquinte.
    #[test]
    fn a_core_without_room_is_explained() {
        let Ok(python) = python() else {
            eprintln!("skipped: no Coloquinte here");
            return;
        };
        let cell = super::super::Item { w: 3, h: 5, x: 0, y: 0, fixed: false, port: false };
        let mut problem = Problem { core: (4, 10), row: 5, items: vec![cell; 3], nets: vec![vec![0, 1, 2]] };
        let folder = tempfile::tempdir().unwrap();
        let work = Work { effort: 1, steps: 10 };
        let error = format!("{:#}", place(&python, folder.path(), &mut problem, ASAP7.site_um, work, &|_| {}).unwrap_err());
        assert!(
            error.starts_with("no legal placement found for 3 cells that fill 112.5 % of their rows; a smaller --utilization"),
            "{error}"
        );
        assert!(error.contains("log: "), "{error}");
    }

    #[test]
    fn a_chain_is_placed_legally_and_short() {
        let Ok(python) = python() else {
            eprintln!("skipped: no Coloquinte here");
            return;
        };
        let cells = vec!["NAND2xp33_ASAP7_75t_R".to_string(); 400];
        let nets = (0..399).map(|i| vec![i, i + 1]).collect();
        let netlist = Netlist { cells, ports: vec!["a".into(), "b".into()], nets };
        let mut problem = floorplan(&netlist, &Library::embedded().unwrap(), ASAP7, 0.85, &|_| 0.0).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let result = place(&python, folder.path(), &mut problem, ASAP7.site_um, Work { effort: 1, steps: 400 }, &|_| {}).unwrap();
        assert!(result.faults.is_empty(), "{:?}", result.faults);
        assert!(result.utilisation >= 0.85 && result.wire_um > 0.0 && result.wire_um < 400.0, "{result:?}");
    }
}
