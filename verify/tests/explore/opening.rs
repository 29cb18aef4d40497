//! Ranks that open channels: the same ones in the same order, or not, and a rank that is lost meanwhile.

use super::{LIMIT, flawless, report};
use std::time::Instant;
use tautline_verify::explore::{
    Delivery::Channels, Faults, Flaw, Network, Opening, OpeningSlip, explore,
};

type Programs = &'static [&'static [&'static str]];

const LOSS: Faults = Faults {
    lose: 0,
    double: 0,
    overtake: 0,
    crash: 1,
    spared: 0,
};

fn network(programs: Programs, faults: Faults, slip: Option<OpeningSlip>) -> Network<Opening> {
    Network::new(Opening { programs, slip }, Channels).with_faults(faults)
}

fn check(name: &str, programs: Programs, faults: Faults, floor: usize) {
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
    let loss = Faults {
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
fn a_slip_in_opening_is_detected() {
    const SWAPPED: Programs = &[&["a", "b"], &["b", "a"]];
    const SAME: Programs = &[&["a"], &["a"]];
    const ODD: Programs = &[&["a"], &["b"], &["a"]];
    for (slip, programs, faults, flaw) in [
        (OpeningSlip::Alike, SWAPPED, Faults::default(), Flaw::Count),
        (
            OpeningSlip::Silent,
            SWAPPED,
            Faults::default(),
            Flaw::Refused,
        ),
        (OpeningSlip::Aside, ODD, Faults::default(), Flaw::Refused),
        (OpeningSlip::HideLoss, SAME, LOSS, Flaw::Stuck),
    ] {
        let explored = explore(&mut network(programs, faults, Some(slip)), LIMIT);
        let (found, story) = explored.found.expect("the slip must show");
        println!("{slip:?}: {found:?}\n{story}");
        assert_eq!(found, flaw, "{slip:?}");
    }
}
