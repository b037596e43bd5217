//! Errors of module checks and of design assembly.

use std::fmt;

/// What the checks of a module or design found; one line each, with module, signal and source line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RtlError {
    messages: Vec<String>,
}

impl RtlError {
    pub(crate) fn new(messages: Vec<String>) -> Self {
        RtlError { messages }
    }

    /// The findings.
    pub fn messages(&self) -> &[String] {
        &self.messages
    }
}

impl fmt::Display for RtlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.messages.join("\n"))
    }
}

impl std::error::Error for RtlError {}
