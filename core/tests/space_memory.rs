//! Memory use of named cells.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering::SeqCst};
use tautline_core::flow::Inputs;
use tautline_core::port::Spin;
use tautline_core::space::{Local, Table};

/// The system's allocator, with a count of the bytes in use.
struct Counting;

static BYTES: AtomicIsize = AtomicIsize::new(0);

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as isize, SeqCst);
        // SAFETY: the caller meets the same conditions here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as isize, SeqCst);
        // SAFETY: the caller meets the same conditions here.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes of a live cell beside its key and its value.
const MOST: isize = 160;

/// A single test, since the count is that of the whole process.
#[test]
fn named_cells() {
    live_cells_are_small();
    flat(200_000);
}

/// A table that is as full as can be, and one that has just grown.
fn live_cells_are_small() {
    const BESIDE: isize = 2 * size_of::<u64>() as isize;
    for cells in [28_000, 29_000, 100_000] {
        let before = BYTES.load(SeqCst);
        let table = Table::new(1, Local::new(Spin).readers(|_: &u64| 2));
        for key in 0..cells as u64 {
            table.put(&key, key).unwrap();
        }
        let each = (BYTES.load(SeqCst) - before) / cells - BESIDE;
        println!("{cells} cells: {each} bytes each beside key and value");
        assert!(each <= MOST, "{each} bytes");
        drop(table);
        let left = BYTES.load(SeqCst) - before;
        assert!(left < 1024, "{left} bytes are left");
    }
}

/// Cells that are put, read and freed, of which 100 are alive at a time.
fn flat(cells: u64) {
    const ALIVE: u64 = 100;
    let before = BYTES.load(SeqCst);
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
            early = BYTES.load(SeqCst);
        }
    }
    let (early, late) = (early - before, BYTES.load(SeqCst) - before);
    println!("{cells} cells: {early} bytes after a tenth, {late} at the end");
    assert!(late <= early + early / 4, "{early}, then {late} bytes");
}

/// The bound of the specification.
#[test]
#[ignore = "cargo ci deep: it counts the bytes of the whole process, and is run alone"]
fn ten_million_cells() {
    flat(10_000_000);
}
