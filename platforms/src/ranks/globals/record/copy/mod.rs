//! The copy of an object at this rank, as hits use it: without the lock of its record.

mod flat;
mod seat;

pub(in crate::ranks::globals) use seat::{reclaim, reclaim_if_due};

use super::changing::{Changing, assert_no_change};
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
/// under its lock.
pub(in crate::ranks::globals) enum LocalCopy<T: Object> {
    Flat(FlatCopy<WORDS>),
    Boxed(BoxedCopy<T, ProcessFences>),
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
        let state = value.as_ref().map_or(State::Invalid, |_| State::Modified);
        match (is_flat::<T>(), value) {
            (true, None) => Self::Flat(FlatCopy::new()),
            (true, Some(value)) => Self::Flat(FlatCopy::with_value(to_words(&value), state)),
            (false, None) => Self::Boxed(BoxedCopy::new(guards())),
            (false, Some(value)) => Self::Boxed(BoxedCopy::with_value(value, state, guards())),
        }
    }

    /// Whether a read would be a hit now.
    pub(in crate::ranks::globals) fn is_readable(&self) -> bool {
        let state = match self {
            Self::Flat(copy) => copy.state(),
            Self::Boxed(copy) => copy.state(),
        };
        state > State::Invalid
    }

    /// Returns the value; `None` if there is none, or the thread has no seat: a miss.
    #[inline]
    pub(in crate::ranks::globals) fn read(&self) -> Option<Seen<T>> {
        match self {
            Self::Flat(copy) => {
                let words = copy.read(&Patient)?;
                Some(Seen::Kept(Value::Flat(of_words(words))))
            }
            Self::Boxed(copy) => with_seat(|seat| copy.read(seat)).map(Seen::Protected),
        }
    }

    /// Returns the value, to be kept; `None` if there is none.
    pub(in crate::ranks::globals) fn value(&self) -> Option<Value<T>> {
        match self {
            Self::Flat(copy) => copy
                .read(&Patient)
                .map(|words| Value::Flat(of_words(words))),
            Self::Boxed(copy) => copy.counted(&Patient).map(Value::Counted),
        }
    }

    /// Changes the value, and leaves it as it was if `change` panics. Returns `change` if this is
    /// not the only copy: a miss.
    #[inline]
    pub(in crate::ranks::globals) fn write<R, F: FnOnce(&mut T) -> R>(
        &self,
        change: F,
    ) -> Result<R, F> {
        match self {
            Self::Flat(copy) => {
                let mut change = Some(change);
                let written = copy.write(&Patient, |words| {
                    let mut value = of_words(*words);
                    let _changing = Changing::begin();
                    let result = change.take().map(|change| change(&mut value));
                    *words = to_words(&value);
                    result
                });
                match written {
                    Ok(result) => Ok(result.expect("it was called")),
                    Err(_) => Err(change.expect("it was not called")),
                }
            }
            Self::Boxed(copy) => {
                let mut change = Some(change);
                let written = copy.write(&Patient, |value| {
                    let _changing = Changing::begin();
                    change.take().map(|change| change(value))
                });
                match written {
                    Ok(result) => Ok(result.expect("it was called")),
                    Err(_) => Err(change.expect("it was not called")),
                }
            }
        }
    }

    /// Replaces the value, and sets the state.
    pub(super) fn install(&self, value: Value<T>, state: State) {
        match (self, value) {
            (Self::Flat(copy), value) => copy.install(&Patient, to_words(&*value), state),
            (Self::Boxed(copy), Value::Counted(value)) => copy.install(&Patient, value, state),
            (Self::Boxed(_), Value::Flat(_)) => unreachable!("it is not flat"),
        }
    }

    /// Permits writes of a copy that may be read.
    pub(super) fn upgrade(&self) {
        let is_upgraded = match self {
            Self::Flat(copy) => copy.upgrade(&Patient),
            Self::Boxed(copy) => copy.upgrade(&Patient),
        };
        debug_assert!(is_upgraded, "a copy with a value");
    }

    /// Whether the value was accessed since the last call.
    pub(super) fn has_hits(&self) -> bool {
        let hits = match self {
            Self::Flat(copy) => copy.recall(&Patient, State::Modified).map(|it| it.hits),
            Self::Boxed(copy) => copy.recall(&Patient, State::Modified).map(|it| it.hits),
        };
        hits.is_some_and(|hits| hits > 0)
    }

    /// Lowers the state to `to`, and returns the value; `None` if the copy has none.
    pub(super) fn recall(&self, to: State) -> Option<Value<T>> {
        match self {
            Self::Flat(copy) => {
                let recalled = copy.recall(&Patient, to)?;
                Some(Value::Flat(of_words(recalled.value)))
            }
            Self::Boxed(copy) => {
                let recalled = copy.recall(&Patient, to)?;
                Some(Value::Counted(recalled.value))
            }
        }
    }
}
