//! Operations of groups of ranks, over one channel.

mod call;
mod losses;
mod message;
mod open;
mod state;

use crate::collective::sequence::Event;
use crate::group::{Group, GroupId, Name};
use crate::id::{PlaceId, Rank};
use crate::port::{Link, Relax};
use crate::sync::{Guard, Lock};
use crate::wire::{Error, Exchange, Fault, Portable, Receiver, unpack};
use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
pub use call::{Kind, OperationCounts};
use core::any::type_name;
use core::fmt;
use core::marker::PhantomData;
use core::panic::Location;
use message::{Body, ENVELOPE, Envelope};
pub use open::OpenOperation;
use state::{KIND, State};

/// The operations of a rank's groups, over one channel of all ranks.
///
/// An operation is a number within its group: it opens no channel and is not announced. All ranks
/// of a group begin the same operations in the same order; where they do not, all channels end with
/// an error that names both calls.
///
/// ```
/// use std::panic::Location;
/// use std::sync::Arc;
/// use tautline_core::port::{Alone, Spin};
/// use tautline_core::service::Operations;
/// use tautline_core::wire::Exchange;
///
/// let exchange = Exchange::new(Alone, Spin);
/// let operations = Operations::open(&exchange, Spin);
/// let all = operations.all();
/// let greeting = all.begin::<String>(Location::caller(), "greeting", Arc::new(|_, _, _: &[u8]| Ok(())));
/// assert_eq!((greeting.number(), all.group().ranks()), (0, 1));
/// ```
pub struct Operations {
    /// Bytes of the message of an operation.
    body: usize,
    relax: Box<dyn Relax + Send + Sync>,
    state: Lock<State>,
}

impl fmt::Debug for Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operations").finish_non_exhaustive()
    }
}

impl Operations {
    /// Opens the channel of the operations: a call of all ranks, as [`Exchange::open`]. Threads
    /// that find a lock taken call `relax`.
    pub fn open<L: Link>(
        exchange: &Exchange<L>,
        relax: impl Relax + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (limits, here, ranks) = (exchange.limits(), exchange.here(), exchange.ranks());
        let operations = Arc::new(Self {
            body: limits.body.saturating_sub(ENVELOPE),
            relax: Box::new(relax),
            state: Lock::new(State::new(here, ranks, limits)),
        });
        let inlet = Inlet(Arc::downgrade(&operations));
        let channel = exchange.open_at(Location::caller(), KIND, 1, inlet);
        operations.state().channel = Some(channel);
        operations
    }

    /// Makes the next group of all ranks: a call of all ranks, in the same order as other such
    /// calls.
    pub fn all(self: &Arc<Self>) -> Calls {
        let (id, group) = self.state().make_all();
        self.calls(id, group)
    }

    /// Makes a group of some ranks, whose members make it with the same name, at any time.
    pub fn of(self: &Arc<Self>, name: Name, group: Group) -> Calls {
        let id = GroupId::Some(name);
        self.state().make(id, &group);
        self.calls(id, group)
    }

    fn calls(self: &Arc<Self>, id: GroupId, group: Group) -> Calls {
        let operations = Arc::clone(self);
        Calls(Arc::new(Joined {
            operations,
            id,
            group,
        }))
    }

    /// Returns the error of the ranks that have not begun an operation in which this one waits, as
    /// far as it knows.
    pub fn absent(&self) -> Option<Error> {
        self.state().absent()
    }

    /// Notifies the other ranks that this one begins no further operation; before it
    /// [leaves](Exchange::leave).
    pub fn leave(&self) {
        self.state().event_of_all(|_| Some(Event::Leave));
    }

    /// Whether nothing is held back that other ranks may not keep yet; to be awaited before this
    /// one [leaves](Exchange::leave).
    pub fn is_sent(&self) -> bool {
        self.state().is_sent()
    }

    fn state(&self) -> Guard<'_, State> {
        self.state.lock(&&*self.relax)
    }
}

/// The operations, as the exchange uses them.
struct Inlet(Weak<Operations>);

impl Receiver for Inlet {
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Fault> {
        let envelope: Envelope = unpack(body)?;
        let Some(operations) = self.0.upgrade() else {
            return Ok(());
        };
        let delivery = operations.state().receive(Rank(from.0), envelope)?;
        let Some(delivery) = delivery else {
            return Ok(());
        };
        delivery.deliver().map_err(|fault| {
            let name = operations.state().name(delivery.id, delivery.number);
            let name = fault.name.or(Some(name));
            Fault { name, ..fault }
        })
    }

    fn nudge(&self) -> Result<(), Fault> {
        self.report(|state| state.event_of_all(|_| Some(Event::Wait)))
    }

    /// Operations wait, each for itself.
    fn awaits_ends(&self) -> bool {
        false
    }

    fn left(&self, rank: Rank) -> Result<(), Fault> {
        let mut abandoned = Vec::new();
        let reported = self.report(|state| {
            state.leave(rank);
            abandoned = state.abandoned_by(rank);
        });
        for (receiver, loss) in abandoned {
            receiver.fail(&loss);
        }
        reported
    }

    fn fail(&self, error: &Error) {
        let Some(operations) = self.0.upgrade() else {
            return;
        };
        let mut state = operations.state();
        state.failed.get_or_insert_with(|| error.clone());
        let (channel, receivers) = (state.channel.take(), state.receivers());
        drop(state);
        drop(channel);
        receivers.iter().for_each(|receiver| receiver.fail(error));
    }

    fn lost(&self, error: &Error) -> bool {
        let Some(operations) = self.0.upgrade() else {
            return true;
        };
        let mut state = operations.state();
        state.losses.push(error.clone());
        state.lost(error.peer);
        let receivers = state.receivers_with(error.peer);
        drop(state);
        receivers.iter().all(|receiver| receiver.lost(error))
    }
}

impl Inlet {
    fn report(&self, act: impl FnOnce(&mut State)) -> Result<(), Fault> {
        let Some(operations) = self.0.upgrade() else {
            return Ok(());
        };
        let mut state = operations.state();
        act(&mut state);
        state.fault.take().map_or(Ok(()), Err)
    }
}

/// Begins the operations of a group at this rank. Clones are the same group, which is kept, a few
/// hundred bytes, until the [`Operations`] are dropped: other ranks may still wait in its
/// operations.
#[derive(Clone)]
pub struct Calls(Arc<Joined>);

struct Joined {
    operations: Arc<Operations>,
    id: GroupId,
    group: Group,
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.operations.state().close(self.id);
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the operations of {:?}", self.0.id)
    }
}

impl Calls {
    /// Returns the group.
    #[inline]
    pub fn group(&self) -> &Group {
        &self.0.group
    }

    /// Whether a rank of the group is lost, and losses are tolerated: operations of the group may
    /// end at some ranks only.
    pub fn is_broken(&self) -> bool {
        let Joined {
            operations, group, ..
        } = &*self.0;
        operations.state().loss_of(group).is_some()
    }

    /// Begins the next operation, for the call at `site`. `receiver` takes its messages, those that
    /// have come before on the calling thread; ranks of the group are its places. It learns of
    /// losses of ranks of the group and of the end of the channels as the receiver of a channel.
    pub fn begin<M: Portable + 'static>(
        &self,
        site: &'static Location<'static>,
        kind: impl Into<Kind>,
        mut receiver: Arc<dyn Receiver>,
    ) -> Operation<M> {
        let Joined {
            operations,
            id,
            group,
        } = &*self.0;
        let mut state = operations.state();
        let number = state.begin(*id, kind.into(), site, type_name::<M>());
        // Dropped, it ends, also if a receiver panics.
        let operation = Operation {
            calls: self.clone(),
            number,
            messages: PhantomData,
        };
        // After the end of the channels, a message that has come before does not let it end as if
        // there were others to come.
        while state.failed.is_none() {
            // The common case: no loss and no end to report to it.
            if state.losses.is_empty() {
                let Err(back) = state.open(*id, number, receiver) else {
                    return operation;
                };
                receiver = back;
            } else if state.open(*id, number, Arc::clone(&receiver)).is_ok() {
                break;
            }
            let early = state.early(*id, number);
            drop(state);
            let fault = deliver(&*receiver, group, &early);
            state = operations.state();
            state.recycle(early);
            if let Some(fault) = fault {
                let name = fault.name.or_else(|| Some(state.name(*id, number)));
                state.fault.get_or_insert(Fault { name, ..fault });
            }
        }
        let losses: Vec<_> = state.losses_of(group).cloned().collect();
        let failed = state
            .failed
            .as_ref()
            .or(state.loss_that_left(group))
            .cloned();
        drop(state);
        if let Some(error) = losses.into_iter().find(|error| !receiver.lost(error)) {
            let (peer, cause) = (Some(error.peer), error.cause);
            let name = error.channel;
            let fault = Fault { peer, name, cause };
            operations.state().fault.get_or_insert(fault);
        }
        if let Some(error) = failed {
            receiver.fail(&error);
        }
        operation
    }
}

/// Delivers early messages; returns the first fault.
fn deliver(receiver: &dyn Receiver, group: &Group, early: &[(Rank, Body)]) -> Option<Fault> {
    let to = PlaceId(group.here().0);
    early.iter().find_map(|(from, body)| {
        let fault = receiver.take(PlaceId(from.0), to, body.bytes()).err()?;
        let peer = fault.peer.or(Some(group.member(*from)));
        Some(Fault { peer, ..fault })
    })
}

/// An operation of a group at this rank. Dropping it ends it here: what was sent still leaves, what
/// arrives later is ignored.
pub struct Operation<M> {
    calls: Calls,
    number: u64,
    messages: PhantomData<fn(M)>,
}

impl<M> fmt::Debug for Operation<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {}{}", self.number, self.calls.0.id)
    }
}

impl<M> Operation<M> {
    /// Returns its number among those of its group.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the operations of its group.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Returns the error that a message of `from`, a rank of the group, is not what this operation
    /// expects, for a receiver that decodes later than it takes. All channels are to
    /// [end](Exchange::fail) with it.
    pub fn error(&self, from: Rank, fault: impl Into<Fault>) -> Error {
        let Joined {
            operations,
            id,
            group,
        } = &*self.calls.0;
        let Fault { peer, name, cause } = fault.into();
        let state = operations.state();
        Error {
            here: state.here,
            peer: peer.unwrap_or(group.member(from)),
            channel: name.or(Some(state.name(*id, self.number))),
            cause,
        }
    }
}

impl<M: Portable + 'static> Operation<M> {
    /// Sends `message` to another rank of the group. Any thread may call this, under a lock too: it
    /// is short and does not block.
    ///
    /// # Panics
    /// If `to` is this rank, or not in the group.
    pub fn send(&self, to: Rank, message: &M) {
        let Joined {
            operations,
            id,
            group,
        } = &*self.calls.0;
        assert_ne!(to, group.here(), "a message to the rank itself");
        let packed = Body::pack(message, operations.body);
        let mut state = operations.state();
        match packed {
            Ok(body) => {
                let number = self.number;
                state.event(*id, Event::Send { number, to, body });
            }
            Err(why) => {
                let here = PlaceId(state.here.0);
                if let Some(channel) = &state.channel {
                    channel.send_unencodable(here, PlaceId(group.member(to).0), why);
                }
            }
        }
    }
}

impl<M> Drop for Operation<M> {
    fn drop(&mut self) {
        let Joined { operations, id, .. } = &*self.calls.0;
        let receiver = operations.state().end(*id, self.number);
        // Outside of the lock.
        drop(receiver);
    }
}
