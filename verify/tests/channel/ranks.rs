//! Models of ranks over rings: their signals, and what a rank has sent last.

use loom::sync::atomic::{AtomicBool, Ordering::*};
use loom::sync::{Condvar, Mutex};
use loom::thread;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::channel::{Futex, Local, Mesh, Roster, Signal};
use tautline_core::port::Link;
use tautline_core::sync::AtomicU32;
use tautline_verify::model::Model;

use super::FullFences;

/// A futex as the system has it: a queue of threads under a lock, under which the word is compared.
struct Word {
    word: AtomicU32,
    queue: Mutex<()>,
    woken: Condvar,
}

impl Word {
    fn new() -> Self {
        Self {
            word: AtomicU32::new(0),
            queue: Mutex::new(()),
            woken: Condvar::new(),
        }
    }
}

impl Futex for &Word {
    fn word(&self) -> &AtomicU32 {
        &self.word
    }

    fn sleep(&self, expected: u32, _: u64) {
        let queue = self.queue.lock().unwrap();
        if self.word.load(Relaxed) == expected {
            drop(self.woken.wait(queue).unwrap());
        }
    }

    fn wake(&self) {
        let queue = self.queue.lock().unwrap();
        self.woken.notify_all();
        drop(queue);
    }
}

/// The word, for a process that is killed before it has woken the thread.
struct Killed<'a>(&'a Word);

impl Futex for Killed<'_> {
    fn word(&self) -> &AtomicU32 {
        &self.0.word
    }

    fn sleep(&self, _: u32, _: u64) {}

    fn wake(&self) {}
}

/// The values that the threads have written before they gave the signal.
type Written = [AtomicBool; 2];

/// Starts two threads that write something and `give` the signal; waits for both. A signal that is
/// lost is a deadlock, which loom reports.
fn signalled(give: [fn(&Word); 2]) {
    let written = Written::default();
    let scene = Arc::new((Word::new(), written));
    let others: Vec<_> = (0..2)
        .map(|at| {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                scene.1[at].store(true, Relaxed);
                give[at](&scene.0);
            })
        })
        .collect();
    while scene.1.iter().any(|written| !written.load(Relaxed)) {
        Signal(&scene.0).wait(0);
    }
    others.into_iter().for_each(|other| other.join().unwrap());
}

/// SB1: two threads give a signal; what each has written is visible after the wait that its signal
/// ends.
#[test]
fn channel_signal() {
    let give = |word: &Word| Signal(word).give();
    Model::new("channel_signal")
        .bound(3)
        .floor(4_500)
        .check(move || signalled([give, give]));
}

/// A process is killed within its call, and another one gives the signal for it.
#[test]
fn channel_signal_again() {
    let half = |word: &Word| Signal(Killed(word)).give();
    let again = |word: &Word| Signal(word).give_again();
    Model::new("channel_signal_again")
        .bound(3)
        .floor(140)
        .check(move || {
            let scene = Arc::new((Word::new(), AtomicBool::new(false)));
            let theirs = Arc::clone(&scene);
            let other = thread::spawn(move || {
                half(&theirs.0);
                theirs.1.store(true, Relaxed);
                again(&theirs.0);
            });
            while !scene.1.load(Relaxed) {
                Signal(&scene.0).wait(0);
            }
            other.join().unwrap();
        });
}

/// Two ranks, of which rank 0 leaves.
struct Leaving {
    is_gone: AtomicBool,
}

impl Roster for Leaving {
    type Fence = FullFences;

    fn fence(&self) -> &FullFences {
        super::FENCE
    }

    fn is_gone(&self, rank: Rank) -> bool {
        rank == Rank(0) && self.is_gone.load(Acquire)
    }

    fn leave(&self, rank: Rank) {
        if rank == Rank(0) {
            self.is_gone.store(true, Release);
        }
    }

    fn ring(&self, _: Rank) {}

    fn wait(&self, _: Rank, _: u64) {}
}

/// A rank receives all records that the other one sent before it dropped its link, and reports the
/// loss afterwards. The first record is published at once, the second as the link is dropped.
#[test]
fn channel_last_records() {
    Model::new("channel_last_records").floor(450).check(|| {
        let rings = [(); 2].map(|()| Arc::new(Local::new(8)));
        let ring = |from: Rank, _| Arc::clone(&rings[from.index()]);
        let roster = Arc::new(Leaving {
            is_gone: AtomicBool::new(false),
        });
        let mut leaves = Mesh::new(Rank(0), 2, Arc::clone(&roster), ring);
        let mut stays = Mesh::new(Rank(1), 2, roster, ring);
        let sending = thread::spawn(move || {
            leaves.send(Rank(1), &[7]);
            leaves.send(Rank(1), &[8]);
            drop(leaves);
        });
        let mut arrived = Vec::new();
        let lost = loop {
            match stays.poll(&mut |_, parcel| arrived.extend_from_slice(parcel)) {
                Ok(_) => thread::yield_now(),
                Err(lost) => break lost,
            }
        };
        assert_eq!((lost.rank, &arrived[..]), (Rank(0), &[7, 8][..]));
        sending.join().unwrap();
    });
}
