//! Another rank than the home of an object: its copy, and the accesses that wait for it.

use super::memory::{Memory, Out, perform};
use super::message::{
    Access, Answer, CopyState, Grant, Kind, Message, Mode, Recall, Refusal, Request,
};
use crate::id::Rank;
use alloc::vec::Vec;

/// A rank's copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// The last mode known. It decides only which requests are sent.
    mode: Mode,
    copy: CopyState,
    pending: Option<Pending>,
    /// A recall that arrived before the value of the copy it is for.
    deferred: Option<Recall>,
    waiting: Vec<Access>,
    /// Accesses whose operations are at the home, or on the way.
    travelling: Vec<u64>,
    /// Lost ranks.
    lost: Vec<Rank>,
    /// The rank with which the value was lost.
    ended: Option<Rank>,
}

/// The request that is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Pending {
    Read,
    Write,
    Upgrade,
    /// The value comes from the former owner, the ownership from the home, in any order.
    ReadExclusive {
        value_of: Option<Rank>,
        former: Option<Rank>,
    },
    /// The first accesses that wait, all reads. Later ones need a value that leaves the home after
    /// they have begun: writes that have ended before must be visible to them.
    Get {
        served: usize,
    },
    Borrow,
}

/// A request of which neither the value nor the ownership has arrived.
const READ_EXCLUSIVE: Pending = Pending::ReadExclusive {
    value_of: None,
    former: None,
};

impl Place {
    pub(super) fn new(mode: Mode) -> Self {
        Self {
            mode,
            copy: CopyState::Invalid,
            pending: None,
            deferred: None,
            waiting: Vec::new(),
            travelling: Vec::new(),
            lost: Vec::new(),
            ended: None,
        }
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    pub(super) fn copy(&self) -> CopyState {
        self.copy
    }

    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_none() && self.waiting.is_empty() && self.travelling.is_empty()
    }

    pub(super) fn waiting(&self) -> &[Access] {
        &self.waiting
    }

    pub(super) fn travelling(&self) -> &[u64] {
        &self.travelling
    }

    /// Performs an access, or requests what it needs.
    pub(super) fn access<M: Memory>(&mut self, home: Rank, access: Access, out: &mut dyn Out<M>) {
        if self.copy.permits(access.kind) {
            return out.memory().perform(access);
        }
        if let Some(rank) = self.ended {
            return out.memory().fail(access.number, rank);
        }
        self.waiting.push(access);
        self.request(home, out);
    }

    /// Sends the operations that wait if the value stays at the home; else, or for other accesses,
    /// one request at a time.
    fn request<M: Memory>(&mut self, home: Rank, out: &mut dyn Out<M>) {
        if self.mode == Mode::Home {
            let Self {
                waiting,
                travelling,
                ..
            } = self;
            waiting.retain(|access| {
                let travels = access.kind == Kind::Update;
                if travels {
                    let operation = out.memory().operation(*access);
                    let access = access.number;
                    travelling.push(access);
                    let request = Request::Operate { access, operation };
                    out.send(home, Message::Request(request));
                }
                !travels
            });
        }
        if self.pending.is_some() || self.waiting.is_empty() {
            return;
        }
        let writes = self.waiting.iter().any(|access| access.kind != Kind::Read);
        let (pending, request) = match (self.mode, writes) {
            (Mode::Home, true) => (Pending::Borrow, Request::Borrow),
            (Mode::Home, false) => {
                let served = self.waiting.len();
                (Pending::Get { served }, Request::Get)
            }
            (_, true) if self.copy == CopyState::Shared => (Pending::Upgrade, Request::Upgrade),
            (_, true) => (Pending::Write, Request::Write),
            (Mode::Directory, false) => (Pending::Read, Request::Read),
            (Mode::Migratory, false) => (READ_EXCLUSIVE, Request::ReadExclusive),
        };
        self.pending = Some(pending);
        out.send(home, Message::Request(request));
    }

    /// Processes an answer of the home.
    pub(super) fn grant<M: Memory>(
        &mut self,
        home: Rank,
        mode: Mode,
        grant: Grant<M::Value, M::Output>,
        out: &mut dyn Out<M>,
    ) -> Result<(), Refusal> {
        match (grant, self.pending) {
            (Grant::Value(value), Some(Pending::Get { served })) => {
                out.memory().install(value);
                self.pending = None;
                for access in self.waiting.drain(..served) {
                    out.memory().perform(access);
                }
            }
            (Grant::Lent(value), Some(Pending::Borrow)) => {
                out.memory().install(value);
                self.pending = None;
                perform(&mut self.waiting, CopyState::Exclusive, out);
                let value = out.memory().value();
                out.send(home, Message::Answer(Answer::Returned(value)));
            }
            (Grant::Done { access, output }, _) if self.travelling.contains(&access) => {
                self.travelling.retain(|number| *number != access);
                out.memory().complete(access, output);
            }
            (
                Grant::Refused,
                Some(Pending::Read | Pending::Write | Pending::Upgrade | READ_EXCLUSIVE),
            ) if self.copy == CopyState::Invalid && mode == Mode::Home => self.pending = None,
            (
                Grant::Lost {
                    owner,
                    access: Some(access),
                },
                _,
            ) if self.travelling.contains(&access) => {
                self.travelling.retain(|number| *number != access);
                out.memory().fail(access, owner);
            }
            (
                Grant::Lost {
                    owner,
                    access: None,
                },
                Some(_),
            ) if self.copy == CopyState::Invalid => self.end(owner, out),
            (grant, _) => self.grant_copy(home, grant, out)?,
        }
        self.mode = mode;
        self.request(home, out);
        Ok(())
    }

    /// Processes an answer of the home that permits to keep a copy.
    fn grant_copy<M: Memory>(
        &mut self,
        home: Rank,
        grant: Grant<M::Value, M::Output>,
        out: &mut dyn Out<M>,
    ) -> Result<(), Refusal> {
        let is_invalid = self.copy == CopyState::Invalid;
        // With a coarse set the home does not know whether the copy is there, and sends the value.
        let is_upgrade = self.pending == Some(Pending::Upgrade);
        match (grant, self.pending) {
            (Grant::Shared(value), Some(Pending::Read)) if is_invalid => {
                out.memory().install(value);
                self.obtain(CopyState::Shared, out);
            }
            (
                Grant::Exclusive(value),
                Some(Pending::Write | Pending::Upgrade | Pending::Borrow | READ_EXCLUSIVE),
            ) if is_invalid || is_upgrade => {
                out.memory().install(value);
                self.obtain(CopyState::Exclusive, out);
            }
            (Grant::Upgraded, Some(Pending::Upgrade)) if !is_invalid => {
                self.obtain(CopyState::Exclusive, out);
            }
            (
                Grant::Owned { former },
                Some(Pending::ReadExclusive {
                    value_of,
                    former: None,
                }),
            ) if value_of.is_none_or(|rank| rank == former) => {
                let former = Some(former);
                self.pending = Some(Pending::ReadExclusive { value_of, former });
                self.own(home, out);
                self.miss(home, out);
            }
            _ => return Err(Refusal::Unrequested),
        }
        Ok(())
    }

    /// Sets the state of the copy that was requested, and performs what it permits.
    fn obtain<M: Memory>(&mut self, copy: CopyState, out: &mut dyn Out<M>) {
        self.pending = None;
        self.copy = copy;
        out.memory().hold(copy);
        perform(&mut self.waiting, copy, out);
    }

    /// Uses the only copy once value and ownership have arrived. A recall that came earlier has
    /// waited for the accesses.
    fn own<M: Memory>(&mut self, home: Rank, out: &mut dyn Out<M>) {
        let Some(Pending::ReadExclusive {
            value_of: Some(_),
            former: Some(_),
        }) = self.pending
        else {
            return;
        };
        self.obtain(CopyState::Exclusive, out);
        if let Some(recall) = self.deferred.take() {
            self.give(home, recall, out);
        }
    }

    /// Processes the loss of another rank, which has sent its last message.
    pub(super) fn lost<M: Memory>(&mut self, home: Rank, rank: Rank, out: &mut dyn Out<M>) {
        self.lost.push(rank);
        if rank != home {
            return self.miss(home, out);
        }
        self.drop_to(CopyState::Invalid, out);
        for access in self.travelling.drain(..) {
            out.memory().fail(access, rank);
        }
        self.end(rank, out);
    }

    /// Reports to the home that the value will not come, if its former owner was lost. Only this
    /// rank knows: the home has received the former owner's answer.
    fn miss<M: Memory>(&mut self, home: Rank, out: &mut dyn Out<M>) {
        if let Some(Pending::ReadExclusive {
            value_of: None,
            former: Some(former),
        }) = self.pending
            && self.lost.contains(&former)
        {
            out.send(home, Message::Answer(Answer::Missing(former)));
            self.end(former, out);
        }
    }

    /// Ends the object at this rank.
    fn end<M: Memory>(&mut self, lost: Rank, out: &mut dyn Out<M>) {
        (self.pending, self.deferred, self.ended) = (None, None, Some(lost));
        for access in self.waiting.drain(..) {
            out.memory().fail(access.number, lost);
        }
    }

    /// Processes the value from the former owner.
    pub(super) fn passed<M: Memory>(
        &mut self,
        home: Rank,
        from: Rank,
        value: M::Value,
        out: &mut dyn Out<M>,
    ) -> Result<(), Refusal> {
        match self.pending {
            Some(Pending::ReadExclusive {
                value_of: None,
                former,
            }) if former.is_none_or(|former| former == from) => {
                out.memory().install(value);
                let value_of = Some(from);
                self.pending = Some(Pending::ReadExclusive { value_of, former });
                self.own(home, out);
                self.request(home, out);
                Ok(())
            }
            // The home has reported that the object ended before.
            _ if self.ended.is_some() => Ok(()),
            _ => Err(Refusal::Unrequested),
        }
    }

    /// Processes a request for the copy.
    pub(super) fn recall<M: Memory>(
        &mut self,
        home: Rank,
        recall: Recall,
        out: &mut dyn Out<M>,
    ) -> Result<(), Refusal> {
        match (recall, self.copy) {
            (Recall::Invalidate, CopyState::Exclusive) => return Err(Refusal::State),
            // The home does not know of copies that were dropped.
            (Recall::Invalidate, _) => {
                self.drop_to(CopyState::Invalid, out);
                out.send(home, Message::Answer(Answer::Invalidated));
            }
            (_, CopyState::Shared) => return Err(Refusal::State),
            (_, CopyState::Exclusive) => self.give(home, recall, out),
            (_, CopyState::Invalid) => {
                let is_owner = matches!(
                    self.pending,
                    Some(Pending::ReadExclusive {
                        former: Some(_),
                        ..
                    })
                );
                if !is_owner {
                    // The copy was dropped, and its value sent to the home.
                    return Ok(());
                }
                if self.deferred.is_some() {
                    return Err(Refusal::State);
                }
                self.deferred = Some(recall);
            }
        }
        Ok(())
    }

    /// Gives the only copy away.
    fn give<M: Memory>(&mut self, home: Rank, recall: Recall, out: &mut dyn Out<M>) {
        let left = match recall {
            Recall::Share => CopyState::Shared,
            _ => CopyState::Invalid,
        };
        self.drop_to(left, out);
        let value = out.memory().value();
        let answer = match recall {
            Recall::Pass(to) => {
                out.send(to, Message::Passed(value));
                Answer::Passed
            }
            _ => Answer::Value(value),
        };
        out.send(home, Message::Answer(answer));
    }

    /// Drops a copy that no access needs.
    pub(super) fn evict<M: Memory>(&mut self, home: Rank, out: &mut dyn Out<M>) {
        match self.copy {
            CopyState::Shared if self.pending.is_none() => {
                self.drop_to(CopyState::Invalid, out);
            }
            CopyState::Exclusive => {
                self.drop_to(CopyState::Invalid, out);
                let value = out.memory().value();
                out.send(home, Message::Answer(Answer::Evicted(value)));
            }
            _ => {}
        }
    }

    fn drop_to<M: Memory>(&mut self, copy: CopyState, out: &mut dyn Out<M>) {
        if self.copy != copy {
            self.copy = copy;
            out.memory().hold(copy);
        }
    }
}
