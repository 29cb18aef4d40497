//! The walk of one worker, and the parts that wait for it.

use super::part::{Fork, Part};
use super::{BranchOf, Position};
use crate::balance::{AnyBound, Bag, Reason, Share};

/// The result of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Found<S> {
    /// Positions visited, the root included.
    pub nodes: u64,
    /// The combined result of these positions.
    pub sum: S,
}

/// A part of a backtracking search, or several parts of the same. A task is a branch not yet taken.
///
/// ```
/// use std::ops::Range;
/// use tautline::balance::backtrack::{Found, Position, Search};
/// use tautline::prelude::*;
///
/// /// The words of some length over `a` and `b` in which no `b` follows another.
/// struct Word(Vec<u8>);
///
/// impl Position for Word {
///     type Shared = usize;
///     type Branches = Range<u32>;
///     type Sum = u64;
///
///     fn root(_: &usize) -> Self {
///         Self(Vec::new())
///     }
///
///     fn branches(&mut self, words: &mut u64, &length: &usize) -> Range<u32> {
///         let full = self.0.len() == length;
///         *words += u64::from(full);
///         match self.0.last() {
///             _ if full => 0..0,
///             Some(b'b') => 0..1,
///             _ => 0..2,
///         }
///     }
///
///     fn apply(&mut self, letter: u32, _: &usize) {
///         self.0.push(b'a' + letter as u8);
///     }
///
///     fn undo(&mut self, _: u32, _: &usize) {
///         self.0.pop();
///     }
///
///     fn add(words: &mut u64, other: u64) {
///         *words += other;
///     }
/// }
///
/// let run = tautline::balancer().run(Search::<Word>::new(&20), |_| 20, Found::default())?;
/// assert_eq!(run.output.sum, 17_711);
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Debug)]
pub struct Search<P: Position> {
    /// The walk's current position, or the root if there is no walk. Created when first needed.
    position: Option<P>,
    walk: Part<P::Branches>,
    /// Parts received, to be walked later. Each has branches.
    waiting: Vec<Part<P::Branches>>,
    /// Branches in the parts that wait. Those of the walk are counted on demand.
    laid_by: usize,
    found: Found<P::Sum>,
}

/// Does a whole search on the calling thread. [`Position`] has an example.
pub fn sequential<P: Position>(shared: &P::Shared) -> Found<P::Sum> {
    let mut search = Search::<P>::new(shared);
    search.process(usize::MAX, shared);
    search.found
}

/// Returns the paths to the first `most` positions in which something is found, depth first.
///
/// ```
/// # use tautline::balance::backtrack::{Position, paths};
/// /// The stairs climbed by steps of one and two.
/// struct Climbed(u32);
///
/// impl Position for Climbed {
/// #   type Shared = u32;
/// #   type Branches = std::ops::Range<u32>;
/// #   type Sum = u64;
/// #   fn root(_: &u32) -> Self {
/// #       Self(0)
/// #   }
///     fn branches(&mut self, ways: &mut u64, &stairs: &u32) -> std::ops::Range<u32> {
///         *ways += u64::from(self.0 == stairs);
///         1..(stairs - self.0).min(2) + 1
///     }
///     // …
/// #   fn apply(&mut self, step: u32, _: &u32) {
/// #       self.0 += step;
/// #   }
/// #   fn undo(&mut self, step: u32, _: &u32) {
/// #       self.0 -= step;
/// #   }
/// #   fn add(ways: &mut u64, other: u64) {
/// #       *ways += other;
/// #   }
/// }
///
/// assert_eq!(paths::<Climbed>(&4, 2), [vec![1, 1, 1, 1], vec![1, 1, 2]]);
/// ```
pub fn paths<P: Position<Sum: PartialEq>>(
    shared: &P::Shared,
    most: usize,
) -> Vec<Vec<BranchOf<P>>> {
    let (mut path, mut found) = (Vec::new(), Vec::new());
    let visit = |position: &mut P, path: &Vec<_>, found: &mut Vec<_>| {
        let mut sum = P::Sum::default();
        let open = position.branches(&mut sum, shared);
        if sum != P::Sum::default() {
            found.push(path.clone());
        }
        open
    };
    let mut position = P::root(shared);
    let mut levels = vec![visit(&mut position, &path, &mut found)];
    while let Some(open) = levels.last_mut()
        && found.len() < most
    {
        if let Some(branch) = open.next() {
            position.apply(branch, shared);
            path.push(branch);
            levels.push(visit(&mut position, &path, &mut found));
        } else {
            position.close(shared);
            levels.pop();
            if let Some(branch) = path.pop() {
                position.undo(branch, shared);
            }
        }
    }
    found.truncate(most);
    found
}

impl<P: Position> Search<P> {
    /// Creates the whole search; its root has been visited.
    pub fn new(shared: &P::Shared) -> Self {
        let mut search = Self::of(Vec::new(), 0);
        let mut root = P::root(shared);
        let open = root.branches(&mut search.found.sum, shared);
        search.found.nodes = 1;
        if open.len() > 0 {
            search.walk.last = Some(open);
            search.position = Some(root);
        }
        search
    }

    /// Creates a search without work, for [`merge`](Bag::merge).
    pub fn empty() -> Self {
        Self::of(Vec::new(), 0)
    }

    /// Returns the result of this part so far.
    pub fn found(&self) -> &Found<P::Sum> {
        &self.found
    }

    /// Returns the part that is walked, and those that wait.
    #[cfg(feature = "serde")]
    pub(super) fn parts(&self) -> (&Part<P::Branches>, &[Part<P::Branches>]) {
        (&self.walk, &self.waiting)
    }

    /// Creates a search of parts that another process has sent; `None` if they have more branches
    /// than can be counted.
    #[cfg(feature = "serde")]
    pub(super) fn received(
        mut waiting: Vec<Part<P::Branches>>,
        found: Found<P::Sum>,
    ) -> Option<Self> {
        waiting.retain(|part| !part.is_done());
        let mut open = waiting.iter().map(Part::open);
        let laid_by = open.try_fold(0_usize, |sum, open| sum.checked_add(open))?;
        let mut search = Self::of(waiting, laid_by);
        search.found = found;
        Some(search)
    }

    fn of(waiting: Vec<Part<P::Branches>>, laid_by: usize) -> Self {
        Self {
            position: None,
            walk: Part::default(),
            waiting,
            laid_by,
            found: Found::default(),
        }
    }

    /// Begins the walk of a waiting part: moves the position from the root to that of the part.
    fn begin(&mut self, shared: &P::Shared) -> bool {
        let Some(part) = self.waiting.pop() else {
            return false;
        };
        self.laid_by -= part.open();
        let position = self.position.get_or_insert_with(|| P::root(shared));
        let mut sum = P::Sum::default();
        let _ = position.branches(&mut sum, shared);
        for fork in &part.forks {
            position.apply(fork.taken, shared);
            let _ = position.branches(&mut sum, shared);
        }
        self.walk.forks.extend(part.forks);
        self.walk.last = part.last;
        true
    }

    /// Takes up to `n` branches of the walk, depth first. Returns the number taken.
    #[inline]
    fn walk(&mut self, n: usize, shared: &P::Shared) -> usize {
        let Part { forks, last } = &mut self.walk;
        let (Some(position), Some(mut open)) = (&mut self.position, last.take()) else {
            return 0;
        };
        let sum = &mut self.found.sum;
        let mut left = n;
        while left > 0 {
            if let Some(taken) = open.next() {
                left -= 1;
                position.apply(taken, shared);
                let below = position.branches(sum, shared);
                if below.len() == 0 {
                    position.close(shared);
                    position.undo(taken, shared);
                } else {
                    forks.push(Fork { open, taken });
                    open = below;
                }
            } else {
                position.close(shared);
                let Some(fork) = forks.pop() else {
                    return n - left;
                };
                position.undo(fork.taken, shared);
                open = fork.open;
            }
        }
        *last = Some(open);
        n
    }

    /// Moves the walk to the parts that wait; the position is lost.
    fn rest(mut self) -> Self {
        self.position = None;
        let open = self.walk.open();
        if open > 0 {
            self.laid_by += open;
            self.waiting.push(std::mem::take(&mut self.walk));
        }
        self
    }

    /// Splits parts off, level by level, `due` branches of each, given the number of branches of
    /// the level.
    fn cut(&mut self, mut due: impl FnMut(usize) -> usize) -> Vec<Part<P::Branches>> {
        let mut loot = Vec::with_capacity(self.waiting.len() + 1);
        loot.extend(self.walk.cut(&mut due));
        self.waiting.retain_mut(|part| {
            loot.extend(part.cut(&mut due));
            part.open() > 0
        });
        loot
    }
}

impl<P: Position> Bag for Search<P> {
    type Shared = P::Shared;
    type Output = Found<P::Sum>;

    #[inline]
    fn process(&mut self, n: usize, shared: &P::Shared) -> usize {
        let mut left = n;
        loop {
            let taken = self.walk(left, shared);
            self.found.nodes += taken as u64;
            left -= taken;
            if left == 0 || !self.begin(shared) {
                return n - left;
            }
        }
    }

    /// `Count` takes what is nearest to the root, part by part; the others take the same share of
    /// every level, as nearly as whole branches allow.
    fn split(&mut self, share: Share) -> Option<Self> {
        let all = self.len();
        let amount = share.of(all);
        if amount == 0 {
            return None;
        }
        let (mut seen, mut gone) = (0, 0);
        let loot = match share {
            Share::Count(_) => self.cut(|open| {
                let given = open.min(amount - gone);
                gone += given;
                given
            }),
            // Rounding the running sum, not each level, makes single branches alternate.
            _ => self.cut(|open| {
                seen += open as u128;
                let due = (seen * amount as u128 / all as u128) as usize;
                let given = due - gone;
                gone = due;
                given
            }),
        };
        self.laid_by = self.waiting.iter().map(Part::open).sum();
        Some(Self::of(loot, amount))
    }

    fn merge(&mut self, other: Self) {
        let other = other.rest();
        self.waiting.extend(other.waiting);
        self.laid_by += other.laid_by;
        self.found.nodes += other.found.nodes;
        P::add(&mut self.found.sum, other.found.sum);
    }

    fn len(&self) -> usize {
        self.laid_by + self.walk.open()
    }

    fn is_empty(&self) -> bool {
        self.laid_by == 0 && self.walk.is_done()
    }

    fn bound(shared: &P::Shared) -> Option<&dyn AnyBound> {
        P::bound(shared)
    }

    fn verdict(&self) -> Option<Reason> {
        P::verdict(&self.found.sum)
    }

    fn drop_tasks(&mut self) {
        self.position = None;
        self.walk = Part::default();
        self.waiting.clear();
        self.laid_by = 0;
    }

    fn submit(self, output: &mut Self::Output) {
        output.nodes += self.found.nodes;
        P::add(&mut output.sum, self.found.sum);
    }
}
