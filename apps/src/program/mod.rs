//! Command lines for programs: a program's own work gets what the command `tautline` gives its
//! applications.
//!
//! A [`Program`] has a name and runs one of two things:
//!
//! | call | what it runs | options other than the program's own |
//! |---|---|---|
//! | [`Program::balance`] | a [`Bag`](tautline::balance::Bag), also [`Tasks`](tautline::balance::Tasks), as [`Work`] | `--places`, `--workers`, `--grain` and all others of the balancer; `--deadline`, `--json`, `--explain`, `--life`, `--trace`, `--quiet` |
//! | [`Program::run`] | a task on a [`Runtime`](tautline::Runtime) | `--workers`, `--pin`, `--no-pin`, `--stalled`, `--deadline`, `--json`, `--explain`, `--life`, `--trace`, `--times` |
//!
//! A balanced computation that calls [`Work::across`] runs over all ranks if the program was
//! launched as several processes, by `tautline launch`. The program's own options must then be the
//! same at all ranks, except those whose help heading is `Output`, and names of files (`PathBuf`):
//! of what is read, [`Work::input`] compares the content.
//!
//! The program's own options are a type with `#[derive(clap::Args)]`, or `()`. They must not have
//! the names of the others, nor `-w` and `-n`: a debug build panics then. The program depends on
//! `clap` with the feature `derive` itself.
//!
//! Results go to stdout, diagnostics to stderr, each in one line. The first interrupt (Ctrl-C,
//! `SIGTERM`, `SIGHUP`) or the deadline ends a run early; the partial result of a bag is shown. A
//! signal that the program was started to ignore, as by `nohup`, is no interrupt.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | a result; also a partial one at the deadline |
//! | 1 | a wrong answer ([`Work::verify`]), or an error of the task |
//! | 2 | a request that cannot be carried out |
//! | 3 | a result that cannot be written |
//! | 4 | a lost rank, or ranks that do not agree |
//! | 101 | a panic |
//! | 130 | interrupted |
//!
//! JSON has the keys of the command, which `apps/JSON.md` lists, except those of the sequential
//! program.
//!
//! ```no_run
//! use std::process::ExitCode;
//! use tautline::balance::{Local, Task, Tasks};
//! use tautline_cli::program::{self, Work};
//!
//! /// Count the leaves of a binary tree
//! #[derive(clap::Args)]
//! struct Options {
//!     /// Height of the tree
//!     #[arg(long, default_value_t = 20)]
//!     height: u32,
//! }
//!
//! /// A node, by its height.
//! struct Node(u32);
//!
//! impl Task for Node {
//!     type Shared = ();
//!     type Sum = u64;
//!
//!     fn run(self, todo: &mut Local<Self>, leaves: &mut u64, (): &()) {
//!         match self.0 {
//!             0 => *leaves += 1,
//!             height => todo.extend([Node(height - 1), Node(height - 1)]),
//!         }
//!     }
//!
//!     fn add(leaves: &mut u64, other: u64) {
//!         *leaves += other;
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     program::named("tree").tasks("nodes").balance(|options: Options| {
//!         let root = Tasks::from_iter([Node(options.height)]);
//!         Ok(Work::new(root, |_| (), 0).show(|leaves| vec![("leaves", (*leaves).into())]))
//!     })
//! }
//! ```

mod answer;
mod balanced;
#[doc(hidden)]
pub mod balancer;
#[doc(hidden)]
pub mod duration;
mod ended;
mod front;
#[doc(hidden)]
pub mod help;
mod input;
#[doc(hidden)]
pub mod interrupts;
#[doc(hidden)]
pub mod known;
#[doc(hidden)]
pub mod list;
mod measured;
mod origin;
#[doc(hidden)]
pub mod quote;
#[doc(hidden)]
pub mod refusal;
#[doc(hidden)]
pub mod show;
mod tasks;
#[doc(hidden)]
pub mod usage;
mod work;

#[doc(hidden)]
pub use answer::{Answer, Findings, Rates};
#[doc(hidden)]
pub use balanced::{Balanced, Finished, Recorded, RecordedAcross};
#[doc(hidden)]
pub use ended::{Failure, Outcome, deliver, end};
pub use front::{Program, named};
#[doc(hidden)]
pub use input::digest;
#[doc(hidden)]
pub use measured::Measured;
pub use serde_json::Value;
pub use work::{Rows, Work};
