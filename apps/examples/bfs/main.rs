//! Breadth-first search on a graph of a file: `bfs [FILE [VERTEX]]`, by a loop over each level.
//! Prints how many vertices are how far from the vertex. The files are those of `tautline bc`.
use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tautline::prelude::*;
use tautline_cli::bc::Graph;
use tautline_cli::graph::{self, Options};
use tautline_cli::text::Input;

const FAR: u32 = u32::MAX;

/// The longest file.
const BYTES_MAX: u64 = 1 << 32;

/// The distance of each vertex from one of them.
fn distances(cx: &mut Cx, graph: &Graph, from: u32) -> Vec<u32> {
    let distances: Vec<_> = (0..graph.vertices()).map(|_| AtomicU32::new(FAR)).collect();
    distances[from as usize].store(0, Relaxed);
    let (mut level, mut distance) = (vec![from], 0);
    while !level.is_empty() {
        distance += 1;
        // Of several vertices that reach the same one, one adds it.
        let is_new = |to: &&u32| distances[**to as usize].fetch_min(distance, Relaxed) == FAR;
        let visit = |mut next: Vec<u32>, vertex: &u32| {
            next.extend(graph.neighbours(*vertex).iter().filter(is_new));
            next
        };
        level = cx.par(&level).fold(Vec::new, visit, |a, b| [a, b].concat());
    }
    distances.into_iter().map(AtomicU32::into_inner).collect()
}

fn search() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let input = match words.next() {
        Some(file) => Input::read(file.as_ref(), BYTES_MAX)?,
        None => Input::new("karate.txt", include_bytes!("../../graphs/karate.txt"))?,
    };
    let file = input.name().to_owned();
    let named = graph::read(input, &Options::default())?;
    let graph = Graph::of_file(&named, 0)?;
    let first = named
        .names
        .first()
        .ok_or_else(|| format!("{file}: no vertex"))?;
    let vertex = words.next().unwrap_or_else(|| first.clone());
    let from = named.names.iter().position(|name| *name == vertex);
    let from = from.ok_or_else(|| format!("{vertex}: no vertex of {file}"))?;
    let distances = Runtime::new()?.run(|cx| distances(cx, &graph, from as u32));
    // An edge leads at most one level further, and each level is reached from the one before.
    for (vertex, distance) in (0..).zip(&distances) {
        let near = graph.neighbours(vertex).iter();
        let near = near.map(|to| distances[*to as usize]);
        assert!(
            near.clone()
                .all(|to| *distance == FAR || to <= distance + 1)
        );
    }
    let furthest = distances.iter().filter(|distance| **distance < FAR).max();
    for distance in 0..=*furthest.expect("the vertex itself") {
        let there = distances.iter().filter(|other| **other == distance);
        println!("{:>8} at distance {distance} from {vertex}", there.count());
    }
    Ok(())
}

fn main() -> ExitCode {
    match search() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bfs: {error}");
            ExitCode::from(2)
        }
    }
}
