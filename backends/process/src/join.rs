//! Connecting this process to the ranks with which it was launched.
#![forbid(unsafe_code)]

use crate::Error;
use crate::variables::Seat;
use tautline_core::port::Link;

/// Returns the link of this process to the ranks that were [launched](crate::Launch) with it;
/// `None` if it was not launched, but for instance started by a rank, whose variables it has.
///
/// ```
/// // This process was started by hand.
/// assert!(tautline_process::join()?.is_none());
/// # Ok::<(), tautline_process::Error>(())
/// ```
///
/// # Errors
/// Malformed variables, a rank to which its launcher's segment was not passed on, a second call.
pub fn join() -> Result<Option<Box<dyn Link + Send>>, Error> {
    let seat = Seat::read(|name| std::env::var_os(name))?;
    seat.map_or(Ok(None), connect)
}

#[cfg(target_os = "linux")]
fn connect(seat: Seat) -> Result<Option<Box<dyn Link + Send>>, Error> {
    let link = crate::segment::SegmentLink::inherited(seat)?;
    Ok(link.map(|link| Box::new(link) as _))
}

#[cfg(not(target_os = "linux"))]
fn connect(seat: Seat) -> Result<Option<Box<dyn Link + Send>>, Error> {
    let what = format!("rank {} of {}", seat.rank, seat.ranks);
    Err(Error::Unsupported { what })
}
