//! `simulate` and `study`: the stand-in device.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use l1forge_sim::pascal::InputError;
use l1forge_sim::pascal::device::{
    Cell, Comparison, Contrast, FamilyKey, LoadPath, Model, RunResult, RunSpec, StandIn, Study, StudyReport, contrasts,
};
use l1forge_sim::pascal::plot::{Chart, Series};
use l1forge_sim::pascal::predict::{Anchor, Assumptions, Calibration, EtaInterpolation, Options, Query};
use serde_json::{Value, json};

use super::dynamic::OptionArgs;
use super::input::{line, numbers};
use super::{Outcome, Report};

/// Arguments of `simulate`. Lists make every combination.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// gb10-like, thor-like, gb10-quarter or thor-quarter
    #[arg(long, value_name = "NAME", default_value = "gb10-quarter")]
    device: String,
    /// Change a constant of the device, times in picoseconds: service, compute, hit, miss, dram, skew, groups, jitter, jitter_blocks,
    /// multiprocessors, capacity_blocks, block_bytes
    #[arg(long, value_name = "KEY=VALUE")]
    constant: Vec<String>,
    /// Resident thread blocks per multiprocessor
    #[arg(long, short, visible_alias = "o", value_name = "LIST", default_value = "1", allow_hyphen_values = true)]
    occupancy: String,
    /// Load path, sync or tma
    #[arg(long, value_name = "PATH", default_value = "tma")]
    path: String,
    /// Prefetch depths
    #[arg(long, short, visible_alias = "d", value_name = "LIST", default_value = "4", allow_hyphen_values = true)]
    depth: String,
    /// Compute per block
    #[arg(long, short = 'm', visible_alias = "m", value_name = "LIST", default_value = "0", allow_hyphen_values = true)]
    compute: String,
    /// Scan lengths in blocks; 3.2 times the capacity without it
    #[arg(long, short = 'n', visible_alias = "n", value_name = "LIST", allow_hyphen_values = true)]
    blocks: Option<String>,
    /// Numbers of scans
    #[arg(long, short = 'w', visible_alias = "w", value_name = "LIST", default_value = "32", allow_hyphen_values = true)]
    scans: String,
    /// Barrier of all workers after every so many blocks
    #[arg(long, value_name = "BLOCKS", allow_negative_numbers = true)]
    checkpoint: Option<u64>,
    /// Runs of each configuration, with seeds from --seed on
    #[arg(long, value_name = "COUNT", default_value_t = 1, allow_negative_numbers = true)]
    repeats: u64,
    /// Seed of the first run
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the traffic as a measurement file for `fit`
    #[arg(long, value_name = "FILE.csv")]
    out: Option<PathBuf>,
}

impl SimulateArgs {
    pub(super) fn report(&self) -> Result<Report, InputError> {
        let device = device(&self.device, &self.constant)?;
        let specs = self.specs(&device)?;
        let bar = progress(specs.len());
        let mut runs: Vec<(RunSpec, RunResult)> = Vec::with_capacity(specs.len());
        for spec in specs {
            runs.push((spec, device.run(&spec)?));
            bar.inc(1);
        }
        bar.finish_and_clear();

        let mut text = format!(
            "{:>3} {:>5} {:>3} {:>4} {:>7} {:>5} {:>6} {:>8} {:>9} {:>7} {:>8} {:>10}\n",
            "o", "path", "d", "m", "N", "W", "seed", "K", "ns/round", "lead", "clusters", "snapshot K"
        );
        for (spec, result) in &runs {
            let last = result.markers.last();
            writeln!(
                text,
                "{:>3} {:>5} {:>3} {:>4} {:>7} {:>5} {:>6} {:>8.4} {:>9.1} {:>7} {:>8} {:>10}",
                spec.occupancy,
                spec.path.name(),
                spec.depth,
                spec.compute,
                spec.blocks,
                spec.scans,
                spec.seed,
                result.k,
                result.time_per_round() / 1e3,
                result.lead,
                last.map_or(1, |marker| marker.clusters),
                last.map_or(1, |marker| marker.snapshot_k),
            )
            .expect("writing to a text cannot fail");
        }
        let rows: Vec<Value> = runs.iter().map(|(spec, result)| run_json(spec, result)).collect();
        let document = json!({"device": device.name, "capacity": device.capacity_blocks, "runs": rows});
        let mut report = Report::new(document, text);
        if let Some(path) = &self.out {
            report.files.push((path.clone(), measurement_file(&device, &runs)));
        }
        Ok(report)
    }

    fn specs(&self, device: &StandIn) -> Result<Vec<RunSpec>, InputError> {
        let path: LoadPath = self.path.parse()?;
        let blocks = match &self.blocks {
            Some(list) => numbers("blocks", list)?,
            None => vec![device.capacity_blocks * 16 / 5],
        };
        let (depths, computes) = (small("depth", &self.depth)?, small("compute", &self.compute)?);
        let scans = numbers("scans", &self.scans)?;
        if self.repeats == 0 {
            return Err(InputError::new("repeats", "0 runs, at least 1 is needed"));
        }
        let mut specs = Vec::new();
        for occupancy in small("occupancy", &self.occupancy)? {
            for &depth in &depths {
                for &compute in &computes {
                    for &blocks in &blocks {
                        for &scans in &scans {
                            for repeat in 0..self.repeats {
                                let seed = self.seed.wrapping_add(repeat);
                                let checkpoint = self.checkpoint;
                                specs.push(RunSpec { occupancy, path, depth, compute, blocks, scans, checkpoint, seed });
                            }
                        }
                    }
                }
            }
        }
        if specs.len() > 100_000 {
            return Err(InputError::new("repeats", format!("{} runs, the limit is 100000", specs.len())));
        }
        Ok(specs)
    }
}

/// A device by its name, with constants changed.
fn device(name: &str, changes: &[String]) -> Result<StandIn, InputError> {
    let mut device = StandIn::by_name(name)?;
    for change in changes {
        set_constant(&mut device, change)?;
    }
    device.check()?;
    Ok(device)
}

/// A list of whole numbers of 32 bits separated by commas.
fn small(field: &str, list: &str) -> Result<Vec<u32>, InputError> {
    let value = |n: u64| u32::try_from(n).map_err(|_| InputError::new(field, format!("{n} is too large")));
    numbers(field, list)?.into_iter().map(value).collect()
}

fn set_constant(device: &mut StandIn, change: &str) -> Result<(), InputError> {
    let wrong = |message: String| InputError::new("constant", message);
    let (key, text) = change.split_once('=').ok_or_else(|| wrong(format!("'{change}' is not KEY=VALUE")))?;
    let value: u64 = text.parse().map_err(|_| wrong(format!("'{text}' of {key} is not a whole number of at least 0")))?;
    let place = match key {
        "service" => &mut device.service,
        "compute" => &mut device.compute,
        "hit" => &mut device.hit,
        "miss" => &mut device.miss,
        "dram" => &mut device.dram,
        "skew" => &mut device.skew,
        "groups" => &mut device.groups,
        "jitter" => &mut device.jitter,
        "jitter_blocks" => &mut device.jitter_blocks,
        "multiprocessors" => &mut device.multiprocessors,
        "capacity_blocks" => &mut device.capacity_blocks,
        "block_bytes" => &mut device.block_bytes,
        _ => return Err(wrong(format!("'{key}' is not a constant of the device"))),
    };
    if *place != value {
        *place = value;
        // A changed device must not pass for the one it was made from.
        write!(device.name, "+{key}={value}").expect("writing to a text cannot fail");
    }
    Ok(())
}

fn run_json(spec: &RunSpec, result: &RunResult) -> Value {
    let markers: Vec<Value> = result
        .markers
        .iter()
        .map(|marker| json!({"clusters": marker.clusters, "snapshot_k": marker.snapshot_k, "lead": marker.lead}))
        .collect();
    json!({
        "o": spec.occupancy, "path": spec.path.name(), "d": spec.depth, "m": spec.compute, "blocks": spec.blocks, "scans": spec.scans,
        "checkpoint": spec.checkpoint, "seed": spec.seed,
        "workers": result.workers,
        "requests": result.requests,
        "fills": result.fills,
        "k": result.k,
        "rho": result.k / result.workers as f64,
        "traffic_bytes": result.traffic_bytes,
        "time_ps": result.time,
        "time_per_round_ps": result.time_per_round(),
        "lead": result.lead,
        "markers": markers,
    })
}

fn measurement_file(device: &StandIn, runs: &[(RunSpec, RunResult)]) -> String {
    let mut horizons: Vec<u64> = runs.iter().map(|(spec, _)| spec.scans).collect();
    horizons.sort_unstable();
    horizons.dedup();
    let horizons = horizons.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let constants = device.calibrated();
    let mut text = format!(
        "# device = {}\n# workers_per_occupancy = {}\n# block_bytes = {}\n# capacity_blocks = {}\n# horizons = {horizons}\n\
         o,path,d,m,n,w,bytes\n",
        constants.name, constants.workers_per_occupancy, constants.block_bytes, constants.capacity_blocks
    );
    for (spec, result) in runs {
        let (path, bytes) = (spec.path.name(), result.traffic_bytes);
        writeln!(text, "{},{path},{},{},{},{},{bytes}", spec.occupancy, spec.depth, spec.compute, spec.blocks, spec.scans)
            .expect("writing to a text cannot fail");
    }
    text
}

fn progress(length: usize) -> ProgressBar {
    // On standard error, and only where that is a terminal.
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {eta} left").expect("a legal template");
    ProgressBar::new(length as u64).with_style(style)
}

/// Arguments of `study`.
#[derive(Debug, Args)]
pub struct StudyArgs {
    /// gb10-like, thor-like, gb10-quarter or thor-quarter
    #[arg(long, value_name = "NAME", default_value = "gb10-quarter")]
    device: String,
    /// Change a constant of the device, as in simulate
    #[arg(long, value_name = "KEY=VALUE")]
    constant: Vec<String>,
    /// Compute values of the references
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    references: Option<String>,
    /// Compute values that are held out
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    held_out: Option<String>,
    /// Seed of the study
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs of each configuration
    #[arg(long, value_name = "COUNT", default_value_t = 2, allow_negative_numbers = true)]
    repeats: u64,
    /// A fraction of the study: two families, three held-out compute values
    #[arg(long)]
    small: bool,
    /// Write calibration, held-out runs, tables and plots there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Exit code 1 if the predictor's error is above so many percent
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    max_mape: Option<f64>,
    /// Exit code 1 if the best baseline's error is not so many times larger
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
    min_ratio: Option<f64>,
    #[command(flatten)]
    options: OptionArgs,
}

impl StudyArgs {
    pub(super) fn report(&self) -> Result<Report, InputError> {
        let device = device(&self.device, &self.constant)?;
        if self.repeats == 0 || self.repeats > 100 {
            return Err(InputError::new("repeats", format!("{}, legal values are 1 to 100", self.repeats)));
        }
        for (field, limit) in [("max_mape", self.max_mape), ("min_ratio", self.min_ratio)] {
            if limit.is_some_and(|limit| !limit.is_finite() || limit < 0.0) {
                return Err(InputError::new(field, "must be a finite number of at least 0"));
            }
        }
        let mut study = Study { repeats: self.repeats, options: self.options.options()?, ..Study::of_the_paper(device, self.seed) };
        if self.small {
            study.families = vec![(1, LoadPath::Tma, 3), (1, LoadPath::Tma, 4)];
            study.held_out_compute = vec![3, 8, 9];
        }
        if let Some(list) = &self.references {
            study.reference_compute = small("references", list)?;
        }
        if let Some(list) = &self.held_out {
            study.held_out_compute = small("held_out", list)?;
        }
        let bar = progress(0);
        let tell = |done: usize, total: usize| {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        };
        let found = crate::common::in_pool(0, || study.run(&tell))?;
        bar.finish_and_clear();
        let contrast = contrasts(&study.device, self.seed)?;
        let choices = choices(&study, &found)?;

        let overall = found.overall();
        let (baseline, error) = overall.best_baseline();
        let mape = overall.mape(Model::Pascal);
        let ratio = error / mape;
        let missed = self.max_mape.is_some_and(|most| mape > most) || self.min_ratio.is_some_and(|least| ratio < least);

        let text = tables(&study, &found, &contrast, &choices);
        let document = json!({
            "device": study.device.name,
            "seed": study.seed,
            "runs": found.runs,
            "requests": found.requests,
            "held_out_runs": overall.models[0].runs(),
            "divergent": overall.divergent,
            "mape": mape,
            "best_baseline": {"model": baseline.name(), "mape": error},
            "ratio": ratio,
            "repeat_mape": overall.repeat.mape(),
            "overall": cell_json(&overall),
            "by_family": found.cells(|c| family_name(c.family)).iter().map(cell_json).collect::<Vec<_>>(),
            "by_target": found.cells(|c| target_name(c.blocks, c.scans)).iter().map(cell_json).collect::<Vec<_>>(),
            "choices": choices.iter().map(|(name, mape)| json!({"choice": name, "mape": mape})).collect::<Vec<_>>(),
            "contrasts": contrast.iter().map(contrast_json).collect::<Vec<_>>(),
        });
        let outcome = if missed { Outcome::CheckFailed } else { Outcome::Success };
        let mut report = Report { outcome, ..Report::new(document, text) };
        if let Some(folder) = &self.out {
            let summary = serde_json::to_string_pretty(&report.document).expect("every value is finite and every key a text");
            report.files = vec![
                (folder.join("calibration.csv"), found.calibration_csv.clone()),
                (folder.join("calibration.json"), Calibration::Scan(found.calibration.clone()).to_json()),
                (folder.join("held_out.csv"), held_out_csv(&found)),
                (folder.join("summary.json"), summary + "\n"),
                (folder.join("tables.md"), report.text.clone()),
                (folder.join("k_over_w_by_depth.svg"), depth_chart(&study, &found).to_svg()?),
                (folder.join("k_over_w_held_out.svg"), held_out_chart(&study, &found)?.to_svg()?),
                (folder.join("predicted_over_measured.svg"), scatter_chart(&study, &found).to_svg()?),
            ];
        }
        Ok(report)
    }
}

/// The error of the predictor under each other choice, nothing else changed.
fn choices(study: &Study, found: &StudyReport) -> Result<Vec<(String, f64)>, InputError> {
    let default = study.options;
    let mut list: Vec<(String, Options)> = vec![("as above".to_string(), default)];
    for epsilon in [0.01, 0.02, 0.1, 0.2, 1.0] {
        list.push((format!("epsilon {epsilon}"), Options { epsilon, ..default }));
    }
    for lambda in [0.0, 1.0, 16.0] {
        list.push((format!("lambda {lambda}"), Options { lambda, ..default }));
    }
    for (name, anchor) in
        [("class mean", Anchor::ClassMean), ("family linear", Anchor::FamilyLinear), ("aligned", Anchor::Aligned), ("none", Anchor::Linear)]
    {
        list.push((format!("anchor {name}"), Options { anchor, ..default }));
    }
    list.push(("decoded K across sizes".to_string(), Options { eta: EtaInterpolation::Decoded, ..default }));
    list.into_iter().map(|(name, options)| Ok((name, found.with_options(study, options)?.mape().unwrap_or(f64::NAN)))).collect()
}

fn family_name((occupancy, path, depth): FamilyKey) -> String {
    format!("o={occupancy} {} d={depth}", path.name())
}

fn target_name(blocks: u64, scans: u64) -> String {
    format!("N={blocks} W={scans:>2}")
}

/// The tables of a study, in Markdown.
fn tables(study: &Study, found: &StudyReport, contrast: &[Contrast], choices: &[(String, f64)]) -> String {
    let overall = found.overall();
    let (baseline, error) = overall.best_baseline();
    let mape = overall.mape(Model::Pascal);
    let mut text = String::new();
    line(&mut text, "device, seed", format!("{}, {}", study.device.name, study.seed));
    line(&mut text, "runs, requests", format!("{}, {}", found.runs, found.requests));
    line(&mut text, "held-out runs, with K > 1.05", format!("{}, {}", overall.models[0].runs(), overall.divergent));
    line(&mut text, "MAPE of the predictor", format!("{mape:.2} %"));
    line(&mut text, "MAPE of the best baseline", format!("{error:.2} % ({}), {:.2} times as much", baseline.name(), error / mape));
    let floor = overall.repeat.mape().map_or("no repeats".to_string(), |floor| format!("{floor:.2} %"));
    line(&mut text, "a run by its repeat", floor);

    text += "\nMiss-rate MAPE in percent, held-out runs\n\n";
    let header: Vec<&str> = Model::ALL.iter().map(|model| model.name()).collect();
    let _ = writeln!(text, "| runs | count | K > 1.05 | {} | repeat |", header.join(" | "));
    let _ = writeln!(text, "|---|---|---|{}---|", "---|".repeat(header.len()));
    let rows = [vec![overall], found.cells(|c| family_name(c.family)), found.cells(|c| target_name(c.blocks, c.scans))];
    for cell in rows.iter().flatten() {
        let errors: Vec<String> = Model::ALL.iter().map(|&model| format!("{:.2}", cell.mape(model))).collect();
        let repeat = cell.repeat.mape().map_or("-".to_string(), |mape| format!("{mape:.2}"));
        let (runs, divergent) = (cell.models[0].runs(), cell.divergent);
        let _ = writeln!(text, "| {} | {runs} | {divergent} | {} | {repeat} |", cell.label, errors.join(" | "));
    }

    text += "\nDepth, compute and checkpoint, 32 scans (first scan in brackets)\n\n";
    text += "| d | m | checkpoint | K | ns per round | lead | clusters | snapshot K |\n|---|---|---|---|---|---|---|---|\n";
    for row in contrast {
        let checkpoint = row.checkpoint.map_or("-".to_string(), |blocks| blocks.to_string());
        let (clusters, snapshot) = row.result.markers.last().map_or((1, 1), |m| (m.clusters, m.snapshot_k));
        let _ = writeln!(
            text,
            "| {} | {} | {checkpoint} | {:.3} ({:.3}) | {:.0} ({:.0}) | {} | {clusters} | {snapshot} |",
            row.depth,
            row.compute,
            row.result.k,
            row.first.0,
            row.result.time_per_round() / 1e3,
            row.first.1 / 1e3,
            row.result.lead
        );
    }

    text += "\nThe predictor's open choices, one changed at a time\n\n| choice | MAPE in percent |\n|---|---|\n";
    for (name, mape) in choices {
        let _ = writeln!(text, "| {name} | {mape:.2} |");
    }
    text
}

fn cell_json(cell: &Cell) -> Value {
    let mut models = serde_json::Map::new();
    for model in Model::ALL {
        models.insert(model.name().to_string(), json!(cell.mape(model)));
    }
    json!({
        "label": cell.label, "runs": cell.models[0].runs(), "divergent": cell.divergent,
        "mape": models, "repeat": cell.repeat.mape(),
    })
}

fn contrast_json(row: &Contrast) -> Value {
    json!({
        "d": row.depth, "m": row.compute, "checkpoint": row.checkpoint,
        "k": row.result.k, "time_per_round_ps": row.result.time_per_round(), "lead": row.result.lead,
        "first_k": row.first.0, "first_time_per_round_ps": row.first.1,
        "clusters": row.result.markers.iter().map(|m| m.clusters).collect::<Vec<_>>(),
        "snapshot_k": row.result.markers.iter().map(|m| m.snapshot_k).collect::<Vec<_>>(),
    })
}

fn held_out_csv(found: &StudyReport) -> String {
    let models: Vec<&str> = Model::ALL.iter().map(|model| model.name()).collect();
    let mut text = format!("o,path,d,m,n,w,repeat,measured_k,{}\n", models.join(","));
    for row in &found.comparisons {
        let (occupancy, path, depth) = row.family;
        let predicted: Vec<String> = row.predicted.iter().map(f64::to_string).collect();
        for (repeat, measured) in row.measured.iter().enumerate() {
            let _ = writeln!(
                text,
                "{occupancy},{},{depth},{},{},{},{repeat},{measured},{}",
                path.name(),
                row.compute,
                row.blocks,
                row.scans,
                predicted.join(",")
            );
        }
    }
    text
}

/// Measured K of the references without compute, over the number of scans, one line per family.
fn depth_chart(study: &Study, found: &StudyReport) -> Chart {
    let blocks = study.reference_blocks[study.reference_blocks.len() / 2];
    let of_family = |&(occupancy, path, depth): &FamilyKey| {
        let reference = found.calibration.references().find(|(family, reference)| {
            (family.o, family.path.as_str(), family.d) == (occupancy, path.name(), depth) && (reference.m, reference.n) == (0, blocks)
        });
        let points = |reference: &l1forge_sim::pascal::predict::Reference| {
            reference.horizons.iter().zip(&reference.log_wk).map(|(w, y)| (*w, y.exp() / w)).collect()
        };
        let points: Vec<(f64, f64)> = reference.map(|(_, reference)| points(reference)).unwrap_or_default();
        Series { marked: true, ..Series::line(family_name((occupancy, path, depth)), points) }
    };
    Chart {
        title: format!("References without compute, {}, N = {blocks}", study.device.name),
        x_label: "scans W".to_string(),
        y_label: "fills per round K".to_string(),
        log_x: true,
        log_y: false,
        series: study.families.iter().map(of_family).collect(),
    }
}

/// Predicted K of held-out compute values over the number of scans, and the measured runs.
fn held_out_chart(study: &Study, found: &StudyReport) -> Result<Chart, InputError> {
    let family = study.families.iter().copied().find(|f| *f == (1, LoadPath::Tma, 4)).unwrap_or(study.families[0]);
    let blocks = study.targets[0].0;
    let longest = study.targets.iter().map(|target| target.1).max().unwrap_or(64);
    let mut series = Vec::new();
    for &compute in study.held_out_compute.iter().step_by(2) {
        let query = |scans: f64| Query {
            device: None,
            binary: None,
            o: family.0,
            path: family.1.name().to_string(),
            d: family.2,
            m: compute,
            blocks,
            scans,
            assumptions: Assumptions::default(),
        };
        let mut line = Vec::new();
        for i in 0..=60 {
            let scans = (longest as f64).powf(f64::from(i) / 60.0);
            line.push((scans, found.calibration.predict(&query(scans))?.k));
        }
        let of_line = |row: &&Comparison| (row.family, row.blocks, row.compute) == (family, blocks, compute);
        let measured = found.comparisons.iter().filter(of_line);
        let marks = measured.flat_map(|row| row.measured.iter().map(|&k| (row.scans as f64, k))).collect();
        let colour_of = Some(series.len());
        series.push(Series::line(format!("m = {compute}, predicted"), line));
        series.push(Series { colour_of, ..Series::marks(format!("m = {compute}, measured"), marks) });
    }
    Ok(Chart {
        title: format!("Held-out compute values, {}, {}, N = {blocks}", study.device.name, family_name(family)),
        x_label: "scans W".to_string(),
        y_label: "fills per round K".to_string(),
        log_x: true,
        log_y: false,
        series,
    })
}

/// Predicted over measured K of every held-out run.
fn scatter_chart(study: &Study, found: &StudyReport) -> Chart {
    let points = |index: usize| -> Vec<(f64, f64)> {
        let of = |row: &Comparison| {
            let predicted = row.predicted[index];
            row.measured.iter().map(move |&measured| (measured, predicted)).collect::<Vec<_>>()
        };
        found.comparisons.iter().flat_map(of).collect()
    };
    let most = points(0).iter().flat_map(|p| [p.0, p.1]).fold(1.0, f64::max);
    Chart {
        title: format!("Held-out runs, {}: predicted over measured K", study.device.name),
        x_label: "measured fills per round K".to_string(),
        y_label: "predicted fills per round K".to_string(),
        log_x: true,
        log_y: true,
        series: vec![
            Series::marks("PASCAL", points(0)),
            Series::marks("aligned, K = 1", points(1)),
            Series::line("measured = predicted", vec![(1.0, 1.0), (most, most)]),
        ],
    }
}
