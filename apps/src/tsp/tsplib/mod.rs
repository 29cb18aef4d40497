//! Files of the library TSPLIB 95 (Reinelt 1991): the parts that round trips require.
//!
//! Supported are `NAME`, `COMMENT`, `TYPE: TSP`, `DIMENSION`, `EDGE_WEIGHT_TYPE` (EUC_2D CEIL_2D MAN_2D
//! MAX_2D ATT GEO EXPLICIT), `EDGE_WEIGHT_FORMAT` (FULL_MATRIX, which must be symmetric, UPPER_ROW
//! LOWER_ROW UPPER_DIAG_ROW LOWER_DIAG_ROW), `NODE_COORD_SECTION`, `EDGE_WEIGHT_SECTION`, `DISPLAY_DATA_SECTION` and `EOF`. Every other type (ATSP, SOP, CVRP, ...) is refused. Weights are integers.

mod metric;
mod text;

use super::instance::Instance;
use metric::Metric;
use std::borrow::Cow;
use std::collections::BTreeMap;
use text::{END, Text, Word};
use thiserror::Error;

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

/// A malformed file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: expected {expected}, found {found}")]
pub struct TsplibError {
    /// The line, from 1.
    pub line: usize,
    /// The character of the line, from 1.
    pub column: usize,
    /// What is allowed.
    pub expected: Cow<'static, str>,
    /// What was found.
    pub found: String,
}

/// Which weights of the matrix are present, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Full,
    Upper,
    Lower,
    UpperDiagonal,
    LowerDiagonal,
}

impl Format {
    const NAMES: [(&'static str, Self); 5] = [
        ("FULL_MATRIX", Self::Full),
        ("UPPER_ROW", Self::Upper),
        ("LOWER_ROW", Self::Lower),
        ("UPPER_DIAG_ROW", Self::UpperDiagonal),
        ("LOWER_DIAG_ROW", Self::LowerDiagonal),
    ];

    fn columns(self, row: usize, cities: usize) -> std::ops::Range<usize> {
        match self {
            Self::Full => 0..cities,
            Self::Upper => row + 1..cities,
            Self::Lower => 0..row,
            Self::UpperDiagonal => row..cities,
            Self::LowerDiagonal => 0..row + 1,
        }
    }
}

/// The origin of weights; `Explicit` ones are in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weights {
    Explicit,
    Computed(Metric),
}

/// What has been read so far.
#[derive(Debug, Default)]
struct Draft {
    name: String,
    cities: Option<usize>,
    weights: Option<Weights>,
    format: Option<Format>,
    /// Row by row, once they are known.
    distances: Option<Vec<u64>>,
    /// For pictures.
    places: Option<Vec<[f64; 2]>>,
}

/// Parses the text of a file.
///
/// # Errors
/// The first malformed part of the text.
pub fn read(text: &str) -> Result<Instance, TsplibError> {
    let mut text = Text::new(text);
    let mut draft = Draft::default();
    loop {
        let keyword = text.keyword();
        if keyword.text == "EOF" || keyword.text == END {
            return draft.finish(&keyword);
        }
        draft.entry(&keyword, &mut text)?;
    }
}

impl Draft {
    fn entry(&mut self, keyword: &Word<'_>, text: &mut Text<'_>) -> Result<(), TsplibError> {
        match keyword.text {
            "NAME" => self.name = text.value().text.to_owned(),
            "COMMENT" | "DISPLAY_DATA_TYPE" => {
                text.value();
            }
            "TYPE" => {
                let value = text.value();
                // Some files of the library name their author after the type.
                if value.text.split_whitespace().next() != Some("TSP") {
                    return value.expected("TSP");
                }
            }
            "NODE_COORD_TYPE" => {
                one_of(&text.value(), &[("TWOD_COORDS", ()), ("NO_COORDS", ())])?;
            }
            "DIMENSION" => {
                let most = Instance::CITIES_MAX;
                let expected = format!("a number of cities, at most {most}");
                let value = text.value();
                self.cities = Some(value.number(expected, |cities| *cities <= most)?);
            }
            "EDGE_WEIGHT_TYPE" => {
                let metrics = Metric::NAMES.map(|(name, m)| (name, Weights::Computed(m)));
                let names = [&metrics[..], &[("EXPLICIT", Weights::Explicit)]].concat();
                self.weights = Some(one_of(&text.value(), &names)?);
            }
            "EDGE_WEIGHT_FORMAT" => {
                let computed = ("FUNCTION", None);
                let written = Format::NAMES.map(|(name, format)| (name, Some(format)));
                let names = [&written[..], &[computed]].concat();
                self.format = one_of(&text.value(), &names)?;
            }
            "NODE_COORD_SECTION" => self.coordinates(keyword, text)?,
            "EDGE_WEIGHT_SECTION" => self.matrix(keyword, text)?,
            "DISPLAY_DATA_SECTION" => {
                let places = self.places_of(keyword, text)?;
                self.places = Some(places.values().map(|(_, place)| *place).collect());
            }
            _ => return keyword.expected("a keyword of TSPLIB, a section or EOF"),
        }
        Ok(())
    }

    /// Reads the number and the place of each city.
    fn places_of<'a>(
        &self,
        head: &Word<'_>,
        text: &mut Text<'a>,
    ) -> Result<BTreeMap<usize, (Word<'a>, [f64; 2])>, TsplibError> {
        let cities = known(self.cities, "DIMENSION", head)?;
        let mut places: BTreeMap<usize, (Word<'_>, [f64; 2])> = BTreeMap::new();
        for _ in 0..cities {
            let number = text.word();
            let fits =
                |city: &usize| (1..=cities).contains(city) && !places.contains_key(&(city - 1));
            let expected = format!("a city from 1 to {cities} that has no coordinates yet");
            let city = number.number(expected, fits)? - 1;
            let mut coordinate = || {
                let word = text.word();
                word.number("a coordinate", |x: &f64| x.is_finite())
            };
            let place = [coordinate()?, coordinate()?];
            places.insert(city, (number, place));
        }
        Ok(places)
    }

    fn coordinates(&mut self, head: &Word<'_>, text: &mut Text<'_>) -> Result<(), TsplibError> {
        let places = self.places_of(head, text)?;
        let weights = known(self.weights, "EDGE_WEIGHT_TYPE", head)?;
        let cities = places.len();
        let Weights::Computed(metric) = weights else {
            return Ok(());
        };
        let map = places.values().map(|(_, place)| metric.on_map(*place));
        self.places.get_or_insert(map.collect());
        let most = f64::from(Instance::DISTANCE_MAX);
        let mut distances = Vec::with_capacity(cities * cities);
        for (word, from) in places.values() {
            for (other, to) in places.values() {
                let distance = metric.distance(*from, *to);
                if !(0.0..=most).contains(&distance) {
                    let expected = format!(
                        "a city within {most} of that in line {}",
                        other.line.min(word.line)
                    );
                    let found = format!("one at {distance}");
                    let later = if other.line > word.line { other } else { word };
                    return Word {
                        text: &found,
                        ..*later
                    }
                    .expected(expected);
                }
                distances.push(distance as u64);
            }
        }
        self.distances = Some(distances);
        Ok(())
    }

    fn matrix(&mut self, head: &Word<'_>, text: &mut Text<'_>) -> Result<(), TsplibError> {
        let cities = known(self.cities, "DIMENSION", head)?;
        if known(self.weights, "EDGE_WEIGHT_TYPE", head)? != Weights::Explicit {
            return head.expected("EDGE_WEIGHT_TYPE: EXPLICIT before this section");
        }
        let format = known(self.format, "EDGE_WEIGHT_FORMAT", head)?;
        let mut distances = vec![0; cities * cities];
        for row in 0..cities {
            for column in format.columns(row, cities) {
                let word = text.word();
                if row == column {
                    // Written as 0 or as a huge value; it is not used.
                    word.number::<f64>("a weight", |_| true)?;
                    continue;
                }
                let most = Instance::DISTANCE_MAX;
                let expected = format!("a whole weight from 0 to {most}");
                let weight = word.number(expected, |weight| *weight <= u64::from(most))?;
                let back = distances[row * cities + column];
                if format == Format::Full && column < row && weight != back {
                    return word.expected(format!("{back}, the weight in the other direction"));
                }
                distances[row * cities + column] = weight;
                distances[column * cities + row] = weight;
            }
        }
        self.distances = Some(distances);
        Ok(())
    }

    fn finish(self, end: &Word<'_>) -> Result<Instance, TsplibError> {
        let cities = known(self.cities, "DIMENSION", end)?;
        let section = match known(self.weights, "EDGE_WEIGHT_TYPE", end)? {
            Weights::Explicit => "EDGE_WEIGHT_SECTION",
            Weights::Computed(_) => "NODE_COORD_SECTION",
        };
        let distances = known(self.distances, section, end)?;
        let places = self.places;
        let made = Instance::new(self.name, cities, |a, b| distances[a * cities + b]);
        let made = made.map(|made| match places {
            Some(places) => made.on_map(places),
            None => made,
        });
        made.or_else(|error| end.expected(error.to_string()))
    }
}

/// Returns the value of `keyword`, which must precede `here`.
fn known<T>(value: Option<T>, keyword: &str, here: &Word<'_>) -> Result<T, TsplibError> {
    value.map_or_else(|| here.expected(format!("{keyword} first")), Ok)
}

fn one_of<T: Copy>(word: &Word<'_>, names: &[(&str, T)]) -> Result<T, TsplibError> {
    let found = names.iter().find(|(name, _)| *name == word.text);
    found.map_or_else(
        || {
            let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
            word.expected(format!("one of {}", names.join(" ")))
        },
        |(_, value)| Ok(*value),
    )
}
