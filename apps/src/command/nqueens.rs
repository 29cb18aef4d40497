//! `tautline nqueens`: count the ways to place queens.

use super::Failure;
use super::app::{About, App, Findings, Problem, equal};
use super::balancer::whole;
use clap::Args;
use tautline::balance::backtrack::{Found, paths};
use tautline_cli::nqueens::{Matrix, Queens, Size};

const EXAMPLES: &str = "\
EXAMPLES:
  tautline nqueens                  15 queens, on all processors
  tautline nqueens 12 --workers 1   12 queens, one worker
  tautline nqueens 8 --show 3       8 queens, and the first three solutions
  tautline nqueens 17 --places 4    17 queens, four places";

/// The largest number of solutions that are shown.
pub(super) const SHOWN_MAX: u64 = 1000;

/// Count the ways to place N queens, none attacking another
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct NQueens {
    /// How many queens, on a board of N x N squares [default: 15, simulated 12]
    #[arg(value_name = "N", value_parser = whole::<u32, { Size::MAX as u64 }>(), allow_negative_numbers = true)]
    queens: Option<u32>,
    /// Show the first K solutions
    #[arg(long, value_name = "K", default_value = "0", hide_default_value = true)]
    #[arg(value_parser = whole::<usize, SHOWN_MAX>(), allow_negative_numbers = true)]
    show: usize,
}

/// A board, and how many solutions to show.
#[derive(Debug)]
pub(super) struct Placement {
    size: Size,
    shown: usize,
}

impl App for NQueens {
    type Problem = Placement;

    const NAME: &'static str = "nqueens";

    fn problem(&self, small: bool) -> Result<Placement, Failure> {
        let queens = self.queens.unwrap_or(if small { 12 } else { 15 });
        let size = Size::new(queens)?;
        Ok(Placement {
            size,
            shown: self.show,
        })
    }
}

impl Problem for Placement {
    type Bag = Queens;

    fn about(&self) -> About {
        let queens = self.size.queens();
        let board = format!("{queens} x {queens}");
        About {
            unit: "nodes",
            kind: "problem",
            title: format!("{queens} queens"),
            facts: vec![("board", board), ("method", "dancing links".to_owned())],
            task_ns: 50,
            ..About::default()
        }
    }

    fn bag(&self) -> Queens {
        Queens::new(&self.size)
    }

    fn shared(&self) -> Size {
        self.size
    }

    fn findings(&self, found: &Found<u64>, complete: bool) -> Findings {
        counted(self, found, self.size.known().filter(|_| complete))
    }

    fn pictures(&self) -> Vec<String> {
        let solutions = paths::<Matrix>(&self.size, self.shown).into_iter();
        let line = |queen: &u8| {
            let squares = 0..self.size.queens();
            let mut line: String = squares
                .map(|file| {
                    if file == u32::from(*queen) {
                        "Q "
                    } else {
                        ". "
                    }
                })
                .collect();
            line.pop();
            line + "\n"
        };
        let picture = |queens: Vec<u8>| queens.iter().map(line).collect();
        solutions.map(picture).collect()
    }

    fn smaller(&self) -> Option<(String, Self)> {
        let size = Size::new(13)
            .ok()
            .filter(|size| size.queens() < self.size.queens())?;
        let smaller = Self { size, shown: 0 };
        Some((smaller.about().title, smaller))
    }
}

/// Compares a number of solutions with the known one.
pub(super) fn counted(problem: &impl Problem, found: &Found<u64>, known: Option<u64>) -> Findings {
    let Found { nodes, sum } = *found;
    let rows = vec![("solutions", sum.into()), ("nodes", nodes.into())];
    let title = problem.about().title;
    Findings {
        verdict: known.map(|known| equal(&title, "solutions", sum, ("known are", known))),
        ..Findings::of(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline::balance::backtrack::sequential;

    #[test]
    fn the_verdict_compares_what_is_complete() {
        let size = NQueens {
            queens: Some(6),
            show: 1,
        }
        .problem(false)
        .unwrap();
        let found = sequential::<Matrix>(&size.size);
        let verdict = |sum, complete| size.findings(&Found { sum, ..found }, complete).verdict;
        assert_eq!(verdict(found.sum, true), Some(Ok(())));
        assert_eq!(verdict(3, false), None);
        let line = "6 queens: 3 solutions, known are 4".to_owned();
        assert_eq!(verdict(3, true), Some(Err(line)));
        assert_eq!(size.findings(&found, true).json["solutions"], 4);
        let drawn =
            ". Q . . . .\n. . . Q . .\n. . . . . Q\nQ . . . . .\n. . Q . . .\n. . . . Q .\n";
        assert_eq!(size.pictures(), [drawn]);
    }

    #[test]
    fn too_many_queens_are_refused() {
        let Err(Failure::Usage(line)) = (NQueens {
            queens: Some(33),
            show: 0,
        })
        .problem(false) else {
            panic!("33 queens were accepted");
        };
        assert_eq!(line, "33 queens: from 0 to 32");
    }
}
