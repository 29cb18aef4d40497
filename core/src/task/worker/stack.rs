//! How much stack a worker has left, and calls on further pieces of stack.

use crate::port::Host;
use core::cell::Cell;
use core::ptr;

/// The number of further pieces of stack in which a wait still helps with any task.
const MAX_PIECES: u32 = 4;

/// Returns the address of the caller's frame.
#[inline(always)]
fn here() -> usize {
    let marker = 0u8;
    ptr::from_ref(&marker).addr()
}

/// The bounds of the stack that a worker runs on.
#[derive(Debug, Default)]
pub(super) struct Stack {
    /// The lowest address at which a task may still begin.
    floor: Cell<usize>,
    /// The lowest address at which a wait may still run any task.
    deep: Cell<usize>,
    /// The number of further pieces of stack in use.
    pieces: Cell<u32>,
}

/// Restores the bounds when the worker returns to a piece of stack, also by a panic.
struct Restore<'s> {
    stack: &'s Stack,
    floor: usize,
    deep: usize,
    pieces: u32,
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        self.stack.floor.set(self.floor);
        self.stack.deep.set(self.deep);
        self.stack.pieces.set(self.pieces);
    }
}

impl Stack {
    /// Measures the stack of the calling thread.
    pub(super) fn measure(&self, port: &impl Host) {
        let (floor, here) = (port.stack_floor(), here());
        self.floor.set(floor);
        self.deep.set(floor + here.saturating_sub(floor) / 2);
    }

    /// Returns whether a frame at `address` is too deep for another task to begin above it.
    #[inline(always)]
    pub(super) fn is_below_floor(&self, address: usize) -> bool {
        address < self.floor.get()
    }

    /// Returns whether a wait has stack for any task.
    pub(super) fn has_room(&self) -> bool {
        here() >= self.deep.get()
    }

    /// Returns whether a wait may use a further piece of stack.
    pub(super) fn may_extend(&self) -> bool {
        self.pieces.get() < MAX_PIECES
    }

    /// Calls `body` on a further piece of stack.
    ///
    /// # Errors
    /// If no memory is left for one: returns `body`.
    pub(super) fn extend<R, B: FnOnce() -> R>(&self, port: &impl Host, body: B) -> Result<R, B> {
        let _back = Restore {
            stack: self,
            floor: self.floor.get(),
            deep: self.deep.get(),
            pieces: self.pieces.get(),
        };
        let (mut body, mut result) = (Some(body), None);
        port.on_more_stack(&mut || {
            let Some(body) = body.take() else { return };
            self.measure(port);
            self.pieces.set(self.pieces.get() + 1);
            if self.pieces.get() > MAX_PIECES {
                self.deep.set(usize::MAX);
            }
            result = Some(body());
        });
        match (result, body) {
            (Some(result), _) => Ok(result),
            (None, Some(body)) => Err(body),
            (None, None) => unreachable!("a body that does not return unwinds"),
        }
    }
}
