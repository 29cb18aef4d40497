//! Mutations of files: as by editors, programs and broken disks.
#![allow(dead_code, reason = "each program of tests uses a part of it")]

/// Deterministic draws (xorshift, Marsaglia 2003).
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as usize % below.max(1)
    }

    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Bytes of all kinds: of numbers, of syntax, of other encodings.
const BYTES: &[u8] = b"0123456789019-+.eE,;:\"'#%>*@ \t\n\n\r\x00\x1a\x1f\xe9\xff\xc3aAzZ_[]{}";

const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "3",
    "4",
    "5",
    "1e0",
    "1.0",
    "2.5",
    "-0",
    "+3",
    "007",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "1e-308",
    "67108863",
    "67108864",
    "18446744073709551615",
    "9223372036854775808",
    "99999999999999999999",
    "1,5",
    "0x1",
    "",
];

/// Returns `file` after one to three changes; `words` are what the format has for keywords.
pub(crate) fn mutated(file: &[u8], words: &[&str], draws: &mut Draws) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..=draws.below(3) {
        match draws.below(10) {
            0..=2 => change_byte(&mut bytes, draws),
            3..=5 => change_lines(&mut bytes, draws),
            6 | 7 => replace_word(&mut bytes, NUMBERS, draws),
            8 => replace_word(&mut bytes, words, draws),
            _ => {
                let word = format!("\n{} {}\n", draws.of(words), draws.of(NUMBERS));
                let at = draws.below(bytes.len() + 1);
                bytes.splice(at..at, word.bytes());
            }
        }
    }
    bytes
}

fn change_byte(bytes: &mut Vec<u8>, draws: &mut Draws) {
    let at = draws.below(bytes.len());
    match draws.below(4) {
        0 => bytes.insert(at, *draws.of(BYTES)),
        1 if at < bytes.len() => drop(bytes.remove(at)),
        2 => bytes.truncate(at + 1),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = *draws.of(BYTES);
            }
        }
    }
}

fn change_lines(bytes: &mut Vec<u8>, draws: &mut Draws) {
    let mut lines: Vec<Vec<u8>> = bytes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let (at, other) = (draws.below(lines.len()), draws.below(lines.len()));
    match draws.below(5) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at].clone()),
        2 => lines.swap(at, other),
        3 => lines[at].make_ascii_lowercase(),
        _ => {
            // Joined with the next line.
            let line = lines.remove(at);
            let next = at.min(lines.len().saturating_sub(1));
            if let Some(next) = lines.get_mut(next) {
                next.splice(0..0, [&line[..], b" "].concat());
            }
        }
    }
    *bytes = lines.join(&b'\n');
}

fn replace_word(bytes: &mut Vec<u8>, by: &[&str], draws: &mut Draws) {
    let is_end = |byte: &u8| b" \t\r\n,:".contains(byte);
    let starts: Vec<_> = (0..bytes.len())
        .filter(|at| !is_end(&bytes[*at]) && (*at == 0 || is_end(&bytes[at - 1])))
        .collect();
    if starts.is_empty() {
        return;
    }
    let start = *draws.of(&starts);
    let len = bytes[start..].iter().position(is_end);
    let end = start + len.unwrap_or(bytes.len() - start);
    bytes.splice(start..end, draws.of(by).bytes());
}
