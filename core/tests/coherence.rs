//! Messages of accesses to shared objects, counted: each cell of the tables of Paudel, Tardieu and
//! Amaral, and what a machine refuses.

#[path = "coherence/ranks.rs"]
mod ranks;

use ranks::{HOME, Ranks, Sent};
use tautline_core::Rank;
use tautline_core::coherence::{
    Answer, CopyState, Event, Grant, Kind, Message, Mode, Recall, Refusal, Request, Sharing,
};
use tautline_core::machine::Machine;

const A: Rank = Rank(1);
const C: Rank = Rank(2);

use CopyState::{Exclusive, Invalid, Shared};
use Kind::{Modify, Read, Update};

/// An object of five ranks that only the home has.
fn clean(mode: Mode) -> Ranks {
    Ranks::new(mode, 5)
}

/// An object that `k` other ranks than A share with the home.
fn shared(k: u32) -> Ranks {
    let mut ranks = clean(Mode::Directory);
    for rank in 2..2 + k {
        assert_eq!(ranks.count(Rank(rank), Read), 2);
    }
    ranks
}

/// An object that only C has.
fn modified(mode: Mode) -> Ranks {
    let mut ranks = clean(mode);
    assert_eq!(ranks.count(C, Update), 2);
    ranks
}

/// Paudel, acceptance fact A-21, but for closures.
#[test]
fn at_home_a_remote_access_costs_two_messages_and_a_closure_three() {
    let mut ranks = clean(Mode::Home);
    for _ in 0..3 {
        assert_eq!(ranks.count(A, Read), 2);
        assert_eq!(ranks.count(A, Update), 2);
        assert_eq!(ranks.count(A, Modify), 3);
        for kind in [Read, Update, Modify] {
            assert_eq!(ranks.count(HOME, kind), 0);
        }
        assert_eq!(
            ranks.copies(),
            [Exclusive, Invalid, Invalid, Invalid, Invalid]
        );
    }
    assert_eq!(ranks.parts[0].1.value, 12);
    assert_eq!(ranks.parts[A.index()].1.seen, [0, 0, 1, 4, 4, 5, 8, 8, 9]);
}

/// Paudel, acceptance fact A-22.
#[test]
fn a_new_object_is_clean() {
    let ranks = clean(Mode::Directory);
    assert_eq!(
        (ranks.home().copy(), ranks.home().holders()),
        (Exclusive, vec![])
    );
    assert!(ranks.home().is_idle());
}

/// Paudel, acceptance fact A-23: accesses on a copy.
#[test]
fn hits_cost_nothing() {
    let mut ranks = shared(2);
    for _ in 0..10 {
        assert_eq!(ranks.count(C, Read), 0);
        assert_eq!(ranks.count(HOME, Read), 0);
    }
    let mut owned = modified(Mode::Directory);
    for kind in [Read, Update, Modify, Read] {
        assert_eq!(owned.count(C, kind), 0);
    }
}

/// Paudel, acceptance fact A-23: reads.
#[test]
fn a_read_without_a_copy() {
    assert_eq!(clean(Mode::Directory).count(A, Read), 2);
    assert_eq!(clean(Mode::Migratory).count(A, Read), 2);
    for k in 1..=3 {
        let mut ranks = shared(k);
        assert_eq!(ranks.count(A, Read), 2);
        assert_eq!(ranks.home().holders().len() as u32, k + 1);
    }
    let mut ranks = modified(Mode::Directory);
    assert_eq!(ranks.count(A, Read), 4);
    assert_eq!(ranks.copies(), [Shared, Shared, Shared, Invalid, Invalid]);
    let mut ranks = modified(Mode::Migratory);
    assert_eq!(ranks.count(A, Read), 5);
    assert_eq!(
        ranks.copies(),
        [Invalid, Exclusive, Invalid, Invalid, Invalid]
    );
    // The home's memory is not refreshed.
    assert_eq!(ranks.parts[0].1.value, 0);
}

/// Copies to read exist in the migratory mode after a read of the home.
#[test]
fn a_migratory_read_invalidates_shared_copies() {
    let mut ranks = modified(Mode::Migratory);
    assert_eq!(ranks.count(HOME, Read), 2);
    assert_eq!(ranks.home().holders(), [C]);
    assert_eq!(ranks.count(A, Read), 2 + 2);
    assert_eq!(ranks.home().holders(), [A]);
}

/// Paudel, acceptance fact A-23: upgrades.
#[test]
fn a_write_on_a_shared_copy() {
    for k in 0..=3 {
        let mut ranks = shared(k);
        ranks.count(A, Read);
        assert_eq!(ranks.count(A, Update), 2 + 2 * k);
        assert_eq!(ranks.home().holders(), [A]);
    }
}

/// Paudel, acceptance fact A-23: writes.
#[test]
fn a_write_without_a_copy() {
    for kind in [Update, Modify] {
        assert_eq!(clean(Mode::Directory).count(A, kind), 2);
        assert_eq!(modified(Mode::Directory).count(A, kind), 4);
        assert_eq!(modified(Mode::Migratory).count(A, kind), 4);
        for k in 1..=3 {
            assert_eq!(shared(k).count(A, kind), 2 + 2 * k);
        }
    }
}

/// Paudel, acceptance fact A-23: the home.
#[test]
fn accesses_of_the_home() {
    assert_eq!(clean(Mode::Directory).count(HOME, Update), 0);
    assert_eq!(shared(3).count(HOME, Read), 0);
    assert_eq!(shared(3).count(HOME, Update), 2 * 3);
    for mode in [Mode::Directory, Mode::Migratory] {
        assert_eq!(modified(mode).count(HOME, Read), 2);
        assert_eq!(modified(mode).count(HOME, Update), 2);
    }
}

/// Paudel, acceptance fact A-24: a read and a write of one rank after another.
#[test]
fn a_migratory_hand_over_costs_five_messages_instead_of_eight() {
    for (mode, expected) in [(Mode::Directory, 8), (Mode::Migratory, 5)] {
        let mut ranks = modified(mode);
        for user in [A, C, A] {
            let count = ranks.count(user, Read) + ranks.count(user, Update);
            assert_eq!(count, expected, "{mode:?}");
        }
        assert_eq!(ranks.parts[A.index()].1.value, 4);
    }
}

/// Paudel, acceptance fact A-25.
#[test]
fn one_user_pays_once() {
    for first in [Read, Update] {
        let mut ranks = clean(Mode::Directory);
        let count: u32 = [first, Update]
            .into_iter()
            .map(|kind| ranks.count(A, kind))
            .sum();
        assert_eq!(count, if first == Read { 4 } else { 2 });
        for kind in [Read, Update, Modify].repeat(10) {
            assert_eq!(ranks.count(A, kind), 0);
        }
    }
}

/// Paudel, acceptance fact A-26.
#[test]
fn reads_of_all_ranks_cost_nothing_until_a_write() {
    let mut ranks = clean(Mode::Directory);
    let all = || (0..5).map(Rank);
    let first: u32 = all().map(|rank| ranks.count(rank, Read)).sum();
    assert_eq!(first, 2 * 4);
    for _ in 0..10 {
        assert!(all().all(|rank| ranks.count(rank, Read) == 0));
    }
    assert_eq!(ranks.count(HOME, Update), 2 * 4);
    assert!(all().skip(1).all(|rank| ranks.count(rank, Read) == 2));
}

/// As with few sharers, which the home lists.
#[test]
fn many_sharers_are_known_exactly() {
    for all in [20, 100] {
        for k in [6, 7, 19] {
            let mut ranks = Ranks::new(Mode::Directory, all);
            let readers: Vec<Rank> = (1..=k).map(|at| Rank(all - at)).collect();
            assert!(readers.iter().all(|rank| ranks.count(*rank, Read) == 2));
            let ascending: Vec<Rank> = readers.iter().rev().copied().collect();
            assert_eq!(ranks.home().holders(), ascending);
            // An upgrade, which is granted without the value.
            assert_eq!(ranks.count(readers[0], Update), 2 + 2 * (k - 1));
            assert_eq!(ranks.home().holders(), [readers[0]]);
        }
    }
}

/// An object of six ranks, of which the home distinguishes pairs only.
fn coarse() -> Ranks {
    Ranks::with_sharing(Mode::Directory, Sharing::coarse(6, 0, 2), 6)
}

#[test]
fn a_coarse_set_has_the_neighbours_of_a_sharer() {
    let mut ranks = coarse();
    assert_eq!(ranks.count(A, Read), 2);
    // A's neighbour is the home.
    assert_eq!(ranks.home().holders(), [A]);
    assert_eq!(ranks.count(C, Read), 2);
    assert_eq!(ranks.home().holders(), [A, C, Rank(3)]);
    assert_eq!(ranks.count(HOME, Update), 2 * 3);
    assert_eq!(ranks.count(C, Read), 2);
    // The home cannot know that C has the value, and sends it.
    ranks.begin_access(C, Update);
    let (mut upgraded, mut invalidated) = (None, Vec::new());
    while let Some((from, to, message)) = ranks.sent.pop_front() {
        match &message {
            Message::Grant(_, grant) => upgraded = Some(grant.clone()),
            Message::Recall(Recall::Invalidate) => invalidated.push(to),
            _ => {}
        }
        let received = ranks.step(to, |object, step| object.receive(from, message, step));
        received.expect("the ranks follow the protocol");
    }
    assert_eq!(upgraded, Some(Grant::Exclusive(1)));
    assert_eq!(invalidated, [Rank(3)]);
    assert_eq!(ranks.home().holders(), [C]);
    assert_eq!(ranks.parts[C.index()].1.value, 2);
}

#[test]
fn a_lost_rank_of_a_coarse_set_is_not_waited_for() {
    let lose = |ranks: &mut Ranks, lost: u32| {
        ranks.step(HOME, |object, step| object.lost(Rank(lost), step));
    };
    let mut ranks = coarse();
    lose(&mut ranks, 5);
    ranks.count(C, Read);
    ranks.count(Rank(4), Read);
    lose(&mut ranks, 3);
    lose(&mut ranks, 3);
    assert_eq!(ranks.home().holders(), [C, Rank(4)]);
    ranks.begin_access(HOME, Update);
    lose(&mut ranks, 4);
    let receivers: Vec<Rank> = ranks.sent.iter().map(|(_, to, _)| *to).collect();
    assert_eq!(receivers, [C, Rank(4)]);
    ranks.sent.pop_back();
    assert_eq!(ranks.settle(), 2);
    assert_eq!(ranks.parts[0].1.value, 1);
    assert_eq!(ranks.home().copy(), Exclusive);
}

/// Whatever waits at a rank is performed by one transfer, in order.
#[test]
fn one_transfer_serves_all_accesses_of_a_rank() {
    let mut ranks = modified(Mode::Directory);
    for kind in [Update, Read, Modify, Read].repeat(16) {
        ranks.begin_access(A, kind);
    }
    assert_eq!(ranks.settle(), 4);
    let seen = &ranks.parts[A.index()].1.seen;
    assert_eq!((seen.len(), &seen[..5]), (64, &[1, 2, 2, 3, 3][..]));
}

/// Paudel, acceptance fact A-29.
#[test]
fn the_second_of_two_upgrades_obtains_the_value() {
    let mut ranks = shared(1);
    ranks.count(A, Read);
    ranks.begin_access(A, Update);
    ranks.begin_access(C, Update);
    // Two for A, two to invalidate C; C's is a write: two, and two for A's value.
    assert_eq!(ranks.settle(), 4 + 4);
    let seen = [A, C].map(|rank| ranks.parts[rank.index()].1.seen.last().copied());
    assert_eq!(seen, [Some(0), Some(1)]);
}

/// Paudel, acceptance fact A-35.
#[test]
fn the_mode_changes_while_no_other_rank_has_a_copy() {
    let mut ranks = shared(2);
    assert_eq!(ranks.switch(Mode::Home), 2 * 2);
    assert_eq!(
        ranks.copies(),
        [Exclusive, Invalid, Invalid, Invalid, Invalid]
    );
    // Refused once, then as any.
    assert_eq!(ranks.count(A, Update), 2 + 2);
    assert_eq!(ranks.count(A, Update), 2);
    assert_eq!(ranks.switch(Mode::Migratory), 0);
    // An operation is performed in any mode; its answer has the new one.
    assert_eq!(ranks.count(A, Update), 2);
    assert_eq!(ranks.object(A).mode(), Mode::Migratory);
    assert_eq!(ranks.count(A, Update), 2);
    assert_eq!(ranks.count(A, Update), 0);
    // A closure under the former mode obtains the copy.
    assert_eq!(ranks.switch(Mode::Home), 2);
    assert_eq!(ranks.count(C, Read), 2 + 2);
    assert_eq!(ranks.switch(Mode::Directory), 0);
    assert_eq!(ranks.count(C, Modify), 2);
    assert_eq!(ranks.home().holders(), [C]);
}

/// Paudel, acceptance fact A-35: the only copy is recalled, and none stays.
#[test]
fn a_switch_to_home_brings_the_value_back() {
    for mode in [Mode::Directory, Mode::Migratory] {
        let mut ranks = modified(mode);
        // C has changed its own copy since.
        assert_eq!((ranks.count(C, Update), ranks.parts[0].1.value), (0, 0));
        assert_eq!(ranks.switch(Mode::Home), 2);
        let copies = [Exclusive, Invalid, Invalid, Invalid, Invalid];
        assert_eq!((ranks.copies(), ranks.parts[0].1.value), (copies.into(), 2));
        assert!(ranks.home().holders().is_empty() && ranks.home().is_idle());
        // The former owner requests a copy, is refused, and fetches the value.
        assert_eq!(ranks.count(C, Read), 2 + 2);
        assert_eq!(ranks.parts[C.index()].1.seen.last(), Some(&2));
        assert_eq!(ranks.object(C).copy(), Invalid);
    }
}

/// Paudel, acceptance fact A-34.
#[test]
fn objects_do_not_share_a_mode() {
    let modes = [Mode::Home, Mode::Directory, Mode::Migratory];
    let mut objects = modes.map(modified);
    let counts = objects.each_mut().map(|ranks| ranks.count(A, Read));
    assert_eq!(counts, [2, 4, 5]);
}

#[test]
fn copies_are_dropped() {
    let mut ranks = modified(Mode::Directory);
    ranks.begin(C, Event::Evict);
    assert_eq!(ranks.settle(), 1);
    assert_eq!(
        (ranks.home().copy(), ranks.parts[0].1.value),
        (Exclusive, 1)
    );
    ranks.count(C, Read);
    ranks.begin(C, Event::Evict);
    ranks.begin(HOME, Event::Evict);
    assert_eq!(ranks.settle(), 0);
    assert_eq!(
        (ranks.home().holders(), ranks.object(C).copy()),
        (vec![C], Invalid)
    );
    // The home does not know: it invalidates the copy.
    assert_eq!(ranks.count(A, Update), 2 + 2);
}

/// The value arrives after the ownership and a recall.
#[test]
fn a_recall_waits_for_the_value() {
    let mut ranks = modified(Mode::Migratory);
    ranks.begin_access(A, Update);
    ranks.settle();
    ranks.begin_access(C, Read);
    let (_, _, request) = ranks.sent.pop_front().expect("C has no copy");
    let mut receive = |to: Rank, from: Rank, message: Sent| {
        let received = ranks.step(to, |object, step| object.receive(from, message, step));
        received.expect("the ranks follow the protocol");
        std::mem::take(&mut ranks.sent)
    };
    let recall = receive(HOME, C, request)
        .remove(0)
        .expect("A has the copy")
        .2;
    let mut passed = receive(A, HOME, recall);
    let (value, answer) = (passed.remove(0).unwrap().2, passed.remove(0).unwrap().2);
    let owned = receive(HOME, A, answer)
        .remove(0)
        .expect("C is the owner")
        .2;
    assert_eq!(
        owned,
        Message::Grant(Mode::Migratory, Grant::Owned { former: A })
    );
    assert!(receive(C, HOME, owned).is_empty());
    assert!(receive(C, HOME, Message::Recall(Recall::Take)).is_empty());
    let given = receive(C, A, value);
    assert_eq!(given, [(C, HOME, Message::Answer(Answer::Value(2)))]);
    let memory = &ranks.parts[C.index()].1;
    assert_eq!((memory.seen.last(), memory.copy), (Some(&2), Some(Invalid)));
}

#[test]
fn what_is_refused() {
    let refused = |ranks: &mut Ranks, to: Rank, from: Rank, message: Sent| {
        let before = format!("{:?}", ranks.object(to));
        let received = ranks.step(to, |object, step| object.receive(from, message, step));
        assert!(ranks.sent.is_empty());
        assert_eq!(format!("{:?}", ranks.object(to)), before);
        received.expect_err("it is refused")
    };
    let mut ranks = shared(1);
    let request = || Message::Request(Request::Read);
    let grant = |grant| Message::Grant(Mode::Directory, grant);
    assert_eq!(refused(&mut ranks, HOME, HOME, request()), Refusal::Sender);
    let none = Rank(5);
    assert_eq!(refused(&mut ranks, HOME, none, request()), Refusal::Sender);
    assert_eq!(refused(&mut ranks, A, C, request()), Refusal::Role);
    assert_eq!(
        refused(&mut ranks, HOME, A, Message::Passed(1)),
        Refusal::Role
    );
    assert_eq!(
        refused(&mut ranks, A, C, Message::Recall(Recall::Take)),
        Refusal::Sender
    );
    assert_eq!(
        refused(&mut ranks, A, HOME, Message::Passed(1)),
        Refusal::Sender
    );
    assert_eq!(
        refused(&mut ranks, A, C, Message::Passed(1)),
        Refusal::Unrequested
    );
    assert_eq!(
        refused(&mut ranks, A, HOME, grant(Grant::Shared(1))),
        Refusal::Unrequested
    );
    assert_eq!(
        refused(&mut ranks, C, HOME, Message::Recall(Recall::Take)),
        Refusal::State
    );
    let answer = Message::Answer(Answer::Invalidated);
    assert_eq!(refused(&mut ranks, HOME, A, answer), Refusal::Unrequested);
    ranks.begin_access(HOME, Update);
    ranks.sent.clear();
    let first = ranks.step(HOME, |object, step| object.receive(A, request(), step));
    assert_eq!(first, Ok(()));
    assert_eq!(refused(&mut ranks, HOME, A, request()), Refusal::Twice);
}

#[test]
fn losses_end_accesses() {
    let lose = |ranks: &mut Ranks, lost: Rank, here: Rank| {
        ranks.step(here, |object, step| object.lost(lost, step));
        ranks.settle();
    };
    // A sharer is not missed.
    let mut ranks = shared(2);
    lose(&mut ranks, C, HOME);
    assert_eq!(ranks.count(HOME, Update), 2);
    // With the owner, the object ends.
    let mut ranks = modified(Mode::Directory);
    lose(&mut ranks, C, HOME);
    ranks.begin_access(A, Read);
    assert_eq!(ranks.settle(), 2);
    ranks.begin_access(A, Read);
    ranks.begin_access(HOME, Modify);
    assert_eq!(ranks.settle(), 0);
    assert_eq!(ranks.parts[A.index()].1.failed, [(1, C), (2, C)]);
    assert_eq!(ranks.parts[0].1.failed, [(3, C)]);
    // As it does with the home, wherever there are copies.
    let mut ranks = modified(Mode::Migratory);
    lose(&mut ranks, HOME, C);
    ranks.begin_access(C, Read);
    assert_eq!(ranks.parts[C.index()].1.failed, [(1, HOME)]);
    assert_eq!(ranks.object(C).copy(), Invalid);
}
