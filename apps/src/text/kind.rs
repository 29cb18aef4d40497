//! Files that are not text, by their first bytes.

/// A kind of file, and what to do with it.
struct Kind {
    /// The offset of the mark, in bytes.
    at: usize,
    mark: &'static [u8],
    name: &'static str,
    advice: &'static str,
}

const fn kind(mark: &'static [u8], name: &'static str, advice: &'static str) -> Kind {
    Kind {
        at: 0,
        mark,
        name,
        advice,
    }
}

const CONVERT_16: &str = "convert it by `iconv -f UTF-16 -t UTF-8`";
const CONVERT_32: &str = "convert it by `iconv -f UTF-32 -t UTF-8`";
const EXPORT: &str = "export it as text";

/// In the order of comparison: the mark of UTF-32 begins as that of UTF-16.
const KINDS: &[Kind] = &[
    kind(b"\xff\xfe\0\0", "UTF-32", CONVERT_32),
    kind(b"\0\0\xfe\xff", "UTF-32", CONVERT_32),
    kind(b"\xff\xfe", "UTF-16", CONVERT_16),
    kind(b"\xfe\xff", "UTF-16", CONVERT_16),
    kind(
        b"\x1f\x8b",
        "compressed by gzip twice",
        "unpack it once by `gunzip`",
    ),
    kind(
        b"\x1f\x9d",
        "compressed by compress",
        "unpack it by `gunzip`",
    ),
    kind(
        b"\x28\xb5\x2f\xfd",
        "compressed by zstd",
        "unpack it by `unzstd`",
    ),
    kind(b"\xfd7zXZ\0", "compressed by xz", "unpack it by `unxz`"),
    kind(b"BZh", "compressed by bzip2", "unpack it by `bunzip2`"),
    kind(
        b"\x04\x22\x4d\x18",
        "compressed by lz4",
        "unpack it by `unlz4`",
    ),
    kind(b"PK\x03\x04", "a zip archive", "unpack it by `unzip`"),
    kind(b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it by `7z x`"),
    Kind {
        at: 257,
        ..kind(b"ustar", "a tar archive", "unpack it by `tar -x`")
    },
    kind(b"\x89HDF", "HDF5", EXPORT),
    kind(b"MATLAB ", "a file of MATLAB", EXPORT),
    kind(b"\x93NUMPY", "an array of NumPy", EXPORT),
    kind(b"PAR1", "Parquet", EXPORT),
    kind(b"SQLite format 3\0", "a database of SQLite", EXPORT),
    kind(b"%PDF-", "PDF", EXPORT),
    kind(b"{\\rtf", "RTF", "save it as plain text"),
    kind(b"\x7fELF", "a program", "expected text"),
];

/// The number of bytes in which zero bytes are counted.
const SAMPLE: usize = 1 << 10;

/// Returns what the file is and what to do, if it is not text.
pub(super) fn of(bytes: &[u8]) -> Option<String> {
    let is = |kind: &&Kind| {
        let rest = bytes.get(kind.at..);
        rest.is_some_and(|rest| rest.starts_with(kind.mark))
    };
    if let Some(Kind { name, advice, .. }) = KINDS.iter().find(is) {
        return Some(format!("{name}: {advice}"));
    }
    let zero = bytes.iter().position(|byte| *byte == 0)?;
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let zeros = sample.iter().filter(|byte| **byte == 0).count();
    // Of Latin letters every other byte is zero.
    Some(match (zero < 2, 8 * zeros / sample.len().max(1)) {
        (true, 3..=4) => format!("UTF-16: {CONVERT_16}"),
        (_, 6) if zero < 4 => format!("UTF-32: {CONVERT_32}"),
        _ => format!("a binary file, byte {zero} is zero: expected text"),
    })
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn other_encodings_and_binary_files_are_named() {
        for (bytes, name) in [
            (&b"\xff\xfea\0\n\0"[..], "UTF-16: convert it by `iconv"),
            (b"\xfe\xff\0a\0\n", "UTF-16: "),
            (b"1\0 \x002\0\n\0", "UTF-16: "),
            (b"\x001\0 \x002\0\n", "UTF-16: "),
            (b"\xff\xfe\0\0a\0\0\0", "UTF-32: "),
            (b"\0\0\0a\0\0\0\n", "UTF-32: "),
            (
                b"\x28\xb5\x2f\xfd\x24",
                "compressed by zstd: unpack it by `unzstd`",
            ),
            (b"\xfd7zXZ\0\0", "compressed by xz: "),
            (b"BZh91AY", "compressed by bzip2: "),
            (b"PK\x03\x04\x14\0", "a zip archive: "),
            (b"%PDF-1.7\n", "PDF: "),
            (b"abc\0def", "a binary file, byte 3 is zero: expected text"),
        ] {
            let found = of(bytes).unwrap_or_default();
            assert!(found.starts_with(name), "{bytes:?}: {found}");
        }
        let mut tar = vec![b'x'; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert!(of(&tar).unwrap_or_default().starts_with("a tar archive"));
        for text in ["", "a b\n", "BZ h\n", "# 7z\n", "\u{feff}a"] {
            assert_eq!(of(text.as_bytes()), None, "{text}");
        }
    }
}
