//! SnakeCharmer in its environment: warps, L1, MSHRs and memory of one SM.

use super::{Args, Run, events, object};
use anyhow::bail;
use indicatif::ProgressBar;
use l1forge_config::Config;
use l1forge_sim::snakecharmer::environment::Profile;
use l1forge_sim::snakecharmer::memory::Latency;
use l1forge_sim::snakecharmer::streams::{Shape, Stream};
use l1forge_sim::trace::DealParameters;
use l1forge_sim::workload::Workload;
use l1forge_verif::lockstep::{Session, SessionError};
use l1forge_verif::prefetch_top::{self, End, PrefetchBench};
use l1forge_verif::record::Recorder;
use serde_json::{Value, json};
use std::cell::RefCell;

/// Loads of a run of a stream without an end.
const LOADS: u64 = 2000;

/// What the warps do.
pub fn stream(args: &Args, config: &Config) -> anyhow::Result<Stream> {
    let built_in = |shape| Stream::new(shape, (config.sc_warps as usize).min(8), u64::MAX, args.seed);
    if let Some(shape) = shape(args) {
        return Ok(built_in(shape));
    }
    if let Some(name) = &args.workload
        && let Err(error) = Workload::by_name(name)
    {
        bail!("{error}, {}", Shape::ALL.map(Shape::name).join(", "));
    }
    let Some(events) = events(args, config)? else {
        let shape = Shape::ALL[args.seed as usize % Shape::ALL.len()];
        return Ok(built_in(shape).gap(8 * (args.seed % 5) as u32).zeros(60));
    };
    let parameters = DealParameters { sms: config.sms, line_bytes: config.line_bytes, ..DealParameters::default() };
    Ok(Stream::traced(events, parameters, config.sc_warps as usize, usize::MAX)?)
}

/// The stream of the study that was asked for.
fn shape(args: &Args) -> Option<Shape> {
    Shape::ALL.into_iter().find(|shape| args.workload.as_deref() == Some(shape.name()))
}

/// Stalls and end of a run.
fn profile(args: &Args, config: &Config) -> (Profile, End) {
    let listed = args.trace.is_some() || args.workload.is_some();
    let ideal = Profile::ideal(config);
    let profile = match args.stalls.as_deref() {
        Some("slow") => Profile {
            prefetch_ready: 0.1,
            refill_ready: 0.1,
            report: 0.2,
            fill: 0.2,
            latency: Latency { least: 400, most: 900, reorder: true },
            ..ideal
        },
        // The counters stay those of the whole run.
        Some("random") => Profile { clear_statistics: 0.0, ..Profile::random(config, args.seed) },
        None if !listed => Profile { clear_statistics: 0.0, ..Profile::random(config, args.seed) },
        _ => ideal,
    };
    let endless = !listed || shape(args).is_some();
    let default = if endless { End::Loads(LOADS) } else { End::Finished };
    (profile, args.transactions.map_or(default, End::Loads))
}

/// Runs the whole.
pub fn run(
    args: &Args,
    config: &Config,
    first: Stream,
    session: Session<'_>,
    recorder: Option<&mut Recorder>,
    bar: &ProgressBar,
) -> anyhow::Result<Result<Run, SessionError>> {
    // A run with waves reads the demands again.
    let (mut first, failure) = (Some(first), RefCell::new(None));
    let outcome = session.run(
        |interface, seed| {
            let stream = first.take().map_or_else(|| stream(args, config), Ok).unwrap_or_else(|error| {
                failure.replace(Some(error));
                Stream::listed(Vec::new())
            });
            let (profile, end) = profile(args, config);
            let (model, bench) = prefetch_top::bench(config, interface, profile, stream, seed, end);
            let shown = bar.clone();
            (model, bench.on_progress(move |cycles, loads| shown.set_message(format!("cycle {cycles}, {loads} loads"))))
        },
        recorder,
    );
    if let Some(error) = failure.into_inner() {
        return Err(error);
    }
    Ok(outcome.map(|o| Run {
        cycles: o.report.cycles,
        transactions: o.bench.environment().activity().loads,
        counters: object(o.bench.model_counters()),
        rtl_counters: object(o.bench.rtl_counters()),
        balanced: balanced(&o.bench, config.counter_bits),
        kernels: json!([]),
        balance: Some(balance(&o.bench)),
        coverage: o.code_coverage,
    }))
}

/// The counters of model and design are equal, and with the sectors that are still somewhere they add up.
fn balanced(bench: &PrefetchBench, counter_bits: u32) -> bool {
    let rtl = bench.rtl_counters();
    let counter = |name: &str| rtl.iter().find(|c| c.0 == name).map_or(0, |c| c.1);
    let t = bench.totals();
    let still = t.places.iter().sum::<u64>() + t.peb;
    let ended = ["on_time", "early", "late", "unused", "invalidated"].map(counter);
    // Counters wrap.
    let sum = ended.iter().fold(still, |sum, n| sum.wrapping_add(*n));
    rtl == bench.model_counters() && t.balanced() && sum & (u64::MAX >> (64 - counter_bits)) == counter("issued")
}

/// Sectors prefetched, and what became of them.
fn balance(bench: &PrefetchBench) -> (String, Value) {
    let t = bench.totals();
    let [on_time, early, late, unused, invalidated] = t.ends;
    let [outstanding, registers, l1] = t.places;
    let equation = format!(
        "sectors: {} issued = {on_time} on time + {early} early + {late} late + {unused} unused + {invalidated} invalidated \
         + {outstanding} outstanding + {registers} in registers + {l1} in the L1 + {} in the PEB",
        t.issued, t.peb
    );
    let terms = json!({
        "issued": t.issued, "on_time": on_time, "early": early, "late": late, "unused": unused, "invalidated": invalidated,
        "outstanding": outstanding, "in_registers": registers, "in_l1": l1, "in_peb": t.peb,
    });
    (equation, terms)
}
