//! One rank's part in a finish of a team: what of it is shared by tasks, by arrivals and by the
//! thread that receives.

use super::record::{Arrival, Kind, Record};
use super::reply::Answer;
use crate::execution::runtime::{Cx, Hold};
use crate::ranks::engine::{ProgressEngine, inside};
use std::any::{Any, type_name};
use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Wake, Waker};
use tautline_core::finish::{
    Arrival as Fate, Effect, Event, FinishId, Finishes, Message, Outcome, Reason, Spawn,
};
use tautline_core::lifeline::Mailbox;
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::port::Spin;
use tautline_core::service::{Calls, Kind as CallKind, Operation};
use tautline_core::task::{CancelToken, ScopeId};
use tautline_core::wire::{self, Bulk, Fault, Malformed, Receiver, unpack};
use tautline_core::{Layout, PlaceId, Rank};

/// The reason for refusing a message about a nested finish.
const CONTRADICTS: &str = "it contradicts earlier ones about its finish";

/// Messages and notices for the task that serves a site.
pub(super) enum Mail {
    Record(Rank, Record),
    /// A scope whose tasks have spawned elsewhere may have been aborted.
    Aborted(ScopeId),
}

/// One rank's part in a finish of a team.
pub(in crate::ranks::team) struct Site {
    pub(super) engine: Arc<ProgressEngine>,
    pub(super) here: Rank,
    ranks: u32,
    pub(super) mail: Mailbox<Mail>,
    /// Cancels the body.
    pub(super) body: CancelToken,
    /// Set before anything is sent.
    operation: OnceLock<Operation<Record>>,
    state: Mutex<State>,
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
    calls: HashMap<u64, (FinishId, Box<dyn Answer>)>,
    next_call: u64,
    /// The outcome of the finish of all ranks, once it has ended.
    ended: Option<Option<Outcome>>,
    /// The error with which the channels have ended.
    error: Option<wire::Error>,
}

/// A scope here that waits for activities elsewhere.
struct Owned {
    scope: ScopeId,
    /// The finish of the activity that waits.
    parent: FinishId,
    hold: Arc<Hold>,
    /// Batches that are being filled.
    batches: usize,
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
    wakes: bool,
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
        let mut finishes = Finishes::new(PlaceId(here.0), layout);
        let mut act = |_: Action<Finishes>| unreachable!("nothing is sent at the beginning");
        let all = finishes.open_everywhere(&mut Step::new(&mut (), &mut act));
        let site = Arc::new_cyclic(|me| Self {
            engine: Arc::clone(engine),
            here,
            ranks,
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
                ended: None,
                error: None,
            }),
            me: me.clone(),
        });
        let kind = CallKind::from("finish").of_types(handlers);
        let operation = calls.begin(location, kind, Arc::new(Inlet(Arc::downgrade(&site))));
        _ = site.operation.set(operation);
        site
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // It is consistent between any two statements that change it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, to: Rank, record: &Record) {
        if let Some(operation) = self.operation.get() {
            operation.send(to, record);
        }
    }

    /// Lets the machine take a step: sends its messages, and returns what else is due.
    fn step<R>(
        &self,
        state: &mut State,
        due: &mut Due,
        take: impl FnOnce(&mut Finishes, &mut Step<'_, Finishes>) -> R,
    ) -> R {
        let mut effects = Vec::new();
        let mut act = |action| match action {
            Action::Send(to, message) => {
                let to: PlaceId = to;
                self.send(Rank(to.0), &Record::Finish(message));
            }
            Action::Effect(effect) => effects.push(effect),
        };
        let taken = take(&mut state.finishes, &mut Step::new(&mut (), &mut act));
        effects
            .into_iter()
            .for_each(|effect| self.effect(state, due, effect));
        taken
    }

    fn effect(&self, state: &mut State, due: &mut Due, effect: Effect) {
        match effect {
            Effect::Cancel(id, outcome) => {
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
            Effect::Done(id, outcome) if id == state.all => {
                for to in (0..self.ranks).map(Rank).filter(|to| *to != self.here) {
                    self.send(to, &Record::End(outcome.clone()));
                }
                state.ended = Some(outcome);
                due.wakes = true;
            }
            Effect::Done(id, outcome) => {
                if let Some(owned) = state.owned.remove(&id) {
                    state.scopes.remove(&owned.scope);
                    if let Some(outcome) = outcome {
                        let outcome = state.passed_on(&owned, outcome);
                        due.aborted.push((Arc::clone(&owned.hold), outcome));
                    }
                    due.ended.push(owned.hold);
                }
                state.forget_calls(id, due);
            }
        }
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
                Outcome::Panicked { at, message } => hold.abort(remote_panic(at, &message)),
                other => _ = hold.cancel(reason_of(&other)),
            }
        }
        drop(due.unanswered);
        drop(due.ended);
        if due.wakes || is_over {
            self.mail.wake(&Spin);
        }
    }

    /// Spawns an activity at another rank, which joins the innermost finish or scope of `cx`.
    #[track_caller]
    pub(super) fn spawn(
        &self,
        cx: &Cx<'_, '_>,
        within: Option<Within>,
        out: Outgoing,
        answer: Option<Box<dyn Answer>>,
    ) {
        let (mut state, mut due) = (self.lock(), Due::default());
        if state.error.is_none() {
            let id = self.finish_of(&mut state, &mut due, cx, within);
            self.spawn_in(&mut state, &mut due, id, out, answer);
            self.settle(&mut state, &mut due, id);
        } else {
            due.unanswered.extend(answer);
        }
        self.unlock(state, due);
        self.engine.progress.look(&*self.engine);
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
            state.calls.insert(state.next_call, (id, answer));
            state.next_call += 1;
        }
        let arrival = Arrival {
            finish: id,
            handler: out.handler,
            kind: out.kind,
            args: Bulk(out.args),
        };
        self.send(out.to, &Record::Spawn(arrival));
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

    /// Begins a batch of activities that join the innermost finish or scope of `cx`.
    #[track_caller]
    pub(super) fn begin_batch(&self, cx: &Cx<'_, '_>, within: Option<Within>) -> FinishId {
        let (mut state, mut due) = (self.lock(), Due::default());
        let id = self.finish_of(&mut state, &mut due, cx, within);
        if let Some(owned) = state.owned.get_mut(&id) {
            owned.batches += 1;
        }
        self.unlock(state, due);
        id
    }

    pub(super) fn send_batch(&self, id: FinishId, out: Outgoing) {
        let (mut state, mut due) = (self.lock(), Due::default());
        if state.error.is_none() {
            self.spawn_in(&mut state, &mut due, id, out, None);
        }
        self.unlock(state, due);
        self.engine.progress.look(&*self.engine);
    }

    pub(super) fn end_batch(&self, id: FinishId) {
        let (mut state, mut due) = (self.lock(), Due::default());
        if let Some(owned) = state.owned.get_mut(&id) {
            owned.batches -= 1;
            self.settle(&mut state, &mut due, id);
        }
        self.unlock(state, due);
    }

    /// Records that the body has ended, with an outcome if it has failed.
    pub(super) fn body_ended(&self, failed: Option<Outcome>) {
        let (mut state, mut due) = (self.lock(), Due::default());
        let id = state.all;
        self.fail(&mut state, &mut due, id, failed);
        self.settle(&mut state, &mut due, id);
        self.unlock(state, due);
        self.engine.progress.look(&*self.engine);
    }

    fn fail(&self, state: &mut State, due: &mut Due, id: FinishId, failed: Option<Outcome>) {
        if let Some(outcome) = failed {
            let fail = Event::Fail(id, outcome);
            self.step(state, due, |finishes, step| finishes.event(fail, step));
        }
    }

    /// Records an arrival, which begins a group or joins one that has not begun. Returns what
    /// cancels the group, unless the arrival is to be dropped.
    pub(super) fn arrive(
        &self,
        from: Rank,
        id: FinishId,
        begins: bool,
    ) -> Result<Option<CancelToken>, Fault> {
        let (mut state, mut due) = (self.lock(), Due::default());
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
    pub(super) fn end_group(&self, id: FinishId, failed: Option<Outcome>) {
        let (mut state, mut due) = (self.lock(), Due::default());
        // After the end of the channels there is nothing to report to.
        if let Some(joined) = state.joined.get_mut(&id) {
            joined.groups -= 1;
            self.fail(&mut state, &mut due, id, failed);
            self.settle(&mut state, &mut due, id);
        }
        self.unlock(state, due);
        self.engine.progress.look(&*self.engine);
    }

    pub(super) fn receive(&self, from: Rank, message: Message) -> Result<(), Fault> {
        let (mut state, mut due) = (self.lock(), Due::default());
        let received = self.step(&mut state, &mut due, |finishes, step| {
            finishes.receive(PlaceId(from.0), message, step)
        });
        self.unlock(state, due);
        received.map_err(|_| refused(CONTRADICTS))
    }

    /// Forwards reports of other ranks.
    pub(super) fn flush(&self) {
        let (mut state, mut due) = (self.lock(), Due::default());
        self.step(&mut state, &mut due, |finishes, step| {
            finishes.event(Event::Flush, step)
        });
        self.unlock(state, due);
    }

    /// Records that the finish of all ranks has ended, as rank 0 reports.
    pub(super) fn end(&self, from: Rank, outcome: Option<Outcome>) -> Result<(), Fault> {
        let mut state = self.lock();
        if from != Rank(0) || state.ended.is_some() {
            return Err(refused("a second end, or one of a rank other than 0"));
        }
        state.ended = Some(outcome);
        Ok(())
    }

    pub(super) fn answer(&self, call: u64, result: &[u8]) -> Result<(), Fault> {
        let answer = self.lock().calls.remove(&call);
        // Calls of a finish that was cancelled are forgotten.
        match answer.is_none_or(|(_, answer)| answer.answer(result)) {
            true => Ok(()),
            false => Err(refused("a result of another type than its handler's")),
        }
    }

    pub(super) fn reply(&self, to: Rank, call: u64, result: Vec<u8>) {
        let result = Bulk(result);
        self.send(to, &Record::Reply { call, result });
        self.engine.progress.look(&*self.engine);
    }

    /// Cancels the activities elsewhere of a scope that was aborted.
    pub(super) fn aborted(&self, scope: ScopeId) {
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

    /// Ends all channels, for a message that no correct rank sends.
    pub(super) fn violated(&self, from: Rank, fault: Fault) {
        if let Some(operation) = self.operation.get() {
            let error = operation.error(from, fault);
            inside(|| self.engine.exchange.fail(&error));
        }
    }

    fn failed(&self, error: &wire::Error) {
        let (mut state, mut due) = (self.lock(), Due::default());
        state.error.get_or_insert_with(|| error.clone());
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
        due.unanswered.extend(calls.map(|(_, answer)| answer));
        due.wakes = true;
        self.unlock(state, due);
    }

    /// Whether nothing else will arrive.
    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over()
    }

    /// Returns the outcome of the finish of all ranks, or the error with which the channels have
    /// ended. Called when it is over.
    pub(super) fn outcome(&self) -> Result<Option<Outcome>, wire::Error> {
        let mut state = self.lock();
        match (state.ended.take(), state.error.take()) {
            (_, Some(error)) => Err(error),
            (ended, None) => Ok(ended.flatten()),
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

    /// Lets the calls of a finish end without a result.
    fn forget_calls(&mut self, id: FinishId, due: &mut Due) {
        let of_id = self.calls.extract_if(|_, (finish, _)| *finish == id);
        due.unanswered.extend(of_id.map(|(_, (_, answer))| answer));
    }

    fn is_over(&self) -> bool {
        self.error.is_some() || self.ended.is_some() && self.finishes.is_empty()
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

/// The messages of a site, as the exchange uses it.
struct Inlet(Weak<Site>);

impl Receiver for Inlet {
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Fault> {
        let record = unpack(body)?;
        if let Some(site) = self.0.upgrade() {
            site.mail.push(Mail::Record(Rank(from.0), record), &Spin);
        }
        Ok(())
    }

    fn fail(&self, error: &wire::Error) {
        if let Some(site) = self.0.upgrade() {
            site.failed(error);
        }
    }
}

/// Returns the payload of a panic at another rank.
pub(super) fn remote_panic(at: PlaceId, message: &str) -> Box<dyn Any + Send> {
    Box::new(format!("{}: {message}", Rank(at.0)))
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
