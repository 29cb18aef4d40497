//! The hash that computes a child's state from its parent.
//!
//! A child's state is the SHA-1 of 24 bytes: one block, constant except for six words. [`Block`]
//! hashes one child after the other, [`Row`] several in the lanes of a vector register; an
//! [`Engine`] is one of these methods, and the fastest of them is found by measuring.
//!
//! No unsafe code is required for instructions that only some processors have: the crate
//! `fearless_simd` hands out a token for each instruction set that it has detected; vectors are
//! created, and functions compiled for the set called, only with a token.

mod block;
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "no lanes are used there")
)]
mod engine;
mod interval;
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "no lanes are used there")
)]
mod lanes;

pub(super) use block::{Block, root};
pub use engine::Engine;
pub(super) use interval::Interval;
pub(super) use lanes::{ROW, Row};

/// The five words of a node's state, most significant byte first within a word.
pub(super) type State = [u32; 5];

/// The initial state of SHA-1.
const START: State = [
    0x6745_2301,
    0xefcd_ab89,
    0x98ba_dcfe,
    0x1032_5476,
    0xc3d2_e1f0,
];
