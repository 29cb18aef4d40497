//! Ranks in virtual time: chunks that take as long as their iterations, messages that take as long
//! as drawn.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use tautline_core::Rank;
use tautline_core::defer::{Effect, Event, Scheduler};
use tautline_core::machine::{Action, Pick, Step};

/// Pseudo-random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        let multiplier = 6_364_136_223_846_793_005_u64;
        self.0 = self.0.wrapping_mul(multiplier).wrapping_add(1);
        (self.0 >> 33) % n
    }
}

impl Pick for Random {
    fn pick(&mut self, n: u32) -> u32 {
        self.below(u64::from(n)) as u32
    }
}

/// An event at a rank.
#[derive(Debug)]
enum Happening<M> {
    Begin,
    Executed(Vec<u64>),
    Mail(Rank, M),
}

/// The durations of a rank's actions.
pub(crate) struct Costs<'a> {
    /// Of an iteration.
    pub(crate) iteration: &'a [u64],
    /// Of each chunk.
    pub(crate) chunk: u64,
    /// Of a message, with the number of iterations that it moves.
    pub(crate) message: &'a mut dyn FnMut(u64) -> u64,
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The time at which the last chunk was done.
    pub(crate) makespan: u64,
    /// Iterations that were sent.
    pub(crate) moved: u64,
    /// Messages that moved none.
    pub(crate) control: u64,
}

/// Runs a loop to its end. The epoch of a rank never decreases.
pub(crate) fn run_by_epochs<M: Scheduler>(
    ranks: &mut [M],
    epoch_of: impl Fn(&M) -> u64,
    costs: Costs<'_>,
) -> Outcome {
    let mut world: World<'_, M> = World::new(costs);
    for here in 0..ranks.len() {
        world.post(0, here, Happening::Begin);
    }
    let mut random = Random(1);
    let mut ended = vec![false; ranks.len()];
    while let Some((here, event)) = world.next() {
        let machine = &mut ranks[here];
        let (epoch, mut chunk, mut sent) = (epoch_of(machine), None, Vec::new());
        let mut act = |action: Action<M>| match action {
            Action::Send(to, message) => sent.push((to, message)),
            Action::Effect(Effect::Execute(parts)) => {
                assert!(chunk.replace(parts).is_none(), "two chunks at once");
            }
            Action::Effect(Effect::End) => {
                assert!(!ended[here], "the end is reported twice");
                ended[here] = true;
            }
        };
        let step = &mut Step::new(M::calls(&mut random), &mut act);
        match event {
            Happening::Begin => machine.event(Event::Begin, step),
            Happening::Executed(times) => machine.event(Event::Executed(M::times(&times)), step),
            Happening::Mail(from, message) => {
                let received = machine.receive(from, message, step);
                received.expect("it is expected");
            }
        }
        assert!(
            epoch_of(machine) >= epoch,
            "the epoch of rank {here} decreases"
        );
        if let Some(chunk) = chunk {
            world.execute(here, chunk);
        }
        for (to, message) in sent {
            world.send(Rank(here as u32), to, message);
        }
    }
    assert!(ended.iter().all(|ended| *ended), "each rank ends");
    assert!(
        world.begun.iter().all(|begun| *begun),
        "each iteration is executed"
    );
    world.outcome
}

/// The pending events: time, order of events of one time, rank, number of the event.
type Agenda = BinaryHeap<Reverse<(u64, usize, usize)>>;

struct World<'a, M: Scheduler> {
    costs: Costs<'a>,
    now: u64,
    agenda: Agenda,
    events: Vec<Option<Happening<M::Message>>>,
    begun: Vec<bool>,
    outcome: Outcome,
}

impl<'a, M: Scheduler> World<'a, M> {
    fn new(costs: Costs<'a>) -> Self {
        Self {
            now: 0,
            agenda: Agenda::new(),
            events: Vec::new(),
            begun: vec![false; costs.iteration.len()],
            outcome: Outcome::default(),
            costs,
        }
    }

    fn post(&mut self, after: u64, here: usize, event: Happening<M::Message>) {
        self.agenda
            .push(Reverse((self.now + after, self.events.len(), here)));
        self.events.push(Some(event));
    }

    fn next(&mut self) -> Option<(usize, Happening<M::Message>)> {
        let Reverse((time, number, here)) = self.agenda.pop()?;
        self.now = time;
        Some((
            here,
            self.events[number].take().expect("an event occurs once"),
        ))
    }

    fn execute(&mut self, here: usize, chunk: Vec<Range<u64>>) {
        let mut times = Vec::new();
        for iteration in chunk.into_iter().flatten() {
            let begun = &mut self.begun[iteration as usize];
            assert!(!*begun, "iteration {iteration} begins twice");
            *begun = true;
            times.push(self.costs.iteration[iteration as usize]);
        }
        let time = self.costs.chunk + times.iter().sum::<u64>();
        self.outcome.makespan = self.outcome.makespan.max(self.now + time);
        self.post(time, here, Happening::Executed(times));
    }

    fn send(&mut self, from: Rank, to: Rank, message: M::Message) {
        let mut load = 0;
        for iteration in M::moved(&message).iter().cloned().flatten() {
            let has_begun = self.begun[iteration as usize];
            assert!(!has_begun, "iteration {iteration} has begun, and moves");
            load += 1;
        }
        self.outcome.moved += load;
        self.outcome.control += u64::from(load == 0);
        let time = (self.costs.message)(load);
        self.post(time, to.index(), Happening::Mail(from, message));
    }
}

/// Times of iterations: equal, one of ten values, or large at a few.
pub(crate) fn times(n: u64, random: &mut Random) -> Vec<u64> {
    let kind = random.below(3);
    let mut time = |_| match kind {
        0 => 10,
        1 => 1 + random.below(10),
        _ if random.below(10) == 0 => 200,
        _ => 2,
    };
    (0..n).map(&mut time).collect()
}
