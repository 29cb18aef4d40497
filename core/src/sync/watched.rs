//! The door under shuttle: every access is a scheduling point, and tells an observer what it touches.
//!
//! # Algorithm
//! The words are those of `core`, as large and as aligned as where the code ships, so that what shares a line there
//! shares one here. A scheduling point comes before each access, and none between the observer and the access: who is
//! told of an access knows that nothing comes between. Shuttle takes every ordering for the strongest one.

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

/// What an access does to the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads a word.
    Load,
    /// Writes a word.
    Store,
    /// Reads a word and writes it, undivided; also if it turns out that nothing is to be written.
    Update,
    /// Waits for the thread's own accesses. Its address is 0.
    Fence,
}

type Observer = Box<dyn Fn(usize, Access)>;

thread_local! {
    static OBSERVER: RefCell<Option<Observer>> = const { RefCell::new(None) };
}

/// Accesses are watched until this is dropped.
#[derive(Debug)]
#[must_use = "dropped, it ends the watch"]
pub struct Watch(());

impl Drop for Watch {
    fn drop(&mut self) {
        OBSERVER.set(None);
    }
}

/// From now on `observer` is told the address and the kind of every access in executions on this thread, just before it
/// happens. It must not access words of this door itself.
///
/// # Panics
/// If accesses are watched already.
pub fn watch(observer: impl Fn(usize, Access) + 'static) -> Watch {
    let before = OBSERVER.replace(Some(Box::new(observer)));
    assert!(before.is_none(), "accesses are watched already");
    Watch(())
}

/// A moment at which shuttle may let another task run. Nothing outside an execution.
pub fn point() {
    if try_get_current_task().is_some() {
        // ORDERING: Relaxed: nobody else knows this word; shuttle has no scheduling point but with an access or a yield,
        // and a yield would count as waiting.
        shuttle::sync::atomic::AtomicBool::new(false).load(Ordering::Relaxed);
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
    // ORDERING: as the caller says.
    atomic::fence(order);
}

/// As `core::sync::atomic::AtomicBool`.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicBool(atomic::AtomicBool);

#[allow(missing_docs, reason = "as in core")]
impl AtomicBool {
    pub const fn new(value: bool) -> Self {
        Self(atomic::AtomicBool::new(value))
    }

    pub fn load(&self, order: Ordering) -> bool {
        touch(self, Access::Load);
        self.0.load(order)
    }

    pub fn store(&self, value: bool, order: Ordering) {
        touch(self, Access::Store);
        self.0.store(value, order);
    }

    pub fn swap(&self, value: bool, order: Ordering) -> bool {
        touch(self, Access::Update);
        self.0.swap(value, order)
    }

    pub fn compare_exchange(
        &self,
        current: bool,
        new: bool,
        success: Ordering,
        failure: Ordering,
    ) -> Result<bool, bool> {
        touch(self, Access::Update);
        self.0.compare_exchange(current, new, success, failure)
    }

    pub fn compare_exchange_weak(
        &self,
        current: bool,
        new: bool,
        success: Ordering,
        failure: Ordering,
    ) -> Result<bool, bool> {
        self.compare_exchange(current, new, success, failure)
    }

    pub fn fetch_or(&self, value: bool, order: Ordering) -> bool {
        touch(self, Access::Update);
        self.0.fetch_or(value, order)
    }

    pub fn fetch_and(&self, value: bool, order: Ordering) -> bool {
        touch(self, Access::Update);
        self.0.fetch_and(value, order)
    }

    pub fn into_inner(self) -> bool {
        self.0.into_inner()
    }
}

/// As `core::sync::atomic::AtomicUsize`.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicUsize(atomic::AtomicUsize);

#[allow(missing_docs, reason = "as in core")]
impl AtomicUsize {
    pub const fn new(value: usize) -> Self {
        Self(atomic::AtomicUsize::new(value))
    }

    pub fn load(&self, order: Ordering) -> usize {
        touch(self, Access::Load);
        self.0.load(order)
    }

    pub fn store(&self, value: usize, order: Ordering) {
        touch(self, Access::Store);
        self.0.store(value, order);
    }

    pub fn swap(&self, value: usize, order: Ordering) -> usize {
        touch(self, Access::Update);
        self.0.swap(value, order)
    }

    pub fn compare_exchange(
        &self,
        current: usize,
        new: usize,
        success: Ordering,
        failure: Ordering,
    ) -> Result<usize, usize> {
        touch(self, Access::Update);
        self.0.compare_exchange(current, new, success, failure)
    }

    pub fn compare_exchange_weak(
        &self,
        current: usize,
        new: usize,
        success: Ordering,
        failure: Ordering,
    ) -> Result<usize, usize> {
        self.compare_exchange(current, new, success, failure)
    }

    pub fn fetch_add(&self, value: usize, order: Ordering) -> usize {
        touch(self, Access::Update);
        self.0.fetch_add(value, order)
    }

    pub fn fetch_sub(&self, value: usize, order: Ordering) -> usize {
        touch(self, Access::Update);
        self.0.fetch_sub(value, order)
    }

    pub fn fetch_and(&self, value: usize, order: Ordering) -> usize {
        touch(self, Access::Update);
        self.0.fetch_and(value, order)
    }

    pub fn fetch_or(&self, value: usize, order: Ordering) -> usize {
        touch(self, Access::Update);
        self.0.fetch_or(value, order)
    }

    pub fn fetch_xor(&self, value: usize, order: Ordering) -> usize {
        touch(self, Access::Update);
        self.0.fetch_xor(value, order)
    }

    pub fn fetch_max(&self, value: usize, order: Ordering) -> usize {
        touch(self, Access::Update);
        self.0.fetch_max(value, order)
    }

    pub fn fetch_min(&self, value: usize, order: Ordering) -> usize {
        touch(self, Access::Update);
        self.0.fetch_min(value, order)
    }

    pub fn into_inner(self) -> usize {
        self.0.into_inner()
    }
}

/// As `core::sync::atomic::AtomicPtr`.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicPtr<T>(atomic::AtomicPtr<T>);

#[allow(missing_docs, reason = "as in core")]
impl<T> AtomicPtr<T> {
    pub const fn new(value: *mut T) -> Self {
        Self(atomic::AtomicPtr::new(value))
    }

    pub fn load(&self, order: Ordering) -> *mut T {
        touch(self, Access::Load);
        self.0.load(order)
    }

    pub fn store(&self, value: *mut T, order: Ordering) {
        touch(self, Access::Store);
        self.0.store(value, order);
    }

    pub fn swap(&self, value: *mut T, order: Ordering) -> *mut T {
        touch(self, Access::Update);
        self.0.swap(value, order)
    }

    pub fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        touch(self, Access::Update);
        self.0.compare_exchange(current, new, success, failure)
    }

    pub fn compare_exchange_weak(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        self.compare_exchange(current, new, success, failure)
    }

    pub fn into_inner(self) -> *mut T {
        self.0.into_inner()
    }
}

/// A cell; touching it is an access like any other.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// A cell that holds `value`.
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

    /// The value, taken out of the cell.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
