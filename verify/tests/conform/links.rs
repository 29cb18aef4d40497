//! Links.

use super::catches;
use tautline_core::port::Link;
use tautline_sim::Cluster;
use tautline_sim::engine::{Faults, Loss, Spike};
use tautline_verify::conform::{carries, loses, waits};
use tautline_verify::link::{Delayed, Fault, Faulty, Plain, Simulated};

#[test]
fn plain_links_conform() {
    carries(Plain::new);
    loses(Plain::new);
    waits(Plain::new);
}

#[test]
fn delayed_links_conform() {
    let delayed = |ranks| {
        let links = Plain::new(ranks).into_iter();
        links
            .map(|link| Delayed::new(link, 5, u64::from(ranks)))
            .collect()
    };
    carries(delayed);
    loses(delayed);
    waits(delayed);
}

/// Links over the simulator's network, of which a tenth of the transmissions are lost and some are late.
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

/// Links with a fault at the parcel after this number of others.
fn faulty<L: Link>(
    connect: impl Fn(u32) -> Vec<L> + Copy,
    fault: Fault,
    before: usize,
) -> impl Fn(u32) -> Vec<Faulty<L>> + Copy {
    move |ranks| {
        let links = connect(ranks).into_iter();
        links.map(|link| Faulty::new(link, fault, before)).collect()
    }
}

#[test]
fn spoilt_parcels_are_seen() {
    let faults = [
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
    ];
    for fault in faults {
        catches(&format!("{fault:?}"), || {
            carries(faulty(Plain::new, fault, 3))
        });
        let over = || carries(faulty(simulated, fault, 3));
        catches(&format!("{fault:?} over the simulator"), over);
    }
}

#[test]
fn losses_that_are_not_reported_once_are_seen() {
    for fault in [Fault::HideLoss, Fault::RepeatLoss, Fault::LoseLast] {
        catches(&format!("{fault:?}"), || {
            loses(faulty(Plain::new, fault, 0))
        });
        let over = || loses(faulty(simulated, fault, 0));
        catches(&format!("{fault:?} over the simulator"), over);
    }
}

#[test]
fn a_bell_that_is_not_heard_is_seen() {
    catches("deaf", || waits(faulty(Plain::new, Fault::Deaf, 0)));
}

#[test]
fn a_bell_that_is_not_heard_over_the_simulator_is_seen() {
    catches("deaf over the simulator", || {
        waits(faulty(simulated, Fault::Deaf, 0))
    });
}
