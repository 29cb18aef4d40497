//! The ranks of a launch, from outside: their processors, places and workers, their output, and the
//! README's program.
#![cfg(target_os = "linux")]

#[path = "../../platforms/examples/breadth_first.rs"]
mod breadth_first;
#[path = "../../platforms/examples/common_subsequence/main.rs"]
mod common_subsequence;
#[path = "../../platforms/examples/first_across.rs"]
mod first_across;
#[path = "../../platforms/examples/gups.rs"]
mod gups;
#[path = "../../platforms/examples/halos/main.rs"]
mod halos;
#[path = "../../platforms/examples/heat/main.rs"]
mod heat;
#[path = "../../platforms/examples/inverted_index.rs"]
mod inverted_index;
#[path = "../../platforms/examples/joined.rs"]
mod joined;
#[path = "../../platforms/examples/k_means/main.rs"]
mod k_means;
#[path = "../../platforms/examples/rank_ring.rs"]
mod rank_ring;
#[path = "../../platforms/examples/shared_bound.rs"]
mod shared_bound;
mod started;
#[path = "../../platforms/examples/tasks_anywhere.rs"]
mod tasks_anywhere;

use serde_json::Value;
use started::tautline;
use std::collections::BTreeSet;
use std::process::{Command, Output};
use tautline::pinning::ranges;

fn run(args: &str) -> Output {
    tautline(args).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// Runs an application, which must succeed and print one object.
fn json(args: &str) -> Value {
    let output = run(&format!("{args} --json --baseline none"));
    let errors = text(&output.stderr);
    assert!(
        output.status.success() && errors.is_empty(),
        "{args}: {errors}"
    );
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// The examples over ranks, as which tests start this program.
#[test]
#[ignore = "by hand: the program of ranks, which another test starts"]
fn example() {
    let main = match std::env::var("ROLE").as_deref() {
        Ok("first_across") => first_across::main,
        Ok("joined") => joined::main,
        Ok("rank_ring") => rank_ring::main,
        Ok("gups") => gups::main,
        Ok("breadth_first") => breadth_first::main,
        Ok("heat") => heat::main,
        Ok("inverted_index") => inverted_index::main,
        Ok("tasks_anywhere") => tasks_anywhere::main,
        Ok("k_means") => k_means::main,
        Ok("common_subsequence") => common_subsequence::main,
        Ok("halos") => halos::main,
        Ok("shared_bound") => shared_bound::main,
        _ => return,
    };
    main().expect("all live");
    // Before the time of the test is printed.
    std::process::exit(0);
}

/// Returns what an example prints alone and at four ranks.
fn alone_and_launched(example: &str) -> [String; 2] {
    let program = std::env::current_exe().expect("it runs");
    let as_program = "--exact example --nocapture --include-ignored --test-threads 1";
    let commands = [
        Command::new(&program),
        tautline(&format!("launch -n 4 -- {}", program.display())),
    ];
    commands.map(|mut command| {
        let output = command
            .args(as_program.split(' '))
            .env("ROLE", example)
            .output();
        let output = output.expect("it starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    })
}

#[test]
fn the_first_program_prints_the_same_at_four_ranks() {
    let [alone, launched] = alone_and_launched("first_across");
    let line = "all 73682 ways to pay two pounds\n";
    assert!(alone.ends_with(line), "{alone}");
    assert_eq!(launched, alone);
}

#[test]
fn programs_with_teams_print_the_same_at_four_ranks() {
    for (example, line) in [
        ("gups", "262144 updates of 65536 words, 0 errors\n"),
        ("breadth_first", "]\n"),
        ("heat", "642 steps, 93.6744 below the edge\n"),
        ("tasks_anywhere", "111596 nodes, the deepest at level 10\n"),
        ("inverted_index", "word60: [4000, 571, 66]\n"),
        ("k_means", "32 steps, the first centre at [32777, 32754]\n"),
        ("common_subsequence", "658 letters in common of 1024\n"),
        ("halos", "642 steps, 93.6744 below the edge\n"),
        ("shared_bound", "the shortest tour of 11 cities: 4542\n"),
    ] {
        let [alone, launched] = alone_and_launched(example);
        assert!(alone.ends_with(line), "{alone}");
        assert_eq!(launched, alone);
    }
}

#[test]
fn the_ring_has_as_many_ranks_as_are_launched() {
    for (printed, ranks) in alone_and_launched("rank_ring").iter().zip([1, 4]) {
        let line = format!("1000 times round a ring, {ranks} ranks\n");
        assert!(printed.ends_with(&line), "{printed}");
    }
}

#[test]
fn the_program_to_copy_counts_sends_and_combines() {
    let heard = [
        r#"["rank 0"]"#,
        r#"["rank 3", "rank 0", "rank 1", "rank 2"]"#,
    ];
    let expected = [(1, 0), (4, 6)].into_iter().zip(heard);
    for (printed, ((ranks, sum), heard)) in alone_and_launched("joined").iter().zip(expected) {
        let lines = format!(
            "10 queens: 724 solutions by {ranks} ranks\n\
             the ranks add up to {sum}; their left neighbours: {heard}\n"
        );
        assert!(printed.ends_with(&lines), "{printed}");
    }
}

/// The processors that this process may use, the last one first.
fn allowed() -> Vec<usize> {
    let topo: Value = serde_json::from_slice(&run("topo --json").stdout).expect("an object");
    let cpus = topo["cpus"].as_array().expect("a list").iter().rev();
    let cpus = cpus.map(|cpu| cpu["id"].as_u64().expect("a number") as usize);
    cpus.collect()
}

/// A list with a place for each of these processors.
fn places(cpus: &[usize]) -> String {
    let places: Vec<String> = cpus.iter().map(|cpu| format!("{{{cpu}}}")).collect();
    places.join(",")
}

/// `topo --ranks` prints the division that each rank of a launch finds, also with a list, which is
/// divided in its order.
#[test]
fn topo_knows_the_ranks_of_a_launch() {
    let list = places(&allowed());
    for (ranks, list) in [(2, ""), (3, ""), (allowed().len(), &*list), (1, &list)] {
        let mut topo = tautline(&format!("topo --json --ranks {ranks}"));
        let topo = topo.env("TAUTLINE_PIN", list).output().expect("it starts");
        let topo: Value = serde_json::from_slice(&topo.stdout).expect("one JSON object");
        // Only rank 0 has a standard output.
        let mut command = tautline(&format!("launch -n {ranks} -- sh -c"));
        let command = command.arg(r#""$0" topo --json | tr -d '\n' >&2"#);
        let command = command.arg(env!("CARGO_BIN_EXE_tautline"));
        let output = command.env("TAUTLINE_PIN", list).output();
        let errors = output.expect("it starts").stderr;
        for (rank, known) in topo["ranks"].as_array().expect("a list").iter().enumerate() {
            same_rank(rank, known, text(&errors));
        }
    }
}

/// Compares what is known of a rank with what it has printed.
fn same_rank(rank: usize, known: &Value, printed: &str) {
    let prefix = format!("rank {rank}: ");
    let found = printed.lines().find_map(|line| line.strip_prefix(&prefix));
    let found: Value = serde_json::from_str(found.expect("a line")).expect("one object");
    let numbers = |list: &Value, key: &str| -> Vec<Value> {
        let list = list.as_array().expect("a list");
        list.iter().map(|entry| entry[key].clone()).collect()
    };
    let mut cpus = known["cpus"].as_array().expect("a list").clone();
    cpus.sort_by_key(Value::as_u64);
    assert_eq!(numbers(&found["cpus"], "id"), cpus);
    let places = known["places"].as_array().expect("a list");
    assert_eq!(found["default_places"], places.len());
    let workers = places
        .iter()
        .flat_map(|place| numbers(&place["workers"], "cpu"));
    assert_eq!(found["pinning"], workers.collect::<Value>());
}

/// Results are exact, and the workers of all ranks are on the listed processors, which all ranks
/// may share.
#[test]
fn a_list_of_places_is_divided_among_ranks() {
    let all = allowed();
    let several = all.len().min(4);
    let last = all[0];
    for cpus in [vec![last], vec![last; 2], all[..several].to_vec()] {
        let ranks = cpus.len();
        let list = places(&cpus);
        let used = Vec::from_iter(cpus.into_iter().collect::<BTreeSet<usize>>());
        let uts = format!("uts -t 1 -b 4 -d 6 --ranks {ranks} --pin {list}");
        let output = run(&format!("{uts} --baseline none"));
        assert!(output.status.success(), "{}", text(&output.stderr));
        let pinned = format!("1 x 1, pinned to CPUs {}", ranges(&used));
        let table = text(&output.stdout);
        let mut lines = table.lines().filter_map(|line| line.split_once(&pinned));
        let (_, rest) = lines
            .next()
            .unwrap_or_else(|| panic!("no {pinned} in\n{table}"));
        assert!(rest.is_empty() || rest.starts_with(", "), "{table}");
        let (found, alone) = (json(&uts), json("uts -t 1 -b 4 -d 6 --workers 1"));
        let unpinned = json(&format!("{uts} --no-pin"));
        for key in ["nodes", "leaves", "max_depth"] {
            assert_eq!(found[key], alone[key], "{uts}: {key}");
            assert_eq!(unpinned[key], alone[key], "{uts}: {key}");
        }
        assert_eq!(
            (&found["ranks"], &found["processors"]),
            (&ranks.into(), &used.len().into())
        );
        let pinned = [&found, &unpinned].map(|run| &run["config"]["pinned"]);
        assert_eq!(pinned, [&Value::from(true), &Value::from(false)]);
    }
}
