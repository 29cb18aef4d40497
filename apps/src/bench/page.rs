//! A record as one page: no network, no library, light and dark.
#![forbid(unsafe_code)]

use super::{Record, Spread};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use tautline::pinning::ranges;

/// The page, with `{{NAME}}` where the record's own data go.
const PAGE: &str = include_str!("page.html");
/// The side of the map, and of the largest cell in it, in pixels.
const SIDE: f64 = 900.0;
const CELL: f64 = 44.0;
/// The width of the number of a processor.
const NUMBER: f64 = 24.0;
/// The room for the numbers of processors, and the smallest cell that has room for its own number.
const EDGE: f64 = 40.0;
const LABELLED: f64 = 26.0;
/// The colours of the map from short to long: five points of viridis, which differ in lightness,
/// too.
const COLOURS: [[f64; 3]; 5] = [
    [68.0, 1.0, 84.0],
    [59.0, 82.0, 139.0],
    [33.0, 145.0, 140.0],
    [94.0, 201.0, 98.0],
    [253.0, 231.0, 37.0],
];

/// The median of each pair of processors, by their positions in the order of the topology.
type Medians = BTreeMap<[usize; 2], f64>;

impl Record {
    /// Writes the page: machine, a heat map of the matrix of cache lines, and a table of all
    /// figures.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn page(&self, out: &mut impl Write) -> io::Result<()> {
        for (number, piece) in PAGE.split("{{").enumerate() {
            let Some((name, rest)) = piece.split_once("}}").filter(|_| number > 0) else {
                out.write_all(piece.as_bytes())?;
                continue;
            };
            let content = match name {
                "TITLE" => escape(&self.machine.title()),
                "SCALE" => COLOURS.map(css).join(", "),
                "FACTS" => self.facts(),
                "MATRIX" => self.map(),
                "FIGURES" => self.rows(),
                other => unreachable!("the page requests {other}"),
            };
            write!(out, "{content}{rest}")?;
        }
        Ok(())
    }

    fn facts(&self) -> String {
        let build = &self.build;
        let commit = build.commit.as_deref().unwrap_or("unknown");
        let kernel = self.machine.kernel.as_deref().unwrap_or("unknown");
        [
            ("kernel", kernel.to_owned()),
            ("processors", ranges(&self.processors)),
            (
                "tautline",
                format!("{} ({}), commit {commit}", build.version, build.profile),
            ),
        ]
        .map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>", escape(&value)))
        .concat()
    }

    fn rows(&self) -> String {
        let mut html = String::new();
        for figure in &self.figures {
            let names = [&figure.bench, &figure.figure].map(|name| escape(name));
            let [bench, name] = names.map(|name| format!("<th scope=row>{name}</th>"));
            let columns = match Spread::of(&figure.samples_ns) {
                Some(s) => [s.least, s.median, s.most, s.deviation]
                    .map(|ns| format!("<td>{ns:.1}</td>"))
                    .concat(),
                None => "<td></td>".repeat(4),
            };
            let (samples, doubts) = (figure.samples_ns.len(), escape(&figure.doubts.join("; ")));
            let _ = writeln!(
                html,
                "<tr>{bench}{name}{columns}<td>{samples}</td><td class=doubt>{doubts}</td></tr>"
            );
        }
        html
    }

    /// Returns the heat map; an empty text without pairs.
    fn map(&self) -> String {
        let used: Vec<usize> = self.machine.cpus.iter().map(|cpu| cpu.id).collect();
        let measured = |id: &usize| self.pairs.iter().any(|pair| pair.cpus.contains(id));
        let order: Vec<usize> = used.into_iter().filter(measured).collect();
        let at = |id| order.iter().position(|one| *one == id);
        let mut medians = Medians::new();
        for pair in &self.pairs {
            let places = [at(pair.cpus[0]), at(pair.cpus[1])];
            let spread = Spread::of(&pair.samples_ns);
            if let ([Some(a), Some(b)], Some(spread)) = (places, spread) {
                medians.insert([a.min(b), a.max(b)], spread.median);
            }
        }
        let least = medians.values().copied().min_by(f64::total_cmp);
        let most = medians.values().copied().max_by(f64::total_cmp);
        let (Some(least), Some(most)) = (least, most) else {
            return String::new();
        };
        format!(
            "<h2>Round trip of a cache line between two processors, in the order of the topology</h2>\n{}\n\
             <div class=legend>{least:.0} ns<i></i>{most:.0} ns</div>\n",
            squares(&order, &medians, [least, most])
        )
    }
}

fn squares(order: &[usize], medians: &Medians, bounds: [f64; 2]) -> String {
    let count = order.len();
    let cell = (SIDE / count as f64).min(CELL);
    let side = EDGE + cell * count as f64;
    let mut svg = format!(
        "<svg role=\"img\" aria-label=\"Heat map of round trips\" width=\"{side:.0}\" height=\"{side:.0}\" \
         viewBox=\"0 0 {side:.0} {side:.0}\">\n"
    );
    // Numbers at the edges, as many as there is room for.
    let step = (NUMBER / cell).ceil() as usize;
    for (at, cpu) in order.iter().enumerate().step_by(step.max(1)) {
        let middle = EDGE + (at as f64 + 0.5) * cell;
        let (low, near) = (middle + 4.0, EDGE - 6.0);
        let _ = writeln!(
            svg,
            "<text x=\"{middle:.1}\" y=\"{near}\" text-anchor=\"middle\">{cpu}</text>\
             <text x=\"{near}\" y=\"{low:.1}\" text-anchor=\"end\">{cpu}</text>"
        );
    }
    for (&[a, b], &ns) in medians {
        let colour = colour(ns, bounds);
        for [row, column] in [[a, b], [b, a]] {
            let [x, y] = [column, row].map(|at| EDGE + at as f64 * cell);
            let (one, other) = (order[row], order[column]);
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{cell:.1}\" height=\"{cell:.1}\" fill=\"{}\">\
                 <title>CPUs {one} and {other}: {ns:.1} ns</title></rect>",
                css(colour)
            );
            if cell >= LABELLED {
                // Readable on both ends of the scale.
                let ink = if colour[1] > 140.0 { "#000" } else { "#fff" };
                let [x, y] = [x + cell / 2.0, y + cell / 2.0 + 4.0];
                let _ = writeln!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" style=\"fill:{ink}\">{ns:.0}</text>"
                );
            }
        }
    }
    svg + "</svg>"
}

/// Returns the colour of a time between the bounds, by its logarithm: caches differ from memory by
/// factors.
fn colour(ns: f64, [least, most]: [f64; 2]) -> [f64; 3] {
    let logarithm = |ns: f64| ns.max(1e-3).ln();
    let span = (logarithm(most) - logarithm(least)).max(1e-9);
    let at = ((logarithm(ns) - logarithm(least)) / span).clamp(0.0, 1.0) * 4.0;
    let low = (at as usize).min(3);
    let part = at - low as f64;
    let [from, to] = [COLOURS[low], COLOURS[low + 1]];
    [0, 1, 2].map(|channel| from[channel] + part * (to[channel] - from[channel]))
}

fn css(colour: [f64; 3]) -> String {
    let [r, g, b] = colour.map(|channel| channel.round() as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::super::record::{Pair, Place};
    use super::*;

    fn page(of: &Record) -> String {
        let mut page = Vec::new();
        of.page(&mut page).unwrap();
        String::from_utf8(page).unwrap()
    }

    #[test]
    fn a_page_has_all_figures_and_a_cell_for_both_orders_of_each_pair() {
        let mut record = record(&[150.0; 8]);
        record.figures[0].doubts = vec!["a < b".to_owned()];
        let place = |id| Place {
            id,
            core: id,
            node: None,
            package: None,
        };
        // Another order than that of the numbers.
        record.machine.cpus = [0, 2, 1].map(place).into();
        let pair = |cpus, ns| Pair {
            cpus,
            samples_ns: vec![ns],
        };
        record.pairs = vec![
            pair([0, 1], 400.0),
            pair([2, 0], 100.0),
            pair([1, 2], 200.0),
        ];
        let page = page(&record);
        assert!(!page.contains("{{"), "{page}");
        assert!(!page.contains("http"), "a page is complete by itself");
        assert!(page.contains("a &lt; b"), "{page}");
        assert_eq!(page.matches("<rect ").count(), 6);
        // The first row: processor 2 follows 0, and the extremes have the colours of the ends.
        let first = "<rect x=\"84.0\" y=\"40.0\" width=\"44.0\" height=\"44.0\" fill=\"#440154\">\
                     <title>CPUs 0 and 2: 100.0 ns</title></rect>";
        assert!(page.contains(first), "{page}");
        let last = "fill=\"#fde725\"><title>CPUs 0 and 1: 400.0 ns";
        assert!(page.contains(last), "{page}");
        // The middle of the logarithms is the middle of the colours.
        assert!(
            page.contains("fill=\"#21918c\"><title>CPUs 2 and 1"),
            "{page}"
        );
    }

    #[test]
    fn a_large_map_fits_and_one_processor_has_none() {
        let mut record = record(&[1.0]);
        assert!(!page(&record).contains("<svg"));
        let place = |id| Place {
            id,
            core: id,
            node: None,
            package: None,
        };
        record.machine.cpus = (0..128).map(place).collect();
        let others = 1..128;
        record.pairs = others
            .map(|other| Pair {
                cpus: [0, other],
                samples_ns: vec![other as f64],
            })
            .collect();
        let page = page(&record);
        assert!(page.contains("viewBox=\"0 0 940 940\""), "{page}");
        assert_eq!(page.matches("<rect ").count(), 2 * 127);
    }
}
