//! Ends of operations on a message.

use super::error::Error;
use super::message::{Body, Envelope};
use super::operation::{Done, Outcome, Status};
use crate::id::Rank;

/// Returns the end of a receive: the body is put into the memory that the receive has brought, if
/// it is elsewhere.
pub(in crate::comm) fn received(envelope: &Envelope, body: Body, into: Option<Body>) -> Outcome {
    let body = match into {
        None => body,
        Some(mut into) => {
            into.bytes_mut()[..body.len()].copy_from_slice(&body);
            into
        }
    };
    Ok(done(envelope, body))
}

/// Returns the end of an operation on a message.
pub(in crate::comm) fn done(envelope: &Envelope, body: Body) -> Done {
    Done {
        status: Status::of(envelope),
        body,
    }
}

/// Returns the end of a send to a rank that receives no more.
pub(in crate::comm) fn unreceived(rank: Rank) -> Error {
    let doing = "sending to it, whose program has ended";
    Error::Lost { rank, doing }
}
