//! The value of an object at this rank, and the accesses that wait for it.

use super::name::Name;
use super::waiting::{Change, Promise, Waiting, run_on_copy};
use crate::ranks::globals::message::EncodedOutput;
use crate::ranks::globals::operation::{Call, Output};
use crate::ranks::globals::{Object, Result};
use crate::ranks::team::text_of;
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use tautline_core::Rank;
use tautline_core::coherence::{Access, CopyState, Memory};

/// The value of an object at a rank, as its machine uses it.
pub(super) struct Local<T> {
    here: Rank,
    pub(super) copy: CopyState,
    /// Kept while no other one has come, also if the copy is invalid.
    pub(super) value: Option<Arc<T>>,
    pub(super) waiting: HashMap<u64, Waiting<T>>,
    pub(super) due: Vec<Due<T>>,
}

/// The end of an access, to be put once the object is unlocked: it may run any code.
pub(super) enum Due<T> {
    Read(Promise<Result<Arc<T>>>, Arc<T>),
    Ran(Box<dyn Change<T>>, thread::Result<()>),
    Completed(Box<dyn Change<T>>, EncodedOutput),
    /// The value was lost with this rank.
    Lost(Waiting<T>, Rank),
    /// A former value.
    Former(Arc<T>),
    /// The payload of a change that has panicked.
    Payload(Box<dyn Any + Send>),
}

impl<T> Due<T> {
    pub(super) fn put(self, name: &Name) {
        match self {
            Self::Read(promise, value) => promise.put(Ok(value)),
            Self::Ran(change, ended) => change.ran(ended, name),
            Self::Completed(change, output) => change.complete(output, name),
            Self::Lost(waiting, rank) => waiting.fail(name.lost(rank)),
            Self::Former(value) => drop(value),
            Self::Payload(payload) => drop(payload),
        }
    }
}

impl<T> Local<T> {
    pub(super) fn new(here: Rank, value: Option<T>) -> Self {
        let copy = match value {
            Some(_) => CopyState::Exclusive,
            None => CopyState::Invalid,
        };
        Self {
            here,
            copy,
            value: value.map(Arc::new),
            waiting: HashMap::new(),
            due: Vec::new(),
        }
    }

    /// Keeps the value that a change has replaced.
    fn replaced(&mut self, ended: thread::Result<Arc<T>>) -> thread::Result<()> {
        ended.map(|former| self.due.push(Due::Former(former)))
    }

    fn current(&mut self) -> &mut Arc<T> {
        self.value.as_mut().expect("the machine has installed one")
    }
}

impl<T: Object> Memory for Local<T> {
    type Value = Arc<T>;
    type Operation = Box<dyn Call<T>>;
    type Output = Output;

    fn hold(&mut self, state: CopyState) {
        self.copy = state;
    }

    fn value(&mut self) -> Arc<T> {
        Arc::clone(self.current())
    }

    fn install(&mut self, value: Arc<T>) {
        let former = self.value.replace(value);
        self.due.extend(former.map(Due::Former));
    }

    fn perform(&mut self, access: Access) {
        let waiting = self.waiting.remove(&access.number);
        let due = match waiting.expect("it has not been performed") {
            Waiting::Read(promise) => Due::Read(promise, self.value()),
            Waiting::Change(mut change) => {
                let ended = run_on_copy(self.current(), |value| change.run(value));
                Due::Ran(change, self.replaced(ended))
            }
        };
        self.due.push(due);
    }

    fn operation(&mut self, access: Access) -> Box<dyn Call<T>> {
        match self.waiting.get_mut(&access.number) {
            Some(Waiting::Change(change)) => change.travel(),
            _ => unreachable!("a read is no operation"),
        }
    }

    fn operate(&mut self, operation: Box<dyn Call<T>>) -> Output {
        let mut output = None;
        let here = self.here;
        let ended = run_on_copy(self.current(), |value| output = Some(operation.run(value)));
        match self.replaced(ended) {
            Ok(()) => Output::Value(output.expect("it has run")),
            Err(payload) => {
                let text = text_of(&*payload);
                self.due.push(Due::Payload(payload));
                Output::Panicked(here, text)
            }
        }
    }

    fn complete(&mut self, access: u64, output: Output) {
        let Output::Encoded(output) = output else {
            unreachable!("it comes from the home");
        };
        if let Some(Waiting::Change(change)) = self.waiting.remove(&access) {
            self.due.push(Due::Completed(change, output));
        }
    }

    fn fail(&mut self, access: u64, lost: Rank) {
        if let Some(waiting) = self.waiting.remove(&access) {
            self.due.push(Due::Lost(waiting, lost));
        }
    }
}
