//! Memory of rings, right or with a fault.

use super::Broken;
use super::roster::FullFences;
use crate::{Threads, exchanges};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tautline_core::channel::{Local, Memory};
use tautline_core::sync::AtomicUsize;

/// A fault of a [`View`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The two sides have different units.
    OtherUnits,
    /// The two sides count the released units in different words.
    OtherTaken,
    /// The two sides have different marks.
    OtherMarks,
    /// The released units are counted in a word of the records.
    Overlaps,
    /// The memory was used before.
    NotZero,
    /// A new ring has the memory of another one.
    Recycled,
    /// The number of units is not a power of two.
    OddSize,
}

/// One side's view of a ring.
#[derive(Clone, Debug)]
pub struct View {
    units: Arc<Local>,
    taken: Arc<Local>,
    marks: Arc<Local>,
    overlaps: bool,
}

impl View {
    /// Returns a function that creates the views of both sides of a new ring; without a fault,
    /// they conform.
    pub fn rings(fault: Option<Fault>) -> impl Fn() -> [Self; 2] {
        let units = if fault == Some(Fault::OddSize) {
            48
        } else {
            64
        };
        let recycled = Arc::new(Local::new(units));
        move || {
            let new = || Arc::new(Local::new(units));
            let memory = match fault {
                Some(Fault::Recycled) => Arc::clone(&recycled),
                _ => new(),
            };
            let one = Self {
                units: Arc::clone(&memory),
                taken: Arc::clone(&memory),
                marks: memory,
                overlaps: fault == Some(Fault::Overlaps),
            };
            let mut two = one.clone();
            match fault {
                Some(Fault::OtherUnits) => two.units = new(),
                Some(Fault::OtherTaken) => two.taken = new(),
                Some(Fault::OtherMarks) => two.marks = new(),
                Some(Fault::NotZero) => one.units.units()[3].store(1, Relaxed),
                _ => {}
            }
            [one, two]
        }
    }
}

impl Memory for View {
    fn units(&self) -> &[AtomicUsize] {
        self.units.units()
    }

    fn taken(&self) -> &AtomicUsize {
        match self.overlaps {
            true => &self.units()[0],
            false => self.taken.taken(),
        }
    }

    fn marks(&self) -> &[AtomicUsize; 2] {
        self.marks.marks()
    }
}

pub(super) fn broken() -> Vec<Broken> {
    use Fault::*;
    let faults = [
        OtherUnits, OtherTaken, OtherMarks, Overlaps, NotZero, Recycled, OddSize,
    ];
    let broken = |fault| {
        let judge = move || exchanges(&Threads, View::rings(Some(fault)), FullFences);
        Broken::new(("channel::Memory", "exchanges"), fault, judge)
    };
    faults.map(broken).into()
}
