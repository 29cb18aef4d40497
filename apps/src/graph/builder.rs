//! A graph as a reader collects it.

use super::decimal::{DIGITS, Decimal};
use super::{Listed, Options};
use crate::text::Text;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use tautline::FileError;

/// The direction of an edge in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ways {
    /// Not stated: the options decide.
    Unsaid,
    /// From the first vertex to the second.
    One,
    /// Either way.
    Both,
}

/// Vertices, edges and lengths read so far.
pub(super) struct Builder<'a> {
    text: &'a Text,
    options: Options,
    names: Vec<Cow<'a, str>>,
    /// The numbers of the vertices that are found by name.
    numbers: HashMap<Cow<'a, str>, u32>,
    /// The texts by which vertices are shown, by vertex; shorter if the last ones have none.
    labels: Vec<Cow<'a, str>>,
    edges: Vec<(u32, u32)>,
    /// The length of each edge, and its place in the text; empty unless lengths are requested.
    lengths: Vec<(Decimal, usize)>,
    entries: usize,
    arcs: usize,
}

impl<'a> Builder<'a> {
    pub(super) fn new(text: &'a Text, options: &Options) -> Self {
        Self {
            text,
            options: *options,
            names: Vec::new(),
            numbers: HashMap::new(),
            labels: Vec::new(),
            edges: Vec::new(),
            lengths: Vec::new(),
            entries: 0,
            arcs: 0,
        }
    }

    /// Returns the number of edges in the file so far.
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// Returns the number of the vertex with this name, which need not have occurred.
    pub(super) fn vertex(&mut self, name: impl Into<Cow<'a, str>>) -> u32 {
        let name = name.into();
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            self.names.len() as u32 - 1
        })
    }

    /// Returns the number of the vertex with this name, if it has occurred.
    pub(super) fn known(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// Adds vertices that are found by number, not by name.
    pub(super) fn number(&mut self, names: impl IntoIterator<Item = usize>) {
        let names = names.into_iter().map(|name| name.to_string().into());
        self.names.extend(names);
    }

    /// Sets the text by which a vertex is shown, if each has one of its own.
    pub(super) fn label(&mut self, vertex: u32, label: impl Into<Cow<'a, str>>) {
        let vertex = vertex as usize;
        if self.labels.len() <= vertex {
            self.labels.resize(vertex + 1, Cow::Borrowed(""));
        }
        self.labels[vertex] = label.into();
    }

    /// Whether every vertex has a label, and each another.
    fn has_labels(&self) -> bool {
        let mut seen = HashSet::new();
        let mut labels = self.labels.iter();
        self.labels.len() == self.names.len()
            && !self.labels.is_empty()
            && labels.all(|label| !label.is_empty() && seen.insert(label))
    }

    /// Adds an edge. `length` is a part of the text; `place`, where a missing one is reported.
    pub(super) fn edge(
        &mut self,
        (from, to): (u32, u32),
        length: Option<&str>,
        ways: Ways,
        place: &str,
    ) -> Result<(), FileError> {
        let is_doubled = self.options.is_directed && ways == Ways::Both;
        self.entries += 1;
        self.arcs += usize::from(ways == Ways::One);
        self.edges.push((from, to));
        if is_doubled {
            self.edges.push((to, from));
        }
        if self.options.is_weighted {
            let Some(length) = length else {
                let message = "no length: with --weighted every edge has one";
                return Err(self.text.error(place, message));
            };
            let decimal = Decimal::parse(length).ok_or_else(|| {
                let message = format!(
                    "length {length}: a decimal number above 0, of at most {DIGITS} digits"
                );
                self.text.error(length, message)
            })?;
            let length = (decimal, self.text.place(length));
            self.lengths.push(length);
            if is_doubled {
                self.lengths.push(length);
            }
        }
        Ok(())
    }

    /// Returns the graph; `read_as` describes the format.
    pub(super) fn listed(self, mut read_as: String) -> Result<Listed, FileError> {
        let unit = self
            .lengths
            .iter()
            .map(|(length, _)| length.exponent())
            .min();
        let unit = unit.unwrap_or(0);
        let most = u128::MAX / self.names.len().max(1) as u128;
        let mut lengths = Vec::with_capacity(self.lengths.len());
        for (length, at) in &self.lengths {
            match length.scaled(unit).filter(|length| *length <= most) {
                Some(length) => lengths.push(length),
                None => {
                    let digits = most.ilog10();
                    let message = format!(
                        "too long: sums are exact, with at most {digits} digits from the longest edge to 10^{unit}, \
                         the last decimal of all lengths"
                    );
                    return Err(self.text.error_at(*at, message));
                }
            }
        }
        let are_labels = self.has_labels();
        if self.arcs > 0 && !self.options.is_directed {
            read_as.push_str(", directions not used (--directed)");
        }
        drop(self.numbers);
        let names = match are_labels {
            true => self.labels,
            false => self.names,
        };
        Ok(Listed {
            names: names.into_iter().map(Cow::into_owned).collect(),
            edges: self.edges,
            lengths: self.options.is_weighted.then_some(lengths),
            entries: self.entries,
            is_directed: self.options.is_directed,
            read_as,
        })
    }
}
