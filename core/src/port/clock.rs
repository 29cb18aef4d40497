//! Time, as the machine counts it.

/// A monotonic counter.
///
/// Called from any thread; does not block, does not call back, orders nothing.
pub trait Clock {
    /// Ticks since some fixed moment; never decreases on one thread.
    fn now(&self) -> u64;
}
