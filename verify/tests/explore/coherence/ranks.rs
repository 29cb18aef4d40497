//! Ranks that access one object, and what must hold in every state.

use super::replica::{Performed, Replica};
use tautline_core::Rank;
use tautline_core::coherence::{
    Answer, CopyState, Event, Grant, Kind, Message, Mode, Object, Recall, Request, Sharing,
};
use tautline_verify::explore::{At, Checked, Flaw, Part, PartOf, Parts, View};

pub(super) const HOME: Rank = Rank(0);

/// Ranks that access an object, whose home is rank 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranks {
    pub(super) mode: Mode,
    pub(super) remotes: u32,
    /// Accesses of each remote rank, and of the home.
    pub(super) accesses: [u8; 2],
    /// Accesses of a rank at a time.
    pub(super) workers: usize,
    pub(super) kinds: &'static [Kind],
    /// Changes of the mode, and dropped copies, at any time.
    pub(super) switches: u8,
    pub(super) evictions: u8,
    /// Ranks that are lost, at any time.
    pub(super) losses: u32,
    /// The number of sharers that are listed, and of neighbouring ranks that have one bit in a
    /// larger set; without, the sets are exact.
    pub(super) coarse: Option<(u8, u32)>,
    pub(super) fault: Option<Fault>,
}

/// An error that the checks must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// An upgrade of a copy that was invalidated is granted without the value.
    BareUpgrade,
    /// A write is granted without the value.
    BareWrite,
    /// A recall that arrives before the value is ignored.
    IgnoreEarlyRecall,
    /// Accesses are performed after the delivery.
    PerformLater,
    /// A request for a copy is granted while the value stays at the home.
    GrantCopy,
    /// The value is lent again before it is returned.
    LendTwice,
    /// A dropped copy is not taken for the answer to the recall.
    DropEvicted,
    /// A recall of a copy that was dropped is answered.
    AnswerRecall,
    /// Invalidations are acknowledged and ignored.
    KeepCopy,
    /// A rank does not report that the value will not come.
    WaitForLost,
    /// The last rank is left out of invalidations.
    MissLast,
    /// A rank that upgrades, and perhaps has a copy, does not obtain the value.
    CoarseUpgrade,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// An access, and the latest version as far as it matters.
    Access(Kind, u8),
    Evict,
    Switch(Mode),
    PerformLater,
}

/// The history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Past {
    latest: u8,
    switched: u8,
    evicted: u8,
    /// Lost ranks, as bits.
    lost: u32,
    /// The version that was lent last, and the oldest one that a loss has restored; only with
    /// losses.
    lent: u8,
    restored: Option<u8>,
    /// By rank, the last request; only for faults.
    requests: Vec<Option<Request<()>>>,
    /// Whether a recall of an exclusive copy is not answered; only for faults.
    is_recalling: bool,
    /// By rank, whether ownership has arrived before the value; only for faults.
    owned_early: u32,
    /// By rank, whether it may have a copy for the home before the step; only for faults.
    holders: u32,
}

type Sent = Message<u8, (), ()>;

impl Ranks {
    fn ranks(&self) -> u32 {
        self.remotes + 1
    }

    fn sharing(&self) -> Sharing {
        match self.coarse {
            Some((listed, span)) => Sharing::coarse(self.ranks(), listed, span),
            None => Sharing::of(self.ranks()),
        }
    }

    fn accesses(&self, here: Rank) -> u8 {
        self.accesses[usize::from(here == HOME)]
    }

    /// Whether a read may see a value of the past, so that the latest version when it began
    /// matters.
    fn fetches(&self) -> bool {
        self.mode == Mode::Home || self.switches > 0
    }

    fn tamper_sent(&self, at: &mut At<'_, Self>, to: Rank, message: Sent) -> Option<Sent> {
        if let Message::Request(request) = &message {
            let requests = &mut at.ghost.requests;
            requests.resize(self.ranks() as usize, None);
            requests[at.here.index()] = Some(*request);
        }
        at.ghost.is_recalling |= matches!(
            message,
            Message::Recall(Recall::Share | Recall::Take | Recall::Pass(_))
        );
        let requested = at.ghost.requests.get(to.index()).copied().flatten();
        Some(match (self.fault, message, requested) {
            (
                Some(Fault::BareUpgrade),
                Message::Grant(mode, Grant::Exclusive(_)),
                Some(Request::Upgrade),
            )
            | (
                Some(Fault::BareWrite),
                Message::Grant(mode, Grant::Exclusive(_)),
                Some(Request::Write),
            ) => Message::Grant(mode, Grant::Exclusive(0)),
            (
                Some(Fault::CoarseUpgrade),
                Message::Grant(mode, Grant::Exclusive(_)),
                Some(Request::Upgrade),
            ) if at.ghost.holders >> to.0 & 1 != 0 => Message::Grant(mode, Grant::Upgraded),
            (Some(Fault::GrantCopy), Message::Grant(mode, Grant::Refused), Some(request)) => {
                let value = at.driver.value;
                let grant = match request {
                    Request::Read => Grant::Shared(value),
                    _ => Grant::Exclusive(value),
                };
                Message::Grant(mode, grant)
            }
            (_, message, _) => message,
        })
    }

    fn tamper_received(&self, at: &mut At<'_, Self>, from: Rank, message: Sent) -> Option<Sent> {
        let bit = 1 << at.here.0;
        match message {
            Message::Grant(_, Grant::Owned { .. }) if !at.driver.is_early => {
                at.ghost.owned_early |= bit;
            }
            Message::Passed(_) => at.ghost.owned_early &= !bit,
            _ => {}
        }
        let was_recalling = at.ghost.is_recalling;
        at.ghost.is_recalling &= !matches!(
            message,
            Message::Answer(Answer::Value(_) | Answer::Passed | Answer::Evicted(_))
        );
        let is_invalid = at.driver.copy == CopyState::Invalid;
        let is_early = at.ghost.owned_early & bit != 0;
        match (self.fault, &message) {
            (Some(Fault::IgnoreEarlyRecall), Message::Recall(_)) if is_early => return None,
            (Some(Fault::LendTwice), Message::Request(Request::Borrow)) if is_invalid => {
                at.send(
                    from,
                    Message::Grant(Mode::Home, Grant::Lent(at.driver.value)),
                );
                return None;
            }
            (Some(Fault::DropEvicted), Message::Answer(Answer::Evicted(_))) if was_recalling => {
                return None;
            }
            (Some(Fault::AnswerRecall), Message::Recall(Recall::Share | Recall::Take))
                if is_invalid && !is_early =>
            {
                at.send(HOME, Message::Answer(Answer::Value(at.driver.value)));
                return None;
            }
            (Some(Fault::WaitForLost), Message::Answer(Answer::Missing(_))) => return None,
            (
                Some(fault @ (Fault::KeepCopy | Fault::MissLast)),
                Message::Recall(Recall::Invalidate),
            ) if fault == Fault::KeepCopy || at.here.0 == self.remotes => {
                at.send(HOME, Message::Answer(Answer::Invalidated));
                return None;
            }
            _ => {}
        }
        Some(message)
    }
}

impl Checked for Ranks {
    type Machine = Object<Replica>;
    type Driver = Replica;
    type Act = Act;
    type Ghost = Past;

    fn peers(&self) -> u32 {
        self.ranks()
    }

    fn start(&self, here: Rank) -> PartOf<Self> {
        let postpones = self.fault == Some(Fault::PerformLater);
        Part {
            machine: Object::with_sharing(here, HOME, self.sharing(), self.mode),
            driver: Replica::new(here, HOME, postpones),
        }
    }

    fn acts(&self, here: Rank, part: &PartOf<Self>, past: &Past) -> Vec<Act> {
        let Part { machine, driver } = part;
        let mut acts = Vec::new();
        if driver.begun < self.accesses(here) && driver.open.len() < self.workers {
            let latest = |kind| match kind {
                Kind::Read if self.fetches() => past.latest,
                _ => 0,
            };
            let accesses = self
                .kinds
                .iter()
                .map(|kind| Act::Access(*kind, latest(*kind)));
            acts.extend(accesses);
        }
        let has_copy = here != HOME && machine.copy() != CopyState::Invalid;
        if has_copy && past.evicted < self.evictions {
            acts.push(Act::Evict);
        }
        if here == HOME && past.switched < self.switches {
            let modes = [Mode::Home, Mode::Directory, Mode::Migratory];
            let others = modes.into_iter().filter(|mode| *mode != machine.mode());
            acts.extend(others.map(Act::Switch));
        }
        if !driver.postponed.is_empty() {
            acts.push(Act::PerformLater);
        }
        acts
    }

    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<Event> {
        match act {
            Act::Access(kind, latest) => Some(Event::Access(at.driver.begin(kind, latest))),
            Act::Evict => {
                at.ghost.evicted += 1;
                Some(Event::Evict)
            }
            Act::Switch(mode) => {
                at.ghost.switched += 1;
                Some(Event::Switch(mode))
            }
            Act::PerformLater => {
                let access = at.driver.postponed.remove(0);
                at.driver.finish(access);
                None
            }
        }
    }

    fn calls(replica: &mut Replica) -> &mut Replica {
        replica
    }

    fn effect(
        &self,
        _: &mut At<'_, Self>,
        _: &Object<Replica>,
        effect: std::convert::Infallible,
    ) -> Option<Event> {
        match effect {}
    }

    fn send(&self, at: &mut At<'_, Self>, to: Rank, message: Sent) -> Option<Sent> {
        if let Message::Grant(_, Grant::Lent(version)) = message
            && self.losses > 0
        {
            at.ghost.lent = version;
        }
        match self.fault {
            None => Some(message),
            Some(_) => self.tamper_sent(at, to, message),
        }
    }

    fn receive(&self, at: &mut At<'_, Self>, from: Rank, message: Sent) -> Option<(Rank, Sent)> {
        let message = match self.fault {
            None => Some(message),
            Some(_) => self.tamper_received(at, from, message),
        };
        message.map(|message| (from, message))
    }

    fn stepped(&self, at: &mut At<'_, Self>, _: &Object<Replica>, after: &Object<Replica>) {
        for performed in std::mem::take(&mut at.driver.log) {
            let latest = at.ghost.latest;
            let restored = at.ghost.restored.unwrap_or(latest);
            match performed {
                Performed::Seen(value) if value == latest => {}
                Performed::Fetched {
                    value,
                    latest: first,
                } if (first.min(restored)..=latest).contains(&value) => {}
                Performed::Failed(rank) if at.ghost.lost >> rank.0 & 1 != 0 => {}
                Performed::Wrote(value) if value == latest => at.ghost.latest += 1,
                Performed::Again => at.find(Flaw::Repeated),
                _ => at.find(Flaw::Stale),
            }
        }
        if at.here != HOME {
            at.driver.forget(after.is_idle());
        } else if self.fault == Some(Fault::CoarseUpgrade) {
            let holders = after.holders();
            at.ghost.holders = holders.iter().fold(0, |bits, rank| bits | 1 << rank.0);
        }
    }

    /// With a borrower, what it has done with the value is lost.
    fn note_loss(&self, part: Option<&PartOf<Self>>, message: Option<&Sent>, past: &mut Past) {
        if let Some(part) = part {
            past.lost |= 1 << part.driver.here.0;
        }
        if let Some(Message::Answer(Answer::Returned(_))) = message {
            past.latest = past.lent;
            past.restored = Some(past.restored.map_or(past.lent, |at| at.min(past.lent)));
        }
    }

    fn malformed(&self, _: &Object<Replica>) -> Vec<Sent> {
        let operate = Request::Operate {
            access: 9,
            operation: (),
        };
        let requests = [
            Request::Read,
            Request::Write,
            Request::Upgrade,
            Request::ReadExclusive,
            Request::Get,
            operate,
            Request::Borrow,
        ];
        let done = Grant::Done {
            access: 9,
            output: (),
        };
        let grants = [
            Grant::Shared(9),
            Grant::Exclusive(9),
            Grant::Upgraded,
            Grant::Owned { former: Rank(2) },
            Grant::Value(9),
            done,
            Grant::Lent(9),
            Grant::Refused,
            Grant::Lost {
                owner: Rank(2),
                access: None,
            },
        ];
        let recalls = [
            Recall::Invalidate,
            Recall::Share,
            Recall::Take,
            Recall::Pass(Rank(2)),
        ];
        let answers = [
            Answer::Invalidated,
            Answer::Value(9),
            Answer::Passed,
            Answer::Returned(9),
            Answer::Evicted(9),
            Answer::Missing(Rank(2)),
        ];
        let requests = requests.into_iter().map(Message::Request);
        let grants = grants
            .into_iter()
            .map(|grant| Message::Grant(Mode::Home, grant));
        let recalls = recalls.into_iter().map(Message::Recall);
        let answers = answers.into_iter().map(Message::Answer);
        let all = requests.chain(grants).chain(recalls).chain(answers);
        all.chain([Message::Passed(9)]).collect()
    }

    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let latest = view.ghost.ghost.latest;
        let parts = || view.living().map(|(_, part)| part);
        let copies = || parts().filter(|part| part.machine.copy() != CopyState::Invalid);
        let is_exclusive = copies().any(|part| part.machine.copy() == CopyState::Exclusive);
        if is_exclusive && copies().count() > 1 {
            return Some(Flaw::Copies);
        }
        if copies().any(|part| part.driver.value != latest) {
            return Some(Flaw::Stale);
        }
        for Part { machine, driver } in parts() {
            if machine.copy() != driver.copy {
                return Some(Flaw::Copies);
            }
            let waiting = machine.waiting();
            let is_permitted = waiting
                .iter()
                .any(|access| machine.copy().permits(access.kind));
            let is_known = |(access, _): &(_, u8)| {
                waiting.contains(access) || machine.travelling().contains(&access.number)
            };
            if is_permitted || !driver.open.iter().all(is_known) {
                return Some(Flaw::Unperformed);
            }
        }
        let home = &view.sites[HOME.index()].machine;
        let mut remotes = copies().map(|part| part.driver.here);
        let holders = home.holders();
        let is_unknown = |rank: Rank| rank != HOME && !holders.contains(&rank);
        let is_wrong = holders.contains(&HOME) || remotes.any(is_unknown);
        if view.ghost.ghost.lost & 1 == 0 && is_wrong {
            return Some(Flaw::Copies);
        }
        let is_idle = parts().all(|part| part.machine.is_idle());
        if !is_idle || !view.parcels.is_empty() || view.lost != 0 {
            return None;
        }
        let remotes = copies().filter(|part| part.driver.here != HOME).count();
        let is_exact = self.evictions == 0 && self.coarse.is_none();
        if is_exact && remotes != holders.len() {
            return Some(Flaw::Copies);
        }
        let writes: u8 = parts().map(|part| part.driver.writes).sum();
        (writes != latest).then_some(Flaw::Count)
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        let mut parts = view.living().map(|(_, part)| part);
        let is_done = parts.all(|part| {
            part.driver.begun == self.accesses(part.driver.here) && part.machine.is_idle()
        });
        is_done && view.parcels.is_empty()
    }
}
