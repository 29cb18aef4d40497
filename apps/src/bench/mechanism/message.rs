//! Messages between two ranks.
#![forbid(unsafe_code)]

use super::super::{Kind, Plan, Sample};
use super::observed::{await_that, threads};
use std::hint::black_box;
use std::io;
use std::time::Instant;
use tautline_core::Rank;
use tautline_core::port::Link;
use tautline_node::Loopback;

pub(super) fn kinds() -> Vec<Kind> {
    [("threads, 8 bytes", 8), ("threads, 1 MiB", 1 << 20)]
        .map(|(name, bytes)| Kind::measured(name, move |plan| between_threads(plan, bytes)))
        .into()
}

fn between_threads(plan: &Plan, bytes: usize) -> io::Result<Sample> {
    let [mut first, mut second] = Loopback::all();
    let bodies = [&mut first, &mut second];
    let bodies = bodies.map(|link| -> super::observed::Body<'_> {
        Box::new(move || round_trip(link, bytes, plan))
    });
    threads(plan, bodies.into())
}

/// Returns the nanoseconds in which a parcel of this many bytes goes to the other of two ranks and another one returns. Both
/// ranks call it. Not a number if the measurement was stopped, or the other rank is lost.
pub fn round_trip(link: &mut dyn Link, bytes: usize, plan: &Plan) -> f64 {
    let here = link.here();
    let (peer, parcel) = (Rank(1 - here.0), vec![7; bytes]);
    let warm_up = plan.iterations / 10 + 1;
    let (mut start, mut received, mut is_lost) = (Instant::now(), 0, false);
    let mut receive = |link: &mut dyn Link, wanted: u32| {
        let arrived = await_that(plan, || {
            let mut take = |_, parcel: &[u8]| received += u32::from(!black_box(parcel).is_empty());
            is_lost |= link.poll(&mut take).is_err();
            received >= wanted && link.unsent(peer) == 0 || is_lost
        });
        arrived && received >= wanted && !plan.stop.is_stopped()
    };
    for trip in 1..=warm_up + plan.iterations {
        if trip == warm_up + 1 {
            start = Instant::now();
        }
        if here == Rank(1) && !receive(link, trip) {
            return f64::NAN;
        }
        link.send(peer, black_box(&parcel));
        let answered = if here == Rank(0) { trip } else { 0 };
        if !receive(link, answered) {
            return f64::NAN;
        }
    }
    start.elapsed().as_nanos() as f64 / f64::from(plan.iterations)
}
