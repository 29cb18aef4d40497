//! The benchmark: a graph, searches from several keys, and their validation.

use super::graph::Graph;
use super::rmat::Rmat;
use super::search::Search;
use super::tree::{NONE, Tree, Violation, bits};
use crate::random::SplitMix;
use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use tautline::Runtime;
use tautline::runtime::Cx;
use tautline::team::{Operator, Team};
use tautline::world::World;

/// A graph, and the number of searches in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searches {
    /// The graph.
    pub graph: Rmat,
    /// The number of search keys: distinct vertices with neighbours, so fewer if there are not as
    /// many.
    pub keys: u32,
}

/// The result of a search, the same for every number of ranks and workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The vertex where it began.
    pub key: u32,
    /// The number of vertices in each level.
    pub levels: Vec<u64>,
    /// The edges of the list whose ends were visited, which Graph500 counts as traversed.
    pub edges: u64,
    /// A hash of the levels of all vertices.
    pub checksum: u64,
    /// The rule of the validation that the tree breaks, if it does.
    pub violation: Option<Violation>,
}

impl Found {
    /// Returns the number of visited vertices.
    pub fn visited(&self) -> u64 {
        self.levels.iter().sum()
    }
}

/// The results of all searches, and their durations.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The results, in the order of the keys.
    pub found: Vec<Found>,
    /// Seconds of each search, without the graph's construction and the validation.
    pub seconds: Vec<f64>,
}

/// Traversed edges per second (TEPS) of several searches, as Graph500 summarises them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Teps {
    /// The harmonic mean.
    pub harmonic_mean: f64,
    /// The median.
    pub median: f64,
}

impl Teps {
    /// Returns those of searches that have traversed `edges` in `seconds`; `None` without a search.
    ///
    /// ```
    /// use tautline_cli::bfs::Teps;
    ///
    /// // 8, 2 and 1 a second.
    /// let teps = Teps::of([8, 4, 2], [1.0, 2.0, 2.0]).expect("three searches");
    /// assert_eq!(teps.median, 2.0);
    /// assert_eq!(teps.harmonic_mean, 3.0 / (1.0 / 8.0 + 1.0 / 2.0 + 1.0));
    /// ```
    pub fn of(
        edges: impl IntoIterator<Item = u64>,
        seconds: impl IntoIterator<Item = f64>,
    ) -> Option<Self> {
        let rates = edges.into_iter().zip(seconds);
        let rates = rates.map(|(edges, seconds)| edges as f64 / seconds.max(1e-9));
        let mut rates = Vec::from_iter(rates);
        rates.sort_unstable_by(f64::total_cmp);
        let (count, half) = (rates.len(), rates.len() / 2);
        let upper = *rates.get(half)?;
        Some(Self {
            harmonic_mean: count as f64 / rates.iter().map(|rate| 1.0 / rate).sum::<f64>(),
            median: match count % 2 {
                0 => (rates[half - 1] + upper) / 2.0,
                _ => upper,
            },
        })
    }
}

impl Searches {
    /// Returns about how many bytes `ranks` ranks need together.
    pub fn bytes(&self, ranks: u32) -> u64 {
        let (vertices, edges) = (self.graph.vertices(), self.graph.edges());
        // The list and both directions of each edge; what a search has of each vertex; the tree,
        // which each rank validates.
        16 * edges + 24 * vertices + u64::from(ranks) * (10 * vertices)
    }
}

/// Builds the graph of `searches` over all ranks of `world`, searches it from each key, and
/// validates the trees. Returns the results at rank 0, and `None` at the others.
///
/// # Errors
/// The loss of a rank.
///
/// # Panics
/// If the graph is larger than [`Rmat::SCALE_MAX`] allows.
#[track_caller]
pub fn across(
    searches: &Searches,
    world: &World,
    runtime: &Runtime,
) -> tautline::Result<Option<Measured>> {
    assert!(searches.graph.scale <= Rmat::SCALE_MAX, "{searches:?}");
    let mut team = world.team();
    let workers = runtime.workers();
    let measured = runtime.run(|cx| measured(searches, cx, &mut team, workers))?;
    Ok(world.is_home().then_some(measured))
}

fn measured(
    searches: &Searches,
    cx: &mut Cx<'_, '_>,
    team: &mut Team,
    workers: usize,
) -> tautline::Result<Measured> {
    let graph = Graph::build(&searches.graph, cx, team, workers)?;
    let mut search = Search::new(&graph);
    let (mut found, mut seconds) = (Vec::new(), Vec::new());
    for key in keys(searches, &graph, cx, team)? {
        let (levels, time) = search.run(key, cx, team)?;
        let tree = search.tree(key, cx, team)?;
        let (edges, violation) = validated(&tree, &graph, cx, team)?;
        let checksum = checksum(&tree);
        found.push(Found {
            key,
            levels,
            edges,
            checksum,
            violation,
        });
        seconds.push(time);
    }
    Ok(Measured { found, seconds })
}

/// Returns the first candidates that have neighbours.
fn keys(
    searches: &Searches,
    graph: &Graph,
    cx: &mut Cx<'_, '_>,
    team: &mut Team,
) -> tautline::Result<Vec<u32>> {
    let (division, wanted) = (graph.division, searches.keys as usize);
    let mut candidates = searches.graph.candidates().peekable();
    let mut keys = Vec::new();
    while keys.len() < wanted && candidates.peek().is_some() {
        // About half of the vertices have neighbours.
        let tried = Vec::from_iter(candidates.by_ref().take(2 * wanted));
        let has_neighbours = |key: &u32| {
            let is_own = division.owner(*key) == division.rank;
            u8::from(is_own && graph.has_neighbours(division.row(*key)))
        };
        let mut known = Vec::from_iter(tried.iter().map(has_neighbours));
        team.all_reduce_slice(&mut known, Operator::Max).wait(cx)?;
        let with = tried
            .into_iter()
            .zip(known)
            .filter(|(_, known)| *known == 1);
        keys.extend(with.map(|(key, _)| key));
    }
    keys.truncate(wanted);
    Ok(keys)
}

/// Validates a tree, with the edges that each rank has drawn. Returns how many are in the
/// component, and the violation of the first rule that is broken.
fn validated(
    tree: &Tree,
    graph: &Graph,
    cx: &mut Cx<'_, '_>,
    team: &mut Team,
) -> tautline::Result<(u64, Option<Violation>)> {
    let joined = tree.unjoined();
    let own = tree.check_parents();
    let own = own.and_then(|()| check_edges(tree, graph, &joined, cx));
    let mut joined = bits(joined);
    team.all_reduce_slice(&mut joined, Operator::BitOr)
        .wait(cx)?;
    // Where one rank has found another rule to be broken, bits may be missing.
    let number = |broken: Violation| broken.number();
    let sum = |(edges, least): (u64, u64), (more, other)| (edges + more, least.min(other));
    let own = own.map_or_else(|broken| (0, number(broken)), |edges| (edges, u64::MAX));
    let (edges, least) = team.all_reduce(own, sum).wait(cx)?;
    let violation = Violation::of_number(least).or_else(|| tree.check_joined(&joined).err());
    Ok((edges, violation))
}

/// Checks the edges that this rank has drawn, by several tasks.
fn check_edges(
    tree: &Tree,
    graph: &Graph,
    joined: &[AtomicU64],
    cx: &mut Cx<'_, '_>,
) -> Result<u64, Violation> {
    let size = graph.edges.len().div_ceil(graph.pieces).max(1);
    let pieces = graph.edges.chunks(size);
    let mut checked = vec![Ok(0); pieces.len()];
    cx.scope(|cx| {
        for (edges, checked) in pieces.zip(&mut checked) {
            cx.spawn(move |_| *checked = tree.check_edges(edges, joined));
        }
    });
    let broken = checked.iter().filter_map(|checked| checked.err()).min();
    let traversed = checked.into_iter().flatten().sum();
    broken.map_or(Ok(traversed), Err)
}

/// Returns the sum of the hashes of the levels.
fn checksum(tree: &Tree) -> u64 {
    let of = |(vertex, _, level): (u32, u32, u32)| {
        SplitMix::new(u64::from(vertex) << 32 | u64::from(level)).next()
    };
    tree.visited().map(of).fold(0, u64::wrapping_add)
}

/// Searches by a plain queue, from the same keys.
pub fn sequential(searches: &Searches) -> Vec<Found> {
    let graph = &searches.graph;
    let edges = Vec::from_iter(graph.part(0..graph.edges()));
    let mut neighbours = vec![Vec::new(); graph.vertices() as usize];
    for &[one, other] in edges.iter().filter(|[one, other]| one != other) {
        neighbours[one as usize].push(other);
        neighbours[other as usize].push(one);
    }
    let keys = graph.candidates();
    let keys = keys.filter(|key| !neighbours[*key as usize].is_empty());
    let keys = keys.take(searches.keys as usize);
    keys.map(|key| {
        let tree = searched(&neighbours, key);
        let mut levels = Vec::new();
        for (_, _, level) in tree.visited() {
            let level = level as usize;
            levels.resize(levels.len().max(level + 1), 0);
            levels[level] += 1;
        }
        let validated = tree.validate(&edges);
        Found {
            key,
            levels,
            edges: validated.unwrap_or_default(),
            checksum: checksum(&tree),
            violation: validated.err(),
        }
    })
    .collect()
}

fn searched(neighbours: &[Vec<u32>], key: u32) -> Tree {
    let unseen = || vec![NONE; neighbours.len()];
    let mut tree = Tree {
        key,
        parents: unseen(),
        levels: unseen(),
    };
    tree.parents[key as usize] = key;
    tree.levels[key as usize] = 0;
    let mut queue = VecDeque::from([key]);
    while let Some(vertex) = queue.pop_front() {
        for &neighbour in &neighbours[vertex as usize] {
            if tree.parents[neighbour as usize] == NONE {
                tree.parents[neighbour as usize] = vertex;
                tree.levels[neighbour as usize] = tree.levels[vertex as usize] + 1;
                queue.push_back(neighbour);
            }
        }
    }
    tree
}
