//! Unbalanced trees, counted in every way there is, against the reference program's counts.

use tautline_cli::uts::{
    Counts, DRAWN_MAX, Drawing, Kind, ParamError, Params, Shape, Tree, Uts, named, sequential,
};
use tautline_core::glb::{Bag, Share};

fn counts(nodes: u64, leaves: u64, max_depth: u32) -> Counts {
    Counts {
        nodes,
        leaves,
        max_depth,
    }
}

fn geometric(shape: Shape, depth: u32, branching: f64, seed: u32) -> Params {
    Params {
        shape,
        depth,
        branching,
        seed,
        ..Params::default()
    }
}

fn binomial(branching: f64, chance: f64, arity: u32, seed: u32) -> Params {
    Params {
        kind: Kind::Binomial,
        branching,
        chance,
        arity,
        seed,
        ..Params::default()
    }
}

fn hybrid(shift: f64, of: Params) -> Params {
    Params {
        kind: Kind::Hybrid,
        shift,
        ..of
    }
}

fn balanced(depth: u32, branching: f64) -> Params {
    Params {
        kind: Kind::Balanced,
        depth,
        branching,
        ..Params::default()
    }
}

/// Returns the counts of the reference program UTS 2.1: every type, shape and corner.
fn oracles() -> Vec<(Params, Counts)> {
    use Shape::{Cyclic, Exponential, Fixed, Linear};
    let critical = |of| Params {
        chance: 0.49,
        arity: 2,
        ..of
    };
    vec![
        (Params::default(), counts(1732, 1050, 6)),
        (geometric(Linear, 6, 4.0, (1 << 31) - 1), counts(59, 35, 6)),
        (geometric(Exponential, 10, 3.0, 5), counts(7, 1, 6)),
        (geometric(Exponential, 5, 2.5, 7), counts(954, 498, 16)),
        (geometric(Exponential, 1, 5.0, 2), counts(1, 1, 0)),
        (geometric(Cyclic, 3, 0.3, 7), counts(3, 2, 1)),
        // Deeper than there are tables.
        (
            geometric(Cyclic, 400, 1.005, 26),
            counts(764_194, 382_224, 1531),
        ),
        (geometric(Fixed, 2, 1000.0, 1), counts(9680, 9579, 2)),
        (geometric(Fixed, 3, 60.0, 1), counts(246_048, 241_059, 3)),
        (binomial(0.0, 0.2, 4, 0), counts(1, 1, 0)),
        (binomial(3.9, 0.0, 5, 0), counts(4, 3, 1)),
        (binomial(300.9, 0.99, 1, 4), counts(29_302, 300, 653)),
        (
            hybrid(0.7, geometric(Cyclic, 12, 3.0, 7)),
            counts(8036, 5097, 39),
        ),
        (
            hybrid(1.0, geometric(Exponential, 8, 3.0, 7)),
            counts(6733, 4660, 54),
        ),
        (
            hybrid(0.9, critical(geometric(Fixed, 7, 3.0, 1))),
            counts(195_010, 99_005, 272),
        ),
        (
            hybrid(0.0, critical(geometric(Fixed, 12, 3.0, 2))),
            counts(15, 8, 6),
        ),
        (balanced(7, 5.0), counts(97_656, 78_125, 7)),
        (balanced(900, 1.0), counts(901, 1, 900)),
        (balanced(0, 5.0), counts(1, 1, 0)),
    ]
}

/// Those that can be walked many times.
fn small_oracles() -> impl Iterator<Item = (Params, Counts)> {
    oracles().into_iter().filter(|(_, c)| c.nodes < 200_000)
}

fn tree(params: Params) -> Tree {
    Tree::new(params).unwrap()
}

#[test]
fn sequential_counts_are_the_reference_counts() {
    for (params, expected) in oracles() {
        assert_eq!(sequential(&tree(params)), expected, "{params:?}");
    }
}

#[test]
fn named_trees_have_their_counts() {
    let names = [
        "T1", "T2", "T3", "T4", "T5", "anl", "geo", "D6", "D7", "D8", "D9", "D10",
    ];
    for name in names {
        let known = named::find(name).unwrap();
        let found = sequential(&tree(known.params));
        assert_eq!(found.nodes, known.nodes, "{name}");
        assert_eq!(found.leaves, known.leaves.unwrap_or(found.leaves), "{name}");
        assert_eq!(found.max_depth, known.depth.unwrap(), "{name}");
    }
}

#[test]
fn small_trees_are_drawn_whole() {
    let mut drawn = 0;
    for (params, expected) in oracles() {
        let drawing = Drawing::new(&tree(params));
        assert_eq!(
            drawing.is_none(),
            expected.nodes > DRAWN_MAX as u64,
            "{params:?}"
        );
        let Some(drawing) = drawing else { continue };
        let mut out = Vec::new();
        drawing.write(&mut out, "a tree").unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("graph \"a tree\" {\n") && text.ends_with("}\n"));
        assert_eq!(
            text.matches(" -- ").count() as u64,
            expected.nodes - 1,
            "{params:?}"
        );
        drawn += 1;
    }
    assert!(drawn > 3, "{drawn} trees");
}

#[test]
fn named_trees_are_all_valid_and_found_in_any_case() {
    for known in named::TREES {
        assert_eq!(known.params.check(), Ok(()), "{}", known.name);
        for name in [known.name.to_lowercase(), known.name.to_uppercase()] {
            assert_eq!(named::find(&name).unwrap().name, known.name);
        }
    }
    let refused = named::find("T9").unwrap_err().to_string();
    assert!(
        refused.starts_with("T9: expected a named tree: T1 T2 "),
        "{refused}"
    );
    assert!(refused.ends_with(" D13") && !refused.contains('\n'));
}

#[test]
fn counting_the_last_level_counts_the_same() {
    let mut all = vec![
        geometric(Shape::Fixed, 1, 4.0, 19),
        geometric(Shape::Fixed, 1, 0.1, 1),
        balanced(1, 3.0),
        balanced(3, 0.0),
        balanced(5, 9.0),
        balanced(0, 9.0),
    ];
    all.extend(["T1", "geo", "D6"].map(|name| named::find(name).unwrap().params));
    for plain in all {
        let counted = Params {
            count_last_level: true,
            ..plain
        };
        assert_eq!(
            sequential(&tree(counted)),
            sequential(&tree(plain)),
            "{plain:?}"
        );
    }
}

#[test]
fn granularity_changes_nothing_but_the_work() {
    for (params, expected) in oracles().into_iter().filter(|(_, c)| c.nodes < 100_000) {
        let granularity = 3;
        let tree = tree(Params {
            granularity,
            ..params
        });
        assert_eq!(sequential(&tree), expected, "{params:?}");
    }
}

#[test]
fn node_by_node_counts_the_same() {
    for (params, expected) in oracles() {
        let tree = tree(params);
        let mut stack = vec![tree.root()];
        let mut found = Counts::default();
        while let Some(node) = stack.pop() {
            let children = tree.children(&node);
            found.add(&counts(1, u64::from(children == 0), node.depth()));
            stack.extend((0..children).map(|i| tree.child(&node, i)));
        }
        assert_eq!(found, expected, "{params:?}");
    }
}

#[test]
fn process_does_what_it_is_told() {
    for n in [1, 2, 31, 32, 33, 131, 132, 133, 511, usize::MAX] {
        for (params, expected) in small_oracles() {
            let tree = tree(params);
            let mut bag = Uts::root(&tree);
            let mut tasks = 0;
            while !bag.is_empty() {
                let done = bag.process(n, &tree);
                assert!(done == n || bag.is_empty() && done < n && done > 0);
                tasks += done as u64;
                assert_eq!(bag.counts().nodes, tasks + 1);
            }
            assert_eq!(bag.process(n, &tree), 0);
            let mut found = Counts::default();
            bag.submit(&mut found);
            assert_eq!(found, expected, "{n} {params:?}");
        }
    }
}

/// Numbers without a pattern that matters.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    fn share(&mut self) -> Share {
        match self.below(3) {
            0 => Share::Half,
            1 => Share::Count(1 + self.below(40)),
            _ => Share::Ration(1 + self.below(5)),
        }
    }
}

/// Splits, and holds the bag to its promises.
fn split(bag: &mut Uts, share: Share) -> Option<Uts> {
    let len = bag.len();
    let before = *bag.counts();
    let loot = bag.split(share);
    let taken = share.of(len);
    assert_eq!(loot.as_ref().map_or(0, Bag::len), taken);
    assert_eq!(bag.len(), len - taken);
    assert_eq!(loot.is_some(), taken > 0);
    assert_eq!(*bag.counts(), before, "counts stay");
    if let Some(loot) = &loot {
        assert!(!loot.is_empty() && !bag.is_empty());
        assert_eq!(*loot.counts(), Counts::default());
    } else {
        assert!(share != Share::Half || len < 2, "splittable means splits");
    }
    loot
}

#[test]
fn random_splits_and_merges_keep_every_task() {
    for seed in 1..=12 {
        for (params, expected) in small_oracles() {
            let tree = tree(params);
            let mut random = Random(seed << 32 | 0x9e37_79b9);
            let mut bags: Vec<Uts> = (0..6).map(|_| Uts::empty()).collect();
            bags[0] = Uts::root(&tree);
            while bags.iter().any(|b| !b.is_empty()) {
                let (from, to) = (random.below(6), random.below(6));
                let share = random.share();
                if from != to {
                    if let Some(loot) = split(&mut bags[from], share) {
                        bags[to].merge(loot);
                    }
                }
                let n = 1 + random.below(300);
                for bag in &mut bags {
                    bag.process(n, &tree);
                }
            }
            let mut found = Counts::default();
            for bag in bags {
                bag.submit(&mut found);
            }
            assert_eq!(found, expected, "{seed} {params:?}");
        }
    }
}

#[test]
fn splitting_to_single_tasks_and_back_keeps_every_task() {
    let (params, expected) = (named::find("D7").unwrap().params, 63_914);
    let tree = tree(params);
    for first in [1, 20, 1000, 20_000] {
        let mut bag = Uts::root(&tree);
        bag.process(first, &tree);
        let mut whole = vec![bag];
        let mut single = Vec::new();
        while let Some(mut bag) = whole.pop() {
            let loot = split(&mut bag, Share::Half);
            assert_eq!(loot.is_some(), loot.is_some() || bag.is_splittable());
            match loot {
                Some(loot) => whole.extend([bag, loot]),
                None => single.push(bag),
            }
        }
        assert!(single.iter().all(|b| b.len() <= 1));
        let mut all = Uts::empty();
        for bag in single {
            all.merge(bag);
        }
        all.process(usize::MAX, &tree);
        assert_eq!(all.counts().nodes, expected);
    }
}

#[test]
fn shares_are_what_their_names_say() {
    let tree = tree(named::find("D8").unwrap().params);
    let start = || {
        let mut bag = Uts::root(&tree);
        bag.process(3000, &tree);
        bag
    };
    // The bottom of a geometric tree is worth much, and an even half about half.
    let mut bottom = start().split(Share::Count(3)).unwrap();
    assert_eq!(bottom.process(3, &tree), 3);
    let mut kept = start();
    let mut half = kept.split(Share::Half).unwrap();
    half.process(usize::MAX, &tree);
    kept.process(usize::MAX, &tree);
    let part = half.counts().nodes as f64 / 257_042.0;
    assert!((0.2..0.8).contains(&part), "{part}");
    let mut bag = start();
    let len = bag.len();
    assert_eq!(bag.split(Share::Ration(3)).unwrap().len(), len / 4);
}

#[test]
fn bad_parameters_are_refused_in_one_line() {
    let good = Params::default();
    let bin = binomial(2000.0, 0.124875, 8, 42);
    let bal = balanced(7, 5.0);
    let hyb = hybrid(0.5, good);
    let many = |depth, branching| balanced(depth, branching);
    let table = [
        (
            Params {
                seed: 1 << 31,
                ..good
            },
            "-r 2147483648: ",
        ),
        (
            Params {
                granularity: 0,
                ..good
            },
            "-g 0: ",
        ),
        (
            Params {
                granularity: u32::MAX,
                ..bal
            },
            "-g 4294967295: ",
        ),
        (
            Params {
                branching: f64::NAN,
                ..good
            },
            "-b NaN: ",
        ),
        (
            Params {
                branching: f64::NAN,
                ..bin
            },
            "-b NaN: ",
        ),
        (
            Params {
                branching: f64::NAN,
                ..bal
            },
            "-b NaN: ",
        ),
        (
            Params {
                branching: -4.0,
                ..good
            },
            "-b -4: ",
        ),
        (
            Params {
                branching: 0.0,
                ..good
            },
            "-b 0: ",
        ),
        (
            Params {
                branching: -1.0,
                ..bin
            },
            "-b -1: ",
        ),
        (
            Params {
                branching: 1e9,
                ..bin
            },
            "-b 1000000000: ",
        ),
        (
            Params {
                branching: f64::INFINITY,
                ..hyb
            },
            "-b inf: ",
        ),
        (geometric(Shape::Exponential, 5, 1.0, 0), "-b 1: "),
        (geometric(Shape::Exponential, 5, 0.5, 0), "-b 0.5: "),
        (Params { depth: 0, ..good }, "-d 0: "),
        (
            Params {
                depth: 1_000_001,
                ..good
            },
            "-d 1000001: ",
        ),
        (
            Params {
                depth: u32::MAX,
                ..bal
            },
            "-d 4294967295: ",
        ),
        (Params { arity: 0, ..bin }, "-m 0: "),
        (Params { arity: 101, ..bin }, "-m 101: "),
        (
            Params {
                chance: -0.1,
                ..bin
            },
            "-q -0.1: ",
        ),
        (Params { chance: 1.5, ..bin }, "-q 1.5: "),
        (
            Params {
                chance: f64::NAN,
                ..hyb
            },
            "-q NaN: ",
        ),
        (
            Params {
                chance: 0.125,
                ..bin
            },
            "-q 0.125 -m 8: q times m is 1, ",
        ),
        (
            Params { chance: 0.5, ..hyb },
            "-q 0.5 -m 4: q times m is 2, ",
        ),
        // T3L with another seed.
        (binomial(2000.0, 0.200014, 5, 8), "-q 0.200014 -m 5: "),
        (Params { shift: -0.5, ..hyb }, "-f -0.5: "),
        (Params { shift: 1.1, ..hyb }, "-f 1.1: "),
        (
            Params {
                shift: f64::NAN,
                ..hyb
            },
            "-f NaN: ",
        ),
        (many(64, 2.0), "-b 2 -d 64: "),
        (many(1_000_000, 2.0), "-b 2 -d 1000000: "),
        (many(3, 1e8), "-b 100000000 -d 3: "),
        (
            Params {
                count_last_level: true,
                ..good
            },
            "-t 1 -a 0: ",
        ),
        (
            Params {
                count_last_level: true,
                ..bin
            },
            "-t 0: ",
        ),
        (
            Params {
                count_last_level: true,
                ..hyb
            },
            "-t 2: ",
        ),
    ];
    for (params, start) in table {
        let refused = Tree::new(params).unwrap_err().to_string();
        assert!(refused.starts_with(start), "{refused}");
        assert!(!refused.contains('\n') && refused.len() < 200, "{refused}");
    }
}

#[test]
fn what_just_fits_is_accepted() {
    assert_eq!(balanced(63, 2.0).check(), Ok(()));
    assert_eq!(balanced(1_000_000, 1.0).check(), Ok(()));
    assert_eq!(balanced(1_000_000, 0.5).check(), Ok(()));
    assert_eq!(geometric(Shape::Cyclic, 1_000_000, 1e6, 0).check(), Ok(()));
    assert_eq!(binomial(1e8, 0.0099, 100, (1 << 31) - 1).check(), Ok(()));
    // Parameters that the type does not use are not checked.
    let unused = Params {
        chance: f64::NAN,
        shift: 7.0,
        arity: 0,
        ..Params::default()
    };
    assert_eq!(unused.check(), Ok(()));
}

#[test]
fn numbers_of_types_and_shapes() {
    for id in 0..4 {
        assert_eq!(Kind::from_id(id).unwrap() as u32, id);
        assert_eq!(Shape::from_id(id).unwrap() as u32, id);
    }
    assert_eq!(Kind::from_id(4), Err(ParamError::Kind(4)));
    assert_eq!(Shape::from_id(4), Err(ParamError::Shape(4)));
}
