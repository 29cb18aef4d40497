//! Many hashes at once: each lane of the vector registers hashes another child.
//!
//! # Algorithm
//!
//! SHA-1 written once, over vectors of any width; the compiler uses rotations and ternary logic
//! where the instruction set has them. All but six words of the block are constants, so most of
//! the message words of the first rounds are folded into the round constants.
//!
//! The children of several parents are placed side by side in columns, as rows of one parent are
//! too short: half of the parents have fewer than four children. The columns are written for the
//! whole row before any is read, so that no load waits for a narrower store.

use fearless_simd::{Simd, SimdInt};

use super::{Block, Interval, START, State};

/// The maximum number of children in a row.
///
/// The next nodes are known only after the last hash: in rows of this length the wait is
/// a few per cent, and the stack of a depth-first walk grows little.
pub(in crate::uts) const ROW: usize = 64;

/// Lanes of the widest registers.
const LANES_MAX: usize = 16;

/// Children to be hashed together, in the order in which they are pushed.
#[derive(Debug)]
#[repr(C, align(64))]
pub(in crate::uts) struct Row {
    /// The beginning of the block of each child: the state of its parent and its index. A word of
    /// all children is contiguous. After the last child there is space for the rest of a register.
    heads: [[u32; ROW + LANES_MAX]; 6],
    /// The states of the children, in the same layout.
    states: [[u32; ROW]; 5],
}

impl Default for Row {
    fn default() -> Self {
        Self {
            heads: [[0; ROW + LANES_MAX]; 6],
            states: [[0; ROW]; 5],
        }
    }
}

impl Row {
    /// Hashes all children of `parents`, the last parent first; the row must have space for them.
    pub(super) fn hash_one_by_one(&mut self, parents: &[Interval]) {
        let mut at = 0;
        for parent in parents.iter().rev() {
            let mut block = Block::of(&parent.words());
            for index in parent.low..parent.high {
                self.put(at, block.child(index));
                at += 1;
            }
        }
    }

    /// Does the same in the lanes of `V`. If fewer than `least` lanes are left, children are hashed
    /// one by one.
    pub(super) fn hash_in_lanes<S: Simd, V: SimdInt<S, Element = u32>>(
        &mut self,
        simd: S,
        parents: &[Interval],
        least: usize,
    ) {
        let (done, all) = simd.vectorize(
            #[inline(always)]
            || {
                let all = self.lay(parents);
                let mut done = 0;
                while done < all && all - done >= least.min(V::LEN) {
                    self.compress::<S, V>(simd, done);
                    done += V::LEN;
                }
                (done, all)
            },
        );
        for at in done..all {
            let [a, b, c, d, e, index] = self.heads.each_ref().map(|word| word[at]);
            let mut block = Block::of(&[a, b, c, d, e, index, 0, 0]);
            self.put(at, block.child(index));
        }
    }

    /// Returns the last words of the states, which determine the numbers of children of the
    /// children.
    #[inline(always)]
    pub(in crate::uts) fn last_words(&self) -> &[u32; ROW] {
        &self.states[4]
    }

    /// Returns the state of a child.
    #[inline(always)]
    pub(in crate::uts) fn state(&self, at: usize) -> State {
        self.states.each_ref().map(|word| word[at])
    }

    #[inline(always)]
    fn put(&mut self, at: usize, state: State) {
        for (words, word) in self.states.iter_mut().zip(state) {
            words[at] = word;
        }
    }

    /// Writes the heads. Returns their number.
    #[inline(always)]
    fn lay(&mut self, parents: &[Interval]) -> usize {
        let mut end = 0;
        for parent in parents.iter().rev() {
            let mut at = end;
            let mut index = parent.low;
            end += parent.tasks();
            assert!(end <= ROW, "a row has room for its children");
            // Whole registers: the next parent overwrites the excess.
            while at < end {
                for (words, word) in self.heads.iter_mut().zip(parent.state) {
                    words[at..at + LANES_MAX].copy_from_slice(&[word; LANES_MAX]);
                }
                let indices: [u32; LANES_MAX] =
                    std::array::from_fn(|lane| index.wrapping_add(lane as u32));
                self.heads[5][at..at + LANES_MAX].copy_from_slice(&indices);
                at += LANES_MAX;
                index = index.wrapping_add(LANES_MAX as u32);
            }
        }
        end
    }

    /// Hashes as many children as `V` has lanes.
    #[inline(always)]
    fn compress<S: Simd, V: SimdInt<S, Element = u32>>(&mut self, simd: S, at: usize) {
        let head = [0, 1, 2, 3, 4, 5].map(
            #[inline(always)]
            |word| V::from_slice(simd, &self.heads[word][at..at + V::LEN]),
        );
        for (words, state) in self.states.iter_mut().zip(sha1::<S, V>(simd, head)) {
            state.store_slice(&mut words[at..at + V::LEN]);
        }
    }
}

/// Returns `v` rotated to the left; one instruction where there is one.
#[inline(always)]
fn rotate<S: Simd, V: SimdInt<S, Element = u32>>(v: V, by: u32) -> V {
    (v << by) | (v >> (32 - by))
}

#[inline(always)]
fn choose<S: Simd, V: SimdInt<S, Element = u32>>(b: V, c: V, d: V) -> V {
    ((c ^ d) & b) ^ d
}

#[inline(always)]
fn parity<S: Simd, V: SimdInt<S, Element = u32>>(b: V, c: V, d: V) -> V {
    b ^ c ^ d
}

#[inline(always)]
fn majority<S: Simd, V: SimdInt<S, Element = u32>>(b: V, c: V, d: V) -> V {
    (b & c) | ((b | c) & d)
}

/// The rounds with these numbers. Unrolled here, since the compiler keeps the message words in
/// registers only if their indices are constants.
macro_rules! rounds {
    ($state:ident, $words:ident, $function:ident, $constant:literal, $($round:literal)*) => { $(
        if $round >= 16 {
            let mixed = $words[($round + 13) % 16] ^ $words[($round + 8) % 16]
                ^ $words[($round + 2) % 16] ^ $words[$round % 16];
            $words[$round % 16] = rotate::<S, V>(mixed, 1);
        }
        let [a, b, c, d, e] = $state;
        // The newest word is added last: only its rotation and one addition are a dependency chain.
        let early = e + ($words[$round % 16] + $constant) + $function::<S, V>(b, c, d);
        $state = [early + rotate::<S, V>(a, 5), a, rotate::<S, V>(b, 30), c, d];
    )* };
}

/// Computes the SHA-1 of one block a lane: the six words of `head` and their padding.
#[inline(always)]
#[allow(clippy::identity_op, reason = "the rounds are unrolled by a macro")]
fn sha1<S: Simd, V: SimdInt<S, Element = u32>>(simd: S, head: [V; 6]) -> [V; 5] {
    let mut words = [V::splat(simd, 0); 16];
    words[..6].copy_from_slice(&head);
    words[6] = V::splat(simd, 1 << 31);
    words[15] = V::splat(simd, 24 * 8);
    let [a, b, c, d, e] = START;
    let mut state = [a, b, c, d, e].map(
        #[inline(always)]
        |word| V::splat(simd, word),
    );
    rounds!(state, words, choose, 0x5a82_7999u32, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
    rounds!(state, words, parity, 0x6ed9_eba1u32, 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39);
    rounds!(state, words, majority, 0x8f1b_bcdcu32, 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59);
    rounds!(state, words, parity, 0xca62_c1d6u32, 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79);
    let [v, w, x, y, z] = state;
    [v + a, w + b, x + c, y + d, z + e]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uts::Engine;

    /// Creates parents with these numbers of children, their states and first indices without a
    /// pattern.
    fn parents(children: &[usize], mut word: u32) -> Vec<Interval> {
        let mut next = || {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            word
        };
        let parent = |&children: &usize| {
            let low = next() >> 7;
            Interval {
                state: std::array::from_fn(|_| next()),
                low,
                high: low + children as u32,
                depth: 0,
            }
        };
        children.iter().map(parent).collect()
    }

    fn check(parents: &[Interval]) {
        let states: Vec<_> = parents
            .iter()
            .rev()
            .flat_map(|parent| (parent.low..parent.high).map(move |index| (parent, index)))
            .map(|(parent, index)| {
                let mut block = Block::of(&parent.words());
                block.start_at(index);
                block.child(index)
            })
            .collect();
        for engine in Engine::all().chain([Engine::fastest()]) {
            let mut row = Row::default();
            engine.hash(&mut row, parents);
            for (at, state) in states.iter().enumerate() {
                assert_eq!(row.state(at), *state, "{} {at}", engine.name());
                assert_eq!(row.last_words()[at], state[4]);
            }
        }
    }

    #[test]
    fn lanes_hash_what_one_by_one_hashes() {
        for children in 1..=ROW {
            check(&parents(&[children], children as u32));
            check(&parents(&vec![1; children], children as u32));
        }
        for first in 1..ROW {
            check(&parents(&[first, ROW - first], first as u32));
        }
        check(&parents(&[17, 1, 16, 3, 27], 1));
    }

    #[test]
    fn the_last_indices_are_hashed_too() {
        // No node has more children.
        let mut last = parents(&[3], 5);
        (last[0].low, last[0].high) = (99_999_997, 100_000_000);
        check(&last);
    }

    #[test]
    #[should_panic(expected = "room")]
    fn a_row_is_not_too_long() {
        let long = parents(&[ROW, 1], 1);
        for engine in Engine::all().skip(1) {
            engine.hash(&mut Row::default(), &long);
        }
        // Where there are no lanes.
        panic!("no room");
    }
}
