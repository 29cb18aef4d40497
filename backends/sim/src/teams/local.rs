//! A barrier of the tasks of one rank, a hardware thread each, on a described machine.

use super::costs::log;
use crate::memory::{Access, Hardware, Machine, Memory};

/// The threads that one gathers, where there are no barrier lines.
const DEGREE: usize = 4;

/// Words do not share a line or an interleaved piece of memory.
const WORD_BYTES: usize = 4096;

/// The time of a barrier, from the last arrival until the last thread has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalCost {
    pub(super) cycles: u64,
    /// The bound: what the bus of a barrier line takes, or a transfer between distant threads for
    /// each level of the tree, up and down.
    pub(super) bound_cycles: u64,
}

impl LocalCost {
    /// Lets `tasks` threads meet: by a barrier line if the machine has one, else by a word each,
    /// gathered in a tree, and one that all poll.
    ///
    /// # Panics
    /// If there is no task, or if the machine has fewer threads.
    pub(super) fn of(machine: Machine, tasks: usize) -> Self {
        assert!(tasks > 0, "no task");
        let mut hardware = Hardware::new(machine, tasks);
        let cycles = match hardware.claim() {
            Some(line) => over_line(&mut hardware, line, tasks),
            None => Tree::new(tasks).meet(&mut hardware),
        };
        let bound_cycles = match (machine.memory, hardware.lines()) {
            (Memory::Coherent(costs), 0) => {
                u64::from(2 * log(tasks as u32, DEGREE as u32)) * costs.far_cycles
            }
            (Memory::ScratchPad(costs), 0) => {
                u64::from(2 * log(tasks as u32, DEGREE as u32)) * costs.on_chip.load_cycles
            }
            _ => machine.signals.bus_cycles,
        };
        Self {
            cycles,
            bound_cycles,
        }
    }
}

/// Returns the time of a barrier over a line.
fn over_line(hardware: &mut Hardware, line: u8, tasks: usize) -> u64 {
    (0..tasks).for_each(|thread| hardware.include(line, thread));
    let begin = last(hardware, tasks);
    for thread in 0..tasks {
        hardware.work(thread, begin - hardware.now(thread));
        hardware.arrive(line, thread);
    }
    for thread in 0..tasks {
        while !hardware.is_done(line, thread) {
            hardware.relax(thread);
        }
    }
    last(hardware, tasks) - begin
}

fn last(hardware: &Hardware, tasks: usize) -> u64 {
    let clocks = (0..tasks).map(|thread| hardware.now(thread));
    clocks.max().unwrap_or(0)
}

/// A barrier over a tree: each thread has a word, which its parent polls.
struct Tree {
    stages: Vec<Stage>,
    /// By thread, whether its word is set.
    arrived: Vec<bool>,
    is_released: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Polls the word of this child.
    Gathers(usize),
    /// Polls the word that releases all.
    Waits,
    Left,
}

impl Tree {
    fn new(tasks: usize) -> Self {
        let stage = |thread| Stage::Gathers(DEGREE * thread + 1);
        Self {
            stages: (0..tasks).map(stage).collect(),
            arrived: vec![false; tasks],
            is_released: false,
        }
    }

    /// Returns the time until all have left.
    fn meet(&mut self, hardware: &mut Hardware) -> u64 {
        let tasks = self.stages.len();
        loop {
            let inside = (0..tasks).filter(|thread| self.stages[*thread] != Stage::Left);
            // Of equal clocks the lower thread, as the hardware requires.
            let Some(next) = inside.min_by_key(|thread| hardware.now(*thread)) else {
                return last(hardware, tasks);
            };
            self.stages[next] = self.step(next, hardware);
        }
    }

    fn step(&mut self, thread: usize, hardware: &mut Hardware) -> Stage {
        let (stage, tasks) = (self.stages[thread], self.stages.len());
        let release = tasks * WORD_BYTES;
        match stage {
            Stage::Gathers(child) if child < tasks.min(DEGREE * (thread + 1) + 1) => {
                hardware.access(thread, child * WORD_BYTES, Access::Load);
                if self.arrived[child] {
                    return Stage::Gathers(child + 1);
                }
                hardware.relax(thread);
                stage
            }
            Stage::Gathers(_) => {
                let word = if thread == 0 {
                    release
                } else {
                    thread * WORD_BYTES
                };
                hardware.access(thread, word, Access::Store);
                hardware.fence(thread);
                self.arrived[thread] = true;
                self.is_released |= thread == 0;
                if thread == 0 {
                    Stage::Left
                } else {
                    Stage::Waits
                }
            }
            Stage::Waits => {
                hardware.access(thread, release, Access::Load);
                if self.is_released {
                    return Stage::Left;
                }
                hardware.relax(thread);
                stage
            }
            Stage::Left => stage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{CYCLOPS64, NIAGARA2, POWER7, XEON};

    #[test]
    fn a_line_takes_its_bus_and_polls() {
        let signals = CYCLOPS64.signals;
        for tasks in [1, 2, 64, 160] {
            let cost = LocalCost::of(CYCLOPS64, tasks);
            assert_eq!(cost.bound_cycles, signals.bus_cycles);
            // The fence before, the signal, a last poll that comes late by one at most.
            let poll = signals.signal_cycles + CYCLOPS64.spin_cycles;
            let most = 1 + signals.signal_cycles + signals.bus_cycles + 2 * poll;
            assert!(
                cost.cycles > cost.bound_cycles && cost.cycles <= most,
                "{cost:?}"
            );
        }
    }

    #[test]
    fn a_tree_releases_no_thread_before_all_have_arrived() {
        for tasks in [1, 2, 5, 6, 64] {
            let mut hardware = Hardware::new(POWER7, tasks);
            let late = tasks - 1;
            hardware.work(late, 1_000_000);
            let mut tree = Tree::new(tasks);
            let all = tree.meet(&mut hardware);
            assert!(tree.is_released && all >= 1_000_000);
            assert!((0..tasks).all(|thread| hardware.now(thread) >= 1_000_000));
        }
    }

    #[test]
    fn trees_take_a_few_times_their_transfers() {
        for machine in [NIAGARA2, POWER7, XEON] {
            let [few, many] = [4, 64].map(|tasks| LocalCost::of(machine, tasks));
            assert!(
                few.cycles < many.cycles,
                "{}: {few:?} {many:?}",
                machine.name
            );
            let (name, most) = (machine.name, 8 * many.bound_cycles);
            assert!(many.cycles < most, "{name}: {many:?}");
        }
    }
}
