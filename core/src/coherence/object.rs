//! The machine of an object at one rank.

use super::home::Home;
use super::memory::{Memory, MessageOf, Out};
use super::message::{Access, CopyState, Message, Mode, Refusal};
use super::place::Place;
use super::sharers::Sharing;
use crate::id::Rank;
use crate::machine::{Machine, Step, Tolerance};
use alloc::vec::Vec;
use core::convert::Infallible;

/// A shared object at one rank: at its home, or at another rank.
///
/// Source: Paudel, Tardieu, Amaral, `DirCoPX` and its augmented form for migratory objects.
///
/// ```
/// use tautline_core::Rank;
/// use tautline_core::coherence::{Access, CopyState, Event, Kind, Memory, Mode, Object};
/// use tautline_core::machine::{Action, Machine, Step};
///
/// /// A number, to which updates add.
/// struct Number(u32);
///
/// impl Memory for Number {
///     type Value = u32;
///     type Operation = u32;
///     type Output = ();
///
///     fn hold(&mut self, _: CopyState) {}
///     fn value(&mut self) -> u32 { self.0 }
///     fn install(&mut self, value: u32) { self.0 = value }
///     fn perform(&mut self, _: Access) { self.0 += 1 }
///     fn operation(&mut self, _: Access) -> u32 { 1 }
///     fn operate(&mut self, by: u32) { self.0 += by }
///     fn complete(&mut self, _: u64, (): ()) {}
///     fn fail(&mut self, _: u64, _: Rank) {}
/// }
///
/// let mut ranks = [0, 1].map(|rank| Object::new(Rank(rank), Rank(0), 2, Mode::Directory));
/// let mut memory = [Number(7), Number(0)];
/// let mut sent = Vec::new();
/// let mut act = |action| match action {
///     Action::Send(to, message) => sent.push((to, message)),
///     Action::Effect(never) => match never {},
/// };
/// let update = Event::Access(Access { number: 0, kind: Kind::Update });
/// ranks[1].event(update, &mut Step::new(&mut memory[1], &mut act));
/// let (_, request) = sent.pop().expect("rank 1 has no copy");
/// let mut act = |action| match action {
///     Action::Send(to, message) => sent.push((to, message)),
///     Action::Effect(never) => match never {},
/// };
/// ranks[0].receive(Rank(1), request, &mut Step::new(&mut memory[0], &mut act))?;
/// let (_, grant) = sent.pop().expect("the home sends the value");
/// ranks[1].receive(Rank(0), grant, &mut Step::new(&mut memory[1], &mut |_| ()))?;
/// assert_eq!((memory[1].0, ranks[1].copy()), (8, CopyState::Exclusive));
/// # Ok::<(), tautline_core::coherence::Refusal>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object<M: Memory> {
    here: Rank,
    home: Rank,
    role: Role<M::Operation>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role<O> {
    Home(Home<O>),
    Place(Place),
}

/// An event at a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An access. The machine calls [`Memory::perform`], [`Memory::complete`] or [`Memory::fail`]
    /// once for each, in this step or a later one. One that the copy permits need not be reported.
    Access(Access),
    /// The copy is to be dropped, to save memory. Ignored at the home, and while the copy is
    /// needed.
    Evict,
    /// Other ranks are to use this mode. Ignored at other ranks than the home. Takes effect after
    /// the requests that the home has received before; a later switch replaces one that has not
    /// taken effect.
    Switch(Mode),
}

impl<M: Memory> Object<M> {
    /// Creates the machine of `here` for an object with this home, whose value is there, in a
    /// program of this number of ranks. The ranks may differ in the mode; that of the home applies.
    pub fn new(here: Rank, home: Rank, ranks: u32, mode: Mode) -> Self {
        Self::with_sharing(here, home, Sharing::of(ranks), mode)
    }

    /// As [`new`](Self::new), with another representation of the set of ranks that may have a copy.
    pub fn with_sharing(here: Rank, home: Rank, sharing: Sharing, mode: Mode) -> Self {
        let role = match here == home {
            true => Role::Home(Home::new(here, sharing, mode)),
            false => Role::Place(Place::new(mode)),
        };
        Self { here, home, role }
    }

    /// Returns the mode: at another rank than the home, the last one known.
    pub fn mode(&self) -> Mode {
        match &self.role {
            Role::Home(home) => home.mode(),
            Role::Place(place) => place.mode(),
        }
    }

    /// Returns the state of the copy here.
    pub fn copy(&self) -> CopyState {
        match &self.role {
            Role::Home(home) => home.copy(),
            Role::Place(place) => place.copy(),
        }
    }

    /// Returns the ranks other than the home that may have a copy, in ascending order; at the home.
    /// They include ranks that have dropped theirs, and with coarse sets ranks that never had one.
    pub fn holders(&self) -> Vec<Rank> {
        match &self.role {
            Role::Home(home) => home.holders(),
            Role::Place(_) => Vec::new(),
        }
    }

    /// Returns the other ranks that have to learn of the end of this object at this rank, in
    /// ascending order: at the home, those that may have the value or wait for an answer; at
    /// another rank, the home.
    pub fn involved(&self) -> Vec<Rank> {
        let mut ranks = Vec::new();
        match &self.role {
            Role::Home(home) => home.involved(&mut ranks),
            Role::Place(_) => ranks.push(self.home),
        }
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// Returns whether nothing is outstanding here: no access, no request, no recall.
    pub fn is_idle(&self) -> bool {
        match &self.role {
            Role::Home(home) => home.is_idle(),
            Role::Place(place) => place.is_idle(),
        }
    }

    /// Returns the accesses of this rank that wait for a value.
    pub fn waiting(&self) -> &[Access] {
        match &self.role {
            Role::Home(home) => home.waiting(),
            Role::Place(place) => place.waiting(),
        }
    }

    /// Returns the numbers of the accesses of this rank whose operations the home performs.
    pub fn travelling(&self) -> &[u64] {
        match &self.role {
            Role::Home(_) => &[],
            Role::Place(place) => place.travelling(),
        }
    }
}

/// Its calls are made to the memory of the object; it has no other effects.
impl<M: Memory> Machine for Object<M> {
    type Peer = Rank;
    type Message = MessageOf<M>;
    type Event = Event;
    type Effect = Infallible;
    type Calls = M;
    type Refusal = Refusal;

    fn event(&mut self, event: Event, step: &mut Step<'_, Self>) {
        match (&mut self.role, event) {
            (Role::Home(home), Event::Access(access)) => home.access(access, step),
            (Role::Home(home), Event::Switch(mode)) => home.switch(mode, step),
            (Role::Place(place), Event::Access(access)) => place.access(self.home, access, step),
            (Role::Place(place), Event::Evict) => place.evict(self.home, step),
            (Role::Home(_), Event::Evict) | (Role::Place(_), Event::Switch(_)) => {}
        }
    }

    fn receive(
        &mut self,
        from: Rank,
        message: MessageOf<M>,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        if from == self.here {
            return Err(Refusal::Sender);
        }
        match &mut self.role {
            Role::Home(home) if !home.has(from) => Err(Refusal::Sender),
            Role::Home(home) => match message {
                Message::Request(request) => home.request(from, request, step),
                Message::Answer(answer) => home.answer(from, answer, step),
                _ => Err(Refusal::Role),
            },
            Role::Place(place) => match message {
                Message::Grant(..) | Message::Recall(_) if from != self.home => {
                    Err(Refusal::Sender)
                }
                Message::Passed(_) if from == self.home => Err(Refusal::Sender),
                Message::Grant(mode, grant) => place.grant(self.home, mode, grant, step),
                Message::Recall(recall) => place.recall(self.home, recall, step),
                Message::Passed(value) => place.passed(self.home, from, value, step),
                Message::Request(_) | Message::Answer(_) => Err(Refusal::Role),
            },
        }
    }

    /// A shared copy is not missed. The loss of the rank that has the only copy ends the object, as
    /// that of the home does: all accesses [fail](Memory::fail). A value that was lent is as
    /// before.
    fn lost(&mut self, rank: Rank, step: &mut Step<'_, Self>) -> Tolerance {
        match &mut self.role {
            Role::Home(home) => home.lost(rank, step),
            Role::Place(place) => place.lost(self.home, rank, step),
        }
        Tolerance::Tolerated
    }
}

impl<M: Memory> Out<M> for Step<'_, Object<M>> {
    fn send(&mut self, to: Rank, message: MessageOf<M>) {
        Step::send(self, to, message);
    }

    fn memory(&mut self) -> &mut M {
        self.calls()
    }
}
