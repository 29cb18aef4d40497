//! The messages of a place, on one thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::Wake;
use tautline_core::lifeline::Mailbox;
use tautline_core::port::Spin;

/// Counts its wake-ups.
#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn a_message_wakes_the_task_unless_a_worker_attends() {
    let woken = Arc::new(Woken::default());
    let wakeups = || woken.0.swap(0, Relaxed);
    let mailbox = Mailbox::default();
    mailbox.push(1, &Spin);
    mailbox.register(&Arc::clone(&woken).into(), &Spin);
    mailbox.push(2, &Spin);
    assert_eq!(wakeups(), 1);
    mailbox.attend(&Spin);
    mailbox.attend(&Spin);
    mailbox.push(3, &Spin);
    mailbox.retire(&Spin);
    assert_eq!(wakeups(), 0, "another worker attends");
    mailbox.wake(&Spin);
    assert_eq!(wakeups(), 1);
    mailbox.retire(&Spin);
    assert_eq!(wakeups(), 1, "the last worker leaves messages");
    assert_eq!(mailbox.pop_newest(&Spin, |n| n % 2 == 1), Some(3));
    assert_eq!(
        [mailbox.pop(&Spin), mailbox.pop(&Spin), mailbox.pop(&Spin)],
        [Some(1), Some(2), None]
    );
    mailbox.attend(&Spin);
    mailbox.retire(&Spin);
    assert_eq!(wakeups(), 0, "nothing is left");
}
