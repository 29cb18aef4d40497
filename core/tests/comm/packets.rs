//! Ranks that are lost, and packets that no rank sends.

use crate::messenger::{Ranks, any, from, outcome};
use tautline_core::Rank;
use tautline_core::comm::*;

const WORLD: CommId = CommId(0);

/// Receives that only a lost rank could end are errors, as are sends to it, offered or new.
/// Messages that have arrived are received, and receives from any rank wait for the others.
#[test]
fn a_lost_rank_ends_what_depends_on_it() {
    let mut ranks = Ranks::new(3, 100);
    let arrived = ranks.send(1, 0, 1, &[7; 20]);
    let offered_here = ranks.send(1, 0, 2, &[8; 90]);
    let offered_there = ranks.send(0, 1, 3, &[9; 90]);
    ranks.settle();
    assert!(outcome(&arrived).is_some());
    assert!(outcome(&offered_here).is_none() && outcome(&offered_there).is_none());
    let tag_5 = Pattern {
        tag: Some(Tag(5)),
        ..from(1)
    };
    let (_, waits) = ranks.receive(0, tag_5, 9);
    let (_, of_any) = ranks.receive(
        0,
        Pattern {
            tag: Some(Tag(6)),
            ..any()
        },
        9,
    );
    ranks.settle();
    for _ in 0..2 {
        ranks
            .net
            .put(1, 0, News::Lost(Rank(1), "receiving from it"));
    }
    ranks.step(0);
    let later = ranks.send(0, 1, 3, &[1]);
    let (_, had_arrived) = ranks.receive(0, from(1), 90);
    let (_, was_offered) = ranks.receive(0, from(1), 90);
    ranks.step(0);
    for ended in [&waits, &offered_there, &later, &was_offered] {
        let error = outcome(ended).expect("it has ended").unwrap_err();
        let text = "rank 1 was lost, noticed while receiving from it";
        assert_eq!(error.to_string(), text);
    }
    assert_eq!(outcome(&had_arrived).unwrap().unwrap().body, [7; 20]);
    assert_eq!(outcome(&of_any), None);
    ranks.send(2, 0, 6, &[1; 9]);
    ranks.step(2);
    ranks.step(0);
    assert_eq!(outcome(&of_any).unwrap().unwrap().body, [1; 9]);
}

/// A receive whose message is claimed ends with the loss of the sender.
#[test]
fn a_claimed_message_is_lost_with_its_sender() {
    let mut ranks = Ranks::new(2, 0);
    ranks.send(1, 0, 1, &[7; 20]);
    let (_, received) = ranks.receive(0, any(), 20);
    ranks.step(1);
    ranks.step(0);
    assert_eq!(outcome(&received), None);
    ranks
        .net
        .put(1, 0, News::Lost(Rank(1), "receiving from it"));
    ranks.step(0);
    assert!(matches!(
        outcome(&received),
        Some(Err(Error::Lost { rank: Rank(1), .. }))
    ));
}

/// A rank that sends packets which do not belong to the protocol is treated as lost.
#[test]
fn unexpected_packets_end_the_communication_with_their_rank() {
    let claim = |offer| Packet::Claim {
        offer,
        is_wanted: true,
    };
    let body = |bytes| Packet::Body {
        offer: 0,
        body: vec![0; bytes].into(),
    };
    let room = |bytes| Packet::Room { bytes };
    let packets = [
        claim(1),
        body(9),
        room(85),
        room(u64::MAX),
        claim(0),
        Packet::Closed { messages: 2 },
        Packet::Arrived { messages: 2 },
        // The number of an earlier one.
        Packet::Offer {
            comm: WORLD,
            tag: Tag(0),
            bytes: 40,
            offer: 0,
        },
    ];
    for (number, packet) in packets.into_iter().enumerate() {
        let mut ranks = Ranks::new(3, 100);
        // Rank 0 has sent 84 bytes to rank 1 and offers one more message, to rank 2; it has claimed
        // 10 bytes.
        ranks.send(0, 1, 0, &[1; 20]);
        ranks.send(0, 2, 0, &[1; 90]);
        ranks.step(0);
        ranks.send(1, 0, 0, &[2; 40]);
        ranks.step(1);
        let (_, claimed) = ranks.receive(0, from(1), 40);
        let (_, waits) = ranks.receive(0, from(1), 40);
        ranks.step(0);
        ranks.net.put(1, 0, News::Packet(Rank(1), packet));
        // What follows is not taken.
        let message = Packet::Message {
            comm: WORLD,
            tag: Tag(0),
            body: vec![1].into(),
        };
        ranks.net.put(1, 0, News::Packet(Rank(1), message));
        ranks.step(0);
        for ended in [claimed, waits] {
            let error = outcome(&ended).expect("it has ended").unwrap_err();
            assert_eq!(
                error.to_string(),
                "rank 1 was lost, noticed while taking a packet of it that is not expected",
                "packet {number}"
            );
        }
    }
}
