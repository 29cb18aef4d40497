//! One operation of the core, many times, and nothing else: what `cargo ci cost` counts the
//! instructions of.
//!
//! `tautline-costs OPERATION TIMES` prepares every operation for the most times that are allowed,
//! so that two runs differ by the operations alone.
#![no_std]
#![no_main]

extern crate alloc;

mod host;
mod machine;

use alloc::boxed::Box;
use core::hint::black_box;
use core::num::NonZeroUsize;
use machine::{Words, exit, say};
use tautline_core::deque::{SplitDeque, Steal};
use tautline_core::phaser::{Config, Mode, PhaserError, Registration};
use tautline_core::port::Spin;
use tautline_core::sync::Permit;

/// Slots of the deques.
const SLOTS: usize = 4096;
/// Items that were pushed before others are taken. More than can be taken: the last public item
/// costs its thief a request.
const MOST: usize = SLOTS - 2;
const ITEM: NonZeroUsize = NonZeroUsize::MIN;

type Deque = SplitDeque<NonZeroUsize, SLOTS>;

/// Returns a deque that is not dropped, which would visit the items that are left, and whose
/// address the compiler must assume to be known elsewhere: an operation that changes no word would
/// not be performed otherwise.
fn deque() -> &'static Deque {
    black_box(Box::leak(Box::new(Deque::new())))
}

/// Performs an operation this number of times; returns whether each did what it must.
type Operation = fn(usize) -> bool;

const OPERATIONS: &[(&str, Operation)] = &[
    ("push", push),
    ("pop", pop),
    ("steal", steal),
    ("look", look),
    ("fork-join", fork_join),
    ("signal-wait", signal_wait),
    ("park", park),
];

/// Called by the entry in [`machine`].
fn program(words: Words) -> ! {
    let operation = OPERATIONS
        .iter()
        .find(|(name, _)| Some(*name) == words.get(1));
    let Some((name, operation)) = operation else {
        say("no such operation; allowed:");
        for (name, _) in OPERATIONS {
            say(" ");
            say(name);
        }
        refuse("");
    };
    let times = words.get(2).and_then(|word| word.parse::<usize>().ok());
    let Some(times) = times.filter(|&times| times < MOST) else {
        refuse("TIMES must be a number below 4094");
    };
    if !operation(times) {
        say(name);
        say(": did not do what it must\n");
        exit(1);
    }
    exit(0)
}

fn refuse(line: &str) -> ! {
    say(line);
    say("\n");
    exit(2)
}

/// Pushes of items that stay private.
fn push(times: usize) -> bool {
    let deque = deque();
    let Some(owner) = deque.owner() else {
        return false;
    };
    (0..times).all(|_| owner.push(ITEM).is_ok())
}

/// Pops of private items.
fn pop(times: usize) -> bool {
    let deque = deque();
    let Some(owner) = deque.owner() else {
        return false;
    };
    let pushed = (0..MOST).all(|_| owner.push(ITEM).is_ok());
    pushed && (0..times).all(|_| owner.pop().is_some())
}

/// Steals that succeed and leave public items.
fn steal(times: usize) -> bool {
    let deque = deque();
    let Some(owner) = deque.owner() else {
        return false;
    };
    let pushed = (0..MOST).all(|_| owner.push_public(ITEM).is_ok());
    pushed && (0..times).all(|_| deque.steal() == Steal::Taken(ITEM))
}

/// The work of a worker before it parks, for each other worker.
fn look(times: usize) -> bool {
    let deque = deque();
    (0..times).all(|_| !deque.look())
}

/// Forks that no other worker steals. Both halves are empty.
fn fork_join(times: usize) -> bool {
    host::run(|cx| {
        for _ in 0..times {
            cx.join(|_| black_box(()), |_| black_box(()));
        }
    })
    .is_some()
}

/// Phases of two tasks, both of which signal and then wait, in one thread: counted for each task.
fn signal_wait(times: usize) -> bool {
    let phases = || -> Result<(), PhaserError> {
        let mut first = Registration::create(Spin, Mode::SignalWait, Config::default())?;
        let mut second = first.register(Mode::SignalWait)?;
        for _ in 0..times / 2 {
            first.signal()?;
            second.signal()?;
            first.wait_blocking()?;
            second.wait_blocking()?;
        }
        Ok(())
    };
    phases().is_ok()
}

/// The permit of a worker that parks, given and taken.
fn park(times: usize) -> bool {
    let permit = Permit::new();
    let permit = black_box(&permit);
    (0..times).all(|_| {
        permit.give();
        permit.try_take()
    })
}
