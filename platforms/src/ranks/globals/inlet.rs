//! The channel of the shared objects of a rank.

use super::message::{Body, Ending, Envelope, GlobalRef, Layout, ObjectId, Origin};
use super::outlet::Outlet;
use super::record::{AnyRecord, Record, reclaim};
use super::{Object, Result};
use crate::ranks::engine::{Objects, OpenAccess, ProgressEngine};
use crate::ranks::error::{RankError, RankErrorKind};
use rustc_hash::FxHashMap;
use std::any::type_name;
use std::collections::{HashMap, VecDeque};
use std::mem;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tautline_core::coherence::{Answer, Message, Mode, Recall};
use tautline_core::wire::{self, Fault, Malformed, Receiver};
use tautline_core::{PlaceId, Rank};

/// Messages about objects that this rank has not created, at most.
const EARLY: usize = 1 << 16;

/// The shared objects of a rank.
pub(super) struct Shared {
    pub(super) outlet: Arc<Outlet>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    records: FxHashMap<ObjectId, Arc<dyn AnyRecord>>,
    /// For an object, as long as its messages cannot be delivered at once.
    early: FxHashMap<ObjectId, Early>,
    /// The number of these messages.
    waiting: usize,
    /// The type and the call of each object and array that this rank has created, by its number.
    created: HashMap<u32, (&'static str, Origin)>,
    /// The number of objects that this rank has published.
    published: u32,
    /// The ranks that have ended.
    lost: Vec<Rank>,
    error: Option<RankError>,
}

/// Messages about an object that this rank has not created, or behind one that calls an operation
/// which it has not declared.
#[derive(Default)]
struct Early {
    messages: VecDeque<(Rank, Envelope, Vec<u8>)>,
    /// The ranks that have ended.
    lost: Vec<Rank>,
    /// Whether a thread delivers them.
    is_delivered: bool,
}

impl Objects for Shared {
    fn open_accesses(&self) -> Vec<OpenAccess> {
        let records = self.records();
        records
            .iter()
            .filter_map(|record| record.open_access())
            .collect()
    }
}

impl Drop for Shared {
    /// Drops all former values.
    fn drop(&mut self) {
        drop(mem::take(&mut *self.table()));
        reclaim();
    }
}

impl Table {
    /// Returns what this rank has created with the number of an object that it does not have.
    fn created_instead(&self, id: ObjectId) -> Option<String> {
        let (type_name, origin) = self.created.get(&id.number)?;
        Some(format!("{type_name}, created at {:#}", origin.at(id.block)))
    }
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Processes the end of another rank, after its last message.
    fn lost(&self, rank: Rank) {
        let mut table = self.table();
        if table.lost.contains(&rank) {
            return;
        }
        table.lost.push(rank);
        table
            .early
            .values_mut()
            .for_each(|early| early.lost.push(rank));
        let Table { records, early, .. } = &*table;
        let at_once = records.iter().filter(|(id, _)| !early.contains_key(id));
        let records: Vec<_> = at_once.map(|(_, record)| Arc::clone(record)).collect();
        drop(table);
        records.iter().for_each(|record| record.lost(rank));
    }

    /// Returns the objects of this rank.
    pub(super) fn records(&self) -> Vec<Arc<dyn AnyRecord>> {
        self.table().records.values().cloned().collect()
    }

    /// Returns a number for an object that this rank publishes.
    pub(super) fn next_published(&self) -> u32 {
        let mut table = self.table();
        table.published += 1;
        table.published - 1
    }

    /// Opens an object by its name.
    pub(super) fn find<T: Object>(
        self: &Arc<Self>,
        name: GlobalRef<T>,
        site: &'static Location<'static>,
    ) -> Result<Arc<Record<T>>> {
        let GlobalRef { id, check, .. } = name;
        let unknown = |why| {
            let line = format_args!("{id} ({}), opened at {site}: {why}", type_name::<T>());
            Err(RankError::of_object(RankErrorKind::Diverged, id.home, line))
        };
        let found = self.table().records.get(&id).cloned();
        match found {
            Some(record) if record.check() == check => match record.as_any().downcast() {
                Ok(record) => Ok(record),
                Err(_) => unknown("it has another type"),
            },
            Some(_) => unknown("it is another object"),
            None if id.home.0 >= self.outlet.ranks => unknown("the program has no such rank"),
            None if !id.is_published() => unknown("this rank has not created it"),
            None if id.home == self.outlet.here => unknown("this rank has not published it"),
            None => {
                let origin = Origin::new(site, id.home);
                Ok(self.enter(id, origin, check, Mode::Directory, None))
            }
        }
    }

    /// Enters an object, and delivers what has come for it before. If another thread has entered it
    /// meanwhile, that one is returned.
    pub(super) fn enter<T: Object>(
        self: &Arc<Self>,
        id: ObjectId,
        origin: Origin,
        check: u32,
        mode: Mode,
        value: Option<T>,
    ) -> Arc<Record<T>> {
        let mut table = self.table();
        let entered = table.records.get(&id).cloned();
        if let Some(Ok(entered)) = entered.map(|it| it.as_any().downcast()) {
            return entered;
        }
        let record = Record::new(&self.outlet, id, origin, check, mode, value);
        table.records.insert(id, Arc::clone(&record) as _);
        let (error, lost) = (table.error.clone(), table.lost.clone());
        // Until these are delivered, others queue behind them.
        table.early.entry(id).or_default().lost = lost;
        drop(table);
        self.deliver_early(id, &*record);
        error.iter().for_each(|error| record.fail(error));
        record
    }

    /// Delivers messages that have waited for an operation, as this rank has declared one.
    pub(super) fn declared(&self) {
        let table = self.table();
        let Table { records, early, .. } = &*table;
        let known = early
            .keys()
            .filter_map(|id| Some((*id, Arc::clone(records.get(id)?))));
        let known: Vec<_> = known.collect();
        drop(table);
        for (id, record) in known {
            self.deliver_early(id, &*record);
        }
    }

    /// Delivers what has come early for an object, up to the first message that names an operation
    /// which is not declared.
    fn deliver_early(&self, id: ObjectId, record: &dyn AnyRecord) {
        let mut table = self.table();
        while let Some(early) = table.early.get_mut(&id)
            && !early.is_delivered
        {
            let first = early.messages.front();
            if first.is_some_and(|(_, message, _)| self.outlet.is_undeclared(&message.body)) {
                return;
            }
            let Some((from, envelope, payload)) = early.messages.pop_front() else {
                let early = table.early.remove(&id).expect("it is there");
                drop(table);
                early.lost.into_iter().for_each(|rank| record.lost(rank));
                return;
            };
            early.is_delivered = true;
            table.waiting -= 1;
            drop(table);
            if self.deliver(record, from, envelope, &payload).is_err() {
                record.end(None, Ending::Violated(from));
            }
            table = self.table();
            if let Some(early) = table.early.get_mut(&id) {
                early.is_delivered = false;
            }
        }
    }

    /// Completes the creation of the objects with a number: messages about others with it are
    /// answered.
    pub(super) fn created<T: Object>(&self, number: u32, origin: Origin) {
        let mut table = self.table();
        table.created.insert(number, (type_name::<T>(), origin));
        let Table { records, early, .. } = &mut *table;
        let is_other =
            |id: &ObjectId, _: &mut Early| id.number == number && !records.contains_key(id);
        let others: Vec<_> = early.extract_if(is_other).collect();
        table.waiting -= others
            .iter()
            .map(|(_, early)| early.messages.len())
            .sum::<usize>();
        let describe = |(id, early)| (table.created_instead(id).unwrap_or_default(), early);
        let others: Vec<_> = others.into_iter().map(describe).collect();
        drop(table);
        for (there, early) in others {
            for (from, envelope, _) in early.messages {
                self.answer_unknown(from, envelope, &there);
            }
        }
    }

    /// Answers a message about an object that this rank does not have, as it has created another
    /// one instead.
    fn answer_unknown(&self, from: Rank, envelope: Envelope, there: &str) {
        let Envelope { id, check, body } = envelope;
        if let Body::Message(_) = body {
            let body = Body::Ended(Ending::Differs(there.to_owned()));
            self.outlet.send(from, Envelope { id, check, body });
        }
    }

    /// Whether this rank may have to pass the only copy of an object on to another one.
    fn is_passed_on(&self, id: ObjectId, to: Rank) -> bool {
        to.0 < self.outlet.ranks && to != self.outlet.here && to != id.home
    }

    fn deliver(
        &self,
        record: &dyn AnyRecord,
        from: Rank,
        envelope: Envelope,
        payload: &[u8],
    ) -> Result<(), Fault> {
        let Envelope { id, check, body } = envelope;
        match body {
            Body::Ended(_) if !payload.is_empty() => {
                let because = "the end of an object has no payload";
                return Err(Malformed::refused(type_name::<Envelope>(), 0, because).into());
            }
            Body::Ended(ending) => record.end(Some(from), ending),
            Body::Message(_) if check != record.check() => {
                let ending = Ending::Differs(record.describe());
                let (check, body) = (record.check(), Body::Ended(ending));
                self.outlet.send(from, Envelope { id, check, body });
            }
            Body::Message(Message::Recall(Recall::Pass(to))) if !self.is_passed_on(id, to) => {
                let because = "the only copy cannot be passed on to this rank";
                return Err(Malformed::refused(type_name::<Envelope>(), 0, because).into());
            }
            Body::Message(message) => return record.receive(from, message, payload),
        }
        Ok(())
    }
}

/// Returns a number that differs, almost always, between types and calls that differ; the same at
/// all ranks.
pub(super) fn check<T>(site: &Location<'_>) -> u32 {
    let texts = [type_name::<T>(), site.file()];
    let place = [site.line(), site.column()].map(u32::to_le_bytes);
    let bytes = texts.iter().flat_map(|text| text.bytes());
    fold(0x811c_9dc5, bytes.chain(place.into_iter().flatten()))
}

/// As [`check`], of the blocks of an array, whose elements have type `T`.
pub(super) fn check_of_blocks<T>(site: &Location<'_>, layout: &Layout) -> u32 {
    let Layout {
        length,
        block_length,
        homes,
    } = layout;
    let lengths = [length, block_length].map(|length| (*length as u64).to_le_bytes());
    let homes = homes.iter().flat_map(|home| home.0.to_le_bytes());
    fold(check::<T>(site), lengths.into_iter().flatten().chain(homes))
}

/// FNV-1a.
fn fold(hash: u32, bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(hash, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// The messages of the shared objects, as the exchange uses them. It keeps the objects until the
/// channels end.
pub(super) struct Inlet(Arc<Shared>);

impl Inlet {
    /// Returns what the exchange of `shared` has.
    #[cfg(test)]
    pub(super) fn of(shared: &Arc<Shared>) -> Self {
        Self(Arc::clone(shared))
    }

    /// Opens the channel of the shared objects.
    pub(super) fn open(engine: &ProgressEngine, site: &'static Location<'static>) -> Arc<Shared> {
        engine.assert_rank();
        let exchange = &engine.exchange;
        let (here, ranks, longest) = (exchange.here(), exchange.ranks(), exchange.limits().body);
        let outlet = Outlet::new(here, ranks, engine.body, longest);
        let shared = Arc::new(Shared {
            outlet: Arc::new(outlet),
            table: Mutex::default(),
        });
        let objects = Arc::downgrade(&shared);
        engine.add_objects(objects);
        let inlet = Self(Arc::clone(&shared));
        shared
            .outlet
            .open(exchange.open_at(site, "globals", 1, inlet));
        shared
    }
}

impl Receiver for Inlet {
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Fault> {
        let from = Rank(from.0);
        let (envelope, payload) = wire::unpack_first::<Envelope>(body)?;
        let id = envelope.id;
        let mut table = self.0.table();
        let record = table.records.get(&id).cloned();
        if record.is_none()
            && let Some(there) = table.created_instead(id)
        {
            drop(table);
            self.0.answer_unknown(from, envelope, &there);
            return Ok(());
        }
        if record.is_none()
            && let Body::Message(Message::Recall(Recall::Invalidate)) = envelope.body
        {
            drop(table);
            // Its home may not know exactly which ranks have a copy.
            let body = Body::Message(Message::Answer(Answer::Invalidated));
            self.0.outlet.send(from, Envelope { body, ..envelope });
            return Ok(());
        }
        let is_early = table.early.contains_key(&id) || self.0.outlet.is_undeclared(&envelope.body);
        if let Some(record) = record.filter(|_| !is_early) {
            drop(table);
            return self.0.deliver(&*record, from, envelope, payload);
        }
        if table.waiting == EARLY {
            let because = "it is about an object or an operation that this rank does not have";
            return Err(Malformed::refused(type_name::<Envelope>(), body.len(), because).into());
        }
        table.waiting += 1;
        let early = table.early.entry(id).or_default();
        early.messages.push_back((from, envelope, payload.to_vec()));
        Ok(())
    }

    fn left(&self, rank: Rank) -> Result<(), Fault> {
        self.0.lost(rank);
        Ok(())
    }

    fn lost(&self, error: &wire::Error) -> bool {
        self.0.lost(error.peer);
        true
    }

    fn fail(&self, error: &wire::Error) {
        let error = RankError::from(error.clone());
        let mut table = self.0.table();
        table.error.get_or_insert_with(|| error.clone());
        let records: Vec<_> = table.records.values().cloned().collect();
        drop(table);
        self.0.outlet.close();
        records.iter().for_each(|record| record.fail(&error));
    }
}
