//! Closures of a task that waits, run by the thread that delivers the value.

use crate::port::Relax;
use crate::sync::Lock;
use alloc::sync::Arc;
use core::mem;
use core::ptr::NonNull;

/// A closure on the stack of a thread that waits, lent to other threads by [`lend`].
#[derive(Debug)]
pub struct Loan<T: ?Sized>(Lock<Option<Lent<T>>>);

#[derive(Debug)]
struct Lent<T: ?Sized>(NonNull<dyn FnMut(&mut T) + Send>);

// SAFETY: the closure is `Send`, and one thread at a time has it, by the lock.
unsafe impl<T: ?Sized> Send for Lent<T> {}

impl<T: ?Sized> Loan<T> {
    /// Calls the closure with `value`, unless it was taken back. Returns whether it was called.
    /// Threads that find it in use call `relax`.
    pub fn call(&self, value: &mut T, relax: &impl Relax) -> bool {
        let mut lent = self.0.lock(relax);
        let Some(Lent(closure)) = &mut *lent else {
            return false;
        };
        // SAFETY: `lend` has not returned: before it does, it takes the closure back, under the
        // lock that this thread has. Until then it borrows the closure mutably for the loan alone.
        unsafe { closure.as_mut()(value) };
        true
    }
}

/// Calls `wait` with a loan of `closure`, which other threads may [call](Loan::call) until `wait`
/// has returned or panicked. Threads that find it in use then call `relax`.
///
/// ```
/// use std::sync::Arc;
/// use std::thread;
/// use tautline_core::directory::lend;
/// use tautline_core::port::Spin;
///
/// // It borrows, and the other thread need not end before that ends.
/// let mut sum = 0;
/// let mut add = |n: &mut u32| sum += *n;
/// let loan = lend(&mut add, &Spin, |loan| {
///     let other = Arc::clone(loan);
///     let called = thread::spawn(move || other.call(&mut 7, &Spin));
///     assert!(called.join().expect("no panic"));
///     Arc::clone(loan)
/// });
/// assert!(!loan.call(&mut 8, &Spin)); // taken back
/// assert_eq!(sum, 7);
/// ```
pub fn lend<T: ?Sized, R>(
    closure: &mut (dyn FnMut(&mut T) + Send),
    relax: &impl Relax,
    wait: impl FnOnce(&Arc<Loan<T>>) -> R,
) -> R {
    /// Takes the closure back.
    struct Back<'a, T: ?Sized, X: Relax>(&'a Loan<T>, &'a X);

    impl<T: ?Sized, X: Relax> Drop for Back<'_, T, X> {
        fn drop(&mut self) {
            *self.0.0.lock(self.1) = None;
        }
    }

    // SAFETY: only the lifetime changes. `Back` takes the closure back before this function, and so
    // the borrow, ends, however it ends; nothing else copies the pointer.
    let closure = unsafe {
        mem::transmute::<
            NonNull<dyn FnMut(&mut T) + Send + '_>,
            NonNull<dyn FnMut(&mut T) + Send + 'static>,
        >(NonNull::from(closure))
    };
    let loan = Arc::new(Loan(Lock::new(Some(Lent(closure)))));
    let _back = Back(&loan, relax);
    wait(&loan)
}
