//! The shortest tour of some cities: all ranks read the distances, and share the length of the best
//! tour. Alone, or as `tautline launch -n 4 -- shared_bound`, or by `mpirun`.
use tautline::globals::{Global, Operator};
use tautline::prelude::*;
use tautline::world::{Rank, World};

const CITIES: usize = 11;
type Distances = Vec<[u32; CITIES]>;

/// Returns the distances of points that look random.
fn distances() -> Distances {
    let place = |city: usize| (city * city * 389 % 997, city * city * city * 211 % 991);
    let between = |(x, y): (usize, usize), (u, v)| (x.abs_diff(u) + y.abs_diff(v)) as u32;
    let row = |from| std::array::from_fn(|to| between(place(from), place(to)));
    (0..CITIES).map(row).collect()
}

/// Visits all cities that are not in `tour` yet, in every order that may be shorter than the best.
fn extend(
    cx: &mut Cx<'_, '_>,
    distances: &Distances,
    best: &Global<u32>,
    tour: &[usize],
    length: u32,
) -> tautline::Result<()> {
    // A hit, without a message, until another rank has found a shorter one.
    if length >= best.get(cx)? {
        return Ok(());
    }
    let from = distances[tour[tour.len() - 1]];
    if tour.len() == CITIES {
        return best.apply(cx, Operator::Min, length + from[0]).map(drop);
    }
    for city in (1..CITIES).filter(|city| !tour.contains(city)) {
        let longer = [tour, &[city]].concat();
        extend(cx, distances, best, &longer, length + from[city])?;
    }
    Ok(())
}

// Visible to the tests that start it as ranks.
pub(crate) fn main() -> tautline::Result<()> {
    let world = World::join()?;
    let mut globals = world.globals();
    let distances = globals.create(Rank(0), distances);
    let best = globals.create(Rank(0), || u32::MAX);
    let (here, ranks) = (world.rank().index(), world.ranks() as usize);
    Runtime::builder().world(&world).build()?.run(|cx| {
        let distances = distances.read(cx)?;
        for second in (1..CITIES).skip(here).step_by(ranks) {
            extend(cx, &distances, &best, &[0, second], distances[0][second])?;
        }
        world.team().barrier().wait(cx)?;
        if world.is_home() {
            println!("the shortest tour of {CITIES} cities: {}", best.get(cx)?);
        }
        world.team().barrier().wait(cx)
    })
}
