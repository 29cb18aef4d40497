//! One hash at a time, by SHA instructions where there are any.

use std::hint::black_box;
use std::slice;

use super::{START, State};

/// Indices that share the upper bits of their quarter of the block.
const RUN: usize = 128;

/// The second quarter of the block for each index of a run, words in memory order. Without
/// the last word of the parent and the upper bits of the index.
static QUARTERS: [[u32; 4]; RUN] = {
    let mut quarters = [[0, 0, 0x80, 0]; RUN];
    let mut index = 0;
    while index < RUN {
        quarters[index][1] = (index as u32).to_be();
        index += 1;
    }
    quarters
};

/// The parts of the block that do not depend on the node.
static FRAME: [u8; 64] = {
    let mut frame = [0; 64];
    frame[63] = 24 * 8;
    frame
};

/// The words of a second quarter from the last one of the parent on: that word, and the number
/// of the run that contains the index.
static SHARED: [u32; 4] = [!0, !(RUN as u32 - 1), 0, 0];

/// The only SHA-1 block whose hash is a child's state: 20 bytes of parent, 4 bytes of index,
/// padding.
///
/// The compression function loads 16 bytes at a time. A load that is not covered by one store
/// waits until the stores have left the store buffer, which halves the rate. So the block stays
/// in memory and is only ever written in whole quarters, for each child only the second. The
/// compiler combines four words into a vector if all are computed alike from words in memory whose
/// values it does not know: hence the opaque tables.
#[repr(C, align(64))]
pub(in crate::uts) struct Block {
    bytes: [u8; 64],
    /// The common part of the second quarters of this run of indices.
    common: [u32; 4],
    quarters: &'static [[u32; 4]; RUN],
    /// The first index after this run.
    end: u32,
}

impl Block {
    /// Creates the block of the children of a node, to be requested in ascending order. The words
    /// are the node's state, the first index, and two that are ignored.
    #[inline(always)]
    pub(in crate::uts) fn of(words: &[u32; 8]) -> Self {
        let mut bytes = *black_box(&FRAME);
        for (to, word) in bytes[..16].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_be_bytes());
        }
        let shared = black_box(&SHARED);
        Self {
            bytes,
            common: std::array::from_fn(|i| (words[4 + i] & shared[i]).to_be()),
            quarters: black_box(&QUARTERS),
            end: (words[5] | (RUN as u32 - 1)) + 1,
        }
    }

    /// Returns the state of child `index`.
    #[inline(always)]
    pub(in crate::uts) fn child(&mut self, index: u32) -> State {
        self.start_at(index);
        let quarter = &self.quarters[index as usize % RUN];
        let words: [u32; 4] = std::array::from_fn(|i| self.common[i] | quarter[i]);
        for (to, word) in self.bytes[16..32].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        let mut state = START;
        compress(&mut state, &self.bytes);
        state
    }

    /// Makes `index` the next to be requested.
    #[inline(always)]
    pub(in crate::uts) fn start_at(&mut self, index: u32) {
        if index >= self.end {
            self.run_of(index);
        }
    }

    #[cold]
    #[inline(never)]
    fn run_of(&mut self, index: u32) {
        let run = index - index % RUN as u32;
        self.common[1] = run.to_be();
        self.end = run + RUN as u32;
    }

    /// Computes the state of child `index` `times` more, for the granularity option.
    #[cold]
    pub(in crate::uts) fn repeat(&mut self, index: u32, times: u32) {
        for _ in 0..times {
            // The result is unused, and must be computed nevertheless.
            black_box(self.child(black_box(index)));
        }
    }
}

/// Compresses one block.
///
/// SHA instructions are encoded as legacy SSE. Executed while the upper halves of vector registers
/// are in use, each of them costs hundreds of cycles on Intel processors. The compiler clears the
/// upper halves at calls, not between instructions, so where everything is compiled for AVX this is
/// a call.
#[cfg_attr(target_feature = "avx", inline(never))]
#[cfg_attr(not(target_feature = "avx"), inline(always))]
fn compress(state: &mut State, block: &[u8; 64]) {
    sha1::block_api::compress(state, slice::from_ref(block));
}

/// Returns the state of the root of the tree with this seed.
pub(in crate::uts) fn root(seed: u32) -> State {
    let mut bytes = [0; 64];
    bytes[16..20].copy_from_slice(&seed.to_be_bytes());
    bytes[20] = 0x80;
    bytes[63] = 20 * 8;
    let mut state = START;
    compress(&mut state, &bytes);
    state
}
