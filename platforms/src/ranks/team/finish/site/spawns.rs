//! Activities that tasks of this rank start elsewhere.

use super::{Asked, Due, Mail, Outgoing, Owned, Site, State, Within};
use crate::execution::runtime::Cx;
use crate::ranks::team::finish::record::{Arrival, Kind, Record};
use crate::ranks::team::finish::reply::Answer;
use std::panic::Location;
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use tautline_core::PlaceId;
use tautline_core::finish::{FinishId, Outcome, Spawn};
use tautline_core::port::Spin;
use tautline_core::task::ScopeId;
use tautline_core::wire::Bulk;

impl Site {
    /// Spawns an activity at another rank, which joins the innermost finish or scope of `cx`.
    /// Returns its finish if no other is to follow before there is [room](Self::await_room).
    #[track_caller]
    pub(in crate::ranks::team::finish) fn spawn(
        &self,
        cx: &Cx<'_, '_>,
        within: Option<Within>,
        out: Outgoing,
        answer: Option<Box<dyn Answer>>,
    ) -> Option<FinishId> {
        let (mut state, mut due) = (self.lock(), Due::default());
        let (to, mut full) = (out.to, None);
        if state.error.is_none() {
            let id = self.finish_of(&mut state, &mut due, cx, within);
            let owned = state.owned.get(&id);
            match owned.is_some_and(|owned| owned.hold.is_aborted()) {
                true => due.unanswered.extend(answer),
                false => self.spawn_in(&mut state, &mut due, id, out, answer),
            }
            self.settle(&mut state, &mut due, id);
            full = state.credit.is_full(to).then_some(id);
        } else {
            due.unanswered.extend(answer);
        }
        self.unlock(state, due);
        full
    }

    fn spawn_in(
        &self,
        state: &mut State,
        due: &mut Due,
        id: FinishId,
        mut out: Outgoing,
        answer: Option<Box<dyn Answer>>,
    ) {
        let to = PlaceId(out.to.0);
        let spawned = self.step(state, due, |finishes, step| finishes.spawned(id, to, step));
        if spawned != Spawn::Counted {
            due.unanswered.extend(answer);
            return;
        }
        if let Some(answer) = answer {
            out.kind = Kind::Call(state.next_call);
            let asked = Asked {
                finish: id,
                to: out.to,
                answer,
            };
            state.calls.insert(state.next_call, asked);
            state.next_call += 1;
        }
        let arrival = Arrival {
            finish: id,
            handler: out.handler,
            kind: out.kind,
            args: Bulk(out.args),
        };
        state.counts.spawns += 1;
        if let Some(traced) = self.traced() {
            traced.sent(out.to, arrival.handler);
        }
        self.sent(state, due, out.to, arrival.bytes());
        self.send(out.to, &Record::Spawn(arrival));
        due.sends = true;
    }

    /// Returns the finish that activities of `cx` join elsewhere, with activities here.
    #[track_caller]
    fn finish_of(
        &self,
        state: &mut State,
        due: &mut Due,
        cx: &Cx<'_, '_>,
        within: Option<Within>,
    ) -> FinishId {
        let scope = cx.scope_id();
        if let Some(within) = within.filter(|within| within.scope == scope) {
            return within.finish;
        }
        if let Some(&id) = state.scopes.get(&scope)
            && state.finishes.resume(id)
        {
            return id;
        }
        let parent = within.map_or(state.all, |within| within.finish);
        let id = self.step(state, due, |finishes, step| {
            finishes.open(Some(parent), step)
        });
        let mut hold = cx.hold();
        let site = self.me.clone();
        hold.watch(Waker::from(Arc::new(Watch { site, scope })));
        let hold = Arc::new(hold);
        let owned = Owned {
            scope,
            parent,
            site: Location::caller(),
            hold,
            batches: 0,
        };
        if let Some(outcome) = state.finishes.cancelled(id).cloned() {
            let outcome = state.passed_on(&owned, outcome);
            due.aborted.push((Arc::clone(&owned.hold), outcome));
        }
        state.owned.insert(id, owned);
        state.scopes.insert(scope, id);
        id
    }

    /// Begins a batch of activities that join the innermost finish or scope of `cx`.
    #[track_caller]
    pub(in crate::ranks::team::finish) fn begin_batch(
        &self,
        cx: &Cx<'_, '_>,
        within: Option<Within>,
    ) -> FinishId {
        let (mut state, mut due) = (self.lock(), Due::default());
        let id = self.finish_of(&mut state, &mut due, cx, within);
        if let Some(owned) = state.owned.get_mut(&id) {
            owned.batches += 1;
        }
        self.unlock(state, due);
        id
    }

    pub(in crate::ranks::team::finish) fn send_batch(&self, id: FinishId, out: Outgoing) {
        let (mut state, mut due) = (self.lock(), Due::default());
        if state.error.is_none() {
            self.spawn_in(&mut state, &mut due, id, out, None);
        }
        self.unlock(state, due);
    }

    pub(in crate::ranks::team::finish) fn end_batch(&self, id: FinishId) {
        let (mut state, mut due) = (self.lock(), Due::default());
        if let Some(owned) = state.owned.get_mut(&id) {
            owned.batches -= 1;
            self.settle(&mut state, &mut due, id);
        }
        self.unlock(state, due);
    }

    /// Records that the body has ended, with an outcome if it has failed.
    pub(in crate::ranks::team::finish) fn body_ended(&self, failed: Option<Outcome>) {
        let (mut state, mut due) = (self.lock(), Due::default());
        let id = state.all;
        self.fail(&mut state, &mut due, id, failed);
        self.settle(&mut state, &mut due, id);
        self.unlock(state, due);
    }
}

/// Notices that a scope is aborted.
struct Watch {
    site: Weak<Site>,
    scope: ScopeId,
}

impl Wake for Watch {
    fn wake(self: Arc<Self>) {
        if let Some(site) = self.site.upgrade() {
            site.mail.push(Mail::Aborted(self.scope), &Spin);
        }
    }
}
