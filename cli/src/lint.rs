//! `l1forge lint`: four linters on the generated Verilog.

use crate::common::{ConfigArgs, print_json, spinner};
use crate::failure::CheckFailed;
use l1forge_verif::lint::lint;
use l1forge_verif::tools::Toolbox;

/// Arguments of `l1forge lint`.
#[derive(clap::Args)]
pub struct Args {
    /// Block to lint, the whole C2P-Cache when not given.
    #[arg(long, value_name = "NAME", default_value = "c2p_cache")]
    block: String,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Generates and runs Verilator, Icarus, Yosys and slang; any word of theirs is a failed check.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    let config = args.config.resolve()?;
    let design = l1forge_verif::block::design(&config, &args.block, 0)?;
    let bar = spinner("linting with Verilator, Icarus, Yosys and slang");
    let reports = lint(&Toolbox::from_env(), &design);
    bar.finish_and_clear();
    let reports = reports?;
    if json {
        let list: Vec<_> = reports
            .iter()
            .map(|r| serde_json::json!({"tool": r.tool.info().name, "version": r.version, "ok": r.ok, "output": r.output}))
            .collect();
        print_json(&list)?;
    } else {
        for r in &reports {
            say!("{:<10} {}  ({})", r.tool.info().name, if r.ok { "silent" } else { "NOT SILENT" }, r.version);
            if !r.ok {
                say!("{}", r.output);
            }
        }
    }
    let loud: Vec<_> = reports.iter().filter(|r| !r.ok).map(|r| r.tool.info().name).collect();
    if loud.is_empty() { Ok(()) } else { Err(CheckFailed(format!("not silent: {}", loud.join(", "))).into()) }
}
