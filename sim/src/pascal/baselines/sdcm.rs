//! SDCM: the probability that a reuse distance survives in a set-associative cache (Brehob and Enbody; PASCAL section 5.4).
//!
//! With B lines in sets of A ways, each of the RD other lines falls into the own set with probability A / B, and the reuse hits if fewer
//! than A of them do. A = B is the fully associative model, where the reuse hits exactly when RD < B.

use crate::pascal::error::InputError;
use crate::pascal::lru_exact::ReuseProfile;

/// How the hit probability is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// The binomial sum itself.
    Exact,
    /// The normal approximation of TileSight and PPT-GPU for distances above 8, with an exact normal distribution function. The public
    /// TileSight code has the wrong sign in the second coefficient of its distribution function; that mistake is not copied.
    Normal,
}

/// A set-associative cache as SDCM sees it.
///
/// ```
/// use l1forge_sim::pascal::{ReuseProfile, Scan, baselines::sdcm::{Arithmetic, Sdcm}};
/// let profile = ReuseProfile::new(&Scan::new(64, vec![7, 0])?);
/// let misses = Sdcm::new(8, 14, 1)?.misses_per_round(&profile, Arithmetic::Exact);
/// assert!((misses - 1.610520).abs() < 1e-6);
/// # Ok::<(), l1forge_sim::pascal::InputError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sdcm {
    ways: u64,
    lines: u64,
    lines_per_block: u64,
}

impl Sdcm {
    /// A cache of `capacity` blocks of `lines_per_block` lines, in sets of `ways` lines.
    ///
    /// With more than one line per block, the distance of a block becomes `RD L + L - 1` lines.
    ///
    /// # Errors
    /// A value is 0, or there are more ways than lines.
    pub fn new(ways: u64, capacity: u64, lines_per_block: u64) -> Result<Self, InputError> {
        crate::pascal::scan::check_capacity(capacity)?;
        if lines_per_block == 0 || lines_per_block > 1 << 20 {
            let message = format!("{lines_per_block} lines per block, legal values are 1 to {}", 1 << 20);
            return Err(InputError::new("lines_per_block", message));
        }
        let lines = capacity * lines_per_block;
        if ways == 0 || ways > lines {
            return Err(InputError::new("ways", format!("{ways} ways, legal values are 1 to the number of lines, {lines}")));
        }
        Ok(Self { ways, lines, lines_per_block })
    }

    /// The same, with the ways limited to the lines there are, as the fully associative end of the model.
    ///
    /// # Errors
    /// A value is 0.
    pub fn with_at_most(ways: u64, capacity: u64, lines_per_block: u64) -> Result<Self, InputError> {
        crate::pascal::scan::check_capacity(capacity)?;
        Self::new(ways.min(capacity.saturating_mul(lines_per_block)), capacity, lines_per_block)
    }

    /// The probability that a reuse at `distance` lines hits.
    pub fn hit_probability(&self, distance: u64, arithmetic: Arithmetic) -> f64 {
        if distance < self.ways {
            return 1.0;
        }
        if self.ways == self.lines {
            return 0.0;
        }
        let share = self.ways as f64 / self.lines as f64;
        match arithmetic {
            Arithmetic::Normal if distance > 8 => {
                let mean = distance as f64 * share;
                let deviation = (mean * (1.0 - share)).sqrt();
                normal_below((self.ways as f64 - 0.5 - mean) / deviation)
            }
            _ => binomial_below(self.ways, distance, share),
        }
    }

    /// Misses per round of a scan with this reuse profile.
    pub fn misses_per_round(&self, profile: &ReuseProfile, arithmetic: Arithmetic) -> f64 {
        let miss = |&distance: &u64| {
            let lines = distance * self.lines_per_block + (self.lines_per_block - 1);
            1.0 - self.hit_probability(lines, arithmetic)
        };
        profile.distances().iter().map(miss).sum()
    }
}

/// P(X < limit) for X binomial with `trials` trials of probability `p`, by terms in logarithms: no term over- or underflows early.
fn binomial_below(limit: u64, trials: u64, p: f64) -> f64 {
    let odds = p.ln() - libm::log1p(-p);
    let mut log_term = trials as f64 * libm::log1p(-p);
    let mut sum = 0.0;
    for a in 0..limit.min(trials + 1) {
        sum += log_term.exp();
        log_term += ((trials - a) as f64 / (a + 1) as f64).ln() + odds;
    }
    sum.min(1.0)
}

/// P(Z < z) for a standard normal Z.
fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binomial_sum_equals_pascals_triangle() {
        // The distribution built one trial at a time, with no closed form.
        for (ways, lines) in [(1u64, 4u64), (2, 7), (8, 14), (3, 4), (8, 1280)] {
            let p = ways as f64 / lines as f64;
            let mut distribution = vec![1.0];
            for distance in 0..200u64 {
                let below: f64 = distribution.iter().take(ways as usize).sum();
                let cache = Sdcm::new(ways, lines, 1).unwrap();
                let found = cache.hit_probability(distance, Arithmetic::Exact);
                assert!((found - below).abs() < 1e-12, "A = {ways}, B = {lines}, RD = {distance}: {found} {below}");
                let mut next = vec![0.0; distribution.len() + 1];
                for (a, mass) in distribution.iter().enumerate() {
                    next[a] += mass * (1.0 - p);
                    next[a + 1] += mass * p;
                }
                distribution = next;
            }
        }
    }

    #[test]
    fn all_ways_is_fully_associative() {
        let cache = Sdcm::new(10, 10, 1).unwrap();
        for arithmetic in [Arithmetic::Exact, Arithmetic::Normal] {
            assert_eq!(cache.hit_probability(9, arithmetic), 1.0);
            assert_eq!(cache.hit_probability(10, arithmetic), 0.0);
        }
    }

    #[test]
    fn the_normal_distribution_is_exact() {
        assert_eq!(normal_below(0.0), 0.5);
        assert!((normal_below(1.959_963_984_540_054) - 0.975).abs() < 1e-15);
        assert!((normal_below(-1.0) - 0.158_655_253_931_457_05).abs() < 1e-15);
    }

    #[test]
    fn the_approximation_starts_above_eight() {
        let cache = Sdcm::new(2, 20, 1).unwrap();
        assert_eq!(cache.hit_probability(8, Arithmetic::Normal), cache.hit_probability(8, Arithmetic::Exact));
        let (normal, exact) = (cache.hit_probability(9, Arithmetic::Normal), cache.hit_probability(9, Arithmetic::Exact));
        assert!(normal != exact && (normal - exact).abs() < 0.1);
    }

    #[test]
    fn huge_distances_do_not_underflow_into_nonsense() {
        let cache = Sdcm::new(8, 1280, 128).unwrap();
        let far = cache.hit_probability(1 << 40, Arithmetic::Exact);
        assert!((0.0..1e-300).contains(&far));
        assert_eq!(cache.hit_probability(1 << 40, Arithmetic::Normal), 0.0);
    }

    #[test]
    fn bad_shapes_are_refused() {
        assert_eq!(Sdcm::new(0, 4, 1).unwrap_err().field(), "ways");
        assert_eq!(Sdcm::new(5, 4, 1).unwrap_err().field(), "ways");
        assert_eq!(Sdcm::new(1, 0, 1).unwrap_err().field(), "capacity");
        assert_eq!(Sdcm::new(1, 4, 0).unwrap_err().field(), "lines_per_block");
        assert_eq!(Sdcm::with_at_most(8, 4, 1), Sdcm::new(4, 4, 1));
    }
}
