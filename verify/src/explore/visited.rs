//! The states seen so far, each with the one it was first reached from.

use std::hash::Hasher;

/// A set of word strings, numbered in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Visited {
    words: Vec<u32>,
    /// The end of each string in `words`.
    ends: Vec<usize>,
    parents: Vec<u32>,
    /// Open addressing: 0 is free, else 1 + the number of a string.
    table: Vec<u32>,
}

impl Visited {
    /// The number of strings.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The string with this number.
    pub(super) fn get(&self, number: u32) -> &[u32] {
        let number = number as usize;
        let begin = if number == 0 {
            0
        } else {
            self.ends[number - 1]
        };
        &self.words[begin..self.ends[number]]
    }

    /// The string that this one was first reached from; itself for the first.
    pub(super) fn parent(&self, number: u32) -> u32 {
        self.parents[number as usize]
    }

    /// The number of `state` if it is new.
    pub(super) fn insert(&mut self, state: &[u32], parent: u32) -> Option<u32> {
        if (self.len() + 1) * 2 > self.table.len() {
            self.grow();
        }
        let slot = self.slot(state).ok()?;
        let number = u32::try_from(self.len()).expect("fewer than 2^32 states");
        self.table[slot] = number + 1;
        self.words.extend_from_slice(state);
        self.ends.push(self.words.len());
        self.parents.push(parent);
        Some(number)
    }

    /// The number of `state`, if it is there.
    pub(super) fn find(&self, state: &[u32]) -> Option<u32> {
        self.slot(state).err()
    }

    /// Returns the slot of `state`, or its number if it has one already.
    fn slot(&self, state: &[u32]) -> Result<usize, u32> {
        let mask = self.table.len() - 1;
        let mut slot = hash(state) as usize & mask;
        loop {
            match self.table[slot] {
                0 => return Ok(slot),
                taken if self.get(taken - 1) == state => return Err(taken - 1),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        self.table = vec![0; (self.table.len() * 2).max(1024)];
        for number in 0..self.len() as u32 {
            let slot = self.slot(self.get(number)).expect("all are different");
            self.table[slot] = number + 1;
        }
    }
}

fn hash(state: &[u32]) -> u64 {
    let mut mixer = Mixer::default();
    state.iter().for_each(|word| mixer.write_u32(*word));
    mixer.finish()
}

/// A hash that is faster than that of std, which withstands chosen values: here no one chooses
/// them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mixer(u64);

impl Mixer {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.mix(n.into());
    }

    fn write_u32(&mut self, n: u32) {
        self.mix(n.into());
    }

    fn write_u64(&mut self, n: u64) {
        self.mix(n);
    }

    fn write_usize(&mut self, n: usize) {
        self.mix(n as u64);
    }

    fn finish(&self) -> u64 {
        // The low bits of a product depend on the low bits alone.
        self.0 ^ self.0 >> 32
    }
}
