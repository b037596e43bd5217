//! From measurements to a frozen calibration (PASCAL section 4.2; specification section 6.2).

use std::collections::BTreeMap;

use super::calibration::{Device, Family, Reference, ScanCalibration};
use super::isotonic::isotonic;
use super::options::Options;
use super::table::{Row, Table};
use crate::pascal::error::{InputError, positive};
use crate::pascal::scan::check_blocks;

/// The horizons of the paper, in scans.
pub const DEFAULT_HORIZONS: [f64; 4] = [1.0, 4.0, 16.0, 64.0];

/// The columns of a scan measurement, one run per row.
const COLUMNS: [&str; 7] = ["o", "path", "d", "m", "n", "w", "bytes"];

/// Fits the references of a measurement table.
///
/// Columns `o,path,d,m,n,w,bytes` (and optionally `repeat`, which is not used): rows that agree in all but `bytes` are repeats. Constants
/// `device`, `workers_per_occupancy`, `block_bytes`, `capacity_blocks`, optionally `binary` and `horizons` (a list; the paper's 1, 4, 16,
/// 64 if absent). Every reference `(o, path, d, m, n)` needs every horizon.
///
/// # Errors
/// A constant or a cell is missing or illegal, a horizon is not in the list, or a reference lacks one.
pub fn fit_scan(table: &Table, options: Options) -> Result<ScanCalibration, InputError> {
    let device = device(table)?;
    let horizons = horizons(table)?;
    let mut runs: BTreeMap<(Family, u64, u32), Runs> = BTreeMap::new();
    for row in table.rows(&COLUMNS, &["repeat"])? {
        let run = Run::read(row, &horizons)?;
        let group = runs
            .entry((run.family, run.n, run.m))
            .or_insert_with(|| Runs { first_row: row.number(), log_bytes: vec![Vec::new(); horizons.len()] });
        group.log_bytes[run.horizon].push(run.bytes.ln());
    }

    let mut families: Vec<(Family, Vec<Reference>)> = Vec::new();
    for ((family, n, m), runs) in runs {
        if let Some(j) = runs.log_bytes.iter().position(Vec::is_empty) {
            let message = format!(
                "reference {family} m={m} n={n} has no measurement at horizon {}, the horizons are {}",
                horizons[j],
                join(&horizons)
            );
            return Err(InputError::new("w", message).at_row(runs.first_row));
        }
        let scale = (device.block_bytes as f64).ln() + (n as f64).ln();
        // The mean of logarithms: the geometric mean of the repeats.
        let measured: Vec<f64> = runs.log_bytes.iter().map(|logs| logs.iter().sum::<f64>() / logs.len() as f64 - scale).collect();
        let reference = Reference {
            m,
            n,
            horizons: horizons.clone(),
            log_wk: isotonic(&measured),
            scatter: runs.log_bytes.iter().map(|logs| half_range(logs)).collect(),
        };
        match families.last_mut() {
            Some((last, references)) if *last == family => references.push(reference),
            _ => families.push((family, vec![reference])),
        }
    }
    ScanCalibration::new(device, options, families)
}

/// The repeats of one reference, by horizon.
struct Runs {
    first_row: u64,
    log_bytes: Vec<Vec<f64>>,
}

struct Run {
    family: Family,
    m: u32,
    n: u64,
    horizon: usize,
    bytes: f64,
}

impl Run {
    fn read(row: &Row, horizons: &[f64]) -> Result<Self, InputError> {
        let o = row.small("o")?;
        if o == 0 {
            return Err(InputError::new("o", "0 thread blocks, at least 1 is needed").at_row(row.number()));
        }
        let n = row.whole("n")?;
        check_blocks(n).map_err(|e| InputError::new("n", e.message()).at_row(row.number()))?;
        let w = row.positive("w")?;
        let horizon = horizons.iter().position(|&horizon| horizon == w).ok_or_else(|| {
            let message = format!("{w} is not a horizon, the horizons are {}", join(horizons));
            InputError::new("w", message).at_row(row.number())
        })?;
        let family = Family { o, path: row.text("path")?.to_string(), d: row.small("d")? };
        Ok(Self { family, m: row.small("m")?, n, horizon, bytes: row.positive("bytes")? })
    }
}

/// The device constants of a table.
pub(super) fn device(table: &Table) -> Result<Device, InputError> {
    let device = Device {
        name: table.constant("device").ok_or_else(|| InputError::new("device", "missing device constant"))?.to_string(),
        binary: table.constant("binary").map(str::to_string),
        workers_per_occupancy: table.constant_whole("workers_per_occupancy")?,
        block_bytes: table.constant_whole("block_bytes")?,
        capacity_blocks: table.constant_whole("capacity_blocks")?,
    };
    device.checked().map_err(|e| {
        let field = e.field().to_string();
        table.locate(&field, e)
    })
}

fn horizons(table: &Table) -> Result<Vec<f64>, InputError> {
    let Some(text) = table.constant("horizons") else {
        return Ok(DEFAULT_HORIZONS.to_vec());
    };
    let read = || -> Result<Vec<f64>, InputError> {
        let mut horizons: Vec<f64> = Vec::new();
        for part in text.split(',').map(str::trim) {
            let value = part.parse().map_err(|_| InputError::new("horizons", format!("'{part}' is not a number")))?;
            let value = positive("horizons", value)?;
            if horizons.last().is_some_and(|&last| last >= value) {
                return Err(InputError::new("horizons", format!("{value} is not above the one before")));
            }
            horizons.push(value);
        }
        Ok(horizons)
    };
    read().map_err(|e| table.locate("horizons", e))
}

pub(super) fn half_range(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = logs.iter().copied().fold(f64::INFINITY, f64::min);
    (most - least) / 2.0
}

fn join(values: &[f64]) -> String {
    values.iter().map(f64::to_string).collect::<Vec<_>>().join(", ")
}
