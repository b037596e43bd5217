//! `l1forge experiment`: the papers' sensitivity studies.

use crate::common::{in_pool, print_json};
use crate::failure::CheckFailed;
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use l1forge_config::{Settings, preset_values};
use l1forge_sim::system::SystemError;
use l1forge_sim::system::experiment::{ExperimentError, Record, Task, by_name, evaluate, names};
use l1forge_sim::workload::Workload;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `l1forge experiment`.
#[derive(clap::Args)]
pub struct Args {
    /// Study; `list` prints the names.
    name: String,
    /// Folder for NAME.csv, NAME.json, NAME.svg, NAME.md and the results of single runs, which a later call goes on from.
    #[arg(long, value_name = "DIR", default_value = "out/experiments")]
    out: PathBuf,
    /// Workload; may be repeated. Default: all but the stress test.
    #[arg(long, value_name = "NAME")]
    workload: Vec<String>,
    /// Preset for all runs, the ones compared with too.
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Set one key, or system.KEY, for all runs; may be repeated. The study's own keys go last.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// SMs.
    #[arg(long, value_name = "N", default_value_t = 64)]
    sms: u32,
    /// Factor on the amount of work.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Seed of the workloads.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs at the same time; 0: as many as the machine has cores.
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// Runs what is not there yet, and writes the result.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    if args.name == "list" {
        let names = names();
        if json {
            return print_json(&names);
        }
        say!("{}", names.join("\n"));
        return Ok(());
    }
    let experiment = by_name(&args.name)?;
    let workloads = match args.workload.as_slice() {
        [] => Workload::ALL.into_iter().filter(|w| *w != Workload::Contend).collect(),
        names => names.iter().map(|n| Workload::by_name(n)).collect::<Result<Vec<_>, _>>()?,
    };
    if let Some(twice) = args.workload.iter().enumerate().find(|(i, name)| args.workload[..*i].contains(name)) {
        bail!("--workload {}: legal: each workload once", twice.1);
    }
    if args.threads > 256 {
        bail!("--threads {}: legal: 0 to 256", args.threads);
    }
    let common = common_settings(args)?;
    let mut tasks: Vec<Vec<Task>> = workloads.iter().map(|w| experiment.tasks(*w, args.sms, args.seed, args.scale)).collect();
    for task in tasks.iter_mut().flatten() {
        task.settings.splice(0..0, common.iter().cloned());
        task.resolve()?; // bad input shows before anything is run
    }
    let runs = args.out.join("runs");
    std::fs::create_dir_all(&runs).with_context(|| format!("--out {}: cannot make the folder", args.out.display()))?;
    let program = program()?;
    let mut all: Vec<(String, &Task)> = tasks.iter().flatten().map(|t| (key(&program, t), t)).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.dedup_by(|a, b| a.0 == b.0);
    let bar = ProgressBar::new(all.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{pos}/{len} runs {wide_bar} {elapsed}, {eta} left") {
        bar.set_style(style);
    }
    bar.tick();
    let failures: Vec<anyhow::Error> = in_pool(args.threads, || {
        let one = |(key, task): &(String, &Task)| {
            let result = perform(&runs, key, task);
            bar.inc(1);
            result.err()
        };
        all.par_iter().filter_map(one).collect()
    });
    bar.finish_and_clear();
    if let Some(error) = failures.into_iter().next() {
        return Err(error);
    }
    let mut records = Vec::new();
    for (workload, tasks) in workloads.iter().zip(&tasks) {
        let list =
            tasks.iter().map(|t| known(&runs, &key(&program, t)).context("a result vanished")).collect::<anyhow::Result<Vec<Record>>>()?;
        records.push((*workload, list));
    }
    let outcome = evaluate(&experiment, &records);
    let command: Vec<String> = std::env::args().skip(1).collect();
    let page = outcome.page(&experiment, &format!("l1forge {}", command.join(" ")));
    let file = |end: &str, text: &str| write(&args.out.join(format!("{}.{end}", experiment.name)), text);
    file("csv", &outcome.csv())?;
    file("json", &(serde_json::to_string_pretty(&outcome)? + "\n"))?;
    if let Some(svg) = outcome.svg(&experiment) {
        file("svg", &svg)?;
    }
    file("md", &page)?;
    if json { print_json(&outcome) } else { Ok(std::io::stdout().write_all(page.as_bytes())?) }
}

/// Settings of all runs: the preset, then `--set`.
fn common_settings(args: &Args) -> anyhow::Result<Vec<String>> {
    let mut common = Vec::new();
    if let Some(preset) = &args.preset {
        Settings::preset(preset)?; // an unknown name is refused with the legal ones
        common.extend(preset_values(preset).into_iter().flatten().map(|(key, value)| format!("{key}={value}")));
    }
    common.extend(args.set.iter().cloned());
    if let Some(sms) = common.iter().find(|s| s.split('=').next().is_some_and(|key| key.trim() == "sms")) {
        bail!("--set {sms}: legal: --sms N");
    }
    Ok(common)
}

/// Tells this program from others: a result of another one, with other defaults or models, must not be found.
fn program() -> anyhow::Result<String> {
    let path = std::env::current_exe().context("cannot find the program's own file")?;
    // Not read as a whole: it is larger than all that a run needs.
    let mut hash = Sha256::new();
    std::fs::File::open(&path)
        .and_then(|mut f| std::io::copy(&mut f, &mut hash))
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(hex(hash))
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().take(12).map(|b| format!("{b:02x}")).collect()
}

/// Name of the file that holds the result of a run.
fn key(program: &str, task: &Task) -> String {
    let text = serde_json::to_string(task).unwrap_or_else(|e| unreachable!("plain values: {e}"));
    hex(Sha256::new_with_prefix(format!("{program} {text}")))
}

fn known(runs: &Path, key: &str) -> Option<Record> {
    serde_json::from_str(&std::fs::read_to_string(runs.join(key)).ok()?).ok()
}

/// Runs a task whose result is not there yet.
fn perform(runs: &Path, key: &str, task: &Task) -> anyhow::Result<()> {
    if known(runs, key).is_some() {
        return Ok(());
    }
    let record = task.run().map_err(|e| match e {
        ExperimentError::Run(_, SystemError::Balance(_) | SystemError::Scheme(_) | SystemError::Stuck(_)) => {
            CheckFailed(e.to_string()).into()
        }
        e => anyhow::Error::from(e),
    })?;
    write(&runs.join(key), &serde_json::to_string(&record)?)
}

/// Writes a file whole or not at all.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    written.with_context(|| format!("--out: cannot write {}", path.display()))
}
