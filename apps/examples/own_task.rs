//! A task with a command line: `--workers`, `--deadline`, `--life`, `--trace`, `--times`, `--json`,
//! `--help`.
use std::process::ExitCode;
use tautline::runtime::Cx;
use tautline_cli::program;

/// Compute a Fibonacci number by forks
#[derive(clap::Args)]
struct Options {
    /// Its position
    #[arg(long, default_value_t = 27, value_parser = clap::value_parser!(u64).range(..=90))]
    n: u64,
}

fn fib(cx: &mut Cx, n: u64) -> u64 {
    if n < 2 || cx.cancelled().is_some() {
        return n;
    }
    let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    a + b
}

fn main() -> ExitCode {
    let program = program::named("own_task");
    program.run(|cx, Options { n }| Ok(vec![("n", n.into()), ("fib", fib(cx, n).into())]))
}
