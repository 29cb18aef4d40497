//! A space at one rank of several: its machine, and what that sends and has received.

use super::memory::{AtRank, Carried, Cells, Due, Observer, Values};
use super::message::{Envelope, Kept, encode};
use super::name::{About, Keys, Name};
use super::roles::Roles;
use super::{Codec, Key, Value};
use crate::process::contain::contain;
use crate::ranks::engine::{Objects, OpenAccess, Outgoing, ProgressEngine};
use crate::ranks::error::RankError;
use crate::ranks::team::text_of;
use std::collections::VecDeque;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use tautline_core::Rank;
use tautline_core::collective::Branch;
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::space::{
    Declared, Effect, Event, Get, Misuse, Names, Space, SpaceEffect, SpaceEvent, Supply, Table,
    Take,
};
use tautline_core::wire::{Channel, Encoding, Unencodable};

/// Parts of the table.
const SHARDS: usize = 16;

type Protocol<K, V> = Space<Values<K, V>>;

/// A space at one rank of several.
pub(super) struct Over<K: Key, V: Value> {
    pub(super) name: Name,
    here: Rank,
    roles: Arc<Roles<K>>,
    cells: Arc<Cells<K, V>>,
    pub(super) codec: Box<dyn Codec<V>>,
    /// Bytes of a value, at most, and of a message.
    limit: usize,
    longest: usize,
    outgoing: Outgoing<Envelope<K>>,
    state: Mutex<State<K, V>>,
    /// A round has ended, or the space.
    ended: Condvar,
}

struct State<K: Key, V: Value> {
    machine: Protocol<K, V>,
    /// Messages that are not encoded: by one thread at a time, so that the order stays.
    outbox: VecDeque<(Rank, Kept<K, V>)>,
    is_sending: bool,
    round: Option<Round>,
    /// The error with which the machine has ended.
    error: Option<RankError>,
    /// The error with which it ends next, if this rank knows more than others.
    cause: Option<RankError>,
}

/// The end of a round of counting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    Busy,
    Quiet,
    /// It does not end: this rank was lost.
    Unknown(Rank),
}

/// The end of a step, for the call that has taken it.
struct Stepped<V, R> {
    taken: R,
    refused: Option<Misuse>,
    /// The value of a put that was refused.
    back: Option<V>,
}

impl<K: Key, V: Value> Over<K, V> {
    pub(super) fn new(
        name: Name,
        ranks: u32,
        roles: Roles<K>,
        codec: Box<dyn Codec<V>>,
        limit: usize,
        longest: usize,
    ) -> Arc<Self> {
        let (here, roles) = (roles.here, Arc::new(roles));
        let supply = match roles.are_declared() {
            true => Supply::Declared,
            false => Supply::Fetched { ahead: None },
        };
        Arc::new_cyclic(|this: &Weak<Self>| {
            let policy = AtRank {
                roles: Arc::clone(&roles),
                observer: Weak::clone(this) as _,
            };
            let cells = Arc::new(Table::new(SHARDS, policy));
            let names = Names::new(here, ranks, supply);
            let state = State {
                machine: Space::new(names, Branch::of(here, ranks)),
                outbox: VecDeque::new(),
                is_sending: false,
                round: None,
                error: None,
                cause: None,
            };
            Self {
                name,
                here,
                roles,
                cells,
                codec,
                limit,
                longest,
                outgoing: Outgoing::new(here),
                state: Mutex::new(state),
                ended: Condvar::new(),
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, State<K, V>> {
        // A function of a key that panics leaves the machine as it was.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn open(&self, channel: Channel<Envelope<K>>) {
        self.outgoing.open(channel);
    }

    /// Drops all messages, sent and to be sent.
    #[cfg(test)]
    pub(super) fn close_outgoing(&self) {
        self.outgoing.close();
    }

    /// Begins a read. After the end of the space, it waits for no value.
    pub(super) fn get(&self, key: &K) -> Result<Get<V>, Misuse> {
        let is_here = !self.roles.are_declared() && self.cells.is_full(key);
        match is_here {
            true => self.cells.get(key),
            false => self.read(Event::Get(key.clone()), || self.cells.get(key)),
        }
    }

    /// Begins the only read of a key, as [`get`](Self::get).
    pub(super) fn take(&self, key: &K) -> Result<Take<V>, Misuse> {
        self.read(Event::Take(key.clone()), || self.cells.take(key))
    }

    /// Begins a read that the machine admits, in the table.
    fn read<R>(
        &self,
        event: Event<K, Carried<V>>,
        begin: impl FnOnce() -> Result<R, Misuse>,
    ) -> Result<R, Misuse> {
        let refused = self.call(event);
        match refused {
            None | Some(Misuse::Ended) => {}
            Some(misuse) => return Err(misuse),
        }
        let read = begin()?;
        // The space may have ended before the table had the read.
        if self.lock().error.is_some() {
            self.end_reads();
        }
        Ok(read)
    }

    pub(super) fn put(&self, key: &K, value: V) -> Result<(), (V, Misuse)> {
        let encoded = match self.encode_for_home(key, &value) {
            Ok(encoded) => encoded,
            Err(why) => {
                self.abandon(format_args!("the value of {key:?} cannot travel: {why}"));
                return Err((value, Misuse::Ended));
            }
        };
        let event = SpaceEvent::Of(Event::Put(key.clone(), Carried::Own(value)));
        let stepped = self.step(encoded, |machine, step| machine.event(event, step));
        match stepped.back {
            Some(back) => Err((back, stepped.refused.unwrap_or(Misuse::Ended))),
            None => Ok(()),
        }
    }

    /// Encodes a value that travels to its home while its only read, here, may take it.
    fn encode_for_home(&self, key: &K, value: &V) -> Result<Option<Encoding>, Unencodable> {
        let only = Some(Declared { here: 1, total: 1 });
        if self.roles.declared(key) != only || self.roles.home(key) == self.here {
            return Ok(None);
        }
        let mut encoding = Encoding::default();
        self.codec.encode(value, self.limit, &mut encoding)?;
        Ok(Some(encoding))
    }

    pub(super) fn sent(&self) -> u64 {
        self.lock().machine.names().counts().sent
    }

    pub(super) fn is_full(&self, key: &K) -> bool {
        self.cells.is_full(key)
    }

    /// Ends the space at all ranks.
    pub(super) fn abandon(&self, why: impl std::fmt::Display) {
        let reason = why.to_string().into_boxed_str();
        _ = self.call(Event::Abandon(reason));
    }

    /// Gives the machine an event. Returns the reason if the call is refused.
    fn call(&self, event: Event<K, Carried<V>>) -> Option<Misuse> {
        let event = SpaceEvent::Of(event);
        self.step(None, |machine, step| machine.event(event, step))
            .refused
    }

    /// Processes a message.
    pub(super) fn received(&self, from: Rank, message: Kept<K, V>) {
        let about = About::of(&message);
        let stepped = self.step(None, |machine, step| machine.receive(from, message, step));
        if let Err(refusal) = stepped.taken {
            self.abandon(format_args!("{from} has sent {refusal}{about}"));
        }
    }

    /// Processes the end of another rank, after its last message.
    pub(super) fn lost(&self, rank: Rank) {
        self.step(None, |machine, step| machine.lost(rank, step));
    }

    /// Ends all calls, now and later: the channels have ended.
    pub(super) fn fail(&self, error: &RankError) {
        self.outgoing.close();
        self.end(error.clone());
    }

    /// Ends the space at all ranks, with this error here.
    fn end(&self, error: RankError) {
        let why = error.to_string();
        self.lock().cause.get_or_insert(error);
        self.abandon(why);
    }

    /// Ends the reads that wait.
    fn end_reads(&self) {
        for mut waiters in self.cells.fail() {
            contain(|| waiters.release());
        }
    }

    /// Lets the machine take a step, and does what is due.
    fn step<R>(
        &self,
        encoded: Option<Encoding>,
        take: impl FnOnce(&mut Protocol<K, V>, &mut Step<'_, Protocol<K, V>>) -> R,
    ) -> Stepped<V, R> {
        let mut values = Values {
            roles: Arc::clone(&self.roles),
            cells: Arc::clone(&self.cells),
            encoded,
            due: Due::default(),
        };
        let mut state = self.lock();
        let State {
            machine, outbox, ..
        } = &mut *state;
        let mut effects = Vec::new();
        let mut act = |action: Action<Protocol<K, V>>| match action {
            Action::Send(to, message) => outbox.push_back((to, message)),
            Action::Effect(effect) => effects.push(effect),
        };
        let taken = take(machine, &mut Step::new(&mut values, &mut act));
        let (refused, lost) = self.carry_out(&mut state, effects);
        let has_ended = state.error.is_some();
        self.send(state);
        let mut due = values.due;
        let back = due.back.take();
        // A waiter or the drop of a value that panics ends nothing else.
        contain(|| due.release());
        contain(|| drop(due));
        if has_ended {
            self.end_reads();
        }
        if let Some(error) = lost {
            self.end(error);
        }
        Stepped {
            taken,
            refused,
            back,
        }
    }

    /// Carries out the effects of a step. Returns the reason for which its call was refused, and
    /// the error of reads whose home was lost.
    fn carry_out(
        &self,
        state: &mut State<K, V>,
        effects: Vec<SpaceEffect<K>>,
    ) -> (Option<Misuse>, Option<RankError>) {
        let (mut refused, mut lost) = (None, None);
        for effect in effects {
            match effect {
                SpaceEffect::Of(Effect::Ready(_)) => continue,
                SpaceEffect::Of(Effect::Refused(_, misuse)) => {
                    refused = Some(misuse);
                    continue;
                }
                SpaceEffect::Of(Effect::Lost(key, rank)) => {
                    lost.get_or_insert_with(|| self.name.lost(&key, rank));
                    continue;
                }
                SpaceEffect::Of(Effect::Ended(failure)) => {
                    let cause = state.cause.take();
                    state.error = Some(cause.unwrap_or_else(|| self.name.failed(&failure)));
                }
                SpaceEffect::Busy => state.round = Some(Round::Busy),
                SpaceEffect::Quiet => state.round = Some(Round::Quiet),
                SpaceEffect::Unknown(rank) => state.round = Some(Round::Unknown(rank)),
            }
            self.ended.notify_all();
        }
        (refused, lost)
    }

    /// Encodes and sends what waits, outside of the lock.
    fn send<'s>(&'s self, mut state: MutexGuard<'s, State<K, V>>) {
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

    fn send_one(&self, to: Rank, message: Kept<K, V>) {
        let about = About::of(&message);
        let encode = || encode(&*self.codec, message, self.limit, self.longest);
        let why = match catch_unwind(AssertUnwindSafe(encode)) {
            Ok(Ok(encoding)) => return self.outgoing.send(to, encoding),
            Ok(Err(why)) => why.to_string(),
            Err(payload) => format!("encoding it panicked: {}", text_of(&*payload)),
        };
        self.abandon(format_args!("a value cannot travel{about}: {why}"));
    }

    /// Closes the space, once all ranks have closed it and no message is in flight. Returns the
    /// error of reads that wait here for keys that no rank has put, if there are any.
    pub(super) fn close(&self, engine: &ProgressEngine) -> Result<Option<RankError>, RankError> {
        loop {
            self.lock().round = None;
            self.step(None, |machine, step| machine.event(SpaceEvent::Close, step));
            match self.await_round(engine)? {
                Round::Busy => {}
                Round::Quiet => return Ok(self.closed()),
                Round::Unknown(rank) => return Err(self.name.uncounted(rank)),
            }
        }
    }

    /// Returns the end of the present round.
    fn await_round(&self, engine: &ProgressEngine) -> Result<Round, RankError> {
        let is_over = || {
            let state = self.lock();
            state.round.is_some() || state.error.is_some()
        };
        engine.progress.poll_until(engine, is_over);
        let mut state = self.lock();
        loop {
            if let Some(error) = &state.error {
                return Err(error.clone());
            }
            if let Some(round) = state.round {
                return Ok(round);
            }
            let woken = self.ended.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Drops the values, once nothing is under way.
    fn closed(&self) -> Option<RankError> {
        let state = self.lock();
        let waiting: Vec<_> = state.machine.names().waiting().collect();
        let error = self.name.never_put(&self.roles, &waiting);
        drop(state);
        self.end_reads();
        self.cells.clear();
        error
    }
}

impl<K: Key, V: Value> Observer<K> for Over<K, V> {
    fn freed(&self, key: K) {
        // In the drop of a value that was read.
        contain(|| {
            let declared = self.roles.declared(&key);
            let here = declared.map_or(0, |declared| declared.here);
            if here > 0 {
                self.call(Event::Read(key, here));
            }
        });
    }
}

impl<K: Key, V: Value> Objects for Over<K, V> {
    fn open_accesses(&self) -> Vec<OpenAccess> {
        let Ok(state) = self.state.try_lock() else {
            return Vec::new();
        };
        let waiting: Vec<_> = state.machine.names().waiting().collect();
        let accesses: u32 = waiting.iter().map(|(_, reads)| reads).sum();
        let mut ranks: Vec<_> = waiting
            .iter()
            .map(|(key, _)| self.roles.home(key))
            .collect();
        ranks.sort_unstable();
        ranks.dedup();
        let open = || OpenAccess {
            here: self.here,
            object: format!("{}, {}", self.name, Keys(&waiting)),
            accesses: accesses as usize,
            ranks,
        };
        (accesses > 0).then(open).into_iter().collect()
    }
}
