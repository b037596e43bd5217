//! Line, branch and toggle coverage of the Verilog, as counted by a design built with
//! [`Design::coverage`](crate::build::Design::coverage).
//!
//! Instances of one module count together: a line is covered when any of them has run it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use crate::cache::{At as _, IoError};

/// What a coverage point counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PointKind {
    /// Executions of a block of statements.
    Line,
    /// Executions of one side of an `if`.
    Branch,
    /// Changes of one bit.
    Toggle,
    /// Hits of a cover statement.
    User,
}

impl PointKind {
    /// All kinds, in the order in which they are reported.
    pub const ALL: [PointKind; 4] = [PointKind::Line, PointKind::Branch, PointKind::Toggle, PointKind::User];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            PointKind::Line => "line",
            PointKind::Branch => "branch",
            PointKind::Toggle => "toggle",
            PointKind::User => "user",
        }
    }
}

/// One place that is counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// What is counted.
    pub kind: PointKind,
    /// Module, with its parameters as Verilator names it.
    pub module: String,
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The bit, for toggles; else the kind of statement.
    pub name: String,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, module, file, line, column, name } = self;
        write!(f, "{file}:{line}:{column}: {} {name} in {module}", kind.name())
    }
}

/// Points hit of points there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ratio {
    /// Points counted at least once.
    pub hit: u64,
    /// All points.
    pub total: u64,
}

impl Ratio {
    /// Share in percent; 100 where there is nothing to hit.
    pub fn percent(self) -> f64 {
        if self.total == 0 { 100.0 } else { 100.0 * self.hit as f64 / self.total as f64 }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} % ({} of {})", self.percent(), self.hit, self.total)
    }
}

/// A coverage file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodeCoverageError {
    /// It cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// It is not in Verilator's format.
    #[error("{file}:{line}: not a coverage point: `{text}`")]
    Format {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The line.
        text: String,
    },
}

/// Counters of coverage points, merged over instances and runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodeCoverage {
    points: BTreeMap<Point, u64>,
}

impl CodeCoverage {
    /// Reads a file written by [`Dut::write_coverage`](crate::dut::Dut::write_coverage).
    ///
    /// # Errors
    /// When the file cannot be read, or is not in Verilator's format.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, CodeCoverageError> {
        let path = path.as_ref();
        let mut coverage = Self::default();
        for (index, line) in BufReader::new(File::open(path).at(path)?).lines().enumerate() {
            let line = line.at(path)?;
            if line.starts_with('#') || line.is_empty() {
                continue;
            }
            let (point, count) = parse(&line).ok_or_else(|| CodeCoverageError::Format {
                file: path.display().to_string(),
                line: index + 1,
                text: line.clone(),
            })?;
            coverage.add(point, count);
        }
        Ok(coverage)
    }

    /// Adds the counts of another run.
    pub fn merge(&mut self, other: &Self) {
        for (point, &count) in &other.points {
            self.add(point.clone(), count);
        }
    }

    /// Points hit and points there are, of one kind.
    pub fn ratio(&self, kind: PointKind) -> Ratio {
        let mut ratio = Ratio::default();
        for (_, &count) in self.points.iter().filter(|(point, _)| point.kind == kind) {
            ratio.total += 1;
            ratio.hit += u64::from(count > 0);
        }
        ratio
    }

    /// All points with their counts, ordered by kind, module and place.
    pub fn points(&self) -> impl Iterator<Item = (&Point, u64)> {
        self.points.iter().map(|(point, &count)| (point, count))
    }

    /// The points that no run has hit.
    pub fn missed(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|&(_, &count)| count == 0).map(|(point, _)| point)
    }

    fn add(&mut self, point: Point, count: u64) {
        let entry = self.points.entry(point).or_default();
        *entry = entry.saturating_add(count);
    }
}

impl fmt::Display for CodeCoverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for kind in PointKind::ALL {
            let ratio = self.ratio(kind);
            if ratio.total > 0 {
                writeln!(f, "{:<7} {ratio}", kind.name())?;
            }
        }
        Ok(())
    }
}

/// A line such as `C '^Af^Bcounter.v^Al^B11^An^B3^Apage^Bv_line/counter^Ao^Bblock^Ah^BTOP.counter' 10`, where `^A` starts a key and
/// `^B` its value.
fn parse(line: &str) -> Option<(Point, u64)> {
    let (fields, count) = line.strip_prefix("C '")?.rsplit_once("' ")?;
    let mut point = Point { kind: PointKind::User, module: String::new(), file: String::new(), line: 0, column: 0, name: String::new() };
    let mut page = None;
    for field in fields.split('\u{1}').filter(|field| !field.is_empty()) {
        let (key, value) = field.split_once('\u{2}')?;
        match key {
            "f" => point.file = value.to_owned(),
            "l" => point.line = value.parse().ok()?,
            "n" => point.column = value.parse().ok()?,
            "o" => point.name = value.to_owned(),
            "page" => page = Some(value),
            // The instance, the range of lines and others.
            _ => {}
        }
    }
    let (kind, module) = page?.split_once('/')?;
    point.kind = match kind {
        "v_line" => PointKind::Line,
        "v_branch" => PointKind::Branch,
        "v_toggle" => PointKind::Toggle,
        "v_user" => PointKind::User,
        _ => return None,
    };
    point.module = module.to_owned();
    Some((point, count.trim().parse().ok()?))
}
