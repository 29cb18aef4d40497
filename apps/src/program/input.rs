//! Input that is read from files, which must be the same at all ranks.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hasher};

/// Returns the lengths of the contents of files, and a number that other contents hardly share. All
/// ranks run the same build, so equal contents have equal digests.
pub fn digest<'a>(contents: impl IntoIterator<Item = &'a [u8]>) -> String {
    let (mut hasher, mut text) = (DefaultHasher::new(), String::new());
    for content in contents {
        hasher.write(content);
        let _ = write!(text, "{} bytes, ", content.len());
    }
    let _ = write!(text, "digest {:016x}", hasher.finish());
    text
}

#[cfg(test)]
mod tests {
    use super::digest;

    #[test]
    fn contents_are_distinguished_by_bytes_and_by_their_ends() {
        let of = |contents: &[&str]| digest(contents.iter().map(|content| content.as_bytes()));
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        for other in [&["a", "c"][..], &["ab", ""], &["b", "a"], &["ab"]] {
            assert_ne!(of(&["a", "b"]), of(other), "{other:?}");
        }
        assert!(of(&["abc", ""]).starts_with("3 bytes, 0 bytes, digest "));
    }
}
