//! What `l1forge gen` writes: Verilog, file lists, constraints, configuration and manifest.

use crate::rtl::{Design, RtlError};
use crate::{c2p, snakecharmer};
use l1forge_config::{Config, ResetStyle};
use serde_json::json;
use sha2::{Digest, Sha256};

/// The files of one generated design, with paths relative to the output folder.
pub struct Package {
    /// Path and text of each file, in a fixed order; `manifest.json` comes last.
    pub files: Vec<(String, String)>,
    /// The manifest, as in `manifest.json`.
    pub manifest: serde_json::Value,
    /// The design.
    pub design: Design,
}

/// Why there is no package.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// No block has that name.
    #[error("--block {0}: unknown block; legal: {names}", names = c2p::BLOCKS.iter().chain(snakecharmer::BLOCKS).map(|b| b.0).collect::<Vec<_>>().join(", "))]
    Block(String),
    /// A fault of the generator; no legal configuration has one.
    #[error("the generator is at fault: {0}")]
    Generator(#[from] RtlError),
}

/// Generates a block with everything a user needs to take it into a project.
///
/// # Errors
/// See [`PackageError`].
pub fn package(config: &Config, block: &str) -> Result<Package, PackageError> {
    let prefetcher = snakecharmer::block(config, block, 0);
    let family = if prefetcher.is_some() { "snakecharmer" } else { "c2p" };
    let module = c2p::block(config, block, 0).or(prefetcher).ok_or_else(|| PackageError::Block(block.into()))??;
    let clocked = module.ports().iter().any(|p| p.name == "clk_i");
    let ports: Vec<_> = module
        .ports()
        .iter()
        .map(|p| {
            let direction = if p.dir == crate::rtl::Dir::Output { "output" } else { "input" };
            json!({"name": p.name, "direction": direction, "width": p.width, "description": p.doc})
        })
        .collect();
    let design = Design::new(module)?;
    let top = design.top().to_string();
    let verilog: Vec<(String, String)> = design.files().into_iter().map(|(name, text)| (format!("rtl/{name}"), text)).collect();
    let list = |prefix: &str, suffix: &str| verilog.iter().map(|f| format!("{prefix}{}{suffix}\n", f.0)).collect::<String>();

    let mut files = verilog.clone();
    files.push(("filelist.f".into(), list("", "")));
    files.push((format!("{top}.core"), fusesoc(family, &top, &list("      - ", ""))));
    files.push(("Bender.yml".into(), format!("package:\n  name: {top}\nsources:\n{}", list("  - ", ""))));
    files.push(("constraints.sdc".into(), constraints(config, &top, clocked)));
    files.push(("config.toml".into(), toml::to_string(config).unwrap_or_else(|e| unreachable!("a configuration is a flat table: {e}"))));

    let hashes: Vec<_> = files.iter().map(|(path, text)| json!({"path": path, "sha256": hex(&Sha256::digest(text.as_bytes()))})).collect();
    let mut manifest = json!({
        "generator": concat!("l1forge ", env!("CARGO_PKG_VERSION")),
        "block": block,
        "top": top,
        "config": config,
        "files": hashes,
        "ports": ports,
        "modules": design.instance_counts().iter().map(|(name, n)| json!({"name": name, "instances": n})).collect::<Vec<_>>(),
        "memories": design.memories().iter().map(|((name, size), n)| json!({"name": name, "rows": size.rows, "bits": size.bits, "instances": n})).collect::<Vec<_>>(),
        "flip_flop_bits": design.flip_flop_bits(),
    });
    if family == "c2p" {
        manifest["hash"] = hash_report(config);
        manifest["latency"] =
            json!({"encode": config.engine_latency, "lookup": config.lookup_latency, "miss_bound": c2p::miss_bound(config)});
    } else {
        // Cycles from a demand; docs/blocks/snakecharmer/README.md.
        manifest["latency"] = json!({"answer": 1, "training": 1, "first_candidate": 4, "first_prefetch": 5});
        manifest["storage"] = snakecharmer::storage(config).report();
    }
    let text = serde_json::to_string_pretty(&manifest).unwrap_or_else(|e| unreachable!("a JSON value prints: {e}"));
    files.push(("manifest.json".into(), text + "\n"));
    Ok(Package { files, manifest, design })
}

/// The base hashes and how positions are made of them.
fn hash_report(config: &Config) -> serde_json::Value {
    let hash = config.hash_matrices();
    json!({
        "scheme": config.hash,
        "g_bits": hash.g_bits,
        "bank_bits": hash.bank_bits,
        "remaining_bits": hash.remaining_bits,
        "hash_rows": hash.hash_rows,
        "bases": hash.bases.iter().map(|b| json!({
            "taps": b.taps.iter().map(|t| format!("{t:#x}")).collect::<Vec<_>>(),
            "constant": b.constant,
        })).collect::<Vec<_>>(),
        "coefficients": hash.coefficients,
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// A FuseSoC core file.
fn fusesoc(family: &str, top: &str, files: &str) -> String {
    format!(
        "CAPI=2:\nname: l1forge:{family}:{top}:{version}\ndescription: Generated by l1forge\nfilesets:\n  rtl:\n    files:\n{files}    file_type: verilogSource-2005\ntargets:\n  default:\n    filesets: [rtl]\n    toplevel: {top}\n",
        version = env!("CARGO_PKG_VERSION")
    )
}

/// Timing constraints: one clock, inputs and outputs a third of the period away.
fn constraints(config: &Config, top: &str, clocked: bool) -> String {
    let mut text = format!("# Timing constraints of {top}. Time unit of the library: ps.\nset clock_period 1000\n");
    if !clocked {
        text += "create_clock -name clk -period $clock_period\nset_input_delay [expr $clock_period / 3.0] -clock clk [all_inputs]\n";
        return text + "set_output_delay [expr $clock_period / 3.0] -clock clk [all_outputs]\n";
    }
    text += "create_clock -name clk -period $clock_period [get_ports clk_i]\n";
    text += "set_input_delay [expr $clock_period / 3.0] -clock clk [all_inputs]\nset_input_delay 0 -clock clk [get_ports clk_i]\n";
    text += "set_output_delay [expr $clock_period / 3.0] -clock clk [all_outputs]\n";
    match config.reset_style {
        ResetStyle::AsyncHigh => text + "set_false_path -from [get_ports rst_i]\n",
        ResetStyle::AsyncLow => text + "set_false_path -from [get_ports rst_ni]\n",
        ResetStyle::SyncHigh | ResetStyle::SyncLow => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l1forge_config::Settings;

    #[test]
    fn same_bytes_twice_and_every_file_hashed() {
        let config = Settings::preset("paper").unwrap().resolve().unwrap();
        let (a, b) = (package(&config, "c2p_cache").unwrap(), package(&config, "c2p_cache").unwrap());
        assert_eq!(a.files, b.files);
        assert_eq!(a.manifest["files"].as_array().unwrap().len(), a.files.len() - 1);
        assert_eq!(a.manifest["memories"][0], json!({"name": "sram_1r1w", "rows": 80, "bits": 64, "instances": 256}));
        let engines = a.manifest["modules"].as_array().unwrap().iter().find(|m| m["name"] == "bf_engine").unwrap();
        assert_eq!(engines["instances"], 128);
    }

    #[test]
    fn the_configuration_is_read_back() {
        let mut settings = Settings::preset("paper").unwrap();
        settings.set("sms=3").unwrap();
        settings.set("floorplan=[[0, 0], [1, 0], [0, 5]]").unwrap();
        let config = settings.resolve().unwrap();
        let files = package(&config, "probe_order").unwrap().files;
        let text = &files.iter().find(|f| f.0 == "config.toml").unwrap().1;
        let mut again = Settings::preset("paper").unwrap();
        again.add_text("config.toml", text).unwrap();
        assert_eq!(again.resolve().unwrap(), config);
    }

    #[test]
    fn the_prefetcher_comes_with_its_storage() {
        let config = Settings::preset("a100").unwrap().resolve().unwrap();
        let p = package(&config, "snakecharmer").unwrap();
        let bits = p.manifest["storage"]["bits"].as_u64().unwrap();
        assert!(bits <= 8 * p.manifest["storage"]["paper_bytes"].as_u64().unwrap(), "{bits}");
        assert!(p.manifest["memories"].as_array().unwrap().is_empty());
        assert!(p.files.iter().any(|f| f.0 == "rtl/prt.v") && p.files.iter().any(|f| f.0 == "snakecharmer.core"));
    }

    #[test]
    fn unknown_block() {
        let config = Settings::preset("paper").unwrap().resolve().unwrap();
        assert!(package(&config, "l3").err().unwrap().to_string().contains("bf_engine"));
    }
}
