//! Messages and collective operations between two ranks: over links in `links`, in a world in
//! `ranks`.
#![forbid(unsafe_code)]

/// An exchange between two ranks, repeated turn by turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// A parcel of this many bytes goes to the other rank, and one of the same length returns.
    Message(usize),
    /// Both ranks wait for each other.
    Barrier,
    /// Both ranks get the sum of a word of each.
    AllReduce,
}

/// All that two ranks do: the benchmark, the name, unique among all of them, and the exchange.
#[rustfmt::skip] // A table.
const EXCHANGES: [(&str, &str, Exchange); 4] = [
    ("message", "8 bytes", Exchange::Message(8)),
    ("message", "1 MiB", Exchange::Message(1 << 20)),
    ("collective", "barrier", Exchange::Barrier),
    ("collective", "all-reduce of 8 bytes", Exchange::AllReduce),
];

impl Exchange {
    /// Returns the exchanges of a benchmark with their names.
    pub fn of(bench: &str) -> impl Iterator<Item = (&'static str, Self)> {
        let all = EXCHANGES.into_iter();
        let all = all.filter(move |(of, ..)| *of == bench);
        all.map(|(_, name, exchange)| (name, exchange))
    }

    /// Returns the exchange of this name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = EXCHANGES.into_iter();
        all.find(|(_, one, _)| *one == name)
            .map(|(.., exchange)| exchange)
    }
}
