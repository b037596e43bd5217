//! Exact fractions: the type, its float and its text.

use num_rational::Ratio;

/// An exact rational number. It prints as `10/7`, and as `3` when it is whole.
///
/// All sizes are limited ([`MAX_BLOCKS`](super::MAX_BLOCKS), [`MAX_WORKERS`](super::MAX_WORKERS)) so that no operation of this crate
/// overflows the 128-bit terms.
pub type Fraction = Ratio<i128>;

/// `numerator / denominator` in lowest terms.
///
/// # Panics
/// If `denominator` is zero.
pub(crate) fn fraction(numerator: u128, denominator: u128) -> Fraction {
    Ratio::new(numerator as i128, denominator as i128)
}

/// A whole number as a fraction.
pub(crate) fn whole(value: u64) -> Fraction {
    Ratio::from_integer(i128::from(value))
}

/// The nearest double, within one unit in the last place for the sizes this crate accepts.
///
/// ```
/// use l1forge_sim::pascal::{to_f64, Fraction};
/// assert_eq!(to_f64(&Fraction::new(10, 7)), 10.0 / 7.0);
/// ```
pub fn to_f64(value: &Fraction) -> f64 {
    *value.numer() as f64 / *value.denom() as f64
}
