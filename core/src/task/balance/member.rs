//! A worker of the balancer as a task.

use super::places::{Here, Places};
use crate::finish::Reason;
use crate::glb::{Account, Bag, Control, Observer, Step, Worker};
use crate::id::{PlaceId, WorkerId};
use crate::port::Host;
use crate::sync::Lock;
use crate::task::TaskCx;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// Turns of a worker between two checks whether other tasks wait for the processor.
const TURNS: u32 = 64;

/// How many wake-ups' worth of time a poll lasts at least while others wait.
const SLICE_WAKES: u64 = 8;

/// Polls a worker of the balancer: steps until it has nothing to do, or until other tasks have
/// waited for a while. Its place's `unpark` is the waker.
pub(super) struct Member<'a, 'p, 'scope, 'env: 'scope, B: Bag, P: Host, O, F> {
    pub places: &'a Places<'p, B, P>,
    pub place: PlaceId,
    pub me: WorkerId,
    pub control: &'a Control,
    /// In ticks of the clock.
    pub deadline: Option<u64>,
    pub task: TaskCx<'scope, 'env, P>,
    pub process: &'a F,
    /// Taken at the end.
    pub worker: Option<Worker<'a, B, Here<'a, 'p, B, P>, O>>,
    pub account: &'a Lock<Option<Account<O>>>,
    pub is_registered: bool,
}

/// The worker is moved, never borrowed, while the member stays where it is.
impl<B: Bag, P: Host, O, F> Unpin for Member<'_, '_, '_, '_, B, P, O, F> {}

impl<B, P, O, F> Future for Member<'_, '_, '_, '_, B, P, O, F>
where
    B: Bag,
    P: Host,
    O: Observer,
    F: Fn(&mut B, usize, &B::Shared) -> usize,
{
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if !this.is_registered {
            this.places.register(this.place, this.me, cx.waker());
            this.is_registered = true;
        }
        let Some(worker) = &mut this.worker else {
            return Poll::Ready(());
        };
        let slice = Slice::begin(&this.task, this.me);
        let mut turns = 0_u32;
        loop {
            match worker.step_with(this.process) {
                Step::Parked => return Poll::Pending,
                Step::Ended => {
                    let account = this.worker.take().map(Worker::close);
                    *this.account.lock(this.task.port()) = account;
                    return Poll::Ready(());
                }
                Step::Worked(_) => {
                    let port = this.task.port();
                    if this.deadline.is_some_and(|deadline| port.now() >= deadline) {
                        this.control.stop(Reason::Deadline);
                    }
                    turns = turns.wrapping_add(1);
                    if turns % TURNS != 0 {
                        continue;
                    }
                    if let Some(reason) = this.task.cancelled() {
                        this.control.stop(reason);
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

impl<B: Bag, P: Host, O, F> Drop for Member<'_, '_, '_, '_, B, P, O, F> {
    /// A worker that has not ended, because a task panicked or the scope was cancelled, ends the
    /// computation: the others would wait for it in vain.
    fn drop(&mut self) {
        if self.worker.is_some() {
            self.places.close();
        }
    }
}

/// The time that a poll has at the least.
struct Slice<'t, 'scope, 'env: 'scope, P: Host> {
    task: &'t TaskCx<'scope, 'env, P>,
    began: u64,
    ticks: u64,
}

impl<'t, 'scope, 'env, P: Host> Slice<'t, 'scope, 'env, P> {
    fn begin(task: &'t TaskCx<'scope, 'env, P>, me: WorkerId) -> Self {
        let port = task.port();
        let me = port.current().unwrap_or(me);
        Self {
            task,
            began: port.now(),
            ticks: SLICE_WAKES * port.patience(me),
        }
    }

    fn is_over(&self) -> bool {
        self.task.port().now().wrapping_sub(self.began) >= self.ticks && self.task.should_yield()
    }
}
