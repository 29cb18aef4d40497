//! Descriptions in files: reading them, and their errors.
#![forbid(unsafe_code)]

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Why a file is not a valid description.
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
        /// What was found, and what is allowed.
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

impl FileError {
    /// Returns the text of the file, which must have at most `most` bytes.
    ///
    /// # Errors
    /// [`FileError::Unreadable`], also if the file is longer or not UTF-8.
    pub fn read(path: &Path, most: u64) -> Result<String, Self> {
        let unreadable = |source| Self::Unreadable {
            file: path.display().to_string(),
            source,
        };
        let mut text = String::new();
        File::open(path)
            .and_then(|file| file.take(most + 1).read_to_string(&mut text))
            .map_err(unreadable)?;
        if text.len() as u64 > most {
            let long = format!("longer than {most} bytes");
            return Err(unreadable(std::io::Error::other(long)));
        }
        Ok(text)
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
