//! Packets in addition to the parcels of a link, with a fault.

use super::Broken;
use crate::links::Plain;
use crate::{combines, conveys};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use tautline_core::Rank;
use tautline_core::comm::{
    Body, Collective, Complete, Done, Error, Matched, News, Operator, Outcome, Packet, PacketLink,
    Recipient,
};
use tautline_core::port::{Bell, Link, Lost};

/// A fault of [`Faulty`] packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// One packet in a hundred is lost.
    Loses,
    /// One packet in a hundred arrives twice.
    Doubles,
    /// One packet in a hundred is overtaken by the next one that is sent.
    Swaps,
    /// One body in a hundred arrives without its last byte.
    Cuts,
    /// One packet in a hundred arrives under another number.
    Renumbers,
    /// One packet in a hundred arrives at the next rank.
    Misdirects,
    /// Packets from a rank to itself are lost.
    ForgetsItself,
    /// Packets that arrive before their number is opened are lost.
    ForgetsEarly,
    /// Packets that arrive after their number is closed are passed on.
    StaysOpen,
    /// A body that has left is not returned.
    KeepsBodies,
    /// A body is returned by the call, and again once it has left.
    ReturnsTwice,
    /// A copy of a body that has left is returned.
    CopiesSent,
    /// A body is received in other memory than was provided, and kept, for it.
    CopiesReceived,
    /// Of two packets that threads send at once, one is lost.
    Races,
    /// A loss is reported before the last packets of the rank.
    Hasty,
    /// A collective operation ends when this rank has started it.
    EndsEarly,
    /// A collective operation ends twice.
    EndsTwice,
    /// One collective operation in ten does not end.
    NeverEnds,
    /// Numbers are multiplied instead of added.
    Multiplies,
    /// Collective operations of all numbers are one sequence.
    OneNumber,
    /// A result is in other memory than was given for it.
    CopiesResults,
    /// A collective operation does not end by the loss of a rank.
    HidesLoss,
    /// A collective operation does not end by the end of its number.
    HidesClose,
}

/// The packets of a rank, with a fault.
pub struct Faulty {
    fault: Fault,
    inner: Arc<dyn PacketLink>,
    here: Rank,
    ranks: u32,
    state: Mutex<State>,
    /// Threads that are sending.
    sending: AtomicUsize,
    held: Arc<Mutex<Vec<Held>>>,
}

#[derive(Default)]
struct State {
    sent: usize,
    /// Collective operations.
    started: usize,
    overtaken: Option<(u32, Rank, Packet)>,
}

/// News that the next poll passes on.
type Held = (Arc<dyn Recipient>, News);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Faulty {
    /// Connects `ranks` ranks of this process; their packets have the fault.
    pub fn connect(fault: Fault, ranks: u32) -> Vec<(FaultyLink, Arc<Self>)> {
        let faulty = |link: Plain| {
            let packets = Arc::new(Self {
                fault,
                inner: link.packets(),
                here: link.here(),
                ranks,
                state: Mutex::default(),
                sending: AtomicUsize::new(0),
                held: Arc::default(),
            });
            let held = Arc::clone(&packets.held);
            (FaultyLink { inner: link, held }, packets)
        };
        Plain::new(ranks).into_iter().map(faulty).collect()
    }

    /// Returns the number under which collective operations are carried out.
    fn sequence(&self, number: u32) -> u32 {
        if self.fault == Fault::OneNumber {
            0
        } else {
            number
        }
    }

    /// Sends the packet that suffers.
    fn spoil(&self, number: u32, to: Rank, mut packet: Packet) {
        let next = Rank((to.0 + 1) % self.ranks);
        match (self.fault, &mut packet) {
            (Fault::Loses, _) => {}
            (Fault::Doubles, _) => {
                self.inner.send(number, to, packet.clone());
                self.inner.send(number, to, packet);
            }
            (Fault::Swaps, _) => locked(&self.state).overtaken = Some((number, to, packet)),
            (Fault::Renumbers, _) => self.inner.send(number ^ 1, to, packet),
            (Fault::Misdirects, _) => self.inner.send(number, next, packet),
            (Fault::Cuts, Packet::Message { body, .. } | Packet::Body { body, .. }) => {
                let length = body.len().saturating_sub(1);
                *body = body[..length].to_vec().into();
                self.inner.send(number, to, packet);
            }
            _ => self.inner.send(number, to, packet),
        }
    }
}

impl PacketLink for Faulty {
    fn open(&self, number: u32, recipient: Arc<dyn Recipient>) {
        let spoilt = Arc::new(Spoilt {
            fault: self.fault,
            inner: recipient,
            is_open: AtomicBool::new(false),
            held: Arc::clone(&self.held),
        });
        self.inner.open(number, spoilt.clone());
        spoilt.is_open.store(true, SeqCst);
    }

    fn close(&self, number: u32) {
        if self.fault != Fault::StaysOpen {
            self.inner.close(number);
        }
    }

    fn send(&self, number: u32, to: Rank, packet: Packet) {
        let is_alone = self.sending.fetch_add(1, SeqCst) == 0;
        thread::yield_now();
        let (is_hundredth, overtaken) = {
            let mut state = locked(&self.state);
            state.sent += 1;
            (state.sent % 100 == 0, state.overtaken.take())
        };
        match (self.fault, is_hundredth) {
            (Fault::Races, _) if !is_alone => {}
            (Fault::ForgetsItself, _) if to == self.here => {}
            (_, true) => self.spoil(number, to, packet),
            _ => self.inner.send(number, to, packet),
        }
        if let Some((number, to, packet)) = overtaken {
            self.inner.send(number, to, packet);
        }
        self.sending.fetch_sub(1, SeqCst);
    }

    fn send_body(&self, number: u32, to: Rank, offer: u64, body: Body) -> Option<Body> {
        let copy = (self.fault == Fault::ReturnsTwice).then(|| body.clone());
        self.inner.send_body(number, to, offer, body).or(copy)
    }

    fn provide(&self, number: u32, offer: (Rank, u64), memory: Body, bytes: usize) -> Option<Body> {
        self.inner.provide(number, offer, memory, bytes)
    }

    fn open_collectives(&self, number: u32) {
        self.inner.open_collectives(self.sequence(number));
    }

    fn collective(
        &self,
        matched: Matched,
        number: u32,
        collective: Collective,
        own: Body,
        into: Body,
        done: Arc<dyn Complete>,
    ) {
        let fault = self.fault;
        let collective = match (fault, collective) {
            (Fault::Multiplies, Collective::AllReduce(element, Operator::Sum)) => {
                Collective::AllReduce(element, Operator::Product)
            }
            _ => collective,
        };
        if fault == Fault::EndsEarly {
            return done.complete(Ok(Done {
                body: into,
                ..Done::default()
            }));
        }
        let is_tenth = {
            let mut state = locked(&self.state);
            state.started += 1;
            state.started % 10 == 0
        };
        let end = move |outcome: Outcome| {
            let done = Arc::clone(&done);
            match (fault, outcome) {
                (Fault::NeverEnds, _) if is_tenth => {}
                (Fault::HidesLoss, Err(Error::Lost { .. })) => {}
                (Fault::HidesClose, Err(Error::Closed)) => {}
                (Fault::CopiesResults, Ok(copied)) => done.complete(Ok(copied.clone())),
                (Fault::EndsTwice, outcome) => {
                    Arc::clone(&done).complete(outcome.clone());
                    done.complete(outcome);
                }
                (_, outcome) => done.complete(outcome),
            }
        };
        let number = self.sequence(number);
        let end = Arc::new(end);
        self.inner
            .collective(matched, number, collective, own, into, end);
    }
}

/// The consumer of the packets of a number, with a fault.
struct Spoilt {
    fault: Fault,
    inner: Arc<dyn Recipient>,
    is_open: AtomicBool,
    held: Arc<Mutex<Vec<Held>>>,
}

impl Recipient for Spoilt {
    fn take(&self, news: News) {
        let news = match (self.fault, news) {
            (Fault::ForgetsEarly, _) if !self.is_open.load(SeqCst) => return,
            (Fault::KeepsBodies, News::Sent { .. }) => return,
            (Fault::CopiesSent, News::Sent { to, offer, body }) => {
                let body = body.clone();
                News::Sent { to, offer, body }
            }
            (Fault::CopiesReceived, News::Packet(from, Packet::Body { offer, body })) => {
                let body = body.clone();
                News::Packet(from, Packet::Body { offer, body })
            }
            (Fault::Hasty, news) => {
                return locked(&self.held).push((Arc::clone(&self.inner), news));
            }
            (_, news) => news,
        };
        self.inner.take(news);
    }
}

/// The link of a rank whose packets have a fault.
pub struct FaultyLink {
    inner: Plain,
    held: Arc<Mutex<Vec<Held>>>,
}

impl Link for FaultyLink {
    fn here(&self) -> Rank {
        self.inner.here()
    }

    fn ranks(&self) -> u32 {
        self.inner.ranks()
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.inner.bell()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.inner.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let polled = self.inner.poll(take)?;
        let held = std::mem::take(&mut *locked(&self.held));
        for (recipient, news) in held {
            recipient.take(news);
        }
        Ok(polled)
    }

    fn arm(&mut self) -> bool {
        locked(&self.held).is_empty() && self.inner.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        self.inner.unsent(to)
    }
}

pub(super) fn broken() -> Vec<Broken> {
    use Fault::*;
    let faults = [
        Loses,
        Doubles,
        Swaps,
        Cuts,
        Renumbers,
        Misdirects,
        ForgetsItself,
        ForgetsEarly,
        StaysOpen,
        KeepsBodies,
        ReturnsTwice,
        CopiesSent,
        CopiesReceived,
        Races,
        Hasty,
    ];
    let broken = |fault| {
        let judge = move || conveys(|ranks| Faulty::connect(fault, ranks));
        Broken::new(("comm::PacketLink", "conveys"), fault, judge)
    };
    let collective = [
        EndsEarly,
        EndsTwice,
        NeverEnds,
        Multiplies,
        OneNumber,
        CopiesResults,
        HidesLoss,
        HidesClose,
    ];
    let broken_collective = |fault| {
        let judge = move || combines(|ranks| Faulty::connect(fault, ranks), matched());
        Broken::new(("comm::PacketLink", "combines"), fault, judge)
    };
    let collective = collective.map(broken_collective);
    faults.map(broken).into_iter().chain(collective).collect()
}

/// Makes the promise that the suite keeps.
#[allow(unsafe_code, reason = "a promise")]
fn matched() -> Matched {
    // SAFETY: no library relies on it: the operations are safe code of this crate.
    unsafe { Matched::promise() }
}
