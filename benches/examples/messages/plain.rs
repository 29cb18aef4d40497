//! The same rounds by plain calls of MPI.

use crate::{LONG, LONG_BYTES, OPERATIONS, Row, each};
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};

pub(crate) struct Plain(SimpleCommunicator);

// SAFETY: several threads use it only if the library has granted MPI_THREAD_MULTIPLE.
unsafe impl Sync for Plain {}

impl Plain {
    pub(crate) fn new(world: SimpleCommunicator) -> Self {
        Self(world)
    }

    /// A round.
    pub(crate) fn run(&self, row: Row, threads: usize) {
        let this = self;
        let is_home = this.0.rank() == 0;
        match row {
            Row::Barrier | Row::NativeBarrier => (0..OPERATIONS).for_each(|_| this.0.barrier()),
            Row::AllReduce | Row::NativeAllReduce => {
                for number in 0..OPERATIONS as u64 {
                    let mut sum = 0u64;
                    this.0
                        .all_reduce_into(&number, &mut sum, SystemOperation::sum());
                    assert_eq!(sum, 2 * number);
                }
            }
            Row::RoundTrip => each(threads, &|thread| this.ping_pong(is_home, thread, threads)),
            Row::Rate => each(threads, &|thread| this.one_way(is_home, thread, threads)),
            Row::Bandwidth => this.long(is_home),
        }
    }

    fn ping_pong(&self, is_home: bool, thread: usize, threads: usize) {
        let (other, tag) = (self.0.process_at_rank(i32::from(is_home)), thread as i32);
        for number in 0..(OPERATIONS / threads) as u64 {
            if is_home {
                other.send_with_tag(&number, tag);
                assert_eq!(other.receive_with_tag::<u64>(tag).0, number);
            } else {
                let received = other.receive_with_tag::<u64>(tag).0;
                other.send_with_tag(&received, tag);
            }
        }
    }

    fn one_way(&self, is_home: bool, thread: usize, threads: usize) {
        let (other, tag) = (self.0.process_at_rank(i32::from(is_home)), thread as i32);
        let count = (OPERATIONS / threads) as u64;
        if is_home {
            let numbers: Vec<u64> = (0..count).collect();
            mpi::request::multiple_scope(numbers.len(), |scope, requests| {
                for number in &numbers {
                    requests.add(other.immediate_send_with_tag(scope, number, tag));
                }
                requests.wait_all(&mut Vec::new());
            });
            assert_eq!(other.receive_with_tag::<u64>(tag).0, count);
        } else {
            let mut numbers = vec![0u64; count as usize];
            mpi::request::multiple_scope(numbers.len(), |scope, requests| {
                for number in &mut numbers {
                    requests.add(other.immediate_receive_into_with_tag(scope, number, tag));
                }
                requests.wait_all(&mut Vec::new());
            });
            other.send_with_tag(&count, tag);
        }
    }

    fn long(&self, is_home: bool) {
        let other = self.0.process_at_rank(i32::from(is_home));
        let mut bytes = vec![1u8; LONG_BYTES];
        if is_home {
            (0..LONG).for_each(|_| other.send(&bytes[..]));
            other.receive::<u8>();
        } else {
            for _ in 0..LONG {
                other.receive_into(&mut bytes[..]);
            }
            other.send(&1u8);
        }
    }
}
