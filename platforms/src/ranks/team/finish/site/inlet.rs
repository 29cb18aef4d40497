//! The receiver of a site's messages, and the end of the channels.

use super::{Due, Mail, Site};
use crate::ranks::team::finish::record::Record;
use std::mem;
use std::sync::{Arc, Weak};
use tautline_core::finish::{Outcome, Reason};
use tautline_core::machine::Machine;
use tautline_core::port::Spin;
use tautline_core::watch::Outstanding;
use tautline_core::wire::{self, Cause, Fault, Receiver, unpack};
use tautline_core::{PlaceId, Rank};

impl Site {
    /// Continues without a rank of the group. The finish of all ranks cannot end without the first.
    pub(in crate::ranks::team::finish) fn without(&self, error: &wire::Error) {
        let lost = self.group.rank_of(error.peer);
        let lost = lost.expect("losses of other ranks are not reported");
        let (mut state, mut due) = (self.lock(), Due::default());
        if PlaceId(lost.0) == state.all.root && state.ended.is_none() {
            drop(state);
            return self.failed(error);
        }
        // No result comes of these.
        let asked = state.calls.extract_if(|_, asked| asked.to == lost);
        due.unanswered.extend(asked.map(|(_, asked)| asked.answer));
        self.step(&mut state, &mut due, |finishes, step| {
            finishes.lost(PlaceId(lost.0), step)
        });
        self.step_credit(&mut state, &mut due, |credit, step| credit.lost(lost, step));
        self.unlock(state, due);
    }

    fn failed(&self, error: &wire::Error) {
        let (mut state, mut due) = (self.lock(), Due::default());
        if state.is_over() {
            return;
        }
        state.error.get_or_insert_with(|| error.clone());
        if let Some(lost) = self.group.rank_of(error.peer)
            && matches!(error.cause, Cause::Lost { .. })
            && self.tolerates_losses
        {
            let (at, rank) = (PlaceId(lost.0), lost);
            state.note_loss(&Outcome::Lost { at, rank });
        }
        due.cancelled.push((self.body.clone(), Reason::Lost));
        let tokens = state.joined.values().map(|joined| joined.token.clone());
        due.cancelled
            .extend(tokens.map(|token| (token, Reason::Lost)));
        state.scopes.clear();
        for (_, owned) in mem::take(&mut state.owned) {
            let lost = Outcome::Lost {
                at: PlaceId(error.peer.0),
                rank: error.peer,
            };
            due.aborted.push((Arc::clone(&owned.hold), lost));
            due.ended.push(owned.hold);
        }
        let calls = mem::take(&mut state.calls).into_values();
        state.forgotten += calls.len() as u64;
        due.unanswered.extend(calls.map(|asked| asked.answer));
        due.senders
            .extend(mem::take(&mut state.senders).into_values());
        due.wakes = true;
        self.unlock(state, due);
    }
}

impl Site {
    /// Returns what the finish, and the scopes here that have spawned elsewhere, wait for; `None`
    /// once it has ended.
    fn outstanding(&self) -> Option<Vec<Outstanding>> {
        let state = self.lock();
        if state.error.is_some() || state.ended.is_some() {
            return None;
        }
        let of = |site, id| {
            let awaited = state.finishes.awaited(id).into_iter();
            let counts = awaited.map(|(at, count)| (Rank(at.0), count)).collect();
            Outstanding::Activities(site, counts)
        };
        let mut found = Vec::new();
        match state.all.root == PlaceId(self.here.0) {
            true => found.push(of(None, state.all)),
            false if state.finishes.is_active(state.all) => {}
            false => found.push(Outstanding::End(Rank(state.all.root.0))),
        }
        let owned = state.owned.iter();
        found.extend(owned.map(|(id, owned)| of(Some(owned.site), *id)));
        if !state.calls.is_empty() {
            found.push(Outstanding::Results(state.calls.len()));
        }
        if !state.senders.is_empty() {
            let full = (0..self.group.ranks()).map(Rank);
            let full = full.filter(|to| *to != self.here && state.credit.is_full(*to));
            found.push(Outstanding::Room(state.senders.len(), full.collect()));
        }
        Some(found)
    }
}

/// The messages of a site, as the exchange uses it.
pub(super) struct Inlet(pub(super) Weak<Site>);

impl Receiver for Inlet {
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Fault> {
        let (from, record) = (Rank(from.0), unpack(body)?);
        let Some(site) = self.0.upgrade() else {
            return Ok(());
        };
        match record {
            // At once: the workers may all wait for it.
            Record::Grant(bytes) => return site.granted(from, bytes),
            record => site.mail.push(Mail::Record(from, record), &Spin),
        }
        Ok(())
    }

    fn outstanding(&self) -> Option<Vec<Outstanding>> {
        self.0.upgrade()?.outstanding()
    }

    fn lost(&self, error: &wire::Error) -> bool {
        let Some(site) = self.0.upgrade() else {
            return true;
        };
        if site.tolerates_losses {
            // Behind what the rank has sent.
            site.mail.push(Mail::Lost(error.clone()), &Spin);
        }
        site.tolerates_losses || site.is_over()
    }

    fn fail(&self, error: &wire::Error) {
        if let Some(site) = self.0.upgrade() {
            site.failed(error);
        }
    }
}
