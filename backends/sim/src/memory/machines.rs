//! Machines, and where their figures come from.
//!
//! Published: in Chatterjee 2013. Reported: known from the literature on the machine, not compared
//! with it here. Assumed: no source has the figure; the order of magnitude at best.

use super::{Banks, Coherent, Machine, Memory, ScratchPad, Seats, Signals};

/// IBM Cyclops64: 80 cores of two thread units each, without data caches. Reported figures are from
/// papers on its system software from the University of Delaware, 2005 to 2010.
pub const CYCLOPS64: Machine = Machine {
    name: "Cyclops64",
    // Published.
    threads: 160,
    // Published.
    clock_mhz: 500,
    memory: Memory::ScratchPad(ScratchPad {
        on_chip: Banks {
            // Reported: one bank a thread unit.
            count: 160,
            // Assumed.
            interleave_bytes: 64,
            // Reported.
            store_cycles: 20,
            // Reported.
            load_cycles: 31,
            // From the crossbar's published 384 GB/s over its reported 96 ports: 8 bytes a cycle
            // each.
            busy_cycles: 1,
            // Assumed: read, add, write. That it is done at the memory is reported.
            update_busy_cycles: 3,
        },
        off_chip: Banks {
            // Reported.
            count: 4,
            // Assumed.
            interleave_bytes: 64,
            // Reported.
            store_cycles: 36,
            // Reported.
            load_cycles: 57,
            // The difference between loads from here and from the chip's memory, both reported: the
            // time of the DRAM itself, and a row cycle of such parts (DDR2: 55 ns). That it serves
            // one word at a time, with no row left open, is assumed; long bursts at the reported 16
            // GB/s would be 8 bytes a cycle and bank.
            busy_cycles: 26,
            // Assumed: a write follows in the open row.
            update_busy_cycles: 34,
        },
        // Reported.
        pad_load_cycles: 2,
        // Reported.
        pad_store_cycles: 1,
    }),
    // Assumed: compare, branch.
    spin_cycles: 2,
    signals: Signals {
        // Published.
        lines: 5,
        // Assumed: a special register.
        signal_cycles: 2,
        // Published: less than 10.
        bus_cycles: 8,
        // Assumed; published are tens of cycles for both together.
        send_cycles: 20,
        wake_cycles: 30,
    },
};

/// A node of four POWER7 chips of 8 cores, 4 threads a core.
pub const POWER7: Machine = Machine {
    name: "POWER7",
    // Published.
    threads: 128,
    // Reported for such nodes: 3.3 to 3.9 GHz.
    clock_mhz: 3_300,
    memory: Memory::Coherent(Coherent {
        // Reported.
        line_bytes: 128,
        // Published.
        cores: 32,
        // Published.
        core_threads: 4,
        // Reported.
        chip_cores: 8,
        // Assumed: the placement of a scheduler that leaves no core idle.
        seats: Seats::Spread,
        // Reported: of the first level.
        hit_cycles: 2,
        // Assumed: a pair of load and store with reservation, at the second level.
        update_cycles: 20,
        // Assumed: some 30 ns to another core's caches.
        chip_cycles: 100,
        // Assumed: some 100 ns to another chip's.
        far_cycles: 330,
        // Assumed: some 100 ns.
        memory_cycles: 350,
        // Assumed: a third of a transfer.
        share_cycles: 30,
    }),
    // Assumed: compare, branch.
    spin_cycles: 10,
    signals: NO_SIGNALS,
};

/// A node of two UltraSPARC T2 chips of 8 cores, 8 threads a core.
pub const NIAGARA2: Machine = Machine {
    name: "Niagara T2",
    // Published.
    threads: 128,
    // Reported for such nodes: 1.2 to 1.4 GHz.
    clock_mhz: 1_200,
    memory: Memory::Coherent(Coherent {
        // Reported: of the second level, which keeps the first ones coherent.
        line_bytes: 64,
        // Reported, the chips too.
        cores: 16,
        core_threads: 8,
        chip_cores: 8,
        // Assumed.
        seats: Seats::Spread,
        // Reported: of the first level.
        hit_cycles: 3,
        // Assumed: done at the second level.
        update_cycles: 26,
        // Reported: a hit in the second level, which all cores of a chip share.
        chip_cycles: 26,
        // Assumed.
        far_cycles: 200,
        // Assumed.
        memory_cycles: 150,
        // Assumed: what a bank of the second level takes for one access.
        share_cycles: 4,
    }),
    // Assumed: the threads of a core take turns.
    spin_cycles: 16,
    signals: NO_SIGNALS,
};

/// A node of two x86 processors of 32 cores, two threads a core. All assumed, after measurements of
/// such nodes.
pub const XEON: Machine = Machine {
    name: "Xeon",
    threads: 128,
    clock_mhz: 2_500,
    memory: Memory::Coherent(Coherent {
        line_bytes: 64,
        cores: 64,
        core_threads: 2,
        chip_cores: 32,
        seats: Seats::Spread,
        hit_cycles: 5,
        update_cycles: 20,
        chip_cycles: 150,
        far_cycles: 350,
        memory_cycles: 250,
        share_cycles: 40,
    }),
    // Reported of the instruction made for it, since 2017.
    spin_cycles: 140,
    signals: NO_SIGNALS,
};

/// Threads wake each other through the system: microseconds, assumed. There are no lines.
const NO_SIGNALS: Signals = Signals {
    lines: 0,
    signal_cycles: 0,
    bus_cycles: 0,
    send_cycles: 5_000,
    wake_cycles: 10_000,
};
