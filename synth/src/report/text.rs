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

/// A number with as many decimals as make sense for its size, thousands separated.
pub fn number(value: f64) -> String {
    let decimals = match value.abs() {
        v if v == 0.0 || v >= 100.0 || (v.fract() == 0.0 && v >= 1.0) => 0,
        v if v >= 1.0 => 2,
        _ => 5,
    };
    let text = format!("{value:.decimals$}");
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

    #[test]
    fn both_forms() {
        let mut t = Table::new(&["module", "cells"]);
        t.row(&["a|b".into(), "12".into()]);
        assert_eq!(t.terminal(), "module  cells\na|b        12\n");
        assert_eq!(t.markdown(), "| module | cells |\n|---|---:|\n| a\\|b | 12 |\n");
    }
}
