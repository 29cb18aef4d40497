//! The core where there is nothing else: no std, no libc, no allocator, stock stable compiler.
//!
//! Each check uses a part of the core that exists without feature `alloc`. Exits with 0, or names
//! the check that failed and exits with 1.
#![no_std]
#![no_main]

#[cfg(feature = "leak-std")]
extern crate std;

mod machine;

use core::hint::black_box;
use tautline_core::port::Spin;
use tautline_core::sync::Lock;

type Check = (&'static str, fn() -> bool);

/// One line for each part of the core.
const CHECKS: &[Check] = &[("memory\n", memory), ("sync::Lock\n", lock)];

/// Called on a fresh stack by the entry in [`machine`].
fn probe() -> ! {
    for (name, check) in CHECKS {
        if !check() {
            machine::say(name);
            machine::exit(1);
        }
    }
    machine::exit(0)
}

/// The memory functions that this program brings itself: an error in them must not pass for one of
/// the core's.
fn memory() -> bool {
    let whole = ..black_box(8);
    let mut bytes = black_box([0u8, 1, 2, 3, 4, 5, 6, 7]);
    bytes.copy_within(black_box(0..6), 2);
    let up = bytes[whole] == black_box([0, 1, 0, 1, 2, 3, 4, 5])[whole];
    bytes.copy_within(black_box(2..8), 0);
    let down = bytes[whole] == black_box([0, 1, 2, 3, 4, 5, 4, 5])[whole];
    bytes[..black_box(3)].fill(black_box(9));
    let above = bytes[whole] > black_box([9, 9, 9, 3, 4, 5, 4, 4])[whole];
    let below = bytes[whole] < black_box([9, 9, 10])[..black_box(3)];
    let none = bytes[..black_box(0)] == black_box([1, 2])[..black_box(0)];
    let other = bytes[whole] != black_box([9, 9, 9, 3, 4, 5, 4, 6])[whole];
    up && down && above && below && none && other
}

fn lock() -> bool {
    let lock = Lock::new([0u64; 64]);
    lock.lock(&Spin)[63] += 1;
    let held = lock.lock(&Spin);
    let refused = lock.try_lock().is_none() && lock.try_lock().is_none();
    drop(held);
    refused && lock.into_inner()[63] == 1
}
