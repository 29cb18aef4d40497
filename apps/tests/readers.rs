//! Mutated files of sequences, of recorded trees and of times: each is refused, or read as a
//! second, simpler reader does.

mod mutated;

use mutated::{Draws, mutated};
use std::ops::Range;
use tautline_cli::iterations::Times;
use tautline_cli::recorded::Tree;
use tautline_cli::smith_waterman;
use tautline_cli::text::Input;

/// Returns the lines without blank ones at the end, where editors of DOS put a mark, too.
fn lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.trim_end_matches([' ', '\t', '\n', '\x1a']);
    text.lines().map(str::to_owned).collect()
}

/// Reads mutated files of `corpus` and returns how many were read. `check` compares one with what
/// was read.
fn read<T, E>(
    corpus: &[&[u8]],
    words: &[&str],
    seeds: Range<u64>,
    reader: impl Fn(Input) -> Result<T, E>,
    check: impl Fn(&T, &[String], &str),
) -> u64 {
    let mut accepted = 0;
    for seed in seeds {
        let mut draws = Draws::new(seed);
        let file = *draws.of(corpus);
        let file = mutated(file, words, &mut draws);
        let Ok(input) = Input::new("x", &file) else {
            continue;
        };
        if let Ok(read) = reader(input) {
            accepted += 1;
            let shown = format!("seed {seed}\n{}", String::from_utf8_lossy(&file));
            check(&read, &lines(&file), &shown);
        }
    }
    accepted
}

fn sequences(seeds: Range<u64>) -> u64 {
    let corpus: [&[u8]; 6] = [
        b">one a title\nACGTACGT\nTTGA*\n>two\nGGG\n>three\nA\n",
        b"ACGT\nacgtnn\n",
        b"; comment \xe9\n>1\r\nMKV-L*\r\n\r\n",
        b"\xef\xbb\xbf>1\nAC\n;x\nGT\n>2\nTT\n",
        b">1\nA\n>2\n\n>3\nC\n",
        b"\n\n>x\nWWW*WW\n",
    ];
    let words = [">x", ">", "ACGT", "*", ";c", "-", "@r", "LOCUS "];
    read(
        &corpus,
        &words,
        seeds,
        smith_waterman::read,
        |first, lines, shown| {
            let titles = lines.iter().filter(|line| line.starts_with('>')).count();
            let mut expected = String::new();
            let mut seen = 0;
            for line in lines.iter().filter(|line| !line.starts_with(';')) {
                match line.starts_with('>') {
                    true if seen > 0 || !expected.is_empty() => break,
                    true => seen += 1,
                    false => expected += line.trim_end(),
                }
            }
            let expected = expected
                .strip_suffix('*')
                .unwrap_or(&expected)
                .to_ascii_uppercase();
            assert_eq!(
                String::from_utf8_lossy(&first.sequence.letters),
                expected,
                "{shown}"
            );
            assert_eq!(first.further, titles - seen, "{shown}");
            let is_letter = |c: char| c.is_ascii_uppercase() || "*-".contains(c);
            assert!(
                !expected.is_empty() && expected.chars().all(is_letter),
                "{shown}"
            );
        },
    )
}

fn number(field: &str) -> Option<f64> {
    field.trim().trim_matches('"').parse().ok()
}

fn trees(seeds: Range<u64>) -> u64 {
    let corpus: [&[u8]; 4] = [
        b"parent,ns\n,10\n0,20\n0,5\n1,7\n,3\n",
        b"# caf\xe9\nparent,ns\r\n,1\r\n0,2\r\n\r\n",
        b"\xef\xbb\xbf\"parent\",\"ns\"\n,1.0\n0.0,2e3\n",
        b"parent,ns\n,0\n# x,y\n0,0\n1,0\n2,18446744073709551615\n",
    ];
    let words = ["parent,ns", ",1", "0,1", "1,1", "#", "\"1\",2"];
    read(&corpus, &words, seeds, Tree::read, |tree, lines, shown| {
        let mut tasks = lines.iter().filter(|line| !line.starts_with('#')).skip(1);
        let mut file = Vec::new();
        tree.write(&mut file).expect("room");
        let written = String::from_utf8(file).expect("text");
        assert_eq!(tree.tasks(), written.lines().count() as u64 - 1, "{shown}");
        for written in written.lines().skip(1) {
            let line = tasks.next().unwrap_or_else(|| panic!("{shown}"));
            let both = [line, written].map(|line| line.split(',').map(number).collect::<Vec<_>>());
            assert_eq!(both[0], both[1], "{shown}");
        }
        assert_eq!(tasks.next(), None, "{shown}");
    })
}

fn times(seeds: Range<u64>) -> u64 {
    let corpus: [&[u8]; 5] = [
        b"ns\n100\n200\n0.4\n",
        b"1\n2\n3",
        b"# caf\xe9\n\"ns\"\r\n1e3\r\n\r\n",
        b"[1, 2.5,\n 3]\n",
        b"\xef\xbb\xbf[17592186044416]",
    ];
    let words = ["ns", "1", "[", "]", ",2", "#", "null", "[1, 2]"];
    read(
        &corpus,
        &words,
        seeds,
        Times::read,
        |times, lines, shown| {
            let is_json = lines
                .iter()
                .find(|line| !line.trim().is_empty())
                .is_some_and(|line| line.trim().starts_with('['));
            let expected: Vec<f64> = match is_json {
                true => {
                    let text = lines.join(" ");
                    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
                    inner.split(',').filter_map(number).collect()
                }
                false => {
                    let data = lines.iter().filter(|line| !line.starts_with('#'));
                    let is_head = |line: &String| line.trim().trim_matches('"') == "ns";
                    let skipped = usize::from(data.clone().next().is_some_and(is_head));
                    data.skip(skipped)
                        .map(|line| number(line).unwrap_or(f64::NAN))
                        .collect()
                }
            };
            let expected: Vec<_> = expected.iter().map(|ns| ns.round() as u64).collect();
            assert_eq!(times.iter().collect::<Vec<_>>(), expected, "{shown}");
        },
    )
}

#[test]
fn mutated_files_are_refused_or_read_right() {
    for (reader, least) in [
        (sequences as fn(Range<u64>) -> u64, 5000),
        (trees, 2000),
        (times, 2000),
    ] {
        let accepted = reader(0..20_000);
        assert!(accepted > least, "{accepted} read");
    }
}

#[test]
#[ignore = "cargo ci deep: three million files"]
fn a_million_mutated_files_of_each_are_refused_or_read_right() {
    for (name, reader) in [
        ("sequences", sequences as fn(Range<u64>) -> u64),
        ("trees", trees),
        ("times", times),
    ] {
        println!(
            "{name}: {} of 1000000 mutated files were read",
            reader(0..1_000_000)
        );
    }
}
