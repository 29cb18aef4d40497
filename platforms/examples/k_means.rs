//! k-means: the ranks divide the points, and share the centres and the sums of their points. Alone,
//! or as `tautline launch -n 4 -- k_means`, or by `mpirun`.
use std::mem;
use tautline::prelude::*;
use tautline::world::{Rank, World};

const POINTS: u64 = 48_000;
const CENTRES: usize = 8;
/// Points of a task.
const CHUNK: u64 = 1_000;

type Point = [i64; 2];
/// The sum of the points of each centre, and their number.
type Sums = Vec<(Point, i64)>;

/// Returns a point that looks random, near one of nine places.
fn point(number: u64) -> Point {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let places = [number % 3, number / 3 % 3];
    let offsets = [mixed >> 48, mixed >> 32 & 0xffff];
    [0, 1].map(|axis| (100_000 * places[axis] + offsets[axis]) as i64)
}

fn add(sums: &mut Sums, part: &Sums) {
    for ((sum, count), (point, more)) in sums.iter_mut().zip(part) {
        *sum = [sum[0] + point[0], sum[1] + point[1]];
        *count += more;
    }
}

/// Returns the sums of a chunk of the points.
fn sums_of(chunk: u64, centres: &[Point]) -> Sums {
    let mut sums = vec![([0; 2], 0); CENTRES];
    for point in (CHUNK * chunk..CHUNK * (chunk + 1)).map(point) {
        let distance =
            |centre: &Point| (point[0] - centre[0]).pow(2) + (point[1] - centre[1]).pow(2);
        let nearest = (0..CENTRES).min_by_key(|at| distance(&centres[*at]));
        let (sum, count) = &mut sums[nearest.expect("a centre")];
        *sum = [sum[0] + point[0], sum[1] + point[1]];
        *count += 1;
    }
    sums
}

// Visible to the tests that start it as ranks.
pub(crate) fn main() -> tautline::Result<()> {
    let world = World::join()?;
    let mut globals = world.globals();
    let centres = globals.create(Rank(0), || {
        (0..CENTRES as u64).map(point).collect::<Vec<_>>()
    });
    let sums = globals.create(Rank(0), || vec![([0; 2], 0); CENTRES]);
    let add = globals.operation(|sums: &mut Sums, part: Sums| add(sums, &part));
    let (here, ranks) = (world.rank().index(), world.ranks() as usize);
    Runtime::builder().world(&world).build()?.run(|cx| {
        let mut team = world.team();
        for step in 1.. {
            // A value of the past: it stays while rank 0 replaces it.
            let before = centres.read(cx)?;
            cx.scope(|cx| {
                for chunk in (0..POINTS / CHUNK).skip(here).step_by(ranks) {
                    let (before, sums, add) = (&before, &sums, &add);
                    cx.spawn(move |cx| {
                        sums.update(cx, add, sums_of(chunk, before))
                            .expect("all live")
                    });
                }
            });
            team.barrier().wait(cx)?;
            if world.is_home() {
                let sums =
                    sums.modify(cx, |sums| mem::replace(sums, vec![([0; 2], 0); CENTRES]))?;
                let mean = |([x, y], count): (Point, i64)| [x / count.max(1), y / count.max(1)];
                centres.set(cx, sums.into_iter().map(mean).collect())?;
            }
            team.barrier().wait(cx)?;
            let after = centres.read(cx)?;
            if *after == *before {
                if world.is_home() {
                    println!("{step} steps, the first centre at {:?}", after[0]);
                }
                return team.barrier().wait(cx);
            }
        }
        unreachable!("the centres converge")
    })
}
