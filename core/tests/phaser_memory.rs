//! What a registered task costs in memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline_core::phaser::{Config, Mode, Registration};
use tautline_core::port::Spin;

/// The system's allocator, with a count of the bytes that are out.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Ten thousand tasks, each with its registration, by degree: bytes a task, and none are left when all are gone.
#[test]
fn a_registered_task_takes_at_most_192_bytes() {
    const TASKS: usize = 10_000;
    // Measured; with fewer children there are more nodes.
    for (degree, limit) in [(2, 300), (4, 192), (8, 192)] {
        let before = BYTES.load(Relaxed);
        let config = Config {
            degree,
            ..Config::default()
        };
        let mut first = Registration::create(Spin, Mode::SignalWait, config).unwrap();
        let mut all = Vec::with_capacity(TASKS);
        all.extend((1..TASKS).map(|_| first.register(Mode::SignalWait).unwrap()));
        let bytes = (BYTES.load(Relaxed) - before) as f64 / TASKS as f64;
        let own = size_of_val(&first);
        drop(all);
        drop(first);
        assert_eq!(BYTES.load(Relaxed), before, "all is given back");
        println!("degree {degree}: {bytes:.1} bytes a task, {own} of them its registration");
        assert!(
            bytes <= f64::from(limit),
            "degree {degree}: {bytes:.1} bytes a task"
        );
    }
}
