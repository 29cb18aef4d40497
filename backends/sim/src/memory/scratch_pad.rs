//! Memories without caches: banks behind a crossbar.

use super::Access;
use std::collections::HashMap;
use std::ops::Range;

/// The location of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// In the memory on the chip, at the same distance from all threads.
    OnChip,
    /// In the memory outside of the chip.
    OffChip,
    /// In the scratch-pad of this thread; for other threads it is as far as the chip's memory.
    Pad(usize),
}

/// The costs of a machine without caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScratchPad {
    /// The memory on the chip.
    pub on_chip: Banks,
    /// The memory outside of it.
    pub off_chip: Banks,
    /// A thread's load from its own scratch-pad.
    pub pad_load_cycles: u64,
    /// A thread's store to it.
    pub pad_store_cycles: u64,
}

/// The costs of one memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Banks {
    /// Banks; each serves one access at a time.
    pub count: usize,
    /// Bytes of a bank before the next bank begins.
    pub interleave_bytes: usize,
    /// From the issue of a store until the bank has it, without contention.
    pub store_cycles: u64,
    /// From the issue of a load until its value arrives, likewise; not less than `store_cycles`.
    pub load_cycles: u64,
    /// The time for which a load or a store occupies the bank.
    pub busy_cycles: u64,
    /// The time for which an update does, which is performed at the bank.
    pub update_busy_cycles: u64,
}

#[derive(Debug)]
pub(super) struct State {
    costs: ScratchPad,
    default: Region,
    placed: Vec<(Range<usize>, Region)>,
    /// The interleaved pieces of each memory, numbered in the order of first accesses: addresses
    /// differ from run to run.
    pieces: [HashMap<usize, usize>; 2],
    /// The time at which each bank is free again.
    free: [Vec<u64>; 2],
    pads: Vec<u64>,
}

impl State {
    pub(super) fn new(costs: ScratchPad, threads: usize) -> Self {
        Self {
            costs,
            default: Region::OnChip,
            placed: Vec::new(),
            pieces: [HashMap::new(), HashMap::new()],
            free: [vec![0; costs.on_chip.count], vec![0; costs.off_chip.count]],
            pads: vec![0; threads],
        }
    }

    pub(super) fn place_all(&mut self, region: Region) {
        self.default = region;
    }

    pub(super) fn place(&mut self, range: Range<usize>, region: Region) {
        self.placed.push((range, region));
    }

    fn region(&self, address: usize) -> Region {
        let of = |(range, _): &&(Range<usize>, _)| range.contains(&address);
        let placed = self.placed.iter().rev().find(of);
        placed.map_or(self.default, |(_, region)| *region)
    }

    /// Returns when an access made at `now` has reached its bank, was served and, unless it is a
    /// store, was answered.
    pub(super) fn access(
        &mut self,
        thread: usize,
        address: usize,
        access: Access,
        now: u64,
    ) -> u64 {
        let (which, banks) = match self.region(address) {
            Region::OnChip => (0, self.costs.on_chip),
            Region::OffChip => (1, self.costs.off_chip),
            Region::Pad(owner) => return self.pad(thread, owner, access, now),
        };
        let pieces = &mut self.pieces[which];
        let next = pieces.len();
        let piece = *pieces
            .entry(address / banks.interleave_bytes)
            .or_insert(next);
        serve(
            &mut self.free[which][piece % banks.count],
            banks,
            access,
            now,
        )
    }

    /// A local access waits for earlier ones of others, although these have a longer path: they are
    /// observed.
    fn pad(&mut self, thread: usize, owner: usize, access: Access, now: u64) -> u64 {
        let free = &mut self.pads[owner];
        if thread != owner {
            return serve(free, self.costs.on_chip, access, now);
        }
        let start = now.max(*free);
        let done = match access {
            Access::Load => start + self.costs.pad_load_cycles,
            Access::Store => start + self.costs.pad_store_cycles,
            Access::Update => start + self.costs.pad_load_cycles + self.costs.pad_store_cycles,
        };
        *free = done;
        done
    }
}

fn serve(free: &mut u64, banks: Banks, access: Access, now: u64) -> u64 {
    let start = (now + banks.store_cycles).max(*free);
    let (busy, back) = match access {
        Access::Load => (banks.busy_cycles, banks.load_cycles - banks.store_cycles),
        Access::Store => (banks.busy_cycles, 0),
        Access::Update => {
            let longer = banks.update_busy_cycles.saturating_sub(banks.busy_cycles);
            let back = banks.load_cycles - banks.store_cycles + longer;
            (banks.update_busy_cycles, back)
        }
    };
    *free = start + busy;
    start + back
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: ScratchPad = ScratchPad {
        on_chip: Banks {
            count: 8,
            interleave_bytes: 64,
            store_cycles: 20,
            load_cycles: 31,
            busy_cycles: 1,
            update_busy_cycles: 3,
        },
        off_chip: Banks {
            count: 2,
            interleave_bytes: 64,
            store_cycles: 36,
            load_cycles: 57,
            busy_cycles: 10,
            update_busy_cycles: 12,
        },
        pad_load_cycles: 2,
        pad_store_cycles: 1,
    };

    fn state() -> State {
        let mut state = State::new(COSTS, 4);
        state.place(1_000_000..2_000_000, Region::OffChip);
        state.place(2_000_000..3_000_000, Region::Pad(1));
        state
    }

    #[test]
    fn alone_an_access_takes_its_latency() {
        let alone = |address, access| state().access(0, address, access, 100) - 100;
        assert_eq!(alone(0, Access::Load), 31);
        assert_eq!(alone(0, Access::Store), 20);
        assert_eq!(alone(0, Access::Update), 33);
        assert_eq!(alone(1_500_000, Access::Load), 57);
        assert_eq!(alone(1_500_000, Access::Update), 59);
        assert_eq!(alone(2_500_000, Access::Load), 31);
    }

    #[test]
    fn accesses_of_one_bank_follow_each_other() {
        let mut state = state();
        let done: Vec<_> = (0..4)
            .map(|thread| state.access(thread, 1_000_000, Access::Load, 0))
            .collect();
        assert_eq!(done, [57, 67, 77, 87]);
        // A store after them, and a load after that.
        assert_eq!(state.access(0, 1_000_008, Access::Store, 5), 76);
        assert_eq!(state.access(1, 1_000_000, Access::Load, 6), 107);
    }

    #[test]
    fn other_banks_are_free() {
        let mut state = state();
        state.access(0, 1_000_000, Access::Load, 0);
        assert_eq!(state.access(1, 1_000_064, Access::Load, 0), 57);
        // Two banks: the third piece is in the first one again.
        assert_eq!(state.access(2, 1_000_128, Access::Load, 0), 67);
    }

    #[test]
    fn a_pad_is_near_to_its_owner() {
        let mut state = state();
        assert_eq!(state.access(1, 2_000_000, Access::Load, 0), 2);
        assert_eq!(state.access(1, 2_000_000, Access::Store, 2), 3);
        assert_eq!(state.access(0, 2_000_000, Access::Store, 10), 30);
        // The owner's next poll does not precede what it observes.
        assert_eq!(state.access(1, 2_000_000, Access::Load, 11), 33);
    }

    #[test]
    fn the_last_placement_counts() {
        let mut state = state();
        state.place(1_000_000..1_000_008, Region::OnChip);
        assert_eq!(state.access(0, 1_000_000, Access::Load, 0), 31);
        state.place_all(Region::OffChip);
        assert_eq!(state.access(0, 0, Access::Load, 0), 57);
    }
}
