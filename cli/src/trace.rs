//! `l1forge trace`: what a trace holds, and built-in workloads written as traces.

use crate::common::{ConfigArgs, print_json, spinner};
use l1forge_sim::trace::{Compression, TraceInfo, TraceOptions, TraceReader, write_folder};
use l1forge_sim::workload::{Workload, WorkloadParameters};
use std::path::PathBuf;

/// Arguments of `l1forge trace`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Print what an Accel-Sim trace holds: a trace file, a list of traces, or a folder with a kernelslist.g.
    Info {
        /// The trace.
        path: PathBuf,
        /// Accept kernels with fewer thread blocks than their grid.
        #[arg(long)]
        partial: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Write a built-in workload as an Accel-Sim trace.
    Write {
        /// Workload.
        #[arg(long, value_name = "NAME")]
        workload: String,
        /// Folder to write to.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Seed of everything random.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Factor on the amount of work.
        #[arg(long, default_value_t = 1.0)]
        scale: f64,
        #[command(flatten)]
        config: ConfigArgs,
    },
}

/// Runs the subcommand.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    match &args.command {
        Command::Info { path, partial, config } => {
            let config = config.resolve()?;
            let bar = spinner("reading");
            let options = TraceOptions { address_bits: config.address_bits, partial: *partial };
            let reader = TraceReader::open(path, options)?;
            let info = TraceInfo::with_progress(reader, config.line_bytes, |n| bar.set_message(format!("{n} instructions")))?;
            bar.finish_and_clear();
            if json {
                return print_json(&info);
            }
            say!(
                "{} kernels, {} copies of {} bytes in all, lines of {} bytes",
                info.kernels.len(),
                info.memcpys,
                info.memcpy_bytes,
                info.line_bytes
            );
            for k in &info.kernels {
                say!("{}", serde_json::to_string(k)?);
            }
            Ok(())
        }
        Command::Write { workload, out, seed, scale, config } => {
            let config = config.resolve()?;
            let parameters = workload_parameters(&config, *seed, *scale);
            let events = Workload::by_name(workload)?.events(parameters)?;
            let list = write_folder(out, events, Compression::None)?;
            if json {
                return print_json(&serde_json::json!({"list": list}));
            }
            say!("written: {}", list.display());
            Ok(())
        }
    }
}

/// A workload sized for the configuration; its arrays lie where addresses of the configured width reach.
pub fn workload_parameters(config: &l1forge_config::Config, seed: u64, scale: f64) -> WorkloadParameters {
    let base = WorkloadParameters::default().base;
    let base = if config.address_bits >= 48 { base } else { (1u64 << (config.address_bits - 1)) & !4095 };
    WorkloadParameters { sms: config.sms, scale, seed, line_bytes: config.line_bytes, base }
}
