//! Tables for terminals and Markdown.

use std::fmt::Write as _;

/// A table whose first column is text and whose other columns are numbers.
#[derive(Debug, Clone, Default)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(ToString::to_string).collect(), rows: Vec::new() }
    }

    /// Adds a line.
    pub fn row(&mut self, cells: &[String]) {
        self.rows.push(cells.to_vec());
    }

    fn widths(&self) -> Vec<usize> {
        let all = || std::iter::once(&self.head).chain(&self.rows);
        (0..self.head.len()).map(|c| all().map(|r| r.get(c).map_or(0, |t| t.chars().count())).max().unwrap_or(0)).collect()
    }

    /// With blanks between the columns.
    pub fn terminal(&self) -> String {
        let widths = self.widths();
        let mut out = String::new();
        for row in std::iter::once(&self.head).chain(&self.rows) {
            let mut line = String::new();
            for (c, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let _ = if c == 0 { write!(line, "{cell:<width$}") } else { write!(line, "  {cell:>width$}") };
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }

    /// As a Markdown table.
    pub fn markdown(&self) -> String {
        let mut out = format!("| {} |\n|---|{}\n", self.head.join(" | "), "---:|".repeat(self.head.len().saturating_sub(1)));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|c| c.replace('|', "\\|")).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
        out
    }
}

/// Decimals with which a number has at least three significant digits; at most 12.
fn three_digits(value: f64) -> usize {
    // The exponent of the number as it is shown: 0.9996 is 1.00.
    let exponent = format!("{:.2e}", value.abs()).split_once('e').and_then(|(_, e)| e.parse::<i32>().ok());
    usize::try_from(2 - exponent.unwrap_or(0)).unwrap_or(0).min(12)
}

/// A number with that many decimals, more where it would have fewer than three significant digits.
pub fn digits(value: f64, decimals: usize) -> String {
    let decimals = if value == 0.0 { decimals } else { decimals.max(three_digits(value)) };
    format!("{value:.decimals$}")
}

/// A number with as many decimals as make sense for its size, at least three significant digits, thousands separated.
pub fn number(value: f64) -> String {
    let text = match value.abs() {
        v if v == 0.0 || v >= 100.0 || (v.fract() == 0.0 && v >= 1.0) => format!("{value:.0}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => digits(value, 5),
    };
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), ""), |(w, f)| (w, f));
    let digits: Vec<char> = whole.chars().collect();
    let mut out = String::new();
    for (i, c) in digits.iter().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits[i - 1] != '-' {
            out.push(',');
        }
        out.push(*c);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A share of the whole.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let shown: Vec<String> = [0.0, 12.0, 1_234_567.8, 3.251, 0.06819, -1234.0].iter().map(|v| number(*v)).collect();
        assert_eq!(shown, ["0", "12", "1,234,568", "3.25", "0.06819", "-1,234"]);
    }

    /// Areas of small blocks are not rounded to a digit.
    #[test]
    fn small_numbers_have_three_significant_digits() {
        let shown: Vec<String> = [0.00001234, 0.0000437, 4.374e-8, -0.000123456, 0.00999999].iter().map(|v| number(*v)).collect();
        assert_eq!(shown, ["0.0000123", "0.0000437", "0.0000000437", "-0.000123", "0.01000"]);
        let shown: Vec<String> = [811.974, 81.26, 8.1264, 0.5, 0.04374, 0.9996, 0.0].iter().map(|v| digits(*v, 1)).collect();
        assert_eq!(shown, ["812.0", "81.3", "8.13", "0.500", "0.0437", "1.00", "0.0"]);
    }

    #[test]
    fn both_forms() {
        let mut t = Table::new(&["module", "cells"]);
        t.row(&["a|b".into(), "12".into()]);
        assert_eq!(t.terminal(), "module  cells\na|b        12\n");
        assert_eq!(t.markdown(), "| module | cells |\n|---|---:|\n| a\\|b | 12 |\n");
    }
}
