//! A random graph: distances by a loop over each level, components by tasks that spawn tasks.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline::prelude::*;

const NODES: usize = 50_000;
const FAR: usize = usize::MAX;
type Graph = Vec<Vec<usize>>;

fn random() -> Graph {
    let (mut graph, mut state) = (vec![vec![]; NODES], 1u64);
    for _ in 0..NODES {
        let [a, b] = [(); 2].map(|()| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) as usize % NODES
        });
        graph[a].push(b);
        graph[b].push(a);
    }
    graph
}

/// Gives the label of `from` to what can be reached, unless there is a smaller one. The tasks
/// borrow for their scope, `'s`.
fn spread<'s>(cx: &mut Cx<'s, '_>, graph: &'s Graph, labels: &'s [AtomicUsize], from: usize) {
    let label = labels[from].load(Relaxed);
    for &to in &graph[from] {
        if labels[to].fetch_min(label, Relaxed) > label {
            cx.spawn(move |cx| spread(cx, graph, labels, to));
        }
    }
}

fn main() -> tautline::Result<()> {
    let (rt, graph) = (Runtime::new()?, &random());
    let distances: &Vec<_> = &(0..NODES).map(|_| AtomicUsize::new(FAR)).collect();
    distances[0].store(0, Relaxed);
    let (mut level, mut distance) = (vec![0], 0);
    while !level.is_empty() {
        distance += 1;
        let visit = |mut next: Vec<usize>, node: &usize| {
            let is_new = |to: &&usize| distances[**to].fetch_min(distance, Relaxed) == FAR;
            next.extend(graph[*node].iter().filter(is_new));
            next
        };
        level = rt.run(|cx| cx.par(&level).fold(Vec::new, visit, |a, b| [a, b].concat()));
    }
    let labels: &Vec<_> = &(0..NODES).map(AtomicUsize::new).collect();
    rt.run(|cx| (0..NODES).for_each(|from| cx.spawn(move |cx| spread(cx, graph, labels, from))));

    for (node, near) in graph.iter().enumerate() {
        let [distance, label] = [distances, labels].map(|of| of[node].load(Relaxed));
        let least = near.iter().map(|to| distances[*to].load(Relaxed)).min();
        assert!([0, FAR].contains(&distance) || least == Some(distance - 1));
        assert!(near.iter().all(|to| labels[*to].load(Relaxed) == label));
        assert_eq!(label == 0, distance != FAR);
    }
    println!("{distance} levels around node 0");
    Ok(())
}
