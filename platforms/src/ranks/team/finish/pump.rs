//! The task of a rank that serves the messages of a finish.

use super::at::{Arrived, Region};
use super::record::Record;
use super::site::{Mail, Site, Within};
use super::text::text_of;
use crate::execution::runtime::TaskCx;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::thread;
use tautline_core::finish::{FinishId, Outcome};
use tautline_core::port::Spin;
use tautline_core::task::{CancelToken, Cancelled};
use tautline_core::wire::Fault;
use tautline_core::{PlaceId, Rank};

/// Arrivals of one finish that run as one scope.
pub(super) struct Group<'s> {
    pub(super) finish: FinishId,
    pub(super) token: CancelToken,
    pub(super) arrivals: Vec<Arrived<'s>>,
}

/// Serves the messages until the finish is over.
pub(super) async fn serve<'s>(task: TaskCx<'s, '_>, region: Region<'s>) {
    let site = region.site();
    let _guard = Serving(site);
    poll_fn(|cx| {
        site.mail.register(cx.waker(), &Spin);
        let mut groups = Vec::new();
        while let Some(mail) = site.mail.pop(&Spin) {
            match mail {
                Mail::Aborted(scope) => site.aborted(scope),
                Mail::Lost(error) => site.without(&error),
                Mail::Record(from, record) => {
                    if let Err(fault) = receive(region, from, record, &mut groups) {
                        site.violated(from, fault);
                        break;
                    }
                }
            }
        }
        groups
            .into_iter()
            .for_each(|group| start(&task, region, group));
        site.flush();
        match site.is_over() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

/// Ends the channels if the task ends before the finish: other ranks would wait for ever.
struct Serving<'a>(&'a Site);

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        if !self.0.is_over() {
            self.0.give_up();
        }
    }
}

pub(super) fn receive<'s>(
    region: Region<'s>,
    from: Rank,
    record: Record,
    groups: &mut Vec<Group<'s>>,
) -> Result<(), Fault> {
    let site = region.site();
    match record {
        Record::Spawn(arrival) => {
            let incoming = site.traced().map(|traced| traced.arrived(from));
            region.check(&arrival)?;
            let pending = site.pending(from, arrival.bytes());
            let finish = arrival.finish;
            let open = groups.last_mut().filter(|group| group.finish == finish);
            if let Some(token) = site.arrive(from, finish, open.is_none())? {
                let arrived = Arrived {
                    from,
                    arrival,
                    pending,
                    incoming,
                };
                match open {
                    Some(group) => group.arrivals.push(arrived),
                    None => groups.push(Group {
                        finish,
                        token,
                        arrivals: vec![arrived],
                    }),
                }
            }
            Ok(())
        }
        Record::Reply { call, result } => site.answer(from, call, &result.0),
        Record::Finish(message) => site.receive(from, message),
        // Processed as it has arrived.
        Record::Grant(_) => Ok(()),
        Record::End(outcome) => site.end(from, outcome),
    }
}

/// Runs the arrivals of a group, and reports their end.
fn start<'s>(task: &TaskCx<'s, '_>, region: Region<'s>, group: Group<'s>) {
    let Group {
        finish,
        token,
        arrivals,
    } = group;
    task.spawn_async(move |task| async move {
        let run = task.finish_until(&token, |task| async move {
            let scope = task.scope_id();
            let within = Within { finish, scope };
            let mut short = Vec::new();
            for arrived in arrivals {
                match region.is_short(arrived.arrival.handler) {
                    true => short.push(arrived),
                    false => task.spawn(move |cx| arrived.run(cx, region, within)),
                }
            }
            if !short.is_empty() {
                let run = move |cx: &mut _| {
                    let short = short.into_iter();
                    short.for_each(|arrived| arrived.run(cx, region, within));
                };
                task.spawn(run);
            }
        });
        let ended = caught(run).await;
        let failed = failed(region.team.rank(), &ended);
        region.site().end_group(finish, failed);
    });
}

/// Returns the outcome of what has ended so at rank `here`; `None` if it is complete.
pub(super) fn failed<R>(
    here: Rank,
    ended: &thread::Result<Result<R, Cancelled>>,
) -> Option<Outcome> {
    let at = PlaceId(here.0);
    match ended {
        Ok(Ok(_)) => None,
        Ok(Err(Cancelled { reason, .. })) => Some(Outcome::Cancelled {
            at,
            reason: *reason,
        }),
        Err(payload) => Some(Outcome::Panicked {
            at,
            message: text_of(&**payload).into(),
        }),
    }
}

/// Catches the panics of a future.
async fn caught<T: Future>(future: T) -> thread::Result<T::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        let poll = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
        match poll {
            Ok(poll) => poll.map(Ok),
            Err(payload) => Poll::Ready(Err(payload)),
        }
    })
    .await
}
