//! Phasers as programs see them, and how they are built on machines.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use tautline::phaser::Op;
use tautline::phaser::rule::{Placement, Site, rule};
use tautline::phaser::{self, Config, Waiter};
use tautline::platform::machine_from_file;
use tautline::prelude::*;
use tautline::{Machine, Platform};

/// Set in a process of its own, to say what it finds.
const INSIDE: &str = "TEST_OF_TAUTLINE_INSIDE";

fn folder(file: &str) -> String {
    format!("{}/tests/{file}", env!("CARGO_MANIFEST_DIR"))
}

fn described(file: &str) -> Site {
    Site::described(&Platform::from_file(folder(file)).unwrap_or_else(|error| panic!("{error}")))
}

fn topology(file: &str) -> Site {
    Site::of(&machine_from_file(folder(file)).unwrap_or_else(|error| panic!("{error}")))
}

/// For each: the processors, the cache and how many share it, the degree for as many tasks as
/// processors.
#[test]
fn a_leaf_is_what_shares_a_cache() {
    for (site, processors, cache, degree) in [
        (described("hpt/westmere.toml"), 12, Some(("L3", 6)), 6),
        (
            described("hpt/power7.toml"),
            128,
            Some(("core with L2 and L1", 4)),
            4,
        ),
        (
            described("hpt/niagara-t2.toml"),
            128,
            Some(("core with L1", 8)),
            8,
        ),
        (described("hpt/cyclops64.toml"), 160, None, 4),
        (described("hpt/xeon.xml"), 8, Some(("socket", 4)), 4),
        (topology("topology/xeon-2x4x2.xml"), 16, Some(("L3", 8)), 8),
        (
            topology("topology/power8-4x3x8.xml"),
            96,
            Some(("L1", 8)),
            8,
        ),
        (topology("topology/arm-2x24.xml"), 43, Some(("L3", 20)), 8),
    ] {
        let seen = site
            .cache
            .as_ref()
            .map(|(name, cpus)| (name.as_str(), *cpus));
        assert_eq!((site.processors, seen), (processors, cache));
        let rules = rule(&site, Some(processors));
        let expected = Config {
            degree,
            ..Config::default()
        };
        assert_eq!(rules.config, expected, "{site:?}");
        // One task more shares a processor.
        assert_eq!(rule(&site, Some(processors + 1)).config.help_after, 0);
        assert_eq!(
            rule(&site, None).config,
            Config {
                degree: 16,
                help_after: 0,
                ..expected
            },
            "tasks that share workers go up few levels"
        );
        let why: Vec<String> = rules.explain(None).into_iter().map(|it| it.why).collect();
        assert!(why[0].starts_with(&format!("{degree}, ")), "{why:?}");
    }
}

#[test]
fn few_tasks_are_in_one_leaf() {
    let site = described("hpt/niagara-t2.toml");
    let degrees = [1, 2, 3, 4, 5].map(|tasks| rule(&site, Some(tasks)).config.degree);
    assert_eq!(degrees, [2, 2, 3, 4, 8]);
}

#[test]
fn a_large_cache_has_several_leaves() {
    let text = "[place]\ntype = \"cache\"\nname = \"L3\"\nworkers = 64\n";
    let site = Site::described(&Platform::from_toml("one", text).unwrap());
    let rules = rule(&site, Some(64));
    assert_eq!(rules.config.degree, 8);
    let why = &rules.explain(None)[0].why;
    assert!(why.contains("64 processors that share L3, but"), "{why}");
}

#[test]
fn words_go_where_no_cache_brings_them() {
    let at = |file| rule(&described(file), None).placement;
    assert_eq!(at("hpt/cyclops64.toml"), Placement::Scratch("SRAM".into()));
    assert_eq!(at("hpt/power7.toml"), Placement::Anywhere);
}

#[test]
fn on_this_machine() {
    let site = Site::of(&Machine::discover());
    assert_eq!(site.processors, Machine::discover().cpus().len());
    assert!((2..=8).contains(&rule(&site, Some(100)).config.degree));
}

/// Threads in a ring of phases, each waiting in another way.
#[test]
fn threads_wait_as_they_like() {
    const PHASES: usize = 200;
    let arrived: [AtomicUsize; 4] = Default::default();
    let (arrived, mut first) = (&arrived, phaser::for_threads(4, Mode::SignalWait).unwrap());
    let others: Vec<_> = (1..4)
        .map(|_| first.register(Mode::SignalWait).unwrap())
        .collect();
    let all = std::iter::once(first).chain(others);
    thread::scope(|scope| {
        for (me, mut task) in all.enumerate() {
            scope.spawn(move || {
                let waiter = Waiter::here();
                for phase in 1..=PHASES {
                    arrived[me].store(phase, SeqCst);
                    match (phase / 3 + me) % 3 {
                        0 => task.next_blocking().unwrap(),
                        1 => waiter.next(&mut task).unwrap(),
                        _ => {
                            task.signal().unwrap();
                            waiter.wait(&mut task).unwrap();
                        }
                    }
                    assert!(arrived.iter().all(|it| it.load(SeqCst) >= phase));
                }
            });
        }
    });
}

#[test]
fn threads_bring_sums() {
    let (sum, mut first) = phaser::accumulator_for_threads::<u64>(3, Op::Sum).unwrap();
    let others = [(); 2].map(|()| first.register(Mode::SignalWait).unwrap());
    thread::scope(|scope| {
        for (value, mut task) in (1..).zip(std::iter::once(first).chain(others)) {
            let sum = &sum;
            scope.spawn(move || {
                for phase in 0..100 {
                    sum.put(&mut task, value * phase).unwrap();
                    task.next_blocking().unwrap();
                    assert_eq!(sum.get(), 6 * phase);
                }
            });
        }
    });
}

#[test]
fn refusals_are_errors_of_the_facade() {
    let error = phaser::accumulator_for_threads::<f64>(2, Op::BitXor).unwrap_err();
    assert_eq!(
        error.to_string(),
        "BitXor is not defined for values of this type"
    );
}

#[test]
fn a_runtime_builds_phasers_as_it_is_told() {
    let built = |rt: &Runtime| {
        rt.run(|cx| {
            let ph = cx.phaser(Mode::SignalWait).unwrap();
            ph.phaser().config()
        })
    };
    let rt = Runtime::builder().workers(2);
    let config = Config {
        degree: 5,
        help_after: 7,
        ..Config::default()
    };
    assert_eq!(built(&rt.clone().phasers(config).build().unwrap()), config);
    let rule = rule(&Site::of(&Machine::discover()), None).config;
    assert_eq!(built(&rt.build().unwrap()), rule);
}

#[test]
fn the_environment_overrides_the_degree() {
    if std::env::var(INSIDE).is_ok() {
        match phaser::for_threads(2, Mode::SignalWait) {
            Ok(one) => println!("degree {}", one.phaser().config().degree),
            Err(error) => println!("refused: {error}"),
        }
        let rt = Runtime::builder().workers(1).pinned(false).build();
        let of = |rt: Runtime| rt.run(|cx| cx.phaser(Mode::Wait).unwrap().phaser().config().degree);
        println!("tasks {:?}", rt.map(of).map_err(|error| error.to_string()));
        return;
    }
    for (value, expected) in [
        ("7", ["degree 7", "tasks Ok(7)"]),
        (
            "1",
            [
                "refused: TAUTLINE_PHASER_DEGREE 1: a whole number from 2 to 1024",
                "tasks Err",
            ],
        ),
        (
            "two",
            [
                "refused: TAUTLINE_PHASER_DEGREE two: a whole number from 2 to 1024",
                "tasks Err",
            ],
        ),
    ] {
        let test = "the_environment_overrides_the_degree";
        let mut inside = Command::new(std::env::current_exe().unwrap());
        inside
            .args(["--exact", test, "--nocapture"])
            .env(INSIDE, "1");
        let output = inside
            .env("TAUTLINE_PHASER_DEGREE", value)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        for line in expected {
            assert!(said.contains(line), "{value}: no {line:?} in {said}");
        }
    }
}
