//! Arguments and output shared by the commands.

use anyhow::Context;
use l1forge_config::{Config, Settings};
use std::io::Write;
use std::path::PathBuf;

/// Where the configuration comes from. Later layers win: presets, file, `--set`, `--sms`.
#[derive(clap::Args, Debug)]
pub struct ConfigArgs {
    /// Configuration file (TOML).
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Preset to start from.
    #[arg(long, value_name = "NAME", default_value = "paper", global = true)]
    preset: Vec<String>,
    /// Set one key; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", global = true)]
    set: Vec<String>,
    /// Number of SMs, 2 to 256.
    #[arg(long, value_name = "N", global = true)]
    sms: Option<u32>,
}

impl ConfigArgs {
    /// The configuration asked for.
    pub fn resolve(&self) -> anyhow::Result<Config> {
        let mut settings = Settings::default();
        for preset in &self.preset {
            settings.add_preset(preset)?;
        }
        if let Some(path) = &self.config {
            settings.add_file(path)?;
        }
        for assignment in &self.set {
            settings.set(assignment)?;
        }
        if let Some(sms) = self.sms {
            settings.set_sms(sms)?;
        }
        Ok(settings.resolve()?)
    }
}

/// Prints one JSON document.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value).context("cannot write the JSON document")?;
    writeln!(out)?;
    Ok(())
}
