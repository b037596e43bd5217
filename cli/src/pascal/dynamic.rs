//! `fit` and `predict`: the calibrated predictor.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use l1forge_sim::pascal::InputError;
use l1forge_sim::pascal::predict::{
    Anchor, Assumptions, Calibration, EtaInterpolation, GemmCalibration, GemmQuery, GemmShape, Options, Prediction, Query, ScanCalibration,
    Table, execution_class, fit_gemm, fit_scan,
};
use serde_json::{Value, json};

use super::Report;
use super::input::{line, read};

/// The prior of the anchored interpolation.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum AnchorArg {
    /// The nearest reference of the class
    Nearest,
    /// The mean of the class
    ClassMean,
    /// The family, whatever the class
    FamilyLinear,
    /// Aligned traffic
    Aligned,
    /// No anchor
    Linear,
}

/// What is interpolated across scan sizes.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum EtaArg {
    /// Encoded values, decoded once
    Encoded,
    /// Decoded K
    Decoded,
}

/// The open choices of the predictor.
#[derive(Debug, Args)]
pub struct OptionArgs {
    /// Offset of the encoding, above 0 and at most 1
    #[arg(long, value_name = "EPS", default_value_t = 0.05, allow_negative_numbers = true)]
    epsilon: f64,
    /// Weight of the linear interpolation against the prior
    #[arg(long, value_name = "LAMBDA", default_value_t = 4.0, allow_negative_numbers = true)]
    lambda: f64,
    /// The prior
    #[arg(long, value_enum, default_value = "nearest")]
    anchor: AnchorArg,
    /// What is interpolated across scan sizes
    #[arg(long, value_enum, default_value = "encoded")]
    eta: EtaArg,
}

impl OptionArgs {
    pub(super) fn options(&self) -> Result<Options, InputError> {
        let anchor = match self.anchor {
            AnchorArg::Nearest => Anchor::Nearest,
            AnchorArg::ClassMean => Anchor::ClassMean,
            AnchorArg::FamilyLinear => Anchor::FamilyLinear,
            AnchorArg::Aligned => Anchor::Aligned,
            AnchorArg::Linear => Anchor::Linear,
        };
        let eta = match self.eta {
            EtaArg::Encoded => EtaInterpolation::Encoded,
            EtaArg::Decoded => EtaInterpolation::Decoded,
        };
        Options { epsilon: self.epsilon, lambda: self.lambda, anchor, eta }.checked()
    }
}

/// Arguments of `fit`.
#[derive(Debug, Args)]
pub struct FitArgs {
    /// Measurements, CSV or JSON: columns o,path,d,m,n,w,bytes, or mg,ng,kg,bytes for GEMM
    measurements: PathBuf,
    /// Where the frozen calibration goes
    #[arg(long, value_name = "FILE.json")]
    out: PathBuf,
    #[command(flatten)]
    options: OptionArgs,
}

impl FitArgs {
    pub(super) fn report(&self) -> Result<Report, InputError> {
        let options = self.options.options()?;
        let name = self.measurements.display().to_string();
        let text = read(&self.measurements, "measurements")?;
        let table = Table::parse(&text).map_err(|e| e.in_file(&name))?;
        let (calibration, mut report) = if table.has_column("mg") {
            let calibration = fit_gemm(&table, options).map_err(|e| e.in_file(&name))?;
            let report = gemm_summary(&calibration);
            (Calibration::Gemm(calibration), report)
        } else {
            let calibration = fit_scan(&table, options).map_err(|e| e.in_file(&name))?;
            let report = scan_summary(&calibration)?;
            (Calibration::Scan(calibration), report)
        };
        line(&mut report.text, "written", self.out.display());
        report.document["out"] = json!(self.out.display().to_string());
        report.files.push((self.out.clone(), calibration.to_json()));
        Ok(report)
    }
}

fn gemm_summary(calibration: &GemmCalibration) -> Report {
    let references = calibration.references().count();
    let mut text = String::new();
    line(&mut text, "device", &calibration.device().name);
    line(&mut text, "output grids", references);
    let document = json!({"kind": "gemm", "device": calibration.device().name, "references": references});
    Report::new(document, text)
}

fn scan_summary(calibration: &ScanCalibration) -> Result<Report, InputError> {
    let mut text = String::new();
    line(&mut text, "device", &calibration.device().name);
    let mut families = Vec::new();
    for family in calibration.families() {
        let of_family: Vec<_> = calibration.references().filter(|(other, _)| *other == family).map(|(_, r)| r).collect();
        let mut sizes: Vec<u64> = of_family.iter().map(|r| r.n).collect();
        sizes.dedup();
        let has = |class: u8, n: u64| of_family.iter().any(|r| r.n == n && execution_class(r.m) == class);
        // A class that is missing at some size will be refused there.
        let empty: Vec<u8> = (0..3).filter(|&class| sizes.iter().any(|&n| !has(class, n))).collect();
        let scatter = of_family.iter().flat_map(|r| &r.scatter).copied().fold(0.0, f64::max);
        families.push(json!({
            "o": family.o, "path": family.path, "d": family.d, "references": of_family.len(), "sizes": sizes,
            "empty_classes": empty, "largest_log_scatter": scatter,
        }));
        let gap = if empty.is_empty() { String::new() } else { format!(", no reference of class {empty:?} at some size") };
        line(&mut text, &family.to_string(), format!("{} references, N = {sizes:?}{gap}", of_family.len()));
    }
    let inside = calibration.leave_one_out()?;
    let shown = inside.mape().map_or("no reference is bracketed".to_string(), |mape| {
        format!("MAPE {mape:.2} % over {} predictions, worst {:.1} %", inside.runs(), inside.worst())
    });
    line(&mut text, "leaving one reference out", shown);
    let document = json!({
        "kind": "scan",
        "device": calibration.device().name,
        "references": calibration.references().count(),
        "families": families,
        "leave_one_out": {"mape": inside.mape(), "predictions": inside.runs(), "worst": inside.worst()},
    });
    Ok(Report::new(document, text))
}

/// Arguments of `predict`.
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// A frozen calibration of `fit`
    calibration: PathBuf,
    /// Resident thread blocks per multiprocessor
    #[arg(long, short, visible_alias = "o", value_name = "O", allow_negative_numbers = true)]
    occupancy: Option<u32>,
    /// Load path
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Prefetch depth
    #[arg(long, short, visible_alias = "d", value_name = "D", allow_negative_numbers = true)]
    depth: Option<u32>,
    /// Compute per block
    #[arg(long, short = 'm', visible_alias = "m", value_name = "M", allow_negative_numbers = true)]
    compute: Option<u32>,
    /// Scan length N in blocks
    #[arg(long, short = 'n', visible_alias = "n", value_name = "N", allow_negative_numbers = true)]
    blocks: Option<u64>,
    /// Number of scans W
    #[arg(long, short = 'w', visible_alias = "w", value_name = "W", allow_negative_numbers = true)]
    scans: Option<f64>,
    /// Many targets: CSV or JSON with columns o,path,d,m,n,w
    #[arg(long, value_name = "FILE", conflicts_with_all = ["occupancy", "path", "depth", "compute", "blocks", "scans", "gemm"])]
    targets: Option<PathBuf>,
    /// A matrix product instead, as MxNxK
    #[arg(long, value_name = "MxNxK", conflicts_with_all = ["occupancy", "path", "depth", "compute", "blocks", "scans"])]
    gemm: Option<String>,
    /// Refuse the calibration of any other device
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Refuse the calibration of any other kernel binary
    #[arg(long, value_name = "NAME")]
    binary: Option<String>,
    /// Bound on the second derivative of the encoded response over compute; estimated without it
    #[arg(long, value_name = "J", allow_negative_numbers = true)]
    curvature: Option<f64>,
    /// Bound on the error of the encoded references; estimated from the repeats without it
    #[arg(long, value_name = "XI", allow_negative_numbers = true)]
    reference_error: Option<f64>,
}

impl PredictArgs {
    pub(super) fn report(&self) -> Result<Report, InputError> {
        let name = self.calibration.display().to_string();
        let text = read(&self.calibration, "calibration")?;
        match (Calibration::from_json(&text).map_err(|e| e.in_file(&name))?, &self.gemm) {
            (Calibration::Gemm(calibration), Some(shape)) => self.gemm(&calibration, shape),
            (Calibration::Gemm(_), None) => {
                Err(InputError::new("gemm", "this calibration is of matrix products, give --gemm MxNxK").in_file(name))
            }
            (Calibration::Scan(_), Some(_)) => {
                Err(InputError::new("gemm", "this calibration is of scans, not of matrix products").in_file(name))
            }
            (Calibration::Scan(calibration), None) => match &self.targets {
                Some(path) => self.many(&calibration, path),
                None => {
                    let query = self.query()?;
                    let prediction = calibration.predict(&query)?;
                    Ok(Report::new(prediction_json(&query, &prediction), prediction_text(&prediction)))
                }
            },
        }
    }

    fn query(&self) -> Result<Query, InputError> {
        fn given<T: Clone>(field: &str, value: &Option<T>) -> Result<T, InputError> {
            value.clone().ok_or_else(|| InputError::new(field, "missing"))
        }
        Ok(Query {
            o: given("occupancy", &self.occupancy)?,
            path: given("path", &self.path)?,
            d: given("depth", &self.depth)?,
            m: given("compute", &self.compute)?,
            blocks: given("blocks", &self.blocks)?,
            scans: given("scans", &self.scans)?,
            ..self.template()
        })
    }

    fn template(&self) -> Query {
        Query {
            device: self.device.clone(),
            binary: self.binary.clone(),
            o: 0,
            path: String::new(),
            d: 0,
            m: 0,
            blocks: 0,
            scans: 0.0,
            assumptions: Assumptions { curvature: self.curvature, reference_error: self.reference_error },
        }
    }

    fn many(&self, calibration: &ScanCalibration, path: &std::path::Path) -> Result<Report, InputError> {
        let name = path.display().to_string();
        let table = Table::parse(&read(path, "targets")?).map_err(|e| e.in_file(&name))?;
        let queries = table.targets(&self.template()).map_err(|e| e.in_file(&name))?;
        let mut text = format!("{:>4} {:>6} {:>3} {:>5} {:>9} {:>8} {:>10} {:>10}\n", "o", "path", "d", "m", "N", "W", "K", "rho");
        let mut rows = Vec::with_capacity(queries.len());
        for (row, query) in queries {
            let prediction = calibration.predict(&query).map_err(|e| e.in_file(&name).at_row(row))?;
            text += &format!(
                "{:>4} {:>6} {:>3} {:>5} {:>9} {:>8} {:>10.4} {:>10.6}\n",
                query.o, query.path, query.d, query.m, query.blocks, query.scans, prediction.k, prediction.rho
            );
            rows.push(prediction_json(&query, &prediction));
        }
        Ok(Report::new(Value::Array(rows), text))
    }

    fn gemm(&self, calibration: &GemmCalibration, shape: &str) -> Result<Report, InputError> {
        let wrong = || InputError::new("gemm", format!("'{shape}' is not a shape, write MxNxK"));
        let dims: Vec<u64> = shape.split('x').map(|part| part.parse().map_err(|_| wrong())).collect::<Result<_, _>>()?;
        let &[m, n, k] = dims.as_slice() else {
            return Err(wrong());
        };
        let shape = GemmShape::new(m, n, k)?;
        let query = GemmQuery { device: self.device.clone(), binary: self.binary.clone(), shape };
        let found = calibration.predict(&query)?;
        let document = json!({
            "m": m, "n": n, "k_dim": k,
            "tiles": {"rows": shape.rows, "columns": shape.columns, "steps": shape.steps},
            "workers": found.workers,
            "k": found.k,
            "k0": found.k0,
            "kappa": found.kappa,
            "rho": found.rho,
            "traffic_bytes": found.traffic_bytes,
            "reference_bytes": shape.reference_bytes(),
            "demand_bytes": shape.demand_bytes(),
            "encoded": found.encoded,
            "clamped": found.clamped,
        });
        let mut text = String::new();
        line(&mut text, "K", format!("{:.6} fills per round, {:.4} times the static {:.4}", found.k, found.kappa, found.k0));
        line(&mut text, "rho", format!("{:.8} fill bytes per byte read", found.rho));
        line(&mut text, "traffic", format!("{:.0} bytes", found.traffic_bytes));
        if found.clamped {
            line(&mut text, "held at the calibrated range", "yes");
        }
        Ok(Report::new(document, text))
    }
}

fn prediction_json(query: &Query, found: &Prediction) -> Value {
    let sizes: Vec<Value> = found
        .sizes
        .iter()
        .map(|size| {
            json!({
                "blocks": size.blocks, "weight": size.weight, "bracket": [size.bracket.0, size.bracket.1],
                "linear": size.linear, "prior": size.prior, "encoded": size.encoded,
            })
        })
        .collect();
    let certificate = found.certificate.map(|certificate| {
        json!({
            "relative_error": certificate.relative_error,
            "encoded_error": certificate.encoded_error,
            "curvature": certificate.curvature,
            "curvature_estimated": certificate.curvature_estimated,
            "reference_error": certificate.reference_error,
            "reference_error_estimated": certificate.reference_error_estimated,
        })
    });
    json!({
        "o": query.o, "path": query.path, "d": query.d, "m": query.m, "blocks": query.blocks, "scans": query.scans,
        "workers": found.workers,
        "k": found.k,
        "rho": found.rho,
        "traffic_bytes": found.traffic_bytes,
        "rounds": found.rounds,
        "class": found.class,
        "encoded": found.encoded,
        "clamped": {"scans": found.clamped.scans, "compute": found.clamped.compute, "blocks": found.clamped.blocks},
        "sizes": sizes,
        "certificate": certificate,
    })
}

fn prediction_text(found: &Prediction) -> String {
    let mut text = String::new();
    line(&mut text, "K", format!("{:.6} fills per round of {} workers", found.k, found.workers));
    line(&mut text, "rho", format!("{:.8} fills per request", found.rho));
    line(&mut text, "traffic", format!("{:.0} bytes in {} rounds", found.traffic_bytes, found.rounds));
    line(&mut text, "execution class", found.class);
    for size in &found.sizes {
        let (low, high) = size.bracket;
        let value = format!("weight {:.4}, references m = {low} and {high}, encoded {:.6}", size.weight, size.encoded);
        line(&mut text, &format!("at N = {}", size.blocks), value);
    }
    let held = [("scans", found.clamped.scans), ("compute", found.clamped.compute), ("scan length", found.clamped.blocks)];
    let held: Vec<&str> = held.iter().filter(|(_, held)| *held).map(|(name, _)| *name).collect();
    if !held.is_empty() {
        line(&mut text, "held at the calibrated range", held.join(", "));
    }
    match found.certificate {
        Some(certificate) => {
            let source = match (certificate.curvature_estimated, certificate.reference_error_estimated) {
                (false, false) => "",
                _ => ", by estimated assumptions",
            };
            line(&mut text, "error of K at most", format!("{:.2} %{source}", 100.0 * certificate.relative_error));
        }
        None => line(&mut text, "error of K at most", "unknown: outside the calibrated range, or no curvature known"),
    }
    text
}
