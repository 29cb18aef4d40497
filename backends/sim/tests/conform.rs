//! The conformance suite in virtual time.

use tautline_conform::{Done, Offer, balances};
use tautline_core::glb::Fairness;
use tautline_sim::{Machine, Simulation};

/// Saraswat, acceptance facts 1 and 4, in virtual time.
#[test]
fn virtual_time_balances() {
    let offer = Offer {
        places: &[1, 2, 3, 5, 8],
        workers: &[1, 2, 5],
        fairness: &[
            Fairness::Inline,
            Fairness::Yield,
            Fairness::OneCoreFree,
            Fairness::Never,
        ],
    };
    balances(offer, |config, tree| {
        let simulation = Simulation::new(*config, Machine::default());
        simulation
            .run(tree, |_| (), Done::default(), |_, _| ())
            .output
    });
}
