//! Branch and bound with bounds of several types, on threads, simulated, and over ranks.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use tautline::balance::{AnyBound, Bound, Bounding, Local, Task, Tasks};
use tautline::prelude::*;
use tautline::world;

const ROOM: u64 = 700;

/// The weight and the value of each item, by value per weight.
fn items() -> Vec<(u64, u64)> {
    let item = |n: u64| (50 + n * 37 % 101, 60 + n * 53 % 97);
    let mut items: Vec<_> = (0..22).map(item).collect();
    items.sort_by(|a, b| (b.1 * a.0).cmp(&(a.1 * b.0)));
    items
}

/// The greatest value that fits, by dynamic programming.
fn greatest() -> u64 {
    let mut best = vec![0; ROOM as usize + 1];
    for (weight, value) in items() {
        for room in (weight as usize..best.len()).rev() {
            best[room] = best[room].max(best[room - weight as usize] + value);
        }
    }
    best[ROOM as usize]
}

/// A type in which the values of fillings are bounds: a larger filling has a smaller bound.
trait Scale: Bounding + Send + Sync + 'static {
    fn bound_of(value: u64) -> Self;
    fn value_of(self) -> u64;
}

/// Values far beyond a word.
impl Scale for Reverse<u128> {
    fn bound_of(value: u64) -> Self {
        Self(u128::from(value) << 70)
    }

    fn value_of(self) -> u64 {
        (self.0 >> 70) as u64
    }
}

impl Scale for Reverse<f64> {
    fn bound_of(value: u64) -> Self {
        Self(value as f64 / 8.0)
    }

    fn value_of(self) -> u64 {
        (self.0.max(0.0) * 8.0) as u64
    }
}

/// The missing amount, minimised.
impl Scale for i64 {
    fn bound_of(value: u64) -> Self {
        -(value as Self)
    }

    fn value_of(self) -> u64 {
        self.min(0).unsigned_abs()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Choice<T> {
    next: usize,
    room: u64,
    value: u64,
    of: std::marker::PhantomData<fn() -> T>,
}

impl<T> Choice<T> {
    fn new(next: usize, room: u64, value: u64) -> Self {
        let of = std::marker::PhantomData;
        Self {
            next,
            room,
            value,
            of,
        }
    }
}

impl<T: Scale> Task for Choice<T> {
    /// The greatest value, and the number of tasks.
    type Sum = (u64, u64);
    type Shared = (Vec<(u64, u64)>, Bound<T>);

    fn run(self, todo: &mut Local<Self>, sum: &mut (u64, u64), (items, bound): &Self::Shared) {
        sum.1 += 1;
        if bound.improve(T::bound_of(self.value)) {
            sum.0 = sum.0.max(self.value);
        }
        if let Some(&(weight, value)) = items.get(self.next) {
            let most = self.value + self.room * value / weight;
            if most > bound.get().value_of() {
                let room = self.room.checked_sub(weight);
                todo.push(Self::new(self.next + 1, self.room, self.value));
                todo.extend(room.map(|room| Self::new(self.next + 1, room, self.value + value)));
            }
        }
    }

    fn add(sum: &mut (u64, u64), other: (u64, u64)) {
        *sum = (sum.0.max(other.0), sum.1 + other.1);
    }

    fn bound((_, bound): &Self::Shared) -> Option<&dyn AnyBound> {
        Some(bound)
    }
}

/// Finds the greatest value everywhere. A simulated run sends bounds to other places, without which
/// those do more.
fn found_everywhere<T: Scale>()
where
    Choice<T>: Serialize + DeserializeOwned,
{
    let bag = || Tasks::from_iter([Choice::<T>::new(0, ROOM, 0)]);
    let shared = |_| (items(), Bound::default());
    let expected = greatest();
    for (places, workers) in [(1, 1), (1, 2), (3, 2)] {
        let builder = Runtime::builder().places(places).workers(workers);
        let rt = builder.pinned(false).build().unwrap();
        let run = rt.balancer().grain(1).run(bag(), shared, (0, 0)).unwrap();
        assert_eq!(run.output.0, expected, "{places} places of {workers}");
    }
    let cluster = tautline::machines::find("cluster").unwrap();
    let balancer = tautline::balancer().places(32).grain(4);
    let simulated = balancer.simulated(&cluster, 1000);
    let outcome = simulated.run(bag(), shared, (0, 0)).unwrap();
    assert_eq!(outcome.output.0, expected);
    let ranks = world::loopback(2, |world| {
        let rt = Runtime::builder().workers(1).pinned(false).build().unwrap();
        let balancer = rt.balancer().grain(1).across(world);
        balancer.run(bag(), shared, (0, 0)).map(|run| run.output.0)
    });
    assert_eq!(ranks.into_iter().next().unwrap().unwrap(), expected);
}

/// Bounds beyond a word, fractions and negative numbers, maximised and minimised.
#[test]
fn bounds_of_any_type_find_the_best() {
    found_everywhere::<Reverse<u128>>();
    found_everywhere::<Reverse<f64>>();
    found_everywhere::<i64>();
}

/// A bound, regardless of its type, reaches a place that finds none itself.
#[test]
fn a_bound_of_any_type_reaches_other_places() {
    fn tasks<T: Scale>() -> u64 {
        let cluster = tautline::machines::find("cluster").unwrap();
        let balancer = tautline::balancer().places(32).grain(4);
        let bag = Tasks::from_iter([Choice::<T>::new(0, ROOM, 0)]);
        let shared = |_| (items(), Bound::default());
        let simulated = balancer.simulated(&cluster, 1000);
        simulated.run(bag, shared, (0, 0)).unwrap().output.1
    }
    // The same messages at the same virtual times: the same tasks, whatever the type.
    let of_words = tasks::<i64>();
    assert_eq!(
        [tasks::<Reverse<f64>>(), tasks::<Reverse<u128>>()],
        [of_words; 2]
    );
}
