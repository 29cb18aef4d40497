//! Descriptions in files: reading them, and their errors.
#![forbid(unsafe_code)]

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The reason why a file is not a valid description.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// Neither the name of a built-in description nor a file.
    Unknown {
        /// The name or path.
        name: String,
        /// The kind of description.
        what: &'static str,
        /// The known names, as a sentence.
        known: String,
    },
    /// A file that cannot be read.
    Unreadable {
        /// Its path.
        file: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A description with a mistake.
    Malformed {
        /// The file, or the name of a built-in description.
        file: String,
        /// The line of the mistake, from 1.
        line: usize,
        /// The character of the line, from 1.
        column: usize,
        /// The text found, and the allowed ones.
        message: String,
    },
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, what, known } => {
                let name = Printable(name);
                write!(f, "{name}: no such {what}, and no such file; {known}")
            }
            Self::Unreadable { file, source } => write!(f, "{}: {source}", Printable(file)),
            Self::Malformed {
                file,
                line,
                column,
                message,
            } => {
                let (file, message) = (Printable(file), Printable(message));
                write!(f, "{file}:{line}:{column}: {message}")
            }
        }
    }
}

/// A text of others in one line of a terminal: control characters are escaped.
struct Printable<'a>(&'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c.is_control() {
            true => write!(f, "{}", c.escape_default()),
            false => f.write_char(c),
        })
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { source, .. } => Some(source),
            Self::Unknown { .. } | Self::Malformed { .. } => None,
        }
    }
}

const WIDE: &str = "UTF-16, or no text: convert it, as by `iconv -f UTF-16 -t UTF-8`";

impl FileError {
    /// Returns the text of the file, which must have at most `most` bytes.
    ///
    /// # Errors
    /// [`FileError::Unreadable`], also if the file is longer, compressed or in UTF-16;
    /// [`FileError::Malformed`] at the first byte that is not UTF-8.
    pub fn read(path: &Path, most: u64) -> Result<String, Self> {
        let file = path.display().to_string();
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
        if let Err(source) = read {
            return Err(Self::Unreadable { file, source });
        }
        let other = match bytes.get(..2) {
            _ if bytes.len() as u64 > most => Some(format!("longer than {most} bytes")),
            Some(b"\x1f\x8b") => Some("compressed by gzip: unpack it by `gunzip`".to_owned()),
            Some(b"\xff\xfe" | b"\xfe\xff") => Some(WIDE.to_owned()),
            _ if bytes.contains(&0) => Some(WIDE.to_owned()),
            _ => None,
        };
        if let Some(other) = other {
            let source = std::io::Error::other(other);
            return Err(Self::Unreadable { file, source });
        }
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let byte = error.as_bytes()[at];
            let message = format!(
                "byte 0x{byte:02X}: not UTF-8; convert the file, as by `iconv -f ISO-8859-1 -t UTF-8`"
            );
            let text = String::from_utf8_lossy(error.as_bytes());
            Self::malformed(&file, &text, at, message)
        })
    }

    /// Returns the error of a mistake at byte `at` of `text`, the content of `file`.
    ///
    /// ```
    /// use tautline::FileError;
    ///
    /// let text = "one\n2\n";
    /// let error = FileError::malformed("numbers.txt", text, 0, "expected a number");
    /// assert_eq!(error.to_string(), "numbers.txt:1:1: expected a number");
    /// ```
    pub fn malformed(file: &str, text: &str, at: usize, message: impl Into<String>) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Self::Malformed {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }
}

impl From<FileError> for crate::Error {
    fn from(refusal: FileError) -> Self {
        Self::invalid(refusal)
    }
}

/// A mistake, and its byte offset.
#[derive(Debug)]
pub(crate) struct Mistake {
    pub at: usize,
    pub message: String,
}

impl Mistake {
    pub(crate) fn at(at: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { at, message }
    }
}

/// Adds the file, the line and the column to a mistake in `text`.
pub(crate) fn locate<T>(file: &str, text: &str, read: Result<T, Mistake>) -> Result<T, FileError> {
    read.map_err(|Mistake { at, message }| FileError::malformed(file, text, at, message))
}

#[cfg(test)]
mod tests {
    use super::FileError;
    use std::fs;

    #[test]
    fn files_that_are_not_utf_8_are_named() {
        let path = std::env::temp_dir().join(format!("tautline-file-{}", std::process::id()));
        for (bytes, line) in [
            (
                &b"\x1f\x8b\x08"[..],
                ": compressed by gzip: unpack it by `gunzip`",
            ),
            (b"\xff\xfea\0", ": UTF-16, or no text: convert it"),
            (b"a\0b\0", ": UTF-16, or no text: convert it"),
            ("\u{e9}\n# caf".as_bytes(), ""),
            (
                b"\xc3\xa9\n# \xc3\xa9 \xe9\n",
                ":2:5: byte 0xE9: not UTF-8; convert the file",
            ),
            (b"0123456789012", ": longer than 12 bytes"),
        ] {
            fs::write(&path, bytes).unwrap();
            match FileError::read(&path, 12) {
                Ok(text) => assert_eq!((text.as_bytes(), line), (bytes, "")),
                Err(error) => {
                    let start = format!("{}{line}", path.display());
                    let error = error.to_string();
                    assert!(!line.is_empty() && error.starts_with(&start), "{error}");
                }
            }
        }
        fs::remove_file(&path).unwrap();
    }
}
