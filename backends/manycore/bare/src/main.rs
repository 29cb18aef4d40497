//! The core on a board: judges what the board lends, then runs tasks on it.
//!
//! Prints one line a part, with its ticks of 0.1 microseconds; the last is PASS, or FAIL after the
//! cause. The exit code of the machine agrees.
#![no_std]
#![no_main]

extern crate alloc;

mod channel;
mod hart;
mod lines;
mod phasers;
mod suites;
mod tasks;
mod uts;

use alloc::boxed::Box;
use alloc::string::String;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use tautline_core::WorkerId;
use tautline_core::port::Clock;
use tautline_core::task::{Cx, Pool};
use tautline_manycore::virt::{Found, Virt};
use tautline_manycore::{Heap, Manycore};

/// The port of the pool.
type Chip = Manycore<Virt>;

/// Runs as a task, panics if a check fails, and returns a summary.
type Part = fn(&mut Cx<'_, '_, Chip>) -> String;

/// The parts that run on the pool, in this order.
const PARTS: &[(&str, Part)] = &[
    #[cfg(feature = "overflow")]
    ("overflow", tasks::overflow),
    ("finish", tasks::finish),
    ("deep", tasks::deep),
    ("uts", uts::anl),
    ("glb", uts::balanced),
];

#[global_allocator]
static HEAP: Heap<Virt> = Heap::new(Virt);

/// Set before the other harts start.
static POOL: AtomicPtr<Pool<Chip>> = AtomicPtr::new(ptr::null_mut());

/// Runs on hart 0.
#[unsafe(no_mangle)]
fn board_main(found: Found) -> ! {
    let (harts, megabytes) = (found.harts, found.memory.len() >> 20);
    Virt.say(format_args!(
        "board: virt, {harts} harts, {megabytes} MB free\n"
    ));
    HEAP.give(found.memory, harts);
    let pool = Box::leak(Box::new(Pool::new(
        Manycore::new(Virt, harts, harts),
        harts,
    )));
    // ORDERING: Release, pairs with Acquire in hart: the pool is complete.
    POOL.store(ptr::from_ref(pool).cast_mut(), Ordering::Release);
    Virt.start(harts, hart);
    say("suites", pool, || suites::run(pool.port()));
    say("lines", pool, || lines::run(pool.port(), 0));
    say("phasers", pool, || phasers::run(pool.port(), 0));
    say("channel", pool, || channel::run(pool.port(), 0));
    say("places", pool, || suites::balance(pool));
    let sat = pool.with_seat(WorkerId(0), |seat| {
        for (name, part) in PARTS {
            say(name, pool, || seat.run(part));
        }
    });
    sat.expect("a free seat");
    pool.close();
    Virt.say(format_args!("PASS\n"));
    Virt.exit(0)
}

/// Runs on the other harts.
fn hart(number: usize) {
    // ORDERING: Acquire, pairs with Release in board_main.
    let pool = POOL.load(Ordering::Acquire);
    // SAFETY: the pool was leaked, so it lives for ever, and is only shared from then on.
    let pool = unsafe { &*pool };
    suites::attend(pool.port(), number);
    lines::run(pool.port(), number);
    phasers::run(pool.port(), number);
    channel::run(pool.port(), number);
    let sat = pool.with_seat(WorkerId(number as u32), |seat| seat.attend());
    sat.expect("a free seat");
}

fn say(name: &str, pool: &Pool<Chip>, part: impl FnOnce() -> String) {
    let start = pool.port().now();
    let said = part();
    let ticks = pool.port().now() - start;
    Virt.say(format_args!("{name}: {said}, {ticks} ticks\n"));
}
