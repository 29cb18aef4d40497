//! The values of a space at a rank, and the tasks that read and put them.

use super::program::{Shape, Task};
use tautline_core::Rank;
use tautline_core::space::{Failure, Memory};
use tautline_verify::explore::Flaw;

/// The progress of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Read {
    ToCome,
    Open,
    Ended,
}

/// The progress of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Progress {
    pub(super) reads: Vec<Read>,
    pub(super) has_run: bool,
    /// Whether it does not run: cancelled, or a read of it was lost or refused.
    pub(super) has_failed: bool,
}

impl Progress {
    pub(super) fn has_begun(&self) -> bool {
        self.reads.iter().all(|read| *read != Read::ToCome)
    }

    pub(super) fn has_ended(&self) -> bool {
        let is_over = self.has_run || self.has_failed;
        is_over && !self.reads.contains(&Read::Open)
    }
}

/// The values at one rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Values {
    pub(super) here: Rank,
    pub(super) shape: Shape,
    /// By key.
    pub(super) values: Vec<Option<u8>>,
    /// Keys, as bits: reads may be performed; a fetch was sent; a value was fetched and not read;
    /// a put of this rank was accepted.
    pub(super) ready: u8,
    pub(super) fetched: u8,
    pub(super) ahead: u8,
    pub(super) put: u8,
    pub(super) tasks: Vec<Progress>,
    pub(super) ended: Option<Failure<u8>>,
    pub(super) cancelled: u8,
    /// Whether the rank has counted in this round; rounds that ended busy; whether one ended quiet,
    /// and whether none will.
    pub(super) has_counted: bool,
    pub(super) rounds: u8,
    pub(super) is_quiet: bool,
    pub(super) is_over: bool,
    /// In this step: whether the rank is idle; the read that begins, by task and place; the key
    /// that is put; a value that is given back.
    pub(super) is_idle: bool,
    pub(super) beginning: Option<(u8, u8)>,
    pub(super) putting: Option<u8>,
    pub(super) given_back: Option<u8>,
    pub(super) flaw: Option<Flaw>,
}

impl Values {
    pub(super) fn new(here: Rank, shape: Shape) -> Self {
        let progress = |task: &Task| Progress {
            reads: vec![Read::ToCome; task.reads.len()],
            has_run: false,
            has_failed: false,
        };
        Self {
            here,
            values: vec![None; shape.homes().len()],
            ready: 0,
            fetched: 0,
            ahead: 0,
            put: 0,
            tasks: shape.tasks(here).iter().map(progress).collect(),
            ended: None,
            cancelled: 0,
            has_counted: false,
            rounds: 0,
            is_quiet: false,
            is_over: false,
            is_idle: false,
            beginning: None,
            putting: None,
            given_back: None,
            flaw: None,
            shape,
        }
    }

    /// Returns the keys of reads with their progress, and that of their tasks.
    pub(super) fn reads(&self) -> impl Iterator<Item = (u8, Read, &Progress)> {
        let tasks = self.shape.tasks(self.here).iter().zip(&self.tasks);
        tasks.flat_map(|(task, progress)| {
            let reads = task.reads.iter().zip(&progress.reads);
            reads.map(move |(key, read)| (*key, *read, progress))
        })
    }

    /// Ends the reads of a key that wait, and fails their tasks.
    pub(super) fn fail(&mut self, key: u8) {
        let shape = self.shape;
        for (task, progress) in shape.tasks(self.here).iter().zip(&mut self.tasks) {
            for (at, read) in progress.reads.iter_mut().enumerate() {
                if task.reads[at] == key && *read == Read::Open {
                    *read = Read::Ended;
                    progress.has_failed |= !progress.has_run;
                }
            }
        }
    }

    /// Forgets the values ahead that all tasks have read that wait for them, or that were put here.
    pub(super) fn note_reads(&mut self) {
        for key in 0..self.values.len() as u8 {
            let of_key = |(k, read, _): (u8, Read, &Progress)| k == key && read == Read::Open;
            let is_open = self.reads().any(of_key);
            let value = self.values[usize::from(key)];
            let is_own = value == Some(key * 8 + self.here.0 as u8);
            if is_own || (value.is_some() && !is_open) {
                self.ahead &= !(1 << key);
            }
        }
    }

    /// Whether a task can do something.
    pub(super) fn is_busy(&self) -> bool {
        let tasks = self.shape.tasks(self.here).iter().zip(&self.tasks);
        tasks.into_iter().any(|(task, progress)| {
            let is_ready = task.reads.iter().all(|key| self.ready >> key & 1 != 0);
            let begins = !progress.has_begun() || is_ready;
            (begins || progress.has_failed) && !progress.has_ended()
        })
    }
}

impl Memory for Values {
    type Key = u8;
    type Value = u8;

    fn home(&mut self, key: &u8) -> Rank {
        let homes = self.shape.homes();
        Rank(
            homes
                .get(usize::from(*key))
                .map_or(u32::MAX, |home| u32::from(*home)),
        )
    }

    fn readers(&mut self, key: &u8, task: &mut dyn FnMut(Rank)) {
        for (_, rank) in self.shape.readers().iter().filter(|(k, _)| k == key) {
            task(Rank(u32::from(*rank)));
        }
    }

    fn keep(&mut self, key: &u8, value: u8) {
        let slot = &mut self.values[usize::from(*key)];
        if slot.replace(value).is_some() {
            self.flaw = Some(Flaw::Twice);
        }
    }

    fn value(&mut self, key: &u8) -> u8 {
        self.values[usize::from(*key)].unwrap_or(u8::MAX)
    }

    /// All declared reads have ended.
    fn free(&mut self, key: &u8) {
        let of_key = |(k, read, _): (u8, Read, &Progress)| (k == *key).then_some(read);
        let reads: Vec<Read> = self.reads().filter_map(of_key).collect();
        let ended = reads.iter().filter(|read| **read == Read::Ended).count();
        let is_read = ended >= self.shape.declared(*key, self.here) && !reads.contains(&Read::Open);
        let was_here = self.values[usize::from(*key)].take().is_some();
        if !is_read || !was_here {
            self.flaw = Some(Flaw::Freed);
        }
    }

    fn give_back(&mut self, _: &u8, value: u8) {
        self.given_back = Some(value);
    }
}
