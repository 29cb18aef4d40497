//! Betweenness centrality: against the sequential program, closed forms, bags.

use std::sync::Arc;
use tautline::balance::{Run, Steal};
use tautline::prelude::*;
use tautline_cli::bc::{Bc, Centrality, Edge, Form, Graph, Rmat, brandes, sequential};
use tautline_cli::graph::{self, Listed, Options};
use tautline_cli::text::Input;

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (vertex, (found, expected)) in found.iter().zip(expected).enumerate() {
        let apart = (found - expected).abs();
        assert!(
            apart <= 1e-9 * expected.max(1e-3),
            "{vertex}: {found}, {expected}"
        );
    }
}

/// Returns a function that draws a number below its argument (xorshift: Marsaglia 2003).
fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 32) % below
    }
}

fn rmat(scale: u32, seed: u64) -> Arc<Graph> {
    let rmat = Rmat {
        scale,
        seed,
        ..Rmat::default()
    };
    Arc::new(rmat.graph().unwrap())
}

fn of(vertices: usize, edges: &[(u32, u32)]) -> Vec<f64> {
    let graph = Arc::new(Graph::new(vertices, edges, 7).unwrap());
    sequential(&graph).betweenness(&graph)
}

#[test]
fn closed_forms() {
    let path: Vec<_> = (0..6).map(|v| (v, v + 1)).collect();
    assert_eq!(of(7, &path), [0.0, 5.0, 8.0, 9.0, 8.0, 5.0, 0.0]);
    let star: Vec<_> = (1..9).map(|v| (v, 0)).collect();
    assert_eq!(of(9, &star)[0], 28.0);
    let cycle: Vec<_> = (0..6).map(|v| (v, (v + 1) % 6)).collect();
    assert_eq!(of(6, &cycle), [2.0; 6]);
    let complete: Vec<_> = (0..5).flat_map(|v| (0..v).map(move |w| (v, w))).collect();
    assert_eq!(of(5, &complete), [0.0; 5]);
    // Two ways from 0 to 3, half of that path on each.
    assert_eq!(of(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]), [0.5; 4]);
}

#[test]
fn loops_and_parallel_edges_do_not_count() {
    let plain = of(3, &[(0, 1), (1, 2)]);
    assert_eq!(
        of(3, &[(0, 1), (1, 0), (1, 1), (1, 2), (2, 2), (1, 2)]),
        plain
    );
}

#[test]
fn a_graph_without_edges_or_vertices_has_an_answer() {
    for vertices in [0, 1, 5] {
        let graph = Arc::new(Graph::new(vertices, &[], 1).unwrap());
        assert_eq!(graph.tasks(), Some(2 * vertices as u64));
        let run: Run<_, ()> = Runtime::builder()
            .places(2)
            .workers(2)
            .build()
            .unwrap()
            .balancer()
            .run(
                Bc::root(&graph),
                |_| Arc::clone(&graph),
                Centrality::default(),
            )
            .unwrap();
        assert!(run.complete);
        assert_eq!(run.output.betweenness(&graph), vec![0.0; vertices]);
        assert_eq!(run.output.edges(), 0);
    }
    let one = Rmat {
        scale: 0,
        ..Rmat::default()
    }
    .graph()
    .unwrap();
    assert_eq!((one.vertices(), one.edges()), (1, 0));
}

#[test]
fn sequential_sums_are_those_of_brandes() {
    for seed in 1..=4 {
        let graph = rmat(4 + 2 * seed as u32 % 7, seed);
        let found = sequential(&graph).betweenness(&graph);
        assert_close(&found, &brandes(&graph));
    }
}

/// To the last bit the same, wherever and in whatever order the sources are done.
#[test]
fn every_setting_gives_the_same_sums() {
    let graph = rmat(8, 3);
    let expected = sequential(&graph);
    assert_close(&expected.betweenness(&graph), &brandes(&graph));
    for (places, workers) in [(1, 1), (1, 4), (4, 1), (3, 2)] {
        for steal in [Steal::Half, Steal::Count(7)] {
            for grain in [1, 31, 5000] {
                let builder = Runtime::builder().places(places).workers(workers);
                let rt = builder.pinned(false).build().unwrap();
                let balancer = rt.balancer().steal(steal);
                let run: Run<_, ()> = balancer
                    .grain(grain)
                    .run(
                        Bc::root(&graph),
                        |_| Arc::clone(&graph),
                        Centrality::default(),
                    )
                    .unwrap();
                assert!(run.complete);
                assert!(
                    run.output == expected,
                    "{places} x {workers}, {steal:?}, {grain}"
                );
                assert_eq!(run.output.checksum(), expected.checksum());
                let tasks: u64 = run.tasks();
                assert_eq!(Some(tasks), graph.tasks());
            }
        }
    }
}

/// Random splits and merges, also of unfinished sources, lose nothing and double nothing.
#[test]
fn splits_and_merges_keep_every_source() {
    let graph = rmat(6, 5);
    let expected = sequential(&graph);
    for seed in 1..=30u64 {
        let mut draw = draws(seed);
        let mut draw = |below: usize| draw(below as u64) as usize;
        let (mut bags, mut tasks) = (vec![Bc::root(&graph)], 0);
        let mut output = Centrality::default();
        while !bags.is_empty() {
            let at = draw(bags.len());
            let before = bags[at].len();
            match draw(4) {
                0 => {
                    let count = 1 + draw(9);
                    let all = [
                        Share::Half,
                        Share::Refill,
                        Share::Count(count),
                        Share::Ration(count),
                    ];
                    let share = all[draw(4)];
                    let was_splittable = bags[at].is_splittable();
                    let loot = bags[at].split(share);
                    assert!(loot.is_some() || share != Share::Half || !was_splittable);
                    assert!(loot.is_none() || was_splittable);
                    let gone = loot.as_ref().map_or(0, Bag::len);
                    assert!(loot.is_none() || gone > 0 && gone < before);
                    assert_eq!(bags[at].len(), before - gone);
                    bags.extend(loot);
                }
                1 if bags.len() > 1 => {
                    let other = bags.swap_remove(at);
                    let into = draw(bags.len());
                    let before = before + bags[into].len();
                    bags[into].merge(other);
                    assert_eq!(bags[into].len(), before);
                }
                _ => tasks += bags[at].process(1 + draw(150), &graph),
            }
            // One that is done is merged later now and then, results and all.
            while bags.last().is_some_and(Bag::is_empty) {
                if let Some(done) = bags.pop() {
                    done.submit(&mut output);
                }
            }
        }
        assert!(output == expected, "seed {seed}");
        assert_eq!(Some(tasks as u64), graph.tasks());
    }
}

/// Reads a graph of the folder `graphs`.
fn published(file: &str, is_directed: bool, is_weighted: bool) -> Listed {
    let path = format!("{}/graphs/{file}", env!("CARGO_MANIFEST_DIR"));
    let options = Options {
        is_directed,
        is_weighted,
        ..Options::default()
    };
    graph::read(Input::read(path.as_ref(), 1 << 20).unwrap(), &options).unwrap()
}

/// The values of NetworkX 3.6.1, which are in `tests/graphs`, on graphs that many know.
#[test]
fn published_graphs_have_the_values_of_another_implementation() {
    for (file, expected, is_directed, is_weighted) in [
        ("karate.txt", "karate", false, false),
        ("karate.txt", "karate-directed", true, false),
        ("miserables.csv", "miserables", false, false),
        ("miserables.csv", "miserables-weighted", false, true),
        ("miserables.csv", "miserables-directed-weighted", true, true),
    ] {
        let listed = published(file, is_directed, is_weighted);
        let graph = Arc::new(Graph::of_file(&listed, 1).unwrap());
        let names = listed.names;
        let found = sequential(&graph).betweenness(&graph);
        assert_close(&found, &brandes(&graph));
        let folder = format!("{}/tests/graphs", env!("CARGO_MANIFEST_DIR"));
        let table = std::fs::read_to_string(format!("{folder}/{expected}.csv")).unwrap();
        let lines = table.lines().skip(1);
        let values: Vec<f64> = {
            let by_name: std::collections::HashMap<_, f64> = lines
                .map(|line| line.rsplit_once(',').unwrap())
                .map(|(name, value)| (name, value.parse().unwrap()))
                .collect();
            assert_eq!(by_name.len(), names.len(), "{expected}");
            names.iter().map(|name| by_name[&**name]).collect()
        };
        assert_close(&found, &values);
    }
}

/// Lengths and directions, on several workers: to the last bit as sequentially, and as by lists of
/// predecessors.
#[test]
fn random_graphs_with_lengths_and_directions() {
    for seed in 1..=8u64 {
        let mut draw = draws(seed);
        let vertices = 2 + draw(60);
        // Few lengths, so that many paths are of the same. Some need the wider numbers.
        let unit = [1, 1 << 70][seed as usize % 2];
        let edges: Vec<_> = (0..draw(4 * vertices))
            .map(|_| Edge {
                from: draw(vertices) as u32,
                to: draw(vertices) as u32,
                length: unit * u128::from(1 + draw(4)),
            })
            .collect();
        for (is_directed, is_weighted) in [(false, true), (true, false), (true, true)] {
            let form = Form {
                is_directed,
                is_weighted,
            };
            let graph = Graph::of_form(vertices as usize, &edges, form, seed).unwrap();
            let graph = Arc::new(graph);
            let expected = sequential(&graph);
            assert_close(&expected.betweenness(&graph), &brandes(&graph));
            let rt = Runtime::builder()
                .places(2)
                .workers(2)
                .pinned(false)
                .build()
                .unwrap();
            let balancer = rt.balancer().grain(7);
            let shared = |_| Arc::clone(&graph);
            let run: Run<_, ()> = balancer
                .run(Bc::root(&graph), shared, Centrality::default())
                .unwrap();
            assert!(run.output == expected, "{seed}, {form:?}");
        }
    }
}

#[test]
fn a_seed_names_one_graph() {
    let (one, same, other) = (rmat(7, 1), rmat(7, 1), rmat(7, 2));
    let rows = |graph: &Graph| -> Vec<Vec<u32>> {
        let vertices = 0..graph.vertices() as u32;
        vertices.map(|v| graph.neighbours(v).to_vec()).collect()
    };
    assert_eq!(rows(&one), rows(&same));
    assert_ne!(rows(&one), rows(&other));
    for (v, row) in rows(&one).iter().enumerate() {
        assert!(row.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(row.iter().all(|w| *w as usize != v));
        let back = |w: &u32| one.neighbours(*w).contains(&(v as u32));
        assert!(row.iter().all(back));
    }
    // The first of the numbers has by far the most neighbours: the upper left quarter is drawn
    // most.
    let most = rows(&one).iter().map(Vec::len).max();
    assert!(rows(&one)[..8].iter().map(Vec::len).max() == most);
}

#[test]
fn what_makes_no_graph_is_refused() {
    let rmat = Rmat::default();
    for (found, expected) in [
        (Rmat { scale: 27, ..rmat }.graph(), "scale 27: at most 26"),
        (
            Rmat {
                edge_factor: 1025,
                ..rmat
            }
            .graph(),
            "edge factor 1025: at most 1024",
        ),
        (
            Rmat { a: 0.7, ..rmat }.graph(),
            "a 0.7, b 0.19, c 0.19: probabilities from 0 to 1, at most 1 together",
        ),
        (
            Rmat {
                scale: 26,
                edge_factor: 1024,
                ..rmat
            }
            .graph(),
            "68719476736 edges: at most 1073741824",
        ),
        (
            Graph::new(2, &[(0, 2)], 1),
            "edge 0 2: vertices are from 0 to below 2",
        ),
    ] {
        assert_eq!(found.unwrap_err().to_string(), expected);
    }
}
