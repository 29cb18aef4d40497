//! Phases of the tasks of all ranks on the described machines.

use tautline_sim::memory::{CYCLOPS64, NIAGARA2, POWER7, XEON};
use tautline_sim::teams::{Hybrid, PhaseCost, TeamCosts};

const LATENCY_NS: u64 = 2_500;

fn phase(costs: TeamCosts, tasks: usize) -> [PhaseCost; 4] {
    [CYCLOPS64, NIAGARA2, POWER7, XEON].map(|machine| {
        let hybrid = Hybrid {
            costs,
            tasks,
            machine,
            radix: None,
            skew_ns: 0,
        };
        hybrid.run()
    })
}

#[test]
fn a_phase_of_1024_by_64_tasks_is_an_exchange_and_what_a_machine_takes() {
    let free = phase(TeamCosts::latency_alone(1024, LATENCY_NS), 64);
    for cost in free {
        assert!(cost.exchange.ns <= cost.exchange.bound_ns, "{cost:?}");
        assert!(cost.ns() < 2 * cost.bound_ns(), "{cost:?}");
    }
    let lines = free[0];
    // A barrier line takes less than a hundredth of the exchange; its bound is the bus alone.
    assert!(lines.local_ns * 100 < lines.exchange.ns, "{lines:?}");
    assert!(
        free[1..]
            .iter()
            .all(|cost| cost.local_ns > 10 * lines.local_ns)
    );
    for cost in phase(TeamCosts::of(1024), 64) {
        assert!(cost.ns() < 5 * cost.bound_ns(), "{cost:?}");
    }
}

#[test]
fn few_ranks_exchange_in_pairs() {
    let of = |ranks| phase(TeamCosts::latency_alone(ranks, LATENCY_NS), 4)[0].exchange;
    assert_eq!((of(16).messages, of(16).ns), (16 * 4, 4 * LATENCY_NS));
    assert_eq!(of(17).messages, 2 * 16);
}

#[test]
fn tasks_that_signal_late_lengthen_no_phase() {
    let hybrid = |skew_ns| {
        Hybrid {
            costs: TeamCosts::latency_alone(1024, LATENCY_NS),
            tasks: 64,
            machine: CYCLOPS64,
            radix: None,
            skew_ns,
        }
        .run()
    };
    let (together, skewed) = (hybrid(0), hybrid(1_000_000));
    assert!(skewed.ns() <= together.ns());
    assert_eq!(skewed.bound_ns(), together.bound_ns());
}
