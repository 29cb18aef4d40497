//! The machine of a space at one rank: calls of the program, and the loss of ranks.

use super::ahead::Ahead;
use super::cell::{Cell, Fetch, Gone};
use super::memory::Memory;
use super::message::{Failure, Message, Refusal};
use crate::collective::Counts;
use crate::group::neighbours;
use crate::id::Rank;
use crate::machine::{Machine, Step, Tolerance};
use crate::space::{Declared, Misuse};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// Keys without a value that are remembered, unless [`Names::remembering`] is called.
const REMEMBERED: usize = 1 << 16;

/// The way of a value to the ranks that read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Supply {
    /// A rank fetches the value at the first read, and keeps it as long as the space.
    Fetched {
        /// Values of other ranks that were fetched and not read, at most; without, all are fetched
        /// at once.
        ahead: Option<u32>,
    },
    /// Each read is declared by [`Memory::readers`]. The home sends the value to all ranks that
    /// read it, and each rank drops it after its last read.
    Declared,
}

/// An event at a rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event<K, V> {
    /// A task reads the value of a key, once it is here.
    Get(K),
    /// A task reads the value of a key, and takes it.
    Take(K),
    /// A task puts the value of a key.
    Put(K, V),
    /// This number of reads of a key has ended, or does not wait any more. Not reported of reads
    /// that were refused or [lost](Effect::Lost).
    Read(K, u32),
    /// All tasks here wait: the next fetch is sent regardless of the bound. Reported again for each
    /// further one, whether the last one was answered or not: the answer may need it.
    Idle,
    /// The program ends the space at all ranks, for this reason.
    Abandon(Box<str>),
}

/// A request to the driver.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect<K> {
    /// The value is here: the reads of the key that wait can be performed.
    Ready(K),
    /// The reads of the key that wait end: its home, this rank, was lost.
    Lost(K, Rank),
    /// The call is refused. It changes nothing.
    Refused(K, Misuse),
    /// The space has ended at this rank: all reads that wait end with this error.
    Ended(Failure<K>),
}

/// The names of a space at one rank.
///
/// ```
/// use tautline_core::Rank;
/// use tautline_core::machine::{Action, Machine, Step};
/// use tautline_core::space::{Effect, Event, Memory, Names, Refusal, Supply};
/// use std::collections::BTreeMap;
///
/// /// Numbers by number, of which rank 0 is the home.
/// #[derive(Default)]
/// struct Values(BTreeMap<u32, u64>);
///
/// impl Memory for Values {
///     type Key = u32;
///     type Value = u64;
///
///     fn home(&mut self, _: &u32) -> Rank { Rank(0) }
///     fn readers(&mut self, _: &u32, _: &mut dyn FnMut(Rank)) {}
///     fn keep(&mut self, key: &u32, value: u64) { self.0.insert(*key, value); }
///     fn value(&mut self, key: &u32) -> u64 { self.0[key] }
///     fn free(&mut self, key: &u32) { self.0.remove(key); }
///     fn give_back(&mut self, _: &u32, _: u64) {}
/// }
///
/// let fetched = Supply::Fetched { ahead: None };
/// let mut ranks = [0, 1].map(|rank| Names::<Values>::new(Rank(rank), 2, fetched));
/// let mut values = [(); 2].map(|()| Values::default());
/// let mut sent = Vec::new();
///
/// // Rank 1 reads a key that is not put, and fetches it.
/// let mut act = |action| match action {
///     Action::Send(_, message) => sent.push(message),
///     Action::Effect(_) => {}
/// };
/// ranks[1].event(Event::Get(7), &mut Step::new(&mut values[1], &mut act));
/// let fetch = sent.pop().expect("the value is not here");
/// let mut act = |action| match action {
///     Action::Send(_, message) => sent.push(message),
///     Action::Effect(_) => {}
/// };
/// ranks[0].receive(Rank(1), fetch, &mut Step::new(&mut values[0], &mut act))?;
/// // The put of rank 0 answers it.
/// ranks[0].event(Event::Put(7, 49), &mut Step::new(&mut values[0], &mut act));
/// let data = sent.pop().expect("rank 1 waits");
/// let mut ready = Vec::new();
/// let mut act = |action| ready.extend(match action {
///     Action::Effect(Effect::Ready(key)) => Some(key),
///     _ => None,
/// });
/// ranks[1].receive(Rank(0), data, &mut Step::new(&mut values[1], &mut act))?;
/// assert_eq!((ready, values[1].0[&7]), (vec![7], 49));
/// # Ok::<(), Refusal>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Names<M: Memory> {
    pub(super) here: Rank,
    ranks: u32,
    pub(super) supply: Supply,
    pub(super) cells: BTreeMap<M::Key, Cell>,
    pub(super) gone: Gone<M::Key>,
    pub(super) ahead: Ahead<M::Key>,
    pub(super) lost: BTreeSet<Rank>,
    ended: Option<Failure<M::Key>>,
    pub(super) counts: Counts,
}

/// The ranks that have to do with a key.
pub(super) struct Roles {
    pub(super) home: Rank,
    pub(super) declared: Option<Declared>,
    /// The other ranks that are declared to read, in ascending order.
    pub(super) readers: Vec<Rank>,
}

pub(super) type EventOf<M> = Event<<M as Memory>::Key, <M as Memory>::Value>;

impl<M: Memory> Names<M> {
    /// Creates the machine of `here` in a program of this number of ranks.
    pub fn new(here: Rank, ranks: u32, supply: Supply) -> Self {
        let bound = match supply {
            Supply::Fetched { ahead } => ahead,
            Supply::Declared => None,
        };
        Self {
            here,
            ranks,
            supply,
            cells: BTreeMap::new(),
            gone: Gone::new(REMEMBERED),
            ahead: Ahead::new(bound),
            lost: BTreeSet::new(),
            ended: None,
            counts: Counts::default(),
        }
    }

    /// Remembers the last `keys` whose values were dropped, instead of 65536. A further put or read
    /// of one of them is refused. A further put of one that is forgotten is taken for its first.
    pub fn remembering(mut self, keys: usize) -> Self {
        self.gone = Gone::new(keys);
        self
    }

    /// Returns the messages sent and processed, without those about the end by an error.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the error with which the space has ended.
    pub fn ended(&self) -> Option<&Failure<M::Key>> {
        self.ended.as_ref()
    }

    /// Returns the keys for which reads of this rank wait, in ascending order, with the number of
    /// reads.
    pub fn waiting(&self) -> impl Iterator<Item = (&M::Key, u32)> {
        let wanted = self.cells.iter().filter(|(_, cell)| !cell.is_full());
        let reads = wanted.map(|(key, cell)| (key, cell.open()));
        reads.filter(|(_, open)| *open > 0)
    }

    /// Returns the keys whose values are here, in ascending order.
    pub fn kept(&self) -> impl Iterator<Item = &M::Key> {
        let full = self.cells.iter().filter(|(_, cell)| cell.is_full());
        full.map(|(key, _)| key)
    }

    /// Returns the number of keys with a state at this rank, without those that are remembered
    /// after their last read.
    pub fn known(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn is_rank(&self, rank: Rank) -> bool {
        rank.0 < self.ranks
    }

    /// Returns the rank that has put the key, if this rank knows it.
    pub(super) fn putter(&self, key: &M::Key) -> Option<Rank> {
        let by = self.cells.get(key).and_then(|cell| cell.by);
        by.or_else(|| self.gone.putter(key))
    }

    /// Returns the ranks that have to do with a key, by the functions of the program.
    pub(super) fn roles(&self, key: &M::Key, memory: &mut M) -> Roles {
        let home = memory.home(key);
        let mut readers = Vec::new();
        let declared = (self.supply == Supply::Declared).then(|| {
            let (mut here, mut total) = (0, 0);
            memory.readers(key, &mut |rank| {
                total += 1;
                match rank == self.here {
                    true => here += 1,
                    false => readers.push(rank),
                }
            });
            Declared { here, total }
        });
        readers.sort_unstable();
        readers.dedup();
        Roles {
            home,
            declared,
            readers,
        }
    }

    /// As [`roles`](Self::roles), if they are ranks of the program.
    fn checked(&self, key: &M::Key, memory: &mut M) -> Result<Roles, Misuse> {
        let roles = self.roles(key, memory);
        let mut all = [roles.home]
            .into_iter()
            .chain(roles.readers.iter().copied());
        let none = all.find(|rank| !self.is_rank(*rank));
        none.map_or(Ok(roles), |rank| Err(Misuse::NoRank(rank)))
    }

    /// Sends a message about a key, unless the receiver was lost.
    pub(super) fn send(
        &mut self,
        to: Rank,
        message: Message<M::Key, M::Value>,
        step: &mut Step<'_, Self>,
    ) {
        if !self.lost.contains(&to) {
            self.counts.sent += 1;
            step.send(to, message);
        }
    }

    /// Begins a read, which may take the value.
    fn get(
        &mut self,
        key: M::Key,
        takes: bool,
        step: &mut Step<'_, Self>,
    ) -> Result<(), (M::Key, Misuse)> {
        let (home, declared) = match self.cells.get(&key) {
            Some(cell) => (cell.home, cell.declared),
            None => match self.checked(&key, step.calls()) {
                Ok(roles) => (roles.home, roles.declared),
                Err(misuse) => return Err((key, misuse)),
            },
        };
        let begun = self.cells.get(&key).map_or(0, Cell::begun);
        let misuse = match declared {
            None => takes.then_some(Misuse::Shared(None)),
            Some(Declared { here, .. }) if begun >= here || self.gone.putter(&key).is_some() => {
                Some(Misuse::Undeclared(here))
            }
            Some(Declared { total, .. }) => {
                (takes && total != 1).then_some(Misuse::Shared(Some(total)))
            }
        };
        if let Some(misuse) = misuse {
            return Err((key, misuse));
        }
        if begun == 0 && self.lost.contains(&home) && !self.cells.contains_key(&key) {
            step.effect(Effect::Lost(key, home));
            return Ok(());
        }
        let cell = self.cells.entry(key.clone());
        let cell = cell.or_insert_with(|| Cell::new(home, declared));
        cell.begin();
        if cell.is_full() {
            step.effect(Effect::Ready(key));
        } else if home != self.here && declared.is_none() && cell.fetch == Fetch::Unneeded {
            cell.fetch = Fetch::Due;
            self.ahead.push(key);
            self.fetch_ahead(step);
        }
        Ok(())
    }

    /// Sends the fetches that wait, as far as the bound permits.
    pub(super) fn fetch_ahead(&mut self, step: &mut Step<'_, Self>) {
        while self.ahead.has_room() && self.fetch_next(step) {}
    }

    /// Sends the first fetch that waits. Returns false if none does.
    fn fetch_next(&mut self, step: &mut Step<'_, Self>) -> bool {
        let cells = &mut self.cells;
        let is_due = |key: &M::Key| cells.get(key).is_some_and(|cell| cell.fetch == Fetch::Due);
        let Some(key) = self.ahead.pop(is_due) else {
            return false;
        };
        if let Some(cell) = self.cells.get_mut(&key) {
            cell.fetch = Fetch::Ahead;
            let home = cell.home;
            self.ahead.add();
            self.send(home, Message::Fetch { key }, step);
        }
        true
    }

    /// Puts a value.
    fn put(&mut self, key: M::Key, value: M::Value, step: &mut Step<'_, Self>) {
        let misuse = match (self.checked(&key, step.calls()), self.putter(&key)) {
            (Err(misuse), _) => misuse,
            (Ok(roles), None) => return self.put_first(key, value, &roles, step),
            (Ok(_), Some(first)) if first == self.here => Misuse::AlreadyPut,
            (Ok(_), Some(first)) => {
                step.calls().give_back(&key, value);
                let second = self.here;
                return self.end(Failure::PutTwice { key, first, second }, step);
            }
        };
        step.calls().give_back(&key, value);
        step.effect(Effect::Refused(key, misuse));
    }

    fn put_first(
        &mut self,
        key: M::Key,
        value: M::Value,
        roles: &Roles,
        step: &mut Step<'_, Self>,
    ) {
        self.fill(&key, self.here, value, roles, step);
        if roles.home == self.here {
            self.supply(&key, self.here, roles, step);
        } else if !self.lost.contains(&roles.home) {
            let (key, value) = (key.clone(), step.calls().value(&key));
            self.send(roles.home, Message::Put { key, value }, step);
        }
        self.settle(key, step);
    }

    /// Drops what is not needed after a step of a key.
    pub(super) fn settle(&mut self, key: M::Key, step: &mut Step<'_, Self>) {
        let Some(cell) = self.cells.get_mut(&key) else {
            return;
        };
        match cell.by {
            Some(by) if cell.is_read() => {
                step.calls().free(&key);
                self.cells.remove(&key);
                self.gone.insert(key, by);
            }
            Some(_) if cell.fetch == Fetch::Ahead && cell.open() == 0 => {
                cell.fetch = Fetch::Past;
                self.ahead.remove();
                self.fetch_ahead(step);
            }
            None if cell.is_unused() => drop(self.cells.remove(&key)),
            _ => {}
        }
    }

    /// Ends the space here, and at the ranks next to this one, which inform the others.
    pub(super) fn end(&mut self, failure: Failure<M::Key>, step: &mut Step<'_, Self>) {
        for rank in neighbours(self.here, self.ranks) {
            if !self.lost.contains(&rank) {
                step.send(rank, Message::End(failure.clone()));
            }
        }
        self.cells.clear();
        self.gone = Gone::new(0);
        self.ahead.clear();
        self.ended = Some(failure.clone());
        step.effect(Effect::Ended(failure));
    }

    /// Refuses the calls of a program whose space has ended.
    fn refuse(&mut self, event: EventOf<M>, step: &mut Step<'_, Self>) {
        let key = match event {
            Event::Get(key) | Event::Take(key) => key,
            Event::Put(key, value) => {
                step.calls().give_back(&key, value);
                key
            }
            Event::Read(..) | Event::Idle | Event::Abandon(_) => return,
        };
        step.effect(Effect::Refused(key, Misuse::Ended));
    }
}

/// Its calls are made to the memory of the space.
impl<M: Memory> Machine for Names<M> {
    type Peer = Rank;
    type Message = Message<M::Key, M::Value>;
    type Event = EventOf<M>;
    type Effect = Effect<M::Key>;
    type Calls = M;
    type Refusal = Refusal;

    /// # Panics
    /// If more reads of a key have ended than begun.
    fn event(&mut self, event: EventOf<M>, step: &mut Step<'_, Self>) {
        if self.ended.is_some() {
            return self.refuse(event, step);
        }
        let begun = match event {
            Event::Get(key) => self.get(key, false, step),
            Event::Take(key) => self.get(key, true, step),
            Event::Put(key, value) => return self.put(key, value, step),
            Event::Read(key, reads) => {
                if let Some(cell) = self.cells.get_mut(&key) {
                    cell.end(reads);
                }
                return self.settle(key, step);
            }
            Event::Idle => {
                self.fetch_next(step);
                return;
            }
            Event::Abandon(reason) => {
                let by = self.here;
                return self.end(Failure::Abandoned { by, reason }, step);
            }
        };
        if let Err((key, misuse)) = begun {
            step.effect(Effect::Refused(key, misuse));
        }
    }

    fn receive(
        &mut self,
        from: Rank,
        message: Message<M::Key, M::Value>,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        if from == self.here || !self.is_rank(from) {
            return Err(Refusal::Sender);
        }
        // What other ranks have sent before they learn of the end is dropped.
        match self.ended {
            Some(_) => Ok(()),
            None => self.message(from, message, step),
        }
    }

    /// The values of which the rank is the home are lost, unless they are here. Others are not
    /// affected, except that it puts none any more.
    fn lost(&mut self, rank: Rank, step: &mut Step<'_, Self>) -> Tolerance {
        self.lost.insert(rank);
        let is_homeless = |cell: &Cell| !cell.is_full() && cell.home == rank;
        let homeless = self.cells.iter().filter(|(_, cell)| is_homeless(cell));
        let homeless: Vec<M::Key> = homeless.map(|(key, _)| key.clone()).collect();
        for key in homeless {
            let Some(cell) = self.cells.remove(&key) else {
                continue;
            };
            if cell.fetch == Fetch::Ahead {
                self.ahead.remove();
            }
            if cell.open() > 0 {
                step.effect(Effect::Lost(key, rank));
            }
        }
        self.fetch_ahead(step);
        Tolerance::Tolerated
    }
}
