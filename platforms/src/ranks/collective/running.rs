//! A collective call whose caller waits: it takes and decodes the messages itself.

use super::calls::Call;
use super::mailbox::Mailbox;
use crate::Result;
use crate::error::Error;
use crate::ranks::engine::progress::of_this_rank;
use crate::ranks::engine::{ProgressEngine, inside, is_inside};
use std::any::type_name;
use std::cell::Cell;
use std::mem;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use tautline_core::Rank;
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::service::{Calls, Kind, Operation};
use tautline_core::wire::{self, Cause, Malformed, Portable, unpack};

/// Turns of a task that waits for a message before it is suspended: as long as a few messages
/// take.
const TURNS: u32 = 256;

/// Lets `machine` take a step, and sends its messages by `operation`, which is `None` at the only
/// rank of a group. Returns whether there were any, after the value of `take`.
pub(crate) fn step<M, R>(
    machine: &mut M,
    operation: Option<&Operation<M::Message>>,
    output: &mut Option<M::Effect>,
    take: impl FnOnce(&mut M, &mut Step<'_, M>) -> R,
) -> (R, bool)
where
    M: Machine<Peer = Rank, Calls = (), Message: Portable + 'static>,
{
    let mut has_sent = false;
    let mut act = |action: Action<M>| match action {
        Action::Send(to, message) => {
            let operation = operation.expect("there is another rank");
            operation.send(to, &message);
            has_sent = true;
        }
        Action::Effect(ended) => *output = Some(ended),
    };
    let taken = take(machine, &mut Step::new(&mut (), &mut act));
    (taken, has_sent)
}

/// Returns the error of a message that no correct rank sends.
pub(crate) fn unexpected<T>(operation: &Operation<T>, from: Rank) -> wire::Error {
    let refused = Malformed::refused(type_name::<T>(), 0, "its call does not expect it");
    operation.error(from, refused)
}

/// A call that has begun. It may be moved at any time: as a future, it projects no pin.
pub(crate) struct Running<M: Machine<Message: Portable + 'static>> {
    output: Option<M::Effect>,
    /// `None` at the only rank of a group, for which nothing arrives.
    open: Option<Open<M>>,
}

impl<M: Machine<Message: Portable + 'static>> Unpin for Running<M> {}

impl<M> Running<M>
where
    M: Machine<Peer = Rank, Calls = (), Message: Portable + 'static>,
{
    /// Begins the next call of a group.
    pub(crate) fn begin(
        engine: &Arc<ProgressEngine>,
        calls: &Calls,
        site: &'static Location<'static>,
        call: Call<M>,
    ) -> Self {
        if calls.group().ranks() == 1 {
            let (mut machine, mut output) = (call.machine, None);
            step(&mut machine, None, &mut output, |it, step| {
                it.event(call.own, step)
            });
            return Self { output, open: None };
        }
        let mut running = Self {
            output: None,
            open: Some(Open::begin(engine, calls, site, call.kind, call.machine)),
        };
        if !running.open().mailbox.has_ended() {
            running.step(|machine, step| machine.event(call.own, step));
        }
        running
    }

    /// Returns a call that has ended: that of the only rank of a group.
    #[inline]
    pub(crate) fn ended(output: M::Effect) -> Self {
        let (output, open) = (Some(output), None);
        Self { output, open }
    }

    /// Lets the machine take a step, and sends its messages.
    fn step<R>(&mut self, take: impl FnOnce(&mut M, &mut Step<'_, M>) -> R) -> R {
        let Self { output, open } = self;
        let open = open.as_mut().expect(WAITS);
        let (taken, has_sent) = step(&mut open.machine, Some(&open.operation), output, take);
        if has_sent {
            // Also if the call ends now: the others would wait until the next turn of this rank.
            open.engine.progress.look(&*open.engine);
        }
        taken
    }

    /// Waits on this thread: communicates for a while, then sleeps.
    pub(crate) fn block(mut self) -> Result<M::Effect> {
        loop {
            if let Some(output) = self.take() {
                return Ok(output);
            }
            let next = self.open().next();
            self.process(next)?;
        }
    }

    /// Returns the result once the call has ended.
    #[inline]
    fn take(&mut self) -> Option<M::Effect> {
        let output = self.output.take()?;
        if self.open.is_some() {
            self.end();
        }
        Some(output)
    }

    #[cold]
    fn poll_open(&mut self, cx: &Context<'_>) -> Poll<Result<M::Effect>> {
        loop {
            let Some(next) = self.open().poll(cx) else {
                return Poll::Pending;
            };
            if let Err(error) = self.process(next) {
                return Poll::Ready(Err(error));
            }
            if let Some(output) = self.take() {
                return Poll::Ready(Ok(output));
            }
        }
    }

    /// Processes a message, or an error, which ends the call.
    fn process(&mut self, next: Next) -> Result<()> {
        let processed = self.received(next);
        if processed.is_err() {
            self.end();
        }
        processed
    }

    fn received(&mut self, next: Next) -> Result<()> {
        let failed = |error: wire::Error| Error::Rank(error.into());
        let (from, body) = next.map_err(failed)?;
        let message = self.open().decode(from, body).map_err(failed)?;
        let received = self.step(|machine, step| machine.receive(from, message, step));
        received.map_err(|_| failed(self.open().refuse(from)))
    }

    fn open(&mut self) -> &mut Open<M> {
        self.open.as_mut().expect(WAITS)
    }

    fn end(&mut self) {
        if let Some(open) = self.open.take() {
            Mailbox::give_back(open.mailbox, open.last);
        }
    }
}

const WAITS: &str = "the only rank ends when it begins, and no other one waits after the end";

/// The result. A task that waits communicates for a short while, then is suspended.
impl<M> Future for Running<M>
where
    M: Machine<Peer = Rank, Calls = (), Message: Portable + 'static>,
{
    type Output = Result<M::Effect>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.take() {
            Some(output) => Poll::Ready(Ok(output)),
            None => self.poll_open(cx),
        }
    }
}

/// Dropped before its end, it ends all channels: the other ranks wait for what this one would have
/// sent.
impl<M: Machine<Message: Portable + 'static>> Drop for Running<M> {
    #[inline]
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            abandon(&open.engine, open.operation.calls());
        }
    }
}

/// Ends all channels, as this rank gives up a collective call of a group that other ranks wait for;
/// if a rank of the group is lost, theirs end by themselves.
pub(crate) fn abandon(engine: &ProgressEngine, calls: &Calls) {
    if calls.is_broken() {
        return;
    }
    let cause = match thread::panicking() {
        true => Cause::Panicked,
        false => Cause::Lost {
            doing: "waiting in a collective call that it has given up",
        },
    };
    let exchange = &engine.exchange;
    if !exchange.is_here() {
        return;
    }
    if is_inside() {
        // The thread may hold the locks of the exchange.
        return engine.give_up();
    }
    let error = of_this_rank(exchange, cause);
    inside(|| exchange.fail(&error));
}

/// A message, or the error that ends the call.
type Next = Result<(Rank, Vec<u8>), wire::Error>;

/// The machine of a call, and its messages.
struct Open<M: Machine<Message: Portable + 'static>> {
    machine: M,
    engine: Arc<ProgressEngine>,
    mailbox: Arc<Mailbox>,
    operation: Operation<M::Message>,
    /// The buffer of the last message.
    last: Vec<u8>,
}

impl<M: Machine<Message: Portable + 'static>> Open<M> {
    fn begin(
        engine: &Arc<ProgressEngine>,
        calls: &Calls,
        site: &'static Location<'static>,
        kind: Kind,
        machine: M,
    ) -> Self {
        engine.assert_rank();
        let mailbox = Mailbox::take();
        let receiver = Arc::clone(&mailbox);
        Self {
            machine,
            engine: Arc::clone(engine),
            operation: calls.begin(site, kind, receiver),
            mailbox,
            last: Vec::new(),
        }
    }

    fn next(&self) -> Next {
        let found = Cell::new(None);
        let is_found = || {
            let next = self.mailbox.try_next();
            let is_found = next.is_some();
            found.set(next);
            is_found
        };
        self.engine.progress.poll_until(&*self.engine, is_found);
        found.take().unwrap_or_else(|| self.mailbox.next())
    }

    /// As [`next`](Self::next), for a task, which is woken by the next one if nothing has arrived.
    fn poll(&self, cx: &Context<'_>) -> Option<Next> {
        for _ in 0..TURNS {
            if let Some(next) = self.mailbox.try_next() {
                return Some(next);
            }
            self.engine.progress.look(&*self.engine);
        }
        self.mailbox.await_next(cx.waker())
    }

    /// Decodes a message. If it is malformed, or decoding panics, ends all channels as a turn does.
    fn decode(&mut self, from: Rank, body: Vec<u8>) -> Result<M::Message, wire::Error> {
        let error = match inside(|| unpack(&body)) {
            Some(Ok(message)) => {
                let before = mem::replace(&mut self.last, body);
                if before.capacity() > 0 {
                    self.mailbox.recycle(before);
                }
                return Ok(message);
            }
            Some(Err(malformed)) => self.operation.error(from, malformed),
            None => {
                let doing = "encoding or decoding, which panicked";
                of_this_rank(&self.engine.exchange, Cause::Lost { doing })
            }
        };
        Err(self.fail(error))
    }

    /// Ends all channels, for a message that no correct rank sends.
    fn refuse(&self, from: Rank) -> wire::Error {
        self.fail(unexpected(&self.operation, from))
    }

    /// Ends all channels with an error. Returns that with which they have ended.
    fn fail(&self, error: wire::Error) -> wire::Error {
        // In a turn: completions of other operations run the program's code.
        inside(|| self.engine.exchange.fail(&error));
        self.mailbox.error().unwrap_or(error)
    }
}
