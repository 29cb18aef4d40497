//! Accesses of this rank that wait for a value.

use super::copy::Value;
use super::name::Name;
use crate::ranks::error::RankError;
use crate::ranks::globals::Result;
use crate::ranks::globals::message::EncodedOutput;
use crate::ranks::globals::operation::{Applied, Call, Called};
use std::panic::catch_unwind;
use std::sync::Arc;
use std::thread;
use tautline_core::comm::Number;
use tautline_core::directory::{self, Loan};
use tautline_core::wire::{Portable, unpack};
use tautline_node::SpinThenYield;

/// The result of an access, once it has been performed.
pub(in crate::ranks::globals) type Answer<R> = directory::Answer<R, SpinThenYield>;

/// The duty to put a result.
pub(in crate::ranks::globals) type Promise<R> = directory::Promise<R, SpinThenYield>;

/// Returns an answer, and what puts it.
pub(in crate::ranks::globals) fn promise<R>() -> (Answer<R>, Promise<R>) {
    directory::promise(SpinThenYield::default())
}

/// An access that waits.
pub(in crate::ranks::globals) enum Waiting<T> {
    Read(Promise<Result<Value<T>>>),
    Change(Box<dyn Change<T>>),
}

impl<T> Waiting<T> {
    pub(in crate::ranks::globals) fn fail(self, error: RankError) {
        match self {
            Self::Read(promise) => promise.put(Err(error)),
            Self::Change(change) => change.fail(error),
        }
    }
}

/// A change of the value, and what waits for its result.
pub(in crate::ranks::globals) trait Change<T>: Send {
    /// Performs it on the value.
    fn run(&mut self, value: &mut T);

    /// Puts the result of [`run`](Self::run), or the panic with which that has ended.
    fn ran(self: Box<Self>, ended: thread::Result<()>, name: &Name);

    /// Returns the call that performs it at the home. Called once, instead of `run`.
    /// Provided: not called, as closures stay at their rank.
    fn travel(&mut self) -> Box<dyn Call<T>> {
        unreachable!("a closure stays at its rank")
    }

    /// Puts the result that has come from the home, encoded.
    /// Provided: as [`travel`](Self::travel).
    fn complete(self: Box<Self>, _output: EncodedOutput, _result: &[u8], _name: &Name) {
        unreachable!("a closure stays at its rank")
    }

    /// Puts an error.
    fn fail(self: Box<Self>, error: RankError);
}

/// A call of an operation and its result.
pub(in crate::ranks::globals) struct Update<C, R> {
    call: Option<C>,
    result: Option<R>,
    promise: Promise<Result<R>>,
}

impl<C, R> Update<C, R> {
    pub(in crate::ranks::globals) fn new(call: C, promise: Promise<Result<R>>) -> Self {
        let (call, result) = (Some(call), None);
        Self {
            call,
            result,
            promise,
        }
    }
}

/// A call whose result has a type.
pub(in crate::ranks::globals) trait Typed<T>: Call<T> + 'static {
    type Result: Portable + 'static;

    fn call(self, value: &mut T) -> Self::Result;
}

impl<T, A, R> Typed<T> for Called<T, A, R>
where
    T: 'static,
    A: Portable + 'static,
    R: Portable + 'static,
{
    type Result = R;

    fn call(self, value: &mut T) -> R {
        (self.operation.run)(value, self.args)
    }
}

impl<T: Number + Portable> Typed<T> for Applied<T> {
    type Result = T;

    fn call(self, value: &mut T) -> T {
        self.apply(value)
    }
}

impl<T: 'static, C: Typed<T>> Change<T> for Update<C, C::Result> {
    fn run(&mut self, value: &mut T) {
        let call = self.call.take();
        self.result = call.map(|call| call.call(value));
    }

    fn ran(self: Box<Self>, ended: thread::Result<()>, name: &Name) {
        let result = match ended {
            Ok(()) => Ok(self.result.expect("it has run")),
            Err(payload) => Err(name.panicked(name.here, &*payload)),
        };
        self.promise.put(result);
    }

    fn travel(&mut self) -> Box<dyn Call<T>> {
        Box::new(self.call.take().expect("it has not run"))
    }

    fn complete(self: Box<Self>, output: EncodedOutput, result: &[u8], name: &Name) {
        let result = match output {
            EncodedOutput::Value => {
                let decoded = catch_unwind(|| unpack::<C::Result>(result));
                match decoded {
                    Ok(Ok(result)) => Ok(result),
                    Ok(Err(malformed)) => Err(name.unusable(malformed)),
                    Err(payload) => Err(name.panicked(name.here, &*payload)),
                }
            }
            EncodedOutput::Panicked(at, text) => Err(name.panicked_with(at, &text)),
            EncodedOutput::Unencodable(why) => Err(name.unusable(&why)),
        };
        self.promise.put(result);
    }

    fn fail(self: Box<Self>, error: RankError) {
        self.promise.put(Err(error));
    }
}

/// A closure on the stack of the task that waits, which keeps its result.
pub(in crate::ranks::globals) struct Lent<T> {
    pub(in crate::ranks::globals) loan: Arc<Loan<T>>,
    pub(in crate::ranks::globals) promise: Promise<Result<thread::Result<()>>>,
}

impl<T> Change<T> for Lent<T> {
    fn run(&mut self, value: &mut T) {
        // If it was taken back, its caller has panicked.
        self.loan.call(value, &SpinThenYield::default());
    }

    fn ran(self: Box<Self>, ended: thread::Result<()>, _: &Name) {
        self.promise.put(Ok(ended));
    }

    fn fail(self: Box<Self>, error: RankError) {
        self.promise.put(Err(error));
    }
}

/// A closure that the access owns, and its result.
pub(in crate::ranks::globals) struct Owned<F, R> {
    run: Option<F>,
    result: Option<R>,
    promise: Promise<Result<thread::Result<R>>>,
}

impl<F, R> Owned<F, R> {
    pub(in crate::ranks::globals) fn new(
        run: F,
        promise: Promise<Result<thread::Result<R>>>,
    ) -> Self {
        let (run, result) = (Some(run), None);
        Self {
            run,
            result,
            promise,
        }
    }
}

impl<T, F: FnOnce(&mut T) -> R + Send, R: Send> Change<T> for Owned<F, R> {
    fn run(&mut self, value: &mut T) {
        let run = self.run.take();
        self.result = run.map(|run| run(value));
    }

    fn ran(self: Box<Self>, ended: thread::Result<()>, _: &Name) {
        let result = self.result;
        let ended = ended.map(|()| result.expect("it has run"));
        self.promise.put(Ok(ended));
    }

    fn fail(self: Box<Self>, error: RankError) {
        self.promise.put(Err(error));
    }
}
