//! Memory use of named cells.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use tautline_core::flow::Inputs;
use tautline_core::port::Spin;
use tautline_core::space::{Local, Table};

/// The system's allocator, with a count of the bytes that this thread has in use: the thread that
/// reports results has its own.
struct Counting;

thread_local! {
    static BYTES: Cell<isize> = const { Cell::new(0) };
}

fn count(by: isize) {
    BYTES.set(BYTES.get() + by);
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

/// The most bytes of a live cell beside its key and its value.
const MOST: isize = 160;

#[test]
fn named_cells() {
    live_cells_are_small();
    flat(200_000);
}

/// A table that is as full as can be, and one that has just grown.
fn live_cells_are_small() {
    const BESIDE: isize = 2 * size_of::<u64>() as isize;
    for cells in [28_000, 29_000, 100_000] {
        let before = BYTES.get();
        let table = Table::new(1, Local::new(Spin).readers(|_: &u64| 2));
        for key in 0..cells as u64 {
            table.put(&key, key).unwrap();
        }
        let each = (BYTES.get() - before) / cells - BESIDE;
        println!("{cells} cells: {each} bytes each beside key and value");
        assert!(each <= MOST, "{each} bytes");
        drop(table);
        let left = BYTES.get() - before;
        assert!(left < 1024, "{left} bytes are left");
    }
}

/// Cells that are put, read and freed, of which 100 are alive at a time.
fn flat(cells: u64) {
    const ALIVE: u64 = 100;
    let before = BYTES.get();
    let remembered = 1000;
    let local = Local::new(Spin).readers(|_: &u64| 1);
    let table = Table::new(16, local.remembering(remembered));
    let mut early = 0;
    for key in 0..cells {
        table.put(&key, [key; 4]).unwrap();
        if let Some(old) = key.checked_sub(ALIVE) {
            assert_eq!(table.get(&old).unwrap().into_values()[3], old);
        }
        if key == cells / 10 {
            early = BYTES.get();
        }
    }
    let (early, late) = (early - before, BYTES.get() - before);
    println!("{cells} cells: {early} bytes after a tenth, {late} at the end");
    assert!(late <= early + early / 4, "{early}, then {late} bytes");
}

/// The bound of the specification.
#[test]
#[ignore = "cargo ci deep: ten million cells"]
fn ten_million_cells() {
    flat(10_000_000);
}
