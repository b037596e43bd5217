//! `l1forge cosim`: the generated design in lockstep with its golden model.

use crate::common::{ConfigArgs, print_json, spinner};
use crate::failure::CheckFailed;
use crate::trace::workload_parameters;
use anyhow::{Context, bail};
use l1forge_config::Config;
use l1forge_sim::c2p::accesses::{Accesses, Events, Failure};
use l1forge_sim::c2p::environment::{Profile, Source, random};
use l1forge_sim::trace::{TraceOptions, TraceReader};
use l1forge_sim::workload::Workload;
use l1forge_verif::block::{BlockModel, design, golden_block, reset_of};
use l1forge_verif::build::{Builder, Stage};
use l1forge_verif::code_coverage::{CodeCoverage, PointKind};
use l1forge_verif::icarus::Icarus;
use l1forge_verif::lockstep::{Outcome, Session, SessionError};
use l1forge_verif::record::Recorder;
use l1forge_verif::tools::Toolbox;
use l1forge_verif::top::{self, End, TopBench};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Arguments of `l1forge cosim`.
#[derive(clap::Args)]
pub struct Args {
    /// Block to simulate, the whole C2P-Cache when not given.
    #[arg(long, value_name = "NAME", default_value = "c2p_cache")]
    block: String,
    /// Accel-Sim trace that the SMs run: a trace file, a list, or a folder.
    #[arg(long, value_name = "PATH", conflicts_with = "workload")]
    trace: Option<PathBuf>,
    /// Built-in workload that the SMs run. Without trace and workload: random accesses and random stalls.
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
    /// Stop after so many misses (blocks: cycles). Default: 2000 for random accesses, 20000 cycles for a block, otherwise to the end.
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
    coverage: Option<CodeCoverage>,
}

/// Runs and reports; a mismatch or a broken rule is a failed check.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    let config = args.config.resolve()?;
    if args.transactions == Some(0) {
        bail!("--transactions = 0: legal: 1 or more");
    }
    if args.block != "c2p_cache" && (args.trace.is_some() || args.workload.is_some() || args.stalls.is_some()) {
        bail!("--block {}: --trace, --workload and --stalls are for c2p_cache", args.block);
    }
    let design = design(&config, &args.block, 0)?.coverage(args.coverage);
    open(args, &config)?; // bad input shows before anything is built
    let bar = spinner("");
    let progress = bar.clone();
    let builder = Builder::from_env().on_progress(move |stage| progress.set_message(stage_text(stage)));
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let recording = folder.path().join("recording");
    let library = builder.build(&design)?;
    let mut recorder = match args.simulator.as_str() {
        "icarus" => Some(Recorder::create(&recording, library.interface()).context("cannot record the run")?),
        _ => None,
    };
    let command = replay(args);
    let mut session = Session::new(&builder, &design, args.seed).reset(reset_of(&config)).command(command);
    match &args.wave {
        Some(path) => session = session.waves(path),
        None => session = session.failure_waves(format!("l1forge-{}-seed{}.fst", args.block, args.seed), 1000),
    }
    let result = if args.block == "c2p_cache" {
        let failure = Failure::default();
        let shown = bar.clone();
        let outcome = session.run(
            |interface, seed| {
                let (source, profile, end) = source(args, &config, &failure);
                let (model, bench) = top::bench(&config, interface, profile, source, seed, end);
                let shown = shown.clone();
                (model, bench.on_progress(move |cycles, misses| shown.set_message(format!("cycle {cycles}, {misses} misses"))))
            },
            recorder.as_mut(),
        );
        if let Some(message) = failure.borrow_mut().take() {
            bail!("{message}");
        }
        outcome.map(|o| of_top(&o, config.counter_bits))
    } else {
        let cycles = args.transactions.unwrap_or(20_000);
        let outcome = session.max_cycles(cycles).run(
            |interface, seed| {
                let block = golden_block(&config, &args.block, 0).unwrap_or_else(|e| unreachable!("checked by design: {e}"));
                let bench = l1forge_verif::stimulus::for_block(&args.block, &config, 0, interface, seed);
                (BlockModel::new(&config, interface, block), bench)
            },
            recorder.as_mut(),
        );
        outcome.map(|o| Run {
            cycles: o.report.cycles,
            transactions: o.report.cycles,
            counters: json!({}),
            rtl_counters: json!({}),
            balanced: true,
            kernels: json!([]),
            coverage: o.code_coverage,
        })
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
    }
    bar.finish_and_clear();
    report(args, json, &run, mismatches)
}

fn report(args: &Args, json: bool, run: &Run, mismatches: u64) -> anyhow::Result<()> {
    let mut document = json!({
        "block": args.block, "cycles": run.cycles, "transactions": run.transactions, "mismatches": mismatches, "seed": args.seed,
        "simulator": args.simulator, "counters": run.counters, "rtl_counters": run.rtl_counters, "balanced": run.balanced, "kernels": run.kernels,
    });
    if let Some(coverage) = &run.coverage {
        document["coverage"] = json!({
            "line_percent": coverage.ratio(PointKind::Line).percent(), "toggle_percent": coverage.ratio(PointKind::Toggle).percent(),
        });
    }
    if json {
        print_json(&document)?;
    } else {
        println!(
            "{} in {}: {} cycles, {} transactions, {mismatches} mismatches, seed {}",
            args.block, args.simulator, run.cycles, run.transactions, args.seed
        );
        for (name, value) in run.counters.as_object().into_iter().flatten() {
            println!("  {name:<24} {value}");
        }
        for (i, k) in run.kernels.as_array().into_iter().flatten().enumerate() {
            println!(
                "  kernel {}: {} misses, {} remote hits (perfect knowledge: {})",
                i + 1,
                k["misses"],
                k["remote_hits"],
                k["perfect_hits"]
            );
        }
        if let Some(c) = document.get("coverage") {
            println!(
                "  coverage: lines {:.1} %, toggles {:.1} %",
                c["line_percent"].as_f64().unwrap_or(0.0),
                c["toggle_percent"].as_f64().unwrap_or(0.0)
            );
        }
        println!("counters of model and RTL are {}", if run.balanced { "equal and balance" } else { "NOT equal or do not balance" });
    }
    if mismatches > 0 || !run.balanced {
        return Err(CheckFailed(format!("{mismatches} mismatches; replay: {}", replay(args))).into());
    }
    Ok(())
}

fn of_top(outcome: &Outcome<BlockModel<top::Shared>, TopBench>, counter_bits: u32) -> Run {
    let bench = &outcome.bench;
    let (model, rtl) = (bench.model_counters(), bench.rtl_counters());
    let counter = |name: &str| rtl.iter().find(|c| c.0 == name).map_or(0, |c| c.1);
    let outcomes = ["remote_hits", "no_candidate", "all_missed", "busy", "queue_full", "disabled"].map(counter);
    // Counters wrap.
    let sum = outcomes.iter().fold(0, |sum: u64, n| sum.wrapping_add(*n));
    let object = |list: &[(&str, u64)]| Value::Object(list.iter().map(|(k, v)| ((*k).to_string(), json!(v))).collect());
    Run {
        cycles: outcome.report.cycles,
        transactions: bench.environment().activity().finished,
        balanced: model == rtl && sum & (u64::MAX >> (64 - counter_bits)) == counter("misses"),
        counters: object(&model),
        rtl_counters: object(&rtl),
        kernels: bench
            .kernels()
            .iter()
            .map(|k| json!({"misses": k.misses, "remote_hits": k.remote_hits, "perfect_hits": k.perfect_hits}))
            .collect(),
        coverage: outcome.code_coverage.clone(),
    }
}

/// The events that the SMs run, if any.
fn open(args: &Args, config: &Config) -> anyhow::Result<Option<Events>> {
    if let Some(path) = &args.trace {
        let options = TraceOptions { address_bits: config.address_bits, ..TraceOptions::default() };
        return Ok(Some(Box::new(TraceReader::open(path, options)?)));
    }
    let Some(name) = &args.workload else { return Ok(None) };
    Ok(Some(Box::new(Workload::by_name(name)?.events(workload_parameters(config, args.seed, args.scale))?)))
}

/// Accesses, stalls and end of a run.
fn source(args: &Args, config: &Config, failure: &Failure) -> (Box<dyn Source>, Profile, End) {
    let profile = match args.stalls.as_deref() {
        Some("slow") => Profile::slow(),
        Some("random") => Profile::random(),
        Some(_) => Profile::ideal(),
        None if args.trace.is_some() || args.workload.is_some() => Profile::ideal(),
        None => Profile::random(),
    };
    let end = args.transactions.map_or(End::Finished, End::Misses);
    let accesses = open(args, config).and_then(|events| Ok(events.map(|e| Accesses::new(e, config)).transpose()?));
    match accesses {
        Ok(Some(accesses)) => {
            // One cell for all runs of the session.
            let inner = accesses.failure();
            let failure = failure.clone();
            let mut accesses = accesses;
            let source = move |sm: usize| {
                let access = accesses.next(sm);
                if let Some(message) = inner.borrow_mut().take() {
                    failure.borrow_mut().get_or_insert(message);
                }
                access
            };
            (Box::new(source), profile, end)
        }
        Ok(None) => {
            // A pool of lines small enough to be shared, spread over the tags.
            let most = u64::MAX >> (64 - config.tag_bits());
            let tags = (0..u64::from(config.sms) * 64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & most).collect();
            (Box::new(random(tags, 0.1, 0.02, args.seed)), profile, End::Misses(args.transactions.unwrap_or(2000)))
        }
        Err(error) => {
            failure.borrow_mut().get_or_insert(error.to_string());
            (Box::new(|_: usize| None), profile, end)
        }
    }
}

fn stage_text(stage: Stage) -> String {
    format!("Verilator: {stage:?}")
}

/// The command that repeats this run.
fn replay(_args: &Args) -> String {
    std::env::args().map(|a| if a.contains([' ', '*', '$', '"']) { format!("'{a}'") } else { a }).collect::<Vec<_>>().join(" ")
}
