//! An object at this rank: its machine, and what that sends and has received.

mod copy;
mod flat;
mod local;
mod name;
mod seat;
mod waiting;

pub(super) use copy::{LocalCopy, Seen, Value};
pub(super) use name::Name;
pub(super) use seat::{reclaim, reclaim_if_due};
pub(super) use waiting::{Answer, Lent, Owned, Typed, Update, Waiting, assert_no_change, promise};

use super::message::{Body, Encoded, EncodedCall, EncodedOutput, Envelope, ObjectId};
use super::operation::{self, Call, Output, encoded};
use super::outlet::Outlet;
use super::{Object, Result};
use crate::process::contain::contain;
use crate::ranks::error::{RankError, RankErrorKind};
use crate::ranks::team::text_of;
use local::{Due, Local};
use std::any::{Any, type_name};
use std::collections::VecDeque;
use std::mem;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tautline_core::Rank;
use tautline_core::coherence::{
    Access, Event, Grant, Kind, Message, Mode, Object as Protocol, Request,
};
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::wire::{Fault, Malformed, unpack};

type MessageOf<T> = Message<Value<T>, Box<dyn Call<T>>, Output>;

/// An object at this rank.
pub(super) struct Record<T: Object> {
    pub(super) name: Name,
    pub(super) check: u32,
    outlet: Weak<Outlet>,
    pub(super) copy: Arc<LocalCopy<T>>,
    state: Mutex<State<T>>,
}

struct State<T: Object> {
    machine: Protocol<Local<T>>,
    local: Local<T>,
    /// The number of the next access.
    next: u64,
    /// Messages that are not encoded: by one thread at a time, so that the order stays.
    outbox: VecDeque<(Rank, MessageOf<T>)>,
    is_sending: bool,
    /// With this, all accesses end.
    error: Option<RankError>,
}

/// An object of any type.
pub(super) trait AnyRecord: Send + Sync {
    fn check(&self) -> u32;

    fn describe(&self) -> String;

    /// Processes a message of the machine.
    fn receive(&self, from: Rank, message: Encoded) -> Result<(), Fault>;

    /// Ends all accesses with an error, now and later.
    fn fail(&self, error: &RankError);

    /// As [`fail`](Self::fail), since the object is another one at another rank.
    fn differs(&self, there: &str);

    /// As [`fail`](Self::fail), since a value cannot travel.
    fn unusable(&self, why: &str);

    /// As [`fail`](Self::fail), since a rank has sent what no correct rank sends.
    fn violated(&self, from: Rank);

    /// Processes the end of another rank, after its last message.
    fn lost(&self, rank: Rank);

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<T: Object> Record<T> {
    pub(super) fn new(
        outlet: &Arc<Outlet>,
        id: ObjectId,
        site: &'static Location<'static>,
        check: u32,
        mode: Mode,
        value: Option<T>,
    ) -> Self {
        let here = outlet.here;
        let name = Name {
            here,
            id,
            type_name: type_name::<T>(),
            site,
        };
        let copy = Arc::new(LocalCopy::new(value));
        let state = State {
            machine: Protocol::new(here, id.home, mode),
            local: Local::new(here, Arc::clone(&copy)),
            next: 0,
            outbox: VecDeque::new(),
            is_sending: false,
            error: None,
        };
        Self {
            name,
            check,
            outlet: Arc::downgrade(outlet),
            copy,
            state: Mutex::new(state),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Code of the program that runs under it is contained.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the error of a change that has panicked at this rank.
    pub(super) fn panicked(&self, payload: &(dyn Any + Send)) -> RankError {
        self.name.panicked(self.name.here, payload)
    }

    /// Begins an access.
    ///
    /// # Panics
    /// In a change.
    pub(super) fn access(&self, kind: Kind, waiting: Waiting<T>) {
        assert_no_change();
        let mut state = self.lock();
        if let Some(error) = state.error.clone() {
            drop(state);
            return waiting.fail(error);
        }
        let number = state.next;
        state.next += 1;
        state.local.waiting.insert(number, waiting);
        let event = Event::Access(Access { number, kind });
        self.step(state, |machine, step| machine.event(event, step));
    }

    /// Switches the protocol of other ranks, at the home.
    pub(super) fn switch(&self, mode: Mode) {
        let event = Event::Switch(mode);
        self.step_of_usable(|machine, step| machine.event(event, step));
    }

    /// Lets the machine take a step, unless its accesses have ended with an error.
    fn step_of_usable<R>(
        &self,
        take: impl FnOnce(&mut Protocol<Local<T>>, &mut Step<'_, Protocol<Local<T>>>) -> R,
    ) -> Option<R> {
        let state = self.lock();
        let is_usable = state.error.is_none();
        is_usable.then(|| self.step(state, take))
    }

    /// Lets the machine take a step, and does what is due.
    fn step<'s, R>(
        &'s self,
        mut state: MutexGuard<'s, State<T>>,
        take: impl FnOnce(&mut Protocol<Local<T>>, &mut Step<'_, Protocol<Local<T>>>) -> R,
    ) -> R {
        let State {
            machine,
            local,
            outbox,
            ..
        } = &mut *state;
        let mut act = |action: Action<Protocol<Local<T>>>| match action {
            Action::Send(to, message) => outbox.push_back((to, message)),
            Action::Effect(never) => match never {},
        };
        let taken = take(machine, &mut Step::new(local, &mut act));
        if machine.is_idle() {
            local.tidy();
        }
        let due = mem::take(&mut local.due);
        self.send(state);
        // A drop or a waker that panics ends nothing else.
        due.into_iter().for_each(|due: Due<T>| {
            contain(|| due.put(&self.name));
        });
        reclaim_if_due();
        taken
    }

    /// Encodes and sends what waits, outside of the lock.
    fn send<'s>(&'s self, mut state: MutexGuard<'s, State<T>>) {
        if mem::replace(&mut state.is_sending, true) {
            return;
        }
        while let Some((to, message)) = state.outbox.pop_front() {
            drop(state);
            self.send_one(to, message);
            state = self.lock();
        }
        state.is_sending = false;
    }

    fn send_one(&self, to: Rank, message: MessageOf<T>) {
        let Some(outlet) = self.outlet.upgrade() else {
            return;
        };
        let limit = outlet.limit;
        let called = match &message {
            Message::Request(Request::Operate { access, .. }) => Some(*access),
            _ => None,
        };
        let encode = || {
            message.try_map(
                |value| {
                    let bytes = encoded(&*value, limit);
                    contain(|| drop(value));
                    bytes
                },
                |call| call.encode(limit),
                |output| Ok(output.encode(limit)),
            )
        };
        let why = match catch_unwind(AssertUnwindSafe(encode)) {
            Ok(Ok(message)) => return outlet.send(to, self.envelope(Body::Message(message))),
            Ok(Err(why)) => why.to_string(),
            Err(payload) => format!("encoding it panicked: {}", text_of(&*payload)),
        };
        if let Some(access) = called {
            return self.not_called(to, access, why);
        }
        outlet.send(to, self.envelope(Body::Unusable(why.clone())));
        self.unusable(&why);
    }

    /// Ends an access whose arguments cannot be encoded, as its home would.
    fn not_called(&self, home: Rank, access: u64, why: String) {
        let output = Output::Encoded(EncodedOutput::Unencodable(why));
        let ended = self.step_of_usable(|machine, step| {
            let done = Message::Grant(machine.mode(), Grant::Done { access, output });
            machine.receive(home, done, step)
        });
        debug_assert!(ended.is_none_or(|ended| ended.is_ok()), "it is outstanding");
    }

    fn envelope(&self, body: Body) -> Envelope {
        let (id, check) = (self.name.id, self.check);
        Envelope { id, check, body }
    }

    /// Decodes a message, outside of the lock.
    fn decode(&self, outlet: &Outlet, message: Encoded) -> Result<MessageOf<T>, Malformed> {
        message.try_map(
            |value| unpack(&value.0).map(Value::new),
            |call: EncodedCall| operation::decode(&call, |at| outlet.declared(at)),
            |output: EncodedOutput| Ok(Output::Encoded(output)),
        )
    }
}

impl<T: Object> AnyRecord for Record<T> {
    fn check(&self) -> u32 {
        self.check
    }

    fn describe(&self) -> String {
        let Name {
            type_name, site, ..
        } = &self.name;
        format!("{type_name}, created at {site}")
    }

    fn receive(&self, from: Rank, message: Encoded) -> Result<(), Fault> {
        let Some(outlet) = self.outlet.upgrade() else {
            return Ok(());
        };
        let decode = || self.decode(&outlet, message);
        let message = match catch_unwind(AssertUnwindSafe(decode)) {
            Ok(decoded) => decoded?,
            Err(payload) => {
                let why = format!("decoding it panicked: {}", text_of(&*payload));
                outlet.send(from, self.envelope(Body::Unusable(why.clone())));
                self.unusable(&why);
                return Ok(());
            }
        };
        let state = self.lock();
        if let Some(error) = &state.error {
            let why = error.to_string();
            drop(state);
            outlet.send(from, self.envelope(Body::Unusable(why)));
            return Ok(());
        }
        let received = self.step(state, |machine, step| machine.receive(from, message, step));
        received.map_err(|_| {
            let because = "its object does not expect it";
            Malformed::refused(type_name::<Encoded>(), 0, because).into()
        })
    }

    fn fail(&self, error: &RankError) {
        let mut state = self.lock();
        state.error.get_or_insert_with(|| error.clone());
        state.local.end();
        let waiting = mem::take(&mut state.local.waiting);
        let (due, unsent) = (
            mem::take(&mut state.local.due),
            mem::take(&mut state.outbox),
        );
        drop(state);
        waiting.into_values().for_each(|it| {
            contain(|| it.fail(error.clone()));
        });
        due.into_iter().for_each(|due: Due<T>| {
            contain(|| due.put(&self.name));
        });
        contain(|| drop(unsent));
    }

    fn differs(&self, there: &str) {
        self.fail(&self.name.differs(there));
    }

    fn unusable(&self, why: &str) {
        self.fail(&self.name.unusable(why));
    }

    fn violated(&self, from: Rank) {
        let why = format_args!("{from} has sent what no rank sends about it");
        self.fail(&self.name.error(RankErrorKind::Violated, from, why));
    }

    fn lost(&self, rank: Rank) {
        self.step_of_usable(|machine, step| machine.lost(rank, step));
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}
