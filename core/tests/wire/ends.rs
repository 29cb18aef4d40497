//! Ranks that are lost, and ranks that leave.

use crate::net::{Net, errors, open, settle};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tautline_core::port::{Alone, Spin};
use tautline_core::wire::{Cause, Channel, Error, Exchange, Fault, Limits, Receiver};
use tautline_core::{PlaceId, Rank};

#[test]
fn a_lost_rank_is_named() {
    let (_, mut all) = Net::exchanges(3, Limits::default());
    let ends: Vec<_> = all.iter().map(|e| open::<u8>(e, "any")).collect();
    settle(&all).unwrap();
    // A rank that has failed does not say goodbye.
    let bad = all[2].open::<Vec<u8>>("failing", 1, |_, _, _: &[u8]| Ok(()));
    bad.send(PlaceId(2), PlaceId(0), vec![0; Limits::default().body]);
    let error = all[2].turn().unwrap_err().to_string();
    assert!(
        error.starts_with(
            "rank 2: channel 1 (failing): for rank 0, a value of type alloc::vec::Vec<u8> cannot"
        ),
        "{error}"
    );
    let heard = errors(&all[..2]);
    assert!(heard.iter().all(|e| {
        e.as_ref()
            .unwrap()
            .to_string()
            .contains(": rank 2 gave up: channel 1")
    }));
    drop((ends, bad, all.pop()));
}

/// A process that is killed sends nothing any more.
#[test]
fn a_killed_rank_is_lost() {
    let net = Net::new(2);
    let exchange = tautline_core::wire::Exchange::new(net.link(0), tautline_core::port::Spin);
    let end = open::<u8>(&exchange, "any");
    exchange.turn().unwrap();
    drop(net.link(1));
    let lost = exchange.turn().unwrap_err();
    assert_eq!(
        lost.to_string(),
        "rank 0: rank 1 was lost, noticed while receiving from it"
    );
    assert_eq!(exchange.turn(), Err(lost), "once and for all");
    drop(end);
}

/// A rank that has said goodbye is not lost, and what is sent to it is dropped.
#[test]
fn a_rank_may_leave() {
    let (_, mut all) = Net::exchanges(3, Limits::default());
    let mut ends: Vec<_> = all.iter().map(|e| open::<u8>(e, "any")).collect();
    settle(&all).unwrap();
    ends[2].0.send(PlaceId(2), PlaceId(0), 5);
    let leaver = all.pop().unwrap();
    assert_eq!(leaver.leave(), Ok(false), "rank 0 has not received it yet");
    settle(&all).unwrap();
    assert_eq!(leaver.leave(), Ok(true));
    drop((leaver, ends.pop()));
    ends[0].0.send(PlaceId(0), PlaceId(2), 1);
    ends[0].0.send(PlaceId(0), PlaceId(1), 2);
    settle(&all).unwrap();
    assert_eq!(ends[0].0.waiting(), 0);
    assert_eq!(ends[0].1.lock().unwrap()[..], [(2, 0, 5)]);
    assert_eq!(ends[1].1.lock().unwrap()[..], [(0, 1, 2)]);
    // Dropping an exchange sends the goodbye too.
    drop((all.pop(), ends.pop()));
    settle(&all).unwrap();
}

/// A rank that leaves sends what it has, however slow the others are; once all of it has left,
/// messages are dropped.
#[test]
fn leaving_sends_what_waits() {
    let limits = Limits {
        window: 100,
        ..Limits::default()
    };
    let (_, all) = Net::exchanges(2, limits);
    let ends: Vec<_> = all.iter().map(|e| open::<[u8; 30]>(e, "any")).collect();
    settle(&all).unwrap();
    for i in 0..50 {
        ends[0].0.send(PlaceId(0), PlaceId(1), [i; 30]);
        ends[1].0.send(PlaceId(1), PlaceId(0), [i; 30]);
    }
    let mut calls = 0;
    while !all[0].leave().unwrap() {
        all[1].turn().unwrap();
        calls += 1;
    }
    assert!(calls > 10, "{calls} calls, three messages each");
    assert_eq!(ends[1].1.lock().unwrap().len(), 50);
    ends[0].0.send(PlaceId(0), PlaceId(1), [0; 30]);
    settle(&all).unwrap();
    assert_eq!(ends[1].1.lock().unwrap().len(), 50, "dropped");
}

/// Messages that arrive while a rank sends its goodbye are not lost, and later ones are not
/// affected.
#[test]
fn a_rank_that_leaves_still_receives() {
    let (_, all) = Net::exchanges(2, Limits::default());
    let ends: Vec<_> = all.iter().map(|e| open::<u8>(e, "any")).collect();
    settle(&all).unwrap();
    ends[1].0.send(PlaceId(1), PlaceId(0), 1);
    all[1].turn().unwrap();
    all[0].leave().unwrap();
    ends[1].0.send(PlaceId(1), PlaceId(0), 2);
    all[1].turn().unwrap();
    settle(&all).unwrap();
    let got = ends[0].1.lock().unwrap().clone();
    assert!(got.starts_with(&[(1, 0, 1)]), "{got:?}");
}

/// Once a rank has failed, nothing piles up in its outboxes.
#[test]
fn dead_channels_keep_nothing() {
    let (net, all) = Net::exchanges(2, Limits::default());
    let ends: Vec<_> = all.iter().map(|e| open::<u8>(e, "any")).collect();
    net.with(1, 0, |mail| mail.push_back(vec![0; 16]));
    assert!(all[0].turn().is_err());
    ends[0].0.send(PlaceId(0), PlaceId(1), 1);
    assert_eq!(ends[0].0.waiting(), 0);
    assert!(all[0].leave().is_err());
}

/// Opens a channel and takes a turn while the link is taken, as another thread may.
struct Opening {
    exchange: Arc<Exchange<Alone>>,
    opened: Arc<Mutex<Option<Channel<u8>>>>,
    has_heard: Arc<AtomicBool>,
}

impl Receiver for Opening {
    fn take(&self, _: PlaceId, _: PlaceId, _: &[u8]) -> Result<(), Fault> {
        Ok(())
    }

    fn fail(&self, _: &Error) {
        let heard = Hearing(Arc::clone(&self.has_heard));
        *self.opened.lock().unwrap() = Some(self.exchange.open("late", 1, heard));
        assert_eq!(self.exchange.turn(), Ok(false), "the link is taken");
    }
}

struct Hearing(Arc<AtomicBool>);

impl Receiver for Hearing {
    fn take(&self, _: PlaceId, _: PlaceId, _: &[u8]) -> Result<(), Fault> {
        Ok(())
    }

    fn fail(&self, _: &Error) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Whether the thread that has the link ends all channels, or only takes a turn after their end.
#[test]
fn channels_that_are_opened_while_others_end_learn_it() {
    for fails in [true, false] {
        let exchange = Arc::new(Exchange::new(Alone, Spin));
        let error = Error {
            here: Rank(0),
            peer: Rank(0),
            channel: None,
            cause: Cause::Panicked,
        };
        if !fails {
            exchange.fail(&error);
        }
        let (opened, has_heard) = <(Arc<Mutex<_>>, Arc<AtomicBool>)>::default();
        let opening = Opening {
            exchange: Arc::clone(&exchange),
            opened: Arc::clone(&opened),
            has_heard: Arc::clone(&has_heard),
        };
        let first = exchange.open::<u8>("first", 1, opening);
        if fails {
            exchange.fail(&error);
        } else {
            assert_eq!(exchange.turn(), Err(error));
        }
        assert!(has_heard.load(Ordering::Relaxed), "by a failure: {fails}");
        drop((first, opened.lock().unwrap().take()));
    }
}
