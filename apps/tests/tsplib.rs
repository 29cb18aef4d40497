//! Files of TSPLIB: every form of the specification, forms that other programs write, and refusals.

mod tsplib_read;

use tautline_cli::tsp::held_karp;
use tsplib_read::{distances, instance, read};

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

/// Each metric: the distances of the cities (0, 0, 0), (0, 3.4, 1), (4, 3, 0), (10.3, 0, -7), rows
/// of the lower triangle, by the formulas of the specification on paper.
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

/// The kinds of files and sections that are not symmetric problems, and contradictions between
/// parts of a file.
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
