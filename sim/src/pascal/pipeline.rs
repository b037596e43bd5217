//! The copy pipeline of one worker as a max-plus recurrence (PASCAL section 3.6, Theorem 6; specification section 5).
//!
//! A worker with `d` buffers keeps `r = d - 1` copies in flight. With `x_k` the time at which it has consumed block `k`,
//!
//! ```text
//! x_k = max( x_{k-1} + alpha_k ,  x_{k-r} + beta_k ),      x_k = x_0 for k <= 0
//! ```
//!
//! where `alpha_k` is the serial service of the block and `beta_k` the latency of its copy plus the same service. A hit or a miss changes
//! `beta` only. The displayed equations of the paper are lost; this reading agrees with every sentence about them.

use super::error::{InputError, non_negative};

/// The copies in flight r of a kernel with prefetch depth `depth`: `depth - 1`, and 1 for the synchronous path, depth 0.
///
/// # Errors
/// `depth` is 1: one buffer cannot hold a block and receive the next.
pub fn copies_in_flight(depth: u32) -> Result<usize, InputError> {
    match depth {
        0 => Ok(1),
        1 => Err(InputError::new("d", "a prefetch depth of 1 does not exist, legal values are 0 (synchronous) and 2 or more")),
        _ => Ok(depth as usize - 1),
    }
}

/// The per-block times of a run: service and copy latency plus service, in any one unit of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    r: usize,
    alpha: Vec<f64>,
    beta: Vec<f64>,
}

impl Pipeline {
    /// A run of `alpha.len()` blocks with `r` copies in flight.
    ///
    /// # Errors
    /// `r` is 0, the lengths differ, or a time is not a finite number of at least 0.
    pub fn new(r: usize, alpha: Vec<f64>, beta: Vec<f64>) -> Result<Self, InputError> {
        if r == 0 {
            return Err(InputError::new("r", "0 copies in flight, at least 1 is needed"));
        }
        if alpha.len() != beta.len() {
            let message = format!("{} values, but alpha has {}", beta.len(), alpha.len());
            return Err(InputError::new("beta", message));
        }
        for (name, values) in [("alpha", &alpha), ("beta", &beta)] {
            for (k, &value) in values.iter().enumerate() {
                non_negative(&format!("{name}[{k}]"), value)?;
            }
        }
        Ok(Self { r, alpha, beta })
    }

    /// The times `x_1 ..= x_n` at which the blocks have been consumed, with `x_0 = 0`.
    pub fn finish_times(&self) -> Vec<f64> {
        let mut x: Vec<f64> = Vec::with_capacity(self.alpha.len());
        for (k, (alpha, beta)) in self.alpha.iter().zip(&self.beta).enumerate() {
            let serial = k.checked_sub(1).map_or(0.0, |before| x[before]) + alpha;
            let copied = k.checked_sub(self.r).map_or(0.0, |before| x[before]) + beta;
            x.push(serial.max(copied));
        }
        x
    }

    /// Theta for each block: the service of the last `r` blocks up to it, fewer while the pipeline is primed.
    pub fn cover(&self) -> Vec<f64> {
        (0..self.alpha.len()).map(|k| self.alpha[(k + 1).saturating_sub(self.r)..=k].iter().sum()).collect()
    }

    /// The first block, counted from 1, whose copy the service does not hide (`beta > Theta`); `None` if hits cannot buy any time at all.
    ///
    /// Theorem 6 (a): up to that block the finish times depend on `alpha` alone, so a gap between two workers stays as it is.
    pub fn first_exposed(&self) -> Option<usize> {
        self.beta.iter().zip(self.cover()).position(|(beta, cover)| *beta > cover).map(|k| k + 1)
    }

    /// Theorem 6 (b): at most this much time is gained over the whole run by replacing the latencies with `faster`.
    ///
    /// # Errors
    /// `faster` has another length, or a value that is not a finite number of at least 0 or exceeds the present one.
    pub fn recovery_bound(&self, faster: &[f64]) -> Result<f64, InputError> {
        if faster.len() != self.beta.len() {
            return Err(InputError::new("faster", format!("{} values, but the run has {}", faster.len(), self.beta.len())));
        }
        let mut most = 0.0f64;
        for (k, ((&slow, &fast), cover)) in self.beta.iter().zip(faster).zip(self.cover()).enumerate() {
            non_negative(&format!("faster[{k}]"), fast)?;
            if fast > slow {
                return Err(InputError::new(format!("faster[{k}]"), format!("{fast} is above the present latency {slow}")));
            }
            most = most.max(slow - cover.max(fast));
        }
        Ok(self.beta.len().div_ceil(self.r) as f64 * most)
    }
}

/// A pipeline whose blocks are all alike, in any one unit of time.
///
/// ```
/// use l1forge_sim::pascal::{SteadyPipeline, copies_in_flight};
/// // 424 ns of service, 841 ns from issue to consumption: the paper's kernel is hidden from the third buffer on.
/// let time = |d| {
///     let r = copies_in_flight(d)?;
///     Ok::<_, l1forge_sim::pascal::InputError>(SteadyPipeline::new(r, 424.0, 841.0, 841.0)?.time_per_block_missing())
/// };
/// assert_eq!((time(2)?, time(3)?, time(4)?), (841.0, 424.0, 424.0));
/// # Ok::<(), l1forge_sim::pascal::InputError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyPipeline {
    r: f64,
    alpha: f64,
    beta_hit: f64,
    beta_miss: f64,
}

impl SteadyPipeline {
    /// Service `alpha`, copy latency plus service on a hit and on a miss, `r` copies in flight.
    ///
    /// # Errors
    /// `r` is 0, a time is not a finite number of at least 0, or a hit takes longer than a miss.
    pub fn new(r: usize, alpha: f64, beta_hit: f64, beta_miss: f64) -> Result<Self, InputError> {
        if r == 0 {
            return Err(InputError::new("r", "0 copies in flight, at least 1 is needed"));
        }
        non_negative("alpha", alpha)?;
        non_negative("beta_hit", beta_hit)?;
        non_negative("beta_miss", beta_miss)?;
        if beta_hit > beta_miss {
            return Err(InputError::new("beta_hit", format!("{beta_hit} is above beta_miss, {beta_miss}")));
        }
        Ok(Self { r: r as f64, alpha, beta_hit, beta_miss })
    }

    /// The asymptotic time per block when every copy misses.
    pub fn time_per_block_missing(&self) -> f64 {
        self.alpha.max(self.beta_miss / self.r)
    }

    /// The asymptotic time per block when every copy hits.
    pub fn time_per_block_hitting(&self) -> f64 {
        self.alpha.max(self.beta_hit / self.r)
    }

    /// Theta, the service that hides one copy: `r alpha`.
    pub fn cover(&self) -> f64 {
        self.r * self.alpha
    }

    /// G_d: the time per block by which a worker that hits catches up with one that misses. Near 0, hits repair no divergence.
    pub fn recovery_per_block(&self) -> f64 {
        ((self.beta_miss - self.beta_hit.max(self.cover())) / self.r).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_is_the_difference_of_the_two_rates() {
        for r in 1..6 {
            for (alpha, hit, miss) in [(424.0, 700.0, 930.0), (10.0, 700.0, 930.0), (400.0, 100.0, 100.0), (0.0, 0.0, 5.0)] {
                let steady = SteadyPipeline::new(r, alpha, hit, miss).unwrap();
                let difference = steady.time_per_block_missing() - steady.time_per_block_hitting();
                assert!((steady.recovery_per_block() - difference).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn constant_runs_approach_the_steady_rate() {
        for r in 1..5 {
            for (alpha, beta) in [(424.0, 841.0), (100.0, 841.0), (424.0, 424.0)] {
                let run = Pipeline::new(r, vec![alpha; 4000], vec![beta; 4000]).unwrap();
                let x = run.finish_times();
                // A whole number of turns of the r copies.
                let rate = (x[3999] - x[1599]) / 2400.0;
                let steady = SteadyPipeline::new(r, alpha, beta, beta).unwrap();
                assert!((rate - steady.time_per_block_missing()).abs() < 1e-9, "r = {r}");
            }
        }
    }

    #[test]
    fn priming_exposes_the_first_copy_even_when_latency_is_hidden_later() {
        let run = Pipeline::new(3, vec![400.0; 10], vec![1000.0; 10]).unwrap();
        assert_eq!(run.cover()[..4], [400.0, 800.0, 1200.0, 1200.0]);
        assert_eq!(run.first_exposed(), Some(1));
        let hidden = Pipeline::new(3, vec![400.0; 10], vec![400.0; 10]).unwrap();
        assert_eq!(hidden.first_exposed(), None);
        assert_eq!(hidden.finish_times()[9], 4000.0);
    }

    #[test]
    fn bad_times_are_refused() {
        assert_eq!(copies_in_flight(1).unwrap_err().field(), "d");
        assert_eq!((copies_in_flight(0), copies_in_flight(2), copies_in_flight(4)), (Ok(1), Ok(1), Ok(3)));
        assert_eq!(Pipeline::new(0, vec![], vec![]).unwrap_err().field(), "r");
        assert_eq!(Pipeline::new(1, vec![1.0], vec![]).unwrap_err().field(), "beta");
        assert_eq!(Pipeline::new(1, vec![1.0, f64::NAN], vec![1.0, 1.0]).unwrap_err().field(), "alpha[1]");
        let run = Pipeline::new(1, vec![1.0], vec![2.0]).unwrap();
        assert_eq!(run.recovery_bound(&[3.0]).unwrap_err().field(), "faster[0]");
        assert_eq!(run.recovery_bound(&[f64::NAN]).unwrap_err().field(), "faster[0]");
        assert_eq!(run.recovery_bound(&[]).unwrap_err().field(), "faster");
        assert_eq!(SteadyPipeline::new(1, 1.0, 3.0, 2.0).unwrap_err().field(), "beta_hit");
        assert_eq!(SteadyPipeline::new(0, 1.0, 1.0, 2.0).unwrap_err().field(), "r");
    }
}
