//! Files of a test.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file that is gone at the end of the test.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    /// Names a file that no other test uses.
    pub(crate) fn new(name: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tautline-{}-{number}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// Returns what was written.
    #[allow(dead_code, reason = "some tests need the name alone")]
    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(&self.0).expect("the file was written")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
