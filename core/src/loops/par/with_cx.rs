//! Bodies that receive the context of their task.

use super::super::body::LeaveOut;
use super::super::raw::{Consumer, Driven, Source};
use super::Par;
use crate::port::Host;
use crate::task::Cx;
use core::ops::{ControlFlow, Range};

/// A loop whose body receives the context. Made by [`Par::with_cx`].
#[must_use = "a loop runs when it is consumed, by `for_each`"]
pub struct WithCx<'x, 's, 'e: 's, P: Host, S> {
    pub(super) par: Par<'x, 's, 'e, P, S>,
}

impl<'s, 'e, P: Host, S: Source> WithCx<'_, 's, 'e, P, S> {
    /// Calls `f` with a context and each item, as [`Par::for_each`]. While a call waits, for a fork
    /// or an inner loop, its worker may run other items of this loop.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut lists = vec![vec![3, 1, 2]; 100];
    /// cx.par(&mut lists).with_cx().for_each(|cx, list| cx.par(list).sort_unstable());
    /// assert_eq!(lists[99], [1, 2, 3]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `f`.
    pub fn for_each(self, f: impl Fn(&mut Cx<'s, 'e, P>, S::Item) + Sync) {
        let Par {
            cx,
            source,
            settings,
            ..
        } = self.par;
        Driven::run(cx, &settings, source, EachWithCx(f));
    }
}

/// Calls a function with the context and each item.
struct EachWithCx<F>(F);

impl<'s, 'e, P, I, F> Consumer<'s, 'e, P, I> for EachWithCx<F>
where
    P: Host,
    F: Fn(&mut Cx<'s, 'e, P>, I) + Sync,
{
    type Part = ();

    fn begin(&self) {}

    fn take(
        &self,
        cx: &mut Cx<'s, 'e, P>,
        (): &mut (),
        _: Range<usize>,
        items: impl Iterator<Item = I>,
    ) -> ControlFlow<LeaveOut> {
        items.for_each(|item| (self.0)(cx, item));
        ControlFlow::Continue(())
    }

    fn combine(&self, (): (), (): ()) {}
}
