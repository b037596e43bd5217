//! `l1forge cosim`: the generated design in lockstep with its golden model.

mod c2p;
mod prefetch;

use crate::common::{ConfigArgs, print_json, spinner};
use crate::failure::CheckFailed;
use crate::trace::workload_parameters;
use anyhow::{Context, bail};
use l1forge_config::Config;
use l1forge_sim::c2p::accesses::Events;
use l1forge_sim::trace::{TraceOptions, TraceReader};
use l1forge_sim::workload::Workload;
use l1forge_verif::block::{BlockModel, design, golden_block, reset_of};
use l1forge_verif::build::{Builder, Stage};
use l1forge_verif::code_coverage::{CodeCoverage, PointKind};
use l1forge_verif::icarus::Icarus;
use l1forge_verif::lockstep::{Session, SessionError};
use l1forge_verif::record::Recorder;
use l1forge_verif::stimulus;
use l1forge_verif::tools::Toolbox;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Arguments of `l1forge cosim`.
#[derive(clap::Args)]
pub struct Args {
    /// Block to simulate, the whole C2P-Cache when not given.
    #[arg(long, value_name = "NAME", default_value = "c2p_cache")]
    block: String,
    /// Accel-Sim trace that the SMs run (snakecharmer: one SM of them): a trace file, a list, or a folder.
    #[arg(long, value_name = "PATH", conflicts_with = "workload")]
    trace: Option<PathBuf>,
    /// Built-in workload that the SMs run; snakecharmer: one SM of them, or a stream of the study. Without trace and workload: random
    /// accesses and random stalls.
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Factor on the amount of work of a workload.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Stalls of the environment: none, random or slow. Default: none for a trace or workload, otherwise random.
    #[arg(long, value_parser = ["none", "random", "slow"])]
    stalls: Option<String>,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stop after so many misses (snakecharmer: loads, other blocks: cycles). Default: 2000 for random accesses, 20000 cycles for a
    /// block, otherwise to the end.
    #[arg(long, value_name = "T")]
    transactions: Option<u64>,
    /// Simulator. Icarus replays the run of the model and compares every output.
    #[arg(long, default_value = "verilator", value_parser = ["verilator", "icarus"])]
    simulator: String,
    /// Write waves of the whole run (FST).
    #[arg(long, value_name = "FILE")]
    wave: Option<PathBuf>,
    /// Measure line and toggle coverage of the Verilog.
    #[arg(long)]
    coverage: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Result of a run, of the top or of a block.
struct Run {
    cycles: u64,
    transactions: u64,
    counters: Value,
    rtl_counters: Value,
    balanced: bool,
    kernels: Value,
    /// What became of what, where that is more than the counters say: an equation and its terms.
    balance: Option<(String, Value)>,
    coverage: Option<CodeCoverage>,
}

/// Blocks that have an environment of their own.
const TOPS: [&str; 2] = ["c2p_cache", "snakecharmer"];

/// Runs and reports; a mismatch or a broken rule is a failed check.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    let config = args.config.resolve()?;
    if args.transactions == Some(0) {
        bail!("--transactions = 0: legal: 1 or more");
    }
    if !TOPS.contains(&args.block.as_str()) && (args.trace.is_some() || args.workload.is_some() || args.stalls.is_some()) {
        bail!("--block {}: --trace, --workload and --stalls are for {}", args.block, TOPS.join(" and "));
    }
    let design = design(&config, &args.block, 0)?.coverage(args.coverage);
    // Bad input shows before anything is built.
    let stream = match args.block.as_str() {
        "snakecharmer" => Some(prefetch::stream(args, &config)?),
        _ => events(args, &config).map(|_| None)?,
    };
    let bar = spinner("");
    let progress = bar.clone();
    let builder = Builder::from_env().on_progress(move |stage| progress.set_message(stage_text(stage)));
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let recording = folder.path().join("recording");
    let library = builder.build(&design)?;
    let (icarus, top) = (args.simulator == "icarus", TOPS.contains(&args.block.as_str()));
    // A block is recorded at the end, without payloads that mean nothing: in Icarus they are undefined.
    let recorder = (icarus && top).then(|| Recorder::create(&recording, library.interface()));
    let mut recorder = recorder.transpose().context("cannot record the run")?;
    let command = replay(args);
    let mut session = Session::new(&builder, &design, args.seed).command(command);
    if design.clock_name().is_some() {
        session = session.reset(reset_of(&config));
    }
    match &args.wave {
        Some(path) => session = session.waves(path),
        None => session = session.failure_waves(format!("l1forge-{}-seed{}.fst", args.block, args.seed), 1000),
    }
    let result = match (args.block.as_str(), stream) {
        ("c2p_cache", _) => c2p::run(args, &config, session, recorder.as_mut(), &bar)?,
        (_, Some(stream)) => prefetch::run(args, &config, stream, session, recorder.as_mut(), &bar)?,
        (name, None) => block(name, args, &config, session, recorder.as_mut()),
    };
    let run = match result {
        Ok(run) => run,
        Err(SessionError::Failure(failure)) => {
            bar.finish_and_clear();
            if json {
                print_json(
                    &json!({"mismatches": 1, "seed": args.seed, "simulator": args.simulator, "balanced": false, "error": failure.to_string()}),
                )?;
            }
            return Err(CheckFailed(failure.to_string()).into());
        }
        Err(error) => return Err(error.into()),
    };
    let mut mismatches = 0;
    if let Some(recorder) = recorder {
        bar.set_message("Icarus replays the run");
        let recording = recorder.finish().context("cannot finish the recording")?;
        mismatches = Icarus::new(Toolbox::from_env()).run(&design, &recording)?.mismatches;
    } else if icarus {
        bar.set_message("Icarus runs the block");
        let replay = stimulus::record(&args.block, &config, 0, args.seed, run.cycles, &recording)?;
        mismatches = Icarus::new(Toolbox::from_env()).run(&replay.design, &replay.recording)?.mismatches;
    }
    bar.finish_and_clear();
    report(args, json, &run, mismatches)
}

/// Runs a block alone.
fn block(name: &str, args: &Args, config: &Config, session: Session<'_>, recorder: Option<&mut Recorder>) -> Result<Run, SessionError> {
    let outcome = session.max_cycles(args.transactions.unwrap_or(20_000)).run(
        |interface, seed| {
            let block = golden_block(config, name, 0).unwrap_or_else(|e| unreachable!("checked by design: {e}"));
            let bench = stimulus::for_block(name, config, 0, interface, seed);
            (BlockModel::new(config, interface, block), bench)
        },
        recorder,
    )?;
    let counters = outcome.bench.counters();
    Ok(Run {
        cycles: outcome.report.cycles,
        transactions: outcome.report.cycles,
        counters: object(counters.iter().map(|c| (c.0.as_str(), c.1))),
        rtl_counters: object(counters.iter().map(|c| (c.0.as_str(), c.2))),
        balanced: counters.iter().all(|c| c.1 == c.2),
        kernels: json!([]),
        balance: None,
        coverage: outcome.code_coverage,
    })
}

fn report(args: &Args, json: bool, run: &Run, mismatches: u64) -> anyhow::Result<()> {
    let mut document = json!({
        "block": args.block, "cycles": run.cycles, "transactions": run.transactions, "mismatches": mismatches, "seed": args.seed,
        "simulator": args.simulator, "counters": run.counters, "rtl_counters": run.rtl_counters, "balanced": run.balanced, "kernels": run.kernels,
    });
    if let Some((_, terms)) = &run.balance {
        document["balance"] = terms.clone();
    }
    if let Some(coverage) = &run.coverage {
        document["coverage"] = json!({
            "line_percent": coverage.ratio(PointKind::Line).percent(), "toggle_percent": coverage.ratio(PointKind::Toggle).percent(),
        });
    }
    if json {
        print_json(&document)?;
    } else {
        say!(
            "{} in {}: {} cycles, {} transactions, {mismatches} mismatches, seed {}",
            args.block,
            args.simulator,
            run.cycles,
            run.transactions,
            args.seed
        );
        for (name, value) in run.counters.as_object().into_iter().flatten() {
            say!("  {name:<24} {value}");
        }
        for (i, k) in run.kernels.as_array().into_iter().flatten().enumerate() {
            say!("  kernel {}: {} misses, {} remote hits (perfect knowledge: {})", i + 1, k["misses"], k["remote_hits"], k["perfect_hits"]);
        }
        if let Some((equation, _)) = &run.balance {
            say!("  {equation}");
        }
        if let Some(c) = document.get("coverage") {
            say!(
                "  coverage: lines {:.1} %, toggles {:.1} %",
                c["line_percent"].as_f64().unwrap_or(0.0),
                c["toggle_percent"].as_f64().unwrap_or(0.0)
            );
        }
        say!("counters of model and RTL are {}", if run.balanced { "equal and balance" } else { "NOT equal or do not balance" });
    }
    if mismatches > 0 || !run.balanced {
        return Err(CheckFailed(format!("{mismatches} mismatches; replay: {}", replay(args))).into());
    }
    Ok(())
}

/// The events of the trace or workload that the SMs run, if any.
fn events(args: &Args, config: &Config) -> anyhow::Result<Option<Events>> {
    if let Some(path) = &args.trace {
        let options = TraceOptions { address_bits: config.address_bits, ..TraceOptions::default() };
        return Ok(Some(Box::new(TraceReader::open(path, options)?)));
    }
    let Some(name) = &args.workload else { return Ok(None) };
    Ok(Some(Box::new(Workload::by_name(name)?.events(workload_parameters(config, args.seed, args.scale))?)))
}

/// Counters as a JSON object, in their order.
fn object<'a>(list: impl IntoIterator<Item = (&'a str, u64)>) -> Value {
    Value::Object(list.into_iter().map(|(name, value)| (name.to_string(), json!(value))).collect())
}

fn stage_text(stage: Stage) -> String {
    format!("Verilator: {stage:?}")
}

/// The command that repeats this run.
fn replay(_args: &Args) -> String {
    std::env::args().map(|a| if a.contains([' ', '*', '$', '"']) { format!("'{a}'") } else { a }).collect::<Vec<_>>().join(" ")
}
