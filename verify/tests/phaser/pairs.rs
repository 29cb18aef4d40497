//! Producers and consumers, and tasks on two phasers.

use super::scene::{AGAIN, HELP, MASTERS, all_set, group, marks, pair};
use loom::thread;
use std::sync::Arc;
use tautline_core::phaser::Mode::{Signal, Wait};
use tautline_core::phaser::Phase;
use tautline_verify::model::Model;

/// V15: two phasers, two tasks, which wait for one phase in opposite orders.
#[test]
fn crossed() {
    Model::new("crossed").bound(3).floor(13_000).check(|| {
        let [[mut a0, mut a1], [mut b1, mut b0]] =
            [group::<2>(AGAIN, HELP), group::<2>(AGAIN, HELP)];
        let marks = marks::<2>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            theirs[1].set();
            b1.next_blocking().unwrap();
            all_set(&theirs[..1]);
            a1.next_blocking().unwrap();
        });
        a0.signal().unwrap();
        marks[0].set();
        b0.signal().unwrap();
        a0.wait_blocking().unwrap();
        all_set(&marks[1..]);
        b0.wait_blocking().unwrap();
        other.join().unwrap();
    });
}

/// V16: one task has signalled on both phasers before it waits; the other passes one after the
/// other.
#[test]
fn split_phase() {
    Model::new("split_phase").bound(3).floor(7_700).check(|| {
        let [[mut a0, mut a1], [mut b0, mut b1]] =
            [group::<2>(AGAIN, HELP), group::<2>(AGAIN, HELP)];
        let marks = marks::<2>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            a1.signal().unwrap();
            a1.wait_blocking().unwrap();
            theirs[1].set();
            b1.signal().unwrap();
            b1.wait_blocking().unwrap();
            all_set(&theirs[..]);
        });
        a0.signal().unwrap();
        marks[0].set();
        b0.signal().unwrap();
        b0.wait_blocking().unwrap();
        all_set(&marks[..]);
        a0.wait_blocking().unwrap();
        other.join().unwrap();
    });
}

/// V17: a producer signals twice and never waits, a consumer waits twice.
#[test]
fn producer_consumer() {
    Model::new("producer_consumer")
        .bound(3)
        .floor(1_800)
        .check(|| {
            let [mut producer, mut consumer] = pair(AGAIN, HELP);
            let marks = marks::<2>();
            let theirs = Arc::clone(&marks);
            let other = thread::spawn(move || {
                for phase in 0..2 {
                    consumer.wait_blocking().unwrap();
                    all_set(&theirs[..=phase]);
                }
            });
            for mark in &marks[..] {
                mark.set();
                producer.signal().unwrap();
            }
            other.join().unwrap();
        });
}

/// A consumer without help, which gathers for no master, polls the tree until the producer has
/// signalled.
#[test]
fn consumer_watches() {
    Model::new("consumer_watches").floor(10).check(|| {
        let [mut producer, mut consumer] = pair(1, MASTERS);
        let marks = marks::<1>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            consumer.wait_blocking().unwrap();
            all_set(&theirs[..]);
        });
        marks[0].set();
        producer.signal().unwrap();
        other.join().unwrap();
    });
}

/// A producer that is two phases ahead registers another, which owes the third phase first.
#[test]
fn producer_ahead() {
    Model::new("producer_ahead")
        .bound(3)
        .floor(3_100)
        .check(|| {
            let [mut producer, mut consumer] = pair(1, HELP);
            let marks = marks::<2>();
            producer.signal().unwrap();
            consumer.wait_blocking().unwrap();
            producer.signal().unwrap();
            let theirs = Arc::clone(&marks);
            let other = thread::spawn(move || {
                consumer.wait_blocking().unwrap();
                consumer.wait_blocking().unwrap();
                all_set(&theirs[..]);
            });
            let mut second = producer.register(Signal).unwrap();
            marks[0].set();
            producer.signal().unwrap();
            marks[1].set();
            second.signal().unwrap();
            other.join().unwrap();
        });
}

/// Two consumers end one phase together: it ends once, and neither passes the next one.
#[test]
fn consumers_end_it_once() {
    Model::new("consumers_end_it_once").floor(280).check(|| {
        let [mut producer, mut consumer] = pair(AGAIN, HELP);
        let mut second = consumer.register(Wait).unwrap();
        producer.signal().unwrap();
        let other = thread::spawn(move || second.wait_blocking().unwrap());
        consumer.wait_blocking().unwrap();
        other.join().unwrap();
        assert_eq!(consumer.phaser().phase(), Phase(1));
    });
}
