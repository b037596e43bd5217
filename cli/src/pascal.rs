//! `l1forge pascal`: the shared-cache model.
//!
//! Every subcommand builds a [`Report`] first, so bad input writes nothing, and prints one JSON document or one text at the end.

mod device;
mod divergence;
mod dynamic;
mod geometry;
mod input;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Subcommand;
use l1forge_sim::pascal::InputError;
use serde_json::Value;

/// The shared-cache model: exact static results, divergence, the calibrated predictor, the stand-in device.
#[derive(Debug, Subcommand)]
pub enum PascalCommand {
    /// Everything the static model says about one scan and capacity
    Static(geometry::StaticArgs),
    /// The traffic that no replacement policy avoids, and what Belady's optimum needs
    Bound(geometry::BoundArgs),
    /// The miss-ratio curve over capacity
    Curve(geometry::CurveArgs),
    /// K over the spacing of equally spaced workers
    Spacing(geometry::SpacingArgs),
    /// How far a leader may run ahead, or what an interleaving does
    Lead(divergence::LeadArgs),
    /// What a copy pipeline hides, and how fast hits repair a gap
    Pipeline(divergence::PipelineArgs),
    /// Fit a frozen calibration from measurements
    Fit(dynamic::FitArgs),
    /// Predict the traffic of a configuration that was not measured
    Predict(dynamic::PredictArgs),
    /// Run the stand-in device
    Simulate(device::SimulateArgs),
    /// Calibrate on the stand-in device and judge the predictor on held-out runs
    Study(device::StudyArgs),
}

/// How a command that ran to its end ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to complain about: exit code 0.
    Success,
    /// A check failed: exit code 1.
    CheckFailed,
}

/// What a subcommand found, before anything is written.
struct Report {
    document: Value,
    text: String,
    outcome: Outcome,
    files: Vec<(PathBuf, String)>,
}

impl Report {
    fn new(document: Value, text: String) -> Self {
        Self { document, text, outcome: Outcome::Success, files: Vec::new() }
    }
}

impl PascalCommand {
    /// Runs the command and prints its result: with `json` one JSON document on standard output and nothing else there.
    ///
    /// # Errors
    /// Bad input is an [`InputError`] at the root of the error (exit code 2, nothing was written); anything else is a failed write to
    /// standard output.
    pub fn run(self, json: bool) -> anyhow::Result<Outcome> {
        let report = match self {
            Self::Static(args) => args.report(),
            Self::Bound(args) => args.report(),
            Self::Curve(args) => args.report(),
            Self::Spacing(args) => args.report(),
            Self::Lead(args) => args.report(),
            Self::Pipeline(args) => args.report(),
            Self::Fit(args) => args.report(),
            Self::Predict(args) => args.report(),
            Self::Simulate(args) => args.report(),
            Self::Study(args) => args.report(),
        }?;
        for (path, content) in &report.files {
            write_file(path, content)?;
        }
        let mut out = std::io::stdout().lock();
        let printed = if json {
            serde_json::to_writer_pretty(&mut out, &report.document).map_err(std::io::Error::from).and_then(|()| writeln!(out))
        } else {
            write!(out, "{}", report.text)
        };
        match printed.and_then(|()| out.flush()) {
            // A reader that has seen enough.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            printed => printed.context("cannot write the result")?,
        }
        Ok(report.outcome)
    }
}

fn write_file(path: &std::path::Path, content: &str) -> Result<(), InputError> {
    let wrong = |e: std::io::Error| InputError::new("out", format!("cannot write: {e}")).in_file(path.display().to_string());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(wrong)?;
    }
    std::fs::write(path, content).map_err(wrong)
}
