//! A calibration and hold-out study on a stand-in device (PASCAL sections 4.5 and 5.4).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::run::{RunResult, RunSpec};
use super::stand_in::{LoadPath, StandIn};
use crate::pascal::baselines::che;
use crate::pascal::baselines::sdcm::{Arithmetic, Sdcm};
use crate::pascal::error::InputError;
use crate::pascal::fraction::to_f64;
use crate::pascal::lru_exact::ReuseProfile;
use crate::pascal::mix::mix;
use crate::pascal::predict::{Accuracy, Assumptions, DEFAULT_HORIZONS, Options, Query, ScanCalibration, Table, fit_scan};
use crate::pascal::scan::Scan;

/// Ways of the set-associative baselines, as in the paper.
const WAYS: u64 = 8;

/// A model whose predictions are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Model {
    /// The calibrated predictor.
    Pascal,
    /// K = 1: workers stay aligned.
    Aligned,
    /// SDCM with the exact binomial, 8 ways, on the aligned reuse profile.
    SdcmExact,
    /// SDCM with the normal approximation, 8 ways, on the aligned reuse profile.
    SdcmNormal,
    /// Fully associative SDCM on the aligned reuse profile.
    SdcmFull,
    /// Che's approximation.
    Che,
}

impl Model {
    /// Every model, the predictor first.
    pub const ALL: [Self; 6] = [Self::Pascal, Self::Aligned, Self::SdcmExact, Self::SdcmNormal, Self::SdcmFull, Self::Che];

    /// A short name for tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pascal => "pascal",
            Self::Aligned => "aligned",
            Self::SdcmExact => "sdcm_exact",
            Self::SdcmNormal => "sdcm_normal",
            Self::SdcmFull => "sdcm_fa",
            Self::Che => "che",
        }
    }
}

/// The family part of a configuration: occupancy, load path, prefetch depth.
pub type FamilyKey = (u32, LoadPath, u32);

/// A calibration and hold-out study: which runs are measured, which of them are shown to the fit, which are kept back.
///
/// No held-out compute value is a reference, so no held-out configuration enters the fit at any scan length or horizon.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// The device.
    pub device: StandIn,
    /// Seed of every run's jitter.
    pub seed: u64,
    /// Calibrated families.
    pub families: Vec<FamilyKey>,
    /// Compute values of the references.
    pub reference_compute: Vec<u32>,
    /// Scan lengths of the references, in blocks.
    pub reference_blocks: Vec<u64>,
    /// Compute values that are held out.
    pub held_out_compute: Vec<u32>,
    /// Scan lengths and numbers of scans of the held-out runs.
    pub targets: Vec<(u64, u64)>,
    /// Runs per reference and horizon, and per held-out target.
    pub repeats: u64,
    /// The predictor's options.
    pub options: Options,
}

/// One held-out run and what every model said about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Its family.
    pub family: FamilyKey,
    /// Compute per block.
    pub compute: u32,
    /// Scan length in blocks.
    pub blocks: u64,
    /// Number of scans.
    pub scans: u64,
    /// Measured K, one per repeat.
    pub measured: Vec<f64>,
    /// Predicted K of each model, in the order of [`Model::ALL`].
    pub predicted: [f64; 6],
}

/// The accuracy of every model over a set of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// What the runs have in common.
    pub label: String,
    /// Accuracy in the order of [`Model::ALL`].
    pub models: [Accuracy; 6],
    /// Accuracy of predicting each run by its repeats: the floor that the scatter of the runs sets.
    pub repeat: Accuracy,
    /// Runs with K above 1.05, which the paper calls divergent.
    pub divergent: u64,
}

/// What a study found.
#[derive(Debug, Clone)]
pub struct StudyReport {
    /// The measurements shown to the fit, as a calibration file.
    pub calibration_csv: String,
    /// The fitted calibration.
    pub calibration: ScanCalibration,
    /// The held-out runs.
    pub comparisons: Vec<Comparison>,
    /// Runs simulated, and requests in them.
    pub runs: usize,
    /// Requests simulated in all runs.
    pub requests: u64,
}

impl Study {
    /// The study of the documentation: 54 reference keys at three scan lengths and four horizons, 42 held-out keys at five targets, as many
    /// held-out keys and targets as the paper has, every run twice.
    ///
    /// The lengths are those of the paper's GB10 relative to the capacity of the device, or larger: a ring that fits the cache has no
    /// steady state with misses.
    pub fn of_the_paper(device: StandIn, seed: u64) -> Self {
        let c = device.capacity_blocks;
        // Eighths of the capacity: 2048, 4096 and 8192 blocks at C = 1280.
        let lengths = |eighths: u64| c * eighths / 40;
        Self {
            reference_blocks: vec![lengths(64), lengths(128), lengths(256)],
            targets: vec![(lengths(128), 1), (lengths(128), 16), (lengths(160), 32), (lengths(128), 64), (lengths(160), 80)],
            device,
            seed,
            families: vec![
                (1, LoadPath::Sync, 0),
                (2, LoadPath::Tma, 2),
                (1, LoadPath::Tma, 3),
                (2, LoadPath::Tma, 3),
                (1, LoadPath::Tma, 4),
                (1, LoadPath::Tma, 6),
            ],
            reference_compute: vec![0, 1, 2, 4, 5, 6, 12, 13, 14],
            held_out_compute: vec![3, 7, 8, 9, 10, 11, 15],
            repeats: 2,
            options: Options::default(),
        }
    }

    /// Measures, fits, predicts and compares. `progress` is told the runs done and the runs in all.
    ///
    /// # Errors
    /// The device or a value of the study is illegal, or a held-out compute value is a reference.
    pub fn run(&self, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<StudyReport, InputError> {
        if let Some(m) = self.held_out_compute.iter().find(|m| self.reference_compute.contains(m)) {
            return Err(InputError::new("held_out_compute", format!("{m} is a reference, nothing of a held-out key may be")));
        }
        let references = self.jobs(&self.reference_compute, &self.reference_targets());
        let held_out = self.jobs(&self.held_out_compute, &self.targets);
        let total = references.len() + held_out.len();
        let done = AtomicUsize::new(0);
        // Long runs first would balance two threads better; the order of the results is fixed either way.
        let measure = |jobs: &[RunSpec]| -> Result<Vec<RunResult>, InputError> {
            let one = |job: &RunSpec| {
                let result = self.device.run(job);
                progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
                result
            };
            jobs.par_iter().map(one).collect()
        };
        let measured_references = measure(&references)?;
        let calibration_csv = self.csv(&references, &measured_references);
        let calibration = fit_scan(&Table::parse(&calibration_csv)?, self.options)?;
        let measured = measure(&held_out)?;
        let requests = measured_references.iter().chain(&measured).map(|result| result.requests).sum();

        let mut comparisons: Vec<Comparison> = Vec::new();
        for (job, result) in held_out.iter().zip(measured) {
            let family = (job.occupancy, job.path, job.depth);
            let same = |c: &Comparison| (c.family, c.compute, c.blocks, c.scans) == (family, job.compute, job.blocks, job.scans);
            match comparisons.last_mut().filter(|last| same(last)) {
                Some(last) => last.measured.push(result.k),
                None => comparisons.push(Comparison {
                    family,
                    compute: job.compute,
                    blocks: job.blocks,
                    scans: job.scans,
                    measured: vec![result.k],
                    predicted: self.predictions(&calibration, job)?,
                }),
            }
        }
        Ok(StudyReport { calibration_csv, calibration, comparisons, runs: total, requests })
    }

    fn reference_targets(&self) -> Vec<(u64, u64)> {
        let horizons = DEFAULT_HORIZONS.map(|w| w as u64);
        self.reference_blocks.iter().flat_map(|&n| horizons.map(|w| (n, w))).collect()
    }

    /// Every run of these compute values at these targets; repeats of one configuration follow each other.
    fn jobs(&self, compute: &[u32], targets: &[(u64, u64)]) -> Vec<RunSpec> {
        let mut jobs = Vec::new();
        for &(occupancy, path, depth) in &self.families {
            for &compute in compute {
                for &(blocks, scans) in targets {
                    for repeat in 0..self.repeats {
                        let parts = [u64::from(occupancy), path as u64, u64::from(depth), u64::from(compute), blocks, scans, repeat];
                        let seed = parts.iter().fold(self.seed, |seed, &part| mix(seed ^ mix(part)));
                        jobs.push(RunSpec { occupancy, path, depth, compute, blocks, scans, checkpoint: None, seed });
                    }
                }
            }
        }
        jobs
    }

    /// The measurements as a calibration file.
    fn csv(&self, jobs: &[RunSpec], results: &[RunResult]) -> String {
        let device = &self.device;
        let mut text = format!(
            "# device = {}\n# workers_per_occupancy = {}\n# block_bytes = {}\n# capacity_blocks = {}\no,path,d,m,n,w,bytes\n",
            device.name, device.multiprocessors, device.block_bytes, device.capacity_blocks
        );
        for (job, result) in jobs.iter().zip(results) {
            let (path, bytes) = (job.path.name(), result.traffic_bytes);
            writeln!(text, "{},{path},{},{},{},{},{bytes}", job.occupancy, job.depth, job.compute, job.blocks, job.scans)
                .expect("writing to a text cannot fail");
        }
        text
    }

    fn predictions(&self, calibration: &ScanCalibration, job: &RunSpec) -> Result<[f64; 6], InputError> {
        let query = Query {
            device: Some(self.device.name.clone()),
            binary: None,
            o: job.occupancy,
            path: job.path.name().to_string(),
            d: job.depth,
            m: job.compute,
            blocks: job.blocks,
            scans: job.scans as f64,
            assumptions: Assumptions::default(),
        };
        let workers = self.device.multiprocessors * u64::from(job.occupancy);
        let aligned = Scan::new(job.blocks, vec![0; workers as usize])?;
        let profile = ReuseProfile::new(&aligned);
        let capacity = self.device.capacity_blocks;
        let sets = Sdcm::with_at_most(WAYS, capacity, 1)?;
        Ok([
            calibration.predict(&query)?.k,
            1.0,
            sets.misses_per_round(&profile, Arithmetic::Exact),
            sets.misses_per_round(&profile, Arithmetic::Normal),
            profile.misses_per_round(capacity) as f64,
            to_f64(&che::misses_per_round(&aligned, capacity)),
        ])
    }
}

impl StudyReport {
    /// The accuracy over all held-out runs.
    pub fn overall(&self) -> Cell {
        self.cells(|_| "all".to_string()).pop().expect("a study has held-out runs")
    }

    /// The accuracy over the runs of each label, by label.
    pub fn cells(&self, label: impl Fn(&Comparison) -> String) -> Vec<Cell> {
        let mut cells: BTreeMap<String, Cell> = BTreeMap::new();
        for comparison in &self.comparisons {
            let label = label(comparison);
            let cell = cells.entry(label.clone()).or_insert_with(|| Cell {
                label,
                models: Default::default(),
                repeat: Accuracy::default(),
                divergent: 0,
            });
            for (i, &measured) in comparison.measured.iter().enumerate() {
                for (accuracy, predicted) in cell.models.iter_mut().zip(comparison.predicted) {
                    accuracy.add(predicted, measured);
                }
                for (j, &other) in comparison.measured.iter().enumerate() {
                    if i != j {
                        cell.repeat.add(other, measured);
                    }
                }
                cell.divergent += u64::from(measured > 1.05);
            }
        }
        cells.into_values().collect()
    }

    /// The accuracy over all held-out runs with other options of the predictor; nothing is measured again.
    ///
    /// # Errors
    /// An option is illegal.
    pub fn with_options(&self, study: &Study, options: Options) -> Result<Accuracy, InputError> {
        let calibration = self.calibration.clone().with_options(options)?;
        let mut accuracy = Accuracy::default();
        for comparison in &self.comparisons {
            let (occupancy, path, depth) = comparison.family;
            let job = RunSpec {
                occupancy,
                path,
                depth,
                compute: comparison.compute,
                blocks: comparison.blocks,
                scans: comparison.scans,
                checkpoint: None,
                seed: 0,
            };
            let predicted = study.predictions(&calibration, &job)?[0];
            comparison.measured.iter().for_each(|&measured| accuracy.add(predicted, measured));
        }
        Ok(accuracy)
    }
}

impl Cell {
    /// The model with the smallest mean error apart from the predictor, and that error in percent.
    pub fn best_baseline(&self) -> (Model, f64) {
        let errors = Model::ALL.iter().zip(&self.models).skip(1);
        let errors = errors.map(|(&model, accuracy)| (model, accuracy.mape().unwrap_or(f64::INFINITY)));
        errors.min_by(|a, b| a.1.total_cmp(&b.1)).expect("there are baselines")
    }

    /// Mean absolute percentage error of a model.
    pub fn mape(&self, model: Model) -> f64 {
        let index = Model::ALL.iter().position(|&other| other == model).expect("every model is listed");
        self.models[index].mape().unwrap_or(f64::NAN)
    }
}

/// One run of the paper's contrast between depth, compute and checkpoints.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    /// Prefetch depth.
    pub depth: u32,
    /// Compute per block.
    pub compute: u32,
    /// Checkpoint interval in blocks.
    pub checkpoint: Option<u64>,
    /// First-wave K (one scan) and time per round in picoseconds.
    pub first: (f64, f64),
    /// The run over 32 scans.
    pub result: RunResult,
}

/// The contrast of PASCAL section 3.6: depth 2, 3 and 4 without compute, depth 4 with compute 16, depth 4 with a checkpoint, each over
/// 32 scans of a ring of 3.2 times the capacity. The checkpoint is 0.4 times the capacity: 512 blocks at C = 1280.
///
/// # Errors
/// The device is illegal.
pub fn contrasts(device: &StandIn, seed: u64) -> Result<Vec<Contrast>, InputError> {
    let blocks = device.capacity_blocks * 16 / 5;
    let checkpoint = (device.capacity_blocks * 2 / 5).max(1);
    let rows = [(2, 0, None), (3, 0, None), (4, 0, None), (4, 16, None), (4, 0, Some(checkpoint))];
    rows.into_iter()
        .map(|(depth, compute, checkpoint)| {
            let run = |scans| device.run(&RunSpec { occupancy: 1, path: LoadPath::Tma, depth, compute, blocks, scans, checkpoint, seed });
            let first = run(1)?;
            Ok(Contrast { depth, compute, checkpoint, first: (first.k, first.time_per_round()), result: run(32)? })
        })
        .collect()
}
