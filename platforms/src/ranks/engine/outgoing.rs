//! A channel as its receiver sends on it: from before it is open until after its end.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tautline_core::wire::{Channel, Encoding, Portable};
use tautline_core::{PlaceId, Rank};

/// The messages of a rank on a channel. Those that its receiver sends before the channel is open,
/// as answers to others, are kept until then; those after its end are dropped.
pub(crate) struct Outgoing<M: Portable + 'static> {
    here: Rank,
    state: Mutex<State<M>>,
}

enum State<M: Portable + 'static> {
    Opening(Vec<(Rank, Encoding)>),
    Open(Channel<M>),
    Closed,
}

impl<M: Portable + 'static> Outgoing<M> {
    pub(crate) fn new(here: Rank) -> Self {
        let state = Mutex::new(State::Opening(Vec::new()));
        Self { here, state }
    }

    fn state(&self) -> MutexGuard<'_, State<M>> {
        // It is consistent between any two statements that change it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what was kept, and all that follows, on `channel`, unless it has ended.
    pub(crate) fn open(&self, channel: Channel<M>) {
        let mut state = self.state();
        let kept = match &mut *state {
            State::Opening(kept) => mem::take(kept),
            State::Open(_) | State::Closed => return,
        };
        for (to, message) in kept {
            self.send_on(&channel, to, message);
        }
        *state = State::Open(channel);
    }

    /// Sends a message that is encoded.
    pub(crate) fn send(&self, to: Rank, message: Encoding) {
        match &mut *self.state() {
            State::Opening(kept) => kept.push((to, message)),
            State::Open(channel) => self.send_on(channel, to, message),
            State::Closed => {}
        }
    }

    fn send_on(&self, channel: &Channel<M>, to: Rank, message: Encoding) {
        channel.send_encoded(PlaceId(self.here.0), PlaceId(to.0), message);
    }

    /// Drops the channel.
    pub(crate) fn close(&self) {
        let state = mem::replace(&mut *self.state(), State::Closed);
        drop(state);
    }
}
