//! Che's approximation under the independent reference model.

use crate::pascal::fraction::{Fraction, whole};
use crate::pascal::scan::Scan;

/// Misses per round: every block is requested with probability 1 / N, so a request hits with probability C / N wherever the phases are.
///
/// ```
/// use l1forge_sim::pascal::{Scan, baselines::che};
/// let aligned = Scan::new(8192, vec![0; 48])?;
/// assert_eq!(che::misses_per_round(&aligned, 1280).to_string(), "81/2");
/// # Ok::<(), l1forge_sim::pascal::InputError>(())
/// ```
pub fn misses_per_round(scan: &Scan, capacity: u64) -> Fraction {
    let missing = whole(scan.blocks().saturating_sub(capacity)) / whole(scan.blocks());
    whole(scan.workers() as u64) * missing
}

/// The characteristic time t of the approximation, `N (1 - exp(-t / N)) = C`, in requests; infinite for C >= N.
pub fn characteristic_time(blocks: u64, capacity: u64) -> f64 {
    if capacity >= blocks {
        return f64::INFINITY;
    }
    -(blocks as f64) * libm::log1p(-(capacity as f64) / blocks as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_poisson_miss_probability_at_the_characteristic_time() {
        for (n, m, c) in [(64, 2, 14), (8192, 48, 1280), (5, 3, 4)] {
            let scan = Scan::new(n, vec![0; m]).unwrap();
            let t = characteristic_time(n, c);
            let by_time = m as f64 * (-t / n as f64).exp();
            assert!((crate::pascal::to_f64(&misses_per_round(&scan, c)) - by_time).abs() < 1e-9);
        }
    }

    #[test]
    fn a_cache_of_the_ring_never_misses() {
        let scan = Scan::new(5, vec![0, 2]).unwrap();
        assert_eq!(misses_per_round(&scan, 5), Fraction::ZERO);
        assert_eq!(misses_per_round(&scan, 50), Fraction::ZERO);
        assert_eq!(characteristic_time(5, 5), f64::INFINITY);
    }
}
