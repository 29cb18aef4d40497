//! Results of calls at other ranks.

use crate::Result;
use crate::error::Error;
use crate::execution::runtime::{Cx, Ddf};
use crate::ranks::error::RankError;
use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::wire::{Portable, unpack};

/// The result of a [call](super::At::call), once it has come.
///
/// Dropping it does not cancel the call, for which the finish waits.
#[must_use = "the result of the call; `spawn` has none"]
pub struct Reply<R> {
    cell: Arc<Ddf<Result<R>>>,
    /// The caller is a short handler.
    in_short: bool,
}

impl<R> fmt::Debug for Reply<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

impl<R: Send + Sync + 'static> Reply<R> {
    /// Returns a reply, and what puts its result.
    pub(super) fn new(from: Rank, in_short: bool) -> (Self, Promise<R>) {
        let cell = Arc::new(Ddf::new());
        let promise = Promise {
            cell: Some(Arc::clone(&cell)),
            from,
        };
        (Self { cell, in_short }, promise)
    }

    /// Waits for the result in a task, whose worker runs other tasks until then.
    ///
    /// # Errors
    /// If the call has no result: its finish was cancelled, its handler panicked, or its rank was
    /// lost. The finish ends with that error, too.
    ///
    /// # Panics
    /// In a [short](super::Handler::short) handler.
    pub fn wait(self, cx: &mut Cx<'_, '_>) -> Result<R> {
        assert!(!self.in_short, "a short handler must not wait for a reply");
        if !self.cell.is_full() {
            cx.block_on(self.cell.wait());
        }
        self.into_result()
    }

    /// Returns the cell, for tasks that start when the result has come.
    pub fn cell(&self) -> &Ddf<Result<R>> {
        &self.cell
    }

    fn into_result(self) -> Result<R> {
        let mut cell = self.cell;
        loop {
            match Arc::try_unwrap(cell) {
                Ok(cell) => return cell.into_inner().expect("it is full"),
                // The thread that has filled it releases it before it runs anything else.
                Err(shared) => cell = shared,
            }
            std::thread::yield_now();
        }
    }
}

impl<R: Send + Sync + 'static> IntoFuture for Reply<R> {
    type Output = Result<R>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<R>> + Send>>;

    /// Waits for the result; the task occupies no worker until then.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            _ = self.cell.wait().await;
            self.into_result()
        })
    }
}

/// The duty to put a result, which dropping it fulfils by an error.
pub(super) struct Promise<R: Send + Sync + 'static> {
    cell: Option<Arc<Ddf<Result<R>>>>,
    from: Rank,
}

impl<R: Send + Sync + 'static> Promise<R> {
    pub(super) fn put(mut self, result: Result<R>) {
        self.fill(|_| result);
    }

    fn fill(&mut self, result: impl FnOnce(Rank) -> Result<R>) {
        if let Some(cell) = self.cell.take() {
            let waiters = cell.fill(result(self.from));
            // Before any code of the program runs: a waiter takes the result out of the cell.
            drop(cell);
            _ = waiters.map(|mut waiters| waiters.release());
        }
    }
}

impl<R: Send + Sync + 'static> Drop for Promise<R> {
    fn drop(&mut self) {
        self.fill(|from| Err(Error::Rank(RankError::unanswered(from))));
    }
}

/// A promise whose type is erased.
pub(super) trait Answer: Send {
    /// Puts an encoded result. Returns false if it is malformed.
    fn answer(self: Box<Self>, result: &[u8]) -> bool;
}

impl<R: Portable + Sync + 'static> Answer for Promise<R> {
    fn answer(self: Box<Self>, result: &[u8]) -> bool {
        let decoded = unpack(result);
        let is_valid = decoded.is_ok();
        if let Ok(result) = decoded {
            self.put(Ok(result));
        }
        is_valid
    }
}
