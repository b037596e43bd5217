//! Line charts as SVG: the same bytes for the same data.

use plotters::prelude::*;

use super::error::InputError;

/// One line of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, ascending in x.
    pub points: Vec<(f64, f64)>,
    /// Whether the points are marked.
    pub marked: bool,
    /// Whether the points are joined.
    pub joined: bool,
    /// Draw it in the colour of the series at this place instead of its own.
    pub colour_of: Option<usize>,
}

impl Series {
    /// A line without marks.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
            marked: false,
            joined: true,
            colour_of: None,
        }
    }

    /// Marks without a line.
    pub fn marks(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
            marked: true,
            joined: false,
            colour_of: None,
        }
    }

    /// A step function: each value holds up to the next point.
    pub fn steps(name: impl Into<String>, points: &[(f64, f64)]) -> Self {
        let corners = points.windows(2).flat_map(|p| [p[0], (p[1].0, p[0].1)]);
        Self::line(name, corners.chain(points.last().copied()).collect())
    }
}

/// A chart of several lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Its title.
    pub title: String,
    /// What x is, with its unit.
    pub x_label: String,
    /// What y is, with its unit.
    pub y_label: String,
    /// Whether x is logarithmic.
    pub log_x: bool,
    /// Whether y is logarithmic.
    pub log_y: bool,
    /// The lines, in the order of the legend.
    pub series: Vec<Series>,
}

const SIZE: (u32, u32) = (860, 480);
/// Colours that stay apart for colour-blind readers (Okabe and Ito).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
    RGBColor(120, 94, 240),
];

impl Chart {
    /// The chart as an SVG document.
    ///
    /// # Errors
    /// There is no point, a coordinate is not finite, or one is not above 0 on a logarithmic axis.
    pub fn to_svg(&self) -> Result<String, InputError> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let legal = |value: f64, log: bool| value.is_finite() && (!log || value > 0.0);
        if let Some(bad) = points().find(|p| !legal(p.0, self.log_x) || !legal(p.1, self.log_y)) {
            return Err(InputError::new("plot", format!("the point ({}, {}) cannot be drawn", bad.0, bad.1)));
        }
        let range = |coordinate: fn(&(f64, f64)) -> f64| {
            let least = points().map(coordinate).fold(f64::INFINITY, f64::min);
            let most = points().map(coordinate).fold(f64::NEG_INFINITY, f64::max);
            (least, most)
        };
        let (x, y) = (range(|p| p.0), range(|p| p.1));
        if !x.0.is_finite() {
            return Err(InputError::new("plot", "no points"));
        }
        let x = if self.log_x || x.0 < x.1 { x } else { (x.0 - 0.5, x.1 + 0.5) };
        // Room above, and linear counts start at zero.
        let y = if self.log_y { (y.0 / 1.15, y.1 * 1.15) } else { (y.0.min(0.0), (y.1 * 1.06).max(y.0 + 1.0)) };
        let mut svg = String::new();
        let drawn = match (self.log_x, self.log_y) {
            (false, false) => self.draw(&mut svg, x.0..x.1, y.0..y.1),
            (true, false) => self.draw(&mut svg, (x.0..x.1 * 1.0001).log_scale(), y.0..y.1),
            (false, true) => self.draw(&mut svg, x.0..x.1, (y.0..y.1).log_scale()),
            (true, true) => self.draw(&mut svg, (x.0..x.1 * 1.0001).log_scale(), (y.0..y.1).log_scale()),
        };
        drawn.map_err(|e| InputError::new("plot", e))?;
        Ok(svg)
    }

    fn draw<X, Y>(&self, svg: &mut String, x: X, y: Y) -> Result<(), String>
    where
        X: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
        Y: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
        X::CoordDescType: plotters::coord::ranged1d::ValueFormatter<f64>,
        Y::CoordDescType: plotters::coord::ranged1d::ValueFormatter<f64>,
    {
        let text = |e: &dyn std::fmt::Display| e.to_string();
        let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(|e| text(&e))?;
        let mut chart = ChartBuilder::on(&root)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(58)
            .build_cartesian_2d(x, y)
            .map_err(|e| text(&e))?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .x_desc(&self.x_label)
            .y_desc(&self.y_label)
            .x_label_formatter(&tick)
            .y_label_formatter(&tick)
            .label_style(("sans-serif", 13))
            .draw()
            .map_err(|e| text(&e))?;
        for (i, series) in self.series.iter().enumerate() {
            let colour = COLOURS[series.colour_of.unwrap_or(i) % COLOURS.len()];
            let marked = series.marked;
            if series.joined {
                let line = LineSeries::new(series.points.iter().copied(), colour.stroke_width(2));
                chart
                    .draw_series(line)
                    .map_err(|e| text(&e))?
                    .label(&series.name)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
            }
            if series.marked {
                let marks = series.points.iter().map(|&point| Circle::new(point, 3, colour.filled()));
                let drawn = chart.draw_series(marks).map_err(|e| text(&e))?;
                if !series.joined && marked {
                    drawn.label(&series.name).legend(move |(x, y)| Circle::new((x + 9, y), 3, colour.filled()));
                }
            }
        }
        chart
            .configure_series_labels()
            .position(self.legend())
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(200, 200, 200))
            .label_font(("sans-serif", 13))
            .draw()
            .map_err(|e| text(&e))?;
        root.present().map_err(|e| text(&e))?;
        Ok(())
    }
}

impl Chart {
    /// The upper corner with more room: the right one if the lines fall.
    fn legend(&self) -> SeriesLabelPosition {
        let joined = || self.series.iter().filter(|series| series.joined);
        let first: f64 = joined()
            .filter_map(|series| series.points.first())
            .map(|point| point.1)
            .sum();
        let last: f64 = joined()
            .filter_map(|series| series.points.last())
            .map(|point| point.1)
            .sum();
        if first > last {
            SeriesLabelPosition::UpperRight
        } else {
            SeriesLabelPosition::UpperLeft
        }
    }
}

/// A tick label without a tail of rounding noise.
fn tick(value: &f64) -> String {
    let rounded = (value * 1e4).round() / 1e4;
    if rounded == 0.0 { "0".to_string() } else { format!("{rounded}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> Chart {
        Chart {
            title: "K over W".to_string(),
            x_label: "scans W".to_string(),
            y_label: "fills per round K".to_string(),
            log_x: false,
            log_y: false,
            series: vec![Series::line("line", points.clone()), Series::marks("marks", points)],
        }
    }

    #[test]
    fn the_document_has_the_title_the_axes_and_the_legend_and_never_changes() {
        for (log_x, log_y) in [(false, false), (true, false), (false, true), (true, true)] {
            let chart = Chart { log_x, log_y, ..chart(vec![(1.0, 1.0), (4.0, 2.0), (64.0, 5.5)]) };
            let svg = chart.to_svg().unwrap();
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
            for text in ["K over W", "scans W", "fills per round K", "line", "marks"] {
                assert!(svg.contains(text), "{text} is missing");
            }
            assert_eq!(svg.matches("<circle").count(), 4, "three marks and one in the legend");
            assert_eq!(svg, chart.to_svg().unwrap());
        }
    }

    #[test]
    fn degenerate_data_is_drawn_or_refused_but_never_panics() {
        assert!(chart(vec![(3.0, 3.0)]).to_svg().is_ok());
        assert!(chart(vec![(3.0, 0.0), (4.0, 0.0)]).to_svg().is_ok());
        assert_eq!(chart(vec![]).to_svg().unwrap_err().field(), "plot");
        assert_eq!(chart(vec![(1.0, f64::NAN)]).to_svg().unwrap_err().field(), "plot");
        let log = Chart { log_x: true, ..chart(vec![(0.0, 1.0)]) };
        assert_eq!(log.to_svg().unwrap_err().field(), "plot");
        assert!(Chart { log_x: true, ..chart(vec![(2.0, 1.0)]) }.to_svg().is_ok());
    }

    #[test]
    fn steps_hold_their_value() {
        let steps = Series::steps("s", &[(1.0, 5.0), (3.0, 2.0), (9.0, 0.0)]);
        assert_eq!(steps.points, [(1.0, 5.0), (3.0, 5.0), (3.0, 2.0), (9.0, 2.0), (9.0, 0.0)]);
    }
}
