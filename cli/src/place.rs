//! `l1forge place`: a legal placement with Coloquinte, and scripts for OpenROAD.

use crate::common::{ConfigArgs, add_files, print_json};
use crate::failure::CheckFailed;
use crate::synth::{cache, memories, progress, source, steps};
use anyhow::{Context as _, bail};
use l1forge_hdl::package::package;
use l1forge_synth::flow::{Design, Flow, Target, jobs};
use l1forge_synth::library::Library;
use l1forge_synth::memory::Memory;
use l1forge_synth::place::coloquinte::{self, Work};
use l1forge_synth::place::{ASAP7, Placement, Problem, check, floorplan, netlist, openroad, picture};
use l1forge_synth::report::text::{Table, number};
use l1forge_synth::timing::macro_library;
use l1forge_verif::tools::{Tool, Toolbox};
use std::path::{Path, PathBuf};

/// Arguments of `l1forge place`.
#[derive(clap::Args)]
pub struct Args {
    /// Block to place, the whole C2P-Cache when not given.
    #[arg(long, value_name = "NAME", default_value = "c2p_cache")]
    block: String,
    /// Folder to write to: placement.json, placement.svg and the scripts for OpenROAD.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Cell library: asap7 (embedded) and Liberty files, plain or gzip, merged, separated by commas.
    #[arg(long, value_name = "PATH[,PATH…]", default_value = "asap7")]
    library: String,
    /// Share of the rows that cells take at least, 0.1 to 0.98.
    #[arg(long, value_name = "SHARE", default_value_t = 0.85)]
    utilization: f64,
    /// Effort of Coloquinte, 1 to 9.
    #[arg(long, value_name = "N", default_value_t = 3)]
    effort: u32,
    /// Most steps of Coloquinte's global placement; it stops earlier when it finds no more to gain. By default 400, and fewer for more than
    /// 10,000 cells, so that a placement takes minutes.
    #[arg(long, value_name = "N")]
    steps: Option<u32>,
    /// Write and check the scripts for OpenROAD only.
    #[arg(long)]
    scripts_only: bool,
    /// Units mapped at the same time; by default as many as cores and memory allow.
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Maps, writes the scripts, checks them, places.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    if !(0.1..=0.98).contains(&args.utilization) {
        bail!("--utilization {}: legal are 0.1 to 0.98", args.utilization);
    }
    if !(1..=9).contains(&args.effort) {
        bail!("--effort {}: legal are 1 to 9", args.effort);
    }
    if let Some(steps) = args.steps.filter(|steps| !(1..=Work::MOST_STEPS).contains(steps)) {
        bail!("--steps {steps}: legal are 1 to {}", Work::MOST_STEPS);
    }
    let config = args.config.resolve()?;
    let package = package(&config, &args.block)?;
    let library = Library::load(&args.library)?;
    let python = if args.scripts_only { None } else { Some(coloquinte::python()?) };
    let source = source(&package);
    let bar = progress("mapping");
    let step = steps(&bar);
    let yosys = Toolbox::from_env().find(Tool::Yosys)?;
    let flow = Flow { yosys, cache: cache(), jobs: jobs(args.jobs)?, library: &library, progress: &step };
    let units = flow.elaborate(&source)?;
    let memories = memories(&units)?;
    let design = flow.map(units, &source.top, &Target::Area)?;
    if let Some(message) = design.faults(&library, &source.macros).message() {
        return Err(CheckFailed(message).into());
    }
    let sdc = package.files.iter().find(|f| f.0 == "constraints.sdc").map(|f| f.1.clone()).unwrap_or_default();
    let mut files = scripts(&design, &library, &memories, sdc, args.utilization)?;
    bar.finish_and_clear();

    let mut document =
        serde_json::json!({"top": source.top, "block": args.block, "config": config, "openroad": {"script": "openroad/place.tcl"}});
    let mut placed: Option<(Placement, Problem)> = None;
    if let Some(python) = python {
        let bar = crate::common::spinner("placing with Coloquinte");
        let flat = netlist::flatten(&design, "clk_i")?;
        let area = |kind: &str| {
            let m = memories.iter().find(|m| format!("{}_{}x{}", m.name, m.rows, m.bits) == kind);
            m.map_or(0.0, |m| m.area_um2 / m.instances.max(1) as f64)
        };
        let mut problem = floorplan(&flat, &library, ASAP7, args.utilization, &area)?;
        let folder = tempfile::tempdir()?;
        let work = Work { effort: args.effort, steps: args.steps.unwrap_or_else(|| Work::steps_of(flat.cells.len())) };
        let say = |line: &str| bar.set_message(format!("placing {} cells with Coloquinte: {line}", number(flat.cells.len() as f64)));
        let result = coloquinte::place(&python, folder.path(), &mut problem, ASAP7.site_um, work, &say);
        bar.finish_and_clear();
        if result.is_err() {
            // The message names the log in it.
            let _ = folder.keep();
        }
        let placement = result?;
        let title = format!(
            "{}: {} cells, {:.0} % of {} um2 of rows",
            source.top,
            number(placement.cells as f64),
            placement.utilisation * 100.0,
            number(placement.rows_um2)
        );
        files.push(("placement.svg".into(), picture::density(&problem, &title, 80)));
        document["placement"] = serde_json::to_value(&placement)?;
        placed = Some((placement, problem));
    }
    files.push(("placement.json".into(), serde_json::to_string_pretty(&document)? + "\n"));
    add_files(&args.out, &files)?;

    let folder = args.out.join("openroad");
    let faults = openroad::check(&folder, "place.tcl")?;
    let ran = open_road(&folder)?;
    document["openroad"]["faults"] = serde_json::json!(faults);
    document["openroad"]["ran"] = serde_json::json!(ran);
    if json {
        print_json(&document)?;
    } else {
        if let Some((p, problem)) = &placed {
            show!("{}", table(p, problem).terminal());
        }
        say!("OpenROAD scripts: {}; commands and flags checked, {} faults; {}", folder.display(), faults.len(), ran);
    }
    let mut wrong = faults;
    wrong.extend(placed.into_iter().flat_map(|p| p.0.faults));
    if wrong.is_empty() { Ok(()) } else { Err(CheckFailed(wrong.join("\n")).into()) }
}

/// Files of the folder `openroad`.
fn scripts(
    design: &Design,
    library: &Library,
    memories: &[Memory],
    sdc: String,
    utilisation: f64,
) -> anyhow::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    let mut netlists = Vec::new();
    for (unit, mapped) in design.units.iter().zip(&design.mapped) {
        let path = mapped.folder.join("netlist.v");
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        netlists.push(format!("netlist/{}.v", unit.name));
        files.push((format!("openroad/netlist/{}.v", unit.name), text));
    }
    let job = openroad::Job { top: &design.top, netlists: &netlists, memories, utilisation };
    files.push(("openroad/place.tcl".into(), openroad::script(&job)));
    files.push(("openroad/constraints.sdc".into(), sdc));
    files.push(("openroad/library.lib".into(), library.text.clone()));
    if !memories.is_empty() {
        files.push(("openroad/macros.lef".into(), openroad::macros(memories)));
        files.push(("openroad/macros.lib".into(), macro_library(memories)));
    }
    Ok(files)
}

/// Runs OpenROAD where it is installed and the technology is named; says what was done.
fn open_road(folder: &Path) -> anyhow::Result<String> {
    let Ok(program) = Toolbox::from_env().find(Tool::OpenRoad) else { return Ok("openroad is not installed, so not run".into()) };
    for name in ["TECH_LEF", "CELL_LEF"] {
        if std::env::var_os(name).is_none() {
            return Ok(format!("{name} is not set, so not run"));
        }
    }
    let mut command = std::process::Command::new(program);
    command.args(["-exit", "place.tcl"]);
    l1forge_synth::flow::run::tool(&mut command, folder, "placement", "openroad")
        .with_context(|| format!("log: {}", folder.join("log").display()))?;
    Ok(format!("run; log: {}", folder.join("log").display()))
}

fn table(p: &Placement, problem: &Problem) -> Table {
    let mut t = Table::new(&["placement (Coloquinte)", "value"]);
    let um = |sites: i64| sites as f64 * ASAP7.site_um;
    for (what, value) in [
        ("cells", number(p.cells as f64)),
        ("macros", number(p.macros as f64)),
        ("nets", number(p.nets as f64)),
        ("core, um", format!("{:.1} x {:.1}", um(problem.core.0), um(problem.core.1))),
        ("area detailed (cells), mm2", number(p.cells_um2 / 1e6)),
        ("area global (rows), mm2", number(p.rows_um2 / 1e6)),
        ("area of macros, mm2", number(p.macros_um2 / 1e6)),
        ("utilisation", format!("{:.3}", p.utilisation)),
        ("steps of global placement, at most", p.steps.to_string()),
        ("wire length after global placement, mm", number(p.global_wire_um / 1e3)),
        ("wire length, mm", number(p.wire_um / 1e3)),
        ("overlaps and other faults", number(p.faults.len() as f64)),
        ("rows", number((problem.core.1 / problem.row) as f64)),
        ("row area checked, sites", number(check::row_area(problem) as f64)),
    ] {
        t.row(&[what.into(), value]);
    }
    t
}
