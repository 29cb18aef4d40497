//! Lifelines: requests of places without work, and the delivery of work.
//!
//! | part | kind | what it is |
//! |---|---|---|
//! | [`Graph`] | pure | which places may send requests to which |
//! | [`Place`] | protocol | one place: steals at random, then along its lifelines, then becomes dormant |
//! | [`Reserve`] | word | work set aside by the workers of a place, for each other and for other places |
//! | [`Crew`] | word | which workers of a place are idle; whether a leaving one is the last |
//! | [`Bound`] | word | the cost of the best solution known at a place, for branch and bound |
//! | [`Best`] | bound and lock | that solution and its cost |
//! | `Mailbox` | word | messages of other ranks, read by workers while they compute, and by a task otherwise |
//! | [`Gate`] | word | at most one worker of a place yields so that messages are served |
//!
//! # Algorithm
//! Saraswat, Kambadur, Kodali, Grove, Krishnamoorthy, PPoPP 2011, for places; Finnerty 2022,
//! chapter 3, for several workers a place.
//!
//! # Proved
//! The words by loom (`verify/tests/lifeline.rs`); the place machine together with
//! [`finish`](crate::finish) over every delivery order of small configurations
//! (`verify/tests/explore.rs`); the graphs as documented at [`Graph`] (`core/tests/lifeline.rs`).
//!
//! # Not proved
//! Nothing is claimed of messages that are lost or delivered twice.
#![forbid(unsafe_code)]

mod best;
mod bound;
mod crew;
mod gate;
mod graph;
#[cfg(feature = "alloc")]
mod mailbox;
#[cfg(feature = "alloc")]
mod place;
mod reserve;

pub use best::Best;
pub use bound::{AnyBound, Bound, Bounding, Key};
pub use crew::Crew;
pub use gate::Gate;
pub use graph::{Graph, Neighbours};
#[cfg(feature = "alloc")]
pub use mailbox::Mailbox;
#[cfg(feature = "alloc")]
pub use place::{Demand, Effect, Event, Message, Phase, Place, Refusal};
pub use reserve::{Reserve, Traffic};
