//! From bytes to text.

use super::kind;
use flate2::bufread::GzDecoder;
use std::io::{self, ErrorKind};

const GZIP: &[u8] = b"\x1f\x8b";
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the content of a gzip archive of one or more members, at most `most` bytes; other bytes
/// as they are.
pub(super) fn unpacked(bytes: Vec<u8>, most: u64) -> io::Result<Vec<u8>> {
    if !bytes.starts_with(GZIP) {
        return Ok(bytes);
    }
    let mut rest = &bytes[..];
    let mut all = Vec::new();
    // Zeros after the last member are padding, as of a tape.
    while rest.iter().any(|byte| *byte != 0) {
        let room = most - all.len() as u64;
        let member = super::bytes(GzDecoder::new(&mut rest), room);
        all.extend(member.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => invalid("a truncated gzip archive"),
            ErrorKind::Other => io::Error::other(format!("longer than {most} bytes")),
            _ => invalid(format!("a corrupt gzip archive ({error})")),
        })?);
    }
    Ok(all)
}

fn invalid(message: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message.into())
}

/// A text, and which of its characters were not UTF-8.
#[derive(Clone, Debug)]
pub(super) struct Decoded {
    /// With LF at the end of lines, and no blank line at the end.
    pub(super) text: String,
    /// The places of characters that were bytes of another encoding, taken as Latin-1, and of
    /// control characters.
    foreign: Vec<usize>,
}

impl Decoded {
    pub(super) fn new(mut bytes: Vec<u8>) -> io::Result<Self> {
        if let Some(kind) = kind::of(&bytes) {
            return Err(invalid(kind));
        }
        if bytes.starts_with(MARK) {
            bytes.drain(..MARK.len());
        }
        if bytes.contains(&b'\r') {
            bytes = with_line_feeds(&bytes);
        }
        bytes.truncate(without_blank_end(&bytes));
        let mut foreign = Vec::new();
        let text = String::from_utf8(bytes).unwrap_or_else(|error| {
            let mut text = String::new();
            for chunk in error.as_bytes().utf8_chunks() {
                text.push_str(chunk.valid());
                for byte in chunk.invalid() {
                    foreign.push(text.len());
                    text.push(char::from(*byte));
                }
            }
            text
        });
        foreign.extend(controls(&text));
        foreign.sort_unstable();
        Ok(Self { text, foreign })
    }

    /// Returns the place of the first foreign character outside of comments.
    pub(super) fn foreign_outside(&self, is_comment: impl Fn(&str) -> bool) -> Option<usize> {
        // The end of the last comment that was found.
        let mut checked = 0;
        self.foreign.iter().copied().find(|at| {
            if *at < checked {
                return false;
            }
            let start = self.text[..*at].rfind('\n').map_or(0, |end| end + 1);
            let rest = &self.text[start..];
            let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
            checked = start + line.len();
            !is_comment(line)
        })
    }
}

/// Returns the places of control characters but white space, as a terminal or another program may
/// have left them.
fn controls(text: &str) -> impl Iterator<Item = usize> {
    let is_space = |byte: u8| matches!(byte, b'\t'..=b'\r');
    let bytes = text.bytes().enumerate();
    bytes.filter_map(move |(at, byte)| (byte.is_ascii_control() && !is_space(byte)).then_some(at))
}

/// Replaces CRLF and CR by LF.
fn with_line_feeds(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut is_after_return = false;
    for byte in bytes {
        match byte {
            b'\r' => out.push(b'\n'),
            b'\n' if is_after_return => (),
            byte => out.push(*byte),
        }
        is_after_return = *byte == b'\r';
    }
    out
}

/// Returns the length without blank lines at the end, and without the byte 0x1A by which editors of
/// DOS end a file.
fn without_blank_end(bytes: &[u8]) -> usize {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | 0x1a);
    let end = bytes
        .iter()
        .rposition(|byte| !is_blank(byte))
        .map_or(0, |last| last + 1);
    let blanks = bytes[end..]
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    match bytes.get(end + blanks) {
        Some(b'\n') if end > 0 => end + blanks + 1,
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: Vec<u8>, most: u64) -> Result<String, String> {
        let decoded = unpacked(bytes, most).and_then(Decoded::new);
        decoded
            .map(|decoded| decoded.text)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn archives_are_unpacked() {
        for padding in [0, 1, 512] {
            let two = [packed("a b\n"), packed("b c\n"), vec![0; padding]].concat();
            assert_eq!(
                read(two.clone(), 8).as_deref(),
                Ok("a b\nb c\n"),
                "{padding}"
            );
            assert_eq!(read(two, 7), Err("longer than 7 bytes".into()));
        }
        let line = read([packed("a b\n"), b"x".to_vec()].concat(), 99).unwrap_err();
        assert!(line.contains("gzip archive"), "{line}");
        assert_eq!(
            read(packed(&"x".repeat(99)), 98),
            Err("longer than 98 bytes".into())
        );
        let whole = packed(&"a b\nb c\n".repeat(9));
        for end in 2..whole.len() {
            let line = read(whole[..end].to_vec(), 100).unwrap_err();
            assert!(line.contains("gzip archive"), "{end}: {line}");
        }
        let mut spoilt = whole.clone();
        let check = spoilt.len() - 8;
        spoilt[check] ^= 1;
        let line = read(spoilt, 100).unwrap_err();
        assert!(line.starts_with("a corrupt gzip archive"), "{line}");
        let twice = {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&whole).unwrap();
            encoder.finish().unwrap()
        };
        let line = read(twice, 1000).unwrap_err();
        assert!(line.starts_with("compressed by gzip twice"), "{line}");
    }
}
