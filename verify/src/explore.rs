//! Every state that a protocol can reach, with messages delivered in every order.
//!
//! A [`System`] turns the state machines of the core into a graph: a state is a string of words, a
//! step delivers one message or lets one place do one thing. [`explore`] visits every state, judges
//! it, and reports the shortest known history of the first flaw that it finds.
//!
//! # Soundness
//! Visited states are kept whole, not as hashes: two states are taken for one only if they are
//! equal. Parts of a state (a place, a message) are interned: their number stands for them exactly.
//!
//! # Networks
//! [`Network`] makes a system of any protocol: its [`Machine`](tautline_core::machine::Machine)s
//! and what is [`Checked`] about them, or [`Actors`] that are more than machines: messages form a
//! multiset, or channels between pairs of places; they may be lost, doubled and reordered, and
//! places may be lost, as often as [`NetworkFaults`] allow.
#![forbid(unsafe_code)]

mod actors;
mod balance;
mod checked;
mod network;
mod scenario;
mod tree;
mod visited;
mod world;

pub use actors::{
    Activities, ClosingFault, Closings, Collective, CollectiveFault, Compared, ComparedFault,
    DeferFault, Deferring, Effects, EpochFault, FinishFault, Forecast, Gossip, GossipFault, Kind,
    Leaving, LeavingFault, Ledgers, Opening, OpeningFault, Program, Search, SelfScheduled, Tokens,
};
pub use balance::{Balance, BalanceFault, Checks};
pub use checked::{At, Checked, Part, PartOf, Parts, Past};
pub use network::{Actors, Delivery, Network, NetworkFaults, Out, Parcel, Step, View};
pub use scenario::{Played, check, play};
pub use tree::Tree;

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash};
use std::rc::Rc;
use visited::{Mixer, Visited};

/// An invariant that a state violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// Nothing can happen any more, and the end was not announced.
    Stuck,
    /// The end was announced while something was still running or on its way.
    Early,
    /// The end was announced twice.
    Repeated,
    /// Tasks were lost or done twice.
    Count,
    /// A place has a request without an answer too many.
    Requests,
    /// A lifeline's flag and the request it stands for disagree, or there are two requests.
    Lifeline,
    /// A quiet place that no work can reach while there is work.
    Misrouted,
    /// A place that has work is not active, or requests more.
    Activity,
    /// Everything has ended, but the end was not announced.
    Late,
    /// Nothing is left to tell, and a place does not know the best bound.
    Untold,
    /// A bound was sent twice, or after a better one.
    Chatter,
    /// A place that follows the protocol was refused.
    Refused,
    /// The outcome is not the one that takes precedence among those raised.
    Outcome,
    /// No end can be reached any more, although something can always happen.
    Endless,
    /// A value that is not the latest was seen, changed, or kept as a copy.
    Stale,
    /// There is a second copy beside an exclusive one, or one that the directory lacks.
    Copies,
    /// An access waits although the copy permits it, or was forgotten.
    Unperformed,
    /// A value was sent to a rank, or requested by one, twice.
    Twice,
    /// A value was dropped while a read of it was to come.
    Freed,
    /// A value is kept that no read needs.
    Kept,
}

/// Something that has states and steps.
pub trait System {
    /// One thing that can happen.
    type Step: Copy;

    /// The state before anything has happened.
    fn start(&mut self) -> Vec<u32>;

    /// Calls `each` for every step possible in `state` with the state it leads to.
    fn steps(&mut self, state: &[u32], each: &mut impl FnMut(Self::Step, &[u32]));

    /// Returns the invariant that `state` violates, if any.
    fn judge(&self, state: &[u32]) -> Option<Flaw>;

    /// Whether `state` may be the last.
    fn is_final(&self, state: &[u32]) -> bool;

    /// Describes `step` in a counterexample.
    fn show(&self, step: Self::Step) -> String;
}

/// The result of an exploration.
#[derive(Clone, Debug)]
pub struct Explored {
    /// Different states visited.
    pub states: usize,
    /// Steps taken.
    pub steps: usize,
    /// The first flaw met, if any; the exploration ends there.
    pub found: Option<(Flaw, Story)>,
}

impl Explored {
    /// The kind of the first flaw met.
    pub fn flaw(&self) -> Option<Flaw> {
        self.found.as_ref().map(|(flaw, _)| *flaw)
    }
}

/// The history of a state, one step a line.
#[derive(Clone, Debug)]
pub struct Story(pub Vec<String>);

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// Visits every state of `system`, depth first, up to the first flaw.
///
/// # Panics
/// More than `limit` states.
pub fn explore<S: System>(system: &mut S, limit: usize) -> Explored {
    visit(system, limit).0
}

/// As [`explore`], and checks that from every state a final one can be reached: for protocols that
/// may repeat a state, such as ranks whose requests are declined, one after the other.
///
/// # Panics
/// As [`explore`].
pub fn explore_to_end<S: System>(system: &mut S, limit: usize) -> Explored {
    let (mut explored, visited) = visit(system, limit);
    if explored.found.is_some() {
        return explored;
    }
    let numbers = || 0..visited.len() as u32;
    // Every step backwards: from the state that it leads to.
    let mut back = Vec::new();
    for number in numbers() {
        system.steps(visited.get(number), &mut |_, next| {
            let next = visited.find(next).expect("every state was visited");
            back.push((next, number));
        });
    }
    back.sort_unstable();
    let mut ends: Vec<bool> = numbers()
        .map(|at| system.is_final(visited.get(at)))
        .collect();
    let mut open: Vec<u32> = numbers().filter(|at| ends[*at as usize]).collect();
    while let Some(number) = open.pop() {
        let first = back.partition_point(|(to, _)| *to < number);
        let before = back[first..].iter().take_while(|(to, _)| *to == number);
        for (_, from) in before {
            if !std::mem::replace(&mut ends[*from as usize], true) {
                open.push(*from);
            }
        }
    }
    if let Some(number) = numbers().find(|at| !ends[*at as usize]) {
        explored.found = Some((Flaw::Endless, story(system, &visited, number)));
    }
    explored
}

/// Visits every state, up to the first flaw.
fn visit<S: System>(system: &mut S, limit: usize) -> (Explored, Visited) {
    let start = system.start();
    let mut visited = Visited::default();
    let mut open = vec![visited.insert(&start, 0).expect("the first state")];
    let mut explored = Explored {
        states: 1,
        steps: 0,
        found: None,
    };
    let mut state = Vec::new();
    while let Some(number) = open.pop() {
        state.clear();
        state.extend_from_slice(visited.get(number));
        let mut flaw = system.judge(&state);
        if flaw.is_none() {
            let mut steps = 0;
            system.steps(&state, &mut |_, next| {
                steps += 1;
                open.extend(visited.insert(next, number));
            });
            explored.steps += steps;
            explored.states = visited.len();
            assert!(explored.states <= limit, "more than {limit} states");
            if steps == 0 && !system.is_final(&state) {
                flaw = Some(Flaw::Stuck);
            }
        }
        if let Some(flaw) = flaw {
            explored.found = Some((flaw, story(system, &visited, number)));
            break;
        }
    }
    (explored, visited)
}

/// Returns the history of state `number`, reconstructed from the visited states.
fn story<S: System>(system: &mut S, visited: &Visited, mut number: u32) -> Story {
    let mut lines = Vec::new();
    while number != visited.parent(number) {
        let parent = visited.parent(number);
        let mut taken = None;
        system.steps(visited.get(parent), &mut |step, next| {
            if next == visited.get(number) {
                taken = Some(step);
            }
        });
        lines.push(system.show(taken.expect("the parent leads here")));
        number = parent;
    }
    lines.reverse();
    Story(lines)
}

/// Numbers for values: equal values, equal numbers.
#[derive(Debug)]
struct Interner<T> {
    numbers: HashMap<Rc<T>, u32, BuildHasherDefault<Mixer>>,
    values: Vec<Rc<T>>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self {
            numbers: HashMap::default(),
            values: Vec::new(),
        }
    }
}

impl<T: Eq + Hash> Interner<T> {
    /// The number of `value`, and whether it is new.
    fn number(&mut self, value: T) -> (u32, bool) {
        if let Some(number) = self.numbers.get(&value) {
            return (*number, false);
        }
        let number = u32::try_from(self.values.len()).expect("fewer than 2^32 values");
        let value = Rc::new(value);
        self.values.push(Rc::clone(&value));
        self.numbers.insert(value, number);
        (number, true)
    }

    /// The value with this number.
    fn value(&self, number: u32) -> Rc<T> {
        Rc::clone(&self.values[number as usize])
    }
}

/// `state` without the word at `without` (if any), with the `mail` added; from `from` on the words
/// are a sorted multiset.
fn replace_mail(
    state: &[u32],
    from: usize,
    without: Option<usize>,
    mail: &[u32],
    next: &mut Vec<u32>,
) {
    next.clear();
    next.extend_from_slice(state);
    if let Some(at) = without {
        next.remove(at);
    }
    next.extend_from_slice(mail);
    if !mail.is_empty() {
        next[from..].sort_unstable();
    }
}
