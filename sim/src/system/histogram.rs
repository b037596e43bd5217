//! Counts of small numbers, and what is read from them.

use serde::{Deserialize, Serialize};

/// How often each value occurred.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    counts: Vec<u64>,
}

/// Mean and upper end of a [`Histogram`]. All 0 when it is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Values counted.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The least value that at least 90 % do not exceed.
    pub p90: usize,
    /// The same for 95 %.
    pub p95: usize,
    /// The same for 99 %.
    pub p99: usize,
    /// The largest.
    pub max: usize,
}

impl Histogram {
    /// Counts a value.
    pub fn add(&mut self, value: usize) {
        if self.counts.len() <= value {
            self.counts.resize(value + 1, 0);
        }
        self.counts[value] += 1;
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Values counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their sum.
    pub fn sum(&self) -> u64 {
        self.counts.iter().enumerate().map(|(value, count)| value as u64 * count).sum()
    }

    /// The least value that at least `percent` % do not exceed (nearest rank); 0 when empty.
    pub fn percentile(&self, percent: u64) -> usize {
        let rank = (self.count() * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let at = |count: &u64| {
            seen += count;
            seen >= rank
        };
        self.counts.iter().position(at).unwrap_or(0)
    }

    /// Mean and upper end.
    pub fn summary(&self) -> Summary {
        let count = self.count();
        let mean = if count == 0 { 0.0 } else { self.sum() as f64 / count as f64 };
        let [p90, p95, p99] = [90, 95, 99].map(|p| self.percentile(p));
        Summary { count, mean, p90, p95, p99, max: self.counts.iter().rposition(|c| *c > 0).unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let mut h = Histogram::default();
        assert_eq!(h.summary(), Summary::default());
        (1..=100).for_each(|v| h.add(v));
        let s = h.summary();
        assert_eq!((s.count, s.mean, s.p90, s.p95, s.p99, s.max), (100, 50.5, 90, 95, 99, 100));
        let mut h = Histogram::default();
        (0..89).for_each(|_| h.add(1));
        (0..11).for_each(|_| h.add(7));
        assert_eq!((h.percentile(89), h.percentile(90)), (1, 7));
        let mut more = Histogram::default();
        more.add(2);
        more.merge(&h);
        assert_eq!((more.count(), more.sum(), more.percentile(90)), (101, 89 + 77 + 2, 7));
        h.merge(&Histogram::default());
        assert_eq!(h.count(), 100);
    }
}
