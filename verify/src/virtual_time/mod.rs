//! Shipped code in virtual time: on a machine that is not at hand, with as many hardware threads as
//! it has.
//!
//! # Algorithm
//! Each hardware thread is a task of shuttle. A scheduling point precedes every access through
//! `tautline_core::sync`, and the task whose clock is least continues; the access is reported to
//! [`Hardware`], which moves the clock to when it is done. So accesses are made in the order of
//! virtual time. What a thread computes between accesses takes no time but what it reports itself
//! ([`Port::work`]).
//!
//! A run is the same every time if no two allocations share a line or an interleaved piece of
//! memory, which the program's allocator has to provide (`verify/examples/cycles/aligned.rs`);
//! otherwise it depends on the addresses of objects.

mod port;
mod traffic;

pub use port::Port;
pub use traffic::{Line, Traffic};

use shuttle::current::{me, try_get_current_task};
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tautline_core::sync::{Access, watch};
use tautline_sim::memory::{Access as Kind, Hardware, Machine, Region};
use traffic::Counts;

/// A program to be run on a machine in virtual time.
#[derive(Clone, Debug)]
#[must_use]
pub struct Virtual {
    machine: Machine,
    everything: Option<Region>,
    placed: Vec<(Range<usize>, Region)>,
    patient: bool,
    stack_bytes: usize,
    steps: usize,
}

/// The cost of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Each thread's clock at its end, in cycles.
    pub cycles: Vec<u64>,
    /// The accesses that each thread has made.
    pub accesses: Vec<u64>,
    /// Their values when a thread requested them.
    pub traffic: Traffic,
}

impl Taken {
    /// The clock of the last thread, in cycles.
    pub fn last(&self) -> u64 {
        self.cycles.iter().copied().max().unwrap_or(0)
    }
}

impl Virtual {
    /// On this machine, all objects on the chip if that makes a difference.
    pub fn new(machine: Machine) -> Self {
        Self {
            machine,
            everything: None,
            placed: Vec::new(),
            patient: false,
            stack_bytes: 1 << 16,
            steps: 1 << 28,
        }
    }

    /// The location of all objects that are not placed.
    pub fn place_all(mut self, region: Region) -> Self {
        self.everything = Some(region);
        self
    }

    /// Places `object`, without the objects that it points to.
    pub fn place<T>(self, object: &T, region: Region) -> Self {
        self.place_slice(std::slice::from_ref(object), region)
    }

    /// Places these objects, without the objects that they point to.
    pub fn place_slice<T>(mut self, objects: &[T], region: Region) -> Self {
        let range = objects.as_ptr_range();
        self.placed
            .push((range.start.addr()..range.end.addr(), region));
        self
    }

    /// Waits are not simulated poll by poll: see [`Hardware::be_patient`] for the condition. Polls
    /// left out are not among the accesses.
    pub fn patient(mut self) -> Self {
        self.patient = true;
        self
    }

    /// The stack of a thread, in bytes. Provided: 65 536.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// A run that takes more scheduling points is a failure. Provided: 268 million.
    pub fn steps(mut self, most: usize) -> Self {
        self.steps = most;
        self
    }

    /// Runs `body` once on each of the machine's first `threads` threads, all at moment 0, to the
    /// end of them all.
    ///
    /// # Panics
    /// More threads than the machine has, a panic in `body`, threads that are all suspended, or too
    /// many steps.
    pub fn run(&self, threads: usize, body: impl Fn(&Port) + Send + Sync + 'static) -> Taken {
        let mut hardware = Hardware::new(self.machine, threads);
        if let Some(region) = self.everything {
            hardware.place_all(region);
        }
        for (range, region) in &self.placed {
            hardware.place(range.clone(), *region);
        }
        if self.patient {
            hardware.be_patient();
        }
        let hardware = Shared(Arc::new(Mutex::new(World {
            hardware,
            traffic: None,
        })));
        let mut config = Config::new();
        config.max_steps = MaxSteps::FailAfter(self.steps);
        config.stack_size = self.stack_bytes;
        config.failure_persistence = FailurePersistence::None;
        config.silence_warnings = true;
        let least = Least {
            hardware: hardware.clone(),
            begun: false,
        };
        let observed = hardware.clone();
        let watch = watch(move |address, access| observed.access(address, access));
        let (body, lent) = (Arc::new(body), hardware.clone());
        Runner::new(least, config).run(move || start(threads, &lent, &body));
        drop(watch);
        let mut world = hardware.lock();
        let traffic = world.traffic.take().unwrap_or_default().counted();
        let hardware = &world.hardware;
        Taken {
            traffic,
            cycles: (0..threads).map(|thread| hardware.now(thread)).collect(),
            accesses: (0..threads)
                .map(|thread| hardware.accesses(thread))
                .collect(),
        }
    }
}

fn start(threads: usize, hardware: &Shared, body: &Arc<impl Fn(&Port) + Send + Sync + 'static>) {
    let spawned: Vec<_> = (0..threads)
        .map(|thread| {
            let body = Arc::clone(body);
            let port = Port::new(hardware.clone());
            shuttle::thread::spawn(move || {
                assert_eq!(task_of(thread), me().into(), "tasks are numbered in order");
                body(&port);
            })
        })
        .collect();
    for thread in spawned {
        thread.join().expect("shuttle ends the run at a panic");
    }
}

/// The task that starts the others is the first.
fn task_of(thread: usize) -> usize {
    thread + 1
}

/// The machine, and the counter of its accesses.
#[derive(Debug)]
struct World {
    hardware: Hardware,
    traffic: Option<Counts>,
}

#[derive(Clone, Debug)]
struct Shared(Arc<Mutex<World>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, World> {
        // A panic in a task ends the run anyway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn access(&self, address: usize, access: Access) {
        // The task that starts the others is no thread of the machine, and outside a run there is
        // none.
        let task = try_get_current_task().map_or(0, usize::from);
        let Some(thread) = task.checked_sub(1) else {
            return;
        };
        let mut world = self.lock();
        if let Some(traffic) = &mut world.traffic {
            traffic.count(thread, address, access);
        }
        let hardware = &mut world.hardware;
        match access {
            Access::Load => hardware.access(thread, address, Kind::Load),
            Access::Store => hardware.access(thread, address, Kind::Store),
            Access::Update => hardware.access(thread, address, Kind::Update),
            Access::Fence => hardware.fence(thread),
        }
    }
}

/// The thread with the least clock runs next.
#[derive(Debug)]
struct Least {
    hardware: Shared,
    begun: bool,
}

impl Scheduler for Least {
    fn new_execution(&mut self) -> Option<Schedule> {
        let first = !std::mem::replace(&mut self.begun, true);
        first.then(|| Schedule::new(0))
    }

    fn next_task(&mut self, runnable: &[&Task], _: Option<TaskId>, _: bool) -> Option<TaskId> {
        let hardware = &self.hardware.lock().hardware;
        let due = |task: &&&Task| match usize::from(task.id()).checked_sub(1) {
            None => (false, 0),
            Some(thread) => (hardware.is_waiting(thread), hardware.now(thread)),
        };
        runnable.iter().min_by_key(due).map(|task| task.id())
    }

    fn next_u64(&mut self) -> u64 {
        0
    }
}
