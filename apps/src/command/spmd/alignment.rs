//! `tautline smith-waterman`: the best local alignment of two sequences.

use super::{Computed, Problem};
use crate::command::Failure;
use crate::command::app::{About, App};
use crate::command::balancer::within;
use crate::command::number::grouped;
use crate::command::quote::escaped;
use crate::command::show::object;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use tautline::Runtime;
use tautline::internal::spelling;
use tautline::world::World;
use tautline_cli::program::{Findings, digest};
use tautline_cli::smith_waterman::{self, Best, Distribution, First, Scores, Tiles};
use tautline_cli::text::Input;

const EXAMPLES: &str = "\
EXAMPLES:
  tautline smith-waterman                        two drawn sequences of 20 000 letters
  tautline sw --length 5000 --check              shorter ones, compared with a sequential program
  tautline sw human.fa mouse.fa --gap -2         two files of FASTA, the first sequence of each
  tautline sw --ranks 2 --distribution cyclic    by two processes, whose columns of tiles alternate
  tautline launch -n 4 -- tautline sw --tile 256 four processes, smaller tiles
  mpirun -n 4 tautline sw                        ranks of MPI, in a build with the feature mpi

Of each file the first sequence is aligned. The example `pairs` aligns all pairs of a file:
cargo run --release -p tautline-cli --example pairs FILE

The score of an alignment is the sum of those of its letters. Of several best ones, that which ends first in the first sequence is
shown, and of these that which ends first in the second: the same for every number of ranks, places and workers, and every tile.";

/// The most letters of a sequence. Scores are less than 2^31.
const LENGTH_MAX: u64 = 1 << 24;
/// The longest file: other sequences may follow the first.
const BYTES_MAX: u64 = 1 << 30;
/// The greatest amount that a letter adds.
const SCORE_MAX: i32 = 100;
/// The most rows and columns of a tile, and tiles, which are tasks.
const TILE_MAX: u64 = 1 << 16;
const TILES_MAX: u64 = 1 << 24;

/// Find the best local alignment of two sequences, by tiles whose edges ranks send each other
#[derive(Args, Debug)]
#[command(visible_alias = "sw", after_help = EXAMPLES)]
pub(crate) struct SmithWaterman {
    /// A file whose first sequence is aligned, - for standard input [default: drawn]
    #[arg(value_name = "FIRST")]
    first: Option<PathBuf>,
    /// The second one, - for standard input
    #[arg(value_name = "SECOND")]
    second: Option<PathBuf>,
    /// Letters of drawn sequences, of both or of each, as in 20000x30000
    #[arg(long, value_name = "N|NxN", default_value = "20000", value_parser = lengths, allow_negative_numbers = true)]
    #[arg(conflicts_with = "first")]
    length: Lengths,
    /// What drawn sequences are drawn from
    #[arg(long, value_name = "N", default_value = "1", value_parser = spelling::seed, allow_negative_numbers = true)]
    #[arg(conflicts_with = "first")]
    seed: u64,
    /// Score of two equal letters
    #[arg(long = "match", value_name = "SCORE", default_value = "2", value_parser = reward, allow_negative_numbers = true)]
    matched: i32,
    /// Score of two different letters
    #[arg(long = "mismatch", value_name = "SCORE", default_value = "-1", value_parser = penalty, allow_negative_numbers = true)]
    mismatched: i32,
    /// Score of a letter of one sequence alone
    #[arg(long, value_name = "SCORE", default_value = "-1", value_parser = penalty, allow_negative_numbers = true)]
    gap: i32,
    /// Rows and columns of a tile
    #[arg(long, value_name = "N", default_value = "512", value_parser = tile, allow_negative_numbers = true)]
    tile: u64,
    /// Which rank has a column of tiles
    #[arg(long, value_name = "HOW", default_value = "blocks")]
    distribution: Columns,
}

/// [`Distribution`] in the spelling of the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Columns {
    /// Each rank has columns side by side: few messages
    Blocks,
    /// The ranks take turns: all of them begin sooner
    Cyclic,
}

/// The lengths of both sequences.
#[derive(Clone, Copy, Debug)]
struct Lengths(u64, u64);

fn lengths(text: &str) -> Result<Lengths, String> {
    let (first, second) = text.split_once('x').unwrap_or((text, text));
    let both = [first, second].map(|text| within(text, 1..=LENGTH_MAX).ok());
    match both {
        [Some(first), Some(second)] => Ok(Lengths(first, second)),
        _ => Err(format!(
            "whole numbers from 1 to {LENGTH_MAX}, one or two, as in 20000x30000"
        )),
    }
}

fn tile(text: &str) -> Result<u64, String> {
    within(text, 1..=TILE_MAX)
}

fn reward(text: &str) -> Result<i32, String> {
    let number = text
        .parse()
        .ok()
        .filter(|score| (1..=SCORE_MAX).contains(score));
    number.ok_or_else(|| format!("a whole number from 1 to {SCORE_MAX}"))
}

fn penalty(text: &str) -> Result<i32, String> {
    let number = text
        .parse()
        .ok()
        .filter(|score| (-SCORE_MAX..=0).contains(score));
    number.ok_or_else(|| format!("a whole number from -{SCORE_MAX} to 0"))
}

/// Two sequences, and how they are aligned.
pub(crate) struct Alignment {
    first: Vec<u8>,
    second: Vec<u8>,
    /// The origin of the sequences.
    source: String,
    /// Of each file, its name and the number of sequences that follow the first; none if both are
    /// drawn.
    ignored: Vec<(String, usize)>,
    scores: Scores,
    side: usize,
    distribution: Distribution,
}

impl SmithWaterman {
    fn sequences(&self) -> Result<Sequences, Failure> {
        let files = match (&self.first, &self.second) {
            (Some(first), Some(second)) if first == second && first.as_os_str() == "-" => {
                let line = "FIRST and SECOND: at most one of them is standard input";
                return Err(Failure::Usage(line.to_owned()));
            }
            (Some(first), Some(second)) => [first, second],
            (Some(first), None) => {
                let first = first.display();
                let line = format!(
                    "{first}: FIRST and SECOND are two files in the form of FASTA, not letters; SECOND is missing"
                );
                return Err(Failure::Usage(line));
            }
            (None, _) => {
                let Lengths(first, second) = self.length;
                return Ok(Sequences {
                    letters: smith_waterman::draw(first as usize, second as usize, self.seed),
                    source: format!("drawn, seed {}", self.seed),
                    ignored: Vec::new(),
                });
            }
        };
        let [first, second] = files.map(|file| read(file));
        let (first, second) = (first?, second?);
        let names = files.map(|file| escaped(&file.display().to_string()));
        let source = names.join(", ");
        let further = [first.further, second.further];
        Ok(Sequences {
            letters: (first.sequence.letters, second.sequence.letters),
            source,
            ignored: names.into_iter().zip(further).collect(),
        })
    }
}

impl App for SmithWaterman {
    type Problem = Alignment;

    const NAME: &'static str = "smith-waterman";

    fn problem(&self, _small: bool) -> Result<Alignment, Failure> {
        let Sequences {
            letters: (first, second),
            source,
            ignored,
        } = self.sequences()?;
        let alignment = Alignment {
            first,
            second,
            source,
            ignored,
            scores: Scores {
                matched: self.matched,
                mismatched: self.mismatched,
                gap: self.gap,
            },
            side: self.tile as usize,
            distribution: match self.distribution {
                Columns::Blocks => Distribution::Blocks,
                Columns::Cyclic => Distribution::Cyclic,
            },
        };
        let tiles = alignment.tiles();
        let tasks = tiles.rows() as u64 * tiles.columns() as u64;
        match tasks <= TILES_MAX {
            true => Ok(alignment),
            false => Err(Failure::Usage(format!(
                "--tile {}: {} tiles of these sequences, at most {TILES_MAX}",
                self.tile,
                grouped(tasks)
            ))),
        }
    }
}

/// Both sequences and where they are from, as in [`Alignment`].
struct Sequences {
    letters: smith_waterman::Pair,
    source: String,
    ignored: Vec<(String, usize)>,
}

/// Reads a sequence, of which scores do not overflow.
fn read(path: &Path) -> Result<First, Failure> {
    let first = Input::read(path, BYTES_MAX).and_then(smith_waterman::read)?;
    match first.sequence.letters.len() as u64 {
        ..=LENGTH_MAX => Ok(first),
        letters => Err(Failure::Usage(format!(
            "{}: {} letters, at most {}",
            path.display(),
            grouped(letters),
            grouped(LENGTH_MAX)
        ))),
    }
}

impl Alignment {
    fn tiles(&self) -> Tiles<'_> {
        Tiles {
            first: &self.first,
            second: &self.second,
            scores: self.scores,
            side: self.side,
            distribution: self.distribution,
        }
    }
}

impl Problem for Alignment {
    type Solution = Best;

    fn about(&self) -> About {
        let [first, second] = [&self.first, &self.second].map(|all| grouped(all.len() as u64));
        let Scores {
            matched,
            mismatched,
            gap,
        } = self.scores;
        let tiles = self.tiles();
        let columns = match self.distribution {
            Distribution::Blocks => "columns in blocks",
            Distribution::Cyclic => "columns in turns",
        };
        let (rows, side) = (tiles.rows(), self.side);
        let mut facts = vec![(
            "sequences",
            format!("{first} x {second} letters, {}", self.source),
        )];
        for (file, further) in self.ignored.iter().filter(|(_, further)| *further > 0) {
            let all = match further {
                1 => "1 further sequence".to_owned(),
                further => format!("{} further sequences", grouped(*further as u64)),
            };
            facts.push(("ignored", format!("{all} of {file}")));
        }
        facts.extend([
            (
                "scores",
                format!("match {matched}, mismatch {mismatched}, gap {gap}"),
            ),
            (
                "tasks",
                format!("{rows} x {} tiles of {side}, {columns}", tiles.columns()),
            ),
        ]);
        let is_read = !self.ignored.is_empty();
        About {
            unit: "cells",
            facts,
            tasks: Some(self.first.len() as u64 * self.second.len() as u64),
            input: is_read.then(|| digest([&self.first[..], &self.second])),
            ..About::default()
        }
    }

    #[track_caller]
    fn across(&self, world: &World, runtime: &Runtime) -> tautline::Result<Option<Computed<Best>>> {
        let best = smith_waterman::across(&self.tiles(), &world.comm(), runtime)?;
        Ok(best.map(Computed::from))
    }

    fn sequential(&self) -> Best {
        smith_waterman::sequential(&self.first, &self.second, self.scores)
    }

    fn findings(&self, best: &Best) -> Findings {
        let ends = format!(
            "letter {} of the first, {} of the second",
            best.row, best.column
        );
        let place = match best.score {
            0 => "nowhere, no letters are equal".to_owned(),
            _ => ends,
        };
        let ignored: Vec<_> = self.ignored.iter().map(|(_, further)| *further).collect();
        Findings {
            rows: vec![("score", grouped(best.score as u64)), ("ends at", place)],
            json: object([
                ("score", best.score.into()),
                ("end_first", best.row.into()),
                ("end_second", best.column.into()),
                ("ignored_sequences", ignored.into()),
            ]),
            verdict: None,
            agrees: "",
        }
    }
}
