//! Balanced computations on dedicated threads, for tests.

use tautline_core::glb::{Bag, Config, Control, Observer, Run};
use tautline_core::{PlaceId, WorkerId};
use tautline_node::pool::{Plan, Threads};

/// Runs `bag` to the end on a pool with a worker for each of the balancer's.
pub(crate) fn run<B: Bag, O: Observer>(
    config: &Config,
    bag: B,
    shared: impl Fn(PlaceId) -> B::Shared,
    output: B::Output,
    control: &Control,
    observe: impl FnMut(PlaceId, WorkerId) -> O,
) -> Run<B::Output, O> {
    let threads = Threads::start(&Plan::flat(config.all_threads()));
    let run = threads.run(|cx| {
        let balancer = cx.balancer().config(*config).control(control);
        balancer.observed(observe).run(bag, shared, output)
    });
    run.expect("no scope around it is cancelled")
}
