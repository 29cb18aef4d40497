//! The work that a program passes to the balancer: a bag, or single tasks for a predefined one.

mod sum;

pub use sum::Sum;

use crate::deque::Local;
use crate::finish::Reason;
use crate::lifeline::AnyBound;
use alloc::vec::Vec;

/// Work that can be processed in parts, divided and merged.
///
/// The balancer calls all methods of a given bag from one thread at a time and never inspects it.
/// `split` and `merge` must preserve the multiset of tasks: none lost, none duplicated. A test of
/// the program should call [`laws::check`](super::laws::check), which checks all that the balancer
/// relies on. Source: Finnerty 2022, `Bag`; [`Share`] adds Saraswat's steal policies.
///
/// ```
/// use tautline_core::glb::{Bag, Share};
///
/// /// Numbers to be summed up.
/// struct Numbers {
///     todo: Vec<u64>,
///     sum: u64,
/// }
///
/// impl Bag for Numbers {
///     type Shared = ();
///     type Output = u64;
///
///     fn process(&mut self, n: usize, (): &()) -> usize {
///         let from = self.todo.len().saturating_sub(n);
///         let done = self.todo.drain(from..);
///         let count = done.len();
///         self.sum += done.sum::<u64>();
///         count
///     }
///
///     fn split(&mut self, share: Share) -> Option<Self> {
///         let taken = share.of(self.todo.len());
///         (taken > 0).then(|| Self { todo: self.todo.drain(..taken).collect(), sum: 0 })
///     }
///
///     fn merge(&mut self, other: Self) {
///         self.todo.extend(other.todo);
///         self.sum += other.sum;
///     }
///
///     fn len(&self) -> usize {
///         self.todo.len()
///     }
///
///     fn submit(self, output: &mut u64) {
///         *output += self.sum;
///     }
/// }
///
/// let mut bag = Numbers { todo: (1..=100).collect(), sum: 0 };
/// let stolen = bag.split(Share::Half).expect("100 numbers can be divided");
/// assert_eq!((bag.len(), stolen.len()), (50, 50));
/// ```
pub trait Bag: Sized + Send {
    /// The state shared by all workers of a place, one value per place: an incumbent, a table, or
    /// `()`.
    type Shared: Sync;
    /// The result of the computation, to which all bags contribute.
    type Output;

    /// Processes up to `n` tasks (at least one if there is one) and returns the number that were
    /// processed. Fewer than `n` only if the bag became empty.
    fn process(&mut self, n: usize, shared: &Self::Shared) -> usize;

    /// Removes about `share` of the tasks, as [`Share::of`] counts them, and returns them. Neither
    /// part may be empty: `None`, and no change, if that cannot be, as for a bag of one task.
    /// Results so far stay in this bag; the returned one begins without.
    fn split(&mut self, share: Share) -> Option<Self>;

    /// Adds the tasks (and the counts) of `other`.
    fn merge(&mut self, other: Self);

    /// Returns the number of tasks in the bag, without those that they will create: 0 only if there
    /// is none. `split` divides this number and `merge` adds up two. A bag that cannot count its
    /// tasks may count other units, such as intervals, by which it divides itself.
    fn len(&self) -> usize;

    /// Whether the bag has no tasks.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether [`split`](Self::split) would succeed. Provided: with two tasks or more.
    fn is_splittable(&self) -> bool {
        self.len() >= 2
    }

    /// Returns the bound that prunes this computation, if it has one: a
    /// [`Bound`](crate::lifeline::Bound). An improvement found by a task is sent along the
    /// lifelines to every other place (Finnerty 2022, TSP).
    fn bound(_shared: &Self::Shared) -> Option<&dyn AnyBound> {
        None
    }

    /// Returns a reason to end the whole computation immediately. Called after each grain.
    fn verdict(&self) -> Option<Reason> {
        None
    }

    /// Drops all tasks and keeps the results. Called before the part of a computation that was
    /// stopped travels to another process. Provided: does nothing, so that the tasks travel along.
    fn drop_tasks(&mut self) {}

    /// Adds this bag's part of the result. Called once for each bag, after all work has ended.
    fn submit(self, output: &mut Self::Output);
}

/// The amount to take from a bag.
///
/// ```
/// # use tautline_core::glb::Share;
/// assert_eq!(Share::Half.of(11), 5);
/// assert_eq!(Share::Count(7).of(11), 7);
/// assert_eq!(Share::Count(7).of(5), 3); // half as many: all would leave nothing
/// assert_eq!(Share::Ration(3).of(12), 3); // for each of three thieves and the owner
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    /// Half, rounded down.
    Half,
    /// For a dry worker of the same place, from the place's reserve: preferably half; a bag that
    /// cannot be divided is taken whole.
    Refill,
    /// This many tasks; half as many if that would leave nothing, else none.
    Count(usize),
    /// One of as many equal shares as there are waiting thieves, plus the owner's own.
    Ration(usize),
}

impl Share {
    /// Returns the number of tasks of this share of `len`; 0 means that nothing may be taken.
    ///
    /// Source: Saraswat 2011, steal handler and distribute.
    #[inline]
    pub const fn of(self, len: usize) -> usize {
        match self {
            Self::Half | Self::Refill if len >= 2 => len / 2,
            Self::Count(k) if k < len => k,
            Self::Count(k) if k / 2 < len => k / 2,
            Self::Ration(thieves) if len > 2 => {
                let served = if thieves < len - 2 { thieves } else { len - 2 };
                len / (served + 1)
            }
            _ => 0,
        }
    }
}

/// A task that can be processed on any worker, independently, and may create further tasks.
///
/// ```
/// use tautline_core::deque::Local;
/// use tautline_core::glb::{Bag, Task, Tasks};
///
/// /// A node of the tree of all bit strings up to this length.
/// struct Node(u32);
///
/// impl Task for Node {
///     type Shared = ();
///     type Sum = u64;
///
///     fn run(self, todo: &mut Local<Self>, sum: &mut u64, (): &()) {
///         *sum += 1;
///         if self.0 > 0 {
///             todo.extend([Node(self.0 - 1), Node(self.0 - 1)]);
///         }
///     }
///
///     fn add(sum: &mut u64, other: u64) {
///         *sum += other;
///     }
/// }
///
/// // `Tasks` is the bag. Sequentially:
/// let mut tasks = Tasks::from_iter([Node(3)]);
/// assert_eq!(tasks.process(1000, &()), 15);
/// let mut sum = 0;
/// tasks.submit(&mut sum);
/// assert_eq!(sum, 15);
/// ```
pub trait Task: Sized + Send {
    /// The state shared by all workers of a place, one value per place.
    type Shared: Sync;
    /// The combined result of tasks; its default is that of no tasks.
    type Sum: Default + Send;

    /// Processes the task: results are added to `sum`, new tasks are pushed to `todo`.
    fn run(self, todo: &mut Local<Self>, sum: &mut Self::Sum, shared: &Self::Shared);

    /// Adds the result of another part of the computation. Must be independent of the order.
    fn add(sum: &mut Self::Sum, other: Self::Sum);

    /// Returns the bound that prunes this computation, if it has one.
    fn bound(_shared: &Self::Shared) -> Option<&dyn AnyBound> {
        None
    }

    /// Returns a reason to end the computation, given the results of this bag.
    fn verdict(_sum: &Self::Sum) -> Option<Reason> {
        None
    }
}

/// Tasks to process, and the results of those processed. The owner works depth first; thieves get
/// the oldest tasks, whose subtrees are the largest (Saraswat 2011).
///
/// ```
/// use tautline_core::deque::Local;
/// use tautline_core::glb::{Bag, Share, Task, Tasks};
///
/// /// A range of numbers to add, halved until it has one.
/// struct Sum(u64, u64);
///
/// impl Task for Sum {
///     type Shared = ();
///     type Sum = u64;
///
///     fn run(self, todo: &mut Local<Self>, sum: &mut u64, (): &()) {
///         let Self(low, high) = self;
///         match high - low {
///             1 => *sum += low,
///             many => todo.extend([Self(low, low + many / 2), Self(low + many / 2, high)]),
///         }
///     }
///
///     fn add(sum: &mut u64, other: u64) {
///         *sum += other;
///     }
/// }
///
/// let mut mine = Tasks::from_iter([Sum(0, 100)]);
/// mine.process(3, &());
/// // A thief takes half of the tasks, and later returns its results.
/// let mut stolen = mine.split(Share::Half).unwrap();
/// while stolen.process(10, &()) + mine.process(10, &()) > 0 {}
/// mine.merge(stolen);
/// let mut sum = 0;
/// mine.submit(&mut sum);
/// assert_eq!(sum, 4950);
/// ```
#[derive(Debug)]
#[cfg_attr(
    feature = "wire",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound(
        serialize = "T: serde::Serialize, T::Sum: serde::Serialize",
        deserialize = "T: serde::de::DeserializeOwned, T::Sum: serde::de::DeserializeOwned",
    ))
)]
pub struct Tasks<T: Task> {
    todo: Local<T>,
    sum: T::Sum,
}

/// Work that a computation begins with: a [`Bag`], or an array or a vector of [`Task`]s, which
/// become the bag [`Tasks`].
pub trait IntoBag {
    /// The bag.
    type Bag: Bag;

    /// Returns the bag.
    ///
    /// ```
    /// use tautline_core::deque::Local;
    /// use tautline_core::glb::{Bag, IntoBag, Task};
    ///
    /// /// A number to be added.
    /// struct Number(u32);
    ///
    /// impl Task for Number {
    ///     type Shared = ();
    ///     type Sum = u32;
    ///
    ///     fn run(self, _todo: &mut Local<Self>, sum: &mut u32, (): &()) {
    ///         *sum += self.0;
    ///     }
    ///
    ///     fn add(sum: &mut u32, other: u32) {
    ///         *sum += other;
    ///     }
    /// }
    ///
    /// assert_eq!([Number(1), Number(2)].into_bag().len(), 2);
    /// ```
    fn into_bag(self) -> Self::Bag;
}

impl<B: Bag> IntoBag for B {
    type Bag = B;

    fn into_bag(self) -> B {
        self
    }
}

impl<T: Task, const N: usize> IntoBag for [T; N] {
    type Bag = Tasks<T>;

    fn into_bag(self) -> Tasks<T> {
        self.into_iter().collect()
    }
}

impl<T: Task> IntoBag for Vec<T> {
    type Bag = Tasks<T>;

    fn into_bag(self) -> Tasks<T> {
        self.into_iter().collect()
    }
}

impl<T: Task> FromIterator<T> for Tasks<T> {
    /// Creates the bag from the roots of a computation.
    fn from_iter<I: IntoIterator<Item = T>>(roots: I) -> Self {
        Self {
            todo: roots.into_iter().collect(),
            sum: T::Sum::default(),
        }
    }
}

impl<T: Task> Bag for Tasks<T> {
    type Shared = T::Shared;
    type Output = T::Sum;

    #[inline]
    fn process(&mut self, n: usize, shared: &T::Shared) -> usize {
        for done in 0..n {
            let Some(task) = self.todo.pop() else {
                return done;
            };
            task.run(&mut self.todo, &mut self.sum, shared);
        }
        n
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.todo.len());
        (taken > 0).then(|| Self {
            todo: self.todo.steal(taken).into(),
            sum: T::Sum::default(),
        })
    }

    fn merge(&mut self, other: Self) {
        self.todo.append(other.todo.into());
        T::add(&mut self.sum, other.sum);
    }

    fn len(&self) -> usize {
        self.todo.len()
    }

    fn bound(shared: &T::Shared) -> Option<&dyn AnyBound> {
        T::bound(shared)
    }

    fn verdict(&self) -> Option<Reason> {
        T::verdict(&self.sum)
    }

    fn drop_tasks(&mut self) {
        self.todo = Local::new();
    }

    fn submit(self, output: &mut T::Sum) {
        T::add(output, self.sum);
    }
}
