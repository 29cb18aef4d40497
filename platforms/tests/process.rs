//! Processes of this machine as ranks: joining, results, and ends.
//!
//! This program starts itself: as a rank it runs the test `rank` alone, which plays the role that
//! the variable `ROLE` names.
#![cfg(target_os = "linux")]

use std::pin::pin;
use std::process::{Command, exit};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::{env, fs, thread};
use tautline::messages;
use tautline::phaser::{Mode, Op};
use tautline::prelude::*;
use tautline::team::ThreadRegistration;
use tautline::world::World;
use tautline_process::{End, Launch};

/// The arguments by which this program is a rank.
const AS_RANK: [&str; 4] = ["--exact", "rank", "--nocapture", "--include-ignored"];

fn launch(role: &str, ranks: u32) -> Launch {
    let program = env::current_exe().expect("it runs");
    Launch::new(program, ranks).env("ROLE", role).args(AS_RANK)
}

fn ends(launch: &Launch) -> Vec<End> {
    launch.run().expect("it starts").ranks
}

/// The program of a rank.
#[test]
#[ignore = "by hand: the program of ranks, which other tests start"]
fn rank() {
    let Ok(role) = env::var("ROLE") else { return };
    let code = match &*role {
        "sum" => sum(),
        "die" => die(),
        "panic" => panics(),
        "threads" => threads(),
        "degree" => degree(),
        "memory" => memory(),
        "early" => early(),
        "other" => other(),
        "arguments" => arguments(),
        "own arguments" => own_arguments(),
        "agree" => agree(),
        "starts" => starts(),
        "started" => started(),
        "closed" => closed(),
        "warned" => warned(),
        role => panic!("{role}"),
    };
    exit(code);
}

fn join() -> World {
    World::join().expect("launched")
}

fn runtime(places: u32, workers: usize) -> Runtime {
    let builder = Runtime::builder().places(places).workers(workers);
    builder.build().unwrap()
}

fn climb(stairs: u32, todo: &mut tautline::balance::Local<u32>) -> u64 {
    todo.extend((1..=stairs.min(2)).map(|step| stairs - step));
    u64::from(stairs == 0)
}

/// Several computations of several shapes, and operations between them.
fn sum() -> i32 {
    let world = join();
    for (places, workers) in [(1, 1), (2, 1), (1, 2), (2, 2)] {
        let run = runtime(places, workers)
            .balancer()
            .across(&world)
            .sum([22_u32], climb)
            .expect("all live");
        assert_eq!((run.output, run.complete), (28_657, true));
        assert_eq!(run.places.len() as u32, places * world.ranks());
        let all = world.all_gather(world.rank().0).expect("all live");
        assert!(all.into_iter().eq(0..world.ranks()));
    }
    0
}

#[test]
fn computations_over_processes_are_exact() {
    for ranks in [1, 2, 3, 4] {
        assert_eq!(
            ends(&launch("sum", ranks)),
            vec![End::Code(0); ranks as usize]
        );
    }
}

/// Work without an end.
fn endless(n: u64, todo: &mut tautline::balance::Local<u64>) -> u64 {
    todo.extend([n + 1, n + 2].into_iter().take(2 - (n % 5 == 0) as usize));
    1
}

/// The last rank is killed while all compute; the error of the others names it.
fn die() -> i32 {
    let world = join();
    let last = world.ranks() - 1;
    if world.rank().0 == last {
        let delay = env::var("DELAY")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        thread::spawn(move || {
            (0..delay).for_each(|_: u64| std::hint::spin_loop());
            Command::new("sh")
                .args(["-c", "kill $0 $1", "-KILL", &std::process::id().to_string()])
                .status()
        });
    }
    let run = runtime(1, 1)
        .balancer()
        .across(&world)
        .sum([1_u64], endless);
    let line = run
        .map(|_: tautline::balance::Run<u64>| ())
        .unwrap_err()
        .to_string();
    let named = format!("rank {last} was lost, noticed while receiving from it");
    assert!(line.contains(&named), "{line}");
    50
}

#[test]
fn a_killed_rank_ends_the_computation_of_all() {
    let mut random = 7_u64;
    for ranks in [2, 3, 4, 2, 3, 4] {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let delay = (random >> 42).to_string();
        let ends = ends(&launch("die", ranks).env("DELAY", delay));
        let (last, others) = ends.split_last().expect("ranks");
        assert_eq!(*last, End::Signal(9));
        assert!(others.iter().all(|end| *end == End::Code(50)), "{others:?}");
    }
}

/// A panic of the program is named at the other ranks.
fn panics() -> i32 {
    let world = join();
    assert!(world.rank().0 != 1, "as intended");
    let line = world.barrier().unwrap_err().to_string();
    assert!(
        line.ends_with("rank 1 gave up: its program panicked"),
        "{line}"
    );
    50
}

#[test]
fn a_rank_that_panics_is_named() {
    let expected = [End::Code(50), End::Code(101), End::Code(50)];
    assert_eq!(ends(&launch("panic", 3)), expected);
}

/// Sums of the threads of all ranks, until the last rank is killed: no phase ends without it.
fn threads() -> i32 {
    const PHASES: u64 = 100;
    let world = join();
    let last = world.ranks() - 1;
    let made = world.team().accumulator_for_threads::<u64>(2, Op::Sum);
    let (sum, mut first) = made.expect("all make it");
    let second = first.register(Mode::SignalWait).expect("signal-wait");
    let run = |number: u64, mut own: ThreadRegistration| {
        let sum = sum.clone();
        for phase in 0.. {
            if phase == PHASES && world.rank().0 == last {
                std::process::abort();
            }
            sum.put(&mut own, number + phase)?;
            own.next_blocking()?;
            let all = u64::from(world.ranks()) * (2 * phase + 1);
            assert_eq!(sum.get(), all, "phase {phase}");
            assert!(phase < PHASES, "it has ended without a rank");
        }
        Ok::<_, tautline::Error>(())
    };
    let errors = thread::scope(|scope| {
        let run = &run;
        let spawned = [(0, first), (1, second)];
        let spawned = spawned.map(|(number, own)| scope.spawn(move || run(number, own)));
        spawned.map(|thread| thread.join().expect("no panic").unwrap_err().to_string())
    });
    let named = format!("rank {last}");
    assert!(
        errors.iter().all(|line| line.contains(&named)),
        "{errors:?}"
    );
    50
}

#[test]
fn a_killed_rank_ends_the_phases_of_threads() {
    assert_eq!(ends(&launch("threads", 2)), [End::Code(50), End::Signal(6)]);
}

/// Rank 1 has a malformed setting, for which its phasers fail before they call the other rank.
fn degree() -> i32 {
    let world = join();
    let mut team = world.team();
    if world.rank().0 == 1 {
        let refused = [
            team.phaser_for_threads(1).map(|_| ()),
            team.accumulator_for_threads::<u32>(1, Op::Sum).map(|_| ()),
        ];
        for refused in refused {
            let line = refused.unwrap_err().to_string();
            assert!(line.contains("TAUTLINE_PHASER_DEGREE"), "{line}");
        }
    }
    // Of the same team: the next call of both. Without a runtime, which has the same setting.
    let mut met = pin!(team.barrier().into_future());
    let mut cx = Context::from_waker(Waker::noop());
    let met = loop {
        match met.as_mut().poll(&mut cx) {
            Poll::Ready(met) => break met,
            Poll::Pending => thread::yield_now(),
        }
    };
    met.expect("all make it");
    0
}

#[test]
fn a_malformed_degree_is_found_before_the_call_of_all_ranks() {
    let script = r#"[ $TAUTLINE_RANK = 0 ] || export TAUTLINE_PHASER_DEGREE=none; exec "$0" "$@""#;
    let program = env::current_exe().expect("it runs");
    let path = program.to_str().expect("text");
    let launch = Launch::new("sh", 2).args(["-c", script, path]);
    let launch = launch.args(AS_RANK).env("TAUTLINE_WARN", "0");
    let launch = launch.env("ROLE", "degree");
    assert_eq!(ends(&launch), [End::Code(0), End::Code(0)]);
}

/// Rank 1 has no memory left, which ends its process.
fn memory() -> i32 {
    let world = join();
    if world.rank().0 == 1 {
        let layout = std::alloc::Layout::new::<[u8; 1 << 20]>();
        std::alloc::handle_alloc_error(layout);
    }
    let line = world.barrier().unwrap_err().to_string();
    assert!(line.contains("rank 1 was lost"), "{line}");
    50
}

#[test]
fn a_rank_without_memory_is_named() {
    let expected = [End::Code(50), End::Signal(6), End::Code(50)];
    assert_eq!(ends(&launch("memory", 3)), expected);
}

/// Rank 1 ends before it has joined.
fn early() -> i32 {
    if env::var("TAUTLINE_RANK").as_deref() == Ok("1") {
        return 3;
    }
    let line = World::join().unwrap_err().to_string();
    assert!(line.contains("rank 1 was lost"), "{line}");
    50
}

#[test]
fn a_rank_that_does_not_join_is_named() {
    let expected = [End::Code(50), End::Code(3), End::Code(50)];
    assert_eq!(ends(&launch("early", 3)), expected);
}

/// Rank 1 runs the program at `path`.
fn with_other(role: &str, path: &str) -> Launch {
    let script = r#"if [ $TAUTLINE_RANK = 1 ]; then exec "$0" "$@"; else exec "$PROGRAM" "$@"; fi"#;
    let launch = Launch::new("sh", 2)
        .args(["-c", script, path])
        .args(AS_RANK);
    launch
        .env("PROGRAM", env::current_exe().expect("it runs"))
        .env("ROLE", role)
}

/// Rank 1 runs another program, which all ranks refuse.
fn other() -> i32 {
    let line = World::join().unwrap_err().to_string();
    assert!(
        line.starts_with("rank 1 has another program than rank 0: "),
        "{line}"
    );
    2
}

#[test]
fn another_program_is_refused_and_a_copy_is_not() {
    let program = env::current_exe().expect("it runs");
    let folder = env::temp_dir().join(format!("tautline-other-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let copy = folder.join("copy");
    fs::copy(&program, &copy).expect("a copy");
    let path = copy.to_str().expect("text");
    assert_eq!(ends(&with_other("sum", path)), [End::Code(0), End::Code(0)]);
    // The system ignores bytes after the sections of a program.
    let mut bytes = fs::read(&program).expect("this program");
    bytes.push(0);
    fs::remove_file(&copy).expect("the copy");
    fs::write(&copy, bytes).expect("a file");
    fs::set_permissions(
        &copy,
        fs::metadata(&program).expect("it runs").permissions(),
    )
    .expect("own");
    assert_eq!(
        ends(&with_other("other", path)),
        [End::Code(2), End::Code(2)]
    );
    fs::remove_dir_all(folder).expect("the folder");
}

/// Launches ranks whose last arguments the shell words in `words` are. The arguments after `rank`
/// select further tests, of which there are none of these names.
fn with_arguments(role: &str, ranks: u32, words: &str) -> Launch {
    let script = format!(r#"exec "$0" "$@" {words}"#);
    let program = env::current_exe().expect("it runs");
    let launch = Launch::new("bash", ranks).args(["-c", &script]);
    launch.args([program]).args(AS_RANK).env("ROLE", role)
}

/// The ranks have other arguments, and all report the same line.
fn arguments() -> i32 {
    let line = World::join().unwrap_err().to_string();
    assert_eq!(line, env::var("LINE").expect("the expected one"));
    2
}

#[test]
fn other_arguments_are_refused_at_every_rank() {
    for (ranks, words, rank, parts) in [
        (2, "a $TAUTLINE_RANK b", 1, r#""1" instead of "0""#),
        (3, "$((TAUTLINE_RANK / 2))", 2, r#""1" instead of "0""#),
        (
            4,
            "$([ $TAUTLINE_RANK = 2 ] && echo more)",
            2,
            r#""more" instead of none"#,
        ),
        (
            2,
            "$([ $TAUTLINE_RANK = 0 ] && echo a b)",
            1,
            r#"none instead of "a" "b""#,
        ),
        (
            2,
            "$(for n in {1..40}; do echo x$TAUTLINE_RANK; done)",
            1,
            r#""x1" "x1" "x1" "x1" "x1" "x1" "x1" "x1" "x1" "x1" "x1" "x1" … instead of "x0" "x0" "x0" "x0" "x0" "x0" "x0" "x0" "x0" "x0" "x0" "x0" …"#,
        ),
    ] {
        let line = format!(
            "rank {rank} has other arguments than rank 0: {parts}; all ranks must have the same"
        );
        let launch = with_arguments("arguments", ranks, words).env("LINE", line);
        assert_eq!(ends(&launch), vec![End::Code(2); ranks as usize], "{words}");
    }
}

/// The ranks compare a part of their arguments.
fn own_arguments() -> i32 {
    let world = World::builder().arguments(env::args().skip(1).take(AS_RANK.len()));
    let world = world.join().expect("alike");
    world.barrier().expect("all live");
    0
}

#[test]
fn arguments_that_a_program_leaves_out_may_differ() {
    let launch = with_arguments("own arguments", 3, "$TAUTLINE_RANK");
    assert_eq!(ends(&launch), [End::Code(0); 3]);
}

/// The last rank has read something else.
fn agree() -> i32 {
    let world = join();
    let last = world.ranks() - 1;
    world.agree("input", "one\ntwo").expect("it is");
    let value = if world.rank().0 == last {
        "two"
    } else {
        "one\n"
    };
    let line = world.agree("input", value).unwrap_err().to_string();
    let expected = format!(
        r"rank {last} has another input than rank 0: two instead of one\n; all ranks must have the same"
    );
    assert_eq!(line, expected);
    2
}

#[test]
fn other_values_are_refused_at_every_rank() {
    for ranks in [2, 5] {
        let expected = vec![End::Code(2); ranks as usize];
        assert_eq!(ends(&launch("agree", ranks)), expected);
    }
}

/// Programs that start a rank, as shell words: at once, as a child, with a closed segment, as a
/// grandchild.
const STARTS: [&str; 4] = [
    r#"exec "$0" "$@""#,
    r#""$0" "$@"; exit $?"#,
    r#"eval "exec $TAUTLINE_SEGMENT>&-"; "$0" "$@"; exit $?"#,
    r#"sh -c '"$0" "$@"; exit $?' "$0" "$@"; exit $?"#,
];

/// Processes that a rank starts inherit its variables.
fn starts() -> i32 {
    let world = join();
    let start_all = || {
        for words in STARTS {
            let mut command = Command::new("bash");
            command.args(["-c", words]).arg(env::current_exe().unwrap());
            command.args(AS_RANK).env("ROLE", "started");
            assert!(command.status().expect("it starts").success(), "{words}");
        }
    };
    start_all();
    world.barrier().expect("all live");
    drop(world);
    start_all();
    0
}

/// A program that a rank has started may launch ranks of its own.
fn started() -> i32 {
    let world = join();
    assert_eq!((world.rank().0, world.ranks()), (0, 1));
    assert_eq!(ends(&launch("own arguments", 2)), [End::Code(0); 2]);
    0
}

#[test]
fn programs_that_a_rank_starts_are_no_ranks() {
    assert_eq!(ends(&launch("starts", 2)), [End::Code(0); 2]);
}

/// The program that has started this rank has closed the segment, without which each rank would
/// compute alone.
fn closed() -> i32 {
    let line = World::join().unwrap_err().to_string();
    let end = ": closed by the program that has started this rank; the descriptor must be passed on to the rank";
    assert!(
        line.starts_with("TAUTLINE_SEGMENT ") && line.ends_with(end),
        "{line}"
    );
    2
}

#[test]
fn ranks_behind_programs_that_join_nothing_are_ranks() {
    let program = env::current_exe().expect("it runs");
    let ends = |role: &str, words: &str| {
        let launch = Launch::new("bash", 2).args(["-c", words]).args([&program]);
        ends(&launch.args(AS_RANK).env("ROLE", role))
    };
    for words in STARTS {
        let (role, code) = match words.contains(">&-") {
            true => ("closed", 2),
            false => ("own arguments", 0),
        };
        assert_eq!(ends(role, words), [End::Code(code); 2], "{words}");
    }
}

/// Rank 1 has a variable that rank 0 has not.
fn warned() -> i32 {
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&warnings);
    messages::set_hook(move |line| sink.lock().unwrap().push(line.to_owned()));
    let world = join();
    let warnings = warnings.lock().unwrap();
    let line = "tautline: rank 1: other values than rank 0 has: TAUTLINE_GRAIN; TAUTLINE_WARN=0 silences this";
    match world.is_home() {
        true => assert_eq!(*warnings, [""; 0]),
        false => assert_eq!(*warnings, [line]),
    }
    0
}

#[test]
fn variables_that_differ_are_a_warning() {
    let script = r#"[ $TAUTLINE_RANK = 1 ] && export TAUTLINE_GRAIN=5; exec "$0" "$@""#;
    let program = env::current_exe().expect("it runs");
    let launch = Launch::new("sh", 2)
        .args(["-c", script])
        .args([program])
        .args(AS_RANK);
    assert_eq!(
        ends(&launch.env("ROLE", "warned")),
        [End::Code(0), End::Code(0)]
    );
}

/// Every operation returns at the only rank, also the ten-thousandth time.
#[test]
fn alone_nothing_is_waited_for() {
    let world = World::join().expect("started by hand");
    assert_eq!((world.rank().0, world.ranks()), (0, 1));
    for n in 0..10_000_u64 {
        world.barrier().unwrap();
        assert_eq!(world.broadcast(n).unwrap(), n);
        assert_eq!(world.all_reduce(n, |a, b| a + b).unwrap(), n);
        assert_eq!(world.reduce(n, |a, b| a + b).unwrap(), Some(n));
        assert_eq!(world.all_gather(n).unwrap(), [n]);
        assert_eq!(world.gather(n).unwrap(), Some(vec![n]));
        assert_eq!(world.scan(n, |a, b| a + b).unwrap(), None);
        assert_eq!(world.scatter(vec![n]).unwrap(), n);
        assert_eq!(world.all_to_all(vec![n]).unwrap(), [n]);
    }
    for (places, workers) in [(1, 1), (2, 1), (1, 2), (2, 2)] {
        let builder = Runtime::builder().places(places).workers(workers);
        let rt = builder.pinned(false).build().unwrap();
        let run = rt.balancer().across(&world).sum([22_u32], climb);
        assert_eq!(run.unwrap().output, 28_657);
    }
    assert!(world.waiting().is_none());
    let threads = fs::read_dir("/proc/self/task").expect("Linux");
    for thread in threads {
        let name = thread.expect("a thread").path().join("comm");
        // It may have ended since.
        let name = fs::read_to_string(name).unwrap_or_default();
        assert!(!name.starts_with("tautline-link"), "{name}");
    }
}
