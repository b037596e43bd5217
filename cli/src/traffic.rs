//! `l1forge traffic`: the whole memory path with a sharing scheme.

use crate::common::{ConfigArgs, print_json, spinner};
use crate::failure::CheckFailed;
use crate::trace::workload_parameters;
use anyhow::bail;
use l1forge_config::Config;
use l1forge_sim::c2p::C2pCache;
use l1forge_sim::snakecharmer::study::configuration;
use l1forge_sim::system::scheme::C2p;
use l1forge_sim::system::{Scheme, Sharing, SystemError, SystemParameters, Traffic, prefetch, run_with};
use l1forge_sim::trace::{Events, TraceOptions, TraceReader};
use l1forge_sim::workload::Workload;
use l1forge_verif::block::design;
use l1forge_verif::build::Builder;
use l1forge_verif::rtl_block::{RtlBlock, Verdict};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Arguments of `l1forge traffic`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("events").required(true).args(["trace", "workload"])))]
pub struct Args {
    /// Accel-Sim trace: a trace file, a list, or a folder.
    #[arg(long, value_name = "PATH")]
    trace: Option<PathBuf>,
    /// Built-in workload.
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Sharing scheme: none, c2p, oracle, ata, ccd, ring.
    #[arg(long, value_name = "NAME", default_value = "none")]
    scheme: String,
    /// Prefetcher: none, snake, snakecharmer, apogee, apogee-sc; Snake with parts of SnakeCharmer: sk-zf, sk-scc, sk-prt, zf-scc, scc-prt,
    /// prt-zf.
    #[arg(long, value_name = "NAME", default_value = "none")]
    prefetch: String,
    /// With scheme c2p: the generated Verilog in the loop, in lockstep with the model.
    #[arg(long)]
    rtl: bool,
    /// Factor on the amount of work of a workload.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Hardware configuration; the memory path takes --set system.KEY=VALUE.
    #[command(flatten)]
    config: ConfigArgs,
}

/// Runs and reports; a broken balance is a failed check.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    let (settings, parameters) = args.config.settings_with_system()?;
    let scheme = Scheme::by_name(&args.scheme)?;
    let prefetching = prefetch::by_name(&args.prefetch)?;
    let config = if prefetching.prefetch { configuration(&settings, &prefetching)? } else { settings.resolve()? };
    args.config.check_system(&settings, &parameters, &config)?;
    if args.rtl && scheme != Scheme::C2p {
        bail!("--rtl: legal with --scheme c2p only");
    }
    let events = events(args, &config)?;
    let bar = spinner("");
    let show =
        |p: l1forge_sim::system::Progress| bar.set_message(format!("cycle {}, {} accesses, kernel {}", p.cycles, p.accesses, p.kernels));
    let mut mismatch = None;
    let prefetchers = prefetch::build(&prefetching, &config, &parameters);
    let result = if args.rtl {
        let (sharing, verdict) = rtl(&config, &parameters, args.seed, &bar)?;
        let result = run_with(events, &config, &parameters, sharing, prefetchers, show);
        mismatch = verdict.borrow_mut().take();
        result
    } else {
        run_with(events, &config, &parameters, scheme.build(&config, &parameters), prefetchers, show)
    };
    bar.finish_and_clear();
    if let Some(mismatch) = mismatch {
        if json {
            print_json(&json!({"scheme": scheme.name(), "balanced": false, "error": mismatch}))?;
        }
        return Err(CheckFailed(format!("RTL and model differ: {mismatch}")).into());
    }
    let traffic = match result {
        Ok(traffic) => traffic,
        Err(e @ (SystemError::Balance(_) | SystemError::Scheme(_) | SystemError::Stuck(_))) => {
            if json {
                print_json(&json!({"scheme": scheme.name(), "balanced": false, "error": e.to_string()}))?;
            }
            return Err(CheckFailed(e.to_string()).into());
        }
        Err(e) => return Err(e.into()),
    };
    if json {
        return print_json(&document(&traffic, &config, &parameters, args));
    }
    show!("{}", text(&traffic));
    Ok(())
}

/// The RTL as sharing scheme, and where a mismatch will be found.
fn rtl(config: &Config, p: &SystemParameters, seed: u64, bar: &indicatif::ProgressBar) -> anyhow::Result<(Box<dyn Sharing>, Verdict)> {
    let shown = bar.clone();
    let builder = Builder::from_env().on_progress(move |stage| shown.set_message(format!("Verilator: {stage:?}")));
    let library = builder.build(&design(config, "c2p_cache", 0)?)?;
    let block = RtlBlock::new(config, &library, Box::new(C2pCache::new(config)), seed)?;
    let verdict = block.verdict();
    Ok((Box::new(C2p::with_block(config, p, Box::new(block))), verdict))
}

fn events(args: &Args, config: &Config) -> anyhow::Result<Events> {
    if let Some(path) = &args.trace {
        let options = TraceOptions { address_bits: config.address_bits, ..TraceOptions::default() };
        return Ok(Box::new(TraceReader::open(path, options)?));
    }
    let name = args.workload.as_deref().unwrap_or_default();
    Ok(Box::new(Workload::by_name(name)?.events(workload_parameters(config, args.seed, args.scale))?))
}

/// The counts of a run as JSON; `docs/guide/traffic.md` defines them.
pub fn document(t: &Traffic, config: &Config, parameters: &SystemParameters, args: &Args) -> Value {
    let mut document = counts(t);
    document["prefetcher"] = json!(args.prefetch);
    document["workload"] = json!(args.workload);
    document["seed"] = json!(args.seed);
    document["scale"] = json!(args.scale);
    document["sms"] = json!(config.sms);
    document["system"] = json!(parameters);
    document
}

/// The counts of a run alone.
pub fn counts(t: &Traffic) -> Value {
    let m = &t.measures;
    let (c, p) = (&m.candidates, &m.prefetch);
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    json!({
        "scheme": t.scheme,
        "accesses": m.accesses, "l1_hits": m.l1_hits, "l1_merged": m.l1_merged, "register_hits": m.register_hits, "l1_misses": m.l1_misses,
        "stores": m.stores, "atomics": m.atomics,
        "remote_hits": m.remote_hits, "perfect_hits": m.perfect_hits, "in_flight_elsewhere": m.in_flight_elsewhere,
        "l2_accesses": m.l2_accesses(), "l2_loads": m.l2_loads, "l2_stores": m.l2_stores, "l2_hits": m.l2_hits, "l2_merged": m.l2_merged,
        "dram_fills": m.dram_fills, "write_backs": m.write_backs,
        "probes": {"total": m.probes, "stray": m.probes_stray, "hit": m.probes_hit.summary(), "miss": m.probes_miss.summary()},
        "candidates": {"tp": c.tp, "fp": c.fp, "fn": c.fn_, "tn": c.tn, "unshareable": c.unshareable},
        "prefetch": {
            "issued": p.issued, "on_time": p.on_time, "early": p.early, "late": p.late, "unused": p.unused,
            "invalidated": p.invalidated, "coverage": t.coverage(), "accuracy": t.accuracy(), "used": share(p.on_time + p.late, p.issued),
            "l2": m.l2_prefetches, "remote": m.remote_prefetches,
        },
        "cycles": t.cycles, "instructions": t.instructions, "ipc": t.ipc(), "kernels": t.kernels,
        "miss_latency": t.miss_latency(), "stalls": m.stalls,
        "scheme_counters": map(&t.scheme_counters), "prefetch_counters": map(&t.prefetch_counters),
        "balanced": true, // an unbalanced run is an error
    })
}

fn map(counters: &[(&str, u64)]) -> serde_json::Map<String, Value> {
    counters.iter().map(|(name, value)| ((*name).to_string(), json!(value))).collect()
}

fn text(t: &Traffic) -> String {
    let m = &t.measures;
    let c = &m.candidates;
    let percent = |part: u64, whole: u64| if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    let (hit, miss) = (m.probes_hit.summary(), m.probes_miss.summary());
    // Whoever asks for a line that may be shared: prefetches too.
    let shareable = c.tp + c.fp + c.fn_ + c.tn;
    let asked = if m.prefetch.issued > 0 { "shareable misses and prefetches" } else { "shareable misses" };
    let mut lines = vec![
        format!("{}: {} cycles, {:.2} instructions per cycle, {} kernels", t.scheme, t.cycles, t.ipc(), t.kernels),
        format!(
            "  loads        {} lines, {:.1} % in the own L1 ({} of them on their way)",
            m.accesses,
            percent(m.l1_hits, m.accesses),
            m.l1_merged
        ),
        format!("  misses       {}, {:.1} cycles each on average", m.l1_misses, t.miss_latency()),
        format!(
            "  remote hits  {} ({:.1} % of misses); perfect knowledge: {} ({:.1} % of {asked}); in flight elsewhere: {} ({:.1} %)",
            m.remote_hits,
            percent(m.remote_hits, m.l1_misses),
            m.perfect_hits,
            percent(m.perfect_hits, shareable),
            m.in_flight_elsewhere,
            percent(m.in_flight_elsewhere, shareable)
        ),
        format!("  L2           {} accesses, {} hits, {} DRAM fills, {} stores", m.l2_accesses(), m.l2_hits, m.dram_fills, m.l2_stores),
        format!("  candidates   tp {} fp {} fn {} tn {}", c.tp, c.fp, c.fn_, c.tn),
        format!(
            "  probes       hits: mean {:.2}, P90 {}, P95 {}, P99 {}, max {}; misses: mean {:.2}, P90 {}, P95 {}, P99 {}, max {}",
            hit.mean, hit.p90, hit.p95, hit.p99, hit.max, miss.mean, miss.p90, miss.p95, miss.p99, miss.max
        ),
    ];
    let p = &m.prefetch;
    if p.issued > 0 {
        lines.push(format!(
            "  prefetches   {}: on time {} ({} loads from registers), late {}, early {}, unused {}, invalidated {}; coverage {:.1} %, accuracy {:.1} %",
            p.issued,
            p.on_time,
            m.register_hits,
            p.late,
            p.early,
            p.unused,
            p.invalidated,
            100.0 * t.coverage(),
            100.0 * t.accuracy()
        ));
    }
    lines.extend(t.scheme_counters.iter().chain(&t.prefetch_counters).map(|(name, value)| format!("    {name:<24} {value}")));
    lines.push("all balances hold\n".into());
    lines.join("\n")
}
