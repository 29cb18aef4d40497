//! The scores of all pairs of sequences of a FASTA file, with progress on standard error: a line of
//! two names and a score for each. `all_pairs FILE`; without a file, of a sample.
use tautline::prelude::*;

const SAMPLE: &str = ">a\nACGTACGTTA\nCCGT\n>b\nACGTTCGTTACC\n>c\nTTTTTTTT\n>d\nACGTACGTTACCGT\n";

/// The records of a FASTA file: names, which end at white space, and letters.
fn records(text: &str) -> Vec<(String, Vec<u8>)> {
    let record = |record: &str| {
        let (head, body) = record.split_once('\n').unwrap_or((record, ""));
        let name = head.split_whitespace().next().unwrap_or_default();
        let letters = body.bytes().filter(|byte| !byte.is_ascii_whitespace());
        (name.to_owned(), letters.collect())
    };
    let text = format!("\n{text}");
    text.split("\n>").skip(1).map(record).collect()
}

/// The score of the best local alignment: 2 for equal letters, -1 for others, -2 for a gap.
fn score(a: &[u8], b: &[u8]) -> i32 {
    let (mut row, mut best) = (vec![0; b.len() + 1], 0);
    for x in a {
        let mut diagonal = 0;
        for (j, y) in b.iter().enumerate() {
            let pair = diagonal + if x == y { 2 } else { -1 };
            diagonal = row[j + 1];
            row[j + 1] = pair.max(row[j] - 2).max(diagonal - 2).max(0);
            best = best.max(row[j + 1]);
        }
    }
    best
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).map(std::fs::read_to_string);
    let records = records(&file.transpose()?.unwrap_or_else(|| SAMPLE.to_owned()));
    let n = records.len();
    let pairs: Vec<_> = (0..n)
        .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
        .collect();
    let mut report = None;
    // The balance of short and long pairs is the loop's.
    let scores: Vec<i32> = Runtime::new()?.run(|cx| {
        let pairs = cx.par(&pairs).named("pairs").explain(&mut report);
        let pairs = pairs.progress(&|done, of| eprint!("\r{done} of {of} pairs"));
        pairs
            .map(|&(i, j)| score(&records[i].1, &records[j].1))
            .collect()
    });
    eprintln!();
    report.inspect(|report| eprintln!("{report}")); // chunks, and the mean time of a pair
    for ((i, j), score) in pairs.iter().zip(scores) {
        println!("{}\t{}\t{score}", records[*i].0, records[*j].0);
    }
    Ok(())
}
