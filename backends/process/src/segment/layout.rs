//! Layout of a segment.
//!
//! | part | words |
//! |---|---|
//! | head | what makes it a segment of this version; the ranks; the words of a ring; the launcher |
//! | for each rank | a line with its state and process; a line with its bell |
//! | for each rank and each other one | the ring to it: a line of marks, a line of what was taken, the records |
#![forbid(unsafe_code)]

use crate::Error;
use tautline_core::Rank;

/// Bytes of a word.
pub(super) const WORD: usize = size_of::<usize>();
/// Bytes of a line: two cache lines of most machines, which their processors fetch in pairs.
const LINE: usize = 128;
/// The first word, whose last byte is the version.
const MAGIC: usize = 0x7461_7574_6c69_6e01_u64 as usize;

/// The most ranks.
const RANKS_MAX: u32 = 256;
/// Words of a ring: 128 KiB, so that a pair of ranks has a quarter of a MiB.
const UNITS: usize = (128 << 10) / WORD;
/// The bytes of all rings together unless their size is set: with more than 90 ranks they are
/// smaller.
const BYTES: usize = 1 << 30;

/// The bounds of the bytes of a ring, a power of two.
const RING_MIN: usize = 8 * WORD;
const RING_MAX: usize = 1 << 26;

/// The numbers from which all positions follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(super) ranks: u32,
    /// Words of a ring, a power of two.
    pub(super) units: usize,
}

impl Layout {
    /// Returns the layout for a number of ranks, and rings of this many bytes.
    ///
    /// # Errors
    /// Numbers out of bounds.
    pub(crate) fn new(ranks: u32, ring_bytes: Option<usize>) -> Result<Self, Error> {
        let refuse = |setting, value, allowed| Error::Setting {
            setting,
            value,
            allowed,
        };
        if !(1..=RANKS_MAX).contains(&ranks) {
            let allowed = format!("from 1 to {RANKS_MAX}");
            return Err(refuse("ranks", ranks.to_string(), allowed));
        }
        let pairs = ranks as usize * ranks as usize;
        let mut bytes = ring_bytes.unwrap_or(UNITS * WORD);
        while ring_bytes.is_none() && bytes > BYTES / pairs {
            bytes /= 2;
        }
        if !is_ring(bytes) {
            let allowed = format!("a power of two from {RING_MIN} to {RING_MAX}");
            return Err(refuse("ring_bytes", bytes.to_string(), allowed));
        }
        let units = bytes / WORD;
        let layout = Self { ranks, units };
        if layout.checked_bytes().is_none() {
            let allowed = format!(
                "less with {ranks} ranks: a segment has at most {} bytes",
                isize::MAX
            );
            return Err(refuse("ring_bytes", bytes.to_string(), allowed));
        }
        Ok(layout)
    }

    /// Returns the position of a rank's state, which its process follows.
    pub(super) fn state(self, rank: Rank) -> usize {
        LINE * (1 + 2 * rank.index())
    }

    /// Returns where the bell of a rank is.
    pub(super) fn bell(self, rank: Rank) -> usize {
        self.state(rank) + LINE
    }

    /// Returns where the marks of a ring are, what was taken, and the records.
    pub(super) fn ring(self, from: Rank, to: Rank) -> [usize; 3] {
        let others = self.ranks as usize - 1;
        let column = to.index() - usize::from(to > from);
        let number = from.index() * others + column;
        let start = LINE * (1 + 2 * self.ranks as usize) + number * self.ring_bytes();
        [start, start + LINE, start + 2 * LINE]
    }

    fn ring_bytes(self) -> usize {
        2 * LINE + self.units * WORD
    }

    /// Returns the bytes of the segment.
    pub(crate) fn bytes(self) -> usize {
        self.checked_bytes().expect("every layout can be mapped")
    }

    /// Returns the bytes of the segment, unless a processor of 32 bits cannot map them.
    fn checked_bytes(self) -> Option<usize> {
        let ranks = self.ranks as usize;
        let rings = (ranks * (ranks - 1)).checked_mul(self.ring_bytes())?;
        let bytes = rings.checked_add(LINE * (1 + 2 * ranks))?;
        isize::try_from(bytes).is_ok().then_some(bytes)
    }
}

/// The first words of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) layout: Layout,
    /// The number of the launcher's process.
    pub(super) launcher: usize,
}

impl Head {
    /// Its length.
    pub(super) const BYTES: usize = 4 * WORD;

    /// Returns the words: what makes it a segment of this version, the ranks, the words of a ring,
    /// the launcher.
    pub(super) fn bytes(self) -> Vec<u8> {
        let Layout { ranks, units } = self.layout;
        let words = [MAGIC, ranks as usize, units, self.launcher];
        words.into_iter().flat_map(usize::to_ne_bytes).collect()
    }

    /// Reads the result of [`bytes`](Self::bytes); `None` for anything else.
    pub(super) fn of(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (words, _) = bytes.as_chunks();
        let mut words = words.iter().map(|word| usize::from_ne_bytes(*word));
        words.next().filter(|magic| *magic == MAGIC)?;
        let ranks = u32::try_from(words.next()?).ok()?;
        let units = words.next()?;
        let layout = Layout::new(ranks, units.checked_mul(WORD)).ok();
        Some(Self {
            layout: layout.filter(|layout| layout.units == units)?,
            launcher: words.next()?,
        })
    }
}

fn is_ring(bytes: usize) -> bool {
    bytes.is_power_of_two() && (RING_MIN..=RING_MAX).contains(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap_and_fill_the_segment() {
        for ranks in [1, 2, 3, 7] {
            let layout = Layout::new(ranks, Some(64 * WORD)).unwrap();
            let all = || (0..ranks).map(Rank);
            let mut parts = vec![(0, 3 * WORD)];
            for rank in all() {
                parts.push((layout.state(rank), 2 * WORD));
                parts.push((layout.bell(rank), WORD));
                for to in all().filter(|to| *to != rank) {
                    let [marks, taken, units] = layout.ring(rank, to);
                    parts.extend([(marks, 2 * WORD), (taken, WORD), (units, 64 * WORD)]);
                }
            }
            parts.sort();
            for pair in parts.windows(2) {
                assert!(pair[0].0 + LINE.max(pair[0].1) <= pair[1].0, "{pair:?}");
            }
            assert!(parts.iter().all(|(at, _)| at % LINE == 0));
            let (at, bytes) = parts[parts.len() - 1];
            assert_eq!((at + bytes).next_multiple_of(LINE), layout.bytes());
        }
    }

    #[test]
    fn memory_is_bounded() {
        for ranks in 1..=RANKS_MAX {
            let layout = Layout::new(ranks, None).unwrap();
            let pairs = ranks as usize * (ranks as usize).saturating_sub(1) / 2;
            let rings = layout.bytes() - layout.ring(Rank(0), Rank(1))[0];
            assert!(
                rings.div_ceil(1 << 20) <= pairs,
                "{ranks} ranks: {rings} bytes"
            );
            assert!(rings <= BYTES + BYTES / 8, "{ranks} ranks: {rings} bytes");
        }
    }

    #[test]
    fn a_segment_has_all_its_bytes_or_is_refused() {
        for ranks in [1, 2, 90, RANKS_MAX] {
            for ring in [RING_MIN, UNITS * WORD, RING_MAX] {
                let (others, lines) = (u64::from(ranks) - 1, 1 + 2 * u64::from(ranks));
                let (ring_bytes, line) = (ring as u64, LINE as u64);
                let bytes = line * lines + others * u64::from(ranks) * (ring_bytes + 2 * line);
                match Layout::new(ranks, Some(ring)) {
                    Ok(layout) => assert_eq!(layout.bytes() as u64, bytes),
                    Err(_) => assert!(isize::try_from(bytes).is_err(), "{ranks} {ring}"),
                }
            }
        }
        for ranks in [0, RANKS_MAX + 1, u32::MAX] {
            assert!(Layout::new(ranks, None).is_err(), "{ranks}");
        }
    }

    #[test]
    fn a_head_is_read_as_it_was_written() {
        for ranks in [1, 2, 91, RANKS_MAX] {
            let layout = Layout::new(ranks, None).unwrap();
            let launcher = 17;
            let head = Head { layout, launcher };
            let mut bytes = <[u8; Head::BYTES]>::try_from(head.bytes()).unwrap();
            assert_eq!(Head::of(&bytes), Some(head));
            bytes[0] ^= 1;
            assert_eq!(Head::of(&bytes), None);
        }
        for (ranks, units) in [
            (0, 64),
            (257, 64),
            (2, 4),
            (2, 63),
            (2, usize::MAX / 2 + 1),
            (usize::MAX, 64),
        ] {
            let words = [MAGIC, ranks, units, 17].map(usize::to_ne_bytes);
            let bytes = words.as_flattened().try_into().unwrap();
            assert_eq!(Head::of(bytes), None, "{ranks} {units}");
        }
    }
}
