//! What a prediction guarantees, and under which assumptions (PASCAL section 4.5, Proposition 2, appendix C.6).

use super::encoding::relative_error_bound;
use super::options::Options;
use crate::pascal::error::{InputError, non_negative};

/// Proposition 2: the largest error of the anchored value on a bracket.
///
/// `curvature` bounds the second derivative of the encoded response on the bracket of width `width`, `reference_error` the error of its
/// two references and `anchor_distance` the distance of the prior from the truth.
///
/// ```
/// use l1forge_sim::pascal::predict::encoded_error_bound;
/// assert!((encoded_error_bound(0.1, 4.0, 0.05, 0.3, 4.0) - 0.26).abs() < 1e-12);
/// ```
pub fn encoded_error_bound(curvature: f64, width: f64, reference_error: f64, anchor_distance: f64, lambda: f64) -> f64 {
    let linear = curvature * width * width / 8.0 + reference_error;
    (anchor_distance + lambda * linear) / (1.0 + lambda)
}

/// What is assumed about the response, where it is known; what is not given is estimated from the calibration.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Assumptions {
    /// A bound on the second derivative of the encoded response over compute, per block of compute squared.
    pub curvature: Option<f64>,
    /// A bound on the error of the encoded references.
    pub reference_error: Option<f64>,
}

impl Assumptions {
    /// The assumptions, if they are legal.
    ///
    /// # Errors
    /// A given value is not a finite number of at least 0.
    pub fn checked(self) -> Result<Self, InputError> {
        for (name, value) in [("curvature", self.curvature), ("reference_error", self.reference_error)] {
            if let Some(value) = value {
                non_negative(name, value)?;
            }
        }
        Ok(self)
    }
}

/// An error bound of one prediction. It holds if the assumptions do; estimated assumptions make it an estimate.
///
/// It is about the transfer over compute, as Proposition 2 is. Between calibrated horizons and scan lengths the fitted curve and its
/// interpolation are taken as they are; an error there belongs into the reference error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// The curvature used.
    pub curvature: f64,
    /// Whether it was estimated from the references of the class.
    pub curvature_estimated: bool,
    /// The reference error used.
    pub reference_error: f64,
    /// Whether it was estimated from the scatter of the repeats.
    pub reference_error_estimated: bool,
    /// The largest error of the encoded value, over the scan sizes used.
    pub encoded_error: f64,
    /// The largest relative error of K, by equation (21).
    pub relative_error: f64,
}

/// The parts of a certificate at one scan size.
pub(super) struct SizeBound {
    /// Width of the bracket, 0 at a reference.
    pub width: f64,
    /// `|prior - linear|`.
    pub prior_offset: f64,
    /// Estimated curvature of the class, if it has three references.
    pub curvature: Option<f64>,
    /// Estimated error of the bracketing references.
    pub reference_error: f64,
}

impl Certificate {
    /// The certificate of an encoded prediction; `None` when the curvature is neither given nor can be estimated.
    ///
    /// The truth is at most `J h^2 / 8 + xi` away from the linear value, hence the prior at most that plus its own offset. Between two scan
    /// sizes the response is taken to be linear in C / N, as the predictor does.
    pub(super) fn new(sizes: &[SizeBound], encoded: f64, given: Assumptions, options: &Options) -> Option<Self> {
        let mut certificate = Self {
            curvature: given.curvature.unwrap_or(0.0),
            curvature_estimated: given.curvature.is_none(),
            reference_error: given.reference_error.unwrap_or(0.0),
            reference_error_estimated: given.reference_error.is_none(),
            encoded_error: 0.0,
            relative_error: 0.0,
        };
        for size in sizes {
            // At a reference the curvature has no effect.
            let needless = (size.width == 0.0).then_some(0.0);
            let curvature = given.curvature.or(size.curvature).or(needless)?;
            let reference_error = given.reference_error.unwrap_or(size.reference_error);
            let linear = curvature * size.width * size.width / 8.0 + reference_error;
            let error = encoded_error_bound(curvature, size.width, reference_error, size.prior_offset + linear, options.lambda);
            certificate.curvature = certificate.curvature.max(curvature);
            certificate.reference_error = certificate.reference_error.max(reference_error);
            certificate.encoded_error = certificate.encoded_error.max(error);
        }
        let delta = certificate.encoded_error;
        // The factor of equation (21) grows with the true excess, which is at most this.
        let excess = ((encoded + delta).exp() - options.epsilon).max(0.0);
        certificate.relative_error = relative_error_bound(excess, delta, options.epsilon);
        Some(certificate)
    }
}

#[cfg(test)]
mod tests {
    use super::super::anchor::{Points, anchored};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        for (j, h, xi, zeta, bound) in [(0.1, 4.0, 0.05, 0.3, 0.26), (0.0, 4.0, 0.0, 0.0, 0.0), (0.2, 8.0, 0.1, 1.0, 1.56)] {
            assert!((encoded_error_bound(j, h, xi, zeta, 4.0) - bound).abs() < 1e-12);
        }
    }

    #[test]
    fn bad_assumptions_are_refused() {
        let curvature = Assumptions { curvature: Some(f64::NAN), reference_error: None };
        assert_eq!(curvature.checked().unwrap_err().field(), "curvature");
        let error = Assumptions { curvature: None, reference_error: Some(-1.0) };
        assert_eq!(error.checked().unwrap_err().field(), "reference_error");
    }

    proptest! {
        #[test]
        fn the_bound_holds_for_every_response_of_that_curvature(
            c0 in -3.0..3.0f64, c1 in -1.0..1.0f64, c2 in -0.3..0.3f64, wave in 0.0..0.3f64, speed in 0.1..2.0f64,
            h in 0.5..8.0f64, t in 0.0..1.0f64, e0 in -0.2..0.2f64, e1 in -0.2..0.2f64, p in -5.0..5.0f64, lambda in 0.0..8.0f64,
        ) {
            // A response with a known bound on its second derivative.
            let a = |x: f64| c0 + c1 * x + c2 * x * x + wave * (speed * x).sin();
            let curvature = 2.0 * c2.abs() + wave * speed * speed;
            let references = [(0.0, a(0.0) + e0), (h, a(h) + e1)];
            let m = t * h;
            let found = anchored(p, Points::new(&references).linear(m), lambda);
            let bound = encoded_error_bound(curvature, h, e0.abs().max(e1.abs()), (p - a(m)).abs(), lambda);
            prop_assert!((found - a(m)).abs() <= bound + 1e-9);
        }

        #[test]
        fn the_certificate_holds_when_its_assumptions_do(
            c0 in -3.0..2.0f64, c1 in -0.3..0.3f64, c2 in -0.02..0.02f64, h in 0.5..8.0f64, t in 0.0..1.0f64,
            e0 in -0.1..0.1f64, e1 in -0.1..0.1f64, p in -3.0..3.0f64,
        ) {
            let options = Options::default();
            let a = |x: f64| (c0 + c1 * x + c2 * x * x).max(options.epsilon.ln());
            let references = [(0.0, a(0.0) + e0), (h, a(h) + e1)];
            let m = t * h;
            // Clipped responses have a kink; leave them out.
            prop_assume!(c0 + c1 * m + c2 * m * m > options.epsilon.ln() && a(0.0) > options.epsilon.ln() && a(h) > options.epsilon.ln());
            let linear = Points::new(&references).linear(m);
            let encoded = anchored(p, linear, options.lambda);
            let size = SizeBound { width: h, prior_offset: (p - linear).abs(), curvature: None, reference_error: 0.0 };
            let given = Assumptions { curvature: Some(2.0 * c2.abs()), reference_error: Some(e0.abs().max(e1.abs())) };
            let certificate = Certificate::new(&[size], encoded, given, &options).unwrap();
            prop_assert!((encoded - a(m)).abs() <= certificate.encoded_error + 1e-9);
            let k = |a: f64| 1.0 + (a.exp() - options.epsilon).max(0.0);
            prop_assert!((k(encoded) - k(a(m))).abs() / k(a(m)) <= certificate.relative_error + 1e-9);
        }
    }
}
