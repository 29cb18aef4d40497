//! Small files of TSPLIB in every form, and mutations of them, against a second reader.

mod mutated;
mod tsplib_read;

use mutated::{Draws, mutated};
use std::ops::Range;
use std::sync::Arc;
use tautline_cli::tsp::{Search, sequential};
use tsplib_read::{distances, instance, read};

/// Files of four or five cities in all forms.
fn corpus() -> Vec<String> {
    let places = [
        [0.0, 0.0, 0.0],
        [3.5, 0.25, 1.0],
        [40.0, 30.1, -7.0],
        [-12.0, 5.0, 20.0],
        [0.5, -33.2, 3.0],
    ];
    let mut files = Vec::new();
    for (metric, axes) in [
        ("EUC_2D", 2),
        ("EUC_3D", 3),
        ("MAX_2D", 2),
        ("MAX_3D", 3),
        ("MAN_2D", 2),
        ("MAN_3D", 3),
        ("CEIL_2D", 2),
        ("GEO", 2),
        ("ATT", 2),
        ("XRAY1", 3),
        ("XRAY2", 3),
    ] {
        for (first, tail) in [
            (1, "-1\nEOF\n"),
            (0, "FIXED_EDGES_SECTION\n0 2\n4 0\n-1\nEOF\n"),
        ] {
            let line = |(at, place): (usize, &[f64; 3])| {
                let words: Vec<_> = place[..axes].iter().map(f64::to_string).collect();
                format!("{} {}\n", at + first, words.join(" "))
            };
            let lines: String = places.iter().enumerate().map(line).collect();
            files.push(format!(
                "NAME : x\nCOMMENT : y\nTYPE : TSP\nDIMENSION : 5\nEDGE_WEIGHT_TYPE : {metric}\nNODE_COORD_SECTION\n{lines}{tail}"
            ));
        }
    }
    let weight = |row: usize, column: usize| match row == column {
        true => 0,
        false => [7, 3, 12, 5, 9, 1, 30, 4, 8, 6][(row + column) * 3 % 10] + (row * column),
    };
    for format in [
        "FULL_MATRIX",
        "UPPER_ROW",
        "LOWER_ROW",
        "UPPER_DIAG_ROW",
        "LOWER_DIAG_ROW",
        "UPPER_COL",
        "LOWER_COL",
        "UPPER_DIAG_COL",
        "LOWER_DIAG_COL",
    ] {
        let words: Vec<_> = cells(format, 5)
            .iter()
            .map(|(a, b)| weight(*a, *b).to_string())
            .collect();
        let head = format!(
            "NAME: x\nTYPE: TSP\nDIMENSION: 5\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: {format}\n"
        );
        let display: String = (1..6).map(|at| format!("{at} {at} {at}\n")).collect();
        files.push(format!(
            "{head}DISPLAY_DATA_TYPE: TWOD_DISPLAY\nEDGE_WEIGHT_SECTION\n{}\nDISPLAY_DATA_SECTION\n{display}EOF\n",
            words.join(" ")
        ));
        files.push(format!(
            "{head}EDGE_WEIGHT_SECTION\n{}\nFIXED_EDGES_SECTION\n1 2\n2 4\n3 5\n-1\n",
            words.join("\n")
        ));
    }
    files
}

/// The cells of a matrix in the order of a format, by its name.
fn cells(format: &str, cities: usize) -> Vec<(usize, usize)> {
    let mut cells = Vec::new();
    for outer in 0..cities {
        for inner in 0..cities {
            let (row, column) = match format.ends_with("_COL") {
                true => (inner, outer),
                false => (outer, inner),
            };
            let is_written = match row.cmp(&column) {
                std::cmp::Ordering::Less => !format.starts_with("LOWER"),
                std::cmp::Ordering::Greater => !format.starts_with("UPPER"),
                std::cmp::Ordering::Equal => format.contains("DIAG") || format == "FULL_MATRIX",
            };
            if is_written {
                cells.push((row, column));
            }
        }
    }
    cells
}

/// The content of a file of the corpus, after mutations that a reader may accept: a second reader,
/// which checks less and counts words. It computes as the specification's text does.
#[derive(Debug, Default)]
struct Simple {
    cities: usize,
    distances: Vec<u32>,
    fixed: Vec<(usize, usize)>,
}

impl Simple {
    fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes)
            .replace("\r\n", "\n")
            .replace('\r', "\n");
        let mut rest = text.trim_start_matches('\u{feff}');
        let mut values = std::collections::HashMap::new();
        let mut numbers: std::collections::HashMap<String, Vec<f64>> = Default::default();
        loop {
            rest = rest.trim_start();
            let end = rest.find(|c: char| c.is_whitespace() || c == ':');
            let (key, after) = rest.split_at(end.unwrap_or(rest.len()));
            let key = key.to_ascii_uppercase();
            if key.is_empty() || key == "EOF" {
                break;
            }
            let after = after.trim_start_matches([' ', '\t']);
            let after = after.strip_prefix(':').unwrap_or(after);
            if !key.ends_with("_SECTION") {
                let (value, after) = after.split_once('\n').unwrap_or((after, ""));
                values
                    .entry(key)
                    .or_insert(value.trim().to_ascii_uppercase());
                rest = after;
                continue;
            }
            rest = after;
            let all = numbers.entry(key).or_default();
            loop {
                let next = rest.trim_start();
                let end = next.find(char::is_whitespace).unwrap_or(next.len());
                let Ok(number) = next[..end].parse() else {
                    break;
                };
                all.push(number);
                rest = &next[end..];
            }
        }
        let cities = values["DIMENSION"].parse::<f64>().unwrap() as usize;
        let kind = &*values["EDGE_WEIGHT_TYPE"];
        let mut simple = Self {
            cities,
            ..Self::default()
        };
        simple.distances = vec![0; cities * cities];
        let mut first = None;
        let mut section = |name: &str, count: usize| {
            let mut all = numbers.remove(name).unwrap_or_default();
            if all.len() == count + 1 {
                assert_eq!(all.pop(), Some(-1.0), "a further number in {name}");
            }
            assert_eq!(all.len(), count, "numbers in {name}");
            all
        };
        if kind == "EXPLICIT" {
            let cells = cells(&values["EDGE_WEIGHT_FORMAT"], cities);
            for (weight, (a, b)) in section("EDGE_WEIGHT_SECTION", cells.len())
                .iter()
                .zip(cells)
            {
                if a != b {
                    simple.distances[a * cities + b] = *weight as u32;
                    simple.distances[b * cities + a] = *weight as u32;
                }
            }
        } else {
            let axes = if kind.ends_with("3D") || kind.starts_with("XRAY") {
                3
            } else {
                2
            };
            let all = section("NODE_COORD_SECTION", cities * (axes + 1));
            let mut points: Vec<_> = all.chunks(axes + 1).collect();
            points.sort_by(|a, b| a[0].total_cmp(&b[0]));
            first = points.first().map(|point| point[0] as usize);
            for (a, from) in points.iter().enumerate() {
                for (b, to) in points.iter().enumerate().filter(|(b, _)| *b != a) {
                    simple.distances[a * cities + b] = distance(kind, &from[1..], &to[1..]);
                }
            }
        }
        if let Some(display) = numbers.remove("DISPLAY_DATA_SECTION") {
            let number = |place: &&[f64]| place.len() == 3;
            let numbered = display
                .chunks(3)
                .filter(number)
                .map(|place| place[0] as usize);
            first = first.or(numbered.min());
        }
        let fixed = numbers.remove("FIXED_EDGES_SECTION").unwrap_or_default();
        let fixed: Vec<_> = fixed
            .into_iter()
            .take_while(|number| *number != -1.0)
            .collect();
        let first = first.unwrap_or(usize::from(!fixed.contains(&0.0)));
        let edges = fixed.chunks(2).map(|edge| {
            let [a, b] = [edge[0], edge[1]].map(|city| city as usize - first);
            (a.min(b), a.max(b))
        });
        simple.fixed = edges.collect();
        simple.fixed.sort_unstable();
        simple.fixed.dedup();
        simple
    }

    /// Whether a round trip has all fixed edges.
    fn has_fixed(&self, tour: &[u16]) -> bool {
        let has = |(a, b): &(usize, usize)| {
            let [a, b] =
                [a, b].map(|city| tour.iter().position(|c| usize::from(*c) == *city).unwrap());
            matches!(a.abs_diff(b), 1) || a.abs_diff(b) == tour.len() - 1
        };
        self.fixed.iter().all(has)
    }

    /// Calls `visit` with every round trip from city 0.
    fn tours(&self, tour: &mut Vec<u16>, visit: &mut impl FnMut(&[u16])) {
        if tour.len() == self.cities {
            visit(tour);
        }
        for city in 1..self.cities as u16 {
            if !tour.contains(&city) {
                tour.push(city);
                self.tours(tour, visit);
                tour.pop();
            }
        }
    }

    fn shortest(&self) -> usize {
        let mut best = usize::MAX;
        self.tours(&mut vec![0], &mut |tour| {
            let legs = tour.iter().zip(tour.iter().cycle().skip(1));
            let leg = |(a, b): (&u16, &u16)| {
                self.distances[usize::from(*a) * self.cities + usize::from(*b)]
            };
            let length: u32 = legs.map(leg).sum();
            if self.has_fixed(tour) {
                best = best.min(length as usize);
            }
        });
        best
    }
}

/// The distance functions as the specification's programs state them.
fn distance(kind: &str, a: &[f64], b: &[f64]) -> u32 {
    let nint = |x: f64| (x + 0.5) as u32;
    let d: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a - b).abs()).collect();
    let root = |squares: f64| squares.sqrt();
    let squares: f64 = d.iter().map(|d| d * d).sum();
    match kind {
        "EUC_2D" | "EUC_3D" => nint(root(squares)),
        "MAX_2D" | "MAX_3D" => d.iter().map(|d| nint(*d)).max().unwrap(),
        "MAN_2D" | "MAN_3D" => nint(d.iter().sum()),
        "CEIL_2D" => {
            let whole = root(squares) as u32;
            whole + u32::from(f64::from(whole) < root(squares))
        }
        "ATT" => {
            let r = root(squares / 10.0);
            let t = nint(r);
            if f64::from(t) < r { t + 1 } else { t }
        }
        "GEO" => {
            #[expect(clippy::approx_constant, reason = "as in the specification")]
            let radians = |x: &f64| {
                let degrees = x.trunc();
                3.141592 * (degrees + 5.0 * (x - degrees) / 3.0) / 180.0
            };
            let [lat_a, long_a, lat_b, long_b] = [&a[0], &a[1], &b[0], &b[1]].map(radians);
            let q1 = (long_a - long_b).cos();
            let (q2, q3) = ((lat_a - lat_b).cos(), (lat_a + lat_b).cos());
            let arc = 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3);
            (6378.388 * arc.clamp(-1.0, 1.0).acos() + 1.0) as u32
        }
        "XRAY1" | "XRAY2" => {
            let around = d[0].min((d[0] - 360.0).abs());
            let speeds = if kind == "XRAY1" {
                [1.0, 1.0, 1.0]
            } else {
                [1.25, 1.5, 1.15]
            };
            let times = [around / speeds[0], d[1] / speeds[1], d[2] / speeds[2]];
            nint(100.0 * times.into_iter().fold(0.0, f64::max))
        }
        kind => panic!("{kind}"),
    }
}

#[test]
fn the_shortest_tour_of_every_form_is_found() {
    for file in corpus() {
        let (instance, simple) = (instance(&file), Simple::read(file.as_bytes()));
        let found = sequential(&Arc::new(Search::new(instance, None)));
        assert_eq!(found.length(), Some(simple.shortest()), "{file}");
    }
}

/// Reads mutated files: each is refused, or read as the second reader does. Returns how many were
/// read.
fn read_mutated(seeds: Range<u64>) -> u64 {
    const WORDS: &[&str] = &[
        "NAME:",
        "COMMENT",
        "TYPE: TSP",
        "TYPE: ATSP",
        "DIMENSION: 4",
        "EDGE_WEIGHT_TYPE: EUC_2D",
        "EDGE_WEIGHT_TYPE: EXPLICIT",
        "EDGE_WEIGHT_FORMAT: UPPER_ROW",
        "NODE_COORD_SECTION",
        "EDGE_WEIGHT_SECTION",
        "FIXED_EDGES_SECTION",
        "DISPLAY_DATA_SECTION",
        "NODE_COORD_TYPE: THREED_COORDS",
        "TOUR_SECTION",
        "EOF",
        "UPPER_COL",
        "GEO",
        "MAN_3D",
        "-1",
        "BEST: 3",
        "1 2",
        "0 3",
    ];
    let corpus = corpus();
    let mut accepted = 0;
    for seed in seeds {
        let mut draws = Draws::new(seed);
        let file = mutated(draws.of(&corpus).as_bytes(), WORDS, &mut draws);
        let Ok(contents) = read(&file) else {
            continue;
        };
        accepted += 1;
        let shown = || format!("seed {seed}\n{}", String::from_utf8_lossy(&file));
        let (instance, simple) = (contents.instance, Simple::read(&file));
        assert_eq!(instance.cities(), simple.cities, "{}", shown());
        assert_eq!(distances(&instance), simple.distances, "{}", shown());
        assert_eq!(instance.fixed_edges(), simple.fixed.len(), "{}", shown());
        simple.tours(&mut vec![0], &mut |tour| {
            assert_eq!(
                instance.is_tour(tour),
                simple.has_fixed(tour),
                "{}",
                shown()
            );
        });
    }
    accepted
}

#[test]
fn mutated_files_are_refused_or_read_right() {
    let accepted = read_mutated(0..20_000);
    assert!(accepted > 2000, "{accepted} read");
}

#[test]
#[ignore = "cargo ci deep: a million files"]
fn a_million_mutated_files_are_refused_or_read_right() {
    let accepted = read_mutated(0..1_000_000);
    println!("{accepted} of 1000000 mutated files were read");
}
