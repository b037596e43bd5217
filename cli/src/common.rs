//! Arguments and output shared by the commands.

use anyhow::Context;
use l1forge_config::{Config, Settings};
use l1forge_sim::system::SystemParameters;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// What was asked for, and the parameters of the memory path: those of the table `[system]` of the file, then `--set system.KEY=VALUE`.
    /// Nothing is judged in relation to the configuration yet.
    pub fn settings_with_system(&self) -> anyhow::Result<(Settings, SystemParameters)> {
        let (system, rest): (Vec<_>, Vec<_>) = self.set.iter().partition(|a| a.starts_with("system."));
        let settings = self.settings_of(&rest)?;
        let mut parameters = system_table(&settings)?;
        for assignment in system.iter().filter_map(|a| a.strip_prefix("system.")) {
            let (key, value) = assignment.split_once('=').unwrap_or((assignment, ""));
            parameters.set(key.trim(), value.trim())?;
        }
        Ok((settings, parameters))
    }

    /// Judges the parameters of the memory path, see [`ConfigArgs::settings_with_system`], in relation to the configuration.
    pub fn check_system(&self, settings: &Settings, parameters: &SystemParameters, config: &Config) -> anyhow::Result<()> {
        parameters.check(config).map_err(|e| {
            let later = self.set.iter().any(|set| set.split('=').next().map(str::trim) == Some(&e.key));
            let place =
                settings.system().find(|value| !later && e.key.strip_prefix("system.") == Some(value.0)).map(|value| value.2.to_string());
            match place {
                Some(place) => anyhow::Error::new(e).context(place),
                None => e.into(),
            }
        })
    }

    /// The configuration asked for.
    pub fn resolve(&self) -> anyhow::Result<Config> {
        Ok(self.settings()?.resolve()?)
    }

    /// What was asked for, to lay more over it.
    pub fn settings(&self) -> anyhow::Result<Settings> {
        self.settings_of(&self.set)
    }

    fn settings_of(&self, assignments: &[impl AsRef<str>]) -> anyhow::Result<Settings> {
        let mut settings = Settings::default();
        for preset in &self.preset {
            settings.add_preset(preset)?;
        }
        if let Some(path) = &self.config {
            settings.add_file(path)?;
            system_table(&settings)?; // read by few commands, but a wrong key shows in all
        }
        for assignment in assignments {
            settings.set(assignment.as_ref())?;
        }
        if let Some(sms) = self.sms {
            settings.set_sms(sms)?;
        }
        Ok(settings)
    }
}

/// The parameters of the memory path with what the tables `[system]` say.
fn system_table(settings: &Settings) -> anyhow::Result<SystemParameters> {
    let mut parameters = SystemParameters::default();
    for (key, value, place) in settings.system() {
        parameters.set(key, &value).with_context(|| place.to_string())?;
    }
    Ok(parameters)
}

/// Prints a line on standard output. That nobody reads it, or that there is no space, is an error of the command and no panic.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout(), $($text)*)?;
    }};
}

/// As [`say`], without the end of the line.
macro_rules! show {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        write!(std::io::stdout(), $($text)*)?;
    }};
}

/// Prints one JSON document.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value).context("cannot write the JSON document")?;
    say!("{text}");
    Ok(())
}

/// Writes files below `folder`, all or none: they are written beside their places first and renamed when all are complete.
/// Verilog files that an earlier run left there and this one does not write are removed.
pub fn write_files(folder: &Path, files: &[(String, String)]) -> anyhow::Result<()> {
    let earlier = earlier_files(folder);
    add_files(folder, files)?;
    for path in earlier.into_iter().filter(|e| !files.iter().any(|f| f.0 == *e)) {
        let _ = std::fs::remove_file(folder.join(path));
    }
    Ok(())
}

/// Writes files below `folder`, all or none, beside what is there.
pub fn add_files(folder: &Path, files: &[(String, String)]) -> anyhow::Result<()> {
    let cannot = |path: &Path| format!("--out {}: cannot write {}", folder.display(), path.display());
    std::fs::create_dir_all(folder).with_context(|| cannot(folder))?;
    let staging = tempfile::Builder::new().prefix(".l1forge-").tempdir_in(folder).with_context(|| cannot(folder))?;
    for (path, text) in files {
        let place = staging.path().join(path);
        if let Some(parent) = place.parent() {
            std::fs::create_dir_all(parent).with_context(|| cannot(&place))?;
        }
        std::fs::write(&place, text).with_context(|| cannot(&place))?;
    }
    if let Some((path, _)) = files.iter().find(|f| folder.join(&f.0).is_dir()) {
        anyhow::bail!("{}: it is a folder", cannot(&folder.join(path)));
    }
    for (path, _) in files {
        let place = folder.join(path);
        if let Some(parent) = place.parent() {
            std::fs::create_dir_all(parent).with_context(|| cannot(&place))?;
        }
        std::fs::rename(staging.path().join(path), &place).with_context(|| cannot(&place))?;
    }
    Ok(())
}

/// Files that an earlier run wrote, by its manifest.
fn earlier_files(folder: &Path) -> Vec<String> {
    let Ok(text) = std::fs::read_to_string(folder.join("manifest.json")) else { return Vec::new() };
    let Ok(manifest) = serde_json::from_str::<serde_json::Value>(&text) else { return Vec::new() };
    let paths = manifest["files"].as_array().into_iter().flatten().filter_map(|f| f["path"].as_str());
    // Only plain paths below the folder: the file may have been edited.
    paths.filter(|p| !p.starts_with('/') && !p.split('/').any(|part| part == "..")).map(str::to_string).collect()
}

/// A progress line on standard error for work that takes more than a moment.
pub fn spinner(text: &str) -> indicatif::ProgressBar {
    let bar = indicatif::ProgressBar::new_spinner().with_message(text.to_string());
    tick(&bar, Duration::from_millis(200));
    bar
}

/// Moves a bar while there is no news. Where no thread can be started (`enable_steady_tick` panics there) it moves with the work alone.
pub fn tick(bar: &indicatif::ProgressBar, every: Duration) {
    if bar.is_hidden() {
        return; // nobody looks
    }
    let bar = bar.downgrade();
    let _ = std::thread::Builder::new().spawn(move || {
        while let Some(bar) = bar.upgrade().filter(|b| !b.is_finished()) {
            bar.tick();
            drop(bar);
            std::thread::sleep(every);
        }
    });
}

/// Does `work` in a pool of threads (0: as many as the machine has cores), of fewer where there is no memory for all, at the worst on this one.
pub fn in_pool<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    let mut pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let mut fewer = if threads == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { threads };
    while pool.is_err() && fewer > 1 {
        fewer /= 2;
        pool = rayon::ThreadPoolBuilder::new().num_threads(fewer).build();
    }
    match pool.or_else(|_| rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build()) {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}
