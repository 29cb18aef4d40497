//! The laws of a bag: what the balancer relies on, and a check for the tests of a program.
//!
//! A bag that breaks one is a mistake in the program. [`check`] finds it in a test. In a run the
//! balancer detects the two that would otherwise keep it from ending, and panics: [`divide`] after
//! every split, and a worker whose `process` does nothing many times in a row. Source of the laws:
//! Finnerty 2022, `Bag`.

mod random;

use crate::glb::{Bag, Share};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use random::Random;

/// Computations with random splits and merges in one check.
const ROUNDS: u64 = 24;

/// Bags among which such a computation divides its work.
const BAGS: usize = 6;

/// A law of the contract of [`Bag`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Law {
    /// `process` does at least one task if there is one.
    Progress,
    /// `process` does as many tasks as requested, fewer only if the bag became empty.
    Quota,
    /// `split` never returns an empty bag.
    SplitGives,
    /// `split` never leaves an empty bag.
    SplitLeaves,
    /// `split` neither loses nor duplicates tasks.
    SplitKeeps,
    /// `is_splittable` predicts whether `split` succeeds.
    Splittable,
    /// `merge` neither loses nor duplicates tasks.
    MergeKeeps,
    /// `is_empty` is true if `len` is 0, and otherwise false.
    Empty,
    /// The result is independent of how the work was divided, and in which order it was done.
    Order,
    /// `drop_tasks` drops all tasks and keeps the results.
    DropTasks,
    /// A bag that was encoded and decoded is the same.
    Portable,
}

impl Law {
    /// Returns the law as a sentence without its full stop.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Progress => "`process` must do at least one task if there is one",
            Self::Quota => "`process` must do as many tasks as requested, or all that are left",
            Self::SplitGives => "`split` must not return an empty bag",
            Self::SplitLeaves => "`split` must not leave an empty bag",
            Self::SplitKeeps => "`split` must keep the number of tasks",
            Self::Splittable => "`is_splittable` must predict whether `split` succeeds",
            Self::MergeKeeps => "`merge` must keep the number of tasks",
            Self::Empty => "`is_empty` must agree with `len`",
            Self::Order => "the result must not depend on how the work is divided",
            Self::DropTasks => "`drop_tasks` must drop all tasks and keep the results",
            Self::Portable => "encoding and decoding must not change a bag",
        }
    }

    fn broken(self, evidence: String) -> Broken {
        Broken {
            law: self,
            evidence,
        }
    }
}

/// A law that a bag breaks, with the evidence. Displayed as one line, as is its `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Broken {
    /// The law.
    pub law: Law,
    /// The violation by the bag.
    pub evidence: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.law.text(), self.evidence)
    }
}

/// The message itself: it is what a test that unwraps prints.
impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Broken {}

impl Broken {
    /// Ends a computation whose bag breaks a law.
    #[cold]
    fn panic(self) -> ! {
        panic!("the bag breaks its contract: {self}")
    }
}

/// The result of a bag that keeps all laws, and the tasks that it took in sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked<T> {
    /// The result.
    pub output: T,
    /// The number of tasks.
    pub tasks: usize,
}

/// Checks the laws of the bag that `bag` creates: does its work in sequence, divided down to single
/// tasks, and in several computations that split and merge at random, the same ones in every call.
/// Compares their results.
///
/// `shared` and `output` create the values that the places share and to which bags submit. The work
/// is done some thirty times, so the bag should have at most some 100 000 tasks. It must be finite:
/// a `process` that creates tasks for ever is not detected.
///
/// ```
/// use tautline_core::glb::{Bag, Share, laws};
///
/// /// Tasks without a result.
/// struct Sheaf(usize);
///
/// impl Bag for Sheaf {
///     type Shared = ();
///     type Output = ();
///
///     fn process(&mut self, n: usize, (): &()) -> usize {
///         let done = n.min(self.0);
///         self.0 -= done;
///         done
///     }
///
///     fn split(&mut self, share: Share) -> Option<Self> {
///         let taken = share.of(self.0).max(1); // wrong: the last task, too
///         self.0 -= taken;
///         Some(Self(taken))
///     }
///
///     fn merge(&mut self, other: Self) {
///         self.0 += other.0;
///     }
///
///     fn len(&self) -> usize {
///         self.0
///     }
///
///     fn submit(self, (): &mut ()) {}
/// }
///
/// let broken = laws::check(|| Sheaf(100), || (), || ()).unwrap_err();
/// assert_eq!(broken.law, laws::Law::SplitLeaves);
/// println!("{broken}");
/// ```
///
/// # Errors
/// The first law that is found to be broken.
pub fn check<B: Bag>(
    bag: impl Fn() -> B,
    shared: impl Fn() -> B::Shared,
    output: impl Fn() -> B::Output,
) -> Result<Checked<B::Output>, Broken>
where
    B::Output: PartialEq + fmt::Debug,
{
    let trial = Trial {
        bag,
        shared,
        output,
    };
    let checked = trial.in_sequence()?;
    let mut firsts = [0, 1, checked.tasks / 8, checked.tasks / 2];
    firsts.sort_unstable();
    for first in firsts {
        trial.shredded(first, &checked.output)?;
    }
    for seed in 0..ROUNDS {
        trial.scattered(seed, &checked.output)?;
    }
    trial.dropped(checked.tasks / 2)?;
    Ok(checked)
}

/// As [`check`], for a bag that travels between ranks: encodes and decodes it as well, at several
/// stages of its work.
///
/// # Errors
/// As [`check`].
#[cfg(feature = "wire")]
pub fn check_portable<B: Bag + crate::wire::Portable>(
    bag: impl Fn() -> B,
    shared: impl Fn() -> B::Shared,
    output: impl Fn() -> B::Output,
) -> Result<Checked<B::Output>, Broken>
where
    B::Output: PartialEq + fmt::Debug,
{
    let checked = check(&bag, &shared, &output)?;
    let trial = Trial {
        bag,
        shared,
        output,
    };
    for first in [0, 1, checked.tasks / 2, checked.tasks] {
        trial.sent(first, &checked.output)?;
    }
    Ok(checked)
}

/// Splits `bag`.
///
/// # Panics
/// If the bag that is returned, or the one that is left, is empty: a computation with such a bag
/// need not end.
pub fn divide<B: Bag>(bag: &mut B, share: Share) -> Option<B> {
    let part = bag.split(share)?;
    if part.is_empty() || bag.is_empty() {
        uneven(bag, &part, share).panic();
    }
    Some(part)
}

/// Returns the law that a split broke, one side of which is empty.
#[cold]
fn uneven<B: Bag>(left: &B, given: &B, share: Share) -> Broken {
    let law = match given.is_empty() {
        true => Law::SplitGives,
        false => Law::SplitLeaves,
    };
    let (left, given) = (left.len(), given.len());
    let len = given + left;
    law.broken(format!("{share:?} of {len} gave {given}, left {left}"))
}

/// Ends a computation in which `process` did none of `requested` tasks, `times` times in a row.
///
/// # Panics
/// Always.
#[cold]
pub fn fruitless<B: Bag>(bag: &B, requested: usize, times: u32) -> ! {
    let len = bag.len();
    let evidence =
        format!("it did 0 of {requested} tasks {times} times in a row, with {len} in the bag");
    Law::Progress.broken(evidence).panic()
}

/// A computation that is repeated, divided differently.
struct Trial<M, S, O> {
    bag: M,
    shared: S,
    output: O,
}

impl<B: Bag, M: Fn() -> B, S: Fn() -> B::Shared, O: Fn() -> B::Output> Trial<M, S, O>
where
    B::Output: PartialEq + fmt::Debug,
{
    fn in_sequence(&self) -> Result<Checked<B::Output>, Broken> {
        let (mut bag, shared, mut output) = ((self.bag)(), (self.shared)(), (self.output)());
        let (mut tasks, mut n) = (0, 1);
        while !is_empty(&bag)? {
            tasks += process(&mut bag, n, &shared)?;
            n = if n < 1 << 10 { 2 * n } else { 1 };
        }
        bag.submit(&mut output);
        Ok(Checked { output, tasks })
    }

    /// Does `first` tasks, divides the rest to single tasks, merges them, and does them.
    fn shredded(&self, first: usize, expected: &B::Output) -> Result<(), Broken> {
        let (mut bag, shared) = ((self.bag)(), (self.shared)());
        process(&mut bag, first, &shared)?;
        let (mut whole, mut all) = (Vec::from([bag]), None);
        while let Some(mut bag) = whole.pop() {
            match split(&mut bag, Share::Half)? {
                Some(part) => whole.extend([bag, part]),
                None => merge(&mut all, bag)?,
            }
        }
        let mut all = all.expect("the bag was whole at first");
        process(&mut all, usize::MAX, &shared)?;
        self.compare([all], expected, || {
            format!("divided to single tasks after {first}")
        })
    }

    /// Does the work in several bags that give and take at random.
    fn scattered(&self, seed: u64, expected: &B::Output) -> Result<(), Broken> {
        let (mut random, shared) = (Random::new(seed), (self.shared)());
        let mut bags: [Option<B>; BAGS] = [const { None }; BAGS];
        bags[0] = Some((self.bag)());
        while bags.iter().flatten().any(|bag| !bag.is_empty()) {
            let (from, to) = (random.below(BAGS), random.below(BAGS));
            if from != to {
                // Now and then the whole bag, with the results in it.
                let part = match (random.below(8), &mut bags[from]) {
                    (0, whole) => whole.take(),
                    (_, Some(bag)) => split(bag, random.share())?,
                    (_, None) => None,
                };
                if let Some(part) = part {
                    merge(&mut bags[to], part)?;
                }
            }
            let most = 1 << random.below(10);
            let n = 1 + random.below(most);
            for bag in bags.iter_mut().flatten() {
                process(bag, n, &shared)?;
            }
        }
        self.compare(bags.into_iter().flatten(), expected, || {
            format!("in {BAGS} bags, round {seed}")
        })
    }

    fn dropped(&self, first: usize) -> Result<(), Broken> {
        let done = || {
            let (mut bag, shared) = ((self.bag)(), (self.shared)());
            process(&mut bag, first, &shared).map(|_| bag)
        };
        let (kept, mut dropped) = (done()?, done()?);
        dropped.drop_tasks();
        let left = dropped.len();
        // The provided method drops nothing.
        if left != 0 && left != kept.len() {
            return Err(Law::DropTasks.broken(format!("{left} of {} are left", kept.len())));
        }
        let result = |bag: B| {
            let mut output = (self.output)();
            bag.submit(&mut output);
            output
        };
        let (kept, dropped) = (result(kept), result(dropped));
        match kept == dropped {
            true => Ok(()),
            false => Err(Law::DropTasks.broken(format!("{dropped:?} instead of {kept:?}"))),
        }
    }

    /// Does `first` tasks, encodes and decodes the bag, and does the rest.
    #[cfg(feature = "wire")]
    fn sent(&self, first: usize, expected: &B::Output) -> Result<(), Broken>
    where
        B: crate::wire::Portable,
    {
        let (mut bag, shared) = ((self.bag)(), (self.shared)());
        process(&mut bag, first, &shared)?;
        let (len, mut bytes) = (bag.len(), Vec::new());
        let refused = |error: String| Law::Portable.broken(error);
        crate::wire::pack(&bag, &mut bytes).map_err(|error| refused(format!("{error}")))?;
        let mut bag: B =
            crate::wire::unpack(&bytes).map_err(|error| refused(format!("{error}")))?;
        if bag.len() != len {
            return Err(refused(format!("{} tasks instead of {len}", bag.len())));
        }
        process(&mut bag, usize::MAX, &shared)?;
        self.compare([bag], expected, || format!("decoded after {first} tasks"))
            .map_err(|broken| refused(broken.evidence))
    }

    fn compare(
        &self,
        bags: impl IntoIterator<Item = B>,
        expected: &B::Output,
        how: impl Fn() -> String,
    ) -> Result<(), Broken> {
        let mut output = (self.output)();
        bags.into_iter().for_each(|bag| bag.submit(&mut output));
        match output == *expected {
            true => Ok(()),
            false => {
                Err(Law::Order.broken(format!("{output:?} {}, {expected:?} in sequence", how())))
            }
        }
    }
}

fn is_empty<B: Bag>(bag: &B) -> Result<bool, Broken> {
    let (empty, len) = (bag.is_empty(), bag.len());
    match empty == (len == 0) {
        true => Ok(empty),
        false => Err(Law::Empty.broken(format!("it is {empty} with {len} tasks"))),
    }
}

fn process<B: Bag>(bag: &mut B, n: usize, shared: &B::Shared) -> Result<usize, Broken> {
    let len = bag.len();
    let was_empty = is_empty(bag)?;
    let done = bag.process(n, shared);
    let is_empty = is_empty(bag)?;
    let evidence = || {
        format!(
            "it did {done} of {n} with {len} in the bag, and {} are left",
            bag.len()
        )
    };
    if done == 0 && n > 0 && !was_empty {
        return Err(Law::Progress.broken(evidence()));
    }
    let is_right = done == n || done < n && is_empty;
    match is_right {
        true => Ok(done),
        false => Err(Law::Quota.broken(evidence())),
    }
}

fn split<B: Bag>(bag: &mut B, share: Share) -> Result<Option<B>, Broken> {
    let (len, splittable) = (bag.len(), bag.is_splittable());
    let part = bag.split(share);
    let (given, left) = (part.as_ref().map_or(0, B::len), bag.len());
    let left_empty = is_empty(bag)?;
    if let Some(part) = &part {
        if is_empty(part)? || left_empty {
            return Err(uneven(bag, part, share));
        }
    }
    if given + left != len {
        let evidence = format!("{share:?} of {len} gave {given}, left {left}");
        return Err(Law::SplitKeeps.broken(evidence));
    }
    // A smaller share may be refused.
    let is_right = match part {
        Some(_) => splittable,
        None => !splittable || share != Share::Half,
    };
    if !is_right {
        let gave = if part.is_some() { "a bag" } else { "none" };
        let evidence = format!("it was {splittable}, and {share:?} of {len} gave {gave}");
        return Err(Law::Splittable.broken(evidence));
    }
    Ok(part)
}

fn merge<B: Bag>(into: &mut Option<B>, part: B) -> Result<(), Broken> {
    let Some(bag) = into else {
        *into = Some(part);
        return Ok(());
    };
    let (before, added) = (bag.len(), part.len());
    bag.merge(part);
    match bag.len() {
        len if len == before + added => Ok(()),
        len => {
            let evidence = format!("{before} and {added} make {len}");
            Err(Law::MergeKeeps.broken(evidence))
        }
    }
}
