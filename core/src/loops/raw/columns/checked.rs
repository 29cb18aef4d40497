//! Loops whose declarations were checked, as they run.

use super::access::Run;
use crate::loops::concurrent::{Dispatched, Dispatcher, LoopConflict, Outline, check};
use crate::loops::raw::Array;
use crate::port::{Clock, Relax};
use crate::sync::{AtomicBool, Lock, Ordering};
use crate::taper::{Estimate, Summary};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

/// The loops of a scope, with the dispatcher that hands out their positions.
pub(crate) struct Checked<'s> {
    outlines: Vec<Outline>,
    bodies: Vec<Box<dyn Run + 's>>,
    dispatcher: Lock<Dispatcher>,
    /// Whether the rest is left out: chunks that are being run end early.
    is_stopped: AtomicBool,
}

/// A chunk that is to be run once.
pub(crate) struct Chunk(Dispatched);

impl<'s> Checked<'s> {
    /// Checks the declarations, and fills the dispatcher, which must be empty.
    ///
    /// # Errors
    /// If conflicting positions might run concurrently.
    pub(crate) fn new(
        mut outlines: Vec<Outline>,
        bodies: Vec<Box<dyn Run + 's>>,
        arrays: &[Array],
        workers: usize,
        mut dispatcher: Dispatcher,
    ) -> Result<Self, LoopConflict> {
        let declared: Vec<_> = bodies.iter().map(|body| body.declared()).collect();
        check(&mut outlines, &declared, arrays, workers, &mut dispatcher)?;
        Ok(Self {
            outlines,
            bodies,
            dispatcher: Lock::new(dispatcher),
            is_stopped: AtomicBool::new(false),
        })
    }

    /// Makes the first positions available; returns the number of workers that are to join.
    pub(crate) fn start(&self, relax: &impl Relax) -> u32 {
        self.dispatcher.lock(relax).start()
    }

    /// Takes the next chunk for a worker that has joined; `None` if it has left.
    pub(crate) fn take(&self, worker: u32, relax: &impl Relax) -> Option<Chunk> {
        self.dispatcher.lock(relax).take(worker).map(Chunk)
    }

    /// Runs a chunk; returns the number of workers that are to join. `None` if the rest is left
    /// out, as another worker has found, or `is_cut` has returned true.
    pub(crate) fn run<P: Clock + Relax>(
        &self,
        chunk: Chunk,
        port: &P,
        is_cut: impl Fn() -> bool,
    ) -> Option<u32> {
        let chunk = chunk.0;
        let Range { mut start, end } = chunk.positions;
        let mut times = Summary::NONE;
        let mut began = port.now();
        while start < end {
            // ORDERING: Relaxed: a hint; the end of the scope publishes what its tasks have done.
            if self.is_stopped.load(Ordering::Relaxed) || is_cut() {
                return None;
            }
            let block = chunk.block.min(end - start);
            // SAFETY: the chunk was taken from the dispatcher, which hands out each position once,
            // and not before those have been completed that `check` made it wait for: all that
            // conflict and are not of this position itself, or it failed. `complete` and `take` are
            // called under one lock, so the conflicting iterations happen-before these.
            unsafe { self.bodies[chunk.of].run(&self.outlines[chunk.of], start..start + block) };
            start += block;
            let now = port.now();
            if block == chunk.block {
                times.record(port.nanoseconds(now.saturating_sub(began)));
            }
            began = now;
        }
        let more = self.dispatcher.lock(port).complete(&chunk, &times);
        Some(more)
    }

    /// Leaves out what was not taken yet.
    pub(crate) fn stop(&self, relax: &impl Relax) {
        // ORDERING: Relaxed: a hint, as above.
        self.is_stopped.store(true, Ordering::Relaxed);
        self.dispatcher.lock(relax).stop();
    }

    /// Returns whether all iterations of all loops were run.
    pub(crate) fn is_over(&self, relax: &impl Relax) -> bool {
        self.dispatcher.lock(relax).is_over()
    }

    /// Returns the number of chunks of a loop, the positions of a block, and the times of its
    /// blocks.
    pub(crate) fn measured(&self, of: usize, relax: &impl Relax) -> (usize, usize, Estimate) {
        self.dispatcher.lock(relax).measured(of)
    }

    pub(crate) fn outlines(&self) -> &[Outline] {
        &self.outlines
    }
}
