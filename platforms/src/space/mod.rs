//! Values with names: tasks put them, and other tasks wait for them by name.
//!
//! A [`Space`] is a table of cells, as [`Ddf`](crate::runtime::Ddf), by key. A cell need not be
//! made: the first call that names its key does so, whether that is a put or a read. So a program
//! may spawn a task before it is known which tasks make its inputs, and how many there are.
//!
//! ```
//! use tautline::prelude::*;
//! use tautline::space::Space;
//!
//! // Paths through a grid, from the upper left corner: each square is read by two others.
//! let paths = &Space::<(usize, usize), u64>::local();
//! let of = |row, column| paths.get((row, column));
//! Runtime::new()?.run(|cx| {
//!     for (row, column) in (1..=8).flat_map(|row| (1..=8).map(move |column| (row, column))) {
//!         cx.spawn_when((of(row - 1, column), of(row, column - 1)), move |(above, left), _| {
//!             paths.put((row, column), *above + *left).unwrap();
//!         });
//!     }
//!     for border in 0..=8 {
//!         paths.put((0, border), 1).unwrap();
//!         paths.put((border + 1, 0), 1).unwrap();
//!     }
//!     cx.spawn_when(of(8, 8), |corner, _| assert_eq!(*corner, 12_870));
//! });
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! # Memory
//! A value is kept as long as the space. With [`readers`](Space::readers), a space knows the number
//! of reads of each key, and drops a value after its last read: a program may then put any number
//! of values in the memory of those that are still to be read. It also detects further reads, and
//! permits to [`take`](Space::take) a value.

mod cells;
mod error;

use error::Site;
use std::fmt;
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::Location;

#[cfg(feature = "serde")]
pub use crate::ranks::space::{Builder, Key, Readers};
pub(crate) use cells::{Cells, Near};
#[cfg(feature = "serde")]
pub(crate) use cells::{Far, Reads};
pub use error::{Abandoned, PutError, Refused, Waiting};
pub use tautline_core::space::home::{self, Grid};
pub use tautline_core::space::{Get, Item, Misuse, Take};

/// Values by name, each put once.
///
/// ```
/// use tautline::prelude::*;
/// use tautline::space::Space;
///
/// let words = Space::<&str, String>::local();
/// Runtime::new()?.run(|cx| {
///     cx.spawn_when(words.get("greeting"), |greeting, _| assert_eq!(*greeting, "hello"));
///     cx.spawn(|_| words.put("greeting", "hello".to_owned()).unwrap());
/// });
/// # Ok::<(), tautline::Error>(())
/// ```
pub struct Space<K: 'static, V> {
    cells: Cells<K, V>,
    site: Site,
}

impl<K: 'static, V> Space<K, V> {
    /// Creates a space of this process, in which reads are not declared.
    ///
    /// ```
    /// # use tautline::space::Space;
    /// let squares = Space::local();
    /// squares.put(7, 49).unwrap();
    /// assert!(squares.test(&7) && !squares.test(&8));
    /// ```
    #[track_caller]
    pub fn local() -> Self {
        Self {
            cells: Cells::Near(Near::new(None)),
            site: Location::caller(),
        }
    }

    /// Declares the reads of each key: `readers` returns their number, for a key always the same.
    /// The value is dropped after the last of them. A read that is cancelled, or whose result is
    /// dropped before it has waited, has ended, too.
    ///
    /// The last 65536 keys, about, are remembered after their last read: a further read or put is
    /// refused.
    ///
    /// ```
    /// # use tautline::space::Space;
    /// let squares = Space::local().readers(|_: &u32| 1);
    /// squares.put(7, 49).unwrap();
    /// drop(squares.get(7)); // the only read
    /// assert!(!squares.test(&7));
    /// let error = squares.try_get(7).unwrap_err();
    /// assert!(error.to_string().ends_with(": 7: read more often than `readers` returns for this key: 1"));
    /// ```
    ///
    /// To be called before the space is used: it drops what was put.
    pub fn readers(self, readers: impl Fn(&K) -> u32 + Send + Sync + 'static) -> Self {
        Self {
            cells: Cells::Near(Near::new(Some(Box::new(readers)))),
            site: self.site,
        }
    }

    /// Creates a space with these cells.
    #[cfg(feature = "serde")]
    pub(crate) fn with(cells: Cells<K, V>, site: Site) -> Self {
        Self { cells, site }
    }
}

impl<K, V> Space<K, V>
where
    K: Clone + Debug + Eq + Hash + Send + 'static,
    V: Send + Sync + 'static,
{
    /// Begins a read of a key, which need not be put: the input of a task, or a future.
    ///
    /// ```
    /// # use tautline::{prelude::*, space::Space};
    /// let lengths = Space::local();
    /// Runtime::new()?.run(|cx| {
    ///     let both = [lengths.get("width"), lengths.get("height")];
    ///     cx.spawn_when(both, |[width, height], _| assert_eq!(*width * *height, 6));
    ///     let width = lengths.get("width");
    ///     cx.spawn_async(async |_| assert_eq!(*width.await, 2));
    ///     lengths.put("width", 2).unwrap();
    ///     lengths.put("height", 3).unwrap();
    /// });
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// If it is [refused](Self::try_get).
    #[track_caller]
    pub fn get(&self, key: K) -> Get<V> {
        self.try_get(key)
            .unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// Begins a read, as [`get`](Self::get).
    ///
    /// ```
    /// # use tautline::space::{Misuse, Space};
    /// let squares = Space::<u32, u32>::local().readers(|key| key % 2);
    /// assert!(squares.try_get(7).is_ok());
    /// assert_eq!(squares.try_get(8).unwrap_err().misuse(), Misuse::Undeclared(0));
    /// ```
    ///
    /// # Errors
    /// If all declared reads of the key have begun.
    pub fn try_get(&self, key: K) -> Result<Get<V>, Refused> {
        let begun = self.cells.get(&key);
        begun.map_err(|misuse| self.refused(key, misuse))
    }

    /// Begins the only read of a key, which moves the value out: the input of a task, or a future.
    ///
    /// ```
    /// # use tautline::{prelude::*, space::Space};
    /// let rows = Space::local().readers(|_: &usize| 1);
    /// Runtime::new()?.run(|cx| {
    ///     for row in 0..10 {
    ///         cx.spawn_when(rows.take(row), move |mut values: Vec<usize>, _| {
    ///             values.push(row); // no copy
    ///         });
    ///     }
    ///     (0..10).for_each(|row| rows.put(row, vec![row; 1000]).unwrap());
    /// });
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// If it is [refused](Self::try_take).
    #[track_caller]
    pub fn take(&self, key: K) -> Take<V> {
        self.try_take(key)
            .unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// Begins the only read of a key, as [`take`](Self::take).
    ///
    /// ```
    /// # use tautline::space::{Misuse, Space};
    /// let squares = Space::<u32, u32>::local();
    /// assert_eq!(squares.try_take(7).unwrap_err().misuse(), Misuse::Shared(None));
    /// ```
    ///
    /// # Errors
    /// If not exactly one read of the key is declared, or it has begun.
    pub fn try_take(&self, key: K) -> Result<Take<V>, Refused> {
        let begun = self.cells.take(&key);
        begun.map_err(|misuse| self.refused(key, misuse))
    }

    /// Puts the value of a key, and makes the tasks ready that wait for it alone. Any thread may
    /// call it.
    ///
    /// ```
    /// # use tautline::space::Space;
    /// let squares = Space::local();
    /// squares.put(7, 49).unwrap();
    /// let error = squares.put(7, 50).unwrap_err();
    /// assert_eq!(error.value, 50);
    /// assert!(error.to_string().ends_with(": 7: put before; a key is put once"));
    /// ```
    ///
    /// # Errors
    /// If the key was put before: contains the value.
    pub fn put(&self, key: K, value: V) -> Result<(), PutError<V>> {
        let put = self.cells.put(&key, value);
        put.map_err(|(value, misuse)| PutError {
            refused: self.refused(key, misuse),
            value,
        })
    }

    /// Returns whether the value of a key is there: it was put, and not dropped after its last
    /// read.
    ///
    /// ```
    /// # use tautline::space::Space;
    /// let squares = Space::local();
    /// assert!(!squares.test(&7));
    /// squares.put(7, 49).unwrap();
    /// assert!(squares.test(&7));
    /// ```
    pub fn test(&self, key: &K) -> bool {
        self.cells.is_full(key)
    }

    /// Returns the number of messages about keys that this rank has sent: values, puts to their
    /// homes, and requests. 0 in a space of one rank.
    #[cfg(feature = "serde")]
    pub fn sent(&self) -> u64 {
        self.cells.sent()
    }

    /// Ends the space, at all ranks, for a reason that [`close`](Self::close) returns there. A task
    /// that waits for a key, now or later, cancels the finish around it instead of being run, with
    /// [`Interrupted`](tautline_core::finish::Reason::Interrupted); without a finish, it panics.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::space::Space;
    ///
    /// let space = Space::<u32, f64>::local();
    /// let outcome = Runtime::new()?.run(|cx| {
    ///     cx.finish(|cx| {
    ///         cx.spawn_when(space.get(7), |_, _| unreachable!("it is not put"));
    ///         cx.spawn(|_| space.abandon("row 3 has no pivot"));
    ///     })
    /// });
    /// assert!(outcome.is_err());
    /// let error = space.close().unwrap_err();
    /// assert!(error.to_string().ends_with("abandoned: row 3 has no pivot"));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn abandon(&self, reason: impl fmt::Display) {
        self.cells.abandon(&reason);
    }

    /// Closes the space. Over ranks, returns once all ranks have closed it and no message is under
    /// way, so that no value is lost: a call of all ranks.
    ///
    /// ```
    /// # use tautline::space::Space;
    /// let squares = Space::<u32, u32>::local();
    /// let square = squares.get(7);
    /// let error = squares.close().unwrap_err();
    /// assert!(error.to_string().ends_with(": closed while 1 read waits for 7"));
    /// # drop(square);
    /// ```
    ///
    /// # Errors
    /// If reads wait for keys that no task will put any more: a [`Waiting`], which names them; if
    /// the space was [abandoned](Self::abandon), here or at another rank; if two ranks have put the
    /// same key, or the home of a key was lost.
    #[track_caller]
    pub fn close(self) -> crate::Result<()> {
        self.cells.close(self.site, Location::caller())
    }

    fn refused(&self, key: K, misuse: Misuse) -> Refused {
        Refused {
            space: self.site,
            key: format!("{key:?}"),
            misuse,
        }
    }
}

impl<K: 'static, V> fmt::Debug for Space<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let site = format_args!("{}", self.site);
        f.debug_struct("Space")
            .field("site", &site)
            .finish_non_exhaustive()
    }
}
