//! What the command prints for other programs: documented keys, completions, the manual.

use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Output};

fn run(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    command.args(args.split_whitespace());
    command.env("TAUTLINE_WARN", "0");
    command.output().expect("the command starts")
}

fn text(args: &str) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args}");
    String::from_utf8(output.stdout).expect("text")
}

/// The words in backquotes of the document, which are keys, commands and values.
fn documented() -> BTreeSet<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/JSON.md");
    let text = std::fs::read_to_string(path).unwrap();
    let words = text.split('`').skip(1).step_by(2);
    words.map(str::to_owned).collect()
}

#[test]
fn every_key_is_documented() {
    let documented = documented();
    for args in [
        "uts T1 --workers 1 --baseline none",
        "nqueens 8 --show 1 --workers 1",
        "pentomino 3x20 --workers 1 --baseline none",
        "tsp --cities 12 --workers 1",
        "bc --scale 5 --workers 1",
        "synthetic --workers 1",
        "stencil --width 9 --height 9 --steps 3 --workers 1",
        "sw --length 99 --workers 1 --check",
        "simulate uts D6 --places 4",
        "simulate bc --scale 5 --places 4",
        "simulate uts D6 --places 4 --vary",
        "topo",
        "topo --ranks 2",
        "loops exponential -n 64 -p 4",
    ] {
        let object: Value = serde_json::from_str(&text(&format!("{args} --json"))).unwrap();
        assert_eq!(object["schema"], 1, "{args}");
        let keys = object.as_object().unwrap().keys();
        let unknown: Vec<_> = keys.filter(|key| !documented.contains(*key)).collect();
        assert!(unknown.is_empty(), "{args}: not in JSON.md: {unknown:?}");
    }
}

#[test]
fn shells_get_completions_and_readers_a_manual() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = text(&format!("completions {shell}"));
        assert!(
            script.contains("nqueens") && script.contains("life"),
            "{shell}"
        );
    }
    assert!(text("man").contains(".TH tautline 1"));
    let page = text("man bc");
    assert!(
        page.contains("tautline\\-bc") && page.contains("edge\\-factor"),
        "{page}"
    );
    let refused = run("man bcc");
    assert_eq!(refused.status.code(), Some(2));
    let line = String::from_utf8(refused.stderr).unwrap();
    assert!(
        line.starts_with("tautline: man bcc: one of uts, "),
        "{line}"
    );
}

#[test]
fn the_version_names_the_build() {
    let version = text("--version");
    for line in ["commit: ", "build: ", "target: "] {
        assert!(version.contains(line), "{version}");
    }
}
