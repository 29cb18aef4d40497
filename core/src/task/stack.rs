//! How much stack a worker has left, and going on where there is more.

use crate::port::Host;
use core::cell::Cell;
use core::ptr;

/// Further pieces of stack in which a wait still helps with others' tasks.
const MOST_PIECES: u32 = 4;

/// The address of the caller's frame.
#[inline(always)]
fn here() -> usize {
    let marker = 0u8;
    ptr::from_ref(&marker).addr()
}

/// What a worker knows of the stack that it runs on.
#[derive(Debug, Default)]
pub(super) struct Stack {
    /// The lowest address at which a task may still begin.
    floor: Cell<usize>,
    /// The lowest address at which a wait may still run others' tasks.
    deep: Cell<usize>,
    /// The number of further pieces of stack in use.
    pieces: Cell<u32>,
}

/// The state to be restored when the worker returns to a piece of stack, by a panic too.
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
    pub fn settle(&self, port: &impl Host) {
        let (floor, here) = (port.stack_floor(), here());
        self.floor.set(floor);
        self.deep.set(floor + here.saturating_sub(floor) / 2);
    }

    /// Whether a frame at `address` is too deep for another task to begin above it.
    #[inline(always)]
    pub fn is_below_floor(&self, address: usize) -> bool {
        address < self.floor.get()
    }

    /// Whether there is stack for others' tasks in a wait.
    pub fn has_room(&self) -> bool {
        here() >= self.deep.get()
    }

    /// Whether a wait may take a further piece of stack.
    pub fn may_extend(&self) -> bool {
        self.pieces.get() < MOST_PIECES
    }

    /// Calls `body` on a further piece of stack.
    ///
    /// # Errors
    /// There is no memory for one: gives `body` back.
    pub fn extend<R, B: FnOnce() -> R>(&self, port: &impl Host, body: B) -> Result<R, B> {
        let _back = Restore {
            stack: self,
            floor: self.floor.get(),
            deep: self.deep.get(),
            pieces: self.pieces.get(),
        };
        let (mut body, mut result) = (Some(body), None);
        port.on_more_stack(&mut || {
            let Some(body) = body.take() else { return };
            self.settle(port);
            self.pieces.set(self.pieces.get() + 1);
            if self.pieces.get() > MOST_PIECES {
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
