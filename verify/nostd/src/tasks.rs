//! Tasks on the bare machine.

use crate::host::{Bare, run};
use alloc::vec::Vec;
use core::cell::Cell;
use core::future::poll_fn;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Poll;
use tautline_core::flow::Ddf;
use tautline_core::task::Cx;

fn fib(cx: &mut Cx<'_, '_, Bare>, n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    a + b
}

pub fn join() -> bool {
    run(|cx| fib(cx, 15)) == Some(610)
}

/// More tasks than a deque has slots, each of which spawns another.
pub fn spawn() -> bool {
    let sum = AtomicUsize::new(0);
    let seen = run(|cx| {
        cx.scope(|cx| {
            for task in 0..2000 {
                let sum = &sum;
                cx.spawn(move |cx| {
                    cx.spawn(move |_| _ = sum.fetch_add(task, Ordering::Relaxed));
                });
            }
        });
        sum.load(Ordering::Relaxed)
    });
    seen == Some(1999 * 1000)
}

/// A chain of cells, spawned from its end.
pub fn spawn_when() -> bool {
    let cells: Vec<Ddf<u32>> = (0..100).map(|_| Ddf::new()).collect();
    let ran = run(|cx| {
        for at in (2..cells.len()).rev() {
            let cells = &cells;
            cx.spawn_when((&cells[at - 2], &cells[at - 1]), move |(a, b), _| {
                _ = cells[at].put((a + b) % 1009);
            });
        }
        cells[1].put(1).is_ok() && cells[0].put(0).is_ok()
    });
    let expected = (2..cells.len())
        .fold((0, 1), |(a, b), _| (b, (a + b) % 1009))
        .1;
    ran == Some(true) && cells[99].get() == Ok(&expected)
}

/// A future that waits for one task by a cell and is woken by another.
pub fn block_on() -> bool {
    let (cell, polls) = (Ddf::new(), Cell::new(0));
    let given = run(|cx| {
        cx.spawn_async(|_| async { _ = cell.put(7) });
        cx.block_on(async {
            poll_fn(|cx| {
                polls.set(polls.get() + 1);
                cx.waker().wake_by_ref();
                if polls.get() < 3 {
                    Poll::Pending
                } else {
                    Poll::Ready(())
                }
            })
            .await;
            *cell.wait().await
        })
    });
    given == Some(7) && polls.get() == 3
}
