//! Isotonic regression with equal weights, by pooling adjacent violators.

/// The non-decreasing sequence nearest to `values` in least squares.
///
/// ```
/// use l1forge_sim::pascal::predict::isotonic;
/// assert_eq!(isotonic(&[1.0, 3.0, 2.0, 4.0]), [1.0, 2.5, 2.5, 4.0]);
/// ```
pub fn isotonic(values: &[f64]) -> Vec<f64> {
    // Pools of consecutive values that share their mean: (sum, count).
    let mut pools: Vec<(f64, usize)> = Vec::with_capacity(values.len());
    for &value in values {
        pools.push((value, 1));
        while let [.., (left, l), (right, r)] = pools[..] {
            if left / l as f64 <= right / r as f64 {
                break;
            }
            pools.pop();
            *pools.last_mut().expect("there were two pools") = (left + right, l + r);
        }
    }
    pools.into_iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / count as f64, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_sequences() {
        assert_eq!(isotonic(&[]), [0.0; 0]);
        assert_eq!(isotonic(&[2.0]), [2.0]);
        assert_eq!(isotonic(&[4.0, 3.0, 2.0, 1.0]), [2.5; 4]);
        let third = -1.0 / 3.0;
        assert_eq!(isotonic(&[0.0, 0.0, -1.0, 5.0, 4.0, 4.5]), [third, third, third, 4.5, 4.5, 4.5]);
    }

    proptest! {
        #[test]
        fn equals_the_min_max_formula(values in prop::collection::vec(-10.0..10.0f64, 1..12)) {
            // fit_k = max over i <= k of min over j >= k of mean(values[i..=j]): an independent characterisation of the optimum.
            let mean = |i: usize, j: usize| values[i..=j].iter().sum::<f64>() / (j - i + 1) as f64;
            let n = values.len();
            for (k, fitted) in isotonic(&values).into_iter().enumerate() {
                let least = |i: usize| (k..n).map(|j| mean(i, j)).fold(f64::INFINITY, f64::min);
                let expected = (0..=k).map(least).fold(f64::NEG_INFINITY, f64::max);
                prop_assert!((fitted - expected).abs() < 1e-9);
            }
        }
    }
}
