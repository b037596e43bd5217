//! Shape-preserving piecewise cubic Hermite interpolation (Fritsch and Butland; PASCAL section 4.2, appendix C.2).

use crate::pascal::error::InputError;

/// A monotone piecewise cubic through given knots.
///
/// Interior slopes are weighted harmonic means of the neighbouring differences, 0 where they differ in sign or vanish; end slopes come
/// from the one-sided three-point rule, limited so that the curve stays monotone (the convention of SciPy's `PchipInterpolator`).
#[derive(Debug, Clone, PartialEq)]
pub struct Pchip {
    x: Vec<f64>,
    y: Vec<f64>,
    slopes: Vec<f64>,
}

impl Pchip {
    /// The interpolant through `(x[k], y[k])`. One knot makes a constant.
    ///
    /// # Errors
    /// No knots, lengths that differ, a value that is not finite, or `x` not ascending.
    pub fn new(x: Vec<f64>, y: Vec<f64>) -> Result<Self, InputError> {
        if x.is_empty() || x.len() != y.len() {
            let message = format!("{} and {} values, at least one and equally many are needed", x.len(), y.len());
            return Err(InputError::new("knots", message));
        }
        if let Some(k) = (0..x.len()).find(|&k| !x[k].is_finite() || !y[k].is_finite()) {
            return Err(InputError::new(format!("knots[{k}]"), "not a finite number"));
        }
        if let Some(k) = (1..x.len()).find(|&k| x[k] <= x[k - 1]) {
            return Err(InputError::new(format!("knots[{k}]"), "not above the one before"));
        }
        let slopes = slopes(&x, &y);
        Ok(Self { x, y, slopes })
    }

    /// The value at `at`; outside the knots, the value at the nearest one.
    pub fn value(&self, at: f64) -> f64 {
        let last = self.x.len() - 1;
        let at = at.clamp(self.x[0], self.x[last]);
        // The interval that contains it; the last one is closed on the right.
        let k = self.x.partition_point(|&knot| knot <= at).clamp(1, last.max(1)) - 1;
        if last == 0 {
            return self.y[0];
        }
        let h = self.x[k + 1] - self.x[k];
        let t = (at - self.x[k]) / h;
        let (t2, t3) = (t * t, t * t * t);
        self.y[k] * (2.0 * t3 - 3.0 * t2 + 1.0)
            + self.y[k + 1] * (3.0 * t2 - 2.0 * t3)
            + h * self.slopes[k] * (t3 - 2.0 * t2 + t)
            + h * self.slopes[k + 1] * (t3 - t2)
    }

    /// The knots' positions.
    pub fn knots(&self) -> &[f64] {
        &self.x
    }

    /// The slopes at the knots.
    pub fn slopes(&self) -> &[f64] {
        &self.slopes
    }
}

fn slopes(x: &[f64], y: &[f64]) -> Vec<f64> {
    let h: Vec<f64> = x.windows(2).map(|x| x[1] - x[0]).collect();
    let delta: Vec<f64> = y.windows(2).zip(&h).map(|(y, h)| (y[1] - y[0]) / h).collect();
    match delta.len() {
        0 => return vec![0.0],
        1 => return vec![delta[0]; 2],
        _ => {}
    }
    let mut slopes = vec![end_slope(h[0], h[1], delta[0], delta[1])];
    for k in 1..delta.len() {
        let (before, after) = (delta[k - 1], delta[k]);
        slopes.push(if before * after > 0.0 {
            let (w1, w2) = (2.0 * h[k] + h[k - 1], h[k] + 2.0 * h[k - 1]);
            (w1 + w2) / (w1 / before + w2 / after)
        } else {
            0.0
        });
    }
    let last = delta.len() - 1;
    slopes.push(end_slope(h[last], h[last - 1], delta[last], delta[last - 1]));
    slopes
}

/// The one-sided slope at an end: `h0` and `d0` are the width and the difference of the end interval.
fn end_slope(h0: f64, h1: f64, d0: f64, d1: f64) -> f64 {
    let slope = ((2.0 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
    if slope * d0 <= 0.0 {
        0.0
    } else if d0 * d1 <= 0.0 && slope.abs() > 3.0 * d0.abs() {
        3.0 * d0
    } else {
        slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: &[f64], expected: &[f64]) -> bool {
        found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-12)
    }

    #[test]
    fn known_slopes() {
        // Reference values of SciPy's PchipInterpolator.
        let slopes = |x: &[f64], y: &[f64]| Pchip::new(x.to_vec(), y.to_vec()).unwrap().slopes().to_vec();
        assert!(close(&slopes(&[0.0, 1.0, 2.0, 3.0], &[0.0, 1.0, 1.0, 4.0]), &[1.5, 0.0, 0.0, 4.5]));
        let uneven = slopes(&[0.0, 1.0, 3.0, 6.0], &[0.0, 0.2, 2.0, 2.1]);
        assert!(close(&uneven, &[0.0, 0.305_660_377_358_490_6, 0.068_527_918_781_725_94, 0.0]), "{uneven:?}");
        assert!(close(&slopes(&[0.0, 1.0], &[3.0, 5.0]), &[2.0, 2.0]));
        assert!(close(&slopes(&[0.0, 1.0, 2.0], &[0.0, 2.0, 1.0]), &[3.5, 0.0, -2.5]));
        // The limit of three times the end difference.
        assert!(close(&slopes(&[0.0, 1.0, 1.1], &[0.0, 1.0, 0.0]), &[3.0, 0.0, -11.0]));
    }

    #[test]
    fn one_knot_is_a_constant() {
        let curve = Pchip::new(vec![2.0], vec![7.0]).unwrap();
        assert_eq!((curve.value(-5.0), curve.value(2.0), curve.value(9.0)), (7.0, 7.0, 7.0));
    }

    #[test]
    fn bad_knots_are_refused() {
        let field = |x: &[f64], y: &[f64]| Pchip::new(x.to_vec(), y.to_vec()).unwrap_err().field().to_string();
        assert_eq!(field(&[], &[]), "knots");
        assert_eq!(field(&[1.0], &[]), "knots");
        assert_eq!(field(&[1.0, 1.0], &[0.0, 0.0]), "knots[1]");
        assert_eq!(field(&[1.0, f64::NAN], &[0.0, 0.0]), "knots[1]");
        assert_eq!(field(&[1.0], &[f64::INFINITY]), "knots[0]");
    }

    proptest! {
        #[test]
        fn passes_through_the_knots_and_keeps_their_shape(
            steps in prop::collection::vec((0.01..3.0f64, 0.0..5.0f64), 1..8),
        ) {
            let (mut x, mut y) = (vec![0.0], vec![0.0]);
            for (dx, dy) in steps {
                x.push(x[x.len() - 1] + dx);
                y.push(y[y.len() - 1] + dy);
            }
            let curve = Pchip::new(x.clone(), y.clone()).unwrap();
            for (&x, &y) in x.iter().zip(&y) {
                prop_assert!((curve.value(x) - y).abs() < 1e-9);
            }
            let last = x[x.len() - 1];
            let mut before = y[0];
            for i in 0..=400 {
                let value = curve.value(last * f64::from(i) / 400.0);
                prop_assert!(value >= before - 1e-9, "not monotone at {i}");
                before = value;
            }
            prop_assert_eq!(curve.value(last + 1.0), curve.value(last));
            prop_assert_eq!(curve.value(-1.0), curve.value(0.0));
        }

        #[test]
        fn is_smooth_across_knots(ys in prop::collection::vec(-5.0..5.0f64, 3..7)) {
            let x: Vec<f64> = (0..ys.len()).map(|k| k as f64).collect();
            let curve = Pchip::new(x, ys.clone()).unwrap();
            for k in 1..ys.len() - 1 {
                let (at, step) = (k as f64, 1e-6);
                let left = (curve.value(at) - curve.value(at - step)) / step;
                let right = (curve.value(at + step) - curve.value(at)) / step;
                prop_assert!((left - right).abs() < 1e-3 && (left - curve.slopes()[k]).abs() < 1e-3);
            }
        }
    }
}
