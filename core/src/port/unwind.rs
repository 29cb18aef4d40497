//! What becomes of a panic.

/// Catches panics, so that they reach the owner of the scope in which they happened.
///
/// A machine without unwinding only calls: a panic ends it.
///
/// # Safety
/// Frames that other threads use are left only by a return, which the pool ensures by catching what is called from
/// them. The implementor must ensure that `catch` does not unwind, whether `body` panics or not.
pub unsafe trait Unwind {
    /// What a panic carries.
    type Payload: Send + 'static;

    /// Calls `body`, and gives back its panic instead of passing it on.
    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Self::Payload>;

    /// Goes on with a panic that was caught.
    fn resume(&self, payload: Self::Payload) -> !;
}
