//! The l1forge command.

mod common;
mod completions;
mod config;
mod encode;
mod failure;

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
        Command::Config(args) => config::run(&args, cli.json),
        Command::Encode(args) => encode::run(&args, cli.json),
        Command::Completions(args) => completions::run::<Cli>(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}
