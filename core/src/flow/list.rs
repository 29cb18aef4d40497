//! Lists of cells that are built while the program runs.
//!
//! # Words
//! `fired`: [`NONE`], then for ever the index that the first of those who wait was given, plus one.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | C4 | `Note::ready` sets `fired` | `index` loads it | that the cell is full | `list_index` |

use super::{Ddf, EmptyAny, NotReady, Ready, when_all_scoped, when_any_scoped};
use crate::sync::{AtomicUsize, Ordering};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

const NONE: usize = 0;

/// Cells that are waited for together, all or any of them (Chatterjee 2013, section 4.2).
#[derive(Debug)]
pub struct DdfList<'a, T> {
    cells: Vec<&'a Ddf<T>>,
    /// On OR lists only.
    fired: Option<Arc<AtomicUsize>>,
}

impl<'a, T> DdfList<'a, T> {
    /// An AND list: ready when all of its cells are full.
    pub fn all(cells: impl IntoIterator<Item = &'a Ddf<T>>) -> Self {
        Self {
            cells: cells.into_iter().collect(),
            fired: None,
        }
    }

    /// An OR list: ready when one of its cells is full.
    pub fn any(cells: impl IntoIterator<Item = &'a Ddf<T>>) -> Self {
        Self {
            cells: cells.into_iter().collect(),
            fired: Some(Arc::new(AtomicUsize::new(NONE))),
        }
    }

    /// Adds a cell at the end, for those who begin to wait later.
    pub fn push(&mut self, cell: &'a Ddf<T>) {
        self.cells.push(cell);
    }

    /// The cells, in the order in which [`index`](Self::index) counts them.
    pub fn cells(&self) -> &[&'a Ddf<T>] {
        &self.cells
    }

    /// Which cell made this OR list ready, for the first of those who wait for it.
    ///
    /// # Errors
    /// If it is an AND list, or if nobody was released yet.
    pub fn index(&self) -> Result<usize, NoIndex> {
        let fired = self.fired.as_ref().ok_or(NoIndex::NotAnyList)?;
        // ORDERING: Acquire, pairs with Release in Note::ready (C4): the cell is seen full.
        let fired = fired.load(Ordering::Acquire);
        fired.checked_sub(1).ok_or(NoIndex::NotReady)
    }
}

impl<T: Send + Sync> DdfList<'static, T> {
    /// Calls `ready` once the list is, as [`when_all`](super::when_all) or [`when_any`](super::when_any).
    ///
    /// # Errors
    /// If it is an OR list without cells: gives `ready` back.
    pub fn when<R>(&self, ready: R) -> Result<(), EmptyAny<R>>
    where
        R: Ready<Fired<'static, T>> + Send + 'static,
    {
        // SAFETY: nothing is borrowed but what lives for ever.
        unsafe { self.when_scoped(ready) }
    }
}

impl<'a, T: Send + Sync> DdfList<'a, T> {
    /// [`when`](DdfList::when) over cells that are borrowed.
    ///
    /// # Errors
    /// If it is an OR list without cells: gives `ready` back.
    ///
    /// # Safety
    /// The cells and what `ready` borrows live until `ready` was called or dropped.
    pub unsafe fn when_scoped<R>(&self, ready: R) -> Result<(), EmptyAny<R>>
    where
        R: Ready<Fired<'a, T>> + Send,
    {
        let Some(fired) = &self.fired else {
            let cells = self.cells.clone();
            // SAFETY: promised by the caller.
            unsafe { when_all_scoped(cells, move |values| ready.ready(Fired::All(values))) };
            return Ok(());
        };
        let fired = Arc::clone(fired);
        // SAFETY: promised by the caller.
        let asked = unsafe { when_any_scoped(&self.cells, Note { fired, ready }) };
        asked.map_err(|EmptyAny(note)| EmptyAny(note.ready))
    }
}

/// Leaves in the list which cell it was.
struct Note<R> {
    fired: Arc<AtomicUsize>,
    ready: R,
}

impl<'a, T, R: Ready<Fired<'a, T>>> Ready<(usize, &'a T)> for Note<R> {
    fn ready(self, (index, value): (usize, &'a T)) {
        // ORDERING: Release, pairs with Acquire in DdfList::index (C4): the cell is full.
        // ORDERING: failure Relaxed: another one was first.
        let (yes, no) = (Ordering::Release, Ordering::Relaxed);
        let _ = self.fired.compare_exchange(NONE, index + 1, yes, no);
        self.ready.ready(Fired::Any(index, value));
    }
}

/// What a list has to give when it is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fired<'a, T> {
    /// All values, in the order of the list.
    All(Vec<&'a T>),
    /// The index of a full cell, and its value.
    Any(usize, &'a T),
}

/// Why a list has no index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoIndex {
    /// It is an AND list.
    NotAnyList,
    /// It is an OR list that has released nobody yet.
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
