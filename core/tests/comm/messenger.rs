//! Workers of several ranks over matching, in one thread, whose packets a test may delay and
//! change.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use tautline_core::Rank;
use tautline_core::comm::*;

const WORLD: CommId = CommId(0);

/// The packets sent to each rank, by sender.
#[derive(Clone)]
pub(crate) struct Net(Arc<Mutex<Vec<Vec<VecDeque<News>>>>>);

impl Net {
    pub(crate) fn new(ranks: usize) -> Self {
        Self(Arc::new(Mutex::new(vec![
            vec![VecDeque::new(); ranks];
            ranks
        ])))
    }

    fn all(&self) -> MutexGuard<'_, Vec<Vec<VecDeque<News>>>> {
        self.0.lock().unwrap()
    }

    pub(crate) fn put(&self, from: usize, to: usize, news: News) {
        self.all()[to][from].push_back(news);
    }

    /// Takes what has arrived at a rank from one of the others, chosen by a number.
    fn take(&self, here: usize, choice: usize) -> Option<News> {
        let mut all = self.all();
        let ranks = all.len();
        let mut senders = (0..ranks).map(|n| (choice + n) % ranks);
        senders.find_map(|from| all[here][from].pop_front())
    }

    /// Returns the packets on their way.
    pub(crate) fn packets(&self, from: usize, to: usize) -> Vec<Packet> {
        let all = self.all();
        let of = |news: &News| match news {
            News::Packet(_, packet) => packet.clone(),
            other => panic!("{other:?}"),
        };
        all[to][from].iter().map(of).collect()
    }
}

/// Returns a pseudo-random number.
fn below(random: &mut u64, n: usize) -> usize {
    *random = random
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    (*random >> 33) as usize % n
}

pub(crate) struct Ranks {
    pub(crate) net: Net,
    pub(crate) workers: Vec<Worker>,
    /// Chooses the sender whose packet is taken next, by rank.
    random: Vec<u64>,
}

pub(crate) type Ended = Arc<Mutex<Option<Outcome>>>;

impl Ranks {
    pub(crate) fn new(ranks: usize, eager: usize) -> Self {
        let net = Net::new(ranks);
        let worker = |here: usize| {
            let (from, net) = (Rank(here as u32), net.clone());
            let carrier = move |to: Rank, packet| {
                net.put(here, to.index(), News::Packet(from, packet));
            };
            let messenger = Messenger::new(from, ranks as u32, Limits { eager });
            Worker::new(messenger, Box::new(()), Box::new(carrier), Arc::new(|| ()))
        };
        let workers = (0..ranks).map(worker).collect();
        let random = (0..ranks as u64).collect();
        Self {
            net,
            workers,
            random,
        }
    }

    /// Starts what was submitted to a rank, and takes what has arrived there. Returns whether there
    /// was anything.
    pub(crate) fn step(&mut self, here: usize) -> bool {
        let mut moved = self.workers[here].step();
        let ranks = self.workers.len();
        loop {
            let choice = below(&mut self.random[here], ranks);
            let Some(news) = self.net.take(here, choice) else {
                return moved;
            };
            self.workers[here].take(news);
            moved = true;
        }
    }

    pub(crate) fn submit(&self, here: usize, operation: Operation) -> (Ticket, Ended) {
        let ended = Ended::default();
        let put = Arc::clone(&ended);
        let done = move |outcome| {
            let before = put.lock().unwrap().replace(outcome);
            assert_eq!(before, None, "it ends once");
        };
        let ticket = self.workers[here].tasks().submit(operation, Arc::new(done));
        (ticket, ended)
    }

    pub(crate) fn send(&self, from: usize, to: usize, tag: u32, body: &[u8]) -> Ended {
        let operation = Operation::Send {
            comm: WORLD,
            to: Rank(to as u32),
            tag: Tag(tag),
            body: body.to_vec().into(),
        };
        self.submit(from, operation).1
    }

    pub(crate) fn receive(&self, here: usize, pattern: Pattern, limit: usize) -> (Ticket, Ended) {
        let into = Body::default();
        self.submit(
            here,
            Operation::Receive {
                pattern,
                limit,
                into,
            },
        )
    }

    pub(crate) fn settle(&mut self) {
        let ranks = self.workers.len();
        while (0..ranks).fold(false, |moved, here| moved | self.step(here)) {}
    }
}

pub(crate) fn outcome(ended: &Ended) -> Option<Outcome> {
    ended.lock().unwrap().clone()
}

fn body(ended: &Ended) -> Body {
    let outcome = outcome(ended).expect("it has ended");
    outcome.expect("without an error").body
}

pub(crate) fn any() -> Pattern {
    Pattern::any(WORLD)
}

pub(crate) fn tagged(tag: u32) -> Pattern {
    Pattern {
        tag: Some(Tag(tag)),
        ..any()
    }
}

pub(crate) fn from(source: u32) -> Pattern {
    Pattern {
        source: Some(Rank(source)),
        ..any()
    }
}

/// With room for everything, for some messages, for none.
const ROOMS: [usize; 3] = [1 << 20, 200, 0];

#[test]
fn messages_reach_every_rank_and_their_own() {
    for room in ROOMS {
        let mut ranks = Ranks::new(3, room);
        let mut got = Vec::new();
        for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))) {
            let sent = ranks.send(from, to, 5, &[from as u8, to as u8]);
            let received = ranks.receive(to, self::from(from as u32), 2).1;
            got.push((from, to, sent, received));
        }
        ranks.settle();
        for (from, to, sent, received) in got {
            assert!(outcome(&sent).unwrap().is_ok());
            let done = outcome(&received).unwrap().unwrap();
            assert_eq!(done.body, [from as u8, to as u8]);
            let status = Status {
                source: Some(Rank(from as u32)),
                tag: Some(Tag(5)),
                bytes: 2,
                is_cancelled: false,
            };
            assert_eq!(done.status, status);
        }
        assert!(ranks.workers.iter().all(Worker::is_idle));
    }
}

/// Fact 21: messages of one task to one rank with one tag arrive in its order, sent at once or
/// offered.
#[test]
fn messages_of_one_tag_arrive_in_order() {
    for room in ROOMS {
        let mut ranks = Ranks::new(2, room);
        let sends: Vec<_> = (0..50).map(|n| ranks.send(0, 1, 7, &[n; 20])).collect();
        let receives: Vec<_> = (0..50).map(|_| ranks.receive(1, tagged(7), 20).1).collect();
        ranks.settle();
        for (n, (send, receive)) in sends.iter().zip(&receives).enumerate() {
            assert!(outcome(send).unwrap().is_ok());
            assert_eq!(body(receive), [n as u8; 20]);
        }
    }
}

/// Without receives, no more than the room of a sender arrives; the other sends wait, and none of
/// them holds up a later message that is received first.
#[test]
fn what_is_not_received_stays_within_its_room() {
    let mut ranks = Ranks::new(2, 500);
    let sends: Vec<_> = (0..20)
        .map(|n| ranks.send(0, 1, n, &[n as u8; 100]))
        .collect();
    ranks.step(0);
    let packets = ranks.net.packets(0, 1);
    let is_message = |p: &&Packet| matches!(p, Packet::Message { .. });
    assert_eq!(packets.iter().filter(is_message).count(), 500 / 164);
    ranks.settle();
    assert!(sends.iter().take(3).all(|send| outcome(send).is_some()));
    assert!(sends.iter().skip(3).all(|send| outcome(send).is_none()));
    for n in (0..20).rev() {
        let (_, received) = ranks.receive(1, tagged(n), 100);
        ranks.settle();
        assert_eq!(body(&received), [n as u8; 100]);
        assert!(outcome(&sends[n as usize]).is_some());
    }
    // The room was returned.
    let again = ranks.send(0, 1, 0, &[0; 100]);
    ranks.step(0);
    assert!(outcome(&again).is_some(), "it is sent at once");
}

/// A long message ends one receive with an error that names it; its send ends, and its room is
/// returned.
#[test]
fn a_long_message_is_an_error_of_its_receive() {
    for room in ROOMS {
        let mut ranks = Ranks::new(2, room);
        for _ in 0..10 {
            let sent = ranks.send(0, 1, 9, &[1; 50]);
            let (_, short) = ranks.receive(1, any(), 49);
            ranks.settle();
            let error = outcome(&short).unwrap().unwrap_err();
            assert_eq!(
                error.to_string(),
                "the message of rank 0 with tag 9 has 50 bytes, the receive permits at most 49"
            );
            assert!(outcome(&sent).unwrap().is_ok());
        }
        ranks.send(0, 1, 9, &[2; 50]);
        let (_, next) = ranks.receive(1, any(), 50);
        ranks.settle();
        assert_eq!(body(&next), [2; 50]);
    }
}

#[test]
fn a_probe_leaves_the_message() {
    for room in ROOMS {
        let mut ranks = Ranks::new(2, room);
        let (_, waits) = ranks.submit(1, Operation::Probe { pattern: any() });
        ranks.settle();
        assert_eq!(outcome(&waits), None);
        ranks.send(0, 1, 3, &[4; 30]);
        ranks.settle();
        let (_, finds) = ranks.submit(1, Operation::Probe { pattern: any() });
        let (_, received) = ranks.receive(1, any(), 30);
        ranks.settle();
        for probe in [waits, finds] {
            let status = outcome(&probe).unwrap().unwrap().status;
            assert_eq!((status.tag, status.bytes), (Some(Tag(3)), 30));
        }
        assert_eq!(body(&received), [4; 30]);
    }
}

/// A receive is withdrawn if it has matched nothing.
#[test]
fn a_receive_is_cancelled_unless_it_has_matched() {
    let mut ranks = Ranks::new(2, 0);
    let (first, cancelled) = ranks.receive(1, any(), 10);
    ranks.settle();
    let (_, cancel) = ranks.submit(1, Operation::Cancel(first));
    ranks.settle();
    assert_eq!(outcome(&cancel).unwrap(), Ok(Done::default()));
    assert_eq!(
        outcome(&cancelled).unwrap().unwrap().status,
        Status::CANCELLED
    );
    // This one has claimed a message when it is cancelled.
    let (second, received) = ranks.receive(1, any(), 10);
    ranks.send(0, 1, 0, &[6; 10]);
    ranks.step(0);
    ranks.step(1);
    assert_eq!(outcome(&received), None);
    ranks.submit(1, Operation::Cancel(second));
    ranks.settle();
    assert_eq!(body(&received), [6; 10]);
}

#[test]
fn operations_on_a_freed_communicator_are_errors() {
    for room in ROOMS {
        let mut ranks = Ranks::new(2, room);
        let (_, pending) = ranks.receive(1, tagged(1), 10);
        let kept = ranks.send(0, 1, 0, &[1; 10]);
        ranks.settle();
        let (_, free) = ranks.submit(1, Operation::Free(WORLD));
        ranks.settle();
        assert!(outcome(&free).unwrap().is_ok() && outcome(&kept).unwrap().is_ok());
        let late = ranks.send(0, 1, 0, &[1; 10]);
        let after = [ranks.receive(1, any(), 10).1, ranks.send(1, 0, 0, &[1])];
        ranks.settle();
        for ended in [&pending, &after[0], &after[1]] {
            let error = outcome(ended).unwrap().unwrap_err();
            assert_eq!(error, Error::Freed { comm: WORLD });
        }
        assert!(outcome(&late).unwrap().is_ok(), "its message is dropped");
    }
}

/// Two ranks that close end each other's sends, offered or new, and keep those that were claimed.
#[test]
fn ranks_that_close_wait_for_no_receive() {
    let mut ranks = Ranks::new(2, 100);
    let arrived = ranks.send(0, 1, 1, &[1; 10]);
    let offered = [ranks.send(0, 1, 2, &[2; 90]), ranks.send(1, 0, 2, &[2; 90])];
    let (_, waits) = ranks.receive(1, tagged(9), 90);
    ranks.settle();
    let (_, claims) = ranks.receive(0, tagged(3), 90);
    let claimed = ranks.send(1, 0, 3, &[3; 90]);
    // The claim is on its way.
    ranks.step(1);
    ranks.step(0);
    // Submitted before, and started later.
    let late = ranks.send(1, 1, 5, &[5]);
    let late_there = ranks.send(1, 0, 5, &[5]);
    for worker in &mut ranks.workers {
        worker.close();
    }
    ranks.step(1);
    ranks.settle();
    for ended in [&arrived, &claimed, &late, &late_there] {
        assert!(outcome(ended).unwrap().is_ok());
    }
    assert_eq!(body(&claims), [3; 90]);
    let later = [ranks.send(0, 1, 4, &[4]), ranks.receive(0, any(), 90).1];
    ranks.settle();
    let error = |ended| outcome(ended).unwrap().unwrap_err();
    for (ended, rank) in [(&offered[0], 1), (&offered[1], 0), (&later[0], 1)] {
        let doing = "sending to it, whose program has ended";
        let rank = Rank(rank);
        assert_eq!(error(ended), Error::Lost { rank, doing });
    }
    assert_eq!(
        (error(&waits), error(&later[1])),
        (Error::Closed, Error::Closed)
    );
    assert!(ranks.workers.iter().all(Worker::is_idle));
    // Rank 1 has dropped what had arrived; what each sent after it had closed came too late.
    for (here, expected) in [
        (0, vec![]),
        (1, vec![(0, 1, 1, 1), (1, 0, 1, 5), (1, 1, 1, 5)]),
    ] {
        let worker = &ranks.workers[here];
        assert!(worker.machine().is_settled());
        let counted = worker.machine().unreceived();
        let counted: Vec<_> = counted
            .map(|of| (of.from.0, of.to.0, of.messages, of.last.0))
            .collect();
        assert_eq!(counted, expected, "rank {here}");
    }
}

/// Random programs of three ranks: every message is received once, and those that one receive could
/// take in the order in which their rank sent them.
#[test]
fn random_programs() {
    for seed in 0..300 {
        let random = &mut (seed + 1);
        let mut ranks = Ranks::new(3, ROOMS[seed as usize % 3]);
        let (mut sends, mut receives) = (Vec::new(), vec![Vec::new(); 3]);
        let mut number = 0_u32;
        for _ in 0..60 {
            let [from, to] = [below(random, 3), below(random, 3)];
            match below(random, 3) {
                0 => {
                    let tag = below(random, 3) as u32;
                    let mut body = vec![0; 4 + below(random, 60)];
                    body[..4].copy_from_slice(&number.to_le_bytes());
                    number += 1;
                    sends.push((from, to, tag, ranks.send(from, to, tag, &body)));
                }
                1 => receives[to].push(ranks.receive(to, any(), 64).1),
                _ => _ = ranks.step(to),
            }
        }
        // As many receives as messages, and no more.
        for (to, receives) in receives.iter_mut().enumerate() {
            let sent = sends.iter().filter(|(_, at, ..)| *at == to).count();
            while receives.len() < sent {
                receives.push(ranks.receive(to, any(), 64).1);
            }
        }
        ranks.settle();
        assert!(sends.iter().all(|(.., send)| outcome(send).is_some()));
        let mut seen = vec![false; number as usize];
        for (to, receives) in receives.iter().enumerate() {
            let mut newest = [None; 3];
            for done in receives.iter().filter_map(outcome).map(Result::unwrap) {
                let number = u32::from_le_bytes(done.body[..4].try_into().unwrap());
                let (from, at, tag, _) = &sends[number as usize];
                assert_eq!(*at, to);
                let expected = (Some(Rank(*from as u32)), Some(Tag(*tag)));
                assert_eq!((done.status.source, done.status.tag), expected);
                assert!(newest[*from] < Some(number), "seed {seed}: overtaken");
                newest[*from] = Some(number);
                assert!(!std::mem::replace(&mut seen[number as usize], true));
            }
        }
        assert!(
            seen.into_iter().all(|seen| seen),
            "seed {seed}: one is lost"
        );
    }
}
