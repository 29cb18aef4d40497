//! Sources of parallel iterators.
//!
//! | part | what it is |
//! |---|---|
//! | [`IntoPar`] | the values that a loop can be made of |
//! | `integers` | ranges of integers and characters |
//! | `slices` | shared slices, chunks and windows of slices |
//! | `text` | characters, lines and words of strings |

mod integers;
mod into;
mod slices;
mod text;

pub use into::IntoPar;
pub use slices::Chunked;
pub(super) use slices::SliceWindows;
