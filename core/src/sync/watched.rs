//! Atomics under shuttle: every access is a scheduling point and is reported to an observer.
//!
//! # Algorithm
//! The atomics are those of `core`, with their sizes and alignments, so that the same words share a
//! cache line. A scheduling point precedes each access, and none lies between the report and the
//! access, so an observer may rely on the state at its report. Shuttle treats every ordering as the
//! strongest one.

#![expect(
    clippy::std_instead_of_alloc,
    reason = "std is here anyway, alloc is a feature"
)]

use core::cell::RefCell;
use core::ptr;
use core::sync::atomic;
use shuttle::current::try_get_current_task;
use std::boxed::Box;
use std::thread_local;

pub use core::sync::atomic::Ordering;

/// The kind of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads a word.
    Load,
    /// Writes a word.
    Store,
    /// Reads and writes a word atomically, even if the value does not change.
    Update,
    /// Waits for the thread's own accesses. Its address is 0.
    Fence,
}

type Observer = Box<dyn Fn(usize, Access)>;

thread_local! {
    static OBSERVER: RefCell<Option<Observer>> = const { RefCell::new(None) };
    static POINT: shuttle::sync::atomic::AtomicBool =
        const { shuttle::sync::atomic::AtomicBool::new(false) };
}

/// Ends the observation of accesses when it is dropped.
#[derive(Debug)]
#[must_use = "dropped, it ends the watch"]
pub struct Watch(());

impl Drop for Watch {
    fn drop(&mut self) {
        OBSERVER.set(None);
    }
}

/// Reports the address and the kind of every access in executions on this thread to `observer`,
/// immediately before the access. It must not access words of this module itself.
///
/// # Panics
/// If accesses are already observed.
pub fn watch(observer: impl Fn(usize, Access) + 'static) -> Watch {
    let before = OBSERVER.replace(Some(Box::new(observer)));
    assert!(before.is_none(), "accesses are watched already");
    Watch(())
}

/// A scheduling point. Has no effect outside of an execution.
pub fn point() {
    if try_get_current_task().is_some() {
        // Shuttle has no scheduling point but with an access or a yield, and a yield would count as
        // waiting.
        // ORDERING: SeqCst: orders nothing, as no other thread has this word; but for a weaker one
        // shuttle updates a word that all threads of the process share, each time.
        POINT.with(|word| word.load(Ordering::SeqCst));
    }
}

fn touch<T>(word: &T, access: Access) {
    tell(ptr::from_ref(word).addr(), access);
}

fn tell(address: usize, access: Access) {
    point();
    OBSERVER.with_borrow(|observer| {
        if let Some(observer) = observer {
            observer(address, access);
        }
    });
}

/// As `core::sync::atomic::fence`.
pub fn fence(order: Ordering) {
    tell(0, Access::Fence);
    // ORDERING: as passed by the caller.
    atomic::fence(order);
}

/// The operations that all words have in common.
macro_rules! accesses {
    ($atomic:ident, $word:ty) => {
        pub const fn new(value: $word) -> Self {
            Self(atomic::$atomic::new(value))
        }

        pub fn load(&self, order: Ordering) -> $word {
            touch(self, Access::Load);
            self.0.load(order)
        }

        pub fn store(&self, value: $word, order: Ordering) {
            touch(self, Access::Store);
            self.0.store(value, order);
        }

        pub fn compare_exchange(
            &self,
            current: $word,
            new: $word,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$word, $word> {
            touch(self, Access::Update);
            self.0.compare_exchange(current, new, success, failure)
        }

        pub fn compare_exchange_weak(
            &self,
            current: $word,
            new: $word,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$word, $word> {
            self.compare_exchange(current, new, success, failure)
        }

        pub fn into_inner(self) -> $word {
            self.0.into_inner()
        }
    };
}

/// Read-modify-write operations, with the names of `core`.
macro_rules! updates {
    ($word:ty: $($name:ident)+) => {
        $(pub fn $name(&self, value: $word, order: Ordering) -> $word {
            touch(self, Access::Update);
            self.0.$name(value, order)
        })+
    };
}

/// As `core::sync::atomic::AtomicBool`.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicBool(atomic::AtomicBool);

#[allow(missing_docs, reason = "as in core")]
impl AtomicBool {
    accesses!(AtomicBool, bool);
    updates!(bool: swap fetch_or fetch_and);
}

/// As `core::sync::atomic::AtomicU32`.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicU32(atomic::AtomicU32);

#[allow(missing_docs, reason = "as in core")]
impl AtomicU32 {
    accesses!(AtomicU32, u32);
    updates!(u32: swap);
}

/// As `core::sync::atomic::AtomicUsize`.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicUsize(atomic::AtomicUsize);

#[allow(missing_docs, reason = "as in core")]
impl AtomicUsize {
    accesses!(AtomicUsize, usize);
    updates!(usize: swap fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min);
}

/// As `core::sync::atomic::AtomicPtr`.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicPtr<T>(atomic::AtomicPtr<T>);

#[allow(missing_docs, reason = "as in core")]
impl<T> AtomicPtr<T> {
    accesses!(AtomicPtr, *mut T);
    updates!(*mut T: swap);
}

/// A cell whose accesses are reported as those of words.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// Creates a cell with `value`.
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Calls `f` with a pointer for reading.
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        touch(self, Access::Load);
        f(self.0.get())
    }

    /// Calls `f` with a pointer for writing.
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        touch(self, Access::Store);
        f(self.0.get())
    }

    /// Returns the value of the cell.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
