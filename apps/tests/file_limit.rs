//! Results that are larger than files may be, by `ulimit -f`.
#![cfg(target_os = "linux")]

mod scratch;
mod started;

use scratch::Scratch;
use started::shell;
use std::fs;

#[test]
fn a_result_beyond_the_limit_is_an_error_and_leaves_no_file() {
    // In the unit of the shell, 512 or 1024 bytes.
    for args in [
        "uts D7 --workers 1 --baseline none --life",
        "uts D7 --places 9 --workers 1 --baseline none --trace",
        "simulate uts D7 --places 4 --life",
        "uts D7 --workers 1 --baseline none --ranks 1 --json --life",
    ] {
        let file = Scratch::new("limited.html");
        let path = file.0.display();
        let mut command = shell(&format!("ulimit -f 2; exec $CLI {args} {path}"));
        let output = command.output().expect("it starts");
        let line = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{args}: {line}");
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(
            line.starts_with("tautline: ") && line.contains("File too large"),
            "{line}"
        );
        let name = file
            .0
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let folder = fs::read_dir(file.0.parent().expect("a folder")).expect("it is there");
        let left = folder
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned());
        let left: Vec<_> = left.filter(|left| left.starts_with(&name)).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn standard_output_beyond_the_limit_is_an_error() {
    let file = Scratch::new("limited.json");
    let path = file.0.display();
    let line = format!(
        "ulimit -f 1; exec $CLI uts D7 --places 9 --workers 1 --baseline none --json > {path}"
    );
    let output = shell(&line).output().expect("it starts");
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{line}");
    assert!(
        line.starts_with("tautline: cannot write the result: File too large"),
        "{line}"
    );
}

/// A launched program is as it would be without the launcher.
#[test]
fn programs_of_a_launch_have_the_signal() {
    let file = Scratch::new("limited.txt");
    let path = file.0.display();
    let write = format!("head -c 100000 /dev/zero > {path}");
    let line = format!(
        "ulimit -f 400; exec $CLI launch -n 1 -- sh -c \"ulimit -f 4; {write}; kill -l \\$?\""
    );
    let output = shell(&line).output().expect("it starts");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("XFSZ"),
        "{output:?}"
    );
}
