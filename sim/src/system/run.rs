//! A whole run: warps on top of the memory path, to the end, with every balance checked.

use super::measures::{BrokenBalance, Measures};
use super::memory::Memory;
use super::parameters::SystemParameters;
use super::prefetch::{NoPrefetch, Prefetcher};
use super::scheme::{Scheme, Sharing};
use super::warps::{RunError, Warps};
use crate::ParameterError;
use crate::trace::Events;
use l1forge_config::Config;

/// Cycles without any event after which a run is given up.
const PATIENCE: u64 = 1_000_000;

/// How far a run is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Cycles so far.
    pub cycles: u64,
    /// Line accesses of loads so far.
    pub accesses: u64,
    /// Kernels started.
    pub kernels: u64,
}

/// What a run counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// The sharing scheme.
    pub scheme: &'static str,
    /// All counts, balanced.
    pub measures: Measures,
    /// Cycles.
    pub cycles: u64,
    /// Instructions of all warps.
    pub instructions: u64,
    /// Kernels.
    pub kernels: u64,
    /// What the scheme counts itself.
    pub scheme_counters: Vec<(&'static str, u64)>,
    /// What all prefetchers together count themselves; empty when there are none.
    pub prefetch_counters: Vec<(&'static str, u64)>,
}

impl Traffic {
    /// Instructions (of warps) per cycle, of the whole chip.
    pub fn ipc(&self) -> f64 {
        if self.cycles == 0 { 0.0 } else { self.instructions as f64 / self.cycles as f64 }
    }

    /// H / (H + M): loads that found a prefetched line, of those and the ones that had to wait for theirs.
    pub fn coverage(&self) -> f64 {
        let (m, p) = (&self.measures, &self.measures.prefetch);
        p.on_time as f64 / (p.on_time + p.late + m.l1_misses).max(1) as f64
    }

    /// H / F: of the lines prefetched, those that were there when they were first loaded.
    pub fn accuracy(&self) -> f64 {
        let p = &self.measures.prefetch;
        p.on_time as f64 / p.issued.max(1) as f64
    }

    /// Mean cycles from a miss to its line.
    pub fn miss_latency(&self) -> f64 {
        let m = &self.measures;
        if m.latencies == 0 { 0.0 } else { m.latency_sum as f64 / m.latencies as f64 }
    }
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// A parameter outside its range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The trace, or an address in it.
    #[error(transparent)]
    Input(#[from] RunError),
    /// The counts contradict each other: an error of the model.
    #[error(transparent)]
    Balance(#[from] BrokenBalance),
    /// The scheme's own counts contradict those of the system.
    #[error("{0}")]
    Scheme(String),
    /// Nothing happens any more.
    #[error("no access was finished for {PATIENCE} cycles, at cycle {0}")]
    Stuck(u64),
}

/// Runs the events through the memory path with a sharing scheme, without prefetching.
///
/// # Errors
/// See [`SystemError`].
///
/// ```
/// use l1forge_sim::system::{Scheme, SystemParameters, run};
/// use l1forge_sim::workload::{Workload, WorkloadParameters};
/// let mut settings = l1forge_config::Settings::default();
/// settings.set_sms(4)?;
/// let events = Workload::VectorAdd.events(WorkloadParameters { sms: 4, scale: 0.1, ..Default::default() })?;
/// let traffic = run(Box::new(events), &settings.resolve()?, &SystemParameters::default(), Scheme::None, |_| {})?;
/// assert_eq!(traffic.measures.l1_misses, traffic.measures.l2_accesses());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(
    events: Events,
    config: &Config,
    parameters: &SystemParameters,
    scheme: Scheme,
    progress: impl FnMut(Progress),
) -> Result<Traffic, SystemError> {
    parameters.check(config)?;
    let prefetchers = (0..config.sms).map(|_| Box::new(NoPrefetch) as Box<dyn Prefetcher>).collect();
    run_with(events, config, parameters, scheme.build(config, parameters), prefetchers, progress)
}

/// Runs the events with any scheme and any prefetchers, one per SM.
///
/// # Errors
/// See [`SystemError`].
pub fn run_with(
    events: Events,
    config: &Config,
    parameters: &SystemParameters,
    sharing: Box<dyn Sharing>,
    prefetchers: Vec<Box<dyn Prefetcher>>,
    mut progress: impl FnMut(Progress),
) -> Result<Traffic, SystemError> {
    let mut memory = Memory::new(config, parameters, sharing, prefetchers)?;
    let mut warps = Warps::new(events, config, parameters)?;
    let (mut now, mut kernels, mut done, mut steps) = (0, 0, Vec::new(), 0_u64);
    while warps.next_kernel(now)?.is_some() {
        kernels += 1;
        let mut last = (now, 0);
        while !(warps.kernel_done() && memory.is_idle()) {
            warps.step(now, &mut memory)?;
            memory.step(now, &mut done);
            warps.done(now, &mut done);
            steps += 1;
            if steps.is_multiple_of(1 << 14) {
                let m = memory.measures();
                progress(Progress { cycles: now, accesses: m.accesses, kernels });
                let finished = m.accesses + m.stores + m.atomics + m.latencies;
                if finished != last.1 {
                    last = (now, finished);
                } else if now - last.0 > PATIENCE {
                    return Err(SystemError::Stuck(now));
                }
            }
            let next = [warps.next(), memory.next(now)].into_iter().flatten().min();
            now = next.unwrap_or(now + 1).max(now + 1);
        }
        memory.flush();
    }
    let (measures, prefetch_counters) = memory.finish()?;
    Ok(Traffic {
        scheme: memory.sharing().name(),
        measures,
        cycles: now,
        instructions: warps.instructions(),
        kernels,
        scheme_counters: memory.sharing().counters(),
        prefetch_counters,
    })
}
