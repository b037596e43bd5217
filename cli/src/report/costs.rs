//! The sections of the page about area, memories, timing, LUTs and placement.

use super::{escape, section, text};
use l1forge_synth::report::text as figures;
use serde_json::Value;
use std::fmt::Write as _;

/// A number with that many decimals and at least three significant digits, whole numbers with thousands separated; text as it is.
fn number(value: &Value, decimals: usize) -> String {
    match value.as_f64() {
        Some(v) if decimals == 0 => figures::number(v.round()),
        Some(v) => figures::digits(v, decimals),
        None => text(value),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Sections of `synth.json`, with the treemap that lies beside it.
pub fn synth(body: &mut String, synth: &Value, treemap: Option<&str>) {
    if list(&synth["paper"]).next().is_some() {
        let ours = |l: &Value| {
            if l["ours"].is_null() { "not run".to_string() } else { figures::number(l["ours"].as_f64().unwrap_or(0.0)) }
        };
        let paper = |l: &Value| figures::number(l["paper"].as_f64().unwrap_or(0.0));
        let rows = list(&synth["paper"]).map(|l| vec![text(&l["what"]), paper(l), ours(l), text(&l["unit"]), text(&l["note"])]);
        section(body, "Cost beside the paper", &["what", "paper", "ours", "unit", "note"], rows.collect());
    }
    if let Some(svg) = treemap {
        figure(body, "Area by module", svg);
    }
    let mut rows: Vec<Vec<String>> = list(&synth["blocks"])
        .map(|b| {
            let share = b["share"].as_f64().map(figures::percent).unwrap_or_default();
            vec![
                text(&b["name"]),
                number(&b["instances"], 0),
                number(&b["cells"], 0),
                number(&b["flip_flops"], 0),
                number(&b["area_um2"], 1),
                number(&b["kge"], 2),
                share,
            ]
        })
        .collect();
    let t = &synth["total"];
    rows.push(vec![
        "total".into(),
        String::new(),
        number(&t["cells"], 0),
        number(&t["flip_flops"], 0),
        number(&t["area_um2"], 1),
        number(&t["kge"], 2),
        String::new(),
    ]);
    section(body, "Area by module (own cells)", &["module", "instances", "cells", "flip-flops", "um2", "kGE", "share"], rows);
    let rows = list(&synth["hierarchy"]).map(|n| {
        let depth = usize::try_from(n["depth"].as_u64().unwrap_or(0)).unwrap_or(0);
        let share = n["share"].as_f64().map(figures::percent).unwrap_or_default();
        vec![
            format!("{}{}", "\u{2003}".repeat(depth), text(&n["name"])),
            number(&n["instances"], 0),
            number(&n["cells"], 0),
            number(&n["flip_flops"], 0),
            number(&n["area_um2"], 1),
            share,
        ]
    });
    section(body, "Area in hierarchy", &["module", "instances", "cells", "flip-flops", "um2", "share"], rows.collect());
    let memories = list(&synth["memories"]).flat_map(|m| {
        list(&m["estimates"]).map(move |e| {
            let all = e["all_um2"].as_f64().unwrap_or(0.0) / 1e6;
            let scaled = e["all_7nm_um2"].as_f64().map_or_else(String::new, |a| figures::digits(a / 1e6, 4));
            vec![
                format!("{} {} x {}", text(&m["name"]), text(&m["rows"]), text(&m["bits"])),
                text(&m["instances"]),
                text(&e["ports"]),
                format!("{} nm", text(&e["node_nm"])),
                figures::digits(all, 4),
                scaled,
                number(&e["access_ns"], 3),
                number(&e["read_pj"], 3),
                number(&e["leakage_mw"], 3),
            ]
        })
    });
    let head = ["memory", "instances", "ports", "node", "mm2, all", "mm2 at 7 nm", "access ns", "read pJ", "leakage mW"];
    section(body, "Memories (CACTI 7)", &head, memories.collect());
    if synth["timing"].is_object() {
        let t = &synth["timing"];
        let rows = list(&t["units"]).take(20).map(|u| {
            vec![text(&u["name"]), number(&u["critical_path_ps"], 0), number(&u["slack_ps"], 0), number(&u["achievable_clock_ps"], 0)]
        });
        let title = format!(
            "Timing at {} ps: critical path {} ps, achievable clock {} ps",
            number(&t["clock_ps"], 0),
            number(&t["critical_path_ps"], 0),
            number(&t["achievable_clock_ps"], 0)
        );
        section(body, &title, &["unit", "critical path ps", "slack ps", "achievable clock ps"], rows.collect());
    }
    if synth["fpga"].is_object() {
        let f = &synth["fpga"];
        let mut rows: Vec<Vec<String>> = list(&f["blocks"])
            .map(|b| {
                vec![
                    text(&b["name"]),
                    number(&b["instances"], 0),
                    number(&b["luts"], 0),
                    number(&b["luts_each"], 0),
                    number(&b["flip_flops"], 0),
                ]
            })
            .collect();
        rows.push(vec!["total".into(), String::new(), number(&f["luts"], 0), String::new(), number(&f["flip_flops"], 0)]);
        section(body, "LUTs (UltraScale+)", &["module", "instances", "LUTs", "LUTs each", "flip-flops"], rows);
    }
}

/// Section of `placement.json`, with the picture that lies beside it.
pub fn placement(body: &mut String, document: &Value, picture: Option<&str>) {
    let p = &document["placement"];
    if !p.is_object() {
        return;
    }
    let mm2 = |v: &Value| v.as_f64().map_or_else(String::new, |a| figures::digits(a / 1e6, 5));
    let rows = vec![
        vec!["placed".into(), text(&document["top"])],
        vec!["cells".into(), number(&p["cells"], 0)],
        vec!["macros".into(), number(&p["macros"], 0)],
        vec!["area detailed (cells), mm2".into(), mm2(&p["cells_um2"])],
        vec!["area global (rows), mm2".into(), mm2(&p["rows_um2"])],
        vec!["utilisation".into(), number(&p["utilisation"], 3)],
        vec!["wire length, um".into(), number(&p["wire_um"], 0)],
        vec!["overlaps and other faults".into(), list(&p["faults"]).count().to_string()],
    ];
    section(body, "Placement", &["what", "value"], rows);
    if let Some(svg) = picture {
        figure(body, "Density of the cells, macros, ports", svg);
    }
}

/// An SVG file in the page.
fn figure(body: &mut String, title: &str, svg: &str) {
    let Some(at) = svg.find("<svg") else { return };
    let _ = write!(body, "<h2>{}</h2>\n<figure>{}</figure>\n", escape(title), &svg[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sections_show_what_is_there() {
        let mut body = String::new();
        let document = json!({
            "paper": [{"what": "cells", "paper": 667_980.0, "ours": null, "unit": "", "note": "n"}],
            "blocks": [{"name": "leaf", "instances": 2, "cells": 1234, "flip_flops": 5, "area_um2": 7.25, "kge": 0.1, "share": 0.5}],
            "total": {"cells": 1234, "flip_flops": 5, "area_um2": 7.25, "kge": 0.1},
            "hierarchy": [{"name": "leaf", "depth": 1, "instances": 2, "cells": 1234, "flip_flops": 5, "area_um2": 7.25, "share": 0.5}],
            "memories": [], "timing": {"clock_ps": 500.0, "critical_path_ps": 321.4, "achievable_clock_ps": 400.0, "units": []},
        });
        synth(&mut body, &document, Some("<?xml?><svg>T</svg>"));
        for part in ["667,980", "not run", "<td class=\"n\">1,234</td>", "50.0 %", "critical path 321 ps", "<figure><svg>T</svg></figure>"]
        {
            assert!(body.contains(part), "{part}: {body}");
        }
        assert!(!body.contains("LUTs (") && !body.contains("<?xml"));
        placement(
            &mut body,
            &json!({"top": "leaf", "placement": {"cells": 9, "cells_um2": 12.34, "utilisation": 0.8123, "faults": []}}),
            None,
        );
        assert!(body.contains("0.812") && body.contains("overlaps") && body.contains(">0.0000123<"), "{body}");
    }
}
