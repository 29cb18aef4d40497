//! Each call of a team.

use tautline_sim::teams::{CallCost, TeamCosts, TeamOp, Teamed};

const LATENCY_NS: u64 = 2_500;

/// Runs a call with the counts that are stated for it.
fn run(team: &Teamed, call: TeamOp) -> CallCost {
    let (ranks, radix) = (team.costs.ranks, team.radix());
    let cost = team.run(call);
    assert_eq!(cost.messages, call.messages(ranks), "{call}, {ranks} ranks");
    let most = call.most_sent(ranks, radix);
    assert!(cost.most_sent <= most, "{call}, {ranks} ranks: {cost:?}");
    cost
}

fn calls_over_trees() -> impl Iterator<Item = TeamOp> {
    let others = [TeamOp::AllReducePairs, TeamOp::AllToAll];
    let all = TeamOp::ALL.into_iter().map(|(_, call)| call);
    all.filter(move |call| !others.contains(call))
}

/// If only the ways of messages take time, a call takes no more than its bound, which is reached
/// within one level of the tree each way.
#[test]
fn calls_over_trees_take_their_bound() {
    for ranks in [1, 2, 3, 1_000, 10_000, 100_000] {
        let team = Teamed::of(TeamCosts::latency_alone(ranks, LATENCY_NS));
        for call in calls_over_trees() {
            let cost = run(&team, call);
            assert!(cost.ns <= cost.bound_ns, "{call}, {ranks} ranks: {cost:?}");
            let below = 2 * LATENCY_NS;
            assert!(
                cost.ns + below >= cost.bound_ns,
                "{call}, {ranks} ranks: {cost:?}"
            );
        }
    }
}

/// With adapters, jitter, wake-ups and a service of each message, in the default cluster.
#[test]
fn calls_over_trees_take_five_times_their_bound_at_most() {
    for ranks in [1_000, 10_000, 100_000] {
        let team = Teamed::of(TeamCosts::of(ranks));
        for call in calls_over_trees() {
            let cost = run(&team, call);
            assert!(cost.ns > cost.bound_ns, "{call}, {ranks} ranks: {cost:?}");
            assert!(
                cost.ns < 5 * cost.bound_ns,
                "{call}, {ranks} ranks: {cost:?}"
            );
        }
    }
}

#[test]
fn values_of_all_ranks_are_sent_once_a_level() {
    for radix in [2, 8, 40] {
        let costs = TeamCosts::latency_alone(10_000, LATENCY_NS);
        let team = Teamed {
            radix: Some(radix),
            ..Teamed::of(costs)
        };
        assert_eq!(run(&team, TeamOp::Reduce).bytes, 9_999 * 8);
        let gathered = run(&team, TeamOp::Gather).bytes;
        assert_eq!(gathered, run(&team, TeamOp::Scatter).bytes);
        // Each value passes each level above its rank.
        let most = u64::from(TeamOp::Gather.latencies(10_000, radix)) * 9_999 * 8;
        assert!(
            gathered > 9_999 * 8 && gathered <= most,
            "{radix}: {gathered}"
        );
        let all = run(&team, TeamOp::AllGather).bytes;
        assert_eq!(all, gathered + 9_999 * 10_000 * 8);
    }
}

#[test]
fn pairs_take_a_latency_a_round() {
    for ranks in 1..=16_u32 {
        let team = Teamed::of(TeamCosts::latency_alone(ranks, LATENCY_NS));
        let cost = run(&team, TeamOp::AllReducePairs);
        let rounds = u64::from(ranks.ilog2());
        if ranks.is_power_of_two() {
            assert_eq!(cost.messages, u64::from(ranks) * rounds);
            assert_eq!((cost.ns, cost.most_sent), (cost.bound_ns, rounds));
        } else {
            // The second ranks of blocks take no part in the rounds.
            let most = cost.bound_ns + LATENCY_NS;
            assert!(
                (cost.bound_ns..=most).contains(&cost.ns),
                "{ranks}: {cost:?}"
            );
        }
    }
}

#[test]
fn all_to_all_takes_a_latency_and_a_message_of_each_to_each() {
    for ranks in [1, 2, 100, 1_000] {
        let free = Teamed::of(TeamCosts::latency_alone(ranks, LATENCY_NS));
        let cost = run(&free, TeamOp::AllToAll);
        assert_eq!(
            (cost.ns, cost.messages),
            (cost.bound_ns, u64::from(ranks * (ranks - 1)))
        );
        assert_eq!(cost.most_received, u64::from(ranks - 1));
        // A rank serves the messages one after the other.
        let costs = TeamCosts {
            serve_ns: 100,
            ..free.costs
        };
        let served = run(&Teamed::of(costs), TeamOp::AllToAll).ns;
        assert_eq!(served, cost.ns + u64::from(ranks - 1) * 100);
    }
}

/// Messages for a rank that has not made the call wait there, and the bound is from the last entry.
#[test]
fn ranks_that_enter_late_delay_a_call_by_their_ways_alone() {
    let costs = TeamCosts::latency_alone(1_000, LATENCY_NS);
    let together = Teamed::of(costs);
    let skewed = Teamed {
        skew_ns: 10_000_000,
        ..together
    };
    for call in calls_over_trees() {
        let (cost, before) = (run(&skewed, call), run(&together, call));
        assert!(cost.ns <= before.ns, "{call}: {cost:?}");
        assert_eq!(cost.bytes, before.bytes);
    }
    assert!(run(&skewed, TeamOp::Barrier).ns > LATENCY_NS);
    assert_eq!(run(&skewed, TeamOp::Barrier), run(&skewed, TeamOp::Barrier));
}

#[test]
fn names_are_read_back_and_others_refused() {
    for (name, call) in TeamOp::ALL {
        assert_eq!(
            (name.parse(), call.to_string()),
            (Ok(call), name.to_owned())
        );
    }
    let refused = "all-scan".parse::<TeamOp>().unwrap_err();
    assert!(
        refused.starts_with("a call of a team: barrier, broadcast, "),
        "{refused}"
    );
}

#[test]
#[should_panic(expected = "17 ranks, all-reduce-pairs has at most 16")]
fn too_many_ranks_are_refused() {
    Teamed::of(TeamCosts::of(17)).run(TeamOp::AllReducePairs);
}
