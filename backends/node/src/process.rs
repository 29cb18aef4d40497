//! Values that belong to one process: what the child of `fork` must not take for its own.
//!
//! A child has the memory of its parent, but of the threads only the one that called `fork`.
//! Threads that this memory names do not exist there, and locks that they held are never released.
//! So a value that relies on threads or locks is [`Owned`] by the process that made it, and where
//! each process needs one, it is made [`PerProcess`].
//!
//! # Algorithm
//! Handlers of `pthread_atfork` count the generations of processes, so to ask for the process is a
//! load and no system call. They also exclude a `fork` while another thread publishes a value.
//! Children that are made without handlers are not noticed: by `clone`, `_Fork` or `vfork`; after
//! the last two a program calls `exec` next.
//!
//! # Words
//! `GENERATION`: the number of forks between the first process and this one; written by the handler
//! of the child, which has one thread then. `IS_REGISTERED`: whether the handlers are in place; two
//! threads may both register them, which counts twice.
#![cfg_attr(not(unix), forbid(unsafe_code))]

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

static GENERATION: AtomicU64 = AtomicU64::new(0);
static IS_REGISTERED: AtomicBool = AtomicBool::new(false);

/// Held where a `fork` in another thread would leave something half done in the child.
static FORKS: Mutex<()> = Mutex::new(());

/// Returns the number of this process among its forebears.
pub(crate) fn generation() -> u64 {
    // ORDERING: Relaxed: written while the process has one thread.
    GENERATION.load(Ordering::Relaxed)
}

/// Has later forks counted.
fn count_forks() {
    // ORDERING: Relaxed: the handlers are idempotent.
    if !IS_REGISTERED.load(Ordering::Relaxed) {
        handlers::register();
        // ORDERING: Relaxed: as above.
        IS_REGISTERED.store(true, Ordering::Relaxed);
    }
}

/// Calls `act` while no other thread forks. `act` must be short; if it forks or calls this
/// function, the thread deadlocks.
///
/// ```
/// use std::sync::Mutex;
/// use tautline_node::process::without_forks;
///
/// static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// // Locked nowhere else, so a child of `fork` never finds it locked.
/// without_forks(|| NAMES.lock().unwrap().push("a".to_owned()));
/// ```
pub fn without_forks<R>(act: impl FnOnce() -> R) -> R {
    count_forks();
    let _forks = FORKS.lock().unwrap_or_else(PoisonError::into_inner);
    act()
}

/// A value of the process that made it: in another process, a child of `fork`, it is inaccessible,
/// and it is not dropped there.
#[derive(Debug)]
pub struct Owned<T> {
    generation: u64,
    /// `None` once taken.
    value: Option<T>,
}

impl<T> Owned<T> {
    /// Makes the calling process the owner of `value`.
    pub fn new(value: T) -> Self {
        count_forks();
        Self {
            generation: generation(),
            value: Some(value),
        }
    }

    /// Whether this is the process of the value.
    pub fn is_here(&self) -> bool {
        self.generation == generation()
    }

    /// Returns the value, in its process.
    pub fn get(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.is_here())
    }

    /// Takes the value out, in its process. In another one it is leaked.
    pub fn into_inner(mut self) -> Option<T> {
        let is_here = self.is_here();
        self.value.take_if(|_| is_here)
    }

    /// Returns the value, in its process.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let is_here = self.is_here();
        self.value.as_mut().filter(|_| is_here)
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.is_here() {
            mem::forget(self.value.take());
        }
    }
}

/// A value of which each process has its own.
///
/// ```
/// use std::sync::Mutex;
/// use tautline_node::process::PerProcess;
///
/// static COUNT: PerProcess<Mutex<u32>> = PerProcess::empty();
/// let count = COUNT.get_or_init(|| Mutex::new(0)); // a child of `fork` has another one
/// *count.lock().unwrap() += 1;
/// ```
pub struct PerProcess<T>(OnceLock<Box<Entry<T>>>);

/// The value of a process, and those of its children.
struct Entry<T> {
    value: Owned<T>,
    later: PerProcess<T>,
}

impl<T> PerProcess<T> {
    /// Creates one without a value.
    pub const fn empty() -> Self {
        Self(OnceLock::new())
    }

    /// Creates one with the value of the calling process.
    pub fn new(value: T) -> Self {
        let (value, later) = (Owned::new(value), Self::empty());
        Self(OnceLock::from(Box::new(Entry { value, later })))
    }

    /// Returns the value of the calling process, if it has one.
    pub fn get(&self) -> Option<&T> {
        self.find().ok()
    }

    /// Returns the value of the calling process. If it has none, that is the result of `make`, or
    /// of another thread that has made one concurrently.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.find().unwrap_or_else(|end| {
            let made = Owned::new(make());
            let end = end.publish(made);
            end.get().expect("published, in this process")
        })
    }

    /// Returns the value of the calling process, else the end of the list.
    #[inline]
    fn find(&self) -> Result<&T, &Self> {
        let mut at = self;
        while let Some(entry) = at.0.get() {
            match entry.value.get() {
                Some(value) => return Ok(value),
                None => at = &entry.later,
            }
        }
        Err(at)
    }

    fn publish(&self, value: Owned<T>) -> &Self {
        let later = Self::empty();
        let entry = Box::new(Entry { value, later });
        let refused = without_forks(|| self.0.set(entry));
        // Outside: another thread was faster, and the drop may end threads.
        drop(refused);
        self
    }
}

impl<T: fmt::Debug> fmt::Debug for PerProcess<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PerProcess").field(&self.get()).finish()
    }
}

/// The work of a thread for the child that it forks.
pub(crate) struct ForChild {
    /// Called before the fork, with the lock of [`without_forks`]; must not call that.
    pub(crate) prepare: fn() -> Vec<usize>,
    /// Called in the child with the result, if that is not empty. Must only call the system.
    pub(crate) act: fn(&[usize]),
}

static FOR_CHILD: OnceLock<ForChild> = OnceLock::new();

/// Has threads do that for their children from now on. Called without forks, always with the same.
pub(crate) fn do_for_children(act: ForChild) {
    _ = FOR_CHILD.set(act);
}

/// Ends this process, since a task of it would wait for tasks that threads of its parent have.
pub(crate) fn abandon() -> ! {
    let process = std::process::id();
    let line = format!(
        "tautline: process {process} was forked by a task, and waits for tasks of its parent, which \
         such a child must not: end it by `exec` or `_exit`\n"
    );
    handlers::print(&line);
    std::process::abort()
}

#[cfg(unix)]
mod handlers {
    use super::{FOR_CHILD, FORKS, GENERATION, Ordering, PoisonError};
    use std::cell::RefCell;
    use std::mem::{self, ManuallyDrop};
    use std::sync::MutexGuard;

    /// The state of a thread that forks, between `prepare` and the handlers after the fork.
    struct Held {
        _forks: MutexGuard<'static, ()>,
        /// By `FOR_CHILD`.
        prepared: Vec<usize>,
    }

    thread_local! {
        /// Has no destructor, so that destructors of other values may fork.
        static HELD: ManuallyDrop<RefCell<Option<Held>>> =
            const { ManuallyDrop::new(RefCell::new(None)) };
    }

    pub(super) fn register() {
        // SAFETY: the handlers may be called at any fork from now on: they are functions of this
        // program, and do not unwind, as none of them panics.
        unsafe { libc::pthread_atfork(Some(prepare), Some(in_parent), Some(in_child)) };
    }

    unsafe extern "C" fn prepare() {
        HELD.with(|held| {
            // Registered twice, it is called twice.
            let mut held = held.borrow_mut();
            if held.is_none() {
                let _forks = FORKS.lock().unwrap_or_else(PoisonError::into_inner);
                let prepared = FOR_CHILD.get().map_or_else(Vec::new, |it| (it.prepare)());
                *held = Some(Held { _forks, prepared });
            }
        });
    }

    unsafe extern "C" fn in_parent() {
        HELD.with(|held| drop(held.take()));
    }

    /// Calls no allocator, which may be one that another thread had locked.
    unsafe extern "C" fn in_child() {
        // ORDERING: Relaxed: this is the only thread.
        GENERATION.fetch_add(1, Ordering::Relaxed);
        let Some(Held { _forks, prepared }) = HELD.with(|held| held.take()) else {
            return;
        };
        if let Some(for_child) = FOR_CHILD.get().filter(|_| !prepared.is_empty()) {
            (for_child.act)(&prepared);
        }
        mem::forget(prepared);
    }

    /// Writes to standard error without its lock, which a thread of the parent may hold.
    pub(super) fn print(line: &str) {
        // SAFETY: the bytes are those of `line`.
        unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
    }
}

#[cfg(not(unix))]
mod handlers {
    pub(super) fn register() {}

    pub(super) fn print(line: &str) {
        eprint!("{line}");
    }
}
