//! `l1forge gen`: Verilog and everything that goes with it.

use crate::common::{ConfigArgs, print_json, write_files};
use l1forge_hdl::package::package;
use std::path::PathBuf;

/// Arguments of `l1forge gen`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder to write to; made when it is not there.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Block to generate, the whole C2P-Cache when not given.
    #[arg(long, value_name = "NAME", default_value = "c2p_cache")]
    block: String,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Generates, then writes all files or none.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    let config = args.config.resolve()?;
    let package = package(&config, &args.block)?;
    write_files(&args.out, &package.files)?;
    if json {
        return print_json(&package.manifest);
    }
    let lines: usize = package.files.iter().filter(|f| f.0.ends_with(".v")).map(|f| f.1.lines().count()).sum();
    say!(
        "{}: {} modules, {lines} lines of Verilog, {} flip-flop bits",
        package.design.top(),
        package.design.modules().len(),
        package.design.flip_flop_bits()
    );
    for ((name, size), count) in package.design.memories() {
        say!("{count} memories {name}, {} rows of {} bits", size.rows, size.bits);
    }
    say!("written to {}", args.out.display());
    Ok(())
}
