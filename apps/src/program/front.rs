//! The program: its name, its arguments, and what it runs.

use super::tasks::OnRuntime;
use super::{Balanced, Failure, Outcome, Rows, Work, end, help, usage};
use clap::{Args, Command};
use std::error::Error;
use std::process::ExitCode;
use tautline::balance::Bag;
use tautline::runtime::Cx;
use tautline::variables;
use tautline_node::signal::ignore_file_size_limit;

/// A program with a command line. The [module](super) has an example.
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing runs before `balance` or `run`"]
pub struct Program {
    name: &'static str,
    about: Option<&'static str>,
    tasks: &'static str,
}

/// Returns a program of that name, which precedes its error lines and is the title of its pictures.
pub fn named(name: &'static str) -> Program {
    Program {
        name,
        about: None,
        tasks: "tasks",
    }
}

const EXIT_CODES: &str = "\
EXIT CODES: 0 all well (a deadline included), 1 wrong answer, 2 bad request,
3 unwritten result, 4 lost rank, 101 panic, 130 interrupted (also by SIGTERM and SIGHUP).";

impl Program {
    /// Sets the description, in an imperative sentence. Default: the documentation of the type of
    /// the options.
    pub fn about(mut self, about: &'static str) -> Self {
        self.about = Some(about);
        self
    }

    /// Sets the name of the tasks, in the plural. Default: `tasks`.
    pub fn tasks(mut self, name: &'static str) -> Self {
        self.tasks = name;
        self
    }

    /// Balances the [`Work`] that the options describe over all workers, and reports the result: a
    /// table with a row for each place, or JSON. An error of `work` is printed in one line, and the
    /// exit code is then 2.
    ///
    /// # Panics
    /// As [`Balancer::run`](tautline::balance::Balancer::run).
    pub fn balance<A: Args, B: Bag>(
        self,
        work: impl FnOnce(A) -> Result<Work<B>, Box<dyn Error>>,
    ) -> ExitCode {
        let command = self.command::<A, Balanced>();
        variables::warn_of_unknown();
        self.with(command, |own, options, settings| {
            let work = work(own).map_err(|error| Failure::Usage(error.to_string()))?;
            work.run(self.name, self.tasks, &options, settings)
        })
    }

    /// Runs `body` as a task on the runtime that the options describe, and reports the rows that it
    /// returns. An error of `body` is printed in one line, and the exit code is then 1.
    ///
    /// At the deadline or an interrupt the task is cancelled, as in
    /// [`Runtime::run_within`](tautline::Runtime::run_within), and there is no result.
    ///
    /// ```no_run
    /// use tautline::prelude::*;
    /// use tautline_cli::program;
    ///
    /// fn fib(cx: &mut Cx, n: u64) -> u64 {
    ///     if n < 2 {
    ///         return n;
    ///     }
    ///     let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    ///     a + b
    /// }
    ///
    /// fn main() -> std::process::ExitCode {
    ///     let program = program::named("fib").about("Compute a Fibonacci number");
    ///     program.run(|cx, (): ()| Ok(vec![("fib(30)", fib(cx, 30).into())]))
    /// }
    /// ```
    ///
    /// # Panics
    /// As [`Runtime::run`](tautline::Runtime::run).
    pub fn run<A: Args>(
        self,
        body: impl for<'s, 'e> FnOnce(&mut Cx<'s, 'e>, A) -> Result<Rows, Box<dyn Error>>,
    ) -> ExitCode {
        let command = self.command::<A, OnRuntime>();
        self.with(command, |own, options: OnRuntime, _| {
            options.run(self.name, |cx| body(cx, own))
        })
    }

    /// Returns the command with the options `A` of the program and the options `O` of this module.
    fn command<A: Args, O: Args>(&self) -> Command {
        let own = A::augment_args(Command::new(self.name)).next_help_heading(None);
        let described = (own.get_about().cloned(), own.get_long_about().cloned());
        let command = O::augment_args(own).after_help(EXIT_CODES);
        // Of several types of options the last one describes the command.
        let command = command.about(None).long_about(None);
        match (self.about, described) {
            (Some(about), _) => command.about(about),
            (None, (Some(about), None)) => command.about(about),
            (None, (Some(about), Some(long))) => command.about(about).long_about(long),
            (None, (None, _)) => command,
        }
    }

    fn with<A: Args, O: Args>(
        &self,
        command: Command,
        carry_out: impl FnOnce(A, O, &[String]) -> Outcome,
    ) -> ExitCode {
        let command = help::arranged(command);
        let read = usage::read(&command, std::env::args_os(), |matches| {
            let settings = usage::settings(&command, matches);
            let own = A::from_arg_matches(matches)?;
            Ok((own, O::from_arg_matches(matches)?, settings))
        });
        // A result that cannot be written is reported.
        ignore_file_size_limit();
        match read {
            Ok((own, options, settings)) => end(self.name, carry_out(own, options, &settings)),
            Err(code) => code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        let program = named("empty").about("Do nothing");
        program.command::<(), Balanced>().debug_assert();
        program.command::<(), OnRuntime>().debug_assert();
    }
}
