//! `l1forge encode TAG…`: positions of tags in the Snapshot Matrix.

use crate::common::{ConfigArgs, print_json};
use anyhow::bail;
use std::io::Write;

/// Arguments of `l1forge encode`.
#[derive(clap::Args)]
pub struct Args {
    /// Tags (line addresses: byte address divided by line_bytes), decimal or 0x hexadecimal.
    #[arg(required = true, value_name = "TAG")]
    tags: Vec<String>,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Prints the k positions of each tag, tag mask first.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    let config = args.config.resolve()?;
    let most = (1u64 << config.tag_bits()) - 1;
    let mut tags = Vec::new();
    for text in &args.tags {
        let digits = text.replace('_', "");
        let tag = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        match tag {
            Ok(tag) if tag <= most => tags.push(tag),
            _ => bail!("TAG = {text}: legal: 0..={most:#x} (address_bits = {}, line_bytes = {})", config.address_bits, config.line_bytes),
        }
    }
    let encoded = tags.iter().map(|&tag| (tag, l1forge_sim::c2p::encode(&config, tag)));
    if json {
        let list: Vec<_> = encoded
            .map(|(tag, positions)| {
                let positions: Vec<_> =
                    positions.iter().map(|p| serde_json::json!({"index": p.index, "bank": p.bank, "row": p.row})).collect();
                serde_json::json!({"tag": tag, "positions": positions})
            })
            .collect();
        return print_json(&list);
    }
    let mut out = std::io::stdout().lock();
    for (tag, positions) in encoded {
        write!(out, "{tag:#x}:")?;
        for p in positions {
            write!(out, "  {:#x} (bank {}, row {})", p.index, p.bank, p.row)?;
        }
        writeln!(out)?;
    }
    Ok(())
}
