//! The opening of channels: ranks that open the same ones in the same order, or not.

use crate::explore::{Actors, Flaw, Out, View};
use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use tautline_core::port::{Bell, Link, Lost, Spin};
use tautline_core::wire::{Cause, Channel, Error, Exchange, unpack};
use tautline_core::{PlaceId, Rank};

/// Ranks that open channels, send one message to the next rank over each, and leave when they have
/// got one over each.
///
/// The channels are those of the core, which cannot be copied: a site is the history of its rank,
/// and is repeated for each step. So two sites are equal only if all that ever happened to them is.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// By rank: what its channels are for, in the order in which it opens them.
    pub programs: &'static [&'static [&'static str]],
    /// The injected fault, if any.
    pub fault: Option<OpeningFault>,
}

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpeningFault {
    /// The purposes of channels are not compared.
    Alike,
    /// A rank that fails notifies no other.
    Silent,
    /// A rank that is notified of a failure passes it to no other.
    Aside,
    /// A lost rank is not reported.
    HideLoss,
}

/// A parcel of the core's channels; without bytes, the end of the sender's program, at which its
/// link is gone.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Bytes(Rc<[u8]>);

/// The position of a parcel's kind, and the kind of a parcel with the error for which a rank has
/// given up.
const KIND_AT: usize = 12;
const FAILED: u8 = 3;

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("its program has ended");
        }
        let kind = match self.0[KIND_AT] {
            1 => "opens",
            2 => "message over",
            FAILED => "gives up;",
            _ => "leaves;",
        };
        write!(f, "{kind} channel {}", self.0[0])
    }
}

impl Bytes {
    fn is_failure(&self) -> bool {
        self.0.get(KIND_AT) == Some(&FAILED)
    }
}

impl Event {
    /// Whether another rank has reported an error.
    fn is_told(&self) -> bool {
        matches!(self, Self::Take(_, parcel) | Self::OpenAndTake(_, parcel) if parcel.is_failure())
    }
}

/// An act of a rank on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Opens its next channel.
    Open,
    /// Will open its next channel while its exchange takes the next parcel.
    Plan,
    /// Leaves.
    Leave,
    /// Its program ends because of an error.
    End,
}

/// Something that happened to a rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Opened its next channel.
    Open,
    /// A parcel arrived.
    Take(Rank, Bytes),
    /// A parcel arrived, and its next channel was opened after the exchange had polled for such
    /// ones.
    OpenAndTake(Rank, Bytes),
    /// A rank was lost.
    Lose(Rank),
    /// Left.
    Leave,
}

/// One rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Site {
    /// Waits for others.
    Runs {
        /// The events that it has seen.
        history: Vec<Event>,
        /// The number of channels that are open.
        opened: usize,
        /// Whether it opens the next one while a parcel arrives.
        plans: bool,
        /// The purpose of each message that it got, with the number of the channel that it came
        /// from.
        got: Vec<(usize, String)>,
    },
    /// Has left, with all messages.
    Left,
    /// Has an error; whether the error is the right one.
    Failed {
        /// The error's message.
        message: String,
        /// Whether it names what happened.
        is_true: bool,
        /// Whether its program has ended.
        has_ended: bool,
    },
}

/// The network's end at one rank.
#[derive(Clone, Default)]
struct Cable {
    here: u32,
    ranks: u32,
    state: Rc<RefCell<Ends>>,
}

#[derive(Default)]
struct Ends {
    arrives: Option<(Rank, Bytes)>,
    /// An event between the exchange's poll and the arrival.
    before: Option<Box<dyn FnOnce()>>,
    lost: Option<Rank>,
    sent: Vec<(Rank, Bytes)>,
}

impl Link for Cable {
    fn here(&self) -> Rank {
        Rank(self.here)
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn bell(&self) -> Arc<dyn Bell> {
        Arc::new(|| ())
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        let parcel = Bytes(parcel.into());
        self.state.borrow_mut().sent.push((to, parcel));
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let arrives = self.state.borrow_mut().arrives.take();
        if let Some((from, parcel)) = &arrives {
            let before = self.state.borrow_mut().before.take();
            if let Some(before) = before {
                before();
            }
            take(*from, &parcel.0);
        }
        let lost = self.state.borrow_mut().lost.take();
        let doing = "exploring";
        lost.map_or(Ok(arrives.is_some()), |rank| {
            Err(Lost {
                rank,
                doing,
                is_gone: true,
            })
        })
    }

    fn unsent(&self, _: Rank) -> usize {
        0
    }
}

/// A rank that repeats its history.
struct Replay {
    opening: Opening,
    here: PlaceId,
    cable: Cable,
    exchange: Exchange<Cable>,
    open: RefCell<Vec<Channel<String>>>,
    got: Arc<Mutex<Vec<(usize, String)>>>,
}

impl Replay {
    fn new(opening: Opening, here: PlaceId) -> Rc<Self> {
        let cable = Cable {
            here: here.0,
            ranks: opening.places(),
            ..Cable::default()
        };
        Rc::new(Self {
            opening,
            here,
            exchange: Exchange::new(cable.clone(), Spin),
            cable,
            open: RefCell::default(),
            got: Arc::default(),
        })
    }

    fn apply(self: &Rc<Self>, event: &Event) -> Result<(), Error> {
        let state = || self.cable.state.borrow_mut();
        match event {
            Event::Open => self.open(),
            Event::Take(from, parcel) => state().arrives = Some((*from, parcel.clone())),
            Event::OpenAndTake(from, parcel) => {
                let replay = Rc::clone(self);
                state().before = Some(Box::new(move || replay.open()));
                state().arrives = Some((*from, parcel.clone()));
            }
            Event::Lose(rank) => state().lost = Some(*rank),
            Event::Leave => assert!(self.exchange.leave()?, "nothing waits in this link"),
        }
        while self.exchange.turn()? {}
        Ok(())
    }

    /// Opens the next channel, and sends a message over it.
    fn open(&self) {
        let mut open = self.open.borrow_mut();
        let ordinal = open.len();
        let kind = self.opening.programs[self.here.index()][ordinal];
        let named = match self.opening.fault {
            Some(OpeningFault::Alike) => "any",
            _ => kind,
        };
        let got = Arc::clone(&self.got);
        let take = move |_, _, body: &[u8]| {
            let mut got = got.lock().expect("no thread has panicked");
            got.push((ordinal, unpack(body)?));
            Ok(())
        };
        let site = Location::caller();
        let channel = self.exchange.open_at::<String>(site, named, 1, take);
        let next = PlaceId((self.here.0 + 1) % self.opening.places());
        channel.send(self.here, next, kind.to_owned());
        open.push(channel);
    }
}

impl Opening {
    /// Whether all ranks open the same channels.
    fn agrees(&self) -> bool {
        self.programs.iter().all(|p| *p == self.programs[0])
    }

    /// Lets `event` happen to a rank.
    fn happen(&self, here: PlaceId, site: &mut Site, event: Event, out: &mut Out<Self>) {
        let Site::Runs { history, .. } = site else {
            return;
        };
        let replay = Replay::new(*self, here);
        for event in &*history {
            let done = replay.apply(event);
            done.expect("the history of a rank that has not failed");
        }
        replay.cable.state.borrow_mut().sent.clear();
        let done = replay.apply(&event);
        let sent = core::mem::take(&mut replay.cable.state.borrow_mut().sent);
        for (to, parcel) in sent {
            let is_silent = match self.fault {
                Some(OpeningFault::Silent) => true,
                Some(OpeningFault::Aside) => event.is_told(),
                _ => false,
            };
            if !(is_silent && parcel.is_failure()) {
                out.sent.push((PlaceId(to.0), parcel));
            }
        }
        let mut history = core::mem::take(history);
        history.push(event.clone());
        *site = match done {
            Err(error) => Site::Failed {
                is_true: self.is_true(&error, out.ghost),
                message: error.to_string(),
                has_ended: false,
            },
            Ok(()) if event == Event::Leave => Site::Left,
            Ok(()) => Site::Runs {
                history,
                opened: replay.open.borrow().len(),
                plans: false,
                got: replay.got.lock().expect("no thread has panicked").clone(),
            },
        };
    }

    /// Whether an error names what has happened: the rank, and the channel if the ranks differ.
    fn is_true(&self, error: &Error, lost: u32) -> bool {
        let (here, peer) = (error.here.index(), error.peer.index());
        let channel = error.channel.map(|name| name.ordinal as usize);
        let opens = |rank: usize| channel.and_then(|at| self.programs[rank].get(at));
        match &error.cause {
            Cause::Mismatch { .. } => opens(here).is_some() && opens(here) != opens(peer),
            Cause::Absent { .. } => opens(here).is_some() && opens(peer).is_none(),
            Cause::Lost { .. } => lost >> peer & 1 != 0,
            Cause::Failed { first, message } => {
                let names_channel = message.contains(": channel ");
                let names_loss = message.contains(" was lost, noticed while exploring");
                message.starts_with(&format!("{first}: "))
                    && (names_channel && !self.agrees() || names_loss && lost != 0)
            }
            _ => false,
        }
    }
}

impl Actors for Opening {
    type Site = Site;
    type Message = Bytes;
    type Act = Act;
    /// Lost ranks, as bits.
    type Ghost = u32;

    fn places(&self) -> u32 {
        self.programs.len() as u32
    }

    fn start(&self, _: PlaceId, _: &mut Out<Self>) -> Site {
        Site::Runs {
            history: Vec::new(),
            opened: 0,
            plans: false,
            got: Vec::new(),
        }
    }

    /// Opens the next channel; or leaves, if all are open and have been used; or ends, if it has
    /// failed.
    fn acts(&self, here: PlaceId, site: &Site, _: &u32) -> Vec<Act> {
        let (opened, plans, got) = match site {
            Site::Runs {
                opened, plans, got, ..
            } => (opened, plans, got),
            Site::Failed {
                has_ended: false, ..
            } => return vec![Act::End],
            _ => return Vec::new(),
        };
        let all = self.programs[here.index()].len();
        match (*opened < all, got.len() < all) {
            (true, _) if *plans => vec![Act::Open],
            (true, _) => vec![Act::Open, Act::Plan],
            (false, false) => vec![Act::Leave],
            (false, true) => Vec::new(),
        }
    }

    fn act(&self, here: PlaceId, site: &mut Site, act: Act, out: &mut Out<Self>) {
        match (act, site) {
            (Act::Open, site) => self.happen(here, site, Event::Open, out),
            (Act::Leave, site) => self.happen(here, site, Event::Leave, out),
            (Act::Plan, Site::Runs { plans, .. }) => *plans = true,
            (Act::End, Site::Failed { has_ended, .. }) => {
                *has_ended = true;
                let others = (0..self.places()).map(PlaceId).filter(|at| *at != here);
                out.sent.extend(others.map(|at| (at, Bytes([].into()))));
            }
            (Act::Plan | Act::End, _) => unreachable!("not one of its acts"),
        }
    }

    fn deliver(
        &self,
        here: PlaceId,
        site: &mut Site,
        from: PlaceId,
        parcel: Bytes,
        out: &mut Out<Self>,
    ) {
        let from = Rank(from.0);
        let event = match site {
            _ if parcel.0.is_empty() => Event::Lose(from),
            Site::Runs { plans: true, .. } => Event::OpenAndTake(from, parcel),
            _ => Event::Take(from, parcel),
        };
        self.happen(here, site, event, out);
    }

    fn lost(&self, here: PlaceId, site: &mut Site, place: PlaceId, out: &mut Out<Self>) {
        out.ghost |= 1 << place.0;
        if self.fault != Some(OpeningFault::HideLoss) {
            self.happen(here, site, Event::Lose(Rank(place.0)), out);
        }
    }

    fn judge(&self, view: &View<Self>) -> Option<Flaw> {
        view.living().find_map(|(at, site)| match site {
            Site::Failed { is_true: false, .. } => Some(Flaw::Refused),
            Site::Runs { got, .. } => {
                let program = self.programs[at.index()];
                let is_other = |(channel, kind): &(usize, String)| program[*channel] != kind;
                got.iter().any(is_other).then_some(Flaw::Count)
            }
            _ => None,
        })
    }

    fn is_final(&self, view: &View<Self>) -> bool {
        let mut living = view.living();
        living.all(|(_, site)| !matches!(site, Site::Runs { .. }))
    }
}
