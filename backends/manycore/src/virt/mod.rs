//! The machine `virt` of QEMU, in machine mode, without firmware: 1 to 64 RISC-V harts.
//!
//! A hart's wake-up bit is its pending software interrupt; resting is `wfi`, which a pending
//! interrupt ends although interrupts are off, so there are no handlers; the clock is the machine's
//! timer, and each hart's compare register bounds its rest. There is no barrier wire: a line is a
//! word in memory, and software interrupts notify its end.
//!
//! A program is linked with `link.ld` of this crate, and has a function `#[unsafe(no_mangle)] fn
//! board_main(found: Found) -> !`, called on hart 0. The other harts rest until [`Virt::start`].

mod hart;
mod stack;
mod start;

pub use start::Found;

use crate::Board;
use crate::device::{Clint, Finisher, Uart};
use core::fmt::{self, Write};
use core::ptr::NonNull;
use tautline_core::port::{Clock, Relax};
use tautline_core::sync::Lock;

/// The number of harts used; others stay in the entry code.
pub const MOST_HARTS: usize = crate::line::MOST_HARTS;

const FINISHER: usize = 0x10_0000;
const CLINT: usize = 0x200_0000;
const UART: usize = 0x1000_0000;

/// Bytes of stack of each hart, as a power of two; the lowest ones trap.
const STACK_SHIFT: usize = 18;

/// Turns for which a hart that panics waits for the serial line.
const MOST_TURNS: u32 = 1 << 20;

/// The board.
#[derive(Clone, Copy, Debug)]
pub struct Virt;

const fn device(address: usize) -> NonNull<u8> {
    NonNull::new(address as *mut u8).expect("no device at 0")
}

fn clint() -> Clint {
    // SAFETY: the device has registers for 4095 harts, and ignores writes to those of harts that
    // the machine lacks; no memory safety depends on an interrupt.
    unsafe { Clint::at(device(CLINT), MOST_HARTS) }
}

// SAFETY: the device exists, with registers one byte apart.
static LINE: Lock<Uart> = Lock::new(unsafe { Uart::at(device(UART)) });

impl Clock for Virt {
    fn now(&self) -> u64 {
        hart::time()
    }

    fn ticks_per_second(&self) -> f64 {
        1e7
    }
}

impl Relax for Virt {
    fn relax(&self, turn: u32) {
        self.doze(turn);
    }
}

/// Ticks are of 0.1 microseconds.
// SAFETY: the number is unique to the hart; the floor lies inside its stack or piece, as `stack`
// ensures; nothing unwinds.
unsafe impl Board for Virt {
    const REST_TICKS: u64 = 200;
    const WAKE_TICKS: u64 = 200;

    fn hart(&self) -> usize {
        hart::number()
    }

    fn ring(&self, hart: usize) {
        hart::order_devices();
        clint().set_software(hart, true);
    }

    fn rest(&self, within: Option<u64>) {
        let me = hart::number();
        if let Some(ticks) = within {
            clint().set_timer(me, hart::time().saturating_add(ticks));
        }
        if hart::wait(within.is_some()) {
            clint().set_software(me, false);
        }
        hart::order_devices();
    }

    fn stack_floor(&self) -> usize {
        stack::floor()
    }

    fn on_more_stack(&self, body: &mut dyn FnMut()) {
        stack::on_more(body);
    }
}

impl Virt {
    /// Writes to the serial line: all of it or, if the machine panics, interleaved with other
    /// harts' text.
    pub fn say(&self, text: fmt::Arguments<'_>) {
        let said = LINE.lock(self).write_fmt(text);
        said.expect("a line without errors");
    }

    /// As [`say`](Self::say), although a hart that has stopped for good may hold the line.
    pub fn cry(&self, text: fmt::Arguments<'_>) {
        let held = (0..MOST_TURNS).find_map(|_| LINE.try_lock());
        // SAFETY: the device exists, with registers one byte apart.
        let mut line = unsafe { Uart::at(device(UART)) };
        _ = line.write_fmt(text);
        drop(held);
    }

    /// Ends the machine with this exit code.
    pub fn exit(&self, code: u16) -> ! {
        // SAFETY: the device exists, and only this function uses it.
        unsafe { Finisher::at(device(FINISHER)) }.end(code);
        loop {
            self.rest(None);
        }
    }

    /// Starts the harts 1 to `harts` - 1, which call `entry` with their number, once.
    pub fn start(&self, harts: usize, entry: fn(usize)) {
        start::set_entry(entry);
        (1..harts).for_each(|hart| self.ring(hart));
    }
}
