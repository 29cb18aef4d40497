//! The groups of a rank, and their operations that have not ended.

mod open;

use super::call::{Kind, Made, OperationCounts};
use super::message::{Body, ENVELOPE, Envelope, Message, message_weight};
use crate::collective::sequence::{Effect, Event, Numbered, Refusal, Sequence, Sequenced};
use crate::group::{Group, GroupId};
use crate::id::{PlaceId, Rank};
use crate::machine::{Action, Machine, Step};
use crate::wire::{Cause, Channel, Error, Fault, Limits, Malformed, Name, Receiver, Terms};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::type_name;
use core::mem;
use core::panic::Location;

/// The purpose of the channel.
pub(super) const KIND: &str = "operations";

/// Groups of all ranks that another rank may be ahead.
const AHEAD: u32 = 1024;

/// Groups that a rank may fill with messages before this one makes them.
const UNMADE: usize = 16;

/// Bytes of the terms in a question.
const TERMS: usize = 1 << 14;

/// Early messages for which memory is kept.
const SPARE: usize = 64;

pub(super) struct State {
    pub(super) here: Rank,
    pub(super) ranks: u32,
    /// Bytes kept of each other rank for operations to come, a group.
    early: usize,
    /// Bytes of a message.
    body: usize,
    /// `None` before it is opened, and after the end of all channels.
    pub(super) channel: Option<Channel<Envelope>>,
    groups: BTreeMap<GroupId, Operating>,
    /// Messages for groups of some ranks that this one has not made.
    unmade: Vec<(Rank, GroupId, Message)>,
    /// The number of groups of all ranks that were made.
    made: u32,
    /// The ranks that have left.
    pub(super) left: Vec<Rank>,
    /// The losses without which the operations do.
    pub(super) losses: Vec<Error>,
    pub(super) failed: Option<Error>,
    /// The fault that is to be reported.
    pub(super) fault: Option<Fault>,
    /// Memory for the early messages of the next operation.
    spare: Vec<(Rank, Body)>,
}

/// A group at this rank.
struct Operating {
    group: Group,
    sequence: Sequence<Made, Body>,
    receivers: Numbered<Entry>,
    counts: OperationCounts,
}

enum Entry {
    /// Early messages are being delivered; these have come in the meantime.
    Beginning(Vec<(Rank, Body)>),
    Open(Arc<dyn Receiver>),
}

/// A message for the receiver of an operation; ranks are those in the group.
pub(super) struct Delivery {
    pub(super) receiver: Arc<dyn Receiver>,
    pub(super) from: Rank,
    pub(super) to: Rank,
    pub(super) body: Body,
    /// The operation.
    pub(super) id: GroupId,
    pub(super) number: u64,
}

impl Delivery {
    pub(super) fn deliver(&self) -> Result<(), Fault> {
        let place = |rank: Rank| PlaceId(rank.0);
        self.receiver
            .take(place(self.from), place(self.to), self.body.bytes())
    }
}

impl State {
    pub(super) fn new(here: Rank, ranks: u32, limits: Limits) -> Self {
        Self {
            here,
            ranks,
            early: limits.early,
            body: limits.body,
            left: Vec::new(),
            channel: None,
            groups: BTreeMap::new(),
            unmade: Vec::new(),
            made: 0,
            losses: Vec::new(),
            failed: None,
            fault: None,
            spare: Vec::new(),
        }
    }

    /// Makes the next group of all ranks.
    pub(super) fn make_all(&mut self) -> (GroupId, Group) {
        let id = GroupId::All(self.made);
        self.made += 1;
        let group = Group::all(self.here, self.ranks);
        // Another rank may have been ahead.
        self.make(id, &group);
        (id, group)
    }

    /// Makes a group, unless it is there; then takes the messages that have come for it.
    pub(super) fn make(&mut self, id: GroupId, group: &Group) {
        let (here, ranks, early) = (group.here(), group.ranks(), self.early);
        self.groups.entry(id).or_insert_with(|| Operating {
            group: group.clone(),
            sequence: Sequence::new(here, ranks, early),
            receivers: Numbered::default(),
            counts: OperationCounts::default(),
        });
        let ends = self.left.iter().copied();
        let ends: Vec<_> = ends.filter_map(|rank| group.rank_of(rank)).collect();
        let losses = self.losses.iter().map(|error| error.peer);
        let losses: Vec<_> = losses.filter_map(|rank| group.rank_of(rank)).collect();
        let of_it = |(_, of, _): &mut (Rank, GroupId, Message)| *of == id;
        let early: Vec<_> = self.unmade.extract_if(.., of_it).collect();
        for (from, group, message) in early {
            let received = self.receive(from, Envelope { group, message });
            if let Err(fault) = received {
                let peer = fault.peer.or(Some(from));
                self.fault.get_or_insert(Fault { peer, ..fault });
            }
        }
        for rank in ends {
            self.event(id, Event::Left(rank));
        }
        for rank in losses {
            self.step(id, |sequence, step| sequence.lost(rank, step));
        }
    }

    /// Releases what a group needs for further calls only, of which this rank makes none.
    pub(super) fn close(&mut self, id: GroupId) {
        if let Some(operating) = self.groups.get_mut(&id) {
            operating.sequence.shrink();
            operating.receivers.shrink();
        }
    }

    /// Notes that a rank has left.
    pub(super) fn leave(&mut self, rank: Rank) {
        self.left.push(rank);
        self.event_of_all(|group| group.rank_of(rank).map(Event::Left));
    }

    /// Whether nothing is held back.
    pub(super) fn is_sent(&self) -> bool {
        let mut groups = self.groups.values();
        self.failed.is_some() || groups.all(|group| group.sequence.is_sent())
    }

    /// Returns the bytes that are kept of a rank for groups that this one has not made.
    fn unmade_of(&self, from: Rank) -> usize {
        let unmade = GroupId::All(self.made)..=GroupId::All(u32::MAX);
        let ahead = self.groups.range(unmade);
        let all = ahead.map(|(_, group)| group.sequence.kept_of(from));
        let some = self.unmade.iter().filter(|(sender, ..)| *sender == from);
        let some = some.map(|(_, _, message)| message_weight(message));
        all.chain(some).sum()
    }

    /// Begins an operation; its messages wait until it is [opened](Self::open).
    pub(super) fn begin(
        &mut self,
        id: GroupId,
        kind: Kind,
        site: &'static Location<'static>,
        message: &'static str,
    ) -> u64 {
        let operating = self.groups.get_mut(&id).expect("its handle is here");
        let number = operating.sequence.next();
        let last = operating.sequence.last();
        let made = Made::new(kind, site, message, last);
        let kept = Entry::Beginning(mem::take(&mut self.spare));
        operating.receivers.insert(number, kept);
        operating.counts.begun += 1;
        self.event(id, Event::Begin(made));
        number
    }

    /// Lets an operation receive, unless messages have come for it: then returns the receiver.
    pub(super) fn open(
        &mut self,
        id: GroupId,
        number: u64,
        receiver: Arc<dyn Receiver>,
    ) -> Result<(), Arc<dyn Receiver>> {
        match self.entry(id, number) {
            Some(Entry::Beginning(kept)) if !kept.is_empty() => return Err(receiver),
            Some(entry) => {
                if let Entry::Beginning(kept) = mem::replace(entry, Entry::Open(receiver)) {
                    self.recycle(kept);
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Takes back the memory of early messages, which were delivered.
    pub(super) fn recycle(&mut self, mut early: Vec<(Rank, Body)>) {
        early.clear();
        if (self.spare.capacity()..=SPARE).contains(&early.capacity()) {
            self.spare = early;
        }
    }

    /// Takes the messages that have come for an operation that is not open.
    pub(super) fn early(&mut self, id: GroupId, number: u64) -> Vec<(Rank, Body)> {
        match self.entry(id, number) {
            Some(Entry::Beginning(kept)) => mem::take(kept),
            _ => Vec::new(),
        }
    }

    fn entry(&mut self, id: GroupId, number: u64) -> Option<&mut Entry> {
        self.groups.get_mut(&id)?.receivers.get_mut(number)
    }

    /// Ends an operation. The caller drops the receiver, outside of the lock.
    pub(super) fn end(&mut self, id: GroupId, number: u64) -> Option<Arc<dyn Receiver>> {
        let operating = self.groups.get_mut(&id)?;
        let entry = operating.receivers.remove(number);
        self.event(id, Event::End(number));
        match entry {
            Some(Entry::Open(receiver)) => Some(receiver),
            _ => None,
        }
    }

    /// Returns the receivers of all operations.
    pub(super) fn receivers(&self) -> Vec<Arc<dyn Receiver>> {
        let all = self.receivers_of(|_| true);
        all.map(|(_, receiver)| receiver).collect()
    }

    /// Returns the receivers of the operations of some groups.
    pub(super) fn receivers_of(
        &self,
        is_of: impl Fn(&Group) -> bool,
    ) -> impl Iterator<Item = (&Group, Arc<dyn Receiver>)> {
        let groups = self.groups.values().filter(move |it| is_of(&it.group));
        let entries = groups.flat_map(|it| it.receivers.values().map(|entry| (&it.group, entry)));
        entries.filter_map(|(group, entry)| match entry {
            Entry::Open(receiver) => Some((group, Arc::clone(receiver))),
            Entry::Beginning(_) => None,
        })
    }

    /// Lets the sequence of a group process an event, which delivers nothing but to an operation
    /// that begins.
    pub(super) fn event(&mut self, id: GroupId, event: Event<Made, Body>) {
        self.step(id, |sequence, step| sequence.event(event, step));
    }

    /// Lets the sequences of all groups process an event: that which `of` returns for a group.
    pub(super) fn event_of_all(&mut self, of: impl Fn(&Group) -> Option<Event<Made, Body>>) {
        let ids: Vec<_> = self.groups.keys().copied().collect();
        for id in ids {
            if let Some(event) = of(&self.groups[&id].group) {
                self.event(id, event);
            }
        }
    }

    /// Lets the sequences of all groups learn that a rank is lost.
    pub(super) fn lost(&mut self, rank: Rank) {
        let ids: Vec<_> = self.groups.keys().copied().collect();
        for id in ids {
            if let Some(rank) = self.groups[&id].group.rank_of(rank) {
                self.step(id, |sequence, step| sequence.lost(rank, step));
            }
        }
    }

    /// Processes a message of another rank; returns what is to be delivered once the lock is free.
    pub(super) fn receive(
        &mut self,
        from: Rank,
        envelope: Envelope,
    ) -> Result<Option<Delivery>, Fault> {
        let Envelope { group: id, message } = envelope;
        let refused = |because| Malformed::refused(type_name::<Message>(), 0, because);
        if message_weight(&message) > ENVELOPE + TERMS && !matches!(message, Sequenced::Body { .. })
        {
            return Err(refused("no call has terms that long").into());
        }
        if !self.groups.contains_key(&id) {
            match id {
                GroupId::All(number) if number.wrapping_sub(self.made) < AHEAD => {
                    let group = Group::all(self.here, self.ranks);
                    self.make(id, &group);
                }
                GroupId::Some(_) => {
                    self.check_unmade(from)?;
                    self.unmade.push((from, id, message));
                    return Ok(None);
                }
                GroupId::All(_) => return Err(refused("its group is not made here").into()),
            }
        }
        if matches!(id, GroupId::All(number) if number >= self.made) {
            self.check_unmade(from)?;
        }
        let Some(from) = self.groups[&id].group.rank_of(from) else {
            return Err(refused("its sender is not in the group").into());
        };
        let number = message.number();
        let (received, delivery) =
            self.step(id, |sequence, step| sequence.receive(from, message, step));
        match received {
            Err(Refusal::TooEarly { count, limit }) => Err(Fault {
                peer: None,
                name: Some(self.name(id, number)),
                cause: Cause::TooEarly { count, limit },
            }),
            Err(Refusal::NoMember) => Err(refused("its sender is not in the group").into()),
            Err(Refusal::Contradicts) => Err(refused("it contradicts an earlier one").into()),
            Ok(()) => self.fault.take().map_or(Ok(delivery), Err),
        }
    }

    /// Returns an error if a rank has sent too much for groups that this one has not made.
    fn check_unmade(&self, from: Rank) -> Result<(), Fault> {
        let (count, limit) = (self.unmade_of(from), UNMADE * self.early.max(1));
        match count < limit {
            true => Ok(()),
            false => Err(Cause::TooEarly { count, limit }.into()),
        }
    }

    /// Lets the sequence of a group take a step: sends its messages, and returns what it delivers.
    fn step<R>(
        &mut self,
        id: GroupId,
        take: impl FnOnce(&mut Sequence<Made, Body>, &mut Step<'_, Sequence<Made, Body>>) -> R,
    ) -> (R, Option<Delivery>) {
        let operating = self.groups.get_mut(&id).expect("of a group that is here");
        let Operating {
            group,
            sequence,
            receivers,
            counts,
        } = operating;
        let (channel, here) = (&self.channel, PlaceId(self.here.0));
        let body = self.body.saturating_sub(ENVELOPE);
        let (mut delivery, mut found) = (None, None);
        let mut act = |action: Action<Sequence<Made, Body>>| match action {
            Action::Send(to, mut message) => {
                if let Sequenced::Ask { terms, .. } | Sequenced::Differs { terms, .. } =
                    &mut message
                {
                    // They are for a message only.
                    terms.take_if(|terms: &mut Terms| terms.bytes() > TERMS.min(body));
                }
                if let Some(channel) = channel {
                    if let Sequenced::Body { body, .. } = &message {
                        counts.sent += 1;
                        counts.sent_bytes += body.bytes().len() as u64;
                    }
                    let to = PlaceId(group.member(to).0);
                    channel.send(here, to, Envelope { group: id, message });
                }
            }
            Action::Effect(Effect::Deliver { number, from, body }) => {
                match receivers.get_mut(number) {
                    Some(Entry::Beginning(kept)) => {
                        counts.early += 1;
                        kept.push((from, body));
                    }
                    Some(Entry::Open(receiver)) => {
                        delivery = Some(Delivery {
                            receiver: Arc::clone(receiver),
                            from,
                            to: group.here(),
                            body,
                            id,
                            number,
                        });
                    }
                    None => {}
                }
            }
            Action::Effect(end) => found = found.take().or_else(|| cause_of(end)),
        };
        let taken = take(sequence, &mut Step::new(&mut (), &mut act));
        if let Some(found) = found {
            self.note_end(id, found);
        }
        (taken, delivery)
    }

    /// Records the end that a sequence reports, unless one is to be reported.
    fn note_end(&mut self, id: GroupId, (rank, number, mut cause): (Rank, u64, Cause)) {
        let group = self.groups.get(&id).map(|it| &it.group);
        if group.is_some_and(|group| self.loss_of(group).is_some()) {
            // It ends by the loss: see `losses`.
            return;
        }
        if let Cause::Absent { call, .. } = &mut cause {
            *call = self.begun(id, number);
        }
        let peer = self.groups.get(&id).map(|it| it.group.member(rank));
        let name = Some(self.name(id, number));
        self.fault.get_or_insert(Fault { peer, name, cause });
    }

    pub(super) fn name(&self, id: GroupId, number: u64) -> Name {
        let channel = self.channel.as_ref();
        let call = self
            .groups
            .get(&id)
            .and_then(|group| group.sequence.call(number));
        Name {
            ordinal: channel.map_or(0, Channel::ordinal),
            kind: call.map(|made| made.kind.name()).or(Some(KIND)),
            operation: Some((id, number)),
        }
    }
}

/// Returns the end that a sequence reports: the rank and the call with which it ends, and why.
fn cause_of(end: Effect<Terms, Body>) -> Option<(Rank, u64, Cause)> {
    match end {
        Effect::Deliver { .. } => None,
        Effect::Differs {
            rank,
            number,
            here,
            there,
        } => {
            let shown = |terms: Option<Terms>| Box::new(terms.unwrap_or_else(Terms::forgotten));
            let (here, there) = (shown(here), shown(there));
            Some((rank, number, Cause::Mismatch { here, there }))
        }
        Effect::Absent { rank, number } => {
            let (others, within, call) = (Vec::new(), None, None);
            let cause = Cause::Absent {
                others,
                within,
                call,
            };
            Some((rank, number, cause))
        }
    }
}
