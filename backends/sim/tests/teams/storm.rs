//! Finishes over ranks, with activities at random.

use tautline_sim::teams::{Storm, StormCost, TeamCosts};

const LATENCY_NS: u64 = 2_500;

fn run(costs: TeamCosts) -> StormCost {
    let cost = Storm::of(costs).run();
    assert!(cost.reports <= cost.quiet, "{cost:?}");
    // A report goes up four levels at most.
    assert!(cost.report_messages <= cost.reports * 4, "{cost:?}");
    // The body at each rank, and more than one generation after it.
    assert!(cost.activities > 10 * u64::from(costs.ranks), "{cost:?}");
    assert!(cost.finishes > u64::from(costs.ranks), "{cost:?}");
    cost
}

/// Ends once, not early, with all activities: `Storm::run` judges that.
#[test]
fn finishes_end_once_within_the_bound_after_the_last_activity() {
    for ranks in [4, 64, 1024] {
        for seed in 1..=3 {
            let costs = TeamCosts {
                seed,
                ..TeamCosts::latency_alone(ranks, LATENCY_NS)
            };
            let cost = run(costs);
            assert!(cost.ns <= cost.bound_ns, "{ranks} ranks: {cost:?}");
            assert!(
                cost.known_ns <= cost.bound_ns / 2,
                "{ranks} ranks: {cost:?}"
            );
        }
    }
}

/// The same in the default cluster, where messages take turns, are served, and wake threads.
#[test]
fn finishes_end_within_five_times_the_bound() {
    for ranks in [4, 64, 1024] {
        for seed in 1..=3 {
            let costs = TeamCosts {
                seed,
                ..TeamCosts::of(ranks)
            };
            let cost = run(costs);
            assert!(cost.ns < 5 * cost.bound_ns, "{ranks} ranks: {cost:?}");
        }
    }
}

#[test]
fn a_storm_depends_on_its_seed_alone() {
    let storm = |seed| {
        Storm::of(TeamCosts {
            seed,
            ..TeamCosts::of(64)
        })
        .run()
    };
    assert_eq!(storm(7), storm(7));
    assert_ne!(storm(7), storm(8));
}

#[test]
fn bodies_alone_are_one_finish() {
    let storm = Storm {
        generations: 0,
        ..Storm::of(TeamCosts::latency_alone(1_000, LATENCY_NS))
    };
    let cost = storm.run();
    assert_eq!(
        (cost.activities, cost.finishes, cost.quiet),
        (1_000, 1, 1_000)
    );
    // Rank 0 reports to itself; the end takes a message to each other rank.
    assert_eq!(
        (cost.reports, cost.messages),
        (999, cost.report_messages + 999)
    );
    assert!(cost.ns <= cost.bound_ns, "{cost:?}");
}

#[test]
fn one_rank_needs_no_message() {
    let cost = Storm::of(TeamCosts::of(1)).run();
    assert_eq!((cost.messages, cost.ns, cost.bound_ns), (0, 0, 0));
}
