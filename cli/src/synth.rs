//! `l1forge synth`: cells per module.

use crate::common::{ConfigArgs, print_json, spinner};
use crate::failure::CheckFailed;
use l1forge_hdl::package::package;
use l1forge_verif::tools::{Tool, Toolbox};

/// Arguments of `l1forge synth`.
#[derive(clap::Args)]
pub struct Args {
    /// Block to synthesise, the whole C2P-Cache when not given.
    #[arg(long, value_name = "NAME", default_value = "c2p_cache")]
    block: String,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Generates, maps to generic gates with Yosys, hierarchy kept, and counts.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    let config = args.config.resolve()?;
    let package = package(&config, &args.block)?;
    let yosys = Toolbox::from_env().find(Tool::Yosys)?;
    let folder = tempfile::tempdir()?;
    package.design.write_to(folder.path())?;
    let files: Vec<_> = package.design.files().iter().map(|f| folder.path().join(&f.0)).collect();
    let log = std::env::temp_dir().join(format!("l1forge-synth-{}.log", std::process::id()));
    let bar = spinner("Yosys synthesises");
    let report = l1forge_synth::cells(&yosys, &files, package.design.top(), &log);
    bar.finish_and_clear();
    let report = report?;
    let _ = std::fs::remove_file(&log);
    if json {
        print_json(&report)?;
    } else {
        println!("{:<24} {:>9} {:>10} {:>11}", "module", "instances", "cells", "flip-flops");
        for b in &report.blocks {
            println!("{:<24} {:>9} {:>10} {:>11}", b.name, b.instances, b.cells, b.flip_flops);
        }
        println!("{:<24} {:>9} {:>10} {:>11}", "total", "", report.total.cells, report.total.flip_flops);
        for m in &report.memories {
            println!("{} memory macros {}", m.instances, m.name);
        }
        println!(
            "generic gates of {}; inferred memories: {}, latches: {}",
            report.tool, report.total.inferred_memories, report.total.latches
        );
    }
    if report.total.inferred_memories + report.total.latches > 0 {
        return Err(CheckFailed("the synthesiser inferred memories or latches".into()).into());
    }
    Ok(())
}
