//! An object at several ranks, with the messages in flight.

use std::collections::VecDeque;
use tautline_core::Rank;
use tautline_core::coherence::{
    Access, CopyState, Event, Kind, Memory, Message, Mode, Object, Sharing,
};
use tautline_core::machine::{Action, Machine, Step};

pub(super) const HOME: Rank = Rank(0);

/// A version that every write increments, and the versions that accesses have seen.
#[derive(Debug, Default)]
pub(super) struct Version {
    pub(super) value: u32,
    pub(super) seen: Vec<u32>,
    pub(super) failed: Vec<(u64, Rank)>,
    pub(super) copy: Option<CopyState>,
}

impl Memory for Version {
    type Value = u32;
    type Operation = u32;
    type Output = u32;

    fn hold(&mut self, state: CopyState) {
        self.copy = Some(state);
    }

    fn value(&mut self) -> u32 {
        self.value
    }

    fn install(&mut self, value: u32) {
        self.value = value;
    }

    fn perform(&mut self, access: Access) {
        self.seen.push(self.value);
        self.value += u32::from(access.kind != Kind::Read);
    }

    fn operation(&mut self, _: Access) -> u32 {
        1
    }

    fn operate(&mut self, by: u32) -> u32 {
        self.value += by;
        self.value - by
    }

    fn complete(&mut self, _: u64, seen: u32) {
        self.seen.push(seen);
    }

    fn fail(&mut self, access: u64, lost: Rank) {
        self.failed.push((access, lost));
    }
}

pub(super) type Sent = Message<u32, u32, u32>;

/// An object at several ranks, with channels that keep the order.
pub(super) struct Ranks {
    pub(super) parts: Vec<(Object<Version>, Version)>,
    accesses: u64,
    pub(super) sent: VecDeque<(Rank, Rank, Sent)>,
}

impl Ranks {
    pub(super) fn new(mode: Mode, ranks: u32) -> Self {
        Self::with_sharing(mode, Sharing::of(ranks), ranks)
    }

    pub(super) fn with_sharing(mode: Mode, sharing: Sharing, ranks: u32) -> Self {
        let object = |rank| Object::with_sharing(Rank(rank), HOME, sharing, mode);
        let part = |rank| (object(rank), Version::default());
        Self {
            parts: (0..ranks).map(part).collect(),
            accesses: 0,
            sent: VecDeque::new(),
        }
    }

    pub(super) fn step<R>(
        &mut self,
        here: Rank,
        take: impl FnOnce(&mut Object<Version>, &mut Step<'_, Object<Version>>) -> R,
    ) -> R {
        let (object, memory) = &mut self.parts[here.index()];
        let sent = &mut self.sent;
        let mut act = |action| match action {
            Action::Send(to, message) => sent.push_back((here, to, message)),
            Action::Effect(never) => match never {},
        };
        take(object, &mut Step::new(memory, &mut act))
    }

    pub(super) fn begin(&mut self, here: Rank, event: Event) {
        self.step(here, |object, step| object.event(event, step));
    }

    pub(super) fn begin_access(&mut self, here: Rank, kind: Kind) {
        let number = self.accesses;
        self.accesses += 1;
        self.begin(here, Event::Access(Access { number, kind }));
    }

    /// Delivers all messages; the number of them.
    pub(super) fn settle(&mut self) -> u32 {
        let mut count = 0;
        while let Some((from, to, message)) = self.sent.pop_front() {
            count += 1;
            let received = self.step(to, |object, step| object.receive(from, message, step));
            received.expect("the ranks follow the protocol");
        }
        count
    }

    /// Performs an access; its messages.
    pub(super) fn count(&mut self, here: Rank, kind: Kind) -> u32 {
        let before = self.parts[here.index()].1.seen.len();
        self.begin_access(here, kind);
        let count = self.settle();
        assert_eq!(self.parts[here.index()].1.seen.len(), before + 1);
        count
    }

    pub(super) fn switch(&mut self, mode: Mode) -> u32 {
        self.begin(HOME, Event::Switch(mode));
        self.settle()
    }

    pub(super) fn object(&self, rank: Rank) -> &Object<Version> {
        &self.parts[rank.index()].0
    }

    pub(super) fn home(&self) -> &Object<Version> {
        self.object(HOME)
    }

    pub(super) fn copies(&self) -> Vec<CopyState> {
        self.parts.iter().map(|(object, _)| object.copy()).collect()
    }
}
