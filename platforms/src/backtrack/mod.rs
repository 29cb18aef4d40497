//! Backtracking as a bag: a program says what a position is, [`Search`] walks, divides and counts.
//!
//! # Algorithm
//!
//! Depth first, on one position that is changed and changed back. A search keeps, for each level of its
//! path, the branches not yet taken as an interval of one flat list (Finnerty 2022, recommended bag). To
//! divide it, every interval is cut; the part cut off takes along the branches of the path, by which its
//! new owner repeats the way from the root. So what travels is bounded by the depth of the tree, whatever
//! lies below. Cutting every level gives both sides near and far subtrees alike.
//!
//! A position stays with the worker that made it, and so do the lists of the walk: dividing copies a
//! path and some branches, and no node allocates.
#![forbid(unsafe_code)]

mod part;

use crate::glb::{Bag, Bound, Reason, Share};
use part::Part;

/// A position in a tree of choices, the root's to begin with.
///
/// The walk calls [`branches`](Self::branches) at a position; for each branch it takes
/// [`apply`](Self::apply), the same below, and [`undo`](Self::undo); then [`close`](Self::close).
pub trait Position: Sized + Send {
    /// What all workers of a place see, one value a place.
    type Shared: Sync;
    /// A choice. Small: it is stored for each open branch, and travels.
    type Branch: Copy + Send;
    /// What is found; its default is nothing.
    type Sum: Default + Send;

    /// The root.
    fn root(shared: &Self::Shared) -> Self;

    /// Adds the branches of this position to `list`, to be taken in that order; what is found here goes
    /// into `sum`. The list holds other positions' branches already: it may only be added to.
    ///
    /// A worker that takes over part of a search calls this again for each position on the path
    /// and drops what is listed and found: the position must come out the same.
    fn branches(
        &mut self,
        list: &mut Vec<Self::Branch>,
        sum: &mut Self::Sum,
        shared: &Self::Shared,
    );

    /// Goes down a branch that [`branches`](Self::branches) listed here.
    fn apply(&mut self, branch: Self::Branch, shared: &Self::Shared);

    /// Goes back up the branch taken last.
    fn undo(&mut self, branch: Self::Branch, shared: &Self::Shared);

    /// Takes back what [`branches`](Self::branches) changed, if it did.
    #[inline(always)]
    fn close(&mut self, _shared: &Self::Shared) {}

    /// Adds what another part of the search found. Order must not matter.
    fn add(sum: &mut Self::Sum, other: Self::Sum);

    /// The bound that prunes this search, if it has one.
    fn bound(_shared: &Self::Shared) -> Option<&Bound> {
        None
    }

    /// A reason to end the whole search, given what has been found here.
    fn verdict(_sum: &Self::Sum) -> Option<Reason> {
        None
    }
}

/// What a search has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found<S> {
    /// Positions visited, the root included.
    pub nodes: u64,
    /// What was found there.
    pub sum: S,
}

/// A part of a backtracking search, or several parts of the same. A task is a branch not yet taken.
///
/// ```
/// use tautline::backtrack::{Found, Position, Search};
/// use tautline::prelude::*;
///
/// /// The words of some length over `a` and `b` in which no `b` follows another.
/// struct Word(Vec<u8>);
///
/// impl Position for Word {
///     type Shared = usize;
///     type Branch = u8;
///     type Sum = u64;
///
///     fn root(_: &usize) -> Self {
///         Self(Vec::new())
///     }
///
///     fn branches(&mut self, list: &mut Vec<u8>, words: &mut u64, &length: &usize) {
///         if self.0.len() == length {
///             *words += 1;
///         } else {
///             list.push(b'a');
///             list.extend((self.0.last() != Some(&b'b')).then_some(b'b'));
///         }
///     }
///
///     fn apply(&mut self, letter: u8, _: &usize) {
///         self.0.push(letter);
///     }
///
///     fn undo(&mut self, _: u8, _: &usize) {
///         self.0.pop();
///     }
///
///     fn add(words: &mut u64, other: u64) {
///         *words += other;
///     }
/// }
///
/// let run = Glb::new().run(Search::<Word>::new(&20), |_| 20, Found::default())?;
/// assert_eq!(run.output.sum, 17_711);
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Debug)]
pub struct Search<P: Position> {
    /// At the last position of the walk's path, at the root if there is no walk. Made when first needed.
    position: Option<P>,
    walk: Part<P::Branch>,
    /// Parts that came in, to be walked later. None is without branches.
    waiting: Vec<Part<P::Branch>>,
    /// Branches in the walk and in all parts waiting.
    open: usize,
    found: Found<P::Sum>,
}

/// Does a whole search on this thread alone.
pub fn sequential<P: Position>(shared: &P::Shared) -> Found<P::Sum> {
    let mut search = Search::<P>::new(shared);
    search.process(usize::MAX, shared);
    search.found
}

impl<P: Position> Search<P> {
    /// The whole search, its root visited already.
    pub fn new(shared: &P::Shared) -> Self {
        let mut search = Self::of(Vec::new(), 0);
        let mut root = P::root(shared);
        let list = &mut search.walk.branches;
        root.branches(list, &mut search.found.sum, shared);
        search.found.nodes = 1;
        search.open = list.len();
        if search.open > 0 {
            search.walk.descend(0);
            search.position = Some(root);
        }
        search
    }

    /// A search without work, to be given some by [`merge`](Bag::merge).
    pub fn empty() -> Self {
        Self::of(Vec::new(), 0)
    }

    /// What this part has come to so far.
    pub fn found(&self) -> &Found<P::Sum> {
        &self.found
    }

    fn of(waiting: Vec<Part<P::Branch>>, open: usize) -> Self {
        Self {
            position: None,
            walk: Part::default(),
            waiting,
            open,
            found: Found::default(),
        }
    }

    /// Begins the walk of a waiting part: the position goes from the root to where the part is.
    fn begin(&mut self, shared: &P::Shared) -> bool {
        let Some(part) = self.waiting.pop() else {
            return false;
        };
        self.walk.copy_from(&part);
        let position = self.position.get_or_insert_with(|| P::root(shared));
        let (mut list, mut sum) = (Vec::new(), P::Sum::default());
        position.branches(&mut list, &mut sum, shared);
        for branch in part.path() {
            position.apply(branch, shared);
            list.clear();
            position.branches(&mut list, &mut sum, shared);
        }
        true
    }

    /// Takes up to `n` branches of the walk, depth first. Returns how many it took and how many it listed.
    #[inline]
    fn walk(&mut self, n: usize, shared: &P::Shared) -> (usize, usize) {
        let Some(position) = &mut self.position else {
            return (0, 0);
        };
        let Part { branches, levels } = &mut self.walk;
        let sum = &mut self.found.sum;
        let (mut taken, mut listed) = (0, 0);
        let Some(mut level) = levels.pop() else {
            return (0, 0);
        };
        loop {
            if level.next == level.end {
                position.close(shared);
                match levels.pop() {
                    Some(above) => level = above,
                    None => return (taken, listed),
                }
                position.undo(branches[level.next as usize - 1], shared);
                continue;
            }
            if taken == n {
                break;
            }
            let branch = branches[level.next as usize];
            level.next += 1;
            taken += 1;
            position.apply(branch, shared);
            branches.truncate(level.end as usize);
            position.branches(branches, sum, shared);
            let end = branches.len() as u32;
            if end == level.end {
                position.close(shared);
                position.undo(branch, shared);
            } else {
                listed += (end - level.end) as usize;
                levels.push(level);
                level = part::Level {
                    next: level.end,
                    end,
                };
            }
        }
        levels.push(level);
        (taken, listed)
    }

    /// Moves the walk to the parts that wait; the position is lost.
    fn rest(mut self) -> Self {
        self.position = None;
        if self.walk.open() > 0 {
            self.waiting.push(std::mem::take(&mut self.walk));
        }
        self
    }

    /// Cuts parts off, level by level, `due` branches of each: it is told how many the level has.
    fn cut(&mut self, mut due: impl FnMut(usize) -> usize) -> Vec<Part<P::Branch>> {
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
        while left > 0 && self.open > 0 {
            let (taken, listed) = self.walk(left, shared);
            self.open = self.open + listed - taken;
            self.found.nodes += taken as u64;
            left -= taken;
            if left == 0 || !self.begin(shared) {
                break;
            }
        }
        n - left
    }

    /// `Count` takes what is nearest to the root, part by part; the others the same part of every
    /// level, as nearly as whole branches allow.
    fn split(&mut self, share: Share) -> Option<Self> {
        let (all, amount) = (self.open, share.of(self.open));
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
            // Rounding the running sum, not each level, lets single branches alternate.
            _ => self.cut(|open| {
                seen += open as u128;
                let due = (seen * amount as u128 / all as u128) as usize;
                let given = due - gone;
                gone = due;
                given
            }),
        };
        self.open -= amount;
        Some(Self::of(loot, amount))
    }

    fn merge(&mut self, other: Self) {
        let other = other.rest();
        self.waiting.extend(other.waiting);
        self.open += other.open;
        self.found.nodes += other.found.nodes;
        P::add(&mut self.found.sum, other.found.sum);
    }

    fn len(&self) -> usize {
        self.open
    }

    fn bound(shared: &P::Shared) -> Option<&Bound> {
        P::bound(shared)
    }

    fn verdict(&self) -> Option<Reason> {
        P::verdict(&self.found.sum)
    }

    fn submit(self, output: &mut Self::Output) {
        output.nodes += self.found.nodes;
        P::add(&mut output.sum, self.found.sum);
    }
}
