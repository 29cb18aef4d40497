//! The same rounds by communication tasks.

use crate::{LONG, LONG_BYTES, OPERATIONS, Row, each};
use tautline::comm::{Comm, Matched, Native, Operator, Tag, wait_all_blocking};
use tautline::world::{Rank, World};

const DONE: &str = "both ranks live";

pub(crate) struct Ours {
    comm: Comm,
    is_home: bool,
    other: Rank,
    /// The library's own operations.
    native: Native,
}

impl Ours {
    pub(crate) fn new(world: &World) -> Self {
        let comm = world.comm();
        // SAFETY: both ranks run the same rounds, whose vectors have one element.
        let matched = unsafe { Matched::promise() };
        let native = comm.native(matched).expect("over MPI");
        Self {
            comm,
            native,
            is_home: world.is_home(),
            other: Rank(1 - world.rank().0),
        }
    }

    /// A round.
    pub(crate) fn run(&self, row: Row, threads: usize) {
        match row {
            Row::Barrier => {
                (0..OPERATIONS).for_each(|_| drop(self.comm.barrier().wait_blocking().expect(DONE)))
            }
            Row::AllReduce => (0..OPERATIONS as u64).for_each(|number| {
                let sum = self.comm.all_reduce(number, |a, b| a + b).wait_blocking();
                assert_eq!(sum.expect(DONE).value, 2 * number);
            }),
            Row::RoundTrip => each(threads, &|thread| self.ping_pong(thread, threads)),
            Row::Rate => each(threads, &|thread| self.one_way(thread, threads)),
            Row::Bandwidth => self.long(),
            Row::NativeBarrier => (0..OPERATIONS)
                .for_each(|_| drop(self.native.barrier().wait_blocking().expect(DONE))),
            Row::NativeAllReduce => {
                let mut vector = vec![1u64];
                for _ in 0..OPERATIONS {
                    vector[0] = 1;
                    let sum = self
                        .native
                        .all_reduce(vector, Operator::Sum)
                        .wait_blocking();
                    vector = sum.expect(DONE).value;
                    assert_eq!(vector, [2]);
                }
            }
        }
    }

    fn ping_pong(&self, thread: usize, threads: usize) {
        let (comm, other, tag) = (&self.comm, self.other, Tag(thread as u32));
        for number in 0..(OPERATIONS / threads) as u64 {
            if self.is_home {
                comm.send(&number, other, tag).expect(DONE);
                assert_eq!(comm.recv::<u64>(other, tag).expect(DONE).value, number);
            } else {
                let received = comm.recv::<u64>(other, tag).expect(DONE).value;
                comm.send(&received, other, tag).expect(DONE);
            }
        }
    }

    fn one_way(&self, thread: usize, threads: usize) {
        let (comm, other, tag) = (&self.comm, self.other, Tag(thread as u32));
        let count = (OPERATIONS / threads) as u64;
        if self.is_home {
            (0..count).for_each(|number| drop(comm.isend(&number, other, tag)));
            assert_eq!(comm.recv::<u64>(other, tag).expect(DONE).value, count);
        } else {
            let all = (0..count).map(|_| comm.irecv::<u64>(other, tag));
            wait_all_blocking(all.collect::<Vec<_>>()).expect(DONE);
            comm.send(&count, other, tag).expect(DONE);
        }
    }

    fn long(&self) {
        let (comm, other) = (&self.comm, self.other);
        // The same memory each time, as with plain calls.
        let mut bytes = vec![1u8; LONG_BYTES];
        if self.is_home {
            for _ in 0..LONG {
                let sent = comm.isend_vec(bytes, other, Tag(0)).wait_blocking();
                bytes = sent.expect(DONE).value;
            }
            comm.recv::<u8>(other, Tag(0)).expect(DONE);
        } else {
            for _ in 0..LONG {
                let received = comm.irecv_vec(bytes, other, Tag(0)).wait_blocking();
                bytes = received.expect(DONE).value;
                assert_eq!(bytes.len(), LONG_BYTES);
            }
            comm.send(&1u8, other, Tag(0)).expect(DONE);
        }
    }
}
