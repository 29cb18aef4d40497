//! Exchanges of the two ranks that a link connects.
#![forbid(unsafe_code)]

use super::super::{Kind, Plan, Sample};
use super::exchange::Exchange;
use super::observed::{await_that, threads};
use super::ranks;
use std::hint::black_box;
use std::io;
use std::time::Instant;
use tautline::world::World;
use tautline_core::Rank;
use tautline_core::port::Link;
use tautline_node::Loopback;

pub(super) fn messages() -> Vec<Kind> {
    between_threads("message")
}

pub(super) fn collectives() -> Vec<Kind> {
    between_threads("collective")
}

fn between_threads(bench: &str) -> Vec<Kind> {
    let kind = |(name, exchange): (&str, Exchange)| {
        Kind::measured(format!("threads, {name}"), move |plan| {
            over_loopback(plan, exchange)
        })
    };
    Exchange::of(bench).map(kind).collect()
}

fn over_loopback(plan: &Plan, exchange: Exchange) -> io::Result<Sample> {
    let bodies = Loopback::all::<2>()
        .map(|link| -> super::observed::Body<'_> { Box::new(move || exchange.over(link, plan)) });
    threads(plan, bodies.into())
}

impl Exchange {
    /// Returns the nanoseconds of a turn by the two ranks that `link` connects, which both call it.
    /// Not a number if the measurement was stopped, or the other rank is lost.
    pub fn over(self, mut link: impl Link + Send + 'static, plan: &Plan) -> f64 {
        match self {
            Self::Message(bytes) => round_trip(&mut link, bytes, plan),
            _ => ranks::turn(
                self,
                &World::builder().link(link).expect("a thread for the link"),
                plan,
            )
            .unwrap_or(f64::NAN),
        }
    }
}

fn round_trip(link: &mut dyn Link, bytes: usize, plan: &Plan) -> f64 {
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
