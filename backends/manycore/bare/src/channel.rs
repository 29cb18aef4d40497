//! Records between two harts, both ways at once, through rings in static memory.
//!
//! A hart that can neither send nor receive suspends, until the mark of its sleep makes the other
//! one awake it.

use crate::Chip;
use crate::hart::Hart;
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering};
use tautline_core::WorkerId;
use tautline_core::channel::{Memory, Receiver, Refused, Sender};
use tautline_core::port::Thread;
use tautline_core::sync::{AtomicUsize, CachePadded};

/// Records each way.
const RECORDS: usize = 20_000;
/// Bytes of the longest record.
const LONGEST: usize = 100;
/// Words of a ring: a few records.
const UNITS: usize = 64;

/// The memory of a ring.
struct Ring {
    units: CachePadded<[AtomicUsize; UNITS]>,
    taken: CachePadded<AtomicUsize>,
    marks: CachePadded<[AtomicUsize; 2]>,
}

impl Ring {
    const fn new() -> Self {
        Self {
            units: CachePadded::new([const { AtomicUsize::new(0) }; UNITS]),
            taken: CachePadded::new(AtomicUsize::new(0)),
            marks: CachePadded::new([const { AtomicUsize::new(0) }; 2]),
        }
    }

    /// Whether the receiver has announced that it sleeps.
    fn has_sleeper(&self) -> bool {
        // ORDERING: Relaxed: the sender loads the mark again, after its fence.
        self.marks[0].load(Ordering::Relaxed) % 2 == 1
    }
}

impl Memory for Ring {
    fn units(&self) -> &[AtomicUsize] {
        &*self.units
    }

    fn taken(&self) -> &AtomicUsize {
        &self.taken
    }

    fn marks(&self) -> &[AtomicUsize; 2] {
        &self.marks
    }
}

/// By sender.
static RINGS: [Ring; 2] = [const { Ring::new() }; 2];
/// The checksums of what each hart has received.
static SUMS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Runs on each hart; the first two exchange records.
pub fn run(chip: &Chip, hart: usize) -> String {
    let me = Hart { chip, hart };
    if chip.harts() < RINGS.len() {
        return "no other hart".into();
    }
    // SAFETY: each hart of this program is a distinct worker.
    unsafe { chip.set_current(Some(me.worker(hart))) };
    let mut time = 0;
    if hart < RINGS.len() {
        let mut side = Side::new(me);
        time = me.time_ns(|| side.exchange());
        // ORDERING: Relaxed: read after all harts have met.
        SUMS[hart].store(side.sum, Ordering::Relaxed);
    }
    me.meet();
    // SAFETY: the hart stops acting as a worker here.
    unsafe { chip.set_current(None) };
    // ORDERING: Relaxed: stored before all harts met.
    let [first, second] = [0, 1].map(|hart| SUMS[hart].load(Ordering::Relaxed));
    let each = time / (2 * RECORDS) as u64;
    format!("{RECORDS} records each way, sums {first:016x} and {second:016x}, {each} ns a record")
}

/// Writes record `number` of a hart: 0 to [`LONGEST`] bytes.
fn write(hart: usize, number: usize, into: &mut [u8; LONGEST]) -> &[u8] {
    let record = &mut into[..number * 37 % (LONGEST + 1)];
    for (at, byte) in record.iter_mut().enumerate() {
        *byte = (number * 31 + at * 7 + hart) as u8;
    }
    record
}

/// One of the two harts.
struct Side<'c> {
    me: Hart<'c>,
    other: WorkerId,
    to: Sender<&'static Ring>,
    from: Receiver<&'static Ring>,
    sent: usize,
    received: usize,
    sum: u64,
}

impl<'c> Side<'c> {
    fn new(me: Hart<'c>) -> Self {
        Self {
            me,
            other: me.worker(1 - me.hart),
            to: Sender::new(&RINGS[me.hart]),
            from: Receiver::new(&RINGS[1 - me.hart]),
            sent: 0,
            received: 0,
            sum: 0xcbf2_9ce4_8422_2325,
        }
    }

    fn exchange(&mut self) {
        if self.me.hart == 1 {
            while self.received == 0 {
                if self.from.sleep(self.me.chip) {
                    self.me.suspend();
                }
                self.receive();
            }
        }
        // However fast the harts are, the first record of each finds the other one asleep.
        self.me.wait(|| RINGS[self.me.hart].has_sleeper());
        assert!(self.send(1), "a sleeping receiver must be awoken");
        while self.sent < RECORDS || self.received < RECORDS {
            self.send(RECORDS);
            self.receive();
            self.suspend();
        }
    }

    /// Sends the records up to number `most`, as far as there is room. Returns whether the other
    /// hart slept.
    fn send(&mut self, most: usize) -> bool {
        let mut bytes = [0; LONGEST];
        while self.sent < most {
            match self.to.send(write(self.me.hart, self.sent, &mut bytes)) {
                Ok(()) => self.sent += 1,
                Err(Refused::Full) => break,
                Err(error) => panic!("record {} is refused: {error:?}", self.sent),
            }
        }
        let slept = self.to.flush(self.me.chip);
        if slept {
            self.me.awake(self.other);
        }
        slept
    }

    /// Takes all records that are there.
    fn receive(&mut self) {
        let (mut bytes, mut expected) = ([0; LONGEST], [0; LONGEST]);
        while let Some(length) = self.from.peek().expect("a header of the other hart") {
            let record = &mut bytes[..length];
            self.from.take(record);
            let sent = write(1 - self.me.hart, self.received, &mut expected);
            assert_eq!(record, sent, "record {}", self.received);
            self.received += 1;
            // FNV-1a.
            let add = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
            self.sum = record.iter().fold(self.sum, add);
        }
        if self.from.release(self.me.chip) {
            self.me.awake(self.other);
        }
    }

    /// Suspends until a record or, if one is to be sent, room for it arrives; returns at once if
    /// that is there.
    fn suspend(&mut self) {
        if self.received < RECORDS && !self.from.sleep(self.me.chip) {
            return;
        }
        if self.sent < RECORDS {
            let mut bytes = [0; LONGEST];
            let length = write(self.me.hart, self.sent, &mut bytes).len();
            if !self.to.sleep(length, self.me.chip) {
                return;
            }
        } else if self.received == RECORDS {
            return;
        }
        self.me.suspend();
    }
}
