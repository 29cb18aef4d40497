//! Ranks that end a computation together, and a rank that is lost in the meantime.

use super::{LIMIT, flawless, report};
use std::time::Instant;
use tautline_verify::explore::{
    ClosingFault, Closings, Delivery::Channels, Flaw, Network, NetworkFaults, Parts, explore,
};

const LOSS: NetworkFaults = NetworkFaults {
    lose: 0,
    double: 0,
    overtake: 0,
    crash: 1,
    spared: 0,
};

/// Rank 0 is not lost: without it there is no result.
const OTHER_LOSS: NetworkFaults = NetworkFaults { spared: 1, ..LOSS };

fn network(
    (ranks, radix, passes, rounds): (u32, u32, u32, u32),
    faults: NetworkFaults,
    fault: Option<ClosingFault>,
) -> Network<Parts<Closings>> {
    let closings = Closings {
        ranks,
        radix,
        passes,
        rounds,
        salvages: faults.spared > 0,
        fault,
    };
    Network::of(closings, Channels).with_faults(faults)
}

/// Every rank ends with all items, or with an error if a rank is lost, wherever the workers end
/// while loot is in flight. Ranks that tolerate the loss end with what is left, or with an error,
/// all that have a result with the same.
#[test]
fn ranks_end_together() {
    for (shape, faults, floor) in [
        ((1, 1, 0, 3), NetworkFaults::default(), 4),
        ((2, 1, 4, 6), NetworkFaults::default(), 662),
        ((2, 1, 3, 5), LOSS, 2_333),
        ((3, 1, 2, 4), NetworkFaults::default(), 7_891),
        ((3, 2, 2, 4), NetworkFaults::default(), 11_600),
        ((3, 2, 2, 3), LOSS, 118_666),
        ((4, 2, 1, 3), NetworkFaults::default(), 9_790),
        ((2, 1, 3, 5), OTHER_LOSS, 1_386),
        ((3, 1, 2, 3), OTHER_LOSS, 94_214),
        ((3, 2, 2, 3), OTHER_LOSS, 151_703),
        ((4, 1, 0, 2), OTHER_LOSS, 9_961),
        ((4, 2, 0, 2), OTHER_LOSS, 16_925),
    ] {
        let (ranks, radix, passes, rounds) = shape;
        let lost = match (faults.crash, faults.spared) {
            (0, _) => "",
            (_, 0) => "-lost",
            _ => "-salvaged",
        };
        let name = format!("closing-p{ranks}-r{radix}-t{passes}-n{rounds}{lost}");
        let began = Instant::now();
        let states = flawless(&name, &mut network(shape, faults, None));
        report(&name, states, floor, began);
    }
}

#[test]
fn a_fault_in_closing_is_detected() {
    for (fault, faults, flaw) in [
        (
            ClosingFault::DropLoot,
            NetworkFaults::default(),
            Flaw::Count,
        ),
        (
            ClosingFault::CountNothing,
            NetworkFaults::default(),
            Flaw::Count,
        ),
        (ClosingFault::HideLoss, LOSS, Flaw::Stuck),
        (ClosingFault::HideLoss, OTHER_LOSS, Flaw::Stuck),
        (ClosingFault::LeaveSilently, OTHER_LOSS, Flaw::Stuck),
    ] {
        let explored = explore(&mut network((3, 2, 1, 4), faults, Some(fault)), LIMIT);
        let (found, story) = explored.found.expect("the fault must show");
        println!("{fault:?}: {found:?}\n{story}");
        assert_eq!(found, flaw, "{fault:?}");
    }
}
