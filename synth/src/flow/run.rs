//! Running a tool in a folder, its words in a log file.

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Runs a Yosys script in `folder`; everything goes to `folder/log`.
///
/// # Errors
/// Yosys cannot be started or fails; the message has its error line and how it ended.
pub fn yosys(program: &Path, folder: &Path, script: &str, step: &str) -> anyhow::Result<()> {
    std::fs::write(folder.join("script.ys"), script)?;
    let mut command = Command::new(program);
    command.args(["-s", "script.ys"]);
    tool(&mut command, folder, step, "yosys")
}

/// Runs a command in `folder`; everything goes to `folder/log`.
///
/// # Errors
/// It cannot be started or fails; the message has its error line and how it ended.
pub fn tool(command: &mut Command, folder: &Path, step: &str, name: &str) -> anyhow::Result<()> {
    let mut child = start(command, folder, step)?;
    finish(child.wait(), folder, step, name)
}

/// As [`tool`], and tells `progress` twice a second the last line of the log.
///
/// # Errors
/// As [`tool`].
pub fn watched(command: &mut Command, folder: &Path, step: &str, name: &str, progress: &dyn Fn(&str)) -> anyhow::Result<()> {
    let mut child = start(command, folder, step)?;
    let status = loop {
        if let Some(status) = child.try_wait().transpose() {
            break status;
        }
        std::thread::sleep(std::time::Duration::from_millis(500));
        let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        if let Some(line) = log.lines().rev().find(|l| !l.trim().is_empty()) {
            progress(line.trim());
        }
    };
    finish(status, folder, step, name)
}

fn start(command: &mut Command, folder: &Path, step: &str) -> anyhow::Result<Child> {
    let path = folder.join("log");
    let log = std::fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    command.current_dir(folder).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    command.spawn().with_context(|| format!("{step}: {} cannot be started", command.get_program().to_string_lossy()))
}

/// Judges how a tool ended.
fn finish(status: std::io::Result<ExitStatus>, folder: &Path, step: &str, name: &str) -> anyhow::Result<()> {
    let status = status.with_context(|| format!("{step}: {name} was lost"))?;
    if status.success() {
        return Ok(());
    }
    let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
    let line = log.lines().rev().find(|l| l.contains("ERROR") || l.contains("Error") || l.contains("bad_alloc"));
    bail!("{step}: {name} {}: {}", ended(status), line.or_else(|| log.lines().last()).unwrap_or("it says nothing"))
}

/// How a process ended.
fn ended(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let why = if signal == 9 { " (out of memory, or by hand)" } else { "" };
        return format!("was killed by signal {signal}{why}; run again to go on from here");
    }
    status.code().map_or_else(|| "failed".into(), |code| format!("failed with code {code}"))
}

#[derive(Deserialize)]
struct Netlist {
    modules: BTreeMap<String, Module>,
}

#[derive(Deserialize)]
struct Module {
    #[serde(default)]
    cells: BTreeMap<String, Instance>,
    #[serde(default)]
    memories: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize)]
struct Instance {
    #[serde(rename = "type")]
    kind: String,
}

/// Cells of a module by type, from a JSON netlist of Yosys.
///
/// # Errors
/// The file cannot be read, or the module is not in it.
pub fn count(path: &Path, module: &str) -> anyhow::Result<BTreeMap<String, u64>> {
    let file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let netlist: Netlist =
        serde_json::from_reader(std::io::BufReader::new(file)).with_context(|| format!("{}: not a netlist of Yosys", path.display()))?;
    let module = netlist.modules.get(module).with_context(|| format!("{}: no module {module}", path.display()))?;
    let mut cells = BTreeMap::new();
    for instance in module.cells.values() {
        *cells.entry(instance.kind.clone()).or_default() += 1;
    }
    if !module.memories.is_empty() {
        cells.insert("$mem".into(), module.memories.len() as u64);
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_or_killed_tool_is_one_message() {
        let folder = tempfile::tempdir().unwrap();
        let run = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            format!("{:#}", tool(&mut command, folder.path(), "mapping x", "yosys").unwrap_err())
        };
        assert_eq!(run("echo 'ERROR: no such thing'; echo more; exit 1"), "mapping x: yosys failed with code 1: ERROR: no such thing");
        assert!(run("kill -9 $$").contains("killed by signal 9 (out of memory"));
    }

    #[test]
    fn a_watched_tool_is_heard_and_fails_like_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let heard = std::cell::RefCell::new(Vec::new());
        let run = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            watched(&mut command, folder.path(), "placement", "coloquinte", &|line| heard.borrow_mut().push(line.to_string()))
        };
        run("echo 'step 1'; echo; sleep 1").unwrap();
        assert!(heard.borrow().iter().all(|l| l == "step 1") && !heard.borrow().is_empty(), "{heard:?}");
        let message = format!("{:#}", run("echo 'Error: no room'; exit 3").unwrap_err());
        assert_eq!(message, "placement: coloquinte failed with code 3: Error: no room");
    }
}
