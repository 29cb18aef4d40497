//! The same trees, and the same walks through them, by every engine that this processor has.

use tautline::Runtime;
use tautline_cli::uts::{Counts, Engine, Kind, Params, Shape, Tree, Uts, named, sequential};
use tautline_core::glb::{Bag, Share};

fn tree(params: Params, engine: Engine) -> Tree {
    Tree::with_engine(params, engine).unwrap()
}

/// The fastest engine too: it hashes what does not fill its lanes one by one.
fn engines() -> impl Iterator<Item = Engine> {
    Engine::all().chain([Engine::fastest()])
}

fn check(name: &str, engine: Engine, found: &Counts) {
    let known = named::find(name).unwrap();
    let context = format!("{name}, {}", engine.name());
    assert_eq!(found.nodes, known.nodes, "{context}");
    assert_eq!(
        found.leaves,
        known.leaves.unwrap_or(found.leaves),
        "{context}"
    );
    assert_eq!(
        found.max_depth,
        known.depth.unwrap_or(found.max_depth),
        "{context}"
    );
}

#[test]
fn every_engine_counts_the_sample_trees() {
    for engine in engines() {
        for name in ["T1", "T2", "T3", "T4", "T5", "anl"] {
            let params = named::find(name).unwrap().params;
            check(name, engine, &sequential(&tree(params, engine)));
        }
    }
}

/// 1.2 thousand million nodes for each engine.
#[test]
#[ignore = "cargo ci deep: minutes, with --release"]
fn every_engine_counts_large_trees_on_two_workers() {
    for engine in engines() {
        for name in ["T1L", "T2L", "T3L", "triloka", "p7", "D11", "D12", "D13"] {
            let params = named::find(name).unwrap().params;
            let root = Uts::root(&tree(params, engine));
            let rt = Runtime::builder().workers(2).build().unwrap();
            let run = rt
                .balancer()
                .run(root, |_| tree(params, engine), Counts::default());
            let found = run.unwrap().output;
            check(name, engine, &found);
            println!("{name}, {}: {found:?}", engine.name());
        }
    }
}

/// All types and shapes, some with rows of many short or a few long intervals.
fn small_trees() -> Vec<Params> {
    let geometric = |shape, depth, branching| Params {
        shape,
        depth,
        branching,
        seed: 1,
        ..Params::default()
    };
    let binomial = |branching, chance, arity| Params {
        kind: Kind::Binomial,
        branching,
        chance,
        arity,
        seed: 4,
        ..Params::default()
    };
    let fixed = geometric(Shape::Fixed, 6, 4.0);
    vec![
        fixed,
        Params {
            count_last_level: true,
            ..fixed
        },
        Params {
            granularity: 3,
            ..fixed
        },
        geometric(Shape::Fixed, 2, 1000.0),
        geometric(Shape::Linear, 8, 4.0),
        geometric(Shape::Cyclic, 5, 3.0),
        geometric(Shape::Exponential, 5, 2.5),
        binomial(300.9, 0.99, 1),
        binomial(200.0, 0.49, 2),
        binomial(200.0, 0.009, 100),
        Params {
            kind: Kind::Balanced,
            depth: 5,
            branching: 7.0,
            ..Params::default()
        },
        Params {
            kind: Kind::Balanced,
            depth: 3,
            branching: 2.0,
            count_last_level: true,
            ..Params::default()
        },
    ]
}

/// The observable state of a bag. Whether the words of the stacks are the same is tested inside.
type Trace = Vec<(usize, usize, Counts)>;

/// A walk with calls of all lengths, parts split off and merged again.
fn trace(params: Params, engine: Engine) -> Trace {
    let tree = tree(params, engine);
    let mut bag = Uts::root(&tree);
    let mut trace = Vec::new();
    let lengths = [1, 3, 15, 16, 17, 31, 63, 64, 65, 100, 511];
    for n in lengths.into_iter().cycle() {
        if bag.is_empty() {
            return trace;
        }
        let done = bag.process(n, &tree);
        trace.push((done, bag.len(), *bag.counts()));
        let share = [Share::Half, Share::Count(n), Share::Ration(2)][n % 3];
        if let Some(mut part) = bag.split(share) {
            let done = part.process(n / 2, &tree);
            trace.push((done, part.len(), *part.counts()));
            bag.merge(part);
        }
    }
    unreachable!("the lengths have no end")
}

#[test]
fn every_engine_walks_the_same_way() {
    for params in small_trees() {
        let mut engines = engines();
        let one = trace(params, engines.next().unwrap());
        assert!(one.len() > 3);
        for engine in engines {
            assert_eq!(trace(params, engine), one, "{} {params:?}", engine.name());
        }
    }
}

#[test]
fn engines_have_names_and_the_first_hashes_one_by_one() {
    let all: Vec<_> = Engine::all().collect();
    assert_eq!((all[0].name(), all[0].lanes()), ("one", 1));
    assert!(all[1..].iter().all(|engine| engine.lanes() > 1));
    for engine in &all {
        let same = all.iter().filter(|other| other.name() == engine.name());
        assert_eq!(same.count(), 1);
    }
    let fastest = Engine::fastest();
    assert!(all.iter().any(|engine| engine.name() == fastest.name()));
    assert_eq!(Engine::fastest().name(), fastest.name(), "measured once");
}
