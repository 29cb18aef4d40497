//! Recorded times in files: CSV, a number a line below the head `ns` and comments after `#`, or
//! JSON, an array of numbers.

use super::{LEN_MAX, NS_MAX, Times};
use crate::text::Input;
use std::io::{self, Write};
use std::path::Path;
use tautline::FileError;

const HEAD: &str = "ns";
/// The longest file: the largest number of times, 32 characters each.
const BYTES_MAX: u64 = 32 * LEN_MAX as u64;

/// A mistake, and its byte offset.
#[derive(Debug)]
struct Mistake {
    at: usize,
    message: String,
}

impl Mistake {
    fn at(at: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { at, message }
    }
}

impl Times {
    /// Reads the file at `path`, or standard input if it is `-`: as JSON if it begins with `[`,
    /// otherwise as CSV, in which lines that begin with `#` are comments. Fractions of a nanosecond
    /// are rounded.
    ///
    /// # Errors
    /// If the file cannot be read or is longer than 16 MiB; if a time is missing, negative, longer
    /// than 2^44 ns or no number; if there are more than [`Times::LEN_MAX`] of them, or none.
    /// Errors of the content name the line and the character.
    ///
    /// ```
    /// use tautline_cli::iterations::Times;
    ///
    /// let file = std::env::temp_dir().join(format!("times-{}.csv", std::process::id()));
    /// std::fs::write(&file, "ns\n100\n-3\n")?;
    /// let error = Times::from_file(&file).unwrap_err().to_string();
    /// assert!(error.ends_with(":3:1: `-3`: a time in nanoseconds from 0 to 17592186044416"), "{error}");
    /// std::fs::remove_file(&file)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn from_file(path: &Path) -> Result<Self, FileError> {
        Self::read(Input::read(path, BYTES_MAX)?)
    }

    /// Reads times as [`Times::from_file`] does.
    ///
    /// # Errors
    /// Those of the content.
    pub fn read(input: Input) -> Result<Self, FileError> {
        let text = input.into_text(is_comment)?;
        let content = text.as_str();
        let read = match content.trim_start().starts_with('[') {
            true => json(content),
            false => csv(content),
        };
        let times = read.and_then(checked);
        times.map_err(|Mistake { at, message }| text.error_at(at, message))
    }

    /// Writes the times as CSV, as [`Times::from_file`] reads them.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{HEAD}")?;
        self.iter().try_for_each(|ns| writeln!(out, "{ns}"))
    }
}

fn checked(times: Vec<u64>) -> Result<Times, Mistake> {
    match times.len() {
        0 => Err(Mistake::at(0, "no times: at least 1 is needed")),
        n if n > LEN_MAX => Err(Mistake::at(0, format!("{n} times: at most {LEN_MAX}"))),
        _ => Ok(Times::new(times)),
    }
}

fn is_comment(line: &str) -> bool {
    line.starts_with('#')
}

fn csv(text: &str) -> Result<Vec<u64>, Mistake> {
    let mut at = 0;
    let mut is_first = true;
    let mut times = Vec::new();
    // The last line may lack its end.
    for line in text.split_terminator('\n') {
        let field = line.trim();
        let is_head = is_first && field.trim_matches('"') == HEAD;
        if !is_head && !is_comment(line) {
            times.push(time(at, field, field.parse().ok())?);
        }
        is_first &= is_comment(line);
        at += line.len() + 1;
    }
    Ok(times)
}

fn json(text: &str) -> Result<Vec<u64>, Mistake> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
        let lines = text
            .split_inclusive('\n')
            .take(error.line().saturating_sub(1));
        let start: usize = lines.map(str::len).sum();
        Mistake::at(start + error.column().saturating_sub(1), error.to_string())
    })?;
    let items = value.as_array().into_iter().flatten();
    // The parsed value has no positions; the message names the element.
    let element = |(number, item): (usize, &serde_json::Value)| {
        time(0, &format!("element {number}, {item}"), item.as_f64())
    };
    items.enumerate().map(element).collect()
}

fn time(at: usize, shown: &str, ns: Option<f64>) -> Result<u64, Mistake> {
    let allowed = ns.filter(|ns| (0.0..=NS_MAX as f64).contains(ns));
    let message = || format!("`{shown}`: a time in nanoseconds from 0 to {NS_MAX}");
    Ok(allowed.ok_or_else(|| Mistake::at(at, message()))?.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let times = Times::new([1, 0, 17]);
        let mut file = Vec::new();
        times.write(&mut file).unwrap();
        let text = String::from_utf8(file).unwrap();
        assert_eq!(csv(&text).unwrap(), [1, 0, 17]);
        assert_eq!(csv("1\n0.4\r\n16.5").unwrap(), [1, 0, 17]);
        assert_eq!(csv("# a\nns\n1\n# b\n0e3\n17").unwrap(), [1, 0, 17]);
        assert_eq!(json("[1, 0,\n 17]").unwrap(), [1, 0, 17]);
    }

    #[test]
    fn files_of_other_programs_are_read() {
        for file in [
            &b"ns\n1\n2\n"[..],
            b"\xef\xbb\xbfns\r\n1\r\n2\r\n\r\n",
            b"# caf\xe9\nns\n1\n2",
            b"\"ns\"\n1.0\n2.0\n",
            b"\xef\xbb\xbf[1, 2]\n\n",
        ] {
            let times = Times::read(Input::new("t.csv", file).unwrap()).unwrap();
            assert_eq!(times.iter().collect::<Vec<_>>(), [1, 2]);
        }
        let file = Input::new("t.csv", b"ns\n1\xe9\n").unwrap();
        let error = Times::read(file).unwrap_err().to_string();
        assert!(
            error.starts_with("t.csv:2:2: byte 0xE9: not UTF-8"),
            "{error}"
        );
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, at, named) in [
            ("ns\n1\n\n2\n", 5, "``"),
            ("1\n-2\n", 2, "`-2`"),
            ("1\nNaN\n", 2, "`NaN`"),
            ("1\ninf\n", 2, "`inf`"),
            ("1e30\n", 0, "`1e30`"),
            ("1,2\n", 0, "`1,2`"),
        ] {
            let mistake = csv(text).unwrap_err();
            assert_eq!(mistake.at, at, "{text}");
            assert!(mistake.message.starts_with(named), "{}", mistake.message);
        }
        for (text, named) in [
            ("[1, null]", "`element 1, null`"),
            ("[-1]", "`element 0, -1`"),
            ("[1,", "EOF"),
        ] {
            let message = json(text).unwrap_err().message;
            assert!(message.starts_with(named), "{message}");
        }
        assert!(checked(Vec::new()).is_err());
        assert!(checked(vec![1; LEN_MAX + 1]).is_err());
    }
}
