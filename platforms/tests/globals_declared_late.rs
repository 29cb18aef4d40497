//! An operation that a rank declares after another rank has used it.

mod ranks;

use ranks::runtime;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;
use tautline::globals::Protocol;
use tautline::world::{self, Rank};

#[test]
fn an_operation_may_be_declared_late() {
    let (created, declare) = (Barrier::new(2), Barrier::new(2));
    world::loopback(2, |world| {
        let mut globals = world.globals();
        let count = globals.create_as(Protocol::Home, Rank(0), || 0u64);
        created.wait();
        if world.is_home() {
            declare.wait();
            // A sleep, as the request is to arrive before.
            thread::sleep(Duration::from_millis(200));
        }
        let add = globals.operation(|count: &mut u64, by: u64| *count += by);
        runtime(world, 1).run(|cx| {
            if !world.is_home() {
                let added = count.update_async(&add, 1);
                declare.wait();
                cx.block_on(added).expect("no rank is lost");
            }
            world.team().barrier().wait(cx).expect("no rank is lost");
            assert_eq!(count.get(cx).expect("no rank is lost"), 1);
            world.team().barrier().wait(cx).expect("no rank is lost");
        });
    });
}
