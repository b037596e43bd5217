//! The tables of `l1forge synth`.

use super::Results;
use l1forge_synth::equivalence::Proof;
use l1forge_synth::fpga::Fpga;
use l1forge_synth::memory::Memory;
use l1forge_synth::report::text::{Table, digits, number, percent};
use l1forge_synth::report::{Area, paper, picture};
use l1forge_synth::timing::Timing;

/// A treemap of the areas.
pub fn map(area: &Area, top: &str) -> String {
    let detail = |um2: f64, share: f64| format!("{} um2, {}", number(um2), percent(share));
    let tiles: Vec<_> = area
        .blocks
        .iter()
        .map(|b| picture::Tile { name: b.name.clone(), value: b.area_um2, detail: detail(b.area_um2, b.share) })
        .collect();
    picture::treemap(&format!("{top}: {} um2 of cells", number(area.total.area_um2)), &tiles)
}

/// All tables of a report, as text of one kind.
pub fn all(results: &Results, print: fn(&Table) -> String) -> String {
    let area = &results.area;
    let mut list = vec![print(&blocks(area)), print(&hierarchy(area))];
    list.push(format!(
        "{}; library {}; 1 GE = {} um2; inferred memories: {}, latches: {}\n",
        area.tool, area.library, area.gate_um2, area.total.inferred_memories, area.total.latches
    ));
    if !results.memories.is_empty() {
        list.push(print(&memories(&results.memories)));
    }
    if let Some(timing) = &results.timing {
        list.push(print(&paths(timing)));
        list.push(format!(
            "{}; whole design: critical path {:.0} ps, slack {:.0} ps at {} ps, achievable clock {:.0} ps ({:.2} GHz); cells sized for it: {} um2\n",
            timing.tool,
            timing.critical_path_ps,
            timing.slack_ps,
            timing.clock_ps,
            timing.achievable_clock_ps,
            1000.0 / timing.achievable_clock_ps,
            digits(timing.area_um2, 1)
        ));
    }
    if let Some(fpga) = &results.fpga {
        list.push(print(&luts(fpga)));
    }
    if let Some(proofs) = &results.equivalence {
        list.push(print(&equivalence(proofs)));
    }
    if !results.paper.is_empty() {
        list.push(print(&costs(&results.paper)));
    }
    list.join("\n")
}

fn blocks(area: &Area) -> Table {
    let mut t = Table::new(&["module (own cells)", "instances", "cells", "flip-flops", "um2", "kGE", "share"]);
    let mut row = |name: &str, instances: String, cells: u64, ff: u64, um2: f64, kge: f64, share: String| {
        t.row(&[name.into(), instances, number(cells as f64), number(ff as f64), digits(um2, 1), digits(kge, 2), share]);
    };
    for b in &area.blocks {
        row(&b.name, number(b.instances as f64), b.cells, b.flip_flops, b.area_um2, b.kge, percent(b.share));
    }
    let total = &area.total;
    row("total", String::new(), total.cells, total.flip_flops, total.area_um2, total.kge, String::new());
    t
}

fn hierarchy(area: &Area) -> Table {
    let mut t = Table::new(&["hierarchy", "instances", "cells", "flip-flops", "um2", "share", "macros"]);
    for n in &area.hierarchy {
        t.row(&[
            format!("{}{}", "· ".repeat(n.depth), n.name),
            number(n.instances as f64),
            number(n.cells as f64),
            number(n.flip_flops as f64),
            digits(n.area_um2, 1),
            percent(n.share),
            number(n.macros as f64),
        ]);
    }
    t
}

fn memories(memories: &[Memory]) -> Table {
    let mut t = Table::new(&[
        "memory",
        "instances",
        "ports",
        "node",
        "um2 each",
        "mm2 all",
        "mm2 at 7 nm",
        "access ns",
        "read pJ",
        "leakage mW",
        "figures by",
    ]);
    for m in memories {
        for e in &m.estimates {
            let f = &e.figures;
            let origin = serde_json::to_value(m.origin).ok().and_then(|v| v.as_str().map(str::to_string)).unwrap_or_default();
            t.row(&[
                format!("{} {} x {}{}", m.name, m.rows, m.bits, if e.ports == m.ports { " (its ports)" } else { "" }),
                number(m.instances as f64),
                serde_json::to_value(e.ports).ok().and_then(|v| v.as_str().map(str::to_string)).unwrap_or_default(),
                format!("{} nm", e.node_nm),
                digits(f.area_um2, 1),
                digits(e.all_um2 / 1e6, 4),
                e.all_7nm_um2.map_or_else(String::new, |a| digits(a / 1e6, 4)),
                format!("{:.3}", f.access_ns),
                format!("{:.3}", f.read_pj),
                format!("{:.3}", f.leakage_mw),
                origin,
            ]);
        }
    }
    t
}

fn paths(timing: &Timing) -> Table {
    let mut t = Table::new(&["unit, slowest first", "critical path ps", "levels", "kind", "slack ps", "achievable clock ps"]);
    for u in timing.units.iter().take(20) {
        let worst = u.paths.iter().max_by(|a, b| a.delay_ps.total_cmp(&b.delay_ps));
        t.row(&[
            u.name.clone(),
            format!("{:.0}", u.critical_path_ps),
            worst.map_or_else(String::new, |p| p.levels.to_string()),
            worst.map_or_else(String::new, |p| p.kind.to_string()),
            format!("{:.0}", u.slack_ps),
            format!("{:.0}", u.achievable_clock_ps),
        ]);
    }
    t
}

fn luts(fpga: &Fpga) -> Table {
    let mut t = Table::new(&["module (UltraScale+)", "instances", "LUTs", "LUTs each", "flip-flops", "MUXF", "CARRY"]);
    for b in &fpga.blocks {
        let n = |v: u64| number(v as f64);
        t.row(&[b.name.clone(), n(b.instances), n(b.luts), n(b.luts_each), n(b.flip_flops), n(b.wide_muxes), n(b.carries)]);
    }
    t.row(&[
        "total".into(),
        String::new(),
        number(fpga.luts as f64),
        String::new(),
        number(fpga.flip_flops as f64),
        String::new(),
        String::new(),
    ]);
    t
}

fn equivalence(proofs: &[Proof]) -> Table {
    let mut t = Table::new(&["unit", "cells", "netlist equal to RTL", "compared", "s"]);
    for p in proofs {
        let (verdict, seconds) = if p.proven { ("proven", format!("{:.1}", p.seconds)) } else { ("NOT PROVEN", String::new()) };
        t.row(&[p.name.clone(), number(p.cells as f64), verdict.into(), number(p.outputs as f64), seconds]);
    }
    t
}

fn costs(lines: &[paper::Line]) -> Table {
    let mut t = Table::new(&["cost beside the paper", "paper", "ours", "unit", "note"]);
    for l in lines {
        t.row(&[l.what.into(), number(l.paper), l.ours.map_or_else(|| "not run".into(), number), l.unit.into(), l.note.into()]);
    }
    t
}
