//! Communication tasks: their life cycle, with a machine that the test controls.

#[path = "comm/matching.rs"]
mod matching;
#[path = "comm/messenger.rs"]
mod messenger;
#[path = "comm/packets.rs"]
mod packets;
#[path = "comm/turns.rs"]
mod turns;
#[cfg(feature = "wire")]
#[path = "comm/vectors.rs"]
mod vectors;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use tautline_core::Rank;
use tautline_core::comm::*;
use tautline_core::machine::{Machine, Step};

const WORLD: CommId = CommId(0);

/// A machine that ends sends at once, and the oldest receive by each message.
#[derive(Default)]
struct Scripted {
    /// The tags of the sends, in order.
    sent: Arc<Mutex<Vec<u32>>>,
    posted: VecDeque<Ticket>,
    cancelled: Arc<Mutex<Vec<Ticket>>>,
    threads: Arc<Mutex<Vec<ThreadId>>>,
    /// The state of its task that each send and receive finds.
    watched: Arc<Mutex<Option<Tasks>>>,
    states: Arc<Mutex<Vec<Option<State>>>>,
}

impl Scripted {
    /// Records which thread has entered: only one may.
    fn enter(&self) {
        let mut threads = self.threads.lock().unwrap();
        if !threads.contains(&thread::current().id()) {
            threads.push(thread::current().id());
        }
    }

    fn watch(&self, ticket: Ticket) {
        if let Some(tasks) = &*self.watched.lock().unwrap() {
            self.states.lock().unwrap().push(tasks.state(ticket));
        }
    }
}

impl Machine for Scripted {
    type Peer = Rank;
    type Message = ();
    type Event = Event;
    type Effect = Effect;
    type Calls = ();
    type Refusal = &'static str;

    fn event(&mut self, event: Event, step: &mut Step<'_, Self>) {
        self.enter();
        let Event::Start(ticket, operation) = event else {
            unreachable!("no test has this");
        };
        match operation {
            Operation::Send { tag, .. } => {
                self.watch(ticket);
                self.sent.lock().unwrap().push(tag.0);
                step.effect(Effect::Ended(ticket, Ok(Done::default())));
            }
            Operation::Receive { .. } => {
                self.watch(ticket);
                self.posted.push_back(ticket);
            }
            Operation::Cancel(other) => {
                self.cancelled.lock().unwrap().push(other);
                step.effect(Effect::Ended(ticket, Ok(Done::default())));
            }
            Operation::Probe { .. } | Operation::Free(_) => unreachable!("no test has this"),
        }
    }

    fn receive(&mut self, _: Rank, (): (), step: &mut Step<'_, Self>) -> Result<(), &'static str> {
        self.enter();
        let ticket = self.posted.pop_front().ok_or("nothing is received")?;
        step.effect(Effect::Ended(ticket, Ok(Done::default())));
        Ok(())
    }
}

fn worker(machine: Scripted) -> Worker<Scripted> {
    with_bell(machine, || ())
}

fn with_bell(machine: Scripted, bell: impl Fn() + Send + Sync + 'static) -> Worker<Scripted> {
    let carrier = Box::new(|_, ()| unreachable!("nothing is sent"));
    Worker::new(machine, Box::new(()), carrier, Arc::new(bell))
}

fn send(tag: u32) -> Operation {
    Operation::Send {
        comm: WORLD,
        to: Rank(1),
        tag: Tag(tag),
        body: vec![1, 2, 3].into(),
    }
}

fn receive() -> Operation {
    Operation::Receive {
        pattern: Pattern::any(WORLD),
        limit: 10,
        into: Body::default(),
    }
}

fn ignore() -> Arc<dyn Complete> {
    Arc::new(|_: Outcome| ())
}

/// Submits a task whose outcome is put into the result.
fn outcome_of(tasks: &Tasks, operation: Operation) -> Arc<Mutex<Vec<Outcome>>> {
    let outcomes = Arc::new(Mutex::new(Vec::new()));
    let put = Arc::clone(&outcomes);
    tasks.submit(
        operation,
        Arc::new(move |outcome| put.lock().unwrap().push(outcome)),
    );
    outcomes
}

/// Tasks of many threads, of which the one that drives the worker enters the machine.
#[test]
fn one_thread_enters_the_machine() {
    let machine = Scripted::default();
    let threads = Arc::clone(&machine.threads);
    let mut worker = worker(machine);
    let ended = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            let tasks = worker.tasks().clone();
            let ended = Arc::clone(&ended);
            scope.spawn(move || {
                for tag in 0..1000 {
                    let ended = Arc::clone(&ended);
                    let done = move |_: Outcome| {
                        ended.fetch_add(1, Relaxed);
                    };
                    tasks.submit(send(tag), Arc::new(done));
                }
            });
        }
        while ended.load(Relaxed) < 4000 {
            worker.step();
            thread::yield_now();
        }
    });
    assert_eq!(*threads.lock().unwrap(), [thread::current().id()]);
    assert!(worker.is_idle());
}

/// Fact 17: the states of a task that the machine ends later, of one that it ends at once, and of
/// their slots after that.
#[test]
fn the_life_cycle_of_a_task() {
    let machine = Scripted::default();
    let states = Arc::clone(&machine.states);
    let watched = Arc::clone(&machine.watched);
    let mut worker = worker(machine);
    let tasks = worker.tasks().clone();
    *watched.lock().unwrap() = Some(tasks.clone());
    for (operation, is_active) in [(receive(), true), (send(0), false)] {
        let at_end = Arc::new(Mutex::new((None::<Ticket>, None)));
        let (watched, put) = (tasks.clone(), Arc::clone(&at_end));
        let done = move |_: Outcome| {
            let mut put = put.lock().unwrap();
            put.1 = put.0.map(|ticket| watched.state(ticket));
        };
        let ticket = tasks.submit(operation, Arc::new(done));
        at_end.lock().unwrap().0 = Some(ticket);
        assert_eq!(tasks.state(ticket), Some(State::Prescribed));
        assert!(worker.step() && tasks.slots() == 1);
        // The machine finds it prescribed.
        let found = std::mem::take(&mut *states.lock().unwrap());
        assert_eq!(found, [Some(State::Prescribed)]);
        if is_active {
            assert_eq!(tasks.state(ticket), Some(State::Active));
            assert!(!worker.step(), "the machine has not ended it");
            worker.receive(Rank(1), ());
        }
        // The completion is called before the slot is available.
        assert_eq!(at_end.lock().unwrap().1, Some(Some(State::Completed)));
        assert_eq!(tasks.state(ticket), Some(State::Available));
        let successor = tasks.submit(send(0), ignore());
        assert_eq!(successor.index(), ticket.index());
        assert_eq!(tasks.state(ticket), None, "a successor has the slot");
        worker.step();
        states.lock().unwrap().clear();
    }
}

/// Fact 17: 100,000 messages with 8 outstanding have 8 slots.
#[test]
fn slots_are_recycled() {
    let mut worker = worker(Scripted::default());
    let tasks = worker.tasks().clone();
    for _ in 0..100_000 / 8 {
        for tag in 0..8 {
            tasks.submit(send(tag), ignore());
        }
        worker.step();
    }
    assert_eq!(tasks.slots(), 8);
}

/// Fact 17, with threads: no more slots than are outstanding at any time, and each task completed
/// once.
#[test]
fn slots_are_recycled_between_threads() {
    const EACH: usize = 2000;
    let mut worker = worker(Scripted::default());
    let ended = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            let tasks = worker.tasks().clone();
            let ended = &ended;
            scope.spawn(move || {
                let (put, got) = mpsc::channel();
                for n in 0..EACH {
                    let put = put.clone();
                    let done = move |_: Outcome| put.send(n).expect("the thread waits");
                    tasks.submit(send(0), Arc::new(done));
                    if n >= 4 {
                        assert_eq!(got.recv(), Ok(n - 4), "each once, in order");
                    }
                }
                assert!(got.into_iter().take(4).eq(EACH - 4..EACH));
                ended.fetch_add(1, Relaxed);
            });
        }
        while ended.load(Relaxed) < 3 || !worker.is_idle() {
            worker.step();
            thread::yield_now();
        }
    });
    // Five each; a completion is reported before its slot is available, so one may be on its way
    // for each thread.
    assert!(worker.tasks().slots() <= 18, "{:?}", worker.tasks());
}

/// Fact 21: the operations of each thread are started in its order.
#[test]
fn operations_of_a_thread_are_started_in_its_order() {
    // All may be outstanding at once, of which 4095 are allowed with words of 32 bits.
    const EACH: u32 = if usize::BITS == 32 { 1000 } else { 5000 };
    let machine = Scripted::default();
    let sent = Arc::clone(&machine.sent);
    let mut worker = worker(machine);
    thread::scope(|scope| {
        for thread in 0..3 {
            let tasks = worker.tasks().clone();
            scope.spawn(move || {
                (0..EACH).for_each(|n| _ = tasks.submit(send(thread * EACH + n), ignore()));
            });
        }
        while sent.lock().unwrap().len() < 3 * EACH as usize {
            worker.step();
            thread::yield_now();
        }
    });
    let sent = sent.lock().unwrap();
    for thread in 0..3 {
        let own = sent.iter().filter(|tag| **tag / EACH == thread);
        assert!(own.copied().eq(thread * EACH..(thread + 1) * EACH));
    }
}

/// A ticket names one task: a late cancel does not reach the successor in its slot.
#[test]
fn a_late_cancel_has_no_effect() {
    let machine = Scripted::default();
    let cancelled = Arc::clone(&machine.cancelled);
    let mut worker = worker(machine);
    let tasks = worker.tasks().clone();
    let first = tasks.submit(receive(), ignore());
    worker.step();
    worker.receive(Rank(1), ());
    let second = tasks.submit(receive(), ignore());
    assert_eq!(second.index(), first.index());
    worker.step();
    let late = outcome_of(&tasks, Operation::Cancel(first));
    worker.step();
    assert_eq!(*late.lock().unwrap(), [Ok(Done::default())]);
    assert_eq!(*cancelled.lock().unwrap(), []);
    tasks.submit(Operation::Cancel(second), ignore());
    worker.step();
    assert_eq!(*cancelled.lock().unwrap(), [second]);
}

#[test]
fn ranks_and_tags_out_of_range_are_errors() {
    let messenger = Messenger::new(Rank(0), 4, Limits::default());
    let carrier = Box::new(|_, _| unreachable!("nothing is sent"));
    let mut worker = Worker::new(messenger, Box::new(()), carrier, Arc::new(|| ()));
    let tasks = worker.tasks().clone();
    let to = Operation::Send {
        comm: WORLD,
        to: Rank(4),
        tag: Tag(0),
        body: Body::default(),
    };
    let pattern = Pattern {
        source: Some(Rank(7)),
        ..Pattern::any(WORLD)
    };
    let into = Body::default();
    let from = Operation::Receive {
        pattern,
        limit: 0,
        into,
    };
    let pattern = Pattern {
        tag: Some(Tag(1 << 31)),
        ..Pattern::any(WORLD)
    };
    let probe = Operation::Probe { pattern };
    for (operation, error) in [
        (to, "there is no rank 4: ranks are from 0 to 3"),
        (from, "there is no rank 7: ranks are from 0 to 3"),
        (
            probe,
            "tag 2147483648 is out of range: tags are from 0 to 2147483647",
        ),
    ] {
        let outcome = outcome_of(&tasks, operation);
        worker.step();
        let outcome = outcome.lock().unwrap();
        assert_eq!(outcome[0].as_ref().unwrap_err().to_string(), error);
    }
}

/// Without its worker every task ends: one that is active, one that waits, and one that is
/// submitted later.
#[test]
fn tasks_of_a_worker_that_is_gone_end() {
    let mut worker = worker(Scripted::default());
    let tasks = worker.tasks().clone();
    let active = outcome_of(&tasks, receive());
    worker.step();
    let waits = outcome_of(&tasks, send(0));
    assert!(!worker.is_idle());
    drop(worker);
    let later = outcome_of(&tasks, send(0));
    for outcome in [active, waits, later] {
        assert_eq!(*outcome.lock().unwrap(), [Err(Error::Closed)]);
    }
    assert_eq!(tasks.slots(), 2, "the slots are available");
}

/// The bell is rung once for all tasks that the worker takes at the same time.
#[test]
fn the_bell_is_rung_for_the_first_task() {
    let rings = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&rings);
    let bell = move || _ = count.fetch_add(1, Relaxed);
    let mut worker = with_bell(Scripted::default(), bell);
    for round in 1..=3 {
        (0..5).for_each(|tag| _ = worker.tasks().submit(send(tag), ignore()));
        assert_eq!(rings.load(Relaxed), round);
        worker.step();
    }
}

/// A completion may submit further tasks.
#[test]
fn a_completion_submits_a_task() {
    let machine = Scripted::default();
    let sent = Arc::clone(&machine.sent);
    let mut worker = worker(machine);
    let tasks = worker.tasks().clone();
    let next = tasks.clone();
    tasks.submit(
        send(1),
        Arc::new(move |_: Outcome| _ = next.submit(send(2), ignore())),
    );
    while worker.step() {}
    assert_eq!(*sent.lock().unwrap(), [1, 2]);
}
