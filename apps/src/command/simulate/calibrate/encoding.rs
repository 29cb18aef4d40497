//! The cost of a message to another rank of this process, for the threads on either side.

use super::bench::{spread, words};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tautline::balance::{Bag, PlaceId, Share};
use tautline_cli::bench::Spread;
use tautline_cli::uts::{Tree, Uts, named};
use tautline_core::glb::Message;
use tautline_core::port::Spin;
use tautline_core::wire::{Channel, Exchange, unpack};
use tautline_node::Loopback;

/// Short measurements, of which few are disturbed by other programs, and the messages of each.
const MEASUREMENTS: usize = 501;
const TIMES: usize = 20;
/// Tasks of a search before its bag is divided.
const SEARCHED: usize = 2_000;
/// The tree of that search.
const TREE: &str = "T1";

/// The costs of a message to another rank, and what it consists of.
pub(super) struct Encoding {
    /// Nanoseconds of a request on one side: the mean of both.
    pub message: Spread,
    /// Nanoseconds of a loot, at the sender and at the receiver.
    pub loot: [Spread; 2],
    /// Nanoseconds of a request there.
    pub request: [Spread; 2],
    /// Bytes of a request.
    pub request_bytes: u64,
    /// Additional bytes of a loot, and its tasks.
    pub loot_bytes: u64,
    pub tasks: u64,
}

impl Encoding {
    /// Measures a request, and half of the bag of a tree search, between two ranks of this thread.
    /// The work of a worker on either side counts: a place in the queue, encoding, a frame for the
    /// link and a turn of the exchange; and another turn, the link, decoding and the receiver.
    pub(super) fn measure() -> Self {
        let (mut requests, mut loots) = (Ends::new(), Ends::new());
        let mut request = Message::Request { lifeline: false };
        let mut loot = Message::Answer(Some(half()));
        let tasks = match &loot {
            Message::Answer(Some(bag)) => bag.len() as u64,
            _ => 0,
        };
        requests.passes(&mut request);
        loots.passes(&mut loot);
        let request_bytes = requests.bytes_each();
        let loot_bytes = loots.bytes_each() - request_bytes;
        // Both in turn, so that a drift of the machine affects them alike.
        let measured = |_| [requests.passes(&mut request), loots.passes(&mut loot)];
        let all: Vec<[[f64; 2]; 2]> = (0..MEASUREMENTS).map(measured).collect();
        let spread =
            |of: &dyn Fn(&[[f64; 2]; 2]) -> f64| spread(&all.iter().map(of).collect::<Vec<_>>());
        Self {
            message: spread(&|[request, _]| (request[0] + request[1]) / 2.0),
            request: [0, 1].map(|side| spread(&|[request, _]| request[side])),
            loot: [0, 1].map(|side| spread(&|[_, loot]| loot[side])),
            request_bytes,
            loot_bytes,
            tasks,
        }
    }

    /// Returns the rest of the table `network`, which must come last, and the table `ranks` of a
    /// machine file.
    pub(super) fn toml(&self) -> String {
        let (bytes, tasks) = (self.loot_bytes, self.tasks);
        let [encode, decode] = self.mb_per_s();
        let [encoding, decoding] = self.loot.map(|spread| words(&spread));
        let what = format!("{bytes} bytes of loot");
        format!(
            "message_bytes = {{ value = {}, source = \"measured: a request, encoded\" }}\n\
             task_bytes = {{ value = {}, source = \"measured: {what} with {tasks} tasks of a tree search\" }}\n\n\
             [ranks] # these costs matter with `places`, or --rank-places\n\
             message_ns = {{ value = {}, source = \"measured: a request between two ranks of a process, on one side; {}\" }}\n\
             encode_mb_per_s = {{ value = {encode}, source = \"measured: {what}; {encoding}\" }}\n\
             decode_mb_per_s = {{ value = {decode}, source = \"measured: {what}; {decoding}\" }}\n",
            self.request_bytes,
            self.task_bytes(),
            self.message.median.round() as u64,
            words(&self.message),
        )
    }

    /// Returns the rates of encoding and decoding in bytes a microsecond: what a loot takes more
    /// than a request.
    fn mb_per_s(&self) -> [u64; 2] {
        [0, 1].map(|side| {
            let more = self.loot[side].median - self.request[side].median;
            let rate = self.loot_bytes as f64 * 1e3 / more.max(1.0);
            (rate.round() as u64).max(1)
        })
    }

    /// Returns the bytes of one task of loot.
    fn task_bytes(&self) -> u64 {
        (self.loot_bytes as f64 / self.tasks.max(1) as f64).round() as u64
    }
}

/// Half of the bag of a search.
fn half() -> Uts {
    let params = named::find(TREE).expect("a sample tree").params;
    let tree = Tree::new(params).expect("named trees are valid");
    let mut bag = Uts::root(&tree);
    bag.process(SEARCHED, &tree);
    bag.split(Share::Half)
        .expect("a search under way has more than one task")
}

type Parcel = Message<Uts>;

/// Two ranks of one thread, with a channel between their places.
struct Ends {
    ranks: [Exchange<Loopback>; 2],
    channels: [Channel<Parcel>; 2],
    /// The last message that arrived.
    arrived: Arc<Mutex<Option<Parcel>>>,
}

impl Ends {
    fn new() -> Self {
        let arrived = Arc::new(Mutex::new(None));
        let ranks = Loopback::all::<2>().map(|link| Exchange::new(link, Spin));
        let channels = ranks.each_ref().map(|exchange| {
            let slot = Arc::clone(&arrived);
            exchange.open::<Parcel>("calibration", 1, move |_, _, body: &[u8]| {
                let message = unpack::<Parcel>(body)?;
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
                Ok(())
            })
        });
        for exchange in &ranks {
            while exchange.turn().expect(LIVE) {}
        }
        Self {
            ranks,
            channels,
            arrived,
        }
    }

    /// Passes `message` to and fro; returns what sending and receiving it take, in nanoseconds.
    fn passes(&mut self, message: &mut Parcel) -> [f64; 2] {
        let mut sums = [Duration::ZERO; 2];
        for time in 0..TIMES {
            let (from, to) = (time % 2, 1 - time % 2);
            let sent = std::mem::replace(message, Message::Answer(None));
            let start = Instant::now();
            self.channels[from].send(PlaceId(from as u32), PlaceId(to as u32), sent);
            self.ranks[from].turn().expect(LIVE);
            let halfway = Instant::now();
            self.ranks[to].turn().expect(LIVE);
            sums[1] += halfway.elapsed();
            sums[0] += halfway - start;
            let mut slot = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
            *message = slot.take().expect("a message of the other end");
        }
        sums.map(|sum| sum.as_nanos() as f64 / TIMES as f64)
    }

    /// Returns the bytes of one message of those so far, which were alike.
    fn bytes_each(&self) -> u64 {
        let traffic = self.channels[0].traffic();
        traffic.sent_bytes / traffic.sent.max(1)
    }
}

const LIVE: &str = "both ends live";
