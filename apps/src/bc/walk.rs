//! Forward and backward passes from one source, a vertex at a time.

use super::graph::{Graph, Length, Lengths};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The state of a vertex in a walk.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// In the forward pass, the number of shortest paths from the source that end here; in the
    /// backward pass, what each of those contributes to a path that continues: (1 + dependency) /
    /// paths.
    value: f64,
    /// Distance from the source, counted on from the end of the previous walk: a lower value means
    /// "not seen by this walk", so that nothing must be cleared. Where edges have lengths, [`Far`]
    /// has the distances, and this is 0 until the vertex is settled, then 1, counted on as well.
    distance: u32,
}

/// The state of a walk over edges with lengths (Dijkstra 1959).
#[derive(Clone, Debug, Default)]
struct Far<L: Ord> {
    /// The length of the shortest path found so far, of vertices that this walk has seen.
    lengths: Vec<L>,
    /// Vertices to be settled, by that length; some of them repeatedly.
    heap: BinaryHeap<Reverse<(L, u32)>>,
}

impl<L: Length> Far<L> {
    fn start(&mut self, source: u32, vertices: usize) {
        self.lengths.resize(vertices, L::default());
        self.lengths[source as usize] = L::default();
        self.heap.push(Reverse((L::default(), source)));
    }
}

/// Walks from one source after another, and the sums over all of them.
///
/// # Words
///
/// `order` are the vertices seen, in the order of their distance, where edges have lengths those
/// settled; `out` of them are settled; once all are, `back` of them are still to be summed. Without
/// a source both are zero. Everything but the heap is allocated once.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    seen: Vec<Seen>,
    order: Vec<u32>,
    out: usize,
    back: usize,
    base: u32,
    /// Whether a source has been begun and is not complete.
    is_under_way: bool,
    /// Empty but for lengths of this width.
    far: Far<u64>,
    /// As `far`.
    farther: Far<u128>,
    /// In units of 2^-64.
    sums: Vec<u128>,
    /// Neighbours examined in forward passes.
    edges: u64,
}

impl Walk {
    pub(super) fn new(vertices: usize) -> Self {
        Self {
            seen: vec![Seen::default(); vertices],
            order: Vec::with_capacity(vertices),
            out: 0,
            back: 0,
            base: 0,
            is_under_way: false,
            far: Far::default(),
            farther: Far::default(),
            sums: vec![0; vertices],
            edges: 0,
        }
    }

    /// Creates a walk without a source, with results of earlier ones.
    pub(super) fn ended(sums: Vec<u128>, edges: u64) -> Self {
        let new = Self::new(sums.len());
        Self { sums, edges, ..new }
    }

    /// Whether a source has been begun and is not complete.
    pub(super) fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    /// Begins a source. The one before must be complete.
    pub(super) fn start(&mut self, source: u32, graph: &Graph) {
        // A walk takes fewer than 2^26 steps, and one is left between two walks.
        if self.base > u32::MAX / 2 {
            self.seen.fill(Seen::default());
            self.base = 0;
        }
        self.base += 1;
        self.seen[source as usize] = Seen {
            value: 1.0,
            distance: self.base,
        };
        (self.out, self.back, self.is_under_way) = (0, 0, true);
        match graph.all_lengths() {
            Lengths::None => self.order.push(source),
            Lengths::Words(_) => self.far.start(source, self.seen.len()),
            Lengths::Wide(_) => self.farther.start(source, self.seen.len()),
        }
    }

    /// Processes up to `n` vertices of the current source, and returns how many.
    #[inline]
    pub(super) fn step(&mut self, n: usize, graph: &Graph) -> usize {
        let mut done = 0;
        if self.back == 0 {
            done = match graph.all_lengths() {
                Lengths::None => self.settle_by_edges(n, graph),
                Lengths::Words(_) => {
                    let mut far = std::mem::take(&mut self.far);
                    let done = self.settle_by_lengths(n, graph, &mut far);
                    self.far = far;
                    done
                }
                Lengths::Wide(_) => {
                    let mut far = std::mem::take(&mut self.farther);
                    let done = self.settle_by_lengths(n, graph, &mut far);
                    self.farther = far;
                    done
                }
            };
            if done < n {
                self.back = self.out;
            }
        }
        while done < n && self.back > 0 {
            self.back -= 1;
            match graph.all_lengths() {
                Lengths::None => self.sum_by_edges(graph),
                Lengths::Words(_) => {
                    let dependency = self.dependency_by_lengths(graph, &self.far);
                    self.add_dependency(self.order[self.back], dependency);
                }
                Lengths::Wide(_) => {
                    let dependency = self.dependency_by_lengths(graph, &self.farther);
                    self.add_dependency(self.order[self.back], dependency);
                }
            }
            done += 1;
            if self.back == 0 {
                let last = self.order[self.out - 1];
                self.base = self.seen[last as usize].distance + 1;
                self.order.clear();
                self.is_under_way = false;
            }
        }
        done
    }

    #[inline]
    fn settle_by_edges(&mut self, n: usize, graph: &Graph) -> usize {
        let mut done = 0;
        while done < n && self.out < self.order.len() {
            self.settle(graph);
            done += 1;
        }
        done
    }

    fn settle_by_lengths<L: Length>(&mut self, n: usize, graph: &Graph, far: &mut Far<L>) -> usize {
        let mut done = 0;
        while done < n {
            let Some(Reverse((length, from))) = far.heap.pop() else {
                break;
            };
            let settled = &mut self.seen[from as usize];
            if settled.distance > self.base {
                // A shorter way to it was settled before.
                continue;
            }
            settled.distance = self.base + 1;
            let value = settled.value;
            self.order.push(from);
            self.out += 1;
            done += 1;
            for (to, edge) in graph.ways::<L>(from) {
                let farther = length + edge;
                let there = &mut self.seen[to as usize];
                let best = &mut far.lengths[to as usize];
                if there.distance < self.base || there.distance == self.base && farther < *best {
                    *there = Seen {
                        value,
                        distance: self.base,
                    };
                    *best = farther;
                    far.heap.push(Reverse((farther, to)));
                } else if farther == *best && there.distance == self.base {
                    there.value += value;
                }
            }
            self.edges += graph.neighbours(from).len() as u64;
        }
        done
    }

    #[inline]
    fn settle(&mut self, graph: &Graph) {
        let from = self.order[self.out];
        self.out += 1;
        let Seen { value, distance } = self.seen[from as usize];
        let farther = distance + 1;
        let row = graph.neighbours(from);
        for to in row {
            let there = &mut self.seen[*to as usize];
            if there.distance == farther {
                there.value += value;
            } else if there.distance < self.base {
                *there = Seen {
                    value,
                    distance: farther,
                };
                self.order.push(*to);
            }
        }
        self.edges += row.len() as u64;
    }

    #[inline]
    fn sum_by_edges(&mut self, graph: &Graph) {
        let from = self.order[self.back];
        let Seen { value, distance } = self.seen[from as usize];
        let mut carried = 0.0;
        for to in graph.neighbours(from) {
            let there = &self.seen[*to as usize];
            // Added unconditionally: which neighbours are farther is not predictable by the
            // processor.
            let is_next = there.distance == distance + 1;
            carried += if is_next { there.value } else { 0.0 };
        }
        self.add_dependency(from, value * carried);
    }

    /// Returns the dependency of the vertex whose turn it is.
    fn dependency_by_lengths<L: Length>(&self, graph: &Graph, far: &Far<L>) -> f64 {
        let from = self.order[self.back];
        let length = far.lengths[from as usize];
        // All neighbours are settled, those of a vertex that was reached are as well.
        let is_next = |(to, edge): &(u32, L)| far.lengths[*to as usize] == length + *edge;
        let next = graph.ways::<L>(from).filter(is_next);
        let carried: f64 = next.map(|(to, _)| self.seen[to as usize].value).sum();
        self.seen[from as usize].value * carried
    }

    /// Ends the backward pass of a vertex.
    #[inline]
    fn add_dependency(&mut self, from: u32, dependency: f64) {
        let value = self.seen[from as usize].value;
        self.seen[from as usize].value = (1.0 + dependency) / value;
        if self.back > 0 {
            self.sums[from as usize] += parts(dependency);
        }
    }

    /// Adds the sums of a walk that has no unfinished source.
    pub(super) fn add(&mut self, other: &Self) {
        for (sum, other) in self.sums.iter_mut().zip(&other.sums) {
            *sum = sum.wrapping_add(*other);
        }
        self.edges = self.edges.wrapping_add(other.edges);
    }

    pub(super) fn sums(&self) -> &[u128] {
        &self.sums
    }

    pub(super) fn edges(&self) -> u64 {
        self.edges
    }
}

/// In units of 2^-64, rounded down. A dependency is less than the number of vertices.
#[inline]
fn parts(dependency: f64) -> u128 {
    const ONE: f64 = (1u128 << 64) as f64;
    let whole = dependency as u64;
    let fraction = ((dependency - whole as f64) * ONE) as u64;
    u128::from(whole) << 64 | u128::from(fraction)
}
