//! The life story as one page: no network, no library, light and dark.

mod provenance;

use super::{Clock, Life, Watched};
use std::fmt::Write as _;
use std::io::{self, Write};
use tautline_core::glb::PlaceRun;
use tautline_core::watch::{State, Times};

/// The page, with `{{NAME}}` where the run's own data go.
const PAGE: &str = include_str!("picture.html");

/// Cells that a page may hold: some 7 MB.
const CELLS_MAX: usize = 1 << 20;

/// The characters of a fact that is shown at once; longer ones are folded.
const FACT_SHOWN: usize = 120;

/// The content of a picture. The page also states the command line, the date and the version of
/// this crate.
#[derive(Debug)]
pub struct Picture<'a> {
    /// The name of the program.
    pub title: &'a str,
    /// The settings and results of the run, in some words each.
    pub facts: &'a [(&'a str, String)],
    /// The clock of the run.
    pub clock: Clock,
    /// Every worker's life, place by place.
    pub workers: &'a [Watched<&'a Life>],
    /// The totals of each place.
    pub places: &'a [PlaceRun],
}

impl Picture<'_> {
    /// Writes the page.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use tautline::story::internal::Picture;
    /// use tautline::story::{Clock, Life, Recorder};
    ///
    /// let observe = |_, _| Recorder { life: Some(Life::default()), trace: None };
    /// let run = tautline::balancer().observed(observe).sum(0..1000u64, |n, _| n)?;
    /// let lives = run.observers.iter().filter_map(|(place, worker, seen)| Some((*place, *worker, seen.life.as_ref()?)));
    /// let workers: Vec<_> = lives.collect();
    /// let picture = Picture {
    ///     title: "A sum",
    ///     facts: &[("numbers", "1000".to_owned())],
    ///     clock: Clock::of(&run),
    ///     workers: &workers,
    ///     places: &run.places,
    /// };
    /// let mut page = Vec::new();
    /// picture.write(&mut page)?;
    /// assert!(String::from_utf8_lossy(&page).contains("<h1>A sum</h1>"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for (number, piece) in PAGE.split("{{").enumerate() {
            let Some((name, rest)) = piece.split_once("}}").filter(|_| number > 0) else {
                write!(out, "{}{piece}", if number > 0 { "{{" } else { "" })?;
                continue;
            };
            match name {
                "TITLE" => write!(out, "{}", escape(self.title))?,
                "FACTS" => write!(out, "{}", self.facts())?,
                "TOTALS" => write!(out, "{}", self.totals())?,
                "DATA" => write!(out, "{}", self.data())?,
                other => unreachable!("the page requests {other}"),
            }
            write!(out, "{rest}")?;
        }
        Ok(())
    }

    fn facts(&self) -> String {
        let provenance = provenance::facts();
        let facts = self.facts.iter().chain(&provenance);
        let (long, short): (Vec<_>, Vec<_>) =
            facts.partition(|(_, value)| value.chars().count() > FACT_SHOWN);
        let mut html = list(&short);
        if !long.is_empty() {
            let names: Vec<_> = long.iter().map(|(name, _)| escape(name)).collect();
            let (names, list) = (names.join(", "), list(&long));
            let _ = write!(html, "<details><summary>{names}</summary>{list}</details>");
        }
        html
    }

    fn totals(&self) -> String {
        let mut all = Times::default();
        let mut html = String::new();
        for (number, place) in self.places.iter().enumerate() {
            all.merge(&place.times);
            row(&mut html, &number.to_string(), &place.times);
        }
        let mut first = String::new();
        row(&mut first, "all", &all);
        first + &html
    }

    /// Every worker a row; each cell holds the share of every state in it, in 255ths, base 64.
    fn data(&self) -> String {
        let columns = (CELLS_MAX / self.workers.len().max(1)).clamp(128, 1_000);
        let length = self.clock.seconds * self.clock.ticks_per_second;
        let width = length / columns as f64;
        let rows: Vec<_> = self
            .workers
            .iter()
            .map(|(place, worker, life)| {
                let cells = life.columns(self.clock.began, length, columns);
                let bytes = cells.iter().flatten();
                let bytes = bytes.map(|ticks| (ticks / width.max(1e-9) * 255.0).round() as u8);
                let cells = base64(&bytes.collect::<Vec<u8>>());
                format!("[{},{},\"{cells}\"]", place.0, worker.0)
            })
            .collect();
        // Digits and names: nothing that had to be escaped.
        let states = State::ALL.map(|state| format!("\"{}\"", state.name()));
        format!(
            "{{\"columns\":{columns},\"rows\":[{}],\"seconds\":{},\"states\":[{}]}}",
            rows.join(","),
            self.clock.seconds,
            states.join(",")
        )
    }
}

/// Returns names with values, as a list.
fn list(facts: &[&(&str, String)]) -> String {
    let mut html = String::from("<dl>");
    for (name, value) in facts {
        let (name, value) = (escape(name), escape(value));
        let _ = write!(html, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    html + "</dl>"
}

fn row(html: &mut String, name: &str, times: &Times) {
    let total = times.total().max(1) as f64;
    let _ = write!(html, "<tr><th scope=row>{name}</th>");
    for state in State::ALL {
        let share = times.of(state) as f64 / total * 100.0;
        let _ = write!(html, "<td>{share:.2} %</td>");
    }
    html.push_str("</tr>\n");
}

/// Escapes a text, or the value of an attribute.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |word, at| {
            word << 8 | u32::from(group.get(at).copied().unwrap_or_default())
        });
        for digit in 0..4 {
            if digit <= group.len() {
                text.push(DIGITS[(word >> (18 - 6 * digit)) as usize % 64].into());
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline_core::watch::Observer;
    use tautline_core::{PlaceId, WorkerId};

    fn page(places: u32) -> String {
        page_of(places, &[("seed", "1 < 2".to_owned())])
    }

    fn page_of(places: u32, facts: &[(&str, String)]) -> String {
        let mut life = Life::default();
        for turn in 0..2_000 {
            life.span(State::ALL[turn as usize % 5], turn * 10, turn * 10 + 10);
        }
        let workers: Vec<_> = (0..places)
            .map(|p| (PlaceId(p), WorkerId(0), &life))
            .collect();
        let mut out = Vec::new();
        Picture {
            title: "<T1> & \"co\"",
            facts,
            clock: Clock {
                began: 0,
                ticks_per_second: 1e9,
                seconds: 2e-5,
            },
            workers: &workers,
            places: &vec![PlaceRun::default(); places as usize],
        }
        .write(&mut out)
        .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_page_stands_alone() {
        let page = page(3);
        assert!(!page.contains("http"), "a reference to the network");
        assert!(!page.contains("{{"), "an unfilled name");
        assert!(page.contains("&lt;T1> &amp; &quot;co&quot;"));
        assert_eq!(page.matches("<tr><th scope=row>").count(), 4);
    }

    #[test]
    fn the_page_states_where_it_comes_from() {
        let page = page(1);
        let version = format!("<dt>tautline</dt><dd>{}</dd>", env!("CARGO_PKG_VERSION"));
        assert!(page.contains(&version) && page.contains(" UTC</dd>"));
        let program = std::env::args().next().expect("a name");
        let (_, command) = page.split_once("<dt>command</dt>").expect("the command");
        assert!(command.contains(&escape(&program)));
    }

    /// A sentence of a hundred words does not push the picture off the screen.
    #[test]
    fn long_facts_are_folded() {
        let facts = [
            ("grain", "511".to_owned()),
            ("lifelines", "because ".repeat(100)),
            ("steal", "half".to_owned()),
        ];
        let page = page_of(1, &facts);
        let (head, rest) = page.split_once("<details>").expect("a fold");
        let (folded, rest) = rest.split_once("</details>").expect("its end");
        assert!(head.contains("<dt>grain</dt><dd>511</dd>"));
        assert!(head.contains("<dt>steal</dt><dd>half</dd>"));
        assert!(folded.starts_with("<summary>lifelines</summary>"));
        assert_eq!(folded.matches("because ").count(), 100);
        assert!(!head.contains("because ") && !rest.contains("because "));
        assert!(!page_of(1, &facts[..1]).contains("<details>"));
    }

    #[test]
    fn the_data_are_json() {
        let page = page(3);
        let mut lines = page.lines();
        let data = lines
            .find_map(|line| line.strip_prefix("const data = "))
            .expect("the data");
        let data = data.strip_suffix(';').expect("a statement");
        let json: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(json["seconds"], 2e-5);
        assert_eq!(json["rows"].as_array().unwrap().len(), 3);
        assert_eq!(json["rows"][2][0], 2);
        assert_eq!(json["states"].as_array().unwrap().len(), State::ALL.len());
        // Each has a colour, light and dark, and a column.
        for state in State::ALL {
            let name = state.name();
            let colour = format!("--{}: #", name.replace(' ', "-"));
            assert_eq!(page.matches(&colour).count(), 2, "{name}");
            let column = format!("<th scope=col>{name}</th>");
            assert_eq!(page.matches(&column).count(), 1, "{name}");
        }
    }

    #[test]
    fn a_thousand_rows_are_a_few_megabytes() {
        assert!(page(1024).len() < 10 << 20);
    }

    #[test]
    fn base64_is_the_standard_one() {
        let expected = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="];
        for (length, text) in expected.iter().enumerate() {
            assert_eq!(base64(&b"foob"[..length]), *text);
        }
    }
}
