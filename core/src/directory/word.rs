//! The bits of the word of a copy.
#![forbid(unsafe_code)]

/// The right that a rank has to an object: the state of its copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// No value.
    #[default]
    Invalid,
    /// A value that other ranks may have as well: it may be read.
    Shared,
    /// The only value: it may be read and written.
    Modified,
}

/// The number of accesses of a tenure that are counted; later ones are not.
pub const COUNTED: u8 = 5;

/// In `Shared` and `Modified`.
const READABLE: usize = 1;
/// In `Modified`.
const WRITABLE: usize = 1 << 1;
const LOCKED: usize = 1 << 2;
/// One counted access.
const HIT: usize = 1 << 3;
const HITS: usize = 7 * HIT;
const SATURATED: usize = COUNTED as usize * HIT;
/// One version: the rest of the word.
const VERSION: usize = 1 << 6;

/// State, lock bit, counted accesses, and the version of the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Word(pub(super) usize);

impl Word {
    /// All bits but the version: they fit below the address of a node.
    #[cfg(feature = "alloc")]
    pub(super) const BITS: usize = VERSION - 1;

    pub(super) fn new(state: State) -> Self {
        Self::default().with_state(state)
    }

    pub(super) fn state(self) -> State {
        match self.0 & (READABLE | WRITABLE) {
            0 => State::Invalid,
            READABLE => State::Shared,
            _ => State::Modified,
        }
    }

    #[inline(always)]
    pub(super) fn is_readable(self) -> bool {
        self.0 & READABLE != 0
    }

    #[inline(always)]
    pub(super) fn is_writable(self) -> bool {
        self.0 & WRITABLE != 0
    }

    #[inline(always)]
    pub(super) fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    /// Whether the value may be read at once: it is there, is not being written, and the tenure has
    /// all its counted accesses.
    #[inline(always)]
    pub(super) fn is_settled(self) -> bool {
        self.0 & (READABLE | LOCKED | HITS) == READABLE | SATURATED
    }

    /// Whether an access is to be counted in this word. A locked one is written without regard to
    /// changes.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub(super) fn is_to_count(self) -> bool {
        self.0 & HITS != SATURATED && !self.is_locked()
    }

    /// Returns the counted accesses of the tenure.
    pub(super) fn hits(self) -> u8 {
        ((self.0 & HITS) / HIT) as u8
    }

    #[inline(always)]
    pub(super) fn locked(self) -> Self {
        Self(self.0 | LOCKED)
    }

    /// Counts one more access, up to [`COUNTED`].
    #[inline(always)]
    pub(super) fn counted(self) -> Self {
        match self.0 & HITS == SATURATED {
            true => self,
            false => Self(self.0 + HIT),
        }
    }

    /// Begins a tenure in `state`: no access is counted yet.
    pub(super) fn with_state(self, state: State) -> Self {
        let rights = match state {
            State::Invalid => 0,
            State::Shared => READABLE,
            State::Modified => READABLE | WRITABLE,
        };
        Self(self.0 & !(READABLE | WRITABLE | HITS) | rights)
    }

    /// Names the next value.
    #[inline(always)]
    pub(super) fn next_version(self) -> Self {
        Self(self.0.wrapping_add(VERSION))
    }
}
