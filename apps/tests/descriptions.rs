//! Descriptions of machines as editors and archivers leave them.

mod scratch;

use scratch::Scratch;
use std::process::Command;

/// Runs the command, and returns the exit code and the first line.
fn first_line(args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    let output = command.args(args).output().expect("the command starts");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).expect("text");
    (
        output.status.code(),
        said.lines().next().unwrap_or_default().to_owned(),
    )
}

fn file(name: &str, content: &[u8]) -> Scratch {
    let file = Scratch::new(name);
    std::fs::write(&file.0, content).expect("a file");
    file
}

fn original(path: &str) -> String {
    let path = format!("{}/../platforms/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("a description")
}

#[test]
fn marks_line_ends_and_foreign_comments_are_read() {
    let toml = original("machines/cluster.toml");
    let latin: Vec<u8> = [b"# Montr\xe9al\n", toml.as_bytes()].concat();
    let marked = format!("\u{feff}{}\n\n", toml.replace('\n', "\r\n"));
    let plain = first_line(&[
        "simulate",
        "uts",
        "D6",
        "--machine",
        "cluster",
        "--places",
        "2",
    ]);
    for content in [latin, marked.into_bytes()] {
        let file = file("machine.toml", &content);
        let path = file.0.display().to_string();
        let args = ["simulate", "uts", "D6", "--machine", &path, "--places", "2"];
        assert_eq!(first_line(&args), plain);
    }
}

#[test]
fn other_encodings_are_refused_by_name() {
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let toml = file("machine.toml", &wide(&original("machines/cluster.toml")));
    let xml = file(
        "node.xml",
        &wide(&original("tests/topology/xeon-2x4x2.xml")),
    );
    let [toml, xml] = [toml, xml].map(|file| (file.0.display().to_string(), file));
    for args in [
        &["simulate", "uts", "D6", "--machine", &toml.0][..],
        &["topo", "--what-if", &xml.0],
    ] {
        let (code, line) = first_line(args);
        assert_eq!(code, Some(2), "{line}");
        assert!(
            line.ends_with(": UTF-16: convert it by `iconv -f UTF-16 -t UTF-8`"),
            "{line}"
        );
    }
}
