//! Mapping: the design is split into its unique modules, each is mapped once, and the results are kept by content.

pub mod cache;
pub mod run;
pub mod script;
pub mod unit;

use crate::library::{Kind, Library};
use anyhow::{Context as _, bail};
use cache::{Cache, key};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use unit::Unit;

/// A generated design.
#[derive(Debug, Clone)]
pub struct Source {
    /// Top module.
    pub top: String,
    /// File name and Verilog text.
    pub files: Vec<(String, String)>,
    /// Memory macros, the black boxes that may be there.
    pub macros: Vec<String>,
}

/// What a unit is mapped for.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// Smallest area, no buffers.
    Area,
    /// Buffered and sized for a clock period in ps.
    Timing(f64),
    /// LUTs of Xilinx UltraScale+.
    Fpga,
}

/// Tools, places and limits of a run.
pub struct Flow<'a> {
    /// Yosys.
    pub yosys: PathBuf,
    /// Folder of kept results.
    pub cache: Cache,
    /// Units mapped at the same time.
    pub jobs: usize,
    /// The cell library.
    pub library: &'a Library,
    /// Told of every unit: finished, all, name.
    pub progress: &'a (dyn Fn(usize, usize, &str) + Sync),
}

/// The mapped netlist of one unit.
#[derive(Debug, Clone)]
pub struct Mapped {
    /// Cells by type, sub-modules and macros included.
    pub cells: BTreeMap<String, u64>,
    /// Folder with `netlist.v`, `netlist.json` and `log`.
    pub folder: PathBuf,
}

/// A mapped design: units in the order of their names, with their netlists.
pub struct Design {
    /// Top unit.
    pub top: String,
    /// Units.
    pub units: Vec<Unit>,
    /// Netlist of each unit.
    pub mapped: Vec<Mapped>,
    /// Version of Yosys.
    pub tool: String,
}

/// What must not be in a mapped design.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// Memories that the synthesiser inferred.
    pub memories: u64,
    /// Latches.
    pub latches: u64,
    /// Cells that are in no library, by unit and type.
    pub unmapped: Vec<String>,
    /// Black boxes that are no memory macro of the design.
    pub unknown_macros: Vec<String>,
}

impl Faults {
    /// One line, `None` without faults.
    pub fn message(&self) -> Option<String> {
        let mut list = Vec::new();
        if self.memories > 0 {
            list.push(format!("{} inferred memories", self.memories));
        }
        if self.latches > 0 {
            list.push(format!("{} latches", self.latches));
        }
        if !self.unmapped.is_empty() {
            list.push(format!("unmapped cells: {}", self.unmapped.join(", ")));
        }
        if !self.unknown_macros.is_empty() {
            list.push(format!("unknown macros: {}", self.unknown_macros.join(", ")));
        }
        (!list.is_empty()).then(|| list.join("; "))
    }
}

impl Flow<'_> {
    /// Version line of Yosys.
    fn version(&self) -> anyhow::Result<String> {
        let output = std::process::Command::new(&self.yosys).arg("-V").output();
        let output =
            output.with_context(|| format!("{}: cannot be started; install it with: apt-get install yosys", self.yosys.display()))?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_string();
        if !output.status.success() || !version.starts_with("Yosys ") {
            // Its error says more than its silence, such as where there is too little memory to start it.
            let errors = String::from_utf8_lossy(&output.stderr);
            let why = errors.lines().map(str::trim).rfind(|l| !l.is_empty()).map(|l| format!(": {l}")).unwrap_or_default();
            bail!("{}: it is no Yosys, or does not run: `-V` says {version:?} ({}){why}", self.yosys.display(), output.status);
        }
        Ok(version)
    }

    /// Splits a design into its units.
    ///
    /// # Errors
    /// Yosys fails (the message names the log), or says nothing that can be read.
    pub fn elaborate(&self, source: &Source) -> anyhow::Result<Vec<Unit>> {
        let version = self.version()?;
        let mut fields = vec!["elaborate 1".to_string(), version, source.top.clone()];
        fields.extend(source.files.iter().flat_map(|(name, text)| [name.clone(), text.clone()]));
        let folder = self.cache.entry(&key(&fields), "elaborate", |folder| {
            for (name, text) in &source.files {
                let place = folder.join(name);
                std::fs::create_dir_all(place.parent().unwrap_or(folder))?;
                std::fs::write(place, text)?;
            }
            let names: Vec<String> = source.files.iter().map(|f| format!("\"{}\"", f.0)).collect();
            let script =
                format!("read_verilog -DSYNTHESIS {}\nhierarchy -check -top {}\nwrite_rtlil design.il\n", names.join(" "), source.top);
            run::yosys(&self.yosys, folder, &script, &format!("reading {}", source.top))?;
            // Yosys does not notice that its file could not be written whole.
            read_design(&folder.join("design.il")).map(|_| ())
        })?;
        let path = folder.join("design.il");
        let mut units = unit::split(&read_design(&path)?, &source.top).with_context(|| path.display().to_string())?;
        unit::attach(&mut units, &source.files);
        Ok(units)
    }

    /// Maps every unit for `target`.
    ///
    /// # Errors
    /// Yosys fails for a unit; results of the others are kept and found again by the next run.
    pub fn map(&self, units: Vec<Unit>, top: &str, target: &Target) -> anyhow::Result<Design> {
        let tool = self.version()?;
        let library = self.library_file()?;
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        let results: Mutex<Vec<Option<Mapped>>> = Mutex::new(vec![None; units.len()]);
        let failure: Mutex<Option<anyhow::Error>> = Mutex::new(None);
        // Largest first, so that none is left alone at the end.
        let mut order: Vec<usize> = (0..units.len()).collect();
        order.sort_by_key(|i| std::cmp::Reverse(units[*i].text.len()));
        let work = || {
            loop {
                let i = next.fetch_add(1, Ordering::SeqCst);
                let failed = failure.lock().is_ok_and(|f| f.is_some());
                let Some(&i) = order.get(i).filter(|_| !failed) else { break };
                match self.map_unit(&units, i, target, &library, &tool) {
                    Ok(mapped) => {
                        if let Ok(mut list) = results.lock() {
                            list[i] = Some(mapped);
                        }
                        (self.progress)(done.fetch_add(1, Ordering::SeqCst) + 1, units.len(), &units[i].name);
                    }
                    Err(error) => {
                        if let Ok(mut first) = failure.lock() {
                            first.get_or_insert(error);
                        }
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            // This thread works too, alone where there is no memory for another one.
            for _ in 1..self.jobs.clamp(1, units.len().max(1)) {
                if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            work();
        });
        if let Some(error) = failure.into_inner().unwrap_or_default() {
            return Err(error);
        }
        let mapped: Option<Vec<Mapped>> = results.into_inner().unwrap_or_default().into_iter().collect();
        Ok(Design { top: top.to_string(), units, mapped: mapped.context("a unit was not mapped")?, tool })
    }

    /// The library as a file in the cache.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn library_file(&self) -> anyhow::Result<PathBuf> {
        let folder = self.cache.entry(&key(&["library 1", &self.library.text]), "library", |folder| {
            std::fs::write(folder.join("library.lib"), &self.library.text)?;
            Ok(())
        })?;
        Ok(folder.join("library.lib"))
    }

    /// Of the netlists of all recipes the smallest stays, as `netlist.v` and `netlist.json`; `recipe` has its script of ABC. Returns its cells.
    fn keep_smallest(&self, folder: &Path, unit: &Unit) -> anyhow::Result<BTreeMap<String, u64>> {
        let file = |n: usize, ending: &str| folder.join(format!("netlist_{n}.{ending}"));
        let netlists: Vec<BTreeMap<String, u64>> =
            (0..script::RECIPES.len()).map(|n| run::count(&file(n, "json"), &unit.name)).collect::<anyhow::Result<_>>()?;
        let n = smallest(&netlists, unit, self.library).context("no recipe")?;
        for ending in ["v", "json"] {
            std::fs::rename(file(n, ending), folder.join(format!("netlist.{ending}")))?;
            for other in (0..script::RECIPES.len()).filter(|o| *o != n) {
                std::fs::remove_file(file(other, ending))?;
            }
        }
        std::fs::write(folder.join("recipe"), script::RECIPES[n])?;
        Ok(netlists.into_iter().nth(n).unwrap_or_default())
    }

    fn map_unit(&self, units: &[Unit], i: usize, target: &Target, library: &Path, tool: &str) -> anyhow::Result<Mapped> {
        let unit = &units[i];
        let text = if unit.verilog.is_some() { unit.stubs(units) } else { unit.with_stubs(units) };
        let verilog = unit.verilog.as_ref().map_or("", |v| &v.1);
        let script = script::map(unit, target, self.library, library);
        // The library's path holds the hash of its content.
        let folder = self.cache.entry(&key(&["map 1", tool, &script, &text, verilog]), &unit.name, |folder| {
            script::write_inputs(folder, unit, units)?;
            run::yosys(&self.yosys, folder, &script, &format!("mapping {}", unit.name))?;
            let cells = match target {
                Target::Area => self.keep_smallest(folder, unit)?,
                Target::Fpga | Target::Timing(_) => run::count(&folder.join("netlist.json"), &unit.name)?,
            };
            std::fs::write(folder.join("cells.json"), serde_json::to_string_pretty(&cells)?)?;
            Ok(())
        })?;
        let path = folder.join("cells.json");
        let read = std::fs::read_to_string(&path).map_err(anyhow::Error::from).and_then(|t| Ok(serde_json::from_str(&t)?));
        Ok(Mapped { cells: read.with_context(|| format!("{}: remove its folder and run again", path.display()))?, folder })
    }
}

impl Design {
    /// What must not be there, for cells of `library`; `macros` are the memories that may.
    pub fn faults(&self, library: &Library, macros: &[String]) -> Faults {
        let mut faults = Faults::default();
        for (unit, mapped) in self.units.iter().zip(&self.mapped) {
            faults.memories += unit.instances * unit.memories;
            for (kind, count) in &mapped.cells {
                let n = unit.instances * count;
                if self.units.iter().any(|u| u.name == *kind) || unit.macros.keys().any(|m| m.cell() == *kind) {
                    continue;
                }
                if kind.starts_with("$mem") {
                    faults.memories += n;
                } else if kind.to_ascii_uppercase().contains("LATCH") && kind.starts_with('$') {
                    faults.latches += n;
                } else if kind.starts_with('$') {
                    faults.unmapped.push(format!("{kind} in {}", unit.name));
                } else if library.cells.get(kind).is_some_and(|c| c.kind == Kind::Latch) {
                    faults.latches += n;
                } else if !library.cells.contains_key(kind) {
                    faults.unknown_macros.push(format!("{kind} in {}", unit.name));
                }
            }
            for m in unit.macros.keys().filter(|m| !macros.contains(&m.name)) {
                faults.unknown_macros.push(format!("{} in {}", m.name, unit.name));
            }
        }
        faults
    }

    /// The unit of that name with its netlist.
    pub fn unit(&self, name: &str) -> Option<(&Unit, &Mapped)> {
        self.units.iter().zip(&self.mapped).find(|(u, _)| u.name == name)
    }
}

/// Which of several netlists of a unit is the smallest, the first of equals. One with cells whose area is unknown (neither in the library, nor
/// sub-modules or macros, which are in all of them) is never smaller than one without; with fewer of them it is smaller than one with more.
fn smallest(netlists: &[BTreeMap<String, u64>], unit: &Unit, library: &Library) -> Option<usize> {
    let own = |kind: &str| !unit.children.contains_key(kind) && !unit.macros.keys().any(|m| m.cell() == kind);
    let size = |cells: &BTreeMap<String, u64>| {
        cells.iter().filter(|(kind, _)| own(kind)).fold((0, 0.0), |(unknown, area), (kind, n)| match library.cells.get(kind) {
            Some(cell) => (unknown, area + cell.area * *n as f64),
            None => (unknown + n, area),
        })
    };
    let sizes = netlists.iter().map(size).enumerate();
    sizes.min_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))).map(|(n, _)| n)
}

/// The text of an elaborated design, whole.
fn read_design(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    if !text.ends_with("end\n") {
        bail!("{} was not written to its end: is there space left on the disk?", path.display());
    }
    Ok(text)
}

/// Units to map at the same time: the cores, and one for each two gigabytes of memory.
///
/// # Errors
/// `wanted` is 0.
pub fn jobs(wanted: Option<usize>) -> anyhow::Result<usize> {
    match wanted {
        Some(0) => bail!("--jobs 0: legal are 1 and more"),
        Some(n) => Ok(n),
        None => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let memory = std::fs::read_to_string("/proc/meminfo").ok();
            let available = memory
                .and_then(|t| t.lines().find_map(|l| l.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse::<usize>().ok()));
            Ok(cores.min(available.map_or(cores, |kb| (kb / 2_000_000).max(1))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_without_area_is_never_the_smallest() {
        let library = Library::embedded().unwrap();
        let rtlil = "module \\leaf\nend\nmodule \\top\n  cell \\leaf \\a\n  end\n  cell \\sram \\s\n    parameter \\ROWS 80\n    parameter \\BITS 8\n  end\nend
attribute \\blackbox 1\nmodule \\sram\nend\n";
        let units = unit::split(rtlil, "top").unwrap();
        let top = units.iter().find(|u| u.name == "top").unwrap();
        let netlist = |inverters: u64, other: Option<&str>| -> BTreeMap<String, u64> {
            let all = [("leaf", 1), ("sram_80x8", 1), ("INVx1_ASAP7_75t_R", inverters)].into_iter().chain(other.map(|o| (o, 1)));
            all.map(|(kind, n)| (kind.to_string(), n)).collect()
        };
        let pick = |list: &[BTreeMap<String, u64>]| smallest(list, top, &library);
        // Sub-modules and macros are in every netlist and count for nothing.
        assert_eq!(pick(&[netlist(3, None), netlist(2, None), netlist(2, None)]), Some(1));
        for unknown in ["$lut", "MYSTERY"] {
            assert_eq!(pick(&[netlist(1, Some(unknown)), netlist(9, None)]), Some(1), "{unknown}");
            assert_eq!(pick(&[netlist(9, None), netlist(1, Some(unknown))]), Some(0), "{unknown}");
            assert_eq!(pick(&[netlist(9, Some(unknown)), netlist(1, Some(unknown))]), Some(1), "{unknown}");
        }
        assert_eq!(pick(&[]), None);
    }
}
