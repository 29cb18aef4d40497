//! Files that are filled at the end of a run.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that is opened before a run, so that a path that cannot be written is refused first, and
/// filled after it. It keeps what it contains until then. If it was created for the run and is not filled, it is removed.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    file: File,
    is_new: bool,
}

impl Output {
    /// Opens the file at `path`, or creates it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        options.write(true);
        let (opened, is_new) = match options.clone().create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                (options.create(true).truncate(false).open(path), false)
            }
            opened => (opened, true),
        };
        Ok(Self {
            path: path.to_owned(),
            file: opened?,
            is_new,
        })
    }

    /// Returns where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the content by what `write` writes.
    ///
    /// # Errors
    /// Those of the system and of `write`; the file then contains what was written before.
    pub fn fill(
        mut self,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.is_new = false;
        self.empty()?;
        let mut out = BufWriter::new(&self.file);
        write(&mut out)?;
        out.flush()
    }

    /// Empties a regular file. Devices and pipes have no length.
    fn empty(&self) -> io::Result<()> {
        match self.file.metadata()?.is_file() {
            true => self.file.set_len(0),
            false => Ok(()),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.is_new {
            // If that fails, an empty file remains, which is harmless.
            let _ = fs::remove_file(&self.path);
        }
    }
}
