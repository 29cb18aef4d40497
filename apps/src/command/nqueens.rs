//! `tautline nqueens`: count the ways to place queens.

use super::Failure;
use super::app::{App, Findings, Problem};
use super::balancer::whole;
use super::number::grouped;
use super::show::object;
use clap::Args;
use tautline::backtrack::Found;
use tautline::glb::PlaceId;
use tautline_cli::nqueens::{Queens, Size};

const EXAMPLES: &str = "\
EXAMPLES:
  tautline nqueens                  15 queens, on all processors
  tautline nqueens 12 --workers 1   12 queens, one worker
  tautline nqueens 17 --places 4    17 queens, four places";

/// Count the ways to place N queens, none attacking another
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct NQueens {
    /// How many queens, on a board of N x N squares [default: 15, simulated 12]
    #[arg(value_name = "N", value_parser = whole::<u32, { Size::MAX as u64 }>(), allow_negative_numbers = true)]
    queens: Option<u32>,
}

impl App for NQueens {
    type Problem = Size;

    const NAME: &'static str = "nqueens";

    fn problem(&self, small: bool) -> Result<Size, Failure> {
        let queens = self.queens.unwrap_or(if small { 12 } else { 15 });
        Size::new(queens).map_err(|error| Failure::Usage(error.to_string()))
    }
}

impl Problem for Size {
    type Bag = Queens;

    const TASKS: &'static str = "nodes";

    fn title(&self) -> String {
        format!("{} queens", self.queens())
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let board = format!("{0} x {0}", self.queens());
        vec![("board", board), ("method", "dancing links".to_owned())]
    }

    fn task_ns(&self) -> u64 {
        50
    }

    fn bag(&self) -> Queens {
        Queens::new(self)
    }

    fn shared(&self, _: PlaceId) -> Size {
        *self
    }

    fn output(&self) -> Found<u64> {
        Found::default()
    }

    fn findings(&self, found: &Found<u64>, complete: bool) -> Findings {
        counted(&self.title(), found, self.known().filter(|_| complete))
    }

    fn smaller(&self) -> Option<(String, Self)> {
        let size = Size::new(13)
            .ok()
            .filter(|size| size.queens() < self.queens())?;
        Some((size.title(), size))
    }
}

/// Compares a number of solutions with the known one.
pub(super) fn counted(title: &str, found: &Found<u64>, known: Option<u64>) -> Findings {
    let Found { nodes, sum } = *found;
    let solutions = grouped(sum);
    let verdict = known.map(|known| match known == sum {
        true => Ok(()),
        false => Err(format!(
            "{title}: {solutions} solutions, known are {}",
            grouped(known)
        )),
    });
    Findings {
        rows: vec![("solutions", solutions), ("nodes", grouped(nodes))],
        json: object([("solutions", sum.into()), ("nodes", nodes.into())]),
        verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline::backtrack::sequential;

    #[test]
    fn the_verdict_compares_what_is_complete() {
        let size = NQueens { queens: Some(6) }.problem(false).unwrap();
        let found = sequential::<tautline_cli::nqueens::Matrix>(&size);
        let verdict = |sum, complete| size.findings(&Found { sum, ..found }, complete).verdict;
        assert_eq!(verdict(found.sum, true), Some(Ok(())));
        assert_eq!(verdict(3, false), None);
        let line = "6 queens: 3 solutions, known are 4".to_owned();
        assert_eq!(verdict(3, true), Some(Err(line)));
        assert_eq!(size.findings(&found, true).json["solutions"], 4);
    }

    #[test]
    fn too_many_queens_are_refused() {
        let Err(Failure::Usage(line)) = (NQueens { queens: Some(33) }).problem(false) else {
            panic!("33 queens were accepted");
        };
        assert_eq!(line, "33 queens: from 0 to 32");
    }
}
