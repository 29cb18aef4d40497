//! Declaration of concurrent loops.

use super::conflict::LoopConflict;
use super::declared::{Name, Outline};
use super::dispatcher::Sharing;
use super::run::run;
use crate::loops::raw::{Accessed, Accesses, Arrays, Columns, Push, Reads, Run, Writes};
use crate::loops::settings::{Report, Schedule};
use crate::port::Host;
use crate::task::Cx;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;

impl<P: Host> Cx<'_, '_, P> {
    /// Runs the loops that `declare` declares, at a time, on the workers that are free, and returns
    /// how each ran when all have ended. Idle times of one loop are filled with another, so they
    /// end earlier than one after the other.
    ///
    /// Bodies may borrow what lives outside of `declare`. What one loop writes and another one
    /// accesses is an array of [`columns`](LoopScope::columns), for which each loop declares what
    /// it reads and writes.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) -> Result<(), tautline_core::loops::LoopConflict> {
    /// let (mut squares, mut cubes) = ([0; 1000], [0; 500]);
    /// cx.concurrent(|loops| {
    ///     let squares = loops.columns("squares", &mut squares, 1);
    ///     let cubes = loops.columns("cubes", &mut cubes, 1);
    ///     let each = loops.par_for(0..1000).writes(&squares, |i| i..i + 1);
    ///     each.run(|i, (mut square,)| square[i][0] = i * i);
    ///     let each = loops.par_for(0..500).writes(&cubes, |i| i..i + 1);
    ///     each.run(|i, (mut cube,)| cube[i][0] = i * i * i);
    /// })?;
    /// assert_eq!((squares[999], cubes[9]), (998_001, 729));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// If a finish around this task is cancelled, iterations that have not started are left out,
    /// but for the rest of the blocks that run, and the call [unwinds](crate::task::Cx::par) to it.
    /// If all iterations of all loops have started, it returns.
    ///
    /// # Errors
    /// If iterations that may run concurrently access the same columns, one to write them, or an
    /// iteration accesses columns that do not exist. No iteration was run then.
    ///
    /// # Panics
    /// With a panic of `declare`, or of a body, also if that accesses columns that its loop does
    /// not declare. Iterations that have not started by then may be left out.
    pub fn concurrent<'env>(
        &mut self,
        declare: impl for<'s> FnOnce(&mut LoopScope<'s, 'env>),
    ) -> Result<Vec<Report>, LoopConflict> {
        let mut scope = LoopScope {
            arrays: Arrays::default(),
            outlines: Vec::new(),
            bodies: Vec::new(),
            sharing: Sharing::default(),
            env: PhantomData,
        };
        declare(&mut scope);
        let LoopScope {
            arrays,
            outlines,
            bodies,
            sharing,
            ..
        } = scope;
        run(self, outlines, bodies, arrays.all(), sharing)
    }
}

/// Concurrent loops. Made by [`Cx::concurrent`].
///
/// ```
/// # use tautline_core::{loops::{Columns, LoopId, LoopScope}, port::Host, task::Cx};
/// /// Declares a loop: a function that several programs call.
/// fn count<'s>(loops: &mut LoopScope<'s, '_>, cells: &Columns<'s, usize>) -> LoopId<'s> {
///     let each = loops.par_for(0..cells.count()).writes(cells, |c| c..c + 1);
///     each.run(|c, (mut cell,)| cell[c][0] = c)
/// }
///
/// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
/// let mut cells = [0; 100];
/// let ran = cx.concurrent(|loops| {
///     let cells = loops.columns("cells", &mut cells, 1);
///     count(loops, &cells);
/// });
/// assert!(ran.is_ok() && cells[99] == 99);
/// # }
/// ```
pub struct LoopScope<'s, 'env: 's> {
    arrays: Arrays<'s>,
    outlines: Vec<Outline>,
    bodies: Vec<Box<dyn Run + 's>>,
    sharing: Sharing,
    env: PhantomData<&'env mut &'env ()>,
}

impl<'s, 'env> LoopScope<'s, 'env> {
    /// Sets how the loops share the workers; [`Sharing::Fill`] unless it is called.
    ///
    /// ```
    /// # use tautline_core::{loops::Sharing, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let ran = cx.concurrent(|loops| {
    ///     loops.share_by(Sharing::Partition);
    ///     loops.par_for(0..100).for_each(|_| ());
    ///     loops.par_for(0..200).for_each(|_| ());
    /// });
    /// assert_eq!(ran.map(|reports| reports.len()), Ok(2));
    /// # }
    /// ```
    pub fn share_by(&mut self, sharing: Sharing) {
        self.sharing = sharing;
    }

    /// Makes an array of columns of `width` items each, which the loops of this scope share. `name`
    /// is for messages.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut grid = [0; 3 * 10];
    /// let ran = cx.concurrent(|loops| {
    ///     let grid = loops.columns("grid", &mut grid, 3);
    ///     let all = loops.par_for(0..grid.count()).writes(&grid, |c| c..c + 1);
    ///     all.run(|c, (mut column,)| column[c].fill(c));
    /// });
    /// assert!(ran.is_ok() && grid.chunks(3).enumerate().all(|(c, column)| column == [c; 3]));
    /// # }
    /// ```
    ///
    /// # Panics
    /// If `width` is 0 or does not divide the number of items.
    pub fn columns<T: Send + Sync>(
        &mut self,
        name: &'static str,
        data: &'env mut [T],
        width: usize,
    ) -> Columns<'s, T> {
        self.arrays.add(name, data, width)
    }

    /// Prepares a loop over `range`. Loops that do not come [`after`](ConcurrentLoop::after)
    /// another one begin at once.
    ///
    /// ```
    /// # use core::sync::atomic::{AtomicU64, Ordering};
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let sum = AtomicU64::new(0);
    /// let ran = cx.concurrent(|loops| {
    ///     loops.par_for(0..1000).for_each(|i| _ = sum.fetch_add(i as u64, Ordering::Relaxed));
    /// });
    /// assert!(ran.is_ok() && sum.into_inner() == 499_500);
    /// # }
    /// ```
    pub fn par_for(&mut self, range: Range<usize>) -> ConcurrentLoop<'_, 's, 'env, ()> {
        let outline = Outline {
            name: Name {
                given: None,
                number: self.outlines.len(),
            },
            range: range.start..range.end.max(range.start),
            active: None,
            after: Vec::new(),
            is_split: false,
            schedule: Schedule::Auto,
        };
        ConcurrentLoop {
            scope: self,
            outline,
            accessed: Accessed::NONE,
        }
    }
}

impl fmt::Debug for LoopScope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        list.entries(self.outlines.iter()).finish()
    }
}

/// A loop of a scope, for those that come after it. Made by [`ConcurrentLoop::run`].
///
/// ```
/// # use tautline_core::{port::Host, task::Cx};
/// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
/// let ran = cx.concurrent(|loops| {
///     let first = loops.par_for(0..100).for_each(|_| ());
///     let second = loops.par_for(0..200).for_each(|_| ());
///     loops.par_for(0..300).after(first).after(second).for_each(|_| ());
/// });
/// assert_eq!(ran.map(|reports| reports.len()), Ok(3));
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LoopId<'s> {
    number: usize,
    /// Invariant, so that it stays with its scope.
    scope: PhantomData<fn(&'s ()) -> &'s ()>,
}

/// A loop that is being declared. Made by [`LoopScope::par_for`].
///
/// ```
/// # use tautline_core::{loops::Schedule, port::Host, task::Cx};
/// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
/// let (mut from, mut to) = ([1; 100], [0; 99]);
/// let ran = cx.concurrent(|loops| {
///     let (from, to) = (loops.columns("from", &mut from, 1), loops.columns("to", &mut to, 1));
///     let sums = loops.par_for(0..99).named("sums").schedule(Schedule::Factoring);
///     let sums = sums.reads(&from, |c| c..c + 2).writes(&to, |c| c..c + 1);
///     sums.run(|c, (from, mut to)| to[c][0] = from[c][0] + from[c + 1][0]);
/// });
/// assert!(ran.is_ok() && to == [2; 99]);
/// # }
/// ```
#[must_use = "a loop is declared when run or for_each is called"]
pub struct ConcurrentLoop<'l, 's, 'env: 's, A> {
    scope: &'l mut LoopScope<'s, 'env>,
    outline: Outline,
    accessed: Accessed<A>,
}

impl<'l, 's, 'env, A> ConcurrentLoop<'l, 's, 'env, A> {
    /// Names the loop, in messages and in its report.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let ran = cx.concurrent(|loops| _ = loops.par_for(0..100).named("rows").for_each(|_| ()));
    /// assert_eq!(ran.map(|reports| reports[0].name), Ok(Some("rows")));
    /// # }
    /// ```
    pub fn named(mut self, name: &'static str) -> Self {
        self.outline.name.given = Some(name);
        self
    }

    /// Sets how the iterations are divided.
    ///
    /// ```
    /// # use tautline_core::{loops::Schedule, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let ran = cx.concurrent(|loops| {
    ///     let rows = loops.par_for(0..100).schedule(Schedule::Dynamic(10));
    ///     rows.for_each(|_| ());
    /// });
    /// assert_eq!(ran.map(|reports| reports[0].schedule), Ok(Schedule::Dynamic(10)));
    /// # }
    /// ```
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.outline.schedule = schedule;
        self
    }

    /// Runs only the iterations for which `is_active` returns true. Called with all of them at
    /// once, on the calling task.
    ///
    /// ```
    /// # use core::sync::atomic::{AtomicUsize, Ordering};
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let (mask, count) = ([true, false, true], AtomicUsize::new(0));
    /// let ran = cx.concurrent(|loops| {
    ///     let masked = loops.par_for(0..3).only(|i| mask[i]);
    ///     masked.for_each(|_| _ = count.fetch_add(1, Ordering::Relaxed));
    /// });
    /// assert!(ran.is_ok() && count.into_inner() == 2);
    /// # }
    /// ```
    pub fn only(mut self, is_active: impl Fn(usize) -> bool) -> Self {
        let outline = &mut self.outline;
        let all = (0..outline.len()).map(|position| outline.at(position));
        let active = all.filter(|at| is_active(outline.range.start + at));
        outline.active = Some(active.collect());
        self
    }

    /// Makes the loop come after `earlier`, and after all loops that that one comes after: it
    /// begins when they have ended, or, if it is [`split`](Self::split), each iteration when those
    /// have ended whose columns it accesses.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let (mut q, mut sums) = ([0; 100], [0; 100]);
    /// let ran = cx.concurrent(|loops| {
    ///     let (q, sums) = (loops.columns("q", &mut q, 1), loops.columns("sums", &mut sums, 1));
    ///     let first = loops.par_for(0..100).writes(&q, |c| c..c + 1).run(|c, (mut q,)| q[c][0] = c);
    ///     let second = loops.par_for(0..100).reads(&q, |c| 0..c + 1).writes(&sums, |c| c..c + 1);
    ///     second.after(first).run(|c, (q, mut sums)| sums[c][0] = q.columns().map(|at| q[at][0]).sum());
    /// });
    /// assert!(ran.is_ok() && sums[99] == 4950);
    /// # }
    /// ```
    pub fn after(mut self, earlier: LoopId<'s>) -> Self {
        self.outline.after.push(earlier.number);
        self
    }

    /// Splits the loop by what its iterations wait for (Lucco 1995, 003:781-821): those that access
    /// no column that a loop before writes, nor write one that it reads, begin at once; the others
    /// as soon as these columns are final. So the loop is pipelined with those that it comes
    /// [`after`](Self::after).
    ///
    /// An iteration that accesses more than 64 columns of an array, of which one is not final, or
    /// writes one that several iterations read, waits for the end of the loop before.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let (mut q, mut output) = ([1; 100], [0; 100]);
    /// let is_active = |c: usize| c % 10 == 0;
    /// let ran = cx.concurrent(|loops| {
    ///     let (q, output) = (loops.columns("q", &mut q, 1), loops.columns("output", &mut output, 1));
    ///     let a = loops.par_for(0..100).named("A").only(is_active).writes(&q, |c| c..c + 1);
    ///     let a = a.run(|c, (mut q,)| q[c][0] = 2);
    ///     // Nine of ten iterations begin at once, the others after the one of A with their number.
    ///     let b = loops.par_for(0..100).named("B").reads(&q, |c| c..c + 1).writes(&output, |c| c..c + 1);
    ///     b.after(a).split().run(|c, (q, mut output)| output[c][0] = 10 * q[c][0]);
    /// });
    /// assert!(ran.is_ok() && output[..11] == [20, 10, 10, 10, 10, 10, 10, 10, 10, 10, 20]);
    /// # }
    /// ```
    pub fn split(mut self) -> Self {
        self.outline.is_split = true;
        self
    }

    /// Declares the columns of `array` that each iteration reads. The body receives a
    /// [`ColumnsRef`](crate::loops::ColumnsRef) with them. At most four arrays are accessed.
    ///
    /// ```
    /// # use core::sync::atomic::{AtomicU64, Ordering};
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let (mut cells, sum) = ([1; 100], AtomicU64::new(0));
    /// let ran = cx.concurrent(|loops| {
    ///     let cells = loops.columns("cells", &mut cells, 1);
    ///     let add = loops.par_for(0..100).reads(&cells, |c| c..c + 1);
    ///     add.run(|c, (cells,)| _ = sum.fetch_add(cells[c][0], Ordering::Relaxed));
    /// });
    /// assert!(ran.is_ok() && sum.into_inner() == 100);
    /// # }
    /// ```
    pub fn reads<T: Send + Sync>(
        self,
        array: &Columns<'s, T>,
        of: impl Fn(usize) -> Range<usize>,
    ) -> ConcurrentLoop<'l, 's, 'env, A::Out>
    where
        A: Push<Reads<'s, T>>,
    {
        ConcurrentLoop {
            accessed: self.accessed.reads(array, self.outline.range.clone(), of),
            scope: self.scope,
            outline: self.outline,
        }
    }

    /// Declares the columns of `array` that each iteration writes, which it may read as well. No
    /// other iteration of the loop may access them. The body receives a
    /// [`ColumnsMut`](crate::loops::ColumnsMut) with them.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut cells = [1; 100];
    /// let ran = cx.concurrent(|loops| {
    ///     let cells = loops.columns("cells", &mut cells, 1);
    ///     let double = loops.par_for(0..100).writes(&cells, |c| c..c + 1);
    ///     double.run(|c, (mut cells,)| cells[c][0] *= 2);
    /// });
    /// assert!(ran.is_ok() && cells == [2; 100]);
    /// # }
    /// ```
    pub fn writes<T: Send + Sync>(
        self,
        array: &Columns<'s, T>,
        of: impl Fn(usize) -> Range<usize>,
    ) -> ConcurrentLoop<'l, 's, 'env, A::Out>
    where
        A: Push<Writes<'s, T>>,
    {
        ConcurrentLoop {
            accessed: self.accessed.writes(array, self.outline.range.clone(), of),
            scope: self.scope,
            outline: self.outline,
        }
    }

    /// Declares the loop with its body, which is called with each index, and a tuple of what the
    /// iteration may access, in the order of the declarations. It is called when the scope runs,
    /// each index once, in an order that is not defined.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let (mut a, mut b) = ([1; 100], [0; 100]);
    /// let ran = cx.concurrent(|loops| {
    ///     let (a, b) = (loops.columns("a", &mut a, 1), loops.columns("b", &mut b, 1));
    ///     let copy = loops.par_for(0..100).reads(&a, |c| c..c + 1).writes(&b, |c| c..c + 1);
    ///     copy.run(|c, (a, mut b)| b[c][0] = a[c][0]); // the arrays in the order of their declarations
    /// });
    /// assert!(ran.is_ok() && b == [1; 100]);
    /// # }
    /// ```
    pub fn run<F>(self, body: F) -> LoopId<'s>
    where
        A: Accesses + 's,
        F: for<'v> Fn(usize, A::Views<'v>) + Sync + 'env,
    {
        let number = self.outline.name.number;
        self.scope.outlines.push(self.outline);
        self.scope.bodies.push(self.accessed.with(body));
        LoopId {
            number,
            scope: PhantomData,
        }
    }
}

impl<'s, 'env> ConcurrentLoop<'_, 's, 'env, ()> {
    /// Declares a loop that accesses no shared arrays, as [`run`](Self::run).
    ///
    /// ```
    /// # use core::sync::atomic::{AtomicUsize, Ordering};
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let [rows, columns] = [const { AtomicUsize::new(0) }; 2];
    /// let ran = cx.concurrent(|loops| {
    ///     loops.par_for(0..30).for_each(|_| _ = rows.fetch_add(1, Ordering::Relaxed));
    ///     loops.par_for(0..70).for_each(|_| _ = columns.fetch_add(1, Ordering::Relaxed));
    /// });
    /// assert!(ran.is_ok() && (rows.into_inner(), columns.into_inner()) == (30, 70));
    /// # }
    /// ```
    pub fn for_each(self, body: impl Fn(usize) + Sync + 'env) -> LoopId<'s> {
        self.run(move |index, ()| body(index))
    }
}

impl<A> fmt::Debug for ConcurrentLoop<'_, '_, '_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.outline.fmt(f)
    }
}
