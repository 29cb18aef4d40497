//! Messages between the ranks of a finish.

use serde::{Deserialize, Serialize};
use std::mem;
use tautline_core::finish::{FinishId, Message, Outcome};
use tautline_core::wire::Bulk;

/// Bytes of a message in addition to arguments, at most.
pub(super) const HEAD: usize = 48;

/// A message to another rank.
#[derive(Serialize, Deserialize)]
pub(super) enum Record {
    /// An activity.
    Spawn(Arrival),
    /// The result of the call with this number.
    Reply { call: u64, result: Bulk<u8> },
    /// About the nested finishes.
    Finish(Message),
    /// Activities of this number of bytes have begun, or were dropped.
    Grant(u64),
    /// The finish of all ranks has ended.
    End(Option<Outcome>),
}

/// An activity that another rank has spawned here.
#[derive(Serialize, Deserialize)]
pub(super) struct Arrival {
    pub(super) finish: FinishId,
    /// The position of its handler.
    pub(super) handler: u32,
    pub(super) kind: Kind,
    pub(super) args: Bulk<u8>,
}

impl Arrival {
    /// Returns the bytes that it counts for on its way.
    pub(super) fn bytes(&self) -> u64 {
        (HEAD + self.args.0.len()) as u64
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) enum Kind {
    /// Runs the handler.
    Spawn,
    /// Runs it, and sends the result to the call with this number.
    Call(u64),
    /// Runs it with each of the arguments, which follow their lengths.
    Batch,
}

/// Bytes of the length of arguments in a batch, at most.
pub(super) const LENGTH: usize = usize::BITS.div_ceil(7) as usize;

/// Appends what `write` appends, after its length: 7 bits a byte, lowest first, the eighth in all
/// but the last. If `write` fails or panics, nothing is appended.
#[inline]
pub(super) fn push_framed<E>(
    into: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let begin = into.len();
    let unwritten = Unwritten { into, begin };
    let into = &mut *unwritten.into;
    into.push(0);
    write(into)?;
    let len = into.len() - begin - 1;
    match u8::try_from(len) {
        Ok(len @ ..0x80) => into[begin] = len,
        _ => insert_long(into, begin, len),
    }
    mem::forget(unwritten);
    Ok(())
}

/// Replaces the byte at `begin` by a length of several bytes.
fn insert_long(into: &mut Vec<u8>, begin: usize, mut len: usize) {
    let (mut bytes, mut count) = ([0; LENGTH], 0);
    while len > 0 {
        bytes[count] = len as u8 | 0x80;
        count += 1;
        len >>= 7;
    }
    bytes[count - 1] &= 0x7f;
    into.splice(begin..=begin, bytes[..count].iter().copied());
}

/// Bytes of which those from `begin` on are removed when it is dropped.
struct Unwritten<'a> {
    into: &'a mut Vec<u8>,
    begin: usize,
}

impl Drop for Unwritten<'_> {
    fn drop(&mut self) {
        self.into.truncate(self.begin);
    }
}

/// Takes the first arguments of a batch; `None` if it is malformed.
pub(super) fn next_framed<'a>(batch: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut len = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let (&byte, rest) = batch.split_first()?;
        *batch = rest;
        let part = usize::from(byte & 0x7f);
        len |= part << shift;
        if len >> shift != part {
            return None;
        }
        if byte & 0x80 == 0 {
            let (args, rest) = batch.split_at_checked(len)?;
            *batch = rest;
            return Some(args);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    #[test]
    fn framed_arguments_are_those_that_were_pushed() {
        let all: Vec<Vec<u8>> = [0, 1, 127, 128, 300, 70_000]
            .map(|len| (0..len).map(|i| i as u8).collect())
            .into();
        let mut batch = Vec::new();
        for args in &all {
            let written = push_framed(&mut batch, |into| {
                into.extend(args);
                Ok::<_, ()>(())
            });
            assert_eq!(written, Ok(()));
            let before = batch.clone();
            let failed = push_framed(&mut batch, |into| {
                into.extend(args);
                Err(args.len())
            });
            assert_eq!((failed, &batch), (Err(args.len()), &before));
            let panics = |into: &mut Vec<u8>| -> Result<(), ()> {
                into.extend(args);
                resume_unwind(Box::new("no encoding"))
            };
            let panicked = catch_unwind(AssertUnwindSafe(|| push_framed(&mut batch, panics)));
            assert!(panicked.is_err());
            assert_eq!(batch, before);
        }
        let mut rest = &batch[..];
        for args in &all {
            assert_eq!(next_framed(&mut rest), Some(&args[..]));
        }
        assert_eq!(next_framed(&mut rest), None);
        for len in 0..batch.len() {
            let mut cut = &batch[..len];
            while next_framed(&mut cut).is_some() {}
        }
        assert_eq!(next_framed(&mut &[0xff; 20][..]), None);
        let too_long = [&[0x80; LENGTH - 1][..], &[2]].concat();
        assert_eq!(next_framed(&mut &too_long[..]), None);
    }
}
