//! Which threads communicate.
#![forbid(unsafe_code)]

use super::{AnyLink, LOOK_NS, Lent, Shared, World, inside, is_inside};
use std::hint;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::wire::{Cause, Error, Exchange};

/// For how long the progress thread leaves its work to other threads before it looks whether they still do it.
const TAKE_OVER: Duration = Duration::from_micros(200);

/// The longest time without progress while a rank sends what waits when its program ends.
const GOODBYE: Duration = Duration::from_secs(10);

/// How often the receivers of channels look what has happened here: a request that a worker has not served for two such times is served
/// for it, so this is long for a grain.
const NUDGE: Duration = Duration::from_millis(2);

/// Polls of a dedicated thread between two looks at what else it has to do.
const POLLS: u32 = 1024;

/// Which threads of a rank send and receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// Threads that wait for a message and idle workers of a runtime [with this world](crate::plan::Builder::world); if there are
    /// none, the progress thread, which sleeps while nothing moves.
    #[default]
    Cooperative,
    /// The progress thread alone, which polls without sleep: for a processor that nothing else uses.
    Dedicated,
}

impl World {
    /// Selects which threads of this rank communicate, from now on. Balanced computations of this rank are not affected: their workers
    /// communicate while they compute.
    ///
    /// ```
    /// use tautline::comm::Tag;
    /// use tautline::world::{self, Progress, Rank};
    ///
    /// let received = world::loopback(2, |world| {
    ///     world.progress(Progress::Dedicated);
    ///     let (comm, other) = (world.comm(), Rank(1 - world.rank().0));
    ///     comm.send(&world.rank().0, other, Tag(1))?;
    ///     comm.recv::<u32>(other, Tag(1)).map(|received| received.value)
    /// });
    /// assert_eq!(received.into_iter().collect::<Result<Vec<_>, _>>()?, [1, 0]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn progress(&self, progress: Progress) {
        let is_dedicated = progress == Progress::Dedicated && self.thread.is_some();
        // ORDERING: Relaxed: a setting: threads that miss it communicate meanwhile.
        self.shared
            .is_dedicated
            .store(is_dedicated, Ordering::Relaxed);
        self.shared.hand_over();
        self.exchange().wake();
    }
}

impl Shared {
    /// Whether only the progress thread communicates.
    pub(crate) fn is_dedicated(&self) -> bool {
        // ORDERING: Relaxed: as in progress.
        self.is_dedicated.load(Ordering::Relaxed)
    }

    /// Communicates for a while, as the dedicated thread.
    pub(super) fn poll(&self) {
        for _ in 0..POLLS {
            if !self.turn() {
                hint::spin_loop();
            }
        }
        // Other threads may have to run on this processor.
        thread::yield_now();
    }

    /// Ends all channels, at all ranks, as code of the program has panicked in a turn. In a nested
    /// one, the calling thread may hold the link, whose lock is not reentrant: they end as soon as
    /// a thread takes notice that is in no turn.
    pub(crate) fn give_up(&self) {
        // ORDERING: Relaxed: the flag publishes nothing.
        self.gives_up.store(true, Ordering::Relaxed);
        if is_inside() {
            self.exchange.wake();
        } else {
            inside(|| self.end_given_up());
        }
    }

    /// Ends all channels if a turn has panicked. The calling thread holds no lock of the world.
    pub(super) fn end_given_up(&self) {
        // ORDERING: Relaxed: as in give_up.
        if self.gives_up.swap(false, Ordering::Relaxed) {
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

/// Sends and receives until the world ends, and leaves. A panic ends all channels, at all ranks, and nothing else: the operations end with
/// an error, and later ones, too.
pub(super) fn carry(shared: &Shared, lent: &Lent) {
    _ = shared.carrier.set(thread::current());
    while inside(|| drive(shared)).is_none() {
        shared.give_up();
        // If the next look panics, too, it is not repeated at once.
        thread::park_timeout(Duration::from_nanos(LOOK_NS));
    }
    end(shared, lent);
}

/// Leaves, and ends what has not ended.
pub(super) fn end(shared: &Shared, lent: &Lent) {
    lent.end();
    inside(|| leave(shared));
    // ORDERING: Relaxed: the locks of `end` order it: a thread whose channel or endpoint `end` does
    // not find observes it, and takes turns.
    shared.is_dedicated.store(false, Ordering::Relaxed);
    inside(|| shared.end());
}

/// Sends and receives until the world ends.
fn drive(shared: &Shared) {
    let Shared {
        exchange,
        ends,
        patience,
        ..
    } = shared;
    let (mut seen, mut nudged) = (0, Instant::now());
    // ORDERING: Acquire, pairs with Release in drop; no mutant: as there.
    while !ends.load(Ordering::Acquire) {
        // ORDERING: Relaxed: a hint that other threads communicate.
        let looks = shared.looks.load(Ordering::Relaxed);
        // ORDERING: Acquire, pairs with Release in hand_over; no mutant: as there.
        let is_handed_over = shared.is_handed_over.swap(false, Ordering::Acquire);
        let is_left = looks != seen && !is_handed_over;
        seen = looks;
        shared.end_given_up();
        if shared.is_dedicated() {
            shared.poll();
        } else if is_left {
            shared.notifier.leave();
            thread::park_timeout(TAKE_OVER);
        } else {
            look(shared);
        }
        if nudged.elapsed() >= NUDGE {
            nudged = Instant::now();
            exchange.nudge();
        }
        patience.look(shared);
    }
}

/// Sends what waits, and notifies the other ranks that this one ends.
fn leave(shared: &Shared) {
    let exchange = &shared.exchange;
    // ORDERING: Relaxed: the Acquire in drive makes the store visible.
    let has_panicked = shared.panicked.load(Ordering::Relaxed);
    if has_panicked {
        let since = Instant::now();
        while shared.turn() && since.elapsed() < GOODBYE {}
    } else {
        send_all(shared);
    }
    for endpoint in shared.endpoints().iter() {
        endpoint.leave(exchange.here(), exchange.ranks());
    }
    shared.operations.leave();
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
/// all channels end, at all ranks: it may come later, and would wait for this one.
fn send_all(shared: &Shared) {
    let endpoints = shared.endpoints();
    endpoints
        .iter()
        .for_each(|endpoint| endpoint.end_receives());
    let mut since = Instant::now();
    // ORDERING: Acquire, pairs with Release in Pending::drop: what an operation has sent is in its
    // outbox; no mutant: loom builds core alone.
    let is_pending = || shared.pending.load(Ordering::Acquire) > 0;
    let is_busy = || is_pending() || endpoints.iter().any(|endpoint| !endpoint.has_ended());
    while is_busy() && since.elapsed() < GOODBYE {
        shared.end_given_up();
        if look(shared) {
            since = Instant::now();
        }
    }
    if is_pending() {
        shared.exchange.fail(&dropped(&shared.exchange));
    }
}

/// Waits, as the progress thread, and does what there is to do. Returns whether anything moved.
fn look(shared: &Shared) -> bool {
    let mut moved = false;
    let mut step = || {
        while shared.step() {
            shared.send_packets();
            moved = true;
        }
    };
    shared.notifier.take_over();
    step();
    let waited = shared.exchange.wait(LOOK_NS);
    step();
    if waited.is_err() {
        // It has reached the receivers of all channels; those opened from now on get it at the next look.
        thread::park_timeout(Duration::from_nanos(LOOK_NS));
    }
    moved || waited == Ok(true)
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

fn of_this_rank(exchange: &Exchange<AnyLink>, cause: Cause) -> Error {
    let here = exchange.here();
    Error {
        here,
        peer: here,
        channel: None,
        cause,
    }
}

/// Sends what can be sent without waiting for other ranks, then ends their calls, as the program has panicked here.
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
