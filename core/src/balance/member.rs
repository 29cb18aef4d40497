//! A worker of the balancer as a task.

use super::observer::{PortObserver, report};
use super::places::{Here, Places, Remote};
use super::seats::{Seated, Seats};
use crate::finish::Reason;
use crate::glb::{Account, Bag, Control, Observer, Step, Worker};
use crate::id::{PlaceId, WorkerId};
use crate::port::Host;
use crate::sync::Lock;
use crate::task::TaskCx;
use crate::watch::State;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// Turns of a worker between two checks whether other tasks wait for this processor.
const TURNS: u32 = 64;

/// The minimum duration of a poll while other tasks wait, in wake-up times.
const SLICE_WAKES: u64 = 8;

/// The state that the workers of a computation share.
pub(super) struct Crew<'a, 'p, B: Bag, P: Host, O: Observer, F, X: Remote<B>> {
    pub(super) places: &'a Places<'p, B, P, X>,
    pub(super) control: &'a Control,
    /// In ticks of the clock.
    pub(super) deadline: Option<u64>,
    /// Called in place of [`Bag::process`].
    pub(super) process: &'a F,
    pub(super) workers: Seats<Balancing<'a, 'p, B, P, O, X>>,
    /// The accounts of the workers that have ended, in the order of their seats.
    pub(super) accounts: &'a Lock<Vec<Seated<Account<O>>>>,
}

/// A worker of the balancer.
type Balancing<'a, 'p, B, P, O, X> = Worker<'a, B, Here<'a, 'p, B, P, X>, PortObserver<'p, P, O>>;

/// Creates the worker of a seat.
pub(super) fn worker<'a, 'p, B: Bag, P: Host, O: Observer, X: Remote<B>>(
    places: &'a Places<'p, B, P, X>,
    (place, worker): (PlaceId, WorkerId),
    control: &'a Control,
    observer: O,
) -> Balancing<'a, 'p, B, P, O, X> {
    let (team, here) = (places.team(place), places.at(place));
    let observer = PortObserver::new(places.port(), observer);
    Worker::new(team, worker, here, control, observer)
}

/// Polls a worker of the balancer: takes steps until it has nothing to do, or until other tasks
/// have waited for a while. Its place's `unpark` wakes the future.
pub(super) struct Member<
    'a,
    'p,
    'scope,
    'env: 'scope,
    B: Bag,
    P: Host,
    O: Observer,
    F,
    X: Remote<B>,
> {
    crew: &'a Crew<'a, 'p, B, P, O, F, X>,
    task: TaskCx<'scope, 'env, P>,
    stage: Stage<Balancing<'a, 'p, B, P, O, X>>,
}

/// The life of a [`Member`].
enum Stage<W> {
    /// Not polled so far: the worker that polls it first decides which seat it takes.
    Unseated,
    At((PlaceId, WorkerId), W),
    /// The worker has ended, and its account is stored.
    Ended,
}

impl<'a, 'p, 'scope, 'env, B: Bag, P: Host, O: Observer, F, X: Remote<B>>
    Member<'a, 'p, 'scope, 'env, B, P, O, F, X>
{
    pub(super) fn new(
        crew: &'a Crew<'a, 'p, B, P, O, F, X>,
        task: TaskCx<'scope, 'env, P>,
    ) -> Self {
        Self {
            crew,
            task,
            stage: Stage::Unseated,
        }
    }

    /// Takes the seat that suits the calling worker best.
    fn take_seat(&self) -> Stage<Balancing<'a, 'p, B, P, O, X>> {
        let here = self.task.position();
        let taken = self.crew.workers.take(here, self.task.port());
        taken.map_or(Stage::Ended, |(seat, worker)| Stage::At(seat, worker))
    }

    fn end(&mut self) {
        let ended = core::mem::replace(&mut self.stage, Stage::Ended);
        let Stage::At(seat, worker) = ended else {
            return;
        };
        let ended = worker.close();
        let account = Account {
            tasks: ended.tasks,
            times: ended.times,
            observer: ended.observer.into_inner(),
        };
        let mut accounts = self.crew.accounts.lock(self.task.port());
        let at = accounts.partition_point(|&(before, _)| before < seat);
        accounts.insert(at, (seat, account));
    }
}

/// The worker is moved, never borrowed, so it need not be pinned.
impl<B: Bag, P: Host, O: Observer, F, X: Remote<B>> Unpin
    for Member<'_, '_, '_, '_, B, P, O, F, X>
{
}

impl<B, P, O, F, X> Future for Member<'_, '_, '_, '_, B, P, O, F, X>
where
    B: Bag,
    X: Remote<B>,
    P: Host,
    O: Observer,
    F: Fn(&mut B, usize, &B::Shared) -> usize,
{
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let _reset = Reset(self.crew.places.port());
        let this = &mut *self;
        if matches!(this.stage, Stage::Unseated) {
            this.stage = this.take_seat();
        }
        let Stage::At(seat, worker) = &mut this.stage else {
            return Poll::Ready(());
        };
        let seat = *seat;
        this.crew.places.register(seat, cx.waker());
        let _attendance = this.crew.places.remote().attend();
        let slice = Slice::begin(&this.task);
        let mut turns = 0_u32;
        loop {
            this.crew.places.receive();
            match worker.step_with(this.crew.process) {
                Step::Parked => {
                    let places = this.crew.places;
                    if !X::HAS_PLACES || !places.linger(seat, patience(&this.task)) {
                        return Poll::Pending;
                    }
                }
                Step::Ended => {
                    this.end();
                    return Poll::Ready(());
                }
                Step::Worked(_) => {
                    let port = this.task.port();
                    if this
                        .crew
                        .deadline
                        .is_some_and(|deadline| port.now() >= deadline)
                    {
                        this.crew.control.stop(Reason::Deadline);
                    }
                    turns = turns.wrapping_add(1);
                    if turns % TURNS != 0 {
                        continue;
                    }
                    if let Some(reason) = this.task.cancelled() {
                        this.crew.control.stop(reason);
                    }
                    if slice.is_over() {
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                }
                _ => {}
            }
        }
    }
}

impl<B: Bag, P: Host, O: Observer, F, X: Remote<B>> Drop for Member<'_, '_, '_, '_, B, P, O, F, X> {
    /// Ends the computation if the worker has not ended it, because a task panicked or the scope
    /// was cancelled: otherwise the other workers would wait for ever.
    fn drop(&mut self) {
        if !matches!(self.stage, Stage::Ended) {
            self.crew.places.abandon();
        }
    }
}

/// Reports at the end of a poll that the worker of the pool continues with other tasks.
struct Reset<'p, P: Host>(&'p P);

impl<P: Host> Drop for Reset<'_, P> {
    #[inline]
    fn drop(&mut self) {
        if self.0.is_watching() {
            report(self.0, State::Computing);
        }
    }
}

/// Returns whether a worker should still poll for work that others may send, each time it is
/// called: for the time that it takes to wake a thread, unless other tasks wait.
fn patience<P: Host>(task: &TaskCx<'_, '_, P>) -> impl FnMut() -> bool {
    let port = task.port();
    let (began, ticks) = (port.now(), patience_of(port));
    let mut turn = 0;
    move || {
        port.relax(turn);
        turn += 1;
        port.now().wrapping_sub(began) < ticks && !task.should_yield()
    }
}

/// Returns the patience of the calling worker, in ticks.
fn patience_of(port: &impl Host) -> u64 {
    port.current().map_or(0, |worker| port.patience(worker))
}

/// The minimum duration of a poll, in ticks.
struct Slice<'t, 'scope, 'env: 'scope, P: Host> {
    task: &'t TaskCx<'scope, 'env, P>,
    began: u64,
    ticks: u64,
}

impl<'t, 'scope, 'env, P: Host> Slice<'t, 'scope, 'env, P> {
    fn begin(task: &'t TaskCx<'scope, 'env, P>) -> Self {
        let port = task.port();
        Self {
            task,
            began: port.now(),
            ticks: SLICE_WAKES * patience_of(port),
        }
    }

    fn is_over(&self) -> bool {
        self.task.port().now().wrapping_sub(self.began) >= self.ticks && self.task.should_yield()
    }
}
