//! A picture of a placement: density of the cells, macros and ports, as SVG.

use super::Problem;
use crate::report::picture::escape;
use std::fmt::Write as _;

/// Draws a placement; the core is divided into at most `bins` by `bins` squares, darker where more of it is covered.
pub fn density(problem: &Problem, title: &str, bins: usize) -> String {
    let (width, height) = (problem.core.0.max(1) as f64, problem.core.1.max(1) as f64);
    let bin = (width.max(height) / bins as f64).max(problem.row as f64);
    let (nx, ny) = ((width / bin).ceil() as usize, (height / bin).ceil() as usize);
    let mut covered = vec![0.0f64; nx * ny];
    for i in problem.items.iter().filter(|i| !i.port && !i.fixed) {
        let (x0, x1, y0, y1) = (i.x as f64, (i.x + i.w) as f64, i.y as f64, (i.y + i.h) as f64);
        for by in (y0 / bin) as usize..=((y1 / bin) as usize).min(ny - 1) {
            for bx in (x0 / bin) as usize..=((x1 / bin) as usize).min(nx - 1) {
                let w = (x1.min((bx + 1) as f64 * bin) - x0.max(bx as f64 * bin)).max(0.0);
                let h = (y1.min((by + 1) as f64 * bin) - y0.max(by as f64 * bin)).max(0.0);
                covered[by * nx + bx] += w * h;
            }
        }
    }
    let scale = 700.0 / width.max(height);
    let (w, h) = (width * scale, height * scale);
    let mut s = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-10 -36 {:.0} {:.0}\" font-family=\"sans-serif\">\n<title>{t}</title>\n<rect x=\"-10\" y=\"-36\" width=\"{:.0}\" height=\"{:.0}\" fill=\"#fff\"/>\n<text x=\"0\" y=\"-14\" font-size=\"16\">{t}</text>\n<rect width=\"{w:.1}\" height=\"{h:.1}\" fill=\"#f4f4f4\"/>\n",
        w + 20.0,
        h + 46.0,
        w + 20.0,
        h + 46.0,
        t = escape(title)
    );
    for by in 0..ny {
        for bx in 0..nx {
            let bw = bin.min(width - bx as f64 * bin);
            let bh = bin.min(height - by as f64 * bin);
            let share = covered[by * nx + bx] / (bw * bh);
            if share > 0.005 {
                // From light to dark blue; y grows upwards in a layout.
                let mix = |a: f64, b: f64| (a + (b - a) * share.min(1.0)) as u8;
                let _ = writeln!(
                    s,
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#{:02x}{:02x}{:02x}\"/>",
                    bx as f64 * bin * scale,
                    h - (by as f64 * bin + bh) * scale,
                    bw * scale,
                    bh * scale,
                    mix(240.0, 8.0),
                    mix(246.0, 48.0),
                    mix(255.0, 107.0)
                );
            }
        }
    }
    for i in problem.items.iter().filter(|i| i.fixed) {
        let (x, y) = (i.x as f64 * scale, h - (i.y + i.h) as f64 * scale);
        let _ = if i.port {
            writeln!(s, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1\" fill=\"#e15759\"/>")
        } else {
            writeln!(
                s,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#f28e2b\" stroke=\"#fff\" stroke-width=\"0.5\"/>",
                i.w as f64 * scale,
                i.h as f64 * scale
            )
        };
    }
    s + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::super::{Item, Problem};

    #[test]
    fn a_full_square_is_darkest() {
        let item = |x, fixed| Item { w: 10, h: 10, x, y: 0, fixed, port: false };
        let problem = Problem { core: (20, 10), row: 5, items: vec![item(0, false), item(10, true)], nets: Vec::new() };
        let svg = super::density(&problem, "t", 2);
        assert!(svg.contains("#08306b") && svg.contains("#f28e2b"), "{svg}");
    }
}
