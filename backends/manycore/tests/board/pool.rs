//! A pool on threads as harts.

use crate::board::{Threads, be};
use std::thread;
use tautline_core::WorkerId;
use tautline_core::task::{Cx, Pool};
use tautline_manycore::Manycore;

/// Runs `body` as a task on a chip of `harts` harts, of which the calling thread is one.
pub(crate) fn on_pool<R>(
    harts: usize,
    body: impl FnOnce(&mut Cx<'_, '_, Manycore<Threads>>) -> R,
) -> R {
    let pool = Pool::new(Manycore::new(Threads::new(harts), harts, harts), harts);
    thread::scope(|scope| {
        for hart in 1..harts {
            let pool = &pool;
            scope.spawn(move || {
                be(hart);
                let seat = pool.with_seat(WorkerId(hart as u32), |seat| seat.attend());
                seat.expect("a free seat");
            });
        }
        be(0);
        let run = pool.with_seat(WorkerId(0), |seat| seat.run(body));
        pool.close();
        run.expect("a free seat")
    })
}
