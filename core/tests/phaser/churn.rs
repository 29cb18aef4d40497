//! Tasks that are registered and deregistered while phases pass, on real threads: no task leaves a
//! phase that another one owes.

use super::lines::Lines;
use super::ports::{Port, Random, Way, Yield, config, tasks};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::task::{Context, Wake, Waker};
use std::thread::{self, Scope};
use tautline_core::phaser::Mode::{Signal, SignalWait, SignalWaitSingle, Wait};
use tautline_core::phaser::{Census, Mode, Registration};

/// The entry of a task that owes nothing.
const NOTHING: usize = usize::MAX;

/// For every task ever registered: a lower bound of the phases signalled, written before the
/// signal.
struct Table {
    signalled: Vec<AtomicUsize>,
    given: AtomicUsize,
}

impl Table {
    fn new(len: usize) -> Self {
        Self {
            signalled: (0..len).map(|_| AtomicUsize::new(NOTHING)).collect(),
            given: AtomicUsize::new(0),
        }
    }

    /// Returns an unused entry, if there is one.
    fn give(&self) -> Option<usize> {
        let id = self.given.fetch_add(1, SeqCst);
        (id < self.signalled.len()).then_some(id)
    }

    /// Records that the task owes `signalled` next.
    fn set<P: Port>(&self, id: usize, task: &Registration<P>, signalled: usize) {
        let signalled = if task.mode().signals() {
            signalled
        } else {
            NOTHING
        };
        self.signalled[id].store(signalled, SeqCst);
    }

    /// Asserts that all tasks have signalled the phases below `phase`.
    fn check(&self, phase: usize) {
        let given = self.given.load(SeqCst).min(self.signalled.len());
        for (id, signalled) in self.signalled[..given].iter().enumerate() {
            let signalled = signalled.load(SeqCst);
            assert!(
                signalled >= phase,
                "task {id} has signalled {signalled} phases, and {phase} have ended"
            );
        }
    }
}

/// The state of a run.
#[derive(Clone, Copy)]
struct Run<'a> {
    table: &'a Table,
    ways: &'a [Way],
    modes: &'a [Mode],
    phases: u64,
}

/// Runs a task: some phases, in which it registers others, signals early, and waits in various
/// ways.
fn live<'s, P: Port>(
    s: &'s Scope<'s, '_>,
    run: Run<'s>,
    id: usize,
    mut task: Registration<P>,
    mut waited: usize,
    mut random: Random,
) {
    for _ in 0..1 + random.below(run.phases) {
        if random.below(4) == 0 {
            announce(run.table, id, &task, waited);
            task.signal().unwrap();
        }
        while random.below(3) == 0 && beget(s, run, &mut task, waited, &mut random) {}
        if random.below(20) == 0 {
            break;
        }
        announce(run.table, id, &task, waited);
        random.one_of(run.ways).next(&mut task);
        waited += 1;
        if task.mode().waits() {
            run.table.check(waited);
        }
    }
    run.table.signalled[id].store(NOTHING, SeqCst);
}

/// Announces that the phase after `waited` is about to be signalled.
fn announce<P: Port>(table: &Table, id: usize, task: &Registration<P>, waited: usize) {
    let signalled = match task.mode() {
        Signal => task.signalled().0 + 1,
        _ => waited + 1,
    };
    table.set(id, task, signalled);
}

/// Registers a task, if an entry is left.
fn beget<'s, P: Port>(
    s: &'s Scope<'s, '_>,
    run: Run<'s>,
    task: &mut Registration<P>,
    waited: usize,
    random: &mut Random,
) -> bool {
    let mode = random.one_of(run.modes);
    if !task.mode().allows(mode) {
        return false;
    }
    let Some(id) = run.table.give() else {
        return false;
    };
    let child = task.register(mode).unwrap();
    run.table.set(id, &child, child.signalled().0);
    let random = Random(1 + random.below(u64::MAX));
    if random.0 % 8 > 0 {
        s.spawn(move || live(s, run, id, child, waited, random));
    } else {
        // The task deregisters before it first runs.
        run.table.signalled[id].store(NOTHING, SeqCst);
    }
    true
}

/// The parameters of a program.
#[derive(Clone, Copy)]
struct Program<'a> {
    degree: usize,
    help_after: u32,
    ways: &'a [Way],
    modes: &'a [Mode],
    /// The maximum number of tasks.
    tasks: usize,
    /// The maximum number of phases of a task.
    phases: u64,
}

fn churn<P: Port>(port: P, program: Program<'_>, seed: u64) -> Census {
    let table = Table::new(program.tasks);
    let run = Run {
        table: &table,
        ways: program.ways,
        modes: program.modes,
        phases: program.phases,
    };
    let config = config(program.degree, program.help_after);
    let first = Registration::create(port, program.modes[0], config).unwrap();
    let phaser = first.phaser();
    thread::scope(|s| {
        let id = table.give().unwrap();
        table.set(id, &first, 0);
        live(s, run, id, first, 0, Random(seed));
    });
    phaser.census()
}

/// Fact 43: phase order and liveness under registration, growth, drops and early signals, in all
/// ways to wait.
#[test]
fn no_task_leaves_a_phase_that_another_owes() {
    let mut random = Random(0x7a07_11e5);
    let kinds: [&[Mode]; 3] = [
        &[SignalWait],
        &[SignalWaitSingle, SignalWait, SignalWait, Signal, Wait],
        &[SignalWait, SignalWait, Signal],
    ];
    let (blocking, parked, awaited) = ([Way::Blocking], [Way::Parked], [Way::Awaited]);
    let mut lively = 0;
    for help_after in [0, 30, 1000] {
        for degree in [2, 3, 8] {
            for ways in [&Way::ALL[..], &blocking, &parked, &awaited] {
                for modes in kinds {
                    let program = Program {
                        degree,
                        help_after,
                        ways,
                        modes,
                        tasks: 150,
                        phases: 30,
                    };
                    let census = churn(Yield, program, 1 + random.below(u64::MAX));
                    lively += usize::from(census.phases > 10);
                }
            }
        }
    }
    assert!(
        lively > 40,
        "{lively} of 108 programs had more than a few phases"
    );
}

/// Facts 43 and 50: the same where barrier lines carry phases when possible. Tasks stay on their
/// threads.
#[test]
fn no_task_leaves_a_phase_that_another_owes_on_lines() {
    let mut random = Random(0x11e5);
    let ways = [Way::Blocking, Way::Blocking, Way::Blocking, Way::Parked];
    let modes = [SignalWait, SignalWait, SignalWait, Signal, Wait];
    let mut carried = 0;
    for _ in 0..30 {
        for ways in [&ways[..1], &ways] {
            for modes in [&modes[..1], &modes] {
                let program = Program {
                    degree: 2,
                    help_after: random.one_of(&[0, 30, 1000]),
                    ways,
                    modes,
                    tasks: 3 + random.below(20) as usize,
                    phases: 100,
                };
                let seed = 1 + random.below(u64::MAX);
                carried += churn(Lines::default(), program, seed).in_hardware;
            }
        }
    }
    assert!(carried > 100, "{carried} phases on lines");
}

/// Several parents register hundreds of children concurrently; all are waited for.
#[test]
fn hundreds_of_children_at_once() {
    const PARENTS: usize = 4;
    const CHILDREN: usize = 200;
    for degree in [2, 4, PARENTS * (1 + CHILDREN)] {
        let all = tasks(Yield, config(degree, 0), &[SignalWait; PARENTS]);
        let phaser = all[0].phaser();
        let signalled = AtomicUsize::new(0);
        super::ports::on_threads(all, |_, mut parent| {
            let children = (0..CHILDREN).map(|_| parent.register(SignalWait).unwrap());
            for mut child in children.collect::<Vec<_>>() {
                signalled.fetch_add(1, SeqCst);
                child.signal().unwrap();
            }
            signalled.fetch_add(1, SeqCst);
            parent.next_blocking().unwrap();
            assert_eq!(signalled.load(SeqCst), PARENTS * (1 + CHILDREN));
        });
        let places = (PARENTS * (1 + CHILDREN)).div_ceil(degree);
        assert!(phaser.census().leaves <= places);
    }
}

/// Tasks on two phasers wait in opposite orders, with early signals on both.
#[test]
fn crossed_phasers_do_not_lock() {
    for help_after in [0, 100] {
        let a = tasks(Yield, config(2, help_after), &[SignalWait; 6]);
        let b = tasks(Yield, config(2, help_after), &[SignalWait; 6]);
        let both: Vec<_> = a.into_iter().zip(b).enumerate().collect();
        thread::scope(|s| {
            for (me, (mut a, mut b)) in both {
                s.spawn(move || {
                    for phase in 0..200 {
                        let way = Way::ALL[(me + phase) % 3];
                        if me % 3 == 0 {
                            way.next(&mut a);
                            way.next(&mut b);
                            continue;
                        }
                        a.signal().unwrap();
                        b.signal().unwrap();
                        let turned = me % 3 == 1;
                        let (x, y) = if turned {
                            (&mut b, &mut a)
                        } else {
                            (&mut a, &mut b)
                        };
                        way.wait(x);
                        way.wait(y);
                    }
                });
            }
        });
    }
}

/// A pool of threads that poll futures.
#[derive(Default)]
struct Executor {
    ready: Mutex<VecDeque<Arc<Fiber>>>,
    there: Condvar,
    left: AtomicUsize,
}

struct Fiber {
    /// `None` once it has ended, though it may still be woken.
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    of: Weak<Executor>,
}

impl Wake for Fiber {
    fn wake(self: Arc<Self>) {
        let of = self.of.upgrade().expect("the executor runs");
        of.ready.lock().unwrap().push_back(self);
        of.there.notify_one();
    }
}

impl Executor {
    fn spawn(self: &Arc<Self>, future: impl Future<Output = ()> + Send + 'static) {
        self.left.fetch_add(1, SeqCst);
        let future = Mutex::new(Some(Box::pin(future) as _));
        let of = Arc::downgrade(self);
        Arc::new(Fiber { future, of }).wake();
    }

    fn work(&self) {
        while self.left.load(SeqCst) > 0 {
            let mut ready = self.ready.lock().unwrap();
            let Some(fiber) = ready.pop_front() else {
                // With a timeout, since the last task to end notifies no thread.
                let limit = std::time::Duration::from_millis(1);
                drop(self.there.wait_timeout(ready, limit).unwrap());
                continue;
            };
            drop(ready);
            let waker = Waker::from(Arc::clone(&fiber));
            let mut future = fiber.future.lock().unwrap();
            let mut context = Context::from_waker(&waker);
            let ended = future
                .as_mut()
                .map(|f| f.as_mut().poll(&mut context).is_ready());
            if ended == Some(true) {
                *future = None;
                self.left.fetch_sub(1, SeqCst);
            }
        }
    }
}

/// Fact 48: 64 tasks pass a thousand phases on one worker, and on two.
#[test]
fn more_tasks_than_workers() {
    const TASKS: usize = 64;
    for workers in [1, 2] {
        let executor = Arc::new(Executor::default());
        let all = tasks(Yield, config(4, 1000), &[SignalWait; TASKS]);
        let phaser = all[0].phaser();
        let come = Arc::new(AtomicUsize::new(0));
        for mut task in all {
            let come = Arc::clone(&come);
            executor.spawn(async move {
                for phase in 1..=1000 {
                    come.fetch_add(1, SeqCst);
                    task.next().await.unwrap();
                    assert!(come.load(SeqCst) >= phase * TASKS);
                }
            });
        }
        thread::scope(|s| {
            for _ in 0..workers {
                s.spawn(|| executor.work());
            }
        });
        assert_eq!(phaser.census().phases, 1000);
    }
}
