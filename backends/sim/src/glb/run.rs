//! A run of a simulation, from its places to its outcome.

use super::phases::Profile;
use super::port::{ANSWER, LOOT, Parcel, REPORT, SimPlaces};
use super::worker::SimWorker;
use super::{Interim, Outcome, Simulation, Worked};
use crate::engine::{End, Engine, Traffic, World};
use tautline_core::glb::{
    Account, Bag, Collected, Control, Message, Observer, Reason, Team, Worker, collect,
};
use tautline_core::{PlaceId, WorkerId};

pub(super) fn run<B: Bag, O: Observer>(
    simulation: &Simulation,
    bag: B,
    shared: impl Fn(PlaceId) -> B::Shared,
    output: B::Output,
    mut observe: impl FnMut(PlaceId, WorkerId) -> O,
    work: impl Fn(&mut B, usize, &B::Shared) -> Worked,
    watch: &dyn Fn(Interim) -> Option<Reason>,
) -> Outcome<B::Output, O> {
    let config = &simulation.config;
    let threads = config.threads_of(PlaceId::HOME);
    let places = places(simulation, threads);
    let control = Control::new();
    let numbers = || (0..config.places).map(PlaceId);
    let team = |here| Team::new(here, config, shared(here));
    let teams: Vec<Team<B>> = numbers().map(team).collect();
    let mut workers = Vec::with_capacity(teams.len() * threads);
    for (place, team) in numbers().zip(&teams) {
        for me in (0..threads as u32).map(WorkerId) {
            let observer = observe(place, me);
            let worker = Worker::new(team, me, places.at(place), &control, observer);
            workers.push(SimWorker {
                places: &places,
                work: &work,
                watch,
                control: &control,
                place,
                team,
                worker,
            });
        }
    }
    let mut engine = Engine::new(&places.world, workers);
    teams[PlaceId::HOME.index()].begin(bag, &places.at(PlaceId::HOME));
    let end = match engine.run(simulation.deadline_ns, || control.stop(Reason::Deadline)) {
        End::Closed(end) | End::Expired(end) => end,
        End::Idle(end) => {
            let lost = places.world.crashed();
            places.lose(lost.expect("a computation that has not ended has an event"));
            control.stop(Reason::Lost);
            places.world.close();
            end
        }
    };
    // The last steps are taken at the end.
    places.world.set(end);
    let workers = engine.into_actors().into_iter();
    let accounts = workers.map(SimWorker::close).collect();
    let remains = Remains {
        lost: places.lost(),
        work_ns: places.work_ns(),
        profile: places.profile(),
        world: places.world,
        teams,
        accounts,
        end,
        stopped: control.reason(),
    };
    remains.outcome(simulation, output)
}

/// Returns the world of the simulation.
fn places<B: Bag>(simulation: &Simulation, threads: usize) -> SimPlaces<B> {
    let Simulation {
        config, machine, ..
    } = simulation;
    let mut world = World::new(machine.cluster, config.places, threads, config.seed);
    if let Some(faults) = simulation.faults {
        world = world.with_faults(faults);
    }
    SimPlaces::new(world, *machine, simulation.raceless, config.places)
}

/// The remains of a computation that ended at `end`.
struct Remains<B: Bag, O> {
    world: World<Parcel<B>>,
    teams: Vec<Team<B>>,
    /// Place by place.
    accounts: Vec<Account<O>>,
    end: u64,
    work_ns: u64,
    profile: Profile,
    stopped: Option<Reason>,
    lost: Option<PlaceId>,
}

impl<B: Bag, O> Remains<B, O> {
    /// Lets every bag submit to `output`, and adds up the counts.
    fn outcome(self, simulation: &Simulation, mut output: B::Output) -> Outcome<B::Output, O> {
        let (config, end) = (&simulation.config, self.end);
        let Collected {
            complete,
            places,
            observers,
            ..
        } = collect(self.teams, config, self.accounts, &mut output);
        let parcels = self.world.take_messages();
        let bound = |parcel: &Parcel<B>| matches!(parcel.message, Message::Bound(_));
        assert!(
            self.stopped.is_some() || parcels.iter().all(bound),
            "the end came while something was on its way"
        );
        let mut complete = complete;
        for parcel in parcels {
            complete &= parcel.submit(&mut output);
        }
        let traffic = self.world.traffic();
        let tasks = places.iter().map(|place| place.tally.tasks).sum();
        let alone = self.work_ns as f64;
        let workers = f64::from(config.places) * config.workers as f64;
        let together = workers * end as f64;
        Outcome {
            output,
            complete,
            stopped: self.stopped,
            lost: self.lost,
            virtual_ns: end,
            tasks,
            workers: config.all_workers() as u64,
            efficiency: if together > 0.0 {
                alone / together
            } else {
                1.0
            },
            phases: self.profile.phases(workers, end),
            messages: places.iter().map(|place| place.tally.messages).sum(),
            reports: traffic[REPORT].count,
            activities: 1 + traffic[LOOT].count,
            bytes: traffic.iter().map(|kind| kind.bytes).sum(),
            distances: sum(&traffic[LOOT], &traffic[ANSWER]),
            events: self.world.events(),
            places,
            observers,
        }
    }
}

/// Returns the messages of both kinds by the number of hops.
fn sum(one: &Traffic, other: &Traffic) -> Vec<u64> {
    let hops = one.hops.len().max(other.hops.len());
    let of = |traffic: &Traffic, hop| traffic.hops.get(hop).copied().unwrap_or(0);
    (0..hops).map(|hop| of(one, hop) + of(other, hop)).collect()
}

impl<B: Bag> Parcel<B> {
    /// Submits the loot that was in flight when the computation was stopped. Returns whether that
    /// was no work.
    fn submit(self, output: &mut B::Output) -> bool {
        let Some(bag) = self.message.into_loot() else {
            return true;
        };
        let done = bag.is_empty();
        bag.submit(output);
        done
    }
}
