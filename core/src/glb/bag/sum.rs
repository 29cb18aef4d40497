//! A sum over tasks: the bag of the shortest form of a balanced computation.
#![forbid(unsafe_code)]

use super::{Bag, Share};
use crate::deque::Local;
use core::marker::PhantomData;
use core::ops::AddAssign;

/// Tasks that are done by one function, shared by the workers of a place, and their sum so far.
#[derive(Debug)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "wire",
    serde(bound(
        serialize = "T: serde::Serialize, S: serde::Serialize",
        deserialize = "T: serde::Deserialize<'de>, S: serde::Deserialize<'de>",
    ))
)]
pub struct Sum<T, S, D> {
    todo: Local<T>,
    sum: S,
    #[cfg_attr(feature = "wire", serde(skip))]
    task: PhantomData<fn(D)>,
}

impl<T, S: Default, D> Sum<T, S, D> {
    /// Creates the bag of these tasks.
    pub fn of(roots: impl IntoIterator<Item = T>) -> Self {
        Self::with(roots.into_iter().collect())
    }

    fn with(todo: Local<T>) -> Self {
        Self {
            todo,
            sum: S::default(),
            task: PhantomData,
        }
    }
}

impl<T, S, D> Bag for Sum<T, S, D>
where
    T: Send,
    S: AddAssign + Default + Send,
    D: Fn(T, &mut Local<T>) -> S + Sync,
{
    type Shared = D;
    type Output = S;

    fn process(&mut self, n: usize, task: &D) -> usize {
        for done in 0..n {
            let Some(next) = self.todo.pop() else {
                return done;
            };
            self.sum += task(next, &mut self.todo);
        }
        n
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.todo.len());
        (taken > 0).then(|| Self::with(self.todo.steal(taken).into()))
    }

    fn merge(&mut self, other: Self) {
        self.todo.append(other.todo.into());
        self.sum += other.sum;
    }

    fn len(&self) -> usize {
        self.todo.len()
    }

    fn drop_tasks(&mut self) {
        self.todo = Local::new();
    }

    fn submit(self, output: &mut S) {
        *output += self.sum;
    }
}
