//! Connecting this process to the ranks with which it was launched.
#![forbid(unsafe_code)]

use crate::Error;
use crate::variables::Seat;
use tautline_core::port::Link;

/// Returns the link of this process to the ranks that were [launched](crate::Launch) with it; `None` if it was not launched.
///
/// ```
/// // This process was started by hand.
/// assert!(tautline_process::join()?.is_none());
/// # Ok::<(), tautline_process::Error>(())
/// ```
///
/// # Errors
/// Variables of a launch that do not belong to this process, such as those of one that has ended; a second call.
pub fn join() -> Result<Option<Box<dyn Link + Send>>, Error> {
    let seat = Seat::read(|name| std::env::var_os(name))?;
    seat.map(connect).transpose()
}

#[cfg(target_os = "linux")]
fn connect(seat: Seat) -> Result<Box<dyn Link + Send>, Error> {
    Ok(Box::new(crate::segment::SegmentLink::inherited(seat)?))
}

#[cfg(not(target_os = "linux"))]
fn connect(seat: Seat) -> Result<Box<dyn Link + Send>, Error> {
    let what = format!("rank {} of {}", seat.rank, seat.ranks);
    Err(Error::Unsupported { what })
}
