//! The edges of Graph500's graphs.

use crate::random::SplitMix;
use std::ops::Range;

/// The probabilities of three quarters of the matrix; the fourth has the rest.
const A: f64 = 0.57;
const B: f64 = 0.19;
const C: f64 = 0.19;

/// A recursive random graph with the probabilities of Graph500 (R-MAT: Chakrabarti, Zhan, Faloutsos
/// 2004), as a list of undirected edges with loops and parallel edges.
///
/// Each edge is drawn from the seed and its number alone, so any rank can draw any part of the
/// list. The numbers of vertices are permuted, by another permutation than that of Graph500's
/// reference code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rmat {
    /// The graph has 2^`scale` vertices.
    pub scale: u32,
    /// Edges for each vertex, in the mean: 16 in Graph500.
    pub edge_factor: u32,
    /// The seed of the edges, the permutation and the search keys.
    pub seed: u64,
}

/// The two ends of an edge.
pub type Edge = [u32; 2];

impl Rmat {
    /// The largest scale: vertices are numbers of 32 bits, of which some denote none.
    pub const SCALE_MAX: u32 = 31;
    /// The most edges for each vertex.
    pub const EDGE_FACTOR_MAX: u32 = 1024;

    /// Returns the number of vertices.
    pub fn vertices(&self) -> u64 {
        1 << self.scale
    }

    /// Returns the number of edges, with loops and parallel ones.
    pub fn edges(&self) -> u64 {
        u64::from(self.edge_factor) << self.scale
    }

    /// Returns the edges with these numbers.
    pub fn part(&self, numbers: Range<u64>) -> impl Iterator<Item = Edge> + use<> {
        let (rmat, names) = (*self, Permutation::new(self.scale, self.seed));
        numbers.map(move |number| rmat.edge(number).map(|vertex| names.of(vertex)))
    }

    fn edge(&self, number: u64) -> Edge {
        // Mixed twice: the states of two edges are far apart.
        let mut random = SplitMix::new(self.seed ^ SplitMix::new(number).next());
        let (mut from, mut to) = (0, 0);
        for _ in 0..self.scale {
            let draw = random.unit();
            let lower = draw >= A + B;
            let right = match lower {
                false => draw >= A,
                true => draw >= A + B + C,
            };
            from = from << 1 | u32::from(lower);
            to = to << 1 | u32::from(right);
        }
        [from, to]
    }

    /// Returns all vertices in a random order: candidates for search keys.
    pub(super) fn candidates(&self) -> impl Iterator<Item = u32> + use<> {
        let order = Permutation::new(self.scale, !self.seed);
        (0..1_u32 << self.scale).map(move |at| order.of(at))
    }
}

/// A permutation of the numbers of `bits` bits.
struct Permutation {
    bits: u32,
    /// Odd factors and summands.
    rounds: [(u32, u32); 4],
}

impl Permutation {
    fn new(bits: u32, seed: u64) -> Self {
        let mut random = SplitMix::new(seed.rotate_left(32));
        let rounds = [(); 4].map(|()| (random.next() as u32 | 1, random.next() as u32));
        Self { bits, rounds }
    }

    fn of(&self, number: u32) -> u32 {
        let (mask, shift) = ((1_u32 << self.bits) - 1, (self.bits / 2).max(1));
        self.rounds
            .iter()
            .fold(number, |number, (factor, summand)| {
                let number = number.wrapping_mul(*factor).wrapping_add(*summand) & mask;
                number ^ number >> shift
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_permuted() {
        for bits in 0..12 {
            for seed in 0..4 {
                let permutation = Permutation::new(bits, seed);
                let mut all = Vec::from_iter((0..1 << bits).map(|number| permutation.of(number)));
                all.sort_unstable();
                assert!(all.into_iter().eq(0..1 << bits), "{bits} bits, seed {seed}");
            }
        }
    }

    #[test]
    fn parts_are_those_of_the_whole_list() {
        let rmat = Rmat {
            scale: 7,
            edge_factor: 4,
            seed: 5,
        };
        let all = Vec::from_iter(rmat.part(0..rmat.edges()));
        let parts = (0..8).flat_map(|part| rmat.part(part * 64..(part + 1) * 64));
        assert_eq!(Vec::from_iter(parts), all);
        let other = Rmat { seed: 6, ..rmat };
        assert!(!other.part(0..512).eq(all.iter().copied()));
    }

    /// The quarter of the first bits has the probability that is stated.
    #[test]
    fn edges_are_drawn_with_the_probabilities() {
        let rmat = Rmat {
            scale: 1,
            edge_factor: 1024,
            seed: 1,
        };
        let mut counts = [0_u32; 4];
        for seed in 0..50 {
            let rmat = Rmat { seed, ..rmat };
            for [from, to] in (0..2048).map(|number| rmat.edge(number)) {
                counts[(from * 2 + to) as usize] += 1;
            }
        }
        let all = f64::from(counts.iter().sum::<u32>());
        for (count, expected) in counts.into_iter().zip([A, B, C, 1.0 - A - B - C]) {
            let found = f64::from(count) / all;
            assert!((found - expected).abs() < 0.005, "{found}, not {expected}");
        }
    }
}
