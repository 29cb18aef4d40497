//! Packets in addition to the parcels of a link: each arrives once and in order, under its number,
//! and bodies return to their senders.

use crate::harness::Harness;
use crate::numbers::Numbers;
use crate::threads::Threads;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::Rank;
use tautline_core::comm::{Body, CommId, News, Packet, PacketLink, Recipient, Tag};
use tautline_core::port::{Link, Lost};

const ZERO: Rank = Rank(0);
const ONE: Rank = Rank(1);
/// Two numbers of packets.
const NUMBERS: [u32; 2] = [3, 1000];
const NUMBER: u32 = NUMBERS[0];
/// Packets of each number from each rank to each rank.
const PACKETS: u64 = 150;
/// Threads of one rank that send at once, and the packets of each.
const THREADS: u64 = 4;
const EACH: u64 = 500;
/// Polls without any progress after which a packet counts as lost.
const PATIENCE: usize = 10_000;
/// The time after which threads that only send are blocked.
const TOO_LONG: Duration = Duration::from_secs(20);

/// The packets that arrive for a number.
#[derive(Default)]
struct Inbox(Mutex<Vec<News>>);

impl Recipient for Inbox {
    fn take(&self, news: News) {
        self.with(|all| all.push(news));
    }
}

impl Inbox {
    fn with<R>(&self, then: impl FnOnce(&mut Vec<News>) -> R) -> R {
        then(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn len(&self) -> usize {
        self.with(|all| all.len())
    }

    /// Takes the packets that have arrived.
    fn all(&self) -> Vec<News> {
        self.with(std::mem::take)
    }

    /// Takes the packets that have arrived from a rank.
    fn packets_of(&self, rank: Rank) -> Vec<Packet> {
        let of_rank = |news: &mut News| matches!(news, News::Packet(from, _) if *from == rank);
        let packet = |news| match news {
            News::Packet(_, packet) => packet,
            _ => unreachable!("filtered"),
        };
        self.with(|all| all.extract_if(.., of_rank).map(packet).collect())
    }
}

/// The link and the packets of one rank.
struct Station<L, P: ?Sized> {
    link: L,
    packets: Arc<P>,
    lost: Vec<Rank>,
}

impl<L: Link, P: PacketLink + ?Sized> Station<L, P> {
    fn all(links: Vec<(L, Arc<P>)>) -> Vec<Self> {
        let station = |(link, packets)| Self {
            link,
            packets,
            lost: Vec::new(),
        };
        links.into_iter().map(station).collect()
    }

    fn open(&self, number: u32) -> Arc<Inbox> {
        let inbox = Arc::<Inbox>::default();
        self.packets.open(number, inbox.clone());
        inbox
    }

    /// Sends those packets of a number to a rank.
    fn send(&self, number: u32, to: Rank, packets: Range<u64>) {
        for packet in sent(self.link.here(), to, number, packets) {
            self.packets.send(number, to, packet);
        }
    }

    /// Polls once; returns whether anything moved.
    fn poll(&mut self) -> bool {
        let polled = self
            .link
            .poll(&mut |from, _| panic!("a parcel of {from} arrived, but only packets were sent"));
        if let Err(Lost { rank, .. }) = polled {
            self.lost.push(rank);
        }
        polled != Ok(false)
    }
}

/// Returns packets of all kinds, with bodies of all lengths.
fn sent(from: Rank, to: Rank, number: u32, packets: Range<u64>) -> Vec<Packet> {
    let ends = u64::from(from.0) << 56 | u64::from(to.0) << 48 | u64::from(number) << 32;
    packets.map(|at| packet(&mut Numbers(ends | at))).collect()
}

fn packet(numbers: &mut Numbers) -> Packet {
    let word = numbers.draw();
    let (comm, tag) = (CommId(word as u32), Tag((word >> 33) as u32));
    match numbers.below(10) {
        0 => Packet::Left,
        1 => Packet::Room { bytes: word },
        2 => Packet::Closed { messages: word },
        3 => Packet::Arrived { messages: word },
        4 => {
            let bytes = numbers.draw();
            Packet::Offer {
                comm,
                tag,
                bytes,
                offer: word,
            }
        }
        5 => Packet::Claim {
            offer: word,
            is_wanted: numbers.below(2) == 0,
        },
        6 => Packet::Body {
            offer: word,
            body: body(numbers),
        },
        _ => Packet::Message {
            comm,
            tag,
            body: body(numbers),
        },
    }
}

/// Returns a body: mostly short, one in 16 empty, and one in 16 of tens of kilobytes.
fn body(numbers: &mut Numbers) -> Body {
    let length = match numbers.below(16) {
        0 => 0,
        1 => 20_000 + numbers.below(60_000),
        2..6 => numbers.below(5000),
        _ => 1 + numbers.below(64),
    };
    bytes(length).into()
}

fn bytes(length: usize) -> Vec<u8> {
    let mut numbers = Numbers(length as u64);
    (0..length).map(|_| numbers.draw() as u8).collect()
}

/// Polls until `done`, and then for a while, so that more arrives if there is more. Returns early
/// if nothing moves any more.
fn settle<L: Link, P: PacketLink + ?Sized>(
    all: &mut [Station<L, P>],
    done: impl Fn(&[Station<L, P>]) -> bool,
) {
    let poll = |all: &mut [Station<L, P>]| all.iter_mut().fold(false, |any, at| at.poll() | any);
    let mut idle = 0;
    while !done(all) && idle < PATIENCE {
        idle = if poll(all) { 0 } else { idle + 1 };
    }
    for _ in 0..64 {
        poll(all);
    }
}

/// Each packet arrives once, intact, at its rank, for the recipient of its number, in the order in
/// which its sender sent them; also from a rank to itself, before the number is opened, and from
/// several threads at once; what arrives after the number is closed is dropped. A body returns to
/// its sender, and is received in the memory that was provided for it, each unless the call has
/// returned it. A rank's last packets arrive before its loss is reported, and those to it are
/// dropped. `connect` makes the links of a number of ranks, with their packets; the links are used
/// by the calling thread.
///
/// # Panics
/// If they do not conform.
pub fn conveys<L, P>(connect: impl Fn(u32) -> Vec<(L, Arc<P>)>)
where
    L: Link,
    P: PacketLink + ?Sized + 'static,
{
    Threads.report("conveys: packets between three ranks");
    each_arrives(&mut Station::all(connect(3)));
    Threads.report("conveys: a number that is opened late, and closed");
    early_and_late(&mut Station::all(connect(2)));
    Threads.report("conveys: bodies of offers");
    bodies(&mut Station::all(connect(2)));
    Threads.report("conveys: threads that send at once");
    any_thread(&mut Station::all(connect(2)));
    Threads.report("conveys: packets of a rank that is lost");
    after_a_loss(Station::all(connect(3)));
}

fn each_arrives<L: Link, P: PacketLink + ?Sized>(all: &mut [Station<L, P>]) {
    let open = |station: &Station<L, P>| NUMBERS.map(|number| station.open(number));
    let inboxes: Vec<_> = all.iter().map(open).collect();
    for at in 0..PACKETS {
        for station in all.iter() {
            for to in (0..all.len() as u32).map(Rank) {
                for number in NUMBERS {
                    station.send(number, to, at..at + 1);
                }
            }
        }
        if at % 16 == 0 {
            all.iter_mut().for_each(|station| _ = station.poll());
        }
    }
    let expected = PACKETS as usize * all.len();
    settle(all, |_| {
        inboxes
            .iter()
            .flatten()
            .all(|inbox| inbox.len() >= expected)
    });
    for (to, inboxes) in (0..).map(Rank).zip(&inboxes) {
        for (number, inbox) in NUMBERS.into_iter().zip(inboxes) {
            for from in (0..all.len() as u32).map(Rank) {
                let expected = sent(from, to, number, 0..PACKETS);
                same(&inbox.packets_of(from), &expected, from, to);
            }
            assert_eq!(inbox.all(), [], "further news of {to}");
        }
    }
}

/// Compares without printing bodies.
fn same(arrived: &[Packet], expected: &[Packet], from: Rank, to: Rank) {
    let (count, all) = (arrived.len(), expected.len());
    assert_eq!(count, all, "packets of {from} that arrived at {to}");
    let differs = arrived.iter().zip(expected).position(|(a, b)| a != b);
    assert_eq!(differs, None, "another packet of {from} arrived at {to}");
}

/// Packets before their number is opened, and after it is closed.
fn early_and_late<L: Link, P: PacketLink + ?Sized>(all: &mut [Station<L, P>]) {
    let other = all[1].open(NUMBERS[1]);
    all[0].send(NUMBER, ONE, 0..50);
    all[0].send(NUMBERS[1], ONE, 0..1);
    settle(all, |_| other.len() == 1);
    let inbox = all[1].open(NUMBER);
    all[0].send(NUMBER, ONE, 50..100);
    settle(all, |_| inbox.len() == 100);
    let expected = sent(ZERO, ONE, NUMBER, 0..100);
    same(&inbox.packets_of(ZERO), &expected, ZERO, ONE);

    all[1].packets.close(NUMBER);
    all[0].send(NUMBER, ONE, 0..10);
    all[0].send(NUMBERS[1], ONE, 1..2);
    settle(all, |_| other.len() == 2);
    assert_eq!(inbox.len(), 0, "packets after their number was closed");
    let expected = sent(ZERO, ONE, NUMBERS[1], 0..2);
    same(&other.packets_of(ZERO), &expected, ZERO, ONE);
}

/// Bodies of offers between two ranks, both ways, and within one; with memory for them, and
/// without.
fn bodies<L: Link, P: PacketLink + ?Sized>(all: &mut [Station<L, P>]) {
    let inboxes = [all[0].open(NUMBER), all[1].open(NUMBER)];
    let mut offer = 0;
    for (from, to) in [(0, 1), (1, 0), (0, 0)] {
        for length in [1, 100, 5000, 70_000] {
            for provides in [false, true] {
                offer += 1;
                carry(all, &inboxes, (from, to), (offer, length), provides);
            }
        }
    }
}

/// Sends one body between two packets.
fn carry<L: Link, P: PacketLink + ?Sized>(
    all: &mut [Station<L, P>],
    inboxes: &[Arc<Inbox>; 2],
    (from, to): (usize, usize),
    (offer, length): (u64, usize),
    provides: bool,
) {
    let (sender, receiver) = (Rank(from as u32), Rank(to as u32));
    let memory = Body::from(vec![0; length + 3]);
    let place = address(&memory);
    // Whether the body must be in that memory.
    let is_kept = provides && {
        let packets = &all[to].packets;
        let returned = packets.provide(NUMBER, (sender, offer), memory, length);
        returned.is_none()
    };
    let body = Body::from(bytes(length));
    let origin = address(&body);
    let announced = |messages| Packet::Arrived { messages };
    let packets = &all[from].packets;
    packets.send(NUMBER, receiver, announced(offer));
    let returned = packets.send_body(NUMBER, receiver, offer, body);
    packets.send(NUMBER, receiver, announced(offer + 1));
    let returns = usize::from(returned.is_none());
    settle(all, |_| {
        let arrived = inboxes[to].len() + inboxes[from].len();
        arrived >= (3 + returns) * if from == to { 2 } else { 1 }
    });

    let packets = <[Packet; 3]>::try_from(inboxes[to].packets_of(sender));
    let [before, received, after] = packets.expect("a body between two packets");
    assert_eq!([before, after], [offer, offer + 1].map(announced));
    let Packet::Body { offer: of, body } = received else {
        panic!("{received:?} instead of the body of an offer");
    };
    assert_eq!(of, offer, "the number of the offer");
    let is_longer = is_kept && body.len() > length;
    assert!(is_longer || body.len() == length, "the length of a body");
    assert!(body[..length] == bytes(length), "a body of {length} bytes");
    // An address of this process, if the rank is.
    let is_there = !is_kept || receiver != ZERO || address(&body) == place;
    assert!(is_there, "a body in other memory than was provided for it");

    let returned = returned_once(returned, inboxes[from].all(), (receiver, offer));
    assert!(
        returned == bytes(length),
        "a body that its sender gets back"
    );
    let is_same = sender != ZERO || address(&returned) == origin;
    assert!(is_same, "other memory than the sender's");
}

/// Returns the body that its sender gets back, by the call or by the only news.
fn returned_once(returned: Option<Body>, mut news: Vec<News>, of: (Rank, u64)) -> Body {
    match (returned, news.pop()) {
        (Some(body), None) => body,
        (None, Some(News::Sent { to, offer, body })) if (to, offer) == of && news.is_empty() => {
            body
        }
        other => panic!("{other:?} instead of one body that its sender gets back"),
    }
}

fn address(body: &Body) -> usize {
    body.as_ptr().addr()
}

/// Several threads of rank 0 send at once, to itself and to rank 1, while another one polls.
fn any_thread<L, P>(all: &mut [Station<L, P>])
where
    L: Link,
    P: PacketLink + ?Sized + 'static,
{
    let inboxes = [all[0].open(NUMBER), all[1].open(NUMBER)];
    let threads = (0..THREADS).map(|thread| {
        let packets = Arc::clone(&all[0].packets);
        thread::spawn(move || {
            for at in 0..EACH {
                let bytes = thread << 32 | at;
                packets.send(NUMBER, ZERO, Packet::Room { bytes });
                packets.send(NUMBER, ONE, Packet::Room { bytes });
            }
        })
    });
    let threads: Vec<_> = threads.collect();
    let start = Instant::now();
    while !threads.iter().all(|thread| thread.is_finished()) {
        assert!(start.elapsed() < TOO_LONG, "a send blocks its thread");
        all.iter_mut().for_each(|station| _ = station.poll());
    }
    for thread in threads {
        thread.join().expect("it only sends");
    }
    let expected = (THREADS * EACH) as usize;
    settle(all, |_| inboxes.iter().all(|inbox| inbox.len() >= expected));
    for inbox in inboxes {
        let arrived = inbox.packets_of(ZERO);
        assert_eq!(arrived.len(), expected, "packets of several threads");
        for thread in 0..THREADS {
            let of_thread = arrived.iter().filter_map(|packet| match packet {
                Packet::Room { bytes } if bytes >> 32 == thread => Some(*bytes & 0xffff_ffff),
                _ => None,
            });
            assert!(of_thread.eq(0..EACH), "the order of one thread's packets");
        }
    }
}

fn after_a_loss<L: Link, P: PacketLink + ?Sized>(mut all: Vec<Station<L, P>>) {
    const LAST: u64 = 20;
    let inboxes = [all[0].open(NUMBER), all[1].open(NUMBER)];
    let mut gone = all.pop().expect("three ranks");
    let lost = gone.link.here();
    gone.send(NUMBER, ZERO, 0..LAST);
    gone.send(NUMBER, ONE, 0..LAST);
    for i in 0..PATIENCE {
        gone.poll();
        let unsent = gone.link.unsent(ZERO) + gone.link.unsent(ONE);
        if i > 100 && unsent == 0 {
            break;
        }
    }
    drop(gone);
    let mut polls = 0;
    while all.iter().any(|station| station.lost.is_empty()) && polls < PATIENCE {
        polls += 1;
        for (station, inbox) in all.iter_mut().zip(&inboxes) {
            station.poll();
            let is_early = !station.lost.is_empty() && (inbox.len() as u64) < LAST;
            assert!(!is_early, "a loss was reported before the last packets");
        }
    }
    for (station, inbox) in all.iter().zip(&inboxes) {
        let here = station.link.here();
        assert_eq!(station.lost, [lost], "losses reported to {here}");
        let expected = sent(lost, here, NUMBER, 0..LAST);
        same(&inbox.packets_of(lost), &expected, lost, here);
        station.send(NUMBER, lost, 0..10);
    }
    all[0].send(NUMBER, ONE, 0..LAST);
    settle(&mut all, |_| inboxes[1].len() as u64 >= LAST);
    let expected = sent(ZERO, ONE, NUMBER, 0..LAST);
    same(&inboxes[1].packets_of(ZERO), &expected, ZERO, ONE);
    assert_eq!(inboxes[0].all(), [], "news of no packet");
}
