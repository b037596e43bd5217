//! The frozen calibration: what a fit leaves and a prediction reads.

use serde::{Deserialize, Serialize};

use super::class::execution_class;
use super::curve::Curve;
use super::gemm::GemmCalibration;
use super::options::Options;
use crate::pascal::error::{InputError, non_negative};
use crate::pascal::scan::{MAX_BLOCKS, check_capacity};

/// The name and version of the JSON format.
pub const CALIBRATION_FORMAT: &str = "l1forge-pascal-calibration-1";

/// The constants of a calibrated device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Its name; a query may insist on it.
    pub name: String,
    /// The kernel binary the references ran, if recorded; a query may insist on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<String>,
    /// Workers per unit of occupancy: streaming multiprocessors.
    pub workers_per_occupancy: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Effective capacity C of the shared cache, in blocks.
    pub capacity_blocks: u64,
}

impl Device {
    pub(super) fn checked(self) -> Result<Self, InputError> {
        if self.name.is_empty() {
            return Err(InputError::new("device", "no name"));
        }
        let limit = 1 << 20;
        for (name, value) in [("workers_per_occupancy", self.workers_per_occupancy), ("block_bytes", self.block_bytes)] {
            // The same limit does for both: a million workers, blocks of up to a gibibyte.
            let limit = if name == "block_bytes" { 1 << 30 } else { limit };
            if value == 0 || value > limit {
                return Err(InputError::new(name, format!("{value} is not legal, legal values are 1 to {limit}")));
            }
        }
        check_capacity(self.capacity_blocks).map_err(|e| InputError::new("capacity_blocks", e.message()))?;
        Ok(self)
    }

    /// A query that names a device or a binary must name this one.
    pub(super) fn accepts(&self, device: Option<&str>, binary: Option<&str>) -> Result<(), InputError> {
        if let Some(other) = device.filter(|name| *name != self.name) {
            let message = format!("'{other}' is not the calibrated device, this calibration is of '{}'", self.name);
            return Err(InputError::new("device", message));
        }
        if let Some(other) = binary.filter(|name| Some(*name) != self.binary.as_deref()) {
            let own = self.binary.as_deref().unwrap_or("not recorded");
            let message = format!("'{other}' is not the calibrated binary, this calibration is of '{own}'");
            return Err(InputError::new("binary", message));
        }
        Ok(())
    }
}

/// A family of configurations: everything but the compute per block.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Family {
    /// Resident thread blocks per streaming multiprocessor.
    pub o: u32,
    /// Load path, such as `sync` or `tma`.
    pub path: String,
    /// Prefetch depth, 0 for the synchronous path.
    pub d: u32,
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "o={} path={} d={}", self.o, self.path, self.d)
    }
}

/// The fitted traffic of one reference configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Compute per block.
    pub m: u32,
    /// Scan length N in blocks.
    pub n: u64,
    /// Calibrated numbers of scans, ascending.
    pub horizons: Vec<f64>,
    /// `log(W K)` at each horizon, non-decreasing.
    pub log_wk: Vec<f64>,
    /// Half the range of the logarithm of the repeats at each horizon.
    pub scatter: Vec<f64>,
}

/// A frozen calibration of either kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Calibration {
    /// Shared cyclic scans.
    Scan(ScanCalibration),
    /// Matrix products, whose operands are shared in part.
    Gemm(GemmCalibration),
}

#[derive(Serialize, Deserialize)]
struct FamilyJson {
    #[serde(flatten)]
    family: Family,
    references: Vec<Reference>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Body {
    Scan { families: Vec<FamilyJson> },
    Gemm { occupancy: u64, references: Vec<super::gemm::GemmReference> },
}

#[derive(Serialize, Deserialize)]
struct CalibrationJson {
    format: String,
    device: Device,
    options: Options,
    #[serde(flatten)]
    body: Body,
}

impl Calibration {
    /// The calibration as JSON, the same bytes for the same calibration.
    pub fn to_json(&self) -> String {
        let (device, options, body) = match self {
            Self::Scan(scan) => {
                let families = scan.families.iter().map(|data| FamilyJson {
                    family: data.family.clone(),
                    references: data.sizes.iter().flat_map(|size| size.references.iter().map(|r| r.frozen.clone())).collect(),
                });
                (&scan.device, scan.options, Body::Scan { families: families.collect() })
            }
            Self::Gemm(gemm) => {
                let body = Body::Gemm { occupancy: gemm.occupancy(), references: gemm.references().cloned().collect() };
                (gemm.device(), gemm.options(), body)
            }
        };
        let json = CalibrationJson { format: CALIBRATION_FORMAT.to_string(), device: device.clone(), options, body };
        let mut text = serde_json::to_string_pretty(&json).expect("every value is finite and every key a text");
        text.push('\n');
        text
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// The text is not such a calibration, or a value in it is illegal.
    pub fn from_json(text: &str) -> Result<Self, InputError> {
        let wrong = |e: serde_json::Error| InputError::new("calibration", format!("not a frozen calibration: {e}"));
        let json: CalibrationJson = serde_json::from_str(text).map_err(wrong)?;
        if json.format != CALIBRATION_FORMAT {
            let message = format!("'{}' cannot be read, expected '{CALIBRATION_FORMAT}'", json.format);
            return Err(InputError::new("format", message));
        }
        Ok(match json.body {
            Body::Scan { families } => {
                let families = families.into_iter().map(|f| (f.family, f.references)).collect();
                Self::Scan(ScanCalibration::new(json.device, json.options, families)?)
            }
            Body::Gemm { occupancy, references } => Self::Gemm(GemmCalibration::new(json.device, json.options, occupancy, references)?),
        })
    }
}

/// A frozen calibration of shared cyclic scans on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanCalibration {
    pub(super) device: Device,
    pub(super) options: Options,
    /// Ascending by family.
    pub(super) families: Vec<FamilyData>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct FamilyData {
    pub family: Family,
    /// Ascending by scan length.
    pub sizes: Vec<SizeData>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SizeData {
    pub n: u64,
    /// Ascending by compute.
    pub references: Vec<Prepared>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Prepared {
    pub frozen: Reference,
    pub class: u8,
    pub curve: Curve,
}

impl ScanCalibration {
    /// A calibration of fitted references.
    ///
    /// # Errors
    /// A constant, an option or a value of a reference is illegal, a reference is there twice, or there are none.
    pub fn new(device: Device, options: Options, families: Vec<(Family, Vec<Reference>)>) -> Result<Self, InputError> {
        let mut data: Vec<FamilyData> = Vec::with_capacity(families.len());
        for (f, (family, references)) in families.into_iter().enumerate() {
            let at = format!("families[{f}]");
            if family.o == 0 {
                return Err(InputError::new(format!("{at}.o"), "0 thread blocks, at least 1 is needed"));
            }
            if data.iter().any(|other| other.family == family) {
                return Err(InputError::new(at, format!("the family {family} is there twice")));
            }
            data.push(FamilyData { family, sizes: sizes(references, &at)? });
        }
        if data.is_empty() {
            return Err(InputError::new("families", "no references"));
        }
        data.sort_by(|a, b| a.family.cmp(&b.family));
        Ok(Self { device: device.checked()?, options: options.checked()?, families: data })
    }

    /// The calibrated device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The choices the calibration was made with.
    pub fn options(&self) -> Options {
        self.options
    }

    /// The same references with other choices: no fit depends on them.
    ///
    /// # Errors
    /// An option is illegal.
    pub fn with_options(mut self, options: Options) -> Result<Self, InputError> {
        self.options = options.checked()?;
        Ok(self)
    }

    /// The calibrated families, ascending.
    pub fn families(&self) -> impl ExactSizeIterator<Item = &Family> {
        self.families.iter().map(|data| &data.family)
    }

    /// The references of all families, by family, scan length and compute.
    pub fn references(&self) -> impl Iterator<Item = (&Family, &Reference)> {
        self.families.iter().flat_map(|data| data.references().map(|reference| (&data.family, reference)))
    }
}

impl FamilyData {
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.sizes.iter().flat_map(|size| &size.references).map(|prepared| &prepared.frozen)
    }

    /// The compute values that have a reference of their class below and above at every scan length where they are.
    pub fn interior_compute(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.references().map(|reference| reference.m).collect();
        all.sort_unstable();
        all.dedup();
        let bracketed = |m: u32| {
            self.sizes.iter().filter(|size| size.references.iter().any(|r| r.frozen.m == m)).all(|size| {
                let class: Vec<u32> = size.references.iter().filter(|r| r.class == execution_class(m)).map(|r| r.frozen.m).collect();
                class.first() < Some(&m) && class.last() > Some(&m)
            })
        };
        all.retain(|&m| bracketed(m));
        all
    }
}

fn sizes(references: Vec<Reference>, at: &str) -> Result<Vec<SizeData>, InputError> {
    let mut prepared: Vec<Prepared> = Vec::with_capacity(references.len());
    for (r, frozen) in references.into_iter().enumerate() {
        let at = format!("{at}.references[{r}]");
        let locate = |e: InputError| InputError::new(format!("{at}.{}", e.field()), e.message());
        if frozen.n == 0 || frozen.n > MAX_BLOCKS {
            let message = format!("{} is not a scan length, legal values are 1 to {MAX_BLOCKS}", frozen.n);
            return Err(InputError::new(format!("{at}.n"), message));
        }
        if prepared.iter().any(|other| (other.frozen.m, other.frozen.n) == (frozen.m, frozen.n)) {
            return Err(InputError::new(at, format!("m={} n={} is there twice", frozen.m, frozen.n)));
        }
        if frozen.scatter.len() != frozen.horizons.len() {
            return Err(InputError::new(format!("{at}.scatter"), "not one value per horizon"));
        }
        for (j, &value) in frozen.scatter.iter().enumerate() {
            non_negative(&format!("scatter[{j}]"), value).map_err(locate)?;
        }
        let curve = Curve::through(&frozen.horizons, frozen.log_wk.clone()).map_err(locate)?;
        prepared.push(Prepared { class: execution_class(frozen.m), curve, frozen });
    }
    if prepared.is_empty() {
        return Err(InputError::new(format!("{at}.references"), "no references"));
    }
    prepared.sort_by_key(|p| (p.frozen.n, p.frozen.m));
    let mut sizes: Vec<SizeData> = Vec::new();
    for reference in prepared {
        match sizes.last_mut() {
            Some(size) if size.n == reference.frozen.n => size.references.push(reference),
            _ => sizes.push(SizeData { n: reference.frozen.n, references: vec![reference] }),
        }
    }
    Ok(sizes)
}
