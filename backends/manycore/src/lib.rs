//! Tautline on bare manycores: harts that suspend and awake each other, barrier lines, no operating system.
//!
//! A [`Board`] is what must be known of the hardware: who asks, what time it is, how to ring another hart, and how to
//! rest until one is rung. [`Manycore`] makes of any board the ports of the core; [`Heap`] makes an allocator of its
//! memory. `virt` is the one board that is here, the RISC-V machine of that name in QEMU; what its program looks like
//! is in `backends/manycore/bare`.
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
