//! Inputs as text: one reader under all formats.
//!
//! An input is a file or, as `-`, standard input. Gzip is unpacked; a byte order mark and blank
//! lines at the end are dropped; lines may end in LF, CRLF or CR. Other encodings, compressed and
//! binary files are refused by name. Bytes that are not UTF-8 are taken as Latin-1 in comments, and
//! refused elsewhere, as are control characters; which lines are comments depends on the format.
//!
//! A part of a text, a `&str`, has its place by its address, so a refusal of any part names file,
//! line and column.
//!
//! ```
//! use tautline_cli::text::Text;
//!
//! let text = Text::new("list", b"\xef\xbb\xbf# Montr\xe9al\r\n1 x\r\n\r\n", |line| line.starts_with('#'))?;
//! let words: Vec<_> = text.lines().nth(1).unwrap_or_default().split(' ').collect();
//! assert_eq!(text.error(words[1], "`x`: expected a number").to_string(), "list:2:3: `x`: expected a number");
//! # Ok::<(), tautline::FileError>(())
//! ```
#![forbid(unsafe_code)]

mod encoding;
mod kind;

use encoding::Decoded;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use tautline::FileError;

/// The path that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// A decoded input whose comments are not known yet.
#[derive(Clone, Debug)]
pub struct Input {
    name: String,
    decoded: Decoded,
}

impl Input {
    /// Reads the file at `path`, or standard input if it is [`STANDARD_INPUT`]; at most `most`
    /// bytes, also once unpacked.
    ///
    /// # Errors
    /// [`FileError::Unreadable`]: the system's reason, a longer or corrupt file, or a format that is not text.
    pub fn read(path: &Path, most: u64) -> Result<Self, FileError> {
        let (name, read) = match path.as_os_str() == STANDARD_INPUT {
            true => ("standard input".to_owned(), bytes(io::stdin(), most)),
            false => (
                path.display().to_string(),
                File::open(path).and_then(|file| bytes(file, most)),
            ),
        };
        let unpacked = read.and_then(|bytes| encoding::unpacked(bytes, most));
        Self::decoded(name, unpacked)
    }

    /// Decodes `bytes`, the content of `file`.
    ///
    /// # Errors
    /// [`FileError::Unreadable`]: a corrupt archive, or a format that is not text.
    pub fn new(file: &str, bytes: &[u8]) -> Result<Self, FileError> {
        let unpacked = encoding::unpacked(bytes.to_vec(), u64::MAX - 1);
        Self::decoded(file.to_owned(), unpacked)
    }

    fn decoded(name: String, bytes: io::Result<Vec<u8>>) -> Result<Self, FileError> {
        match bytes.and_then(Decoded::new) {
            Ok(decoded) => Ok(Self { name, decoded }),
            Err(source) => Err(FileError::Unreadable { file: name, source }),
        }
    }

    /// Returns the name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the content, to recognise its format.
    pub fn peek(&self) -> &str {
        &self.decoded.text
    }

    /// Returns the error of a mistake at byte `at`.
    pub fn error_at(&self, at: usize, message: impl Into<String>) -> FileError {
        FileError::malformed(&self.name, &self.decoded.text, at, message)
    }

    /// Returns the text of a format whose comments are the lines that `is_comment` accepts.
    ///
    /// # Errors
    /// [`FileError::Malformed`]: the first byte outside of comments that is not UTF-8.
    pub fn into_text(self, is_comment: impl Fn(&str) -> bool) -> Result<Text, FileError> {
        let foreign = self.decoded.foreign_outside(is_comment);
        let text = Text {
            name: self.name,
            text: self.decoded.text,
        };
        let Some(found) = foreign else {
            return Ok(text);
        };
        let byte = text.text[found..].chars().next().map_or(0, u32::from);
        let advice = match byte {
            0x80.. => {
                "not UTF-8, allowed in comments only; convert by `iconv -f ISO-8859-1 -t UTF-8`"
            }
            _ => "a control character, allowed in comments only",
        };
        let message = format!("byte 0x{byte:02X}: {advice}");
        Err(text.error(&text.text[found..], message))
    }
}

/// Returns all bytes of an input.
fn bytes(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other(format!("longer than {most} bytes"))),
        false => Ok(bytes),
    }
}

/// A decoded input.
#[derive(Clone, Debug)]
pub struct Text {
    name: String,
    text: String,
}

impl Text {
    /// Reads and decodes an input.
    ///
    /// # Errors
    /// Those of [`Input::read`] and [`Input::into_text`].
    pub fn read(
        path: &Path,
        most: u64,
        is_comment: impl Fn(&str) -> bool,
    ) -> Result<Self, FileError> {
        Input::read(path, most)?.into_text(is_comment)
    }

    /// Decodes `bytes`, the content of `file`.
    ///
    /// # Errors
    /// Those of [`Input::new`] and [`Input::into_text`].
    pub fn new(
        file: &str,
        bytes: impl AsRef<[u8]>,
        is_comment: impl Fn(&str) -> bool,
    ) -> Result<Self, FileError> {
        Input::new(file, bytes.as_ref())?.into_text(is_comment)
    }

    /// Returns the name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the whole text. Lines end in LF; none at the end is blank.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the lines, without their ends.
    pub fn lines(&self) -> std::str::Lines<'_> {
        self.text.lines()
    }

    /// Returns the error of a mistake in `part`, which is a part of this text.
    pub fn error(&self, part: &str, message: impl Into<String>) -> FileError {
        self.error_at(self.place(part), message)
    }

    /// Returns at which byte `part`, a part of this text, begins. For any other, the length of the
    /// text.
    pub fn place(&self, part: &str) -> usize {
        let at = part.as_ptr().addr().checked_sub(self.text.as_ptr().addr());
        let at = at.filter(|at| *at <= self.text.len());
        at.unwrap_or(self.text.len())
    }

    /// Returns the error of a mistake at byte `at`.
    pub fn error_at(&self, at: usize, message: impl Into<String>) -> FileError {
        FileError::malformed(&self.name, &self.text, at, message)
    }

    /// Returns the error of something missing at the end.
    pub fn error_at_end(&self, message: impl Into<String>) -> FileError {
        self.error_at(self.text.len(), message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_comment(line: &str) -> bool {
        line.starts_with('#')
    }

    fn read(bytes: &[u8]) -> Result<String, String> {
        let text = Text::new("f", bytes, is_comment);
        text.map(|text| text.text)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn marks_and_line_ends_are_dropped() {
        for bytes in [
            &b"a\nb\n"[..],
            b"\xef\xbb\xbfa\nb\n",
            b"a\r\nb\r\n",
            b"a\rb\r",
            b"a\nb\n\n \t\n",
            b"a\nb\n\x1a",
            b"a\nb\n\n\x1a",
            b"\xef\xbb\xbfa\r\nb\r\n\r\n",
        ] {
            assert_eq!(read(bytes).as_deref(), Ok("a\nb\n"), "{bytes:?}");
        }
        for bytes in [&b"a\nb"[..], b"a\nb\x1a", b"a\nb  "] {
            assert_eq!(read(bytes).as_deref(), Ok("a\nb"), "{bytes:?}");
        }
        assert_eq!(read(b"a \n\n").as_deref(), Ok("a \n"));
        assert_eq!(read(b"").as_deref(), Ok(""));
        assert_eq!(read(b"\n\n").as_deref(), Ok(""));
    }

    #[test]
    fn latin_1_is_read_in_comments_only() {
        assert_eq!(
            read(b"# Montr\xe9al\na\n").as_deref(),
            Ok("# Montr\u{e9}al\na\n")
        );
        let line = read(b"# \xe9 \xe8\nab\xe9 c\n").unwrap_err();
        let said = "f:2:3: byte 0xE9: not UTF-8, allowed in comments only; convert by `iconv";
        assert!(line.starts_with(said), "{line}");
        let line = read(b"# \x01\na \x1b[31mb\n").unwrap_err();
        assert_eq!(
            line,
            "f:2:3: byte 0x1B: a control character, allowed in comments only"
        );
        assert_eq!(
            read("\u{e9} b\n".as_bytes()).as_deref(),
            Ok("\u{e9} b\n"),
            "UTF-8"
        );
    }

    #[test]
    fn a_part_knows_its_place() {
        let text = Text::new("f", b"one\n\xc3\xa9 two\n", is_comment).unwrap();
        let word = text
            .lines()
            .nth(1)
            .and_then(|line| line.split(' ').nth(1))
            .unwrap();
        assert_eq!(text.error(word, "no").to_string(), "f:2:3: no");
        assert_eq!(text.error_at_end("no").to_string(), "f:3:1: no");
        assert_eq!(text.error("elsewhere", "no").to_string(), "f:3:1: no");
    }

    #[test]
    fn longer_files_and_missing_ones_are_refused() {
        let error = Input::read(Path::new(file!()), 10).unwrap_err().to_string();
        assert!(
            error.ends_with(": longer than 10 bytes") || error.contains("No such file"),
            "{error}"
        );
        let error = Input::read(Path::new("/nowhere/\u{1b}[31m\n"), 10).unwrap_err();
        assert_eq!(
            error.to_string(),
            "/nowhere/\\u{1b}[31m\\n: No such file or directory (os error 2)"
        );
    }
}
