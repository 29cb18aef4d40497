//! Costs of shared objects of ranks that are processes of this machine: hits beside atomic words,
//! locks and arc-swap, misses beside the round trip of a channel and one-sided accesses of MPI,
//! Global Arrays and Lamellar.
//!
//! `objects` prints a table beside peers that benches/peers.sh has built, each row of which is the
//! median of `--rounds N` rounds; `--quick` measures few and short ones, `--write` stores the
//! figures and renders benches/OBJECTS.md.
#![allow(missing_docs)]

mod hits;
mod misses;
mod rows;

use clap::Parser;
use tautline_bench::figures::Figures;
use tautline_bench::launched::{self, Launches, Row, Suite, render};
use tautline_bench::stored::{Replaces, Table};

const HEAD: &str = "# Shared objects of ranks that are processes of one machine

```sh
benches/peers.sh SOURCES OUT       # peers; optional
cargo run --release -p tautline-bench --example objects -- --peers OUT/peers.tsv --write
```

The options, the columns and the conditions of bounds are those of [RANKS.md](RANKS.md); figures are in
`benches/figures/MACHINE/objects.tsv`. All programs verify the values that they read.

- *Hits* are medians of 51 batches of 100 000 accesses (of 64 bytes: 10 000) by a task of rank 0, whose copy is current; rank 1, the home,
  waits. Of arc-swap it is `ArcSwap::load` and the drop of the guard, in a write `rcu`; of parking_lot a `RwLock` in reads, a `Mutex` in
  writes, which no other thread takes but in the rows of 2 threads. Of those rows the figure is that of the slower thread.
- *Misses* are of rank 0, by the protocol `Home`: each is one message there and one back. The progress thread of rank 1, the home, polls
  without sleep (`ProgressMode::Dedicated`), its task waits in a barrier. Blocks are a `Bulk<u64>`, encoded by one copy.
- *A write, and reads*: rank 0, the home, writes a number, then rank 1 reads it; the barriers between are not in the time. Ours by the protocol
  `Directory`: the write recalls the copy, in two messages, the first read requests one, in two, the others are hits.
- *MPI and Global Arrays*: a read is `MPI_Get` and `MPI_Win_flush` in an epoch of `MPI_Win_lock_all`, or `NGA_Get`; a write `MPI_Put` and
  the flush, or `NGA_Put`; an update `MPI_Fetch_and_op` and the flush, or `NGA_Read_inc`. They keep no copies: each read costs the same, and
  over a network each is a round trip. Inside a node a window of Open MPI is memory that the ranks share: a read is a load, an update
  an atomic instruction, without a message or a turn of the other rank. So it wins all misses. Debian's MPICH communicates by UCX: its
  accesses wait until the other rank calls MPI, here in a barrier. Debian's Global Arrays are built on ARMCI-MPI, here over Open MPI.
- *Lamellar*: elements of an `AtomicArray`, each access waited for by `block`; ranks with a thread each, over memory that they share (its backend
  `shmem`). So its accesses of numbers are atomic instructions in the memory of the other rank, too.
- *A busy home*: its only worker runs tasks of 1 ms, one after the other, and shares its processor with the progress thread; the 200 reads
  begin at different moments of a task.
";

#[derive(Parser)]
#[command(about = "What shared objects cost, beside other libraries")]
struct Options {
    #[command(flatten)]
    launches: Launches<Self>,
}

impl Table for Options {
    const NAME: &'static str = "objects";
    const REPLACES: Replaces = Replaces::Contenders;

    fn document(machines: &[&Figures], notes: &str) -> String {
        render::document(HEAD, rows::ROWS, machines, notes)
    }
}

impl Suite for Options {
    const ROWS: &'static [Row<Self>] = rows::ROWS;

    fn launches(&self) -> &Launches<Self> {
        &self.launches
    }
}

fn main() {
    launched::main::<Options>();
}
