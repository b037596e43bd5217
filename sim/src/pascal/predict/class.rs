//! Execution classes (PASCAL section 4.4, appendix C.4).

/// The class of a compute count: the loop is unrolled by four and remainders two and three run the same tail, `min(m mod 4, 2)`.
///
/// ```
/// use l1forge_sim::pascal::predict::execution_class;
/// assert_eq!([0, 1, 2, 3, 4, 5].map(execution_class), [0, 1, 2, 2, 0, 1]);
/// ```
pub fn execution_class(compute: u32) -> u8 {
    (compute % 4).min(2) as u8
}

/// For a class without references, the best prediction and its worst relative error, when the truth may be anything from 1 to `largest`.
///
/// Two response laws that agree on every reference can differ by the factor `largest` there, so no predictor does better: this is why an
/// empty class is refused.
pub fn unsampled_class_error(largest: f64) -> (f64, f64) {
    (2.0 * largest / (largest + 1.0), (largest - 1.0) / (largest + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_repeat_every_four() {
        let expected = [0, 1, 2, 2, 0, 1, 2, 2, 0, 1, 2, 2, 0, 1, 2, 2, 0];
        for (m, class) in expected.into_iter().enumerate() {
            assert_eq!(execution_class(m as u32), class, "m = {m}");
        }
    }

    #[test]
    fn no_prediction_beats_the_unsampled_class_error() {
        for largest in [1.5, 2.0, 5.58, 48.0] {
            let worst = |v: f64| (v - 1.0).abs().max((v - largest).abs() / largest);
            let (best, error) = unsampled_class_error(largest);
            assert!((worst(best) - error).abs() < 1e-12);
            for i in 0..=10_000 {
                assert!(worst(1.0 + (largest - 1.0) * f64::from(i) / 1e4) >= error - 1e-12);
            }
        }
    }
}
