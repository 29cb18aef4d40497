//! A machine at work: the clocks of its threads.

use super::signals::{Bell, Lines};
use super::{Access, Machine, Memory, Region, coherent, scratch_pad};
use std::ops::Range;

/// The threads of a machine that take part, each with its clock.
///
/// A thread's deeds must be told when no other thread that is awake has a lesser clock, of equal ones those of the lesser
/// thread first; then the clocks are right.
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
    /// When all its stores are done.
    stored: u64,
    asleep: bool,
    /// How far apart the looks are that it need not make.
    dozes: Option<u64>,
    /// When it last relaxed.
    relaxed: u64,
    bell: Bell,
    accesses: u64,
}

#[derive(Debug)]
enum State {
    ScratchPad(scratch_pad::State),
    Coherent(coherent::State),
}

/// What a store takes of its thread.
const ISSUE_CYCLES: u64 = 1;

impl Hardware {
    /// The first `threads` of this machine, at moment 0.
    ///
    /// # Panics
    /// If it has fewer.
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

    /// From now on a thread that looks at its own copies of some words and relaxes waits for somebody to write one of
    /// their lines: the same times with less to do, if threads that wait look at the same words again and again, do
    /// nothing else, and never tire of it. Without caches it makes no difference.
    pub fn be_patient(&mut self) {
        self.patient = true;
    }

    /// Where all lies that is not placed. Provided: on the chip. Caches make no difference.
    pub fn place_all(&mut self, region: Region) {
        if let State::ScratchPad(memory) = &mut self.memory {
            memory.place_all(region);
        }
    }

    /// Where the addresses of this range lie; later placements go before earlier ones.
    pub fn place(&mut self, range: Range<usize>, region: Region) {
        if let State::ScratchPad(memory) = &mut self.memory {
            memory.place(range, region);
        }
    }

    /// The clock of a thread, in cycles.
    pub fn now(&self, thread: usize) -> u64 {
        self.threads[thread].now
    }

    /// Accesses that a thread has made.
    pub fn accesses(&self, thread: usize) -> u64 {
        self.threads[thread].accesses
    }

    /// Whether a thread has suspended itself and nobody has called it since, or looks at words that nobody has changed.
    pub fn is_waiting(&self, thread: usize) -> bool {
        let state = &self.threads[thread];
        state.asleep || state.dozes.is_some()
    }

    /// A thread makes an access.
    ///
    /// # Panics
    /// If it is waiting.
    pub fn access(&mut self, thread: usize, address: usize, access: Access) {
        assert!(
            !self.is_waiting(thread),
            "thread {thread} waits, and nobody is left who could end that"
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
                // At the same moment the lesser thread comes first, and has seen nothing.
                let seen = now + u64::from(woken < thread);
                self.threads[woken].look_again(seen);
            }
        }
    }

    /// A thread waits until its stores are done.
    pub fn fence(&mut self, thread: usize) {
        let state = &mut self.threads[thread];
        state.now = state.stored.max(state.now + ISSUE_CYCLES);
    }

    /// A thread computes for so many cycles.
    pub fn work(&mut self, thread: usize, cycles: u64) {
        self.threads[thread].now += cycles;
    }

    /// A thread waits between two looks.
    pub fn relax(&mut self, thread: usize) {
        let state = &mut self.threads[thread];
        state.now += self.machine.spin_cycles;
        let pace = state.now - std::mem::replace(&mut state.relaxed, state.now);
        if let (true, State::Coherent(memory)) = (self.patient, &mut self.memory) {
            state.dozes = memory.doze(thread).then_some(pace);
        }
    }

    /// How many barrier lines there are.
    pub fn lines(&self) -> usize {
        self.machine.signals.lines.into()
    }

    /// A barrier line that nobody has.
    pub fn claim(&mut self) -> Option<u8> {
        self.lines.claim()
    }

    /// Gives a line back.
    ///
    /// # Panics
    /// If it is not claimed, or somebody is included in it.
    pub fn give_back(&mut self, line: u8) {
        self.lines.give_back(line);
    }

    /// A thread includes itself in a line.
    ///
    /// # Panics
    /// If the line is not claimed, or it is included already.
    pub fn include(&mut self, line: u8, thread: usize) {
        self.lines.include(line, thread);
        self.work(thread, self.machine.signals.signal_cycles);
    }

    /// A thread leaves a line.
    ///
    /// # Panics
    /// If it is not included, or has arrived.
    pub fn exclude(&mut self, line: u8, thread: usize) {
        self.work(thread, self.machine.signals.signal_cycles);
        self.lines.exclude(line, thread, self.now(thread));
    }

    /// A thread has come, and all that it stored is done.
    ///
    /// # Panics
    /// If it is not included, or has arrived.
    pub fn arrive(&mut self, line: u8, thread: usize) {
        self.fence(thread);
        self.work(thread, self.machine.signals.signal_cycles);
        self.lines.arrive(line, thread, self.now(thread));
    }

    /// A thread looks whether all have come since it last arrived.
    pub fn is_done(&mut self, line: u8, thread: usize) -> bool {
        self.work(thread, self.machine.signals.signal_cycles);
        self.lines.is_done(line, thread, self.now(thread))
    }

    /// A thread suspends itself. False if it had been called: it goes on, without.
    pub fn suspend(&mut self, thread: usize) -> bool {
        let state = &mut self.threads[thread];
        state.now += ISSUE_CYCLES;
        match state.bell.take() {
            Some(rung) => state.now = state.now.max(rung),
            None => state.asleep = true,
        }
        state.asleep
    }

    /// A thread calls another one; the call stays until that one suspends itself. All that the caller stored is done.
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
    /// What it looks at has changed for looks from `seen` on: it goes on with the first of them.
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

    /// Where the orders between memories come from: who polls a word stands in a queue at its bank.
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
        // 160 at once: what the bank is taken for, 160 times.
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
        assert!(!hardware.suspend(2), "it had been called");
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
    #[should_panic(expected = "thread 0 waits, and nobody is left")]
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
