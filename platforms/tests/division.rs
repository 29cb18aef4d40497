//! Every allowed processor has a worker by default, near the memory of its place.

#[path = "division/known.rs"]
mod known;
mod shape;

use known::KNOWN;
use shape::{HYBRID, Shape};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use tautline::Machine;
use tautline::balance::PlaceId;
use tautline::internal::{Cut, Division};
use tautline::platform::machine_from_xml;
use tautline::runtime::Builder;

/// Workers of one place, at most.
const MOST: usize = 64;

/// Checks the invariants of every machine.
fn check(name: &str, machine: &Machine) -> Division {
    let division = Division::of(machine);
    let all: BTreeSet<usize> = machine.cpus().into_iter().collect();
    let given = division.places.iter().flatten();
    let distinct: BTreeSet<usize> = given.clone().copied().collect();
    assert_eq!(distinct, all, "{name}: no processor is idle");
    assert_eq!(given.count(), all.len(), "{name}: none is in two places");
    let config = division.config();
    let places = division.places.len();
    assert!((1..=MOST).contains(&config.workers), "{name}");
    let least = all.len().div_ceil(MOST);
    assert!((least..=least * 4).contains(&places), "{name}: {places}");
    // Every processor has one worker, which belongs to the place of that processor.
    assert_eq!(config.all_workers(), all.len(), "{name}: none is shared");
    assert_eq!(division.seats(), division.places.concat(), "{name}");
    let sizes = division.places.iter().map(Vec::len);
    let workers = (0..config.places).map(|place| config.workers_of(PlaceId(place)));
    assert!(workers.eq(sizes), "{name}: {config:?}");
    // A place that has a part of a memory node has nothing else, or the reason is stated.
    for (place, cpus) in division.places.iter().enumerate() {
        let nodes = machine.nodes().iter();
        let inside: Vec<_> = nodes
            .filter(|node| node.cpus.iter().any(|cpu| cpus.contains(cpu)))
            .collect();
        let whole = |cpu: &usize| cpus.contains(cpu) || !all.contains(cpu);
        let divided = inside.iter().any(|node| !node.cpus.iter().all(whole));
        let crosses = inside.len() > 1 && divided;
        assert_eq!(division.crossing.contains(&place), crosses, "{name}");
    }
    let why = division.why();
    let crosses = !division.crossing.is_empty();
    let stated = why.contains("cannot follow memory nodes");
    assert_eq!(stated, crosses, "{name}: {why}");
    assert_eq!(why.lines().count(), 1, "{name}");
    division
}

/// Places, workers of the largest, and what the cuts follow.
fn row(shape: Shape) -> (usize, usize, Cut) {
    let division = check("", &shape.machine());
    (
        division.places.len(),
        division.config().workers,
        division.cut,
    )
}

#[test]
fn machines_of_today_are_cut_along_their_memories() {
    assert_eq!(row(Shape::new(2, 1, 1, 64, 1)), (2, 64, Cut::Nodes));
    // Two sockets of 96 cores with two threads, eight cores on each of 24 caches.
    assert_eq!(row(Shape::new(2, 1, 12, 8, 2)), (6, 64, Cut::Caches));
    // 64 cores with four threads, a cache for every two.
    assert_eq!(row(Shape::new(1, 1, 32, 2, 4)), (4, 64, Cut::Caches));
    assert_eq!(row(Shape::new(1, 4, 8, 2, 4)), (4, 64, Cut::Nodes));
    assert_eq!(row(Shape::new(1, 1, 1, 1, 1)), (1, 1, Cut::Whole));
    assert_eq!(row(Shape::new(2, 1, 1, 32, 1)), (1, 64, Cut::Whole));
    assert_eq!(row(Shape::new(2, 1, 1, 40, 1)), (2, 40, Cut::Nodes));
    // Three nodes of 40: two places of 60 would cross a border.
    assert_eq!(row(Shape::new(3, 1, 1, 40, 1)), (3, 40, Cut::Nodes));
    // Caches of twelve processors: eleven places would be too many.
    assert_eq!(row(Shape::new(1, 1, 11, 6, 2)), (3, 44, Cut::Even));
    // A prime number of processors.
    assert_eq!(row(Shape::new(1, 1, 1, 67, 1)), (2, 34, Cut::Even));
    assert_eq!(row(Shape::new(1, 0, 1, 128, 1)), (2, 64, Cut::Even));
}

/// Nodes with 63 and 64 processors: the larger place is the first one.
#[test]
fn nodes_that_differ_by_one_are_places() {
    let shape = Shape {
        offline: |cpu| cpu == 5,
        ..Shape::new(2, 1, 1, 64, 1)
    };
    let division = check("63 + 64", &shape.machine());
    assert_eq!(division.cut, Cut::Nodes);
    let sizes: Vec<_> = division.places.iter().map(Vec::len).collect();
    assert_eq!(sizes, [64, 63]);
    assert!(division.places[1].contains(&0));
}

/// The plan of a runtime has a worker for each processor, pinned to it.
#[test]
fn a_plan_has_one_worker_for_each_processor() {
    for cores in [1, 2, 63, 64, 65, 67, 130, 257] {
        let machine = Shape::new(1, 1, 1, cores, 1).machine();
        let all: BTreeSet<usize> = machine.cpus().into_iter().collect();
        let plan = Builder::on(machine).plan().unwrap();
        assert_eq!(plan.workers(), cores);
        assert_eq!(plan.cpus.len(), cores);
        let distinct: BTreeSet<usize> = plan.cpus.iter().copied().collect();
        assert_eq!(distinct, all, "{cores}");
    }
}

/// Places or workers that do not divide the processors evenly.
#[test]
fn settings_are_divided_evenly() {
    let machine = Shape::new(1, 1, 1, 67, 1).machine();
    let plan = |set: fn(Builder) -> Builder| {
        let config = set(Builder::on(machine.clone())).plan().unwrap().balancing;
        (config.places, config.workers, config.smaller)
    };
    assert_eq!(plan(|builder| builder.places(3)), (3, 23, 2));
    assert_eq!(plan(|builder| builder.places(100)), (100, 1, 0));
    assert_eq!(plan(|builder| builder.workers(65)), (2, 33, 1));
    assert_eq!(plan(|builder| builder.workers(5)), (1, 5, 0));
    assert_eq!(plan(|builder| builder.places(2).workers(5)), (2, 5, 0));
}

/// Sockets, nodes, caches, cores and threads of many machines, all processors or some of them.
#[test]
fn no_processor_of_any_shape_is_idle() {
    type Mask = fn(usize) -> bool;
    let masks: [(&str, Mask, Mask); 5] = [
        ("all", |_| false, |_| true),
        ("one offline", |cpu| cpu == 1, |_| true),
        ("every fifth offline", |cpu| cpu % 5 == 2, |_| true),
        (
            "some not allowed",
            |_| false,
            |cpu| cpu % 7 != 3 || cpu == 3,
        ),
        ("both", |cpu| cpu % 16 == 9, |cpu| cpu % 3 != 1),
    ];
    for packages in [1, 2, 3, 4, 8] {
        for (nodes, caches, cores) in [(0, 1, 5), (1, 1, 24), (1, 4, 6), (2, 3, 7), (4, 2, 8)] {
            for threads in [1, 2, 4] {
                for (name, offline, allowed) in masks {
                    let shape = Shape {
                        offline,
                        allowed,
                        ..Shape::new(packages, nodes, caches, cores, threads)
                    };
                    let name =
                        format!("{packages} x {nodes} x {caches} x {cores} x {threads}, {name}");
                    check(&name, &shape.machine());
                }
            }
        }
    }
}

/// A machine of this many processors and nothing else known, of which a quota permits `cpus`
/// hundredths.
fn limited(count: usize, hundredths: usize) -> Machine {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("quota-{count}"));
    let put = |path: &str, text: String| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("proc/self/cgroup", "0::/\n".to_owned());
    put(
        "sys/fs/cgroup/cpu.max",
        format!("{} 100000\n", hundredths * 1000),
    );
    Machine::read(&root, &(0..count).collect::<Vec<_>>())
}

/// The row of a machine in the table: its places as number x workers, and the processors that are
/// allowed and idle.
fn table_row(name: &str, machine: &Machine) -> String {
    let division = check(name, machine);
    let allowed = machine.allowed().len();
    let idle = allowed - division.seats().len();
    // Only a quota leaves processors idle: all that it does not permit.
    let permitted = machine.quota().map(|cpus| cpus.ceil() as usize);
    assert_eq!(
        idle,
        allowed - permitted.map_or(allowed, |cpus| cpus.clamp(1, allowed)),
        "{name}"
    );
    let config = division.config();
    let larger = config.places - config.smaller;
    let mut places = format!("{larger} x {}", config.workers);
    if config.smaller > 0 {
        let _ = write!(places, " and {} x {}", config.smaller, config.workers - 1);
    }
    format!(
        "| {name} | {allowed} | {places} | {idle} | {} |\n",
        division.why()
    )
}

/// Machines that exist, besides those of all numbers above: the table of `docs/places.md`.
#[test]
fn no_processor_of_a_known_machine_is_idle() {
    let mut machines: Vec<(String, Machine)> = KNOWN
        .iter()
        .map(|(name, shape)| ((*name).to_owned(), shape.machine()))
        .collect();
    let hybrid = machine_from_xml("hybrid.xml", HYBRID).unwrap();
    machines.push((
        "two cores of two threads and 4 of one, a memory over CXL".to_owned(),
        hybrid,
    ));
    for (count, hundredths) in [(4, 50), (8, 250), (256, 10_000)] {
        let name = format!("{count} processors, a quota of {} %", hundredths);
        machines.push((name, limited(count, hundredths)));
    }
    let names: BTreeSet<&str> = machines.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), machines.len(), "a name is used twice");
    let rows: String = machines
        .iter()
        .map(|(name, machine)| table_row(name, machine))
        .collect();
    print!("{rows}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/places.md");
    let text = fs::read_to_string(&file).unwrap();
    let table: String = text
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1)
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(
        table == rows,
        "{} has not these rows:\n{rows}",
        file.display()
    );
}

#[test]
fn every_number_of_processors_is_divided() {
    for cores in (1..=600).chain([1021, 4096]) {
        let name = cores.to_string();
        check(&name, &Shape::new(1, 1, 1, cores, 1).machine());
    }
}

#[test]
fn asymmetric_nodes_are_crossed_only_with_a_reason() {
    // A socket of 100 processors and one of 7.
    let shape = Shape {
        offline: |cpu| cpu >= 107,
        ..Shape::new(2, 1, 1, 100, 1)
    };
    let division = check("100 + 7", &shape.machine());
    assert_eq!((division.places.len(), division.config().workers), (2, 54));
    assert_eq!(division.crossing, [1]);
    assert_eq!(
        division.why(),
        "even cuts; even places cannot follow memory nodes, cut by places 1"
    );
}
