//! An idle pool costs nothing. Alone in its file: it measures the whole process.
#![cfg(target_os = "linux")]

use std::mem::MaybeUninit;
use std::thread;
use std::time::{Duration, Instant};
use tautline_node::pool::{Plan, Threads};

/// The time for which the idle pool is observed.
const LOOK: Duration = Duration::from_millis(1500);
/// The time to wait for an event. Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Processor time of this process so far.
fn processor_time() -> Duration {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: writes a usage where there is room for one.
    let got = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    assert_eq!(got, 0);
    // SAFETY: written, as it did not fail.
    let usage = unsafe { usage.assume_init() };
    let of = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    of(usage.ru_utime) + of(usage.ru_stime)
}

/// Workers with nothing to do, before the first run and after one, use less than a thousandth of
/// one processor.
#[test]
fn an_idle_pool_sleeps() {
    let threads = Threads::start(&Plan::flat(4));
    for _ in 0..2 {
        // After a run, workers search for a while before they park.
        let deadline = Instant::now() + PATIENCE;
        let mut used = Duration::MAX;
        while used > LOOK / 1000 {
            assert!(Instant::now() < deadline, "used {used:?} in {LOOK:?}");
            let before = processor_time();
            // A sleep, since the processor time of a span in which nothing happens is measured.
            thread::sleep(LOOK);
            used = processor_time() - before;
        }
        let sum = threads.run(|cx| {
            let (a, b) = cx.join(|_| 1, |_| 2);
            a + b
        });
        assert_eq!(sum, 3);
    }
}
