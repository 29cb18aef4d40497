//! RandomAccess of the HPC Challenge: updates of random words of a table that is spread over the
//! ranks, in batches. Alone, or as `tautline launch -n 4 -- gups`, or by `mpirun`.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tautline::prelude::*;
use tautline::team::handler;
use tautline::world::{Rank, World};

const WORDS: u64 = 1 << 16;
const UPDATES: u64 = 4 * WORDS;

/// The benchmark's stream: multiplication by x modulo x⁶⁴ + x² + x + 1.
fn next(value: u64) -> u64 {
    value << 1 ^ ((value as i64) >> 63) as u64 & 7
}

/// Returns the value at a position of the stream, by doubling steps.
fn at(position: u64) -> u64 {
    let twice = |value: u64| {
        let steps = |i: u32| (0..2 * i).fold(1, |value, _| next(value));
        let bits = (0..64).filter(|i| value >> i & 1 == 1);
        bits.map(steps).fold(0, |sum, term| sum ^ term)
    };
    let bits = (0..64 - position.leading_zeros()).rev();
    bits.fold(1, |value, bit| match position >> bit & 1 {
        0 => twice(value),
        _ => next(twice(value)),
    })
}

// Visible to the tests that start it as ranks.
pub(crate) fn main() -> tautline::Result<()> {
    let world = World::join()?;
    let mut team = world.team();
    let (here, ranks) = (u64::from(team.rank().0), u64::from(team.ranks()));
    // Word w is at rank w % ranks.
    let table = Vec::from_iter((here..WORDS).step_by(ranks as usize).map(AtomicU64::new));
    let update = |value: u64| table[(value % WORDS / ranks) as usize].fetch_xor(value, Relaxed);
    let updated = handler(|_, _, value: u64| _ = update(value)).short();
    let (first, end) = (UPDATES * here / ranks, UPDATES * (here + 1) / ranks);
    let errors = Runtime::builder().world(&world).build()?.run(|cx| {
        for _ in ["updates", "the same again, which takes them back"] {
            team.finish(cx, &updated, |cx, there| {
                let mut batch = there.batch(cx, &updated);
                let mut value = at(first);
                for _ in first..end {
                    value = next(value);
                    batch.push(cx, Rank((value % WORDS % ranks) as u32), value);
                }
            })?;
        }
        let words = (here..WORDS).step_by(ranks as usize).zip(&table);
        let wrong = words.filter(|(word, value)| value.load(Relaxed) != *word);
        team.all_reduce(wrong.count(), |a, b| a + b).wait(cx)
    })?;
    if world.is_home() {
        println!("{UPDATES} updates of {WORDS} words, {errors} errors");
    }
    Ok(())
}
