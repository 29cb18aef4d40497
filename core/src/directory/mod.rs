//! The words of a shared object's copy at one rank.
//!
//! A shared object has a home, a rank whose directory knows the ranks that have copies. The copies
//! are kept coherent by messages: many ranks may read, or one may write. This module has the part
//! that workers reach without a lock: the state of a copy, its lock bit and its value. An access
//! that finds the state that it requires is a hit, and sends no message. Any other access is a
//! miss, which the protocol must serve.
//!
//! | part | kind | where |
//! |---|---|---|
//! | [`FlatCopy`] | word | plain data of a few machine words: a hit copies them |
//! | [`BoxedCopy`], [`View`] | word | any other type: a hit is a view of the value, which blocks nothing |
//! | [`Guards`], [`Seat`], [`Retired`] | words | the values that views protect, and those to be reclaimed |
//! | [`Answer`], [`Promise`] | word | the result of an access that waits, put by the thread that delivers the value |
//! | [`Loan`] | closure | a change by a closure that borrows, run by the thread that delivers the value |
//! | [`State`], [`COUNTED`] | bits | the right that a rank has; accesses that are counted |
#![deny(unsafe_code)]

#[cfg(feature = "alloc")]
mod answer;
mod flat;
#[cfg(feature = "alloc")]
#[allow(unsafe_code, reason = "closures on other stacks: see its head")]
mod loan;
#[cfg(feature = "alloc")]
#[allow(unsafe_code, reason = "values behind pointers: see its head")]
mod view;
mod wanted;
mod word;

#[cfg(feature = "alloc")]
pub use answer::{Answer, Promise, promise};
pub use flat::{FlatCopy, Recalled};
#[cfg(feature = "alloc")]
pub use loan::{Loan, lend};
#[cfg(feature = "alloc")]
pub use view::{BoxedCopy, Counted, Guards, Reclaimed, Retired, Seat, View};
pub use word::{COUNTED, State};
