//! A balanced computation over the ranks of a program.
//!
//! | part | what it does |
//! |---|---|
//! | `message` | what ranks send to each other |
//! | `lending` | requests of other ranks while all workers are in long tasks |
//! | `mailbox` | arrived messages, from the thread that uses the link to the tasks of the computation |
//! | `peers` | the places of other ranks, while workers run |
//! | `ranks` | ranks as places |
//! | `closing` | from the end of the workers to the result |
//! | `salvage` | the results of the ranks that are left after a loss |
//!
//! The same workers run over the places of all ranks: a message to a place here is still a moved
//! value. The work is that of rank 0's bag, rank 0 decides how the computation ends, and all ranks
//! then detect quiescence, so that no message of it is stray afterwards. Nothing in a place waits
//! for a link. Decisions 42 to 44 in `docs/decisions` have the alternatives, and the loss of a
//! rank.

mod closing;
mod lending;
mod mailbox;
mod message;
mod peers;
mod ranks;
mod salvage;

use super::places::Places;
use super::run::{deadline, run_workers};
use super::settings::TaskBalancer;
use crate::collective::Branch;
use crate::glb::{Bag, Config, Control, Gathered, IntoBag, Observer, Run, gather};
use crate::id::{Layout, PlaceId, Rank, WorkerId};
use crate::machine::{Action, Machine, Step};
use crate::port::{Host, Link};
use crate::task::{Cancelled, Cx};
use crate::wire::{Bulk, Error, Exchange, Malformed, Portable, unpack};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
pub use closing::{Closing, Next};
use core::fmt;
use core::future::poll_fn;
use core::panic::Location;
use core::task::{Context, Poll};
use core::time::Duration;
use mailbox::{Mailbox, Slot};
use message::RankMessage;
pub use message::{InClosing, Left, Part};
use peers::{Peers, RankFailure};
use ranks::Ranks;

/// The ranks of a computation: a view of their [`Exchange`].
///
/// Workers run the exchange's turns while they compute; some other thread must
/// [wait](Exchange::wait) for it when they do not.
#[derive(Debug)]
pub struct Across<'x, L: Link> {
    /// The channels of this rank.
    pub exchange: &'x Exchange<L>,
    /// The call that all ranks make, by which they check that they do the same.
    pub site: &'x Location<'x>,
}

/// The reason why a computation over ranks ended without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RankError {
    /// A scope around the task was cancelled at this rank.
    Cancelled(Cancelled),
    /// The channels between the ranks have ended.
    Wire(Error),
    /// Another rank left the computation.
    Abandoned {
        /// The rank.
        from: Rank,
        /// The reason.
        why: Left,
    },
    /// Another rank, or a place of it, has sent a message that no correct one sends.
    Refused {
        /// The rank.
        from: Rank,
        /// The violated rule.
        why: String,
    },
    /// The result cannot be decoded, although it was encoded by the same type.
    Result(Malformed),
}

impl fmt::Display for RankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled(cancelled) => cancelled.fmt(f),
            Self::Wire(error) => error.fmt(f),
            Self::Abandoned { from, why } => write!(f, "{from} left the computation: {why}"),
            Self::Refused { from, why } => write!(f, "{from}: {why}"),
            Self::Result(malformed) => write!(f, "the result of all ranks: {malformed}"),
        }
    }
}

impl core::error::Error for RankError {}

impl From<RankFailure> for RankError {
    fn from(failure: RankFailure) -> Self {
        match failure {
            RankFailure::Wire(error) => Self::Wire(error),
            RankFailure::Abandoned(from, why) => Self::Abandoned { from, why },
            RankFailure::Refused(from, why) => Self::Refused { from, why },
        }
    }
}

impl<'x, L: Link> Across<'x, L> {
    /// Opens the channel of a computation with this number of places of each rank.
    fn open<B: Bag + Portable + 'static>(&self, places: u32) -> Peers<'x, B, L> {
        let exchange = self.exchange;
        let (here, ranks) = (exchange.here(), exchange.ranks());
        let branch = Branch::of(here, ranks);
        let mailbox = Arc::new(Mailbox::default());
        let slot = Slot(Arc::clone(&mailbox));
        let channel = exchange.open_at(self.site, "balanced computation", places, slot);
        let layout = Layout::new(ranks, places);
        let ranks = Ranks { here, layout };
        Peers::new(exchange, ranks, branch, channel, mailbox)
    }
}

impl<P: Host, F> TaskBalancer<'_, '_, '_, P, F> {
    /// As [`run`](Self::run), over all ranks of an exchange: every rank makes this call, with the
    /// same settings. The places of the parameters are those of each rank.
    ///
    /// The work is that of rank 0's `bag`; the others' are dropped. Every rank ends with the same
    /// output, with the statistics of all places, and with the statistics and observers of its own
    /// workers. If a rank stops the computation, all stop, and the output is what all of them had
    /// found. So it is if a rank other than the first is lost and the exchange [tolerates
    /// losses](Exchange::tolerate_losses): the output is what the ranks that are left had found.
    ///
    /// # Errors
    /// If a scope around this task was cancelled here or at another rank, if a task panicked at
    /// another rank, or if the channels between the ranks have ended.
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn across<W, O, L>(
        self,
        across: &Across<'_, L>,
        work: W,
        shared: impl Fn(PlaceId) -> <W::Bag as Bag>::Shared,
        output: <W::Bag as Bag>::Output,
    ) -> Result<Run<<W::Bag as Bag>::Output, O>, RankError>
    where
        W: IntoBag<Bag: Portable + 'static>,
        F: FnMut(PlaceId, WorkerId) -> O,
        O: Observer,
        L: Link + Send,
    {
        let Self { cx, mut settings } = self;
        let bag = work.into_bag();
        let alone = Control::new();
        let control = settings.control.unwrap_or(&alone);
        let config = settings.config;
        let peers = across.open(config.places);
        let ranks = peers.ranks;
        let (all, first) = (ranks.layout.ranks(), ranks.first(ranks.here).0);
        let port = cx.pool_of_scope().port();
        let config_of = |p: PlaceId| among(all, config, PlaceId(p.0 - first));
        let places = Places::among(config_of, first..first + config.places, shared, port, peers);
        let began = port.now();
        let due = settings.deadline.map(|after| deadline(began, after, port));
        if ranks.here == Rank(0) {
            let home = PlaceId::HOME;
            places.team(home).begin(bag, &places.at(home));
        }
        let seat = |(place, worker): (PlaceId, _)| (PlaceId(first + place.0), worker);
        let seats: Vec<_> = config.seats().map(seat).collect();
        let peers = places.remote().lend(places.lenders());
        let coordinate =
            Some(|cancelled, cx: &Context<'_>| peers.poll(&places, control, due, cancelled, cx));
        let process = &W::Bag::process;
        let workers = || {
            run_workers(
                cx,
                &mut settings,
                control,
                process,
                &places,
                &seats,
                coordinate,
            )
        };
        let accounts = peers.kept(port, port.catch(workers))?;
        let (teams, peers) = places.into_parts();
        combine(cx, gather(teams, seats, accounts), peers, began, output)
    }
}

/// Combines the results of all ranks, those at this one `gathered`, into the run that began at tick
/// `began`.
fn combine<B: Bag + Portable + 'static, O, P: Host, L: Link + Send>(
    cx: &mut Cx<'_, '_, P>,
    gathered: Gathered<B, O>,
    mut peers: Peers<'_, B, L>,
    began: u64,
    mut output: B::Output,
) -> Result<Run<B::Output, O>, RankError> {
    let port = cx.pool_of_scope().port();
    let ticks_per_second = port.ticks_per_second();
    let mut own = Part::of(gathered.bags, gathered.places).sent(peers.sent());
    own.scale_times(1e9 / ticks_per_second);
    let closing = Closing::new(&peers.branch, own);
    let closed = port.catch(|| close(cx, closing, &mut peers));
    let (result, is_salvaged) = peers.unwound(port, closed)?;
    peers.leave();
    let mut whole: Part<B> = unpack(&result.0).map_err(RankError::Result)?;
    whole.scale_times(ticks_per_second / 1e9);
    if let Some(bag) = whole.bag {
        bag.submit(&mut output);
    }
    Ok(Run {
        output,
        complete: whole.complete,
        stopped: peers.reason(is_salvaged),
        elapsed: Duration::from_secs_f64((port.now() - began) as f64 / ticks_per_second),
        ticks_per_second,
        began,
        places: whole.places,
        workers: gathered.workers,
        messages: whole.messages,
        bytes: whole.bytes,
        observers: gathered.observers,
    })
}

/// Drives `closing` to the result; also returns whether it is that of the ranks that are left after
/// a loss.
fn close<B: Bag + Portable + 'static, P: Host, L: Link + Send>(
    cx: &mut Cx<'_, '_, P>,
    mut closing: Closing<B>,
    peers: &mut Peers<'_, B, L>,
) -> Result<(Bulk<u8>, bool), RankError> {
    let mut later = peers.later().into_iter();
    let (mut is_due, mut losses) = (true, 0);
    let task = cx.task();
    cx.block_on(poll_fn(|cx| {
        peers.mailbox().register(cx.waker());
        loop {
            if let Some(failure) = peers.failure() {
                return Poll::Ready(Err(failure.into()));
            }
            let mut next = None;
            let mut act = |action: Action<Closing<B>>| match action {
                Action::Send(to, message) => peers.tell(to, RankMessage::Closing(message)),
                Action::Effect(effect) => next = Some(effect),
            };
            let mut calls = ();
            let step = &mut Step::new(&mut calls, &mut act);
            match later.next().or_else(|| peers.mailbox().pop()) {
                Some((from, _, message)) => {
                    let Some(message) = of_end(peers, &mut closing, from, message) else {
                        continue;
                    };
                    let from = peers.ranks.of(from);
                    if let Err(stray) = closing.receive(from, message, step) {
                        return Poll::Ready(Err(peers.refuses(from, &stray)));
                    }
                }
                None if peers.mailbox().loss(losses).is_some() => {
                    let lost = peers.mailbox().loss(losses).expect("as above");
                    losses += 1;
                    closing.lost(lost.peer, step);
                }
                None if is_due => {
                    is_due = false;
                    closing.event(peers.mailbox().counts(), step);
                }
                None => {
                    let cancelled = task.cancelled();
                    return cancelled.map_or(Poll::Pending, |reason| {
                        peers.leaves(Left::Cancelled(reason));
                        Poll::Ready(Err(RankError::Cancelled(Cancelled { reason })))
                    });
                }
            }
            match next {
                None => {}
                Some(Next::Count) => is_due = true,
                Some(Next::End(result)) => {
                    return Poll::Ready(Ok((result, closing.is_salvaged())));
                }
                Some(Next::Late) => return Poll::Ready(Err(peers.late(losses))),
            }
        }
    }))
}

/// Returns a message of the end of the computation; processes any other.
fn of_end<B: Bag + Portable + 'static, L: Link>(
    peers: &Peers<'_, B, L>,
    closing: &mut Closing<B>,
    from: PlaceId,
    message: RankMessage<B>,
) -> Option<InClosing<B>> {
    match message {
        RankMessage::Closing(message) => return Some(message),
        RankMessage::Places(message) => {
            peers.mailbox().count_processed();
            message
                .into_loot()
                .into_iter()
                .for_each(|bag| closing.add(bag));
        }
        RankMessage::Abandoned(why) => peers.note_abandoned(peers.ranks.of(from), why),
        // Reports that rank 0 had not awaited.
        RankMessage::Closed(_) | RankMessage::End(_) => {}
    }
    None
}

/// Returns the parameters of a place among those of all ranks, given those of one rank, whose last
/// places may have a worker less.
fn among(ranks: u32, config: Config, place: PlaceId) -> Config {
    Config {
        places: config.places * ranks,
        workers: config.workers_of(place),
        smaller: 0,
        ..config
    }
}
