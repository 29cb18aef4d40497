//! Ranks that open channels: the same ones in the same order, or not, and a rank that is lost in
//! the meantime.

use super::{LIMIT, flawless, report};
use std::time::Instant;
use tautline_verify::explore::{
    Delivery::Channels, Flaw, Network, NetworkFaults, Opening, OpeningFault, explore,
};

type Programs = &'static [&'static [&'static str]];

const LOSS: NetworkFaults = NetworkFaults {
    lose: 0,
    double: 0,
    overtake: 0,
    crash: 1,
    spared: 0,
};

fn network(
    programs: Programs,
    faults: NetworkFaults,
    fault: Option<OpeningFault>,
) -> Network<Opening> {
    Network::new(Opening { programs, fault }, Channels).with_faults(faults)
}

fn check(name: &str, programs: Programs, faults: NetworkFaults, floor: usize) {
    let began = Instant::now();
    let states = flawless(name, &mut network(programs, faults, None));
    report(name, states, floor, began);
}

/// Ranks that agree get every message, whichever of them is first; if one is lost, the others have
/// an error that names it, or have ended before.
#[test]
fn ranks_that_open_the_same_channels() {
    check("open-p2-c2", &[&["a", "b"], &["a", "b"]], LOSS, 22_000);
    // The ranks are alike.
    let loss = NetworkFaults {
        spared: 0b101,
        ..LOSS
    };
    check("open-p3-c1-lost", &[&["a"], &["a"], &["a"]], loss, 270_000);
}

/// Ranks that differ all end with an error that names a rank and a channel; no message reaches
/// another channel.
#[test]
fn ranks_that_open_others() {
    check("open-swapped", &[&["a", "b"], &["b", "a"]], LOSS, 1_200);
    check("open-fewer", &[&["a", "b"], &["a"]], LOSS, 2_000);
    check("open-none", &[&["a"], &["a"], &[]], LOSS, 29_000);
    check("open-odd", &[&["a"], &["b"], &["a"]], LOSS, 410_000);
    check("open-late", &[&["a", "b"], &["a", "c"]], LOSS, 9_400);
}

#[test]
fn a_fault_in_opening_is_detected() {
    const SWAPPED: Programs = &[&["a", "b"], &["b", "a"]];
    const SAME: Programs = &[&["a"], &["a"]];
    const ODD: Programs = &[&["a"], &["b"], &["a"]];
    for (fault, programs, faults, flaw) in [
        (
            OpeningFault::Alike,
            SWAPPED,
            NetworkFaults::default(),
            Flaw::Count,
        ),
        (
            OpeningFault::Silent,
            SWAPPED,
            NetworkFaults::default(),
            Flaw::Refused,
        ),
        (
            OpeningFault::Aside,
            ODD,
            NetworkFaults::default(),
            Flaw::Refused,
        ),
        (OpeningFault::HideLoss, SAME, LOSS, Flaw::Stuck),
    ] {
        let explored = explore(&mut network(programs, faults, Some(fault)), LIMIT);
        let (found, story) = explored.found.expect("the fault must show");
        println!("{fault:?}: {found:?}\n{story}");
        assert_eq!(found, flaw, "{fault:?}");
    }
}
