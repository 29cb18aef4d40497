//! The commands that the READMEs name, started in an empty folder.
#![cfg(target_os = "linux")]

mod launched;
mod started;

use launched::{signal, text};
use started::tautline;
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

/// The time after which a command is interrupted: a wrong one has ended by itself.
const LONG: Duration = Duration::from_secs(1);
/// The exit code of a run that was interrupted.
const INTERRUPTED: i32 = 130;

/// The commands of the programs for a shell in a text.
fn commands(readme: &str) -> Vec<&str> {
    let blocks = readme.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("```").next());
    let lines = blocks.flat_map(str::lines);
    let commands = lines.filter_map(|line| line.strip_prefix("tautline "));
    commands
        .filter_map(|line| line.split(" #").next())
        .collect()
}

#[test]
fn commands_of_the_readmes_run_in_an_empty_folder() {
    let folder = env::temp_dir().join(format!("tautline-readme-{}", process::id()));
    fs::create_dir(&folder).expect("a new folder");
    let readmes = [
        include_str!("../../README.md"),
        include_str!("../README.md"),
    ];
    let commands: Vec<_> = readmes.into_iter().flat_map(commands).collect();
    assert!(commands.len() > 10, "{commands:?}");
    for args in commands {
        let mut command = tautline(args);
        command.current_dir(&folder).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut run, start) = (command.spawn().expect("it starts"), Instant::now());
        while run.try_wait().expect("a child").is_none() && start.elapsed() < LONG {
            // A sleep, since std cannot wait for a child with a limit.
            thread::sleep(LONG / 100);
        }
        if run.try_wait().expect("a child").is_none() {
            signal("-INT", &run.id().to_string());
        }
        let output = run.wait_with_output().expect("it ends");
        let code = output.status.code();
        assert!(
            matches!(code, Some(0 | INTERRUPTED)),
            "tautline {args}: {:?}: {}",
            output.status,
            text(&output.stderr)
        );
    }
    fs::remove_dir_all(&folder).expect("it is there");
}
