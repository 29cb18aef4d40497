//! Loops over ranks in every order of messages, chunks and beginnings.
//!
//! | fact | where |
//! |---|---|
//! | Lucco, acceptance fact 16: every iteration once, and an end | `epochs_begin_each_iteration_once` |
//! | Lucco, acceptance fact 18: the epoch of a rank never decreases | every state of every configuration |

use super::{LIMIT, flawless, report};
use std::time::Instant;
use tautline_core::taper::{Policy, Taper};
use tautline_verify::explore::{
    Delivery::Multiset, EpochSlip, Flaw, Network, SelfScheduled, explore,
};

/// The policies whose chunks differ for a few iterations.
fn policies() -> [Policy; 4] {
    [
        Policy::SelfScheduling,
        Policy::Factoring,
        Policy::Guided,
        Policy::Taper(Taper::default()),
    ]
}

#[test]
fn epochs_begin_each_iteration_once() {
    for (ranks, iterations, floor) in [
        (1, 4, 18),
        (2, 0, 52),
        (2, 5, 168_000),
        (3, 2, 6_860),
        (3, 3, 71_000),
        (4, 3, 393_000),
    ] {
        let began = Instant::now();
        let name = format!("epochs-p{ranks}-n{iterations}");
        let mut states = 0;
        for policy in policies() {
            let system = SelfScheduled {
                ranks,
                iterations,
                policy,
                slip: None,
            };
            states += flawless(
                &format!("{name} {policy:?}"),
                &mut Network::new(system, Multiset),
            );
        }
        report(&name, states, floor, began);
    }
}

#[test]
fn slips_in_epochs_are_found() {
    for (slip, flaw) in [
        (EpochSlip::KeepWhatIsSent, Flaw::Count),
        (EpochSlip::DropWhatArrives, Flaw::Stuck),
        (EpochSlip::StarveInSilence, Flaw::Stuck),
        (EpochSlip::EndWithFirst, Flaw::Refused),
    ] {
        let system = SelfScheduled {
            ranks: 2,
            iterations: 5,
            policy: Policy::SelfScheduling,
            slip: Some(slip),
        };
        let explored = explore(&mut Network::new(system, Multiset), LIMIT);
        let (found, story) = explored.found.expect("the slip must show");
        println!("{slip:?}: {found:?}\n{story}");
        assert_eq!(found, flaw, "{slip:?}");
    }
}
