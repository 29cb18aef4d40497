//! Messages arrive in order, and memory for those that wait is bounded.

use crate::net::{Net, open, settle};
use std::sync::Arc;
use tautline_core::PlaceId;
use tautline_core::port::Spin;
use tautline_core::wire::{Channel, Encoding, Exchange, Limits, Traffic, unpack};

const TIGHT: Limits = Limits {
    body: 1000,
    window: 500,
    early: 300,
    waiting: 20,
};

#[test]
fn messages_arrive_in_order() {
    let (_, all) = Net::exchanges(3, Limits::default());
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for exchange in &all {
        first.push(open::<u64>(exchange, "first"));
        second.push(open::<String>(exchange, "second"));
    }
    for i in 0..100 {
        first[0].0.send(PlaceId(0), PlaceId(1), i);
        first[2].0.send(PlaceId(2), PlaceId(1), 1000 + i);
        second[0]
            .0
            .send(PlaceId(0), PlaceId(1), format!("number {i}"));
        if i % 13 == 0 {
            settle(&all).unwrap();
        }
    }
    settle(&all).unwrap();
    let got = first[1].1.lock().unwrap().clone();
    for (rank, base) in [(0, 0), (2, 1000)] {
        let of_rank = got.iter().filter(|(from, _, _)| *from == rank);
        assert!(
            of_rank
                .map(|(_, to, m)| (*to, *m))
                .eq((base..base + 100).map(|i| (1, i)))
        );
    }
    let got = second[1].1.lock().unwrap();
    assert!(
        got.iter()
            .map(|(_, _, m)| m.clone())
            .eq((0..100).map(|i| format!("number {i}")))
    );
    let (sent, received) = (second[0].0.traffic(), second[1].0.traffic());
    assert_eq!((sent.sent, received.received), (100, 100));
    assert_eq!(sent.sent_bytes, received.received_bytes);
    assert_eq!(sent.sent_bytes, 10 * (1 + 8) + 90 * (1 + 9));
    assert_eq!((sent.received, received.sent), (0, 0));
}

/// Messages that are encoded before, among others: of any length, alone and several at a time.
#[test]
fn encoded_messages_arrive_in_order() {
    let (_, all) = Net::exchanges(2, Limits::default());
    let ends: Vec<_> = all
        .iter()
        .map(|e| open::<(u32, Vec<u8>)>(e, "any"))
        .collect();
    let lengths = [0, 1, 100, 5_000, 3, 70_000, 4_096, 9];
    let message = |number| (number, vec![7; lengths[number as usize % lengths.len()]]);
    for number in 0..64 {
        let (value, mut encoding) = (message(number), Encoding::default());
        if number % 5 == 0 {
            ends[0].0.send(PlaceId(0), PlaceId(1), value);
        } else {
            encoding.push(&value.0, 5).unwrap();
            let before = encoding.body().len();
            assert!(
                encoding.push(&vec![0u8; 9], 9).is_err(),
                "with its length, 10"
            );
            assert_eq!(encoding.body().len(), before);
            encoding.push(&value.1, 80_000).unwrap();
            ends[0].0.send_encoded(PlaceId(0), PlaceId(1), encoding);
        }
        if number % 7 == 0 {
            settle(&all).unwrap();
        }
    }
    settle(&all).unwrap();
    let got = ends[1].1.lock().unwrap();
    assert!(
        got.iter()
            .map(|(_, _, it)| it.clone())
            .eq((0..64).map(message))
    );
    let (sent, received) = (ends[0].0.traffic(), ends[1].0.traffic());
    assert_eq!((sent.sent, received.received), (64, 64));
    assert_eq!(sent.sent_bytes, received.received_bytes);
}

#[test]
#[should_panic = "a body of 1001 bytes: at most 1000"]
fn a_longer_encoded_message_is_a_panic() {
    let (_, all) = Net::exchanges(2, TIGHT);
    let end = open::<u64>(&all[0], "any").0;
    let mut encoding = Encoding::default();
    encoding.push(&"x".repeat(999), 1001).unwrap();
    end.send_encoded(PlaceId(0), PlaceId(1), encoding);
}

/// Short messages that wait for the same rank share a parcel; a long one has its own, and nothing
/// is overtaken.
#[test]
fn short_messages_share_a_parcel() {
    let (net, all) = Net::exchanges(2, Limits::default());
    let ends: Vec<_> = all.iter().map(|e| open::<Vec<u8>>(e, "any")).collect();
    settle(&all).unwrap();
    let lengths = [10, 20, 0, 5000, 30, 600, 600, 40];
    for length in lengths {
        ends[0]
            .0
            .send(PlaceId(0), PlaceId(1), vec![length as u8; length]);
    }
    all[0].turn().unwrap();
    // The first three; the long one; two; two that had no room there.
    assert_eq!(net.with(0, 1, |parcels| parcels.len()), 4);
    settle(&all).unwrap();
    let got = ends[1].1.lock().unwrap();
    assert!(
        got.iter()
            .map(|(_, _, m)| m.clone())
            .eq(lengths.map(|length| vec![length as u8; length]))
    );
    let (sent, received) = (ends[0].0.traffic(), ends[1].0.traffic());
    assert_eq!(sent.sent_bytes, received.received_bytes);
}

/// A parcel of many messages is short, also if they have no bytes.
#[test]
fn a_shared_parcel_is_bounded() {
    let (net, all) = Net::exchanges(2, TIGHT);
    let empty: Vec<_> = all.iter().map(|e| open::<()>(e, "empty")).collect();
    let bytes: Vec<_> = all.iter().map(|e| open::<u8>(e, "bytes")).collect();
    settle(&all).unwrap();
    for byte in 0..200 {
        empty[0].0.send(PlaceId(0), PlaceId(1), ());
        bytes[0].0.send(PlaceId(0), PlaceId(1), byte);
    }
    let mut longest = 0;
    while empty[1].1.lock().unwrap().len() < 200 || bytes[1].1.lock().unwrap().len() < 200 {
        all[0].turn().unwrap();
        let lengths = net.with(0, 1, |parcels| {
            parcels.iter().map(Vec::len).collect::<Vec<_>>()
        });
        let sum: usize = lengths.iter().sum();
        assert!(sum <= 2 * TIGHT.window, "{lengths:?}");
        longest = longest.max(lengths.into_iter().max().unwrap_or(0));
        all[1].turn().unwrap();
    }
    assert!(
        (TIGHT.window - 30..=TIGHT.window).contains(&longest),
        "{longest}"
    );
    let got = bytes[1].1.lock().unwrap();
    assert!(got.iter().map(|(_, _, byte)| *byte).eq(0..200));
}

/// Messages that wait before a message that has no encoding arrive.
#[test]
fn messages_before_one_without_an_encoding_arrive() {
    let limits = Limits {
        body: 100,
        ..Limits::default()
    };
    let (_, all) = Net::exchanges(2, limits);
    let ends: Vec<_> = all.iter().map(|e| open::<Vec<u8>>(e, "any")).collect();
    settle(&all).unwrap();
    for length in [1, 2, 200] {
        ends[0].0.send(PlaceId(0), PlaceId(1), vec![0; length]);
    }
    assert!(all[0].turn().is_err(), "the last is too long");
    assert!(all[1].turn().is_err(), "it learns of that");
    assert_eq!(ends[1].1.lock().unwrap().len(), 2);
}

/// A receiver that answers, and one that sends to its own rank.
#[test]
fn receivers_may_send() {
    let (_, all) = Net::exchanges(2, Limits::default());
    let mut channels: Vec<Arc<Channel<u64>>> = Vec::new();
    for exchange in &all {
        let channel = Arc::new_cyclic(|this: &std::sync::Weak<Channel<u64>>| {
            let this = this.clone();
            exchange.open("countdown", 2, move |from, to, body: &[u8]| {
                let left = unpack::<u64>(body)?;
                if let (Some(this), 1..) = (this.upgrade(), left) {
                    this.send(to, from, left - 1);
                }
                Ok(())
            })
        });
        channels.push(channel);
    }
    // Places 0 and 1 are of rank 0, 2 and 3 of rank 1.
    channels[0].send(PlaceId(1), PlaceId(2), 101);
    channels[1].send(PlaceId(3), PlaceId(2), 10);
    settle(&all).unwrap();
    let traffic = |i: usize| channels[i].traffic();
    assert_eq!((traffic(0).sent, traffic(0).received), (51, 51));
    assert_eq!((traffic(1).sent, traffic(1).received), (51 + 11, 51 + 11));
}

/// A turn delivers some of many messages of a rank to itself, between which other channels and the
/// link have their turn. The thread that drives the exchange does not wait before all are
/// delivered.
#[test]
fn a_rank_does_not_wait_before_its_own_messages_are_delivered() {
    let (net, all) = Net::exchanges(2, Limits::default());
    let ends: Vec<_> = all.iter().map(|e| open::<u32>(e, "own")).collect();
    settle(&all).unwrap();
    (0..1000).for_each(|i| ends[0].0.send(PlaceId(0), PlaceId(0), i));
    ends[1].0.send(PlaceId(1), PlaceId(0), 1000);
    all[1].turn().unwrap();
    all[0].turn().unwrap();
    let got = || ends[0].1.lock().unwrap().clone();
    let other = got().iter().position(|&(from, ..)| from == 1);
    assert!(other.is_some_and(|at| at < 1000), "{other:?}");
    while got().len() < 1001 {
        all[0].wait(1).unwrap();
        assert_eq!(net.waits(), 0, "{} messages", got().len());
    }
    all[0].wait(1).unwrap();
    assert_eq!(net.waits(), 1);
}

/// A rank that does not receive bounds what its peers send; the rest waits in the outbox, as
/// values.
#[test]
fn a_slow_rank_bounds_what_is_sent() {
    let (net, all) = Net::exchanges(2, TIGHT);
    let ends: Vec<_> = all.iter().map(|e| open::<Vec<u8>>(e, "slow")).collect();
    settle(&all).unwrap();
    for i in 0..100 {
        ends[0].0.send(PlaceId(0), PlaceId(1), vec![i; 90]);
        all[0].turn().unwrap();
        let bytes = net.with(0, 1, |mail| mail.iter().map(Vec::len).sum::<usize>());
        assert!(bytes < TIGHT.window + 16 + 91, "{bytes} bytes");
    }
    assert_eq!(ends[0].0.waiting(), 95);
    assert_eq!(
        ends[0].0.try_send(PlaceId(0), PlaceId(1), vec![1]),
        Err(vec![1])
    );
    settle(&all).unwrap();
    assert_eq!(
        ends[0].0.try_send(PlaceId(0), PlaceId(1), vec![100; 90]),
        Ok(())
    );
    settle(&all).unwrap();
    let got = ends[1].1.lock().unwrap();
    assert!(got.iter().map(|(_, _, m)| m[0]).eq(0..101));
}

/// Before a rank has opened the channel, little is sent to it; afterwards, everything arrives in
/// order.
#[test]
fn a_rank_that_opens_late_gets_everything() {
    let (net, all) = Net::exchanges(2, TIGHT);
    let here = std::panic::Location::caller();
    let early = all[0].open_at::<Vec<u8>>(here, "late", 1, |_, _, _: &[u8]| Ok(()));
    for i in 0..50 {
        early.send(PlaceId(0), PlaceId(1), vec![i; 50]);
        settle(&all).unwrap();
    }
    assert_eq!(early.waiting(), 50 - 5, "five of 16 + 51 bytes fill 300");
    assert!(
        net.with(0, 1, |mail| mail.is_empty()),
        "rank 1 keeps what arrived"
    );
    let absent = all[0].absent().expect("rank 1 has not opened the channel");
    assert!(
        absent
            .to_string()
            .contains("channel 0 (late): rank 1 has not opened it"),
        "{absent}"
    );
    let got = Arc::new(std::sync::Mutex::new(Vec::new()));
    let put = got.clone();
    let late = all[1].open_at::<Vec<u8>>(here, "late", 1, move |_, _, body: &[u8]| {
        put.lock().unwrap().push(unpack::<Vec<u8>>(body)?[0]);
        Ok(())
    });
    settle(&all).unwrap();
    assert_eq!(all[0].absent(), None);
    assert!(got.lock().unwrap().iter().copied().eq(0..50));
    assert_eq!(late.traffic().received, 50);
}

/// Headers alone fill the bounds of a channel that is not open at the other rank.
#[test]
fn empty_messages_are_bounded_too() {
    let (_, all) = Net::exchanges(2, TIGHT);
    let early = all[0].open::<()>("late", 1, |_, _, _: &[u8]| Ok(()));
    for _ in 0..1000 {
        early.send(PlaceId(0), PlaceId(1), ());
    }
    settle(&all).unwrap();
    assert_eq!(early.waiting(), 1000 - 19, "19 of 16 bytes fill 300");
    // A rank that does not keep the bound.
    let net = Net::new(2);
    let faulty = Exchange::within(Limits::default(), net.link(0), Spin);
    let strict = Exchange::within(TIGHT, net.link(1), Spin);
    let early = faulty.open::<()>("late", 1, |_, _, _: &[u8]| Ok(()));
    for _ in 0..20 {
        early.send(PlaceId(0), PlaceId(1), ());
    }
    faulty.turn().unwrap();
    let error = strict.turn().unwrap_err().to_string();
    assert!(
        error.ends_with(
            "rank 0 sent 320 bytes ahead of this rank; at most 300 are kept for channels that are not open here"
        ),
        "{error}"
    );
}

/// A channel that is closed before the other rank opens it returns what it has sent ahead, once
/// that rank does.
#[test]
fn closed_channels_return_what_they_sent_ahead() {
    let (_, all) = Net::exchanges(2, TIGHT);
    let here = std::panic::Location::caller();
    let open =
        |rank: usize| all[rank].open_at::<Vec<u8>>(here, "short", 1, |_, _, _: &[u8]| Ok(()));
    for round in 0..20 {
        let ends = [open(0), open(0)];
        for end in &ends {
            end.send(PlaceId(0), PlaceId(1), vec![round; 200]);
        }
        settle(&all).unwrap();
        assert_eq!(ends.each_ref().map(Channel::waiting), [0, 0], "{round}");
        drop(ends);
        settle(&all).unwrap();
        drop([open(1), open(1)]);
        settle(&all).unwrap();
    }
}

/// Messages sent before the end of a channel leave; those that arrive after it are dropped.
#[test]
fn closed_channels_let_go() {
    let (_, all) = Net::exchanges(2, Limits::default());
    let mut ends: Vec<_> = all.iter().map(|e| open::<u8>(e, "closing")).collect();
    settle(&all).unwrap();
    for i in 0..5 {
        ends[0].0.send(PlaceId(0), PlaceId(1), i);
    }
    ends[1].0.send(PlaceId(1), PlaceId(0), 9);
    let (closed, got) = ends.remove(0);
    drop(closed);
    settle(&all).unwrap();
    assert_eq!(ends[0].1.lock().unwrap().len(), 5);
    assert!(got.lock().unwrap().is_empty());
    assert_eq!(Arc::strong_count(&got), 1, "the closed end is freed");
    ends[0].0.send(PlaceId(1), PlaceId(0), 9);
    settle(&all).unwrap();
    let next: Vec<_> = all.iter().map(|e| open::<u8>(e, "next")).collect();
    next[0].0.send(PlaceId(0), PlaceId(1), 1);
    settle(&all).unwrap();
    assert_eq!(next[1].1.lock().unwrap()[..], [(0, 1, 1)]);
}

#[test]
fn a_program_of_one_rank_sends_to_itself() {
    let net = Net::new(1);
    let exchange = Exchange::new(net.link(0), Spin);
    let (channel, got) = open::<u8>(&exchange, "alone");
    channel.send(PlaceId(0), PlaceId(0), 7);
    while exchange.turn().unwrap() {}
    assert_eq!(got.lock().unwrap()[..], [(0, 0, 7)]);
    let expected = Traffic {
        sent: 1,
        received: 1,
        sent_bytes: 1,
        received_bytes: 1,
    };
    assert_eq!(channel.traffic(), expected);
}

#[test]
#[should_panic(expected = "place 1 sends from rank 0")]
fn a_place_of_another_rank_cannot_send() {
    let (_, all) = Net::exchanges(2, Limits::default());
    open::<u8>(&all[0], "any").0.send(PlaceId(1), PlaceId(0), 0);
}

#[test]
#[should_panic(expected = "place 2 of 2 ranks")]
fn a_place_that_does_not_exist_gets_nothing() {
    let (_, all) = Net::exchanges(2, Limits::default());
    open::<u8>(&all[0], "any").0.send(PlaceId(0), PlaceId(2), 0);
}

/// A receiver that always sends to its own rank does not keep the thread in a turn.
#[test]
fn endless_messages_to_oneself_do_not_block() {
    let net = Net::new(1);
    let exchange = Exchange::new(net.link(0), Spin);
    let channel: Arc<Channel<u8>> = Arc::new_cyclic(|this: &std::sync::Weak<Channel<u8>>| {
        let this = this.clone();
        exchange.open("endless", 1, move |from, to, _: &[u8]| {
            this.upgrade()
                .expect("the channel is open")
                .send(to, from, 0);
            Ok(())
        })
    });
    channel.send(PlaceId(0), PlaceId(0), 0);
    exchange.turn().unwrap();
    let received = channel.traffic().received;
    assert!(
        (1..=1024).contains(&received),
        "{received} messages in a turn"
    );
}
