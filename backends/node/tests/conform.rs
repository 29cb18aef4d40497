//! The conformance suite on threads.

use tautline_conform::{Done, Offer, balances};
use tautline_core::glb::{Control, Fairness};

#[path = "balanced/mod.rs"]
mod balanced;

use balanced::run;

/// Saraswat, acceptance facts 1 and 4, and Finnerty, acceptance fact 1, on a tree made for the
/// purpose.
#[test]
fn threads_balance() {
    let offer = Offer {
        places: &[1, 2, 3, 5, 8],
        workers: &[1, 2, 3],
        fairness: &[
            Fairness::Inline,
            Fairness::Yield,
            Fairness::OneCoreFree,
            Fairness::Never,
        ],
    };
    balances(offer, |config, tree| {
        let control = Control::new();
        let run = run(config, tree, |_| (), Done::default(), &control, |_, _| ());
        assert!(run.complete, "{config:?}");
        run.output
    });
}
