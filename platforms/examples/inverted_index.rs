//! An irregular structure that grows by remote pushes: for each word the documents that have it,
//! at the rank of the word; then questions to it. Alone, or as
//! `tautline launch -n 4 -- inverted_index`, or by `mpirun`.
use std::collections::BTreeMap;
use std::sync::Mutex;
use tautline::prelude::*;
use tautline::team::handler;
use tautline::world::{Rank, World};

const DOCUMENTS: u32 = 4000;

/// Returns the words of a document: the divisors of its number, spelt.
fn words(document: u32) -> impl Iterator<Item = String> {
    let divisors = (1..=document.min(60)).filter(move |n| document.is_multiple_of(*n));
    divisors.map(|n| format!("word{n}"))
}

// Visible to the tests that start it as ranks.
pub(crate) fn main() -> tautline::Result<()> {
    let world = World::join()?;
    let mut team = world.team();
    let (here, ranks) = (team.rank(), team.ranks());
    let add = |sum: u32, byte: u8| sum * 31 % 10_007 + u32::from(byte);
    let owner = |word: &str| Rank(word.bytes().fold(7, add) % ranks);
    let index = Mutex::new(BTreeMap::<String, Vec<u32>>::new());
    let lock = || index.lock().expect("no panic");
    let push = handler(|_, _, (word, document): (String, u32)| {
        lock().entry(word).or_default().push(document);
    });
    let push = push.short();
    let count = handler(|_, _, word: String| lock().get(&word).map_or(0, Vec::len));
    let found = Runtime::builder().world(&world).build()?.run(|cx| {
        team.finish(cx, &push, |cx, at| {
            let mut batch = at.batch(cx, &push);
            for document in (here.0 + 1..=DOCUMENTS).step_by(ranks as usize) {
                for word in words(document) {
                    batch.push(cx, owner(&word), (word, document));
                }
            }
        })?;
        let asked: &[u32] = if here == Rank(0) { &[1, 7, 60] } else { &[] };
        team.finish(cx, &count, |cx, at| {
            let mut count_of = |word: String| at.call(cx, owner(&word), &count, word).wait(cx);
            let counts = asked.iter().map(|n| count_of(format!("word{n}")));
            counts.collect::<tautline::Result<Vec<_>>>()
        })?
    })?;
    if world.is_home() {
        println!("documents with word1, word7, word60: {found:?}");
    }
    Ok(())
}
