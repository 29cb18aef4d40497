//! Models of `tautline_core::phaser`: nobody leaves a phase before all have signalled it, everybody leaves it in the end, and
//! what was done before a signal is seen behind the phase.
//!
//! A task that nobody lets go on, or nobody wakes, is a deadlock, or an execution without end: loom reports both.
#![cfg(tautline_loom)]

#[path = "phaser/barrier.rs"]
mod barrier;
#[path = "phaser/lines.rs"]
mod lines;
#[path = "phaser/mark.rs"]
mod mark;
#[path = "phaser/pairs.rs"]
mod pairs;
#[path = "phaser/scene.rs"]
mod scene;
#[path = "phaser/sleep.rs"]
mod sleep;
#[path = "phaser/values.rs"]
mod values;
#[path = "phaser/watch.rs"]
mod watch;
