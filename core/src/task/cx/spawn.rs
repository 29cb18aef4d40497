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
    /// Spawns `body` as a task of the enclosing scope, on any worker; the spawner continues
    /// (help-first). Allocates if `body` is larger than twelve words, or if the tasks of this
    /// worker use all of its recycled blocks.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let (mut left, mut right) = (0, 0);
    /// cx.scope(|cx| {
    ///     cx.spawn(|_| left = 1);
    ///     cx.spawn(|cx| cx.spawn(|_| right = 2));
    /// });
    /// assert_eq!((left, right), (1, 2));
    /// # }
    /// ```
    /// [`spawn_value`](Self::spawn_value) returns a handle with the value of the task.
    ///
    /// # Borrowing arguments
    /// A function whose tasks borrow its arguments, and end before it returns, opens a scope:
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # struct Graph(Vec<Vec<usize>>);
    /// fn walk<P: Host>(cx: &mut Cx<'_, '_, P>, graph: &Graph, from: usize) {
    ///     cx.scope(|cx| {
    ///         for &to in &graph.0[from] {
    ///             cx.spawn(move |cx| walk(cx, graph, to));
    ///         }
    ///     });
    /// }
    /// ```
    /// If the tasks join the scope of the caller, the arguments have to outlive that scope, which
    /// is the first lifetime of the context:
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # struct Graph(Vec<Vec<usize>>);
    /// fn walk<'s, P: Host>(cx: &mut Cx<'s, '_, P>, graph: &'s Graph, from: usize) {
    ///     for &to in &graph.0[from] {
    ///         cx.spawn(move |cx| walk(cx, graph, to));
    ///     }
    /// }
    /// ```
    /// Without the lifetimes the compiler reports "lifetime may not live long enough",
    /// ```compile_fail
    /// # use tautline_core::{port::Host, task::Cx};
    /// # struct Graph(Vec<Vec<usize>>);
    /// fn walk<P: Host>(cx: &mut Cx<'_, '_, P>, graph: &Graph, from: usize) {
    ///     for &to in &graph.0[from] {
    ///         cx.spawn(move |cx| walk(cx, graph, to));
    ///     }
    /// }
    /// ```
    /// and suggests the type `Cx<'a, 'a, P>`. That compiles, but its calls do not: the two
    /// lifetimes are never equal.
    /// ```compile_fail,E0521
    /// # use tautline_core::{port::Host, task::Cx};
    /// # struct Graph(Vec<Vec<usize>>);
    /// fn walk<'a, P: Host>(cx: &mut Cx<'a, 'a, P>, graph: &'a Graph, from: usize) {
    ///     for &to in &graph.0[from] {
    ///         cx.spawn(move |cx| walk(cx, graph, to));
    ///     }
    /// }
    /// fn walk_all<P: Host>(cx: &mut Cx<'_, '_, P>, graph: &Graph) {
    ///     cx.scope(|cx| walk(cx, graph, 0));
    /// }
    /// ```
    #[inline]
    pub fn spawn(&mut self, body: impl FnOnce(&mut Self) + Send + 'scope) {
        self.scope.enter_on(self.worker());
        let task = Spawned::task_on(self.at(), self.scope, body);
        self.at().offer(task);
    }

    /// As [`spawn`](Self::spawn), on a worker below `domain` only; see
    /// [`Pool::tree`](crate::task::Pool::tree). Tasks of the root run on any worker.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let here = cx.pool().leaf_of(cx.worker());
    /// cx.scope(|cx| {
    ///     // Runs near the memory that this worker has just written.
    ///     cx.spawn_in(here, |_| ());
    /// });
    /// # }
    /// ```
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

    /// Spawns `body` with the values of `inputs` as soon as all of them are full, on the worker
    /// that puts the last one, or on any if a thread outside of the pool does. One allocation.
    ///
    /// `inputs` is a reference to a cell, or a tuple of up to eight, an array, a slice or a vector
    /// of such references, or other [`Inputs`]. The scope does not end before all of them are put.
    /// Inputs of a cancelled scope are dropped before it ends. A runtime reports a
    /// program in which nothing else can go on, with this call.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # use tautline_core::flow::Ddf;
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let (width, height) = (Ddf::new(), Ddf::new());
    /// let mut area = 0;
    /// cx.scope(|cx| {
    ///     cx.spawn_when((&width, &height), |(w, h), _| area = w * h);
    ///     cx.spawn(|_| width.put(6).unwrap());
    ///     cx.spawn(|_| height.put(7).unwrap());
    /// });
    /// assert_eq!(area, 42);
    /// # }
    /// ```
    ///
    /// A borrowed cell outlives the scope:
    ///
    /// ```compile_fail
    /// # use tautline_core::{port::Host, task::Cx};
    /// # use tautline_core::flow::Ddf;
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// cx.scope(|cx| {
    ///     let width = Ddf::new();
    ///     cx.spawn_when(&width, |w: &u32, _| println!("{w}"));
    ///     width.put(6).unwrap();
    /// });
    /// # }
    /// ```
    #[track_caller]
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
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # use tautline_core::flow::Ddf;
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let answers = [Ddf::new(), Ddf::new()];
    /// cx.scope(|cx| {
    ///     let cells = [&answers[0], &answers[1]];
    ///     cx.spawn_when_any(cells, |(i, answer), _| println!("answer {i}: {answer}")).unwrap();
    ///     cx.spawn(|_| answers[1].put("yes").unwrap());
    /// });
    /// # }
    /// ```
    ///
    /// # Errors
    /// If `cells` is empty.
    #[track_caller]
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
