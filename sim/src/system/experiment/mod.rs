//! The papers' sensitivity studies: what is run, what the paper says, and what is made of the two.
//!
//! An [`Experiment`] is a list of [`Point`]s; each is run on every workload, with a baseline beside it. Workloads are put into the four groups
//! of the C2P paper by two measurements of the baseline, with thresholds fixed before any result was seen: [`REDUNDANT`] and [`SENSITIVE`].
//! A [`Claim`] compares two points; its [`Finding`] says whether the direction of the paper is reproduced, weaker or contrary.

mod catalogue;
mod outcome;
mod page;
mod prefetching;

pub use catalogue::{by_name, names};
pub use outcome::{ClaimOutcome, Finding, Outcome, PointOutcome, Value, evaluate};

use super::histogram::Histogram;
use super::measures::PrefetchCounts;
use super::parameters::SystemParameters;
use super::prefetch;
use super::run::{SystemError, Traffic, run_with};
use super::scheme::Scheme;
use crate::ParameterError;
use crate::snakecharmer::study::configuration;
use crate::workload::{Workload, WorkloadParameters};
use l1forge_config::{Config, ConfigError, Settings};
use serde::{Deserialize, Serialize};

/// R1: at least this share of the baseline's load misses are for a line that another L1 holds or has in flight.
pub const REDUNDANT: f64 = 0.5;
/// S1: the baseline loses at least this share of its IPC when the L2 takes [`SLOWER`] cycles longer.
pub const SENSITIVE: f64 = 0.1;
/// Cycles added to the L2 latency to measure sensitivity.
pub const SLOWER: u32 = 100;

/// Group of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Class {
    /// Little redundancy, insensitive to latency.
    R0S0,
    /// Redundant, insensitive.
    R1S0,
    /// Little redundancy, sensitive.
    R0S1,
    /// Redundant and sensitive: what sharing is for.
    R1S1,
}

impl Class {
    /// All groups.
    pub const ALL: [Self; 4] = [Self::R0S0, Self::R1S0, Self::R0S1, Self::R1S1];

    /// The group of a measured redundancy and sensitivity.
    pub fn of(redundancy: f64, sensitivity: f64) -> Self {
        match (redundancy >= REDUNDANT, sensitivity >= SENSITIVE) {
            (false, false) => Self::R0S0,
            (true, false) => Self::R1S0,
            (false, true) => Self::R0S1,
            (true, true) => Self::R1S1,
        }
    }
}

/// One configuration of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Its label.
    pub label: String,
    /// Its place on the x axis.
    pub x: f64,
    /// The scheme.
    pub scheme: Scheme,
    /// The prefetching scheme.
    pub prefetch: &'static str,
    /// Settings of the run, `key=value` or `system.key=value`.
    pub settings: Vec<String>,
    /// Those of them that the baseline, without sharing and prefetching, has too.
    pub baseline: Vec<String>,
    /// IPC change over the baseline that the paper gives for R1S1, in percent; for studies of prefetching coverage, in percent.
    pub paper: Option<f64>,
}

/// What the paper says about two points.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// In words.
    pub text: String,
    /// What is compared.
    pub measure: Measure,
    /// The group; `None`: all workloads.
    pub class: Option<Class>,
    /// Index of the point that is said to be better, and of the other; `None`: the baseline.
    pub better: usize,
    /// See `better`.
    pub worse: Option<usize>,
    /// By how much, in percentage points, in the paper. About 0: said to make no difference.
    pub paper: f64,
}

/// What a claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Change of the IPC over the baseline, in percent.
    Ipc,
    /// L2 accesses saved, in percent of the baseline's.
    L2Saved,
    /// TP + TN, in percent of the misses.
    Pruning,
    /// Coverage of the prefetcher, in percent.
    Coverage,
    /// Its accuracy, in percent.
    Accuracy,
    /// Prefetches on time, in percent of those asked for.
    OnTime,
    /// Lines from DRAM saved, in percent of the baseline's.
    DramSaved,
}

/// What a study is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Sharing of L1s.
    Sharing,
    /// Prefetching.
    Prefetching,
}

/// A study.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Its name.
    pub name: &'static str,
    /// What it is about.
    pub subject: Subject,
    /// Its title.
    pub title: &'static str,
    /// What x is.
    pub x_label: &'static str,
    /// x is logarithmic.
    pub log_x: bool,
    /// The points.
    pub points: Vec<Point>,
    /// The claims.
    pub claims: Vec<Claim>,
    /// What to know when reading the result.
    pub note: &'static str,
}

/// One simulation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The workload.
    pub workload: Workload,
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the prefetching scheme.
    pub prefetch: String,
    /// Settings, `key=value` or `system.key=value`.
    pub settings: Vec<String>,
    /// SMs.
    pub sms: u32,
    /// Seed of the workload.
    pub seed: u64,
    /// Scale of the workload.
    pub scale: f64,
}

/// What is kept of one simulation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)] // the names are those of Measures
pub struct Record {
    pub cycles: u64,
    pub ipc: f64,
    pub misses: u64,
    pub remote_hits: u64,
    pub perfect_hits: u64,
    pub in_flight_elsewhere: u64,
    pub l2_accesses: u64,
    pub dram_fills: u64,
    pub candidates: [u64; 4],
    pub probes_hit: Histogram,
    pub probes_miss: Histogram,
    pub miss_latency: f64,
    pub dropped_fills: u64,
    pub notices: u64,
    /// Issued, on time, early, late, unused, invalidated.
    pub prefetches: [u64; 6],
    pub coverage: f64,
    pub accuracy: f64,
    /// Candidates with data, of these suppressed; all zero, of these passed on.
    pub filtered: [u64; 4],
}

/// Why a study fails.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A setting.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A parameter.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A run.
    #[error("{0}: {1}")]
    Run(String, SystemError),
}

impl Task {
    /// Configuration and parameters of the run.
    ///
    /// # Errors
    /// An illegal setting.
    pub fn resolve(&self) -> Result<(Config, SystemParameters), ExperimentError> {
        let (mut settings, mut parameters) = (Settings::default(), SystemParameters::default());
        settings.set_sms(self.sms)?;
        for setting in &self.settings {
            match setting.strip_prefix("system.").and_then(|s| s.split_once('=')) {
                Some((key, value)) => parameters.set(key, value)?,
                None => settings.set(setting)?,
            }
        }
        let scheme = prefetch::by_name(&self.prefetch)?;
        let config = if scheme.prefetch { configuration(&settings, &scheme)? } else { settings.resolve()? };
        parameters.check(&config)?;
        Ok((config, parameters))
    }

    /// Runs it.
    ///
    /// # Errors
    /// An illegal setting, or a run that fails, a broken balance among others.
    pub fn run(&self) -> Result<Record, ExperimentError> {
        let (config, parameters) = self.resolve()?;
        let scheme = Scheme::by_name(&self.scheme)?;
        let (sms, seed, scale, line_bytes) = (config.sms, self.seed, self.scale, config.line_bytes);
        let work = WorkloadParameters { sms, scale, seed, line_bytes, ..WorkloadParameters::default() };
        let events = self.workload.events(work)?;
        let prefetchers = prefetch::build(&prefetch::by_name(&self.prefetch)?, &config, &parameters);
        let traffic = run_with(Box::new(events), &config, &parameters, scheme.build(&config, &parameters), prefetchers, |_| {})
            .map_err(|e| ExperimentError::Run(format!("{} with {} and {}", self.workload, self.scheme, self.prefetch), e))?;
        Ok(Record::of(&traffic))
    }
}

impl Record {
    fn of(t: &Traffic) -> Self {
        let m = &t.measures;
        let named = |list: &[(&str, u64)], name: &str| list.iter().find(|c| c.0 == name).map_or(0, |c| c.1);
        let counter = |name| named(&t.scheme_counters, name);
        let c = &m.candidates;
        Self {
            cycles: t.cycles,
            ipc: t.ipc(),
            misses: m.l1_misses,
            remote_hits: m.remote_hits,
            perfect_hits: m.perfect_hits,
            in_flight_elsewhere: m.in_flight_elsewhere,
            l2_accesses: m.l2_accesses(),
            dram_fills: m.dram_fills,
            candidates: [c.tp, c.fp, c.fn_, c.tn],
            probes_hit: m.probes_hit.clone(),
            probes_miss: m.probes_miss.clone(),
            miss_latency: t.miss_latency(),
            dropped_fills: counter("dropped_fills"),
            notices: counter("notices"),
            prefetches: {
                let PrefetchCounts { issued, on_time, early, late, unused, invalidated, .. } = m.prefetch;
                [issued, on_time, early, late, unused, invalidated]
            },
            coverage: t.coverage(),
            accuracy: t.accuracy(),
            filtered: ["useful", "useful_suppressed", "zero", "zero_passed"].map(|name| named(&t.prefetch_counters, name)),
        }
    }

    /// Share of the load misses whose line another L1 held or had in flight.
    pub fn redundancy(&self) -> f64 {
        (self.perfect_hits + self.in_flight_elsewhere) as f64 / self.misses.max(1) as f64
    }
}

impl Experiment {
    /// All simulations for one workload: baseline, slower baseline, then baseline and run of each point. Equal ones occur once only in
    /// what is run, because results are kept by task.
    pub fn tasks(&self, workload: Workload, sms: u32, seed: u64, scale: f64) -> Vec<Task> {
        let task = |scheme: Scheme, prefetch: &str, settings: &[String]| Task {
            workload,
            scheme: scheme.name().into(),
            prefetch: prefetch.into(),
            settings: settings.to_vec(),
            sms,
            seed,
            scale,
        };
        let slower = vec![format!("l2_latency={}", 200 + SLOWER)];
        let mut tasks = vec![task(Scheme::None, "none", &[]), task(Scheme::None, "none", &slower)];
        for point in &self.points {
            tasks.push(task(Scheme::None, "none", &point.baseline));
            tasks.push(task(point.scheme, point.prefetch, &point.settings));
        }
        tasks
    }
}
