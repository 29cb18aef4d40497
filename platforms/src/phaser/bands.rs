//! Two copies of a grid, in bands of rows, for stencils whose bands meet at a phaser.
//!
//! A step reads the state after phase p and writes that after phase p + 1 to the other copy. A
//! phaser keeps the bands in step; it is not trusted to: every access checks what it finds, by a
//! lock of each copy of a band that is never waited for. So a band that is in another phase is an
//! error, and no data race, however the phaser is used.

use std::fmt;
use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, TryLockError};

/// A grid of rows in bands, each with its state of two phases.
///
/// A band that calculates a phase reads its own rows and the next row of either neighbour, and
/// writes its rows of the next phase. A band calculates a phase once; all of them pass a phaser or
/// another barrier between two phases. The check costs a step four uncontended locks, so bands
/// should have many cells.
///
/// ```
/// use tautline::phaser::{Bands, BandsError, PhaserError};
/// use tautline::prelude::*;
///
/// // Heat flows from the first of eight rows.
/// let mut cells = vec![0.0_f64; 8 * 4];
/// cells[..4].fill(100.0);
/// let bands = &Bands::new(cells, 4, 3);
/// Runtime::new()?.run(|cx| {
///     let mut ph = cx.phaser(Mode::SignalWait)?;
///     for band in 0..bands.len() {
///         cx.spawn_phased([ph.signal_wait()], move |mut task| async move {
///             for phase in 0..200 {
///                 let step = bands.step(band, phase, |old, new| {
///                     for (row, new) in old.rows().zip(new.chunks_mut(4)) {
///                         match (row.checked_sub(1).and_then(|above| old.row(above)), old.row(row + 1)) {
///                             (Some(above), Some(below)) => (0..4).for_each(|x| new[x] = (above[x] + below[x]) / 2.0),
///                             _ => new.copy_from_slice(old.row(row).unwrap()), // the first and the last row are fixed
///                         }
///                     }
///                 });
///                 step.unwrap();
///                 task.next().await.unwrap();
///             }
///         })?;
///     }
///     Ok::<(), PhaserError>(())
/// })?;
/// let cells = bands.cells(200)?;
/// assert!((cells[4 * 4] - 300.0 / 7.0).abs() < 0.1); // linear between 100 and 0
/// # Ok::<(), tautline::Error>(())
/// ```
pub struct Bands<T> {
    width: usize,
    bands: Vec<Band<T>>,
}

struct Band<T> {
    rows: Range<usize>,
    /// The states after even and odd numbers of phases.
    states: [RwLock<State<T>>; 2],
}

struct State<T> {
    /// The number of phases calculated; `None` if the last calculation has not ended.
    phase: Option<u64>,
    cells: Vec<T>,
}

/// A band that does not hold the phase that was to be read, or is not free to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandsError {
    /// The band.
    pub band: usize,
    /// The phase that it should hold.
    pub phase: u64,
    /// The content of the band.
    pub found: Held,
}

/// The content of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The state before this phase.
    Phase(u64),
    /// Nothing: the calculation of the state has panicked, or has failed.
    Nothing,
    /// A state that is being written, or read for another phase.
    InUse,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Phase(phase) => write!(f, "phase {phase}"),
            Self::Nothing => f.write_str("none"),
            Self::InUse => f.write_str("is in use for another one"),
        }
    }
}

impl fmt::Display for BandsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { band, phase, found } = self;
        write!(
            f,
            "band {band} does not hold phase {phase}, but {found}: let all bands pass a barrier between two phases"
        )
    }
}

impl std::error::Error for BandsError {}

impl From<BandsError> for crate::Error {
    fn from(refusal: BandsError) -> Self {
        Self::invalid(refusal)
    }
}

type Reading<'a, T> = RwLockReadGuard<'a, State<T>>;

/// The input of a band in a phase: its rows, and the next row of either neighbour. Passed by
/// [`Bands::step`].
pub struct Rows<'a, T> {
    width: usize,
    rows: Range<usize>,
    above: Option<Reading<'a, T>>,
    own: Reading<'a, T>,
    below: Option<Reading<'a, T>>,
}

impl<T> Rows<'_, T> {
    /// Returns the numbers of the rows of the band.
    ///
    /// ```
    /// # use tautline::phaser::Bands;
    /// let bands = Bands::new(vec![0; 5 * 2], 2, 2);
    /// bands.step(1, 0, |old, _| assert_eq!(old.rows(), 2..5))?;
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Returns a row of the band, or the row before or after them; `None` for other rows.
    ///
    /// ```
    /// # use tautline::phaser::Bands;
    /// let bands = Bands::new((0..12).collect(), 2, 3); // rows 2 and 3 are band 1
    /// bands.step(1, 0, |old, _| {
    ///     assert_eq!(old.row(1), Some(&[2, 3][..]));
    ///     assert_eq!(old.row(4), Some(&[8, 9][..]));
    ///     assert_eq!(old.row(5), None);
    /// })?;
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn row(&self, row: usize) -> Option<&[T]> {
        let Range { start, end } = self.rows;
        if self.rows.contains(&row) {
            let at = (row - start) * self.width;
            return Some(&self.own.cells[at..at + self.width]);
        }
        if row + 1 == start {
            let above = &self.above.as_ref()?.cells;
            return Some(&above[above.len() - self.width..]);
        }
        let below = self.below.as_ref().filter(|_| row == end)?;
        Some(&below.cells[..self.width])
    }
}

impl<T: Clone> Bands<T> {
    /// Divides rows of `width` cells into `bands` bands, whose numbers of rows differ by at most
    /// one: the state before phase 0.
    ///
    /// ```
    /// # use tautline::phaser::Bands;
    /// let bands = Bands::new(vec![0.0; 100 * 40], 40, 3); // 100 rows, in bands of 33, 33 and 34
    /// assert_eq!(bands.cells(0)?.len(), 4000);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `cells` are no rows of `width` cells, or there are fewer rows than bands, or no band.
    pub fn new(cells: Vec<T>, width: usize, bands: usize) -> Self {
        let rows = cells.len().checked_div(width).unwrap_or(0);
        assert!(
            rows * width == cells.len(),
            "{} cells in rows of {width}",
            cells.len()
        );
        assert!(
            (1..=rows).contains(&bands),
            "{bands} bands of {rows} rows: from 1 to {rows}"
        );
        let band = |band| {
            let rows = band * rows / bands..(band + 1) * rows / bands;
            let cells = &cells[rows.start * width..rows.end * width];
            let state = |phase| {
                let cells = cells.to_vec();
                RwLock::new(State { phase, cells })
            };
            Band {
                rows,
                states: [state(Some(0)), state(None)],
            }
        };
        Self {
            width,
            bands: (0..bands).map(band).collect(),
        }
    }

    /// Returns the number of bands.
    ///
    /// ```
    /// # use tautline::phaser::Bands;
    /// assert_eq!(Bands::new(vec![0; 8 * 4], 4, 3).len(), 3);
    /// ```
    pub fn len(&self) -> usize {
        self.bands.len()
    }

    /// Returns false: there is a band.
    ///
    /// ```
    /// # use tautline::phaser::Bands;
    /// assert!(!Bands::new(vec![0; 4], 4, 1).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.bands.is_empty()
    }

    /// Calculates a phase of a band, counted from 0: `act` reads the state before it, and writes
    /// the cells of the band after it, which hold an older state before that.
    ///
    /// ```
    /// # use tautline::phaser::Bands;
    /// let bands = Bands::new(vec![1; 4 * 2], 2, 2);
    /// let double = |band, phase| {
    ///     bands.step(band, phase, |old, new| {
    ///         let old = old.rows().flat_map(|row| old.row(row).unwrap());
    ///         new.iter_mut().zip(old).for_each(|(new, old)| *new = 2 * old);
    ///     })
    /// };
    /// double(0, 0)?;
    /// // Band 1 is still before phase 0.
    /// assert_eq!(double(0, 1).unwrap_err().band, 1);
    /// double(1, 0)?;
    /// double(0, 1)?;
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// The band or a neighbour is in another phase.
    ///
    /// # Panics
    /// If there is no such band. A panic of `act` leaves the band without a state.
    pub fn step(
        &self,
        band: usize,
        phase: u64,
        act: impl FnOnce(&Rows<'_, T>, &mut [T]),
    ) -> Result<(), BandsError> {
        let neighbour = |at: Option<usize>| {
            let at = at.filter(|&at| at < self.bands.len());
            at.map(|at| self.read(at, phase)).transpose()
        };
        let old = Rows {
            width: self.width,
            rows: self.bands[band].rows.clone(),
            above: neighbour(band.checked_sub(1))?,
            own: self.read(band, phase)?,
            below: neighbour(Some(band + 1))?,
        };
        let mut new = match self.state(band, phase + 1).try_write() {
            Ok(state) => state,
            // The state of the last calculation, which has panicked, is replaced.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(refuse(band, phase + 1, Held::InUse)),
        };
        new.phase = None;
        act(&old, &mut new.cells);
        new.phase = Some(phase + 1);
        Ok(())
    }

    /// Returns all cells of the state before `phase`: after as many phases.
    ///
    /// ```
    /// # use tautline::phaser::Bands;
    /// let bands = Bands::new(vec![1; 4 * 2], 2, 2);
    /// for band in 0..bands.len() {
    ///     bands.step(band, 0, |_, new| new.fill(band))?;
    /// }
    /// assert_eq!(bands.cells(1)?, [0, 0, 0, 0, 1, 1, 1, 1]);
    /// assert!(bands.cells(2).is_err());
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// A band is in another phase.
    pub fn cells(&self, phase: u64) -> Result<Vec<T>, BandsError> {
        let mut all = Vec::new();
        for band in 0..self.bands.len() {
            all.extend_from_slice(&self.read(band, phase)?.cells);
        }
        Ok(all)
    }

    fn state(&self, band: usize, phase: u64) -> &RwLock<State<T>> {
        &self.bands[band].states[usize::from(phase % 2 == 1)]
    }

    fn read(&self, band: usize, phase: u64) -> Result<Reading<'_, T>, BandsError> {
        let state = match self.state(band, phase).try_read() {
            Err(TryLockError::WouldBlock) => return Err(refuse(band, phase, Held::InUse)),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned),
            Ok(state) => Err(state),
        };
        let state = state
            .map(PoisonError::into_inner)
            .unwrap_or_else(|state| state);
        match state.phase {
            Some(held) if held == phase => Ok(state),
            held => Err(refuse(band, phase, held.map_or(Held::Nothing, Held::Phase))),
        }
    }
}

fn refuse(band: usize, phase: u64, found: Held) -> BandsError {
    BandsError { band, phase, found }
}

impl<T> fmt::Debug for Bands<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.bands.iter().map(|band| &band.rows);
        f.debug_list().entries(rows).finish()
    }
}

impl<T> fmt::Debug for Rows<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rows").field(&self.rows).finish()
    }
}
