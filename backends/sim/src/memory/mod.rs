//! The costs of accesses to shared memory on other machines: hardware threads, their memories,
//! their signals.
//!
//! Nothing here has threads or depends on the program: given an access and its time, [`Hardware`]
//! returns when it completes. A caller that submits accesses in the order of the clocks runs the
//! program on that machine; `tautline_verify::virtual_time` does.
//!
//! # Algorithm
//! Costs follow from queueing alone. An access is made at its thread's clock; what it requires (a
//! bank of a memory, the right to a line) serves one access at a time, in the order in which they
//! are made, and the clock advances to the arrival of the answer. A store advances the clock by its
//! issue only and completes later: a fence waits for it.
//! - [`ScratchPad`]: memories without caches behind a crossbar; reads, writes and updates are
//!   performed at a bank.
//! - [`Coherent`]: caches that keep copies of lines, costs by distance; a write invalidates all
//!   other copies.
//!
//! All times are in cycles of the machine's clock.

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

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads a word.
    Load,
    /// Writes a word.
    Store,
    /// Reads a word and writes it, atomically.
    Update,
}

/// A machine of hardware threads that share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub name: &'static str,
    /// The number of hardware threads.
    pub threads: usize,
    /// The number of cycles in a microsecond.
    pub clock_mhz: u64,
    /// Its memory.
    pub memory: Memory,
    /// The pause between two polls of a spinning thread, in cycles.
    pub spin_cycles: u64,
    /// The means by which its threads signal each other without memory.
    pub signals: Signals,
}

/// The memory that the threads of a machine share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Banks behind a crossbar, no caches.
    ScratchPad(ScratchPad),
    /// Coherent caches.
    Coherent(Coherent),
}
