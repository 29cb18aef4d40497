//! Tautline, a runtime for irregular parallel programs.
//!
//! A program puts its work into a [`Bag`](glb::Bag) and calls [`Glb`](glb::Glb); idle workers are kept
//! busy by random steals and lifelines, and the end is found without any program's help.
#![forbid(unsafe_code)]

pub mod backtrack;
pub mod bc;
pub mod bench;
pub mod choice;
pub mod division;
mod environment;
mod error;
mod file;
pub mod glb;
pub mod machines;
pub mod nqueens;
pub mod pentomino;
pub mod phaser;
pub mod pinning;
pub mod plan;
pub mod platform;
mod random;
pub mod recorded;
pub mod runtime;
pub mod story;
mod sum;
pub mod synthetic;
pub mod tsp;
pub mod uts;
pub mod watch;

pub use error::{Error, Result};
pub use file::FileError;
pub use platform::Platform;
pub use runtime::Runtime;
pub use tautline_core::hierarchy;
pub use tautline_node::{Machine, machine};

/// What most programs use.
pub mod prelude {
    pub use crate::glb::{
        Bag, Bound, Config, Control, Fairness, Glb, Graph, Local, PlaceId, Reason, Run, Share,
        Steal, Task, Tasks, WorkerId,
    };
    pub use crate::machines;
    pub use crate::phaser::{At, Member, Mode, Op, Phased, PhaserError};
    pub use crate::runtime::{Cancelled, Cx, Ddf, DdfList, Runtime, TaskCx, Wait};
}
