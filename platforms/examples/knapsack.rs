//! A knapsack by branch and bound: on the workers of this machine, then the same tasks on 256 simulated places.
use tautline::glb::{Bound, Glb, Local, Task, Tasks};

/// Weights and values; the first items are worth most for their weight.
fn items() -> [(usize, usize); 20] {
    std::array::from_fn(|i| (101 + 6 * i, 201 + 6 * i))
}

/// The items before the first number are packed or left behind; the room that is left; the value left behind.
struct Node(usize, usize, usize);

impl Task for Node {
    type Shared = Bound;
    type Sum = Option<usize>;

    fn run(self, todo: &mut Local<Self>, least: &mut Option<usize>, bound: &Bound) {
        let Self(next, room, lost) = self;
        let items = &items()[next..];
        let Some(&(weight, value)) = items.first() else {
            bound.improve(lost);
            return Self::add(least, Some(lost));
        };
        // At least this is lost below: the last item that fits may be packed in part.
        let (mut left, mut below) = (room, lost);
        for (weight, value) in items {
            below += value - value * left.min(*weight) / weight;
            left = left.saturating_sub(*weight);
        }
        if below < bound.get() {
            todo.push(Self(next + 1, room, lost + value));
            let packed = room.checked_sub(weight);
            todo.extend(packed.map(|room| Self(next + 1, room, lost)));
        }
    }

    fn add(least: &mut Option<usize>, other: Option<usize>) {
        *least = least.iter().copied().chain(other).min();
    }

    fn bound(bound: &Bound) -> Option<&Bound> {
        Some(bound) // improvements travel to the other places
    }
}

fn main() -> tautline::Result<()> {
    let root = || Tasks::from_iter([Node(0, 1580, 0)]);
    let here = Glb::new().run(root(), |_| Bound::default(), None)?;
    let (glb, jaguar) = (Glb::new().places(256), tautline::machines::find("jaguar")?);
    let there = glb.simulate(&jaguar, 200, root(), |_| Bound::default(), None)?;
    let mut best = [0; 1581]; // the best value for each room, item by item
    for (weight, value) in items() {
        for room in (weight..best.len()).rev() {
            best[room] = best[room].max(best[room - weight] + value);
        }
    }
    let lost = items().iter().map(|item| item.1).sum::<usize>() - best[1580];
    assert_eq!((here.output, there.output), (Some(lost), Some(lost)));
    Ok(())
}
