//! The sources of a graph as a bag.

use super::graph::Graph;
use super::walk::Walk;
use std::sync::Arc;
use tautline_core::glb::{Bag, Share};

/// The result of all sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Centrality {
    /// For each vertex in units of 2^-64, over ordered pairs of ends; empty until a bag has
    /// submitted.
    sums: Vec<u128>,
    edges: u64,
}

impl Centrality {
    /// Returns for each vertex the sum over all pairs of other vertices of the fraction of their
    /// shortest paths that pass through it: ordered pairs if the graph is directed, else each pair
    /// once.
    pub fn betweenness(&self, graph: &Graph) -> Vec<f64> {
        const ONE: f64 = (1u128 << 64) as f64;
        let pair = if graph.is_directed() { ONE } else { 2.0 * ONE };
        let mut betweenness: Vec<_> = self.sums.iter().map(|sum| *sum as f64 / pair).collect();
        betweenness.resize(graph.vertices(), 0.0);
        betweenness
    }

    /// Returns the number of edges traversed: neighbours examined in the forward passes, from all
    /// sources.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Returns a hash of the whole vector, the same on every machine and in every run (FNV-1a, 64
    /// bits, over the exact sums; Fowler, Noll, Vo).
    pub fn checksum(&self) -> u64 {
        let bytes = self.sums.iter().flat_map(|sum| sum.to_le_bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }
}

/// The sums and the edges of each walk.
type Results<'a> = Vec<(&'a [u128], u64)>;

/// Some of the sources of a graph.
///
/// `len` counts sources, the current one included; the tasks that `process` counts are vertices
/// settled or summed, twice as many as a source reaches. The current source stays in the bag that
/// began it.
#[derive(Debug, Default)]
pub struct Bc {
    /// Positions in the order of the sources, each from the first number to below the second; none
    /// is empty.
    intervals: Vec<(u32, u32)>,
    /// The number of sources in the intervals.
    waiting: usize,
    /// The number of unfinished walks.
    begun: usize,
    /// Empty before the first source. Only the last one advances; all but the first are unfinished.
    walks: Vec<Walk>,
}

/// Processes all sources on the calling thread.
pub fn sequential(graph: &Arc<Graph>) -> Centrality {
    let mut bag = Bc::root(graph);
    bag.process(usize::MAX, graph);
    let mut output = Centrality::default();
    bag.submit(&mut output);
    output
}

impl Bc {
    /// Creates the bag of all sources of a graph.
    pub fn root(graph: &Graph) -> Self {
        let vertices = graph.vertices() as u32;
        Self::with(
            (vertices > 0)
                .then_some((0, vertices))
                .into_iter()
                .collect(),
        )
    }

    fn with(intervals: Vec<(u32, u32)>) -> Self {
        Self {
            waiting: intervals
                .iter()
                .map(|(low, high)| (high - low) as usize)
                .sum(),
            intervals,
            ..Self::default()
        }
    }

    /// Returns the intervals, and the sums and edges of each walk. The walks of unfinished sources
    /// end here.
    pub(super) fn all(&self) -> (&[(u32, u32)], Results<'_>) {
        let results = self.walks.iter().map(|walk| (walk.sums(), walk.edges()));
        (&self.intervals, results.collect())
    }

    /// Creates a bag of what [`all`](Self::all) returned in another process.
    pub(super) fn received(intervals: Vec<(u32, u32)>, results: Vec<(Vec<u128>, u64)>) -> Self {
        let mut bag = Self::with(intervals);
        let walks = results
            .into_iter()
            .map(|(sums, edges)| Walk::ended(sums, edges));
        for walk in walks {
            match bag.walks.first_mut() {
                Some(first) => first.add(&walk),
                None => bag.walks.push(walk),
            }
        }
        bag
    }

    /// Returns the walk to advance; begins a new source if all walks are finished. `None` if no
    /// source is left.
    fn walk(&mut self, graph: &Graph) -> Option<&mut Walk> {
        if self.begun == 0 {
            let (low, high) = self.intervals.last_mut()?;
            let source = graph.source(*low);
            *low += 1;
            if low == high {
                self.intervals.pop();
            }
            self.waiting -= 1;
            self.begun = 1;
            if self.walks.is_empty() {
                self.walks.push(Walk::new(graph.vertices()));
            }
            self.walks.last_mut()?.start(source, graph);
        }
        self.walks.last_mut()
    }
}

impl Bag for Bc {
    type Shared = Arc<Graph>;
    type Output = Centrality;

    fn process(&mut self, n: usize, graph: &Arc<Graph>) -> usize {
        let mut done = 0;
        while done < n {
            let Some(walk) = self.walk(graph) else {
                break;
            };
            done += walk.step(n - done, graph);
            if !walk.is_under_way() {
                self.begun -= 1;
                if self.walks.len() > 1 {
                    if let (Some(done), Some(next)) = (self.walks.pop(), self.walks.last_mut()) {
                        next.add(&done);
                    }
                }
            }
        }
        done
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        // A source is much work: even the last one that waits is worth a message.
        let least = usize::from(self.is_splittable() && matches!(share, Share::Ration(_)));
        let amount = share.of(self.len()).max(least).min(self.waiting);
        if amount == 0 {
            return None;
        }
        let (mut rest, mut loot) = (amount, Vec::new());
        while rest > 0 {
            let (low, high) = self.intervals.pop()?;
            let given = ((high - low) as usize).min(rest) as u32;
            loot.push((high - given, high));
            if low < high - given {
                self.intervals.push((low, high - given));
            }
            rest -= given as usize;
        }
        self.waiting -= amount;
        Some(Self::with(loot))
    }

    /// If one side has no results, nothing is added. Two unfinished walks are both kept, to be done
    /// one after the other.
    fn merge(&mut self, mut other: Self) {
        self.waiting += other.waiting;
        self.begun += other.begun;
        if self.intervals.len() < other.intervals.len() {
            std::mem::swap(&mut self.intervals, &mut other.intervals);
        }
        self.intervals.append(&mut other.intervals);
        for walk in other.walks {
            let idle = self.walks.iter().position(|own| !own.is_under_way());
            match idle {
                _ if self.walks.is_empty() => self.walks.push(walk),
                _ if walk.is_under_way() => {
                    if let Some(idle) = idle {
                        let results = self.walks.swap_remove(idle);
                        self.walks.push(walk);
                        if let Some(own) = self.walks.last_mut() {
                            own.add(&results);
                        }
                    } else {
                        self.walks.push(walk);
                    }
                }
                _ => self.walks[0].add(&walk),
            }
        }
    }

    fn len(&self) -> usize {
        self.waiting + self.begun
    }

    fn is_splittable(&self) -> bool {
        self.waiting > 0 && self.len() >= 2
    }

    fn drop_tasks(&mut self) {
        self.intervals.clear();
        self.waiting = 0;
    }

    /// A source that a stop interrupted submits what was summed by then.
    fn submit(self, output: &mut Centrality) {
        for walk in self.walks {
            output.edges += walk.edges();
            output.sums.resize(walk.sums().len(), 0);
            for (sum, own) in output.sums.iter_mut().zip(walk.sums()) {
                *sum += own;
            }
        }
    }
}
