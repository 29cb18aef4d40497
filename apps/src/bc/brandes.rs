//! The sequential program with which sums are compared.

use super::graph::{Graph, Length, Lengths};
use std::collections::BTreeSet;

/// Returns the betweenness of every vertex, each pair of ends counted once, in a directed graph in
/// each order: Brandes 2001 as published, with lists of predecessors and floating-point sums, whose
/// last digits depend on the order of the sources.
pub fn brandes(graph: &Graph) -> Vec<f64> {
    let vertices = graph.vertices();
    let ends = if graph.is_directed() { 1.0 } else { 2.0 };
    let mut betweenness = vec![0.0; vertices];
    let mut search = Search {
        before: vec![Vec::new(); vertices],
        paths: vec![0.0; vertices],
        order: Vec::with_capacity(vertices),
    };
    let mut dependency = vec![0.0; vertices];
    for source in 0..vertices as u32 {
        match graph.all_lengths() {
            Lengths::None => search.by_edges(graph, source),
            Lengths::Words(_) => search.by_lengths::<u64>(graph, source),
            Lengths::Wide(_) => search.by_lengths::<u128>(graph, source),
        }
        for w in search.order.drain(..).rev().map(|w| w as usize) {
            for v in search.before[w].drain(..).map(|v| v as usize) {
                dependency[v] += search.paths[v] / search.paths[w] * (1.0 + dependency[w]);
            }
            if w != source as usize {
                betweenness[w] += dependency[w] / ends;
            }
            (search.paths[w], dependency[w]) = (0.0, 0.0);
        }
    }
    betweenness
}

/// The shortest paths from a source.
struct Search {
    /// The vertices before each on a shortest path.
    before: Vec<Vec<u32>>,
    /// The number of shortest paths to each.
    paths: Vec<f64>,
    /// The vertices that were reached, by their distance.
    order: Vec<u32>,
}

impl Search {
    fn by_edges(&mut self, graph: &Graph, source: u32) {
        let mut distance = vec![u32::MAX; graph.vertices()];
        (distance[source as usize], self.paths[source as usize]) = (0, 1.0);
        self.order.push(source);
        let mut settled = 0;
        while let Some(&v) = self.order.get(settled) {
            settled += 1;
            let next = distance[v as usize] + 1;
            for &w in graph.neighbours(v) {
                if distance[w as usize] == u32::MAX {
                    distance[w as usize] = next;
                    self.order.push(w);
                }
                if distance[w as usize] == next {
                    self.paths[w as usize] += self.paths[v as usize];
                    self.before[w as usize].push(v);
                }
            }
        }
    }

    fn by_lengths<L: Length>(&mut self, graph: &Graph, source: u32) {
        let mut distance = vec![L::MAX; graph.vertices()];
        let mut next = BTreeSet::from([(L::default(), source)]);
        (distance[source as usize], self.paths[source as usize]) = (L::default(), 1.0);
        while let Some((length, v)) = next.pop_first() {
            self.order.push(v);
            for (w, edge) in graph.ways::<L>(v) {
                let (farther, best) = (length + edge, distance[w as usize]);
                if farther < best {
                    next.remove(&(best, w));
                    next.insert((farther, w));
                    distance[w as usize] = farther;
                    self.paths[w as usize] = 0.0;
                    self.before[w as usize].clear();
                }
                if farther <= best {
                    self.paths[w as usize] += self.paths[v as usize];
                    self.before[w as usize].push(v);
                }
            }
        }
    }
}
