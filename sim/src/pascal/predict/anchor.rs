//! Anchored interpolation within a class (PASCAL section 4.4, equation (16), appendix C.5).

use super::options::{Anchor, Options};

/// Encoded references of one class over one coordinate, ascending in it. Never empty.
#[derive(Debug, Clone, Copy)]
pub struct Points<'a> {
    points: &'a [(f64, f64)],
}

/// Linear interpolation and the bracket it used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Linear {
    pub value: f64,
    /// Index of the lower bracketing point, and of the upper one: equal at a point and outside the range.
    pub bracket: (usize, usize),
    /// Whether the coordinate was outside the range.
    pub clamped: bool,
}

impl<'a> Points<'a> {
    /// References `(coordinate, encoded value)`, ascending in the coordinate.
    ///
    /// # Panics
    /// If there are none, or they are not ascending.
    pub fn new(points: &'a [(f64, f64)]) -> Self {
        assert!(!points.is_empty(), "at least one reference is needed");
        assert!(points.windows(2).all(|p| p[0].0 < p[1].0), "references must ascend");
        Self { points }
    }

    /// Linear interpolation at `at`, held at the first and last reference outside their range.
    pub fn linear(&self, at: f64) -> f64 {
        self.linear_with_bracket(at).value
    }

    pub(crate) fn linear_with_bracket(&self, at: f64) -> Linear {
        let last = self.points.len() - 1;
        let after = self.points.partition_point(|point| point.0 < at);
        if after > last {
            return Linear { value: self.points[last].1, bracket: (last, last), clamped: true };
        }
        let (x1, a1) = self.points[after];
        if x1 == at || after == 0 {
            return Linear { value: a1, bracket: (after, after), clamped: x1 != at };
        }
        let (x0, a0) = self.points[after - 1];
        let t = (at - x0) / (x1 - x0);
        Linear { value: (1.0 - t) * a0 + t * a1, bracket: (after - 1, after), clamped: false }
    }

    /// The value of the nearest reference; the mean of two equally near ones.
    pub fn nearest(&self, at: f64) -> f64 {
        let distance = |point: &(f64, f64)| (point.0 - at).abs();
        let least = self.points.iter().map(distance).fold(f64::INFINITY, f64::min);
        // Equally near up to rounding of the coordinates.
        let limit = least + 1e-12 * least.max(1.0);
        let (sum, count) = self
            .points
            .iter()
            .filter(|point| distance(point) <= limit)
            .fold((0.0, 0.0), |(sum, count), point| (sum + point.1, count + 1.0));
        sum / count
    }

    /// The mean value of all references.
    pub fn mean(&self) -> f64 {
        self.points.iter().map(|point| point.1).sum::<f64>() / self.points.len() as f64
    }

    /// The prior that `options` choose at `at`; `family` are the references of all classes.
    pub fn prior(&self, at: f64, family: Points<'_>, options: &Options) -> f64 {
        match options.anchor {
            Anchor::Nearest => self.nearest(at),
            Anchor::ClassMean => self.mean(),
            Anchor::FamilyLinear => family.linear(at),
            Anchor::Aligned => options.epsilon.ln(),
            Anchor::Linear => self.linear(at),
        }
    }

    /// The largest second derivative seen in the references, from divided differences; `None` with fewer than three.
    pub(crate) fn curvature(&self) -> Option<f64> {
        let slope = |p: &[(f64, f64)]| (p[1].1 - p[0].1) / (p[1].0 - p[0].0);
        self.points.windows(3).map(|p| (2.0 * (slope(&p[1..]) - slope(&p[..2])) / (p[2].0 - p[0].0)).abs()).reduce(f64::max)
    }

    pub(crate) fn coordinate(&self, index: usize) -> f64 {
        self.points[index].0
    }
}

/// Equation (16): the value between the linear interpolation and the prior, `(p + lambda a_lin) / (1 + lambda)`.
///
/// It minimises `(u - p)^2 + lambda sum_j w_j (u - a_j)^2` with `w_j` the weights of the linear interpolation.
pub fn anchored(prior: f64, linear: f64, lambda: f64) -> f64 {
    (prior + lambda * linear) / (1.0 + lambda)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POINTS: [(f64, f64); 4] = [(0.0, -2.5), (4.0, -1.0), (8.0, 0.5), (16.0, 0.7)];

    #[test]
    fn known_values() {
        let points = Points::new(&POINTS);
        for (m, linear, nearest, value) in [
            (0.0, -2.5, -2.5, -2.5),
            (1.0, -2.125, -2.5, -2.2),
            (2.0, -1.75, -1.75, -1.75),
            (3.0, -1.375, -1.0, -1.3),
            (10.0, 0.55, 0.5, 0.54),
            (16.0, 0.7, 0.7, 0.7),
            (20.0, 0.7, 0.7, 0.7),
            (-3.0, -2.5, -2.5, -2.5),
        ] {
            assert!((points.linear(m) - linear).abs() < 1e-12, "m = {m}");
            assert!((points.nearest(m) - nearest).abs() < 1e-12, "m = {m}");
            assert!((anchored(points.nearest(m), points.linear(m), 4.0) - value).abs() < 1e-12, "m = {m}");
        }
        assert!((anchored(-3.0, points.linear(6.0), 4.0) - -0.8).abs() < 1e-12);
    }

    #[test]
    fn every_anchor_rule() {
        let points = Points::new(&POINTS);
        let family = [(0.0, 1.0), (4.0, 3.0)];
        let prior = |anchor| points.prior(1.0, Points::new(&family), &Options { anchor, ..Options::default() });
        assert_eq!(prior(Anchor::Nearest), -2.5);
        assert!((prior(Anchor::ClassMean) - (-2.3 / 4.0)).abs() < 1e-12);
        assert_eq!(prior(Anchor::FamilyLinear), 1.5);
        assert_eq!(prior(Anchor::Aligned), 0.05f64.ln());
        assert_eq!(prior(Anchor::Linear), -2.125);
    }

    #[test]
    fn brackets_and_clamps() {
        let points = Points::new(&POINTS);
        let bracket = |m: f64| {
            let linear = points.linear_with_bracket(m);
            (linear.bracket, linear.clamped)
        };
        assert_eq!(bracket(-1.0), ((0, 0), true));
        assert_eq!(bracket(0.0), ((0, 0), false));
        assert_eq!(bracket(5.0), ((1, 2), false));
        assert_eq!(bracket(8.0), ((2, 2), false));
        assert_eq!(bracket(16.0), ((3, 3), false));
        assert_eq!(bracket(17.0), ((3, 3), true));
    }

    #[test]
    fn curvature_of_a_parabola_is_exact() {
        let points: Vec<(f64, f64)> = [0.0, 1.0, 4.0, 9.0].map(|x: f64| (x, 3.0 * x * x - x)).to_vec();
        assert!((Points::new(&points).curvature().unwrap() - 6.0).abs() < 1e-12);
        assert_eq!(Points::new(&points[..2]).curvature(), None);
    }

    proptest! {
        #[test]
        fn is_the_minimiser_of_the_energy(
            a0 in -5.0..5.0f64, a1 in -5.0..5.0f64, t in 0.0..1.0f64, p in -5.0..5.0f64, lambda in 0.0..10.0f64, off in -3.0..3.0f64,
        ) {
            let points = [(0.0, a0), (1.0, a1)];
            let linear = Points::new(&points).linear(t);
            let energy = |u: f64| (u - p).powi(2) + lambda * ((1.0 - t) * (u - a0).powi(2) + t * (u - a1).powi(2));
            let best = anchored(p, linear, lambda);
            prop_assert!(energy(best) <= energy(best + off) + 1e-9);
        }
    }
}
