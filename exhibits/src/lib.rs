//! The methods that the Tautline runtime is compared with. Programs need none of them: the command
//! `tautline`, the benchmarks, the simulator's tests and the models run them beside the shipped
//! ones.
//!
//! | module | what it has | compared with |
//! |---|---|---|
//! | [`phaser`] | the flat and the hierarchical phaser of Habanero Java | `tautline_core::phaser` |
//! | [`printed`] | the tree phaser as printed in its source, with the errors that tests must find | the same |
//! | [`defer`] | loops over ranks balanced by exchanges: LLB, GL1, GL2 | `tautline_core::defer` |
//!
//! It is built on the public items of the core alone, whose atomics the model checkers replace.
//!
//! # Features
//! | feature | what it adds |
//! |---|---|
//! | `wire` | messages that can be encoded by serde |
//!
//! # Example
//! ```
//! use tautline_core::phaser::Mode;
//! use tautline_core::port::Spin;
//! use tautline_exhibits::phaser::{Flat, Member};
//!
//! let mut first = Flat::create(Spin, Mode::SignalWait);
//! let mut second = first.register(Mode::SignalWait).unwrap();
//! second.signal().unwrap();
//! first.next_blocking().unwrap();
//! assert_eq!(first.phase().0, 1);
//! ```
#![no_std]
#![deny(unsafe_code)]
#![warn(
    clippy::std_instead_of_core,
    clippy::std_instead_of_alloc,
    clippy::alloc_instead_of_core
)]

extern crate alloc;

pub mod defer;
pub mod phaser;
pub mod printed;
