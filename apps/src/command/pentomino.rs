//! `tautline pentomino`: count the tilings of a rectangle.

use super::Failure;
use super::app::{About, App, Findings, Problem};
use super::balancer::whole;
use super::nqueens::{SHOWN_MAX, counted};
use clap::Args;
use std::str::FromStr;
use tautline::balance::backtrack::{Found, paths};
use tautline_cli::pentomino::{Board, Pieces, Tiling, Tilings};

const EXAMPLES: &str = "\
EXAMPLES:
  tautline pentomino                             6x10 with the twelve pieces, on all processors
  tautline pentomino 5x12 --fundamental          turned and mirrored tilings count once
  tautline pentomino 3x20 --show 2               and two of the tilings
  tautline pentomino --one-sided                 3x30 with the eighteen one-sided pieces
  tautline pentomino 5x18 --one-sided            thousands of millions of nodes";

/// Count the ways to fill a board with all pieces of five squares
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Pentomino {
    /// Width and height: 60 squares, one-sided 90 [default: 6x10, one-sided 3x30]
    #[arg(value_name = "BOARD")]
    sides: Option<Sides>,
    /// Pieces may be turned, but not turned over: eighteen of them instead of twelve
    #[arg(long)]
    one_sided: bool,
    /// Tilings that turning and mirroring the board makes the same count once
    #[arg(long)]
    fundamental: bool,
    /// Show the first K tilings
    #[arg(long, value_name = "K", default_value = "0", hide_default_value = true)]
    #[arg(value_parser = whole::<usize, SHOWN_MAX>(), allow_negative_numbers = true)]
    show: usize,
}

/// A board in the form `6x10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sides(u32, u32);

impl FromStr for Sides {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (width, height) = text.split_once('x').ok_or("width x height, such as 6x10")?;
        match (width.parse(), height.parse()) {
            (Ok(width), Ok(height)) => Ok(Self(width, height)),
            _ => Err("width x height, such as 6x10"),
        }
    }
}

/// A board and its name.
#[derive(Debug)]
pub(super) struct Puzzle {
    sides: Sides,
    pieces: Pieces,
    board: Board,
    shown: usize,
}

impl Puzzle {
    fn new(sides: Sides, pieces: Pieces, fundamental: bool) -> Result<Self, Failure> {
        let board = Board::new(sides.0, sides.1, pieces, fundamental)?;
        Ok(Self {
            sides,
            pieces,
            board,
            shown: 0,
        })
    }
}

impl App for Pentomino {
    type Problem = Puzzle;

    const NAME: &'static str = "pentomino";

    fn problem(&self, small: bool) -> Result<Puzzle, Failure> {
        let (pieces, usual) = match self.one_sided {
            true => (Pieces::OneSided, Sides(3, 30)),
            false if small => (Pieces::TwoSided, Sides(5, 12)),
            false => (Pieces::TwoSided, Sides(6, 10)),
        };
        let puzzle = Puzzle::new(self.sides.unwrap_or(usual), pieces, self.fundamental)?;
        Ok(Puzzle {
            shown: self.show,
            ..puzzle
        })
    }
}

impl Problem for Puzzle {
    type Bag = Tilings;

    fn about(&self) -> About {
        let Sides(width, height) = self.sides;
        let (sort, pieces) = match self.pieces {
            Pieces::TwoSided => ("", "12, both sides up"),
            Pieces::OneSided => ("one-sided ", "18, one side up"),
        };
        let counted = match self.board.is_fundamental() {
            true => "each tiling once, however the board is turned or mirrored",
            false => "all tilings",
        };
        About {
            unit: "nodes",
            kind: "problem",
            title: format!("{sort}pentominoes on {width}x{height}"),
            facts: vec![
                ("board", format!("{width} x {height}")),
                ("pieces", pieces.to_owned()),
                ("counted", counted.to_owned()),
            ],
            task_ns: 9,
            ..About::default()
        }
    }

    fn bag(&self) -> Tilings {
        Tilings::new(&self.board)
    }

    fn shared(&self) -> Board {
        self.board.clone()
    }

    fn findings(&self, found: &Found<u64>, complete: bool) -> Findings {
        counted(self, found, self.board.known().filter(|_| complete))
    }

    fn pictures(&self) -> Vec<String> {
        let tilings = paths::<Tiling>(&self.board, self.shown).into_iter();
        tilings.map(|lays| self.board.picture(&lays)).collect()
    }

    /// One-sided boards from 5 squares up take minutes.
    fn smaller(&self) -> Option<(String, Self)> {
        let Sides(width, height) = self.sides;
        let long = self.pieces == Pieces::OneSided && width.min(height) > 3;
        let smaller = Self::new(Sides(3, 30), self.pieces, self.board.is_fundamental());
        smaller
            .ok()
            .filter(|_| long)
            .map(|smaller| (smaller.about().title, smaller))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::app::read;

    fn title(args: &str) -> Result<String, String> {
        let line = format!("pentomino {args}");
        read::<Pentomino>(line.trim_end()).map(|puzzle| puzzle.about().title)
    }

    #[test]
    fn shown_tilings_have_every_piece_once() {
        let puzzle = read::<Pentomino>("pentomino 3x20 --show 3").unwrap();
        let pictures = puzzle.pictures();
        assert_eq!(pictures.len(), 3);
        for picture in pictures {
            let mut letters: Vec<_> = picture.chars().filter(|c| *c != '\n').collect();
            letters.sort_unstable();
            let counts = letters.chunk_by(|a, b| a == b);
            assert!(
                counts
                    .map(|letters| (letters[0], letters.len()))
                    .eq("FILNPTUVWXYZ".chars().map(|c| (c, 5))),
                "{picture}"
            );
            assert!(picture.lines().map(str::len).eq([20; 3]), "{picture}");
        }
    }

    #[test]
    fn boards_are_read_and_refused() {
        for (args, expected) in [
            ("", "pentominoes on 6x10"),
            ("20x3 --fundamental", "pentominoes on 20x3"),
            ("--one-sided", "one-sided pentominoes on 3x30"),
        ] {
            assert_eq!(title(args).as_deref(), Ok(expected), "{args}");
        }
        let line = "7x9: 12 pieces cover 60 squares, so one of 1x60 2x30 3x20 4x15 5x12 6x10";
        assert_eq!(title("7x9"), Err(line.to_owned()));
        let line = "6x10: 18 pieces cover 90 squares, so one of 1x90 2x45 3x30 5x18 6x15 9x10";
        assert_eq!(title("6x10 --one-sided"), Err(line.to_owned()));
        for args in ["6", "6x", "x", "-1x60", "6x10x1", "4294967296x1"] {
            assert!(title(args).is_err(), "{args}");
        }
        // Their product is 60 more than the maximum of a word.
        assert!(title("4294967292x1073741825").is_err());
    }
}
