//! A million cells with a task that waits for each: the time of it, and the memory beside values
//! and closures.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;
use tautline::prelude::*;

const CELLS: usize = 1_000_000;

static NOW: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTER: Counter = Counter;

struct Counter;

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        NOW.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(at, layout) }
    }
}

fn main() -> tautline::Result<()> {
    let rt = Runtime::builder().workers(1).build()?;
    let sum = &AtomicU64::new(0);
    let (before, start) = (NOW.load(Relaxed), Instant::now());
    let cells: Vec<Ddf<u64>> = (0..CELLS).map(|_| Ddf::new()).collect();
    let (waiting, spawned, put) = rt.run(|cx| {
        let made = start.elapsed();
        for cell in &cells {
            cx.spawn_when(cell, move |value, _| _ = sum.fetch_add(*value, Relaxed));
        }
        let (waiting, spawned) = (NOW.load(Relaxed), start.elapsed());
        for cell in &cells {
            _ = cell.put(1);
        }
        (waiting, spawned - made, start.elapsed() - spawned)
    });
    assert_eq!(sum.load(Relaxed), CELLS as u64);
    // A value and what a closure holds, a word each.
    let beside = (waiting - before) / CELLS - 2 * size_of::<u64>();
    let each = |time: std::time::Duration| time.as_nanos() / CELLS as u128;
    println!(
        "{CELLS} cells: {} ns a cell in all, {} to spawn, {} to put; {beside} bytes beside value and closure",
        each(start.elapsed()),
        each(spawned),
        each(put)
    );
    Ok(())
}
