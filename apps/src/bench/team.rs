//! Threads that pass a barrier repeatedly, and a clock.
#![forbid(unsafe_code)]

use super::Sample;
use std::fmt;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Instant;
use tautline::balance::Control;
use tautline_node::machine::pin;

/// Episodes that are not measured, one for this many that are.
const WARM_UP: u32 = 10;
/// Turns between two checks whether the measurement is stopped.
const CHUNK: u32 = 64;
/// Turns of the work between episodes, some ten microseconds, of which a chunk has about this many
/// at most.
const CHUNK_DELAY: u64 = 10_000;

/// One thread's handle of a barrier.
pub trait Episodes {
    /// Returns once all parties have called it once more.
    fn wait(&mut self);
}

/// A barrier with all its parties.
pub trait Barrier {
    /// The handle of one party.
    type Party<'a>: Episodes + Send
    where
        Self: 'a;

    /// Returns the handles of all parties, the first thread's first. Called once.
    fn parties(&self) -> Vec<Self::Party<'_>>;
}

/// A kind of barrier, with its name.
pub struct Kind {
    name: String,
    sample: Box<Measure>,
}

type Measure = dyn Fn(&Plan) -> io::Result<Sample>;

impl Kind {
    /// Creates the kind whose barriers `make` creates for a number of tasks.
    pub fn new<B: Barrier>(name: impl Into<String>, make: impl Fn(usize) -> B + 'static) -> Self {
        Self::placed(name, move |plan| make(plan.cpus.len()))
    }

    /// Creates the kind whose barriers `make` creates for the tasks of a plan.
    pub fn placed<B: Barrier>(
        name: impl Into<String>,
        make: impl Fn(&Plan) -> B + 'static,
    ) -> Self {
        Self::measured(name, move |plan| sample(&make(plan), plan))
    }

    /// Creates a kind that `sample` measures, given the plan.
    pub fn measured(
        name: impl Into<String>,
        sample: impl Fn(&Plan) -> io::Result<Sample> + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            sample: Box::new(sample),
        }
    }

    /// Returns its name in reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes one sample, with new threads and a new barrier.
    ///
    /// # Errors
    /// A thread that the system refused, or a program that printed no figure.
    ///
    /// # Panics
    /// If the barrier has another number of parties than requested.
    pub fn sample(&self, plan: &Plan) -> io::Result<Sample> {
        (self.sample)(plan)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kind").field(&self.name).finish()
    }
}

/// The parameters of one sample.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The processor of each task.
    pub cpus: Vec<usize>,
    /// Turns of the loop.
    pub iterations: u32,
    /// The work of each task between two episodes, as [`delay_turns`] counts it.
    pub delay: u64,
    /// Once it is stopped, the sample is cut off and must be discarded.
    pub stop: Arc<Control>,
}

impl Plan {
    /// Returns the number of turns between two checks of `stop`.
    fn chunk(&self) -> u32 {
        // At most `CHUNK`, so that the cast loses nothing.
        (CHUNK_DELAY / self.delay.max(1)).clamp(1, u64::from(CHUNK)) as u32
    }
}

/// Returns the number of turns of the work between episodes that take this many nanoseconds here.
pub fn delay_turns(ns: u64) -> u64 {
    const TURNS: u64 = 1_000_000;
    let start = Instant::now();
    delay(TURNS);
    let turn_ns = start.elapsed().as_nanos() as f64 / TURNS as f64;
    (ns as f64 / turn_ns.max(1e-3)).round() as u64
}

/// Work that compilers do not remove and that touches no memory.
#[inline(always)]
pub(super) fn delay(turns: u64) {
    let mut state = turns;
    for _ in 0..turns {
        state = black_box(state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
    }
}

/// Runs up to `turns` turns, in chunks while `goes_on` returns true, given the number of turns so
/// far and that of the next chunk. Returns the nanoseconds of a turn; not a number without a turn.
#[inline(always)]
fn timed(
    plan: &Plan,
    turns: u32,
    goes_on: impl Fn(u32, u32) -> bool,
    mut episode: impl FnMut(),
) -> (f64, u32) {
    let (chunk, mut done) = (plan.chunk(), 0);
    let start = Instant::now();
    while done < turns {
        let next = chunk.min(turns - done);
        if !goes_on(done, next) {
            break;
        }
        for turn in 0..next {
            black_box(turn);
            delay(plan.delay);
            episode();
        }
        done += next;
    }
    (start.elapsed().as_nanos() as f64 / f64::from(done), done)
}

/// The episodes of a sample. All parties end after the same one, else the others would wait for
/// ever: the first party decides before a chunk that it is the last, and the others know once they
/// have passed its first episode.
struct Episode<'a> {
    plan: &'a Plan,
    /// The number of episodes of all.
    end: AtomicU32,
}

impl Episode<'_> {
    /// Whether there is a chunk of `next` episodes after the first `done`.
    #[inline(always)]
    fn goes_on(&self, is_first: bool, done: u32, next: u32) -> bool {
        // ORDERING: Relaxed: the first party stores before it arrives at an episode, and the others
        // load after they have passed it, which the barrier orders; a value that is seen earlier
        // ends none of the chunks before.
        if done >= self.end.load(Ordering::Relaxed) {
            return false;
        }
        if is_first && self.plan.stop.is_stopped() {
            // The chunk that has begun is the last: an earlier end would have ended it above.
            // ORDERING: Relaxed: as above; only the first party stores.
            self.end.store(done + next, Ordering::Relaxed);
        }
        true
    }
}

/// A latch at which threads wait until all have started, or one failed to.
#[derive(Default)]
pub(super) struct Gate {
    open: Mutex<Option<bool>>,
    changed: Condvar,
}

impl Gate {
    /// Releases all threads, with whether all have started.
    pub(super) fn open(&self, complete: bool) {
        *self.open.lock().expect("held only to store") = Some(complete);
        self.changed.notify_all();
    }

    /// Waits; returns false if a thread is missing.
    pub(super) fn pass(&self) -> bool {
        let mut open = self.open.lock().expect("held only to store");
        loop {
            match *open {
                Some(complete) => return complete,
                None => open = self.changed.wait(open).expect("held only to store"),
            }
        }
    }
}

/// Runs each of `bodies` on a new thread, all or none, and returns their results in order.
pub(super) fn together<R: Send>(bodies: Vec<impl FnOnce() -> R + Send>) -> io::Result<Vec<R>> {
    let gate = Gate::default();
    thread::scope(|scope| {
        let gate = &gate;
        let start = |body| {
            let passed = move || gate.pass().then(body);
            thread::Builder::new().spawn_scoped(scope, passed)
        };
        let threads: io::Result<Vec<_>> = bodies.into_iter().map(start).collect();
        gate.open(threads.is_ok());
        let ended = threads?.into_iter().map(|thread| {
            let result = thread.join().expect("the panic message is its own");
            result.expect("all are there")
        });
        Ok(ended.collect())
    })
}

fn sample<B: Barrier>(barrier: &B, plan: &Plan) -> io::Result<Sample> {
    let parties = barrier.parties();
    assert_eq!(parties.len(), plan.cpus.len(), "a party for each task");
    let episodes = &Episode {
        plan,
        end: AtomicU32::new(u32::MAX),
    };
    let bodies = parties.into_iter().zip(&plan.cpus).enumerate();
    let bodies = bodies.map(|(at, (party, &cpu))| move || attend(party, cpu, episodes, at == 0));
    Ok(merged(together(bodies.collect())?))
}

/// Returns the first thread's sample with the losses of all.
pub(super) fn merged(all: Vec<Sample>) -> Sample {
    let merge = |mut whole: Sample, other: Sample| {
        whole.pinned &= other.pinned;
        whole.lost += other.lost;
        whole
    };
    all.into_iter().reduce(merge).expect("a thread")
}

/// One thread's part, and its measurement of the time.
fn attend(mut party: impl Episodes, cpu: usize, episodes: &Episode<'_>, is_first: bool) -> Sample {
    let (pinned, plan) = (pin(cpu), episodes.plan);
    let warm_up = plan.iterations / WARM_UP + 1;
    let before = |done, next| episodes.goes_on(is_first, done, next);
    let (_, passed) = timed(plan, warm_up, before, || party.wait());
    let watch = super::watch::Own::start();
    let (alone, _) = timed(plan, plan.iterations, |_, _| !plan.stop.is_stopped(), || ());
    party.wait();
    let then = |done, next| episodes.goes_on(is_first, passed + done, next);
    let (together, _) = timed(plan, plan.iterations, then, || party.wait());
    Sample {
        ns: together - alone,
        pinned,
        lost: watch.taken(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{kinds, phasers};
    use super::*;
    use tautline::balance::Reason;

    /// All parties end after the same episode, whenever the first one notices: else the others wait
    /// for ever.
    #[test]
    fn a_sample_that_is_stopped_ends() {
        for delay in [0, 1, CHUNK_DELAY] {
            for kind in kinds(&[2]).iter().chain(&phasers(&[4])) {
                let plan = Plan {
                    cpus: vec![0; 3],
                    // Hours.
                    iterations: 1_000_000_000,
                    delay,
                    stop: Arc::default(),
                };
                thread::scope(|scope| {
                    // At any moment of the sample: before it, in the warm-up, or later.
                    scope.spawn(|| plan.stop.stop(Reason::Interrupted));
                    kind.sample(&plan).expect("three threads");
                });
            }
        }
    }
}
