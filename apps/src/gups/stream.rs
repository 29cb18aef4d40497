//! The random numbers of RandomAccess.

/// The polynomial of the stream, without its leading term.
const POLY: u64 = 7;
/// The period of the stream.
const PERIOD: u64 = 1_317_624_576_693_539_401;

/// The stream of HPCC's RandomAccess: powers of x modulo `x⁶⁴ + x² + x + 1`, as bits.
///
/// ```
/// use tautline_cli::gups::Stream;
///
/// let first: Vec<u64> = Stream::after(0).take(3).collect();
/// assert_eq!(first, [2, 4, 8]);
/// assert_eq!(Stream::after(2).next(), Some(8));
/// assert_eq!(Stream::after(63).next(), Some(7)); // x⁶⁴
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(u64);

impl Stream {
    /// Returns the stream after its first `position` values (`HPCC_starts`), in 64 squarings.
    pub fn after(position: u64) -> Self {
        let position = position % PERIOD;
        let bits = (0..u64::BITS - position.leading_zeros()).rev();
        Self(bits.fold(1, |value, bit| {
            let square = square(value);
            match position >> bit & 1 {
                0 => square,
                _ => times_x(square),
            }
        }))
    }
}

impl Iterator for Stream {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = times_x(self.0);
        Some(self.0)
    }
}

fn times_x(value: u64) -> u64 {
    let carry = ((value as i64) >> 63) as u64 & POLY;
    value << 1 ^ carry
}

/// Returns the square of a polynomial: the sum of the squares of its terms.
fn square(value: u64) -> u64 {
    let mut power = 1;
    let mut sum = 0;
    for bit in 0..u64::BITS {
        if value >> bit & 1 == 1 {
            sum ^= power;
        }
        power = times_x(times_x(power));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_the_steps() {
        let mut stream = Stream::after(0);
        for position in 0..3000 {
            assert_eq!(Stream::after(position), stream, "{position}");
            _ = stream.next();
        }
    }

    #[test]
    fn far_positions_continue_each_other() {
        for position in [1 << 20, 12_345_678_901_234, PERIOD - 2, u64::MAX / 3] {
            let mut stream = Stream::after(position);
            (0..100).for_each(|_| _ = stream.next());
            assert_eq!(stream, Stream::after(position + 100));
        }
    }

    #[test]
    fn the_stream_begins_again_after_its_period() {
        assert_eq!(Stream::after(PERIOD), Stream::after(0));
        // Without the reduction of the position.
        let one = (0..61).rev().fold(1, |value, bit| match PERIOD >> bit & 1 {
            0 => square(value),
            _ => times_x(square(value)),
        });
        assert_eq!(one, 1);
    }
}
