//! The packets of communicators, in addition to the parcels of the link.
//!
//! # Words
//! `is_waiting`: set by a thread that has put a packet into the outbox, cleared by one that holds
//! the wire and takes them.
//!
//! # Orderings
//! | id | one side | the other side | what becomes visible | model |
//! |---|---|---|---|---|
//! | PK1 | `flush`, after the wire was released | `flush`, after a packet was put | of the release and the packet, one to the load after the other fence | `verify/litmus/packets.toml` |
//!
//! # Locks
//! In this order: `wire`, `receivers` or `outbox`, what a [`Recipient`] locks. Completions, which
//! may run a program's code, are called under none of them.
#![forbid(unsafe_code)]

use crate::native::{End, Native};
use crate::wire::{Content, Outgoing, Provided, Wire};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use tautline_core::Rank;
use tautline_core::comm::{
    Body, Collective, Complete, Matched, News, Packet, PacketLink, Recipient,
};

/// The state that a link and the packets of its communicators share: the wire, which one thread at
/// a time uses.
pub(crate) struct SharedWire {
    here: Rank,
    /// `None` once the link was dropped.
    wire: Mutex<Option<Wire>>,
    outbox: Mutex<VecDeque<Outgoing>>,
    is_waiting: AtomicBool,
    receivers: Mutex<BTreeMap<u32, Receiver>>,
    provided: Arc<Provided>,
}

enum Receiver {
    /// The packets that arrived before it was opened here.
    Early(Vec<News>),
    Open(Arc<dyn Recipient>),
    /// Packets that arrive are dropped.
    Closed,
}

/// Each state that these locks guard is consistent between any two statements that change it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedWire {
    pub(crate) fn new(wire: Wire) -> Self {
        Self {
            here: wire.here(),
            provided: Arc::clone(wire.provided()),
            wire: Mutex::new(Some(wire)),
            outbox: Mutex::default(),
            is_waiting: AtomicBool::new(false),
            receivers: Mutex::default(),
        }
    }

    /// Lets the link use the wire; then sends the packets that other threads could not send, and
    /// passes on what has arrived.
    ///
    /// # Panics
    /// If the link was dropped.
    pub(crate) fn with<R>(&self, using: impl FnOnce(&mut Wire) -> R) -> R {
        let mut guard = locked(&self.wire);
        let wire = guard.as_mut().expect("until its link is dropped");
        self.send_waiting(wire);
        let result = using(wire);
        let ended = self.pass_on(wire);
        drop(guard);
        complete(ended);
        self.flush();
        result
    }

    /// Takes the wire out, as its link is dropped: what was sent before is sent.
    pub(crate) fn close(&self) -> Option<Wire> {
        let mut wire = locked(&self.wire).take();
        if let Some(wire) = &mut wire {
            self.send_waiting(wire);
        }
        wire
    }

    fn send_waiting(&self, wire: &mut Wire) {
        // ORDERING: Relaxed: a hint, which spares the exchange below: the thread that has set it
        // checks, or this one after its fence.
        let is_waiting = self.is_waiting.load(Ordering::Relaxed);
        // ORDERING: Acquire, pairs with Release in put: the packet is in the outbox; no mutant:
        // loom builds core alone.
        if is_waiting && self.is_waiting.swap(false, Ordering::Acquire) {
            let waiting = std::mem::take(&mut *locked(&self.outbox));
            for packet in waiting {
                wire.send_packet(packet);
            }
        }
    }

    /// Sends a packet, or leaves it to the thread that uses the wire.
    fn put(&self, packet: Outgoing) {
        match self.try_wire() {
            Some(wire) => self.use_wire(wire, Some(packet)),
            None => {
                locked(&self.outbox).push_back(packet);
                // ORDERING: Release, pairs with Acquire in send_waiting; no mutant: as there.
                self.is_waiting.store(true, Ordering::Release);
            }
        }
        self.flush();
    }

    /// Sends the packets that wait, unless another thread uses the wire, which checks for them when
    /// it has released it.
    fn flush(&self) {
        loop {
            // ORDERING: SeqCst, pairs with itself: a thread that has released the wire observes
            // what another one has left to it, or that one gets the wire (PK1).
            fence(Ordering::SeqCst);
            // ORDERING: Relaxed: the fence above orders it.
            if !self.is_waiting.load(Ordering::Relaxed) {
                return;
            }
            match self.try_wire() {
                Some(wire) => self.use_wire(wire, None),
                None => return,
            }
        }
    }

    fn try_wire(&self) -> Option<MutexGuard<'_, Option<Wire>>> {
        match self.wire.try_lock() {
            Ok(wire) => Some(wire),
            // As `locked`.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Sends the waiting packets, and `packet`; then passes on those that have ended by that.
    fn use_wire(&self, mut guard: MutexGuard<'_, Option<Wire>>, packet: Option<Outgoing>) {
        let Some(wire) = &mut *guard else {
            drop(guard);
            // ORDERING: Relaxed: the lock of the outbox carries what it has.
            self.is_waiting.store(false, Ordering::Relaxed);
            let waiting = std::mem::take(&mut *locked(&self.outbox));
            return waiting.into_iter().chain(packet).for_each(Outgoing::refuse);
        };
        self.send_waiting(wire);
        if let Some(packet) = packet {
            wire.send_packet(packet);
        }
        let ended = self.pass_on(wire);
        drop(guard);
        complete(ended);
    }

    /// Passes on arrived packets. Returns the ended operations, which are completed outside of the
    /// lock.
    fn pass_on(&self, wire: &mut Wire) -> Vec<End> {
        for (number, news) in wire.arrived() {
            self.deliver(number, news);
        }
        wire.natives().take_ended()
    }

    fn deliver(&self, number: u32, news: News) {
        let mut receivers = locked(&self.receivers);
        let receiver = receivers.entry(number);
        match receiver.or_insert_with(|| Receiver::Early(Vec::new())) {
            Receiver::Early(early) => early.push(news),
            Receiver::Closed => {}
            Receiver::Open(recipient) => {
                let recipient = Arc::clone(recipient);
                drop(receivers);
                recipient.take(news);
            }
        }
    }
}

fn complete(ended: Vec<End>) {
    for (done, outcome) in ended {
        done.complete(outcome);
    }
}

impl PacketLink for SharedWire {
    fn open(&self, number: u32, recipient: Arc<dyn Recipient>) {
        let mut receivers = locked(&self.receivers);
        let before = receivers.insert(number, Receiver::Open(Arc::clone(&recipient)));
        // Under the lock, so that packets that arrive concurrently follow it.
        if let Some(Receiver::Early(early)) = before {
            early.into_iter().for_each(|news| recipient.take(news));
        }
    }

    fn close(&self, number: u32) {
        let closed = locked(&self.receivers).insert(number, Receiver::Closed);
        drop(closed);
        self.provided.close(number);
        self.put(Outgoing {
            number,
            to: self.here,
            content: Content::Close,
        });
    }

    fn send(&self, number: u32, to: Rank, packet: Packet) {
        if to == self.here {
            return self.deliver(number, News::Packet(to, packet));
        }
        self.put(Outgoing {
            number,
            to,
            content: Content::Packet(packet),
        });
    }

    fn send_body(&self, number: u32, to: Rank, offer: u64, body: Body) -> Option<Body> {
        if to == self.here {
            let copy = body.to_vec().into();
            self.deliver(number, News::Packet(to, Packet::Body { offer, body: copy }));
            return Some(body);
        }
        self.put(Outgoing {
            number,
            to,
            content: Content::Body(offer, body),
        });
        None
    }

    fn provide(
        &self,
        number: u32,
        (from, offer): (Rank, u64),
        memory: Body,
        bytes: usize,
    ) -> Option<Body> {
        if from == self.here {
            return Some(memory);
        }
        self.provided.put((number, from, offer), (memory, bytes));
        None
    }

    fn open_collectives(&self, number: u32) {
        self.put(Outgoing {
            number,
            to: self.here,
            content: Content::Collectives,
        });
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
        let native = Native {
            collective,
            own,
            into,
            done,
            matched,
        };
        self.put(Outgoing {
            number,
            to: self.here,
            content: Content::Collective(native),
        });
    }
}
