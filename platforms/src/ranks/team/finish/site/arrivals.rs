//! Messages of other ranks, and the activities that they start here.

use super::{Due, Site, State, refused};
use crate::ranks::engine::inside;
use crate::ranks::team::finish::record::Record;
use std::collections::hash_map::Entry;
use tautline_core::finish::{Arrival as Fate, Event, FinishId, Message, Outcome, Reason};
use tautline_core::machine::Machine;
use tautline_core::task::{CancelToken, ScopeId};
use tautline_core::wire::{Bulk, Fault};
use tautline_core::{PlaceId, Rank};

/// The reason for refusing a message about a nested finish.
const CONTRADICTS: &str = "it contradicts earlier ones about its finish";
/// The reason for refusing a message about a loss, by which all channels should have ended.
const INTOLERANT: &str = "this rank does not tolerate losses";

impl Site {
    /// Records an arrival, which begins a group or joins one that has not begun. Returns what
    /// cancels the group, unless the arrival is to be dropped.
    pub(in crate::ranks::team::finish) fn arrive(
        &self,
        from: Rank,
        id: FinishId,
        begins: bool,
    ) -> Result<Option<CancelToken>, Fault> {
        let (mut state, mut due) = (self.lock(), Due::default());
        if state.error.is_some() {
            return Ok(None);
        }
        if id == state.all {
            return Err(refused("the finish of all ranks has no such activity"));
        }
        let fate = self.step(&mut state, &mut due, |finishes, step| {
            finishes.arrived(id, PlaceId(from.0), step)
        });
        let mut token = None;
        if fate == Ok(Fate::Run) {
            let joined = state.joined.entry(id).or_default();
            joined.groups += usize::from(begins);
            token = Some(joined.token.clone());
        }
        self.unlock(state, due);
        fate.map(|_| token).map_err(|_| refused(CONTRADICTS))
    }

    /// Records that a group of arrivals has ended, with an outcome if it has failed.
    pub(in crate::ranks::team::finish) fn end_group(&self, id: FinishId, failed: Option<Outcome>) {
        let (mut state, mut due) = (self.lock(), Due::default());
        if let Some(joined) = state.joined.get_mut(&id) {
            joined.groups -= 1;
            self.fail(&mut state, &mut due, id, failed);
            self.settle(&mut state, &mut due, id);
        }
        self.unlock(state, due);
    }

    pub(in crate::ranks::team::finish) fn receive(
        &self,
        from: Rank,
        message: Message,
    ) -> Result<(), Fault> {
        if !self.tolerates_losses && is_of_loss(&message) {
            return Err(refused(INTOLERANT));
        }
        let (mut state, mut due) = (self.lock(), Due::default());
        let received = self.step(&mut state, &mut due, |finishes, step| {
            finishes.receive(PlaceId(from.0), message, step)
        });
        self.unlock(state, due);
        received.map_err(|_| refused(CONTRADICTS))
    }

    /// Forwards reports of other ranks.
    pub(in crate::ranks::team::finish) fn flush(&self) {
        let (mut state, mut due) = (self.lock(), Due::default());
        self.step(&mut state, &mut due, |finishes, step| {
            finishes.event(Event::Flush, step)
        });
        self.unlock(state, due);
    }

    /// Records that the finish of all ranks has ended, as the rank above in the tree reports.
    pub(in crate::ranks::team::finish) fn end(
        &self,
        from: Rank,
        outcome: Option<Outcome>,
    ) -> Result<(), Fault> {
        let (mut state, mut due) = (self.lock(), Due::default());
        if self.branch.parent() != Some(from) || state.ended.is_some() {
            return Err(refused("a second end, or one of a rank that is not above"));
        }
        if !self.tolerates_losses && matches!(outcome, Some(Outcome::Lost { .. })) {
            return Err(refused(INTOLERANT));
        }
        let at = outcome.as_ref().map(|outcome| match outcome {
            Outcome::Panicked { at, .. }
            | Outcome::Lost { at, .. }
            | Outcome::Cancelled { at, .. } => at.0,
        });
        if at.is_some_and(|at| at >= self.group.ranks()) {
            return Err(refused("an end by a rank outside of the team"));
        }
        let over = Message::Over(state.all);
        let received = self.step(&mut state, &mut due, |finishes, step| {
            finishes.receive(PlaceId(0), over, step)
        });
        self.ended(&mut state, &mut due, outcome);
        self.unlock(state, due);
        received.map_err(|_| refused(CONTRADICTS))
    }

    pub(in crate::ranks::team::finish) fn answer(
        &self,
        from: Rank,
        call: u64,
        result: &[u8],
    ) -> Result<(), Fault> {
        let mut state = self.lock();
        let State {
            calls, forgotten, ..
        } = &mut *state;
        let asked = match calls.entry(call) {
            Entry::Occupied(asked) if asked.get().to == from => asked.remove(),
            Entry::Vacant(_) if *forgotten > 0 => {
                *forgotten -= 1;
                return Ok(());
            }
            _ => return Err(refused("a result of a call that was not made")),
        };
        drop(state);
        if let Some(traced) = self.traced() {
            traced.answered(from, call);
        }
        // It decodes, and runs the waiters of a cell.
        match inside(|| asked.answer.answer(result)) {
            Some(true) => Ok(()),
            Some(false) => Err(refused("a result of another type than its handler's")),
            None => {
                self.give_up();
                Ok(())
            }
        }
    }

    pub(in crate::ranks::team::finish) fn reply(&self, to: Rank, call: u64, result: Vec<u8>) {
        if let Some(traced) = self.traced() {
            traced.answers(to, call);
        }
        let result = Bulk(result);
        self.send(to, &Record::Reply { call, result });
        self.turn();
    }

    /// Cancels the activities elsewhere of a scope that was aborted.
    pub(in crate::ranks::team::finish) fn aborted(&self, scope: ScopeId) {
        let (mut state, mut due) = (self.lock(), Due::default());
        if let Some(&id) = state.scopes.get(&scope)
            && let Some(owned) = state.owned.get(&id)
            && owned.hold.is_aborted()
            && state.finishes.cancelled(id).is_none()
        {
            let at = PlaceId(self.here.0);
            // A panic reaches the owner of its scope by itself.
            let reason = owned.hold.cancelled().unwrap_or(Reason::GivenUp);
            let fail = Event::Fail(id, Outcome::Cancelled { at, reason });
            self.step(&mut state, &mut due, |finishes, step| {
                finishes.event(fail, step)
            });
        }
        self.unlock(state, due);
    }

    /// Ends all channels, for a panic of this rank.
    pub(in crate::ranks::team::finish) fn give_up(&self) {
        self.engine.give_up();
    }

    /// Ends all channels, for a message that no correct rank sends.
    pub(in crate::ranks::team::finish) fn violated(&self, from: Rank, fault: Fault) {
        if let Some(operation) = self.operation.get() {
            let error = operation.error(from, fault);
            inside(|| self.engine.exchange.fail(&error));
        }
    }
}

/// Whether a message is about the loss of a rank.
fn is_of_loss(message: &Message) -> bool {
    let is_loss = |outcome: &Outcome| matches!(outcome, Outcome::Lost { .. });
    match message {
        Message::Report(_, report) => {
            report.epoch > 0 || report.outcome.as_ref().is_some_and(is_loss)
        }
        Message::Fail(_, outcome) | Message::Cancel(_, outcome) => is_loss(outcome),
        Message::Recount(..) => true,
        Message::Over(_) => false,
    }
}
