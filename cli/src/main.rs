//! The l1forge command.

mod pascal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use l1forge_sim::pascal::InputError;

/// Generates and proves GPU L1 sharing and prefetching hardware, and models its traffic.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    /// Print one JSON document on standard output and nothing else there
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The shared-cache model
    #[command(subcommand)]
    Pascal(pascal::PascalCommand),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let Command::Pascal(command) = cli.command;
    match command.run(cli.json) {
        Ok(pascal::Outcome::Success) => ExitCode::SUCCESS,
        Ok(pascal::Outcome::CheckFailed) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(if error.is::<InputError>() { 2 } else { 1 })
        }
    }
}
