//! An object at this rank: its machine, and what that sends and has received.

mod cache;
mod copy;
mod local;
mod name;
mod waiting;

pub(super) use cache::Cache;
pub(super) use copy::{LocalCopy, Seen, Value, reclaim, reclaim_if_due};
pub(super) use name::Name;
pub(super) use waiting::{Answer, Lent, Owned, Typed, Update, Waiting, promise};

use super::message::{Body, Encoded, EncodedOutput, Ending, Envelope, ObjectId, Origin};
use super::operation::{self, Call, Output};
use super::outlet::Outlet;
use super::{Object, Result};
use crate::process::contain::contain;
use crate::ranks::engine::{OpenAccess, assert_no_change};
use crate::ranks::error::RankError;
use crate::ranks::team::text_of;
use local::{Due, Local};
use std::any::{Any, type_name};
use std::cell::Cell;
use std::collections::VecDeque;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tautline_core::Rank;
use tautline_core::coherence::{
    Access, CopyState, Event, Grant, Kind, Message, Mode, Object as Protocol, Request,
};
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::wire::{Encoding, Fault, Malformed, Unencodable, unpack};

type MessageOf<T> = Message<Value<T>, Box<dyn Call<T>>, Output>;

/// An object at this rank.
pub(super) struct Record<T: Object> {
    pub(super) name: Name,
    pub(super) check: u32,
    outlet: Arc<Outlet>,
    pub(super) copy: Arc<LocalCopy<T>>,
    this: Weak<Self>,
    /// Whether it is in the queue of the cache.
    is_queued: AtomicBool,
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
    /// The bytes of the value that has come last.
    bytes: usize,
    /// Those that the cache counts.
    cached: usize,
    ended: Option<Ended>,
}

/// The end of an object at this rank.
struct Ended {
    /// All accesses end with it.
    error: RankError,
    /// For other ranks.
    ending: Ending,
}

/// An object of any type.
pub(super) trait AnyRecord: Send + Sync {
    fn check(&self) -> u32;

    fn describe(&self) -> String;

    /// Processes a message of the machine.
    fn receive(&self, from: Rank, message: Encoded, payload: &[u8]) -> Result<(), Fault>;

    /// Ends all accesses with an error, now and later: the channels have ended.
    fn fail(&self, error: &RankError);

    /// Ends all accesses, now and later, and those of the ranks that wait for this one. `knows` is
    /// a rank that knows of it.
    fn end(&self, knows: Option<Rank>, ending: Ending);

    /// Gives up the copy, unless it was read since the last call, or is needed. Returns whether
    /// the copy is invalid then.
    fn evict(&self) -> bool;

    /// Returns the bytes that the object takes at this rank beside its value.
    fn overhead(&self) -> usize;

    /// Returns its accesses that wait; `None` if no access waits, or its value is being changed.
    fn open_access(&self) -> Option<OpenAccess>;

    /// Processes the end of another rank, after its last message.
    fn lost(&self, rank: Rank);

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<T: Object> Record<T> {
    pub(super) fn new(
        outlet: &Arc<Outlet>,
        id: ObjectId,
        origin: Origin,
        check: u32,
        mode: Mode,
        value: Option<T>,
    ) -> Arc<Self> {
        let here = outlet.here;
        let name = Name {
            here,
            id,
            type_name: type_name::<T>(),
            origin,
        };
        let copy = Arc::new(LocalCopy::new(value));
        let state = State {
            machine: Protocol::new(here, id.home, outlet.ranks, mode),
            local: Local::new(here, Arc::clone(&copy)),
            next: 0,
            outbox: VecDeque::new(),
            is_sending: false,
            bytes: 0,
            cached: 0,
            ended: None,
        };
        Arc::new_cyclic(|this| Self {
            name,
            check,
            outlet: Arc::clone(outlet),
            copy,
            this: Weak::clone(this),
            is_queued: AtomicBool::new(false),
            state: Mutex::new(state),
        })
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
        if let Some(ended) = &state.ended {
            let error = ended.error.clone();
            drop(state);
            return waiting.fail(error);
        }
        let number = state.next;
        state.next += 1;
        state.local.waiting.push_back((number, waiting));
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
        let is_usable = state.ended.is_none();
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
        let before = state.cached;
        let has_copy = !self.is_home() && state.machine.copy() != CopyState::Invalid;
        let after = if has_copy { state.bytes } else { 0 };
        state.cached = after;
        self.send(state);
        if before != after {
            self.count(before, after);
        }
        // A drop or a waker that panics ends nothing else.
        due.into_iter().for_each(|due: Due<T>| {
            contain(|| due.put(&self.name));
        });
        reclaim_if_due();
        taken
    }

    fn is_home(&self) -> bool {
        self.name.here == self.name.id.home
    }

    /// Counts the bytes of the copy.
    fn count(&self, before: usize, after: usize) {
        let enter = || {
            // ORDERING: Relaxed: under the lock of the cache.
            let is_queued = self.is_queued.swap(true, Ordering::Relaxed);
            (!is_queued).then(|| Weak::clone(&self.this) as _)
        };
        self.outlet.cache.count(before, after, enter);
    }

    /// Ends the object here. `tell` selects other ranks that are to learn of it.
    fn end_with(&self, ended: Ended, tell: impl FnOnce(Vec<Rank>) -> Vec<Rank>) {
        let mut state = self.lock();
        if state.ended.is_some() {
            return;
        }
        let (involved, ending) = (tell(state.machine.involved()), ended.ending.clone());
        let error = ended.error.clone();
        state.ended = Some(ended);
        state.local.end();
        let waiting = mem::take(&mut state.local.waiting);
        let due = mem::take(&mut state.local.due);
        let unsent = mem::take(&mut state.outbox);
        let cached = mem::take(&mut state.cached);
        drop(state);
        if cached > 0 {
            self.count(cached, 0);
        }
        waiting.into_iter().for_each(|(_, it)| {
            contain(|| it.fail(error.clone()));
        });
        due.into_iter().for_each(|due: Due<T>| {
            contain(|| due.put(&self.name));
        });
        contain(|| drop(unsent));
        reclaim_if_due();
        for rank in involved {
            self.send_ended(rank, ending.clone());
        }
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
        let called = match &message {
            Message::Request(Request::Operate { access, .. }) => Some(*access),
            _ => None,
        };
        let done = match &message {
            Message::Grant(mode, Grant::Done { access, .. }) => Some((*mode, *access)),
            _ => None,
        };
        let why = match catch_unwind(AssertUnwindSafe(|| self.encode(message))) {
            Ok(Ok(message)) => return self.outlet.send_encoded(to, message),
            Ok(Err(why)) => why.to_string(),
            Err(payload) => format!("encoding it panicked: {}", text_of(&*payload)),
        };
        if let Some(access) = called {
            return self.not_called(to, access, why);
        }
        if let Some((mode, access)) = done {
            let output = EncodedOutput::Unencodable(why);
            let done = Message::Grant(mode, Grant::Done { access, output });
            return self.outlet.send(to, self.envelope(Body::Message(done)));
        }
        let ending = Ending::Unusable(why);
        self.send_ended(to, ending.clone());
        self.end(Some(to), ending);
    }

    /// Encodes a message, then its payload: by one copy, if that is plain data.
    fn encode(&self, message: MessageOf<T>) -> Result<Encoding, Unencodable> {
        let (mut value, mut call, mut outcome) = (None, None, None);
        let message = message.try_map(
            |it| {
                value = Some(it);
                Ok(())
            },
            |it| Ok(call.insert(it).position()),
            |it| {
                Ok(match it {
                    Output::Value(it) => {
                        outcome = Some(it);
                        EncodedOutput::Value
                    }
                    Output::Panicked(at, text) => EncodedOutput::Panicked(at, text),
                    Output::Encoded(output, _) => output,
                })
            },
        )?;
        let mut encoding = Encoding::default();
        encoding.push(&self.envelope(Body::Message(message)), self.outlet.longest)?;
        let limit = self.outlet.limit;
        if let Some(value) = value {
            encoding.push(&*value, limit)?;
            contain(|| drop(value));
        }
        call.map_or(Ok(()), |call| call.encode(limit, &mut encoding))?;
        outcome.map_or(Ok(()), |outcome| outcome.encode(limit, &mut encoding))?;
        Ok(encoding)
    }

    fn send_ended(&self, to: Rank, ending: Ending) {
        self.outlet.send(to, self.envelope(Body::Ended(ending)));
    }

    /// Ends an access whose arguments cannot be encoded, as its home would.
    fn not_called(&self, home: Rank, access: u64, why: String) {
        let output = Output::Encoded(EncodedOutput::Unencodable(why), Vec::new());
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

    /// Decodes a message and its payload, outside of the lock.
    fn decode(&self, message: Encoded, payload: &[u8]) -> Result<MessageOf<T>, Malformed> {
        let rest = Cell::new(payload);
        let message = message.try_map(
            |()| unpack(rest.take()).map(Value::new),
            |at| operation::decode(at, rest.take(), |at| self.outlet.declared(at)),
            |output| {
                let result = match output {
                    EncodedOutput::Value => rest.take().to_vec(),
                    EncodedOutput::Panicked(..) | EncodedOutput::Unencodable(_) => Vec::new(),
                };
                Ok(Output::Encoded(output, result))
            },
        )?;
        match rest.get() {
            [] => Ok(message),
            rest => {
                let because = "it has no payload";
                Err(Malformed::refused(
                    type_name::<Encoded>(),
                    rest.len(),
                    because,
                ))
            }
        }
    }
}

impl<T: Object> AnyRecord for Record<T> {
    fn check(&self) -> u32 {
        self.check
    }

    fn describe(&self) -> String {
        let Name {
            type_name, origin, ..
        } = &self.name;
        format!("{type_name}, created at {origin:#}")
    }

    fn receive(&self, from: Rank, message: Encoded, payload: &[u8]) -> Result<(), Fault> {
        let decode = || self.decode(message, payload);
        let message = match catch_unwind(AssertUnwindSafe(decode)) {
            Ok(decoded) => decoded?,
            Err(payload) => {
                let why = format!("decoding it panicked: {}", text_of(&*payload));
                let ending = Ending::Unusable(why);
                self.send_ended(from, ending.clone());
                self.end(Some(from), ending);
                return Ok(());
            }
        };
        let mut state = self.lock();
        if let Some(ended) = &state.ended {
            let ending = ended.ending.clone();
            drop(state);
            self.send_ended(from, ending);
            return Ok(());
        }
        if let Message::Grant(_, Grant::Shared(_) | Grant::Exclusive(_)) | Message::Passed(_) =
            message
        {
            state.bytes = payload.len();
        }
        let received = self.step(state, |machine, step| machine.receive(from, message, step));
        received.map_err(|_| {
            let because = "its object does not expect it";
            Malformed::refused(type_name::<Encoded>(), 0, because).into()
        })
    }

    fn fail(&self, error: &RankError) {
        let error = error.clone();
        let ending = Ending::Unusable(error.to_string());
        self.end_with(Ended { error, ending }, |_| Vec::new());
    }

    fn end(&self, knows: Option<Rank>, ending: Ending) {
        let error = self.name.ended(&ending);
        self.end_with(Ended { error, ending }, |mut ranks| {
            ranks.retain(|rank| Some(*rank) != knows);
            ranks
        });
    }

    fn evict(&self) -> bool {
        if self.copy.has_hits() {
            return false;
        }
        // ORDERING: Relaxed: a copy that comes meanwhile may be queued twice, which does no harm.
        self.is_queued.store(false, Ordering::Relaxed);
        let is_gone = self.step_of_usable(|machine, step| {
            machine.event(Event::Evict, step);
            machine.copy() == CopyState::Invalid
        });
        let is_gone = is_gone.unwrap_or(true);
        // ORDERING: Relaxed: as above.
        self.is_queued.fetch_or(!is_gone, Ordering::Relaxed);
        is_gone
    }

    fn overhead(&self) -> usize {
        size_of::<Self>() + size_of::<LocalCopy<T>>()
    }

    fn open_access(&self) -> Option<OpenAccess> {
        let state = self.state.try_lock().ok()?;
        let accesses = state.local.waiting.len();
        (accesses > 0).then(|| OpenAccess {
            here: self.name.here,
            object: self.name.to_string(),
            accesses,
            ranks: state.machine.involved(),
        })
    }

    fn lost(&self, rank: Rank) {
        self.step_of_usable(|machine, step| machine.lost(rank, step));
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}
