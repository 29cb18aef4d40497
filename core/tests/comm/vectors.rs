//! Vectors: moved, and returned to those that have brought them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tautline_core::Rank;
use tautline_core::comm::*;

const WORLD: CommId = CommId(0);
/// The vectors that are offered, and not copied.
const LENGTH: usize = 10_000;

/// The packets between two ranks.
#[derive(Default)]
struct Net {
    news: [VecDeque<News>; 2],
    /// Bodies that have not left, by their number.
    leaving: Vec<(u64, Body)>,
    /// Memory for bodies, by the number of the offer.
    provided: Vec<(u64, Body)>,
}

type Between = Arc<Mutex<Net>>;

/// Moves bodies from memory to memory, when the test permits it.
struct Moving(Between);

impl Bodies for Moving {
    fn send(&mut self, _: Rank, offer: u64, body: Body) -> Result<Option<Body>, Body> {
        self.0.lock().unwrap().leaving.push((offer, body));
        Ok(None)
    }

    fn provide(&mut self, _: Rank, offer: u64, memory: Body, bytes: usize) -> Option<Body> {
        assert_eq!(bytes, LENGTH, "that of the message");
        self.0.lock().unwrap().provided.push((offer, memory));
        None
    }
}

type Ended = Arc<Mutex<Option<Outcome>>>;

struct Two {
    net: Between,
    workers: [Worker; 2],
}

impl Two {
    fn new() -> Self {
        let net = Between::default();
        let worker = |here: u32| {
            let (between, bodies) = (Arc::clone(&net), Moving(Arc::clone(&net)));
            let carrier = move |to: Rank, packet| {
                let news = News::Packet(Rank(here), packet);
                between.lock().unwrap().news[to.index()].push_back(news);
            };
            let messenger = Messenger::new(Rank(here), 2, Limits::default());
            let carrier = Box::new(carrier);
            Worker::new(messenger, Box::new(bodies), carrier, Arc::new(|| ()))
        };
        let workers = [worker(0), worker(1)];
        Self { net, workers }
    }

    fn submit(&self, here: usize, operation: Operation) -> Ended {
        let ended = Ended::default();
        let put = Arc::clone(&ended);
        let done = move |outcome| *put.lock().unwrap() = Some(outcome);
        self.workers[here].tasks().submit(operation, Arc::new(done));
        ended
    }

    fn send(&self, bytes: Vec<u8>) -> Ended {
        let operation = Operation::Send {
            comm: WORLD,
            to: Rank(1),
            tag: Tag(1),
            body: Body::of(bytes),
        };
        self.submit(0, operation)
    }

    fn receive(&self, into: Vec<u8>) -> Ended {
        let operation = Operation::Receive {
            pattern: Pattern::any(WORLD),
            limit: usize::MAX,
            into: Body::of(into),
        };
        self.submit(1, operation)
    }

    fn settle(&mut self) {
        let mut moved = true;
        while moved {
            moved = false;
            for (here, worker) in self.workers.iter_mut().enumerate() {
                moved |= worker.step();
                let arrived = std::mem::take(&mut self.net.lock().unwrap().news[here]);
                moved |= !arrived.is_empty();
                arrived.into_iter().for_each(|news| worker.take(news));
            }
        }
    }

    /// Moves a body that was claimed.
    fn deliver(&mut self) {
        let mut net = self.net.lock().unwrap();
        let (offer, body) = net.leaving.pop().expect("a claimed body");
        let at = net.provided.iter().position(|(of, _)| *of == offer);
        let (_, mut memory) = net.provided.remove(at.expect("its memory"));
        memory.bytes_mut()[..body.len()].copy_from_slice(&body);
        let packet = Packet::Body {
            offer,
            body: memory,
        };
        net.news[1].push_back(News::Packet(Rank(0), packet));
        let to = Rank(1);
        net.news[0].push_back(News::Sent { to, offer, body });
        drop(net);
        self.settle();
    }
}

fn vector(ended: &Ended) -> Vec<u8> {
    let done = ended.lock().unwrap().take().expect("ended").expect("well");
    done.body.into_vec().expect("the vector")
}

#[test]
fn long_vectors_are_moved_and_come_back() {
    let mut two = Two::new();
    let (from, into) = (vec![7u8; LENGTH], vec![0u8; LENGTH + 5]);
    let starts = (from.as_ptr(), into.as_ptr());
    let (sent, received) = (two.send(from), two.receive(into));
    two.settle();
    assert!(sent.lock().unwrap().is_none(), "it has not left");
    two.deliver();
    let (from, into) = (vector(&sent), vector(&received));
    assert_eq!((from.as_ptr(), into.as_ptr()), starts, "not copied");
    assert_eq!(into[..LENGTH], from);
}

#[test]
fn short_vectors_come_back_at_once() {
    let mut two = Two::new();
    let sent = two.send(vec![7u8; 100]);
    two.settle();
    assert_eq!(vector(&sent), [7; 100], "before it was received");
    let received = two.receive(vec![0u8; 200]);
    two.settle();
    assert_eq!(vector(&received)[..100], [7; 100]);
}

/// A vector that is too long for the receive is not moved, and its sender has it back.
#[test]
fn unwanted_vectors_come_back() {
    let mut two = Two::new();
    let (sent, received) = (
        two.send(vec![7u8; LENGTH]),
        two.receive(vec![0u8; LENGTH - 1]),
    );
    two.settle();
    let error = received.lock().unwrap().take().expect("it has ended");
    let (bytes, limit) = (LENGTH, LENGTH - 1);
    let truncated = Error::Truncated {
        source: Rank(0),
        tag: Tag(1),
        bytes,
        limit,
    };
    assert_eq!(error, Err(truncated));
    assert_eq!(vector(&sent), [7; LENGTH]);
}

/// The loss of the receiver while a body leaves: the send ends once, and what the mail reports
/// later is ignored.
#[test]
fn a_vector_under_way_ends_with_its_receiver() {
    let mut two = Two::new();
    let sent = two.send(vec![7u8; LENGTH]);
    _ = two.receive(vec![0u8; LENGTH]);
    two.settle();
    let lost = News::Lost(Rank(1), "sending to it");
    two.net.lock().unwrap().news[0].push_back(lost);
    two.settle();
    let error = sent.lock().unwrap().take().expect("it has ended");
    assert!(matches!(error, Err(Error::Lost { .. })), "{error:?}");
    let (offer, body) = two.net.lock().unwrap().leaving.pop().expect("claimed");
    let to = Rank(1);
    two.net.lock().unwrap().news[0].push_back(News::Sent { to, offer, body });
    two.settle();
    assert!(sent.lock().unwrap().is_none(), "it ends once");
}
