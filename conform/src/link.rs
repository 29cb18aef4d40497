//! Links: everything that was sent arrives, once, in order, and a wait ends when it must.

use crate::harness::Harness;
use crate::numbers::Numbers;
use crate::threads::{Threads, ends};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use tautline_core::Rank;
use tautline_core::port::{Link, Lost};

/// Polls without any progress after which a parcel counts as lost.
const PATIENCE: usize = 10_000;
/// Ticks that no test lives to see.
const FOR_EVER: u64 = u64::MAX >> 8;

/// The parcels that a rank has sent and received; each parcel can be derived from its ends and its
/// number.
struct Station<L> {
    link: L,
    /// By rank: parcels sent to it, and received from it.
    sent: Vec<u64>,
    received: Vec<u64>,
    lost: Vec<Rank>,
}

/// Returns the bytes of the `number`th parcel from one rank to another. Lengths are mostly small;
/// one in 16 parcels is empty, and one in 64 has tens of kilobytes.
fn parcel(from: Rank, to: Rank, number: u64) -> Vec<u8> {
    let mut numbers = Numbers(u64::from(from.0) << 48 | u64::from(to.0) << 32 | number);
    let length = match numbers.below(64) {
        0 => 20_000 + numbers.below(60_000),
        1..5 => 0,
        5..20 => 8 + numbers.below(1500),
        _ => 1 + numbers.below(64),
    };
    (0..length).map(|_| numbers.draw() as u8).collect()
}

impl<L: Link> Station<L> {
    fn all(links: Vec<L>) -> Vec<Self> {
        let ranks = links.len();
        let station = |link: L| Self {
            link,
            sent: vec![0; ranks],
            received: vec![0; ranks],
            lost: Vec::new(),
        };
        let all: Vec<_> = links.into_iter().map(station).collect();
        for (i, station) in all.iter().enumerate() {
            assert_eq!(
                station.link.here(),
                Rank(i as u32),
                "the order of the links"
            );
            assert_eq!(station.link.ranks() as usize, ranks, "the number of ranks");
        }
        all
    }

    fn send(&mut self, to: usize) {
        let number = &mut self.sent[to];
        let to = Rank(to as u32);
        self.link.send(to, &parcel(self.link.here(), to, *number));
        *number += 1;
    }

    /// Polls once and checks what came; returns whether anything moved.
    fn poll(&mut self) -> bool {
        let (here, received) = (self.link.here(), &mut self.received);
        let mut moved = false;
        let polled = self.link.poll(&mut |from, bytes| {
            let number = &mut received[from.index()];
            let expected = parcel(from, here, *number);
            assert!(
                bytes == expected,
                "{here} expected parcel {number} of {from}, {} bytes, and got {} others",
                expected.len(),
                bytes.len()
            );
            *number += 1;
            moved = true;
        });
        moved |= polled == Ok(true);
        if let Err(Lost { rank, .. }) = polled {
            assert!(
                !self.lost.contains(&rank),
                "the loss of {rank} was reported twice"
            );
            self.lost.push(rank);
        }
        moved
    }
}

/// Polls until everything that was sent has arrived, and checks that nothing else does.
fn settle<L: Link>(all: &mut [Station<L>]) {
    let mut idle = 0;
    while !is_settled(all) {
        let moved = all
            .iter_mut()
            .map(Station::poll)
            .filter(|moved| *moved)
            .count()
            > 0;
        idle = if moved { 0 } else { idle + 1 };
        if idle == PATIENCE {
            missing(all);
        }
    }
    for _ in 0..64 {
        for station in all.iter_mut() {
            assert!(
                !station.poll(),
                "{} got more than was sent",
                station.link.here()
            );
        }
    }
    for station in all.iter() {
        for to in 0..all.len() {
            let unsent = station.link.unsent(Rank(to as u32));
            assert_eq!(unsent, 0, "bytes wait though all parcels have arrived");
        }
    }
}

fn is_settled<L>(all: &[Station<L>]) -> bool {
    let pairs = (0..all.len()).flat_map(|a| (0..all.len()).map(move |b| (a, b)));
    pairs
        .into_iter()
        .all(|(a, b)| all[a].sent[b] == all[b].received[a])
}

fn missing<L>(all: &[Station<L>]) {
    for (a, sender) in all.iter().enumerate() {
        for (b, receiver) in all.iter().enumerate() {
            let (sent, received) = (sender.sent[b], receiver.received[a]);
            assert_eq!(
                sent, received,
                "parcels from rank {a} that reached rank {b}"
            );
        }
    }
}

/// Everything that was sent arrives, once, complete and in order: single parcels, empty and long
/// ones, bursts that exceed every buffer in both directions, and random traffic between 2, 3, 5 and
/// 8 ranks. `connect` makes the links of a number of ranks; all are used by the calling thread.
///
/// # Panics
/// If they do not conform.
pub fn carries<L: Link>(connect: impl Fn(u32) -> Vec<L>) {
    assert_eq!(connect(1).len(), 1, "a program of one rank");
    Threads.report("carries: parcels of all lengths");
    in_order(Station::all(connect(2)));
    Threads.report("carries: bursts in both directions");
    full_both_ways(Station::all(connect(2)));
    for (i, ranks) in [2, 3, 5, 8].into_iter().enumerate() {
        Threads.report(&format!("carries: random traffic between {ranks} ranks"));
        random_traffic(Station::all(connect(ranks)), i as u64);
    }
    Threads.report("carries: parcels for no other rank");
    refuses_itself(connect(2));
}

fn in_order<L: Link>(mut all: Vec<Station<L>>) {
    for i in 0..500 {
        all[0].send(1);
        if i % 7 == 0 {
            all[1].send(0);
        }
        if i % 11 == 0 {
            settle(&mut all);
        }
    }
    settle(&mut all);
    for length in [0, 1, 7, 8, 9, 4095, 4096, 65_536, (1 << 20) + 3] {
        let bytes: Vec<u8> = (0..length).map(|i| (i * 7 + 1) as u8).collect();
        all[0].link.send(Rank(1), &bytes);
        let (mut got, mut idle) = (None, 0);
        while got.is_none() && idle < PATIENCE {
            let moved = all[0].poll();
            let polled = all[1].link.poll(&mut |from, parcel| {
                assert_eq!(
                    (from, got.is_none()),
                    (Rank(0), true),
                    "one parcel was sent"
                );
                got = Some(parcel == bytes);
            });
            let moved = moved | polled.expect("both ranks live");
            idle = if moved { 0 } else { idle + 1 };
        }
        assert_eq!(got, Some(true), "a parcel of {length} bytes");
    }
}

/// Both ranks send more than any buffer holds before either receives.
fn full_both_ways<L: Link>(mut all: Vec<Station<L>>) {
    for _ in 0..2000 {
        all[0].send(1);
        all[1].send(0);
    }
    settle(&mut all);
}

fn random_traffic<L: Link>(mut all: Vec<Station<L>>, seed: u64) {
    let mut numbers = Numbers(seed);
    let ranks = all.len();
    for _ in 0..4000 {
        let here = numbers.below(ranks);
        if numbers.below(3) == 0 {
            all[here].poll();
        } else {
            let to = (here + 1 + numbers.below(ranks - 1)) % ranks;
            all[here].send(to);
        }
    }
    settle(&mut all);
}

/// A rank sends neither to itself nor to ranks that do not exist.
fn refuses_itself<L: Link>(mut links: Vec<L>) {
    for to in [Rank(0), Rank(2), Rank(u32::MAX)] {
        let sent = catch_unwind(AssertUnwindSafe(|| links[0].send(to, b"")));
        assert!(sent.is_err(), "rank 0 of 2 sent to {to}");
    }
}

/// The loss of a rank is reported to each other one, once, after its last parcels; what is sent to
/// it is dropped, and the others go on. Dropping a link is the loss of its rank.
///
/// # Panics
/// If they do not conform.
pub fn loses<L: Link>(connect: impl Fn(u32) -> Vec<L>) {
    Threads.report("loses: one of three ranks");
    let mut all = Station::all(connect(3));
    for _ in 0..3 {
        all[2].send(0);
        all[2].send(1);
        all[0].send(2);
    }
    for i in 0..PATIENCE {
        all[2].poll();
        let unsent = |to| all[2].link.unsent(Rank(to));
        if i > 100 && unsent(0) + unsent(1) == 0 {
            break;
        }
        if i > 100 {
            // The receivers' buffers are too small for what it sent.
            all[0].poll();
            all[1].poll();
        }
    }
    let gone = all.pop().expect("three ranks");
    drop(gone.link);
    for i in 0..PATIENCE {
        for station in all.iter_mut() {
            let before = station.received[2];
            station.poll();
            let late = station.lost.contains(&Rank(2))
                && station.received[2] < gone.sent[station.link.here().index()];
            assert!(
                !late,
                "the loss was reported before {} parcels",
                gone.sent[0] - before
            );
        }
        all[0].send(1);
        all[1].send(0);
        all[0].send(2);
        if i > 100 && all.iter().all(|s| s.lost == [Rank(2)]) {
            break;
        }
    }
    for station in &all {
        assert_eq!(
            station.lost,
            [Rank(2)],
            "losses reported to {}",
            station.link.here()
        );
    }
    let mut idle = 0;
    while all[0].sent[1] != all[1].received[0] || all[1].sent[0] != all[0].received[1] {
        let moved = all[0].poll() | all[1].poll();
        idle = if moved { 0 } else { idle + 1 };
        assert!(idle < PATIENCE, "the others cannot go on");
    }
    assert_eq!(all[0].link.unsent(Rank(2)), 0, "bytes wait for a lost rank");
}

/// A wait ends by a parcel, by the bell, also if it was rung before, by the loss of a rank, by room
/// for what waits, and by time; and ranks on threads of their own that wait whenever they have
/// nothing to do get everything.
///
/// # Panics
/// If they do not conform.
pub fn waits<L: Link + Send + 'static>(connect: impl Fn(u32) -> Vec<L>) {
    let pair = || {
        let [zero, one] = <[L; 2]>::try_from(connect(2)).ok().expect("two ranks");
        (zero, one)
    };
    let (mut zero, _one) = pair();
    ends("waits: a wait of a millisecond", move || {
        zero.wait(1_000_000)
    });

    let (mut zero, _one) = pair();
    zero.bell().ring();
    ends("waits: a wait whose bell was rung before", move || {
        zero.wait(FOR_EVER)
    });

    let (mut zero, _one) = pair();
    let bell = zero.bell();
    let ringer = thread::spawn(move || bell.ring());
    ends("waits: a wait whose bell is rung", move || {
        zero.wait(FOR_EVER)
    });
    ringer.join().expect("only rings");

    let (mut zero, mut one) = pair();
    one.send(Rank(0), b"parcel");
    one.poll(&mut |_, _| ()).expect("rank 0 lives");
    ends("waits: a wait for a parcel", move || {
        until(&mut zero, |got, _| got == 1)
    });

    let (mut zero, one) = pair();
    let leaver = thread::spawn(move || drop(one));
    ends("waits: a wait for a rank that is lost", move || {
        until(&mut zero, |_, lost| lost)
    });
    leaver.join().expect("only drops");

    let (zero, one) = pair();
    ends(
        "waits: two ranks that fill each other's buffers",
        move || {
            let other = thread::spawn(move || ping(one, Rank(0)));
            ping(zero, Rank(1));
            other.join().expect("as this one");
        },
    );
}

/// Polls and waits until `done` of the number of parcels, and whether a rank was lost.
fn until(link: &mut impl Link, done: impl Fn(usize, bool) -> bool) {
    let (mut got, mut is_lost) = (0, false);
    loop {
        is_lost |= link.poll(&mut |_, _| got += 1).is_err();
        if done(got, is_lost) {
            return;
        }
        link.wait(FOR_EVER);
    }
}

/// Sends in bursts, each after the other rank's last one, and waits in between.
fn ping(mut link: impl Link, to: Rank) {
    const BURSTS: usize = 5;
    const BURST: usize = 4;
    let bytes = vec![1; 30_000];
    let (mut sent, mut got) = (0, 0);
    loop {
        if sent <= got && sent < BURSTS * BURST {
            (0..BURST).for_each(|_| link.send(to, &bytes));
            sent += BURST;
        }
        let polled = link.poll(&mut |_, parcel| {
            assert_eq!(parcel, bytes);
            got += 1;
        });
        let is_last = sent == BURSTS * BURST && got == sent && link.unsent(to) == 0;
        if is_last || polled.is_err() {
            assert!(
                is_last,
                "the other rank ends when it has received everything: {got} of {sent}"
            );
            return;
        }
        if sent > got || sent == BURSTS * BURST {
            link.wait(FOR_EVER);
        }
    }
}
