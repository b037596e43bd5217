//! The choices the paper's text leaves open, as parameters.

use serde::{Deserialize, Serialize};

use crate::pascal::error::{InputError, non_negative};

/// The prior p of the anchored interpolation (specification section 6.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Anchor {
    /// The nearest reference of the class; the mean of two that are equally near.
    Nearest,
    /// The mean of all references of the class.
    ClassMean,
    /// Linear interpolation over all references of the family, whatever their class.
    FamilyLinear,
    /// The encoded value of aligned traffic.
    Aligned,
    /// The linear interpolation itself, so that the anchor has no effect.
    Linear,
}

/// What is interpolated between two calibrated scan sizes (specification section 6.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EtaInterpolation {
    /// The encoded value, decoded once at the end.
    Encoded,
    /// The decoded K of each size.
    Decoded,
}

/// The open choices of the predictor. The default is the proposal of the specification.
///
/// ```
/// use l1forge_sim::pascal::predict::{Anchor, EtaInterpolation, Options};
/// let options = Options::default();
/// assert_eq!((options.epsilon, options.lambda), (0.05, 4.0));
/// assert_eq!((options.anchor, options.eta), (Anchor::Nearest, EtaInterpolation::Encoded));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Offset of the encoding, above 0 and at most 1. Keeps the logarithm finite at aligned traffic.
    pub epsilon: f64,
    /// Weight of the linear interpolation against the prior, at least 0.
    pub lambda: f64,
    /// The prior.
    pub anchor: Anchor,
    /// What is interpolated across scan sizes.
    pub eta: EtaInterpolation,
}

impl Default for Options {
    fn default() -> Self {
        Self { epsilon: 0.05, lambda: 4.0, anchor: Anchor::Nearest, eta: EtaInterpolation::Encoded }
    }
}

impl Options {
    /// The options, if they are legal.
    ///
    /// # Errors
    /// `epsilon` is not above 0 and at most 1, or `lambda` is not a finite number of at least 0.
    pub fn checked(self) -> Result<Self, InputError> {
        if !(self.epsilon > 0.0 && self.epsilon <= 1.0) {
            let message = format!("{} is not legal, it must be above 0 and at most 1", self.epsilon);
            return Err(InputError::new("epsilon", message));
        }
        non_negative("lambda", self.lambda)?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn illegal_values_are_refused() {
        let epsilon = |epsilon| Options { epsilon, ..Options::default() }.checked();
        assert!(epsilon(1.0).is_ok() && epsilon(1e-9).is_ok());
        for bad in [0.0, -0.1, 1.001, f64::NAN, f64::INFINITY] {
            assert_eq!(epsilon(bad).unwrap_err().field(), "epsilon", "{bad}");
        }
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let options = Options { lambda: bad, ..Options::default() };
            assert_eq!(options.checked().unwrap_err().field(), "lambda", "{bad}");
        }
    }
}
