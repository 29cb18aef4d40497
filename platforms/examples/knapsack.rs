//! The greatest value that fits into a knapsack, by branch and bound with a bound that is
//! maximised.
use std::cmp::Reverse;
use tautline::balance::{AnyBound, Bound, Local, Task, Tasks};

/// The weight and the value of an item, by value per weight.
type Items = Vec<(u64, u64)>;

/// State shared by the workers of a place: the items, and the greatest value known there.
type Known = (Items, Bound<Reverse<u64>>);

/// The next item to decide on, the room left, and the value of those taken.
struct Choice(usize, u64, u64);

impl Task for Choice {
    type Sum = u64;
    type Shared = Known;

    fn run(self, todo: &mut Local<Self>, found: &mut u64, (items, greatest): &Known) {
        let Self(next, room, value) = self;
        if greatest.improve(Reverse(value)) {
            *found = value.max(*found);
        }
        if let Some(&(weight, gain)) = items.get(next) {
            // The rest of the items is worth no more by weight than this one.
            if value + room * gain / weight > greatest.get().0 {
                todo.push(Self(next + 1, room, value));
                let room = room.checked_sub(weight);
                todo.extend(room.map(|room| Self(next + 1, room, value + gain)));
            }
        }
    }

    fn add(greatest: &mut u64, other: u64) {
        *greatest = other.max(*greatest);
    }

    fn bound((_, greatest): &Known) -> Option<&dyn AnyBound> {
        Some(greatest)
    }
}

fn main() -> tautline::Result<()> {
    let item = |n: u64| (50 + n * 37 % 101, 60 + n * 53 % 97);
    let mut items: Items = (0..24).map(item).collect();
    items.sort_by(|a, b| (b.1 * a.0).cmp(&(a.1 * b.0)));
    let bag = || Tasks::from_iter([Choice(0, 900, 0)]);
    let known = |_| (items.clone(), Bound::default());
    let here = tautline::balancer().run(bag(), known, 0)?;
    let jaguar = tautline::machines::find("jaguar")?;
    let there = tautline::balancer().places(256).simulated(&jaguar, 50);
    let there = there.run(bag(), known, 0)?;
    assert_eq!(here.output, there.output);
    println!(
        "{} in {:?}, and in {} ns on 256 places",
        here.output, here.elapsed, there.virtual_ns
    );
    Ok(())
}
