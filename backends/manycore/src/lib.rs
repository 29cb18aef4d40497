//! Tautline on bare manycores: harts that suspend and awake each other, barrier lines, no operating
//! system.
//!
//! A [`Board`] is what a port requires of the hardware: the number of the calling hart, the time,
//! waking another hart, and resting until woken. [`Manycore`] implements the ports of the core on
//! any board; [`Heap`] is an allocator over its memory. `virt` is the only board here, the RISC-V
//! machine of that name in QEMU; `backends/manycore/bare` is a program for it.
#![no_std]

extern crate alloc;

mod board;
pub mod device;
#[cfg(not(tautline_loom))]
mod heap;
mod line;
mod port;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
pub mod virt;

pub use board::Board;
#[cfg(not(tautline_loom))]
pub use heap::Heap;
pub use line::{LINES, Lines};
pub use port::Manycore;
