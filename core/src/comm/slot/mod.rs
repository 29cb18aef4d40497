//! The slots of communication tasks: recycled, and queued for the communication worker.
//!
//! # Algorithm
//! The life cycle of Chatterjee 2013 (Fig. 4.7). What differs: there the worker scans a list of all
//! tasks, in which recycled ones stand at old places, so that two messages may be sent in the wrong
//! order. Here tasks pass through a queue, and free slots are in a list of their own.
//!
//! | state | owner | next |
//! |---|---|---|
//! | [`Available`](State::Available) | the free list | a producer that pops the slot |
//! | [`Allocated`](State::Allocated) | that producer | the inbox, once the task is written |
//! | [`Prescribed`](State::Prescribed) | the inbox, then the worker | |
//! | [`Active`](State::Active) | the worker, while the machine has not ended the operation | |
//! | [`Completed`](State::Completed) | the worker, while the completion is called | the free list |
//!
//! # Words
//! `Slot::word`: the state and the generation, written by the owner alone, read by any thread.
//! `Slot::task`: accessed by the producer that allocated the slot and then by the worker. Ownership
//! is passed by the lists ([`list`]).

mod list;
mod table;

use crate::sync::{AtomicUsize, CachePadded, Ordering, UnsafeCell};
use alloc::sync::Arc;
use list::{Free, Inbox, NONE, Pushed};
use table::Table;

/// The bits of an index: three eighths of a word, so that the free list has five for its count.
const INDEX_BITS: u32 = usize::BITS / 8 * 3;
/// The greatest number of slots.
const LIMIT: usize = (1 << INDEX_BITS) - 1;
/// The position of the generation in the word of a slot, in bits.
const GENERATION: u32 = 3;

/// The state of a communication task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// The task is over; its slot waits for a successor.
    Available,
    /// A thread writes the task.
    Allocated,
    /// The task is complete and waits for the communication worker.
    Prescribed,
    /// The machine performs the operation.
    Active,
    /// The operation has ended; its completion is being called.
    Completed,
}

impl State {
    const ALL: [Self; 5] = [
        Self::Available,
        Self::Allocated,
        Self::Prescribed,
        Self::Active,
        Self::Completed,
    ];
}

/// The name of a communication task. Slots are recycled, their tickets are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    index: usize,
    generation: usize,
}

impl Ticket {
    /// Returns the position of the slot; at any time, tasks that are not over differ in it.
    pub const fn index(self) -> usize {
        self.index
    }

    const fn word(self, state: State) -> usize {
        self.generation << GENERATION | state as usize
    }
}

struct Slot<T> {
    word: AtomicUsize,
    next: AtomicUsize,
    task: UnsafeCell<Option<T>>,
}

impl<T> Slot<T> {
    fn new() -> Self {
        Self {
            word: AtomicUsize::new(State::Available as usize),
            next: AtomicUsize::new(NONE),
            task: UnsafeCell::new(None),
        }
    }

    fn set(&self, ticket: Ticket, state: State) {
        // ORDERING: Relaxed: the lists pass the slot on (list.Q2, list.Q3); to other threads this
        // is a hint.
        self.word.store(ticket.word(state), Ordering::Relaxed);
    }

    fn word(&self) -> usize {
        // ORDERING: Relaxed: the owner wrote it or received the slot by a list (list.Q2, list.Q3);
        // to other threads this is a hint.
        self.word.load(Ordering::Relaxed)
    }
}

/// The slots of one rank's communication tasks.
pub(super) struct Slots<T> {
    table: Table<T>,
    free: CachePadded<Free>,
    inbox: CachePadded<Inbox>,
}

// SAFETY: tasks move between threads (T: Send). A cell is accessed by the owner of its slot alone,
// and the lists pass ownership with release and acquire (list.Q2, list.Q3).
unsafe impl<T: Send> Sync for Slots<T> {}
// SAFETY: the slots are owned, and tasks may move between threads.
unsafe impl<T: Send> Send for Slots<T> {}

/// The state of a submitted task.
pub(super) enum Submitted<T> {
    /// In the inbox. Whether that was empty before.
    Queued(bool),
    /// Returned, since the worker is gone.
    Refused(T),
}

impl<T> Slots<T> {
    pub(super) fn new() -> Self {
        Self {
            table: Table::new(),
            free: CachePadded::new(Free::new()),
            inbox: CachePadded::new(Inbox::new()),
        }
    }

    /// Writes `task` into a slot and passes that to the worker. Allocates only if no slot is
    /// available.
    ///
    /// # Panics
    /// If [`LIMIT`] tasks are outstanding.
    pub(super) fn submit(&self, task: T) -> (Ticket, Submitted<T>) {
        let index = self.free.pop(&self.table);
        let index = index.unwrap_or_else(|| self.table.create());
        let slot = self.table.slot(index);
        let word = slot.word();
        assert_eq!(
            word & ((1 << GENERATION) - 1),
            State::Available as usize,
            "the state of a slot that is allocated"
        );
        let generation = (word >> GENERATION).wrapping_add(1) & (usize::MAX >> GENERATION);
        let ticket = Ticket { index, generation };
        slot.set(ticket, State::Allocated);
        // SAFETY: the slot was popped or created by this thread, which owns it until the push
        // below.
        slot.task.with_mut(|cell| unsafe { *cell = Some(task) });
        slot.set(ticket, State::Prescribed);
        match self.inbox.push(&self.table, index) {
            Pushed::First => (ticket, Submitted::Queued(true)),
            Pushed::Behind => (ticket, Submitted::Queued(false)),
            Pushed::Closed => {
                // SAFETY: the push was refused, so this thread still owns the slot.
                let task = slot.task.with_mut(|cell| unsafe { (*cell).take() });
                slot.set(ticket, State::Available);
                self.free.push(&self.table, index);
                (ticket, Submitted::Refused(task.expect("written above")))
            }
        }
    }

    /// Returns the state of a task; `None` if its slot has a successor.
    pub(super) fn state(&self, ticket: Ticket) -> Option<State> {
        let word = self.table.slot(ticket.index).word();
        let state = State::ALL[word & ((1 << GENERATION) - 1)];
        (word >> GENERATION == ticket.generation).then_some(state)
    }

    /// Returns the number of slots, which is that of the tasks that were ever outstanding at the
    /// same time.
    pub(super) fn created(&self) -> usize {
        self.table.created()
    }
}

/// A slot that the worker has taken out of the inbox, without its task.
///
/// Belongs to the [`Consumer`] that returned it.
pub(super) struct Owned {
    ticket: Ticket,
}

impl Owned {
    pub(super) fn ticket(&self) -> Ticket {
        self.ticket
    }
}

/// The worker's end of the slots; there is one.
pub(super) struct Consumer<T> {
    slots: Arc<Slots<T>>,
    /// The link to the first slot that was taken out of the inbox and not returned yet.
    first: usize,
}

impl<T> Consumer<T> {
    /// Creates the slots and the worker's end of them.
    pub(super) fn new() -> Self {
        Self {
            slots: Arc::new(Slots::new()),
            first: NONE,
        }
    }

    pub(super) fn slots(&self) -> &Arc<Slots<T>> {
        &self.slots
    }

    /// Takes the tasks in the inbox, if all that were taken before were returned. Returns whether
    /// there is a task.
    pub(super) fn refill(&mut self) -> bool {
        if self.first == NONE {
            self.first = self.slots.inbox.take(&self.slots.table);
        }
        self.first != NONE
    }

    /// Takes the first task of those that the last [`refill`](Self::refill) has found.
    pub(super) fn next(&mut self) -> Option<(Owned, T)> {
        let index = self.first.checked_sub(1)?;
        let slot = self.slots.table.slot(index);
        // ORDERING: Relaxed: `take` acquired the list, or reversed it on this thread (list.Q3).
        self.first = slot.next.load(Ordering::Relaxed);
        let generation = slot.word() >> GENERATION;
        let ticket = Ticket { index, generation };
        debug_assert_eq!(slot.word(), ticket.word(State::Prescribed));
        // SAFETY: the slot was in the inbox, which passed it to this consumer; it was not returned
        // yet.
        let task = slot.task.with_mut(|cell| unsafe { (*cell).take() });
        Some((Owned { ticket }, task.expect("written by the producer")))
    }

    /// Whether there are no waiting tasks; a hint.
    pub(super) fn is_empty(&self) -> bool {
        self.first == NONE && self.slots.inbox.is_empty()
    }

    /// Advances the state of a task.
    pub(super) fn set(&self, owned: &Owned, state: State) {
        let slot = self.slots.table.slot(owned.ticket.index);
        slot.set(owned.ticket, state);
    }

    /// Makes the slot available.
    ///
    /// # Panics
    /// If the task is not completed.
    pub(super) fn recycle(&self, owned: Owned) {
        let Owned { ticket } = owned;
        let slot = self.slots.table.slot(ticket.index);
        assert_eq!(
            slot.word(),
            ticket.word(State::Completed),
            "the state of a slot that is recycled"
        );
        slot.set(ticket, State::Available);
        self.slots.free.push(&self.slots.table, ticket.index);
    }

    /// Refuses later tasks. The tasks in the inbox are then the next ones, as after a
    /// [`refill`](Self::refill), if all before were returned.
    pub(super) fn close(&mut self) {
        debug_assert_eq!(self.first, NONE, "tasks that were taken come first");
        self.first = self.slots.inbox.close(&self.slots.table);
    }
}
