//! The messages of other ranks: values on their way from the put to the reads.

use super::cell::{Cell, Fetch};
use super::machine::{Effect, Names, Roles, Supply};
use super::memory::Memory;
use super::message::{Failure, Message, Refusal};
use crate::id::Rank;
use crate::machine::Step;
use alloc::vec::Vec;

impl<M: Memory> Names<M> {
    /// Processes a message of another rank.
    pub(super) fn message(
        &mut self,
        from: Rank,
        message: Message<M::Key, M::Value>,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        match message {
            Message::Put { key, value } => self.put_elsewhere(from, key, value, step)?,
            Message::Fetch { key } => self.fetched(from, key, step)?,
            Message::Data { key, by, value } => self.data(from, key, by, value, step)?,
            Message::End(failure) => {
                self.end(failure, step);
                return Ok(());
            }
        }
        self.counts.processed += 1;
        Ok(())
    }

    /// Keeps the value that `by` has put, and releases the reads that wait for it.
    pub(super) fn fill(
        &mut self,
        key: &M::Key,
        by: Rank,
        value: M::Value,
        roles: &Roles,
        step: &mut Step<'_, Self>,
    ) {
        step.calls().keep(key, value);
        let cell = self.cells.entry(key.clone());
        let cell = cell.or_insert_with(|| Cell::new(roles.home, roles.declared));
        cell.by = Some(by);
        if cell.open() > 0 {
            step.effect(Effect::Ready(key.clone()));
        }
        match cell.fetch {
            Fetch::Due => cell.fetch = Fetch::Unneeded,
            // The value was put here: the home does not answer the fetch.
            Fetch::Ahead if by == self.here => {
                cell.fetch = Fetch::Past;
                self.ahead.remove();
                self.fetch_ahead(step);
            }
            _ => {}
        }
    }

    /// Sends a value that was put by `by` from its home to the ranks that read it: all that are
    /// declared, or those that have fetched.
    pub(super) fn supply(
        &mut self,
        key: &M::Key,
        by: Rank,
        roles: &Roles,
        step: &mut Step<'_, Self>,
    ) {
        let asked = self.cells.get(key).map_or(&[][..], Cell::asked);
        // Without declared readers the first is empty, with them the second.
        let to: Vec<Rank> = roles.readers.iter().chain(asked).copied().collect();
        for rank in to {
            // The rank of the put has the value.
            if rank != by && self.is_rank(rank) {
                self.send_data(rank, key, by, step);
            }
        }
    }

    fn send_data(&mut self, to: Rank, key: &M::Key, by: Rank, step: &mut Step<'_, Self>) {
        if !self.lost.contains(&to) {
            let (key, value) = (key.clone(), step.calls().value(key));
            self.send(to, Message::Data { key, by, value }, step);
        }
    }

    /// At the home, processes a put of another rank.
    fn put_elsewhere(
        &mut self,
        from: Rank,
        key: M::Key,
        value: M::Value,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        let roles = self.roles(&key, step.calls());
        if roles.home != self.here {
            return Err(Refusal::Home(roles.home));
        }
        if let Some(first) = self.putter(&key) {
            let second = from;
            self.end(Failure::PutTwice { key, first, second }, step);
            return Ok(());
        }
        self.fill(&key, from, value, &roles, step);
        self.supply(&key, from, &roles, step);
        self.settle(key, step);
        Ok(())
    }

    /// At the home, processes a fetch of another rank.
    fn fetched(
        &mut self,
        from: Rank,
        key: M::Key,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        if self.supply == Supply::Declared {
            return Err(Refusal::Declared);
        }
        let home = step.calls().home(&key);
        if home != self.here {
            return Err(Refusal::Home(home));
        }
        let known = self.cells.get(&key);
        if known.is_some_and(|cell| cell.by == Some(from) || cell.has_asked(from)) {
            return Err(Refusal::Twice);
        }
        let cell = self.cells.entry(key.clone());
        let cell = cell.or_insert_with(|| Cell::new(home, None));
        cell.ask(from);
        if let Some(by) = cell.by {
            self.send_data(from, &key, by, step);
        }
        Ok(())
    }

    /// Processes a value that its home has sent.
    fn data(
        &mut self,
        from: Rank,
        key: M::Key,
        by: Rank,
        value: M::Value,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        let roles = self.roles(&key, step.calls());
        if roles.home != from {
            return Err(Refusal::Sender);
        }
        if by == self.here || !self.is_rank(by) {
            return Err(Refusal::Putter(by));
        }
        let is_declared = roles.declared.is_some();
        if roles.declared.is_some_and(|declared| declared.here == 0) {
            return Err(Refusal::Undeclared);
        }
        let fetch = self.cells.get(&key).map(|cell| cell.fetch);
        match self.putter(&key) {
            None if is_declared || fetch == Some(Fetch::Ahead) => {}
            None => return Err(Refusal::Unrequested),
            // The home has received another put first.
            Some(second) if second == self.here && (is_declared || fetch == Some(Fetch::Past)) => {
                self.end(
                    Failure::PutTwice {
                        key,
                        first: by,
                        second,
                    },
                    step,
                );
                return Ok(());
            }
            Some(_) => return Err(Refusal::Twice),
        }
        self.fill(&key, by, value, &roles, step);
        self.settle(key, step);
        Ok(())
    }
}
