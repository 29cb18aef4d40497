//! Tasks on the bare machine: one worker, memory that is given out once, panics that end the program.

extern crate alloc;

use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::{Cell, UnsafeCell};
use core::future::poll_fn;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::task::Poll;
use tautline_core::WorkerId;
use tautline_core::flow::Ddf;
use tautline_core::port::{Clock, Fence, Park, Relax, Thread, Unpark, Unwind, Watch};
use tautline_core::task::{Cx, Pool};

const BYTES: usize = 4 << 20;

/// Gives out each byte once.
struct Once {
    memory: UnsafeCell<[u8; BYTES]>,
    used: AtomicUsize,
}

// SAFETY: each byte is given to one caller.
unsafe impl Sync for Once {}

#[global_allocator]
static MEMORY: Once = Once {
    memory: UnsafeCell::new([0; BYTES]),
    used: AtomicUsize::new(0),
};

// SAFETY: what is given out lies inside the memory, is aligned, and is given out once.
unsafe impl GlobalAlloc for Once {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = self.memory.get().cast::<u8>();
        let place = |used: usize| {
            let skip = start.wrapping_add(used).align_offset(layout.align());
            let from = used.checked_add(skip)?;
            let to = from.checked_add(layout.size())?;
            (to <= BYTES).then_some((from, to))
        };
        let mut used = self.used.load(Ordering::Relaxed);
        while let Some((from, to)) = place(used) {
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.used.compare_exchange_weak(used, to, success, failure) {
                Ok(_) => return start.wrapping_add(from),
                Err(now) => used = now,
            }
        }
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

/// A machine with one thread.
struct Bare {
    time: AtomicU64,
    here: AtomicUsize,
}

const NO_WORKER: usize = usize::MAX;

impl Clock for Bare {
    fn now(&self) -> u64 {
        self.time.fetch_add(1, Ordering::Relaxed)
    }
}

// SAFETY: full fences, as provided.
unsafe impl Fence for Bare {}

impl Relax for Bare {
    fn relax(&self, _: u32) {
        core::hint::spin_loop();
    }
}

impl Unpark for Bare {
    fn unpark(&self, _: WorkerId) {}
}

impl Park for Bare {
    fn park(&self, _: WorkerId) {
        crate::machine::say("the only worker sleeps\n");
        crate::machine::exit(1);
    }
}

// SAFETY: there is one thread, which acts as the worker that was set.
unsafe impl Thread for Bare {
    fn current(&self) -> Option<WorkerId> {
        let here = self.here.load(Ordering::Relaxed);
        (here != NO_WORKER).then_some(WorkerId(here as u32))
    }

    unsafe fn set_current(&self, worker: Option<WorkerId>) {
        let here = worker.map_or(NO_WORKER, |worker| worker.0 as usize);
        self.here.store(here, Ordering::Relaxed);
    }
}

impl Watch for Bare {}

// SAFETY: nothing unwinds.
unsafe impl Unwind for Bare {
    type Payload = core::convert::Infallible;

    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Self::Payload> {
        Ok(body())
    }

    fn resume(&self, payload: Self::Payload) -> ! {
        match payload {}
    }
}

fn run<'e, R>(body: impl for<'s> FnOnce(&mut Cx<'s, 'e, Bare>) -> R) -> Option<R> {
    let port = Bare {
        time: AtomicU64::new(0),
        here: AtomicUsize::new(NO_WORKER),
    };
    let pool = Pool::new(port, 1);
    pool.with_seat(WorkerId(0), |seat| seat.run(body))
}

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
