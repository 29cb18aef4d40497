//! Right implementations pass each suite: what the faults are variations of.

use tautline_conform::faults::host::{Host, message};
use tautline_conform::faults::lines::Lines;
use tautline_conform::faults::places;
use tautline_conform::faults::ring::View;
use tautline_conform::faults::roster::{FullFences, Register};
use tautline_conform::faults::transport::Place;
use tautline_conform::links::{Delayed, Plain};
use tautline_conform::{
    Offer, Threads, attends, balances, blocks, carries, combines, conveys, delivers, exchanges,
    fences, grows, keeps_time, loses, meets, parks, seats, ticks, unwinds, waits,
};
use tautline_core::comm::Matched;
use tautline_core::glb::Fairness;

fn host() -> Host {
    Host::new(None)
}

#[test]
fn threads_of_std_conform() {
    parks(&Threads, host, Host::seat);
    seats(&Threads, host, Host::seat);
    grows(&host(), Host::seat, 1 << 20);
    ticks(&host(), std::hint::spin_loop);
    keeps_time(&Threads, &host());
    unwinds(&host(), message);
}

#[test]
fn lines_in_memory_conform() {
    meets(&Threads, Lines::new(None), 4, |_, body| body());
    blocks(&Threads, Lines::new(None), 4, |_, body| body());
}

#[test]
fn full_fences_conform() {
    assert!(fences(&Threads, FullFences, |_| ()) > 100);
}

#[test]
fn what_ranks_share_conforms() {
    exchanges(&Threads, View::rings(None), FullFences);
    attends(|ranks| Register::views(None, ranks));
}

#[test]
fn transports_conform() {
    delivers(
        |places| Place::connect(None, places),
        Place::receive,
        |_, _| (),
    );
}

#[test]
fn plain_links_conform() {
    carries(Plain::new);
    loses(Plain::new);
    waits(Plain::new);
}

#[test]
fn packets_of_plain_links_conform() {
    let connect = |ranks| -> Vec<_> {
        let with_packets = |link: Plain| {
            let packets = link.packets();
            (link, packets)
        };
        Plain::new(ranks).into_iter().map(with_packets).collect()
    };
    conveys(connect);
    // SAFETY: the suite starts the same operations at all ranks.
    combines(connect, unsafe { Matched::promise() });
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

#[test]
fn places_of_one_thread_conform() {
    let offer = Offer {
        places: &[1, 2, 3, 5],
        workers: &[1, 2],
        fairness: &[Fairness::Inline, Fairness::OneCoreFree],
    };
    balances(offer, |config, tree| places::run(None, config, tree));
}
