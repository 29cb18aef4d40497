//! References to ports: every method is that of the port, also where one is provided.

use std::cell::RefCell;
use std::sync::Arc;
use tautline_core::port::{Bell, Clock, Link, Lost, Watch};
use tautline_core::watch::{Passage, Stall, State};
use tautline_core::{PlaceId, Rank, WorkerId};

/// Records its calls; each result differs from the provided one.
#[derive(Default)]
struct Recorder(RefCell<Vec<&'static str>>);

impl Recorder {
    fn note(&self, call: &'static str) {
        self.0.borrow_mut().push(call);
    }
}

impl Clock for Recorder {
    fn now(&self) -> u64 {
        self.note("now");
        1
    }

    fn nanoseconds(&self, ticks: u64) -> u64 {
        self.note("nanoseconds");
        2 * ticks
    }
}

impl Watch for Recorder {
    fn is_watching(&self) -> bool {
        self.note("is_watching");
        true
    }

    fn enter(&self, _: WorkerId, _: Option<State>) {
        self.note("enter");
    }

    fn stole(&self, _: WorkerId, _: WorkerId) {
        self.note("stole");
    }

    fn loot(&self, _: WorkerId, _: Passage) {
        self.note("loot");
    }

    fn stalled(&self, _: &Stall) -> bool {
        self.note("stalled");
        true
    }
}

/// Calls every method of a port that is generic, as a pool's port is.
fn observe(port: impl Clock + Watch) {
    assert_eq!((port.now(), port.nanoseconds(21)), (1, 42));
    assert!(port.is_watching());
    port.enter(WorkerId(0), None);
    port.stole(WorkerId(0), WorkerId(1));
    let [from, to] = [0, 1].map(PlaceId);
    let passage = Passage {
        from,
        to,
        is_answer: true,
        is_sent: true,
    };
    port.loot(WorkerId(0), passage);
    assert!(port.stalled(&Stall::default()));
}

#[test]
fn lent_ports_forward() {
    let port = Recorder::default();
    observe(&port);
    let calls = port.0.take();
    assert_eq!(
        calls.join(" "),
        "now nanoseconds is_watching enter stole loot stalled"
    );
}

impl Link for Recorder {
    fn here(&self) -> Rank {
        Rank(1)
    }

    fn ranks(&self) -> u32 {
        2
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.note("bell");
        Arc::new(|| ())
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        assert_eq!((to, parcel), (Rank(0), &b"parcel"[..]));
        self.note("send");
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        self.note("poll");
        take(Rank(0), b"reply");
        Ok(true)
    }

    fn arm(&mut self) -> bool {
        self.note("arm");
        true
    }

    fn wait(&mut self, ticks: u64) {
        assert_eq!(ticks, 7);
        self.note("wait");
    }

    fn unsent(&self, to: Rank) -> usize {
        to.0 as usize + 40
    }
}

/// Calls every method of a link that is generic, as an exchange is.
fn use_link(mut link: impl Link) {
    assert_eq!((link.here(), link.ranks()), (Rank(1), 2));
    assert_eq!(link.unsent(Rank(2)), 42);
    link.bell().ring();
    link.send(Rank(0), b"parcel");
    let mut taken = Vec::<u8>::new();
    assert_eq!(link.poll(&mut |_, bytes| taken.extend(bytes)), Ok(true));
    assert_eq!(taken, b"reply");
    assert!(link.arm());
    link.wait(7);
}

#[test]
fn lent_and_boxed_links_forward() {
    let mut link = Recorder::default();
    use_link(&mut link);
    use_link(Box::new(&mut link));
    let calls = link.0.take();
    assert_eq!(
        calls.join(" "),
        "bell send poll arm wait bell send poll arm wait"
    );
}
