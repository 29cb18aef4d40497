//! The rows of a table: their measurements, peers and bounds.

use super::Suite;
use crate::machine::version_of;
use crate::programs::{Program, command, measurement, numbers};

/// A row of the table of a program with options `O`.
pub struct Row<O: 'static> {
    /// Its name, that of its measurement, and after `TABLE/` that of its peers.
    pub name: &'static str,
    /// Its text in the table.
    pub what: &'static str,
    /// Its name beside another row that it bounds.
    pub short: &'static str,
    /// The unit of its figures; rates end with `/s`.
    pub unit: &'static str,
    /// The number of ranks, and of processors of each.
    pub ranks: [u32; 2],
    /// Ours first, unless the row has figures of others alone.
    pub ways: &'static [Way<O>],
    /// Returns the option on which the size of the row depends.
    pub size: Option<fn(&O) -> u32>,
    /// The bounds of our figure.
    pub bounds: &'static [Bound],
}

/// A contender that this program measures, by its name or that of its crate, and the measurement:
/// it returns the figure at rank 0.
pub type Way<O> = (&'static str, fn(&O) -> Option<f64>);

/// A limit of our figure.
pub enum Bound {
    /// At most this.
    Value(f64),
    /// At most this multiple of our figure of another row of the same size.
    Most(f64, &'static str),
    /// At least this multiple of our figure of another row of the same size.
    Least(f64, &'static str),
    /// At most this multiple of the figure of a peer in the named row.
    MostOf(f64, &'static str, &'static str),
    /// At least this multiple of the figure of a peer in the same row.
    LeastOf(f64, &'static str),
}

/// The figure that a bound is a multiple of.
pub(super) enum Of {
    Nothing,
    /// Ours of this row.
    Ours(&'static str),
    /// The figure of a peer, in the named row or in that of the bound.
    Peer(Option<&'static str>, &'static str),
}

impl Bound {
    pub(super) fn of(&self) -> Of {
        match *self {
            Self::Value(_) => Of::Nothing,
            Self::Most(_, row) | Self::Least(_, row) => Of::Ours(row),
            Self::MostOf(_, row, peer) => Of::Peer(Some(row), peer),
            Self::LeastOf(_, peer) => Of::Peer(None, peer),
        }
    }

    /// Returns the limit, and whether figures must be at most it.
    pub(super) fn limit(&self) -> (f64, bool) {
        match *self {
            Self::Value(limit) | Self::Most(limit, _) | Self::MostOf(limit, ..) => (limit, true),
            Self::Least(limit, _) | Self::LeastOf(limit, _) => (limit, false),
        }
    }
}

/// The name of our figures.
pub const OURS: &str = "Tautline";

/// Returns the name of a row among the figures.
pub(super) fn sized(name: &str, size: &str) -> String {
    match size {
        "" => name.to_owned(),
        size => format!("{name}/{size}"),
    }
}

/// One contender of one row.
pub(super) struct Job<'a, O: 'static> {
    row: &'static Row<O>,
    by: By<'a>,
}

/// The program that measures.
enum By<'a> {
    /// This one, in the way of this name.
    Way(&'static str),
    Peer(&'a Program),
}

/// Returns the contenders of all rows whose names begin with `only`.
pub(super) fn jobs<'a, S: Suite>(only: &str, peers: &'a [Program]) -> Vec<Job<'a, S>> {
    let mut all = Vec::new();
    for row in S::ROWS.iter().filter(|row| row.name.starts_with(only)) {
        let ways = row.ways.iter().map(|(name, _)| By::Way(name));
        let named = |peer: &&Program| {
            let name = peer.row.strip_prefix(S::NAME);
            name.and_then(|name| name.strip_prefix('/')) == Some(row.name)
        };
        let peers = peers.iter().filter(named).map(By::Peer);
        all.extend(ways.chain(peers).map(|by| Job { row, by }));
    }
    all
}

impl<S: Suite> Job<'_, S> {
    /// The row among the stored figures: its name, and its size if it has one.
    pub(super) fn row(&self, options: &S) -> String {
        sized(self.row.name, &self.size(options).unwrap_or_default())
    }

    /// Its name, and its version if it is a crate.
    pub(super) fn contender(&self) -> String {
        match self.by {
            By::Peer(peer) => peer.contender.clone(),
            By::Way(name) => match version_of(name) {
                Some(version) => format!("{name} {version}"),
                None => name.to_owned(),
            },
        }
    }

    fn size(&self, options: &S) -> Option<String> {
        self.row.size.map(|size| size(options).to_string())
    }

    /// Returns the figure of one launch, by a process of its own.
    ///
    /// # Errors
    /// The program failed: in words.
    pub(super) fn figure(&self, options: &S) -> Result<f64, String> {
        let mut command = match self.by {
            By::Peer(peer) => {
                let mut command = command(&peer.path);
                command.args(self.size(options));
                command
            }
            By::Way(name) => {
                let words = [self.row.name, "--way", name];
                let quick = options.launches().quick;
                let mut command = measurement(None, ["", ""], &words, quick);
                command.args(options.words());
                command
            }
        };
        let output = command.output().map_err(|error| error.to_string())?;
        numbers(&output).map(|[figure]| figure)
    }
}
