//! A loop in virtual time: processors that take chunks from a queue without contention.
//!
//! # Algorithm
//! Model M1 of Lucco 1995 (spec 5.4): all processors start together; a chunk costs the overhead and
//! the times of its iterations; the next chunk goes to the first processor that is free. Policies
//! know the mean and the variation of the times.

use super::{Scheme, Times};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tautline_core::taper::{Division, Instance, Overhead, Policy};

/// The processors of a simulated loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The number of processors, at least 1.
    pub processors: u32,
    /// The overhead of a chunk, without its iterations, in nanoseconds.
    pub chunk_ns: u64,
}

/// A step of a processor, which took a chunk, then executed its iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The processor, from 0.
    pub processor: u32,
    /// The time at which it was free, in nanoseconds from the start of the loop.
    pub from: u64,
    /// The time at which it had the chunk.
    pub taken: u64,
    /// The time at which it had executed the chunk.
    pub to: u64,
}

/// The result of a simulated loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executed {
    /// The time of the last processor, in nanoseconds.
    pub makespan_ns: u64,
    /// The number of chunks.
    pub chunks: u64,
    processors: u32,
}

impl Executed {
    /// Returns the efficiency: the time of all iterations by that of all processors until the last
    /// one has ended. 1 if both are 0.
    pub fn efficiency(&self, times: &Times) -> f64 {
        let all = f64::from(self.processors) * self.makespan_ns as f64;
        if all > 0.0 {
            times.sum() as f64 / all
        } else {
            1.0
        }
    }
}

impl Queue {
    /// Executes the loop by `scheme`.
    ///
    /// # Panics
    /// If there is no processor.
    pub fn run(&self, scheme: Scheme, times: &Times) -> Executed {
        self.watched(scheme, times, |_| ())
    }

    /// Executes the loop by `scheme`, and reports each chunk to `watch` in the order in which the
    /// chunks are taken.
    ///
    /// # Panics
    /// If there is no processor.
    pub fn watched(&self, scheme: Scheme, times: &Times, watch: impl FnMut(Served)) -> Executed {
        let estimate = times.estimate();
        let overhead = Overhead {
            chunk_ns: self.chunk_ns,
            band: 0,
        };
        let cx = Instance::new(times.len() as u64, self.processors);
        let cx = cx.with_overhead(overhead, &estimate);
        let mut state = State {
            queue: *self,
            times,
            watch,
            end: Executed {
                makespan_ns: 0,
                chunks: 0,
                processors: self.processors,
            },
        };
        match scheme {
            Scheme::Static(division) => state.divided(division),
            Scheme::KruskalWeiss => {
                let policy = Policy::kruskal_weiss(&cx, overhead, estimate);
                state.shared(policy, &cx);
            }
            Scheme::Policy(policy) => state.shared(policy, &cx),
        }
        state.end
    }
}

/// A loop that is executed.
struct State<'a, W> {
    queue: Queue,
    times: &'a Times,
    watch: W,
    end: Executed,
}

impl<W: FnMut(Served)> State<'_, W> {
    /// Each processor has a share, which is one chunk.
    fn divided(&mut self, division: Division) {
        let n = self.times.len() as u64;
        for processor in 0..self.queue.processors {
            let share = division.share(processor, n, self.queue.processors);
            let mut ns = 0;
            let mut is_empty = true;
            for i in share {
                ns += self.times.ns(i as usize);
                is_empty = false;
            }
            if !is_empty {
                self.serve(processor, 0, ns);
            }
        }
    }

    /// All processors take chunks.
    fn shared(&mut self, policy: Policy, cx: &Instance) {
        let estimate = self.times.estimate();
        let mut free: BinaryHeap<_> = (0..cx.p()).map(|q| Reverse((0, q))).collect();
        let mut next = 0;
        while let Some(mut first) = free.peek_mut() {
            let Reverse((from, processor)) = *first;
            let left = (self.times.len() - next) as u64;
            let chunk = policy.chunk(left, estimate, &cx.at(from)) as usize;
            if chunk == 0 {
                break;
            }
            let ns = self.times.of(next..next + chunk);
            next += chunk;
            first.0.0 = self.serve(processor, from, ns);
        }
    }

    fn serve(&mut self, processor: u32, from: u64, ns: u64) -> u64 {
        let taken = from + self.queue.chunk_ns;
        let to = taken + ns;
        self.end.chunks += 1;
        self.end.makespan_ns = self.end.makespan_ns.max(to);
        (self.watch)(Served {
            processor,
            from,
            taken,
            to,
        });
        to
    }
}

#[cfg(test)]
mod tests {
    use super::super::Distribution;
    use super::*;

    const QUEUE: Queue = Queue {
        processors: 8,
        chunk_ns: 100,
    };

    #[test]
    fn every_scheme_executes_each_iteration_once() {
        for len in [0, 1, 7, 8, 1000] {
            let times = Times::draw(Distribution::Exponential, len, 10_000, 3);
            for scheme in Scheme::all() {
                let (mut sum, mut chunks) = (0, 0);
                let executed = QUEUE.watched(scheme, &times, |served| {
                    sum += served.to - served.taken;
                    chunks += 1;
                });
                assert_eq!(
                    (sum, chunks),
                    (times.sum(), executed.chunks),
                    "{scheme}, {len}"
                );
            }
        }
    }

    /// One chunk a processor, and nothing to even out.
    #[test]
    fn equal_iterations_lose_only_the_overhead() {
        let times = Times::draw(Distribution::Constant, 800, 1000, 1);
        let executed = QUEUE.run(Scheme::Static(Division::Blocked), &times);
        assert_eq!((executed.makespan_ns, executed.chunks), (100_100, 8));
        let alone = Queue {
            processors: 1,
            chunk_ns: 0,
        };
        assert_eq!(
            alone
                .run(Scheme::Policy(Policy::Guided), &times)
                .efficiency(&times),
            1.0
        );
    }

    #[test]
    fn no_time_at_all_is_full_efficiency() {
        let times = Times::new([]);
        let executed = QUEUE.run(Scheme::Policy(Policy::Factoring), &times);
        assert_eq!((executed.chunks, executed.efficiency(&times)), (0, 1.0));
    }
}
