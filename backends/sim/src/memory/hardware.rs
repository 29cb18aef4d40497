//! A running machine: the clocks of its threads.

use super::signals::{Bell, Lines};
use super::{Access, Machine, Memory, Region, coherent, scratch_pad};
use std::ops::Range;

/// The threads of a machine that take part, each with its clock.
///
/// Operations of a thread must be reported when no other awake thread has a lower clock, of equal
/// ones those of the lower thread first; then the clocks are right.
#[derive(Debug)]
pub struct Hardware {
    machine: Machine,
    memory: State,
    threads: Vec<Thread>,
    lines: Lines,
    patient: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    now: u64,
    /// The time at which all its stores are complete.
    stored: u64,
    asleep: bool,
    /// The distance between polls that it need not make.
    dozes: Option<u64>,
    /// The time at which it last relaxed.
    relaxed: u64,
    bell: Bell,
    accesses: u64,
}

#[derive(Debug)]
enum State {
    ScratchPad(scratch_pad::State),
    Coherent(coherent::State),
}

/// The cost of a store to its thread.
const ISSUE_CYCLES: u64 = 1;

impl Hardware {
    /// Creates the first `threads` threads of this machine, at time 0.
    ///
    /// # Panics
    /// If the machine has fewer.
    pub fn new(machine: Machine, threads: usize) -> Self {
        let (name, most) = (machine.name, machine.threads);
        assert!(
            threads <= most,
            "{threads} threads: {name} has {most} of them"
        );
        Self {
            machine,
            memory: match machine.memory {
                Memory::ScratchPad(costs) => {
                    State::ScratchPad(scratch_pad::State::new(costs, threads))
                }
                Memory::Coherent(costs) => State::Coherent(coherent::State::new(costs, threads)),
            },
            threads: vec![Thread::default(); threads],
            lines: Lines::new(machine.signals, threads),
            patient: false,
        }
    }

    /// From now on a thread that polls its own copies of some words and relaxes sleeps until one of
    /// their lines is written: the same times with less to simulate, provided that waiting threads
    /// poll the same words repeatedly, do nothing else, and never change that. Without caches it
    /// makes no difference.
    pub fn be_patient(&mut self) {
        self.patient = true;
    }

    /// Sets where everything lies that is not placed. Provided: on the chip. Caches make no
    /// difference.
    pub fn place_all(&mut self, region: Region) {
        if let State::ScratchPad(memory) = &mut self.memory {
            memory.place_all(region);
        }
    }

    /// Sets where the addresses of this range lie; later placements override earlier ones.
    pub fn place(&mut self, range: Range<usize>, region: Region) {
        if let State::ScratchPad(memory) = &mut self.memory {
            memory.place(range, region);
        }
    }

    /// Returns the clock of a thread, in cycles.
    pub fn now(&self, thread: usize) -> u64 {
        self.threads[thread].now
    }

    /// Returns the number of accesses of a thread.
    pub fn accesses(&self, thread: usize) -> u64 {
        self.threads[thread].accesses
    }

    /// Whether a thread has suspended itself and was not woken since, or polls words that were not
    /// changed.
    pub fn is_waiting(&self, thread: usize) -> bool {
        let state = &self.threads[thread];
        state.asleep || state.dozes.is_some()
    }

    /// Performs an access of a thread.
    ///
    /// # Panics
    /// If it is waiting.
    pub fn access(&mut self, thread: usize, address: usize, access: Access) {
        assert!(
            !self.is_waiting(thread),
            "thread {thread} waits, and no thread is left that could end that"
        );
        let state = &mut self.threads[thread];
        let now = state.now;
        state.accesses += 1;
        let done = match &mut self.memory {
            State::ScratchPad(memory) => memory.access(thread, address, access, state.now),
            State::Coherent(memory) => memory.access(thread, address, access, state.now),
        };
        if access == Access::Store {
            state.stored = state.stored.max(done);
            state.now += ISSUE_CYCLES;
        } else {
            state.now = done;
        }
        if let State::Coherent(memory) = &mut self.memory {
            for woken in memory.woken() {
                // At the same time the lower thread comes first, and has seen nothing.
                let seen = now + u64::from(woken < thread);
                self.threads[woken].look_again(seen);
            }
        }
    }

    /// Advances a thread until its stores are complete.
    pub fn fence(&mut self, thread: usize) {
        let state = &mut self.threads[thread];
        state.now = state.stored.max(state.now + ISSUE_CYCLES);
    }

    /// Advances a thread by this many cycles of computation.
    pub fn work(&mut self, thread: usize, cycles: u64) {
        self.threads[thread].now += cycles;
    }

    /// Advances a thread by a pause between two polls.
    pub fn relax(&mut self, thread: usize) {
        let state = &mut self.threads[thread];
        state.now += self.machine.spin_cycles;
        let pace = state.now - std::mem::replace(&mut state.relaxed, state.now);
        if let (true, State::Coherent(memory)) = (self.patient, &mut self.memory) {
            state.dozes = memory.doze(thread).then_some(pace);
        }
    }

    /// Returns the number of barrier lines.
    pub fn lines(&self) -> usize {
        self.machine.signals.lines.into()
    }

    /// Claims a free barrier line.
    pub fn claim(&mut self) -> Option<u8> {
        self.lines.claim()
    }

    /// Frees a line.
    ///
    /// # Panics
    /// If it is not claimed, or a thread is included in it.
    pub fn give_back(&mut self, line: u8) {
        self.lines.give_back(line);
    }

    /// Includes the thread in a line.
    ///
    /// # Panics
    /// If the line is not claimed, or it is included already.
    pub fn include(&mut self, line: u8, thread: usize) {
        self.lines.include(line, thread);
        self.work(thread, self.machine.signals.signal_cycles);
    }

    /// Excludes the thread from a line.
    ///
    /// # Panics
    /// If it is not included, or has arrived.
    pub fn exclude(&mut self, line: u8, thread: usize) {
        self.work(thread, self.machine.signals.signal_cycles);
        self.lines.exclude(line, thread, self.now(thread));
    }

    /// Records the arrival of a thread, with all its stores complete.
    ///
    /// # Panics
    /// If it is not included, or has arrived.
    pub fn arrive(&mut self, line: u8, thread: usize) {
        self.fence(thread);
        self.work(thread, self.machine.signals.signal_cycles);
        self.lines.arrive(line, thread, self.now(thread));
    }

    /// Returns whether all threads have arrived since this one last did.
    pub fn is_done(&mut self, line: u8, thread: usize) -> bool {
        self.work(thread, self.machine.signals.signal_cycles);
        self.lines.is_done(line, thread, self.now(thread))
    }

    /// Suspends the thread. Returns false if it had been woken: it continues, without the wake-up.
    pub fn suspend(&mut self, thread: usize) -> bool {
        let state = &mut self.threads[thread];
        state.now += ISSUE_CYCLES;
        match state.bell.take() {
            Some(rung) => state.now = state.now.max(rung),
            None => state.asleep = true,
        }
        state.asleep
    }

    /// Wakes another thread; the wake-up is sticky. All stores of the waker are complete.
    pub fn awake(&mut self, thread: usize, other: usize) {
        self.fence(thread);
        let signals = self.machine.signals;
        self.work(thread, signals.send_cycles);
        let at = self.now(thread) + signals.wake_cycles;
        let state = &mut self.threads[other];
        if std::mem::take(&mut state.asleep) {
            state.now = state.now.max(at);
        } else {
            state.bell.ring(at);
        }
    }
}

impl Thread {
    /// Records that the polled word has changed for polls from `seen` on: the thread continues with
    /// the first of them.
    fn look_again(&mut self, seen: u64) {
        if let Some(pace) = self.dozes.take() {
            let missed = seen.saturating_sub(self.now).div_ceil(pace);
            self.now += missed * pace;
            self.relaxed = self.now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CYCLOPS64, POWER7, Signals};
    use super::*;

    fn hardware(threads: usize) -> Hardware {
        Hardware::new(CYCLOPS64, threads)
    }

    #[test]
    fn a_store_is_waited_for_only_at_a_fence() {
        let mut hardware = hardware(1);
        hardware.access(0, 0, Access::Store);
        assert_eq!(hardware.now(0), 1);
        hardware.fence(0);
        let Memory::ScratchPad(costs) = CYCLOPS64.memory else {
            panic!("it has no caches");
        };
        assert_eq!(hardware.now(0), costs.on_chip.store_cycles);
    }

    /// The cause of the differences between memories: threads that poll a word queue at its bank.
    #[test]
    fn a_polled_word_costs_a_queue() {
        let round = |region, threads| {
            let mut hardware = hardware(threads);
            hardware.place_all(region);
            for _ in 0..10 {
                let mut order: Vec<_> = (0..threads).collect();
                order.sort_by_key(|thread| hardware.now(*thread));
                for thread in order {
                    hardware.access(thread, 0, Access::Load);
                }
            }
            hardware.now(threads - 1) / 10
        };
        let Memory::ScratchPad(costs) = CYCLOPS64.memory else {
            panic!("it has no caches");
        };
        assert_eq!(round(Region::OnChip, 1), costs.on_chip.load_cycles);
        assert_eq!(round(Region::OffChip, 1), costs.off_chip.load_cycles);
        // 160 concurrent accesses: the occupancy of the bank, 160 times.
        let all = 160 * costs.off_chip.busy_cycles;
        let found = round(Region::OffChip, 160);
        assert!((all..all + 10).contains(&found), "{found}");
    }

    #[test]
    fn calls_are_sent_one_after_the_other_and_none_is_lost() {
        let mut hardware = hardware(3);
        assert!(hardware.suspend(1));
        assert!(hardware.is_waiting(1));
        hardware.awake(0, 1);
        hardware.awake(0, 2);
        let Signals {
            send_cycles,
            wake_cycles,
            ..
        } = CYCLOPS64.signals;
        assert!(!hardware.is_waiting(1));
        assert_eq!(hardware.now(0), 2 * (send_cycles + 1));
        assert_eq!(hardware.now(1), 1 + send_cycles + wake_cycles);
        assert!(!hardware.suspend(2), "it had been woken");
        assert!(hardware.suspend(2), "once");
    }

    #[test]
    fn a_dozing_thread_looks_again_at_its_pace() {
        let mut hardware = Hardware::new(POWER7, 2);
        hardware.be_patient();
        for _ in 0..2 {
            hardware.access(0, 0, Access::Load);
            hardware.relax(0);
        }
        let (slept, pace) = (hardware.now(0), 12);
        assert!(hardware.is_waiting(0));
        hardware.work(1, slept + 10 * pace + 1);
        hardware.access(1, 0, Access::Store);
        assert!(!hardware.is_waiting(0));
        assert_eq!(hardware.now(0), slept + 11 * pace);
    }

    #[test]
    #[should_panic(expected = "thread 0 waits, and no thread is left")]
    fn who_waits_for_nobody_is_found() {
        let mut hardware = Hardware::new(POWER7, 1);
        hardware.be_patient();
        for _ in 0..3 {
            hardware.access(0, 0, Access::Load);
            hardware.relax(0);
        }
    }

    #[test]
    #[should_panic(expected = "161 threads: Cyclops64 has 160 of them")]
    fn a_machine_has_so_many_threads() {
        hardware(161);
    }
}
