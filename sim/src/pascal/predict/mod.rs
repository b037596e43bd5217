//! The dynamic predictor: traffic of runs whose workers drift apart (PASCAL section 4 and appendix C; specification section 6).
//!
//! Measured traffic of reference configurations is fitted once per device ([`fit_scan`]) and frozen ([`ScanCalibration`]); a prediction
//! ([`ScanCalibration::predict`]) reads the frozen calibration and the target's configuration, nothing of the target's run.
//!
//! 1. per reference, a monotone curve of cumulative traffic over the number of scans ([`Curve`]);
//! 2. its excess over aligned traffic, encoded ([`encode`]);
//! 3. transfer within the execution class ([`execution_class`]) by anchored interpolation ([`anchored`]), then across scan sizes, then
//!    one decode ([`decode`]).
//!
//! The text of the paper leaves four choices open; they are [`Options`].

mod anchor;
mod calibration;
mod certificate;
mod class;
mod curve;
mod encoding;
mod fit;
mod gemm;
mod isotonic;
mod metrics;
mod options;
mod pchip;
mod scan_predictor;
mod table;

pub use anchor::{Points, anchored};
pub use calibration::{CALIBRATION_FORMAT, Calibration, Device, Family, Reference, ScanCalibration};
pub use certificate::{Assumptions, Certificate, encoded_error_bound};
pub use class::{execution_class, unsampled_class_error};
pub use curve::Curve;
pub use encoding::{decode, encode, relative_error_bound};
pub use fit::{DEFAULT_HORIZONS, fit_scan};
pub use gemm::{GemmCalibration, GemmPrediction, GemmQuery, GemmReference, GemmShape, fit_gemm};
pub use isotonic::isotonic;
pub use metrics::{Accuracy, initial_memory_pressure, mape};
pub use options::{Anchor, EtaInterpolation, Options};
pub use pchip::Pchip;
pub use scan_predictor::{Clamped, Prediction, Query, SizePrediction};
pub use table::Table;
