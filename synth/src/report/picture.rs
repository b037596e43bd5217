//! A treemap of areas as SVG.

use std::fmt::Write as _;

/// One rectangle of a treemap.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile {
    /// Its name.
    pub name: String,
    /// Its area; drawn in proportion.
    pub value: f64,
    /// Text below the name.
    pub detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Rect {
    x: f64,
    y: f64,
    w: f64,
    h: f64,
}

/// Squarified layout: rows of tiles along the shorter side, as near to squares as they get.
fn layout(values: &[f64], whole: Rect) -> Vec<Rect> {
    let total: f64 = values.iter().sum();
    let scale = if total > 0.0 { whole.w * whole.h / total } else { 0.0 };
    let areas: Vec<f64> = values.iter().map(|v| v * scale).collect();
    let worst = |row: &[f64], side: f64| {
        let sum: f64 = row.iter().sum();
        row.iter().map(|a| (side * side * a / (sum * sum)).max(sum * sum / (side * side * a))).fold(0.0, f64::max)
    };
    let (mut rects, mut free, mut start) = (Vec::new(), whole, 0);
    while start < areas.len() {
        let side = free.w.min(free.h);
        let mut end = start + 1;
        while end < areas.len() && worst(&areas[start..=end], side) <= worst(&areas[start..end], side) {
            end += 1;
        }
        let row = &areas[start..end];
        let thickness = if side > 0.0 { row.iter().sum::<f64>() / side } else { 0.0 };
        let mut at = 0.0;
        for a in row {
            let length = if thickness > 0.0 { a / thickness } else { 0.0 };
            rects.push(if free.w >= free.h {
                Rect { x: free.x, y: free.y + at, w: thickness, h: length }
            } else {
                Rect { x: free.x + at, y: free.y, w: length, h: thickness }
            });
            at += length;
        }
        if free.w >= free.h {
            free = Rect { x: free.x + thickness, w: free.w - thickness, ..free };
        } else {
            free = Rect { y: free.y + thickness, h: free.h - thickness, ..free };
        }
        start = end;
    }
    rects
}

pub(super) const COLOURS: [&str; 10] =
    ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1", "#edc948", "#9c755f", "#ff9da7", "#8a8a8a"];

/// Text that may stand in XML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Draws tiles, largest first; those of no area are left out.
pub fn treemap(title: &str, tiles: &[Tile]) -> String {
    let (width, height, head) = (960.0, 540.0, 34.0);
    let mut tiles: Vec<&Tile> = tiles.iter().filter(|t| t.value > 0.0).collect();
    tiles.sort_by(|a, b| b.value.total_cmp(&a.value).then_with(|| a.name.cmp(&b.name)));
    let values: Vec<f64> = tiles.iter().map(|t| t.value).collect();
    let rects = layout(&values, Rect { x: 0.0, y: head, w: width, h: height - head });
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\">\n<title>{t}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n<text x=\"4\" y=\"22\" font-size=\"18\">{t}</text>\n",
        t = escape(title)
    );
    for (i, (tile, r)) in tiles.iter().zip(&rects).enumerate() {
        let full = format!("{}: {}", escape(&tile.name), escape(&tile.detail));
        let _ = writeln!(
            out,
            "<g><title>{full}</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" stroke=\"#fff\" stroke-width=\"1.5\"/>",
            r.x,
            r.y,
            r.w,
            r.h,
            COLOURS[i % COLOURS.len()]
        );
        for (line, text) in [&tile.name, &tile.detail].iter().enumerate() {
            let (x, y) = (r.x + 6.0, r.y + 18.0 + 17.0 * line as f64);
            if text.chars().count() as f64 * 8.0 + 10.0 < r.w && y + 4.0 < r.y + r.h {
                let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"14\" fill=\"#fff\">{}</text>", escape(text));
            }
        }
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_fill_the_picture_in_proportion() {
        let values = [6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0];
        let rects = layout(&values, Rect { x: 0.0, y: 0.0, w: 6.0, h: 4.0 });
        for (r, v) in rects.iter().zip(values) {
            assert!((r.w * r.h - v).abs() < 1e-9 && r.x >= 0.0 && r.x + r.w <= 6.0 + 1e-9 && r.y + r.h <= 4.0 + 1e-9, "{r:?}");
        }
        for (i, a) in rects.iter().enumerate() {
            for b in &rects[i + 1..] {
                let overlap = (a.x + a.w).min(b.x + b.w) - a.x.max(b.x) > 1e-9 && (a.y + a.h).min(b.y + b.h) - a.y.max(b.y) > 1e-9;
                assert!(!overlap, "{a:?} {b:?}");
            }
        }
        let svg = treemap("a < b", &[Tile { name: "x".into(), value: 1.0, detail: "1 um2".into() }]);
        assert!(svg.contains("a &lt; b") && svg.contains("x: 1 um2"));
    }
}
