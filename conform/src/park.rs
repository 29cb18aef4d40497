//! Parking: no permit is lost, whichever comes first.

use super::ends;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
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
pub fn parks<P, S>(make: impl Fn() -> P, seat: S)
where
    P: Park + Send + Sync + 'static,
    S: Fn(&P, Option<WorkerId>) + Copy + Send + 'static,
{
    let port = make();
    ends("a park whose permit was available", move || {
        seat(&port, Some(ZERO));
        port.unpark(ZERO);
        port.park(ZERO);
        // One permit, however often it is given.
        port.unpark(ZERO);
        port.unpark(ZERO);
        port.park(ZERO);
        seat(&port, None);
    });

    let port = make();
    port.unpark(ZERO);
    ends(
        "a park whose permit was available before the thread was its worker",
        move || {
            seat(&port, Some(ZERO));
            port.park(ZERO);
            seat(&port, None);
        },
    );

    let port = Arc::new(make());
    ends("two workers that wake each other in turn", move || {
        let turn = Arc::new(AtomicUsize::new(0));
        let other = {
            let (port, turn) = (port.clone(), turn.clone());
            thread::spawn(move || in_turn(&*port, seat, &turn, ONE))
        };
        in_turn(&*port, seat, &turn, ZERO);
        other.join().expect("as this one");
    });
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
