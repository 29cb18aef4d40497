//! A reduction whose result all ranks get, by the algorithm that suits their number.

use super::operation::{AllReduce, CombineForAll};
use super::pairs::{Paired, Pairs};
use super::wave::{Message, Stray};
use super::{Branch, Wave};
use crate::id::Rank;
use crate::machine::{Action, Machine, Step};

/// A reduction whose result all ranks get, at one rank: in pairs where [ranks are
/// few](Pairs::MOST), else along the tree. The operator must be associative, and need not be
/// commutative; the result has the same bits at all ranks, in every run.
///
/// ```
/// use tautline_core::Rank;
/// use tautline_core::collective::ForAll;
/// use tautline_core::machine::{Action, Machine, Step};
///
/// let mut sum = ForAll::new(Rank(0), 1, |a: u64, b| a + b);
/// let mut ended = None;
/// let mut act = |action| match action {
///     Action::Effect(total) => ended = Some(total),
///     Action::Send(..) => unreachable!("there is no other rank"),
/// };
/// sum.event(7, &mut Step::new(&mut (), &mut act));
/// assert_eq!(ended, Some(7));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ForAll<T: Clone, F: FnMut(T, T) -> T> {
    /// In pairs.
    Pairs(Pairs<T, F>),
    /// Along the tree.
    Tree(AllReduce<T, F>),
}

/// A message of a [`ForAll`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum InForAll<T> {
    /// In pairs.
    Pairs(Paired<T>),
    /// Along the tree.
    Tree(Message<T, T>),
}

impl<T: Clone, F: FnMut(T, T) -> T> ForAll<T, F> {
    /// Creates the machine of `here` among `ranks`.
    ///
    /// # Panics
    /// If `here` is not one of the ranks.
    pub fn new(here: Rank, ranks: u32, operator: F) -> Self {
        match ranks <= Pairs::<T, F>::MOST {
            true => Self::Pairs(Pairs::new(here, ranks, operator)),
            false => {
                let combine = CombineForAll::by(operator);
                Self::Tree(Wave::new(Branch::of(here, ranks), combine))
            }
        }
    }

    /// Returns whether this rank has ended.
    pub fn has_ended(&self) -> bool {
        match self {
            Self::Pairs(pairs) => pairs.has_ended(),
            Self::Tree(wave) => wave.has_ended(),
        }
    }
}

impl ForAll<(), fn((), ())> {
    /// Creates the machine of a barrier: no rank ends before all have begun.
    ///
    /// # Panics
    /// If `here` is not one of the ranks.
    pub fn barrier(here: Rank, ranks: u32) -> Self {
        Self::new(here, ranks, |(), ()| ())
    }
}

/// The event is the value of this rank, the effect what those of all combine to.
impl<T: Clone, F: FnMut(T, T) -> T> Machine for ForAll<T, F> {
    type Peer = Rank;
    type Message = InForAll<T>;
    type Event = T;
    type Effect = T;
    type Calls = ();
    type Refusal = Stray;

    /// # Panics
    /// If it has begun before.
    fn event(&mut self, own: T, step: &mut Step<'_, Self>) {
        match self {
            Self::Pairs(pairs) => step.within(in_pairs, |step| pairs.event(own, step)),
            Self::Tree(wave) => step.within(in_tree, |step| wave.event(own, step)),
        }
    }

    fn receive(
        &mut self,
        from: Rank,
        message: InForAll<T>,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Stray> {
        match (self, message) {
            (Self::Pairs(pairs), InForAll::Pairs(message)) => {
                step.within(in_pairs, |step| pairs.receive(from, message, step))
            }
            (Self::Tree(wave), InForAll::Tree(message)) => {
                step.within(in_tree, |step| wave.receive(from, message, step))
            }
            _ => Err(Stray),
        }
    }
}

type Act<'a, T, F> = &'a mut dyn FnMut(Action<ForAll<T, F>>);

fn in_pairs<T: Clone, F: FnMut(T, T) -> T>(action: Action<Pairs<T, F>>, act: Act<'_, T, F>) {
    act(match action {
        Action::Send(to, message) => Action::Send(to, InForAll::Pairs(message)),
        Action::Effect(all) => Action::Effect(all),
    });
}

fn in_tree<T: Clone, F: FnMut(T, T) -> T>(action: Action<AllReduce<T, F>>, act: Act<'_, T, F>) {
    act(match action {
        Action::Send(to, message) => Action::Send(to, InForAll::Tree(message)),
        Action::Effect(all) => Action::Effect(all),
    });
}
