//! The encoding of traffic relative to aligned scans, and its inverse (PASCAL section 4.3, equations (15) and (21)).

/// The encoded excess of `exp(log_ratio)`, the traffic relative to its static reference: `log([exp(L) - 1]_+ + epsilon)`.
///
/// For a scan the reference is K = 1 and `log_ratio` is log K; for GEMM it is log kappa.
///
/// ```
/// use l1forge_sim::pascal::predict::{decode, encode};
/// let a = encode(5.58f64.ln(), 0.05);
/// assert!((a - 1.5325568680981427).abs() < 1e-12);
/// assert!((decode(a, 48, 1.0, 0.05) - 5.58).abs() < 1e-12);
/// ```
pub fn encode(log_ratio: f64, epsilon: f64) -> f64 {
    // exp_m1 keeps the excess exact where it is tiny.
    (log_ratio.exp_m1().max(0.0) + epsilon).ln()
}

/// K of an encoded excess: `min(M, K0 (1 + [exp(a) - epsilon]_+))`, with M workers and the static reference K0 (1 for a scan).
pub fn decode(encoded: f64, workers: u64, k0: f64, epsilon: f64) -> f64 {
    (k0 * (1.0 + (encoded.exp() - epsilon).max(0.0))).min(workers as f64)
}

/// Equation (21): the largest relative error of K when the encoded value is off by at most `delta`, at a true excess of `excess`.
pub fn relative_error_bound(excess: f64, delta: f64, epsilon: f64) -> f64 {
    (excess + epsilon) / (1.0 + excess) * delta.exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        for (k, epsilon, a) in [
            (0.95, 0.05, -2.995_732_273_553_991),
            (1.0, 0.01, -4.605_170_185_988_091),
            (1.05, 0.1, -1.897_119_984_885_881),
            (48.0, 0.05, 3.851_210_866_031_389),
        ] {
            assert!((encode(f64::ln(k), epsilon) - a).abs() < 1e-9, "K = {k}");
        }
        for (a, k0, k) in [(-5.0, 1.0, 1.0), (0.0, 1.0, 1.95), (5.0, 1.0, 48.0), (0.0, 3.6, 7.02), (3.0, 3.6, 48.0)] {
            assert!((decode(a, 48, k0, 0.05) - k).abs() < 1e-12, "a = {a}");
        }
    }

    proptest! {
        #[test]
        fn decoding_inverts_encoding(k in 1.0..48.0f64, epsilon in 0.001..1.0f64, k0 in 0.5..4.0f64) {
            let kappa = (k / k0).max(1.0);
            let found = decode(encode(kappa.ln(), epsilon), 480, k0, epsilon);
            prop_assert!((found - k0 * kappa).abs() < 1e-9 * found);
        }

        #[test]
        fn the_error_bound_holds(k in 1.0..48.0f64, epsilon in 0.001..1.0f64, delta in 0.0..1.5f64, part in -1.0..1.0f64) {
            let a = encode(k.ln(), epsilon);
            let found = decode(a + part * delta, 48, 1.0, epsilon);
            let bound = relative_error_bound(k - 1.0, delta, epsilon);
            prop_assert!((found - k).abs() / k <= bound + 1e-12, "{found} {k} {bound}");
        }

        #[test]
        fn the_error_bound_is_attained(k in 1.0..20.0f64, epsilon in 0.001..1.0f64, delta in 0.0..0.5f64) {
            // Upwards, away from the clips, it is an equality: no smaller factor would do.
            let found = decode(encode(k.ln(), epsilon) + delta, 480, 1.0, epsilon);
            let bound = relative_error_bound(k - 1.0, delta, epsilon);
            prop_assert!(((found - k) / k - bound).abs() < 1e-9);
        }
    }
}
