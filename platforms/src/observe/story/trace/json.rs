//! Text in JSON.

use std::fmt;

/// A text as a JSON string (RFC 8259, section 7).
pub(super) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use super::Quoted;

    #[test]
    fn every_text_is_read_back() {
        let all: String = (0..0x250).filter_map(char::from_u32).collect();
        for text in ["", "a \"tree\"\\", &all, "\u{2028}𝄞"] {
            let json = Quoted(text).to_string();
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}
