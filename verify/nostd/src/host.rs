//! A machine with one thread: memory that is given out once, one worker, panics that end the
//! program.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tautline_core::WorkerId;
use tautline_core::port::{Clock, Fence, Park, Relax, Thread, Unpark, Unwind, Watch};
use tautline_core::sync::light_fence;
use tautline_core::task::{Cx, Pool};

const BYTES: usize = 4 << 20;

/// Gives out each byte once.
struct Once {
    memory: UnsafeCell<[u8; BYTES]>,
    used: AtomicUsize,
}

// SAFETY: each byte is given to one caller.
unsafe impl Sync for Once {}

#[global_allocator]
static MEMORY: Once = Once {
    memory: UnsafeCell::new([0; BYTES]),
    used: AtomicUsize::new(0),
};

// SAFETY: what is given out lies inside the memory, is aligned, and is given out once.
unsafe impl GlobalAlloc for Once {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = self.memory.get().cast::<u8>();
        let place = |used: usize| {
            let skip = start.wrapping_add(used).align_offset(layout.align());
            let from = used.checked_add(skip)?;
            let to = from.checked_add(layout.size())?;
            (to <= BYTES).then_some((from, to))
        };
        let mut used = self.used.load(Ordering::Relaxed);
        while let Some((from, to)) = place(used) {
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.used.compare_exchange_weak(used, to, success, failure) {
                Ok(_) => return start.wrapping_add(from),
                Err(now) => used = now,
            }
        }
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

/// A machine with one thread.
pub struct Bare {
    time: AtomicU64,
    here: AtomicUsize,
}

const NO_WORKER: usize = usize::MAX;

impl Clock for Bare {
    fn now(&self) -> u64 {
        self.time.fetch_add(1, Ordering::Relaxed)
    }
}

// SAFETY: there is one thread, so no other one's accesses are to be ordered.
unsafe impl Fence for Bare {
    #[inline(always)]
    fn light_fence(&self) {
        light_fence();
    }

    fn heavy_fence(&self) -> bool {
        true
    }
}

impl Relax for Bare {
    fn relax(&self, _: u32) {
        core::hint::spin_loop();
    }
}

impl Unpark for Bare {
    fn unpark(&self, _: WorkerId) {}
}

impl Park for Bare {
    fn park(&self, _: WorkerId) {
        crate::machine::say("the only worker sleeps\n");
        crate::machine::exit(1);
    }
}

// SAFETY: there is one thread, which acts as the worker that was set.
unsafe impl Thread for Bare {
    fn current(&self) -> Option<WorkerId> {
        let here = self.here.load(Ordering::Relaxed);
        (here != NO_WORKER).then_some(WorkerId(here as u32))
    }

    unsafe fn set_current(&self, worker: Option<WorkerId>) {
        let here = worker.map_or(NO_WORKER, |worker| worker.0 as usize);
        self.here.store(here, Ordering::Relaxed);
    }
}

impl Watch for Bare {}

// SAFETY: nothing unwinds.
unsafe impl Unwind for Bare {
    type Payload = core::convert::Infallible;

    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Self::Payload> {
        Ok(body())
    }

    fn resume(&self, payload: Self::Payload) -> ! {
        match payload {}
    }
}

/// Runs a task on a pool of one worker; `None` if its seat cannot be had.
pub fn run<'e, R>(body: impl for<'s> FnOnce(&mut Cx<'s, 'e, Bare>) -> R) -> Option<R> {
    let port = Bare {
        time: AtomicU64::new(0),
        here: AtomicUsize::new(NO_WORKER),
    };
    let pool = Pool::new(port, 1);
    pool.with_seat(WorkerId(0), |seat| seat.run(body))
}
