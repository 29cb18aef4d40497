//! The states of a balancer's worker, as states of the pool's worker that polls it.

use crate::port::Host;
use crate::watch::{Observer, Passage, State};

/// An observer that also reports to the port, if that is watching.
pub(super) struct PortObserver<'p, P, O> {
    port: Option<&'p P>,
    observer: O,
}

impl<'p, P: Host, O> PortObserver<'p, P, O> {
    pub(super) fn new(port: &'p P, observer: O) -> Self {
        Self {
            port: port.is_watching().then_some(port),
            observer,
        }
    }

    pub(super) fn into_inner(self) -> O {
        self.observer
    }
}

/// Reports that the calling worker is in `state` from now on.
pub(super) fn report<P: Host>(port: &P, state: State) {
    if let Some(worker) = port.current() {
        port.enter(worker, Some(state));
    }
}

impl<P: Host, O: Observer> Observer for PortObserver<'_, P, O> {
    #[inline]
    fn span(&mut self, state: State, from: u64, to: u64) {
        self.observer.span(state, from, to);
    }

    #[inline]
    fn begin(&mut self, state: State, now: u64) {
        self.observer.begin(state, now);
        if let Some(port) = self.port {
            report(port, state);
        }
    }

    fn grain(&mut self, tasks: usize, now: u64) {
        self.observer.grain(tasks, now);
    }

    fn loot(&mut self, passage: Passage, since: u64) {
        self.observer.loot(passage, since);
        let seat = self.port.and_then(|port| Some((port, port.current()?)));
        if let Some((port, worker)) = seat {
            port.loot(worker, passage);
        }
    }
}
