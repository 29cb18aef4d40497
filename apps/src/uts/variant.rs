//! Bags that divide badly, to test a balancer.
//!
//! Source: Finnerty 2022, the variants "split 1" and "split 2" of his unbalanced tree search, which
//! mislead a tuner that counts the splits of a reserve against the merges into it. Nothing in them
//! is specific to trees, so they wrap any bag.

use serde::{Deserialize, Serialize};
use tautline_core::glb::{Bag, Reason, Share};
use tautline_core::lifeline::AnyBound;

/// Split 1: a reserve is never divided, so the first dry worker gets all of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Whole<B>(
    /// The wrapped bag.
    pub B,
);

impl<B: Bag> Bag for Whole<B> {
    type Shared = B::Shared;
    type Output = B::Output;

    fn process(&mut self, n: usize, shared: &B::Shared) -> usize {
        self.0.process(n, shared)
    }

    /// Refuses [`Share::Refill`]: then all is transferred.
    fn split(&mut self, share: Share) -> Option<Self> {
        match share {
            Share::Refill => None,
            share => self.0.split(share).map(Self),
        }
    }

    fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn is_splittable(&self) -> bool {
        self.0.is_splittable()
    }

    fn bound(shared: &B::Shared) -> Option<&dyn AnyBound> {
        B::bound(shared)
    }

    fn verdict(&self) -> Option<Reason> {
        self.0.verdict()
    }

    fn drop_tasks(&mut self) {
        self.0.drop_tasks();
    }

    fn submit(self, output: &mut B::Output) {
        self.0.submit(output);
    }
}

/// Split 2: work that was received at different times is kept apart, and only one of these
/// fragments is divided at a time. So a reserve must be split more often, the more often it was
/// fed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fragments<B> {
    /// The fragment that is processed.
    first: B,
    /// Each has tasks.
    others: Vec<B>,
}

impl<B> From<B> for Fragments<B> {
    fn from(first: B) -> Self {
        Self {
            first,
            others: Vec::new(),
        }
    }
}

impl<B: Bag> Bag for Fragments<B> {
    type Shared = B::Shared;
    type Output = B::Output;

    fn process(&mut self, n: usize, shared: &B::Shared) -> usize {
        let mut done = self.first.process(n, shared);
        while done < n {
            let Some(fragment) = self.others.pop() else {
                break;
            };
            self.first.merge(fragment);
            done += self.first.process(n - done, shared);
        }
        done
    }

    /// The share is one of the fragment that was received last; if no fragment can be divided like
    /// that, that fragment is given as a whole.
    fn split(&mut self, share: Share) -> Option<Self> {
        let fragments = self.others.iter_mut().rev().chain([&mut self.first]);
        let part = fragments
            .filter(|fragment| fragment.is_splittable())
            .find_map(|fragment| fragment.split(share));
        let whole = || match self.first.is_empty() && self.others.len() < 2 {
            true => None,
            false => self.others.pop(),
        };
        part.or_else(whole).map(Self::from)
    }

    fn merge(&mut self, other: Self) {
        if self.is_empty() || other.first.is_empty() {
            self.first.merge(other.first);
        } else {
            self.others.push(other.first);
        }
        self.others.extend(other.others);
    }

    fn len(&self) -> usize {
        self.first.len() + self.others.iter().map(B::len).sum::<usize>()
    }

    fn is_empty(&self) -> bool {
        self.first.is_empty() && self.others.is_empty()
    }

    fn is_splittable(&self) -> bool {
        let fragments = self.others.len() + usize::from(!self.first.is_empty());
        fragments > 1 || self.first.is_splittable() || self.others.iter().any(B::is_splittable)
    }

    fn bound(shared: &B::Shared) -> Option<&dyn AnyBound> {
        B::bound(shared)
    }

    fn verdict(&self) -> Option<Reason> {
        self.others.iter().chain([&self.first]).find_map(B::verdict)
    }

    fn drop_tasks(&mut self) {
        for fragment in self.others.drain(..) {
            self.first.merge(fragment);
        }
        self.first.drop_tasks();
    }

    fn submit(self, output: &mut B::Output) {
        for fragment in self.others.into_iter().chain([self.first]) {
            fragment.submit(output);
        }
    }
}

/// A rule by which a bag divides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Division {
    /// Unchanged.
    #[default]
    Plain,
    /// As [`Whole`].
    Whole,
    /// As [`Fragments`].
    Fragments,
}

/// A bag whose division is chosen at run time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Divided<B> {
    /// Unchanged.
    Plain(B),
    /// Split 1.
    Whole(Whole<B>),
    /// Split 2.
    Fragments(Fragments<B>),
}

impl<B> Divided<B> {
    /// Wraps `bag`, divided in this way.
    pub fn new(division: Division, bag: B) -> Self {
        match division {
            Division::Plain => Self::Plain(bag),
            Division::Whole => Self::Whole(Whole(bag)),
            Division::Fragments => Self::Fragments(Fragments::from(bag)),
        }
    }
}

impl<B: Bag> Bag for Divided<B> {
    type Shared = B::Shared;
    type Output = B::Output;

    fn process(&mut self, n: usize, shared: &B::Shared) -> usize {
        match self {
            Self::Plain(bag) => bag.process(n, shared),
            Self::Whole(bag) => bag.process(n, shared),
            Self::Fragments(bag) => bag.process(n, shared),
        }
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        match self {
            Self::Plain(bag) => bag.split(share).map(Self::Plain),
            Self::Whole(bag) => bag.split(share).map(Self::Whole),
            Self::Fragments(bag) => bag.split(share).map(Self::Fragments),
        }
    }

    /// # Panics
    /// If `other` divides in another way.
    fn merge(&mut self, other: Self) {
        match (self, other) {
            (Self::Plain(bag), Self::Plain(other)) => bag.merge(other),
            (Self::Whole(bag), Self::Whole(other)) => bag.merge(other),
            (Self::Fragments(bag), Self::Fragments(other)) => bag.merge(other),
            _ => panic!("bags of one computation divide alike"),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Plain(bag) => bag.len(),
            Self::Whole(bag) => bag.len(),
            Self::Fragments(bag) => bag.len(),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Plain(bag) => bag.is_empty(),
            Self::Whole(bag) => bag.is_empty(),
            Self::Fragments(bag) => bag.is_empty(),
        }
    }

    fn is_splittable(&self) -> bool {
        match self {
            Self::Plain(bag) => bag.is_splittable(),
            Self::Whole(bag) => bag.is_splittable(),
            Self::Fragments(bag) => bag.is_splittable(),
        }
    }

    fn bound(shared: &B::Shared) -> Option<&dyn AnyBound> {
        B::bound(shared)
    }

    fn verdict(&self) -> Option<Reason> {
        match self {
            Self::Plain(bag) => bag.verdict(),
            Self::Whole(bag) => bag.verdict(),
            Self::Fragments(bag) => bag.verdict(),
        }
    }

    fn drop_tasks(&mut self) {
        match self {
            Self::Plain(bag) => bag.drop_tasks(),
            Self::Whole(bag) => bag.drop_tasks(),
            Self::Fragments(bag) => bag.drop_tasks(),
        }
    }

    fn submit(self, output: &mut B::Output) {
        match self {
            Self::Plain(bag) => bag.submit(output),
            Self::Whole(bag) => bag.submit(output),
            Self::Fragments(bag) => bag.submit(output),
        }
    }
}
