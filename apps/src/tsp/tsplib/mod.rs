//! Files of the library TSPLIB 95 (Reinelt 1991, 1995): symmetric travelling salesman problems.
//!
//! Read are files of `TYPE: TSP` with every `EDGE_WEIGHT_TYPE` but `SPECIAL`, whose distances a
//! program computes, and every `EDGE_WEIGHT_FORMAT`; a full matrix must be symmetric. Tours contain
//! the edges of `FIXED_EDGES_SECTION`; `DISPLAY_DATA_SECTION` is for pictures. Weights are whole
//! numbers. Of the other sections (`DEPOT_SECTION`, `DEMAND_SECTION`, `EDGE_DATA_SECTION`,
//! `TOUR_SECTION`) and types (`ATSP`, `SOP`, `HCP`, `CVRP`, `TOUR`) each is refused by name.
//!
//! As other programs write them: keywords and their values in small letters, with or without a
//! blank before the colon; cities numbered from 0; `-1` at the end of a section; no `NAME`, no
//! `EOF`; keywords of their own, with a colon and a value, which are ignored and listed in
//! [`Contents::ignored`].

mod format;
mod metric;
mod sections;
mod words;

use super::instance::Instance;
use crate::text::Input;
use format::Format;
use metric::Metric;
use sections::{Cities, Edge};
use tautline::FileError;
use words::{Word, Words};

/// The published optima of the library's instances of up to 100 cities.
#[rustfmt::skip] // A table.
pub const OPTIMA: &[(&str, usize)] = &[
    ("burma14", 3323), ("ulysses16", 6859), ("gr17", 2085), ("gr21", 2707), ("ulysses22", 7013),
    ("gr24", 1272), ("fri26", 937), ("bayg29", 1610), ("bays29", 2020), ("dantzig42", 699),
    ("swiss42", 1273), ("att48", 10628), ("gr48", 5046), ("hk48", 11461), ("eil51", 426),
    ("berlin52", 7542), ("brazil58", 25395), ("st70", 675), ("eil76", 538), ("pr76", 108_159),
    ("gr96", 55209), ("rat99", 1211), ("kroA100", 21282), ("kroB100", 22141), ("kroC100", 20749),
    ("kroD100", 21294), ("kroE100", 22068), ("rd100", 7910),
];

/// Returns the published optimum of the instance of this name, if it is in [`OPTIMA`].
pub fn optimum(name: &str) -> Option<usize> {
    let name = name.strip_suffix(".tsp").unwrap_or(name);
    let known = OPTIMA.iter().find(|(known, _)| *known == name);
    known.map(|(_, length)| *length)
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// The cities. The name is empty if the file has none.
    pub instance: Instance,
    /// The form in which the file gives distances, in its words: `EUC_2D`, `EXPLICIT UPPER_ROW`.
    pub form: String,
    /// The number of the first city in the file, 0 or 1.
    pub first: usize,
    /// Keywords that the format does not define: they were ignored.
    pub ignored: Vec<String>,
}

/// The origin of weights; `Explicit` ones are in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Weights {
    Explicit,
    Computed(Metric),
    Special,
}

/// The part that has been read so far.
#[derive(Debug, Default)]
struct Draft<'a> {
    /// Keywords, in capital letters: each may occur once.
    seen: Vec<String>,
    ignored: Vec<String>,
    name: &'a str,
    cities: Option<usize>,
    /// With the number of coordinates of a city.
    weights: Option<(Word<'a>, Weights, usize)>,
    format: Option<(Word<'a>, Option<Format>)>,
    /// The number of coordinates, as declared.
    axes: Option<(Word<'a>, usize)>,
    coordinates: Option<Cities<'a>>,
    display: Option<Cities<'a>>,
    /// Row by row.
    matrix: Option<Vec<u64>>,
    fixed: Vec<Edge<'a>>,
}

/// Types of problems that are not read.
const OTHER_TYPES: [(&str, &str); 6] = [
    ("ATSP", "an asymmetric travelling salesman problem"),
    ("SOP", "a sequential ordering problem"),
    ("HCP", "a Hamiltonian cycle problem"),
    ("HPP", "a Hamiltonian path problem"),
    ("CVRP", "a vehicle routing problem"),
    ("TOUR", "a tour, not a problem"),
];

/// Sections that are not of a symmetric travelling salesman problem.
const OTHER_SECTIONS: [(&str, &str); 4] = [
    ("DEPOT_SECTION", "of vehicle routing problems"),
    ("DEMAND_SECTION", "of vehicle routing problems"),
    ("EDGE_DATA_SECTION", "of graphs that are not complete"),
    ("TOUR_SECTION", "of files of TYPE: TOUR"),
];

const SECTIONS: &str =
    "NODE_COORD_SECTION EDGE_WEIGHT_SECTION FIXED_EDGES_SECTION DISPLAY_DATA_SECTION";

/// Reads a file.
///
/// # Errors
/// The first mistake, with file, line and column.
///
/// ```
/// use tautline_cli::text::Input;
/// use tautline_cli::tsp::tsplib;
///
/// let file = b"type : tsp\ndimension : 3\nedge_weight_type : EUC_2D\nnode_coord_section\n0 0 0\n1 0 3\n2 4 0\n";
/// let contents = tsplib::read(Input::new("three.tsp", file)?)?;
/// assert_eq!(contents.instance.length(&[0, 1, 2]), 3 + 5 + 4);
///
/// let error = tsplib::read(Input::new("a.tsp", b"TYPE: ATSP\n")?).unwrap_err();
/// assert_eq!(error.to_string(), "a.tsp:1:7: expected TSP, found ATSP, an asymmetric travelling salesman problem");
/// # Ok::<(), tautline::FileError>(())
/// ```
pub fn read(input: Input) -> Result<Contents, FileError> {
    let text = input.into_text(is_free)?;
    let mut words = Words::new(&text);
    let mut draft = Draft::default();
    loop {
        let (keyword, is_colon) = words.keyword();
        match &*keyword.capital() {
            "" | "EOF" => return draft.finish(&keyword),
            key => draft.entry(key, keyword, is_colon, &mut words)?,
        }
    }
}

/// Whether a line is prose: it may be in any encoding.
fn is_free(line: &str) -> bool {
    let keyword = line.split([':', ' ', '\t']).find(|word| !word.is_empty());
    let free = ["COMMENT", "NAME", "TYPE"];
    keyword.is_some_and(|keyword| free.iter().any(|free| keyword.eq_ignore_ascii_case(free)))
}

impl<'a> Draft<'a> {
    fn entry(
        &mut self,
        key: &str,
        keyword: Word<'a>,
        is_colon: bool,
        words: &mut Words<'a>,
    ) -> Result<(), FileError> {
        if key == "COMMENT" {
            words.value();
            return Ok(());
        }
        if self.seen.iter().any(|seen| seen == key) {
            return keyword.expected(format!("{key} only once"));
        }
        if let Some((_, of)) = OTHER_SECTIONS.iter().find(|(name, _)| *name == key) {
            return keyword.found(format!("one of {SECTIONS}"), format!("{key}, {of}"));
        }
        match key {
            "NODE_COORD_SECTION" => self.node_coord_section(&keyword, words)?,
            "EDGE_WEIGHT_SECTION" => self.edge_weight_section(&keyword, words)?,
            "FIXED_EDGES_SECTION" => self.fixed_edges_section(&keyword, words)?,
            "DISPLAY_DATA_SECTION" => {
                self.display = Some(self.cities_of(&keyword, words, 2)?);
            }
            _ => {
                let is_known = self.specification(key, words)?;
                let is_keyword = is_colon && key.starts_with(|c: char| c.is_ascii_alphabetic());
                if !is_known && (!is_keyword || key.ends_with("_SECTION")) {
                    return keyword.expected("a keyword of TSPLIB, a section or EOF");
                }
                if !is_known {
                    self.ignored.push(keyword.text.to_owned());
                    words.value();
                    return Ok(());
                }
            }
        }
        self.seen.push(key.to_owned());
        Ok(())
    }

    /// Reads the value of a keyword. Returns false if the format does not define it.
    fn specification(&mut self, key: &str, words: &mut Words<'a>) -> Result<bool, FileError> {
        // Reading is undone for an unknown keyword: its value is not read.
        let before = *words;
        let value = words.value();
        match key {
            "NAME" => self.name = value.text,
            "TYPE" => is_symmetric(&value)?,
            "DIMENSION" => {
                let most = Instance::CITIES_MAX;
                let expected = format!("a number of cities, at most {most}");
                self.cities = Some(value.whole(expected, most as u32)?);
            }
            "EDGE_WEIGHT_TYPE" => {
                let computed = |(name, (metric, axes))| (name, (Weights::Computed(metric), axes));
                let metrics = Metric::NAMES.map(computed);
                let others = [
                    ("EXPLICIT", (Weights::Explicit, 0)),
                    ("SPECIAL", (Weights::Special, 0)),
                ];
                let (weights, axes) = value.one_of(&[&metrics[..], &others].concat())?;
                if weights == Weights::Special {
                    let found = "SPECIAL: distances that a program computes";
                    return value.found("distances that the format defines", found);
                }
                self.weights = Some((value, weights, axes));
            }
            "EDGE_WEIGHT_FORMAT" => {
                let written = Format::NAMES.map(|(name, format)| (name, Some(format)));
                let names = [&written[..], &[("FUNCTION", None)]].concat();
                self.format = Some((value, value.one_of(&names)?));
            }
            "NODE_COORD_TYPE" => {
                let names = [
                    ("TWOD_COORDS", Some(2)),
                    ("THREED_COORDS", Some(3)),
                    ("NO_COORDS", None),
                ];
                self.axes = value.one_of(&names)?.map(|axes| (value, axes));
            }
            // Of no account for a complete graph, and for tours.
            "EDGE_DATA_FORMAT" | "DISPLAY_DATA_TYPE" => {}
            _ => {
                *words = before;
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn finish(self, end: &Word<'_>) -> Result<Contents, FileError> {
        let cities = known(self.cities, "DIMENSION", end)?;
        let (word, weights, _) = known(self.weights, "EDGE_WEIGHT_TYPE", end)?;
        let mut form = word.capital();
        let distances = match weights {
            Weights::Computed(metric) => {
                known(self.coordinates.as_ref(), "NODE_COORD_SECTION", end)?.distances(metric)?
            }
            _ => known(self.matrix, "EDGE_WEIGHT_SECTION", end)?,
        };
        if let (Weights::Explicit, Some((format, _))) = (weights, self.format) {
            form = format!("{form} {}", format.capital());
        }
        let numbered = [&self.coordinates, &self.display].map(Option::as_ref);
        let first = sections::first(numbered.into_iter().flatten(), &self.fixed)?;
        let instance = Instance::new(self.name, cities, |a, b| distances[a * cities + b]);
        let mut instance = instance.or_else(|error| end.expected(error))?;
        for edge in &self.fixed {
            edge.fix(&mut instance, first)?;
        }
        let on_map = |place| match weights {
            Weights::Computed(metric) => metric.on_map(place),
            _ => Metric::Euclid.on_map(place),
        };
        let map = match (self.display, self.coordinates) {
            (Some(display), _) => Some(display.points().map(|[x, y, _]| [x, y]).collect()),
            (None, Some(cities)) => Some(cities.points().map(on_map).collect()),
            (None, None) => None,
        };
        if let Some(places) = map {
            instance = instance.on_map(places);
        }
        Ok(Contents {
            instance,
            form,
            first,
            ignored: self.ignored,
        })
    }
}

/// Checks the type of the problem. Some files of the library name their author after it.
fn is_symmetric(value: &Word<'_>) -> Result<(), FileError> {
    let kind = value.text.split_whitespace().next().unwrap_or_default();
    if kind.eq_ignore_ascii_case("TSP") {
        return Ok(());
    }
    match OTHER_TYPES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(kind))
    {
        Some((name, what)) => value.found("TSP", format!("{name}, {what}")),
        None => value.expected("TSP"),
    }
}

/// Returns the value of `keyword`, which must precede `here`.
fn known<T>(value: Option<T>, keyword: &str, here: &Word<'_>) -> Result<T, FileError> {
    value.map_or_else(|| here.expected(format!("{keyword} first")), Ok)
}
