//! Forward and backward passes from one source, a vertex at a time.

use super::graph::Graph;

/// The state of a vertex in a walk.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// In the forward pass, the number of shortest paths from the source that end here; in the backward pass,
    /// what each of those contributes to a path that continues: (1 + dependency) / paths.
    value: f64,
    /// Distance from the source, counted on from the end of the previous walk: a lower value means "not
    /// seen by this walk", so that nothing must be cleared.
    distance: u32,
}

/// Walks from one source after another, and the sums over all of them.
///
/// # Words
///
/// `order[..reached]` are the vertices seen, in the order of their distance; `out` of them are settled; once all are, `back`
/// of them are still to be summed. Without a source both are zero. Everything is allocated once.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    seen: Vec<Seen>,
    order: Vec<u32>,
    out: usize,
    back: usize,
    base: u32,
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
            sums: vec![0; vertices],
            edges: 0,
        }
    }

    /// Creates a walk that is not under way, with results of earlier ones.
    pub(super) fn ended(sums: Vec<u128>, edges: u64) -> Self {
        let new = Self::new(sums.len());
        Self { sums, edges, ..new }
    }

    /// Whether a source has been begun and is not complete.
    pub(super) fn is_under_way(&self) -> bool {
        !self.order.is_empty()
    }

    /// Begins a source; none may be under way.
    pub(super) fn start(&mut self, source: u32) {
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
        self.order.push(source);
        (self.out, self.back) = (0, 0);
    }

    /// Processes up to `n` vertices of the current source, and returns how many.
    #[inline]
    pub(super) fn step(&mut self, n: usize, graph: &Graph) -> usize {
        let mut done = 0;
        while done < n && self.out < self.order.len() {
            self.settle(graph);
            done += 1;
        }
        if self.out < self.order.len() {
            return done;
        }
        if self.back == 0 && done < n {
            self.back = self.out;
        }
        while done < n && self.back > 0 {
            self.back -= 1;
            self.sum(graph);
            done += 1;
            if self.back == 0 {
                let last = self.order[self.out - 1];
                self.base = self.seen[last as usize].distance + 1;
                self.order.clear();
            }
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
    fn sum(&mut self, graph: &Graph) {
        let from = self.order[self.back];
        let Seen { value, distance } = self.seen[from as usize];
        let mut carried = 0.0;
        for to in graph.neighbours(from) {
            let there = &self.seen[*to as usize];
            // Added unconditionally: which neighbours are farther is not predictable by the processor.
            let is_next = there.distance == distance + 1;
            carried += if is_next { there.value } else { 0.0 };
        }
        let dependency = value * carried;
        self.seen[from as usize].value = (1.0 + dependency) / value;
        if self.back > 0 {
            self.sums[from as usize] += parts(dependency);
        }
    }

    /// Adds the sums of a walk that has no source under way.
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
