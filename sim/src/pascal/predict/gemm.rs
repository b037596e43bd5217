//! The extension to matrix products, whose operands are shared in part (PASCAL section 4.6, appendix C.8; specification section 6.9).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::anchor::{Points, anchored};
use super::calibration::Device;
use super::curve::Curve;
use super::encoding::{decode, encode};
use super::fit::{device, half_range};
use super::options::Options;
use super::table::Table;
use crate::pascal::error::InputError;

/// Rows and columns of one output tile.
const TILE: u64 = 128;
/// Depth of one reduction step.
const STEP: u64 = 64;
/// Bytes of one operand tile: 128 x 64 half-precision values.
const OPERAND_BYTES: u64 = 16384;
/// Bytes a thread block reads in one step, one tile of each operand.
pub(super) const STEP_BYTES: u64 = 2 * OPERAND_BYTES;

/// The shape of a product, in tiles: `n_r` by `n_c` output tiles of 128 x 128, `n_k` reduction steps of 64.
///
/// ```
/// use l1forge_sim::pascal::predict::GemmShape;
/// let shape = GemmShape::new(2560, 1280, 5120)?;
/// assert_eq!((shape.rows, shape.columns, shape.steps), (20, 10, 80));
/// assert_eq!((shape.reference_bytes(), shape.demand_bytes()), (39_321_600, 524_288_000));
/// assert_eq!(shape.static_k(48), 3.6);
/// # Ok::<(), l1forge_sim::pascal::InputError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GemmShape {
    /// Output tile rows.
    pub rows: u64,
    /// Output tile columns.
    pub columns: u64,
    /// Reduction steps.
    pub steps: u64,
}

impl GemmShape {
    /// The shape of a product of an `m` x `k` and a `k` x `n` matrix.
    ///
    /// # Errors
    /// A dimension is 0, above 2^24 or not a multiple of its tile.
    pub fn new(m: u64, n: u64, k: u64) -> Result<Self, InputError> {
        for (name, value, tile) in [("mg", m, TILE), ("ng", n, TILE), ("kg", k, STEP)] {
            if value == 0 || value > 1 << 24 || !value.is_multiple_of(tile) {
                let message = format!("{value} is not legal, legal values are multiples of {tile} up to {}", 1 << 24);
                return Err(InputError::new(name, message));
            }
        }
        Ok(Self { rows: m / TILE, columns: n / TILE, steps: k / STEP })
    }

    /// B0: the bytes of both operands, each read once.
    pub fn reference_bytes(&self) -> u64 {
        OPERAND_BYTES * (self.rows + self.columns) * self.steps
    }

    /// Q: the bytes that the thread blocks read.
    pub fn demand_bytes(&self) -> u64 {
        STEP_BYTES * self.rows * self.columns * self.steps
    }

    /// H: rounds of `workers` workers.
    pub fn rounds(&self, workers: u64) -> f64 {
        (self.rows * self.columns * self.steps) as f64 / workers as f64
    }

    /// K0: fills per round when both operands are read once.
    pub fn static_k(&self, workers: u64) -> f64 {
        (workers * (self.rows + self.columns)) as f64 / (2 * self.rows * self.columns) as f64
    }
}

/// The fitted traffic of one output grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GemmReference {
    /// Output tile rows.
    pub rows: u64,
    /// Output tile columns.
    pub columns: u64,
    /// Calibrated reduction steps, ascending.
    pub steps: Vec<f64>,
    /// `log(n_k kappa)` at each of them, non-decreasing.
    pub log_nk_kappa: Vec<f64>,
    /// Half the range of the logarithm of the repeats at each of them.
    pub scatter: Vec<f64>,
}

/// A frozen calibration of matrix products on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct GemmCalibration {
    device: Device,
    options: Options,
    occupancy: u64,
    /// By rows, then by columns.
    grid: BTreeMap<u64, BTreeMap<u64, (GemmReference, Curve)>>,
}

/// The target of a GEMM prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct GemmQuery {
    /// The device; if given, it must be the calibrated one.
    pub device: Option<String>,
    /// The kernel binary; if given, it must be the calibrated one.
    pub binary: Option<String>,
    /// The shape of the product.
    pub shape: GemmShape,
}

/// A predicted traffic of a product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GemmPrediction {
    /// Workers M.
    pub workers: u64,
    /// Fills per round, in steps of two operand tiles.
    pub k: f64,
    /// The static reference K0.
    pub k0: f64,
    /// `K / K0`, traffic relative to reading both operands once.
    pub kappa: f64,
    /// Fill bytes per byte read.
    pub rho: f64,
    /// Fill bytes over the whole run.
    pub traffic_bytes: f64,
    /// The encoded value that was decoded.
    pub encoded: f64,
    /// Whether a dimension was outside the calibrated range and held at its end.
    pub clamped: bool,
}

impl GemmCalibration {
    /// A calibration of fitted output grids.
    ///
    /// # Errors
    /// A constant, an option or a value of a reference is illegal, a grid is there twice, or there are none.
    pub fn new(device: Device, options: Options, occupancy: u64, references: Vec<GemmReference>) -> Result<Self, InputError> {
        let mut grid: BTreeMap<u64, BTreeMap<u64, (GemmReference, Curve)>> = BTreeMap::new();
        for (r, reference) in references.into_iter().enumerate() {
            let at = format!("references[{r}]");
            let (rows, columns) = (reference.rows, reference.columns);
            if rows == 0 || columns == 0 || rows > 1 << 20 || columns > 1 << 20 {
                return Err(InputError::new(at, format!("a grid of {rows} x {columns} tiles is not legal")));
            }
            if reference.scatter.len() != reference.steps.len() {
                return Err(InputError::new(format!("{at}.scatter"), "not one value per number of steps"));
            }
            let curve = Curve::through(&reference.steps, reference.log_nk_kappa.clone())
                .map_err(|e| InputError::new(format!("{at}.{}", e.field()), e.message()))?;
            if grid.entry(rows).or_default().insert(columns, (reference, curve)).is_some() {
                return Err(InputError::new(at, format!("the grid {rows} x {columns} is there twice")));
            }
        }
        if grid.is_empty() {
            return Err(InputError::new("references", "no references"));
        }
        if occupancy == 0 || occupancy > 1 << 10 {
            return Err(InputError::new("occupancy", format!("{occupancy} is not legal, legal values are 1 to 1024")));
        }
        Ok(Self { device: device.checked()?, options: options.checked()?, occupancy, grid })
    }

    /// The calibrated device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The choices the calibration was made with.
    pub fn options(&self) -> Options {
        self.options
    }

    /// Thread blocks per streaming multiprocessor of the calibrated kernel.
    pub fn occupancy(&self) -> u64 {
        self.occupancy
    }

    /// The references, by rows and columns.
    pub fn references(&self) -> impl Iterator<Item = &GemmReference> {
        self.grid.values().flat_map(|row| row.values().map(|(reference, _)| reference))
    }

    /// Predicts the traffic of a product.
    ///
    /// The references are evaluated at the target's number of steps, encoded, transferred along the logarithm of the columns for every
    /// calibrated row count, then along the logarithm of the rows, and decoded with the target's own K0.
    ///
    /// # Errors
    /// The target names another device or binary.
    pub fn predict(&self, query: &GemmQuery) -> Result<GemmPrediction, InputError> {
        self.device.accepts(query.device.as_deref(), query.binary.as_deref())?;
        let shape = query.shape;
        let workers = self.device.workers_per_occupancy * self.occupancy;
        let mut clamped = false;
        let mut along_rows = Vec::with_capacity(self.grid.len());
        let mut points = Vec::new();
        for (&rows, row) in &self.grid {
            points.clear();
            for (&columns, (_, curve)) in row {
                clamped |= curve.clamps(shape.steps as f64);
                points.push(((columns as f64).ln(), encode(curve.log_k(shape.steps as f64), self.options.epsilon)));
            }
            let (encoded, outside) = self.transfer(&points, (shape.columns as f64).ln());
            clamped |= outside;
            along_rows.push(((rows as f64).ln(), encoded));
        }
        let (encoded, outside) = self.transfer(&along_rows, (shape.rows as f64).ln());
        clamped |= outside;

        let k0 = shape.static_k(workers);
        let k = decode(encoded, workers, k0, self.options.epsilon);
        Ok(GemmPrediction {
            workers,
            k,
            k0,
            kappa: k / k0,
            rho: k / workers as f64,
            traffic_bytes: k * STEP_BYTES as f64 * shape.rounds(workers),
            encoded,
            clamped,
        })
    }

    /// All references are of one class, so the family prior is the class's.
    fn transfer(&self, points: &[(f64, f64)], at: f64) -> (f64, bool) {
        let points = Points::new(points);
        let linear = points.linear_with_bracket(at);
        let prior = points.prior(at, points, &self.options);
        (anchored(prior, linear.value, self.options.lambda), linear.clamped)
    }
}

/// Fits the references of a GEMM measurement table.
///
/// Columns `mg,ng,kg,bytes` (and optionally `repeat`); rows that agree in all but `bytes` are repeats. Constants as for scans, and
/// optionally `occupancy` (1 if absent). Every output grid needs every reduction length of the table.
///
/// # Errors
/// A constant or a cell is missing or illegal, or an output grid lacks a reduction length.
pub fn fit_gemm(table: &Table, options: Options) -> Result<GemmCalibration, InputError> {
    let device = device(table)?;
    let occupancy = if table.constant("occupancy").is_some() { table.constant_whole("occupancy")? } else { 1 };
    let mut runs: BTreeMap<(u64, u64), Runs> = BTreeMap::new();
    for row in table.rows(&["mg", "ng", "kg", "bytes"], &["repeat"])? {
        let shape = GemmShape::new(row.whole("mg")?, row.whole("ng")?, row.whole("kg")?).map_err(|e| e.at_row(row.number()))?;
        let group = runs.entry((shape.rows, shape.columns)).or_insert_with(|| Runs { first_row: row.number(), log_bytes: BTreeMap::new() });
        group.log_bytes.entry(shape.steps).or_default().push(row.positive("bytes")?.ln());
    }
    let all_steps: std::collections::BTreeSet<u64> = runs.values().flat_map(|runs| runs.log_bytes.keys().copied()).collect();
    let mut references = Vec::with_capacity(runs.len());
    for ((rows, columns), Runs { first_row, log_bytes: by_steps }) in runs {
        if let Some(missing) = all_steps.iter().find(|steps| !by_steps.contains_key(steps)) {
            let message =
                format!("output {} x {} has no measurement at {}, which other outputs have", rows * TILE, columns * TILE, missing * STEP);
            return Err(InputError::new("kg", message).at_row(first_row));
        }
        let scale = ((OPERAND_BYTES * (rows + columns)) as f64).ln();
        let measured: Vec<f64> = by_steps.values().map(|logs| logs.iter().sum::<f64>() / logs.len() as f64 - scale).collect();
        references.push(GemmReference {
            rows,
            columns,
            steps: by_steps.keys().map(|&steps| steps as f64).collect(),
            log_nk_kappa: super::isotonic::isotonic(&measured),
            scatter: by_steps.values().map(|logs| half_range(logs)).collect(),
        });
    }
    GemmCalibration::new(device, options, occupancy, references)
}

/// The repeats of one output grid, by reduction steps.
struct Runs {
    first_row: u64,
    log_bytes: BTreeMap<u64, Vec<f64>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_the_paper() {
        for (dims, m, k0, rho0) in [
            ((2560, 1280, 5120), 48, 3.6, 0.075),
            ((2560, 1280, 5120), 20, 1.5, 0.075),
            ((640, 640, 1280), 48, 9.6, 0.2),
            ((5120, 2560, 2560), 20, 0.75, 0.0375),
        ] {
            let shape = GemmShape::new(dims.0, dims.1, dims.2).unwrap();
            assert!((shape.static_k(m) - k0).abs() < 1e-12);
            assert!((shape.reference_bytes() as f64 / shape.demand_bytes() as f64 - rho0).abs() < 1e-12);
            // The three definitions of the static reference agree.
            let by_bytes = shape.reference_bytes() as f64 / (STEP_BYTES as f64 * shape.rounds(m));
            assert!((by_bytes - k0).abs() < 1e-12);
        }
    }

    #[test]
    fn illegal_shapes_are_refused() {
        assert_eq!(GemmShape::new(0, 128, 64).unwrap_err().field(), "mg");
        assert_eq!(GemmShape::new(128, 130, 64).unwrap_err().field(), "ng");
        assert_eq!(GemmShape::new(128, 128, 65).unwrap_err().field(), "kg");
        assert_eq!(GemmShape::new(1 << 25, 128, 64).unwrap_err().field(), "mg");
    }
}
