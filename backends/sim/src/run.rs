//! The loop over events, and one worker's part of it.

use crate::network::{Event, Mail};
use crate::world::{Here, World};
use crate::{Outcome, Simulation};
use tautline_core::glb::{
    Account, Bag, Collected, Control, Observer, Pile, Reason, Step, Team, Worker, collect,
};
use tautline_core::{PlaceId, WorkerId};

/// A computation in virtual time.
struct Run<'a, B: Bag, O> {
    simulation: &'a Simulation,
    world: &'a World<B>,
    teams: &'a [Team<B>],
    control: &'a Control,
    /// Place by place.
    threads: Vec<Thread<'a, B, O>>,
    /// By place: until when its reserves are locked.
    locked: Vec<[u64; 2]>,
}

type Thread<'a, B, O> = Worker<'a, B, Here<'a, B>, O>;

pub(crate) fn run<B: Bag, O: Observer>(
    simulation: &Simulation,
    bag: B,
    shared: impl Fn(PlaceId) -> B::Shared,
    output: B::Output,
    mut observe: impl FnMut(PlaceId, WorkerId) -> O,
) -> Outcome<B::Output, O> {
    let config = &simulation.config;
    let threads = config.threads();
    let world = World::new(simulation.machine, config.places, threads, config.seed);
    let control = Control::new();
    let places = || (0..config.places).map(PlaceId);
    let teams: Vec<Team<B>> = places()
        .map(|here| Team::new(here, config, shared(here)))
        .collect();
    let mut workers = Vec::with_capacity(teams.len() * threads);
    for (place, team) in places().zip(&teams) {
        for me in (0..threads as u32).map(WorkerId) {
            let observer = observe(place, me);
            let here = world.at(place);
            workers.push(Worker::new(team, me, here, &control, observer));
        }
    }
    let mut run = Run {
        simulation,
        world: &world,
        teams: &teams,
        control: &control,
        threads: workers,
        locked: vec![[0; 2]; teams.len()],
    };
    teams[PlaceId::HOME.index()].begin(bag, &world.at(PlaceId::HOME));
    let end = run.finish();
    let accounts = run.close(end);
    let stopped = control.reason();
    let remains = Remains {
        world,
        teams,
        accounts,
        end,
        stopped,
    };
    remains.outcome(simulation, output)
}

impl<B: Bag, O: Observer> Run<'_, B, O> {
    /// Processes events until the computation is closed; returns the time of that.
    fn finish(&mut self) -> u64 {
        loop {
            let next = self.world.network.borrow_mut().next();
            let (now, event) = next.expect("a computation that has not ended has an event");
            if now > self.simulation.deadline_ns {
                self.control.stop(Reason::Deadline);
                self.world.set(self.simulation.deadline_ns);
                self.world.close();
            }
            self.world.set(now);
            match event {
                Event::Step(thread) => self.go_on(thread),
                Event::Mail(mail) => self.deliver(mail),
            }
            if let Some(end) = self.world.closed() {
                return end;
            }
        }
    }

    fn deliver(&self, mail: Mail<B>) {
        let Mail {
            from, to, message, ..
        } = mail;
        self.teams[to.index()].deliver(from, message, &self.world.at(to));
    }

    /// Takes steps of this thread until another event comes first, or it sleeps.
    fn go_on(&mut self, thread: u32) {
        let place = thread as usize / self.simulation.config.threads();
        loop {
            if let Some(free) = self.waits(thread, place) {
                return self.world.network.borrow_mut().step(free, thread);
            }
            let step = self.threads[thread as usize].step();
            match step {
                Step::Parked if self.world.sleep(thread) => return,
                Step::Ended => return,
                _ => self.world.pass(self.cost(step)),
            }
            if self.world.closed().is_some() {
                return;
            }
            let worker = &self.threads[thread as usize];
            let private = worker.will_work()
                || (self.simulation.raceless && step == Step::Divided && worker.wants().is_some());
            let mut network = self.world.network.borrow_mut();
            if !private && network.next_at() <= self.world.now() {
                return network.step(self.world.now(), thread);
            }
        }
    }

    /// Returns until when the next step of this thread has to wait for a reserve; else locks the reserve.
    fn waits(&mut self, thread: u32, place: usize) -> Option<u64> {
        let pile = self.threads[thread as usize].wants()?;
        let locked = &mut self.locked[place][usize::from(pile == Pile::Inter)];
        let now = self.world.now();
        if *locked > now && !self.simulation.raceless {
            return Some(*locked);
        }
        *locked = now + self.simulation.machine.merge_ns;
        None
    }

    fn cost(&self, step: Step) -> u64 {
        let machine = &self.simulation.machine;
        match step {
            Step::Worked(tasks) => {
                assert!(tasks > 0, "a bag that is not empty did nothing");
                machine.task_ns.saturating_mul(tasks as u64)
            }
            Step::Looked => machine.look_ns,
            Step::Grew | Step::Divided => machine.split_ns,
            Step::Fed(_) | Step::Took(_) => machine.merge_ns,
            Step::Served | Step::Answered => machine.serve_ns,
            Step::Started | Step::Announced | Step::Left | Step::Parked | Step::Ended => 0,
        }
    }

    /// Makes every worker return its bag and its account.
    fn close(mut self, end: u64) -> Vec<Account<O>> {
        let close = |mut worker: Thread<'_, B, O>| {
            // A thread that was stopped in the middle of a grain has done it.
            while !matches!(worker.step(), Step::Ended) {}
            worker.close()
        };
        self.world.set(end);
        std::mem::take(&mut self.threads)
            .into_iter()
            .map(close)
            .collect()
    }
}

/// The remains of a computation that ended at `end`.
struct Remains<B: Bag, O> {
    world: World<B>,
    teams: Vec<Team<B>>,
    /// Place by place.
    accounts: Vec<Account<O>>,
    end: u64,
    stopped: Option<Reason>,
}

impl<B: Bag, O> Remains<B, O> {
    /// Lets every bag submit to `output`, and adds up the counts.
    fn outcome(self, simulation: &Simulation, mut output: B::Output) -> Outcome<B::Output, O> {
        let (config, end) = (&simulation.config, self.end);
        let Collected {
            complete,
            places,
            observers,
        } = collect(self.teams, config.threads(), self.accounts, &mut output);
        let network = self.world.network.into_inner();
        assert!(
            self.stopped.is_some() || network.is_idle(),
            "the end came while something was on its way"
        );
        let (events, reports, activities) = (network.events, network.reports, network.activities);
        let distances = network.distances.clone();
        let mut complete = complete;
        for mail in network.into_mails() {
            complete &= mail.submit(&mut output);
        }
        let tasks = places.iter().map(|place| place.tally.tasks).sum();
        let alone = tasks as f64 * simulation.machine.task_ns as f64;
        let together = f64::from(config.places) * config.workers as f64 * end as f64;
        Outcome {
            output,
            complete,
            stopped: self.stopped,
            virtual_ns: end,
            tasks,
            efficiency: if together > 0.0 {
                alone / together
            } else {
                1.0
            },
            messages: places.iter().map(|place| place.tally.messages).sum(),
            reports,
            activities,
            distances,
            events,
            places,
            observers,
        }
    }
}

impl<B: Bag> Mail<B> {
    /// Returns what was under way when the computation was stopped. True if that was no work.
    fn submit(self, output: &mut B::Output) -> bool {
        use tautline_core::glb::Message;
        match self.message {
            Message::Loot(bag) | Message::Answer(Some(bag)) => {
                let done = bag.is_empty();
                bag.submit(output);
                done
            }
            _ => true,
        }
    }
}
