//! Sequences: drawn, or read from files.

use crate::random::SplitMix;
use tautline::FileError;

/// The letters of drawn sequences.
const LETTERS: &[u8; 4] = b"ACGT";

/// Two sequences.
pub type Pair = (Vec<u8>, Vec<u8>);

/// Draws two sequences of these lengths.
pub fn draw(first: usize, second: usize, seed: u64) -> Pair {
    let mut random = SplitMix::new(seed);
    let mut letters = |length| {
        let letter = |_| LETTERS[random.below(LETTERS.len() as u64) as usize];
        (0..length).map(letter).collect()
    };
    (letters(first), letters(second))
}

/// Reads the first sequence of the content `text` of `file`, in the form of FASTA: letters, on any number of lines, behind a title line that
/// begins with `>` and may be missing. Small letters count as capital ones; `*` and `-` are letters, too.
///
/// # Errors
/// Another character, or no letter, with file, line and column.
pub fn read(file: &str, text: &str) -> Result<Vec<u8>, FileError> {
    let mut letters = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        match line.chars().next() {
            Some('>') if !letters.is_empty() => break,
            Some('>' | ';') => (),
            _ => {
                for (at, letter) in line.trim_end().char_indices() {
                    if !letter.is_ascii_alphabetic() && !matches!(letter, '*' | '-') {
                        let message = format!("{letter:?}: letters of a sequence, `*` or `-`");
                        return Err(FileError::malformed(file, text, start + at, message));
                    }
                    letters.push(letter.to_ascii_uppercase() as u8);
                }
            }
        }
        start += line.len();
    }
    if letters.is_empty() {
        let message = "no letter: a sequence in the form of FASTA".to_owned();
        return Err(FileError::malformed(file, text, text.len(), message));
    }
    Ok(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sequence_is_read() {
        let read = |text| read("x.fa", text).map_err(|error| error.to_string());
        for text in [
            "ACGT",
            "> a title\nAC\nGT\n",
            "; old\n>t\r\nac\r\n\r\ngt",
            ">1\nACGT\n>2\nTT\n",
        ] {
            assert_eq!(read(text).as_deref(), Ok(&b"ACGT"[..]), "{text:?}");
        }
        assert_eq!(read("MK*-"), Ok(b"MK*-".to_vec()));
        let line = "x.fa:2:3: '1': letters of a sequence, `*` or `-`".to_owned();
        assert_eq!(read(">a\nAC1\n"), Err(line));
        for text in ["", ">title\n", "\n\n"] {
            let line = read(text).expect_err("no letter");
            assert!(line.contains("no letter"), "{line}");
        }
    }

    #[test]
    fn drawn_sequences_have_all_letters() {
        let (first, second) = draw(100, 50, 3);
        assert_eq!((first.len(), second.len()), (100, 50));
        assert!(LETTERS.iter().all(|letter| first.contains(letter)));
        assert_ne!(first[..50], second[..]);
        assert_eq!(draw(100, 50, 3), (first, second));
    }
}
