//! The value of an object at this rank, and the accesses that wait for it.

use super::copy::{LocalCopy, Value};
use super::name::Name;
use super::waiting::{Change, Promise, Waiting};
use crate::ranks::engine::Changing;
use crate::ranks::globals::message::EncodedOutput;
use crate::ranks::globals::operation::{Call, Output};
use crate::ranks::globals::{Object, Result};
use crate::ranks::team::text_of;
use smallvec::SmallVec;
use std::any::Any;
use std::collections::VecDeque;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use tautline_core::Rank;
use tautline_core::coherence::{Access, CopyState, Memory};
use tautline_core::directory::State;

/// The value of an object at a rank, as its machine uses it.
pub(super) struct Local<T: Object> {
    here: Rank,
    copy: Arc<LocalCopy<T>>,
    /// The value while the copy has none: one that has come, or the former one of the copy.
    aside: Option<Value<T>>,
    /// With their numbers, in ascending order: the first ones end first, as a rule.
    pub(super) waiting: VecDeque<(u64, Waiting<T>)>,
    pub(super) due: Dues<T>,
}

/// One access ends in most steps, which leaves a former value at most.
pub(super) type Dues<T> = SmallVec<[Due<T>; 2]>;

/// The end of an access, to be put once the object is unlocked: it may run any code.
pub(super) enum Due<T> {
    Read(Promise<Result<Value<T>>>, Value<T>),
    Ran(Box<dyn Change<T>>, thread::Result<()>),
    Completed(Box<dyn Change<T>>, EncodedOutput, Vec<u8>),
    /// The value was lost with this rank.
    Lost(Waiting<T>, Rank),
    /// A former value.
    Former(Value<T>),
    /// The payload of a change that has panicked.
    Payload(Box<dyn Any + Send>),
}

impl<T> Due<T> {
    pub(super) fn put(self, name: &Name) {
        match self {
            Self::Read(promise, value) => promise.put(Ok(value)),
            Self::Ran(change, ended) => change.ran(ended, name),
            Self::Completed(change, output, result) => change.complete(output, &result, name),
            Self::Lost(waiting, rank) => waiting.fail(name.lost(rank)),
            Self::Former(value) => drop(value),
            Self::Payload(payload) => drop(payload),
        }
    }
}

impl<T: Object> Local<T> {
    pub(super) fn new(here: Rank, copy: Arc<LocalCopy<T>>) -> Self {
        Self {
            here,
            copy,
            aside: None,
            waiting: VecDeque::new(),
            due: SmallVec::new(),
        }
    }

    fn position(&self, access: u64) -> Option<usize> {
        self.waiting.binary_search_by_key(&access, |it| it.0).ok()
    }

    fn remove(&mut self, access: u64) -> Option<Waiting<T>> {
        let at = self.position(access)?;
        self.waiting.remove(at).map(|(_, waiting)| waiting)
    }

    /// Takes the value away from hits, and drops it.
    pub(super) fn end(&mut self) {
        let values = [self.copy.recall(State::Invalid), self.aside.take()];
        let former = values.into_iter().flatten().map(Due::Former);
        self.due.extend(former);
    }

    /// Drops a value that is not current, and that nothing waits for.
    pub(super) fn tidy(&mut self) {
        let former = self.aside.take();
        self.due.extend(former.map(Due::Former));
    }

    /// Runs a change on the value. A panic leaves that as it was.
    fn change(&mut self, change: impl FnOnce(&mut T)) -> thread::Result<()> {
        let Some(aside) = &mut self.aside else {
            let write = || self.copy.change(change);
            return catch_unwind(AssertUnwindSafe(write)).map(|written| {
                written.unwrap_or_else(|_| unreachable!("the machine has obtained the only copy"));
            });
        };
        let changed = catch_unwind(AssertUnwindSafe(|| {
            let _changing = Changing::begin();
            let mut changed = T::clone(aside);
            change(&mut changed);
            Value::new(changed)
        }))?;
        let former = mem::replace(aside, changed);
        self.due.push(Due::Former(former));
        Ok(())
    }
}

impl<T: Object> Memory for Local<T> {
    type Value = Value<T>;
    type Operation = Box<dyn Call<T>>;
    type Output = Output;

    fn hold(&mut self, state: CopyState) {
        let state = match state {
            CopyState::Invalid => State::Invalid,
            CopyState::Shared => State::Shared,
            CopyState::Exclusive => State::Modified,
        };
        match (state, self.aside.take()) {
            (State::Invalid, aside) => self.aside = aside.or(self.copy.recall(state)),
            (state, Some(value)) => self.copy.install(value, state),
            (State::Shared, None) => self.due.extend(self.copy.recall(state).map(Due::Former)),
            (State::Modified, None) => self.copy.upgrade(),
        }
    }

    fn value(&mut self) -> Value<T> {
        let value = self.aside.clone().or_else(|| self.copy.value());
        value.expect("the machine has installed one")
    }

    fn install(&mut self, value: Value<T>) {
        let former = self.aside.replace(value);
        self.due.extend(former.map(Due::Former));
    }

    fn perform(&mut self, access: Access) {
        let waiting = self.remove(access.number);
        let due = match waiting.expect("it has not been performed") {
            Waiting::Read(promise) => Due::Read(promise, self.value()),
            Waiting::Change(mut change) => {
                let ended = self.change(|value| change.run(value));
                Due::Ran(change, ended)
            }
        };
        self.due.push(due);
    }

    fn operation(&mut self, access: Access) -> Box<dyn Call<T>> {
        let at = self.position(access.number);
        match at.and_then(|at| self.waiting.get_mut(at)) {
            Some((_, Waiting::Change(change))) => change.travel(),
            _ => unreachable!("a read is no operation"),
        }
    }

    fn operate(&mut self, operation: Box<dyn Call<T>>) -> Output {
        let mut output = None;
        let here = self.here;
        match self.change(|value| output = Some(operation.run(value))) {
            Ok(()) => Output::Value(output.expect("it has run")),
            Err(payload) => {
                let text = text_of(&*payload);
                self.due.push(Due::Payload(payload));
                Output::Panicked(here, text)
            }
        }
    }

    fn complete(&mut self, access: u64, output: Output) {
        let Output::Encoded(output, result) = output else {
            unreachable!("it comes from the home");
        };
        if let Some(Waiting::Change(change)) = self.remove(access) {
            self.due.push(Due::Completed(change, output, result));
        }
    }

    fn fail(&mut self, access: u64, lost: Rank) {
        if let Some(waiting) = self.remove(access) {
            self.due.push(Due::Lost(waiting, lost));
        }
    }
}
