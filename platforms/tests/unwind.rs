//! Handles around a panic: which of them a program may use in `catch_unwind` and after it, and that
//! they work then.

use std::panic::{RefUnwindSafe, UnwindSafe, catch_unwind};
use tautline::balance::{Balancer, Best, Bound, Control};
use tautline::comm::{Comm, Request};
use tautline::phaser::{Accumulator, Bands, Phaser, TaskAccumulator, TaskPhaser, rule};
use tautline::runtime::{
    Builder, CancelToken, Ddf, DdfList, Deadline, Detached, Handle, Hold, Plan, Running, Runtime,
    TaskCx,
};
use tautline::story::{Clock, Recorder};
use tautline::watch::Observe;
use tautline::world::World;
use tautline::{Machine, Platform};

/// A result that is not unwind safe, for handles that only move it.
type Any = &'static mut std::cell::Cell<u32>;

const fn is_safe<T: UnwindSafe + RefUnwindSafe>() {}

/// Checked by the compiler.
const _: () = {
    is_safe::<Accumulator<u64>>();
    is_safe::<Bands<u64>>();
    is_safe::<Best<u64, Vec<u32>>>();
    is_safe::<Bound<u64>>();
    is_safe::<Builder>();
    is_safe::<CancelToken>();
    is_safe::<Clock>();
    is_safe::<Comm>();
    is_safe::<Control>();
    is_safe::<Ddf<u64>>();
    is_safe::<DdfList<u64>>();
    is_safe::<Deadline>();
    is_safe::<Detached<Any>>();
    is_safe::<Balancer<'_>>();
    is_safe::<Handle<Any>>();
    is_safe::<Hold>();
    is_safe::<Machine>();
    is_safe::<Observe>();
    is_safe::<Phaser>();
    is_safe::<Plan>();
    is_safe::<Platform>();
    is_safe::<Recorder>();
    is_safe::<Request<Any>>();
    is_safe::<rule::Rules>();
    is_safe::<Running<Any>>();
    is_safe::<Runtime>();
    is_safe::<TaskAccumulator<'_, u64>>();
    is_safe::<TaskCx<'_, '_>>();
    is_safe::<TaskPhaser<'_>>();
    is_safe::<World>();
};

/// Returns the message of the panic of `body`.
fn panic_of<R>(body: impl FnOnce() -> R + UnwindSafe) -> &'static str {
    let payload = catch_unwind(body).map(drop).expect_err("a panic");
    payload.downcast_ref::<&str>().copied().expect("a literal")
}

/// Each handle is used inside of a `catch_unwind` that ends by a panic, and gives the right values
/// afterwards.
#[test]
fn handles_work_after_a_panic() {
    let rt = Runtime::builder().workers(2).pinned(false).build().unwrap();
    let (token, control, bound, cell) = (
        CancelToken::new(),
        Control::new(),
        Bound::new(100),
        Ddf::new(),
    );
    let message = panic_of(|| {
        rt.run(|cx| {
            _ = cell.put(7);
            bound.improve(30);
            cx.scope(|cx| cx.spawn(|_| panic!("a task")));
        })
    });
    assert_eq!(message, "a task");
    assert_eq!((cell.get().copied(), bound.get()), (Ok(7), 30));
    let message = panic_of(|| {
        let balancer = rt.balancer().control(&control);
        balancer.sum(0..1000u64, |n, _| match n {
            500 => panic!("a bag"),
            _ => n,
        })
    });
    assert_eq!(message, "a bag");
    assert_eq!(
        rt.balancer().sum(0..=100u64, |n, _| n).unwrap().output,
        5050
    );
    let ended = rt.run(|cx| {
        cx.finish_until(&token, |cx| {
            let task = cx.task();
            assert_eq!(
                panic_of(|| assert!(task.cancelled().is_some(), "none")),
                "none"
            );
            token.cancel(tautline::balance::Reason::Found);
        })
    });
    assert!(ended.is_err());
    assert_eq!(rt.run(|cx| cx.par(0..101u64).sum::<u64>()), 5050);
}
