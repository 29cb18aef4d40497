//! Lists of cells that are built at run time.
//!
//! # Words
//! `fired`: [`NONE`], then for ever the index that the first waiter was given, plus one.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | E4 | `Record::ready` sets `fired` | `index` loads it | that the cell is full | `list_index` |

use super::all::{Ready, when_all_scoped};
use super::any::{EmptyAny, when_any_scoped};
use super::ddf::{Ddf, NotReady};
use crate::sync::{AtomicUsize, Ordering};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

const NONE: usize = 0;

/// Cells that are waited for together, all or any of them (Chatterjee 2013, section 4.2).
///
/// ```
/// # use tautline_core::flow::{Ddf, DdfList};
/// let cells: Vec<Ddf<u32>> = (0..4).map(|_| Ddf::new()).collect();
/// let mut list = DdfList::any(&cells[..2]);
/// list.push(&cells[3]);
/// assert_eq!(list.cells().len(), 3);
/// ```
#[derive(Debug)]
pub struct DdfList<'a, T> {
    cells: Vec<&'a Ddf<T>>,
    /// `None` for an AND list.
    fired: Option<Arc<AtomicUsize>>,
}

impl<'a, T> DdfList<'a, T> {
    /// Creates an AND list: ready when all of its cells are full.
    ///
    /// ```
    /// # use tautline_core::flow::{Ddf, DdfList};
    /// let cells = [Ddf::new(), Ddf::new()];
    /// let list = DdfList::all(&cells);
    /// cells[0].put(1).unwrap();
    /// assert_eq!(list.cells().len(), 2);
    /// ```
    pub fn all(cells: impl IntoIterator<Item = &'a Ddf<T>>) -> Self {
        Self {
            cells: cells.into_iter().collect(),
            fired: None,
        }
    }

    /// Creates an OR list: ready when one of its cells is full.
    pub fn any(cells: impl IntoIterator<Item = &'a Ddf<T>>) -> Self {
        Self {
            cells: cells.into_iter().collect(),
            fired: Some(Arc::new(AtomicUsize::new(NONE))),
        }
    }

    /// Appends a cell. Waits that have begun are not affected.
    ///
    /// ```
    /// # use tautline_core::flow::{Ddf, DdfList};
    /// let cells = [Ddf::new(), Ddf::new()];
    /// let mut list = DdfList::all(&cells[..1]);
    /// list.push(&cells[1]);
    /// # cells[0].put(1).unwrap();
    /// assert_eq!(list.cells().len(), 2);
    /// ```
    pub fn push(&mut self, cell: &'a Ddf<T>) {
        self.cells.push(cell);
    }

    /// Returns the cells, in the order in which [`index`](Self::index) counts them.
    pub fn cells(&self) -> &[&'a Ddf<T>] {
        &self.cells
    }

    /// Returns the index of the cell that released the first waiter of this OR list.
    ///
    /// ```
    /// # use tautline_core::flow::{Ddf, DdfList, NoIndex};
    /// let cell = Ddf::<u32>::new();
    /// assert_eq!(DdfList::any([&cell]).index(), Err(NoIndex::NotReady));
    /// assert_eq!(DdfList::all([&cell]).index(), Err(NoIndex::NotAnyList));
    /// ```
    ///
    /// # Errors
    /// If it is an AND list, or if no waiter was released yet.
    pub fn index(&self) -> Result<usize, NoIndex> {
        let fired = self.fired.as_ref().ok_or(NoIndex::NotAnyList)?;
        // ORDERING: Acquire, pairs with Release in Record::ready (E4): the cell is full.
        let fired = fired.load(Ordering::Acquire);
        fired.checked_sub(1).ok_or(NoIndex::NotReady)
    }
}

impl<T: Send + Sync> DdfList<'static, T> {
    /// Calls `ready` once the list is ready, as [`when_all`](super::when_all) or
    /// [`when_any`](super::when_any).
    ///
    /// # Errors
    /// If it is an OR list without cells: returns `ready`.
    pub fn when<R>(&self, ready: R) -> Result<(), EmptyAny<R>>
    where
        R: Ready<Fired<'static, T>> + Send + 'static,
    {
        // SAFETY: all borrows are `'static`.
        unsafe { self.when_scoped(ready) }
    }
}

impl<'a, T: Send + Sync> DdfList<'a, T> {
    /// As [`when`](DdfList::when), over borrowed cells.
    ///
    /// # Errors
    /// If it is an OR list without cells: returns `ready`.
    ///
    /// # Safety
    /// The caller must keep the cells alive until `ready` was called or dropped and this has
    /// returned, and what `ready` borrows until `ready` was called or dropped.
    pub unsafe fn when_scoped<R>(&self, ready: R) -> Result<(), EmptyAny<R>>
    where
        R: Ready<Fired<'a, T>> + Send,
    {
        let Some(fired) = &self.fired else {
            let cells = self.cells.clone();
            // SAFETY: the borrows live until `ready` was called or dropped, as the caller ensures.
            unsafe { when_all_scoped(cells, move |values| ready.ready(Fired::All(values))) };
            return Ok(());
        };
        let fired = Arc::clone(fired);
        // SAFETY: the cells and the borrows live long enough, as the caller ensures.
        let registered = unsafe { when_any_scoped(&self.cells, Record { fired, ready }) };
        registered.map_err(|EmptyAny(record)| EmptyAny(record.ready))
    }
}

/// Records in the list which cell was full.
struct Record<R> {
    fired: Arc<AtomicUsize>,
    ready: R,
}

impl<'a, T, R: Ready<Fired<'a, T>>> Ready<(usize, &'a T)> for Record<R> {
    fn ready(self, (index, value): (usize, &'a T)) {
        // ORDERING: Release, pairs with Acquire in DdfList::index (E4): the cell is full.
        // ORDERING: failure Relaxed: another waiter was first.
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        let _ = self
            .fired
            .compare_exchange(NONE, index + 1, success, failure);
        self.ready.ready(Fired::Any(index, value));
    }
}

/// The values of a list that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fired<'a, T> {
    /// All values, in the order of the list.
    All(Vec<&'a T>),
    /// The index of a full cell, and its value.
    Any(usize, &'a T),
}

/// The reason why a list has no index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoIndex {
    /// The list is an AND list.
    NotAnyList,
    /// The OR list has released no waiter yet.
    NotReady,
}

impl fmt::Display for NoIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnyList => f.write_str("an AND list has no index: only an OR list has one"),
            Self::NotReady => write!(f, "the OR list has no index yet: {NotReady}"),
        }
    }
}

impl core::error::Error for NoIndex {}
