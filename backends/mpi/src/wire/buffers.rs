//! Memory that is used again.
#![forbid(unsafe_code)]

use super::SHORT;
use std::cmp::Ordering::{Equal, Greater};
use tautline_core::comm::Body;

/// Bytes of buffers that are kept for further long parcels.
const KEPT: usize = 4 << 20;
/// Short buffers that are kept.
const KEPT_SHORT: usize = 64;

/// Buffers that are used again.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    short: Vec<Vec<u8>>,
    long: Vec<Vec<u8>>,
    long_bytes: usize,
}

impl Buffers {
    /// Returns an empty buffer.
    pub(super) fn take(&mut self, length: usize) -> Vec<u8> {
        let mut buffer = match length <= SHORT {
            true => self.short.pop(),
            false => self.pop_long(),
        }
        .unwrap_or_else(|| Vec::with_capacity(length.max(SHORT)));
        buffer.clear();
        buffer
    }

    /// Returns a buffer of `length` bytes, whatever they are.
    pub(super) fn room(&mut self, length: usize) -> Vec<u8> {
        let mut buffer = self.pop_long().unwrap_or_default();
        buffer.resize(length, 0);
        buffer
    }

    fn pop_long(&mut self) -> Option<Vec<u8>> {
        let buffer = self.long.pop()?;
        self.long_bytes -= buffer.capacity();
        Some(buffer)
    }

    /// Keeps a buffer, if it is one of bytes and there is room.
    pub(super) fn give(&mut self, body: Body) {
        if body.is_vector() {
            return;
        }
        let buffer = body.into_bytes();
        let length = buffer.capacity();
        match length.cmp(&SHORT) {
            Equal if self.short.len() < KEPT_SHORT => self.short.push(buffer),
            Greater if self.long_bytes + length <= KEPT => {
                self.long_bytes += length;
                self.long.push(buffer);
            }
            // There is no room, or it is the body of a message, which would have to grow.
            _ => {}
        }
    }
}
