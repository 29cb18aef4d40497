//! Tasks that wait for cells: each becomes ready or is cancelled, exactly one of the two, and its
//! memory is freed once.

use super::machine::{Cell, Cxt, overwrite_stack, with_others};
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline_core::finish::Reason;
use tautline_core::flow::{CellRef, Ddf, Inputs};
use tautline_core::task::Cancelled;
use tautline_verify::model::Model;

/// The fate of a body.
#[derive(Default)]
struct Fate {
    ran: AtomicUsize,
    dropped: AtomicUsize,
    /// Written when the body is dropped or has run.
    gone: Cell,
}

/// Captured by a body.
struct Token<'a>(&'a Fate, bool);

impl Token<'_> {
    fn run(mut self) {
        self.1 = true;
    }
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        let count = if self.1 { &self.0.ran } else { &self.0.dropped };
        count.fetch_add(1, Relaxed);
        self.0.gone.set(1);
    }
}

/// Checks that in some executions the body ran, and in others it was dropped.
fn both_ways(model: Model, program: impl Fn() -> bool + Sync + Send + 'static) {
    let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let seen = Arc::clone(&counts);
    model.check(move || {
        counts[usize::from(program())].fetch_add(1, Relaxed);
    });
    let [dropped, ran] = [seen[0].load(Relaxed), seen[1].load(Relaxed)];
    assert!(
        dropped > 0 && ran > 0,
        "dropped {dropped} times, ran {ran} times"
    );
}

/// Returns whether it ran.
fn ran(fate: &Fate) -> bool {
    let (ran, dropped) = (fate.ran.load(Relaxed), fate.dropped.load(Relaxed));
    assert_eq!(ran + dropped, 1, "ran {ran} times, dropped {dropped} times");
    assert_eq!(fate.gone.get(), 1);
    ran == 1
}

/// Inputs whose accesses and drop loom observes.
struct Watched<'a> {
    cells: [&'a Ddf<usize>; 2],
    count: usize,
    /// Read at every access to a cell.
    cells_there: &'a Cell,
    /// Read at every access to the inputs, written when they are dropped.
    inputs_there: Arc<Cell>,
}

// SAFETY: the cells stay the same; nothing panics unless the model fails.
unsafe impl<'a> Inputs<'a> for Watched<'a> {
    type Values = usize;

    fn count(&self) -> usize {
        _ = self.inputs_there.get();
        self.count
    }

    fn latch_at(&self, index: usize) -> Option<CellRef<'a>> {
        let cell = self.cells[..self.count].get(index)?;
        _ = (self.inputs_there.get(), self.cells_there.get());
        Some(CellRef::borrowed(cell.latch()))
    }

    fn is_full(&self) -> bool {
        self.cells[..self.count].iter().all(|cell| cell.is_full())
    }

    fn into_values(self) -> usize {
        let cells = self.cells[..self.count].iter();
        cells.map(|cell| cell.get().unwrap()).sum()
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.inputs_there.set(self.inputs_there.get() + 1);
    }
}

/// Opens a finish in a separate frame, which is freed with it.
#[inline(never)]
fn finish<'e, R>(
    cx: &mut Cxt<'_, 'e>,
    body: impl for<'s> FnOnce(&mut Cxt<'s, 'e>) -> R,
) -> Result<R, Cancelled> {
    cx.finish(body)
}

/// A put races with the abort of the scope, for a task that waits for `count` cells, the second of
/// which may be freed with the scope. Returns whether the body ran.
fn put_against_end(count: usize, puts: usize) -> bool {
    let first = Arc::new(Ddf::new());
    let inputs_there = Arc::new(Cell::default());
    let fate = Fate::default();
    let theirs = Arc::clone(&first);
    let putter = thread::spawn(move || theirs.put(1).unwrap());
    let (second, cells_there) = (Ddf::new(), Cell::default());
    if puts > 1 {
        second.put(2).unwrap();
    }
    let ended = with_others(0, |cx| {
        let ended = finish(cx, |cx| {
            // Runs after a task that is ready by now, and before one that becomes ready.
            cx.spawn(|cx: &mut Cxt<'_, '_>| _ = cx.cancel(Reason::Found));
            let cells = [&*first, &second];
            let watched = Watched {
                cells,
                count,
                cells_there: &cells_there,
                inputs_there: Arc::clone(&inputs_there),
            };
            let token = Token(&fate, false);
            cx.spawn_when(watched, move |sum, _| {
                assert_eq!(sum, count * (count + 1) / 2);
                token.run();
            });
        });
        // Freed as soon as the finish has returned, while the pool is still alive, whose drop would
        // wait for the putter: the scope and its private cells.
        cells_there.set(1);
        overwrite_stack();
        ended
    });
    assert_eq!(ended.unwrap().map_err(|c| c.reason), Err(Reason::Found));
    let ran = ran(&fate);
    putter.join().unwrap();
    drop(second);
    drop(first);
    assert_eq!(inputs_there.get(), 1, "drops of the inputs");
    ran
}

/// X1, X2: the put that makes the task ready against the abort of its scope.
#[test]
fn waiting_put_end() {
    let model = Model::new("waiting_put_end").bound(3).floor(3_300);
    both_ways(model, || put_against_end(1, 1));
}

/// X3, X4: a put that is not the last one against the abort: it accesses no cell that was freed
/// with the scope, and the task does not stay waiting.
#[test]
fn waiting_walk_end() {
    Model::new("waiting_walk_end")
        .bound(3)
        .floor(3_400)
        .check(|| assert!(!put_against_end(2, 1)));
}

/// The same where the walk finds the second cell full.
#[test]
fn waiting_walk_through() {
    let model = Model::new("waiting_walk_through").bound(2).floor(4_900);
    both_ways(model, || put_against_end(2, 2));
}

/// A task that waits for one of two cells, which are put concurrently, against the abort of its
/// scope.
#[test]
fn waiting_any_end() {
    let model = Model::new("waiting_any_end").bound(2).floor(460);
    both_ways(model, || {
        let cells: [Arc<Ddf<usize>>; 2] = Default::default();
        let fate = Fate::default();
        let theirs = Arc::clone(&cells[1]);
        let putter = thread::spawn(move || theirs.put(1).unwrap());
        let ended = with_others(0, |cx| {
            cx.finish(|cx| {
                cx.spawn(|cx: &mut Cxt<'_, '_>| _ = cx.cancel(Reason::Found));
                let token = Token(&fate, false);
                let waits = cx.spawn_when_any([&*cells[0], &*cells[1]], move |(k, &v), _| {
                    assert_eq!((k, v), (1, 1));
                    token.run();
                });
                waits.unwrap();
            })
        });
        assert_eq!(ended.unwrap().map_err(|c| c.reason), Err(Reason::Found));
        let ran = ran(&fate);
        putter.join().unwrap();
        ran
    });
}

/// One worker waits for a cell that another puts: the value is visible, and the worker is woken.
#[test]
fn waiting_put() {
    Model::new("waiting_put").bound(1).floor(14_000).check(|| {
        let (cell, sums) = (Ddf::new(), Cell::default());
        let sum = with_others(1, |cx| {
            cx.scope(|cx| {
                cx.spawn(|_| cell.put(3).unwrap());
                cx.spawn_when(&cell, |&value, _| sums.set(value));
            });
            sums.get()
        });
        assert_eq!(sum.unwrap(), 3);
    });
}
