//! `l1forge config`: every key, its value and its meaning.

use crate::common::{ConfigArgs, print_json};
use l1forge_config::KEYS;
use std::io::Write;

/// Arguments of `l1forge config`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    config: ConfigArgs,
}

/// Prints a TOML file with every key resolved and documented; it is itself a valid `--config` file.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    let values = serde_json::to_value(args.config.resolve()?)?;
    if json {
        let keys: Vec<_> = KEYS
            .iter()
            .map(|k| {
                serde_json::json!({
                    "key": k.name, "value": values[k.name], "default": if k.auto.is_empty() { k.default } else { k.auto },
                    "unit": k.unit, "legal": k.kind.legal(), "source": k.source, "description": k.doc,
                })
            })
            .collect();
        return print_json(&keys);
    }
    let mut out = std::io::stdout().lock();
    for k in KEYS {
        let default = if k.auto.is_empty() { k.default } else { k.auto };
        writeln!(out, "# {}", k.doc)?;
        writeln!(out, "# Unit: {}. Legal: {}. Default: {default}. Source: {}.", k.unit, k.kind.legal(), k.source)?;
        writeln!(out, "{} = {}\n", k.name, values[k.name])?;
    }
    Ok(())
}
