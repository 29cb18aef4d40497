//! Sequences: drawn, or read from files.

use crate::random::SplitMix;
use crate::text::{Input, Text};
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

/// A sequence of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Its title, without the `>`; empty if it has none.
    pub title: String,
    /// Its letters, as capital ones.
    pub letters: Vec<u8>,
}

/// The first sequence of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct First {
    /// The sequence.
    pub sequence: Sequence,
    /// The number of sequences that follow it in the file.
    pub further: usize,
}

/// The first words of files of sequences in other forms.
const OTHER_FORMS: [(&str, &str); 8] = [
    ("@", "FASTQ"),
    ("LOCUS ", "GenBank"),
    ("ID  ", "EMBL or UniProt"),
    ("CLUSTAL", "Clustal"),
    ("# STOCKHOLM", "Stockholm"),
    ("#NEXUS", "NEXUS"),
    (">P1;", "PIR"),
    (">DL;", "PIR"),
];

/// Reads the first sequence of a file, as [`read_all`] does, and counts the others.
///
/// # Errors
/// As [`read_all`], but for a mistake in one of the others.
pub fn read(input: Input) -> Result<First, FileError> {
    let text = text_of(input)?;
    let records = records(&text);
    let first = records
        .first()
        .ok_or_else(|| text.error_at_end(NO_LETTER))?;
    Ok(First {
        sequence: first.sequence(&text)?,
        further: records.len() - 1,
    })
}

/// Reads all sequences of a file in the form of FASTA: each has letters, on any number of lines,
/// after a title line that begins with `>`; that of the first may be missing. Small letters count
/// as capital ones; `-` is a letter, and `*` too, but for one at the end, which only ends the
/// sequence. Lines that begin with `;` are comments. Titles and comments may be in any encoding.
///
/// # Errors
/// Another character, or a sequence without letters, with file, line and column; a file in another
/// form.
///
/// ```
/// use tautline_cli::smith_waterman::{read, read_all};
/// use tautline_cli::text::Input;
///
/// let file = Input::new("x.fa", b">one\nacg\nt*\n>two\nTT\n")?;
/// let all = read_all(file.clone())?;
/// assert_eq!((&*all[0].title, &*all[0].letters, all.len()), ("one", &b"ACGT"[..], 2));
/// assert_eq!(read(file)?.further, 1);
///
/// let error = read_all(Input::new("x.fa", b">one\nAC1\n")?).unwrap_err();
/// assert_eq!(error.to_string(), "x.fa:2:3: '1': letters of a sequence, `*` or `-`");
/// # Ok::<(), tautline::FileError>(())
/// ```
pub fn read_all(input: Input) -> Result<Vec<Sequence>, FileError> {
    let text = text_of(input)?;
    let records = records(&text);
    match records.is_empty() {
        true => Err(text.error_at_end(NO_LETTER)),
        false => records
            .iter()
            .map(|record| record.sequence(&text))
            .collect(),
    }
}

const NO_LETTER: &str = "no letter: a sequence in the form of FASTA";

/// Returns the text of a file that does not look like one in another form.
fn text_of(input: Input) -> Result<Text, FileError> {
    let text = input.into_text(|line| line.starts_with(['>', ';']))?;
    let start = text.as_str().trim_start();
    let mut others = OTHER_FORMS.iter();
    match others.find(|(mark, _)| start.starts_with(mark)) {
        None => Ok(text),
        Some((_, form)) => {
            let message = format!("a file in the form of {form}: expected FASTA");
            Err(text.error(start, message))
        }
    }
}

/// The lines of a sequence.
struct Record<'a> {
    title: Option<&'a str>,
    letters: Vec<&'a str>,
}

fn records(text: &Text) -> Vec<Record<'_>> {
    let mut records: Vec<Record<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with(';')) {
        let title = line.strip_prefix('>').map(|_| line);
        if title.is_some() || records.is_empty() && !line.trim().is_empty() {
            let letters = Vec::new();
            records.push(Record { title, letters });
        }
        if let (None, Some(record)) = (title, records.last_mut()) {
            record.letters.push(line);
        }
    }
    records
}

impl Record<'_> {
    fn sequence(&self, text: &Text) -> Result<Sequence, FileError> {
        let mut letters = Vec::new();
        for line in &self.letters {
            add(&mut letters, line, text)?;
        }
        if letters.ends_with(b"*") {
            letters.pop();
        }
        let title = self.title.unwrap_or_default();
        match letters.is_empty() {
            false => Ok(Sequence {
                title: title.trim_start_matches('>').trim().to_owned(),
                letters,
            }),
            true => {
                let first = self.letters.first().copied();
                Err(text.error(self.title.or(first).unwrap_or_default(), NO_LETTER))
            }
        }
    }
}

/// Adds the letters of a line.
fn add(letters: &mut Vec<u8>, line: &str, text: &Text) -> Result<(), FileError> {
    let line = line.trim_end();
    for (at, letter) in line.char_indices() {
        if !letter.is_ascii_alphabetic() && !matches!(letter, '*' | '-') {
            let message = format!("{letter:?}: letters of a sequence, `*` or `-`");
            return Err(text.error(&line[at..], message));
        }
        letters.push(letter.to_ascii_uppercase() as u8);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: impl AsRef<[u8]>) -> Result<(String, usize), String> {
        let first = Input::new("x.fa", text.as_ref()).and_then(read);
        let First { sequence, further } = first.map_err(|error| error.to_string())?;
        Ok((String::from_utf8(sequence.letters).unwrap(), further))
    }

    #[test]
    fn the_first_sequence_is_read_and_the_others_counted() {
        for (text, further) in [
            ("ACGT", 0),
            ("> a title\nAC\nGT\n", 0),
            ("; old\n>t\r\nac\r\n\r\ngt", 0),
            (">1\nACGT\n>2\nTT\n", 1),
            (">1\nACGT*\n>2\nTT*\n>3\n", 2),
            ("acgt\n>2\nTT\n", 1),
            ("\n\n>1\n; comment\nACG\n;another\nT\n*\n\n\n", 0),
            ("\u{feff}>1\nACGT  \n", 0),
        ] {
            assert_eq!(first(text), Ok(("ACGT".to_owned(), further)), "{text:?}");
        }
        assert_eq!(first("MK*-"), Ok(("MK*-".to_owned(), 0)));
        let latin = b">\xe9t\xe9\nAC\n;\xe9\nGT\n";
        assert_eq!(first(latin), Ok(("ACGT".to_owned(), 0)));
    }

    #[test]
    fn what_is_no_sequence_is_refused_at_its_place() {
        for (text, line) in [
            (
                ">a\nAC1\n",
                "x.fa:2:3: '1': letters of a sequence, `*` or `-`",
            ),
            (">a\nAC GT\n", "x.fa:2:3: ' ': letters"),
            (">a\n\u{e9}\n", "x.fa:2:1: 'é': letters"),
            ("", "x.fa:1:1: no letter"),
            ("\n\n", "x.fa:1:1: no letter"),
            ("; comment\n>title\n", "x.fa:2:1: no letter"),
            (">empty\n>2\nACGT\n", "x.fa:1:1: no letter"),
            (">empty\n\n*\n>2\nACGT\n", "x.fa:1:1: no letter"),
            (
                "@read\nACGT\n+\nIIII\n",
                "x.fa:1:1: a file in the form of FASTQ: expected FASTA",
            ),
            (
                "\nLOCUS  X 5 bp\n",
                "x.fa:2:1: a file in the form of GenBank",
            ),
            (
                ">P1;CRAB\nALPHA\nMDIT*\n",
                "x.fa:1:1: a file in the form of PIR",
            ),
        ] {
            let error = first(text).unwrap_err();
            assert!(error.starts_with(line), "{text:?}: {error}");
        }
        let latin = first(b">a\nA\xe9\n").unwrap_err();
        assert!(
            latin.starts_with("x.fa:2:2: byte 0xE9: not UTF-8"),
            "{latin}"
        );
    }

    #[test]
    fn every_sequence_is_read_and_checked() {
        let all = |text: &str| {
            let all = Input::new("x.fa", text.as_bytes()).and_then(read_all);
            all.map_err(|error| error.to_string())
        };
        let both = all(">1 x\nAC\n;c\nGT\n>2\r\nTT*\n").unwrap();
        let titles: Vec<_> = both
            .iter()
            .map(|one| (&*one.title, &*one.letters))
            .collect();
        assert_eq!(titles, [("1 x", &b"ACGT"[..]), ("2", b"TT")]);
        assert!(
            all(">1\nA\n>2\n>3\nC\n")
                .unwrap_err()
                .starts_with("x.fa:3:1: no letter")
        );
        assert!(
            all(">1\nA\n>2\nA.\n")
                .unwrap_err()
                .starts_with("x.fa:4:2: '.': letters")
        );
        assert!(all("*\n").unwrap_err().starts_with("x.fa:1:1: no letter"));
        assert!(all("\n").unwrap_err().starts_with("x.fa:1:1: no letter"));
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
