//! Inputs of the command as the world has them: marks of editors, archives, standard input, other
//! encodings.

#![cfg(unix)]

mod scratch;
mod started;

use flate2::Compression;
use flate2::write::GzEncoder;
use scratch::Scratch;
use started::tautline;
use std::fs;
use std::fs::File;
use std::io::Write;
use std::process::Output;

/// Command lines with FILE in place of an input, a content with a comment that ends in CAFÉ where
/// the format has any, and a part of what is printed.
const COMMANDS: [(&str, &str, &str); 4] = [
    (
        "tsp FILE --baseline none --workers 1",
        "NAME: x\nCOMMENT: CAFÉ\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 0 3\n3 4 0\nEOF\n",
        "optimum           12 ",
    ),
    (
        "smith-waterman FILE drawn.fa --workers 1",
        ">x CAFÉ\nACGT\n",
        "score             8 ",
    ),
    (
        "loops FILE --policy gss",
        "# CAFÉ\nns\n100\n300\n",
        "2 iterations, mean 200 ns",
    ),
    (
        "recorded FILE --baseline none --workers 1",
        "# CAFÉ\nparent,ns\n,100\n0,200\n",
        "work              300 ns",
    ),
];

/// Runs the command on `content`, as a file and as standard input.
fn outputs(args: &str, content: &[u8]) -> [Output; 2] {
    let (file, second) = (Scratch::new("input"), Scratch::new("drawn.fa"));
    fs::write(&file.0, content).expect("room for a file");
    fs::write(&second.0, "ACGT\n").expect("room for a file");
    let args = args.replace("drawn.fa", &second.0.display().to_string());
    let named = args.replace("FILE", &file.0.display().to_string());
    let input = File::open(&file.0).expect("the file was written");
    let mut from_input = tautline(&args.replace("FILE", "-"));
    [
        tautline(&named).output().expect("it starts"),
        from_input.stdin(input).output().expect("it starts"),
    ]
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

fn packed(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).expect("room");
    encoder.finish().expect("room")
}

#[test]
fn marks_of_editors_and_archives_are_read_by_every_command() {
    for (args, content, printed) in COMMANDS {
        let latin: Vec<u8> = content.chars().map(|c| c as u8).collect();
        for content in [
            content.as_bytes().to_vec(),
            [b"\xef\xbb\xbf", content.as_bytes()].concat(),
            content.replace('\n', "\r\n").into_bytes(),
            format!("{content}\n\n").into_bytes(),
            content.trim_end().as_bytes().to_vec(),
            latin,
            packed(content.as_bytes()),
        ] {
            for output in outputs(args, &content) {
                let (out, err) = (text(&output.stdout), text(&output.stderr));
                assert!(output.status.success() && err.is_empty(), "{args}: {err}");
                let head = out.replace('\n', " ");
                assert!(head.contains(printed), "{args}: {out}");
            }
        }
    }
}

#[test]
fn other_encodings_are_refused_in_one_line() {
    for (args, content, _) in COMMANDS {
        let wide: Vec<u8> = content.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let foreign = content
            .replace("4 0", "4 Ã")
            .replace("CGT", "CÃT")
            .replace("00\n", "0Ã\n");
        let foreign: Vec<u8> = foreign
            .replace("CAFÉ", "")
            .chars()
            .map(|c| c as u8)
            .collect();
        for (content, part) in [
            (wide, "UTF-16: convert it by `iconv"),
            (foreign, ": byte 0xC3: not UTF-8"),
            (
                packed(content.as_bytes())[..30].to_vec(),
                "a truncated gzip archive",
            ),
            (
                b"\x28\xb5\x2f\xfd\x24\x04".to_vec(),
                "compressed by zstd: unpack it by",
            ),
        ] {
            for output in outputs(args, &content) {
                let err = text(&output.stderr);
                assert_eq!(output.status.code(), Some(2), "{args}: {err}");
                let is_line = err.starts_with("tautline: ") && err.lines().count() == 1;
                assert!(is_line && err.contains(part), "{args}: {err}");
            }
        }
    }
}

#[test]
fn names_are_printed_as_they_are_but_for_what_a_terminal_obeys() {
    for (args, content, printed) in [
        (
            "smith-waterman FILE drawn.fa --workers 1",
            "ACGT\n",
            "it's\\u{1b}[31m",
        ),
        (
            "loops FILE --policy gss",
            "ns\n100\n",
            "it's\\u{1b}[31m: 1 iterations",
        ),
        (
            "bc FILE --workers 1 --baseline none",
            "O'Hara Ann\nAnn Bob\nO'Hara Cid\nO'Hara Dan\n",
            "at vertex O'Hara ",
        ),
    ] {
        let (file, second) = (Scratch::new("it's\x1b[31m"), Scratch::new("drawn.fa"));
        fs::write(&file.0, content).expect("room for a file");
        fs::write(&second.0, content).expect("room for a file");
        let args = args.replace("drawn.fa", &second.0.display().to_string());
        let output = tautline(&args.replace("FILE", &file.0.display().to_string())).output();
        let output = output.expect("it starts");
        let out = text(&output.stdout);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let head = out.replace('\n', " ");
        assert!(
            head.contains(printed) && !out.contains('\x1b'),
            "{args}: {out}"
        );
    }
}

#[test]
fn standard_input_is_not_divided_among_ranks() {
    for args in [
        "recorded - --ranks 2",
        "sw - x.fa --ranks 3",
        "launch -n 2 -- COMMAND tsp -",
    ] {
        let args = args.replace("COMMAND", env!("CARGO_BIN_EXE_tautline"));
        let output = tautline(&args).output().expect("it starts");
        let line = "-: one process reads standard input, not ";
        assert_eq!(output.status.code(), Some(2), "{args}");
        assert!(
            text(&output.stderr).contains(line),
            "{args}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn further_sequences_are_counted() {
    let file = Scratch::new("several.fa");
    fs::write(&file.0, ">1\nACGT*\n>2\nTT\n>3\nA\n").expect("room for a file");
    let name = file.0.display().to_string();
    let (args, content) = (format!("sw {name} FILE --workers 1"), b"ACGT\n");
    let [output, _] = outputs(&args, content);
    let printed = format!("ignored           2 further sequences of {name}\n");
    let out = text(&output.stdout);
    assert!(
        out.contains(&printed) && out.matches("ignored").count() == 1,
        "{out}"
    );
    let [output, _] = outputs(&format!("{args} --json"), content);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["ignored_sequences"], serde_json::json!([2, 0]));
}

#[test]
fn letters_in_place_of_a_file_are_named() {
    let output = tautline("sw ACGT").output().expect("it starts");
    let line = "tautline: ACGT: FIRST and SECOND are two files in the form of FASTA, not letters; SECOND is missing\n";
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(2), line)
    );
    let output = tautline("sw - -").output().expect("it starts");
    let line = "tautline: FIRST and SECOND: at most one of them is standard input\n";
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(2), line)
    );
}
