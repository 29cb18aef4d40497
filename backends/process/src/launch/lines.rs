//! The lines that a rank prints, with the rank in front of each.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};

/// Bytes of a line that is passed on in parts if it is longer.
const LINE_MAX: usize = 1 << 16;
/// Bytes read from one rank before the next is polled.
const TURN: usize = 1 << 18;

/// The standard output or standard error of a rank.
#[derive(Debug)]
pub(super) struct Lines {
    /// `None` once the other end is closed, or what comes cannot be passed on.
    pub(super) pipe: Option<File>,
    prefix: String,
    /// The received part of the current line.
    line: Vec<u8>,
    /// The reason why a line could not be passed on.
    pub(super) failure: Option<io::Error>,
}

impl Lines {
    /// Takes over the pipe of `rank`.
    pub(super) fn new(rank: u32, pipe: impl Into<OwnedFd>) -> io::Result<Self> {
        let pipe = File::from(pipe.into());
        // SAFETY: the call takes numbers alone. This end of the pipe is that of this process alone.
        let set = unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        match set {
            0 => Ok(Self {
                pipe: Some(pipe),
                prefix: format!("rank {rank}: "),
                line: Vec::new(),
                failure: None,
            }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Passes on the lines that have come.
    pub(super) fn pump(&mut self, out: &mut impl Write) {
        let mut buffer = [0; 4096];
        let mut read = 0;
        while read < TURN
            && let Some(pipe) = &mut self.pipe
        {
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(bytes) => {
                    read += bytes;
                    self.take(&buffer[..bytes], out);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
        if self.pipe.is_none() {
            self.finish(out);
        }
    }

    /// Passes on a last line without an end.
    pub(super) fn finish(&mut self, out: &mut impl Write) {
        if !self.line.is_empty() {
            self.pass(out);
        }
    }

    fn take(&mut self, bytes: &[u8], out: &mut impl Write) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") || self.line.len() >= LINE_MAX {
                self.pass(out);
            }
        }
    }

    fn pass(&mut self, out: &mut impl Write) {
        let mut line = std::mem::take(&mut self.line);
        line.splice(..0, self.prefix.bytes());
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        if let Err(error) = out.write_all(&line) {
            self.failure.get_or_insert(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(parts: &[&[u8]]) -> String {
        let mut lines = Lines {
            pipe: None,
            prefix: "rank 3: ".into(),
            line: Vec::new(),
            failure: None,
        };
        let mut out = Vec::new();
        parts.iter().for_each(|part| lines.take(part, &mut out));
        lines.finish(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_line_has_its_rank() {
        assert_eq!(passed(&[b"one\ntwo\n"]), "rank 3: one\nrank 3: two\n");
        assert_eq!(
            passed(&[b"on", b"e\n\nt", b"wo"]),
            "rank 3: one\nrank 3: \nrank 3: two\n"
        );
        assert_eq!(passed(&[b""]), "");
    }

    #[test]
    fn memory_for_a_line_is_bounded() {
        let long = vec![b'x'; LINE_MAX];
        let printed = passed(&[&long, &long, b"end\n"]);
        assert_eq!(printed.lines().count(), 3);
        assert!(printed.ends_with("rank 3: end\n"));
    }
}
