//! Values in error lines.

/// Characters that an error line shows as they are.
const PLAIN: [char; 3] = ['\'', '"', '\\'];

/// Returns the text with each character that a terminal would not show, such as an end of line, as
/// an escape.
pub fn escaped(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for part in text.split_inclusive(PLAIN) {
        match part.strip_suffix(PLAIN) {
            Some(before) => {
                line.extend(before.escape_debug());
                line.push_str(&part[before.len()..]);
            }
            None => line.extend(part.escape_debug()),
        }
    }
    line
}

/// Returns a value as an error line shows it: in quotes if it is empty, has blanks, or is
/// [`escaped`].
pub fn shown(value: &str) -> String {
    let text = escaped(value);
    let is_odd = value.is_empty() || value.contains(char::is_whitespace) || text != value;
    match is_odd {
        true => format!("'{text}'"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_values_are_in_quotes() {
        for (value, expected) in [
            ("", "''"),
            (" ", "' '"),
            ("2", "2"),
            ("2 ", "'2 '"),
            ("2\n3", r"'2\n3'"),
            ("\u{1b}[31m", r"'\u{1b}[31m'"),
            ("{0:4}", "{0:4}"),
            ("it's", "it's"),
            (r"a\b", r"a\b"),
            ("\u{feff}1", r"'\u{feff}1'"),
            ("Zürich", "Zürich"),
            ("\r", r"'\r'"),
        ] {
            assert_eq!(shown(value), expected);
        }
        assert_eq!(escaped("one: 'a b'\n"), r"one: 'a b'\n");
    }
}
