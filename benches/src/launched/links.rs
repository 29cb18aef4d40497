//! Measurements of the link and of a channel over it, by which others are judged.

use super::Launches;
use crate::stored::Table;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tautline_core::port::{Link, Spin};
use tautline_core::wire::{Exchange, unpack};
use tautline_core::{PlaceId, Rank};
use tautline_process::join;

/// Returns the link of this rank.
///
/// # Panics
/// This process was not launched as a rank.
pub fn linked() -> Box<dyn Link + Send> {
    join()
        .expect("variables of the launcher")
        .expect("launched")
}

/// Gigabytes a second of parcels of this length, whose last one is answered.
pub fn bulk<T: Table>(launches: &Launches<T>, bytes: usize) -> Option<f64> {
    let mut link = linked();
    let (here, mut parcel) = (link.here(), vec![7; bytes]);
    let all = if launches.quick { 4 } else { (1 << 30) / bytes };
    let start = Instant::now();
    let (mut sent, mut got) = (0, 0);
    let is_over = |got: usize| got == if here == Rank(0) { 1 } else { all };
    while !is_over(got) || link.unsent(Rank(1 - here.0)) > 0 {
        if here == Rank(0) && sent < all && link.unsent(Rank(1)) == 0 {
            // As if each were new: every line is written.
            parcel.chunks_mut(64).for_each(|line| line[0] = sent as u8);
            link.send(Rank(1), black_box(&parcel));
            sent += 1;
        }
        let mut taken = 0;
        // The loss of the other rank, which has all it waits for, may come with its last parcel.
        let _ = link.poll(&mut |_, parcel| taken += usize::from(!black_box(parcel).is_empty()));
        got += taken;
        if here == Rank(1) && taken > 0 && got == all {
            link.send(Rank(0), &[0]);
            let _ = link.poll(&mut |_, _| ());
        }
    }
    let bytes = (all * parcel.len()) as f64;
    (here == Rank(0)).then(|| bytes / 1e9 / start.elapsed().as_secs_f64())
}

/// Round trips of a number over a channel of an exchange.
pub fn channel<T: Table>(launches: &Launches<T>) -> Option<f64> {
    let exchange = Exchange::new(linked(), Spin);
    let here = exchange.here();
    let received = Arc::new(AtomicU64::new(0));
    let into = Arc::clone(&received);
    let channel = exchange.open::<u64>("numbers", 1, move |_, _, body: &[u8]| {
        // ORDERING: Relaxed: this thread reads it.
        into.store(unpack(body)?, Ordering::Relaxed);
        Ok(())
    });
    let places = [here, Rank(1 - here.0)].map(|rank| PlaceId(rank.0));
    let receive = |number| {
        // ORDERING: Relaxed: this thread writes it.
        while received.load(Ordering::Relaxed) != number {
            exchange.turn().expect("both live");
        }
    };
    let figure = launches.per_trip(here, |number| {
        if here == Rank(1) {
            receive(number);
        }
        channel.send(places[0], places[1], number);
        exchange.turn().expect("both live");
        if here == Rank(0) {
            receive(number);
        }
    });
    while exchange.leave() == Ok(false) {}
    figure
}
