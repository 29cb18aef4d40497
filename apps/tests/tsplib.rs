//! Files of TSPLIB: every form of the specification, forms that other programs write, and refusals.

mod mutated;

use mutated::{Draws, mutated};
use std::ops::Range;
use std::sync::Arc;
use tautline_cli::text::Input;
use tautline_cli::tsp::tsplib::{self, Contents};
use tautline_cli::tsp::{Instance, Search, held_karp, sequential};

fn read(file: impl AsRef<[u8]>) -> Result<Contents, String> {
    let input = Input::new("x.tsp", file.as_ref()).map_err(|error| error.to_string())?;
    tsplib::read(input).map_err(|error| error.to_string())
}

fn instance(file: impl AsRef<[u8]>) -> Instance {
    let text = String::from_utf8_lossy(file.as_ref()).into_owned();
    read(file)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
        .instance
}

fn distances(instance: &Instance) -> Vec<u32> {
    let cities = instance.cities();
    let pairs = (0..cities).flat_map(|a| (0..cities).map(move |b| (a, b)));
    pairs.map(|(a, b)| instance.distance(a, b)).collect()
}

/// The distances of four cities, row by row, and a file of them.
const FOUR: [[u32; 4]; 4] = [[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]];

fn explicit(format: &str, weights: &str) -> String {
    format!(
        "NAME: four\nTYPE: TSP (anonymous)\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EXPLICIT\n\
         EDGE_WEIGHT_FORMAT: {format}\nEDGE_WEIGHT_SECTION\n{weights}\n"
    )
}

#[test]
fn every_matrix_format_gives_the_same_instance() {
    for (format, weights) in [
        ("FULL_MATRIX", "0 1 2 3\n1 0 4 5\n2 4 0 6\n3 5 6 9999"),
        ("UPPER_ROW", "1 2 3\n4 5\n6"),
        ("LOWER_ROW", "1 2 4 3 5 6"),
        ("UPPER_DIAG_ROW", "0 1 2 3 0 4 5 0 6 0"),
        ("LOWER_DIAG_ROW", "0\r\n1 0\r\n2 4 0\r\n3 5 6 0"),
        ("UPPER_COL", "1 2 4 3 5 6"),
        ("LOWER_COL", "1 2 3 4 5 6"),
        ("UPPER_DIAG_COL", "0 1 inf 2 4 0 3 5 6 0"),
        ("LOWER_DIAG_COL", "0 1 2 3 0 4 5 0 6 0"),
    ] {
        let contents = read(explicit(format, weights)).unwrap();
        assert_eq!(contents.form, format!("EXPLICIT {format}"));
        let four = contents.instance;
        assert_eq!((four.name(), four.cities()), ("four", 4));
        assert_eq!(distances(&four), FOUR.concat(), "{format}");
        assert_eq!(held_karp(&four), Some(14), "{format}");
    }
}

/// Each metric: the distances of the cities (0, 0, 0), (0, 3.4, 1), (4, 3, 0), (10.3, 0, -7), rows of the lower triangle, by
/// the formulas of the specification on paper.
#[test]
fn every_metric_is_that_of_the_specification() {
    for (metric, axes, expected) in [
        ("EUC_2D", 2, [3, 5, 4, 10, 11, 7]),
        ("EUC_3D", 3, [4, 5, 4, 12, 13, 10]),
        ("CEIL_2D", 2, [4, 5, 5, 11, 11, 7]),
        ("MAX_2D", 2, [3, 4, 4, 10, 10, 6]),
        ("MAX_3D", 3, [3, 4, 4, 10, 10, 7]),
        ("MAN_2D", 2, [3, 7, 4, 10, 14, 9]),
        ("MAN_3D", 3, [4, 7, 5, 17, 22, 16]),
        ("ATT", 2, [2, 2, 2, 4, 4, 3]),
        ("XRAY1", 3, [340, 400, 400, 1030, 1030, 700]),
        ("XRAY2", 3, [227, 320, 320, 824, 824, 609]),
    ] {
        let cities = ["0 0 0", "0 3.4 1", "4 3 0", "10.3 0 -7"].map(|city| {
            let end = city
                .match_indices(' ')
                .nth(axes - 1)
                .map_or(city.len(), |(at, _)| at);
            &city[..end]
        });
        let [a, b, c, d] = cities;
        let file = format!(
            "TYPE: TSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: {metric}\nNODE_COORD_SECTION\n1 {a}\n2 {b}\n3 {c}\n4 {d}\nEOF\n"
        );
        let contents = read(&file).unwrap();
        assert_eq!(contents.form, metric);
        let four = contents.instance;
        let lower = (0..4).flat_map(|a| (0..a).map(move |b| (a, b)));
        let found: Vec<_> = lower.map(|(a, b)| four.distance(a, b)).collect();
        assert_eq!(found, expected, "{metric}");
    }
}

const POINTS: &str = "DIMENSION : 3\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n";

/// One instance, as other programs write it.
#[test]
fn files_of_other_programs_are_read() {
    let plain = "NAME: x\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 0 3\n3 4 0\nEOF\n";
    let expected = instance(plain);
    assert_eq!(distances(&expected), [0, 3, 4, 3, 0, 5, 4, 5, 0]);
    let from_zero = plain
        .replace("1 0 0", "0 0 0")
        .replace("2 0 3", "1 0 3")
        .replace("3 4 0", "2 4 0");
    let name = |name: &[u8]| [b"NAME: x\nCOMMENT: ", name, b"\n", &plain.as_bytes()[8..]].concat();
    for file in [
        plain.to_lowercase().into_bytes(),
        plain.replace(':', " :\t").into_bytes(),
        plain.replace(": ", ":").into_bytes(),
        plain.replace("SECTION", "SECTION:").into_bytes(),
        plain.replace("EOF", "-1\nEOF").into_bytes(),
        plain.replace("EOF\n", "").into_bytes(),
        plain.replace("EOF\n", "EOF\nanything").into_bytes(),
        plain.replace('\n', "\r\n").into_bytes(),
        plain.replace('\n', "\n\n").into_bytes(),
        plain
            .replace("1 0 0\n", "  1\t0.0 0e0 \n")
            .replace("2 0 3", "2.0 0 +3.00E+00")
            .into_bytes(),
        plain
            .replace("1 0 0\n", "")
            .replace("EOF", "1 0 0")
            .into_bytes(),
        plain.replace("TSP", "TSP (M.~Hofmeister)").into_bytes(),
        plain
            .replace("EOF", "DISPLAY_DATA_SECTION\n1 0 0\n2 0 3\n3 4 0\nEOF")
            .into_bytes(),
        plain
            .replace(
                "TYPE: TSP",
                "TYPE: TSP\nNODE_COORD_TYPE: TWOD_COORDS\nDISPLAY_DATA_TYPE: COORD_DISPLAY",
            )
            .into_bytes(),
        plain
            .replace("DIMENSION: 3", "COMMENT: a : b\nCOMMENT b\nDIMENSION: 3")
            .into_bytes(),
        name(b"Gro\xdf"),
        name("Groß".as_bytes()),
        [b"\xef\xbb\xbf", plain.as_bytes()].concat(),
    ] {
        let read = instance(&file);
        assert_eq!(read, expected, "{}", String::from_utf8_lossy(&file));
    }
    let contents = read(&from_zero).unwrap();
    assert_eq!((contents.first, contents.instance), (0, expected.clone()));
    let nameless = instance(plain.replace("NAME: x\n", ""));
    assert_eq!(nameless.name(), "");
    assert_eq!(nameless.named("x"), expected);
    let contents =
        read(plain.replace("TYPE: TSP", "TYPE: TSP\nBEST_KNOWN: 12\nCAPACITY : 5")).unwrap();
    assert_eq!(contents.ignored, ["BEST_KNOWN", "CAPACITY"]);
    assert_eq!(contents.instance, expected);
}

#[test]
fn fixed_edges_are_read() {
    let four = |section: &str| {
        read(explicit("UPPER_ROW", "1 2 3 4 5 6") + "FIXED_EDGES_SECTION\n" + section)
    };
    for section in [
        "1 3\n3 2\n-1\nEOF\n",
        "1 3 3 2 -1",
        "0 2\n2 1\n-1\n",
        "3 1\n1 3\n2 3\nEOF\n",
        "1 3\n2 3",
    ] {
        let instance = four(section).unwrap().instance;
        assert_eq!(instance.fixed_edges(), 2, "{section}");
        assert!(instance.is_tour(&[0, 2, 1, 3]) && !instance.is_tour(&[0, 1, 2, 3]));
    }
    assert_eq!(four("-1\n").unwrap().instance.fixed_edges(), 0);
    for (section, expected) in [
        (
            "1 2\n1 3\n1 4\n-1\n",
            "x.tsp:11:3: edge 1 4: a third fixed edge at city 1",
        ),
        (
            "1 2\n2 3\n1 3\n-1\n",
            "x.tsp:11:3: edge 1 3: fixed edges that close a round trip through 3 of the cities",
        ),
        (
            "2 2\n-1\n",
            "x.tsp:9:3: edge 2 2: an edge from a city to itself",
        ),
        (
            "1 5\n-1\n",
            "x.tsp:9:3: expected a city from 1 to 4, or -1 after the edges, found 5",
        ),
        (
            "0 4\n-1\n",
            "x.tsp:9:3: expected a city from 0 to 3, found 4",
        ),
        (
            "1 2 3\n-1\n",
            "x.tsp:10:1: expected a city from 1 to 4, or -1 after the edges, found -1",
        ),
        (
            "1 2\n-1\n3 4\n",
            "x.tsp:11:1: expected a keyword of TSPLIB, a section or EOF, found 3",
        ),
    ] {
        assert_eq!(four(section), Err(expected.to_owned()), "{section}");
    }
}

/// The kinds of files and sections that are not symmetric problems, and contradictions between parts of a file.
#[test]
fn what_is_not_read_is_named() {
    for (text, expected) in [
        (
            "TYPE: ATSP",
            "1:7: expected TSP, found ATSP, an asymmetric travelling salesman problem",
        ),
        (
            "TYPE: sop",
            "1:7: expected TSP, found SOP, a sequential ordering problem",
        ),
        (
            "TYPE: HCP",
            "1:7: expected TSP, found HCP, a Hamiltonian cycle problem",
        ),
        (
            "TYPE: HPP",
            "1:7: expected TSP, found HPP, a Hamiltonian path problem",
        ),
        (
            "TYPE: CVRP",
            "1:7: expected TSP, found CVRP, a vehicle routing problem",
        ),
        (
            "TYPE: TOUR",
            "1:7: expected TSP, found TOUR, a tour, not a problem",
        ),
        ("TYPE: other", "1:7: expected TSP, found other"),
        ("TYPE:", "1:6: expected TSP, found nothing"),
        (
            "EDGE_WEIGHT_TYPE: SPECIAL",
            "1:19: expected distances that the format defines, found SPECIAL: distances that a program computes",
        ),
        (
            "EDGE_WEIGHT_TYPE: EUC_4D",
            "1:19: expected one of EUC_2D EUC_3D MAX_2D MAX_3D MAN_2D MAN_3D CEIL_2D GEO ATT XRAY1 XRAY2 EXPLICIT SPECIAL, found EUC_4D",
        ),
        (
            "EDGE_WEIGHT_FORMAT: ROWS",
            "1:21: expected one of FULL_MATRIX UPPER_ROW LOWER_ROW UPPER_DIAG_ROW LOWER_DIAG_ROW UPPER_COL LOWER_COL UPPER_DIAG_COL LOWER_DIAG_COL FUNCTION, found ROWS",
        ),
        (
            "NODE_COORD_TYPE: FOURD_COORDS",
            "1:18: expected one of TWOD_COORDS THREED_COORDS NO_COORDS, found FOURD_COORDS",
        ),
        (
            "NODE_COORD_TYPE: THREED_COORDS\nDIMENSION: 1\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0 0",
            "1:18: expected cities with 2 coordinates, as EUC_2D has, found THREED_COORDS",
        ),
        (
            "DIMENSION: 3\nDIMENSION: 4",
            "2:1: expected DIMENSION only once, found DIMENSION",
        ),
        (
            "Dimension: 3\nDIMENSION: 4",
            "2:1: expected DIMENSION only once, found DIMENSION",
        ),
        (
            "DIMENSION: 2\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FUNCTION\nEDGE_WEIGHT_SECTION\n1",
            "3:21: expected a format of a matrix, as EXPLICIT weights have, found FUNCTION",
        ),
        (
            "TIME_WINDOW_SECTION\n",
            "1:1: expected a keyword of TSPLIB, a section or EOF, found TIME_WINDOW_SECTION",
        ),
        (
            "TIME_WINDOW_SECTION:\n",
            "1:1: expected a keyword of TSPLIB, a section or EOF, found TIME_WINDOW_SECTION",
        ),
        (
            "NAME x\nhello\n",
            "2:1: expected a keyword of TSPLIB, a section or EOF, found hello",
        ),
    ] {
        assert_eq!(read(text), Err(format!("x.tsp:{expected}")), "{text}");
    }
    for section in [
        "DEPOT_SECTION",
        "DEMAND_SECTION",
        "EDGE_DATA_SECTION",
        "TOUR_SECTION",
    ] {
        let error = read(format!("{section}\n1\n-1\n")).unwrap_err();
        let read = "one of NODE_COORD_SECTION EDGE_WEIGHT_SECTION FIXED_EDGES_SECTION DISPLAY_DATA_SECTION";
        let start = format!("x.tsp:1:1: expected {read}, found {section}, of ");
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn a_bad_file_is_refused_at_line_and_column() {
    let square = "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n";
    for (text, expected) in [
        (
            "DIMENSION : many\n".to_owned(),
            "1:13: expected a number of cities, at most 1024, found many",
        ),
        (
            "DIMENSION: 1025".to_owned(),
            "1:12: expected a number of cities, at most 1024, found 1025",
        ),
        (
            "DIMENSION: -1".to_owned(),
            "1:12: expected a number of cities, at most 1024, found -1",
        ),
        (
            "DIMENSION:\n3".to_owned(),
            "1:11: expected a number of cities, at most 1024, found nothing",
        ),
        (
            "NODE_COORD_SECTION".to_owned(),
            "1:1: expected EDGE_WEIGHT_TYPE first, found NODE_COORD_SECTION",
        ),
        (
            "EDGE_WEIGHT_TYPE: GEO\nNODE_COORD_SECTION".to_owned(),
            "2:1: expected DIMENSION first, found NODE_COORD_SECTION",
        ),
        (
            format!("{POINTS}1 0 0\n2 x 0\n"),
            "5:3: expected a coordinate, found x",
        ),
        (
            format!("{POINTS}1 0 0\n2 0,5 0\n"),
            "5:3: expected a coordinate, found 0,5",
        ),
        (
            format!("{POINTS}1 0 0\n2 nan 0\n"),
            "5:3: expected a coordinate, found nan",
        ),
        (
            format!("{POINTS}1 0 0\n 1 0 0\n"),
            "5:2: expected a city from 1 to 3 that has no coordinates yet, found 1",
        ),
        (
            format!("{POINTS}1 0 0\n1.5 0 0\n"),
            "5:1: expected a city from 1 to 3 that has no coordinates yet, found 1.5",
        ),
        (
            format!("{POINTS}1 0 0 3\n2 1 1 2\n"),
            "4:7: expected 2 coordinates a line, found 3",
        ),
        (
            format!("{POINTS}1 0\n0 2 0 0\n"),
            "4:4: expected a coordinate, found the end of the line",
        ),
        (
            format!("{POINTS}0 0 0\n1 0 1\n3 0 2\n"),
            "6:1: expected cities from 1 to 3, or all from 0 to 2, found 3",
        ),
        (
            format!("{POINTS}3 0 0\n1 0 1\n0 0 2\n"),
            "6:1: expected cities from 1 to 3, or all from 0 to 2, found 0",
        ),
        (
            format!("{POINTS}1 0 0\n2 0 1\n3 0 2\nDISPLAY_DATA_SECTION\n0 0 0\n1 0 1\n2 0 2\n"),
            "8:1: expected cities from 1, as in the other section, found 0",
        ),
        (
            format!("{POINTS}1 0 0\n2 1e30 0\n3 0 0\n"),
            "5:1: expected a city within 67108863 of that in line 4, found one at 1000000000000000000000000000000",
        ),
        (
            format!("{POINTS}1 0 0\n2 0 0\n3 0"),
            "6:4: expected a coordinate, found the end of the line",
        ),
        (
            format!("{POINTS}1 0 0\n2 0 0\n"),
            "6:1: expected a city from 1 to 3 that has no coordinates yet, found the end of the file",
        ),
        (
            format!("{POINTS}1 0 0\n2 0 0\n-1\n"),
            "6:1: expected a city from 1 to 3 that has no coordinates yet, found -1",
        ),
        (
            format!("{POINTS}1 0 0\n2 0 0\n3 0 0\n4 0 0\nEOF\n"),
            "7:1: expected a keyword of TSPLIB, a section or EOF, found 4",
        ),
        (
            format!("{square}0 1 2\n1 0 3\n2 4 0\n"),
            "7:3: expected 3, the weight in the other direction, found 4",
        ),
        (
            format!("{square}0 1 -2\n"),
            "5:5: expected a whole weight from 0 to 67108863, found -2",
        ),
        (
            format!("{square}0 1 2.5\n"),
            "5:5: expected a whole weight from 0 to 67108863, found 2.5",
        ),
        (
            format!("{square}0 1 2\n1 0 3\n2 3 x\n"),
            "7:5: expected a weight, found x",
        ),
        (
            format!("{square}0 1 2\n1 0 3\n2 3\nEOF\n"),
            "8:1: expected a weight, found EOF",
        ),
        (
            "DIMENSION: 2\nEDGE_WEIGHT_TYPE: GEO\nEOF\n".to_owned(),
            "3:1: expected NODE_COORD_SECTION first, found EOF",
        ),
        (
            String::new(),
            "1:1: expected DIMENSION first, found the end of the file",
        ),
        (
            format!("{POINTS}1 0 0\n2 0 0\n3 0 0\nEDGE_WEIGHT_SECTION\n"),
            "7:1: expected EDGE_WEIGHT_TYPE: EXPLICIT before this section, found EDGE_WEIGHT_SECTION",
        ),
    ] {
        assert_eq!(read(&text), Err(format!("x.tsp:{expected}")), "{text}");
    }
    let latin = [POINTS.as_bytes(), b"1 0 0\n2 0 \xb5\n"].concat();
    assert!(
        read(latin)
            .unwrap_err()
            .starts_with("x.tsp:5:5: byte 0xB5: not UTF-8")
    );
    let wide: Vec<u8> = POINTS.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(
        read(wide),
        Err("x.tsp: UTF-16: convert it by `iconv -f UTF-16 -t UTF-8`".to_owned())
    );
}

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

/// What a file of the corpus says, after mutations that a reader may accept: a second reader, which checks less and
/// counts words. It computes as the specification's text does.
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

/// Reads mutated files: each is refused, or read as the second reader does. Returns how many were read.
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
