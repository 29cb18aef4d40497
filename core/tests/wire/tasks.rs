//! Communication tasks over a channel: what a program has to connect.

use crate::net::{Net, Wire};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tautline_core::comm::{
    Body, CommId, Error, Limits, Messenger, News, Operation, Outcome, Packet, Pattern, Tag, Worker,
};
use tautline_core::wire::{self, Channel, Exchange, Fault, Receiver, unpack};
use tautline_core::{PlaceId, Rank};

/// The messages that have arrived, put by the turns of the exchange, and taken by the communication
/// worker.
type Arrived = Arc<Mutex<VecDeque<News>>>;

struct ToWorker(Arrived);

impl Receiver for ToWorker {
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Fault> {
        let news = News::Packet(Rank(from.0), unpack(body)?);
        self.0.lock().unwrap().push_back(news);
        Ok(())
    }

    fn lost(&self, error: &wire::Error) -> bool {
        let wire::Cause::Lost { doing } = error.cause else {
            panic!("{error}");
        };
        let news = News::Lost(error.peer, doing);
        self.0.lock().unwrap().push_back(news);
        true
    }
}

/// A communication worker, and what its exchange has for it.
type CommWorker = (Worker, Arrived);

/// The exchanges of all ranks, with a communication worker each.
fn ranks(count: usize, eager: usize) -> (Net, Vec<Exchange<Wire>>, Vec<CommWorker>) {
    let (net, exchanges) = Net::exchanges(count, wire::Limits::default());
    let worker = |exchange: &Exchange<Wire>| {
        exchange.tolerate_losses();
        let (here, arrived) = (exchange.here(), Arrived::default());
        let channel: Channel<Packet> = exchange.open("tasks", 1, ToWorker(Arc::clone(&arrived)));
        let carrier = move |to: Rank, packet| {
            channel.send(PlaceId(here.0), PlaceId(to.0), packet);
        };
        let messenger = Messenger::new(here, exchange.ranks(), Limits { eager });
        let carrier = Box::new(carrier);
        let worker = Worker::new(messenger, Box::new(()), carrier, Arc::new(|| ()));
        (worker, arrived)
    };
    let workers = exchanges.iter().map(worker).collect();
    (net, exchanges, workers)
}

type Ended = Arc<Mutex<Option<Outcome>>>;

fn submit((worker, _): &CommWorker, operation: Operation) -> Ended {
    let ended = Ended::default();
    let put = Arc::clone(&ended);
    let done = move |outcome| *put.lock().unwrap() = Some(outcome);
    worker.tasks().submit(operation, Arc::new(done));
    ended
}

fn settle(exchanges: &[Exchange<Wire>], workers: &mut [CommWorker]) {
    let mut moved = true;
    while moved {
        moved = false;
        for (worker, arrived) in &mut *workers {
            moved |= worker.step();
            let arrived = std::mem::take(&mut *arrived.lock().unwrap());
            moved |= !arrived.is_empty();
            arrived.into_iter().for_each(|news| worker.take(news));
        }
        for exchange in exchanges {
            moved |= exchange.turn().unwrap();
        }
    }
}

fn take(ended: &Ended) -> Outcome {
    ended.lock().unwrap().take().expect("it has ended")
}

#[test]
fn tasks_over_a_channel() {
    for eager in [0, 1 << 16] {
        let (_, exchanges, mut workers) = ranks(3, eager);
        let mut pairs = Vec::new();
        for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))) {
            let comm = CommId(0);
            let send = Operation::Send {
                comm,
                to: Rank(to),
                tag: Tag(1),
                body: vec![from as u8; 300].into(),
            };
            let pattern = Pattern {
                source: Some(Rank(from)),
                ..Pattern::any(comm)
            };
            let receive = Operation::Receive {
                pattern,
                limit: 300,
                into: Body::default(),
            };
            let sent = submit(&workers[from as usize], send);
            pairs.push((from, sent, submit(&workers[to as usize], receive)));
        }
        settle(&exchanges, &mut workers);
        for (from, sent, received) in pairs {
            assert!(take(&sent).is_ok());
            assert_eq!(take(&received).unwrap().body, [from as u8; 300]);
        }
    }
}

/// The loss of a rank reaches the receives that wait for it, and the others continue.
#[test]
fn tasks_end_with_a_lost_rank() {
    let (net, exchanges, mut workers) = ranks(3, 1 << 16);
    settle(&exchanges, &mut workers);
    let comm = CommId(0);
    let receive = |source| {
        let pattern = Pattern {
            source: Some(Rank(source)),
            ..Pattern::any(comm)
        };
        Operation::Receive {
            pattern,
            limit: 9,
            into: Body::default(),
        }
    };
    let [of_lost, of_other] = [2, 1].map(|source| submit(&workers[0], receive(source)));
    // A process that is killed sends nothing any more.
    drop(net.link(2));
    let send = Operation::Send {
        comm,
        to: Rank(0),
        tag: Tag(1),
        body: vec![5].into(),
    };
    submit(&workers[1], send);
    settle(&exchanges[..2], &mut workers[..2]);
    let error = Error::Lost {
        rank: Rank(2),
        doing: "receiving from it",
    };
    assert_eq!(take(&of_lost), Err(error));
    assert_eq!(take(&of_other).unwrap().body, [5]);
}
