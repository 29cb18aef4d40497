//! Keeps the stacks of loom's coroutines from one execution of a model to the next.
//!
//! Loom makes each thread of each execution a coroutine on a stack of its own: mapped, its lowest
//! page protected, unmapped. A model has up to some 100 000 executions of a few threads, and spends
//! most of its time in the kernel for that. So `mmap`, `mprotect` and `munmap` of libc are replaced
//! in a program that calls [`keep_stacks`]: a thread's stacks wait for its next coroutine with as
//! large a stack. All other mappings pass through, and so does what libc calls itself.
//!
//! On Linux only; elsewhere this does nothing.

/// Links the kept stacks into the program that calls this.
pub fn keep_stacks() {
    #[cfg(target_os = "linux")]
    std::hint::black_box(linux::mmap as *const ());
}

#[cfg(target_os = "linux")]
mod linux {
    use libc::{MAP_ANONYMOUS, MAP_PRIVATE, MAP_STACK, PROT_NONE, PROT_READ, PROT_WRITE};
    use libc::{c_int, c_long, c_void, off_t, size_t, syscall};
    use std::cell::Cell;
    use std::ptr::null_mut;

    const STACK: c_int = MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK;

    /// More than the threads of a model, which loom limits to 5.
    const KEPT: usize = 16;

    #[derive(Clone, Copy)]
    struct Stack {
        start: *mut c_void,
        len: size_t,
        /// Its lowest page is inaccessible.
        guarded: bool,
        free: bool,
    }

    const NONE: Stack = Stack {
        start: null_mut(),
        len: 0,
        guarded: false,
        free: false,
    };

    thread_local! {
        /// The stacks that this thread has mapped.
        static STACKS: Cell<[Stack; KEPT]> = const { Cell::new([NONE; KEPT]) };
    }

    /// Changes the first of this thread's stacks that `is` accepts; `None` if there is none.
    fn change(is: impl Fn(&Stack) -> bool, to: impl FnOnce(&mut Stack)) -> Option<*mut c_void> {
        let mut stacks = STACKS.get();
        let found = stacks.iter_mut().find(|stack| is(stack))?;
        to(found);
        let start = found.start;
        STACKS.set(stacks);
        Some(start)
    }

    /// # Safety
    /// As for libc's.
    #[unsafe(no_mangle)]
    pub(super) unsafe extern "C" fn mmap(
        addr: *mut c_void,
        len: size_t,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        offset: off_t,
    ) -> *mut c_void {
        let is_stack = addr.is_null() && flags == STACK && prot == PROT_READ | PROT_WRITE;
        let fits = |stack: &Stack| stack.free && stack.len == len;
        if is_stack && let Some(kept) = change(fits, |stack| stack.free = false) {
            return kept;
        }
        // SAFETY: the caller's arguments, for which it promised what libc's function requires.
        let mapped = unsafe {
            let (prot, flags, fd) = (c_long::from(prot), c_long::from(flags), c_long::from(fd));
            syscall(libc::SYS_mmap, addr, len, prot, flags, fd, offset)
        };
        let start = mapped as *mut c_void;
        if is_stack && start != libc::MAP_FAILED {
            let stack = Stack { start, len, ..NONE };
            // The entry of a stack that another thread has unmapped may have the same address.
            let unused = |old: &Stack| old.start == start || old.start.is_null();
            change(unused, |old| *old = stack);
        }
        start
    }

    /// # Safety
    /// As for libc's.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn mprotect(addr: *mut c_void, len: size_t, prot: c_int) -> c_int {
        let of = |stack: &Stack| stack.start == addr && !stack.free && prot == PROT_NONE;
        if change(|stack| of(stack) && stack.guarded, |_| ()).is_some() {
            return 0;
        }
        // SAFETY: as above.
        let done = unsafe { syscall(libc::SYS_mprotect, addr, len, c_long::from(prot)) };
        if done == 0 {
            change(of, |stack| stack.guarded = true);
        }
        done as c_int
    }

    /// # Safety
    /// As for libc's.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn munmap(addr: *mut c_void, len: size_t) -> c_int {
        let is = |stack: &Stack| stack.start == addr && stack.len == len && stack.guarded;
        if change(is, |stack| stack.free = true).is_some() {
            return 0;
        }
        // SAFETY: as above.
        unsafe { syscall(libc::SYS_munmap, addr, len) as c_int }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const PAGE: usize = 4096;

        fn map(len: usize, flags: c_int) -> *mut u8 {
            // SAFETY: a new mapping.
            let start = unsafe { mmap(null_mut(), len, PROT_READ | PROT_WRITE, flags, -1, 0) };
            assert_ne!(start, libc::MAP_FAILED);
            // SAFETY: within the mapping, above its lowest page.
            unsafe { start.cast::<u8>().add(len - 1).write(7) };
            start.cast()
        }

        fn guard_and_unmap(start: *mut u8, len: usize) {
            // SAFETY: nothing points into the mapping.
            unsafe {
                assert_eq!(mprotect(start.cast(), PAGE, PROT_NONE), 0);
                assert_eq!(munmap(start.cast(), len), 0);
            }
        }

        #[test]
        fn a_stack_is_there_for_the_next_coroutine() {
            let (a, b) = (map(3 * PAGE, STACK), map(3 * PAGE, STACK));
            assert_ne!(a, b);
            guard_and_unmap(a, 3 * PAGE);
            let larger = map(4 * PAGE, STACK);
            assert_ne!(larger, a, "as large as required");
            let again = map(3 * PAGE, STACK);
            assert_eq!(again, a);
            for (start, len) in [(again, 3), (b, 3), (larger, 4)] {
                guard_and_unmap(start, len * PAGE);
            }
        }

        #[test]
        fn other_mappings_pass() {
            let mapped = map(3 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS);
            guard_and_unmap(mapped, 3 * PAGE);
            // SAFETY: `msync` only asks whether the page is mapped.
            let there = unsafe { libc::msync(mapped.cast(), PAGE, libc::MS_ASYNC) };
            assert_eq!(there, -1, "unmapped");
        }

        #[test]
        fn more_stacks_than_are_kept() {
            let all: Vec<_> = (0..2 * KEPT).map(|_| map(2 * PAGE, STACK)).collect();
            for &start in &all {
                guard_and_unmap(start, 2 * PAGE);
            }
            let again: Vec<_> = (0..2 * KEPT).map(|_| map(2 * PAGE, STACK)).collect();
            assert!(again.iter().collect::<std::collections::HashSet<_>>().len() == 2 * KEPT);
            for start in again {
                guard_and_unmap(start, 2 * PAGE);
            }
        }
    }
}
