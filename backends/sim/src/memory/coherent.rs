//! Coherent caches: which caches have a copy of a line, and the distance to the next one.

use super::Access;
use std::collections::HashMap;

/// The costs of a machine with coherent caches, one a core. Transfers of one line follow each
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coherent {
    /// Bytes of a line.
    pub line_bytes: usize,
    /// Cores; at most 128.
    pub cores: usize,
    /// Hardware threads of a core, which share its cache.
    pub core_threads: usize,
    /// Cores of a chip.
    pub chip_cores: usize,
    /// The assignment of threads to cores.
    pub seats: Seats,
    /// A load from the core's own copy.
    pub hit_cycles: u64,
    /// An update of a line that the core owns; a miss adds its transfer.
    pub update_cycles: u64,
    /// A transfer between cores of one chip, or the invalidation of a copy there.
    pub chip_cycles: u64,
    /// The same between chips.
    pub far_cycles: u64,
    /// A load of a line that no cache has.
    pub memory_cycles: u64,
    /// From the beginning of a transfer that leaves the source its copy until the next one can
    /// begin.
    pub share_cycles: u64,
}

/// The order in which threads are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seats {
    /// A core is filled before the next one.
    Packed,
    /// All cores get one thread before one gets two.
    Spread,
}

#[derive(Clone, Debug, Default)]
struct Line {
    /// The cores that have a copy; one alone may write it if `owned`.
    holders: u128,
    owned: bool,
    /// The time at which the next transfer can begin.
    free: u64,
    /// The core of the last transfer, and when it received the line.
    last: (usize, u64),
    /// The threads that sleep until the line is written.
    dozers: Vec<usize>,
}

/// The accesses of a thread since it last relaxed.
#[derive(Clone, Debug, Default)]
struct Look {
    /// Nothing but loads from own copies.
    near: bool,
    lines: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct State {
    costs: Coherent,
    lines: HashMap<usize, Line>,
    /// The time at which the stores of each thread complete: in order.
    stored: Vec<u64>,
    looks: Vec<Look>,
    woken: Vec<usize>,
}

impl State {
    pub(super) fn new(costs: Coherent, threads: usize) -> Self {
        assert!(costs.cores <= 128, "{} cores: at most 128", costs.cores);
        Self {
            costs,
            lines: HashMap::new(),
            stored: vec![0; threads],
            looks: vec![Look::default(); threads],
            woken: Vec::new(),
        }
    }

    /// Records a failed poll. Returns true if another poll of its own copies finds the same until
    /// one of their lines is written: then the thread is reported by [`woken`](Self::woken).
    pub(super) fn doze(&mut self, thread: usize) -> bool {
        let me = 1 << self.core(thread);
        let fresh = Look {
            near: true,
            lines: Vec::new(),
        };
        let look = std::mem::replace(&mut self.looks[thread], fresh);
        let held = |line| {
            let line: Option<&Line> = self.lines.get(line);
            line.is_some_and(|line| line.holders & me != 0)
        };
        if !look.near || look.lines.is_empty() || !look.lines.iter().all(held) {
            return false;
        }
        for line in look.lines {
            self.lines.entry(line).or_default().dozers.push(thread);
        }
        true
    }

    /// Returns the threads that dozed and were disturbed since the last call.
    pub(super) fn woken(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.woken)
    }

    fn core(&self, thread: usize) -> usize {
        match self.costs.seats {
            Seats::Packed => thread / self.costs.core_threads,
            Seats::Spread => thread % self.costs.cores,
        }
    }

    /// Returns when an access made at `now` completes.
    pub(super) fn access(
        &mut self,
        thread: usize,
        address: usize,
        access: Access,
        now: u64,
    ) -> u64 {
        let (core, costs) = (self.core(thread), self.costs);
        let number = address / costs.line_bytes;
        let line = self.lines.entry(number).or_default();
        let look = &mut self.looks[thread];
        if !look.lines.contains(&number) {
            look.lines.push(number);
        }
        let stored = &mut self.stored[thread];
        let now = match access {
            Access::Load => now,
            Access::Store | Access::Update => now.max(*stored),
        };
        let done = match access {
            Access::Load => line.read(&costs, core, now) + costs.hit_cycles,
            Access::Store => line.take(&costs, core, now) + costs.hit_cycles,
            Access::Update => line.take(&costs, core, now) + costs.update_cycles,
        };
        look.near &= access == Access::Load && done == now + costs.hit_cycles;
        if access != Access::Load {
            *stored = done;
            // No other core receives the line while its owner writes it.
            line.free = line.free.max(done);
            line.last.1 = line.last.1.max(done);
            self.woken.append(&mut line.dozers);
        }
        done
    }
}

impl Line {
    /// Returns when `core` can read its copy.
    fn read(&mut self, costs: &Coherent, core: usize, now: u64) -> u64 {
        let me = 1 << core;
        if self.holders & me != 0 {
            return now.max(self.arrived(core));
        }
        let start = now.max(self.free);
        let way = match self.distances(costs, core).min() {
            None => costs.memory_cycles,
            Some(way) => way,
        };
        self.holders |= me;
        self.owned = false;
        self.last = (core, start + way);
        self.free = start + costs.share_cycles.min(way);
        start + way
    }

    /// Returns when `core` can write the line, and no other core has it.
    fn take(&mut self, costs: &Coherent, core: usize, now: u64) -> u64 {
        let me = 1 << core;
        if self.holders == me && self.owned {
            return now.max(self.arrived(core));
        }
        let start = now.max(self.free).max(self.arrived(core));
        let way = match self.distances(costs, core).max() {
            None if self.holders == me => 0,
            None => costs.memory_cycles,
            Some(way) => way,
        };
        self.holders = me;
        self.owned = true;
        self.last = (core, start + way);
        self.free = start + way;
        start + way
    }

    fn arrived(&self, core: usize) -> u64 {
        if self.last.0 == core { self.last.1 } else { 0 }
    }

    /// Returns the distance to the other cores that have a copy.
    fn distances(&self, costs: &Coherent, core: usize) -> impl Iterator<Item = u64> {
        let Coherent {
            cores,
            chip_cores,
            chip_cycles,
            far_cycles,
            ..
        } = *costs;
        let holders = self.holders;
        let others = (0..cores).filter(move |other| *other != core && holders >> other & 1 != 0);
        others.map(move |other| {
            if other / chip_cores == core / chip_cores {
                chip_cycles
            } else {
                far_cycles
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Coherent = Coherent {
        line_bytes: 64,
        cores: 8,
        core_threads: 2,
        chip_cores: 4,
        seats: Seats::Packed,
        hit_cycles: 2,
        update_cycles: 20,
        chip_cycles: 100,
        far_cycles: 300,
        memory_cycles: 400,
        share_cycles: 30,
    };

    fn state() -> State {
        State::new(COSTS, 16)
    }

    #[test]
    fn a_copy_is_near_and_others_are_as_far_as_they_are() {
        let mut state = state();
        let mut read = |thread, now| state.access(thread, 8, Access::Load, now) - now;
        assert_eq!(read(0, 0), 402);
        assert_eq!(read(0, 1_000), 2);
        assert_eq!(read(1, 1_000), 2, "its sibling");
        assert_eq!(read(2, 2_000), 102, "a core of the chip");
        assert_eq!(read(8, 3_000), 302, "another chip");
        assert_eq!(read(10, 4_000), 102, "from the nearest");
    }

    #[test]
    fn a_write_takes_all_copies() {
        let mut state = state();
        for thread in [0, 2, 8] {
            state.access(thread, 0, Access::Load, 0);
        }
        assert_eq!(state.access(0, 0, Access::Store, 2_000), 2_302);
        assert_eq!(state.access(0, 32, Access::Store, 3_000), 3_002, "owned");
        assert_eq!(state.access(2, 0, Access::Load, 4_000), 4_102);
        assert_eq!(
            state.access(0, 0, Access::Store, 5_000),
            5_102,
            "shared again"
        );
        assert_eq!(state.access(8, 0, Access::Update, 6_000), 6_320);
    }

    #[test]
    fn transfers_of_a_line_follow_each_other() {
        let mut state = state();
        let mut update = |thread, now| state.access(thread, 0, Access::Update, now);
        assert_eq!(update(0, 0), 420);
        assert_eq!(update(2, 1_000), 1_120);
        assert_eq!(update(4, 1_000), 1_240);
        assert_eq!(update(6, 1_001), 1_360);
        // Another line has nothing to do with it.
        assert_eq!(state.access(0, 64, Access::Load, 1_001), 1_403);
    }

    #[test]
    fn reads_overlap_and_writes_wait_for_them() {
        let mut state = state();
        state.access(0, 0, Access::Store, 0);
        let mut done: Vec<_> = [2, 4, 6]
            .map(|thread| state.access(thread, 0, Access::Load, 1_000))
            .into();
        assert_eq!(done, [1_102, 1_132, 1_162]);
        done = [0, 2]
            .map(|thread| state.access(thread, 0, Access::Store, 1_000))
            .into();
        assert_eq!(done, [1_192, 1_294]);
    }

    #[test]
    fn stores_of_one_thread_are_in_order() {
        let mut state = state();
        state.access(8, 0, Access::Store, 0);
        state.access(0, 64, Access::Store, 0);
        assert_eq!(state.access(0, 0, Access::Store, 1_000), 1_302);
        assert_eq!(state.access(0, 64, Access::Store, 1_001), 1_304);
    }

    #[test]
    fn who_looks_at_own_copies_dozes_until_one_is_written() {
        let mut state = state();
        state.access(0, 0, Access::Load, 0);
        assert!(!state.doze(0), "it was no copy yet");
        assert!(!state.doze(0), "it polled nothing");
        let look = |state: &mut State, now| {
            state.access(0, 0, Access::Load, now);
            state.access(0, 64, Access::Load, now);
            state.doze(0)
        };
        assert!(!look(&mut state, 1_000), "the other was no copy yet");
        assert!(look(&mut state, 2_000));
        state.access(2, 64, Access::Load, 2_500);
        assert_eq!(state.woken(), [0; 0]);
        state.access(1, 64, Access::Store, 3_000);
        assert_eq!(state.woken(), [0], "by its sibling");
        assert!(look(&mut state, 4_000));
        state.access(2, 0, Access::Update, 5_000);
        assert_eq!(state.woken().first(), Some(&0));
        assert!(!look(&mut state, 6_000), "its copy is gone");
    }

    #[test]
    fn threads_can_be_spread() {
        let costs = Coherent {
            seats: Seats::Spread,
            ..COSTS
        };
        let state = State::new(costs, 16);
        assert_eq!([0, 1, 8, 9].map(|t| state.core(t)), [0, 1, 0, 1]);
        assert_eq!([0, 1, 8, 9].map(|t| self::state().core(t)), [0, 0, 4, 4]);
    }
}
