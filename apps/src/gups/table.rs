//! The table, its updates over ranks, and their verification.

use super::Stream;
use crate::part::part;
use crate::random::SplitMix;
use std::hint::black_box;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tautline::runtime::Cx;
use tautline::team::{Arguments, At, Handler, Team, batch_handler};
use tautline::world::{Rank, World};
use tautline::{Error, Result, Runtime};

/// Tasks of a rank for each of its workers.
const TASKS: u64 = 4;

/// Updates of words of the own rank that are made together.
const TOGETHER: usize = 16;

/// A table, and how many updates it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// It has 2^`log2` words of 8 bytes, which initially are their indices.
    pub log2: u32,
    /// The number of updates.
    pub updates: u64,
}

impl Table {
    /// The largest table: 2^40 words.
    pub const LOG2_MAX: u32 = 40;
    /// The most updates.
    pub const UPDATES_MAX: u64 = 1 << 48;

    /// Returns a table with HPCC's number of updates, four for each word.
    ///
    /// # Panics
    /// If `log2` is more than [`LOG2_MAX`](Self::LOG2_MAX).
    pub fn new(log2: u32) -> Self {
        assert!(log2 <= Self::LOG2_MAX, "2^{log2} words");
        Self {
            log2,
            updates: 4 << log2,
        }
    }

    /// Returns the number of words.
    pub fn words(&self) -> u64 {
        1 << self.log2
    }

    /// Returns the bytes of all words.
    pub fn bytes(&self) -> u64 {
        8 << self.log2
    }

    fn index(&self, value: u64) -> u64 {
        value & (self.words() - 1)
    }
}

/// The outcome of all updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Updated {
    /// A hash of the updated table.
    pub checksum: u64,
    /// Words that differ from their initial values once the stream has been applied again.
    pub errors: u64,
}

impl Updated {
    /// Whether HPCC accepts that many errors in `table`: 1 % of its words.
    pub fn is_accepted(&self, table: &Table) -> bool {
        self.errors <= table.words() / 100
    }
}

/// The outcome, and the duration of the updates alone.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The outcome.
    pub updated: Updated,
    /// Seconds, without the initialisation and the verification.
    pub seconds: f64,
}

/// The words of a rank: a block.
struct Block<'a> {
    table: &'a Table,
    ranks: u64,
    rank: u64,
    first: u64,
    words: Vec<AtomicU64>,
}

impl<'a> Block<'a> {
    /// # Errors
    /// Memory that the system refuses.
    fn new(table: &'a Table, rank: Rank, ranks: u32) -> Result<Self> {
        let (rank, ranks) = (u64::from(rank.0), u64::from(ranks));
        let range = part(table.words(), rank, ranks);
        let mut words = Vec::new();
        let reserved = words.try_reserve_exact((range.end - range.start) as usize);
        reserved.map_err(|error| Error::Setting {
            setting: "log2",
            value: table.log2.to_string(),
            allowed: format!("expected a table that fits, but {error}").into(),
        })?;
        words.extend(range.clone().map(AtomicU64::new));
        let first = range.start;
        Ok(Self {
            table,
            ranks,
            rank,
            first,
            words,
        })
    }

    /// Returns the rank that has a word: the last one whose block begins there or before.
    fn owner(&self, index: u64) -> u64 {
        ((index + 1) * self.ranks - 1) >> self.table.log2
    }

    /// Returns the word of this rank that a value updates.
    fn word(&self, value: u64) -> &AtomicU64 {
        &self.words[(self.table.index(value) - self.first) as usize]
    }

    /// Updates words of this rank.
    fn update(&self, values: &[u64]) {
        // First all loads: an update waits for the word of the one before, which most caches lack.
        for &value in values {
            // ORDERING: Relaxed: it fetches the word, and its value is not used.
            black_box(self.word(value).load(Ordering::Relaxed));
        }
        for &value in values {
            // ORDERING: Relaxed: updates commute and publish nothing; the end of the finish orders
            // them before the reads.
            self.word(value).fetch_xor(value, Ordering::Relaxed);
        }
    }

    /// Applies the part of the stream that belongs to this rank.
    fn apply<'s, F>(
        &'s self,
        cx: &mut Cx<'s, '_>,
        at: At<'s>,
        tasks: u64,
        updated: &'s Handler<F, f64, ()>,
    ) where
        F: Sync,
    {
        let own = part(self.table.updates, self.rank, self.ranks);
        let count = own.end - own.start;
        for task in 0..tasks {
            let part = part(count, task, tasks);
            cx.spawn(move |cx| {
                let mut batch = at.batch(cx, updated);
                let mut here = Together::new(self);
                let stream = Stream::after(own.start + part.start);
                for value in stream.take((part.end - part.start) as usize) {
                    match self.owner(self.table.index(value)) {
                        owner if owner == self.rank => here.push(value),
                        owner => batch.push(cx, Rank(owner as u32), f64::from_bits(value)),
                    }
                }
            });
        }
    }

    /// Returns the words, with their indices.
    fn read(&self) -> impl Iterator<Item = (u64, u64)> {
        // ORDERING: Relaxed: the finish has ordered all updates before.
        let words = self.words.iter().map(|word| word.load(Ordering::Relaxed));
        (self.first..).zip(words)
    }

    fn checksum(&self) -> u64 {
        hash(self.read())
    }

    fn errors(&self) -> u64 {
        let wrong = self.read().filter(|(index, word)| index != word);
        wrong.count() as u64
    }
}

/// Updates of words of the own rank, which are made [together](TOGETHER), the last ones when it is
/// dropped.
struct Together<'a> {
    block: &'a Block<'a>,
    values: [u64; TOGETHER],
    len: usize,
}

impl<'a> Together<'a> {
    fn new(block: &'a Block<'a>) -> Self {
        Self {
            block,
            values: [0; TOGETHER],
            len: 0,
        }
    }

    fn push(&mut self, value: u64) {
        self.values[self.len] = value;
        self.len += 1;
        if self.len == TOGETHER {
            self.make();
        }
    }

    fn make(&mut self) {
        // Not again when a panic drops it.
        let len = mem::take(&mut self.len);
        self.block.update(&self.values[..len]);
    }
}

impl Drop for Together<'_> {
    fn drop(&mut self) {
        self.make();
    }
}

/// Returns the sum of the hashes of all words, which is the same for every division.
fn hash(words: impl Iterator<Item = (u64, u64)>) -> u64 {
    let one = |(index, word): (u64, u64)| SplitMix::new(SplitMix::new(index).next() ^ word).next();
    words.map(one).fold(0, u64::wrapping_add)
}

/// Updates a table that is distributed over all ranks of `world`, and verifies it. Returns the
/// outcome at rank 0, and `None` at the others.
///
/// # Errors
/// The loss of a rank; memory that the system refuses.
///
/// # Panics
/// If the table is larger than [`Table::LOG2_MAX`] allows.
#[track_caller]
pub fn across(table: &Table, world: &World, runtime: &Runtime) -> Result<Option<Measured>> {
    assert!(table.log2 <= Table::LOG2_MAX, "{table:?}");
    let mut team = world.team();
    let block = Block::new(table, team.rank(), team.ranks())?;
    let tasks = TASKS * runtime.workers() as u64;
    let outcome = runtime.run(|cx| measured(cx, &mut team, &block, tasks))?;
    Ok(world.is_home().then_some(outcome))
}

fn measured(
    cx: &mut Cx<'_, '_>,
    team: &mut Team,
    block: &Block<'_>,
    tasks: u64,
) -> Result<Measured> {
    // Values travel as the bits of floating-point numbers, which have 8 bytes; most integers of the
    // stream would have 10.
    let updated = batch_handler(|_, _, values: Arguments<'_, f64>| {
        let mut here = Together::new(block);
        values.for_each(|value| here.push(value.to_bits()));
    });
    team.barrier().wait(cx)?;
    let began = Instant::now();
    team.finish(cx, &updated, |cx, at| block.apply(cx, at, tasks, &updated))?;
    let seconds = began.elapsed().as_secs_f64();
    let own = block.checksum();
    let checksum = team.all_reduce(own, u64::wrapping_add).wait(cx)?;
    team.finish(cx, &updated, |cx, at| block.apply(cx, at, tasks, &updated))?;
    let errors = team.all_reduce(block.errors(), |a, b| a + b).wait(cx)?;
    Ok(Measured {
        updated: Updated { checksum, errors },
        seconds,
    })
}

/// Updates a table by a plain loop, whose verification finds no error.
pub fn sequential(table: &Table) -> Updated {
    let mut words: Vec<u64> = (0..table.words()).collect();
    for value in Stream::after(0).take(table.updates as usize) {
        words[table.index(value) as usize] ^= value;
    }
    Updated {
        checksum: hash((0..).zip(words)),
        errors: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline_core::wire::{pack, unpack};

    #[test]
    fn each_word_has_the_owner_whose_block_it_is_in() {
        for log2 in 0..7 {
            let table = Table::new(log2);
            for ranks in 1..20 {
                for rank in 0..ranks {
                    let block = Block::new(&table, Rank(rank), ranks).expect("a few words");
                    for (index, word) in block.read() {
                        assert_eq!(index, word);
                        assert_eq!(
                            block.owner(index),
                            u64::from(rank),
                            "{index}, {ranks} ranks"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn values_travel_as_they_are() {
        // Signalling and quiet numbers, infinities, and values of the stream.
        let odd = [0, 1, 0x7ff0_0000_0000_0001, 0xfff8_0000_0000_0000, u64::MAX];
        let infinite = [f64::INFINITY, f64::NEG_INFINITY].map(f64::to_bits);
        for value in odd
            .into_iter()
            .chain(infinite)
            .chain(Stream::after(0).take(1 << 12))
        {
            let mut bytes = Vec::new();
            pack(&f64::from_bits(value), &mut bytes).expect("8 bytes");
            assert_eq!(bytes, value.to_le_bytes());
            assert_eq!(unpack(&bytes).map(f64::to_bits), Ok(value));
        }
    }

    #[test]
    fn errors_are_counted_up_to_one_per_cent() {
        let table = Table::new(10);
        let block = Block::new(&table, Rank(0), 1).expect("a few words");
        let errors = |errors| Updated {
            checksum: 0,
            errors,
        };
        assert_eq!(block.errors(), 0);
        // Words 5 and 6 + 1024.
        block.update(&[1029, 6 + 1024]);
        assert_eq!(block.errors(), 2);
        assert!(errors(10).is_accepted(&table) && !errors(11).is_accepted(&table));
    }
}
