//! The l1forge command.

#[macro_use]
mod common;
mod completions;
mod config;
mod cosim;
mod doctor;
mod encode;
mod experiment;
mod failure;
mod generate;
mod lint;
mod pascal;
mod place;
mod report;
mod study;
mod synth;
mod trace;
mod traffic;

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
    /// Map to standard cells: area by hierarchy, memories, timing, LUTs.
    Synth(synth::Args),
    /// Place the mapped cells, and write scripts for OpenROAD.
    Place(place::Args),
    /// Look into Accel-Sim traces, and write workloads as traces.
    Trace(trace::Args),
    /// PASCAL: the analytical model of shared-cache traffic.
    #[command(subcommand)]
    Pascal(pascal::PascalCommand),
    /// Run a trace or workload through the whole memory path: L1s, sharing scheme, L2, DRAM.
    Traffic(traffic::Args),
    /// Repeat a sensitivity study of the papers, and put their values beside ours.
    Experiment(experiment::Args),
    /// Measure what each part of SnakeCharmer buys, on built-in streams, workloads or a trace.
    Study(study::Args),
    /// Write one HTML page from what gen, lint, cosim, synth and place left in a folder.
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
    failure::guard(run)
}

fn run() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Gen(args) => generate::run(&args, cli.json),
        Command::Cosim(args) => cosim::run(&args, cli.json),
        Command::Lint(args) => lint::run(&args, cli.json),
        Command::Synth(args) => synth::run(&args, cli.json),
        Command::Place(args) => place::run(&args, cli.json),
        Command::Trace(args) => trace::run(&args, cli.json),
        Command::Pascal(command) => match command.run(cli.json) {
            Ok(pascal::Outcome::Success) => Ok(()),
            Ok(pascal::Outcome::CheckFailed) => return ExitCode::from(1),
            Err(error) => Err(error),
        },
        Command::Experiment(args) => experiment::run(&args, cli.json),
        Command::Traffic(args) => traffic::run(&args, cli.json),
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
