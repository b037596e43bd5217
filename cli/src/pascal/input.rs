//! Input that several subcommands share: the workers' phases, files, numbers for people.

use std::path::{Path, PathBuf};

use clap::Args;
use l1forge_sim::pascal::{Fraction, InputError, Pattern, Scan, to_f64};
use serde_json::Value;

/// A ring and the phases of its workers.
#[derive(Debug, Args)]
pub struct ScanArgs {
    /// Workers M; with phases given, their number
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub workers: Option<usize>,
    /// Blocks N of the ring
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub blocks: u64,
    #[command(flatten)]
    pub phases: PhaseArgs,
}

/// Where the workers stand: exactly one of the three.
#[derive(Debug, Args)]
pub struct PhaseArgs {
    /// Phase of every worker in blocks, separated by commas
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, conflicts_with_all = ["phases_file", "pattern"])]
    pub phases: Option<String>,
    /// File with the phases: numbers separated by blanks, commas or lines, '#' starts a comment; or a JSON list
    #[arg(long, value_name = "FILE", conflicts_with = "pattern")]
    pub phases_file: Option<PathBuf>,
    /// aligned, clusters:D, spaced:G, reversed:G, uniform or gauss:SD
    #[arg(long, value_name = "PATTERN")]
    pub pattern: Option<String>,
    /// Seed of the patterns uniform and gauss
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl ScanArgs {
    /// The scan, with every mistake named.
    pub fn scan(&self) -> Result<Scan, InputError> {
        if self.workers == Some(0) {
            return Err(InputError::new("workers", "0 workers, at least one is needed"));
        }
        let phases = match &self.phases {
            PhaseArgs { phases: Some(list), .. } => parse_list(list)?,
            PhaseArgs { phases_file: Some(path), .. } => return self.scan_of_file(path),
            PhaseArgs { pattern: Some(pattern), seed, .. } => {
                let workers = self.workers.ok_or_else(|| InputError::new("workers", "a pattern needs the number of workers"))?;
                return pattern.parse::<Pattern>()?.place(self.blocks, workers, *seed);
            }
            _ => {
                return Err(InputError::new("phases", "no phases, give --phases, --phases-file or --pattern"));
            }
        };
        self.check_count(phases.len())?;
        Scan::new(self.blocks, phases)
    }

    fn scan_of_file(&self, path: &Path) -> Result<Scan, InputError> {
        let name = path.display().to_string();
        let entries = parse_phase_file(&read(path, "phases-file")?).map_err(|e| e.in_file(&name))?;
        self.check_count(entries.len()).map_err(|e| e.in_file(&name))?;
        let phases = entries.iter().map(|entry| entry.1).collect();
        Scan::new(self.blocks, phases).map_err(|e| {
            // The row of the phase that is wrong, if it is one phase.
            let index = e.field().strip_prefix("phases[").and_then(|i| i.strip_suffix(']')).and_then(|i| i.parse::<usize>().ok());
            let located = e.clone().in_file(&name);
            index.map_or(located.clone(), |i| located.at_row(entries[i].0))
        })
    }

    fn check_count(&self, phases: usize) -> Result<(), InputError> {
        match self.workers {
            Some(workers) if workers != phases => {
                Err(InputError::new("workers", format!("{workers} workers, but there are {phases} phases")))
            }
            _ => Ok(()),
        }
    }
}

fn parse_list(list: &str) -> Result<Vec<u64>, InputError> {
    if list.trim().is_empty() {
        return Err(InputError::new("phases", "no phases, at least one worker is needed"));
    }
    list.split(',').enumerate().map(|(w, text)| parse_phase(w, text.trim())).collect()
}

fn parse_phase(worker: usize, text: &str) -> Result<u64, InputError> {
    text.parse()
        .map_err(|_| InputError::new(format!("phases[{worker}]"), format!("'{text}' is not a whole number of blocks of at least 0")))
}

/// The phases of a file, each with its line, or its place in a JSON list.
fn parse_phase_file(text: &str) -> Result<Vec<(u64, u64)>, InputError> {
    let mut phases = Vec::new();
    if text.trim_start().starts_with('[') {
        let list: Vec<Value> = serde_json::from_str(text).map_err(|e| InputError::new("phases", format!("not a JSON list: {e}")))?;
        for (row, value) in (1..).zip(list) {
            phases.push((row, parse_phase(phases.len(), &value.to_string()).map_err(|e| e.at_row(row))?));
        }
    } else {
        for (row, line) in (1..).zip(text.lines()) {
            let content = line.split('#').next().unwrap_or_default();
            for word in content.split([',', ' ', '\t', ';']).filter(|word| !word.is_empty()) {
                phases.push((row, parse_phase(phases.len(), word).map_err(|e| e.at_row(row))?));
            }
        }
    }
    if phases.is_empty() {
        return Err(InputError::new("phases", "no phases, at least one worker is needed"));
    }
    Ok(phases)
}

/// A file that the user named.
pub fn read(path: &Path, field: &str) -> Result<String, InputError> {
    std::fs::read_to_string(path).map_err(|e| InputError::new(field, format!("cannot read: {e}")).in_file(path.display().to_string()))
}

/// A list of whole numbers separated by commas.
pub fn numbers(field: &str, list: &str) -> Result<Vec<u64>, InputError> {
    list.split(',')
        .map(|text| {
            let text = text.trim();
            text.parse().map_err(|_| InputError::new(field, format!("'{text}' is not a whole number of at least 0")))
        })
        .collect()
}

/// A fraction with its float, for people.
pub fn shown(value: &Fraction) -> String {
    if value.is_integer() { value.to_string() } else { format!("{value} ({:.6})", to_f64(value)) }
}

/// A list of whole numbers, cut where it gets long.
pub fn shown_list(values: &[u64]) -> String {
    const MOST: usize = 16;
    let mut text = values.iter().take(MOST).map(u64::to_string).collect::<Vec<_>>().join(" ");
    if values.len() > MOST {
        text += &format!(" ... ({} in all)", values.len());
    }
    text
}

/// One line of a text report.
pub fn line(text: &mut String, name: &str, value: impl std::fmt::Display) {
    text.push_str(&format!("{name:<28} {value}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phase_files_of_every_form() {
        let values = |text: &str| parse_phase_file(text).unwrap().iter().map(|entry| entry.1).collect::<Vec<_>>();
        assert_eq!(values("0, 4\n# remark\n7 8\t9;10 # more\n"), [0, 4, 7, 8, 9, 10]);
        assert_eq!(values(" [0, 4,\n 7]"), [0, 4, 7]);
        let rows = |text: &str| parse_phase_file(text).unwrap_err();
        assert_eq!(rows("0\n\n1 x").to_string(), "row 3: phases[2]: 'x' is not a whole number of blocks of at least 0");
        assert_eq!((rows("[0, -1]").row(), rows("[0, 1.5]").row()), (Some(2), Some(2)));
        assert_eq!((rows("# none\n").field(), rows("").field(), rows("[").field()), ("phases", "phases", "phases"));
    }

    #[test]
    fn lists_are_checked() {
        assert_eq!(parse_list("0, 4").unwrap(), [0, 4]);
        assert_eq!(parse_list("0,,4").unwrap_err().field(), "phases[1]");
        assert_eq!(parse_list("-1,4").unwrap_err().field(), "phases[0]");
        assert_eq!(parse_list(" ").unwrap_err().field(), "phases");
        assert_eq!(numbers("d", "2, 3"), Ok(vec![2, 3]));
        assert_eq!(numbers("d", "2,").unwrap_err().field(), "d");
    }
}
