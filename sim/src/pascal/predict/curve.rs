//! The traffic curve of one reference (PASCAL section 4.2, equation (14), appendix C.2).

use super::isotonic::isotonic;
use super::pchip::Pchip;
use crate::pascal::error::{InputError, positive};

/// Cumulative traffic over the horizon, relative to one fill per round, as a monotone curve in logarithms.
///
/// The ordinate is `y = log(W K)`, the abscissa `log W`; `log K = y - log W`. The horizon W is the number of scans, or for GEMM the
/// number of reduction steps. Outside the calibrated horizons K is held at the nearest end.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    pchip: Pchip,
    first: f64,
    last: f64,
}

impl Curve {
    /// The curve through measured `log(W K)` at ascending horizons, made non-decreasing first.
    ///
    /// # Errors
    /// No horizons, lengths that differ, a horizon that is not a finite number above 0 or not ascending, or a value that is not finite.
    pub fn fit(horizons: &[f64], log_wk: &[f64]) -> Result<Self, InputError> {
        Self::through(horizons, isotonic(log_wk))
    }

    /// The curve through values that are non-decreasing already.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); also if a value is below the one before.
    pub fn through(horizons: &[f64], log_wk: Vec<f64>) -> Result<Self, InputError> {
        for (j, &horizon) in horizons.iter().enumerate() {
            positive(&format!("horizons[{j}]"), horizon)?;
        }
        if let Some(j) = (1..horizons.len()).find(|&j| horizons[j] <= horizons[j - 1]) {
            return Err(InputError::new(format!("horizons[{j}]"), "not above the one before"));
        }
        if let Some(j) = (1..log_wk.len()).find(|&j| log_wk[j] < log_wk[j - 1]) {
            return Err(InputError::new(format!("log_wk[{j}]"), "below the one before, cumulative traffic cannot fall"));
        }
        let pchip = Pchip::new(horizons.iter().map(|w| w.ln()).collect(), log_wk)?;
        Ok(Self { pchip, first: horizons[0], last: horizons[horizons.len() - 1] })
    }

    /// `log K` at a horizon above 0.
    pub fn log_k(&self, horizon: f64) -> f64 {
        let x = horizon.clamp(self.first, self.last).ln();
        self.pchip.value(x) - x
    }

    /// Whether a horizon is outside the calibrated ones.
    pub fn clamps(&self, horizon: f64) -> bool {
        horizon < self.first || horizon > self.last
    }

    /// The slopes at the horizons, in `log(W K)` per `log W`.
    pub fn slopes(&self) -> &[f64] {
        self.pchip.slopes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example() {
        // Specification section 6.2: repeats of K at W = 1, 4, 16, 64.
        let repeats = [[1.0, 1.01], [1.02, 1.0], [1.75, 1.85], [5.5, 5.62f64]];
        let horizons = [1.0, 4.0, 16.0, 64.0f64];
        let y: Vec<f64> = repeats.iter().zip(horizons).map(|(k, w)| (k[0].ln() + k[1].ln()) / 2.0 + w.ln()).collect();
        let curve = Curve::fit(&horizons, &y).unwrap();
        let slopes = [0.797_041_317_132, 1.174_821_848_258, 1.590_759_192_800, 2.012_381_703_531];
        assert!(curve.slopes().iter().zip(slopes).all(|(found, s)| (found - s).abs() < 1e-9));
        for (w, k) in [(2.0, 0.943_625_282_667), (8.0, 1.254_296_131_892), (32.0, 2.939_997_356_348), (80.0, 5.559_676_249_567)] {
            assert!((curve.log_k(w).exp() - k).abs() < 1e-9, "W = {w}");
        }
        assert!(curve.clamps(80.0) && curve.clamps(0.5) && !curve.clamps(1.0) && !curve.clamps(64.0));
        assert_eq!(curve.log_k(0.5), curve.log_k(1.0));
    }

    #[test]
    fn falling_traffic_is_pooled_when_fitted_and_refused_when_given() {
        let y = [4.0f64.ln(), 3.6f64.ln(), 16.0f64.ln()];
        let fitted = Curve::fit(&[1.0, 4.0, 16.0], &y).unwrap();
        let pooled = (y[0] + y[1]) / 2.0;
        assert!((fitted.log_k(1.0) - pooled).abs() < 1e-12);
        assert!((fitted.log_k(4.0) - (pooled - 4.0f64.ln())).abs() < 1e-12);
        assert_eq!(Curve::through(&[1.0, 4.0, 16.0], y.to_vec()).unwrap_err().field(), "log_wk[1]");
        assert_eq!(Curve::fit(&[1.0, 0.0], &[0.0, 0.0]).unwrap_err().field(), "horizons[1]");
        assert_eq!(Curve::fit(&[2.0, 1.0], &[0.0, 0.0]).unwrap_err().field(), "horizons[1]");
    }
}
