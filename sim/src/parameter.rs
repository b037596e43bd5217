//! The one error for a parameter outside its legal range.

use std::borrow::Cow;
use std::fmt::Display;

/// A parameter was given an illegal value. The message names the parameter, the value and the legal range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: legal is {legal}")]
pub struct ParameterError {
    /// Name of the parameter, as in the configuration.
    pub key: Cow<'static, str>,
    /// The value that was given.
    pub value: String,
    /// The legal range, in words.
    pub legal: String,
}

impl ParameterError {
    /// An error for `key`, which was given `value` where only `legal` is allowed.
    pub fn new(key: impl Into<Cow<'static, str>>, value: impl Display, legal: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.to_string(), legal: legal.into() }
    }

    /// `Ok` when `value` lies in `lo..=hi`.
    pub(crate) fn check(key: &'static str, value: u64, lo: u64, hi: u64) -> Result<(), Self> {
        if (lo..=hi).contains(&value) { Ok(()) } else { Err(Self::new(key, value, format!("{lo}..={hi}"))) }
    }
}

/// `Ok(log2(line_bytes))` when `line_bytes` is a power of two in 32..=1024.
pub(crate) fn line_shift(line_bytes: u32) -> Result<u32, ParameterError> {
    if line_bytes.is_power_of_two() && (32..=1024).contains(&line_bytes) {
        Ok(line_bytes.trailing_zeros())
    } else {
        Err(ParameterError::new("line_bytes", line_bytes, "a power of two in 32..=1024"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_shift_takes_exactly_the_legal_sizes() {
        for bytes in 0..=4096 {
            let legal = [32, 64, 128, 256, 512, 1024].contains(&bytes);
            assert_eq!(line_shift(bytes).is_ok(), legal, "{bytes}");
        }
        assert_eq!(line_shift(128), Ok(7));
        assert_eq!(line_shift(48).unwrap_err().to_string(), "line_bytes = 48: legal is a power of two in 32..=1024");
    }

    #[test]
    fn range_ends_are_legal() {
        assert!(ParameterError::check("sms", 2, 2, 256).is_ok());
        assert!(ParameterError::check("sms", 256, 2, 256).is_ok());
        assert!(ParameterError::check("sms", 1, 2, 256).is_err());
        let error = ParameterError::check("sms", 257, 2, 256).unwrap_err();
        assert_eq!(error.to_string(), "sms = 257: legal is 2..=256");
    }
}
