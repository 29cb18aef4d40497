//! Rosters: bells are heard, and a rank is gone once it has left, for all.

use crate::threads::ends;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use tautline_core::Rank;
use tautline_core::channel::Roster;

const ZERO: Rank = Rank(0);
const ONE: Rank = Rank(1);
/// Ticks that no test lives to see.
const FOR_EVER: u64 = u64::MAX >> 8;

/// A wait ends by time and by its rank's bell, also if that was rung before; two ranks that ring
/// for each other in turn never both sleep; a rank that leaves is gone for all, and no other is.
/// `make` creates the views that the ranks have of a new roster, in their order.
///
/// # Panics
/// If the roster does not conform.
pub fn attends<R: Roster>(make: impl Fn(u32) -> Vec<Arc<R>>) {
    let pair = || {
        let [zero, one] = <[Arc<R>; 2]>::try_from(make(2)).ok().expect("two ranks");
        (zero, one)
    };
    let (zero, _one) = pair();
    ends("attends: a wait of a millisecond", move || {
        zero.wait(ZERO, 1_000_000)
    });

    let (zero, one) = pair();
    one.ring(ZERO);
    ends("attends: a wait whose bell was rung before", move || {
        zero.wait(ZERO, FOR_EVER)
    });

    let (zero, one) = pair();
    ends(
        "attends: two ranks that ring for each other in turn",
        move || {
            let turn = Arc::new(AtomicUsize::new(0));
            let other = {
                let turn = Arc::clone(&turn);
                thread::spawn(move || in_turn(&*one, &turn, ONE))
            };
            in_turn(&*zero, &turn, ZERO);
            other.join().expect("as this one");
        },
    );

    let all = make(3);
    assert_eq!(gone(&all), [[false; 3]; 3], "no rank has left");
    let all = ends("attends: a rank that leaves", move || {
        let is_published = Arc::new(AtomicBool::new(false));
        let leaves = {
            let (is_published, leaver) = (Arc::clone(&is_published), Arc::clone(&all[2]));
            thread::spawn(move || {
                is_published.store(true, Relaxed);
                leaver.leave(Rank(2));
            })
        };
        while !all[0].is_gone(Rank(2)) {
            thread::yield_now();
        }
        assert!(is_published.load(Relaxed), "written before the rank left");
        leaves.join().expect("it only leaves");
        all
    });
    let expected = [[false, false, true]; 3];
    assert_eq!(gone(&all), expected, "rank 2 has left");
}

/// Returns, by view, whether each of three ranks is gone.
fn gone<R: Roster>(all: &[Arc<R>]) -> Vec<[bool; 3]> {
    let ranks = [ZERO, ONE, Rank(2)];
    let seen = all
        .iter()
        .map(|roster| ranks.map(|rank| roster.is_gone(rank)));
    seen.collect()
}

/// Waits for each second turn, and passes the turn on.
fn in_turn(roster: &impl Roster, turn: &AtomicUsize, me: Rank) {
    const TURNS: usize = 4000;
    for mine in (me.index()..TURNS).step_by(2) {
        // Published by the bell alone.
        while turn.load(Relaxed) != mine {
            roster.wait(me, FOR_EVER);
        }
        turn.store(mine + 1, Relaxed);
        roster.ring(Rank(1 - me.0));
    }
}
