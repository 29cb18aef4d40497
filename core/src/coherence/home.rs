//! The home of an object: the directory, and the requests that wait.

use super::memory::{Memory, Out, perform};
use super::message::{
    Access, Answer, CopyState, Grant, Kind, Message, Mode, Recall, Refusal, Request,
};
use super::sharers::{Sharers, Sharing};
use crate::id::Rank;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;

/// The home: serves one request at a time, in the order of arrival.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Home<O> {
    here: Rank,
    sharing: Sharing,
    mode: Mode,
    entry: Entry,
    /// The request being served; others wait.
    busy: Option<Busy<O>>,
    queue: VecDeque<Want<O>>,
    /// Accesses of the home itself.
    waiting: Vec<Access>,
    /// Lost ranks in ascending order, if they may be members of coarse sets.
    lost: Vec<Rank>,
}

/// The ranks that have the current value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Entry {
    /// Only at the home.
    Clean,
    /// At the home, and perhaps at these ranks.
    Shared(Sharers),
    /// Only at this rank, or on the way to it.
    Modified(Rank),
    /// Nowhere: this rank was lost, with the only copy.
    Lost(Rank),
}

/// An entry in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Want<O> {
    /// Accesses of the home wait, of which one writes or not.
    Own { writes: bool },
    /// The mode is to change.
    Switch(Mode),
    /// Another rank has sent a request.
    Of(Rank, Request<O>),
}

/// The condition for granting the request that is served.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Busy<O> {
    /// These ranks drop their copies: a set that is exact.
    Invalidating(Sharers, Want<O>),
    /// The owner answers the recall.
    Recalling(Rank, Recall, Want<O>),
    /// The rank that has borrowed the value returns it.
    Lent(Rank),
}

impl<O> Home<O> {
    pub(super) fn new(here: Rank, sharing: Sharing, mode: Mode) -> Self {
        Self {
            here,
            sharing,
            mode,
            entry: Entry::Clean,
            busy: None,
            queue: VecDeque::new(),
            waiting: Vec::new(),
            lost: Vec::new(),
        }
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    pub(super) fn copy(&self) -> CopyState {
        match (&self.entry, &self.busy) {
            (Entry::Modified(_) | Entry::Lost(_), _) | (_, Some(Busy::Lent(_))) => {
                CopyState::Invalid
            }
            (Entry::Shared(_), _) => CopyState::Shared,
            (Entry::Clean, _) => CopyState::Exclusive,
        }
    }

    pub(super) fn holders(&self) -> Vec<Rank> {
        match &self.entry {
            Entry::Clean | Entry::Lost(_) => Vec::new(),
            Entry::Shared(sharers) => self.members(sharers).collect(),
            Entry::Modified(owner) => [*owner].into(),
        }
    }

    /// Whether the program has this rank.
    pub(super) fn has(&self, rank: Rank) -> bool {
        rank.0 < self.sharing.ranks()
    }

    /// Returns the other ranks of a set that are not lost, in ascending order.
    fn members(&self, sharers: &Sharers) -> impl Iterator<Item = Rank> {
        let is_other = |rank: &Rank| *rank != self.here && self.lost.binary_search(rank).is_err();
        sharers.members(self.sharing).filter(is_other)
    }

    /// Whether this rank has a copy, unless it has dropped that; not known of coarse sets.
    fn is_sharer(&self, rank: Rank) -> bool {
        matches!(&self.entry, Entry::Shared(sharers) if sharers.is_known(rank, self.sharing))
    }

    pub(super) fn is_idle(&self) -> bool {
        self.busy.is_none() && self.queue.is_empty() && self.waiting.is_empty()
    }

    pub(super) fn waiting(&self) -> &[Access] {
        &self.waiting
    }

    /// The entries of the queue with the one being served.
    fn wants(&self) -> impl Iterator<Item = &Want<O>> {
        let served = match &self.busy {
            Some(Busy::Invalidating(_, want) | Busy::Recalling(_, _, want)) => Some(want),
            Some(Busy::Lent(_)) | None => None,
        };
        served.into_iter().chain(&self.queue)
    }

    /// Adds the ranks that may have the value, and those that wait for an answer.
    pub(super) fn involved(&self, ranks: &mut Vec<Rank>) {
        ranks.extend(self.holders());
        ranks.extend(self.wants().filter_map(|want| match want {
            Want::Of(from, _) => Some(*from),
            Want::Own { .. } | Want::Switch(_) => None,
        }));
        if let Some(Busy::Lent(to)) = self.busy {
            ranks.push(to);
        }
    }

    /// Performs an access of the home, or queues it.
    pub(super) fn access<M: Memory<Operation = O>>(
        &mut self,
        access: Access,
        out: &mut dyn Out<M>,
    ) {
        if self.copy().permits(access.kind) {
            return out.memory().perform(access);
        }
        if let Entry::Lost(owner) = self.entry {
            return out.memory().fail(access.number, owner);
        }
        self.waiting.push(access);
        let writes = access.kind != Kind::Read;
        let suffices = |want: &Want<O>| matches!(want, Want::Own { writes: w } if *w || !writes);
        if !self.wants().any(suffices) {
            self.queue.push_back(Want::Own { writes });
            self.serve(out);
        }
    }

    pub(super) fn switch<M: Memory<Operation = O>>(&mut self, mode: Mode, out: &mut dyn Out<M>) {
        self.queue.retain(|want| !matches!(want, Want::Switch(_)));
        self.queue.push_back(Want::Switch(mode));
        self.serve(out);
    }

    pub(super) fn request<M: Memory<Operation = O>>(
        &mut self,
        from: Rank,
        request: Request<O>,
        out: &mut dyn Out<M>,
    ) -> Result<(), Refusal> {
        let access = request.access();
        let is_same = |want: &Want<O>| match want {
            Want::Of(of, other) => *of == from && other.access() == access,
            Want::Own { .. } | Want::Switch(_) => false,
        };
        let has_borrowed = matches!(self.busy, Some(Busy::Lent(to)) if to == from);
        if self.wants().any(is_same) || has_borrowed && access.is_none() {
            return Err(Refusal::Twice);
        }
        self.queue.push_back(Want::Of(from, request));
        self.serve(out);
        Ok(())
    }

    /// Serves requests until one has to wait for other ranks.
    fn serve<M: Memory<Operation = O>>(&mut self, out: &mut dyn Out<M>) {
        while self.busy.is_none()
            && let Some(want) = self.queue.pop_front()
        {
            match self.entry {
                Entry::Lost(owner) => deny(want, owner, out, self.mode),
                _ => {
                    if let Some(want) = self.interpret(want, out) {
                        self.begin(want, out);
                    }
                }
            }
        }
    }

    /// Returns what a request is under the present mode and entry; `None` if it needs nothing more.
    fn interpret<M: Memory<Operation = O>>(
        &self,
        want: Want<O>,
        out: &mut dyn Out<M>,
    ) -> Option<Want<O>> {
        let Want::Of(from, request) = want else {
            let is_done = match want {
                // A value that came for another request has served them.
                Want::Own { writes } => {
                    let waits = |access: &Access| writes || access.kind == Kind::Read;
                    !self.waiting.iter().any(waits)
                }
                _ => false,
            };
            return (!is_done).then_some(want);
        };
        let is_home = self.mode == Mode::Home;
        let request = match request {
            Request::Read | Request::Write | Request::Upgrade | Request::ReadExclusive
                if is_home =>
            {
                out.send(from, Message::Grant(self.mode, Grant::Refused));
                return None;
            }
            Request::Borrow if !is_home => Request::Write,
            // The copy was invalidated while the request travelled, or perhaps was.
            Request::Upgrade if !self.is_sharer(from) => Request::Write,
            request => request,
        };
        Some(Want::Of(from, request))
    }

    /// Requests from other ranks what `want` needs, or grants it.
    fn begin<M: Memory<Operation = O>>(&mut self, want: Want<O>, out: &mut dyn Out<M>) {
        match &self.entry {
            Entry::Clean | Entry::Lost(_) => self.grant(want, out),
            Entry::Shared(_) if want.only_reads() => self.grant(want, out),
            Entry::Shared(sharers) => {
                let mut others = Sharers::default();
                for rank in self.members(sharers) {
                    if want.receiver() != Some(rank) {
                        out.send(rank, Message::Recall(Recall::Invalidate));
                        others.insert(rank, self.sharing.exact());
                    }
                }
                self.invalidate(others, want, out);
            }
            Entry::Modified(owner) => {
                let recall = match want {
                    Want::Of(to, Request::ReadExclusive) => Recall::Pass(to),
                    _ if want.only_reads() => Recall::Share,
                    _ => Recall::Take,
                };
                out.send(*owner, Message::Recall(recall));
                self.busy = Some(Busy::Recalling(*owner, recall, want));
            }
        }
    }

    /// Waits for ranks to drop their copies; grants the request if no rank has to.
    fn invalidate<M: Memory<Operation = O>>(
        &mut self,
        ranks: Sharers,
        want: Want<O>,
        out: &mut dyn Out<M>,
    ) {
        match ranks.is_empty(self.sharing.exact()) {
            true => self.grant(want, out),
            false => self.busy = Some(Busy::Invalidating(ranks, want)),
        }
    }

    /// Grants a request that the copies of other ranks permit.
    fn grant<M: Memory<Operation = O>>(&mut self, want: Want<O>, out: &mut dyn Out<M>) {
        if want.receiver().is_none() && !want.only_reads() {
            self.set(Entry::Clean, out);
        }
        let (to, request) = match want {
            Want::Own { .. } => return self.perform(out),
            Want::Switch(mode) => {
                self.mode = mode;
                return self.perform(out);
            }
            Want::Of(to, request) => (to, request),
        };
        let grant = match request {
            Request::Read => {
                let mut sharers = match &mut self.entry {
                    Entry::Shared(sharers) => mem::take(sharers),
                    _ => Sharers::default(),
                };
                sharers.insert(to, self.sharing);
                self.set(Entry::Shared(sharers), out);
                Grant::Shared(out.memory().value())
            }
            Request::Write | Request::ReadExclusive => {
                self.set(Entry::Modified(to), out);
                Grant::Exclusive(out.memory().value())
            }
            Request::Upgrade => {
                self.set(Entry::Modified(to), out);
                Grant::Upgraded
            }
            Request::Get => Grant::Value(out.memory().value()),
            Request::Operate { access, operation } => {
                let output = out.memory().operate(operation);
                self.perform(out);
                Grant::Done { access, output }
            }
            Request::Borrow => {
                self.busy = Some(Busy::Lent(to));
                out.memory().hold(CopyState::Invalid);
                Grant::Lent(out.memory().value())
            }
        };
        out.send(to, Message::Grant(self.mode, grant));
    }

    /// Changes the entry, and the state of the home's copy with it.
    fn set<M: Memory<Operation = O>>(&mut self, entry: Entry, out: &mut dyn Out<M>) {
        let before = self.copy();
        self.entry = entry;
        if self.copy() != before {
            out.memory().hold(self.copy());
        }
    }

    /// Processes the answer of a rank whose copy was recalled, or which drops it on its own.
    pub(super) fn answer<M: Memory<Operation = O>>(
        &mut self,
        from: Rank,
        answer: Answer<M::Value>,
        out: &mut dyn Out<M>,
    ) -> Result<(), Refusal> {
        match (answer, self.busy.take()) {
            (Answer::Invalidated, Some(Busy::Invalidating(mut ranks, want)))
                if ranks.is_known(from, self.sharing.exact()) =>
            {
                ranks.remove(from, self.sharing.exact());
                self.invalidate(ranks, want, out);
            }
            (Answer::Value(value), Some(Busy::Recalling(owner, recall, want)))
                if owner == from && matches!(recall, Recall::Share | Recall::Take) =>
            {
                let entry = match recall {
                    Recall::Share => Entry::Shared(Sharers::one(from, self.sharing)),
                    _ => Entry::Clean,
                };
                self.regain(value, entry, out);
                self.grant(want, out);
            }
            // It answers a recall, too, which is ignored when it arrives.
            (Answer::Evicted(value), busy) if self.entry == Entry::Modified(from) => {
                self.regain(value, Entry::Clean, out);
                if let Some(Busy::Recalling(_, _, want)) = busy {
                    self.grant(want, out);
                }
            }
            (Answer::Passed, Some(Busy::Recalling(former, Recall::Pass(to), want)))
                if former == from =>
            {
                match want.receiver() {
                    Some(_) => {
                        self.set(Entry::Modified(to), out);
                        out.send(to, Message::Grant(self.mode, Grant::Owned { former }));
                    }
                    // It was lost meanwhile.
                    None => self.lose(to, out),
                }
            }
            (Answer::Missing(former), busy) if self.entry == Entry::Modified(from) => {
                self.lose(former, out);
                if let Some(Busy::Recalling(_, _, want)) = busy {
                    deny(want, former, out, self.mode);
                }
            }
            (Answer::Returned(value), Some(Busy::Lent(to))) if to == from => {
                self.regain(value, Entry::Clean, out);
            }
            (_, busy) => {
                self.busy = busy;
                return Err(Refusal::Unrequested);
            }
        }
        self.serve(out);
        Ok(())
    }

    /// Processes the loss of another rank, which has sent its last message.
    pub(super) fn lost<M: Memory<Operation = O>>(&mut self, rank: Rank, out: &mut dyn Out<M>) {
        self.queue
            .retain(|want| !matches!(want, Want::Of(from, _) if *from == rank));
        if let Entry::Shared(sharers) = &mut self.entry {
            sharers.remove(rank, self.sharing);
        }
        if self.sharing.is_coarse()
            && let Err(at) = self.lost.binary_search(&rank)
        {
            self.lost.insert(at, rank);
        }
        match self.busy.take() {
            Some(Busy::Invalidating(mut ranks, mut want)) => {
                want.leave(rank, true);
                ranks.remove(rank, self.sharing.exact());
                self.invalidate(ranks, want, out);
            }
            Some(Busy::Recalling(owner, _, want)) if owner == rank => {
                self.lose(rank, out);
                deny(want, rank, out, self.mode);
            }
            Some(Busy::Recalling(owner, recall, mut want)) => {
                want.leave(rank, recall != Recall::Share);
                self.busy = Some(Busy::Recalling(owner, recall, want));
            }
            // The access of the borrower never happened: the value is as before.
            Some(Busy::Lent(to)) if to == rank => {
                out.memory().hold(self.copy());
                self.perform(out);
            }
            busy => {
                self.busy = busy;
                if self.entry == Entry::Modified(rank) {
                    self.lose(rank, out);
                }
            }
        }
        self.serve(out);
    }

    /// Ends the object, whose only copy was lost.
    fn lose<M: Memory<Operation = O>>(&mut self, owner: Rank, out: &mut dyn Out<M>) {
        self.set(Entry::Lost(owner), out);
        for access in self.waiting.drain(..) {
            out.memory().fail(access.number, owner);
        }
    }

    /// Installs a value that has come back, and performs what waits for it here.
    fn regain<M: Memory<Operation = O>>(
        &mut self,
        value: M::Value,
        entry: Entry,
        out: &mut dyn Out<M>,
    ) {
        out.memory().install(value);
        self.entry = entry;
        out.memory().hold(self.copy());
        self.perform(out);
    }

    /// Performs the accesses of the home that its copy permits.
    fn perform<M: Memory<Operation = O>>(&mut self, out: &mut dyn Out<M>) {
        let copy = self.copy();
        perform(&mut self.waiting, copy, out);
    }
}

/// Answers a request for a value that was lost.
fn deny<M: Memory>(want: Want<M::Operation>, owner: Rank, out: &mut dyn Out<M>, mode: Mode) {
    let Want::Of(from, request) = want else {
        return;
    };
    let access = request.access();
    out.send(from, Message::Grant(mode, Grant::Lost { owner, access }));
}

impl<O> Want<O> {
    /// Replaces the request of a rank that was lost. What it waits for still arrives, at the home.
    fn leave(&mut self, lost: Rank, writes: bool) {
        if matches!(self, Self::Of(from, _) if *from == lost) {
            *self = Self::Own { writes };
        }
    }

    /// Whether copies of other ranks may stay.
    fn only_reads(&self) -> bool {
        match self {
            Self::Own { writes } => !writes,
            Self::Switch(_) => false,
            Self::Of(_, request) => matches!(request, Request::Read | Request::Get),
        }
    }

    /// The rank that obtains a copy to keep.
    fn receiver(&self) -> Option<Rank> {
        match self {
            Self::Of(_, Request::Get | Request::Operate { .. } | Request::Borrow) => None,
            Self::Of(from, _) => Some(*from),
            Self::Own { .. } | Self::Switch(_) => None,
        }
    }
}
