//! Loops of a scope as tasks.

use super::conflict::LoopConflict;
use super::declared::Outline;
use super::dispatcher::{Dispatcher, Sharing};
use crate::loops::raw::{Array, Checked, Run};
use crate::loops::settings::Report;
use crate::port::Host;
use crate::taper::Overhead;
use crate::task::Cx;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

/// The least duration of a block in nanoseconds, as in single loops: a hundred readings of a clock.
const BLOCK_NS: u64 = 2_500;

/// The overhead of a chunk: the lock of the dispatcher, twice.
const OVERHEAD: Overhead = Overhead {
    chunk_ns: 200,
    band: 0,
};

/// Checks the declarations and runs the loops. Returns how each ran. Unwinds to the finish if a
/// cancellation has cut them short.
pub(super) fn run<P: Host>(
    cx: &mut Cx<'_, '_, P>,
    outlines: Vec<Outline>,
    bodies: Vec<Box<dyn Run + '_>>,
    arrays: &[Array],
    sharing: Sharing,
) -> Result<Vec<Report>, LoopConflict> {
    let workers = cx.pool().wanted().max(1);
    let dispatcher = Dispatcher::new(sharing, workers as u32, OVERHEAD, BLOCK_NS);
    let loops = &Checked::new(outlines, bodies, arrays, workers, dispatcher)?;
    cx.scope(|cx| {
        let first = loops.start(cx.pool().port());
        join(cx, loops, first);
    });
    if !loops.is_over(cx.pool().port()) {
        cx.unwind_to_finish();
    }
    let port = cx.pool().port();
    let report = |(at, outline): (usize, &Outline)| {
        let (chunks, block, estimate) = loops.measured(at, port);
        Report {
            name: outline.name.given,
            schedule: outline.schedule,
            chunks,
            block,
            estimate: Report::measured(estimate),
            class: None,
            is_cached: false,
        }
    };
    Ok(loops.outlines().iter().enumerate().map(report).collect())
}

/// Lets `count` workers join.
fn join<'s, P: Host>(cx: &mut Cx<'s, '_, P>, loops: &'s Checked<'_>, count: u32) {
    for _ in 0..count {
        cx.spawn(move |cx| serve(cx, loops));
    }
}

/// Runs chunks on this worker until there is nothing to take.
fn serve<'s, P: Host>(cx: &mut Cx<'s, '_, P>, loops: &'s Checked<'_>) {
    let worker = cx.worker().index() as u32;
    loop {
        let port = cx.pool().port();
        let stop = Stop(&*cx, loops);
        let Some(chunk) = loops.take(worker, port) else {
            mem::forget(stop);
            return;
        };
        let ran = loops.run(chunk, port, || cx.is_cut());
        let Some(more) = ran else {
            // `stop` leaves out the rest.
            return;
        };
        mem::forget(stop);
        join(cx, loops, more);
    }
}

/// Leaves out the rest of the loops if a body panics or the loops are cancelled.
struct Stop<'x, 's, 'e, 'l, P: Host>(&'x Cx<'s, 'e, P>, &'x Checked<'l>);

impl<P: Host> Drop for Stop<'_, '_, '_, '_, P> {
    fn drop(&mut self) {
        self.1.stop(self.0.pool().port());
    }
}
