//! Rings that one rank corrupts: the other one loses it, once, and panics nowhere.

use super::Loopback;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline_core::Rank;
use tautline_core::channel::{LONGEST, Local, Memory, Sender};
use tautline_core::port::{Link, Lost};

use crate::fence::FullFences;

const UNITS: usize = 64;

/// The activity of a rank when it noticed.
const RELEASE: &str = "reading how much it had received, which is corrupt";
const HEADER: &str = "reading the header of a record, which is corrupt";

/// Two ranks, and their rings by sender and receiver.
struct Scene {
    rings: Vec<Vec<Arc<Local>>>,
    zero: Loopback,
    one: Loopback,
}

impl Scene {
    fn new() -> Self {
        let ring = || Arc::new(Local::new(UNITS));
        let rings: Vec<Vec<_>> = (0..2).map(|_| vec![ring(), ring()]).collect();
        let links = Loopback::over(&rings);
        let [zero, one] = <[_; 2]>::try_from(links).expect("two links");
        Self { rings, zero, one }
    }

    fn ring_to_zero(&self) -> &Local {
        &self.rings[1][0]
    }

    /// Publishes records to rank 0.
    fn send_records(&self, records: &[&[u8]]) {
        let mut sender = Sender::new(self.ring_to_zero());
        for record in records {
            sender.send(record).expect("there is room");
        }
        _ = sender.flush(&FullFences);
    }

    /// Checks that rank 0 loses rank 1 for this reason, once.
    fn loses_one(mut self, doing: &'static str) {
        let rank = Rank(1);
        let mut parcels = 0;
        let mut poll = |link: &mut Loopback| link.poll(&mut |_, _| parcels += 1);
        assert_eq!(
            poll(&mut self.zero),
            Err(Lost {
                rank,
                doing,
                is_gone: false
            })
        );
        assert_eq!(self.zero.unsent(rank), 0, "what waits is dropped");
        self.zero.send(rank, b"never arrives");
        for _ in 0..3 {
            assert_eq!(poll(&mut self.zero), Ok(false), "{doing}");
        }
        assert_eq!(self.zero.unsent(rank), 0);
        assert!(self.zero.arm(), "nothing is to be expected from it");
        assert_eq!(parcels, 0, "{doing}");
        drop(self.zero);
        let mut lost = Ok(true);
        while lost == Ok(true) {
            lost = self.one.poll(&mut |_, _| ());
        }
        assert_eq!(lost.map_err(|lost| lost.rank), Err(Rank(0)));
    }
}

#[test]
fn a_corrupt_header_loses_its_rank() {
    for header in [2, 4, 6, usize::MAX, (UNITS * 8) << 2 | 1] {
        let mut scene = Scene::new();
        assert!(scene.zero.arm());
        scene.ring_to_zero().units()[0].store(header, Relaxed);
        assert!(!scene.zero.arm(), "there is something to report");
        scene.loses_one(HEADER);
    }
}

#[test]
fn a_corrupt_release_loses_its_rank() {
    for taken in [UNITS + 1, usize::MAX / 16, usize::MAX] {
        let mut scene = Scene::new();
        scene.zero.send(Rank(1), &[7; 100_000]);
        assert_eq!(scene.zero.poll(&mut |_, _| ()), Ok(false));
        assert!(scene.zero.unsent(Rank(1)) > 0, "the ring is full");
        scene.rings[0][1].taken().store(taken, Relaxed);
        assert!(!scene.zero.arm(), "there is something to report");
        scene.loses_one(RELEASE);
    }
}

/// Parcels that arrived before are passed on.
#[test]
fn parcels_before_a_corrupt_one_arrive() {
    let mut scene = Scene::new();
    scene.send_records(&[b"ok"]);
    // After a header and a word.
    scene.ring_to_zero().units()[2].store(2, Relaxed);
    let mut parcels = Vec::new();
    let lost = scene
        .zero
        .poll(&mut |_, parcel| parcels.push(parcel.to_vec()));
    let (rank, doing) = (Rank(1), HEADER);
    assert_eq!(
        lost,
        Err(Lost {
            rank,
            doing,
            is_gone: false
        })
    );
    assert_eq!(parcels, [b"ok"]);
}

/// A rank that is lost within a parcel.
#[test]
fn a_parcel_that_is_cut_off_is_not_passed_on() {
    let mut scene = Scene::new();
    scene.one.send(Rank(0), b"whole");
    scene.one.send(Rank(0), &[7; 100_000]);
    drop(scene.one);
    let mut parcels = Vec::new();
    let mut polled = Ok(true);
    while polled == Ok(true) {
        polled = scene
            .zero
            .poll(&mut |_, parcel| parcels.push(parcel.to_vec()));
    }
    assert_eq!(polled.map_err(|lost| lost.rank), Err(Rank(1)));
    assert_eq!(parcels, [b"whole"]);
}

#[test]
#[should_panic = "at most 1073741824"]
fn longer_parcels_than_a_link_takes_are_refused() {
    Scene::new().zero.send(Rank(1), &vec![0; LONGEST + 1]);
}

/// Numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    /// A word of any size, so that some are what a rank would write.
    fn word(&mut self) -> usize {
        match self.below(3) {
            0 => self.below(UNITS),
            1 => self.below(usize::MAX),
            _ => self.below(64 * UNITS) << 2 | 1 | self.below(2) << 1,
        }
    }

    /// Writes a word anywhere into a ring.
    fn corrupt(&mut self, ring: &Local) {
        let word = self.word();
        let at: &AtomicUsize = match self.below(UNITS + 3) {
            at @ 0..UNITS => &ring.units()[at],
            UNITS => ring.taken(),
            at => &ring.marks()[at - UNITS - 1],
        };
        at.store(word, Relaxed);
    }
}

/// Two ranks that send and receive while words of their rings change: each loses the other at most
/// once, or continues.
#[test]
fn words_that_change_at_random_lose_a_rank_once() {
    let mut numbers = Numbers(1);
    let mut losses = 0;
    for _ in 0..2_000 {
        let Scene { rings, zero, one } = Scene::new();
        let mut links = [zero, one];
        let mut lost = [0, 0];
        for _ in 0..60 {
            let here = numbers.below(2);
            let there = Rank(1 - here as u32);
            let bytes = numbers.below(1500);
            links[here].send(there, &vec![7; bytes]);
            match numbers.below(3) {
                0 => _ = links[here].arm(),
                1 => numbers.corrupt(&rings[here][1 - here]),
                _ => {}
            }
            if let Err(loss) = links[here].poll(&mut |from, _| assert_eq!(from, there)) {
                assert_eq!(loss.rank, there);
                lost[here] += 1;
            }
        }
        assert!(lost.iter().all(|times| *times <= 1), "{lost:?}");
        losses += lost[0] + lost[1];
    }
    assert!(losses > 1_000, "{losses} of 4000 ends");
}
