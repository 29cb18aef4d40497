//! Sections of data.

use super::format::Format;
use super::metric::{Metric, Point};
use super::words::{Word, Words};
use super::{Draft, Weights, known};
use crate::tsp::fixed::FixedError;
use crate::tsp::instance::Instance;
use std::collections::BTreeMap;
use tautline::FileError;

/// The places of all cities, by their numbers in the file: from 0 or from 1 without a gap.
#[derive(Debug)]
pub(super) struct Cities<'a>(BTreeMap<usize, (Word<'a>, Point)>);

/// The ends of an edge, as numbered in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge<'a>([(Word<'a>, usize); 2]);

impl<'a> Draft<'a> {
    pub(super) fn node_coord_section(
        &mut self,
        head: &Word<'a>,
        words: &mut Words<'a>,
    ) -> Result<(), FileError> {
        let (kind, weights, axes) = known(self.weights, "EDGE_WEIGHT_TYPE", head)?;
        let axes = match (weights, self.axes) {
            (Weights::Computed(_), Some((word, declared))) if declared != axes => {
                let kind = kind.capital();
                return word.expected(format!("cities with {axes} coordinates, as {kind} has"));
            }
            (Weights::Computed(_), _) => axes,
            (_, declared) => declared.map_or(2, |(_, axes)| axes),
        };
        self.coordinates = Some(self.cities_of(head, words, axes)?);
        Ok(())
    }

    /// Reads the number and the coordinates of each city, a line each.
    pub(super) fn cities_of(
        &self,
        head: &Word<'a>,
        words: &mut Words<'a>,
        axes: usize,
    ) -> Result<Cities<'a>, FileError> {
        let cities = known(self.cities, "DIMENSION", head)?;
        let mut all = BTreeMap::new();
        for _ in 0..cities {
            let number = words.word();
            let expected = format!("a city from 1 to {cities} that has no coordinates yet");
            let city = number.whole(&expected, cities as u32)?;
            let mut point = [0.0; 3];
            for coordinate in &mut point[..axes] {
                *coordinate = words.word_of_line().real("a coordinate", |_| true)?;
            }
            let rest = words.word_of_line();
            if !rest.text.is_empty() {
                return rest.expected(format!("{axes} coordinates a line"));
            }
            if all.insert(city, (number, point)).is_some() {
                return number.expected(expected);
            }
        }
        if let (Some((low, _)), Some((high, _))) = (all.get(&0), all.get(&cities)) {
            let later = if low.line() > high.line() { low } else { high };
            let last = cities - 1;
            return later.expected(format!(
                "cities from 1 to {cities}, or all from 0 to {last}"
            ));
        }
        skip_end(words);
        Ok(Cities(all))
    }

    pub(super) fn edge_weight_section(
        &mut self,
        head: &Word<'a>,
        words: &mut Words<'a>,
    ) -> Result<(), FileError> {
        let cities = known(self.cities, "DIMENSION", head)?;
        let (_, weights, _) = known(self.weights, "EDGE_WEIGHT_TYPE", head)?;
        if weights != Weights::Explicit {
            return head.expected("EDGE_WEIGHT_TYPE: EXPLICIT before this section");
        }
        let (word, format) = known(self.format, "EDGE_WEIGHT_FORMAT", head)?;
        let Some(format) = format else {
            return word.expected("a format of a matrix, as EXPLICIT weights have");
        };
        let mut matrix = vec![0; cities * cities];
        for row in 0..cities {
            for column in format.columns(row, cities) {
                let word = words.word();
                if row == column {
                    // Written as 0 or as a huge value; it is not used.
                    if word.text.parse::<f64>().is_err() {
                        return word.expected("a weight");
                    }
                    continue;
                }
                let most = Instance::DISTANCE_MAX;
                let weight = word.whole(format_args!("a whole weight from 0 to {most}"), most)?;
                let weight = weight as u64;
                let back = matrix[row * cities + column];
                if format == Format::Full && column < row && weight != back {
                    return word.expected(format!("{back}, the weight in the other direction"));
                }
                matrix[row * cities + column] = weight;
                matrix[column * cities + row] = weight;
            }
        }
        skip_end(words);
        self.matrix = Some(matrix);
        Ok(())
    }

    pub(super) fn fixed_edges_section(
        &mut self,
        head: &Word<'a>,
        words: &mut Words<'a>,
    ) -> Result<(), FileError> {
        let cities = known(self.cities, "DIMENSION", head)?;
        loop {
            let next = words.peek();
            let is_keyword = next.text.starts_with(|c: char| c.is_ascii_alphabetic());
            if skip_end(words) || next.text.is_empty() || is_keyword {
                return Ok(());
            }
            let mut end = || {
                let word = words.word();
                let expected = format!("a city from 1 to {cities}, or -1 after the edges");
                word.whole(expected, cities as u32).map(|city| (word, city))
            };
            self.fixed.push(Edge([end()?, end()?]));
        }
    }
}

/// Reads the end of a section, which only some programs write.
fn skip_end(words: &mut Words<'_>) -> bool {
    let is_end = words.peek().text == "-1";
    if is_end {
        words.word();
    }
    is_end
}

impl Cities<'_> {
    pub(super) fn points(&self) -> impl Iterator<Item = Point> {
        self.0.values().map(|(_, point)| *point)
    }

    /// Returns the distances, row by row.
    pub(super) fn distances(&self, metric: Metric) -> Result<Vec<u64>, FileError> {
        let most = f64::from(Instance::DISTANCE_MAX);
        let cities: Vec<_> = self.0.values().collect();
        let mut distances = vec![0; cities.len() * cities.len()];
        for (a, (word, from)) in cities.iter().enumerate() {
            for (b, (other, to)) in cities[..a].iter().enumerate() {
                let distance = metric.distance(*from, *to);
                if !(0.0..=most).contains(&distance) {
                    let (line, other) = (word.line(), other.line());
                    let (first, later) = (line.min(other), if line > other { a } else { b });
                    let expected = format!("a city within {most} of that in line {first}");
                    let (later, _) = cities[later];
                    return later.found(expected, format_args!("one at {distance}"));
                }
                distances[a * cities.len() + b] = distance as u64;
                distances[b * cities.len() + a] = distance as u64;
            }
        }
        Ok(distances)
    }
}

/// Returns the number of the first city, the same in all sections.
pub(super) fn first<'a>(
    mut sections: impl Iterator<Item = &'a Cities<'a>>,
    fixed: &[Edge<'_>],
) -> Result<usize, FileError> {
    let first_of = |cities: &Cities<'_>| cities.0.keys().next().copied();
    let Some(first) = sections.next().and_then(first_of) else {
        // No section numbers all cities.
        let mut ends = fixed.iter().flat_map(|edge| edge.0);
        return Ok(usize::from(!ends.any(|(_, city)| city == 0)));
    };
    for cities in sections {
        if let Some((other, (word, _))) = cities.0.iter().next() {
            if *other != first {
                return word.expected(format!("cities from {first}, as in the other section"));
            }
        }
    }
    Ok(first)
}

impl Edge<'_> {
    /// Requires the edge of all tours.
    pub(super) fn fix(&self, instance: &mut Instance, first: usize) -> Result<(), FileError> {
        let last = instance.cities() + first;
        for (word, city) in self.0 {
            if !(first..last).contains(&city) {
                return word.expected(format!("a city from {first} to {}", last - 1));
            }
        }
        let [(_, from), (word, to)] = self.0;
        let fixed = instance.fix(from - first, to - first);
        fixed.or_else(|error| {
            let why = match error {
                FixedError::Third(city) => FixedError::Third(city + first),
                other => other,
            };
            word.refused(format!("edge {from} {to}: {why}"))
        })
    }
}
