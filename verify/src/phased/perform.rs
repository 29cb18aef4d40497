//! Tasks that execute a program, and check what they observe.

use super::{Scenario, Step, Subject, Table, Violations};
use std::sync::Arc;
use tautline_core::phaser::Mode;

#[cfg(tautline_loom)]
use loom::thread;
#[cfg(tautline_shuttle)]
use shuttle::thread;
#[cfg(not(any(tautline_loom, tautline_shuttle)))]
use std::thread;

/// Runs a scenario to its end, the last task on the calling thread, the others on separate threads,
/// started from the last to the first: a task that finds all others present then runs early, where
/// nothing else decides. `create` makes a phaser, of this degree, with its first task.
///
/// # Panics
/// If a task leaves a phase that another one has not signalled, which `violations` counts.
pub fn run<S: Subject>(
    scenario: &Scenario,
    violations: &Violations,
    create: impl Fn(usize, Mode) -> S,
) {
    let mut modes = scenario.tasks.iter().map(|(mode, _)| *mode);
    let first = modes.next().expect("a scenario has tasks");
    let mut tasks: Vec<_> = scenario.tasks.iter().map(|_| Task::default()).collect();
    for _ in 0..scenario.phasers {
        let subject = create(scenario.degree, first);
        let mut founder = Place::new(subject, first, 0, 0, Table::new(violations));
        let rest: Vec<_> = modes.clone().map(|mode| founder.register(mode)).collect();
        founder.subject().founded();
        for (task, place) in tasks.iter_mut().zip([founder].into_iter().chain(rest)) {
            task.places.push(Some(place));
        }
    }
    let programs = scenario.tasks.iter().map(|(_, steps)| Arc::clone(steps));
    let mut all = tasks.into_iter().zip(programs).rev();
    let (last, steps) = all.next().expect("a scenario has tasks");
    let others: Vec<_> = all.map(|(task, steps)| task.start(steps)).collect();
    last.perform(&steps);
    for other in others {
        other.join().expect("the panic of a task is the run's");
    }
}

/// One task's registrations on all phasers.
struct Task<S: Subject> {
    places: Vec<Option<Place<S>>>,
    children: Vec<thread::JoinHandle<()>>,
}

impl<S: Subject> Default for Task<S> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            children: Vec::new(),
        }
    }
}

impl<S: Subject> Task<S> {
    fn start(self, steps: Arc<[Step]>) -> thread::JoinHandle<()> {
        thread::spawn(move || self.perform(&steps))
    }

    fn perform(mut self, steps: &[Step]) {
        for step in steps {
            self.take(step);
        }
        self.places.clear();
        for child in self.children {
            child.join().expect("the panic of a task is the run's");
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Next(on) => self.on(*on).next(),
            Step::Signal(on) => self.on(*on).signal(false),
            Step::Early(on) => self.on(*on).signal(true),
            Step::Wait(on) => self.on(*on).wait(),
            Step::Drop(on) => self.places[*on] = None,
            Step::Spawn(on, mode, steps) => {
                let mut child = Self::default();
                child.places.resize_with(*on, || None);
                child.places.push(Some(self.on(*on).register(*mode)));
                self.children.push(child.start(Arc::clone(steps)));
            }
        }
    }

    fn on(&mut self, phaser: usize) -> &mut Place<S> {
        let place = self.places[phaser].as_mut();
        place.expect("programs act where they are registered")
    }
}

/// A subject, with a separate record of its state.
struct Place<S: Subject> {
    /// `None` once the task has deregistered.
    subject: Option<S>,
    mode: Mode,
    signalled: usize,
    waited: usize,
    row: Option<usize>,
    table: Table,
}

impl<S: Subject> Place<S> {
    fn new(subject: S, mode: Mode, signalled: usize, waited: usize, table: Table) -> Self {
        Self {
            subject: Some(subject),
            row: mode.signals().then(|| table.enter(signalled)),
            mode,
            signalled,
            waited,
            table,
        }
    }

    fn subject(&mut self) -> &mut S {
        self.subject.as_mut().expect("the task is there")
    }

    fn register(&mut self, mode: Mode) -> Self {
        let child = self.subject().register(mode);
        let table = self.table.clone();
        Self::new(child, mode, self.signalled, self.waited, table)
    }

    /// Records that the task is about to signal.
    fn announce(&mut self) {
        moment();
        if let Some(row) = self.row {
            if !self.mode.waits() || self.signalled == self.waited {
                self.signalled += 1;
                self.table.signal(row, self.signalled);
            }
        }
    }

    fn signal(&mut self, early: bool) {
        self.announce();
        match early {
            true => self.subject().signal_early(),
            false => self.subject().signal(),
        }
    }

    fn wait(&mut self) {
        self.subject().wait();
        self.pass();
    }

    fn next(&mut self) {
        self.announce();
        self.subject().next();
        self.pass();
    }

    fn pass(&mut self) {
        if self.mode.waits() {
            self.table.passed(self.waited);
            self.waited += 1;
        }
    }
}

impl<S: Subject> Drop for Place<S> {
    fn drop(&mut self) {
        // After a panic the subject is in an unknown state, and no task waits for it.
        if std::thread::panicking() {
            return std::mem::forget(self.subject.take());
        }
        moment();
        if let Some(row) = self.row {
            self.table.leave(row);
        }
        self.subject = None;
    }
}

/// Yields to other tasks.
fn moment() {
    #[cfg(tautline_shuttle)]
    tautline_core::sync::point();
}
