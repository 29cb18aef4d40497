//! The workers of a computation, from their first step to their accounts.

use super::member::{Crew, Member, worker};
use super::places::{Places, Remote};
use super::seats::Seats;
use super::settings::Settings;
use crate::finish::Reason;
use crate::glb::{Account, Bag, Control, Observer};
use crate::id::{PlaceId, WorkerId};
use crate::port::{Clock, Host};
use crate::sync::Lock;
use crate::task::{Cancelled, Cx};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

/// Runs the workers of `places`, at `seats`, until the computation is closed. `coordinate` is
/// polled along with them, with the reason why a scope around the caller was cancelled, if one was.
pub(super) fn run_workers<'p, B: Bag, P: Host, O: Observer, X: Remote<B>>(
    cx: &mut Cx<'_, '_, P>,
    settings: &mut Settings<'_, impl FnMut(PlaceId, WorkerId) -> O>,
    control: &Control,
    process: &(impl Fn(&mut B, usize, &B::Shared) -> usize + Sync),
    places: &Places<'p, B, P, X>,
    seats: &[(PlaceId, WorkerId)],
    coordinate: Option<impl FnMut(Option<Reason>, &Context<'_>) -> Poll<()> + Send>,
) -> Result<Vec<Account<O>>, Cancelled> {
    let pool = cx.pool_of_scope();
    let port = pool.port();
    let observed = |&(place, id): &(PlaceId, WorkerId)| {
        let observer = (settings.observe)(place, id);
        ((place, id), worker(places, (place, id), control, observer))
    };
    let workers = Seats::new(seats.iter().map(observed), pool.tree().workers() as usize);
    let accounts = Lock::new(Vec::with_capacity(seats.len()));
    let began = port.now();
    let crew = Crew {
        places,
        control,
        deadline: settings.deadline.map(|after| deadline(began, after, port)),
        process,
        workers,
        accounts: &accounts,
    };
    cx.scope(|cx| {
        for _ in seats {
            cx.spawn_async(|task| boxed(Member::new(&crew, task)));
        }
        if let Some(mut coordinate) = coordinate {
            cx.spawn_async(|task| boxed(poll_fn(move |cx| coordinate(task.cancelled(), cx))));
        }
    });
    if let Some(reason) = cx.cancelled() {
        return Err(Cancelled { reason });
    }
    let accounts = accounts.into_inner();
    assert_eq!(
        accounts.len(),
        seats.len(),
        "a worker that neither panicked nor was cancelled has ended"
    );
    Ok(accounts.into_iter().map(|(_, account)| account).collect())
}

/// Hides the type of a future, so that a program does not compile a task for each type of bag. A
/// poll takes long.
fn boxed<'f>(future: impl Future<Output = ()> + Send + 'f) -> Boxed<'f> {
    Box::pin(future)
}

type Boxed<'f> = Pin<Box<dyn Future<Output = ()> + Send + 'f>>;

/// Returns the tick at which a computation that began at tick `began` has run for `after`.
pub(super) fn deadline(began: u64, after: Duration, clock: &impl Clock) -> u64 {
    let ticks = after.as_secs_f64() * clock.ticks_per_second();
    began.saturating_add(ticks as u64)
}
