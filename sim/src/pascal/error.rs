//! The one error type of PASCAL for input that a user can get wrong.

use std::fmt;

/// Bad input: names the field, where known the file and the row, and says what is legal.
///
/// Every fallible function of [`crate::pascal`] that takes data from a user returns this type, so a caller can map it to one
/// message and one exit code.
///
/// ```
/// use l1forge_sim::pascal::Scan;
/// let error = Scan::new(8, vec![0, 9]).unwrap_err();
/// assert_eq!(error.field(), "phases[1]");
/// assert_eq!(error.to_string(), "phases[1]: 9 is outside the ring, legal values are 0 to 7");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    field: String,
    file: Option<String>,
    row: Option<u64>,
    message: String,
}

impl InputError {
    /// An error about `field`; `message` says what is wrong and which values are legal.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), file: None, row: None, message: message.into() }
    }

    /// The same error, located in a file.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// The same error, located in row `row` (1 is the first line of a text file, the first entry of a JSON list).
    #[must_use]
    pub fn at_row(mut self, row: u64) -> Self {
        self.row = Some(row);
        self
    }

    /// The field that is wrong.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The row that is wrong, counted from 1, for input that came from a file.
    pub fn row(&self) -> Option<u64> {
        self.row
    }

    /// What is wrong, without the location.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        if let Some(row) = self.row {
            write!(f, "row {row}: ")?;
        }
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for InputError {}

/// A float that must be finite and greater than zero.
pub(crate) fn positive(field: &str, value: f64) -> Result<f64, InputError> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(InputError::new(field, format!("{value} is not a finite number greater than 0")))
    }
}

/// A float that must be finite and at least zero.
pub(crate) fn non_negative(field: &str, value: f64) -> Result<f64, InputError> {
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(InputError::new(field, format!("{value} is not a finite number of at least 0")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_carries_file_row_and_field() {
        let error = InputError::new("w", "missing").in_file("refs.csv").at_row(7);
        assert_eq!(error.to_string(), "refs.csv: row 7: w: missing");
        assert_eq!((error.row(), error.field(), error.message()), (Some(7), "w", "missing"));
    }

    #[test]
    fn checks_refuse_what_is_not_a_number() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
            assert!(positive("x", bad).is_err(), "{bad}");
            assert!(non_negative("x", bad).is_err(), "{bad}");
        }
        assert!(positive("x", 0.0).is_err());
        assert!(non_negative("x", 0.0).is_ok());
    }
}
