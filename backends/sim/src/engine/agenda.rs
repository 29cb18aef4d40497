//! Pending events in the order of their times; of one time, in the order in which they were added.
//!
//! # Algorithm
//! A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990): no entry is added for a time before the one
//! that was taken last, so an entry is grouped by the highest bit in which its time differs from
//! that. When the lowest group comes up it is spread over lower ones; so an entry moves at most
//! once a bit, and always along plain arrays. What differs: entries of one time are always in one
//! group and are moved in order, so they need no sequence numbers.

use std::collections::VecDeque;

/// Groups by bit, and one for the current time.
const GROUPS: usize = u64::BITS as usize + 1;

/// A monotone priority queue of events by time.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    /// The time that was taken last.
    now: u64,
    /// The events of that time.
    due: VecDeque<T>,
    later: Vec<Group<T>>,
    /// A bit for each group that has entries, the lowest for the first of `later`.
    filled: u64,
    /// Space for entries that move.
    moving: Vec<(u64, T)>,
}

#[derive(Debug)]
struct Group<T> {
    first: u64,
    entries: Vec<(u64, T)>,
}

impl<T> Agenda<T> {
    /// Creates an empty queue at time 0.
    pub(crate) fn new() -> Self {
        let group = |_| Group {
            first: u64::MAX,
            entries: Vec::new(),
        };
        Self {
            now: 0,
            due: VecDeque::new(),
            later: (1..GROUPS).map(group).collect(),
            filled: 0,
            moving: Vec::new(),
        }
    }

    /// Adds an event at `at`, which must not precede the time that was taken last.
    #[inline]
    pub(crate) fn push(&mut self, at: u64, what: T) {
        debug_assert!(at >= self.now, "nothing happens in the past");
        match (at ^ self.now).checked_ilog2() {
            None => self.due.push_back(what),
            Some(bit) => {
                let group = &mut self.later[bit as usize];
                group.first = group.first.min(at);
                group.entries.push((at, what));
                self.filled |= 1 << bit;
            }
        }
    }

    /// Returns the time of the next event.
    #[inline]
    pub(crate) fn next_at(&self) -> Option<u64> {
        if !self.due.is_empty() {
            return Some(self.now);
        }
        let group = self.later.get(self.filled.trailing_zeros() as usize)?;
        Some(group.first)
    }

    /// Returns the next event and its time.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        if self.due.is_empty() {
            self.advance();
        }
        Some((self.now, self.due.pop_front()?))
    }

    /// Advances to the next time that has events.
    fn advance(&mut self) {
        let bit = self.filled.trailing_zeros();
        let Some(group) = self.later.get_mut(bit as usize) else {
            return;
        };
        self.now = std::mem::replace(&mut group.first, u64::MAX);
        std::mem::swap(&mut group.entries, &mut self.moving);
        self.filled &= !(1 << bit);
        let mut moving = std::mem::take(&mut self.moving);
        for (at, what) in moving.drain(..) {
            self.push(at, what);
        }
        self.moving = moving;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    /// Compares with a heap that numbers its entries.
    #[test]
    fn things_come_in_the_order_of_their_moments_and_of_being_put_down() {
        let mut agenda = Agenda::new();
        let mut heap = BinaryHeap::new();
        let (mut random, mut now) = (1u64, 0);
        for number in 0..200_000u64 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // Times near and far, and many equal ones.
            let ahead = (random >> 33) % [1, 4, 1_000, 1 << 30][(random >> 20) as usize % 4];
            agenda.push(now + ahead, number);
            heap.push(Reverse((now + ahead, number)));
            assert_eq!(agenda.next_at(), heap.peek().map(|next| next.0.0));
            if (random >> 50) % 16 < 7 + u64::from(number > 100_000) * 2 {
                let next = agenda.pop();
                assert_eq!(next, heap.pop().map(|next| next.0));
                now = next.map_or(now, |next| next.0);
            }
        }
        while let Some(Reverse(next)) = heap.pop() {
            assert_eq!(agenda.pop(), Some(next));
        }
        assert_eq!((agenda.next_at(), agenda.pop()), (None, None));
    }

    #[test]
    fn the_last_moment_of_all_is_one_too() {
        let mut agenda = Agenda::new();
        agenda.push(u64::MAX, 'z');
        agenda.push(0, 'a');
        assert_eq!(agenda.pop(), Some((0, 'a')));
        assert_eq!(agenda.next_at(), Some(u64::MAX));
        assert_eq!(agenda.pop(), Some((u64::MAX, 'z')));
    }
}
