//! Models of `tautline_core::phaser`: no task leaves a phase before all have signalled it, every
//! task leaves it eventually, and what precedes a signal is visible after the phase.
//!
//! A task that is not released, or not woken, is a deadlock, or an execution without end: loom
//! reports both.
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
