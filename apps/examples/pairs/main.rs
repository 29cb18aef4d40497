//! The best local alignment of each pair of sequences in a FASTA file, as a table:
//! `pairs FILE > pairs.tsv`. Progress goes to standard error. Without a file it draws
//! sequences, and compares the table with that of the sequential program.
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use tautline::prelude::*;
use tautline_cli::smith_waterman::{Best, Scores, Sequence, draw, read_all, sequential};
use tautline_cli::text::Input;

/// The longest file.
const BYTES_MAX: u64 = 1 << 32;

fn drawn() -> Vec<Sequence> {
    let one = |n: usize| Sequence {
        title: format!("sequence {n}"),
        letters: draw(60 + n * n % 97 * 7, 0, n as u64).0,
    };
    (0..30).map(one).collect()
}

fn align_all() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1);
    let sequences = match &file {
        Some(file) => read_all(Input::read(file.as_ref(), BYTES_MAX)?)?,
        None => drawn(),
    };
    let all = sequences.len();
    let pairs: Vec<(usize, usize)> = (0..all)
        .flat_map(|i| (i + 1..all).map(move |j| (i, j)))
        .collect();
    let letters = |number: usize| &sequences[number].letters;
    let align = |&(i, j): &(usize, usize)| sequential(letters(i), letters(j), Scores::default());
    // The time of a pair is the product of two lengths, which differ: nothing has to be divided by
    // hand.
    let report = |done: usize, of: usize| eprintln!("{done} of {of} pairs");
    let scored: Vec<Best> =
        Runtime::new()?.run(|cx| cx.par(&pairs).progress(&report).map(align).collect());
    assert!(file.is_some() || scored.iter().copied().eq(pairs.iter().map(align)));

    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    writeln!(out, "first\tsecond\tscore\tend in first\tend in second")?;
    for (&(i, j), best) in pairs.iter().zip(&scored) {
        let ([first, second], Best { score, row, column }) =
            ([i, j].map(|n| sequences[n].title.replace('\t', " ")), best);
        writeln!(out, "{first}\t{second}\t{score}\t{row}\t{column}")?;
    }
    Ok(out.flush()?)
}

fn main() -> ExitCode {
    match align_all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pairs: {error}");
            ExitCode::from(2)
        }
    }
}
