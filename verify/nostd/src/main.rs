//! The core where there is nothing else: no std, no libc, no allocator, stock stable compiler.
//!
//! Each check uses a part of the core that exists without feature `alloc`. Exits with 0, or names
//! the check that failed and exits with 1.
#![no_std]
#![no_main]

#[cfg(feature = "leak-std")]
extern crate std;

mod machine;

use tautline_core::port::Spin;
use tautline_core::sync::Lock;

/// One line for each part of the core.
const CHECKS: &[(&str, fn() -> bool)] = &[("sync::Lock\n", lock)];

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

fn lock() -> bool {
    let lock = Lock::new([0u64; 64]);
    lock.lock(&Spin)[63] += 1;
    let held = lock.lock(&Spin);
    let refused = lock.try_lock().is_none();
    drop(held);
    refused && lock.into_inner()[63] == 1
}
