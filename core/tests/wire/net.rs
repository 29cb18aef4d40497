//! A link in one thread, whose parcels a test may inspect and change, and exchanges over it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use tautline_core::port::{Bell, Link, Lost, Spin};
use tautline_core::wire::{Channel, Error, Exchange, Limits, Portable, unpack};
use tautline_core::{PlaceId, Rank};

/// The parcels from one rank to another.
type Mail = VecDeque<Vec<u8>>;

#[derive(Clone)]
pub(crate) struct Net(Rc<RefCell<State>>);

struct State {
    /// By sender and receiver.
    mail: Vec<Vec<Mail>>,
    /// The number of waits of each rank.
    waits: usize,
    gone: Vec<bool>,
}

impl Net {
    pub(crate) fn new(ranks: usize) -> Self {
        let mail = vec![vec![Mail::new(); ranks]; ranks];
        let gone = vec![false; ranks];
        Self(Rc::new(RefCell::new(State {
            mail,
            waits: 0,
            gone,
        })))
    }

    /// Accesses the parcels on their way.
    pub(crate) fn with<R>(&self, from: usize, to: usize, f: impl FnOnce(&mut Mail) -> R) -> R {
        f(&mut self.0.borrow_mut().mail[from][to])
    }

    /// Returns the number of waits of a rank.
    pub(crate) fn waits(&self) -> usize {
        self.0.borrow().waits
    }

    pub(crate) fn link(&self, here: usize) -> Wire {
        Wire {
            here,
            net: self.clone(),
            reported: vec![false; self.0.borrow().gone.len()],
        }
    }

    /// An exchange for each rank.
    pub(crate) fn exchanges(ranks: usize, limits: Limits) -> (Self, Vec<Exchange<Wire>>) {
        let net = Self::new(ranks);
        let one = |here| Exchange::within(limits, net.link(here), Spin);
        let all = (0..ranks).map(one).collect();
        (net, all)
    }
}

/// One rank's end. What waits to be received counts as not sent.
pub(crate) struct Wire {
    here: usize,
    net: Net,
    reported: Vec<bool>,
}

impl Link for Wire {
    fn here(&self) -> Rank {
        Rank(self.here as u32)
    }

    fn ranks(&self) -> u32 {
        self.reported.len() as u32
    }

    fn bell(&self) -> Arc<dyn Bell> {
        Arc::new(|| ())
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        assert_ne!(to.index(), self.here);
        if !self.net.0.borrow().gone[to.index()] {
            self.net.with(self.here, to.index(), |mail| {
                mail.push_back(parcel.to_vec())
            });
        }
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let mut moved = false;
        for from in 0..self.reported.len() {
            while let Some(parcel) = self.net.with(from, self.here, Mail::pop_front) {
                take(Rank(from as u32), &parcel);
                moved = true;
            }
        }
        for rank in 0..self.reported.len() {
            if self.net.0.borrow().gone[rank] && !self.reported[rank] {
                self.reported[rank] = true;
                return Err(Lost {
                    rank: Rank(rank as u32),
                    doing: "receiving from it",
                    is_gone: true,
                });
            }
        }
        Ok(moved)
    }

    fn arm(&mut self) -> bool {
        self.net.0.borrow_mut().waits += 1;
        false
    }

    fn unsent(&self, to: Rank) -> usize {
        self.net.with(self.here, to.index(), |mail| {
            mail.iter().map(Vec::len).sum()
        })
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.net.0.borrow_mut().gone[self.here] = true;
    }
}

/// The messages that an end has received, in order.
pub(crate) type Got<M> = Arc<Mutex<Vec<(u32, u32, M)>>>;

/// Opens the next channel at one rank, of one place each.
#[track_caller]
pub(crate) fn open<M: Portable + 'static>(
    exchange: &Exchange<Wire>,
    kind: &'static str,
) -> (Channel<M>, Got<M>) {
    let got = Got::default();
    let put = got.clone();
    let channel = exchange.open(kind, 1, move |from: PlaceId, to: PlaceId, body: &[u8]| {
        put.lock().unwrap().push((from.0, to.0, unpack(body)?));
        Ok(())
    });
    (channel, got)
}

/// Runs turns until nothing moves.
pub(crate) fn settle(all: &[Exchange<Wire>]) -> Result<(), Error> {
    loop {
        let mut moved = false;
        for exchange in all {
            moved |= exchange.turn()?;
        }
        if !moved {
            return Ok(());
        }
    }
}

/// Runs turns until each rank has failed or nothing moves; returns the errors.
pub(crate) fn errors(all: &[Exchange<Wire>]) -> Vec<Option<Error>> {
    let mut errors = vec![None; all.len()];
    for _ in 0..10 {
        for (exchange, error) in all.iter().zip(&mut errors) {
            let turn = exchange.turn();
            if error.is_some() {
                assert_eq!(turn.err(), *error, "the first error stays");
            } else {
                *error = turn.err();
            }
        }
    }
    errors
}
