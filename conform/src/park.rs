//! Parking: no permit is lost, whichever comes first.

use crate::harness::{Harness, step};
use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline_core::WorkerId;
use tautline_core::port::Park;

const ZERO: WorkerId = WorkerId(0);
const ONE: WorkerId = WorkerId(1);

/// A permit stays until it is taken, an unpark ends the park of its worker, and workers that wake
/// each other in turn never both sleep. `make` creates a port for two workers; `seat` makes the
/// calling thread act as a worker, or as none.
///
/// # Panics
/// If the port does not conform.
pub fn parks<P, S>(on: &impl Harness, make: impl Fn() -> P, seat: S)
where
    P: Park + Send + Sync + 'static,
    S: Fn(&P, Option<WorkerId>) + Send + Sync + Copy + 'static,
{
    let port = make();
    let early = move |_| {
        seat(&port, Some(ZERO));
        port.unpark(ZERO);
        port.park(ZERO);
        // One permit, however often it is given.
        port.unpark(ZERO);
        port.unpark(ZERO);
        port.park(ZERO);
        seat(&port, None);
    };
    step(on, "parks: a permit before the park", 1, Arc::new(early));

    let port = make();
    port.unpark(ZERO);
    let earlier = move |_| {
        seat(&port, Some(ZERO));
        port.park(ZERO);
        seat(&port, None);
    };
    let what = "parks: a permit before the thread is the worker";
    step(on, what, 1, Arc::new(earlier));

    let port = make();
    let turn = AtomicUsize::new(0);
    let both = move |number| in_turn(&port, seat, &turn, [ZERO, ONE][number]);
    step(
        on,
        "parks: two workers that wake each other in turn",
        2,
        Arc::new(both),
    );
}

/// Waits for each second turn, and passes the turn on.
fn in_turn<P: Park>(
    port: &P,
    seat: impl Fn(&P, Option<WorkerId>),
    turn: &AtomicUsize,
    me: WorkerId,
) {
    const TURNS: usize = 4000;
    seat(port, Some(me));
    for mine in (me.index()..TURNS).step_by(2) {
        // Published by the unpark alone; a park may return spuriously.
        while turn.load(Relaxed) != mine {
            port.park(me);
        }
        turn.store(mine + 1, Relaxed);
        port.unpark(WorkerId(1 - me.0));
    }
    seat(port, None);
}
