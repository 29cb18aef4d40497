//! Output of the command for other programs: documented keys, completions, the manual.

mod scratch;

use scratch::Scratch;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry};
use std::io;
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
        "uts T1 --workers 1 --baseline none --explain",
        "uts D8 --workers 1 --baseline same",
        "nqueens 8 --show 1 --workers 1",
        "pentomino 3x20 --workers 1 --baseline none",
        "tsp --cities 12 --workers 1",
        "bc --scale 5 --workers 1",
        "synthetic --workers 1",
        "stencil --width 9 --height 9 --steps 3 --workers 1",
        "sw --length 99 --workers 1 --check",
        "gups --log2 9 --workers 1",
        "bfs --scale 6 --keys 2 --workers 1",
        "heat --size 9 --workers 1",
        "selftest --programs 5 --workers 1",
        "simulate uts D6 --places 4",
        "simulate bc --scale 5 --places 4",
        "simulate uts D6 --places 4 --vary",
        "simulate uts D6 --places 4 --repeat 2",
        "simulate uts D6 --places 4 --fault loss:100 --rank-places 2",
        "simulate uts D6 --vary places=2,4 --network torus:4,4,4",
        "simulate team --ranks 2",
        "simulate team --check --rounds 1 --calls 10",
        "topo",
        "topo --ranks 2",
        "loops exponential -n 64 -p 4",
        "loops --calibrate -p 2 --repeat 1",
        "bench barrier --iterations 20 --tasks 2",
    ] {
        let object: Value = serde_json::from_str(&text(&format!("{args} --json"))).unwrap();
        let first = object.get(0).unwrap_or(&object);
        assert_eq!(first["schema"], 2, "{args}");
        let mut unknown = BTreeSet::new();
        undocumented(&object, &documented, &mut unknown);
        assert!(unknown.is_empty(), "{args}: not in JSON.md: {unknown:?}");
    }
}

/// Adds the keys of `value` and of what it contains that are not documented.
fn undocumented(value: &Value, documented: &BTreeSet<String>, unknown: &mut BTreeSet<String>) {
    match value {
        Value::Array(all) => all
            .iter()
            .for_each(|one| undocumented(one, documented, unknown)),
        Value::Object(all) => {
            for (key, value) in all {
                if !documented.contains(key) {
                    unknown.insert(key.clone());
                }
                // Its keys are settings as `--explain` names them.
                if key != "why" {
                    undocumented(value, documented, unknown);
                }
            }
        }
        _ => {}
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
        line.starts_with("tautline: man bcc: expected one of uts, "),
        "{line}"
    );
}

/// Pages of nested commands have their words, and every page that one mentions is written.
#[test]
fn the_manual_of_all_commands_is_complete() {
    let page = text("man bench barrier");
    assert!(page.contains(".TH tautline-bench-barrier 1"), "{page}");
    assert!(
        page.contains(r"\fBtautline bench barrier\fR [OPTIONS]"),
        "{page}"
    );
    assert!(page.contains(r"\fB\-\-tasks\fR \fI<LIST>\fR"), "{page}");
    assert!(text("man simulate uts").contains(r"\fBtautline simulate uts\fR [OPTIONS] [TREE]"));
    let folder = Scratch::new("manual");
    fs::create_dir(&folder.0).expect("room for a folder");
    assert_eq!(text(&format!("man --all {}", folder.0.display())), "");
    let read = |entry: io::Result<DirEntry>| {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        (name, fs::read_to_string(path).expect("a page"))
    };
    let pages: BTreeMap<String, String> = fs::read_dir(&folder.0)
        .expect("a folder")
        .map(read)
        .collect();
    fs::remove_dir_all(&folder.0).expect("the folder is the test's");
    for name in [
        "tautline.1",
        "tautline-uts.1",
        "tautline-simulate-uts.1",
        "tautline-bench-barrier.1",
    ] {
        assert!(pages.contains_key(name), "{name}");
    }
    let mut mentioned = 0;
    for (name, page) in &pages {
        assert!(page.is_ascii(), "{name} is not for every troff");
        for word in page.replace(r"\-", "-").split_whitespace() {
            if let Some(other) = word.strip_suffix("(1)") {
                assert!(
                    pages.contains_key(&format!("{other}.1")),
                    "{name} mentions {other}"
                );
                mentioned += 1;
            }
        }
    }
    assert!(
        mentioned >= pages.len() - 1,
        "each but the first is mentioned"
    );
}

/// Completions that bash proposes for the last of some words.
#[test]
fn bash_completes_values() {
    let script = Scratch::new("completions.bash");
    let functions = text("completions bash");
    let of = r#"
        compopt() { :; }
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _tautline tautline "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    fs::write(&script.0, functions + of).expect("room for a file");
    let proposed = |words: &[&str]| {
        let mut bash = Command::new("bash");
        bash.arg(&script.0).arg("tautline").args(words);
        let output = bash.output().expect("bash");
        let words = String::from_utf8(output.stdout).expect("text");
        words
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for (words, expected) in [
        (&["ut"][..], &["uts"][..]),
        (&["uts", "T1X"], &["T1XL", "T1XXL"]),
        (&["uts", "--lifelines", ""], &["auto", "ring", "full"]),
        (&["uts", "--fairness", "one"], &["one-core-free"]),
        (&["uts", "--steal", "h"], &["half"]),
        (&["uts", "--grain", "m"], &["merge-empty"]),
        (&["uts", "--pin", "so"], &["sockets"]),
        (&["uts", "--deadline", ""], &[]),
        (&["uts", "--workers", ""], &[]),
        (&["simulate", "uts", "--machine", "ja"], &["jaguar"]),
        (&["loops", "expo"], &["exponential"]),
        (&["loops", "--policy", "gs"], &["gss", "gss-cached"]),
        (&["launch", "--output", ""], &["first", "all"]),
        (&["completions", "z"], &["zsh"]),
        (&["man", "sim"], &["simulate"]),
        (&["bench", "ba"], &["barrier"]),
    ] {
        assert_eq!(proposed(words), expected, "{words:?}");
    }
    let machines = proposed(&["simulate", "uts", "--machine", ""]);
    assert!(
        machines.len() > 5 && machines.contains(&"cluster".to_owned()),
        "{machines:?}"
    );
    // The other shells get the same values.
    for shell in ["zsh", "fish"] {
        let script = text(&format!("completions {shell}"));
        for value in ["jaguar", "merge-empty", "one-core-free"] {
            assert!(script.contains(value), "{shell}: {value}");
        }
    }
}

#[test]
fn the_version_names_the_build() {
    let version = text("--version");
    for line in ["commit: ", "build: ", "target: "] {
        assert!(version.contains(line), "{version}");
    }
}
