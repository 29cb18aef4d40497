//! Programs of one's own: the examples `own` and `own_task` have the options, results and exit
//! codes of the command.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// An example: `cargo test` builds it with this test, unless `--test` selects this test alone.
fn command(name: &str) -> Command {
    let test = std::env::current_exe().expect("this test is a file");
    let built = test.ancestors().nth(2).expect("target/debug");
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let file = built.join("examples").join(file);
    assert!(
        file.exists(),
        "{} is missing: build it first with cargo build -p tautline-cli --examples",
        file.display()
    );
    let mut command = Command::new(file);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("TAUTLINE_")) {
        command.env_remove(name);
    }
    command.args(["--no-pin", "--workers", "2"]);
    command
}

fn own(arguments: &[&str]) -> Output {
    let mut command = command("own");
    command
        .args(arguments)
        .output()
        .expect("`cargo test` builds the examples")
}

fn own_task(arguments: &[&str]) -> Output {
    let mut command = command("own_task");
    command
        .args(arguments)
        .output()
        .expect("`cargo test` builds the examples")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The number of ways to pay a sum, by dynamic programming.
fn ways(sum: usize) -> u64 {
    let mut ways = vec![0; sum + 1];
    ways[0] = 1;
    for coin in [1, 2, 5, 10, 20, 50, 100, 200] {
        for paid in coin..=sum {
            ways[paid] += ways[paid - coin];
        }
    }
    ways[sum]
}

/// Launched as several processes, it computes over all of them.
#[test]
#[cfg(target_os = "linux")]
fn a_program_runs_as_several_processes() {
    let program = command("own").get_program().to_owned();
    let mut launch = Command::new(env!("CARGO_BIN_EXE_tautline"));
    launch.args(["launch", "-n", "3", "--"]).arg(program);
    let ran = launch
        .args(["--sum", "200", "--workers", "1", "--json"])
        .output();
    let ran = ran.expect("it starts");
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let json: Value = serde_json::from_slice(&ran.stdout).expect("one document");
    assert_eq!(
        (&json["ways_to_pay"], &json["ranks"]),
        (&ways(200).into(), &3.into())
    );
    assert_eq!(json["per_worker"].as_array().map(Vec::len), Some(3));
}

#[test]
fn json_has_the_result_and_each_place() {
    let ran = own(&["--json", "--sum", "250", "--places", "2"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let json: Value = serde_json::from_slice(&ran.stdout).expect("a document");
    assert_eq!(json["ways_to_pay"], ways(250));
    assert_eq!(
        (&json["application"], &json["complete"]),
        (&"own".into(), &true.into())
    );
    assert_eq!((&json["places"], &json["schema"]), (&2.into(), &2.into()));
    let places = json["per_place"].as_array().expect("places").iter();
    let tasks: u64 = places.map(|place| place["tasks"].as_u64().unwrap()).sum();
    assert_eq!(json["tasks"], tasks);
    assert!(json["payments_per_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_table_has_the_result_and_each_place() {
    let ran = own(&["--sum", "200", "--places", "2", "--explain"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let table = text(&ran.stdout);
    let row = |name: &str| table.lines().find(|line| line.starts_with(name));
    let value = row("ways to pay").expect("the result");
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    assert_eq!(digits, ways(200).to_string());
    assert!(
        row("places x workers").unwrap().contains("2 x 2"),
        "{table}"
    );
    let places = table.lines().skip_while(|line| !line.contains(" comp "));
    // A line beneath the table may state that the run was disturbed.
    let places = places.take_while(|line| !line.starts_with("disturbed: "));
    assert_eq!(
        places.skip(1).count(),
        3,
        "two places and their sum: {table}"
    );
}

#[test]
fn life_and_trace_are_files_named_by_the_program() {
    let folder = std::env::temp_dir().join(format!("own-program-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let [life, trace] = ["life.html", "trace.json"].map(|name| folder.join(name));
    let path = |path: &PathBuf| path.to_str().expect("a temporary folder").to_owned();
    let ran = own(&["--life", &path(&life), "--trace", &path(&trace)]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let page = fs::read_to_string(&life).unwrap();
    assert!(page.contains("<h1>own</h1>") && page.contains("ways to pay"));
    let json: Value = serde_json::from_slice(&fs::read(&trace).unwrap()).unwrap();
    assert_eq!(json["otherData"]["title"], "own");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_bad_option_is_refused_in_one_line() {
    for (arguments, line) in [
        (&["--grain", "0"][..], "own: --grain 0: "),
        (&["--sum", "0"], "own: --sum 0: "),
        (&["--places", "none"], "own: --places none: "),
        (
            &["--sums", "3"],
            "own: --sums: unknown, did you mean --sum?",
        ),
        (
            &["--life", "/"],
            "own: --life /: a file that can be written",
        ),
    ] {
        let ran = own(arguments);
        let said = text(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(
            said.starts_with(line) && said.lines().count() == 1,
            "{said}"
        );
        assert!(ran.stdout.is_empty());
    }
}

#[test]
fn variables_of_the_library_are_known_and_others_reported() {
    for (variable, reported) in [("TAUTLINE_STALLED", false), ("TAUTLINE_STALED", true)] {
        let mut command = command("own");
        command.args(["--sum", "50", "--quiet"]);
        let ran = command
            .env(variable, "report")
            .output()
            .expect("it is built");
        assert!(ran.status.success());
        let said = text(&ran.stderr);
        assert_eq!(said.contains("unknown"), reported, "{said}");
    }
}

#[test]
fn help_has_the_options_of_the_program_and_of_the_balancer() {
    let ran = own(&["--help"]);
    assert_eq!(ran.status.code(), Some(0));
    let help = text(&ran.stdout);
    assert!(help.starts_with("Count the ways to pay a sum\n"), "{help}");
    for word in ["ways to pay", "--sum", "--deadline", "--json", "EXIT CODES"] {
        assert!(help.contains(word), "{word}: {help}");
    }
}

#[test]
fn a_deadline_gives_a_partial_result() {
    let ran = own(&["--sum", "10000", "--deadline", "0.2", "--json"]);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    let json: Value = serde_json::from_slice(&ran.stdout).expect("a document");
    assert_eq!(
        (&json["complete"], &json["stopped"]),
        (&false.into(), &"deadline".into())
    );
}

#[cfg(unix)]
#[test]
fn an_interrupt_gives_a_partial_result() {
    use std::process::Stdio;
    for (name, arguments) in [("own", ["--sum", "10000"]), ("own_task", ["--n", "90"])] {
        let mut command = command(name);
        command.args(arguments).arg("--json").stdout(Stdio::piped());
        let child = command.spawn().expect("`cargo test` builds the examples");
        // The run must have begun; if it has not, the process ends by the signal, and the test
        // fails.
        std::thread::sleep(std::time::Duration::from_secs(2));
        let id = child.id().to_string();
        let sent = Command::new("sh")
            .args(["-c", "kill $0 $1", "-INT", &id])
            .status();
        assert!(sent.expect("kill is there").success());
        let ran = child.wait_with_output().unwrap();
        assert_eq!(ran.status.code(), Some(130), "{name}");
        let json: Value = serde_json::from_slice(&ran.stdout).expect("a document");
        assert_eq!(
            (&json["complete"], &json["stopped"]),
            (&false.into(), &"interrupted".into())
        );
    }
}

#[test]
fn a_task_has_a_result_or_its_deadline() {
    let ran = own_task(&["--n", "20", "--json"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let json: Value = serde_json::from_slice(&ran.stdout).expect("a document");
    assert_eq!((&json["fib"], &json["workers"]), (&6765.into(), &2.into()));
    assert_eq!(
        (&json["complete"], &json["stopped"]),
        (&true.into(), &Value::Null)
    );

    let ran = own_task(&["--n", "90", "--json", "--deadline", "0.1"]);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    let json: Value = serde_json::from_slice(&ran.stdout).expect("a document");
    assert_eq!(
        (&json["complete"], &json["stopped"]),
        (&false.into(), &"deadline".into())
    );
    assert!(json.get("fib").is_none());
}

#[test]
fn a_task_writes_its_life_and_refuses_bad_options() {
    let path = std::env::temp_dir().join(format!("own-task-{}.html", std::process::id()));
    let ran = own_task(&[
        "--n",
        "20",
        "--life",
        path.to_str().expect("a temporary file"),
        "--times",
    ]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert!(text(&ran.stdout).contains("6 765"), "{}", text(&ran.stdout));
    assert!(
        text(&ran.stderr).contains("computing"),
        "{}",
        text(&ran.stderr)
    );
    assert!(fs::read_to_string(&path).unwrap().contains("computing"));
    fs::remove_file(path).unwrap();
    for (arguments, line) in [
        (
            ["--stalled", "never"],
            "own_task: --stalled never: expected one of report, panic, abort, ignore",
        ),
        (
            ["--deadline", "0"],
            "own_task: --deadline 0: expected a time from 0.001 to ",
        ),
    ] {
        let ran = own_task(&arguments);
        let said = text(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(
            said.starts_with(line) && said.lines().count() == 1,
            "{said}"
        );
    }
}
