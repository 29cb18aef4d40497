//! Varints: seven bits of a number in each byte, the lowest first, and a mark on each byte but the
//! last.
//!
//! The bits of eight bytes are spread and gathered in a word, in three steps: a loop over the bytes
//! takes some twenty instructions for each.

use super::Why;

/// The bytes of the longest one.
pub(super) const LONGEST: usize = 10;

/// The mark of each of eight bytes.
const MARKS: u64 = 0x8080_8080_8080_8080;

/// Returns the encoding of a number, and the bytes that it takes of it.
#[inline]
pub(super) fn encode(number: u64) -> ([u8; LONGEST], usize) {
    let len = length(number);
    let marked = u64::MAX.checked_shl(8 * (len as u32 - 1)).unwrap_or(0);
    let word = spread(number) | MARKS & !marked;
    let mut bytes = [0; LONGEST];
    bytes[..8].copy_from_slice(&word.to_le_bytes());
    bytes[8] = (number >> 56) as u8 & 0x7f | u8::from(len == LONGEST) << 7;
    bytes[9] = (number >> 63) as u8;
    (bytes, len)
}

/// Takes a number of at most `bits` bits, and returns it and the bytes that are left.
///
/// # Errors
/// If the bytes end before it does, or it has more bits.
#[inline]
pub(super) fn decode(bytes: &[u8], bits: u32) -> Result<(u64, &[u8]), Why> {
    let padded;
    let longest = match bytes.first_chunk() {
        Some(longest) => longest,
        None => {
            padded = with_zeros(bytes);
            &padded
        }
    };
    let (number, len) = first(longest).ok_or(Why::Wrong)?;
    let most = bits.div_ceil(7) as usize;
    let is_fit = len <= most && number <= u64::MAX >> (u64::BITS - bits);
    match bytes.get(len..) {
        Some(rest) if is_fit => Ok((number, rest)),
        None if bytes.len() < most => Err(Why::Short),
        _ => Err(Why::Wrong),
    }
}

/// Returns fewer bytes than the longest one has, and zeros.
fn with_zeros(bytes: &[u8]) -> [u8; LONGEST] {
    let mut padded = [0; LONGEST];
    padded[..bytes.len()].copy_from_slice(bytes);
    padded
}

/// Returns the number that bytes begin with, and the bytes that it takes of them; `None` if it has
/// more than 64 bits.
#[inline]
fn first(bytes: &[u8; LONGEST]) -> Option<(u64, usize)> {
    let [word @ .., ninth, tenth] = *bytes;
    let word = u64::from_le_bytes(word);
    let ends = !word & MARKS;
    if ends != 0 {
        // The bits up to the lowest of them.
        let taken = ends ^ ends.wrapping_sub(1);
        let len = ends.trailing_zeros() as usize / 8 + 1;
        return Some((gather(word & taken), len));
    }
    let low = gather(word) | u64::from(ninth & 0x7f) << 56;
    match (ninth, tenth) {
        (..0x80, _) => Some((low, 9)),
        (_, 0 | 1) => Some((low | u64::from(tenth) << 63, LONGEST)),
        _ => None,
    }
}

/// Returns the bytes that a number takes.
#[inline]
fn length(number: u64) -> usize {
    (u64::BITS - (number | 1).leading_zeros()).div_ceil(7) as usize
}

/// Moves the lowest 56 bits of a word to the lowest seven bits of each of its bytes.
#[inline]
fn spread(word: u64) -> u64 {
    let word = word & 0x0fff_ffff | (word & 0x00ff_ffff_f000_0000) << 4;
    let word = word & 0x0000_3fff_0000_3fff | (word & 0x0fff_c000_0fff_c000) << 2;
    word & 0x007f_007f_007f_007f | (word & 0x3f80_3f80_3f80_3f80) << 1
}

/// Moves the lowest seven bits of each byte of a word to its lowest 56 bits.
#[inline]
fn gather(word: u64) -> u64 {
    let word = word & 0x007f_007f_007f_007f | (word & 0x7f00_7f00_7f00_7f00) >> 1;
    let word = word & 0x0000_3fff_0000_3fff | (word & 0x3fff_0000_3fff_0000) >> 2;
    word & 0x0fff_ffff | (word & 0x0fff_ffff_0000_0000) >> 4
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Why, decode, encode};
    use alloc::vec::Vec;

    /// Encodes byte by byte.
    fn by_bytes(mut number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }

    #[test]
    fn words_are_as_byte_by_byte() {
        let around = |bit| {
            let one = 1u64 << bit;
            [
                one - 1,
                one,
                0x5555_5555_5555_5555u64 >> bit,
                u64::MAX >> bit,
            ]
        };
        for number in (0..u64::BITS).flat_map(around) {
            let (bytes, len) = encode(number);
            let encoded = &bytes[..len];
            assert_eq!(encoded, by_bytes(number), "{number:#x}");
            assert_eq!(decode(encoded, 64), Ok((number, &[][..])));
            let mut beginnings = (0..len).map(|len| decode(&encoded[..len], 64));
            assert!(beginnings.all(|it| it == Err(Why::Short)));
            let followed = [encoded, &[0xff; LONGEST]].concat();
            assert_eq!(decode(&followed, 64), Ok((number, &[0xff; LONGEST][..])));
        }
    }

    #[test]
    fn long_ones_are_refused() {
        assert_eq!(decode(&[0xff; LONGEST], 64), Err(Why::Wrong));
        let ending_in = |last| {
            let mut bytes = [0x80; LONGEST];
            bytes[LONGEST - 1] = last;
            bytes
        };
        assert_eq!(decode(&ending_in(2), 64), Err(Why::Wrong));
        assert_eq!(decode(&ending_in(1), 64), Ok((1 << 63, &[][..])));
        // 3 bytes for 16 bits.
        assert_eq!(decode(&[0xff, 0xff, 3], 16), Ok((0xffff, &[][..])));
        assert_eq!(decode(&[0xff, 0xff, 4], 16), Err(Why::Wrong));
        assert_eq!(decode(&[0xff, 0xff, 0x83], 16), Err(Why::Wrong));
        assert_eq!(decode(&[0x80, 0x80, 0x80, 0], 16), Err(Why::Wrong));
        assert_eq!(decode(&[0xff, 0xff], 16), Err(Why::Short));
        // Zeros in front of a number are no fault.
        assert_eq!(decode(&ending_in(0), 64), Ok((0, &[][..])));
    }
}
