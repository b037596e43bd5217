//! `l1forge synth`: area by hierarchy, memories apart; timing, LUTs and equivalence when asked for.

mod curve;
mod tables;

use crate::common::{ConfigArgs, add_files, print_json};
use crate::failure::CheckFailed;
use anyhow::bail;
use l1forge_hdl::package::{Package, package};
use l1forge_synth::equivalence::{Proof, prove};
use l1forge_synth::flow::cache::Cache;
use l1forge_synth::flow::unit::{self, Unit};
use l1forge_synth::flow::{Design, Flow, Source, Target, jobs};
use l1forge_synth::fpga::{self, Fpga};
use l1forge_synth::library::Library;
use l1forge_synth::memory::{self, Memory, Ports};
use l1forge_synth::report::text::Table;
use l1forge_synth::report::{self, Area, paper};
use l1forge_synth::timing::{self, Timing};
use l1forge_verif::tools::{Tool, Toolbox};
use std::path::PathBuf;

/// Arguments of `l1forge synth`.
#[derive(clap::Args)]
pub struct Args {
    /// Block to synthesise, the whole C2P-Cache when not given.
    #[arg(long, value_name = "NAME", default_value = "c2p_cache")]
    block: String,
    /// Cell library: asap7 (embedded) and Liberty files, plain or gzip, merged, separated by commas.
    #[arg(long, value_name = "PATH[,PATH…]", default_value = "asap7")]
    library: String,
    /// Flatten the design before it is mapped, as a cross-check of small ones.
    #[arg(long)]
    flat: bool,
    /// Map once more for speed and analyse the paths with OpenSTA.
    #[arg(long)]
    timing: bool,
    /// Clock period in ps for --timing; by default that of the constraints.
    #[arg(long, value_name = "PS", requires = "timing")]
    clock: Option<f64>,
    /// Count LUTs and flip-flops of all modules for Xilinx UltraScale+ too; without it, the whole C2P-Cache has the LUTs of its BF engine alone.
    #[arg(long)]
    fpga: bool,
    /// Prove units of at most N cells equal to their RTL.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "2000")]
    equivalence: Option<u64>,
    /// Units mapped at the same time; by default as many as cores and memory allow.
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Map the block for these numbers of SMs, one after the other, and show how its modules grow.
    #[arg(long, value_name = "N,N…", value_delimiter = ',', conflicts_with_all = ["sms", "flat", "timing", "fpga", "equivalence"])]
    curve: Vec<u32>,
    /// Folder to write synth.json, area.md and area.svg to (curve.json, curve.md and curve.svg with --curve).
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Everything that was found out.
#[derive(serde::Serialize)]
struct Results {
    /// Block and configuration, by which `report` knows what the figures are of.
    block: String,
    config: l1forge_config::Config,
    #[serde(flatten)]
    area: Area,
    memories: Vec<Memory>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paper: Vec<paper::Line>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timing: Option<Timing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fpga: Option<Fpga>,
    #[serde(skip_serializing_if = "Option::is_none")]
    equivalence: Option<Vec<Proof>>,
}

/// The Verilog of a package, for synthesis.
pub fn source(package: &Package) -> Source {
    let verilog = package.files.iter().filter(|f| f.0.ends_with(".v")).cloned().collect();
    let macros = package.design.memories().iter().map(|((name, _), _)| name.to_string()).collect();
    Source { top: package.design.top().to_string(), files: verilog, macros }
}

/// The folder of kept results.
pub fn cache() -> Cache {
    Cache::at(l1forge_verif::cache::Cache::from_env().root().join("synth"))
}

/// Shows the units of a flow that are done on a bar.
pub fn steps(bar: &indicatif::ProgressBar) -> impl Fn(usize, usize, &str) + Sync + '_ {
    |done, all, _| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    }
}

/// Figures of the memories of a design, by the CACTI that `CACTI` names, or by the embedded table.
pub fn memories(units: &[Unit]) -> anyhow::Result<Vec<Memory>> {
    let cacti = std::env::var_os("CACTI").filter(|v| !v.is_empty()).map(PathBuf::from);
    let all = report::macros(units);
    all.iter().map(|(m, n)| memory::report(cacti.as_deref(), &m.name, m.get("ROWS"), m.get("BITS"), *n)).collect()
}

/// A progress bar on standard error.
pub fn progress(text: &str) -> indicatif::ProgressBar {
    let bar = indicatif::ProgressBar::new(1).with_message(text.to_string());
    if let Ok(style) = indicatif::ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} {elapsed}") {
        bar.set_style(style);
    }
    crate::common::tick(&bar, std::time::Duration::from_millis(250));
    bar
}

/// Maps the design and reports.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    if let Some(clock) = args.clock.filter(|c| !(1.0..=1e6).contains(c)) {
        bail!("--clock {clock}: legal are periods of 1 to 1000000 ps");
    }
    if args.equivalence == Some(0) {
        bail!("--equivalence 0: legal are 1 cell and more");
    }
    if !args.curve.is_empty() {
        return curve::run(args, json);
    }
    let config = args.config.resolve()?;
    let package = package(&config, &args.block)?;
    let library = Library::load(&args.library)?;
    let source = source(&package);
    let bar = progress("reading");
    let step = steps(&bar);
    let tools = Toolbox::from_env();
    let sta = if args.timing { Some(tools.find(Tool::OpenSta)?) } else { None };
    let flow = Flow { yosys: tools.find(Tool::Yosys)?, cache: cache(), jobs: jobs(args.jobs)?, library: &library, progress: &step };
    let units = flow.elaborate(&source)?;
    let memories = memories(&units)?;
    let start = |what: &'static str| {
        bar.set_message(what);
        bar.set_position(0);
    };
    let map = |target: &Target, what: &'static str| -> anyhow::Result<Design> {
        start(what);
        let units = if args.flat { vec![unit::flat(&units, &source.top)?] } else { units.clone() };
        flow.map(units, &source.top, target)
    };
    let design = map(&Target::Area, "mapping for area")?;
    let faults = design.faults(&library, &source.macros);
    let mut area = report::area(&design, &library);
    (area.total.inferred_memories, area.total.latches) = (faults.memories, faults.latches);
    let fpga = if args.fpga { Some(fpga::count(&map(&Target::Fpga, "mapping to LUTs")?)) } else { None };
    let whole = args.block == "c2p_cache";
    // The one unit whose LUTs the paper gives, by itself: it takes seconds, and all units of a large cache many minutes.
    let engine_luts = if whole {
        start("mapping the BF engine to LUTs");
        fpga::luts_of(&flow, &units, paper::BF_ENGINE)?
    } else {
        None
    };
    let timing = match &sta {
        Some(sta) => {
            let sdc = package.files.iter().find(|f| f.0 == "constraints.sdc").map(|f| f.1.as_str()).unwrap_or_default();
            let clock = args.clock.map_or_else(|| timing::period(sdc), Ok)?;
            let fast = map(&Target::Timing(clock), "mapping for speed")?;
            bar.set_message("timing");
            Some(timing::analyse(&flow, sta, &fast, sdc, clock, &memories)?)
        }
        None => None,
    };
    let equivalence = match args.equivalence {
        Some(largest) => {
            bar.set_message("proving equivalence");
            Some(prove(&flow, &design, largest)?)
        }
        None => None,
    };
    bar.finish_and_clear();
    let paper = match args.block.as_str() {
        _ if whole => paper::table(&ours(&area, &memories, engine_luts)),
        "snakecharmer" => {
            let bits = memories.iter().map(|m| m.rows * m.bits * m.instances).sum();
            paper::snakecharmer(area.total.flip_flops, bits, area.total.area_um2, memories.iter().map(|m| m.area_um2).sum())
        }
        _ => Vec::new(),
    };
    let results = Results { block: args.block.clone(), config, area, memories, paper, timing, fpga, equivalence };
    if let Some(out) = &args.out {
        let files = [
            ("synth.json".to_string(), serde_json::to_string_pretty(&results)? + "\n"),
            ("area.md".to_string(), tables::all(&results, Table::markdown)),
            ("area.svg".to_string(), tables::map(&results.area, &source.top)),
        ];
        add_files(out, &files)?;
    }
    if json {
        print_json(&results)?
    } else {
        show!("{}", tables::all(&results, Table::terminal))
    }
    let mut wrong: Vec<String> = faults.message().into_iter().collect();
    let unproven = results.equivalence.iter().flatten().filter(|p| !p.proven);
    wrong.extend(unproven.map(|p| format!("{} not proven equal: {}", p.name, p.reason)));
    if wrong.is_empty() { Ok(()) } else { Err(CheckFailed(wrong.join("\n")).into()) }
}

/// Our figures for the paper's table.
fn ours(area: &Area, memories: &[Memory], engine_luts: Option<u64>) -> paper::Ours {
    let at_32 = |m: &Memory| m.estimates.iter().find(|e| e.node_nm == 32 && e.ports == Ports::OneROneW).map(|e| e.all_um2);
    let memory: Option<f64> = memories.iter().map(at_32).sum();
    let total = &area.total;
    paper::Ours {
        cells: total.cells,
        flip_flops: total.flip_flops,
        memories: total.inferred_memories,
        area_um2: total.area_um2,
        memory_32nm_um2: memory,
        memory_7nm_um2: memory.map(|a| a * memory::SCALE_32_TO_7),
        engine_luts,
    }
}
