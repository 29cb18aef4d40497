//! The tree of memories of a node, against brute force.

use std::collections::VecDeque;
use tautline_core::hierarchy::{
    DEPTH_MAX, DOMAINS_MAX, Domain, Hierarchy, Kind, Spec, WORKERS_MAX, Wrong,
};

/// Two sockets of four cores; two cores share an L2.
fn xeon() -> Hierarchy {
    let cache = || Spec::new(Kind::Cache);
    let l1 = cache().copies(2).workers(1);
    let l2 = cache().copies(2).child(l1);
    let socket = cache().copies(2).child(l2);
    Spec::new(Kind::Memory).child(socket).build().unwrap()
}

/// Chatterjee, acceptance fact 8: two sockets with four cores each make 15 domains, breadth first;
/// p3 serves w0 and w1, p7 serves w0 only.
#[test]
fn chatterjee_8_two_sockets_are_15_places_breadth_first() {
    let tree = xeon();
    assert_eq!((tree.len(), tree.workers()), (15, 8));
    let levels: Vec<_> = tree.domains().map(|domain| tree.level(domain)).collect();
    assert_eq!(levels, [0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3]);
    assert_eq!(tree.subtree(Domain(3)), 0..2);
    assert_eq!(tree.subtree(Domain(7)), 0..1);
    assert_eq!(tree.subtree(Domain::ROOT), 0..8);
    assert!((0..8).all(|worker| tree.leaf_of(worker) == Domain(7 + worker)));
    let path: Vec<_> = tree.path(5).map(|domain| domain.0).collect();
    assert_eq!(path, [12, 5, 2, 0]);
    assert_eq!(tree.ancestor(Domain(12), 1), Some(Domain(2)));
    assert_eq!(tree.ancestor(Domain(2), 3), None);
    let memories: Vec<_> = tree.domains_of_kind(&Kind::Memory).collect();
    assert_eq!(memories, [Domain(0)]);
    assert_eq!(tree.domains_of_kind(&Kind::Cache).count(), 14);
    assert_eq!(tree.num_workers(Domain(1)), 4);
}

/// Chatterjee, acceptance fact 9: without a description, one domain serves all workers.
#[test]
fn chatterjee_9_without_a_description_one_place_has_all_workers() {
    for workers in [1, 2, 64, WORKERS_MAX] {
        let tree = Hierarchy::single(workers).unwrap();
        assert_eq!((tree.len(), tree.workers()), (1, workers));
        assert_eq!(tree.root(), Domain::ROOT);
        assert_eq!(tree.subtree(Domain::ROOT), 0..workers);
        assert_eq!(tree.path(workers - 1).collect::<Vec<_>>(), [Domain::ROOT]);
        assert_eq!((tree.parent(Domain::ROOT), tree.distance(0, 0)), (None, 0));
    }
}

#[test]
fn the_nearest_are_robbed_first_and_not_all_rob_the_same() {
    let tree = xeon();
    let victims = |worker| tree.victims(worker).collect::<Vec<_>>();
    assert_eq!(victims(0), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(victims(1), [0, 3, 2, 5, 6, 7, 4]);
    assert_eq!(victims(7), [6, 5, 4, 3, 0, 1, 2]);
    // In a tree with equal halves every worker is the first victim of one other at each distance.
    let mut first = vec![Vec::new(); 4];
    for worker in 0..8 {
        let mut victims = tree.victims(worker);
        while let Some(group) = victims.next_group() {
            let distance = tree.level(tree.leaf_of(worker)) - tree.level(group.domain);
            first[distance as usize].extend(group.workers().next());
        }
    }
    for at_distance in &mut first[1..] {
        at_distance.sort();
        assert_eq!(*at_distance, (0..8).collect::<Vec<_>>());
    }
    let flat = Hierarchy::single(4).unwrap();
    let all: Vec<Vec<_>> = (0..4).map(|w| flat.victims(w).collect()).collect();
    assert_eq!(all, [[1, 2, 3], [2, 3, 0], [3, 0, 1], [0, 1, 2]]);
    assert_eq!(Hierarchy::single(1).unwrap().victims(0).count(), 0);
}

/// A tree for brute force: a domain with its kind, its children and its workers.
struct Plain {
    kind: Kind,
    children: Vec<Plain>,
    workers: u32,
}

/// A pseudo-random generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as u32 % most
    }
}

/// Returns a random description, and the domains of all its copies.
fn random(dice: &mut Dice, depth: u32) -> (Spec, Vec<Plain>) {
    let kind = [Kind::Cache, Kind::Core, Kind::Other("die".into())][dice.below(3) as usize].clone();
    let copies = if depth == 0 { 1 } else { 1 + dice.below(3) };
    let spec = Spec::new(kind.clone()).copies(copies);
    if depth == 4 || dice.below(4) == 0 {
        let workers = 1 + dice.below(3);
        let leaf = |_| Plain {
            kind: kind.clone(),
            children: Vec::new(),
            workers,
        };
        return (spec.workers(workers), (0..copies).map(leaf).collect());
    }
    let below: Vec<u64> = (0..1 + dice.below(3))
        .map(|_| u64::from(dice.below(u32::MAX)))
        .collect();
    let spec = below.iter().fold(spec, |spec, &seed| {
        spec.child(random(&mut Dice(seed), depth + 1).0)
    });
    let copy = |_| Plain {
        kind: kind.clone(),
        children: below
            .iter()
            .flat_map(|&seed| random(&mut Dice(seed), depth + 1).1)
            .collect(),
        workers: 0,
    };
    (spec, (0..copies).map(copy).collect())
}

/// Returns the kind, level, parent and workers of every domain by brute force, breadth first.
fn breadth_first(root: &Plain) -> Vec<(Kind, u32, Option<u32>, Vec<u32>)> {
    fn workers(of: &Plain, next: &mut u32, into: &mut Vec<(*const Plain, Vec<u32>)>) -> Vec<u32> {
        let mut all: Vec<u32> = (*next..*next + of.workers).collect();
        *next += of.workers;
        for child in &of.children {
            all.extend(workers(child, next, into));
        }
        into.push((of, all.clone()));
        all
    }
    let mut of_places = Vec::new();
    workers(root, &mut 0, &mut of_places);
    let mut queue = VecDeque::from([(root, 0, None)]);
    let mut out = Vec::new();
    while let Some((plain, level, parent)) = queue.pop_front() {
        let number = out.len() as u32;
        let below = plain
            .children
            .iter()
            .map(|child| (child, level + 1, Some(number)));
        queue.extend(below);
        let own = of_places
            .iter()
            .find(|(domain, _)| std::ptr::eq(*domain, plain));
        out.push((plain.kind.clone(), level, parent, own.unwrap().1.clone()));
    }
    out
}

#[test]
fn random_trees_agree_with_brute_force() {
    let mut largest = 0;
    for seed in 0..200 {
        let (spec, plain) = random(&mut Dice(seed), 0);
        let tree = spec.build().unwrap();
        let expected = breadth_first(&plain[0]);
        assert_eq!(tree.len(), expected.len());
        largest = largest.max(tree.len());
        for (domain, (kind, level, parent, workers)) in tree.domains().zip(&expected) {
            assert_eq!((tree.kind(domain), tree.level(domain)), (kind, *level));
            assert_eq!(tree.parent(domain).map(|p| p.0), *parent);
            assert_eq!(tree.subtree(domain).collect::<Vec<_>>(), *workers);
            assert_eq!(tree.num_workers(domain) as usize, workers.len());
            let children = expected
                .iter()
                .zip(0..)
                .filter(|((_, _, parent, _), _)| *parent == Some(domain.0));
            let children: Vec<_> = children.map(|(_, number)| Domain(number)).collect();
            assert_eq!(tree.children(domain).collect::<Vec<_>>(), children);
            assert_eq!(tree.is_leaf(domain), children.is_empty());
        }
        for worker in 0..tree.workers() {
            // The domains that serve the worker, the smallest first, are its path.
            let mut serving: Vec<_> = expected
                .iter()
                .zip(0..)
                .filter(|((_, _, _, workers), _)| workers.contains(&worker))
                .map(|((_, level, _, _), domain)| (*level, Domain(domain)))
                .collect();
            serving.sort();
            let path: Vec<_> = serving.iter().rev().map(|&(_, domain)| domain).collect();
            assert_eq!(tree.path(worker).collect::<Vec<_>>(), path);
            assert_eq!(tree.leaf_of(worker), path[0]);
            for (level, domain) in serving {
                assert_eq!(tree.ancestor(path[0], level), Some(domain));
            }
        }
    }
    assert!(largest > 50, "{largest}");
}

#[test]
fn victims_of_random_trees_are_all_others_by_distance() {
    for seed in 0..200 {
        let tree = random(&mut Dice(seed), 0).0.build().unwrap();
        for worker in 0..tree.workers() {
            let victims: Vec<_> = tree.victims(worker).collect();
            let mut sorted = victims.clone();
            sorted.sort();
            let others: Vec<_> = (0..tree.workers()).filter(|w| *w != worker).collect();
            assert_eq!(sorted, others, "seed {seed}, worker {worker}");
            let distance = |victim: &u32| {
                let both = |domain: &Domain| tree.subtree(*domain).contains(victim);
                tree.path(worker).position(|domain| both(&domain)).unwrap() as u32
            };
            assert!(victims.is_sorted_by_key(distance), "{worker}: {victims:?}");
            for victim in &victims {
                assert_eq!(tree.distance(worker, *victim), distance(victim));
                assert_eq!(tree.common(worker, *victim), tree.common(*victim, worker));
            }
        }
    }
}

/// Returns the position and the kind of the error, and its message.
fn refused(spec: Spec) -> (Vec<usize>, Wrong, String) {
    let fault = spec.build().expect_err("the description is invalid");
    let line = fault.to_string();
    assert_eq!(line.lines().count(), 1);
    (fault.at, fault.wrong, line)
}

#[test]
fn a_worker_above_other_places_is_refused() {
    let leaf = || Spec::new(Kind::Core).workers(1);
    let inner = leaf().workers(3).child(leaf());
    let root = Spec::new(Kind::Memory).child(leaf()).child(inner);
    let (at, wrong, line) = refused(root);
    assert_eq!((at, wrong), (vec![1], Wrong::Inner { workers: 3 }));
    assert_eq!(
        line,
        "domain /1: 3 workers on a domain with domains below it: only on a leaf"
    );
}

#[test]
fn a_leaf_without_workers_is_refused() {
    let empty = Spec::new(Kind::Core).child(Spec::new(Kind::Device));
    let (at, wrong, line) = refused(Spec::new(Kind::Memory).child(empty));
    assert_eq!((at, wrong), (vec![0, 0], Wrong::NoWorker));
    assert_eq!(line, "domain /0/0: 0 workers on a leaf: at least 1");
    assert_eq!(
        refused(Spec::new(Kind::Memory)).2,
        "domain /: 0 workers on a leaf: at least 1"
    );
    assert_eq!(
        Hierarchy::single(0).unwrap_err().to_string(),
        refused(Spec::new(Kind::Memory)).2
    );
}

#[test]
fn no_copy_is_refused() {
    let leaf = Spec::new(Kind::Core).workers(1).copies(0);
    let (at, wrong, line) = refused(Spec::new(Kind::Memory).child(leaf));
    assert_eq!((at, wrong), (vec![0], Wrong::NoCopy));
    assert_eq!(line, format!("domain /0: num 0: from 1 to {DOMAINS_MAX}"));
}

#[test]
fn a_second_root_is_refused() {
    let (at, wrong, line) = refused(Spec::new(Kind::Memory).workers(1).copies(2));
    assert_eq!((at, wrong), (vec![], Wrong::Root { copies: 2 }));
    assert_eq!(line, "domain /: num 2: there is one root");
}

#[test]
fn copies_of_copies_that_overflow_are_refused() {
    let leaf = |copies| Spec::new(Kind::Core).copies(copies).workers(1);
    let socket = |copies| Spec::new(Kind::Cache).copies(u32::MAX).child(leaf(copies));
    let (at, wrong, line) = refused(Spec::new(Kind::Memory).child(socket(8)));
    assert_eq!((at, wrong), (vec![0], Wrong::Domains { copies: u32::MAX }));
    assert!(line.contains("num 4294967295") && line.contains("at most 1048576"));
    let (at, ..) = refused(Spec::new(Kind::Memory).child(socket(u32::MAX)));
    assert_eq!(at, [0, 0]);
    // The root is one domain more than allowed.
    let full = |copies| Spec::new(Kind::Memory).child(leaf(copies));
    assert_eq!(full(DOMAINS_MAX - 1).build().unwrap().len(), 1 << 20);
    assert_eq!(refused(full(DOMAINS_MAX)).0, []);
}

#[test]
fn too_many_workers_are_refused() {
    let leaf = Spec::new(Kind::Core).copies(2).workers(WORKERS_MAX / 2 + 1);
    let (at, wrong, line) = refused(Spec::new(Kind::Memory).child(leaf));
    let (workers, copies) = (WORKERS_MAX / 2 + 1, 2);
    assert_eq!((at, wrong), (vec![0], Wrong::Workers { workers, copies }));
    assert!(line.contains("2 x 524289 workers"), "{line}");
    assert!(Hierarchy::single(u32::MAX).is_err());
}

#[test]
fn a_tower_is_refused() {
    let tower = |levels| {
        let leaf = Spec::new(Kind::Core).workers(1);
        (1..levels).fold(leaf, |below, _| Spec::new(Kind::Cache).child(below))
    };
    assert_eq!(
        tower(DEPTH_MAX).build().unwrap().path(0).count() as u32,
        DEPTH_MAX
    );
    let (at, wrong, _) = refused(tower(DEPTH_MAX + 1));
    assert_eq!((at.len() as u32, wrong), (DEPTH_MAX, Wrong::Depth));
}

#[test]
fn labels_and_marks_are_those_of_the_description() {
    let core = Spec::new(Kind::named("core"))
        .copies(2)
        .workers(1)
        .label("P");
    let die = Spec::new(Kind::named("die")).tuning(true).child(core);
    let die = die.bytes(1 << 25);
    let tree = Spec::new(Kind::named("mem")).child(die).build().unwrap();
    assert_eq!(tree.tuning_domains().collect::<Vec<_>>(), [Domain(1)]);
    assert_eq!((tree.label(Domain(0)), tree.label(Domain(3))), ("", "P"));
    assert_eq!((tree.bytes(Domain(0)), tree.bytes(Domain(1))), (0, 1 << 25));
    let names: Vec<_> = tree.domains().map(|p| tree.kind(p).name()).collect();
    assert_eq!(names, ["mem", "die", "core", "core"]);
    for name in ["mem", "cache", "core", "node", "device"] {
        assert!(!matches!(Kind::named(name), Kind::Other(_)), "{name}");
        assert_eq!(Kind::named(name).to_string(), name);
    }
}
