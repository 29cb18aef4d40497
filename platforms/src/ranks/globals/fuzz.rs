//! Messages about shared objects that no rank sends, and forged names, at random: refused, or taken
//! without harm. None is a panic, and none reaches another object than the one that it names.

use super::inlet::Inlet;
use super::message::{Body, EncodedOutput, Ending, Envelope, GlobalRef, ObjectId};
use super::{Global, Globals, Operation, Protocol};
use crate::ranks::engine::{AnyLink, ProgressEngine};
use std::cell::Cell;
use std::convert::Infallible;
use std::mem;
use std::panic::{self, AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use tautline_core::coherence::{Answer, Grant, Message, Recall, Request};
use tautline_core::port::{Bell, Link, Lost};
use tautline_core::wire::{self, Cause, Limits, Receiver, pack, unpack, unpack_first};
use tautline_core::{PlaceId, Rank};

const RANKS: u32 = 4;

const PROTOCOLS: [Protocol; 3] = [Protocol::Home, Protocol::Directory, Protocol::Migratory];

/// A link to ranks that take everything and send nothing.
struct Deaf(u32);

impl Link for Deaf {
    fn here(&self) -> Rank {
        Rank(self.0)
    }

    fn ranks(&self) -> u32 {
        RANKS
    }

    fn bell(&self) -> Arc<dyn Bell> {
        Arc::new(|| ())
    }

    fn send(&mut self, _: Rank, _: &[u8]) {}

    fn poll(&mut self, _: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        Ok(false)
    }

    fn unsent(&self, _: Rank) -> usize {
        0
    }
}

/// A message with its payload where that belongs.
type Whole = Message<Vec<u8>, (u32, Vec<u8>), (EncodedOutput, Vec<u8>)>;

/// Inputs by a seed.
struct Numbers {
    state: u64,
    /// Whether the object is a text.
    is_text: bool,
    /// Whether its home is this rank.
    is_home: bool,
}

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % n as u64) as usize
    }

    fn is_rare(&mut self) -> bool {
        self.below(20) == 0
    }

    fn among<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A rank, rarely one that the program does not have.
    fn rank(&mut self) -> Rank {
        match self.is_rare() {
            true => Rank(self.among(&[RANKS, u32::MAX])),
            false => Rank(self.below(RANKS as usize) as u32),
        }
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let count = self.below(most + 1);
        let bytes = (0..count).map(|_| self.among(&[0, 1, 2, 127, 128, 255, 42, 9]));
        bytes.collect()
    }

    /// A value, rarely of another type than the object.
    fn value(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match (self.below(40), self.is_text) {
            (0, _) => bytes = self.bytes(20),
            (1, false) | (2.., true) => {
                pack(&"text".repeat(self.below(9)), &mut bytes).expect("a text");
            }
            _ => pack(&(self.below(300) as u64), &mut bytes).expect("a number"),
        }
        bytes
    }

    fn call(&mut self) -> (u32, Vec<u8>) {
        let position = match self.below(40) {
            0 => self.among(&[3, 99, u32::MAX, u32::MAX - 1, u32::MAX - 17]),
            1..10 if !self.is_text => u32::MAX - 16 + self.below(7) as u32,
            10 => self.below(3) as u32,
            _ => u32::from(self.is_text),
        };
        (position, self.value())
    }

    fn output(&mut self) -> (EncodedOutput, Vec<u8>) {
        match self.below(4) {
            0 => {
                let output = EncodedOutput::Panicked(self.rank(), "a text".into());
                (output, Vec::new())
            }
            1 => (EncodedOutput::Unencodable("a text".into()), Vec::new()),
            _ => (EncodedOutput::Value, self.value()),
        }
    }

    fn access(&mut self) -> u64 {
        match self.is_rare() {
            true => self.among(&[100, u64::MAX]),
            false => self.below(6) as u64,
        }
    }

    fn request(&mut self) -> Request<(u32, Vec<u8>)> {
        match self.below(8) {
            0 => Request::Read,
            1 => Request::Write,
            2 => Request::Upgrade,
            3 => Request::ReadExclusive,
            4 => Request::Get,
            5 => Request::Borrow,
            _ => Request::Operate {
                access: self.access(),
                operation: self.call(),
            },
        }
    }

    fn grant(&mut self) -> Grant<Vec<u8>, (EncodedOutput, Vec<u8>)> {
        match self.below(9) {
            0 => Grant::Shared(self.value()),
            1 => Grant::Exclusive(self.value()),
            2 => Grant::Upgraded,
            3 => Grant::Owned {
                former: self.rank(),
            },
            4 => Grant::Value(self.value()),
            5 => Grant::Done {
                access: self.access(),
                output: self.output(),
            },
            6 => Grant::Lent(self.value()),
            7 => Grant::Refused,
            _ => Grant::Lost {
                owner: self.rank(),
                access: (self.below(2) == 0).then(|| self.access()),
            },
        }
    }

    fn recall(&mut self) -> Recall {
        match self.below(6) {
            0 => Recall::Share,
            1 => Recall::Take,
            2 | 3 => Recall::Pass(self.rank()),
            _ => Recall::Invalidate,
        }
    }

    fn answer(&mut self) -> Answer<Vec<u8>> {
        match self.below(6) {
            0 => Answer::Invalidated,
            1 => Answer::Value(self.value()),
            2 => Answer::Passed,
            3 => Answer::Returned(self.value()),
            4 => Answer::Evicted(self.value()),
            _ => Answer::Missing(self.rank()),
        }
    }

    /// A message that the home, or another rank, may get; rarely the other one.
    fn message(&mut self) -> Whole {
        match (self.is_home ^ self.is_rare(), self.below(8)) {
            (true, 0..6) => Message::Request(self.request()),
            (true, _) => Message::Answer(self.answer()),
            (false, 0..4) => Message::Recall(self.recall()),
            (false, 4) => Message::Passed(self.value()),
            (false, _) => Message::Grant(self.among(&PROTOCOLS), self.grant()),
        }
    }

    /// The body of a message, and its payload, which is rarely there where none is expected.
    fn body(&mut self) -> (Body, Vec<u8>) {
        let payload = Cell::new(match self.below(300) {
            0 => self.bytes(3),
            _ => Vec::new(),
        });
        let body = match self.below(200) {
            0 => Body::Ended(Ending::Differs("a text".into())),
            1 => Body::Ended(Ending::Unusable("a text".into())),
            2 => Body::Ended(Ending::Violated(self.rank())),
            3 => Body::Ended(Ending::Freed),
            _ => {
                let message = self.message().try_map(
                    |value| {
                        payload.set(value);
                        Ok::<_, Infallible>(())
                    },
                    |(position, args)| {
                        payload.set(args);
                        Ok(position)
                    },
                    |(output, result)| {
                        payload.set(result);
                        Ok(output)
                    },
                );
                let Ok(message) = message;
                Body::Message(message)
            }
        };
        (body, payload.take())
    }

    fn spoil(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len().max(1)).min(bytes.len());
        match self.below(8) {
            0..3 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            3 if at < bytes.len() => bytes[at] = self.among(&[0, 1, 127, 128, 255]),
            4 => bytes.truncate(at),
            5 => bytes.insert(at, self.among(&[0, 1, 127, 128, 255])),
            6 => bytes.extend(self.bytes(20)),
            // Beyond what is sent at once.
            7 if self.below(200) == 0 => bytes.resize(100_000, self.among(&[0, 1, 255])),
            _ => {}
        }
    }
}

/// Counts of what became of inputs.
#[derive(Debug, Default)]
struct Fates {
    taken: usize,
    refused: usize,
    /// Names that were those of an object, and those that were refused.
    opened: usize,
    unknown: usize,
}

/// The objects of a rank.
struct Objects {
    globals: Globals,
    numbers: [Global<u64>; 2],
    texts: [Global<String>; 2],
    add: Operation<u64, u64, u64>,
    /// Two objects that no input names: their home is this rank, and another one.
    spared: [Global<u64>; 2],
}

/// The value of objects that no input names.
const SPARED: u64 = 4_711;

impl Objects {
    fn new(here: Rank, protocol: Protocol) -> Self {
        let link: AnyLink = Box::new(Deaf(here.0));
        let engine = ProgressEngine::new(Limits::default(), link, None, false);
        let shared = Inlet::open(&engine, Location::caller());
        let mut globals = Globals {
            engine,
            shared,
            created: 0,
        };
        let homes = [here, Rank((here.0 + 1) % RANKS)];
        let numbers = homes.map(|home| globals.create_as(protocol, home, || 7));
        let texts = homes.map(|home| globals.create_as(protocol, home, || "seven".to_owned()));
        let add = globals.operation(|number: &mut u64, by: u64| {
            *number = number.wrapping_add(by);
            *number
        });
        _ = globals.operation(|text: &mut String, more: String| text.push_str(&more));
        _ = globals.operation(|number: &mut u64, ()| -> u64 { panic!("at {number}") });
        let spared = homes.map(|home| globals.create(home, || SPARED));
        Self {
            globals,
            numbers,
            texts,
            add,
            spared,
        }
    }

    /// Returns the values of the objects that no input names, if their copies are current.
    fn spared(&self) -> [Option<u64>; 2] {
        let names = self.spared.each_ref().map(Global::name);
        names.map(|name| {
            let found = self.globals.shared.find(name, Location::caller());
            let record = found.expect("this rank has created it");
            record.copy.value().map(|value| *value)
        })
    }

    /// Begins a random access, which need not end.
    fn access(&self, numbers: &mut Numbers) {
        let number = &self.numbers[numbers.below(self.numbers.len())];
        let text = &self.texts[numbers.below(self.texts.len())];
        match numbers.below(12) {
            0 | 1 => drop(number.read_async()),
            2 | 3 => drop(number.update_async(&self.add, 1)),
            4 | 5 => drop(number.modify_async(|number| *number = number.wrapping_add(1))),
            6 | 7 => drop(text.read_async()),
            8 | 9 => drop(text.modify_async(|text| text.push('x'))),
            10 => number.set_protocol(numbers.among(&PROTOCOLS)),
            _ => text.set_protocol(numbers.among(&PROTOCOLS)),
        }
    }

    /// The name and check of an object, one of which may be that of another object.
    fn named(&self, here: Rank, numbers: &mut Numbers) -> (ObjectId, u32) {
        let at = numbers.below(2);
        numbers.is_text = numbers.below(2) == 0;
        let (number, text) = (self.numbers[at].name(), self.texts[at].name());
        let [of_number, of_text] = [(number.id, number.check), (text.id, text.check)];
        let ((id, check), other) = match numbers.is_text {
            true => (of_text, of_number),
            false => (of_number, of_text),
        };
        numbers.is_home = id.home == here;
        match numbers.below(100) {
            0 => (other.0, check),
            1 => (id, other.1),
            2 => (ObjectId::created(numbers.rank(), 99), check),
            3 => (ObjectId::published(numbers.rank(), 0), check),
            _ => (id, check),
        }
    }

    /// Whether the bytes are a message about one of the objects that none is to be about.
    fn is_about_spared(&self, bytes: &[u8]) -> bool {
        let envelope = unpack_first::<Envelope>(bytes);
        envelope.is_ok_and(|(it, _)| {
            let is_report = !matches!(it.body, Body::Message(_));
            let mut spared = self.spared.iter().map(Global::name);
            spared.any(|name| name.id == it.id && (name.check == it.check || is_report))
        })
    }

    /// Opens an object by a name of which bytes are changed.
    fn open(&self, here: Rank, numbers: &mut Numbers, fates: &mut Fates) {
        let (id, check) = self.named(here, numbers);
        let mut bytes = Vec::new();
        pack(&GlobalRef::<u64>::new(id, check), &mut bytes).expect("a name");
        if numbers.below(3) == 0 {
            numbers.spoil(&mut bytes);
        }
        let Ok(name) = unpack::<GlobalRef<u64>>(&bytes) else {
            fates.unknown += 1;
            return;
        };
        match self.globals.open(name) {
            Ok(object) => {
                assert!(object.name() == name, "{object:?} for {name:?}");
                fates.opened += 1;
            }
            Err(_) => fates.unknown += 1,
        }
    }
}

thread_local! {
    /// Whether panics of this thread are those of operations, which are contained.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Prints no panic of the operation that always panics.
fn quiet() {
    IS_QUIET.set(true);
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let text = info.payload().downcast_ref::<String>();
        let is_own = text.is_some_and(|text| text.starts_with("at "));
        if !IS_QUIET.get() || !is_own {
            before(info);
        }
    }));
}

/// Passes inputs to the objects of a rank until one is refused, and then ends the channels.
fn scene(numbers: &mut Numbers, fates: &mut Fates) {
    let here = Rank(numbers.below(RANKS as usize) as u32);
    let objects = Objects::new(here, numbers.among(&PROTOCOLS));
    let inlet = Inlet::of(&objects.globals.shared);
    let mut last = Vec::new();
    let mut peer = here;
    for _ in 0..30 {
        if numbers.below(3) == 0 {
            objects.access(numbers);
        }
        if numbers.below(10) == 0 {
            objects.open(here, numbers, fates);
        }
        let (id, check) = objects.named(here, numbers);
        peer = Rank((here.0 + 1 + numbers.below(RANKS as usize - 1) as u32) % RANKS);
        if !numbers.is_home && numbers.below(8) > 0 && id.home.0 < RANKS && id.home != here {
            peer = id.home;
        }
        if numbers.below(60) == 0 {
            inlet.left(peer).expect("it may leave");
            continue;
        }
        let mut bytes = match numbers.is_rare() && !last.is_empty() {
            true => mem::take(&mut last),
            false => {
                let (body, payload) = numbers.body();
                let mut bytes = Vec::new();
                pack(&Envelope { id, check, body }, &mut bytes).expect("a message");
                bytes.extend(payload);
                bytes
            }
        };
        if numbers.below(20) == 0 {
            numbers.spoil(&mut bytes);
        }
        if objects.is_about_spared(&bytes) {
            continue;
        }
        let taken = inlet.take(PlaceId(peer.0), PlaceId(here.0), &bytes);
        last = bytes;
        match taken {
            Ok(()) => fates.taken += 1,
            Err(_) => {
                fates.refused += 1;
                break;
            }
        }
    }
    assert_eq!(objects.spared(), [Some(SPARED), None], "{here}");
    let cause = Cause::Lost {
        doing: "the end of a test",
    };
    inlet.fail(&wire::Error {
        here,
        peer,
        channel: None,
        cause,
    });
    (0..3).for_each(|_| objects.access(numbers));
    assert_eq!(objects.spared(), [None, None], "{here}");
}

fn check(inputs: usize, seed: u64) {
    quiet();
    let mut fates = Fates::default();
    let mut numbers = Numbers {
        state: seed,
        is_text: false,
        is_home: false,
    };
    while fates.taken + fates.refused < inputs {
        let before = numbers.state;
        let run = || scene(&mut numbers, &mut fates);
        let ended = catch_unwind(AssertUnwindSafe(run));
        assert!(ended.is_ok(), "a panic, with the seed {before}");
    }
    println!("FUZZ {fates:?}");
    let least = inputs / 20;
    assert!(
        fates.taken > 6 * least && fates.refused > 2 * least,
        "{fates:?}"
    );
    assert!(
        fates.opened > least / 2 && fates.unknown > least / 5,
        "{fates:?}"
    );
}

#[test]
fn messages_at_random_are_taken_or_refused() {
    check(10_000, 5);
}

#[test]
#[ignore = "cargo ci deep: ten million messages"]
fn ten_million_messages_at_random() {
    check(10_000_000, 6);
}
