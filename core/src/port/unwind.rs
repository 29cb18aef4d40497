//! Catching panics.

/// Catches panics, so that they reach the owner of the scope in which they happened.
///
/// On a machine without unwinding, `catch` only calls `body`, and a panic ends the program.
///
/// # Safety
/// Frames that other threads access are left only by a return, which the pool ensures by catching
/// the panics of its callees. The implementor must ensure that `catch` does not unwind, whether
/// `body` panics or not.
pub unsafe trait Unwind {
    /// The payload of a panic.
    type Payload: Send + 'static;

    /// Calls `body`; returns its panic instead of propagating it.
    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Self::Payload>;

    /// Resumes a panic that was caught.
    fn resume(&self, payload: Self::Payload) -> !;
}
