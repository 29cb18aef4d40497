//! Ranks in virtual time: chunks that take as long as their iterations, messages that take as long as drawn.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;
use std::ops::Range;
use tautline_core::Rank;
use tautline_core::defer::{Actions, Baseline, Call, Epochs, Message, Pick, Predict, Refused};
use tautline_core::taper::Summary;

/// Numbers that look random.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        let multiplier = 6_364_136_223_846_793_005_u64;
        self.0 = self.0.wrapping_mul(multiplier).wrapping_add(1);
        (self.0 >> 33) % n
    }
}

/// What happens at a rank.
#[derive(Debug)]
enum Event<M> {
    Begin,
    Free(Summary),
    Mail(Rank, M),
}

/// What a machine requires in one step.
#[derive(Debug)]
pub(crate) struct Asked<M> {
    sent: Vec<(Rank, M)>,
    chunk: Option<Vec<Range<u64>>>,
    has_ended: bool,
    random: Random,
}

impl<M> Actions<M> for Asked<M> {
    fn send(&mut self, to: Rank, message: M) {
        self.sent.push((to, message));
    }

    fn run(&mut self, chunk: Vec<Range<u64>>) {
        assert!(self.chunk.replace(chunk).is_none(), "two chunks at once");
    }

    fn end(&mut self) {
        assert!(!self.has_ended, "the end is reported twice");
        self.has_ended = true;
    }
}

impl Pick for Asked<Call> {
    fn pick(&mut self, n: u32) -> u32 {
        self.random.below(u64::from(n)) as u32
    }
}

/// The machine of a rank.
pub(crate) trait Machine {
    type Message: Clone;
    fn begin(&mut self, out: &mut Asked<Self::Message>);
    fn free(&mut self, times: &Summary, out: &mut Asked<Self::Message>);
    fn on(
        &mut self,
        from: Rank,
        message: Self::Message,
        out: &mut Asked<Self::Message>,
    ) -> Result<(), Refused>;
    /// The iterations that a message moves.
    fn parts(message: &Self::Message) -> &[Range<u64>];
    /// What never decreases.
    fn epoch(&self) -> u64 {
        0
    }
}

impl<W: Predict> Machine for Epochs<W> {
    type Message = Message;

    fn begin(&mut self, out: &mut Asked<Message>) {
        self.begin(out);
    }

    fn free(&mut self, times: &Summary, out: &mut Asked<Message>) {
        self.free(times, out);
    }

    fn on(
        &mut self,
        from: Rank,
        message: Message,
        out: &mut Asked<Message>,
    ) -> Result<(), Refused> {
        self.on(from, message, out)
    }

    fn parts(message: &Message) -> &[Range<u64>] {
        match message {
            Message::Data(parts) => parts,
            _ => &[],
        }
    }

    fn epoch(&self) -> u64 {
        self.epoch()
    }
}

impl<W: Predict> Machine for Baseline<W> {
    type Message = Call;

    fn begin(&mut self, out: &mut Asked<Call>) {
        self.begin(out);
    }

    fn free(&mut self, _: &Summary, out: &mut Asked<Call>) {
        self.free(out);
    }

    fn on(&mut self, from: Rank, call: Call, out: &mut Asked<Call>) -> Result<(), Refused> {
        self.on(from, call, out)
    }

    fn parts(call: &Call) -> &[Range<u64>] {
        match call {
            Call::Data(parts) | Call::Answer(parts) => parts,
            _ => &[],
        }
    }
}

/// What time things take.
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
    /// When the last chunk was done.
    pub(crate) makespan: u64,
    /// Iterations that were sent.
    pub(crate) moved: u64,
    /// Messages that moved none.
    pub(crate) control: u64,
}

/// Runs a loop to its end.
pub(crate) fn run<M: Machine>(ranks: &mut [M], costs: Costs<'_>) -> Outcome {
    let mut world: World<'_, M> = World::new(costs);
    for here in 0..ranks.len() {
        world.post(0, here, Event::Begin);
    }
    let mut random = Random(1);
    let mut ended = vec![false; ranks.len()];
    while let Some((here, event)) = world.next() {
        let mut asked = Asked {
            sent: Vec::new(),
            chunk: None,
            has_ended: ended[here],
            random: Random(0),
        };
        mem::swap(&mut random, &mut asked.random);
        let machine = &mut ranks[here];
        let epoch = machine.epoch();
        match event {
            Event::Begin => machine.begin(&mut asked),
            Event::Free(times) => machine.free(&times, &mut asked),
            Event::Mail(from, message) => machine
                .on(from, message, &mut asked)
                .expect("it is expected"),
        }
        assert!(
            machine.epoch() >= epoch,
            "the epoch of rank {here} decreases"
        );
        ended[here] = asked.has_ended;
        random = asked.random;
        if let Some(chunk) = asked.chunk {
            world.execute(here, chunk);
        }
        for (to, message) in asked.sent {
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

/// What has yet to happen: time, order of events of one time, rank, number of the event.
type Agenda = BinaryHeap<Reverse<(u64, usize, usize)>>;

struct World<'a, M: Machine> {
    costs: Costs<'a>,
    now: u64,
    agenda: Agenda,
    events: Vec<Option<Event<M::Message>>>,
    begun: Vec<bool>,
    outcome: Outcome,
}

impl<'a, M: Machine> World<'a, M> {
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

    fn post(&mut self, after: u64, here: usize, event: Event<M::Message>) {
        self.agenda
            .push(Reverse((self.now + after, self.events.len(), here)));
        self.events.push(Some(event));
    }

    fn next(&mut self) -> Option<(usize, Event<M::Message>)> {
        let Reverse((time, number, here)) = self.agenda.pop()?;
        self.now = time;
        Some((
            here,
            self.events[number].take().expect("an event occurs once"),
        ))
    }

    fn execute(&mut self, here: usize, chunk: Vec<Range<u64>>) {
        let mut times = Summary::default();
        let mut sum = 0;
        for iteration in chunk.into_iter().flatten() {
            let begun = &mut self.begun[iteration as usize];
            assert!(!*begun, "iteration {iteration} begins twice");
            *begun = true;
            let time = self.costs.iteration[iteration as usize];
            times.record(time);
            sum += time;
        }
        let time = self.costs.chunk + sum;
        self.outcome.makespan = self.outcome.makespan.max(self.now + time);
        self.post(time, here, Event::Free(times));
    }

    fn send(&mut self, from: Rank, to: Rank, message: M::Message) {
        let mut load = 0;
        for iteration in M::parts(&message).iter().cloned().flatten() {
            let has_begun = self.begun[iteration as usize];
            assert!(!has_begun, "iteration {iteration} has begun, and moves");
            load += 1;
        }
        self.outcome.moved += load;
        self.outcome.control += u64::from(load == 0);
        let time = (self.costs.message)(load);
        self.post(time, to.index(), Event::Mail(from, message));
    }
}
