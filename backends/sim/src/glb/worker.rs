//! A worker of a simulated place, as an actor.

use super::port::{Parcel, SimPlaces, SimPort};
use super::{Interim, Worked};
use crate::engine::{Actor, Here, Turn};
use tautline_core::PlaceId;
use tautline_core::glb::{Account, Bag, Control, Observer, Reason, Step, Team, Worker};

/// One worker, with its place. `W` processes tasks and returns their number, and the time that they
/// take.
pub(super) struct SimWorker<'a, B: Bag, O, W> {
    pub(super) places: &'a SimPlaces<B>,
    pub(super) work: &'a W,
    pub(super) watch: &'a dyn Fn(Interim) -> Option<Reason>,
    pub(super) control: &'a Control,
    pub(super) place: PlaceId,
    pub(super) team: &'a Team<B>,
    pub(super) worker: Worker<'a, B, SimPort<'a, B>, O>,
}

impl<B, O, W> SimWorker<'_, B, O, W>
where
    B: Bag,
    O: Observer,
    W: Fn(&mut B, usize, &B::Shared) -> Worked,
{
    /// Takes the last steps of a computation that has ended, and returns the worker's bag to its
    /// place.
    pub(super) fn close(mut self) -> Account<O> {
        // A worker that was stopped in the middle of a grain has done it.
        loop {
            let mut ns = 0;
            let step = self.next(&mut ns);
            if step == Step::Ended {
                return self.worker.close();
            }
            self.cost(step, ns);
        }
    }

    /// Takes the next step. `ns` becomes the duration of its tasks, if it processes some.
    fn next(&mut self, ns: &mut u64) -> Step {
        let work = self.work;
        self.worker.step_with(|bag, n, shared| {
            let worked = work(bag, n, shared);
            *ns = worked.ns;
            worked.tasks
        })
    }

    /// Stops the computation if the watch returns a reason.
    fn check_watch(&self) {
        if let Some(reason) = self.places.interim().and_then(self.watch) {
            self.control.stop(reason);
            self.places.world.close();
        }
    }

    /// Returns the duration of `step`, whose tasks take `ns`.
    fn cost(&self, step: Step, ns: u64) -> u64 {
        let machine = &self.places.machine;
        match step {
            // The worker bears a bag that does nothing for a while.
            Step::Worked(0) => machine.look_ns,
            Step::Worked(tasks) => {
                self.places.worked(self.place, tasks, ns);
                ns
            }
            Step::Looked => machine.look_ns,
            Step::Grew | Step::Divided => machine.split_ns,
            Step::Fed(_) | Step::Took(_) => machine.merge_ns,
            Step::Served | Step::Answered => machine.serve_ns,
            Step::Started | Step::Announced | Step::Left | Step::Parked | Step::Ended => 0,
        }
    }
}

impl<B, O, W> Actor for SimWorker<'_, B, O, W>
where
    B: Bag,
    O: Observer,
    W: Fn(&mut B, usize, &B::Shared) -> Worked,
{
    type Message = Parcel<B>;

    fn step(&mut self, here: &Here<'_, Parcel<B>>) -> Turn {
        self.check_watch();
        if let Some(pile) = self.worker.wants() {
            if let Err(free) = self.places.lock(here.place(), pile) {
                return Turn::Again(free);
            }
        }
        let mut ns = 0;
        let step = self.next(&mut ns);
        match step {
            Step::Parked => return Turn::Parked,
            Step::Ended => return Turn::Ended,
            _ => {}
        }
        // Without races, no other worker acts between the load of a reserve's flag and the feeding.
        let raceless = self.places.raceless && step == Step::Divided;
        Turn::Took {
            ns: self.cost(step, ns),
            private: self.worker.will_work() || (raceless && self.worker.wants().is_some()),
        }
    }

    fn on(&mut self, from: PlaceId, parcel: Parcel<B>, here: &Here<'_, Parcel<B>>) {
        let port = self.places.at(here.place());
        self.team.deliver(from, parcel.message, &port);
    }

    fn lost(&mut self, place: PlaceId, _: &Here<'_, Parcel<B>>) {
        // The protocol between places needs all of them.
        self.places.lose(place);
        self.control.stop(Reason::Lost);
        self.places.world.close();
    }
}
