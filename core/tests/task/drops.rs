//! Panics in drops.

use super::WORKERS;
use super::crew::{on, panic_of, wait_until};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// A panic payload whose drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any("a payload, dropped");
    }
}

/// Discarded payloads and values of tasks that do not run panic when they are dropped: the process
/// continues, and one of the panics propagates.
#[test]
fn panics_in_drops_are_contained() {
    for workers in WORKERS {
        on(workers, |cx| {
            let all = AtomicUsize::new(0);
            let meet = || {
                all.fetch_add(1, SeqCst);
                wait_until("all run", || all.load(SeqCst) >= workers);
            };
            let thrown = panic_of(|| {
                cx.scope(|cx| {
                    for _ in 0..workers {
                        cx.spawn(|_| {
                            meet();
                            panic_any(Bomb)
                        });
                    }
                })
            });
            assert_eq!(thrown, Some("another"));
            let began = AtomicBool::new(false);
            let of_the_body = panic_of(|| {
                cx.scope(|cx| {
                    cx.spawn(|_| {
                        began.store(true, SeqCst);
                        panic_any(Bomb)
                    });
                    wait_until("stolen", || workers == 1 || began.load(SeqCst));
                    panic_any("body")
                })
            });
            assert_eq!(of_the_body, Some("body"));
            let not_run = panic_of(|| {
                cx.scope(|cx| {
                    let bomb = Bomb;
                    cx.spawn(move |_| std::mem::forget(bomb));
                    cx.spawn(|_| panic_any("newest"));
                })
            });
            assert_eq!(not_run, Some("newest"));
        });
    }
}

/// The same where both halves of a fork panic, the second with such a payload, or capture such a
/// value.
#[test]
fn panics_in_drops_of_second_halves_are_contained() {
    for workers in WORKERS {
        on(workers, |cx| {
            let held = panic_of(|| {
                let bomb = Bomb;
                cx.join(|_| panic_any("first half"), move |_| std::mem::forget(bomb))
            });
            assert_eq!(held, Some("first half"));
            if workers > 1 {
                let began = AtomicBool::new(false);
                let thrown = panic_of(|| {
                    cx.join(
                        |_| {
                            wait_until("stolen", || began.load(SeqCst));
                            panic_any("first half")
                        },
                        |_| {
                            began.store(true, SeqCst);
                            panic_any(Bomb)
                        },
                    )
                });
                assert_eq!(thrown, Some("first half"));
            }
            assert_eq!(cx.join(|_| 1, |_| 2), (1, 2));
        });
    }
}

/// Repeated panics: no worker is lost.
#[test]
fn panics_lose_no_worker() {
    const WORKERS: usize = 4;
    on(WORKERS, |cx| {
        for _ in 0..100 {
            let all = AtomicUsize::new(0);
            let act = AssertUnwindSafe(|| {
                cx.scope(|cx| {
                    for _ in 0..WORKERS {
                        cx.spawn(|_| {
                            all.fetch_add(1, SeqCst);
                            wait_until("all run", || all.load(SeqCst) == WORKERS);
                            panic_any("each")
                        });
                    }
                })
            });
            assert!(catch_unwind(act).is_err());
            assert_eq!(all.into_inner(), WORKERS);
        }
    });
}
