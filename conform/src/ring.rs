//! Rings of records: both sides see the same words, and each ring has words of its own.

use crate::harness::{Harness, step, within};
use crate::numbers::Numbers;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use tautline_core::channel::{Memory, Receiver, Refused, Sender};
use tautline_core::port::Fence;
use tautline_core::sync::{AtomicUsize, Lock};

/// Records of an exchange.
const RECORDS: u64 = 20_000;

/// The words of a ring are zero at first, distinct, the same for both sides, and not those of
/// another ring; records of all lengths arrive complete and in order while both sides sleep
/// whenever they can do nothing. `make` creates the two sides' views of a new ring, `fence` is
/// that of their threads or processes.
///
/// # Panics
/// If the memory does not conform.
pub fn exchanges<H, M, F>(on: &H, make: impl Fn() -> [M; 2], fence: F)
where
    H: Harness,
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

    let [to, from] = make();
    let sender = Sender::new(to);
    let exchange = Exchange {
        on: on.clone(),
        fence,
        longest: sender.longest(),
        sender: Lock::new(Some(sender)),
        receiver: Lock::new(Some(Receiver::new(from))),
        bells: Default::default(),
    };
    let body = move |number| match number {
        0 => exchange.send(),
        _ => exchange.receive(),
    };
    step(on, "exchanges: records", 2, Arc::new(body));
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

/// Two threads and the ring between them.
struct Exchange<H, M, F> {
    on: H,
    fence: F,
    longest: usize,
    sender: Lock<Option<Sender<M>>>,
    receiver: Lock<Option<Receiver<M>>>,
    /// Rung for the sender, and for the receiver.
    bells: [AtomicBool; 2],
}

const SENDER: usize = 0;
const RECEIVER: usize = 1;

impl<H: Harness, M: Memory, F: Fence> Exchange<H, M, F> {
    fn ring(&self, bell: usize) {
        self.bells[bell].store(true, Release);
    }

    /// Waits for the bell, which is all that ends the sleep of a thread.
    fn sleep(&self, bell: usize) {
        within(&self.on, "the other side ends a sleep", || {
            self.bells[bell].swap(false, Acquire)
        });
    }

    fn send(&self) {
        let sender = self.sender.lock(&self.on).take();
        let mut sender = sender.expect("one thread sends");
        let flush = |sender: &mut Sender<M>| {
            if sender.flush(&self.fence) {
                self.ring(RECEIVER);
            }
        };
        for number in 0..RECORDS {
            let record = record(number, self.longest);
            while let Err(refused) = sender.send(&record) {
                assert_eq!(refused, Refused::Full, "record {number}");
                flush(&mut sender);
                if sender.sleep(record.len(), &self.fence) {
                    self.sleep(SENDER);
                }
            }
            if number % 3 == 0 {
                flush(&mut sender);
            }
        }
        flush(&mut sender);
    }

    fn receive(&self) {
        let receiver = self.receiver.lock(&self.on).take();
        let mut receiver = receiver.expect("one thread receives");
        let mut number = 0;
        while number < RECORDS {
            while let Some(length) = receiver.peek().expect("a header that the sender wrote") {
                let mut bytes = vec![0; length];
                receiver.take(&mut bytes);
                assert_eq!(bytes, record(number, self.longest), "record {number}");
                number += 1;
            }
            if receiver.release(&self.fence) {
                self.ring(SENDER);
            }
            if number < RECORDS && receiver.sleep(&self.fence) {
                self.sleep(RECEIVER);
            }
        }
    }
}
