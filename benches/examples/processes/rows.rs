//! The rows of the table: their measurements, peers and bounds.

use super::{Options, links, programs as ours, teams};
use tautline_bench::programs::{Program, command, measurement, numbers};

/// A row of the table.
pub(super) struct Row {
    /// Its name, that of its measurement, and behind `ranks/` that of its peers.
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// Its name beside another row that it bounds.
    pub(super) short: &'static str,
    pub(super) unit: &'static str,
    pub(super) ranks: u32,
    /// Returns our figure at rank 0.
    pub(super) at_rank: fn(&Options) -> Option<f64>,
    pub(super) size: Size,
    pub(super) bounds: &'static [Bound],
}

/// An option on which the size of a row depends.
#[derive(Clone, Copy)]
pub(super) enum Size {
    Fixed,
    Words,
    Scale,
}

/// A limit of our figure.
pub(super) enum Bound {
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
            Value(_) => Of::Nothing,
            Most(_, row) | Least(_, row) => Of::Ours(row),
            MostOf(_, row, peer) => Of::Peer(Some(row), peer),
            LeastOf(_, peer) => Of::Peer(None, peer),
        }
    }

    /// Returns the limit, and whether figures must be at most it.
    pub(super) fn limit(&self) -> (f64, bool) {
        match *self {
            Value(limit) | Most(limit, _) | MostOf(limit, ..) => (limit, true),
            Least(limit, _) | LeastOf(limit, _) => (limit, false),
        }
    }
}

use Bound::{Least, LeastOf, Most, MostOf, Value};

/// The peer that has the operations of messages.
const MPI: &str = "Open MPI";
/// Our round trip over a channel, by which operations of teams are judged.
const CHANNEL: &str = "channel";

#[rustfmt::skip] // A table.
pub(super) const ROWS: &[Row] = &[
    Row { name: "line", what: "round trip of a cache line, two processes", short: "round trip of a cache line", unit: "ns", ranks: 2, at_rank: links::line, size: Size::Fixed, bounds: &[] },
    Row { name: "trip", what: "round trip over the link, 8 bytes", short: "round trip over the link", unit: "ns", ranks: 2, at_rank: links::link, size: Size::Fixed, bounds: &[Most(1.5, "line"), MostOf(1.0, "trip", MPI)] },
    Row { name: CHANNEL, what: "round trip over a channel, 8 bytes", short: "round trip over a channel", unit: "ns", ranks: 2, at_rank: links::channel, size: Size::Fixed, bounds: &[] },
    Row { name: "bulk", what: "parcels of 1 MiB over the link, one way", short: "", unit: "GB/s", ranks: 2, at_rank: links::bulk, size: Size::Fixed, bounds: &[] },
    Row { name: "idle", what: "an idle rank, of a processor in a second", short: "", unit: "ms", ranks: 4, at_rank: links::idle, size: Size::Fixed, bounds: &[Value(10.0)] },
    Row { name: "start", what: "start of 4 ranks, until the last one has begun a task", short: "", unit: "ms", ranks: 4, at_rank: links::start, size: Size::Fixed, bounds: &[Value(30.0)] },
    Row { name: "memory", what: "shared memory of a pair of ranks", short: "", unit: "bytes", ranks: 4, at_rank: links::memory, size: Size::Fixed, bounds: &[Value(1048576.0)] },
    Row { name: "used", what: "of that used after round trips over the link", short: "", unit: "bytes", ranks: 2, at_rank: links::used, size: Size::Fixed, bounds: &[] },
    Row { name: "barrier", what: "barrier of a team, in tasks", short: "", unit: "ns", ranks: 2, at_rank: teams::barrier, size: Size::Fixed, bounds: &[Most(0.9, CHANNEL), MostOf(2.5, "barrier", MPI)] },
    Row { name: "sum", what: "sum of 8 bytes over a team, in tasks", short: "", unit: "ns", ranks: 2, at_rank: teams::sum, size: Size::Fixed, bounds: &[Most(1.0, CHANNEL), MostOf(2.5, "sum", MPI)] },
    Row { name: "barrier-1", what: "barrier of a team of one rank", short: "", unit: "ns", ranks: 1, at_rank: teams::barrier, size: Size::Fixed, bounds: &[Value(5.0)] },
    Row { name: "sum-1", what: "sum of 8 bytes over a team of one rank", short: "", unit: "ns", ranks: 1, at_rank: teams::sum, size: Size::Fixed, bounds: &[Value(5.0)] },
    Row { name: "phase", what: "phase of one task of each rank", short: "", unit: "ns", ranks: 2, at_rank: teams::phase, size: Size::Fixed, bounds: &[] },
    Row { name: "finish", what: "finish of a team, nothing spawned", short: "", unit: "ns", ranks: 2, at_rank: teams::finish, size: Size::Fixed, bounds: &[Most(2.5, CHANNEL)] },
    Row { name: "finish-1", what: "finish of a team of one rank around one task", short: "", unit: "ns", ranks: 1, at_rank: teams::finish_around_task, size: Size::Fixed, bounds: &[Most(1.1, "local")] },
    Row { name: "local", what: "finish inside a rank around one task", short: "finish inside a rank", unit: "ns", ranks: 1, at_rank: teams::local_finish, size: Size::Fixed, bounds: &[] },
    Row { name: "spawn", what: "finish around one task at the other rank", short: "", unit: "ns", ranks: 2, at_rank: teams::spawn, size: Size::Fixed, bounds: &[Most(1.8, CHANNEL), MostOf(3.0, "trip", MPI)] },
    Row { name: "call", what: "call of the other rank, 64 bytes there and back", short: "", unit: "ns", ranks: 2, at_rank: teams::call, size: Size::Fixed, bounds: &[Most(1.8, CHANNEL), MostOf(3.0, "call", MPI)] },
    Row { name: "spawns", what: "each of many tasks spawned at the other rank", short: "", unit: "ns", ranks: 2, at_rank: teams::spawns, size: Size::Fixed, bounds: &[Most(0.4, CHANNEL)] },
    Row { name: "batch", what: "each of many calls of 16 bytes, in batches", short: "", unit: "ns", ranks: 2, at_rank: teams::batch, size: Size::Fixed, bounds: &[Most(0.06, CHANNEL)] },
    Row { name: "gups", what: "RandomAccess, 2 ranks, words 2^", short: "", unit: "million updates/s", ranks: 2, at_rank: ours::gups, size: Size::Words, bounds: &[LeastOf(2.0, "YGM"), LeastOf(5.0, "HPCC"), LeastOf(0.8, "bale conveyors")] },
    Row { name: "bfs", what: "breadth-first search, 2 ranks, scale ", short: "", unit: "million edges/s", ranks: 2, at_rank: ours::bfs, size: Size::Scale, bounds: &[LeastOf(1.0, "Graph500 reference"), Least(1.6, "bfs-1")] },
    Row { name: "bfs-1", what: "the same, one rank, scale ", short: "one rank", unit: "million edges/s", ranks: 1, at_rank: ours::bfs, size: Size::Scale, bounds: &[] },
    Row { name: "T1L", what: "tree search T1L, 2 ranks", short: "", unit: "million nodes/s", ranks: 2, at_rank: ours::t1l, size: Size::Fixed, bounds: &[Least(1.9, "T1L-1"), LeastOf(4.0, MPI)] },
    Row { name: "T1L-1", what: "the same, sequential program", short: "sequential", unit: "million nodes/s", ranks: 1, at_rank: ours::t1l_alone, size: Size::Fixed, bounds: &[] },
    Row { name: "T3L", what: "tree search T3L, 2 ranks", short: "", unit: "million nodes/s", ranks: 2, at_rank: ours::t3l, size: Size::Fixed, bounds: &[Least(1.9, "T3L-1"), LeastOf(4.0, MPI)] },
    Row { name: "T3L-1", what: "the same, sequential program", short: "sequential", unit: "million nodes/s", ranks: 1, at_rank: ours::t3l_alone, size: Size::Fixed, bounds: &[] },
];

/// The name of our figures.
pub(super) const OURS: &str = "Tautline";

/// Returns the name of a row among the figures.
pub(super) fn sized(name: &str, size: &str) -> String {
    match size {
        "" => name.to_owned(),
        size => format!("{name}/{size}"),
    }
}

/// Returns the row of this name.
pub(super) fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// One contender of one row: ours, or a peer.
pub(super) struct Job<'a> {
    row: &'static Row,
    peer: Option<&'a Program>,
}

/// Returns the contenders of all rows whose names begin with `only`.
pub(super) fn jobs<'a>(only: &str, peers: &'a [Program]) -> Vec<Job<'a>> {
    let mut all = Vec::new();
    for row in ROWS.iter().filter(|row| row.name.starts_with(only)) {
        all.push(Job { row, peer: None });
        let of_row = peers
            .iter()
            .filter(|peer| peer.row.strip_prefix("ranks/") == Some(row.name));
        all.extend(of_row.map(|peer| Job {
            row,
            peer: Some(peer),
        }));
    }
    all
}

impl Job<'_> {
    /// The row among the stored figures: its name, and its size if it has one.
    pub(super) fn row(&self, options: &Options) -> String {
        sized(self.row.name, &self.size(options).unwrap_or_default())
    }

    pub(super) fn contender(&self) -> &str {
        self.peer.map_or(OURS, |peer| &peer.contender)
    }

    fn size(&self, options: &Options) -> Option<String> {
        match self.row.size {
            Size::Fixed => None,
            Size::Words => Some(options.log2.to_string()),
            Size::Scale => Some(options.scale.to_string()),
        }
    }

    /// Returns the figure of one launch, by a process of its own.
    ///
    /// # Errors
    /// The program failed: in words.
    pub(super) fn figure(&self, options: &Options) -> Result<f64, String> {
        let [log2, scale] = [options.log2, options.scale].map(|size| size.to_string());
        let mut command = match self.peer {
            Some(peer) => command(&peer.path),
            None => measurement(
                None,
                ["", ""],
                &[self.row.name, "--log2", &log2, "--scale", &scale],
                options.quick,
            ),
        };
        if self.peer.is_some() {
            command.args(self.size(options));
        }
        let output = command.output().map_err(|error| error.to_string())?;
        numbers(&output).map(|[figure]| figure)
    }
}
