//! The one error type of this crate.

use std::fmt;

/// Why a configuration was refused.
///
/// Displays as one message: where the value came from, the key, the value and what is legal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// Where the value came from: `file:line`, `--set`, `--sms`, a preset; empty for a derived value.
    pub origin: String,
    /// The key concerned; empty when the text could not be parsed at all.
    pub key: String,
    /// The refused value as the user wrote it; empty when there is none.
    pub value: String,
    /// What is legal, or what went wrong.
    pub legal: String,
}

impl ConfigError {
    pub(crate) fn new(origin: &str, key: &str, value: impl fmt::Display, legal: impl Into<String>) -> Self {
        Self { origin: origin.into(), key: key.into(), value: value.to_string(), legal: legal.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.origin.is_empty() {
            write!(f, "{}: ", self.origin)?;
        }
        match (self.key.is_empty(), self.value.is_empty()) {
            (false, false) => write!(f, "{} = {}: {}", self.key, self.value, self.legal),
            (false, true) => write!(f, "{}: {}", self.key, self.legal),
            _ => write!(f, "{}", self.legal),
        }
    }
}

impl std::error::Error for ConfigError {}
