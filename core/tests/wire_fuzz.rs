//! Parcels that no rank sends, with the check of a rank that does: errors in one line, never a
//! panic, in bounded memory.
//!
//! `wire_fuzz/*.txt` are inputs that are replayed, each with its outcome. Longer runs change them
//! at random.

use std::alloc::{self, GlobalAlloc, System};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::Location;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use tautline_core::collective::{Branch, Counts, InRound, Quiesce, Verdict};
use tautline_core::finish::{self, Finishes, Spawn};
use tautline_core::glb::{self, Protocol};
use tautline_core::lifeline::Graph;
use tautline_core::machine::{Action, Machine, Pick, Step, drive, no_calls};
use tautline_core::port::{Bell, Link, Lost, Spin};
use tautline_core::wire::{Channel, Exchange, Limits, Malformed, Portable, Receiver, seal, unpack};
use tautline_core::{Layout, PlaceId, Rank};

/// The system's allocator, with the bytes that a thread has reserved and the size of its largest
/// allocation.
struct Counted;

thread_local! {
    static RESERVED: Cell<usize> = const { Cell::new(0) };
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: alloc::Layout) -> *mut u8 {
        // A thread that ends has no cells any more.
        let _ = RESERVED.try_with(|all| all.set(all.get() + layout.size()));
        let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(layout.size())));
        // SAFETY: the caller meets the same conditions here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: alloc::Layout) {
        // SAFETY: the caller meets the same conditions here.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// Bytes of the body of a message, at most.
const BODY: usize = 4096;
/// Ranks, and places of each.
const RANKS: u32 = 2;
const PLACES: u32 = 2;
const HEADER: usize = 16;

type Item = (u32, Vec<u16>, Option<String>, BTreeMap<u8, (bool, i64)>);

/// A parcel from rank 1 to rank 0.
#[derive(Clone, Debug)]
struct Parcel {
    /// Whether it has the check that belongs to it.
    is_sealed: bool,
    bytes: Vec<u8>,
}

/// A link that takes its parcels from a test.
#[derive(Clone)]
struct Fed {
    here: u32,
    arrived: Rc<RefCell<Vec<Vec<u8>>>>,
    sent: Rc<RefCell<Vec<Vec<u8>>>>,
}

impl Link for Fed {
    fn here(&self) -> Rank {
        Rank(self.here)
    }

    fn ranks(&self) -> u32 {
        RANKS
    }

    fn bell(&self) -> Arc<dyn Bell> {
        Arc::new(|| ())
    }

    fn send(&mut self, _: Rank, parcel: &[u8]) {
        if self.here == 1 {
            self.sent.borrow_mut().push(parcel.to_vec());
        }
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let arrived = self.arrived.take();
        arrived.iter().for_each(|parcel| take(Rank(1), parcel));
        Ok(!arrived.is_empty())
    }

    fn unsent(&self, _: Rank) -> usize {
        0
    }
}

/// Picks the last.
struct Last;

impl Pick for Last {
    fn pick(&mut self, n: u32) -> u32 {
        n - 1
    }
}

/// A receiver that decodes messages for `machine`.
fn into<M: Portable, S: Send + 'static>(
    machine: S,
    on: impl Fn(&mut S, PlaceId, PlaceId, M) -> bool + Send + Sync + 'static,
) -> impl Receiver + 'static {
    let machine = Mutex::new(machine);
    move |from, to, body: &[u8]| {
        let message = unpack::<M>(body)?;
        let mut machine = machine.lock().expect("no machine panics");
        match on(&mut machine, from, to, message) {
            true => Ok(()),
            false => {
                let expected = "a message of a correct peer";
                Err(Malformed::refused(expected, body.len(), "refused").into())
            }
        }
    }
}

/// The places of rank 0, of which the first one searches for work.
fn balancers() -> Vec<Protocol<Item>> {
    let place = |here| Protocol::new(PlaceId(here), RANKS * PLACES, Graph::Full, 1);
    let mut places: Vec<_> = (0..PLACES).map(place).collect();
    drive(
        &mut places[0],
        &mut Last,
        |_| None,
        |place, step| place.event(glb::Event::Dry, step),
    );
    places
}

/// Place 0, which waits for an activity at place 2.
fn finishes() -> Finishes {
    let mut finishes = Finishes::new(PlaceId::HOME, Layout::new(RANKS, PLACES));
    let mut act = |_| ();
    let step = &mut Step::new(no_calls(), &mut act);
    let id = finishes.open(None, step);
    let spawned = finishes.spawned(id, PlaceId(2), step);
    assert_eq!(spawned, Spawn::Counted);
    finishes.event(finish::Event::Quiet(id), step);
    finishes
}

/// Rank 0, which has begun a round.
fn rounds() -> Quiesce {
    let mut rounds = Quiesce::new(Branch::new(Rank(0), RANKS, 2));
    rounds.event(Counts::default(), &mut Step::new(&mut (), &mut |_| ()));
    rounds
}

/// A rank with its channels, of which the last one is opened late.
struct Scene {
    link: Fed,
    exchange: Exchange<Fed>,
    /// The ends, which are closed when they are dropped.
    _open: [Box<dyn std::any::Any>; 4],
}

impl Scene {
    fn new(here: u32) -> Self {
        let link = Fed {
            here,
            arrived: Rc::default(),
            sent: Rc::default(),
        };
        let limits = Limits {
            body: BODY,
            early: 2 * BODY,
            ..Limits::default()
        };
        let exchange = Exchange::within(limits, link.clone(), Spin);
        let items = into(0, |sum: &mut usize, _, _, (_, numbers, ..): Item| {
            *sum += numbers.len();
            true
        });
        let idle = |action| match action {
            Action::Effect(glb::Effect::Take(demand)) => Some(glb::Event::Taken(demand, None)),
            _ => None,
        };
        let balancer = move |places: &mut Vec<Protocol<Item>>, from, to: PlaceId, message| {
            let place = &mut places[to.index()];
            drive(place, &mut Last, idle, |place, step| {
                place.receive(from, message, step)
            })
            .is_ok()
        };
        let finish = |all: &mut Finishes, from, _, message| {
            all.receive(from, message, &mut Step::new(&mut (), &mut |_| ()))
                .is_ok()
        };
        let round = |quiesce: &mut Quiesce, _, _, message: InRound| {
            let mut is_busy = false;
            let mut act = |action: Action<Quiesce>| {
                is_busy |= matches!(action, Action::Effect(Verdict::Busy));
            };
            let received = quiesce.receive(Rank(1), message, &mut Step::new(&mut (), &mut act));
            if is_busy {
                quiesce.event(Counts::default(), &mut Step::new(&mut (), &mut |_| ()));
            }
            received.is_ok()
        };
        let open = [
            Box::new(open::<Item>(&exchange, items)) as Box<dyn std::any::Any>,
            Box::new(open::<glb::Message<Item>>(
                &exchange,
                into(balancers(), balancer),
            )),
            Box::new(open::<finish::Message>(&exchange, into(finishes(), finish))),
            Box::new(open::<InRound>(&exchange, into(rounds(), round))),
        ];
        Self {
            link,
            exchange,
            _open: open,
        }
    }

    fn open_late(&self) -> Channel<Item> {
        open::<Item>(&self.exchange, into((), |(), _, _, _: Item| true))
    }
}

fn open<M: Portable + 'static>(
    exchange: &Exchange<Fed>,
    receiver: impl Receiver + 'static,
) -> Channel<M> {
    exchange.open_at(Location::caller(), "fuzzed", PLACES, receiver)
}

/// Returns what rank 1 sends when it opens all channels.
fn announcements() -> Vec<Vec<u8>> {
    let scene = Scene::new(1);
    scene.exchange.turn().unwrap();
    let late = scene.open_late();
    scene.exchange.turn().unwrap();
    let sent = scene.link.sent.take();
    drop(late);
    assert_eq!(sent.len(), 5);
    sent
}

/// Passes an input to rank 0, after the announcements of the channels that it has open. Returns the
/// error.
fn feed(announced: &[Vec<u8>], input: &[Parcel]) -> Option<String> {
    let scene = Scene::new(0);
    let arrived: usize = input.iter().map(|parcel| parcel.bytes.len()).sum();
    let mut parcels: Vec<_> = announced[..4].to_vec();
    for (number, parcel) in (4..).zip(input) {
        let mut bytes = parcel.bytes.clone();
        if parcel.is_sealed {
            seal(number, &mut bytes);
        }
        parcels.push(bytes);
    }
    RESERVED.set(0);
    LARGEST.set(0);
    *scene.link.arrived.borrow_mut() = parcels;
    let first = scene.exchange.turn();
    let late = first.is_ok().then(|| scene.open_late());
    let ended = scene.exchange.turn();
    let (reserved, largest) = (RESERVED.get(), LARGEST.get());
    // What is kept of a parcel, its decoded form, and the error about it; and the exchange's own.
    let bound = (64 << 10) + 64 * arrived;
    assert!(
        reserved <= bound,
        "{reserved} bytes for {arrived}: {input:?}"
    );
    assert!(
        largest <= (16 << 10) + 4 * arrived,
        "{largest} bytes for {arrived}: {input:?}"
    );
    drop(late);
    assert!(first.is_ok() || first == ended, "the first error stays");
    let line = ended.err()?.to_string();
    let is_named = line.starts_with("rank 0: ") && line.contains("rank 1");
    assert!(!line.contains(char::is_control), "{line:?}");
    assert!(is_named, "{line:?} for {input:?}");
    Some(line)
}

/// An input and its outcome.
struct Kept {
    name: String,
    parcels: Vec<Parcel>,
    /// Part of the error; `None` where the input is taken.
    expected: Option<String>,
}

/// Reads the inputs. A line is a parcel in hexadecimal digits, `sealed` or `raw`, or a comment
/// after `#`; the first one has the outcome.
fn corpus() -> Vec<Kept> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire_fuzz");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (first, rest) = text.split_once('\n').unwrap();
        let expected = first.strip_prefix("error: ").map(str::to_owned);
        assert!(expected.is_some() || first == "taken", "{name}: {first}");
        let lines = rest.lines().filter(|line| !line.starts_with('#'));
        let parcels = lines.map(|line| parcel(line).unwrap_or_else(|| panic!("{name}: {line}")));
        all.push(Kept {
            parcels: parcels.collect(),
            name,
            expected,
        });
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn parcel(line: &str) -> Option<Parcel> {
    let (word, digits) = line.split_once(' ')?;
    let is_sealed = word == "sealed";
    let mut bytes = Vec::new();
    for part in digits.split(' ') {
        // A byte many times: `ff*70000`.
        let (part, times) = part.split_once('*').unwrap_or((part, "1"));
        let pairs = part.as_bytes().chunks(2);
        let part: Option<Vec<u8>> = pairs
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        bytes.extend(part?.repeat(times.parse().ok()?));
    }
    (is_sealed || word == "raw").then_some(Parcel { is_sealed, bytes })
}

#[test]
fn kept_inputs_have_their_outcomes() {
    let announced = announcements();
    let corpus = corpus();
    assert!(corpus.len() >= 20, "{} inputs", corpus.len());
    for Kept {
        name,
        parcels,
        expected,
    } in corpus
    {
        let line = feed(&announced, &parcels);
        let is_same = match (&line, &expected) {
            (Some(line), Some(part)) => line.contains(&**part),
            (None, None) => true,
            _ => false,
        };
        assert!(is_same, "{name}: {line:?}, expected {expected:?}");
    }
}

/// Numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    /// A byte; often one at a border of the encoding.
    fn byte(&mut self) -> u8 {
        match self.below(2) {
            0 => [0, 1, 2, 127, 128, 255][self.below(6)],
            _ => self.below(256) as u8,
        }
    }

    /// Changes an input: its parcels, their order, their headers or their bodies.
    fn change(&mut self, input: &mut Vec<Parcel>, other: &[Parcel]) {
        let at = self.below(input.len());
        match self.below(12) {
            0 if input.len() < 12 => input.insert(at, input[self.below(at + 1)].clone()),
            1 if input.len() > 1 => drop(input.remove(at)),
            2 if input.len() < 12 => input.extend_from_slice(other),
            3 => input.swap(at, 0),
            4 => input[at].is_sealed = !input[at].is_sealed,
            _ => self.spoil(&mut input[at].bytes),
        }
    }

    fn spoil(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len().max(1)).min(bytes.len());
        match self.below(10) {
            0..3 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            3..5 if at < bytes.len() => bytes[at] = self.byte(),
            5 => bytes.truncate(at),
            6 => bytes.insert(at, self.byte()),
            7 => (0..self.below(20)).for_each(|_| bytes.push(self.byte())),
            8 if self.below(50) == 0 => {
                bytes.resize(HEADER + BODY + self.below(70_000), self.byte())
            }
            9 if bytes.len() >= HEADER => {
                // The kind, the channel or a place.
                let field = [12, 0, 4, 8][self.below(4)];
                bytes[field] = self.below(6) as u8;
            }
            _ => {}
        }
    }
}

/// Changes kept inputs at random; returns how many of the results were taken without an error.
fn change_inputs(inputs: usize, seed: u64) -> usize {
    let announced = announcements();
    let mut corpus = corpus();
    // Half of them begin as inputs that are taken.
    corpus.sort_by_key(|kept| kept.expected.is_some());
    let good = corpus.partition_point(|kept| kept.expected.is_none());
    let mut numbers = Numbers(seed);
    let mut taken = 0;
    for _ in 0..inputs {
        let among = [good, corpus.len()][numbers.below(2)];
        let mut input = corpus[numbers.below(among)].parcels.clone();
        let other = &corpus[numbers.below(among)].parcels;
        for _ in 0..=numbers.below(4) {
            numbers.change(&mut input, other);
        }
        taken += usize::from(feed(&announced, &input).is_none());
    }
    println!(
        "FUZZ inputs={inputs} taken={taken} refused={}",
        inputs - taken
    );
    taken
}

#[test]
fn changed_inputs_are_taken_or_refused() {
    let taken = change_inputs(20_000, 5);
    assert!((1_000..19_000).contains(&taken), "{taken} taken");
}

#[test]
#[ignore = "cargo ci deep: minutes"]
fn ten_million_changed_inputs() {
    let taken = change_inputs(10_000_000, 6);
    assert!(taken > 500_000, "{taken} taken");
}
