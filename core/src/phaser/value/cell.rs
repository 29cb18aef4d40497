//! The words in which values are stored.
//!
//! # Layout
//! Each slot of a leaf has places for the values of two phases, used in turn, next to its signal
//! word, which records which of them are in use: the transfer that brings a signal brings the
//! value. A node has two cells, used in turn, each stamped with its phase. A task that leaves a
//! phase by watching caches the result on a private line until it signals the next phase.
//!
//! # Words
//! Values of a slot: written by its task, before it signals. Cells of a node: written by any task
//! that gathers; several write the same value, since all that they read is fixed until the phase
//! has ended. The result: written by the one task that concludes the phase. A cached result:
//! written by its task.
//!
//! A value is never overwritten while a registered task reads it: the overwrite happens two phases
//! later, and cannot start before the reader has signalled the phase in between. Therefore only
//! tasks registered signal-wait take part. A delayed task that gathers or ends a phase may write
//! its value again until it has signalled the next phase; the slots and the newcomers of
//! the phase are kept until then. A reader that is not registered has no such guarantee: it
//! validates the value by reading the stamp, or the signals, again after it.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | A1 | `renew`, at its end | `read`, at its start | the result | `watch_outsider_kept` |
//! | A2 | `renew`, words | `read`, words | that the cell is being overwritten for a later phase, or was discarded | `outsider`, `watch_outsider_kept` |
//! | A3 | `Cells::put` | `Cells::value` | that the phase after the value's has ended: reading the signals again shows it | `watch_outsider_overtaken` |
#![forbid(unsafe_code)]

use crate::sync::{AtomicUsize, CacheLine, Ordering};
use alloc::boxed::Box;
use core::cmp::Ordering::{Equal, Greater, Less};
use core::num::NonZeroU8;

const WORDS: usize = size_of::<u128>() / size_of::<usize>();

/// The words of a line of 64 bytes.
const LINE: usize = 64 / size_of::<usize>();

/// The stamp of a cached result that was discarded: odd, as while a result is being written.
const DISCARDED: usize = 1;

fn part(value: u128, index: usize) -> usize {
    (value >> (index * usize::BITS as usize)) as usize
}

fn joined(words: impl Iterator<Item = usize>) -> u128 {
    let places = words.enumerate();
    places.fold(0, |all, (index, word)| {
        all | (word as u128) << (index * usize::BITS as usize)
    })
}

/// A value stamped with its phase: `2 * (phase + 1)`, plus 1 while it is being written.
#[derive(Debug)]
pub(crate) struct Cell {
    stamp: AtomicUsize,
    words: [AtomicUsize; WORDS],
}

/// The outcome of reading a cell for a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// The value of the phase.
    Value(u128),
    /// The value of an earlier phase, or no value.
    Nothing,
    /// The value of a later phase, possibly torn.
    Later,
}

impl Cell {
    /// Creates a cell without a value.
    pub(crate) fn new() -> Self {
        Self {
            stamp: AtomicUsize::new(0),
            words: core::array::from_fn(|_| AtomicUsize::new(0)),
        }
    }

    /// Stores a node's value, which several threads may write at once. Raising the node publishes
    /// it (node.N1).
    pub(crate) fn set(&self, phase: usize, value: u128) {
        for (index, word) in self.words.iter().enumerate() {
            // ORDERING: Relaxed: published by the raise of the node (node.N1).
            word.store(part(value, index), Ordering::Relaxed);
        }
        // ORDERING: Relaxed: published by the raise of the node (node.N1).
        self.stamp.store(2 * (phase + 1), Ordering::Relaxed);
    }

    /// Returns a node's value, to a task that has seen the node raised and has not signalled the
    /// next phase.
    fn get(&self, phase: usize) -> Option<u128> {
        // ORDERING: Relaxed: see `set`.
        let there = self.stamp.load(Ordering::Relaxed) == 2 * (phase + 1);
        // ORDERING: Relaxed: see `set`.
        let words = self.words.iter().map(|word| word.load(Ordering::Relaxed));
        there.then(|| joined(words))
    }

    /// Writes the result of `phase`, while other threads may read. Called by one thread at a time.
    pub(crate) fn renew(&self, phase: usize, value: u128) {
        renew(&self.stamp, &self.words, 2 * (phase + 1), value);
    }

    /// Returns the result of `phase`, never a torn one. Called from any thread.
    pub(crate) fn read(&self, phase: usize) -> Read {
        let (stamp, value) = read(&self.stamp, &self.words);
        match (stamp >> 1).cmp(&(phase + 1)) {
            Less => Read::Nothing,
            Greater => Read::Later,
            Equal if stamp & 1 != 0 => Read::Nothing,
            Equal => value.map_or(Read::Later, Read::Value),
        }
    }
}

/// Writes a value while other threads may read. One thread at a time.
#[inline]
fn renew(stamp: &AtomicUsize, words: &[AtomicUsize], now: usize, value: u128) {
    // ORDERING: Relaxed: published with each word (A2).
    stamp.store(now | 1, Ordering::Relaxed);
    for (index, word) in words.iter().enumerate() {
        // ORDERING: Release, pairs with Acquire in read (A2).
        word.store(part(value, index), Ordering::Release);
    }
    // ORDERING: Release, pairs with Acquire in read (A1).
    stamp.store(now, Ordering::Release);
}

/// Returns the stamp, and the value unless it may be torn.
#[inline]
fn read(stamp: &AtomicUsize, words: &[AtomicUsize]) -> (usize, Option<u128>) {
    // ORDERING: Acquire, pairs with Release in renew (A1).
    let now = stamp.load(Ordering::Acquire);
    if now & 1 != 0 {
        return (now, None);
    }
    // ORDERING: Acquire, pairs with Release in renew (A2): after a word of a later value, the load
    // of the stamp below returns a later stamp.
    let value = joined(words.iter().map(|word| word.load(Ordering::Acquire)));
    // ORDERING: Relaxed: after the words, by their Acquire.
    let whole = stamp.load(Ordering::Relaxed) == now;
    (now, whole.then_some(value))
}

/// Two phases' values of a node, on a private line.
type Pair = CacheLine<[Cell; 2]>;

/// The values of a node. For a leaf, also those of its slots: for each slot a signal word and two
/// values, on a line each; the first two slots of a leaf whose tasks watch each other share a line
/// if they fit. After these, such a leaf has a line for each slot, with the result that its task
/// caches.
#[derive(Debug)]
pub(crate) struct Cells {
    node: Option<Box<Pair>>,
    lines: Box<[CacheLine<[AtomicUsize; LINE]>]>,
    /// The words of a value.
    width: u8,
    /// Whether the first two slots share a line.
    paired: bool,
    /// The first line of cached results.
    cached: Option<NonZeroU8>,
}

impl Cells {
    /// Creates the cells of an inner node for values of `width` words; no cells unless the phaser
    /// accumulates.
    pub(crate) fn inner(width: Option<u8>) -> Self {
        let pair = || Box::new(CacheLine([Cell::new(), Cell::new()]));
        Self {
            node: width.map(|_| pair()),
            lines: Box::new([]),
            width: width.unwrap_or(0),
            paired: false,
            cached: None,
        }
    }

    /// Creates the cells of a leaf with `slots` slots, whose signal words start as `signal`.
    /// `watched`: whether its tasks may watch each other.
    pub(crate) fn leaf(width: Option<u8>, slots: usize, watched: bool, signal: usize) -> Self {
        let mut cells = Self::inner(width);
        if width.is_some() {
            cells.paired = watched && 2 * cells.stride() <= LINE;
            let lines = slots - usize::from(cells.paired);
            let line = |word| CacheLine(core::array::from_fn(|_| AtomicUsize::new(word)));
            let posts = (0..lines).map(|_| line(signal));
            if watched {
                cells.cached = NonZeroU8::new(lines as u8);
                let cached = (0..slots).map(|_| line(DISCARDED));
                cells.lines = posts.chain(cached).collect();
            } else {
                cells.lines = posts.collect();
            }
        }
        cells
    }

    /// Returns the number of words of a slot.
    fn stride(&self) -> usize {
        1 + 2 * usize::from(self.width)
    }

    /// Returns the words of a slot, the signal word first.
    #[inline]
    fn words(&self, slot: usize) -> Option<&[AtomicUsize]> {
        let (line, place) = match self.paired {
            true => (slot.saturating_sub(1), usize::from(slot == 1)),
            false => (slot, 0),
        };
        let at = place * self.stride();
        self.lines.get(line)?.0.get(at..at + self.stride())
    }

    /// Returns the signal word of a slot, if it is stored with the values.
    #[inline]
    pub(crate) fn signal(&self, slot: usize) -> Option<&AtomicUsize> {
        self.words(slot)?.first()
    }

    fn place(&self, slot: usize, phase: usize) -> &[AtomicUsize] {
        let width = usize::from(self.width);
        let at = 1 + (phase & 1) * width;
        self.words(slot).map_or(&[], |words| &words[at..at + width])
    }

    /// Returns the value of a slot for `phase`, which its signal word has announced.
    pub(crate) fn value(&self, slot: usize, phase: usize) -> u128 {
        let words = self.place(slot, phase).iter();
        // ORDERING: Acquire, pairs with Release in put (A3).
        joined(words.map(|word| word.load(Ordering::Acquire)))
    }

    /// Stores a value, which the signal of `phase` publishes (signal.S1).
    pub(crate) fn put(&self, slot: usize, phase: usize, value: u128) {
        for (index, word) in self.place(slot, phase).iter().enumerate() {
            // ORDERING: Release, pairs with Acquire in value (A3).
            word.store(part(value, index), Ordering::Release);
        }
    }

    /// Returns the stamp and the words of a slot's cached result, if tasks of the leaf may watch.
    #[inline]
    fn cache(&self, slot: usize) -> Option<(&AtomicUsize, &[AtomicUsize])> {
        let line = self.lines.get(usize::from(self.cached?.get()) + slot)?;
        let (stamp, words) = line.0.split_first()?;
        Some((stamp, words.get(..usize::from(self.width))?))
    }

    /// Caches the result of `phase` for the task in a slot, which has left the phase by watching.
    pub(crate) fn store_cached(&self, slot: usize, phase: usize, result: u128) {
        if let Some((stamp, words)) = self.cache(slot) {
            renew(stamp, words, 2 * (phase + 1), result);
        }
    }

    /// Discards the cached result of a slot, before its task signals or leaves.
    pub(crate) fn discard_cached(&self, slot: usize) {
        if let Some((stamp, _)) = self.cache(slot) {
            // ORDERING: Relaxed: published by the signal, or the departure, that follows
            // (signal.S1).
            stamp.store(DISCARDED, Ordering::Relaxed);
        }
    }

    /// Returns the cached result of a slot: that of the phase that ended last. Any thread.
    #[inline]
    pub(crate) fn cached(&self, slot: usize) -> Option<u128> {
        let (stamp, words) = self.cache(slot)?;
        read(stamp, words).1
    }

    /// Returns the cell of the node itself for `phase`.
    pub(crate) fn node(&self, phase: usize) -> Option<&Cell> {
        Some(&self.node.as_ref()?[phase & 1])
    }

    /// Returns the value that was gathered below the node for `phase`.
    pub(crate) fn gathered(&self, phase: usize) -> Option<u128> {
        self.node(phase)?.get(phase)
    }
}
