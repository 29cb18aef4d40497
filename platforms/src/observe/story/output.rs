//! Files that are filled at the end of a run.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;

/// A file that is opened before a run, so that a path that cannot be written is refused first, and
/// filled after it. It keeps what it contains until then. If it was created for the run and is not
/// filled, it is removed.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    file: File,
    is_new: bool,
}

impl Output {
    /// Opens the file at `path`, or creates it.
    ///
    /// ```
    /// use std::io::Write;
    /// use tautline::story::internal::Output;
    ///
    /// let path = std::env::temp_dir().join(format!("tautline-{}-open.txt", std::process::id()));
    /// let output = Output::open(&path)?; // before the run
    /// output.fill(|out| out.write_all(b"what the run has found"))?; // after it
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
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

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the content by what `write` writes: at once, when all of it is written, unless the
    /// folder permits no further file. A device or a pipe gets it as it comes.
    ///
    /// ```
    /// use tautline::story::internal::Output;
    ///
    /// let path = std::env::temp_dir().join(format!("tautline-{}-fill.txt", std::process::id()));
    /// std::fs::write(&path, "before")?;
    /// let failed = Output::open(&path)?.fill(|_| Err(std::io::Error::other("no result")));
    /// assert!(failed.is_err());
    /// assert_eq!(std::fs::read_to_string(&path)?, "before");
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the system and of `write`; the file then contains what it did before, if it was to
    /// be replaced at once.
    pub fn fill(
        mut self,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> io::Result<()> {
        let metadata = self.file.metadata()?;
        if !metadata.is_file() {
            return pour(&self.file, write);
        }
        // The target of a link, which stays one.
        let path = self.path.canonicalize()?;
        let mut beside = path.clone().into_os_string();
        beside.push(format!(".{}.tmp", process::id()));
        let Ok(file) = File::create_new(&beside) else {
            self.is_new = false;
            self.file.set_len(0)?;
            return pour(&self.file, write);
        };
        let filled = file
            .set_permissions(metadata.permissions())
            .and_then(|()| pour(&file, write))
            .and_then(|()| fs::rename(&beside, &path));
        match filled {
            Ok(()) => self.is_new = false,
            // If that fails, part of the new content remains in the folder.
            Err(_) => _ = fs::remove_file(&beside),
        }
        filled
    }
}

fn pour(
    file: &File,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.flush()
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.is_new {
            // If that fails, an empty file remains, which is harmless.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Output;
    use std::fs;
    use std::io::{self, Write};
    use std::path::PathBuf;

    /// An empty folder of this test.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_failure_keeps_what_was_there() {
        let folder = folder("output-keeps");
        let (old, new) = (folder.join("old.html"), folder.join("new.html"));
        fs::write(&old, "before").unwrap();
        for path in [&old, &new] {
            let filled = Output::open(path).unwrap().fill(|out| {
                out.write_all(b"part of it")?;
                Err(io::Error::from(io::ErrorKind::StorageFull))
            });
            assert_eq!(filled.unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
        assert_eq!(fs::read_to_string(&old).unwrap(), "before");
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            1,
            "only the old file"
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_content_is_replaced_and_links_stay() {
        let folder = folder("output-replaces");
        let path = folder.join("life.html");
        fs::write(&path, "a longer text than the new one").unwrap();
        #[cfg(unix)]
        let path = {
            let link = folder.join("link.html");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            link
        };
        let output = Output::open(&path).unwrap();
        output.fill(|out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(folder.join("life.html")).unwrap(), "new");
        #[cfg(unix)]
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        fs::remove_dir_all(folder).unwrap();
    }
}
