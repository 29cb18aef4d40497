//! Rings of records: both sides see the same words, and each ring has words of its own.

use crate::numbers::Numbers;
use crate::threads::ends;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, Thread};
use tautline_core::channel::{Memory, Receiver, Refused, Sender};
use tautline_core::port::Fence;
use tautline_core::sync::AtomicUsize;

/// Records of an exchange.
const RECORDS: u64 = 20_000;

/// The words of a ring are zero at first, distinct, the same for both sides, and not those of
/// another ring; records of all lengths arrive complete and in order while both sides sleep
/// whenever they can do nothing. `make` creates the two sides' views of a new ring, `fence` is
/// that of their threads or processes.
///
/// # Panics
/// If the memory does not conform.
pub fn exchanges<M, F>(make: impl Fn() -> [M; 2], fence: F)
where
    M: Memory + Send + 'static,
    F: Fence + Send + Sync + 'static,
{
    let views = make();
    let [one, two] = views.each_ref().map(words);
    let units = views[0].units().len();
    assert!(units.is_power_of_two() && units >= 4, "{units} units");
    assert_eq!(one.len(), two.len(), "words that the two sides see");
    assert!(one.iter().all(|word| word.load(Relaxed) == 0), "not zero");
    for (number, word) in one.iter().enumerate() {
        word.store(number + 1, Relaxed);
    }
    for (number, word) in two.iter().enumerate() {
        let seen = word.load(Relaxed);
        assert_eq!(seen, number + 1, "word {number} as the other side sees it");
    }
    let other = make();
    let other = words(&other[0]);
    assert!(
        other.iter().all(|word| word.load(Relaxed) == 0),
        "another ring has these words, too"
    );

    let ([to, from], fence) = (make(), Arc::new(fence));
    ends("exchanges: an exchange of records", move || {
        let (receiver, sender) = (Arc::clone(&fence), fence);
        let (here, to, from) = (thread::current(), Sender::new(to), Receiver::new(from));
        let longest = to.longest();
        let receives = thread::spawn(move || receive(from, longest, &*receiver, &here));
        send(to, &*sender, receives.thread());
        receives.join().expect("the receiver ends");
    });
}

/// Returns all words of a view.
fn words(memory: &impl Memory) -> Vec<&AtomicUsize> {
    let marks = memory.marks().iter();
    let rest = marks.chain([memory.taken()]);
    memory.units().iter().chain(rest).collect()
}

/// Returns a record: mostly short, sometimes as long as the ring admits.
fn record(number: u64, longest: usize) -> Vec<u8> {
    let mut numbers = Numbers(number);
    let most = if numbers.below(8) == 0 {
        longest
    } else {
        20.min(longest)
    };
    let length = numbers.below(most + 1);
    (0..length).map(|_| numbers.draw() as u8).collect()
}

fn send<M: Memory>(mut sender: Sender<M>, fence: &impl Fence, receiver: &Thread) {
    let longest = sender.longest();
    for number in 0..RECORDS {
        let record = record(number, longest);
        while let Err(refused) = sender.send(&record) {
            assert_eq!(refused, Refused::Full, "record {number}");
            if sender.flush(fence) {
                receiver.unpark();
            }
            if sender.sleep(record.len(), fence) {
                thread::park();
            }
        }
        if number % 3 == 0 && sender.flush(fence) {
            receiver.unpark();
        }
    }
    if sender.flush(fence) {
        receiver.unpark();
    }
}

fn receive<M: Memory>(
    mut receiver: Receiver<M>,
    longest: usize,
    fence: &impl Fence,
    sender: &Thread,
) {
    let mut number = 0;
    while number < RECORDS {
        while let Some(length) = receiver.peek().expect("a header that the sender wrote") {
            let mut bytes = vec![0; length];
            receiver.take(&mut bytes);
            assert_eq!(bytes, record(number, longest), "record {number}");
            number += 1;
        }
        if receiver.release(fence) {
            sender.unpark();
        }
        if number < RECORDS && receiver.sleep(fence) {
            thread::park();
        }
    }
}
