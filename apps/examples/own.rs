//! A program of one's own with the options of the command `tautline`: `--workers`, `--deadline`,
//! `--json`, `--life`, `--help`.
use std::process::ExitCode;
use tautline::balance::{Local, Task, Tasks};
use tautline_cli::program::{self, Work};

const COINS: [u64; 8] = [200, 100, 50, 20, 10, 5, 2, 1];

/// Count the ways to pay a sum
#[derive(clap::Args)]
struct Options {
    /// The sum
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    sum: u64,
}

/// A sum that is left to pay, and the largest coin allowed for it, by position. It may travel
/// between processes.
#[derive(serde::Serialize, serde::Deserialize)]
struct Payment(u64, usize);

impl Task for Payment {
    type Sum = u64;
    type Shared = ();

    fn run(self, todo: &mut Local<Self>, ways: &mut u64, (): &()) {
        let Self(left, largest) = self;
        if left == 0 {
            *ways += 1;
            return;
        }
        for (coin, value) in COINS.iter().enumerate().skip(largest) {
            todo.extend(left.checked_sub(*value).map(|left| Self(left, coin)));
        }
    }

    fn add(ways: &mut u64, other: u64) {
        *ways += other;
    }
}

fn main() -> ExitCode {
    let program = program::named("own").tasks("payments");
    program.balance(|Options { sum }| {
        let work = Work::new(Tasks::from_iter([Payment(sum, 0)]), |_| (), 0);
        let work = work.show(|ways| vec![("ways to pay", (*ways).into())]);
        Ok(work.fact("sum", sum).across())
    })
}
