//! Name spaces: the table of named cells, and messages between ranks, counted: facts of Chatterjee,
//! errors of the program, and what a machine refuses.

#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;
#[path = "space/home.rs"]
mod home;
#[path = "space/panics.rs"]
mod panics;
#[path = "space/ranks.rs"]
mod ranks;
#[path = "space/table.rs"]
mod table;

use ranks::{DECLARED, FETCHED, Ranks, Sent};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tautline_core::Rank;
use tautline_core::space::{
    Effect, Event, Failure, Message, Misuse, Refusal, SpaceEffect, SpaceEvent, Supply,
};

/// The number of values that were dropped.
#[derive(Clone, Default)]
struct Drops(Arc<AtomicUsize>);

impl Drops {
    fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

/// A value that counts its drop.
struct Counted(Drops);

impl Counted {
    fn new(drops: &Drops) -> Self {
        Self(drops.clone())
    }
}

impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Counted")
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, SeqCst);
    }
}

const HOME: Rank = Rank(0);
const A: Rank = Rank(1);
const C: Rank = Rank(2);

/// A key whose home is rank 0, which one task of each rank is declared to read.
const KEY: u32 = 10;
/// A key of rank 0 with two declared reads at rank 1, and no other.
const PAIR: u32 = 20;
/// A key of rank 0 with one declared read, at rank 2.
const SOLE: u32 = 30;

/// Chatterjee, acceptance fact 29: at most one message with the value to each rank, whatever the
/// number of waiting tasks, before the put and after it.
#[test]
fn a_value_travels_to_a_rank_once() {
    let mut ranks = Ranks::new(5, FETCHED);
    for _ in 0..64 {
        (0..5).for_each(|rank| ranks.call(Rank(rank), Event::Get(KEY)));
    }
    assert_eq!(ranks.settle(), 4, "a fetch of each other rank");
    ranks.call(HOME, Event::Put(KEY, 7));
    assert_eq!(ranks.settle(), 4, "the value to each other rank");
    for _ in 0..64 {
        (0..5).for_each(|rank| ranks.call(Rank(rank), Event::Get(KEY)));
    }
    assert_eq!(ranks.settle(), 0);
    for rank in 0..5 {
        assert_eq!(ranks.values(Rank(rank))[&KEY], 7);
        let ready = ranks.effects(Rank(rank));
        assert_eq!(ready, vec![SpaceEffect::Of(Effect::Ready(KEY)); 65]);
    }
}

/// Chatterjee, acceptance fact 30.
#[test]
fn a_fetch_before_the_put_is_answered_after_it() {
    let mut ranks = Ranks::new(2, FETCHED);
    ranks.call(A, Event::Get(KEY));
    assert_eq!(ranks.settle(), 1);
    assert!(ranks.values(A).is_empty());
    ranks.call(HOME, Event::Put(KEY, 7));
    assert_eq!(ranks.settle(), 1);
    assert_eq!(ranks.values(A)[&KEY], 7);
}

/// Chatterjee, acceptance fact 30: a put elsewhere.
#[test]
fn a_put_elsewhere_reaches_the_home() {
    let mut ranks = Ranks::new(3, FETCHED);
    ranks.call(C, Event::Get(KEY));
    ranks.settle();
    ranks.call(A, Event::Put(KEY, 7));
    assert_eq!(
        ranks.settle(),
        2,
        "to the home, and from there to the other rank"
    );
    for rank in [HOME, A, C] {
        assert_eq!(ranks.values(rank)[&KEY], 7);
    }
}

/// Chatterjee, acceptance fact 30: a read of a value that is here.
#[test]
fn a_full_cell_sends_nothing() {
    let mut ranks = Ranks::new(2, FETCHED);
    ranks.call(A, Event::Put(KEY, 7));
    assert_eq!(ranks.settle(), 1);
    ranks.call(A, Event::Get(KEY));
    ranks.call(HOME, Event::Get(KEY));
    assert_eq!(ranks.settle(), 0);
}

/// Chatterjee, acceptance fact 32: the space is not quiet before the last message was processed.
#[test]
fn close_waits_for_late_values() {
    let mut ranks = Ranks::new(3, FETCHED);
    ranks.call(A, Event::Get(KEY));
    ranks.settle();
    ranks.call(A, Event::Read(KEY, 1));
    ranks.call(HOME, Event::Put(KEY, 7));
    // The value stays in flight, while all ranks close the space.
    let late = ranks.sent.pop_front().expect("a value for A");
    for rank in [HOME, A, C] {
        ranks.begin(rank, SpaceEvent::Close);
    }
    for _ in 0..3 {
        ranks.settle();
        for rank in [HOME, A, C] {
            assert_eq!(ranks.effects(rank), [SpaceEffect::Busy]);
            ranks.begin(rank, SpaceEvent::Rest);
        }
    }
    ranks.sent.push_front(late);
    let mut rounds = 0;
    while !ranks.effects(HOME).contains(&SpaceEffect::Quiet) {
        assert!(rounds < 3, "no message is in flight");
        rounds += 1;
        ranks.settle();
        ranks.begin(HOME, SpaceEvent::Rest);
        ranks.begin(A, SpaceEvent::Rest);
        ranks.begin(C, SpaceEvent::Rest);
    }
    assert_eq!(ranks.values(A)[&KEY], 7);
    ranks.call(A, Event::Put(11, 1));
    let refused = SpaceEffect::Of(Effect::Refused(11, Misuse::Closed));
    assert!(ranks.effects(A).contains(&refused));
    assert_eq!(ranks.parts[1].1.given_back, [1]);
}

/// Quiescence with a read that waits: no rank puts its key.
#[test]
fn a_key_that_no_rank_puts_is_known() {
    let mut ranks = Ranks::new(2, FETCHED);
    ranks.call(A, Event::Get(KEY));
    ranks.call(A, Event::Get(KEY));
    for _ in 0..3 {
        ranks.begin(HOME, SpaceEvent::Rest);
        ranks.begin(A, SpaceEvent::Rest);
        ranks.settle();
    }
    assert!(ranks.effects(A).contains(&SpaceEffect::Quiet));
    assert!(ranks.effects(HOME).contains(&SpaceEffect::Quiet));
    let waiting: Vec<_> = ranks.names(A).waiting().collect();
    assert_eq!(waiting, [(&KEY, 2)]);
    // The program cancels the reads, and closes the space.
    ranks.call(A, Event::Read(KEY, 2));
    assert_eq!(ranks.names(A).waiting().count(), 0);
    for _ in 0..3 {
        ranks.begin(HOME, SpaceEvent::Close);
        ranks.begin(A, SpaceEvent::Close);
        ranks.settle();
    }
    assert!(ranks.effects(A).contains(&SpaceEffect::Quiet));
}

#[test]
fn declared_reads_need_no_fetch_and_free_the_value() {
    let mut ranks = Ranks::new(3, DECLARED);
    for rank in [HOME, A, C] {
        ranks.call(rank, Event::Get(KEY));
    }
    assert_eq!(ranks.settle(), 0);
    ranks.call(C, Event::Put(KEY, 7));
    assert_eq!(ranks.settle(), 2, "to the home, and from there to A");
    for rank in [HOME, A, C] {
        assert_eq!(ranks.values(rank)[&KEY], 7);
        ranks.call(rank, Event::Read(KEY, 1));
        assert!(ranks.values(rank).is_empty());
        assert_eq!(ranks.names(rank).known(), 0);
    }
    assert_eq!(ranks.settle(), 0);
}

/// A value that no task of the home or of its putter reads is not kept there.
#[test]
fn a_value_is_kept_where_it_is_read() {
    let mut ranks = Ranks::new(3, DECLARED);
    ranks.call(C, Event::Put(PAIR, 7));
    assert_eq!(ranks.settle(), 2);
    assert!(ranks.values(HOME).is_empty() && ranks.values(C).is_empty());
    ranks.calls(
        A,
        [Event::Get(PAIR), Event::Get(PAIR), Event::Read(PAIR, 1)],
    );
    assert_eq!(ranks.values(A)[&PAIR], 7);
    ranks.call(A, Event::Read(PAIR, 1));
    assert!(ranks.values(A).is_empty());
}

#[test]
fn calls_are_refused() {
    let refusal = |rank, event, key, misuse| {
        let mut ranks = Ranks::new(3, DECLARED);
        ranks.call(A, Event::Get(PAIR));
        ranks.call(A, Event::Put(SOLE, 1));
        ranks.settle();
        ranks.effects(rank);
        ranks.call(rank, event);
        let refused = SpaceEffect::Of(Effect::Refused(key, misuse));
        assert_eq!(ranks.effects(rank), [refused]);
        assert_eq!(ranks.settle(), 0);
    };
    refusal(C, Event::Get(PAIR), PAIR, Misuse::Undeclared(0));
    refusal(A, Event::Get(SOLE), SOLE, Misuse::Undeclared(0));
    refusal(A, Event::Take(PAIR), PAIR, Misuse::Shared(Some(2)));
    refusal(A, Event::Take(KEY), KEY, Misuse::Shared(Some(3)));
    refusal(A, Event::Put(SOLE, 2), SOLE, Misuse::AlreadyPut);
    refusal(A, Event::Get(9), 9, Misuse::NoRank(Rank(9)));
    refusal(A, Event::Put(9, 2), 9, Misuse::NoRank(Rank(9)));
    // A further read of a key whose reads have all begun, and of one whose value was dropped.
    let mut ranks = Ranks::new(3, DECLARED);
    ranks.calls(A, [Event::Get(KEY), Event::Get(KEY)]);
    let refused = SpaceEffect::Of(Effect::Refused(KEY, Misuse::Undeclared(1)));
    assert_eq!(ranks.effects(A).last(), Some(&refused));
    ranks.call(HOME, Event::Put(KEY, 7));
    ranks.settle();
    ranks.calls(A, [Event::Read(KEY, 1), Event::Get(KEY)]);
    assert_eq!(ranks.effects(A).last(), Some(&refused));
    // Values that are kept for all cannot be taken.
    let mut ranks = Ranks::new(3, FETCHED);
    ranks.call(A, Event::Take(KEY));
    let refused = SpaceEffect::Of(Effect::Refused(KEY, Misuse::Shared(None)));
    assert_eq!(ranks.effects(A), [refused]);
}

#[test]
fn a_value_with_one_reader_is_taken() {
    let mut ranks = Ranks::new(3, DECLARED);
    ranks.call(C, Event::Take(SOLE));
    ranks.call(HOME, Event::Put(SOLE, 7));
    assert_eq!(ranks.settle(), 1);
    assert_eq!(ranks.effects(C), [SpaceEffect::Of(Effect::Ready(SOLE))]);
    ranks.call(C, Event::Read(SOLE, 1));
    assert_eq!(ranks.names(C).known() + ranks.names(HOME).known(), 0);
}

/// The error names both ranks, at all ranks.
#[test]
fn a_second_put_ends_the_space() {
    for supply in [FETCHED, DECLARED] {
        let mut ranks = Ranks::new(3, supply);
        ranks.call(A, Event::Put(KEY, 1));
        ranks.call(C, Event::Put(KEY, 2));
        ranks.settle();
        let (key, first, second) = (KEY, A, C);
        let failure = Failure::PutTwice { key, first, second };
        assert_eq!(failure.to_string(), "10 was put by rank 2, and by rank 1");
        for rank in [HOME, A, C] {
            assert_eq!(ranks.names(rank).ended(), Some(&failure));
            let ended = SpaceEffect::Of(Effect::Ended(failure.clone()));
            assert!(ranks.effects(rank).contains(&ended));
            ranks.call(rank, Event::Put(11, 3));
            let refused = SpaceEffect::Of(Effect::Refused(11, Misuse::Ended));
            assert_eq!(ranks.effects(rank), [refused]);
        }
    }
}

#[test]
fn an_abandoned_space_ends_at_all_ranks() {
    let mut ranks = Ranks::new(40, FETCHED);
    ranks.call(Rank(39), Event::Abandon("row 3 is not positive".into()));
    ranks.settle();
    for rank in 0..40 {
        let failure = ranks
            .names(Rank(rank))
            .ended()
            .expect("all ranks learn of it");
        assert_eq!(
            failure.to_string(),
            "abandoned by rank 39: row 3 is not positive"
        );
    }
}

/// An idle rank fetches although the value fetched before was not put.
#[test]
fn fetches_wait_for_their_turn() {
    let mut ranks = Ranks::new(2, Supply::Fetched { ahead: Some(1) });
    ranks.calls(A, [KEY, PAIR, SOLE].map(Event::Get));
    assert_eq!(ranks.settle(), 1);
    ranks.call(A, Event::Idle);
    assert_eq!(ranks.settle(), 1);
    ranks.call(HOME, Event::Put(KEY, 1));
    ranks.call(HOME, Event::Put(PAIR, 2));
    ranks.settle();
    ranks.call(A, Event::Read(KEY, 1));
    assert_eq!(ranks.settle(), 0, "one value is ahead");
    ranks.call(A, Event::Read(PAIR, 1));
    assert_eq!(ranks.settle(), 1);
}

#[test]
fn the_loss_of_a_home_ends_the_reads_of_its_keys() {
    let mut ranks = Ranks::new(3, FETCHED);
    // Keys of ranks 0 and 2.
    ranks.calls(A, [KEY, 12].map(Event::Get));
    ranks.lose(HOME);
    assert_eq!(ranks.effects(A), [SpaceEffect::Of(Effect::Lost(KEY, HOME))]);
    ranks.call(A, Event::Get(PAIR));
    assert_eq!(
        ranks.effects(A),
        [SpaceEffect::Of(Effect::Lost(PAIR, HOME))]
    );
    ranks.call(C, Event::Put(12, 5));
    ranks.settle();
    assert_eq!(ranks.values(A)[&12], 5);
    ranks.begin(A, SpaceEvent::Close);
    assert_eq!(ranks.effects(A).last(), Some(&SpaceEffect::Unknown(HOME)));
}

#[test]
fn impossible_messages_are_refused() {
    let data = |key, by| Message::Data { key, by, value: 9 };
    let put = |key| Message::Put { key, value: 9 };
    let fetch = |key| Message::Fetch { key };
    let refused = |supply, here, from, message: Sent, refusal| {
        let mut ranks = Ranks::new(3, supply);
        ranks.call(A, Event::Put(SOLE, 1));
        if supply == FETCHED {
            ranks.call(C, Event::Get(SOLE));
        }
        ranks.settle();
        let found = ranks.receive(here, from, message);
        assert_eq!(found, Err(refusal), "from {from} at {here}");
    };
    // Rank 0 is the home, the value is at all ranks.
    refused(FETCHED, A, HOME, fetch(KEY), Refusal::Home(HOME));
    refused(FETCHED, A, C, put(KEY), Refusal::Home(HOME));
    refused(FETCHED, HOME, HOME, fetch(KEY), Refusal::Sender);
    refused(FETCHED, HOME, Rank(7), fetch(KEY), Refusal::Sender);
    refused(FETCHED, A, C, data(KEY, C), Refusal::Sender);
    refused(FETCHED, A, HOME, data(KEY, HOME), Refusal::Unrequested);
    refused(FETCHED, A, HOME, data(KEY, A), Refusal::Putter(A));
    refused(
        FETCHED,
        A,
        HOME,
        data(KEY, Rank(3)),
        Refusal::Putter(Rank(3)),
    );
    refused(FETCHED, HOME, C, fetch(SOLE), Refusal::Twice);
    refused(FETCHED, HOME, A, fetch(SOLE), Refusal::Twice);
    refused(FETCHED, C, HOME, data(SOLE, A), Refusal::Twice);
    refused(DECLARED, HOME, A, fetch(KEY), Refusal::Declared);
    refused(DECLARED, C, HOME, data(PAIR, HOME), Refusal::Undeclared);
    refused(DECLARED, C, HOME, data(SOLE, A), Refusal::Twice);
}

/// Keys whose values were dropped are remembered, up to a bound.
#[test]
fn a_late_put_is_found_if_its_key_is_remembered() {
    for (remembered, is_found) in [(1, false), (2, true)] {
        let mut ranks = Ranks::remembering(3, DECLARED, remembered);
        ranks.call(HOME, Event::Put(PAIR, 1));
        ranks.call(HOME, Event::Put(SOLE, 2));
        ranks.settle();
        ranks.call(C, Event::Put(PAIR, 3));
        let (from, to, message) = ranks.sent.pop_front().expect("a put");
        assert_eq!((from, to), (C, HOME));
        ranks.deliver(to, from, message).expect("a put");
        assert_eq!(ranks.names(HOME).ended().is_some(), is_found);
    }
}
