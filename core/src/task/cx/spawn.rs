//! Spawned tasks.

use super::Cx;
use crate::flow::{Ddf, EmptyAny, Inputs};
use crate::hierarchy::Domain;
use crate::port::Host;
use crate::task::job::any::start_any;
use crate::task::job::spawned::Spawned;
use crate::task::job::waiting::Waiting;
use crate::task::pool::TaskScope;
use core::ptr::NonNull;

impl<'scope, P: Host> Cx<'scope, '_, P> {
    /// Spawns `body` as a task of the enclosing scope, on any worker; the spawner continues (help-first). Allocates if `body`
    /// is larger than twelve words, or if the tasks of this worker use all of its recycled blocks.
    #[inline]
    pub fn spawn(&mut self, body: impl FnOnce(&mut Self) + Send + 'scope) {
        self.scope.enter_on(self.worker());
        let task = Spawned::task_on(self.at(), self.scope, body);
        self.at().offer(task);
    }

    /// As [`spawn`](Self::spawn), on a worker below `domain` only; see [`Pool::tree`](crate::task::Pool::tree). Tasks of the
    /// root run on any worker.
    ///
    /// # Panics
    /// If `domain` is not in the tree.
    pub fn spawn_in(&mut self, domain: Domain, body: impl FnOnce(&mut Self) + Send + 'scope) {
        let domains = self.pool().tree().len();
        assert!(
            (domain.0 as usize) < domains,
            "{domain} of {domains} domains"
        );
        self.scope.enter_on(self.worker());
        let task = Spawned::task_on(self.at(), self.scope, body);
        self.pool().bind(domain, task);
    }

    /// Spawns `body` with the values of `inputs` as soon as all of them are full, on the worker that puts the last one. One
    /// allocation.
    ///
    /// `inputs` is a cell, or a tuple of up to eight, an array, a slice or a vector of them, by reference. The scope does not
    /// end before all of them are put.
    pub fn spawn_when<I: Inputs<'scope> + Send + 'scope>(
        &mut self,
        inputs: I,
        body: impl FnOnce(I::Values, &mut Self) + Send + 'scope,
    ) where
        I::Values: Send,
    {
        self.scope.enter_on(self.worker());
        Waiting::start(self.scope, inputs, body);
    }

    /// Spawns `body` as soon as one of `cells` is full, with its index and value.
    ///
    /// # Errors
    /// If `cells` is empty.
    pub fn spawn_when_any<T: Send + Sync + 'scope>(
        &mut self,
        cells: impl AsRef<[&'scope Ddf<T>]>,
        body: impl FnOnce((usize, &'scope T), &mut Self) + Send + 'scope,
    ) -> Result<(), EmptyAny<()>> {
        let cells = cells.as_ref();
        self.scope.enter_on(self.worker());
        if start_any(self.scope, cells, body) {
            return Ok(());
        }
        // SAFETY: the share taken above.
        unsafe { TaskScope::leave_on(NonNull::from(self.scope), self.worker()) };
        Err(EmptyAny(()))
    }
}
