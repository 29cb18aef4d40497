//! Travelling salesman: optima, bags, files.

use std::sync::Arc;
use tautline::balance::Control;
use tautline::balance::{Reason, Run};
use tautline::prelude::*;
use tautline_cli::text::Input;
use tautline_cli::tsp::{
    Found, HELD_KARP_CITIES_MAX, Incumbent, Instance, Search, Tsp, held_karp, sequential, tsplib,
};

fn random(cities: usize, seed: u64) -> Instance {
    Instance::random(cities, 1000, seed).unwrap()
}

fn runtime(places: u32, workers: usize) -> Runtime {
    let builder = Runtime::builder().places(places).workers(workers);
    builder.pinned(false).build().unwrap()
}

fn searched(search: &Arc<Search>, balancer: &Balancer<'_>) -> Run<Found, ()> {
    let shared = |_| Incumbent::new(search);
    let bag = Tsp::root(search);
    balancer.run(bag, shared, Found::default()).unwrap()
}

/// The tour visits all cities, has the reported length, and that is the expected one.
fn check(found: &Found, instance: &Instance, expected: usize) {
    let best = found.best.as_ref().unwrap();
    assert_eq!(best.length, expected, "{}", instance.name());
    assert!(instance.is_tour(&best.cities), "{:?}", best.cities);
    assert_eq!(instance.length(&best.cities), expected);
}

/// Finnerty, acceptance fact 14: twenty instances, with and without prices, alone and over places
/// and workers.
#[test]
fn the_optimum_is_that_of_held_and_karp() {
    let settings: Vec<_> = [(1, 1), (1, 3), (2, 1), (3, 2)]
        .into_iter()
        .flat_map(|shape| [1, 7, 511].map(|grain| (shape, grain)))
        .collect();
    for seed in 1..=20u64 {
        let instance = random(8 + seed as usize % 6, seed);
        let optimum = held_karp(&instance).unwrap();
        for search in [Search::new, Search::plain] {
            let search = Arc::new(search(instance.clone(), None));
            check(&sequential(&search), &instance, optimum);
            for ((places, workers), grain) in &settings {
                let rt = runtime(*places, *workers);
                let run = searched(&search, &rt.balancer().grain(*grain).seed(seed));
                assert!(run.complete);
                check(&run.output, &instance, optimum);
            }
        }
    }
}

#[test]
fn prices_change_no_optimum() {
    for seed in 21..=60 {
        let instance = random(5 + seed as usize % 8, seed);
        let optimum = held_karp(&instance).unwrap();
        for search in [Search::new, Search::plain] {
            check(
                &sequential(&Arc::new(search(instance.clone(), None))),
                &instance,
                optimum,
            );
        }
    }
    // Distances that obey no triangle, with many ties and zeros.
    for seed in 0..20u64 {
        let rough = |a: usize, b: usize| {
            let pair = (a.min(b) as u64) << 32 | a.max(b) as u64;
            (pair ^ seed << 8).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61
        };
        let instance = Instance::new("rough", 9, rough).unwrap();
        let optimum = held_karp(&instance).unwrap();
        for search in [Search::new, Search::plain] {
            check(
                &sequential(&Arc::new(search(instance.clone(), None))),
                &instance,
                optimum,
            );
        }
    }
}

#[test]
fn the_longest_distances_do_not_overflow() {
    let most = u64::from(Instance::DISTANCE_MAX);
    let far = Instance::new("far", 9, |a, b| most - (a * b) as u64 % 7).unwrap();
    let optimum = held_karp(&far).unwrap();
    check(
        &sequential(&Arc::new(Search::new(far.clone(), None))),
        &far,
        optimum,
    );
}

#[test]
fn a_handful_of_cities_has_an_answer() {
    for (cities, optimum) in [(0, 0), (1, 0), (2, 14), (3, 21)] {
        let instance = Instance::new("few", cities, |_, _| 7).unwrap();
        assert_eq!(held_karp(&instance), Some(optimum));
        let search = Arc::new(Search::new(instance.clone(), None));
        check(&sequential(&search), &instance, optimum);
        let run = searched(&search, &runtime(2, 2).balancer());
        check(&run.output, &instance, optimum);
        assert!(run.complete && run.output.nodes == 0);
    }
    let many = random(HELD_KARP_CITIES_MAX + 1, 1);
    assert_eq!(held_karp(&many), None);
}

const FILES: [&str; 7] = [
    include_str!("tsplib/burma14.tsp"),
    include_str!("tsplib/ulysses16.tsp"),
    include_str!("tsplib/ulysses22.tsp"),
    include_str!("tsplib/gr17.tsp"),
    include_str!("tsplib/gr21.tsp"),
    include_str!("tsplib/bays29.tsp"),
    include_str!("tsplib/att48.tsp"),
];

#[test]
fn published_optima_are_found() {
    for file in FILES {
        let input = Input::new("x.tsp", file.as_bytes()).unwrap();
        let instance = tsplib::read(input).unwrap().instance;
        let optimum = tsplib::optimum(instance.name()).unwrap();
        let search = Arc::new(Search::new(instance.clone(), None));
        check(&sequential(&search), &instance, optimum);
        let run = searched(&search, &runtime(2, 2).balancer().grain(5));
        check(&run.output, &instance, optimum);
    }
}

/// Returns the length of the shortest tour with these edges, by trying all.
fn shortest(instance: &Instance, fixed: &[(usize, usize)]) -> usize {
    fn extend(
        instance: &Instance,
        fixed: &[(usize, usize)],
        tour: &mut Vec<u16>,
        best: &mut usize,
    ) {
        let cities = instance.cities();
        if tour.len() == cities {
            let ends = |at: usize| (usize::from(tour[at]), usize::from(tour[(at + 1) % cities]));
            let edges: Vec<_> = (0..cities).map(ends).collect();
            let has =
                |(a, b): &(usize, usize)| edges.contains(&(*a, *b)) || edges.contains(&(*b, *a));
            if fixed.iter().all(has) {
                *best = instance.length(tour).min(*best);
            }
            return;
        }
        for city in 1..cities as u16 {
            if !tour.contains(&city) {
                tour.push(city);
                extend(instance, fixed, tour, best);
                tour.pop();
            }
        }
    }
    let mut best = usize::MAX;
    extend(instance, fixed, &mut vec![0], &mut best);
    best
}

/// From a few edges to a whole tour: each by all bounds, alone and over places, and by dynamic
/// programming.
#[test]
fn fixed_edges_are_in_the_shortest_tour() {
    let mut longer = 0;
    for seed in 0..60u64 {
        let free = random(4 + seed as usize % 5, seed);
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut draw = |below: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 32) as usize % below
        };
        let (mut instance, mut fixed) = (free.clone(), Vec::new());
        for _ in 0..1 + draw(3 * free.cities()) {
            let (from, to) = (draw(free.cities()), draw(free.cities()));
            if instance.fix(from, to).is_ok() {
                fixed.push((from, to));
            }
        }
        let optimum = shortest(&instance, &fixed);
        assert_ne!(optimum, usize::MAX, "no tour has the edges {fixed:?}");
        longer += u32::from(optimum > shortest(&free, &[]));
        assert_eq!(held_karp(&instance), Some(optimum), "{fixed:?}");
        for search in [Search::new, Search::plain] {
            let search = Arc::new(search(instance.clone(), None));
            assert!(instance.is_tour(&search.first().cities), "{fixed:?}");
            check(&sequential(&search), &instance, optimum);
            let run = searched(&search, &runtime(2, 2).balancer().grain(3));
            check(&run.output, &instance, optimum);
        }
    }
    assert!(longer > 30, "{longer} optima are longer: no test");
}

/// Against dynamic programming, which prefers fixed edges by their cost: the search prunes. Where
/// most distances are 0, tours without a fixed edge are shorter by more than what the bound adds
/// for it.
#[test]
fn fixed_edges_of_larger_instances_are_in_the_shortest_tour() {
    for seed in 0..120u64 {
        let cities = 6 + seed as usize % 8;
        let rough = |a: usize, b: usize| {
            let pair = (a.min(b) as u64) << 32 | a.max(b) as u64;
            let drawn = (pair ^ seed << 8).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61;
            if drawn < 3 { 100 } else { 0 }
        };
        let mut instance = match seed % 2 {
            0 => random(cities, seed),
            _ => Instance::new("rough", cities, rough).unwrap(),
        };
        for step in 0..=seed as usize % cities {
            let _ = instance.fix(step, (step * 5 + 3 + seed as usize) % cities);
        }
        let optimum = held_karp(&instance).unwrap();
        for search in [Search::new, Search::plain] {
            let search = Arc::new(search(instance.clone(), None));
            check(&sequential(&search), &instance, optimum);
        }
    }
}

/// With the best length known from the start the tree does not depend on the order of the walk: the
/// same number of nodes means that no branch was lost or taken twice.
#[test]
fn splits_and_merges_keep_every_branch() {
    let instance = random(17, 1);
    let optimum = sequential(&Arc::new(Search::new(instance.clone(), None)));
    let target = optimum.length().unwrap() - 1;
    let search = Arc::new(Search::plain(instance, Some(target)));
    let shared = Incumbent::new(&search);
    let expected = Tsp::root(&search).process(usize::MAX, &shared);
    assert!(expected > 1000, "{expected} nodes are no test");
    for seed in 0..30u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut draw = |below: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 32) as usize % below
        };
        let (mut bags, mut done) = (vec![Tsp::root(&search)], 0);
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
                    let due = share.of(before);
                    assert!(due > 0 || share != Share::Half || !bags[at].is_splittable());
                    let loot = bags[at].split(share);
                    assert_eq!(loot.as_ref().map_or(0, Bag::len), due);
                    assert_eq!(bags[at].len(), before - due);
                    assert!(loot.is_none() || due < before);
                    bags.extend(loot);
                }
                1 if bags.len() > 1 => {
                    let other = bags.swap_remove(at);
                    let into = draw(bags.len());
                    let before = before + bags[into].len();
                    bags[into].merge(other);
                    assert_eq!(bags[into].len(), before);
                }
                _ => done += bags[at].process(1 + draw(400), &shared),
            }
            bags.retain(|bag| !bag.is_empty());
        }
        assert_eq!(done, expected, "seed {seed}");
    }
}

#[test]
fn a_merged_bag_keeps_the_better_tour_and_all_counts() {
    let search = Arc::new(Search::plain(random(12, 3), None));
    let shared = Incumbent::new(&search);
    let mut bag = Tsp::root(&search);
    let mut loot = bag.split(Share::Half).unwrap();
    assert_eq!(loot.found(), &Found::default());
    while !loot.is_empty() {
        loot.process(10, &shared);
    }
    bag.process(10, &shared);
    let nodes = bag.found().nodes + loot.found().nodes;
    let best = bag
        .found()
        .length()
        .into_iter()
        .chain(loot.found().length())
        .min();
    bag.merge(loot);
    assert_eq!((bag.found().nodes, bag.found().length()), (nodes, best));
}

#[test]
fn a_target_ends_the_search_when_it_is_met() {
    let instance = random(14, 2);
    let optimum = held_karp(&instance).unwrap();
    let first = Search::new(instance.clone(), None).first().length;
    assert!(optimum < first, "the instance is no test");
    for (target, expected) in [(first, first), (first + 5, first), (optimum, optimum)] {
        let search = Arc::new(Search::plain(instance.clone(), Some(target)));
        check(&sequential(&search), &instance, expected);
    }
    // None is that short: the whole tree is searched, and the first tour stays.
    let search = Arc::new(Search::plain(instance.clone(), Some(optimum - 1)));
    check(&sequential(&search), &instance, first);
    let run = searched(&search, &runtime(1, 2).balancer());
    assert!(run.complete);
    check(&run.output, &instance, first);
}

#[test]
fn a_target_stops_all_places() {
    let instance = random(17, 1);
    let optimum = sequential(&Arc::new(Search::new(instance.clone(), None)));
    let target = optimum.length().unwrap();
    let search = Arc::new(Search::plain(instance.clone(), Some(target)));
    assert!(target < search.first().length, "the instance is no test");
    for (places, workers) in [(1, 1), (2, 2)] {
        let control = Control::new();
        let rt = runtime(places, workers);
        let balancer = rt.balancer().grain(3);
        let run = searched(&search, &balancer.control(&control));
        assert!(!run.complete, "{places} places");
        assert_eq!(control.reason(), Some(Reason::Found));
        check(&run.output, &instance, target);
    }
}
