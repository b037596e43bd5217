//! The C2P-Cache in its environment.

use super::{Args, Run, events, object};
use anyhow::bail;
use indicatif::ProgressBar;
use l1forge_config::Config;
use l1forge_sim::c2p::accesses::{Accesses, Failure};
use l1forge_sim::c2p::environment::{Profile, Source, random};
use l1forge_verif::block::BlockModel;
use l1forge_verif::lockstep::{Outcome, Session, SessionError};
use l1forge_verif::record::Recorder;
use l1forge_verif::top::{self, End, TopBench};
use serde_json::json;

/// Runs the whole.
pub fn run(
    args: &Args,
    config: &Config,
    session: Session<'_>,
    recorder: Option<&mut Recorder>,
    bar: &ProgressBar,
) -> anyhow::Result<Result<Run, SessionError>> {
    let failure = Failure::default();
    let outcome = session.run(
        |interface, seed| {
            let (source, profile, end) = source(args, config, &failure);
            let (model, bench) = top::bench(config, interface, profile, source, seed, end);
            let shown = bar.clone();
            (model, bench.on_progress(move |cycles, misses| shown.set_message(format!("cycle {cycles}, {misses} misses"))))
        },
        recorder,
    );
    if let Some(message) = failure.borrow_mut().take() {
        bail!("{message}");
    }
    Ok(outcome.map(|o| result(&o, config.counter_bits)))
}

fn result(outcome: &Outcome<BlockModel<top::Shared>, TopBench>, counter_bits: u32) -> Run {
    let bench = &outcome.bench;
    let (model, rtl) = (bench.model_counters(), bench.rtl_counters());
    let counter = |name: &str| rtl.iter().find(|c| c.0 == name).map_or(0, |c| c.1);
    let outcomes = ["remote_hits", "no_candidate", "all_missed", "busy", "queue_full", "disabled"].map(counter);
    // Counters wrap.
    let sum = outcomes.iter().fold(0, |sum: u64, n| sum.wrapping_add(*n));
    Run {
        cycles: outcome.report.cycles,
        transactions: bench.environment().activity().finished,
        balanced: model == rtl && sum & (u64::MAX >> (64 - counter_bits)) == counter("misses"),
        counters: object(model.iter().copied()),
        rtl_counters: object(rtl.iter().copied()),
        kernels: bench
            .kernels()
            .iter()
            .map(|k| json!({"misses": k.misses, "remote_hits": k.remote_hits, "perfect_hits": k.perfect_hits}))
            .collect(),
        balance: None,
        coverage: outcome.code_coverage.clone(),
    }
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
    let accesses = events(args, config).and_then(|events| Ok(events.map(|e| Accesses::new(e, config)).transpose()?));
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
