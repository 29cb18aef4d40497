use super::list::{Part, PlaceList};
use super::*;
use std::collections::BTreeSet;
use tautline_node::machine::{Cache, Node};

fn parse(text: &str) -> PlaceList {
    let list = text.parse();
    list.unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn sets(text: &str) -> Vec<Vec<usize>> {
    match parse(text) {
        PlaceList::Sets(sets) => sets.into_iter().map(Vec::from_iter).collect(),
        parts => panic!("{parts:?}"),
    }
}

fn refusal(text: &str) -> String {
    let list = text.parse::<PlaceList>();
    list.map_or_else(|error| error.to_string(), |list| format!("accepted {list}"))
}

/// Sockets of cores of threads. The processors are numbered through all first threads, then all
/// second ones; those that `mask` leaves out are not allowed. A cache for each two cores, a node
/// for each socket.
fn machine(sockets: usize, cores: usize, threads: usize, mask: impl Fn(&usize) -> bool) -> Machine {
    let all = sockets * cores;
    let cpus: Vec<Cpu> = (0..all * threads)
        .filter(&mask)
        .map(|id| Cpu {
            id,
            thread: 0,
            core: id % all,
            node: Some(id % all / cores),
            package: Some(id % all / cores),
        })
        .collect();
    let behind = |has: &dyn Fn(usize) -> bool| -> Vec<usize> {
        let ids = cpus.iter().map(|cpu| cpu.id);
        ids.filter(|id| has(id % all)).collect()
    };
    let cache = |two: usize| Cache {
        level: 2,
        kind: "Unified".to_owned(),
        bytes: 1 << 20,
        cpus: behind(&|core| core / 2 == two),
    };
    let node = |id: usize| Node {
        id,
        bytes: 1 << 30,
        cpus: behind(&|core| core / cores == id),
    };
    let caches = (0..all.div_ceil(2)).map(cache).collect();
    let nodes = (0..sockets).map(node).collect();
    Machine::described(None, cpus.clone(), caches, nodes)
}

#[test]
fn sets_are_those_of_the_grammar() {
    for (text, expected) in [
        ("{0}", vec![vec![0]]),
        ("{0,1},{2,3}", vec![vec![0, 1], vec![2, 3]]),
        (
            "{0:4}:3:4",
            vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9, 10, 11]],
        ),
        ("{2:4:2}", vec![vec![2, 4, 6, 8]]),
        ("{6:4:-2}", vec![vec![0, 2, 4, 6]]),
        ("{0:2}:2", vec![vec![0, 1], vec![1, 2]]),
        ("{8}:3:-4", vec![vec![8], vec![4], vec![0]]),
        ("{0:4,!2}", vec![vec![0, 1, 3]]),
        ("{0}:4,!{2}", vec![vec![0], vec![1], vec![3]]),
        ("0,4,8", vec![vec![0], vec![4], vec![8]]),
        ("0:3:2", vec![vec![0], vec![2], vec![4]]),
        ("0:3,!1", vec![vec![0], vec![2]]),
        (
            " { 0 , 1 } : 2 : 2 , { 9 } ",
            vec![vec![0, 1], vec![2, 3], vec![9]],
        ),
        ("{3,3,3}", vec![vec![3]]),
        ("{0,1},{1,2}", vec![vec![0, 1], vec![1, 2]]),
        ("{5:1:+7}", vec![vec![5]]),
    ] {
        assert_eq!(sets(text), expected, "{text}");
    }
}

#[test]
fn parts_are_those_of_the_grammar() {
    for (text, expected) in [
        ("threads", PlaceList::Parts(Part::Threads, None)),
        ("cores(4)", PlaceList::Parts(Part::Cores, Some(4))),
        (" Sockets ( 1 ) ", PlaceList::Parts(Part::Sockets, Some(1))),
        ("ll_caches", PlaceList::Parts(Part::LastLevelCaches, None)),
        ("NUMA_DOMAINS", PlaceList::Parts(Part::NumaDomains, None)),
    ] {
        assert_eq!(parse(text), expected, "{text}");
        assert_eq!(parse(&expected.to_string()), expected, "{text}");
    }
}

#[test]
fn each_mistake_is_named_with_its_place() {
    let parts = "threads, cores, ll_caches, numa_domains, sockets, or sets such as {0,1},{2,3}";
    let number = "a number from 0 to 1048575";
    let count = "a number from 1 to 1048575";
    for (text, expected) in [
        ("", format!("at character 1, the end: expected {number}")),
        ("core", format!("at character 1, core: expected {parts}")),
        (
            "cores,threads",
            "at character 6, ,: expected a comma, or the end".to_owned(),
        ),
        ("cores(", format!("at character 7, the end: expected {count}")),
        ("cores(0)", format!("at character 7, 0: expected {count}")),
        ("cores(-1)", format!("at character 7, -1: expected {count}")),
        (
            "cores(4",
            "at character 8, the end: expected a closing parenthesis".to_owned(),
        ),
        (
            "cores(4))",
            "at character 9, ): expected a comma, or the end".to_owned(),
        ),
        ("{}", format!("at character 2, }}: expected {number}")),
        (
            "{0",
            "at character 3, the end: expected a comma, or a closing brace".to_owned(),
        ),
        ("{0,}", format!("at character 4, }}: expected {number}")),
        ("{0},", format!("at character 5, the end: expected {number}")),
        ("{-1}", format!("at character 2, -1: expected {number}")),
        ("{x}", format!("at character 2, x: expected {number}")),
        ("{1048576}", format!("at character 2, 1048576: expected {number}")),
        (
            "{99999999999999999999}",
            format!("at character 2, 99999999999999999999: expected {number}"),
        ),
        ("{0:0}", format!("at character 4, 0: expected {count}")),
        (
            "{0:2:x}",
            "at character 6, x: expected a number from -1048575 to 1048575".to_owned(),
        ),
        (
            "{1:3:-1}",
            "at character 2, 1: expected numbers from 0 to 1048575, not -1".to_owned(),
        ),
        (
            "{0}:2:-1",
            "at character 1, {: expected numbers from 0 to 1048575, not -1".to_owned(),
        ),
        (
            "{1048575:2}",
            "at character 2, 1048575: expected numbers from 0 to 1048575, not 1048576".to_owned(),
        ),
        (
            "{0,!0}",
            "at character 7, the end: expected at least one number besides those left out of a place".to_owned(),
        ),
        (
            "{0},!{0}",
            "at character 9, the end: expected at least one place besides those left out".to_owned(),
        ),
        (
            "{0}{1}",
            "at character 4, {: expected a comma, or the end".to_owned(),
        ),
        ("{{0}}", format!("at character 2, {{: expected {number}")),
        (
            "{0:1048575}",
            "at character 1, {: expected at most 1048576 numbers in all".to_owned(),
        ),
        (
            "{0:1000}:1048575:0",
            "at character 1, {: expected at most 1048576 numbers in all".to_owned(),
        ),
        ("\n é", format!("at character 3, é: expected {parts}")),
    ] {
        assert_eq!(refusal(text), expected, "{text}");
    }
}

/// Pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % most
    }
}

/// An interval as text, and what brute force makes of it from `start`.
fn interval(dice: &mut Dice, start: usize) -> (String, Vec<usize>) {
    let count = 1 + dice.below(4);
    match dice.below(4) {
        0 => (String::new(), vec![start]),
        1 => (format!(":{count}"), (start..start + count).collect()),
        2 => (
            format!(":{count}:3"),
            (0..count).map(|step| start + 3 * step).collect(),
        ),
        _ => (
            format!(":{count}:-2"),
            (0..count).map(|step| start - 2 * step).collect(),
        ),
    }
}

#[test]
fn random_lists_are_what_brute_force_says() {
    let mut dice = Dice(7);
    let mut without = 0;
    for _ in 0..2_000 {
        let (mut text, mut expected) = (Vec::new(), Vec::<BTreeSet<usize>>::new());
        for _ in 0..1 + dice.below(4) {
            let (mut inner, mut set) = (Vec::new(), BTreeSet::new());
            for _ in 0..1 + dice.below(4) {
                let start = 20 + dice.below(12);
                if dice.below(5) == 0 && set.iter().any(|number| *number != start) {
                    set.remove(&start);
                    inner.push(format!("!{start}"));
                } else {
                    let (suffix, numbers) = interval(&mut dice, start);
                    set.extend(numbers);
                    inner.push(format!("{start}{suffix}"));
                }
            }
            let inner = inner.join(",");
            if dice.below(4) == 0 && expected.iter().any(|known| *known != set) {
                let before = expected.len();
                expected.retain(|known| *known != set);
                without += before - expected.len();
                text.push(format!("!{{{inner}}}"));
            } else {
                let (suffix, starts) = interval(&mut dice, 10);
                let moved = |start: &usize| set.iter().map(|number| number + start - 10).collect();
                expected.extend(starts.iter().map(moved));
                text.push(format!("{{{inner}}}{suffix}"));
            }
        }
        let text = text.join(",");
        let list = parse(&text);
        assert_eq!(list, PlaceList::Sets(expected), "{text}");
        assert_eq!(parse(&list.to_string()), list, "{text}");
        // Regardless of cuts and insertions, nothing panics, and a refusal is one line.
        let cut = dice.below(text.len());
        for broken in [&text[..cut], &text[cut..], &text.replace(',', "{")] {
            assert_eq!(refusal(broken).lines().count(), 1, "{broken}");
        }
    }
    assert!(without > 0);
}

#[test]
fn parts_of_a_machine_are_its_parts() {
    let machine = machine(2, 4, 2, |_| true);
    let on = |text: &str| parse(text).on(&machine);
    assert_eq!(
        on("sockets"),
        [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]]
    );
    assert_eq!(on("numa_domains"), on("sockets"));
    assert_eq!(on("sockets(1)").len(), 1);
    assert_eq!(on("ll_caches")[1], [2, 3, 10, 11]);
    let cores = on("cores");
    assert_eq!((cores.len(), &cores[7][..]), (8, &[7, 15][..]));
    assert_eq!(on("threads")[..3], [[0], [8], [1]]);
    assert_eq!(on("cores(99)").len(), 8);
    let every: Vec<_> = ["threads", "cores", "ll_caches", "numa_domains", "sockets"]
        .map(|part| on(part).concat())
        .map(BTreeSet::from_iter)
        .into();
    assert!(every.iter().all(|cpus| cpus.len() == 16));
}

#[test]
fn a_sparse_mask_is_never_widened() {
    let mut dice = Dice(3);
    let lists = [
        "threads",
        "cores",
        "cores(2)",
        "ll_caches",
        "sockets",
        "{0:8},{8:8}",
        "{0}:16",
        "{5,9}:4:3",
    ];
    for _ in 0..300 {
        let mut mask: BTreeSet<usize> = (0..16).filter(|_| dice.below(3) == 0).collect();
        mask.insert(dice.below(16));
        let machine = machine(2, 4, 2, |cpu| mask.contains(cpu));
        let mut pinnings = vec![Pinning::of(&machine)];
        for list in lists {
            for bind in [Bind::Close, Bind::Spread, Bind::Primary] {
                pinnings.extend(Pinning::listed(&machine, &parse(list), bind));
            }
        }
        for pinning in pinnings {
            let every: BTreeSet<usize> = pinning.places().iter().flatten().copied().collect();
            assert!(every.is_subset(&mask) && pinning.processors() <= mask.len());
            for threads in 1..20 {
                let cpus = pinning.cpus(threads);
                assert_eq!(cpus.len(), threads);
                assert!(cpus.iter().all(|cpu| every.contains(cpu)), "{cpus:?}");
            }
        }
        // The default: a dedicated processor for each, and a dedicated core while there are
        // any.
        let pinning = Pinning::of(&machine);
        let cores = |cpus: Vec<usize>| {
            cpus.iter()
                .map(|cpu| cpu % 8)
                .collect::<BTreeSet<_>>()
                .len()
        };
        assert_eq!(BTreeSet::from_iter(pinning.cpus(mask.len())), mask);
        assert_eq!(cores(pinning.cpus(machine.cores())), machine.cores());
    }
}

#[test]
fn no_processor_is_shared_while_another_is_free() {
    let mut dice = Dice(11);
    for _ in 0..300 {
        let machine = machine(2, 8, 1, |_| true);
        let mut free: Vec<usize> = (0..16).collect();
        let mut places = Vec::new();
        while free.len() > 1 && places.len() < 5 {
            let size = 1 + dice.below(free.len() - 1);
            places.push(BTreeSet::from_iter(free.drain(..size)));
        }
        let list = PlaceList::Sets(places.clone());
        let pinning = Pinning::listed(&machine, &list, Bind::Close).unwrap();
        let all = places.iter().map(BTreeSet::len).sum();
        assert_eq!(pinning.processors(), all);
        for threads in places.len() + 1..=all {
            let cpus = pinning.cpus(threads);
            let distinct: BTreeSet<usize> = cpus.iter().copied().collect();
            assert_eq!(distinct.len(), threads, "{list}: {cpus:?}");
            let place = |cpu: &usize| places.iter().position(|place| place.contains(cpu));
            assert!(cpus.is_sorted_by_key(place), "{list}: {cpus:?}");
        }
    }
}

#[test]
fn close_spread_and_primary_are_those_of_openmp() {
    let machine = machine(2, 4, 2, |_| true);
    let cpus = |list: &str, bind, threads| {
        let pinning = Pinning::listed(&machine, &parse(list), bind).unwrap();
        pinning.cpus(threads)
    };
    assert_eq!(cpus("cores", Bind::Close, 3), [0, 1, 2]);
    assert_eq!(cpus("cores", Bind::Spread, 4), [0, 2, 4, 6]);
    assert_eq!(cpus("cores", Bind::Spread, 3), [0, 2, 5]);
    assert_eq!(cpus("cores", Bind::Primary, 3), [0, 8, 0]);
    assert_eq!(cpus("sockets", Bind::Close, 2), [0, 4]);
    assert_eq!(cpus("sockets", Bind::Close, 5), [0, 1, 2, 4, 5]);
    assert_eq!(
        cpus("sockets(1)", Bind::Close, 9),
        [0, 1, 2, 3, 8, 9, 10, 11, 0]
    );
    assert_eq!(cpus("{0,1},{2}", Bind::Close, 5), [0, 1, 0, 2, 2]);
    assert_eq!(Pinning::of(&machine).cpus(3), [0, 1, 2]);
}

#[test]
fn openmp_is_asked_unless_it_does_not_bind() {
    let machine = machine(2, 4, 1, |_| true);
    let openmp = |places: Option<&str>, bind: Option<&str>| {
        openmp(&machine, |name| match name {
            "OMP_PLACES" => places.map(str::to_owned),
            "OMP_PROC_BIND" => bind.map(str::to_owned),
            _ => None,
        })
    };
    let default = Pinning::of(&machine);
    let list = |bind| Pinning::listed(&machine, &parse("{4:4}:1,{0}"), bind).unwrap();
    let asked = Some("{4:4}:1,{0}");
    for (bind, expected) in [
        (None, list(Bind::Close)),
        (Some("true"), list(Bind::Close)),
        (Some("close,spread"), list(Bind::Close)),
        (Some("SPREAD"), list(Bind::Spread)),
        (Some("master"), list(Bind::Primary)),
        (Some("false"), default.clone()),
        (Some("FALSE, true"), default.clone()),
    ] {
        assert_eq!(openmp(asked, bind), (expected, None), "{bind:?}");
    }
    assert_eq!(openmp(None, Some("spread")), (default.clone(), None));
    for (places, why) in [
        (
            "gpus",
            "OMP_PLACES gpus: passed over, at character 1, gpus: expected threads, cores",
        ),
        (
            "{9}\n",
            "OMP_PLACES {9}\\n: passed over, none of these processors is allowed",
        ),
    ] {
        let (pinning, warning) = openmp(Some(places), None);
        assert_eq!(pinning, default);
        let warning = warning.unwrap();
        assert!(
            warning.starts_with(why) && warning.lines().count() == 1,
            "{warning}"
        );
    }
}

/// Places that share processors: no processor has two workers while another of the places has none.
#[test]
fn places_that_overlap_share_their_workers_out() {
    let machine = machine(1, 4, 1, |_| true);
    for (list, workers, expected) in [
        ("{0,1},{0,1}", 2, vec![0, 1]),
        ("{0,1},{0,1}", 3, vec![0, 1, 0]),
        ("{0,1},{0}", 2, vec![1, 0]),
        ("{0,1},{1,2},{2,0}", 3, vec![0, 1, 2]),
        ("{0,1,2},{0,1}", 3, vec![2, 0, 1]),
        ("{0},{0},{0}", 3, vec![0, 0, 0]),
        ("{0,1},{2,3}", 4, vec![0, 1, 2, 3]),
    ] {
        let pinning = Pinning::listed(&machine, &parse(list), Bind::Close).unwrap();
        assert_eq!(pinning.cpus(workers), expected, "{list}");
    }
}

#[test]
fn places_without_an_allowed_processor_are_refused() {
    let machine = machine(1, 4, 1, |cpu| *cpu != 1);
    let refused = Pinning::listed(&machine, &parse("{1},{7}"), Bind::Close);
    let line = refused.unwrap_err().to_string();
    assert_eq!(
        line,
        "pin {1},{7}: at least one allowed processor, of 0 2-3"
    );
}

#[test]
fn surprising_placements_are_told() {
    let plain = machine(2, 2, 2, |_| true);
    let pinning = Pinning::of(&plain);
    let told = |pinning: &Pinning, workers| pinning.surprise(workers, true).unwrap_or_default();
    assert!((1..=8).all(|workers| pinning.surprise(workers, true).is_none()));
    assert_eq!(told(&pinning, 9), "9 workers take turns on CPUs 0-7");
    let one = Pinning::listed(&plain, &parse("{0,4}"), Bind::Close).unwrap();
    assert_eq!(told(&one, 1), "");
    // The list keeps them on one core, though the machine has more.
    let mut one = one;
    one.online = 8;
    assert_eq!(
        told(&one, 2),
        "all 2 workers share one core (CPUs 0 4) of a machine with 8 CPUs"
    );
    assert_eq!(one.surprise(2, false), one.surprise(2, true));
    assert_eq!(told(&one, 3), "3 workers take turns on CPUs 0 4");
    // A quota grants one.
    one.processors = 1;
    assert_eq!(told(&one, 2), "2 workers take turns on 1 of the CPUs 0 4");
    let single = Pinning::listed(&plain, &parse("{4}"), Bind::Close).unwrap();
    assert_eq!(told(&single, 2), "2 workers take turns on CPU 4");
    // All workers share the one core that the machine has: nothing to warn about.
    let small = Pinning::of(&machine(1, 1, 2, |_| true));
    assert_eq!(told(&small, 2), "");
}
