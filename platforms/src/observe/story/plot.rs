//! Measurements over a parameter, as a line plot: no script, no network, light and dark.

mod scale;

use super::picture::escape;
use scale::{Scale, VALUE_MAX, label};
use std::fmt::Write as _;
use std::io::{self, Write};

/// A plot: named series of points over one parameter.
///
/// The colours are distinguishable by the colour-blind (Okabe and Ito 2008), and each series has a
/// distinct mark; a point under the pointer shows its values. Values that are not finite, or beyond
/// 1e100, are omitted.
///
/// ```
/// use tautline::story::internal::{Axis, Plot, Series};
///
/// let plot = Plot {
///     title: "UTS D11 on 1024 simulated places",
///     facts: &[("machine", "bluegene-p".to_owned())],
///     x: Axis { title: "grain, tasks", log: true },
///     y: Axis { title: "efficiency, %", log: false },
///     series: &[Series {
///         name: "hypercube".to_owned(),
///         points: vec![(1.0, 31.0), (16.0, 80.5), (256.0, 74.0)],
///     }],
/// };
/// assert!(plot.svg().starts_with("<svg "));
/// ```
#[derive(Clone, Debug)]
pub struct Plot<'a> {
    /// The measured quantity.
    pub title: &'a str,
    /// The common facts of all points, in some words each.
    pub facts: &'a [(&'a str, String)],
    /// The parameter.
    pub x: Axis<'a>,
    /// The axis of the measured values; its range is that of the points, from zero unless they are
    /// far from it.
    pub y: Axis<'a>,
    /// The lines, in the order of the legend.
    pub series: &'a [Series],
}

/// One axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Axis<'a> {
    /// Its title, with the unit.
    pub title: &'a str,
    /// Whether it is logarithmic. Ignored if a value is zero or negative.
    pub log: bool,
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// For the legend.
    pub name: String,
    /// Its points, in any order.
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 880.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 16.0;
const BELOW: f64 = 58.0;
/// Height of the title of a document.
const HEAD: f64 = 30.0;
/// Height of the plot area, of a row of the legend, and width of a letter there.
const FIELD: f64 = 380.0;
const ROW: f64 = 22.0;
const LETTER: f64 = 7.4;

/// Light and dark, of each colour.
const COLOURS: [(&str, &str); 7] = [
    ("#0072b2", "#4ba3e3"),
    ("#d55e00", "#f08a4b"),
    ("#009e73", "#2fc79a"),
    ("#b5578f", "#e29ac6"),
    ("#b87a00", "#f0b73a"),
    ("#3a93c4", "#8fd0f5"),
    ("#444b54", "#c3c9d0"),
];

/// Outlines of the marks around the origin.
const MARKS: [&str; 6] = [
    "M-4.2,0a4.2,4.2 0 1,0 8.4,0a4.2,4.2 0 1,0 -8.4,0z",
    "M-3.8,-3.8h7.6v7.6h-7.6z",
    "M0,-4.9l4.7,8.4h-9.4z",
    "M0,-5.4l5.4,5.4l-5.4,5.4l-5.4,-5.4z",
    "M0,4.9l4.7,-8.4h-9.4z",
    "M-5,-1.6h3.4v-3.4h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4z",
];

/// Lengths of dashes and gaps, for print without colours.
const DASHES: [&str; 5] = ["none", "9 4", "2 3", "9 3 2 3", "5 5"];

impl Plot<'_> {
    /// Returns the plot alone with its title, as an SVG document.
    ///
    /// ```
    /// use tautline::story::internal::{Axis, Plot, Series};
    ///
    /// let series = [Series { name: "measured".to_owned(), points: vec![(1.0, 1.0), (2.0, 1.9)] }];
    /// let axis = |title| Axis { title, log: false };
    /// let plot = Plot { title: "Speedup", facts: &[], x: axis("workers"), y: axis("speedup"), series: &series };
    /// assert!(plot.svg().starts_with("<svg"));
    /// ```
    pub fn svg(&self) -> String {
        let title = escape(self.title);
        let middle = WIDTH / 2.0;
        let head = format!("<text class=\"title\" x=\"{middle}\" y=\"21\">{title}</text>\n");
        self.drawing(&head, HEAD)
    }

    /// Returns the drawing below `head`, which takes `above` of its height.
    fn drawing(&self, head: &str, above: f64) -> String {
        let series = self.shown();
        let (x, y) = self.scales(&series);
        let legend = legend(&series);
        let height = TOP + legend.rows as f64 * ROW + FIELD + BELOW;
        let top = height - BELOW - FIELD;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" \
             class=\"plot\">\n<title>{}</title>\n<style>{}</style>\n{head}<g transform=\"translate(0,{above})\">\n",
            height + above,
            escape(self.title),
            style()
        );
        svg.push_str(&legend.svg);
        let field = Field { x, y, top };
        field.frame(&mut svg, self.x.title, self.y.title);
        for (number, one) in series.iter().enumerate() {
            field.line(&mut svg, number, one, [self.x.title, self.y.title]);
        }
        svg.push_str("</g>\n</svg>\n");
        svg
    }

    /// Writes a page with the plot, the facts and a table of all values.
    ///
    /// ```
    /// use tautline::story::internal::{Axis, Plot, Series};
    ///
    /// let series = [Series { name: "measured".to_owned(), points: vec![(1.0, 1.0), (2.0, 1.9)] }];
    /// let axis = |title| Axis { title, log: false };
    /// let plot = Plot { title: "Speedup", facts: &[], x: axis("workers"), y: axis("speedup"), series: &series };
    /// let mut page = Vec::new();
    /// plot.write(&mut page)?;
    /// assert!(String::from_utf8_lossy(&page).contains("Speedup"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let title = escape(self.title);
        let facts = self
            .facts
            .iter()
            .fold(String::new(), |mut html, (name, value)| {
                let (name, value) = (escape(name), escape(value));
                let _ = write!(html, "<div><dt>{name}</dt><dd>{value}</dd></div>");
                html
            });
        write!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width\"/>\n<title>{title}</title>\n\
             <style>{PAGE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<dl>{facts}</dl>\n{}{}</body>\n</html>\n",
            self.drawing("", 0.0),
            self.table()
        )
    }

    /// Returns the points of the series that can be shown, from left to right.
    fn shown(&self) -> Vec<Series> {
        let fits = |value: f64| value.abs() <= VALUE_MAX;
        let shown = |series: &Series| {
            let mut series = series.clone();
            series.points.retain(|&(x, y)| fits(x) && fits(y));
            series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            series
        };
        self.series.iter().map(shown).collect()
    }

    fn scales(&self, series: &[Series]) -> (Scale, Scale) {
        let points = || series.iter().flat_map(|one| &one.points);
        let x: Vec<f64> = points().map(|point| point.0).collect();
        let y: Vec<f64> = points().map(|point| point.1).collect();
        (
            Scale::of(&x, self.x.log, false, 10),
            Scale::of(&y, self.y.log, true, 6),
        )
    }

    /// Writes a row for each value of the parameter.
    fn table(&self) -> String {
        let series = self.shown();
        let points = series.iter().flat_map(|one| &one.points);
        let mut all: Vec<f64> = points.map(|point| point.0).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        let mut html = format!(
            "<table>\n<caption>{}</caption>\n<thead><tr><th scope=\"col\">{}</th>",
            escape(self.y.title),
            escape(self.x.title)
        );
        for one in &series {
            let _ = write!(html, "<th scope=\"col\">{}</th>", escape(&one.name));
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        for x in all {
            let _ = write!(html, "<tr><th scope=\"row\">{}</th>", label(x));
            for one in &series {
                let here = one.points.iter().filter(|point| point.0 == x);
                let values: Vec<_> = here.map(|point| label(point.1)).collect();
                let _ = write!(html, "<td>{}</td>", values.join(", "));
            }
            html.push_str("</tr>\n");
        }
        html + "</tbody>\n</table>\n"
    }
}

/// The area in which the points are drawn.
struct Field {
    x: Scale,
    y: Scale,
    top: f64,
}

impl Field {
    fn left_to_right(&self, x: f64) -> f64 {
        LEFT + self.x.at(x) * (WIDTH - LEFT - RIGHT)
    }

    fn top_to_bottom(&self, y: f64) -> f64 {
        self.top + (1.0 - self.y.at(y)) * FIELD
    }

    /// Writes the grid, marks of the axes, and their titles.
    fn frame(&self, svg: &mut String, x_title: &str, y_title: &str) {
        let (right, top, bottom) = (WIDTH - RIGHT, self.top, self.top + FIELD);
        svg.push_str("<g class=\"grid\">\n");
        for &tick in &self.x.ticks {
            let (at, text) = (self.left_to_right(tick), label(tick));
            let below = bottom + 19.0;
            let _ = writeln!(
                svg,
                "<path d=\"M{at:.1},{top:.1}V{bottom:.1}\"/>\
                 <text class=\"x\" x=\"{at:.1}\" y=\"{below:.1}\">{text}</text>"
            );
        }
        for &tick in &self.y.ticks {
            let (at, text) = (self.top_to_bottom(tick), label(tick));
            let (beside, middle) = (LEFT - 9.0, at + 4.5);
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT:.1},{at:.1}H{right:.1}\"/>\
                 <text class=\"y\" x=\"{beside:.1}\" y=\"{middle:.1}\">{text}</text>"
            );
        }
        let (middle, below) = ((LEFT + right) / 2.0, bottom + 45.0);
        let height = (top + bottom) / 2.0;
        let _ = writeln!(
            svg,
            "<path class=\"axis\" d=\"M{LEFT:.1},{top:.1}V{bottom:.1}H{right:.1}\"/>\n</g>\n\
             <text class=\"title\" x=\"{middle:.1}\" y=\"{below:.1}\">{}</text>\n\
             <text class=\"title\" transform=\"translate(18,{height:.1}) rotate(-90)\">{}</text>",
            escape(x_title),
            escape(y_title)
        );
    }

    /// Writes a series: its line, and its points with their values.
    fn line(&self, svg: &mut String, number: usize, series: &Series, titles: [&str; 2]) {
        let (colour, mark, dash) = look(number);
        let _ = write!(
            svg,
            "<g class=\"series c{colour}\">\n<polyline stroke-dasharray=\"{dash}\" points=\""
        );
        for &(x, y) in &series.points {
            let (x, y) = (self.left_to_right(x), self.top_to_bottom(y));
            let _ = write!(svg, "{x:.1},{y:.1} ");
        }
        svg.push_str("\"/>\n");
        for &(x, y) in &series.points {
            let (at, from_top) = (self.left_to_right(x), self.top_to_bottom(y));
            let _ = writeln!(
                svg,
                "<g class=\"point\" transform=\"translate({at:.1},{from_top:.1})\">\
                 <title>{}\n{}: {}\n{}: {}</title><circle r=\"11\"/><path d=\"{mark}\"/></g>",
                escape(&series.name),
                escape(titles[0]),
                label(x),
                escape(titles[1]),
                label(y)
            );
        }
        svg.push_str("</g>\n");
    }
}

/// Returns the colour, the mark and the dashes of a series. Their counts are coprime, so 210 series
/// differ.
fn look(number: usize) -> (usize, &'static str, &'static str) {
    let mark = MARKS[number % MARKS.len()];
    (number % COLOURS.len(), mark, DASHES[number % DASHES.len()])
}

/// Writes the names of the series in rows, above the plot area.
struct Legend {
    svg: String,
    rows: usize,
}

fn legend(series: &[Series]) -> Legend {
    let mut svg = String::from("<g class=\"legend\">\n");
    let (mut at, mut row) = (LEFT, 0);
    for (number, one) in series.iter().enumerate() {
        let width = 44.0 + one.name.chars().count() as f64 * LETTER;
        if at > LEFT && at + width > WIDTH - RIGHT {
            (at, row) = (LEFT, row + 1);
        }
        let (colour, mark, dash) = look(number);
        let middle = TOP + row as f64 * ROW;
        let _ = writeln!(
            svg,
            "<g class=\"series c{colour}\" transform=\"translate({at:.1},{middle:.1})\">\
             <path class=\"stroke\" stroke-dasharray=\"{dash}\" d=\"M0,0h24\"/><g transform=\"translate(12,0)\">\
             <path d=\"{mark}\"/></g><text x=\"31\" y=\"4.5\">{}</text></g>",
            escape(&one.name)
        );
        at += width;
    }
    svg.push_str("</g>\n");
    Legend { svg, rows: row + 1 }
}

/// The style of the drawing: follows the reader's choice of light and dark.
fn style() -> String {
    let mut style = String::from(
        ".plot{font:13px system-ui,sans-serif;--ink:#1b1f24;--soft:#5b6570;--line:#e2e6ea;--paper:#fff;\
         background:var(--paper)}\
         .plot text{fill:var(--ink)}.grid text{fill:var(--soft);font-variant-numeric:tabular-nums}\
         .grid path{stroke:var(--line);fill:none}.grid .axis{stroke:var(--soft)}\
         .x,.title{text-anchor:middle}.y{text-anchor:end}\
         .series{stroke:none;fill:var(--own)}\
         .series polyline,.stroke{fill:none;stroke:var(--own);stroke-width:1.8;stroke-linejoin:round}\
         .point circle{fill:transparent}.point path{stroke:var(--paper);stroke-width:.8}\
         .point:hover path{stroke:var(--ink);stroke-width:1.6}",
    );
    let mut dark = String::from("--ink:#e8ebee;--soft:#9aa5b1;--line:#2b323a;--paper:#14181d");
    dark = format!("@media (prefers-color-scheme:dark){{.plot{{{dark}}}");
    for (number, (on_light, on_dark)) in COLOURS.iter().enumerate() {
        let _ = write!(style, ".c{number}{{--own:{on_light}}}");
        let _ = write!(dark, ".c{number}{{--own:{on_dark}}}");
    }
    style + &dark + "}"
}

/// The style of the page around it.
const PAGE: &str = "\
:root{color-scheme:light dark;--text:#1b1f24;--pale:#5b6570;--rule:#d5dae0;--sheet:#fff}\
@media (prefers-color-scheme:dark){:root{--text:#e8ebee;--pale:#9aa5b1;--rule:#39424c;--sheet:#14181d}}\
body{font:15px/1.45 system-ui,sans-serif;color:var(--text);background:var(--sheet);margin:2rem auto;\
max-width:1000px;padding:0 1.2rem}\
h1{font-size:1.35rem;margin:0 0 .6rem}\
dl{display:flex;flex-wrap:wrap;gap:.3rem 1.6rem;margin:0 0 1rem}dl div{display:flex;gap:.45rem}\
dt{color:var(--pale)}dd{margin:0;font-variant-numeric:tabular-nums}\
.plot{display:block;width:100%;height:auto}\
table{border-collapse:collapse;margin:1.2rem 0;font-variant-numeric:tabular-nums}\
caption{text-align:left;color:var(--pale);padding-bottom:.3rem}\
th,td{padding:.22rem .9rem;text-align:right}thead th{border-bottom:1px solid var(--rule)}\
tbody th{font-weight:400}";

#[cfg(test)]
mod tests;
