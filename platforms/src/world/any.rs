//! A link of any kind.

use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::port::{Bell, Link, Lost};

/// A link whose type is forgotten, so that a program is compiled once for all of them.
pub(crate) struct AnyLink(Box<dyn Link<Bell = AnyBell> + Send>);

/// The bell of any link.
#[derive(Clone)]
pub(crate) struct AnyBell(Arc<dyn Bell + Send + Sync>);

impl AnyLink {
    pub(super) fn of(link: impl Link + Send + 'static) -> Self {
        Self(Box::new(Erased(link)))
    }
}

impl Bell for AnyBell {
    fn ring(&self) {
        self.0.ring();
    }

    fn wait(&self, ticks: u64) {
        self.0.wait(ticks);
    }
}

/// A link of one kind, with a bell of any.
struct Erased<L>(L);

impl<L: Link> Link for Erased<L> {
    type Bell = AnyBell;

    fn here(&self) -> Rank {
        self.0.here()
    }

    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn bell(&self) -> AnyBell {
        AnyBell(Arc::new(self.0.bell()))
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.0.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        self.0.poll(take)
    }

    fn arm(&mut self) -> bool {
        self.0.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        self.0.unsent(to)
    }
}

impl Link for AnyLink {
    type Bell = AnyBell;

    fn here(&self) -> Rank {
        self.0.here()
    }

    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn bell(&self) -> AnyBell {
        self.0.bell()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.0.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        self.0.poll(take)
    }

    fn arm(&mut self) -> bool {
        self.0.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        self.0.unsent(to)
    }
}
