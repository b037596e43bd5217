//! `l1forge report DIR`: one page from what a run left behind.

mod costs;

use crate::common::print_json;
use anyhow::{Context, bail};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Arguments of `l1forge report`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of `gen`, with `lint.json`, `cosim*.json`, `synth.json` and `placement.json` (with their pictures) beside the manifest as far as they exist.
    dir: PathBuf,
}

/// Writes `report.html` into the folder: self-contained, no network.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    let file = |name: &str, command: &str, keys: &[&str]| read(&args.dir.join(name), command, keys);
    let manifest = file("manifest.json", "gen", &["top", "config", "modules", "memories"])?.with_context(|| {
        format!(
            "{}: no manifest.json; run l1forge gen --out {} first, with the options of the other commands",
            args.dir.display(),
            args.dir.display()
        )
    })?;
    let mut body = String::new();
    design(&mut body, &manifest);
    if let Some(lint) = file("lint.json", "lint --json", &["tool", "ok"])? {
        section(&mut body, "Lint", &["tool", "version", "silent"], rows(&lint, &["tool", "version", "ok"]));
    }
    let mut runs: Vec<PathBuf> = std::fs::read_dir(&args.dir)?.filter_map(|e| Some(e.ok()?.path())).collect();
    runs.sort();
    for path in runs {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("cosim") && name.ends_with(".json") {
            let run = file(&name, "cosim --json", &["block", "seed", "cycles", "mismatches"])?;
            run.iter().for_each(|run| lockstep(&mut body, &name, run));
        }
    }
    let picture = |name: &str| std::fs::read_to_string(args.dir.join(name)).ok();
    if let Some(synth) = file("synth.json", "synth", &["block", "config", "total", "blocks"])? {
        same_block("synth.json", &synth, &manifest)?;
        same_configuration("synth.json", &synth, &manifest)?;
        costs::synth(&mut body, &synth, picture("area.svg").as_deref());
    }
    if let Some(placement) = file("placement.json", "place", &["top", "block", "config", "openroad"])? {
        // One block of it may be placed alone.
        same_configuration("placement.json", &placement, &manifest)?;
        costs::placement(&mut body, &placement, picture("placement.svg").as_deref());
    }
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>l1forge: {top}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{top}</h1>\n{body}</body>\n</html>\n",
        top = escape(&text(&manifest["top"]))
    );
    let path = args.dir.join("report.html");
    let staged = args.dir.join(".report.html.tmp");
    std::fs::write(&staged, page)
        .and_then(|()| std::fs::rename(&staged, &path))
        .with_context(|| format!("cannot write {}", path.display()))?;
    if json {
        return print_json(&serde_json::json!({"page": path}));
    }
    say!("written: {}", path.display());
    Ok(())
}

const STYLE: &str = "body { font: 15px/1.45 sans-serif; max-width: 60em; margin: 1em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: .5em 0 1.5em; display: block; overflow-x: auto; }
th, td { padding: .15em .8em; border-bottom: 1px solid #ddd; text-align: left; }
td { font-variant-numeric: tabular-nums; }
.n { text-align: right; white-space: nowrap; }
summary { font-size: 1.5em; font-weight: 600; margin: .8em 0; cursor: pointer; }
@media (min-width: 30em) { td:first-child { white-space: nowrap; } }
@media (max-width: 30em) { body { font-size: 13px; padding: 0 .6em; } th, td { padding: .15em .4em; } }
h1, h2 { font-weight: 600; }
figure { margin: 0 0 1.5em; }
svg { max-width: 100%; height: auto; }
";

/// A JSON file, `None` when it is not there. It, or each item of its list, must have `keys`, as what the command writes has.
fn read(path: &Path, command: &str, keys: &[&str]) -> anyhow::Result<Option<Value>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e).with_context(|| format!("cannot read {}", path.display())),
    };
    let value: Value = match serde_json::from_str(&text) {
        Ok(value) => value,
        Err(e) => bail!("{}:{}: not what l1forge {command} writes: {e}", path.display(), e.line()),
    };
    let items = value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice);
    if let Some(key) = keys.iter().find(|key| items.is_empty() || items.iter().any(|item| item.get(key).is_none())) {
        bail!("{}: not what l1forge {command} writes: it has no {key}", path.display());
    }
    Ok(Some(value))
}

/// Figures of one design must not stand beside the files of another.
fn same_configuration(name: &str, of: &Value, manifest: &Value) -> anyhow::Result<()> {
    let ours = manifest["config"].as_object().into_iter().flatten();
    match ours.map(|(key, value)| (key, value, &of["config"][key])).find(|(_, ours, theirs)| ours != theirs) {
        Some((key, ours, theirs)) => other_design(name, key, theirs, ours),
        None => Ok(()),
    }
}

fn same_block(name: &str, of: &Value, manifest: &Value) -> anyhow::Result<()> {
    if of["block"] == manifest["block"] { Ok(()) } else { other_design(name, "block", &of["block"], &manifest["block"]) }
}

fn other_design(name: &str, key: &str, theirs: &Value, ours: &Value) -> anyhow::Result<()> {
    bail!("{name} is of another design than manifest.json: {key} is {}, not {}; run both with the same options", text(theirs), text(ours))
}

fn text(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn rows(list: &Value, keys: &[&str]) -> Vec<Vec<String>> {
    list.as_array().into_iter().flatten().map(|item| keys.iter().map(|k| text(&item[*k])).collect()).collect()
}

fn section(body: &mut String, title: &str, head: &[&str], rows: Vec<Vec<String>>) {
    let _ = writeln!(body, "<h2>{}</h2>", escape(title));
    table(body, head, &rows);
}

/// A long section that is opened by hand.
fn folded(body: &mut String, title: &str, head: &[&str], rows: Vec<Vec<String>>) {
    let _ = writeln!(body, "<details>\n<summary>{} ({})</summary>", escape(title), rows.len());
    table(body, head, &rows);
    body.push_str("</details>\n");
}

/// Columns of numbers are flush right.
fn table(body: &mut String, head: &[&str], rows: &[Vec<String>]) {
    let numeric = |text: &str| {
        text.is_empty() || (text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && text.len() < 24) || text == "not run"
    };
    let flush: Vec<bool> =
        (0..head.len()).map(|c| c > 0 && rows.iter().all(|r| numeric(&r[c])) && rows.iter().any(|r| !r[c].is_empty())).collect();
    body.push_str("<table>\n");
    let mut line = |cells: &mut dyn Iterator<Item = &str>, tag: &str| {
        body.push_str("<tr>");
        for (cell, right) in cells.zip(&flush) {
            let _ = write!(body, "<{tag}{}>{}</{tag}>", if *right { " class=\"n\"" } else { "" }, escape(cell));
        }
        body.push_str("</tr>\n");
    };
    line(&mut head.iter().copied(), "th");
    for row in rows {
        line(&mut row.iter().map(String::as_str), "td");
    }
    body.push_str("</table>\n");
}

fn design(body: &mut String, manifest: &Value) {
    let config = manifest["config"].as_object().into_iter().flatten();
    folded(body, "Configuration", &["key", "value"], config.map(|(k, v)| vec![k.clone(), text(v)]).collect());
    folded(body, "Modules", &["module", "instances"], rows(&manifest["modules"], &["name", "instances"]));
    section(body, "Memories", &["macro", "rows", "bits", "instances"], rows(&manifest["memories"], &["name", "rows", "bits", "instances"]));
    let latency = manifest["latency"].as_object().into_iter().flatten().map(|(k, v)| vec![k.clone(), text(v)]).collect();
    section(body, "Latency (cycles)", &["what", "cycles"], latency);
}

fn lockstep(body: &mut String, name: &str, run: &Value) {
    let summary = ["block", "simulator", "seed", "cycles", "transactions", "mismatches", "balanced"];
    section(
        body,
        &format!("Lockstep: {name}"),
        &["what", "value"],
        summary.iter().map(|k| vec![(*k).to_string(), text(&run[*k])]).collect(),
    );
    let counters = run["counters"].as_object().into_iter().flatten();
    folded(
        body,
        "Counters",
        &["counter", "model", "RTL"],
        counters.map(|(k, v)| vec![k.clone(), text(v), text(&run["rtl_counters"][k])]).collect(),
    );
}
