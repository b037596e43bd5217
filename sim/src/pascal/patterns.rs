//! Phase patterns of the static experiments: aligned, clusters, spaced, uniform, wrapped Gaussian (PASCAL section 5.2).

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::error::{InputError, non_negative};
use super::scan::Scan;

/// A rule that places M workers on a ring of N blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pattern {
    /// Every worker at block 0.
    Aligned,
    /// This many equally spaced clusters, filled with consecutive workers; cluster `c` stands at `floor(c N / clusters)`.
    Clusters(u64),
    /// Worker `w` at `step * w`, modulo N. The last worker leads.
    Spaced(u64),
    /// Worker `w` at `step * (M - 1 - w)`, modulo N. The first worker leads.
    SpacedReversed(u64),
    /// Independent uniform positions.
    Uniform,
    /// Independent normal positions around N / 2 with this standard deviation in blocks, wrapped.
    WrappedGaussian(f64),
}

impl Pattern {
    /// Places `workers` workers; `seed` is used by the random patterns only.
    ///
    /// # Errors
    /// A bad ring, no workers, 0 clusters or more clusters than workers, or a deviation that is not a finite number of at least 0.
    pub fn place(self, blocks: u64, workers: usize, seed: u64) -> Result<Scan, InputError> {
        super::scan::check_blocks(blocks)?;
        if workers == 0 || workers > super::MAX_WORKERS {
            let message = format!("{workers} workers, legal values are 1 to {}", super::MAX_WORKERS);
            return Err(InputError::new("workers", message));
        }
        let m = workers as u64;
        // One generator per placement: the draws of one worker do not depend on N.
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let scaled = |step: u64, times: u64| (u128::from(step) * u128::from(times) % u128::from(blocks)) as u64;
        let phases: Vec<u64> = match self {
            Self::Aligned => vec![0; workers],
            Self::Clusters(clusters) => {
                if clusters == 0 || clusters > m {
                    let message = format!("{clusters} clusters, legal values are 1 to the number of workers, {workers}");
                    return Err(InputError::new("pattern", message));
                }
                (0..m).map(|w| (u128::from(w * clusters / m) * u128::from(blocks) / u128::from(clusters)) as u64).collect()
            }
            Self::Spaced(step) => (0..m).map(|w| scaled(step, w)).collect(),
            Self::SpacedReversed(step) => (0..m).map(|w| scaled(step, m - 1 - w)).collect(),
            Self::Uniform => (0..m).map(|_| random.random_range(0..blocks)).collect(),
            Self::WrappedGaussian(deviation) => {
                non_negative("pattern", deviation)?;
                let centre = (blocks / 2) as f64;
                (0..m).map(|_| wrap(centre + deviation * normal(&mut random), blocks)).collect()
            }
        };
        Scan::new(blocks, phases)
    }
}

impl std::str::FromStr for Pattern {
    type Err = InputError;

    /// Reads `aligned`, `clusters:D`, `spaced:G`, `reversed:G`, `uniform` or `gauss:SD`.
    fn from_str(text: &str) -> Result<Self, InputError> {
        let legal = "legal patterns are aligned, clusters:D, spaced:G, reversed:G, uniform and gauss:SD";
        let wrong = || InputError::new("pattern", format!("'{text}' is not a pattern, {legal}"));
        let (name, value) = text.split_once(':').map_or((text, None), |(name, value)| (name, Some(value)));
        let whole = || value.and_then(|value| value.parse::<u64>().ok()).ok_or_else(wrong);
        match (name, value) {
            ("aligned", None) => Ok(Self::Aligned),
            ("uniform", None) => Ok(Self::Uniform),
            ("clusters", _) => Ok(Self::Clusters(whole()?)),
            ("spaced", _) => Ok(Self::Spaced(whole()?)),
            ("reversed", _) => Ok(Self::SpacedReversed(whole()?)),
            ("gauss", Some(value)) => Ok(Self::WrappedGaussian(value.parse().map_err(|_| wrong())?)),
            _ => Err(wrong()),
        }
    }
}

/// A standard normal value by Marsaglia's polar method.
fn normal(random: &mut impl Rng) -> f64 {
    loop {
        let (x, y) = (random.random_range(-1.0..1.0f64), random.random_range(-1.0..1.0f64));
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * square.ln() / square).sqrt();
        }
    }
}

fn wrap(position: f64, blocks: u64) -> u64 {
    // rem_euclid of a tiny negative number may round up to the ring size itself.
    position.round().rem_euclid(blocks as f64) as u64 % blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_patterns() {
        let place = |pattern: Pattern| pattern.place(100, 4, 0).unwrap().phases().to_vec();
        assert_eq!(place(Pattern::Aligned), [0, 0, 0, 0]);
        assert_eq!(place(Pattern::Clusters(3)), [0, 0, 33, 66]);
        assert_eq!(place(Pattern::Spaced(27)), [0, 27, 54, 81]);
        assert_eq!(place(Pattern::Spaced(40)), [0, 40, 80, 20]);
        assert_eq!(place(Pattern::SpacedReversed(27)), [81, 54, 27, 0]);
    }

    #[test]
    fn random_patterns_repeat_with_the_seed() {
        for pattern in [Pattern::Uniform, Pattern::WrappedGaussian(300.0)] {
            let place = |seed| pattern.place(4096, 48, seed).unwrap();
            assert_eq!(place(7), place(7));
            assert_ne!(place(7), place(8));
        }
        let narrow = Pattern::WrappedGaussian(0.0).place(100, 3, 1).unwrap();
        assert_eq!(narrow.phases(), [50, 50, 50]);
    }

    #[test]
    fn a_gaussian_has_the_deviation_it_was_asked_for() {
        let scan = Pattern::WrappedGaussian(40.0).place(1 << 20, 20_000, 3).unwrap();
        let square = |p: &u64| (*p as f64 - 524_288.0).powi(2);
        let deviation = (scan.phases().iter().map(square).sum::<f64>() / 20_000.0).sqrt();
        assert!((deviation - 40.0).abs() < 1.0, "{deviation}");
    }

    #[test]
    fn text_is_checked() {
        assert_eq!("clusters:8".parse(), Ok(Pattern::Clusters(8)));
        assert_eq!("gauss:12.5".parse(), Ok(Pattern::WrappedGaussian(12.5)));
        for bad in ["", "cluster:8", "clusters", "clusters:-1", "spaced:x", "aligned:3", "gauss:", "uniform:1"] {
            assert_eq!(bad.parse::<Pattern>().unwrap_err().field(), "pattern", "{bad}");
        }
        assert!(Pattern::Clusters(0).place(10, 4, 0).is_err());
        assert!(Pattern::Clusters(5).place(10, 4, 0).is_err());
        assert!(Pattern::WrappedGaussian(f64::NAN).place(10, 4, 0).is_err());
        assert_eq!(Pattern::Aligned.place(10, 0, 0).unwrap_err().field(), "workers");
    }
}
