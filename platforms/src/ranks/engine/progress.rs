//! The threads that communicate.
#![forbid(unsafe_code)]

use super::{AnyLink, Handle, ProgressEngine, inside, is_inside};
use std::hint;
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::port::{Clock, Relax};
use tautline_core::progress::{Driver, Pace};
use tautline_core::wire::{Cause, Error, Exchange};

/// The longest time without progress while a rank sends what waits when its program ends.
const GOODBYE: Duration = Duration::from_secs(10);

/// The interval at which the receivers of channels check for events here: a request that a worker
/// has not served for two such times is served for it, so this is long for a grain.
const NUDGE: Duration = Duration::from_millis(2);

/// The threads of a rank that send and receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgressMode {
    /// Threads that wait for a message and idle workers of a runtime [with this
    /// world](crate::plan::Builder::world); if there are none, the progress thread, which sleeps
    /// while nothing moves.
    #[default]
    Cooperative,
    /// The progress thread alone, which polls without sleep: for a processor that nothing else
    /// uses.
    Dedicated,
}

impl Clock for ProgressEngine {
    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
}

impl Relax for ProgressEngine {
    fn relax(&self, _: u32) {
        hint::spin_loop();
    }

    fn yield_now(&self, _: u32) {
        thread::yield_now();
    }
}

impl Driver for ProgressEngine {
    fn exchange(&self) -> bool {
        self.exchange.turn() == Ok(true)
    }

    fn step(&self) -> bool {
        let endpoints = self.endpoints();
        let steps = endpoints.iter().filter(|endpoint| endpoint.step());
        steps.count() > 0
    }

    fn flush(&self) {
        if self.packets.is_none() {
            // Its errors reach those that wait.
            _ = self.exchange.turn();
        }
    }

    fn wait(&self, ticks: u64) -> Option<bool> {
        self.exchange.wait(ticks).ok()
    }

    fn park(&self, ticks: u64) {
        thread::park_timeout(Duration::from_nanos(ticks));
    }

    fn unpark(&self) {
        if let Some(carrier) = self.carrier.get() {
            carrier.unpark();
        }
    }

    /// Runs `turn`. If decoding panics, the channels end, with an error for the receivers.
    fn contain<R>(&self, turn: impl FnOnce() -> R) -> Option<R> {
        inside(turn)
    }
}

impl ProgressEngine {
    /// Ends all channels, at all ranks, as code of the program has panicked in a turn. In a nested
    /// one, the calling thread may hold the link, whose lock is not reentrant: they end as soon as
    /// a thread takes notice that is in no turn.
    pub(crate) fn give_up(&self) {
        self.progress.give_up();
        if !is_inside() {
            inside(|| self.end_given_up());
        }
    }

    /// Ends all channels if a turn has panicked. The calling thread holds no lock of the world.
    pub(super) fn end_given_up(&self) {
        if self.progress.take_given_up() {
            self.exchange.fail(&panicked(&self.exchange));
        }
    }

    /// Ends what has not ended, as the world was dropped.
    pub(super) fn end(&self) {
        for endpoint in self.endpoints().iter() {
            endpoint.close(self.exchange.here());
        }
        self.exchange.fail(&dropped(&self.exchange));
    }
}

/// Sends and receives until the world ends, and leaves. A panic ends all channels, at all ranks,
/// and nothing else: the operations end with an error, and later ones, too.
pub(crate) fn carry(engine: &ProgressEngine, handle: &Handle) {
    _ = engine.carrier.set(thread::current());
    while inside(|| drive(engine)).is_none() {
        engine.give_up();
        // If the next turn panics, too, it is not repeated at once.
        engine.park(Pace::default().look);
    }
    end(engine, handle);
}

/// Leaves, and ends what has not ended.
pub(crate) fn end(engine: &ProgressEngine, handle: &Handle) {
    handle.end();
    inside(|| leave(engine));
    // The locks of `end` order it: a thread whose channel or endpoint `end` does not find observes
    // it, and takes turns.
    engine.progress.dedicate(false, engine);
    inside(|| engine.end());
}

/// Sends and receives until the world ends.
fn drive(engine: &ProgressEngine) {
    let mut nudged = Instant::now();
    engine.progress.run(engine, || {
        engine.end_given_up();
        if nudged.elapsed() >= NUDGE {
            nudged = Instant::now();
            engine.exchange.nudge();
        }
        engine.patience.look(engine);
    });
}

/// Sends what waits, and notifies the other ranks that this one ends.
fn leave(engine: &ProgressEngine) {
    let exchange = &engine.exchange;
    let has_panicked = engine.progress.has_panicked();
    if has_panicked {
        let since = Instant::now();
        while engine.progress.turn(engine) && since.elapsed() < GOODBYE {}
    } else {
        send_all(engine);
    }
    for endpoint in engine.endpoints().iter() {
        endpoint.leave(exchange.here(), exchange.ranks());
    }
    engine.operations.leave();
    let mut since = Instant::now();
    while !engine.operations.is_sent() && since.elapsed() < GOODBYE {
        match exchange.turn() {
            Ok(true) => since = Instant::now(),
            _ => thread::yield_now(),
        }
    }
    if has_panicked {
        end_calls(exchange);
    }
    let mut since = Instant::now();
    let has_left = || exchange.leave().unwrap_or(true) && exchange.is_sent();
    while !has_left() && since.elapsed() < GOODBYE {
        match exchange.turn() {
            Ok(true) => since = Instant::now(),
            _ => thread::yield_now(),
        }
    }
}

/// Ends receives, and waits until what was sent has arrived, or its receiver's program has ended;
/// and until collective operations have ended: other ranks may need this one, whose part has just
/// begun. Those that a rank does not join end when it leaves. If a rank neither joins nor leaves,
/// all channels end, at all ranks: it may come later, and would wait for this one. Phases that the
/// threads of this rank have left are exempt: those of other ranks may compute for any time, and
/// the end of a rank ends the phases.
fn send_all(engine: &ProgressEngine) {
    let endpoints = engine.endpoints();
    endpoints
        .iter()
        .for_each(|endpoint| endpoint.end_receives());
    let mut since = Instant::now();
    let progress = &engine.progress;
    // Messages of an operation that has ended are in its outbox, or held back for it.
    let is_busy = || progress.is_pending() || endpoints.iter().any(|e| !e.has_ended());
    while is_busy() {
        if engine.has_departures() {
            since = Instant::now();
        } else if since.elapsed() >= GOODBYE {
            break;
        }
        engine.end_given_up();
        // Ranks that wait in other calls, or have left without one, are noticed by it.
        engine.exchange.nudge();
        if progress.await_bell(engine) {
            since = Instant::now();
        }
    }
    if progress.is_pending() {
        engine.exchange.fail(&dropped(&engine.exchange));
    }
}

/// Returns the error of a rank whose program panics.
fn panicked(exchange: &Exchange<AnyLink>) -> Error {
    of_this_rank(exchange, Cause::Panicked)
}

/// Returns the error of what waits when the world has been dropped.
fn dropped(exchange: &Exchange<AnyLink>) -> Error {
    let doing = "waiting, as its world was dropped";
    of_this_rank(exchange, Cause::Lost { doing })
}

pub(crate) fn of_this_rank(exchange: &Exchange<AnyLink>, cause: Cause) -> Error {
    let here = exchange.here();
    Error {
        here,
        peer: here,
        channel: None,
        cause,
    }
}

/// Sends what can be sent without waiting for other ranks, then ends their calls, as the program
/// has panicked here.
fn end_calls(exchange: &Exchange<AnyLink>) {
    let since = Instant::now();
    let mut moved = exchange.turn();
    while moved == Ok(true) && since.elapsed() < GOODBYE {
        moved = exchange.turn();
    }
    // Channels that have ended before keep their first error.
    if moved.is_ok() {
        exchange.fail(&panicked(exchange));
    }
}
