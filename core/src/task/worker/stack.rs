//! The remaining stack of a worker, and calls on further pieces of stack.

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

    /// Calls `body`, once, on a further piece of stack. Returns false, without the call, if no
    /// memory is left for one.
    pub(super) fn extend(&self, port: &impl Host, body: &mut dyn FnMut()) -> bool {
        let _back = Restore {
            stack: self,
            floor: self.floor.get(),
            deep: self.deep.get(),
            pieces: self.pieces.get(),
        };
        let mut is_called = false;
        port.on_more_stack(&mut || {
            is_called = true;
            self.measure(port);
            self.pieces.set(self.pieces.get() + 1);
            if self.pieces.get() > MAX_PIECES {
                self.deep.set(usize::MAX);
            }
            body();
        });
        is_called
    }
}
