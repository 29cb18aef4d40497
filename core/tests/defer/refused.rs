//! Malformed and stray messages are refused, and change nothing.

use super::{one, sent};
use std::ops::Range;
use tautline_core::Rank;
use tautline_core::defer::{Epoch, Epochs, Event, Message, Order, Progress, Refusal};
use tautline_core::machine::Machine;
use tautline_core::taper::{Instance, Policy, Summary};

/// Rank 0 of 4, whose children are 1, with rank 2, and 3; and rank 1, in a loop of 40.
fn ranks() -> [Epochs; 2] {
    let instance = Instance::new(40, 4);
    [0, 1].map(|rank| {
        let mut epochs = Epochs::new(Rank(rank), instance, Policy::Factoring);
        sent(&mut (), |step| epochs.event(Event::Begin, step));
        epochs
    })
}

fn refuse(machine: &Epochs, from: u32, message: Message, why: Refusal) {
    let mut after = machine.clone();
    let text = format!("{message:?}");
    let (received, sent) = sent(&mut (), |step| after.receive(Rank(from), message, step));
    assert_eq!(received, Err(why), "{text}");
    assert!(after == *machine && sent.is_empty(), "{text}");
}

const GOOD: Progress = Progress {
    chunks: 1,
    started: 5,
    hungry: 0,
    epoch: 0,
    left: 5,
    times: Summary::NONE,
};

#[test]
fn malformed_tokens_are_refused() {
    let [root, inner] = ranks();
    let tokens = |rank, progress| Message::Tokens(vec![(Rank(rank), progress)]);
    for progress in [
        Progress { chunks: 6, ..GOOD },
        Progress {
            started: 41,
            ..GOOD
        },
        Progress { left: 41, ..GOOD },
        Progress { hungry: 2, ..GOOD },
        Progress { epoch: 1, ..GOOD },
        Progress {
            hungry: u64::MAX,
            epoch: u64::MAX,
            ..GOOD
        },
    ] {
        refuse(&root, 3, tokens(3, progress), Refusal::Progress(Rank(3)));
    }
    for (from, of) in [(3, 1), (3, 0), (1, 3), (1, 4), (1, u32::MAX)] {
        refuse(&root, from, tokens(of, GOOD), Refusal::Names(Rank(of)));
    }
    let twice = Message::Tokens(vec![(Rank(1), GOOD), (Rank(1), GOOD)]);
    refuse(&root, 1, twice, Refusal::Names(Rank(1)));
    let most = Progress {
        started: 36,
        ..GOOD
    };
    refuse(&root, 3, tokens(3, most), Refusal::Count);
    for from in [0, 2, 4, u32::MAX] {
        refuse(&root, from, tokens(2, GOOD), Refusal::Path);
    }
    refuse(&inner, 0, tokens(2, GOOD), Refusal::Path);
}

#[test]
fn malformed_epochs_are_refused() {
    let [root, inner] = ranks();
    let epoch = |number, chunk, orders| {
        Message::Epoch(Epoch {
            number,
            chunk,
            orders,
        })
    };
    let order = |donor, receiver, amount| {
        vec![Order {
            donor: Rank(donor),
            receiver: Rank(receiver),
            amount,
        }]
    };
    for (number, chunk) in [(0, 1), (u64::MAX, 1), (1, 0), (1, 41)] {
        refuse(&inner, 0, epoch(number, chunk, vec![]), Refusal::Range);
    }
    refuse(&inner, 0, epoch(1, 1, order(1, 0, 0)), Refusal::Range);
    refuse(&inner, 0, epoch(1, 1, order(1, 0, 41)), Refusal::Range);
    let names = |rank| Refusal::Names(Rank(rank));
    refuse(&inner, 0, epoch(1, 1, order(3, 0, 1)), names(3));
    refuse(&inner, 0, epoch(1, 1, order(1, 4, 1)), names(4));
    refuse(&inner, 0, epoch(1, 1, order(1, 1, 1)), names(1));
    refuse(&inner, 2, epoch(1, 1, vec![]), Refusal::Path);
    refuse(&root, 1, epoch(1, 1, vec![]), Refusal::Path);
}

fn data(part: Range<u64>) -> Message {
    Message::Data(one(part))
}

#[test]
fn malformed_iterations_and_ends_are_refused() {
    let [root, inner] = ranks();
    for parts in [
        vec![],
        one(3..3),
        one(30..41),
        // Rank 0 has some of these.
        one(9..11),
        vec![20..22, 21..23],
        vec![22..24, 20..23],
    ] {
        refuse(&root, 3, Message::Data(parts), Refusal::Iterations);
    }
    for from in [0, 4] {
        refuse(&root, from, data(20..21), Refusal::Iterations);
    }
    refuse(&root, 1, Message::End, Refusal::Path);
    refuse(&inner, 2, Message::End, Refusal::Path);
    // Iterations are left at rank 1.
    refuse(&inner, 0, Message::End, Refusal::End);
    let mut over = Epochs::new(Rank(1), Instance::new(0, 4), Policy::Factoring);
    let (received, _) = sent(&mut (), |step| over.receive(Rank(0), Message::End, step));
    assert_eq!(received, Ok(()));
    refuse(&over, 0, Message::End, Refusal::End);
    refuse(&over, 2, data(0..1), Refusal::End);
}

#[cfg(feature = "wire")]
#[test]
fn messages_survive_as_bytes_and_malformed_times_are_refused() {
    use tautline_core::wire::{pack, unpack};

    let [root, _] = ranks();
    let mut times = Summary::NONE;
    times.record(7);
    let good = Message::Tokens(vec![(Rank(3), Progress { times, ..GOOD })]);
    let mut bytes = Vec::new();
    pack(&good, &mut bytes).unwrap();
    assert_eq!(unpack::<Message>(&bytes), Ok(good));
    // Number, sum and sum of squares of samples that do not exist.
    for sums in [
        (0, 1, 0),
        (2, 20, 10),
        (u64::MAX, 1, 1),
        (1, u128::MAX, u128::MAX),
    ] {
        bytes.clear();
        pack(&sums, &mut bytes).unwrap();
        let times: Summary = unpack(&bytes).unwrap();
        let tokens = Message::Tokens(vec![(Rank(3), Progress { times, ..GOOD })]);
        refuse(&root, 3, tokens, Refusal::Progress(Rank(3)));
    }
}
