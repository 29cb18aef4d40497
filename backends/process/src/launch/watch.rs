//! The launcher's loop: ends of ranks, their lines, and signals.

use super::rank::Running;
use super::signals::Signals;
use super::{End, Ended, Launch};
use crate::Error;
use crate::descent::Launching;
use crate::segment::{Layout, Segment};
use std::io::{self, Write};
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tautline_core::Rank;

/// The time from the failure of a rank until the others are killed.
const GRACE: Duration = Duration::from_millis(1500);

/// The interval at which ranks are polled whose ends only a signal reports.
const UNREAD: Duration = Duration::from_millis(100);

/// The ranks of a launch.
struct Watch {
    segment: Arc<Segment>,
    /// The longest time for which a rank may be stopped.
    stop_limit: Duration,
    ranks: Vec<Running>,
    /// The first rank that failed, and when.
    failed: Option<(u32, Instant)>,
}

/// Starts the ranks, and returns when all have ended.
pub(super) fn run(launch: &Launch) -> Result<Ended, Error> {
    let mut signals = Signals::block(launch.is_ignored).map_err(|source| Error::System {
        doing: "watch for signals",
        source,
    })?;
    let segment = Segment::new(Layout::new(launch.ranks, launch.ring_bytes)?)?;
    let _launching = Launching::begin();
    let start = |rank| Running::start(launch, rank, segment.descriptor(), signals.before());
    let ranks = (0..launch.ranks).map(start).collect::<Result<_, _>>()?;
    let mut watch = Watch {
        segment,
        stop_limit: launch.stop_limit,
        ranks,
        failed: None,
    };
    while watch.ranks.iter().any(|rank| rank.end.is_none()) {
        watch.wait(signals.descriptor());
        while let Some(signal) = signals.next() {
            if signal == libc::SIGCHLD {
                continue;
            }
            watch.ranks.iter().for_each(|rank| rank.signal(signal));
            if signal == libc::SIGTSTP {
                Signals::stop();
            }
        }
        watch.look();
    }
    let mut ranks = Vec::new();
    for rank in &mut watch.ranks {
        rank.finish();
        ranks.push(rank.end.expect("all have ended"));
    }
    let outputs = watch.ranks.iter_mut();
    let failures = outputs.filter_map(|rank| rank.output.as_mut()?.failure.take());
    // A closed pipe is not a failure, as in programs that are not launched.
    let mut failures = failures.filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
    match failures.next() {
        Some(source) => Err(Error::Output { source }),
        None => Ok(Ended { ranks }),
    }
}

impl Watch {
    /// Waits until a rank has ended or printed something, a signal has come, or a time is over.
    fn wait(&mut self, signals: RawFd) {
        // Where another thread of this process takes the signal, it is not read here.
        let is_unwatched = self.ranks.iter().any(Running::is_unwatched);
        let unread = is_unwatched.then_some(UNREAD);
        let stopped = self.ranks.iter_mut().filter_map(Running::stopped);
        let stopped = stopped.map(|elapsed| self.stop_limit.saturating_sub(elapsed));
        let grace = self
            .failed
            .map(|(_, since)| GRACE.saturating_sub(since.elapsed()));
        let limit = stopped.chain(grace).chain(unread).min();
        // In milliseconds, of which a part would be a wait of none.
        let limit = limit.map_or(-1, |limit| {
            libc::c_int::try_from(limit.as_millis() + 1).unwrap_or(libc::c_int::MAX)
        });
        let ranks = self.ranks.iter().flat_map(Running::descriptors).flatten();
        let mut polled: Vec<_> = ranks
            .chain([signals])
            .map(|fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        // SAFETY: the kernel writes to these elements, while the call runs.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, limit) };
    }

    fn look(&mut self) {
        for at in 0..self.ranks.len() {
            let running = &mut self.ranks[at];
            running.pump();
            if running.has_ended() {
                // What it printed last.
                running.pump();
                self.ended(at);
            }
            let running = &mut self.ranks[at];
            let is_over = |elapsed| elapsed >= self.stop_limit;
            if running.stopped().is_some_and(is_over) && running.kill(End::Stopped) {
                report(
                    at,
                    &format!("killed: it was stopped for {:?}", self.stop_limit),
                );
            }
        }
        let Some((first, since)) = self.failed else {
            return;
        };
        if since.elapsed() >= GRACE {
            for (rank, running) in self.ranks.iter_mut().enumerate() {
                if running.kill(End::Killed) {
                    let grace = GRACE.as_secs_f32();
                    let why =
                        format!("killed: it had not ended {grace} s after rank {first} failed");
                    report(rank, &why);
                }
            }
        }
    }

    /// States that a rank has ended.
    fn ended(&mut self, at: usize) {
        let rank = at as u32;
        let has_left = self.segment.end(Rank(rank));
        let has_failed = match self.ranks[at].end {
            // It was the reader of all outputs that had enough.
            Some(End::Signal(signal))
                if libc::c_int::from(signal) == libc::SIGPIPE && self.ranks[at].is_unread() =>
            {
                true
            }
            Some(End::Signal(signal)) => {
                report(at, &format!("ended by signal {signal}{}", name(signal)));
                true
            }
            Some(End::Stopped) => true,
            Some(End::Code(code)) => code != 0 && !has_left,
            Some(End::Killed) | None => false,
        };
        if has_failed && self.failed.is_none() {
            self.failed = Some((rank, Instant::now()));
        }
    }
}

fn report(rank: usize, what: &str) {
    // Without a standard error there is nothing to report it to.
    let _ = writeln!(io::stderr(), "rank {rank}: {what}");
}

/// Returns the name of a signal that ends processes often.
fn name(signal: u8) -> &'static str {
    match libc::c_int::from(signal) {
        libc::SIGKILL => " (SIGKILL), as by a user or for want of memory",
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGILL => " (SIGILL)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGINT => " (SIGINT)",
        _ => "",
    }
}
