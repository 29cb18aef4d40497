//! Waiting for ranks that do not make the same call.

use super::ProgressEngine;
use super::open::OpenCall;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tautline_core::Rank;
use tautline_core::group::GroupId;
use tautline_core::progress::Pace;
use tautline_core::service::OpenOperation;
use tautline_core::wire::{Cause, Error};

/// A wait of a rank for others to make the same call. Displayed as one line that names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The error that it would be.
    error: Error,
    since: Instant,
}

impl Waiting {
    /// Returns the ranks that have not made the call, as far as this one knows: it hears of up to
    /// 32 ranks, or else of those next to it in a tree.
    pub fn ranks(&self) -> Vec<Rank> {
        let mut ranks = vec![self.error.peer];
        if let Cause::Absent { others, .. } = &self.error.cause {
            ranks.extend(others);
        }
        ranks
    }

    /// Returns for how long the rank has waited.
    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// Whether the call begins an operation, and not a channel.
    pub(crate) fn is_of_operation(&self) -> bool {
        let channel = self.error.channel;
        channel.is_some_and(|name| name.operation.is_some())
    }

    fn error(&self) -> Error {
        let mut error = self.error.clone();
        if let Cause::Absent { within, .. } = &mut error.cause {
            *within = Some(self.elapsed());
        }
        error
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error().fmt(f)
    }
}

/// The limit of waits for other ranks, and the wait in progress.
#[derive(Debug, Default)]
pub(crate) struct Patience(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    limit: Option<Duration>,
    waiting: Option<Waiting>,
    looked: Option<Instant>,
    /// The operations that have not ended.
    open: BTreeMap<(GroupId, u64), Open>,
    /// Memory for their names.
    names: Vec<(GroupId, u64)>,
    /// The lines of accesses to shared objects and spaces that wait.
    accesses: BTreeMap<String, Access>,
}

/// Accesses that wait.
#[derive(Debug)]
struct Access {
    since: Instant,
    is_reported: bool,
}

/// An operation that has not ended.
#[derive(Debug)]
struct Open {
    since: Instant,
    /// The last report of it.
    reported: Option<String>,
}

impl State {
    /// Updates which operations have not ended.
    fn update(&mut self, engine: &ProgressEngine, now: Instant) {
        let Self { open, names, .. } = self;
        // In their order.
        engine.operations.open_names(names);
        open.retain(|name, _| names.binary_search(name).is_ok());
        for name in names {
            open.entry(*name).or_insert(Open {
                since: now,
                reported: None,
            });
        }
    }
}

impl Patience {
    pub(crate) fn limit(&self, limit: Duration) {
        self.state().limit = Some(limit);
    }

    pub(crate) fn waiting(&self) -> Option<Waiting> {
        self.state().waiting.clone()
    }

    /// Checks, now and then, which ranks have not come; ends the channels if they have not within
    /// the limit.
    pub(crate) fn look(&self, engine: &ProgressEngine) {
        let ProgressEngine {
            exchange,
            operations,
            ..
        } = engine;
        let now = Instant::now();
        let mut state = self.state();
        let is_recent = |looked| now - looked < Duration::from_nanos(Pace::default().look) / 2;
        if state.looked.is_some_and(is_recent) {
            return;
        }
        state.looked = Some(now);
        state.update(engine, now);
        let absent = exchange.absent().or_else(|| operations.absent());
        let waited = state.waiting.take();
        state.waiting = absent.map(|error| Waiting {
            // The first ranks may have come since.
            since: match waited {
                Some(waited) if waited.error.channel == error.channel => waited.since,
                _ => now,
            },
            error,
        });
        let (limit, waiting) = (state.limit, state.waiting.clone());
        drop(state);
        if let (Some(limit), Some(waiting)) = (limit, waiting)
            && now - waiting.since >= limit
        {
            let mut error = waiting.error;
            if let Cause::Absent { within, .. } = &mut error.cause {
                *within = Some(limit);
            }
            exchange.fail(&error);
        }
    }

    /// Returns the calls that have not ended.
    pub(crate) fn open_calls(&self, engine: &ProgressEngine) -> Vec<OpenCall> {
        self.each_open(engine)
    }

    /// Returns a line for each call that has been open for `least`, unless it was reported with the
    /// same waits.
    pub(super) fn report(&self, engine: &ProgressEngine, least: Duration) -> Vec<String> {
        let all = self.each_open(engine);
        let changed = all.into_iter().filter(|call| {
            let text = Some(call.text());
            let (mut state, id) = (self.state(), call.id());
            let open = state.open.get_mut(&id);
            let open = open.filter(|open| call.elapsed() >= least && open.reported != text);
            open.map(|open| open.reported = text).is_some()
        });
        let calls = changed.map(|call| call.to_string());
        calls.chain(self.report_accesses(engine, least)).collect()
    }

    /// Returns a line for each object or space with accesses that have waited for `least`, unless
    /// it was reported.
    fn report_accesses(&self, engine: &ProgressEngine, least: Duration) -> Vec<String> {
        let accesses = engine.open_accesses();
        let lines: BTreeSet<_> = accesses.iter().map(ToString::to_string).collect();
        let (mut state, now) = (self.state(), Instant::now());
        let waiting = &mut state.accesses;
        waiting.retain(|line, _| lines.contains(line));
        for line in lines {
            waiting.entry(line).or_insert(Access {
                since: now,
                is_reported: false,
            });
        }
        let old = waiting.iter_mut().filter_map(|(line, access)| {
            let is_due = !access.is_reported && now - access.since >= least;
            access.is_reported |= is_due;
            is_due.then(|| line.clone())
        });
        old.collect()
    }

    fn each_open(&self, engine: &ProgressEngine) -> Vec<OpenCall> {
        let here = engine.exchange.here();
        let operations = engine.operations.open_operations();
        self.state().update(engine, Instant::now());
        let open = |operation: OpenOperation| {
            let name = operation.id;
            let since = self.state().open.get(&name)?.since;
            // Not under the lock: it takes those of the operation's receiver.
            OpenCall::new(here, operation, since)
        };
        operations.into_iter().filter_map(open).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // It is consistent between any two statements that change it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
