//! How predictions are judged (PASCAL section 5; specification section 6.11).

use crate::pascal::error::{InputError, positive};

/// Mean absolute percentage error of `(predicted, measured)` pairs, in percent. `None` for no pairs.
///
/// ```
/// use l1forge_sim::pascal::predict::mape;
/// assert_eq!(mape([(1.1, 1.0), (1.5, 2.0)]).map(f64::round), Some(18.0));
/// ```
pub fn mape(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let mut accuracy = Accuracy::default();
    for (predicted, measured) in pairs {
        accuracy.add(predicted, measured);
    }
    accuracy.mape()
}

/// A running mean absolute percentage error.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Accuracy {
    sum: f64,
    runs: u64,
    worst: f64,
}

impl Accuracy {
    /// One run.
    pub fn add(&mut self, predicted: f64, measured: f64) {
        let error = ((predicted - measured) / measured).abs();
        self.sum += error;
        self.runs += 1;
        self.worst = self.worst.max(error);
    }

    /// The mean absolute percentage error so far, in percent.
    pub fn mape(&self) -> Option<f64> {
        (self.runs > 0).then(|| 100.0 * self.sum / self.runs as f64)
    }

    /// The largest error so far, in percent.
    pub fn worst(&self) -> f64 {
        100.0 * self.worst
    }

    /// The runs so far.
    pub fn runs(&self) -> u64 {
        self.runs
    }
}

/// Initial memory pressure, equation (18) as the specification proposes it: the share of the DRAM bandwidth that the first wave uses.
///
/// `k1` fills of `block_bytes` bytes in each round of `round_seconds` seconds, against `bandwidth` bytes per second.
///
/// # Errors
/// A value is not a finite number above 0.
pub fn initial_memory_pressure(k1: f64, block_bytes: f64, round_seconds: f64, bandwidth: f64) -> Result<f64, InputError> {
    positive("k1", k1)?;
    positive("block_bytes", block_bytes)?;
    positive("round_seconds", round_seconds)?;
    positive("bandwidth", bandwidth)?;
    Ok(k1 * block_bytes / (round_seconds * bandwidth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_to_the_measurement() {
        let mut accuracy = Accuracy::default();
        assert_eq!((accuracy.mape(), mape([])), (None, None));
        accuracy.add(1.0, 2.0);
        accuracy.add(3.0, 2.0);
        accuracy.add(4.0, 4.0);
        assert_eq!((accuracy.mape(), accuracy.worst(), accuracy.runs()), (Some(100.0 / 3.0), 50.0, 3));
    }

    #[test]
    fn pressure_is_a_share() {
        // 16 KiB every 424 ns against 273 GB/s: 14 percent.
        let pressure = initial_memory_pressure(1.0, 16384.0, 424e-9, 273e9).unwrap();
        assert!((pressure - 0.1415).abs() < 1e-4);
        assert_eq!(initial_memory_pressure(1.0, 16384.0, 0.0, 1.0).unwrap_err().field(), "round_seconds");
    }
}
