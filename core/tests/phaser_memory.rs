//! Memory use of a registered task.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use tautline_core::phaser::{Config, Mode, Registration};
use tautline_core::port::Spin;
use tautline_core::sync::CacheLine;

/// The system's allocator, with a count of the bytes allocated by each thread: the test's own,
/// since the harness has other threads.
struct Counting;

thread_local! {
    static BYTES: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    BYTES.set(BYTES.get() + bytes);
}

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller meets the same conditions here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller meets the same conditions here.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Registers ten thousand tasks, for several degrees: the bytes per task are bounded, and all
/// memory is freed with the registrations.
#[test]
fn a_registered_task_takes_at_most_three_lines() {
    const TASKS: usize = 10_000;
    // Measured with lines of 64 bytes. With fewer children there are more nodes, each of which has
    // lines of its own.
    let line = align_of::<CacheLine<u8>>() / 64;
    for (degree, limit) in [(2, 300), (4, 192), (8, 192)] {
        let limit = limit * line as u32;
        let before = BYTES.get();
        let config = Config {
            degree,
            ..Config::default()
        };
        let mut first = Registration::create(Spin, Mode::SignalWait, config).unwrap();
        let mut all = Vec::with_capacity(TASKS);
        all.extend((1..TASKS).map(|_| first.register(Mode::SignalWait).unwrap()));
        let bytes = (BYTES.get() - before) as f64 / TASKS as f64;
        let own = size_of_val(&first);
        drop(all);
        drop(first);
        assert_eq!(BYTES.get(), before, "all memory is freed");
        println!("degree {degree}: {bytes:.1} bytes per task, {own} of them its registration");
        assert!(
            bytes <= f64::from(limit),
            "degree {degree}: {bytes:.1} bytes a task"
        );
    }
}
