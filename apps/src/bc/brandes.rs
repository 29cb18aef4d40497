//! The sequential program with which sums are compared.

use super::graph::Graph;

/// Returns the betweenness of every vertex, each pair of ends counted once: Brandes 2001 as published, with lists of
/// predecessors and floating-point sums, whose last digits depend on the order of the sources.
pub fn brandes(graph: &Graph) -> Vec<f64> {
    let vertices = graph.vertices();
    let mut betweenness = vec![0.0; vertices];
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); vertices];
    let mut distance = vec![u32::MAX; vertices];
    let (mut paths, mut dependency) = (vec![0.0; vertices], vec![0.0; vertices]);
    let mut order = Vec::with_capacity(vertices);
    for source in 0..vertices as u32 {
        order.clear();
        order.push(source);
        (distance[source as usize], paths[source as usize]) = (0, 1.0);
        let mut settled = 0;
        while let Some(&v) = order.get(settled) {
            settled += 1;
            let next = distance[v as usize] + 1;
            for &w in graph.neighbours(v) {
                if distance[w as usize] == u32::MAX {
                    distance[w as usize] = next;
                    order.push(w);
                }
                if distance[w as usize] == next {
                    paths[w as usize] += paths[v as usize];
                    before[w as usize].push(v);
                }
            }
        }
        for w in order.iter().rev().map(|w| *w as usize) {
            for v in before[w].drain(..).map(|v| v as usize) {
                dependency[v] += paths[v] / paths[w] * (1.0 + dependency[w]);
            }
            if w != source as usize {
                betweenness[w] += dependency[w] / 2.0;
            }
            (distance[w], paths[w], dependency[w]) = (u32::MAX, 0.0, 0.0);
        }
    }
    betweenness
}
