//! The copy of an object at this rank, as hits use it: without the lock of its record.

mod flat;
mod seat;

pub(in crate::ranks::globals) use seat::{reclaim, reclaim_if_due};

use crate::ranks::engine::{Changing, assert_no_change};
use crate::ranks::globals::Object;
use flat::{WORDS, is_flat, of_words, to_words};
use seat::{guards, with_seat};
use std::ops::Deref;
use tautline_core::directory::{self, BoxedCopy, Counted, FlatCopy, State};
use tautline_core::port::Relax;
use tautline_node::{ProcessFences, SpinThenYield};

/// A value outside of a copy: it may be kept as long as required, and sent.
pub(in crate::ranks::globals) enum Value<T> {
    Flat(T),
    Counted(Counted<T>),
}

impl<T: 'static> Value<T> {
    pub(in crate::ranks::globals) fn new(value: T) -> Self {
        match is_flat::<T>() {
            true => Self::Flat(value),
            false => Self::Counted(Counted::new(value)),
        }
    }
}

impl<T: Clone> Clone for Value<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Flat(value) => Self::Flat(value.clone()),
            Self::Counted(value) => Self::Counted(value.clone()),
        }
    }
}

impl<T> Deref for Value<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            Self::Flat(value) => value,
            Self::Counted(value) => value,
        }
    }
}

/// The value that a read has found.
pub(in crate::ranks::globals) enum Seen<T> {
    Protected(directory::View<'static, T>),
    Kept(Value<T>),
}

impl<T> Deref for Seen<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        match self {
            Self::Protected(value) => value,
            Self::Kept(value) => value,
        }
    }
}

/// The copy of an object. Workers read and write it; the other operations are for the record,
/// under its lock. The type of the value decides which of both is used: known when the program is
/// compiled, so that a hit does not look.
pub(in crate::ranks::globals) struct LocalCopy<T: Object> {
    flat: FlatCopy<WORDS>,
    boxed: BoxedCopy<T, ProcessFences>,
}

/// Waits for another thread that changes the value. It is never this one.
struct Patient;

impl Relax for Patient {
    fn relax(&self, turn: u32) {
        if turn == 0 {
            assert_no_change();
        }
        SpinThenYield::default().relax(turn);
    }
}

impl<T: Object> LocalCopy<T> {
    pub(super) fn new(value: Option<T>) -> Self {
        let empty = || BoxedCopy::new(guards());
        match (is_flat::<T>(), value) {
            (true, Some(value)) => Self {
                flat: FlatCopy::with_value(to_words(&value), State::Modified),
                boxed: empty(),
            },
            (false, Some(value)) => Self {
                flat: FlatCopy::new(),
                boxed: BoxedCopy::with_value(value, State::Modified, guards()),
            },
            (_, None) => Self {
                flat: FlatCopy::new(),
                boxed: empty(),
            },
        }
    }

    /// Whether a read would be a hit now.
    pub(in crate::ranks::globals) fn is_readable(&self) -> bool {
        let state = match is_flat::<T>() {
            true => self.flat.state(),
            false => self.boxed.state(),
        };
        state > State::Invalid
    }

    /// Returns the value; `None` if the copy is invalid, or the thread has no seat: a miss.
    #[inline(always)]
    pub(in crate::ranks::globals) fn read(&self) -> Option<Seen<T>> {
        match is_flat::<T>() {
            true => self.get_flat().map(|value| Seen::Kept(Value::Flat(value))),
            false => with_seat(|seat| self.boxed.read(seat)).map(Seen::Protected),
        }
    }

    /// As [`read`](Self::read): a copy of the value.
    #[inline(always)]
    pub(in crate::ranks::globals) fn get(&self) -> Option<T> {
        match is_flat::<T>() {
            true => self.get_flat(),
            false => self.read().map(|value| T::clone(&value)),
        }
    }

    #[inline(always)]
    fn get_flat(&self) -> Option<T> {
        self.flat.read(&Patient).map(of_words)
    }

    /// Returns the value, to be kept; `None` if the copy is invalid.
    pub(in crate::ranks::globals) fn value(&self) -> Option<Value<T>> {
        match is_flat::<T>() {
            true => self.get_flat().map(Value::Flat),
            false => self.boxed.counted(&Patient).map(Value::Counted),
        }
    }

    /// Changes the value, and leaves it as it was if `change` panics. Returns `change` if this is
    /// not the only copy: a miss. May drop former values, so it is called without any lock.
    #[inline]
    pub(in crate::ranks::globals) fn write<R, F: FnOnce(&mut T) -> R>(
        &self,
        change: F,
    ) -> Result<R, F> {
        let written = self.change(change);
        if !is_flat::<T>() {
            reclaim_if_due();
        }
        written
    }

    /// As [`write`](Self::write), under the lock of the record: drops nothing.
    #[inline]
    pub(super) fn change<R, F: FnOnce(&mut T) -> R>(&self, change: F) -> Result<R, F> {
        let mut change = Some(change);
        let run = |value: &mut T| {
            let _changing = Changing::begin();
            change.take().map(|change| change(value))
        };
        let written = match is_flat::<T>() {
            true => self.write_flat(run),
            false => self.boxed.write(&Patient, run).ok().flatten(),
        };
        written.ok_or_else(|| change.expect("it was not called"))
    }

    #[inline(always)]
    fn write_flat<R>(&self, change: impl FnOnce(&mut T) -> Option<R>) -> Option<R> {
        let written = self.flat.write(&Patient, |words| {
            let mut value = of_words(*words);
            let result = change(&mut value);
            *words = to_words(&value);
            result
        });
        written.ok().flatten()
    }

    /// Replaces the value, and sets the state.
    pub(super) fn install(&self, value: Value<T>, state: State) {
        match value {
            Value::Flat(value) => self.flat.install(&Patient, to_words(&value), state),
            Value::Counted(value) => self.boxed.install(&Patient, value, state),
        }
    }

    /// Permits writes of a copy that may be read.
    pub(super) fn upgrade(&self) {
        let is_upgraded = match is_flat::<T>() {
            true => self.flat.upgrade(&Patient),
            false => self.boxed.upgrade(&Patient),
        };
        debug_assert!(is_upgraded, "a copy with a value");
    }

    /// Whether the value was accessed since the last call.
    pub(super) fn has_hits(&self) -> bool {
        let (relax, state) = (&Patient, State::Modified);
        let hits = match is_flat::<T>() {
            true => self.flat.recall(relax, state).map(|it| it.hits),
            false => self.boxed.recall(relax, state).map(|it| it.hits),
        };
        hits.is_some_and(|hits| hits > 0)
    }

    /// Lowers the state to `to`, and returns the value; `None` if the copy has none.
    pub(super) fn recall(&self, to: State) -> Option<Value<T>> {
        match is_flat::<T>() {
            true => {
                let recalled = self.flat.recall(&Patient, to)?;
                Some(Value::Flat(of_words(recalled.value)))
            }
            false => {
                let recalled = self.boxed.recall(&Patient, to)?;
                Some(Value::Counted(recalled.value))
            }
        }
    }
}
