//! One rank's part in a finish of a team: what of it is shared by tasks, by arrivals and by the
//! thread that receives.

mod arrivals;
mod inlet;
mod room;
mod spawns;

use super::record::{Kind, Record};
use super::reply::Answer;
use super::traced::Traced;
use crate::execution::runtime::{Cx, Hold};
use crate::ranks::engine::ProgressEngine;
use crate::ranks::error::RankError;
use crate::ranks::statistics::FinishCounts;
use inlet::Inlet;
pub(super) use room::Pending;
use std::any::{Any, type_name};
use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use tautline_core::collective::Branch;
use tautline_core::finish::{Credit, Effect, Event, FinishId, Finishes, Message, Outcome, Reason};
use tautline_core::group::Group;
use tautline_core::lifeline::Mailbox;
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::port::Spin;
use tautline_core::service::{Calls, Kind as CallKind, Operation};
use tautline_core::task::{CancelToken, ScopeId};
use tautline_core::wire::{self, Fault, Malformed};
use tautline_core::{Layout, PlaceId, Rank};

/// Messages and notices for the task that serves a site.
pub(super) enum Mail {
    Record(Rank, Record),
    /// A scope whose tasks have spawned elsewhere may have been aborted.
    Aborted(ScopeId),
    /// The loss of a rank.
    Lost(wire::Error),
}

/// One rank's part in a finish of a team.
pub(in crate::ranks::team) struct Site {
    pub(super) engine: Arc<ProgressEngine>,
    pub(super) here: Rank,
    group: Group,
    /// The tree in which the end is passed on.
    branch: Branch,
    /// Whether the other ranks continue after a loss.
    tolerates_losses: bool,
    pub(super) mail: Mailbox<Mail>,
    /// Cancels the body.
    pub(super) body: CancelToken,
    /// Set before anything is sent.
    operation: OnceLock<Operation<Record>>,
    state: Mutex<State>,
    /// Empty if there is no trace; set before there are tasks.
    traced: OnceLock<Traced>,
    /// For the wakers that holds have.
    me: Weak<Self>,
}

struct State {
    finishes: Finishes,
    /// The finish of all ranks.
    all: FinishId,
    /// The scopes here whose tasks have spawned elsewhere.
    scopes: BTreeMap<ScopeId, FinishId>,
    /// The same, by finish.
    owned: BTreeMap<FinishId, Owned>,
    /// Finishes of other ranks with activities here.
    joined: BTreeMap<FinishId, Joined>,
    calls: HashMap<u64, Asked>,
    next_call: u64,
    /// Calls of finishes that have failed, whose results may still come.
    forgotten: u64,
    credit: Credit,
    /// Tasks that wait for room.
    senders: BTreeMap<u64, Waker>,
    /// The outcome of the finish of all ranks, once it has ended.
    ended: Option<Option<Outcome>>,
    /// The error with which the channels have ended.
    error: Option<wire::Error>,
    /// The first outcome by a loss that has cancelled activities here, without ending the channels;
    /// one of the lost rank itself rather than of one that it has cancelled.
    loss: Option<Outcome>,
    counts: FinishCounts,
}

/// A scope here that waits for activities elsewhere.
struct Owned {
    scope: ScopeId,
    /// The finish of the activity that waits.
    parent: FinishId,
    /// The call that first spawned in it elsewhere.
    site: &'static Location<'static>,
    hold: Arc<Hold>,
    /// Batches that are being filled.
    batches: usize,
}

/// A call of another rank, whose result has not come.
struct Asked {
    finish: FinishId,
    to: Rank,
    answer: Box<dyn Answer>,
}

/// Activities here of a finish of another rank.
#[derive(Default)]
struct Joined {
    token: CancelToken,
    /// The groups of arrivals that have not ended.
    groups: usize,
}

/// Actions to be taken once the state is unlocked: they may run any code.
#[derive(Default)]
struct Due {
    cancelled: Vec<(CancelToken, Reason)>,
    aborted: Vec<(Arc<Hold>, Outcome)>,
    /// Held until then.
    ended: Vec<Arc<Hold>>,
    unanswered: Vec<Box<dyn Answer>>,
    senders: Vec<Waker>,
    wakes: bool,
    sends: bool,
}

/// The finish that an activity belongs to, and its scope here.
#[derive(Clone, Copy)]
pub(super) struct Within {
    pub(super) finish: FinishId,
    pub(super) scope: ScopeId,
}

/// An activity for another rank.
pub(super) struct Outgoing {
    pub(super) to: Rank,
    pub(super) handler: u32,
    pub(super) kind: Kind,
    pub(super) args: Vec<u8>,
}

impl Site {
    /// Begins a finish of a group, with the types of its handlers.
    pub(super) fn begin(
        engine: &Arc<ProgressEngine>,
        calls: &Calls,
        location: &'static Location<'static>,
        handlers: &'static str,
    ) -> Arc<Self> {
        engine.assert_rank();
        let group = calls.group();
        let (here, ranks) = (group.here(), group.ranks());
        let layout = Layout::new(ranks, 1);
        let tolerates_losses = engine.tolerates_losses.get().is_some();
        // A lost rank passes nothing on.
        let branch = match tolerates_losses {
            true => Branch::new(here, ranks, ranks),
            false => Branch::of(here, ranks),
        };
        let mut finishes = Finishes::new(PlaceId(here.0), layout);
        let mut act = |_: Action<Finishes>| unreachable!("nothing is sent at the beginning");
        let all = finishes.open_everywhere(&mut Step::new(&mut (), &mut act));
        let site = Arc::new_cyclic(|me| Self {
            engine: Arc::clone(engine),
            here,
            group: group.clone(),
            branch,
            tolerates_losses,
            mail: Mailbox::default(),
            body: CancelToken::new(),
            operation: OnceLock::new(),
            state: Mutex::new(State {
                finishes,
                all,
                scopes: BTreeMap::new(),
                owned: BTreeMap::new(),
                joined: BTreeMap::new(),
                calls: HashMap::new(),
                next_call: 0,
                forgotten: 0,
                credit: Credit::new(ranks, room::WINDOW),
                senders: BTreeMap::new(),
                ended: None,
                error: None,
                loss: None,
                counts: FinishCounts::default(),
            }),
            traced: OnceLock::new(),
            me: me.clone(),
        });
        let kind = CallKind::from("finish").of_types(handlers);
        let operation = calls.begin(location, kind, Arc::new(Inlet(Arc::downgrade(&site))));
        _ = site.operation.set(operation);
        site
    }

    /// Begins the trace of the finish of a call, if the runtime of `cx` has one.
    pub(super) fn trace(&self, cx: &Cx<'_, '_>, location: &'static Location<'static>) {
        let operation = self.operation.get();
        let begin = |operation| Traced::begin(cx, &self.engine, location, operation);
        if let Some(traced) = operation.and_then(begin) {
            _ = self.traced.set(traced);
        }
    }

    /// Returns the trace, if there is one.
    #[inline]
    pub(super) fn traced(&self) -> Option<&Traced> {
        self.traced.get()
    }

    /// Returns what its channel delivers to.
    #[cfg(test)]
    pub(super) fn inlet(&self) -> impl wire::Receiver {
        Inlet(self.me.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // It is consistent between any two statements that change it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a record, with the next turn.
    fn send(&self, to: Rank, record: &Record) {
        if let Some(operation) = self.operation.get() {
            operation.send(to, record);
        }
    }

    /// Runs a turn, which sends.
    fn turn(&self) {
        self.engine.progress.look(&*self.engine);
    }

    /// Lets the machine take a step: sends its messages, and returns what else is due.
    fn step<R>(
        &self,
        state: &mut State,
        due: &mut Due,
        take: impl FnOnce(&mut Finishes, &mut Step<'_, Finishes>) -> R,
    ) -> R {
        let (mut effects, all) = (Vec::new(), state.all);
        let (mut sends, mut reports) = (false, 0);
        let mut act = |action| match action {
            // The record of the end states it.
            Action::Send(_, Message::Over(id)) if id == all => {}
            Action::Send(to, message) => {
                let to: PlaceId = to;
                // Without a turn: a report or the end follows.
                sends |= !matches!(message, Message::Over(_));
                reports += u64::from(matches!(message, Message::Report(..)));
                self.send(Rank(to.0), &Record::Finish(message));
            }
            Action::Effect(effect) => effects.push(effect),
        };
        let taken = take(&mut state.finishes, &mut Step::new(&mut (), &mut act));
        due.sends |= sends;
        state.counts.reports += reports;
        effects
            .into_iter()
            .for_each(|effect| self.effect(state, due, effect));
        taken
    }

    fn effect(&self, state: &mut State, due: &mut Due, effect: Effect) {
        match effect {
            Effect::Cancel(id, outcome) => {
                state.note_loss(&outcome);
                due.senders
                    .extend(mem::take(&mut state.senders).into_values());
                // Activities that were to answer may have been dropped.
                state.forget_calls(id, due);
                if id == state.all {
                    due.cancelled.push((self.body.clone(), reason_of(&outcome)));
                }
                if let Some(joined) = state.joined.get(&id) {
                    let token = joined.token.clone();
                    due.cancelled.push((token, reason_of(&outcome)));
                }
                if let Some(owned) = state.owned.get(&id) {
                    let outcome = state.passed_on(owned, outcome);
                    due.aborted.push((Arc::clone(&owned.hold), outcome));
                }
            }
            Effect::Done(id, outcome) if id == state.all => self.ended(state, due, outcome),
            Effect::Done(id, outcome) => {
                if let Some(owned) = state.owned.remove(&id) {
                    state.scopes.remove(&owned.scope);
                    if let Some(outcome) = outcome {
                        state.note_loss(&outcome);
                        // Otherwise all results come, some of them later than this.
                        state.forget_calls(id, due);
                        let outcome = state.passed_on(&owned, outcome);
                        due.aborted.push((Arc::clone(&owned.hold), outcome));
                    }
                    due.ended.push(owned.hold);
                }
            }
        }
    }

    /// Records that the finish of all ranks has ended, and notifies the ranks below in the tree.
    fn ended(&self, state: &mut State, due: &mut Due, outcome: Option<Outcome>) {
        if let Some(outcome) = &outcome {
            state.note_loss(outcome);
        }
        for to in self.branch.children() {
            self.send(to, &Record::End(outcome.clone()));
            due.sends = true;
        }
        state.ended = Some(outcome);
        due.wakes = true;
    }

    /// Unlocks the state, and does what is due.
    fn unlock(&self, state: MutexGuard<'_, State>, due: Due) {
        let is_over = state.is_over();
        drop(state);
        for (token, reason) in due.cancelled {
            token.cancel(reason);
        }
        for (hold, outcome) in due.aborted {
            match outcome {
                Outcome::Panicked { at, message } => hold.abort(self.remote_panic(at, &message)),
                // Else a finish around the scope would be cancelled, which may handle the abort.
                other if !hold.is_aborted() => _ = hold.cancel(reason_of(&other)),
                _ => {}
            }
        }
        drop(due.unanswered);
        drop(due.ended);
        due.senders.into_iter().for_each(Waker::wake);
        if due.wakes || is_over {
            self.mail.wake(&Spin);
        }
        if due.sends {
            self.turn();
        }
    }

    /// Reports the counts of a finish once nothing here spawns for it: of its scope, if that is
    /// here, the hold counts the tasks.
    fn settle(&self, state: &mut State, due: &mut Due, id: FinishId) {
        let batches = state.owned.get(&id).map_or(0, |owned| owned.batches);
        let groups = state.joined.get(&id).map_or(0, |joined| joined.groups);
        if batches + groups == 0 {
            state.joined.remove(&id);
            self.step(state, due, |finishes, step| {
                finishes.event(Event::Quiet(id), step);
                finishes.event(Event::Flush, step);
            });
        }
    }

    fn fail(&self, state: &mut State, due: &mut Due, id: FinishId, failed: Option<Outcome>) {
        // What a cancellation has stopped does not cancel.
        let is_stopped = state.finishes.cancelled(id).is_some();
        let failed = failed.filter(|it| !(is_stopped && matches!(it, Outcome::Cancelled { .. })));
        if let Some(mut outcome) = failed {
            if reason_of(&outcome) == Reason::Lost
                && let Some(loss) = &state.loss
            {
                // It names the lost rank.
                outcome = loss.clone();
            }
            let fail = Event::Fail(id, outcome);
            self.step(state, due, |finishes, step| finishes.event(fail, step));
        }
    }

    /// Returns the payload of a panic at another rank.
    fn remote_panic(&self, at: PlaceId, message: &str) -> Box<dyn Any + Send> {
        Box::new(format!("{}: {message}", self.group.member(Rank(at.0))))
    }

    /// Returns the counts of this rank.
    pub(in crate::ranks::team) fn counts(&self) -> FinishCounts {
        self.lock().counts
    }

    /// Whether nothing else will arrive.
    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over()
    }

    /// Returns the error of a rank that has cancelled activities here, if there is one.
    pub(super) fn lost(&self) -> Option<RankError> {
        let state = self.lock();
        match (&state.loss, &state.error) {
            (Some(Outcome::Cancelled { .. }) | None, Some(error)) => Some(error.clone().into()),
            (Some(loss), _) => Some(RankError::of_outcome(&self.group, loss)),
            (None, None) => None,
        }
    }

    /// Returns the outcome of the finish of all ranks, or the error with which the channels have
    /// ended. Called when it is over.
    pub(super) fn outcome(&self) -> Result<Option<Outcome>, wire::Error> {
        let state = self.lock();
        // They stay: the site is over for later losses and reports, too.
        match (&state.ended, &state.error) {
            (_, Some(error)) => Err(error.clone()),
            (ended, None) => Ok(ended.clone().flatten()),
        }
    }
}

impl State {
    /// Returns the outcome for a scope. A panic outside of it cancels it, as inside a rank.
    fn passed_on(&self, owned: &Owned, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Panicked { at, .. } if self.finishes.cancelled(owned.parent).is_some() => {
                let reason = Reason::GivenUp;
                Outcome::Cancelled { at, reason }
            }
            outcome => outcome,
        }
    }

    pub(super) fn note_loss(&mut self, outcome: &Outcome) {
        let names_it = |outcome: &Outcome| matches!(outcome, Outcome::Lost { .. });
        let is_first = match &self.loss {
            None => reason_of(outcome) == Reason::Lost,
            Some(noted) => names_it(outcome) && !names_it(noted),
        };
        if is_first {
            self.loss = Some(outcome.clone());
        }
    }

    /// Lets the calls of a finish end without a result.
    fn forget_calls(&mut self, id: FinishId, due: &mut Due) {
        let of_id = self.calls.extract_if(|_, asked| asked.finish == id);
        let before = due.unanswered.len();
        due.unanswered.extend(of_id.map(|(_, asked)| asked.answer));
        self.forgotten += (due.unanswered.len() - before) as u64;
    }

    fn is_over(&self) -> bool {
        self.error.is_some() || self.ended.is_some() && self.finishes.is_empty()
    }
}

/// Returns the fault of a message that no correct rank sends.
pub(super) fn refused(why: &'static str) -> Fault {
    Malformed::refused(type_name::<Record>(), 0, why).into()
}

fn reason_of(outcome: &Outcome) -> Reason {
    match outcome {
        Outcome::Cancelled { reason, .. } => *reason,
        Outcome::Lost { .. } => Reason::Lost,
        Outcome::Panicked { .. } => Reason::GivenUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::engine::AnyLink;
    use crate::ranks::team::finish::fuzz::Deaf;
    use tautline_core::wire::Limits;

    #[test]
    fn a_body_that_a_loss_has_cancelled_reports_the_lost_rank() {
        let link: AnyLink = Box::new(Deaf(0));
        let engine = ProgressEngine::new(Limits::default(), link, None, false);
        let calls = engine.operations.all();
        let site = Site::begin(&engine, &calls, Location::caller(), "tests");
        let (at, reason) = (PlaceId(0), Reason::Lost);
        let lost = Outcome::Lost {
            at: PlaceId(2),
            rank: Rank(2),
        };
        site.lock().note_loss(&lost);
        site.body_ended(Some(Outcome::Cancelled { at, reason }));
        let state = site.lock();
        assert_eq!(state.finishes.cancelled(state.all), Some(&lost));
    }
}
