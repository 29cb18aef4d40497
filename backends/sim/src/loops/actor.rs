//! Machines of `defer` as actors: a chunk takes as long as its iterations, iterations that are sent take time each.

use crate::engine::{Actor, Engine, Here, Turn, Weigh, World};
use crate::{self as sim, Cluster};
use std::ops::Range;
use tautline_core::defer::{
    Baseline, Call, Deferred, Effect, Epochs, Event, Message, Notice, Predict,
};
use tautline_core::machine::{Action, Machine, Pick, Step, no_calls};
use tautline_core::taper::Summary;
use tautline_core::{PlaceId, Rank};

/// Numbers that look random.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Pick for Random {
    fn pick(&mut self, n: u32) -> u32 {
        let multiplier = 6_364_136_223_846_793_005_u64;
        self.0 = self.0.wrapping_mul(multiplier).wrapping_add(1);
        (self.0 >> 33) as u32 % n
    }
}

/// The machine of a rank.
pub trait Part: Machine<Peer = Rank, Event = Event<Self::Times>, Effect = Effect> {
    /// The times that the machine records of an executed chunk.
    type Times;
    /// Returns that for iterations which took `times`.
    fn times(times: &[u64]) -> Self::Times;
    /// Returns what answers it.
    fn calls(random: &mut Random) -> &mut Self::Calls;
    /// Returns the instance that its chunk belongs to.
    fn instance(&self) -> u64 {
        0
    }
    /// Returns the number of iterations that a message moves.
    fn load(message: &Self::Message) -> u64;
}

fn len(parts: &[Range<u64>]) -> u64 {
    parts.iter().map(|part| part.end - part.start).sum()
}

impl<W: Predict> Part for Epochs<W> {
    type Times = Summary;

    fn times(times: &[u64]) -> Summary {
        let mut summary = Summary::NONE;
        times.iter().for_each(|time| summary.record(*time));
        summary
    }

    fn calls(_: &mut Random) -> &mut () {
        no_calls()
    }

    fn load(message: &Message) -> u64 {
        match message {
            Message::Data(parts) => len(parts),
            _ => 0,
        }
    }
}

impl<W: Predict> Part for Baseline<W> {
    type Times = ();

    fn times(_: &[u64]) {}

    fn calls(random: &mut Random) -> &mut (dyn Pick + 'static) {
        random
    }

    fn load(call: &Call) -> u64 {
        match call {
            Call::Data(parts) | Call::Answer(parts) => len(parts),
            _ => 0,
        }
    }
}

impl Part for Deferred {
    type Times = Vec<u64>;

    fn times(times: &[u64]) -> Vec<u64> {
        times.to_vec()
    }

    fn calls(_: &mut Random) -> &mut () {
        no_calls()
    }

    fn instance(&self) -> u64 {
        self.instance()
    }

    fn load(notice: &Notice) -> u64 {
        match notice {
            Notice::Data(_, part) => part.end - part.start,
            _ => 0,
        }
    }
}

/// A message, and the iterations that it moves.
struct Parcel<M>(M, u64);

impl<M> Weigh for Parcel<M> {
    const KINDS: usize = 2;

    fn kind(&self) -> usize {
        usize::from(self.1 > 0)
    }

    fn bytes(&self) -> u64 {
        self.1
    }
}

/// What things cost beside iterations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A chunk.
    pub chunk_ns: u64,
    /// A message.
    pub message_ns: u64,
    /// An iteration that is sent, beside its message.
    pub moved_ns: u64,
}

impl Costs {
    /// Returns those of a loop whose iterations take `mean_ns` on average: a tenth for a chunk, a fifth for a message, a twentieth
    /// for an iteration (spec 5.4 of Lucco 1995, model M2).
    pub fn of(mean_ns: u64) -> Self {
        Self {
            chunk_ns: mean_ns / 10,
            message_ns: mean_ns / 5,
            moved_ns: mean_ns / 20,
        }
    }

    fn cluster(&self) -> Cluster {
        Cluster {
            wake_ns: 0,
            spin_ns: 0,
            node_places: 1,
            far_ns: self.message_ns,
            near_ns: self.message_ns,
            hop_ns: 0,
            gap_ns: 0,
            mb_per_s: 0,
            ..sim::Machine::default().cluster
        }
    }
}

/// A rank in virtual time.
struct Member<'a, P: Part> {
    part: P,
    random: Random,
    costs: Costs,
    /// By instance, the times of iterations. No further instance is executed.
    times: &'a [Vec<u64>],
    has_begun: bool,
    /// The chunk that is to be executed.
    chunk: Option<Vec<Range<u64>>>,
    /// The times of the chunk being executed.
    running: Option<Vec<u64>>,
    /// The iterations executed.
    executed: Vec<u64>,
    /// By instance, when the first chunk began, and the last one ended.
    began: Vec<u64>,
    ended: Vec<u64>,
}

impl<P: Part> Member<'_, P> {
    /// Lets the machine take a step.
    fn take(
        &mut self,
        here: &Here<'_, Parcel<P::Message>>,
        take: impl FnOnce(&mut P, &mut Step<'_, P>),
    ) {
        let (costs, chunk) = (self.costs, &mut self.chunk);
        let mut act = |action: Action<P>| match action {
            Action::Effect(Effect::Execute(parts)) => *chunk = Some(parts),
            Action::Effect(Effect::End) => {}
            Action::Send(to, message) => {
                let load = P::load(&message);
                here.send(PlaceId(to.0), Parcel(message, load), load * costs.moved_ns);
            }
        };
        let calls = P::calls(&mut self.random);
        take(&mut self.part, &mut Step::new(calls, &mut act));
    }
}

impl<P: Part> Actor for Member<'_, P> {
    type Message = Parcel<P::Message>;

    fn step(&mut self, here: &Here<'_, Self::Message>) -> Turn {
        if let Some(times) = self.running.take() {
            self.ended[self.part.instance() as usize] = here.world().now();
            let times = P::times(&times);
            self.take(here, |part, step| part.event(Event::Executed(times), step));
        } else if !self.has_begun {
            self.has_begun = true;
            self.take(here, |part, step| part.event(Event::Begin, step));
        }
        let Some(now) = self.times.get(self.part.instance() as usize) else {
            return Turn::Parked;
        };
        let Some(chunk) = self.chunk.take() else {
            return Turn::Parked;
        };
        let began = &mut self.began[self.part.instance() as usize];
        *began = here.world().now().min(*began);
        let chunk: Vec<u64> = chunk.into_iter().flatten().collect();
        self.executed.extend(&chunk);
        let chunk = chunk.into_iter();
        let times: Vec<u64> = chunk.map(|at| now[at as usize]).collect();
        let ns = self.costs.chunk_ns + times.iter().sum::<u64>();
        self.running = Some(times);
        Turn::Took { ns, private: false }
    }

    fn on(&mut self, from: PlaceId, parcel: Self::Message, here: &Here<'_, Self::Message>) {
        self.take(here, |part, step| {
            let received = part.receive(Rank(from.0), parcel.0, step);
            received.unwrap_or_else(|refusal| panic!("a message of {from}: {refusal}"));
        });
        here.wake(0, 0);
    }
}

/// Runs the instances with these times. Returns for each the longest time that a rank took, which is that of the instance if all ranks
/// begin it together; and by rank, the iterations that it executed, those of all instances.
///
/// # Panics
/// If there is no rank.
pub fn run<P: Part>(parts: Vec<P>, times: &[Vec<u64>], costs: Costs) -> (Vec<u64>, Vec<Vec<u64>>) {
    let p = parts.len() as u32;
    let world = World::new(costs.cluster(), p, 1, 1);
    let member = |(part, random)| Member {
        part,
        random: Random(random),
        chunk: None,
        costs,
        times,
        executed: Vec::new(),
        has_begun: false,
        running: None,
        began: vec![u64::MAX; times.len()],
        ended: vec![0; times.len()],
    };
    let members = parts.into_iter().zip(0..).map(member).collect();
    let mut engine = Engine::new(&world, members);
    for place in (0..p).map(PlaceId) {
        world.at(place).wake(0, 0);
    }
    engine.run(u64::MAX, || ());
    let members = engine.into_actors();
    let span = |at: usize| {
        let took = members
            .iter()
            .map(|m| m.ended[at].saturating_sub(m.began[at]));
        took.max().unwrap_or(0)
    };
    let spans = (0..times.len()).map(span).collect();
    (spans, members.into_iter().map(|m| m.executed).collect())
}
