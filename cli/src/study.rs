//! `l1forge study snakecharmer`: what each part of the prefetcher buys.

use crate::common::{ConfigArgs, in_pool, print_json, spinner, write_files};
use anyhow::bail;
use l1forge_sim::snakecharmer::report::{self, Named, Size};
use l1forge_sim::trace::{TraceOptions, TraceReader};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// Arguments of `l1forge study`.
#[derive(clap::Args)]
pub struct Args {
    /// What is studied.
    #[arg(value_parser = ["snakecharmer"])]
    what: String,
    /// Loads of the SM in every run.
    #[arg(long, default_value_t = 10_000)]
    loads: u64,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run every scheme on an Accel-Sim trace instead; traces carry no data, so the zero filter sees none.
    #[arg(long, value_name = "PATH")]
    trace: Option<PathBuf>,
    /// Write tables and plots there.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Runs the study and reports.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    let settings = args.config.settings()?;
    let config = settings.resolve()?;
    if !(100..=1_000_000).contains(&args.loads) {
        bail!("--loads = {}: legal: 100..=1000000", args.loads);
    }
    let size = Size { loads: args.loads, seed: args.seed };
    let bar = spinner(&args.what);
    let (text, document, plots) = if let Some(path) = &args.trace {
        let options = TraceOptions { address_bits: config.address_bits, partial: true };
        let rows = report::trace(&settings, size, &path.display().to_string(), || TraceReader::open(path, options.clone()))??;
        (report::table(&rows), json!({ "trace": values(&rows) }), Vec::new())
    } else {
        let done = AtomicU64::new(0);
        let tell = || bar.set_message(format!("run {} of {}", done.fetch_add(1, Ordering::Relaxed) + 1, report::runs()));
        let study = in_pool(0, || report::study(&settings, size, &tell))?;
        let verdicts = report::verdicts(&study);
        let list: String = verdicts.iter().map(|(what, holds)| format!("* {}: {what}\n", if *holds { "yes" } else { "no" })).collect();
        let document = json!({
            "schemes": values(&study.schemes), "targets": values(&study.targets), "work": values(&study.work), "ablations": values(&study.ablations),
            "astray": values(&study.astray), "workloads": values(&study.workloads),
            "verdicts": verdicts.iter().map(|(what, holds)| json!({ "what": what, "holds": holds })).collect::<Vec<_>>(),
        });
        (format!("{list}\n{}", report::tables(&study)), document, report::plots(&study))
    };
    bar.finish_and_clear();
    if let Some(folder) = &args.out {
        let mut files = plots;
        files.push(("tables.md".into(), text.clone()));
        write_files(folder, &files)?;
    }
    if json {
        return print_json(&document);
    }
    show!("{text}");
    Ok(())
}

fn values(rows: &[Named]) -> Vec<Value> {
    rows.iter().map(|(stream, row)| report::value(stream, row)).collect()
}
