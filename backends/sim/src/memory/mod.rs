//! What accesses to shared memory cost on machines that are not at hand: hardware threads, their memories, their signals.
//!
//! Nothing here has threads of its own or knows the program: told of an access and of the moment, [`Hardware`] says when
//! it is done. Who asks in the order of the clocks runs the program on that machine; `tautline_verify::virtual_time` does.
//!
//! # Algorithm
//! Costs follow from queueing alone. An access is made at its thread's clock; what it needs (a bank of a memory, the right
//! to a line) serves one access at a time, in the order in which they are made, and the clock moves to when the answer is
//! back. A store moves the clock by its issue only and is done later: a fence waits for it.
//! - [`ScratchPad`]: memories without caches behind a crossbar, reads and writes and updates done at a bank.
//! - [`Coherent`]: caches that keep copies of lines, costs by distance; what is written is taken from all who have it.
//!
//! All is counted in cycles of the machine's clock.

mod coherent;
mod hardware;
mod machines;
mod scratch_pad;
mod signals;

pub use coherent::{Coherent, Seats};
pub use hardware::Hardware;
pub use machines::{CYCLOPS64, NIAGARA2, POWER7, XEON};
pub use scratch_pad::{Banks, Region, ScratchPad};
pub use signals::Signals;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads a word.
    Load,
    /// Writes a word.
    Store,
    /// Reads a word and writes it, undivided.
    Update,
}

/// A machine of hardware threads that share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// What it is called.
    pub name: &'static str,
    /// Hardware threads.
    pub threads: usize,
    /// Cycles of a microsecond.
    pub clock_mhz: u64,
    /// Its memory.
    pub memory: Memory,
    /// What passes between two looks of a thread that spins, in cycles.
    pub spin_cycles: u64,
    /// How its threads signal each other without memory.
    pub signals: Signals,
}

/// How the threads of a machine share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Banks behind a crossbar, no caches.
    ScratchPad(ScratchPad),
    /// Coherent caches.
    Coherent(Coherent),
}
