//! The l1forge command.

mod common;
mod completions;
mod config;
mod cosim;
mod doctor;
mod encode;
mod failure;
mod generate;
mod lint;
mod pascal;
mod report;
mod study;
mod synth;
mod trace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Generates synthesizable Verilog for GPU L1 sharing (C2P-Cache) and proves it against golden models.
#[derive(Parser)]
#[command(name = "l1forge", version, about, max_term_width = 100)]
struct Cli {
    /// Print one JSON document on standard output, and nothing else there.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Generate Verilog, file lists, constraints, configuration and manifest.
    Gen(generate::Args),
    /// Run the generated design in lockstep with its golden model.
    Cosim(cosim::Args),
    /// Run four linters on the generated Verilog.
    Lint(lint::Args),
    /// Synthesise to generic gates and count cells per module.
    Synth(synth::Args),
    /// Look into Accel-Sim traces, and write workloads as traces.
    Trace(trace::Args),
    /// PASCAL: the analytical model of shared-cache traffic.
    #[command(subcommand)]
    Pascal(pascal::PascalCommand),
    /// Measure what each part of SnakeCharmer buys, on built-in streams, workloads or a trace.
    Study(study::Args),
    /// Write one HTML page from what gen, lint, cosim and synth left in a folder.
    Report(report::Args),
    /// Say which tools are there, and how to install those that are missing.
    Doctor,
    /// Print every configuration key with its value, unit, range and source.
    Config(config::Args),
    /// Print the positions of tags in the Snapshot Matrix.
    Encode(encode::Args),
    /// Print a completion script for a shell.
    Completions(completions::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Gen(args) => generate::run(&args, cli.json),
        Command::Cosim(args) => cosim::run(&args, cli.json),
        Command::Lint(args) => lint::run(&args, cli.json),
        Command::Synth(args) => synth::run(&args, cli.json),
        Command::Trace(args) => trace::run(&args, cli.json),
        Command::Pascal(command) => match command.run(cli.json) {
            Ok(pascal::Outcome::Success) => Ok(()),
            Ok(pascal::Outcome::CheckFailed) => return ExitCode::from(1),
            Err(error) => Err(error),
        },
        Command::Study(args) => study::run(&args, cli.json),
        Command::Report(args) => report::run(&args, cli.json),
        Command::Doctor => doctor::run(cli.json),
        Command::Config(args) => config::run(&args, cli.json),
        Command::Encode(args) => encode::run(&args, cli.json),
        Command::Completions(args) => completions::run::<Cli>(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}
