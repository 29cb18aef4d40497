//! Memory that hostile bytes can make a rank reserve, and memory that an exchange keeps.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tautline_core::port::{Alone, Bell, Link, Lost, Spin};
use tautline_core::wire::{Bulk, Cause, Exchange, Terms, pack, seal, unpack};
use tautline_core::{PlaceId, Rank};

/// The system's allocator, with the size of the largest allocation and the bytes in use.
struct Largest;

static LARGEST: AtomicUsize = AtomicUsize::new(0);
static IN_USE: AtomicUsize = AtomicUsize::new(0);
/// One test at a time.
static ONE: Mutex<()> = Mutex::new(());

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Largest {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Relaxed);
        IN_USE.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller meets the same conditions here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller meets the same conditions here.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Largest = Largest;

/// Bodies that announce up to 2^64 elements and have none, or a few.
#[test]
fn announced_lengths_reserve_nothing() {
    let _one = ONE.lock().unwrap();
    for announced in [1u64 << 10, 1 << 20, 1 << 40, u64::MAX] {
        let mut bytes = Vec::new();
        pack(&announced, &mut bytes).unwrap();
        for more in [0, 1, 100] {
            bytes.resize(bytes.len() + more, 7);
            LARGEST.store(0, Relaxed);
            assert!(unpack::<Vec<u64>>(&bytes).is_err());
            assert!(unpack::<Vec<[u64; 32]>>(&bytes).is_err());
            assert!(unpack::<VecDeque<String>>(&bytes).is_err());
            assert!(unpack::<BTreeMap<u32, Vec<u8>>>(&bytes).is_err());
            assert!(unpack::<String>(&bytes).is_err());
            assert!(unpack::<Box<[Vec<u128>]>>(&bytes).is_err());
            assert!(unpack::<Bulk<u64>>(&bytes).is_err());
            let largest = LARGEST.load(Relaxed);
            assert!(
                largest < 256 << 10,
                "{largest} bytes at once for {announced} elements"
            );
        }
    }
}

/// Neither a long message nor a burst of short ones takes memory once others were sent.
#[test]
fn long_messages_and_bursts_are_not_kept() {
    const LONG: usize = 32 << 20;
    const BURST: usize = 1 << 20;
    let _one = ONE.lock().unwrap();
    let exchange = Exchange::new(Alone, Spin);
    let channel = exchange.open::<Bulk<u8>>("own", 1, |_, _, _: &[u8]| Ok(()));
    let send = |message| {
        channel.send(PlaceId(0), PlaceId(0), Bulk(message));
        while exchange.turn().unwrap() {}
    };
    send(Vec::new());
    let before = IN_USE.load(Relaxed);
    send(vec![1; LONG]);
    for _ in 0..BURST {
        channel.send(PlaceId(0), PlaceId(0), Bulk(Vec::new()));
    }
    send(Vec::new());
    let kept = IN_USE.load(Relaxed).saturating_sub(before);
    assert!(kept < 2 << 20, "{kept} bytes are kept");
}

/// The link of a rank whose peer announces one channel more in each poll.
struct Announcing {
    /// Characters of the type of messages.
    chars: usize,
    announced: u32,
}

impl Link for Announcing {
    fn here(&self) -> Rank {
        Rank(0)
    }

    fn ranks(&self) -> u32 {
        2
    }

    fn bell(&self) -> Arc<dyn Bell> {
        Arc::new(|| ())
    }

    fn send(&mut self, _: Rank, _: &[u8]) {}

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        const OPEN: u32 = 1;
        // A header: the channel, no places, and the sort.
        let words = [self.announced, 0, 0, OPEN];
        let mut parcel: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let terms = Terms {
            kind: String::new(),
            site: String::new(),
            message: "x".repeat(self.chars),
            places: 1,
            machine: (8, true),
        };
        pack(&terms, &mut parcel).unwrap();
        seal(self.announced.into(), &mut parcel);
        self.announced += 1;
        take(Rank(1), &parcel);
        Ok(true)
    }

    fn unsent(&self, _: Rank) -> usize {
        0
    }
}

/// A peer that announces channels without end, short or long ones, takes a megabyte.
#[test]
fn announcements_are_bounded() {
    const BOUND: usize = 1 << 20;
    let _one = ONE.lock().unwrap();
    for chars in [0, 1, 100, 10_000, 65_000] {
        let announced = 0;
        let before = IN_USE.load(Relaxed);
        let exchange = Exchange::new(Announcing { chars, announced }, Spin);
        let mut turns = 0;
        let error = loop {
            match exchange.turn() {
                Ok(_) => turns += 1,
                Err(error) => break error,
            }
            let kept = IN_USE.load(Relaxed) - before;
            // The exchange and the harness take a little.
            assert!(
                kept < BOUND + (64 << 10),
                "{kept} bytes after {turns} turns"
            );
        };
        let is_named = matches!(error.cause, Cause::TooEarly { limit: BOUND, .. });
        assert!(is_named && error.peer == Rank(1), "{error}");
        // Half of the bound is of use.
        assert!(turns * (chars + 640) > BOUND / 2, "{turns} turns");
    }
}
