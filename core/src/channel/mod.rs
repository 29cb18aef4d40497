//! A ring of records from one thread or process to another, in memory that is lent to it.
//!
//! # Algorithm
//! A record is a header and its bytes, rounded up to words. The sender writes records after those
//! that are published, an empty header after the last one, and publishes the batch by its first
//! header, which it stores last. The receiver polls the header itself, not a position elsewhere, so
//! one cache line moves if the batch fits into it (as in FastForward, Giacomoni 2008, for single
//! words). Once it has published, the sender empties the units after the batch, up to the end of
//! the next line: a short batch then ends at a header that is already empty, and touches no line
//! but its own. A sender that publishes a short record at once, not after other work, may find that
//! the line has not returned to the polling receiver between the bytes and the header. The receiver
//! releases what it has taken by a position. Both ends are wait-free, without a locked instruction
//! or a fence.
//!
//! Both sides may sleep: the receiver until a record is published, the sender until there is room.
//! A side that will sleep sets its mark, executes the heavy half of an asymmetric fence, and polls
//! once more; the other side loads the mark after the light half, and remembers from which sleep it
//! has woken the first. How it does so is up to the caller.
//!
//! With feature `alloc`, [`Mesh`] is a link of rings between all ranks of a program. On a machine
//! with futexes, its ranks sleep by a [`Signal`] each.
//!
//! All words are atomics, and what a peer writes is read once and checked before it is used: what a
//! faulty peer writes is at worst [`Corrupt`], wrong bytes or a spurious wake-up, at whichever
//! moment it writes.
//!
//! The ends are inlined into their callers. Figures, and the reasons for pieces of long bodies, are
//! decisions 35 and 36 in `docs/decisions`.
//!
//! # Words
//! `units`: headers and bytes of records, written by the sender. `taken`: the number of units that
//! the receiver has released, written by it. `marks`: the number of times that the receiver has
//! begun and ended to sleep, and that of the sender, each written by that side alone.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | CH1 | `publish` stores a header | `peek` loads it | the bytes of the batch, its other headers, the empty one after it | `channel_*` in `verify/tests/channel.rs` |
//! | CH2 | `release` stores `taken` | `look` loads it | that the units were read | `channel_full*` |
//! | CH3 | a side sets its mark, then fences (heavy) and polls | the other one stores, then fences (light) and loads the mark | one of them observes the other's store | `channel_*sleep*` |
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
mod mesh;
#[cfg(feature = "alloc")]
mod parcel;
mod receiver;
mod sender;
mod signal;

#[cfg(feature = "alloc")]
pub use mesh::{Mesh, Roster};
#[cfg(feature = "alloc")]
pub use parcel::LONGEST;
pub use receiver::Receiver;
pub use sender::{Refused, Sender};
pub use signal::{Futex, Signal};

use crate::port::Fence;
#[cfg(feature = "alloc")]
use crate::sync::CachePadded;
use crate::sync::{AtomicUsize, Ordering};
use core::fmt;

/// Bytes of a unit.
const UNIT: usize = size_of::<usize>();
/// Units of a cache line, of most machines.
const LINE: usize = 64 / UNIT;
/// The header after the last record.
const EMPTY: usize = 0;
/// A record: this bit, and its length in bytes above [`MORE`].
const RECORD: usize = 1;
/// The next record continues this one.
const MORE: usize = 2;
/// The position of the length in a header, in bits.
const LENGTH: u32 = 2;

/// The memory of a ring, zero at first, which both sides can access.
pub trait Memory {
    /// The records. Their number must be a power of two, at least 4.
    fn units(&self) -> &[AtomicUsize];
    /// The number of units that the receiver has released, best in a cache line of its own.
    fn taken(&self) -> &AtomicUsize;
    /// The marks of the receiver and the sender, best in a cache line for both.
    fn marks(&self) -> &[AtomicUsize; 2];
}

impl<M: Memory + ?Sized> Memory for &M {
    fn units(&self) -> &[AtomicUsize] {
        (**self).units()
    }

    fn taken(&self) -> &AtomicUsize {
        (**self).taken()
    }

    fn marks(&self) -> &[AtomicUsize; 2] {
        (**self).marks()
    }
}

#[cfg(feature = "alloc")]
impl<M: Memory + ?Sized> Memory for alloc::sync::Arc<M> {
    fn units(&self) -> &[AtomicUsize] {
        (**self).units()
    }

    fn taken(&self) -> &AtomicUsize {
        (**self).taken()
    }

    fn marks(&self) -> &[AtomicUsize; 2] {
        (**self).marks()
    }
}

/// Memory of this process, of `2^n` units.
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub struct Local {
    units: alloc::boxed::Box<[AtomicUsize]>,
    taken: CachePadded<AtomicUsize>,
    marks: CachePadded<[AtomicUsize; 2]>,
}

#[cfg(feature = "alloc")]
impl Local {
    /// Allocates `units` words.
    ///
    /// ```
    /// # use tautline_core::channel::{Local, Memory};
    /// assert_eq!(Local::new(16).units().len(), 16);
    /// ```
    pub fn new(units: usize) -> Self {
        Self {
            units: (0..units).map(|_| AtomicUsize::new(EMPTY)).collect(),
            taken: CachePadded::new(AtomicUsize::new(0)),
            marks: CachePadded::new([AtomicUsize::new(0), AtomicUsize::new(0)]),
        }
    }
}

#[cfg(feature = "alloc")]
impl Memory for Local {
    fn units(&self) -> &[AtomicUsize] {
        &self.units
    }

    fn taken(&self) -> &AtomicUsize {
        &self.taken
    }

    fn marks(&self) -> &[AtomicUsize; 2] {
        &self.marks
    }
}

/// A word that no peer writes: it is faulty, and the ring of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corrupt {
    /// The header of a record.
    Header(usize),
    /// The number of released units.
    Taken(usize),
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(word) => write!(f, "{word:#x} is not the header of a record"),
            Self::Taken(word) => write!(f, "{word:#x} is not the number of released units"),
        }
    }
}

impl core::error::Error for Corrupt {}

/// Returns the header of a record of `bytes`.
const fn header_of(bytes: usize) -> usize {
    bytes << LENGTH | RECORD
}

/// Returns the units of a record of `bytes`, its header included.
const fn units_of(bytes: usize) -> usize {
    1 + bytes.div_ceil(UNIT)
}

/// Positions count units for ever; a ring has a power of two of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position(usize);

impl Position {
    fn plus(self, units: usize) -> Self {
        Self(self.0.wrapping_add(units))
    }

    fn since(self, earlier: Self) -> usize {
        self.0.wrapping_sub(earlier.0)
    }

    fn unit(self, units: &[AtomicUsize]) -> &AtomicUsize {
        &units[self.0 & (units.len() - 1)]
    }

    /// Returns `count` units from here on, at most all: those up to the end of the ring, and those
    /// from its begin.
    #[inline(always)]
    fn pieces(self, units: &[AtomicUsize], count: usize) -> (&[AtomicUsize], &[AtomicUsize]) {
        let (from, rest) = units.split_at(self.0 & (units.len() - 1));
        let before = count.min(rest.len());
        (&rest[..before], &from[..count - before])
    }
}

/// The mark of a side that sleeps, written by it alone: odd while it sleeps, another number each
/// time.
#[derive(Clone, Copy, Debug)]
enum Mark {
    Receiver,
    Sender,
}

impl Mark {
    fn of(self, memory: &impl Memory) -> &AtomicUsize {
        &memory.marks()[self as usize]
    }

    /// Marks a side as asleep; `mark` is what it wrote last. What it loads next is not older than
    /// what the other side stored before it last loaded the mark. Returns false if the machine
    /// has no fence at present.
    fn set(self, mark: &mut usize, memory: &impl Memory, fence: &impl Fence) -> bool {
        *mark = mark.wrapping_add(1) | 1;
        // ORDERING: Relaxed: the fence orders it before the caller's next loads (CH3).
        self.of(memory).store(*mark, Ordering::Relaxed);
        // ORDERING: pairs with the light fence of is_to_wake (CH3).
        let is_fenced = fence.heavy_fence();
        if !is_fenced {
            self.clear(mark, memory);
        }
        is_fenced
    }

    fn clear(self, mark: &mut usize, memory: &impl Memory) {
        *mark = mark.wrapping_add(1);
        // ORDERING: Relaxed: if the other side was faster, this one is woken for nothing.
        self.of(memory).store(*mark, Ordering::Relaxed);
    }

    /// Whether a side sleeps that waits for what the caller has just stored, and was not `woken`
    /// from this sleep before.
    #[inline(always)]
    fn is_to_wake(self, woken: &mut usize, memory: &impl Memory, fence: &impl Fence) -> bool {
        // ORDERING: pairs with the heavy fence of set (CH3).
        fence.light_fence();
        // ORDERING: Relaxed: the fence orders it after the caller's store (CH3).
        let mark = self.of(memory).load(Ordering::Relaxed);
        let sleeps = mark & 1 == 1 && mark != *woken;
        if sleeps {
            *woken = mark;
        }
        sleeps
    }
}

/// Checks the invariants of the memory on which the ends of a ring rely.
///
/// # Panics
/// If the number of units is not a power of two, or below 4.
fn check(memory: &impl Memory) {
    let units = memory.units().len();
    assert!(
        units.is_power_of_two() && units >= 4,
        "{units} units: a power of two, at least 4"
    );
}
