//! The parts that a machine without an operating system's libraries must bring: entry, exit, panic,
//! memory.

#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(target_arch = "powerpc64", path = "powerpc64.rs")]
#[cfg_attr(target_arch = "riscv64", path = "riscv64.rs")]
#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
mod processor;

pub use processor::exit;

use core::ffi::{CStr, c_char};

/// The words of the command line, the program's name first.
#[derive(Clone, Copy)]
pub struct Words {
    /// The stack as the kernel left it: the number of words, then a pointer to each, then null.
    stack: *const usize,
}

impl Words {
    /// Returns a word; `None` if there are fewer, or if it is not UTF-8.
    pub fn get(self, at: usize) -> Option<&'static str> {
        // SAFETY: the kernel has written the number there, and nothing changes it.
        let count = unsafe { *self.stack };
        if at >= count {
            return None;
        }
        // SAFETY: below the number, there is a pointer to a string that ends with NUL and that
        // nothing changes before the process ends.
        let word = unsafe { CStr::from_ptr(*self.stack.add(1 + at) as *const c_char) };
        word.to_str().ok()
    }
}

/// Called once, by the entry of the processor, with the stack as the kernel left it.
extern "C" fn entry(stack: *const usize) -> ! {
    crate::program(Words { stack })
}

/// Writes to standard error; what cannot be written is lost.
pub fn say(text: &str) {
    processor::write_error(text);
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    say("panic\n");
    exit(1)
}

// The compiled core library's unwind tables name it; with panic = "abort" it is never called.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
