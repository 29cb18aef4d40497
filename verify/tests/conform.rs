//! The conformance suites over the simulator's network: it passes, and each fault on top of it is
//! found.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tautline_conform::faults::link::{Fault, Faulty};
use tautline_conform::{carries, loses, waits};
use tautline_sim::Cluster;
use tautline_sim::engine::{Faults, Loss, Spike};
use tautline_verify::simulated::Simulated;

/// Links over the simulator's network, of which a tenth of the transmissions are lost and some are
/// late.
fn simulated(ranks: u32) -> Vec<Simulated> {
    let cluster = Cluster {
        ordered: true,
        mb_per_s: 5_000,
        ..Cluster::default()
    };
    let faults = Faults {
        loss: Some(Loss {
            per_million: 100_000,
        }),
        spike: Some(Spike {
            per_million: 50_000,
            ns: 100_000,
        }),
        timeout_ns: 20_000,
        ..Faults::default()
    };
    Simulated::new(cluster, faults, ranks, u64::from(ranks))
}

#[test]
fn simulated_links_conform() {
    carries(simulated);
    loses(simulated);
    waits(simulated);
}

/// Runs a suite, which must panic, over links with a fault at the parcel after `before` others.
fn catches(fault: Fault, before: usize, suite: fn(&dyn Fn(u32) -> Vec<Faulty<Simulated>>)) {
    let connect = |ranks| {
        let links = simulated(ranks).into_iter();
        links.map(|link| Faulty::new(link, fault, before)).collect()
    };
    let caught = catch_unwind(AssertUnwindSafe(|| suite(&connect)));
    assert!(caught.is_err(), "{fault:?} passes");
}

#[test]
fn spoilt_parcels_are_seen() {
    for fault in [
        Fault::Lose,
        Fault::Double,
        Fault::Swap,
        Fault::Flip(12),
        Fault::Cut,
        Fault::Extend,
        Fault::DropEmpty,
        Fault::Renamed,
        Fault::Stuck,
        Fault::Overflow,
    ] {
        catches(fault, 3, |connect| carries(connect));
    }
}

#[test]
fn losses_that_are_not_reported_once_are_seen() {
    for fault in [Fault::HideLoss, Fault::RepeatLoss, Fault::LoseLast] {
        catches(fault, 0, |connect| loses(connect));
    }
}

#[test]
fn a_bell_that_is_not_heard_is_seen() {
    catches(Fault::Deaf, 0, |connect| waits(connect));
}
