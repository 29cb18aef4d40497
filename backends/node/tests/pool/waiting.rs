//! The depth of nested waits: a waiting task runs other tasks, also where no further stack is
//! available.

use super::{WORKERS, start};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use tautline_core::flow::Ddf;

/// The stack of a program's first thread, in bytes.
const STACK_BYTES: usize = 8 << 20;

/// Calls `body` on a thread with a stack as the first one of a program has.
pub(crate) fn on_usual_stack(body: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES);
        thread
            .spawn_scoped(scope, body)
            .expect("a thread")
            .join()
            .unwrap();
    });
}

/// A hundred thousand tasks that each open a scope and wait for a child: what waits helps others
/// that wait in turn, yet no stack gets deeper than half of what there is, and a little.
#[test]
fn waiting_is_no_way_down() {
    const TASKS: usize = 100_000;
    on_usual_stack(|| {
        for workers in WORKERS {
            let threads = start(workers);
            let (lowest, done) = (AtomicUsize::new(usize::MAX), AtomicUsize::new(0));
            let top = ptr::from_ref(&lowest).addr();
            let caller = thread::current().id();
            threads.run(|cx| {
                for _ in 0..TASKS {
                    cx.spawn(|cx| {
                        cx.scope(|cx| {
                            cx.spawn(|cx| {
                                let marker = cx.worker();
                                if thread::current().id() == caller {
                                    lowest.fetch_min(ptr::from_ref(&marker).addr(), SeqCst);
                                }
                                done.fetch_add(1, SeqCst);
                            });
                        });
                    });
                }
            });
            assert_eq!(done.into_inner(), TASKS);
            let depth = top.saturating_sub(lowest.into_inner());
            assert!(
                depth < STACK_BYTES * 5 / 8,
                "{workers} workers: {depth} bytes deep"
            );
        }
    });
}

/// Tasks of one level that wait for a value: on a thief each wait runs the next of them, until half
/// of its stack is in use.
#[test]
fn waiting_for_a_value_ends_within_the_stack() {
    const TASKS: usize = 200_000;
    for workers in [2, 4] {
        let (cell, done) = (Ddf::new(), AtomicUsize::new(0));
        start(workers).run(|cx| {
            for _ in 0..TASKS {
                cx.spawn(|cx| {
                    cx.block_on(cell.wait());
                    done.fetch_add(1, SeqCst);
                });
            }
            cx.spawn(|_| {
                // Not before thieves are in their waits.
                thread::sleep(Duration::from_millis(200));
                cell.put(()).unwrap();
            });
        });
        assert_eq!(done.into_inner(), TASKS);
    }
}
