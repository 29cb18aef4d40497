//! Transports: each message arrives once, at its place, and wakes a worker there; the end is
//! observed by all.

use crate::threads::ends;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tautline_core::port::{Park, Transport};
use tautline_core::{PlaceId, WorkerId};

const PLACES: u32 = 3;
/// Messages from each place to each other one.
const MESSAGES: u64 = 2000;
/// The only worker of each place.
const WORKER: WorkerId = WorkerId(0);

/// Each message arrives once, at the place to which it was sent, and unparks a worker there;
/// `close` is observed by all places, and unparks their workers. `connect` creates the ports of a
/// number of places with one worker each; `receive` takes a message that has arrived, if there is
/// one; `seat` makes the calling thread act as a worker, or as none.
///
/// # Panics
/// If the ports do not conform.
pub fn delivers<P, S, T>(connect: impl Fn(u32) -> Vec<P>, receive: T, seat: S)
where
    P: Transport<u64> + Park + Send + Sync + 'static,
    S: Fn(&P, Option<WorkerId>) + Copy + Send + 'static,
    T: Fn(&P) -> Option<u64> + Copy + Send + 'static,
{
    let ports: Vec<_> = connect(PLACES).into_iter().map(Arc::new).collect();
    assert_eq!(ports.len(), PLACES as usize, "ports of places");
    for port in &ports {
        assert!(!port.is_closed(), "closed before it began");
    }
    let places = ports.clone();
    ends("delivers: places that send to each other", move || {
        let places = (0..).map(PlaceId).zip(places);
        let places = places.map(|(here, port)| {
            thread::spawn(move || {
                seat(&port, Some(WORKER));
                exchange(&*port, here, receive);
                seat(&port, None);
            })
        });
        for place in places.collect::<Vec<_>>() {
            place
                .join()
                .expect("each message arrives once, at its place");
        }
    });
    for port in &ports {
        assert_eq!(receive(port), None, "more arrived than was sent");
        assert!(!port.is_closed(), "closed by no place");
    }
    // In most rounds the other places are parked by the time that one of them closes.
    for _ in 0..3 {
        let places = connect(PLACES);
        ends("delivers: places that are closed", move || {
            close(places, seat)
        });
    }
}

/// The first place closes the computation once the others wait for its end.
fn close<P, S>(places: Vec<P>, seat: S)
where
    P: Transport<u64> + Park + Send + Sync + 'static,
    S: Fn(&P, Option<WorkerId>) + Copy + Send + 'static,
{
    let mut places = places.into_iter();
    let first = places.next().expect("several places");
    let (waits, waiting) = mpsc::channel();
    let others = places.map(|port| {
        let waits = waits.clone();
        thread::spawn(move || {
            seat(&port, Some(WORKER));
            waits.send(()).expect("it is received");
            while !port.is_closed() {
                port.park(WORKER);
            }
            seat(&port, None);
        })
    });
    let others: Vec<_> = others.collect();
    for _ in &others {
        waiting.recv().expect("each place sends");
    }
    thread::sleep(Duration::from_millis(20));
    seat(&first, Some(WORKER));
    first.close();
    assert!(first.is_closed(), "closed by this place");
    seat(&first, None);
    for place in others {
        place.join().expect("it only waits");
    }
}

/// The number of a message from one place to another.
fn message(from: u32, to: PlaceId, number: u64) -> u64 {
    u64::from(from) << 48 | u64::from(to.0) << 32 | number
}

/// Sends its messages to the other places, and takes theirs; parks when there is none.
fn exchange<P: Transport<u64> + Park>(
    port: &P,
    here: PlaceId,
    receive: impl Fn(&P) -> Option<u64>,
) {
    let others: Vec<u32> = (0..PLACES).filter(|place| *place != here.0).collect();
    let expected = others.iter().flat_map(|from| {
        let numbers = 0..MESSAGES;
        numbers.map(move |number| message(*from, here, number))
    });
    let expected: Vec<u64> = expected.collect();
    let mut received = Vec::new();
    let take = |received: &mut Vec<u64>| received.extend(std::iter::from_fn(|| receive(port)));
    for number in 0..MESSAGES {
        for to in others.iter().copied().map(PlaceId) {
            port.send(to, message(here.0, to, number));
        }
        take(&mut received);
    }
    while received.len() < expected.len() {
        port.park(WORKER);
        take(&mut received);
    }
    // Messages may overtake each other.
    received.sort_unstable();
    assert!(
        received == expected,
        "other messages than were sent arrived"
    );
}
