//! Models of `tautline_core::service`: inputs of several threads, and effects outside of the
//! machine's lock.
#![cfg(tautline_loom)]

use loom::cell::UnsafeCell;
use loom::thread;
use std::sync::{Arc, Mutex};
use tautline_core::PlaceId;
use tautline_core::machine::{Machine, Step, Tolerance};
use tautline_core::service::{Carrier, Handler, Service};
use tautline_verify::model::Model;

/// Adds numbers, and reports each sum with the number that was added; holds what must be dropped.
struct Sum(u32, Arc<()>);

impl Machine for Sum {
    type Peer = PlaceId;
    type Message = u32;
    type Event = (u32, Arc<()>);
    type Effect = (u32, u32, Arc<()>);
    type Calls = ();
    type Refusal = u32;

    fn event(&mut self, (number, held): (u32, Arc<()>), step: &mut Step<'_, Self>) {
        self.0 += number;
        step.send(PlaceId(0), self.0);
        step.effect((number, self.0, held));
    }

    fn receive(
        &mut self,
        _: PlaceId,
        number: u32,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Self::Refusal> {
        let held = Arc::clone(&self.1);
        match number {
            0 => Err(self.0),
            _ => {
                self.event((number, held), step);
                Ok(())
            }
        }
    }

    fn lost(&mut self, place: PlaceId, step: &mut Step<'_, Self>) -> Tolerance {
        let held = Arc::clone(&self.1);
        self.event((place.0, held), step);
        Tolerance::Tolerated
    }
}

/// Keeps numbers and sums; adds `again` once after `first`. Loom reports two calls at once, and
/// calls that are not ordered.
struct Log {
    kept: UnsafeCell<Vec<(u32, u32)>>,
    again: Option<(u32, u32)>,
}

// SAFETY: loom checks all accesses.
unsafe impl Send for Log {}
// SAFETY: as above.
unsafe impl Sync for Log {}

type Sums<C> = Service<Sum, C, Log>;

impl<C: Carrier<Sum>> Handler<Sum, C> for Log {
    fn effect(&self, (number, sum, held): (u32, u32, Arc<()>), service: &Sums<C>) {
        // SAFETY: loom checks the access.
        self.kept
            .with_mut(|kept| unsafe { (*kept).push((number, sum)) });
        if let Some((_, again)) = self.again.filter(|(first, _)| *first == number) {
            service.event((again, held));
        }
    }

    fn refused(&self, _: PlaceId, sum: u32, _: &Sums<C>) {
        // SAFETY: loom checks the access.
        self.kept.with_mut(|kept| unsafe { (*kept).push((0, sum)) });
    }
}

fn kept(log: &Log) -> Vec<(u32, u32)> {
    // SAFETY: loom checks the access.
    log.kept.with(|kept| unsafe { (*kept).clone() })
}

/// Whether each sum is the one before with the number added, from 0 on.
fn adds_up(kept: &[(u32, u32)]) -> bool {
    let mut sum = 0;
    kept.iter().all(|&(number, after)| {
        sum += number;
        sum == after
    })
}

/// The sums that the machine has sent: each step sends within the lock, so loom orders them.
struct Sent(Vec<u32>);

impl Carrier<Sum> for Sent {
    fn send(&mut self, _: PlaceId, sum: u32) {
        self.0.push(sum);
    }
}

fn service(again: Option<(u32, u32)>, held: &Arc<()>) -> Arc<Sums<Sent>> {
    let log = Log {
        kept: UnsafeCell::new(Vec::new()),
        again,
    };
    let machine = Sum(0, Arc::clone(held));
    Arc::new(Service::new(machine, Box::new(()), log))
}

/// Lets `other` run in a second thread, and `own` in this one; then checks that each of `numbers`
/// was added once, in the order in which effects were carried out and messages sent.
fn added(
    again: Option<(u32, u32)>,
    numbers: &[u32],
    own: impl FnOnce(&Sums<Sent>, &Arc<()>) + Send + 'static,
    other: impl FnOnce(&Sums<Sent>, &Arc<()>) + Send + 'static,
) -> Vec<(u32, u32)> {
    let held = Arc::new(());
    let service = service(again, &held);
    service.connect(Sent(Vec::new()));
    let both = (Arc::clone(&service), Arc::clone(&held));
    let thread = thread::spawn(move || other(&both.0, &both.1));
    own(&service, &held);
    thread.join().unwrap();
    let kept = kept(service.handler());
    assert!(adds_up(&kept), "{kept:?}");
    let mut found: Vec<u32> = kept.iter().map(|(number, _)| *number).collect();
    found.sort_unstable();
    assert_eq!(found, numbers, "each input is processed once");
    let (machine, carrier) = service.stop();
    let sums: Vec<u32> = kept.iter().filter(|k| k.0 > 0).map(|k| k.1).collect();
    assert_eq!(
        carrier.unwrap().0,
        sums,
        "messages leave in the order of the steps"
    );
    drop((machine, service));
    assert_eq!(Arc::strong_count(&held), 1, "nothing is left");
    kept
}

/// Two threads give inputs: an event, and two messages of which one is refused.
#[test]
fn service_inputs() {
    Model::new("service_inputs")
        .bound(3)
        .floor(37_000)
        .check(|| {
            added(
                None,
                &[0, 1, 10],
                |service, held| service.event((1, Arc::clone(held))),
                |service, _| {
                    service.receive(PlaceId(0), 0);
                    service.receive(PlaceId(0), 10);
                },
            );
        });
}

/// The inputs of one thread are processed in its order, also those that another thread processes.
#[test]
fn service_order() {
    Model::new("service_order")
        .bound(3)
        .floor(37_000)
        .check(|| {
            let kept = added(
                None,
                &[1, 10, 100],
                |service, held| service.event((100, Arc::clone(held))),
                |service, held| {
                    service.event((1, Arc::clone(held)));
                    service.event((10, Arc::clone(held)));
                },
            );
            let at = |number| kept.iter().position(|kept| kept.0 == number);
            assert!(at(1) < at(10), "an input overtakes another one: {kept:?}");
        });
}

/// An effect submits an event, while another thread submits one.
#[test]
fn service_effects() {
    Model::new("service_effects")
        .bound(3)
        .floor(46_000)
        .check(|| {
            added(
                Some((1, 100)),
                &[1, 10, 100],
                |service, held| service.event((1, Arc::clone(held))),
                |service, held| service.event((10, Arc::clone(held))),
            );
        });
}

/// A peer is lost after its message, while another thread steps the machine.
#[test]
fn service_loss() {
    Model::new("service_loss").bound(3).floor(37_000).check(|| {
        let kept = added(
            None,
            &[1, 10, 100],
            |service, _| {
                service.receive(PlaceId(0), 1);
                assert_eq!(service.lost(PlaceId(10)), Tolerance::Tolerated);
            },
            |service, held| service.event((100, Arc::clone(held))),
        );
        let at = |number| kept.iter().position(|kept| kept.0 == number);
        assert!(at(1) < at(10), "the loss overtakes a message: {kept:?}");
    });
}

/// Messages wait for their carrier, and leave in the order of the steps.
#[test]
fn service_connect() {
    Model::new("service_connect")
        .bound(3)
        .floor(12_000)
        .check(|| {
            let held = Arc::new(());
            let connected = service(None, &held);
            let both = (Arc::clone(&connected), Arc::clone(&held));
            let thread = thread::spawn(move || {
                both.0.event((1, Arc::clone(&both.1)));
                both.0.event((10, both.1));
            });
            connected.connect(Sent(Vec::new()));
            thread.join().unwrap();
            assert_eq!(kept(connected.handler()), [(1, 1), (10, 11)]);
            assert_eq!(connected.stop().1.unwrap().0, [1, 11]);
        });
}

/// After the end nothing is kept, whether an input came before or after.
#[test]
fn service_stop() {
    Model::new("service_stop").bound(3).floor(700).check(|| {
        let held = Arc::new(());
        let stopped = service(None, &held);
        stopped.connect(Sent(Vec::new()));
        let both = (Arc::clone(&stopped), Arc::clone(&held));
        let thread = thread::spawn(move || both.0.event((1, both.1)));
        let (machine, carrier) = stopped.stop();
        thread.join().unwrap();
        let kept = kept(stopped.handler()).len();
        assert_eq!(carrier.unwrap().0.len(), kept, "a step has all its effects");
        assert_eq!(machine.unwrap().0, kept as u32);
        assert_eq!(Arc::strong_count(&held), 1, "nothing is left");
    });
}

/// Stops the service with the first effect.
struct Once;

impl<C: Carrier<Sum>> Handler<Sum, C> for Once {
    fn effect(&self, _: (u32, u32, Arc<()>), service: &Service<Sum, C, Self>) {
        drop(service.stop());
    }

    fn refused(&self, _: PlaceId, _: u32, _: &Service<Sum, C, Self>) {
        unreachable!("all messages are expected");
    }
}

/// A service that ends before it is connected sends what its last step has sent.
#[test]
fn service_end() {
    Model::new("service_end").bound(3).floor(4_000).check(|| {
        let sum = Sum(0, Arc::new(()));
        let ended = Arc::new(Service::new(sum, Box::new(()), Once));
        let other = Arc::clone(&ended);
        let thread = thread::spawn(move || other.receive(PlaceId(0), 7));
        let sent = Arc::new(Mutex::new(Vec::new()));
        let send = Arc::clone(&sent);
        ended.connect(move |_, sum| send.lock().unwrap().push(sum));
        thread.join().unwrap();
        assert_eq!(*sent.lock().unwrap(), [7]);
    });
}
