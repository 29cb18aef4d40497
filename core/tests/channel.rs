//! The ring of records, on one thread and on two.

use std::cell::RefCell;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;
use tautline_core::Rank;
use tautline_core::channel::{
    Corrupt, Futex, Local, Memory, Mesh, Receiver, Refused, Roster, Sender, Signal,
};
use tautline_core::port::{Fence, Link};

/// Full fences on both sides, which every machine has.
#[derive(Debug)]
struct FullFences;

// SAFETY: the provided methods are full fences.
unsafe impl Fence for FullFences {}

const FENCE: &FullFences = &FullFences;

/// Bytes of a unit of the ring.
const WORD: usize = size_of::<usize>();
/// The highest bit of a word.
const HIGHEST: usize = 1 << (usize::BITS - 1);

type Ends<'m> = (Sender<&'m Local>, Receiver<&'m Local>);

fn ends(memory: &Local) -> Ends<'_> {
    (Sender::new(memory), Receiver::new(memory))
}

/// Takes the next record.
fn next<M: Memory>(receiver: &mut Receiver<M>) -> Option<Vec<u8>> {
    let mut record = vec![0xee; receiver.peek().unwrap()?];
    receiver.take(&mut record);
    Some(record)
}

/// Bytes that say which record they are.
fn record(i: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (i * 31 + at * 7) as u8).collect()
}

#[test]
fn a_batch_is_seen_when_it_is_flushed() {
    let memory = Local::new(16);
    let (mut sender, mut receiver) = ends(&memory);
    assert!(!sender.flush(FENCE));
    for bytes in [0, 1, 8, 9] {
        sender.send(&record(bytes, bytes)).unwrap();
    }
    assert_eq!(next(&mut receiver), None);
    assert!(!sender.flush(FENCE));
    for bytes in [0, 1, 8, 9] {
        assert_eq!(next(&mut receiver), Some(record(bytes, bytes)));
    }
    assert_eq!(next(&mut receiver), None);
}

/// All lengths that fit, at all positions of the ring.
#[test]
fn records_of_every_length_wrap_around() {
    let memory = Local::new(16);
    let (mut sender, mut receiver) = ends(&memory);
    for i in 0..5000 {
        let bytes = i * 13 % (sender.longest() + 1);
        sender.send(&record(i, bytes)).unwrap();
        assert!(!sender.flush(FENCE));
        assert_eq!(next(&mut receiver), Some(record(i, bytes)), "{i}");
        assert!(!receiver.release(FENCE));
    }
}

#[test]
fn a_full_ring_takes_records_again_after_a_release() {
    let memory = Local::new(8);
    let (mut sender, mut receiver) = ends(&memory);
    let one = [7; WORD];
    let sent = (0..).take_while(|_| sender.send(&one).is_ok()).count();
    assert_eq!(sent, 3, "2 units each, and an empty header");
    assert!(!sender.flush(FENCE));
    assert!(next(&mut receiver).is_some());
    assert_eq!(sender.send(&one), Err(Refused::Full), "taken, not released");
    assert!(!receiver.release(FENCE));
    sender.send(&one).unwrap();
    assert_eq!(sender.send(&one), Err(Refused::Full));
    assert_eq!(sender.longest(), 6 * WORD);
    assert_eq!(sender.send(&[0; 6 * WORD + 1]), Err(Refused::TooLong));
}

#[test]
fn each_side_learns_that_the_other_sleeps() {
    let memory = Local::new(8);
    let (mut sender, mut receiver) = ends(&memory);
    assert!(receiver.sleep(FENCE));
    assert!(
        receiver.sleep(FENCE),
        "woken for another reason, it sleeps again"
    );
    sender.send(&[1]).unwrap();
    assert!(sender.flush(FENCE), "it must be woken");
    assert!(!receiver.sleep(FENCE), "a record is there");
    sender.send(&[2; 3 * WORD]).unwrap();
    assert!(!sender.flush(FENCE));
    assert!(!sender.sleep(0, FENCE), "one unit is free");
    assert!(sender.sleep(1, FENCE));
    assert!(next(&mut receiver).is_some());
    assert!(receiver.release(FENCE), "it must be woken");
    assert!(!receiver.release(FENCE), "nothing was taken since");
    assert!(!sender.sleep(1, FENCE));
}

#[test]
fn headers_of_no_sender_are_refused() {
    let long = [((7 * WORD + 1) << 2) | 1, ((6 * WORD + 1) << 2) | 3];
    for header in [2, 4, HIGHEST, usize::MAX].into_iter().chain(long) {
        let memory = Local::new(8);
        let mut receiver = Receiver::new(&memory);
        memory.units()[0].store(header, Relaxed);
        assert_eq!(receiver.peek(), Err(Corrupt::Header(header)));
    }
    assert_eq!(
        Corrupt::Header(4).to_string(),
        "0x4 is not the header of a record"
    );
}

/// The length of a record is the one that was checked, even if its header changes later.
#[test]
fn a_header_that_changes_after_it_was_read_has_no_effect() {
    for header in [0, 1, (9 << 2) | 1, usize::MAX] {
        let memory = Local::new(8);
        let (mut sender, mut receiver) = ends(&memory);
        sender.send(&[1, 2, 3]).unwrap();
        sender.send(&[4; 9]).unwrap();
        assert!(!sender.flush(FENCE));
        assert_eq!(receiver.peek(), Ok(Some(3)));
        memory.units()[0].store(header, Relaxed);
        let mut into = [0; 3];
        receiver.take(&mut into);
        assert_eq!(into, [1, 2, 3]);
        assert_eq!(next(&mut receiver), Some(vec![4; 9]));
    }
}

#[test]
fn releases_of_what_was_not_sent_are_refused() {
    // Before what was released, after the published ones, and where a difference overflows.
    for taken in [1, 3, 8, usize::MAX, usize::MAX - 3, HIGHEST] {
        let memory = Local::new(8);
        let (mut sender, mut receiver) = ends(&memory);
        sender.send(&[0; WORD]).unwrap();
        assert!(!sender.flush(FENCE));
        assert!(next(&mut receiver).is_some());
        assert!(!receiver.release(FENCE));
        sender.send(&[1; 5 * WORD]).unwrap();
        assert_eq!(sender.send(&[2; WORD]), Err(Refused::Full));
        memory.taken().store(taken, Relaxed);
        let corrupt = Corrupt::Taken(taken);
        assert_eq!(
            sender.send(&[2; WORD]),
            Err(Refused::Corrupt(corrupt)),
            "{taken}"
        );
        _ = sender.flush(FENCE);
        assert!(!sender.sleep(WORD, FENCE), "nothing would wake it");
    }
    assert_eq!(
        Corrupt::Taken(16).to_string(),
        "0x10 is not the number of released units"
    );
}

/// A peer that writes any word at any time ends neither side, and brings neither out of the ring.
#[test]
fn a_peer_that_writes_everywhere_does_no_harm() {
    let memory = Local::new(8);
    let ends = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            let mut random = 1u64;
            while !ends.load(Relaxed) {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let (at, word) = ((random >> 40) as usize, (random >> 33) as usize);
                // Words of all sizes, so that some are what a peer would write.
                let word = (word % 100) << if at % 5 == 0 { usize::BITS - 6 } else { 0 };
                memory.units()[at % 8].store(word, Relaxed);
                memory.taken().store(word / 8, Relaxed);
                memory.marks()[at % 2].store(word, Relaxed);
            }
        });
        let (mut found, mut sent) = (0, 0);
        // New ends often, for a ring that has failed once is of no use.
        for round in 0..20_000 {
            let (mut sender, mut receiver) = (Sender::new(&memory), Receiver::new(&memory));
            for bytes in 0..8 {
                sent += usize::from(sender.send(&vec![1; bytes * 7 % (5 * WORD)]).is_ok());
                _ = sender.flush(FENCE);
                _ = round % 2 == 0 && sender.sleep(bytes, FENCE);
                if let Ok(Some(bytes)) = receiver.peek() {
                    receiver.take(&mut vec![0; bytes]);
                    found += 1;
                }
                _ = receiver.release(FENCE);
                _ = receiver.sleep(FENCE);
            }
        }
        ends.store(true, Relaxed);
        assert!(found > 0 && sent > 0, "{found} found, {sent} sent");
    });
}

#[test]
#[should_panic = "6 units: a power of two, at least 4"]
fn memory_of_another_size_is_refused() {
    Sender::new(Local::new(6));
}

/// Records of all lengths from one thread to another, in batches.
#[test]
fn two_threads() {
    const RECORDS: usize = 20_000;
    let memory = Arc::new(Local::new(64));
    let mut sender = Sender::new(Arc::clone(&memory));
    let mut receiver = Receiver::new(memory);
    let length = |i: usize| i * 29 % 200;
    thread::scope(|threads| {
        threads.spawn(move || {
            for i in 0..RECORDS {
                while sender.send(&record(i, length(i))) == Err(Refused::Full) {
                    _ = sender.flush(FENCE);
                    spin_loop();
                    thread::yield_now();
                }
                if i % 3 == 0 {
                    _ = sender.flush(FENCE);
                }
            }
            _ = sender.flush(FENCE);
        });
        for i in 0..RECORDS {
            let found = loop {
                if let Some(found) = next(&mut receiver) {
                    break found;
                }
                _ = receiver.release(FENCE);
                thread::yield_now();
            };
            assert_eq!(found, record(i, length(i)));
        }
    });
}

/// A word whose sleeps and wake-ups are recorded: a sleep with the word that it expects and the
/// ticks.
#[derive(Default)]
struct Recorded {
    word: AtomicU32,
    calls: RefCell<Vec<Call>>,
}

#[derive(Debug, PartialEq)]
enum Call {
    Sleep { is_expected: bool, ticks: u64 },
    Wake,
}

impl Futex for &Recorded {
    fn word(&self) -> &AtomicU32 {
        &self.word
    }

    fn sleep(&self, expected: u32, ticks: u64) {
        let is_expected = self.word.load(Relaxed) == expected;
        self.calls
            .borrow_mut()
            .push(Call::Sleep { is_expected, ticks });
        // Another thread gives the signal in the meantime.
        Signal(*self).give();
    }

    fn wake(&self) {
        self.calls.borrow_mut().push(Call::Wake);
    }
}

/// Any word of a faulty peer counts as silent.
#[test]
fn a_signal_enters_the_system_only_if_a_thread_sleeps() {
    let recorded = Recorded::default();
    let calls = || recorded.calls.take();
    let signal = Signal(&recorded);
    for word in [0, 99, u32::MAX] {
        recorded.word.store(word, Relaxed);
        signal.give();
        signal.give();
        signal.wait(5);
        assert_eq!(calls(), [], "it was given before");
        recorded.word.store(word, Relaxed);
        signal.wait(5);
        let (is_expected, ticks) = (true, 5);
        assert_eq!(calls(), [Call::Sleep { is_expected, ticks }, Call::Wake]);
        signal.give_again();
        assert_eq!(calls(), [Call::Wake]);
        signal.wait(5);
    }
}

/// Two ranks, of which the first may have left; nothing sleeps.
#[derive(Default)]
struct Present(AtomicBool);

impl Roster for Present {
    type Fence = FullFences;

    fn fence(&self) -> &FullFences {
        FENCE
    }

    fn is_gone(&self, rank: Rank) -> bool {
        rank == Rank(0) && self.0.load(Relaxed)
    }

    fn leave(&self, rank: Rank) {
        if rank == Rank(0) {
            self.0.store(true, Relaxed);
        }
    }

    fn ring(&self, _: Rank) {}

    fn wait(&self, _: Rank, _: u64) {}
}

/// The signal of a rank that leaves may have ended a wait after which another thread used the link:
/// the next wait must not begin.
#[test]
fn a_rank_that_has_left_is_noticed_before_a_wait() {
    let roster = Arc::new(Present::default());
    let rings = [(); 2].map(|()| Arc::new(Local::new(16)));
    let ring = |from: Rank, _| Arc::clone(&rings[from.index()]);
    let leaves = Mesh::new(Rank(0), 2, Arc::clone(&roster), ring);
    let mut stays = Mesh::new(Rank(1), 2, roster, ring);
    assert!(stays.arm());
    drop(leaves);
    assert!(!stays.arm(), "its loss was not reported yet");
    let lost = stays.poll(&mut |_, _| ()).expect_err("a loss");
    assert_eq!((lost.rank, lost.is_gone), (Rank(0), true));
    assert!(stays.arm());
}
