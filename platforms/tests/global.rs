//! The global runtime, in processes of their own, since it is never dropped.

use std::process::{Command, Output};

/// The variable of a process that uses the global runtime.
const INSIDE: &str = "GLOBAL_INSIDE";

/// The beginning of the warning that nothing recorded will be written.
const WARNING: &str = "tautline: the global runtime is never dropped";

#[test]
fn inside() {
    if std::env::var_os(INSIDE).is_some() {
        let run = tautline::balancer().sum(0..100u64, |n, _| n).unwrap();
        assert_eq!((run.output, run.complete), (4950, true));
    }
}

fn used(variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "inside", "--nocapture"]);
    command.env(INSIDE, "1").envs(variables.iter().copied());
    command.output().unwrap()
}

#[test]
fn a_message_warns_of_records_that_are_not_written() {
    for (variables, warnings) in [(&[][..], 0), (&[("TAUTLINE_TIMES", "1")], 1)] {
        let output = used(variables);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{errors}");
        let found = errors.lines().filter(|line| line.starts_with(WARNING));
        assert_eq!(found.count(), warnings, "{errors}");
    }
}
