//! The study as a whole: all its runs, as tables and plots.

use super::streams::{GAP, Shape, Stream};
use super::study::{self, Load, Row, Scheme, ablations, configuration, run, run_stream, schemes};
use crate::trace::{DealParameters, Event, TraceError};
use crate::workload::{Workload, WorkloadParameters};
use l1forge_config::{ConfigError, Settings};
use rayon::prelude::*;
use std::fmt::Write as _;

/// Size of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Loads of an SM in every run, at least.
    pub loads: u64,
    /// Seed of everything.
    pub seed: u64,
}

/// A run and the name of its stream.
pub type Named = (String, Row);

/// All rows of a study.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Study {
    /// Every scheme on every stream.
    pub schemes: Vec<Named>,
    /// Snake and the whole at several occupancies and latencies.
    pub targets: Vec<Named>,
    /// The same with more and less work between loads.
    pub work: Vec<Named>,
    /// Each choice taken back.
    pub ablations: Vec<Named>,
    /// Wrong prefetches mixed in.
    pub astray: Vec<Named>,
    /// Built-in workloads.
    pub workloads: Vec<Named>,
}

/// The streams that are to be on time, with their occupancies in warps and latencies in cycles.
const LOOPED: [Shape; 4] = [Shape::Intra, Shape::Inter, Shape::Swizzled, Shape::Stencil];
const OCCUPANCIES: [usize; 2] = [8, 16];
const LATENCIES: [u32; 3] = [200, 300, 400];

/// Cycles of work between the loads of a loop.
const GAPS: [u32; 4] = [20, 40, 80, 160];

fn demands(shape: Shape, loads: u64) -> u64 {
    // One demand in four of the stencil is a store.
    if shape == Shape::Stencil { loads * 4 / 3 + 64 } else { loads + 32 }
}

fn load(shape: Shape, warps: usize, latency: u32, size: Size) -> Load {
    Load { shape, warps, demands: demands(shape, size.loads), latency, seed: size.seed, astray: 0, gap: GAP }
}

fn rows(base: &Settings, cases: Vec<(Scheme, Load)>, done: &(dyn Fn() + Sync)) -> Result<Vec<Named>, ConfigError> {
    let one = |(scheme, load): &(Scheme, Load)| {
        let row = run(base, scheme, *load)?;
        done();
        Ok((load.shape.name().to_string(), row))
    };
    cases.par_iter().map(one).collect()
}

/// Every run. `done` is called after each.
///
/// # Errors
/// A setting is illegal.
pub fn study(base: &Settings, size: Size, done: &(dyn Fn() + Sync)) -> Result<Study, ConfigError> {
    let every = Shape::ALL.into_iter().flat_map(|shape| schemes().into_iter().map(move |s| (s, load(shape, 16, 300, size))));
    let named = |name: &str| schemes().into_iter().find(|s| s.name == name).unwrap_or_else(|| unreachable!());
    let targets = LOOPED
        .into_iter()
        .flat_map(|shape| OCCUPANCIES.map(|w| (shape, w)))
        .flat_map(|(shape, w)| LATENCIES.map(|latency| load(shape, w, latency, size)))
        .flat_map(|load| ["snake", "all"].map(|name| (named(name), load)));
    let work = [Shape::Intra, Shape::Stencil]
        .into_iter()
        .flat_map(|shape| GAPS.map(|gap| Load { gap, ..load(shape, 16, 300, size) }))
        .flat_map(|load| ["snake", "sk+scc", "all"].map(|name| (named(name), load)));
    let ablated =
        [(Shape::Intra, 16), (Shape::Intra, 8), (Shape::Swizzled, 16), (Shape::Swizzled, 8), (Shape::Stencil, 16), (Shape::Chain, 16)];
    let ablated = ablated.into_iter().flat_map(|(shape, w)| ablations().into_iter().map(move |s| (s, load(shape, w, 300, size))));
    let kept = ablations().into_iter().filter(|s| s.name == "all" || s.name.starts_with("PRT: "));
    let astray = kept.flat_map(|s| [0, 20, 50].map(|astray| (s.clone(), Load { astray, ..load(Shape::Intra, 16, 300, size) })));
    Ok(Study {
        schemes: rows(base, every.collect(), done)?,
        targets: rows(base, targets.collect(), done)?,
        work: rows(base, work.collect(), done)?,
        ablations: rows(base, ablated.collect(), done)?,
        astray: rows(base, astray.collect(), done)?,
        workloads: workloads(base, size, done)?,
    })
}

/// Number of runs of [`study()`].
pub fn runs() -> u64 {
    let targets = 2 * LOOPED.len() * OCCUPANCIES.len() * LATENCIES.len() + 6 * GAPS.len();
    let kept = ablations().iter().filter(|s| s.name == "all" || s.name.starts_with("PRT: ")).count();
    (schemes().len() * Shape::ALL.len() + targets + ablations().len() * 6 + 3 * kept + 3 * Workload::ALL.len()) as u64
}

fn workloads(base: &Settings, size: Size, done: &(dyn Fn() + Sync)) -> Result<Vec<Named>, ConfigError> {
    let mut list = Vec::new();
    for workload in Workload::ALL {
        for scheme in schemes().into_iter().filter(|s| ["none", "snake", "all"].contains(&s.name)) {
            let events = workload.events(WorkloadParameters { sms: 4, ..WorkloadParameters::default() });
            let events = events.unwrap_or_else(|e| unreachable!("{e}"));
            let row = traced(base, &scheme, events, size).unwrap_or_else(|e| unreachable!("a workload is no broken trace: {e}"));
            list.push((workload.name().to_string(), row?));
            done();
        }
    }
    Ok(list)
}

/// A trace or workload under one scheme: SM 0 of 4, two thread blocks at a time, at most 16 warps.
///
/// # Errors
/// The trace is broken; inside, a setting is illegal.
pub fn traced<I: Iterator<Item = Result<Event, TraceError>>>(
    base: &Settings,
    scheme: &Scheme,
    events: I,
    size: Size,
) -> Result<Result<Row, ConfigError>, TraceError> {
    let parameters = DealParameters { sms: 4, resident: 2, ..DealParameters::default() };
    let stream = Stream::traced(events, parameters, 16, size.loads as usize)?;
    let load = Load { shape: Shape::Mixed, warps: 16, demands: size.loads.max(1) * 4, latency: 300, seed: size.seed, astray: 0, gap: GAP };
    Ok(configuration(base, scheme).map(|c| run_stream(&c, scheme, load, stream)))
}

fn percent(x: f64) -> String {
    format!("{:.1}", 100.0 * x)
}

/// The rows as a table in Markdown; L2 traffic and time are relative to the scheme `none` on the same stream, where there is one.
pub fn table(rows: &[Named]) -> String {
    let mut text = String::from(
        "| stream | warps | latency | scheme | coverage % | accuracy % | used % | on time % | early % | late % | on time intra/inter-PC/inter-warp % | filter wrong + % | filter missed % | L2 sectors | cycles | PRT full % |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (stream, row) in rows {
        let none = rows.iter().find(|r| r.0 == *stream && r.1.scheme == "none" && r.1.load.warps == row.load.warps);
        let relative = |x: u64, of: fn(&Row) -> u64| match none {
            Some(n) => format!("{:+.1} %", 100.0 * (x as f64 / of(&n.1).max(1) as f64 - 1.0)),
            None => x.to_string(),
        };
        let times = row.timeliness().map(percent).join(" | ");
        let kinds = [0, 1, 2].map(|k| row.timeliness_of(k).map_or("–".into(), percent)).join("/");
        let [plus, missed] = row.filter_errors().map(percent);
        let name = match (row.load.astray, row.load.gap) {
            (0, GAP) => row.scheme.to_string(),
            (0, gap) => format!("{}, {gap} cycles of work", row.scheme),
            (astray, _) => format!("{}, {} % wrong", row.scheme, astray / 10),
        };
        let _ = writeln!(
            text,
            "| {stream} | {} | {} | {name} | {} | {} | {} | {times} | {kinds} | {plus} | {missed} | {} | {} | {} |",
            row.load.warps,
            row.load.latency,
            percent(row.coverage()),
            percent(row.accuracy()),
            percent(row.used()),
            relative(row.activity.l2_sectors(), |r| r.activity.l2_sectors()),
            relative(row.cycles, |r| r.cycles),
            percent(row.full_rate()),
        );
    }
    text
}

/// Grouped bars as SVG: a group for each stream, a bar for each scheme.
pub fn bars(title: &str, rows: &[Named], value: impl Fn(&Row) -> f64) -> String {
    const COLOURS: [&str; 11] =
        ["#5a5a5a", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#785ef0", "#000000", "#9a9a9a", "#b8860b"];
    let mut streams: Vec<&str> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for (stream, row) in rows {
        if !streams.contains(&stream.as_str()) {
            streams.push(stream);
        }
        if !names.contains(&row.scheme) {
            names.push(row.scheme);
        }
    }
    let (left, top, height) = (50.0, 40.0, 260.0);
    let bar = (860.0 - left - 20.0) / (streams.len().max(1) as f64 * (names.len() as f64 + 1.5));
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"400\" font-family=\"sans-serif\" font-size=\"12\">\n",
    );
    let _ = writeln!(svg, "<rect width=\"860\" height=\"400\" fill=\"white\"/><text x=\"{left}\" y=\"22\" font-size=\"16\">{title}</text>");
    for tick in 0..=4 {
        let y = top + height * (1.0 - f64::from(tick) / 4.0);
        let _ = writeln!(
            svg,
            "<line x1=\"{left}\" x2=\"840\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/><text x=\"12\" y=\"{:.1}\">{} %</text>",
            y + 4.0,
            tick * 25
        );
    }
    for (g, stream) in streams.iter().enumerate() {
        let start = left + g as f64 * bar * (names.len() as f64 + 1.5);
        let _ = writeln!(svg, "<text x=\"{start:.1}\" y=\"{:.1}\">{stream}</text>", top + height + 18.0);
        for (n, name) in names.iter().enumerate() {
            let Some(row) = rows.iter().find(|r| r.0 == *stream && r.1.scheme == *name) else { continue };
            let tall = height * value(&row.1).clamp(0.0, 1.0);
            let (x, y) = (start + n as f64 * bar, top + height - tall);
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{tall:.1}\" fill=\"{}\"/>",
                bar * 0.9,
                COLOURS[n % 11]
            );
        }
    }
    for (n, name) in names.iter().enumerate() {
        let (x, y) = (left + (n % 6) as f64 * 130.0, 350.0 + (n / 6) as f64 * 20.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"{y}\">{name}</text>",
            y - 9.0,
            COLOURS[n % 11],
            x + 15.0
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// The figures of a study by file name.
pub fn plots(s: &Study) -> Vec<(String, String)> {
    let plot = |name: &str, title: &str, value: fn(&Row) -> f64| (format!("snakecharmer-{name}.svg"), bars(title, &s.schemes, value));
    vec![
        plot("coverage", "Coverage", Row::coverage),
        plot("accuracy", "Accuracy", Row::accuracy),
        plot("timeliness", "On time, of the prefetches asked for", |r| r.timeliness()[0]),
        plot("traffic", "Sectors asked of the L2, of those demanded (cut at 100 %)", |r| {
            r.activity.l2_sectors() as f64 / r.activity.demanded.max(1) as f64
        }),
    ]
}

/// All tables in Markdown.
pub fn tables(s: &Study) -> String {
    let part = |title: &str, rows: &[Named]| format!("## {title}\n\n{}\n", table(rows));
    [
        part("Schemes", &s.schemes),
        part("Occupancy and latency", &s.targets),
        part("Work between loads", &s.work),
        part("Choices taken back", &s.ablations),
        part("Wrong prefetches", &s.astray),
        part("Built-in workloads", &s.workloads),
    ]
    .concat()
}

/// A kind with a smaller share of the prefetches asked for gets no verdict of its own.
const SHARE: f64 = 0.05;

/// What is asked of the study, and whether it holds.
pub fn verdicts(s: &Study) -> Vec<(String, bool)> {
    let mut list = Vec::new();
    let whole = || s.targets.iter().filter(|r| r.1.scheme == "all");
    let kinds = [(0, "intra-warp"), (2, "inter-warp")];
    for (stream, row) in whole() {
        let asked: u64 = (0..3).map(|kind| row.asked(kind)).sum();
        for (kind, name) in kinds {
            let Some(on_time) = row.timeliness_of(kind).filter(|_| row.asked(kind) as f64 >= SHARE * asked as f64) else { continue };
            let what = format!(
                "{stream}, {} warps, latency {}: {name} {} % on time of {} sectors (at least 80 %)",
                row.load.warps,
                row.load.latency,
                percent(on_time),
                row.asked(kind)
            );
            list.push((what, on_time >= 0.8));
        }
    }
    for (kind, name) in kinds {
        let asked: u64 = whole().map(|r| r.1.asked(kind)).sum();
        let on_time = whole().map(|r| r.1.activity.on_time[kind]).sum::<u64>() as f64 / asked.max(1) as f64;
        let what = format!("all of these together: {name} {} % on time of {asked} sectors (at least 80 %)", percent(on_time));
        list.push((what, on_time >= 0.8));
    }
    for shape in LOOPED {
        let [a, b] = ["all", "snake"].map(|scheme| {
            let rows: Vec<&Row> = s.targets.iter().filter(|r| r.0 == shape.name() && r.1.scheme == scheme).map(|r| &r.1).collect();
            rows.iter().map(|r| r.accuracy()).sum::<f64>() / rows.len().max(1) as f64
        });
        let what = format!("{}: accuracy {} % with everything, {} % with Snake alone (mean)", shape.name(), percent(a), percent(b));
        list.push((what, a >= b));
    }
    let find = |stream: &str, scheme: &str| s.schemes.iter().find(|r| r.0 == stream && r.1.scheme == scheme).map(|r| &r.1);
    if let (Some(snake), Some(all)) = (find("pointer", "snake"), find("pointer", "all")) {
        let (a, b) = (all.counter("issued"), snake.counter("issued"));
        list.push((format!("pointer: {a} sectors prefetched with everything, {b} with Snake alone (fewer)"), a < b));
    }
    list
}

/// The stream of a row for a machine.
pub fn value(stream: &str, row: &Row) -> serde_json::Value {
    let [on_time, early, late] = row.timeliness();
    let [wrong, missed] = row.filter_errors();
    serde_json::json!({
        "stream": stream,
        "scheme": row.scheme,
        "warps": row.load.warps,
        "latency": row.load.latency,
        "work": row.load.gap,
        "astray": row.load.astray,
        "loads": row.activity.loads,
        "coverage": row.coverage(),
        "accuracy": row.accuracy(),
        "used": row.used(),
        "on_time": on_time,
        "early": early,
        "late": late,
        "filter_false_positives": wrong,
        "filter_false_negatives": missed,
        "issued": row.counter("issued"),
        "l2_sectors": row.activity.l2_sectors(),
        "cycles": row.cycles,
        "prt_full": row.full_rate(),
        "prt_held": row.occupancy.0,
        "prt_unread": row.occupancy.1,
    })
}

/// Rows on a trace, for every scheme.
///
/// # Errors
/// As [`traced`]; `open` gives the trace anew for each scheme.
pub fn trace<I: Iterator<Item = Result<Event, TraceError>>>(
    base: &Settings,
    size: Size,
    name: &str,
    mut open: impl FnMut() -> Result<I, TraceError>,
) -> Result<Result<Vec<Named>, ConfigError>, TraceError> {
    let mut list = Vec::new();
    for scheme in study::schemes() {
        match traced(base, &scheme, open()?, size)? {
            Ok(row) => list.push((name.to_string(), row)),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(list))
}
