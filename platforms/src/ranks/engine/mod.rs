//! The progress engine of a rank: what a world and its communicators run on.
//!
//! | part | what it is |
//! |---|---|
//! | `endpoint` | the communication worker of a communicator |
//! | `progress` | the choice of the threads that communicate, and the end of a rank |
//! | `waiting` | the limit of a wait for ranks that do not make the same call |
//! | `open` | the calls that have not ended, for reports |
//! | `handle` | uses of an engine that end with its world |
//! | `inside` | whether a thread runs code of the program within a turn |
//! | `outgoing` | a channel as its receiver sends on it |
//! | `owned` | values that a child of `fork` must not use |
#![forbid(unsafe_code)]

mod endpoint;
mod error;
mod handle;
mod inside;
mod open;
mod outgoing;
mod owned;
pub(crate) mod progress;
mod waiting;

pub(crate) use endpoint::Endpoint;
pub use error::Error;
pub(crate) use handle::Handle;
pub(crate) use inside::{Changing, assert_may_block, assert_no_change, inside, is_inside};
pub(crate) use open::Objects;
pub use open::{OpenAccess, OpenCall};
pub(crate) use outgoing::Outgoing;
pub(crate) use owned::RankOwned;
pub use waiting::Waiting;

use super::statistics::{FinishCounts, Statistics};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};
use std::thread::Thread;
use std::time::{Duration, Instant};
use tautline_core::comm::{CommId, PacketLink};
use tautline_core::port::Link;
use tautline_core::progress::{Pace, Pending, Progress as Turns};
use tautline_core::service::{Calls, Operations};
use tautline_core::wire::{Exchange, Limits};
use tautline_node::SpinThenYield;
use waiting::Patience;

/// For how long a thread polls by itself over a link with packets, MPI's, whose bell cannot wake:
/// the progress thread would poll as long.
const POLLING_PACKETS: Duration = Duration::from_micros(320);

/// Bytes of a message of a communicator besides its body, at most.
const FRAME: usize = 64;

/// The only communicator of a channel.
pub(crate) const COMM: CommId = CommId(0);

/// A link whose type is forgotten, so that a program is compiled once for all of them.
pub(crate) type AnyLink = Box<dyn Link + Send>;

/// The progress engine of a rank: its channels, the operations and communication workers that use
/// them, and the choice of the thread that drives them. Shared by the world, its progress thread,
/// and all that the world has made.
pub(crate) struct ProgressEngine {
    pub(crate) exchange: RankOwned<Exchange<AnyLink>>,
    pub(crate) operations: Arc<Operations>,
    /// The number of groups that this rank has named.
    pub(crate) groups: AtomicU32,
    /// The operations of the world itself.
    pub(crate) calls: Calls,
    /// The way of packets of communicators, if the link has one besides its parcels.
    pub(crate) packets: Option<Arc<dyn PacketLink>>,
    /// The threads that communicate.
    pub(crate) progress: Arc<Turns>,
    /// The most bytes of a message.
    pub(crate) body: usize,
    /// Whether a progress thread communicates while no other thread does.
    is_driven: bool,
    /// Shared, so that none is locked while a communication worker completes what a task waits for.
    endpoints: RankOwned<RwLock<Arc<[Arc<Endpoint>]>>>,
    /// The sets of shared objects, and the spaces.
    objects: RankOwned<Mutex<Vec<Weak<dyn Objects>>>>,
    /// The progress thread.
    pub(crate) carrier: OnceLock<Thread>,
    /// The origin of the clock.
    pub(crate) origin: Instant,
    /// The clock of rank 0 less that of this process, and the error of that, in nanoseconds, once
    /// they were compared.
    pub(crate) behind: OnceLock<(i64, u64)>,
    /// The counts of the finishes that have ended.
    pub(super) finishes: Mutex<FinishCounts>,
    /// Shared by the phases that this rank's threads have left: the end of the rank waits for them
    /// without limit, as the threads of other ranks may compute for any time.
    departures: Arc<()>,
    /// Full if it tolerates the loss of ranks.
    pub(crate) tolerates_losses: OnceLock<()>,
    pub(crate) patience: RankOwned<Patience>,
}

/// Phases that the threads of this rank have left, and those of others have not.
pub(crate) struct Departure {
    _pending: Pending,
    _departures: Arc<()>,
}

impl ProgressEngine {
    /// Adds a set of shared objects, or a space.
    pub(crate) fn add_objects(&self, objects: Weak<dyn Objects>) {
        let mut all = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|objects| objects.strong_count() > 0);
        all.push(objects);
    }

    /// Returns the accesses to shared objects and spaces that wait for other ranks.
    pub(crate) fn open_accesses(&self) -> Vec<OpenAccess> {
        let all = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let sets: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
        drop(all);
        sets.iter()
            .flat_map(|objects| objects.open_accesses())
            .collect()
    }

    pub(crate) fn new(
        limits: Limits,
        link: AnyLink,
        packets: Option<Arc<dyn PacketLink>>,
        is_driven: bool,
    ) -> Arc<Self> {
        let mut pace = Pace::default();
        if packets.is_some() {
            pace.polling = POLLING_PACKETS.as_nanos() as u64;
        }
        let progress = Arc::new(Turns::new(link.bell(), pace));
        let exchange = Exchange::within(limits, link, SpinThenYield::default());
        let operations = Operations::open(&exchange, SpinThenYield::default());
        Arc::new(Self {
            packets,
            progress,
            calls: operations.all(),
            operations,
            groups: AtomicU32::new(0),
            body: limits.body.saturating_sub(FRAME),
            is_driven,
            endpoints: RankOwned::new(RwLock::new(Arc::default())),
            objects: RankOwned::new(Mutex::default()),
            carrier: OnceLock::new(),
            origin: Instant::now(),
            exchange: RankOwned::new(exchange),
            behind: OnceLock::new(),
            finishes: Mutex::default(),
            departures: Arc::new(()),
            tolerates_losses: OnceLock::new(),
            patience: RankOwned::new(Patience::default()),
        })
    }

    /// Panics in the child of `fork`, where what it awaits does not happen.
    pub(crate) fn assert_rank(&self) {
        _ = self.exchange.here();
    }

    /// Adds the counts of a finish that has ended here.
    pub(super) fn finished(&self, counts: FinishCounts) {
        let finishes = self.finishes.lock();
        finishes.unwrap_or_else(PoisonError::into_inner).add(counts);
    }

    /// Returns the counts of this rank.
    pub(super) fn statistics(&self) -> Statistics {
        let parcels = self.exchange.parcels();
        let finishes = *self.finishes.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = Statistics::of(self.operations.counts(), finishes);
        Statistics { parcels, ..counts }
    }

    /// Enters the communication worker of a communicator.
    pub(crate) fn add_endpoint(&self, endpoint: Arc<Endpoint>) {
        let endpoints = self.endpoints.write();
        // It is consistent between any two statements that change it.
        let mut endpoints = endpoints.unwrap_or_else(PoisonError::into_inner);
        let all = endpoints.iter().cloned().chain([endpoint]);
        *endpoints = all.collect();
    }

    fn endpoints(&self) -> Arc<[Arc<Endpoint>]> {
        let endpoints = self.endpoints.read();
        endpoints.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets the communication worker of `endpoint` start what was submitted.
    pub(crate) fn start(&self, endpoint: &Endpoint) {
        if self.progress.delegate() {
            return;
        }
        inside(|| {
            if endpoint.step() {
                // If the channels have ended, the next step ends what was submitted.
                if self.packets.is_none() && self.exchange.turn().is_err() {
                    endpoint.step();
                }
            }
        });
        self.drive_alone();
    }

    /// Does all that there is to do, if no thread will: at the only rank.
    pub(crate) fn drive_alone(&self) {
        if !self.is_driven {
            while self.progress.turn(self) {}
            if is_inside() {
                return;
            }
            inside(|| self.end_given_up());
            if self.progress.ends() {
                self.end();
            }
        }
    }

    /// Makes the end of this rank wait, without limit, until the result is dropped.
    pub(crate) fn depart(&self) -> Departure {
        Departure {
            _pending: Pending::new(&self.progress),
            _departures: Arc::clone(&self.departures),
        }
    }

    fn has_departures(&self) -> bool {
        Arc::strong_count(&self.departures) > 1
    }

    /// Whether a message or another rank may end an operation of this one.
    fn is_awaiting(&self) -> bool {
        let endpoints = self.endpoints();
        self.progress.is_pending()
            || endpoints.iter().any(|endpoint| endpoint.is_awaiting())
            || !self.open_accesses().is_empty()
    }
}
