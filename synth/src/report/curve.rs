//! How the modules of a design grow with its size.

use super::Area;
use super::picture::{COLOURS, escape};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One module over all sizes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Part {
    /// Module, own cells of all instances; `total` for the whole.
    pub name: String,
    /// Area in um2 at each size; 0 where the module is not there.
    pub area_um2: Vec<f64>,
    /// Exponent x of area ~ size^x, by least squares over the logarithms; none for fewer than two sizes.
    pub exponent: Option<f64>,
}

/// Areas over sizes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Curve {
    /// Sizes in SMs, ascending.
    pub sms: Vec<u32>,
    /// The whole, then every module, the largest at the last size first.
    pub parts: Vec<Part>,
}

/// Slope of the line through the logarithms of the points of positive value.
fn exponent(sizes: &[u32], values: &[f64]) -> Option<f64> {
    let points: Vec<(f64, f64)> = sizes.iter().zip(values).filter(|(_, v)| **v > 0.0).map(|(n, v)| (f64::from(*n).ln(), v.ln())).collect();
    let n = points.len() as f64;
    let (sx, sy) = points.iter().fold((0.0, 0.0), |s, p| (s.0 + p.0, s.1 + p.1));
    let (mut xx, mut xy) = (0.0, 0.0);
    for (x, y) in &points {
        xx += (x - sx / n).powi(2);
        xy += (x - sx / n) * (y - sy / n);
    }
    (points.len() > 1 && xx > 0.0).then(|| xy / xx)
}

/// The curve of areas at ascending sizes.
pub fn curve(points: &[(u32, Area)]) -> Curve {
    let sms: Vec<u32> = points.iter().map(|p| p.0).collect();
    let mut areas: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (i, (_, area)) in points.iter().enumerate() {
        for block in area.blocks.iter().filter(|b| b.area_um2 > 0.0) {
            areas.entry(&block.name).or_insert_with(|| vec![0.0; points.len()])[i] = block.area_um2;
        }
    }
    let total = points.iter().map(|p| p.1.total.area_um2).collect();
    let part = |(name, area_um2): (&str, Vec<f64>)| Part { name: name.into(), exponent: exponent(&sms, &area_um2), area_um2 };
    let last = |p: &Part| p.area_um2.last().copied().unwrap_or(0.0);
    let mut parts: Vec<Part> = areas.into_iter().map(part).collect();
    parts.sort_by(|a, b| last(b).total_cmp(&last(a)).then_with(|| a.name.cmp(&b.name)));
    parts.insert(0, part(("total", total)));
    Curve { sms, parts }
}

/// The whole and the nine largest modules, both axes logarithmic, as SVG.
pub fn picture(curve: &Curve, title: &str) -> String {
    let (width, height, left, right, top, bottom) = (960.0, 540.0, 80.0, 300.0, 44.0, 50.0);
    let parts = &curve.parts[..curve.parts.len().min(10)];
    let values = || parts.iter().flat_map(|p| &p.area_um2).copied().filter(|v| *v > 0.0);
    let decade = |v: f64| v.log10();
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(1.0, f64::max));
    let (low, high) = (decade(low.min(high)).floor(), decade(high).ceil().max(decade(low.min(high)).floor() + 1.0));
    let sizes = || curve.sms.iter().map(|n| f64::from(*n).log2());
    let (first, last) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    let x = |n: u32| left + (f64::from(n).log2() - first) / (last - first).max(1e-9) * (width - left - right);
    let y = |v: f64| height - bottom - (decade(v) - low) / (high - low) * (height - top - bottom);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"14\">\n<title>{t}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n<text x=\"4\" y=\"22\" font-size=\"18\">{t}</text>\n",
        t = escape(title)
    );
    for d in low as i32..=high as i32 {
        let at = y(10f64.powi(d));
        let _ = writeln!(
            out,
            "<path d=\"M{left} {at:.1}H{:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            width - right,
            left - 8.0,
            at + 5.0,
            super::text::number(10f64.powi(d))
        );
    }
    for n in &curve.sms {
        let _ = writeln!(
            out,
            "<path d=\"M{0:.1} {top}V{1:.1}\" stroke=\"#eee\"/><text x=\"{0:.1}\" y=\"{2:.1}\" text-anchor=\"middle\">{n}</text>",
            x(*n),
            height - bottom,
            height - bottom + 20.0
        );
    }
    let middle = (left + width - right) / 2.0;
    let _ = writeln!(out, "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">SMs</text>", height - 8.0);
    let _ = writeln!(out, "<text x=\"{left}\" y=\"{:.1}\" text-anchor=\"end\">um2</text>", top - 4.0);
    for (i, part) in parts.iter().enumerate() {
        let colour = if i == 0 { "#222" } else { COLOURS[i - 1] };
        let points: Vec<String> =
            curve.sms.iter().zip(&part.area_um2).filter(|(_, v)| **v > 0.0).map(|(n, v)| format!("{:.1},{:.1}", x(*n), y(*v))).collect();
        let growth = part.exponent.map_or_else(String::new, |e| format!(" ~ n^{e:.2}"));
        let label = top + 12.0 + 24.0 * i as f64;
        let _ = writeln!(
            out,
            "<g stroke=\"{colour}\"><polyline points=\"{}\" fill=\"none\" stroke-width=\"{}\"/><path d=\"M{:.1} {label}h24\" stroke-width=\"3\"/></g><text x=\"{:.1}\" y=\"{:.1}\">{}{growth}</text>",
            points.join(" "),
            if i == 0 { 3 } else { 2 },
            width - right + 16.0,
            width - right + 48.0,
            label + 5.0,
            escape(&part.name)
        );
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Block, Total};

    #[test]
    fn exponents_of_powers_are_found() {
        let area = |n: u32| {
            let block = |name: &str, area_um2: f64| Block { name: name.into(), area_um2, ..Block::default() };
            let (linear, square) = (f64::from(n) * 3.0, f64::from(n).powi(2) / 7.0);
            let blocks = vec![block("linear", linear), block("square", square), block("empty", 0.0)];
            let total = Total { area_um2: linear + square, ..Total::default() };
            Area { tool: String::new(), library: String::new(), gate_um2: 1.0, blocks, hierarchy: Vec::new(), total }
        };
        let points: Vec<(u32, Area)> = [8, 16, 64].map(|n| (n, area(n))).into();
        let c = curve(&points);
        assert_eq!(c.parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["total", "square", "linear"]);
        assert!((c.parts[1].exponent.unwrap() - 2.0).abs() < 1e-9 && (c.parts[2].exponent.unwrap() - 1.0).abs() < 1e-9);
        assert!(c.parts[0].exponent.is_some_and(|e| e > 1.0 && e < 2.0));
        let svg = picture(&c, "areas");
        assert!(svg.contains("square ~ n^2.00") && svg.matches("<polyline").count() == 3, "{svg}");
        assert_eq!(curve(&points[..1]).parts[0].exponent, None);
        picture(&curve(&points[..1]), "one point");
    }
}
