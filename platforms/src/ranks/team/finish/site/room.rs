//! Room for activities on their way to other ranks.

use super::{Due, Site, State, refused};
use crate::execution::runtime::Cx;
use crate::ranks::team::finish::record::Record;
use std::cell::Cell;
use std::future::poll_fn;
use std::mem;
use std::task::Poll;
use tautline_core::Rank;
use tautline_core::finish::{Credit, CreditEvent, FinishId};
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::wire::Fault;

/// Bytes of activities that may be in flight to a rank, or wait there, before tasks here wait.
pub(super) const WINDOW: u64 = 1 << 20;

/// Waits for room of a thread, at most: the tasks that run in a wait may wait in turn, above it on
/// the stack. Beyond, tasks do not wait: those that are queued have memory already.
const MOST_WAITS: u32 = 8;

thread_local! {
    static WAITS: Cell<u32> = const { Cell::new(0) };
}

/// A wait for room of this thread.
struct Waits;

impl Waits {
    fn one_more() -> Self {
        WAITS.set(WAITS.get() + 1);
        Self
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        WAITS.set(WAITS.get() - 1);
    }
}

/// An activity of another rank that has not begun. Dropped when it does, or instead of that.
pub(in crate::ranks::team::finish) struct Pending<'s> {
    site: &'s Site,
    from: Rank,
    bytes: u64,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let (mut state, mut due) = (self.site.lock(), Due::default());
        let taken = CreditEvent::Taken(self.from, self.bytes);
        self.site.step_credit(&mut state, &mut due, |credit, step| {
            credit.event(taken, step);
        });
        self.site.unlock(state, due);
    }
}

impl Site {
    /// Counts an activity of another rank until the result is dropped.
    pub(in crate::ranks::team::finish) fn pending(&self, from: Rank, bytes: u64) -> Pending<'_> {
        let site = self;
        Pending { site, from, bytes }
    }

    pub(super) fn sent(&self, state: &mut State, due: &mut Due, to: Rank, bytes: u64) {
        let sent = CreditEvent::Sent(to, bytes);
        self.step_credit(state, due, |credit, step| credit.event(sent, step));
    }

    pub(super) fn granted(&self, from: Rank, bytes: u64) -> Result<(), Fault> {
        let (mut state, mut due) = (self.lock(), Due::default());
        let granted = self.step_credit(&mut state, &mut due, |credit, step| {
            credit.receive(from, bytes, step)
        });
        self.unlock(state, due);
        granted.map_err(|_| refused("it grants more than was sent"))
    }

    pub(super) fn step_credit<R>(
        &self,
        state: &mut State,
        due: &mut Due,
        take: impl FnOnce(&mut Credit, &mut Step<'_, Credit>) -> R,
    ) -> R {
        let State {
            credit, senders, ..
        } = state;
        let mut act = |action| match action {
            Action::Send(to, bytes) => {
                self.send(to, &Record::Grant(bytes));
                due.sends = true;
            }
            Action::Effect(_) => due.senders.extend(mem::take(senders).into_values()),
        };
        take(credit, &mut Step::new(&mut (), &mut act))
    }

    /// Waits, and runs other tasks, until there is room for activities of finish `id` on the way to
    /// a rank, or they cannot be sent.
    pub(in crate::ranks::team::finish) fn await_room(
        &self,
        cx: &mut Cx<'_, '_>,
        id: FinishId,
        to: Rank,
    ) {
        let wait = match WAITS.get() {
            MOST_WAITS => None,
            _ => self.begins_wait(id, to),
        };
        let Some(wait) = wait else {
            return;
        };
        let _waits = Waits::one_more();
        cx.block_on(poll_fn(|context| {
            let mut state = self.lock();
            if state.must_wait(id, to) {
                state.senders.insert(wait, context.waker().clone());
                return Poll::Pending;
            }
            state.senders.remove(&wait);
            Poll::Ready(())
        }));
    }
}

impl Site {
    /// Counts a wait, and returns its number, if it is needed.
    fn begins_wait(&self, id: FinishId, to: Rank) -> Option<u64> {
        let mut state = self.lock();
        state.must_wait(id, to).then(|| {
            state.counts.waits += 1;
            state.counts.waits
        })
    }
}

impl State {
    fn must_wait(&self, id: FinishId, to: Rank) -> bool {
        let is_aborted = |owned: &super::Owned| owned.hold.is_aborted();
        self.credit.is_full(to)
            && self.error.is_none()
            && self.finishes.cancelled(id).is_none()
            && !self.owned.get(&id).is_some_and(is_aborted)
    }
}
