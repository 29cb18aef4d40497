//! Closures and values of unusual size and alignment, in every kind of task, and a pool that is
//! moved.

use super::WORKERS;
use super::crew::{Crew, Cx, on, run_on};
use std::ptr::from_ref;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tautline_core::flow::Ddf;
use tautline_core::task::Pool;

/// Two pages, aligned to a page.
#[derive(Clone, Copy, Debug)]
#[repr(align(4096))]
struct Pages([u8; 8192]);

impl Pages {
    fn of(byte: u8) -> Self {
        Self([byte; 8192])
    }

    /// # Panics
    /// If the value is misaligned, or not all of its bytes are `byte`.
    fn check(&self, byte: u8) {
        assert_eq!(from_ref(self).addr() % align_of::<Self>(), 0);
        assert!(self.0.iter().all(|&found| found == byte));
    }
}

/// Nests `left` forks whose second halves capture pages and return pages. Returns their number.
fn forks(cx: &mut Cx, left: u8) -> usize {
    if left == 0 {
        return 0;
    }
    let pages = Pages::of(left);
    let second = move |_: &mut Cx| {
        pages.check(left);
        Pages::of(!left)
    };
    let (below, out) = cx.join(|cx| forks(cx, left - 1), second);
    out.check(!left);
    below + 1
}

/// Values that a task captures, waits for and returns arrive intact and aligned.
#[test]
fn large_and_aligned_values_arrive_whole() {
    const TASKS: u8 = 50;
    const DEPTH: u8 = 8;
    for workers in WORKERS {
        let (ran, cell) = (&AtomicUsize::new(0), &Ddf::new());
        let run = move |pages: Pages, byte| {
            pages.check(byte);
            ran.fetch_add(1, SeqCst);
        };
        let nested = on(workers, |cx| {
            for byte in 0..TASKS {
                let pages = Pages::of(byte);
                cx.spawn(move |_| run(pages, byte));
                cx.spawn_async(move |_| async move { run(pages, byte) });
                cx.spawn_when(cell, move |value: &Pages, _| {
                    value.check(0xa5);
                    run(pages, byte);
                });
            }
            cx.spawn(move |_| assert!(cell.put(Pages::of(0xa5)).is_ok()));
            forks(cx, DEPTH)
        });
        assert_eq!(nested, DEPTH as usize, "{workers} workers");
        assert_eq!(ran.load(SeqCst), 3 * TASKS as usize, "{workers} workers");
    }
}

/// Zero-sized values, although several may share an address.
#[test]
fn values_without_size_are_tasks_too() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Nothing;

    static RAN: AtomicUsize = AtomicUsize::new(0);
    fn count() {
        RAN.fetch_add(1, SeqCst);
    }
    for workers in WORKERS {
        RAN.store(0, SeqCst);
        let cell = &Ddf::new();
        on(workers, |cx| {
            for _ in 0..100 {
                cx.spawn(|_| count());
                cx.spawn_async(|_| async { count() });
                cx.spawn_when(cell, |&Nothing, _| count());
                assert_eq!(cx.join(|_| Nothing, |_| Nothing), (Nothing, Nothing));
            }
            assert_eq!(cell.put(Nothing), Ok(()));
        });
        assert_eq!(RAN.load(SeqCst), 300, "{workers} workers");
    }
}

/// A pool may be moved while no seat is held: its tasks use the new address.
#[test]
fn a_pool_moves_between_seats() {
    fn at(cx: &Cx) -> usize {
        from_ref(cx.pool()).addr()
    }
    let boxed = Box::new(Pool::new(Crew::new(1), 1));
    assert_eq!(run_on(&boxed, |cx| at(cx)), from_ref(&*boxed).addr());
    let here = *boxed;
    let found = run_on(&here, |cx| {
        let mut spawned = 0;
        cx.scope(|cx| cx.spawn(|cx| spawned = at(cx)));
        [at(cx), spawned, cx.join(|_| (), |cx| at(cx)).1]
    });
    assert_eq!(found, [from_ref(&here).addr(); 3]);
}
