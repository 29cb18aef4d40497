//! Applications as several processes, from outside: results, and how launches end.
#![cfg(target_os = "linux")]

mod exact;
mod launched;
mod scratch;
mod started;

use exact::results_are_exact;
use launched::{ENDLESS, Launched, gone, signal, state, text, until};
use scratch::Scratch;
use serde_json::Value;
use started::tautline;
use std::fs;
use std::process::{Output, Stdio};

fn run(args: &str) -> Output {
    tautline(args).output().expect("the command starts")
}

/// Runs an application, which must succeed and print one object.
fn json(args: &str) -> Value {
    let output = run(&format!("{args} --json"));
    let errors = text(&output.stderr);
    assert!(
        output.status.success() && errors.is_empty(),
        "{args}: {errors}"
    );
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// Small instances of all applications have the results that one process has.
#[test]
fn results_are_exact_whatever_the_shape() {
    let ranked = |args: &str, ranks: u64| json(&format!("{args} --ranks {ranks}"));
    results_are_exact(json, ranked);
}

/// Each of them would do all the work.
#[cfg(not(feature = "mpi"))]
#[test]
fn ranks_of_mpi_need_a_build_that_joins_them() {
    for [rank, ranks] in [
        ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
        ["PMI_RANK", "PMI_SIZE"],
        ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS"],
        ["FLUX_TASK_RANK", "FLUX_JOB_SIZE"],
        ["JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"],
        ["MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"],
    ] {
        let run = |own: &str, all: &str| {
            let mut command = tautline("nqueens 6 --baseline none");
            let output = command.env(rank, own).env(ranks, all).output();
            let output = output.expect("it starts");
            (output.status.code(), text(&output.stderr).to_owned())
        };
        let refused = |line: String| (Some(2), format!("tautline: {line}\n"));
        let line = format!(
            "{rank} 1: this build cannot join the 2 ranks of a launcher of MPI; build it with the feature `mpi`, or unset the \
             variable to run alone"
        );
        assert_eq!(run("1", "2"), refused(line));
        let line = format!("{rank} 2: a rank below 2, the number of ranks in {ranks}");
        assert_eq!(run("2", "2"), refused(line));
        let line = format!("{ranks} two: a whole number from 1 to 2147483647");
        assert_eq!(run("1", "two"), refused(line));
        assert_eq!(run("0", "1"), (Some(0), String::new()));
        assert_eq!(run("", ""), (Some(0), String::new()));
    }
    for rank in [
        "OMPI_COMM_WORLD_RANK",
        "PMI_RANK",
        "FLUX_TASK_RANK",
        "JSM_NAMESPACE_RANK",
        "MV2_COMM_WORLD_RANK",
        "PALS_RANKID",
        "ALPS_APP_PE",
        "PMIX_RANK",
        "MPI_LOCALRANKID",
    ] {
        let mut command = tautline("nqueens 6 --baseline none");
        let output = command.env(rank, "1").output().expect("it starts");
        let line = format!(
            "tautline: {rank} 1: this build cannot join the ranks of a launcher of MPI; build it with the feature `mpi`, or unset the \
             variable to run alone\n"
        );
        assert_eq!(
            (output.status.code(), text(&output.stderr)),
            (Some(2), &*line)
        );
    }
}

/// Starts the command as ranks of a launch, with arguments in which the shell replaces
/// `$TAUTLINE_RANK`.
fn ranked(ranks: u32, args: &str) -> Output {
    let mut command = tautline(&format!("launch -n {ranks} -- sh -c"));
    let command = command.arg(format!("exec \"$0\" {args}"));
    let command = command.arg(env!("CARGO_BIN_EXE_tautline"));
    command.output().expect("it starts")
}

/// Returns the lines of standard error, each once, without the rank that has printed them.
fn lines(output: &Output) -> Vec<&str> {
    let lines = text(&output.stderr).lines();
    let lines = lines.map(|line| line.split_once(": ").map_or(line, |(_, line)| line));
    let mut lines: Vec<_> = lines.collect();
    lines.dedup();
    lines
}

/// A rank that computes something else would make the result wrong, with no other sign of it.
#[test]
fn ranks_with_other_settings_are_refused() {
    for (args, difference) in [
        (
            "nqueens $((8 + TAUTLINE_RANK)) --baseline none",
            r#""QUEENS=9" instead of "QUEENS=8""#,
        ),
        ("uts T1 -r $TAUTLINE_RANK", r#""-r=1" instead of "-r=0""#),
        (
            "smith-waterman --length 10$TAUTLINE_RANK",
            r#""--length=101" instead of "--length=100""#,
        ),
        (
            "$([ $TAUTLINE_RANK = 0 ] && echo nqueens 6 || echo pentomino)",
            r#""pentomino" "#,
        ),
    ] {
        let output = ranked(2, args);
        let found = lines(&output);
        let begin = format!("tautline: rank 1 has other arguments than rank 0: {difference}");
        assert_eq!(output.status.code(), Some(2), "{args}: {found:?}");
        assert!(
            found.len() == 1 && found[0].starts_with(&begin),
            "{args}: {found:?}"
        );
    }
}

/// Settings that change no result: the number of workers, the output, and the paths of files of the
/// same content.
#[test]
fn settings_of_ranks_that_change_no_result_may_differ() {
    let [zero, one] = ["graph", "graph"].map(Scratch::new);
    for file in [&zero, &one] {
        fs::write(&file.0, "0 1\n1 2\n2 3\n").expect("room for a file");
    }
    let (zero, one) = (zero.0.display(), one.0.display());
    for args in [
        "nqueens 6 --baseline none --workers $((1 + TAUTLINE_RANK)) --places 1",
        "nqueens 6 --baseline none $([ $TAUTLINE_RANK = 1 ] && echo --quiet)",
        &format!("bc $([ $TAUTLINE_RANK = 1 ] && echo {one} || echo {zero}) --baseline none"),
    ] {
        let output = ranked(2, args);
        let found = lines(&output);
        assert!(
            output.status.success() && found.is_empty(),
            "{args}: {found:?}"
        );
    }
}

/// As files that are not the same on all machines.
#[test]
fn ranks_with_other_inputs_are_refused() {
    const CITIES: &str = "NAME: a\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n3 0 ";
    for (arguments, [zero, one]) in [
        (
            "bc FILE --baseline none",
            ["0 1\n1 2\n", "0 1\n1 3\n"].map(str::to_owned),
        ),
        (
            "tsp FILE --baseline none",
            ["8\nEOF\n", "9\nEOF\n"].map(|end| format!("{CITIES}{end}")),
        ),
        (
            "smith-waterman FILE FILE",
            ["ACGT", "ACGA"].map(str::to_owned),
        ),
    ] {
        let files = [zero, one].map(|content| {
            let file = Scratch::new("input");
            fs::write(&file.0, content).expect("room for a file");
            file
        });
        let [zero, one] = [&files[0], &files[1]].map(|file| file.0.display());
        let file = format!("$([ $TAUTLINE_RANK = 2 ] && echo {one} || echo {zero})");
        let output = ranked(3, &arguments.replace("FILE", &file));
        let found = lines(&output);
        let begin = "tautline: rank 2 has another input than rank 0: ";
        assert_eq!(output.status.code(), Some(2), "{arguments}: {found:?}");
        assert!(
            found.len() == 1 && found[0].starts_with(begin),
            "{arguments}: {found:?}"
        );
    }
}

/// A place has at most 64 workers.
#[test]
fn ranks_with_different_numbers_of_places_are_noted() {
    const LINE: &str = "\nRanks have different numbers of places, so a computation over all of them is\n\
                        refused unless --places or TAUTLINE_PLACES is set.\n";
    let file = Scratch::new("large.xml");
    for (cpus, is_noted) in [(128, false), (129, true), (130, false)] {
        let cpus = (0..cpus).map(|cpu| format!("<object type=\"PU\" os_index=\"{cpu}\"/>"));
        let machine = format!(
            "<object type=\"Machine\">{}</object>",
            cpus.collect::<String>()
        );
        fs::write(
            &file.0,
            format!("<topology version=\"2.0\">{machine}</topology>"),
        )
        .expect("room for a file");
        let mut topo = tautline("topo --ranks 2 --what-if");
        let output = topo.arg(&file.0).output().expect("it starts");
        let table = text(&output.stdout);
        assert_eq!(table.contains(LINE), is_noted, "{table}");
        assert!(table.lines().all(|line| line.len() <= 80), "{table}");
        let last = table.matches("\n  place ").count() - 1;
        assert!(table.contains(&format!("\n  place {last}\n")), "{table}");
    }
}

/// Rank 0 alone writes files, also if another one ends later.
#[test]
fn files_are_written_once() {
    let [life, trace, tour] = ["life.html", "trace.json", "best.tour"].map(Scratch::new);
    let path = |file: &Scratch| file.0.display().to_string();
    let files = format!(
        "--life {} --trace {} --output {}",
        path(&life),
        path(&trace),
        path(&tour)
    );
    let found = json(&format!("tsp --cities 9 --ranks 3 --baseline none {files}"));
    assert_eq!(found["complete"], true);
    assert!(life.text().ends_with("</html>\n"), "the picture is whole");
    serde_json::from_str::<Value>(&trace.text()).expect("the trace is whole");
    assert!(tour.text().contains("DIMENSION : 9"), "{}", tour.text());
}

/// Also of commands that do not join.
#[test]
fn other_ranks_have_no_files() {
    let plot = Scratch::new("plot.svg");
    let args = format!(
        "loops exponential --iterations 100 --repeat 1 --processors 2 --plot {}",
        plot.0.display()
    );
    for (rank, exists) in [("1", false), ("0", true)] {
        let output = tautline(&args).env("TAUTLINE_RANK", rank).output();
        let output = output.expect("it starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(plot.0.exists(), exists, "rank {rank}");
    }
}

#[test]
fn a_deadline_ends_all_ranks_with_an_exact_partial_result() {
    let found = json("uts T1WL --ranks 3 --deadline 0.2 --baseline none");
    assert_eq!(
        (&found["complete"], &found["stopped"]),
        (&false.into(), &"deadline".into())
    );
    // Every node but the root is a task.
    let nodes = found["nodes"].as_u64().expect("a number");
    assert_eq!(found["tasks"].as_u64(), Some(nodes - 1));
}

#[test]
fn bad_requests_are_refused_once() {
    for (args, line) in [
        (
            "uts --ranks 0",
            "tautline: --ranks 0: expected a whole number from 1 to 256\n",
        ),
        (
            "uts --ranks 257",
            "tautline: --ranks 257: expected a whole number from 1 to 256\n",
        ),
        (
            "uts --ranks many",
            "tautline: --ranks many: expected a whole number from 1 to 256\n",
        ),
        ("uts T9 --ranks 2", "tautline: T9: "),
        (
            "uts --ranks 2 --pin threads(1)",
            "tautline: --pin threads(1): 1 place, fewer than --ranks 2\n",
        ),
        (
            "uts --ranks 2 --pin {1048575}",
            "tautline: --pin {1048575}: expected at least one allowed processor, of ",
        ),
        (
            "launch -n 2 --pin threads(1) -- true",
            "tautline: --pin threads(1): 1 place, fewer than --ranks 2\n",
        ),
        (
            "launch -n 2 --pin {0 -- true",
            "tautline: --pin {0: at character 3, the end: expected ",
        ),
        (
            "uts -g 99999 -n 511 --ranks 2",
            "tautline: --grain 511 -g 99999: at most",
        ),
        (
            "launch -n 0 -- true",
            "tautline: --ranks 0: expected a whole number from 1 to 256\n",
        ),
        (
            "launch -- true",
            "tautline: --ranks: missing; see tautline launch --help\n",
        ),
        (
            "launch -n 2",
            "tautline: <PROGRAM>...: missing; see tautline launch --help\n",
        ),
        (
            "launch -n 2 -- /no/such",
            "tautline: /no/such: no such file\n",
        ),
        (
            "launch -n 2 -- no-such-program",
            "tautline: no-such-program: no program of this name in PATH\n",
        ),
        (
            "launch -n 2 -- Cargo.toml",
            "tautline: Cargo.toml: `./Cargo.toml`? programs without a folder are looked up in PATH\n",
        ),
        (
            "launch -n 2 -- ./Cargo.toml",
            "tautline: ./Cargo.toml: not executable; chmod +x ./Cargo.toml makes it so\n",
        ),
        ("launch -n 2 -- /", "tautline: /: a folder, not a program\n"),
        (
            "launch -n 2 -- ./src",
            "tautline: ./src: a folder, not a program\n",
        ),
        (
            "launch -np x -- true",
            "tautline: --ranks x: expected a whole number from 1 to 256\n",
        ),
        (
            "launch -np 2 --output some -- true",
            "tautline: --output some: expected one of first, all",
        ),
    ] {
        let output = run(args);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args}: {errors}");
        assert!(
            errors.starts_with(line) && errors.lines().count() == 1,
            "{args}: {errors}"
        );
    }
}

/// The number of ranks as launchers of MPI spell it; what belongs to the program is left as it is.
#[test]
fn ranks_are_spelled_as_for_mpi() {
    for (args, expected) in [
        ("-np 2", "2"),
        ("--np 2", "2"),
        ("--np=2", "2"),
        ("-n2", "2"),
        ("-n=2", "2"),
        ("-np 2 --", "2"),
        ("--stop-limit 10s -np 3", "3"),
        ("--pin=threads -np 2", "2"),
    ] {
        let mut command = tautline(&format!("launch {args}"));
        let output = command.args(["sh", "-c", "echo $TAUTLINE_RANKS"]).output();
        let output = output.expect("it starts");
        assert_eq!(text(&output.stdout).trim(), expected, "{args}: {output:?}");
    }
    for program in ["echo -np 2", "-- echo -np 2"] {
        let output = run(&format!("launch -n 1 {program}"));
        assert_eq!(text(&output.stdout), "-np 2\n", "{program}");
    }
}

/// Every rank prints, each line with its rank; by default rank 0 alone.
#[test]
fn the_output_of_all_ranks_has_their_ranks() {
    const SCRIPT: &str = "echo one $TAUTLINE_RANK; printf 'two\\nthree'; echo error >&2";
    let run = |option: &str| {
        let mut command = tautline(&format!("launch -n 3 {option} --"));
        command
            .args(["sh", "-c", SCRIPT])
            .output()
            .expect("it starts")
    };
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let output = run("--output all");
    let of = |rank| {
        ["one RANK", "three", "two"]
            .map(|line| format!("rank {rank}: {}", line.replace("RANK", &format!("{rank}"))))
    };
    assert_eq!(sorted(text(&output.stdout)), [of(0), of(1), of(2)].concat());
    let errors = ["rank 0: error", "rank 1: error", "rank 2: error"];
    assert_eq!(sorted(text(&output.stderr)), errors);
    for option in ["", "--output first"] {
        let output = run(option);
        assert_eq!(text(&output.stdout), "one 0\ntwo\nthree", "{option}");
        assert_eq!(sorted(text(&output.stderr)), errors);
    }
}

/// Runs the command with the variables of a rank, as if it were started by hand.
fn with_variables(values: [&str; 3]) -> Output {
    let mut command = tautline("nqueens 6 --baseline none");
    for (name, value) in ["RANK", "RANKS", "SEGMENT"].into_iter().zip(values) {
        command.env(format!("TAUTLINE_{name}"), value);
    }
    command.output().expect("it starts")
}

/// Such variables are those of a process that has started this one.
#[test]
fn variables_of_no_launch_make_no_rank() {
    for variables in [["0", "4", "999"], ["1", "2", "4"], ["3", "4", "1"]] {
        let output = with_variables(variables);
        let (printed, errors) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success() && errors.is_empty(), "{errors}");
        assert!(printed.contains("solutions         4 "), "{printed}");
    }
}

#[test]
fn malformed_variables_of_a_launch_are_refused() {
    for (variables, line) in [
        (
            ["1", "", ""],
            "TAUTLINE_RANK 1: set by a launcher together with TAUTLINE_RANKS",
        ),
        (["4", "4", "0"], "TAUTLINE_RANK 4: a rank below 4"),
        (
            ["0", "4", "x"],
            "TAUTLINE_SEGMENT x: the file descriptor of a shared segment",
        ),
    ] {
        let output = with_variables(variables);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.starts_with(&format!("tautline: {line}")), "{errors}");
        assert_eq!(errors.lines().count(), 1);
    }
}

#[test]
fn output_and_exit_code_are_those_of_the_ranks() {
    let script = "echo out $TAUTLINE_RANK; printf 'one\\ntwo' >&2; exit $((3 - TAUTLINE_RANK))";
    let mut command = tautline("launch -n 3 -- sh -c");
    let output = command.arg(script).output().expect("it starts");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(text(&output.stdout), "out 0\n");
    let mut errors: Vec<_> = text(&output.stderr).lines().collect();
    errors.sort_unstable();
    let expected =
        (0..3).flat_map(|rank| ["one", "two"].map(|word| format!("rank {rank}: {word}")));
    assert_eq!(errors, expected.collect::<Vec<_>>());
}

/// Processes that a rank has started and not awaited end with it.
#[test]
fn nothing_is_left_behind_by_a_rank() {
    let mut command = tautline("launch -n 2 -- sh -c");
    let output = command
        .arg("sleep 1000 & echo $!")
        .output()
        .expect("it starts");
    let process = text(&output.stdout).trim().to_owned();
    gone(&process);
    assert!(output.status.success());
}

/// Also a program that does not join.
#[test]
fn any_program_ends_with_its_launcher() {
    let launched = Launched::start("launch -n 2 -- sleep 1000");
    launched.rank(1);
    signal("-KILL", launched.id());
    assert_eq!(launched.end().status.code(), None);
}

/// A rank that a script starts, as its child, does not outlive the launcher either.
#[test]
fn ranks_in_scripts_do_not_outlive_a_killed_launcher() {
    let script = format!("{} {ENDLESS} 2; true", env!("CARGO_BIN_EXE_tautline"));
    let mut command = tautline("launch -n 2 -- sh -c");
    let mut launcher = command
        .arg(script)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let children = |process: &str| {
        let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
        let list = list.unwrap_or_default();
        list.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let id = launcher.id().to_string();
    let ranks = || {
        let scripts = children(&id);
        scripts
            .iter()
            .flat_map(|script| children(script))
            .collect::<Vec<_>>()
    };
    // The second thread watches the launcher, so the rank has joined.
    let has_joined = |rank: &String| {
        fs::read_dir(format!("/proc/{rank}/task")).is_ok_and(|tasks| tasks.count() > 1)
    };
    until("the ranks do not join", || {
        let ranks = ranks();
        ranks.len() == 2 && ranks.iter().all(has_joined)
    });
    let ranks = ranks();
    launcher.kill().expect("it runs");
    launcher.wait().expect("killed");
    ranks.iter().for_each(|rank| gone(rank));
}

#[test]
fn an_interrupt_stops_all_ranks_with_a_partial_result() {
    for name in ["-INT", "-TERM"] {
        let launched = Launched::start(&format!("{ENDLESS} 3 --json"));
        launched.computes(3);
        signal(name, launched.id());
        let output = launched.end();
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        assert_eq!(found["stopped"], "interrupted");
        assert_eq!(text(&output.stderr), "");
    }
}

/// As a terminal does it, which stops the launcher alone: the ranks have process groups of their
/// own.
#[test]
fn a_launch_is_stopped_and_continued() {
    let launched = Launched::start(&format!("{ENDLESS} 2"));
    let ranks = launched.computes(2);
    let launcher = launched.id().to_owned();
    for (name, is_stopped) in [("-TSTP", true), ("-CONT", false)] {
        signal(name, &launcher);
        for process in ranks.iter().chain([&launcher]) {
            until(name, || (state(process) == Some('T')) == is_stopped);
        }
    }
    signal("-INT", &launcher);
    assert_eq!(launched.end().status.code(), Some(130));
}

/// Starts and ends again and again.
fn cycles(times: usize) {
    for _ in 0..times {
        let found = json("nqueens 6 --ranks 2");
        assert_eq!(found["solutions"], 4);
    }
}

#[test]
fn launches_do_not_add_up() {
    cycles(10);
}

#[test]
#[ignore = "cargo ci deep: a thousand launches"]
fn a_thousand_launches() {
    cycles(1000);
}
