//! `l1forge synth`: area by hierarchy, memories apart; timing and LUTs when asked for.

use crate::common::{ConfigArgs, print_json, write_files};
use crate::failure::CheckFailed;
use l1forge_hdl::package::{Package, package};
use l1forge_synth::flow::cache::Cache;
use l1forge_synth::flow::{Flow, Source, Target, jobs, unit};
use l1forge_synth::library::Library;
use l1forge_synth::report::text::{Table, number, percent};
use l1forge_synth::report::{self, Area, paper, picture};
use l1forge_verif::tools::{Tool, Toolbox};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Arguments of `l1forge synth`.
#[derive(clap::Args)]
pub struct Args {
    /// Block to synthesise, the whole C2P-Cache when not given.
    #[arg(long, value_name = "NAME", default_value = "c2p_cache")]
    block: String,
    /// Cell library: asap7 (embedded), or Liberty files, plain or gzip, separated by commas.
    #[arg(long, value_name = "PATH[,PATH…]", default_value = "asap7")]
    library: String,
    /// Flatten the design before it is mapped, as a cross-check of small ones.
    #[arg(long)]
    flat: bool,
    /// Units mapped at the same time; by default as many as cores and memory allow.
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Folder to write synth.json, area.md and area.svg to.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArgs,
}

/// The Verilog of a package, for synthesis.
pub fn source(package: &Package) -> Source {
    let verilog = package.files.iter().filter(|f| f.0.ends_with(".v")).cloned().collect();
    let macros = package.design.memories().into_iter().map(|((name, _), _)| name.to_string()).collect();
    Source { top: package.design.top().to_string(), files: verilog, macros }
}

/// The folder of kept results.
pub fn cache() -> Cache {
    Cache::at(l1forge_verif::cache::Cache::from_env().root().join("synth"))
}

/// A progress bar on standard error.
pub fn progress(text: &str) -> indicatif::ProgressBar {
    let style = indicatif::ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} {elapsed}");
    let bar = indicatif::ProgressBar::new(1).with_message(text.to_string());
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.enable_steady_tick(std::time::Duration::from_millis(250));
    bar
}

/// Maps the design and reports.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    let config = args.config.resolve()?;
    let package = package(&config, &args.block)?;
    let library = Library::load(&args.library)?;
    let source = source(&package);
    let bar = progress("mapping");
    let step = |done: usize, all: usize, _: &str| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    let yosys = Toolbox::from_env().find(Tool::Yosys)?;
    let flow = Flow { yosys, cache: cache(), jobs: jobs(args.jobs)?, library: &library, progress: &step };
    let units = flow.elaborate(&source)?;
    let mapped_units = if args.flat { vec![unit::flat(&units, &source.top)?] } else { units.clone() };
    let design = flow.map(mapped_units, &source.top, &Target::Area)?;
    bar.finish_and_clear();
    let faults = design.faults(&library, &source.macros);
    let mut area = report::area(&design, &library);
    area.total.inferred_memories = faults.memories;
    area.total.latches = faults.latches;
    let memories: Vec<Value> = report::macros(&units)
        .iter()
        .map(|(m, n)| json!({"name": m.name, "rows": m.get("ROWS"), "bits": m.get("BITS"), "instances": n}))
        .collect();
    let ours = paper::Ours {
        cells: area.total.cells,
        flip_flops: area.total.flip_flops,
        memories: faults.memories,
        area_um2: area.total.area_um2,
        ..paper::Ours::default()
    };
    let paper = if args.block == "c2p_cache" { paper::table(&ours) } else { Vec::new() };
    let mut document = serde_json::to_value(&area)?;
    document["memories"] = json!(memories);
    document["paper"] = json!(paper);
    let text = tables(&area, &paper, Table::terminal);
    if let Some(out) = &args.out {
        let markdown = tables(&area, &paper, Table::markdown);
        let files = [
            ("synth.json".to_string(), serde_json::to_string_pretty(&document)? + "\n"),
            ("area.md".to_string(), markdown),
            ("area.svg".to_string(), map(&area, &source.top)),
        ];
        write_files(out, &files)?;
    }
    if json { print_json(&document)? } else { print!("{text}") }
    match faults.message() {
        Some(message) => Err(CheckFailed(message).into()),
        None => Ok(()),
    }
}

fn map(area: &Area, top: &str) -> String {
    let tiles: Vec<_> = area
        .blocks
        .iter()
        .map(|b| picture::Tile { name: b.name.clone(), value: b.area_um2, detail: format!("{} um2, {}", number(b.area_um2.round()), percent(b.share)) })
        .collect();
    picture::treemap(&format!("{top}: {} um2 of cells", number(area.total.area_um2.round())), &tiles)
}

/// All tables of a report, as text of one kind.
fn tables(area: &Area, paper: &[paper::Line], print: impl Fn(&Table) -> String) -> String {
    let mut t = Table::new(&["module (own cells)", "instances", "cells", "flip-flops", "um2", "kGE", "share"]);
    for b in &area.blocks {
        t.row(&[
            b.name.clone(),
            number(b.instances as f64),
            number(b.cells as f64),
            number(b.flip_flops as f64),
            format!("{:.1}", b.area_um2),
            format!("{:.2}", b.kge),
            percent(b.share),
        ]);
    }
    let total = &area.total;
    t.row(&[
        "total".into(),
        String::new(),
        number(total.cells as f64),
        number(total.flip_flops as f64),
        format!("{:.1}", total.area_um2),
        format!("{:.2}", total.kge),
        String::new(),
    ]);
    let mut h = Table::new(&["hierarchy", "instances", "cells", "flip-flops", "um2", "share", "macros"]);
    for n in &area.hierarchy {
        h.row(&[
            format!("{}{}", "· ".repeat(n.depth), n.name),
            number(n.instances as f64),
            number(n.cells as f64),
            number(n.flip_flops as f64),
            format!("{:.1}", n.area_um2),
            percent(n.share),
            number(n.macros as f64),
        ]);
    }
    let mut out = format!("{}\n{}\n", print(&t), print(&h));
    out += &format!(
        "{}; library {}; 1 GE = {} um2; inferred memories: {}, latches: {}\n",
        area.tool, area.library, area.gate_um2, total.inferred_memories, total.latches
    );
    if !paper.is_empty() {
        let mut p = Table::new(&["cost (paper: 64 SMs)", "paper", "ours", "unit", "note"]);
        for l in paper {
            p.row(&[l.what.into(), number(l.paper), l.ours.map_or_else(|| "not run".into(), number), l.unit.into(), l.note.into()]);
        }
        out += &format!("\n{}", print(&p));
    }
    out
}

